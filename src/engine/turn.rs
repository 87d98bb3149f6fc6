//! A turn: one call, its stack, and all that a verb may touch on their behalf.
//!
//! What a turn does ends in a [`Ruling`]; the engine carries it out.

use crate::call::{Attempt, Call};
use crate::decision::{Decision, Step};
use crate::engine::desk::{Desk, Verb};
use crate::engine::ledger::Ledger;
use crate::engine::stack::Stack;
use crate::event::{Event, What};
use crate::id::StackId;
use crate::key::{Interned, Key, Keys};
use crate::metrics::Metrics;
use crate::policy::Kind;
use crate::time::{Duration, HostTime, Instant};

pub(super) struct Turn<'a> {
    pub call: &'a mut Call,
    pub stack: &'a Stack,
    pub desk: &'a mut Desk,
    pub keys: &'a mut Keys,
    pub ledger: &'a mut Ledger,
    pub verb: &'a mut Verb,
    /// Whether some other call's lease may have ended: before this call is refused or made to wait, that is looked into.
    pub leases_may_have_ended: bool,
}

/// What a turn comes to.
pub(super) enum Ruling {
    /// The call lives on, leased until then.
    Goes { decision: Decision, until: Instant },
    /// The call is over.
    Over(Decision),
    /// A gate stands in the way, perhaps because of a lease that has ended.
    Blocked,
}

impl Turn<'_> {
    pub fn now(&self) -> Instant {
        self.verb.now
    }

    /// Tells what happened, if anybody listens.
    #[inline]
    pub fn tell(&mut self, policy: Option<Kind>, what: impl FnOnce() -> What) {
        let (at, stack, key) = (self.verb.now, Some(self.call.stack), self.call.key);
        self.desk.log.push(|| Event { at, stack, key, policy, what: what() });
    }

    /// The counts of the call's stack and key.
    pub fn count(&mut self) -> &mut Metrics {
        self.ledger.count(self.call.stack, self.call.key)
    }

    /// The slots of the attempts in flight.
    pub fn running(&self) -> impl Iterator<Item = usize> + use<> {
        let mut slots = [false; crate::call::MAX_PARALLEL];
        for (slot, attempt) in slots.iter_mut().zip(&self.call.attempts) {
            *slot = attempt.is_running();
        }
        slots.into_iter().enumerate().filter_map(|(slot, runs)| runs.then_some(slot))
    }

    /// Nothing is left of the attempt in this slot.
    pub fn vacate(&mut self, slot: usize) {
        if let Some(attempt) = self.call.attempts.get_mut(slot) {
            attempt.number = Attempt::VACANT.number;
        }
    }

    /// The first Send or Wait gives a new key its number, and pins it for as long as the call lasts.
    pub fn settle_key(&mut self) {
        if self.call.tenancy.is_some() {
            return;
        }
        if self.call.key == Key::NEW {
            self.call.key = give_number(self.keys, self.desk, self.ledger, self.verb.now);
        }
        self.keys.begin(self.call.key);
        self.call.tenancy = Some(self.keys.tenancy(self.call.key));
    }

    /// Whether the call's new key would get a number of its own.
    pub fn has_room_for_key(&self) -> bool {
        self.keys.has_room(|key| self.desk.is_busy(key, self.verb.now))
    }

    /// Every key is busy: the newcomer asks as what it will be, one of those that share a key and its limits.
    #[cold]
    pub fn share_overflow_key(&mut self) {
        self.call.key = Key::OVERFLOW;
        tell_keys_full(self.keys, self.desk, self.verb.now);
    }

    /// The key may go, as far as this call is concerned.
    pub fn unpin_key(&mut self) {
        if self.call.tenancy.is_some() {
            self.keys.end(self.call.key);
        }
    }

    /// The call lives on, and will be heard of by `at`.
    pub fn goes(&self, step: Step, drop: crate::decision::AttemptSet, at: Instant) -> Ruling {
        let decision = Decision { call: Some(self.call.id), step, drop, at: self.on_host_clock(at) };
        Ruling::Goes { decision, until: lease_end(at, self.verb.now) }
    }

    /// An instant as the host will read it: as far from this verb's own reading as it is from the engine's now.
    pub fn on_host_clock(&self, at: Instant) -> Option<HostTime> {
        at.or_none().map(|at| self.verb.host + at.since(self.verb.now))
    }
}

/// A number for a name never seen: everybody forgets the name that had it before.
pub(super) fn give_number(keys: &mut Keys, desk: &mut Desk, ledger: &mut Ledger, now: Instant) -> Key {
    match keys.intern(|key| desk.is_busy(key, now)) {
        Interned::Fresh(key) => key,
        Interned::Reused(key) => {
            desk.forget(key, now);
            ledger.forget(key);
            key
        }
        Interned::Overflow => {
            tell_keys_full(keys, desk, now);
            Key::OVERFLOW
        }
    }
}

fn tell_keys_full(keys: &Keys, desk: &mut Desk, now: Instant) {
    let what = What::KeysFull { keys: keys.count() as u32 };
    let (stack, key): (Option<StackId>, _) = (None, Key::OVERFLOW);
    desk.log.push(|| Event { at: now, stack, key, policy: None, what });
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
