//! Keys: their numbers, and one bound for the state of all of them, whichever stack and policy it belongs to.
//!
//! Nothing is looked at before the bound is reached, and then only for somebody whose state would be new. The least recently
//! used key loses its state with every stack where it is idle; what is busy stays. docs/adr/0018-one-bound-for-memory.md says
//! why.

use super::context::{give_number, tell_keys_full};
use super::policies::Verb;
use super::{Engine, FEW, NOBODY};
use crate::id::{CallId, StackId};
use crate::key::Key;
use crate::time::Instant;

/// Numbers.
impl Engine {
    /// A number for a name that state is to be restored for; `None` where every key is busy.
    pub fn intern(&mut self) -> Option<Key> {
        let now = self.clock.now().unwrap_or(Instant::ORIGIN);
        match give_number(&mut self.keys, &mut self.policies, &mut self.counters, now) {
            Key::OVERFLOW => None,
            key => Some(key),
        }
    }

    /// How many keys were given numbers; they are `0..count`.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys.count()
    }

    /// The number of the call's key, once the call was sent or told to wait.
    #[must_use]
    pub fn key_of(&self, call: CallId) -> Option<Key> {
        let call = self.calls.get(self.calls.find(call)?)?;
        call.tenancy.map(|_| call.key)
    }
}

/// Memory.
impl Engine {
    /// The key that a call begins with. At the bound a newcomer shares the overflow key, if nothing goes for it.
    #[cold]
    pub(super) fn key_at_the_bound(&mut self, stack: StackId, key: Key, verb: &mut Verb) -> Key {
        let is_known = self.counters.metrics(stack, key).is_some() || self.is_busy(stack, key, verb.now);
        if !key.can_go() || is_known {
            return key;
        }
        if self.calls.may_have_ended(verb.now) {
            self.end_leases(NOBODY, FEW, verb);
        }
        self.make_room_for_state(self.policies.objects.looks(), verb.now);
        if !self.counters.is_full() {
            return key;
        }
        tell_keys_full(&self.keys, &mut self.policies, verb.now);
        Key::OVERFLOW
    }

    /// Forgets what is idle, key by key, until there is room; at most so many keys are looked at.
    pub(super) fn make_room_for_state(&mut self, looks: usize, now: Instant) {
        for _ in 0..looks {
            if !self.counters.is_full() {
                return;
            }
            let Some(key) = self.keys.next_to_sweep() else { return };
            let Self { stacks, policies, counters, .. } = self;
            counters.forget(key, |stack| {
                let Some(stack) = stacks.get(stack) else { return false };
                let goes = !policies.objects.is_any_busy(&stack.objects, key, now);
                if goes {
                    stack.objects.iter().for_each(|object| policies.objects.forget_in(*object, key, now));
                }
                goes
            });
        }
    }

    fn is_busy(&self, stack: StackId, key: Key, now: Instant) -> bool {
        let stack = self.stacks.get(usize::from(stack.number()));
        stack.is_some_and(|stack| self.policies.objects.is_any_busy(&stack.objects, key, now))
    }
}
