//! What becomes of calls that were not heard of: what they held is taken back.

use crate::call::{Attempt, Want};
use crate::engine::Engine;
use crate::engine::desk::{Verb, ended};
use crate::event::{Event, What};
use crate::outcome::Outcome;
use crate::time::{Duration, Instant};

impl Engine {
    /// Takes back what calls hold whose lease has ended; `own` is spared, since it is being heard of right now. Says
    /// whether there was anything.
    pub(super) fn end_leases(&mut self, own: usize, verb: &mut Verb) -> bool {
        if !self.calls.may_have_ended(verb.now) {
            return false;
        }
        let mut any = false;
        for index in 0..self.calls.slots() {
            if index != own && self.calls.has_ended(index, verb.now) {
                self.end_lease(index, verb);
                any = true;
            }
        }
        self.calls.raise_bound();
        any
    }

    /// The first time, a call loses what it holds but may still bring evidence; the second time it is forgotten.
    fn end_lease(&mut self, index: usize, verb: &mut Verb) {
        let Engine { calls, stacks, desk, keys, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        if call.want == Want::Outlived {
            return self.forget_call(index);
        }
        let (at, source, key) = (verb.now, Some(call.stack), call.key);
        let what = What::LeaseEnded { attempts: call.running() };
        desk.log.push(|| Event { at, stack: source, key, policy: None, what });
        if let Some(stack) = stacks.get(usize::from(call.stack.number())) {
            desk.leave(stack.gates, call, verb);
            desk.refund(stack, call);
            for slot in 0..call.attempts.len() {
                if call.attempts.get(slot).is_some_and(Attempt::is_running) {
                    desk.release(stack.gates, call, slot, verb);
                }
            }
        }
        if call.tenancy.is_some() {
            keys.end(call.key);
        }
        let was_held = call.want == Want::Held;
        call.want = Want::Outlived;
        if call.running() == 0 || was_held {
            self.forget_call(index);
        } else {
            self.calls.lease(index, verb.now + OUTLIVED);
        }
    }

    /// An attempt of a call that outlived its lease has ended after all: its evidence counts, unless its key's number
    /// stands for another name by now.
    pub(super) fn late_evidence(&mut self, index: usize, slot: usize, outcome: Outcome, verb: &mut Verb) {
        let Engine { calls, stacks, desk, keys, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        let Some(stack) = stacks.get_mut(usize::from(call.stack.number())) else { return };
        if let (Some(attempt), true) = (call.attempts.get(slot), call.tenancy == Some(keys.tenancy(call.key))) {
            let ended = ended(&outcome, attempt.sent_at, verb.host);
            desk.settle(stack.gates, call, slot, ended, verb);
            stack.count(call.key).settle(outcome.verdict.into(), ended.latency);
        }
        if let Some(attempt) = call.attempts.get_mut(slot) {
            attempt.number = Attempt::VACANT.number;
        }
        if call.running() == 0 {
            self.forget_call(index);
        }
    }

    /// Gives a held slot back: the body has ended.
    pub(super) fn release_held(&mut self, index: usize, verb: &mut Verb) {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        let Some(stack) = stacks.get(usize::from(call.stack.number())) else { return };
        for slot in 0..call.attempts.len() {
            if call.attempts.get(slot).is_some_and(Attempt::is_running) {
                desk.release(stack.gates, call, slot, verb);
            }
        }
    }

    /// There is no room for a new call: those that only might bring late evidence make room.
    pub(super) fn end_outlived(&mut self) {
        for index in 0..self.calls.slots() {
            if self.calls.get(index).is_some_and(|call| call.want == Want::Outlived) {
                self.forget_call(index);
            }
        }
    }
}

/// When the lease of a call ends that promised to be heard of at `at`.
pub(super) fn lease_end(at: Instant, now: Instant) -> Instant {
    match at.or_none() {
        Some(at) => (at + GRACE).round_up(STEP),
        None => now + MAX_LEASE,
    }
}

/// How late a host's timer may be. Ours.
const GRACE: Duration = Duration::from_secs(5);
/// Leases end on multiples of this, so that many end at once and are looked for seldom. Ours.
const STEP: Duration = Duration::from_millis(250);
/// The lease of a call that nothing limits. Ours.
const MAX_LEASE: Duration = Duration::from_secs(60);
/// How long late evidence of a call that outlived its lease is still welcome. Ours.
const OUTLIVED: Duration = Duration::from_secs(600);
/// How often a held call is to be heard of. Ours: it still holds its slot when a beat or two are lost.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);
