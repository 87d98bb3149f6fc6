//! The context of a call: the call, its stack, and everything a verb may touch on their behalf.
//!
//! Handling an input ends in a [`Transition`]; the engine carries it out.

use crate::call::{Call, Want};
use crate::decision::{AttemptNumber, Step};
use crate::engine::counters::Counters;
use crate::engine::policies::{Policies, Verb};
use crate::engine::stack::Stack;
use crate::event::{Event, HedgeStep, What};
use crate::key::{Interned, Key, Keys};
use crate::metrics::Metrics;
use crate::outcome::Outcome;
use crate::policy::Kind;
use crate::time::{Duration, Instant};

pub(super) struct Context<'a> {
    pub call: &'a mut Call,
    pub stack: &'a Stack,
    pub policies: &'a mut Policies,
    pub keys: &'a mut Keys,
    pub counters: &'a mut Counters,
    pub verb: &'a mut Verb,
    /// Whether some other call's lease may have ended: before this call is refused or made to wait, that is looked into.
    pub leases_may_have_ended: bool,
}

/// What a verb brings to a call.
pub(super) enum Input<'a> {
    /// An attempt has ended.
    Ended(AttemptNumber, &'a Outcome),
    /// Its instant has come, or a hint did.
    Wakes,
    /// The caller left, or the body has ended.
    Leaves,
}

/// What becomes of the call.
pub(super) enum Transition {
    /// The call lives on, and will be heard of by this instant.
    Goes(Step, Instant),
    /// The call is over; a refusal names the instant from which the answer would be another.
    Over(Step, Instant),
    /// The host need not know the call any more, but evidence is still welcome.
    Lingers,
    /// A gate stands in the way, perhaps because of a lease that has ended.
    Blocked,
}

impl Context<'_> {
    pub fn handle(&mut self, input: Input<'_>) -> Transition {
        if self.call.want == Want::Lost && !matches!(input, Input::Leaves) {
            self.come_back();
        }
        match (self.call.want, input) {
            (Want::Late, input) => {
                if let Input::Ended(attempt, _) = input {
                    self.ended_late(attempt);
                }
                self.late()
            }
            (_, Input::Leaves) => self.caller_left(),
            (Want::Outlived, Input::Ended(attempt, outcome)) => self.late_evidence(attempt, outcome),
            (Want::Outlived, _) => Transition::Lingers,
            (Want::Held, Input::Ended(attempt, _)) => {
                self.ended_late(attempt);
                self.heartbeat()
            }
            (Want::Held, _) => self.heartbeat(),
            (_, Input::Ended(attempt, outcome)) => {
                self.attempt_ended(attempt, outcome);
                self.step()
            }
            (_, Input::Wakes) => self.step(),
        }
    }

    pub fn now(&self) -> Instant {
        self.verb.now
    }

    /// Tells what happened, if anybody listens.
    #[inline]
    pub fn tell(&mut self, policy: Option<Kind>, what: impl FnOnce() -> What) {
        if self.policies.log.is_listening() {
            self.note(policy, what());
        }
    }

    /// Tells what happened to a hedge.
    pub fn tell_hedge(&mut self, step: HedgeStep, attempt: AttemptNumber, latency: Option<Duration>) {
        self.tell(Some(Kind::Hedge), || What::Hedge { step, attempt, latency });
    }

    #[cold]
    fn note(&mut self, policy: Option<Kind>, what: What) {
        let (at, stack, key) = (self.verb.now, Some(self.call.stack), self.call.key);
        self.policies.log.push(|| Event { at, stack, key, policy, what });
    }

    /// The counts of the call's stack and key.
    pub fn count(&mut self) -> &mut Metrics {
        self.counters.count(self.call.stack, self.call.key)
    }

    /// The first Send or Wait gives a new key its number, and pins it for as long as the call lasts.
    pub fn settle_key(&mut self) {
        if self.call.tenancy.is_some() {
            return;
        }
        if self.call.key == Key::NEW {
            self.call.key = give_number(self.keys, self.policies, self.counters, self.verb.now);
        }
        self.call.tenancy = Some(self.keys.begin(self.call.key));
    }

    /// Whether the call's new key would get a number of its own.
    pub fn has_room_for_key(&mut self) -> bool {
        self.keys.has_room(self.policies.objects.looks(), |key| self.policies.objects.is_busy(key, self.verb.now))
    }

    /// Every key is busy: the newcomer asks as what it will be, one of those that share a key and its limits.
    #[cold]
    pub fn share_overflow_key(&mut self) {
        self.call.key = Key::OVERFLOW;
        tell_keys_full(self.keys, self.policies, self.verb.now);
    }

    /// The call is over, or its lease has ended: the budget is told, and the key may go.
    pub fn unpin_key(&mut self) {
        if core::mem::take(&mut self.call.is_counted) {
            self.policies.call_ended(self.stack, self.call.key);
        }
        if self.call.tenancy.is_some() {
            self.keys.end(self.call.key);
        }
    }
}

/// A number for a name never seen: everybody forgets the name that had it before.
#[cold]
pub(super) fn give_number(keys: &mut Keys, policies: &mut Policies, counters: &mut Counters, now: Instant) -> Key {
    match keys.intern(policies.objects.looks(), |key| policies.objects.is_busy(key, now)) {
        Interned::Fresh(key) => key,
        Interned::Reused(key) => {
            policies.objects.forget(key, now);
            counters.forget(key, |_| true);
            key
        }
        Interned::Overflow => {
            tell_keys_full(keys, policies, now);
            Key::OVERFLOW
        }
    }
}

pub(super) fn tell_keys_full(keys: &Keys, policies: &mut Policies, now: Instant) {
    let what = What::KeysFull { keys: keys.count() as u32 };
    policies.log.push(|| Event { at: now, stack: None, key: Key::OVERFLOW, policy: None, what });
}
