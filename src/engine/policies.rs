//! The policies as attempts use them: the gates, the budget and the pace of their stack.

use crate::any_gate::AnyGate;
use crate::call::{Attempt, Call};
use crate::decision::Rejection;
use crate::engine::arena::{Arena, Object};
use crate::engine::stack::Stack;
use crate::event::{Event, EventLog, What};
use crate::id::{ObjectId, StackId};
use crate::key::Key;
use crate::outcome::{Outcome, Verdict};
use crate::policy::budget::{AnyBudget, Budget, Counts, Receipt};
use crate::policy::hedge::{Pace, Ran};
use crate::policy::{Answer, Asker, Cx, Ended, Kind, Note, Woken};
use crate::random::Rng;
use crate::time::{Duration, HostTime, Instant};

/// What one verb brought: its instant, and the randomness it lends.
pub(crate) struct Verb {
    pub now: Instant,
    pub host: HostTime,
    pub rng: Rng,
}

pub(crate) struct Policies {
    pub objects: Arena,
    pub log: EventLog,
    pub woken: Woken,
}

impl core::fmt::Debug for Policies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Policies").field("objects", &self.objects.len()).field("log", &self.log).finish()
    }
}

/// What all gates together say.
pub(crate) enum Asked {
    Pass,
    Wait(Instant),
    Reject { by: ObjectId, rejection: Rejection, retry_at: Option<Instant> },
}

/// What gates are lent.
impl Policies {
    pub const fn new() -> Self {
        Self { objects: Arena::new(), log: EventLog::new(), woken: Woken::new() }
    }

    /// One gate, and what it is lent.
    pub fn lend<'a>(
        &'a mut self,
        object: ObjectId,
        stack: Option<StackId>,
        verb: &'a mut Verb,
    ) -> Option<(&'a mut AnyGate, Cx<'a>)> {
        let Self { objects, log, woken } = self;
        match objects.get_mut(object)? {
            Object::Gate(kind, gate) => {
                Some((gate, Cx { now: verb.now, rng: &mut verb.rng, log, woken, stack, policy: *kind }))
            }
            _ => None,
        }
    }

    /// Lends each of these gates, in their order, what a gate is lent for a verb.
    #[inline]
    fn lend_each(
        &mut self,
        gates: &[ObjectId],
        stack: StackId,
        verb: &mut Verb,
        mut act: impl FnMut(usize, &mut AnyGate, &mut Cx<'_>),
    ) {
        let Self { objects, log, woken } = self;
        // One for all, each gate's kind put in before its call: with `lend` for each a call of every policy costs 4 % more.
        let mut cx = Cx { now: verb.now, rng: &mut verb.rng, log, woken, stack: Some(stack), policy: Kind::Throttler };
        for (slot, object) in gates.iter().enumerate() {
            if let Some(Object::Gate(kind, gate)) = objects.get_mut(*object) {
                cx.policy = *kind;
                act(slot, gate, &mut cx);
            }
        }
    }
}

/// An attempt at the gates.
impl Policies {
    /// Asks all gates. The outermost that refuses has the word; while one says wait, the earliest instant counts.
    pub fn ask(&self, gates: &[ObjectId], call: &Call, asker: &mut Asker, now: Instant) -> Asked {
        let mut asked = Asked::Pass;
        for (slot, object) in gates.iter().enumerate() {
            let Some((kind, gate)) = self.objects.gate(*object) else { continue };
            asker.place = call.waiting.place(slot);
            match gate.ask(asker, now) {
                Answer::Pass => {}
                Answer::Wait(until) => {
                    asked = Asked::Wait(match asked {
                        Asked::Wait(other) => other.min(until),
                        _ => until,
                    });
                }
                Answer::Reject { reason, retry_at } => {
                    return Asked::Reject { by: *object, rejection: Rejection { reason, policy: kind }, retry_at };
                }
            }
        }
        asked
    }

    /// Tells a gate that its refusal stands.
    pub fn refused(&mut self, by: ObjectId, call: &Call, asker: &Asker, verb: &mut Verb) {
        if let Some((gate, mut cx)) = self.lend(by, Some(call.stack), verb) {
            gate.refused(asker, &mut cx);
        }
    }

    /// Every gate said pass: takes from all of them what the attempt needs.
    pub fn take(&mut self, gates: &[ObjectId], call: &mut Call, attempt: usize, asker: &mut Asker, verb: &mut Verb) {
        asker.key = call.key;
        let Some(Attempt { notes, .. }) = call.attempts.get_mut(attempt) else { return };
        let waiting = &call.waiting;
        self.lend_each(gates, call.stack, verb, |slot, gate, cx| {
            asker.place = waiting.place(slot);
            if let Some(note) = notes.get_mut(slot) {
                *note = gate.take(asker, cx);
            }
        });
        call.waiting.since = Instant::NEVER;
    }

    /// Some gate said wait: the attempt takes a place in the lines of those that did, and lets others pass in the
    /// lines where it could go now.
    pub fn stand(&mut self, gates: &[ObjectId], call: &mut Call, asker: &mut Asker, verb: &mut Verb) {
        (asker.key, asker.since) = (call.key, call.waiting.since);
        let (key, places) = (call.key, &mut call.waiting.places);
        self.lend_each(gates, call.stack, verb, |slot, gate, cx| {
            let Some(place) = places.get_mut(slot) else { return };
            asker.place = *place;
            if matches!(gate.ask(asker, cx.now), Answer::Wait(_)) {
                *place = Some(gate.join(asker, cx));
            } else if let Some(place) = *place {
                gate.step_aside(key, place, cx);
            }
        });
    }

    /// The attempt waits no longer: its places in all lines are free.
    pub fn leave(&mut self, gates: &[ObjectId], call: &mut Call, verb: &mut Verb) {
        let (key, waiting) = (call.key, &call.waiting);
        self.lend_each(gates, call.stack, verb, |slot, gate, cx| {
            if let Some(place) = waiting.place(slot) {
                gate.leave(key, place, cx);
            }
        });
        call.waiting.since = Instant::NEVER;
    }

    /// Tells the gates and the budget how the attempt ended.
    pub fn settle(&mut self, stack: &Stack, call: &mut Call, attempt: usize, ended: Ended, verb: &mut Verb) {
        self.each_note(&stack.gates, call, attempt, verb, |gate, key, note, cx| gate.settle(key, note, &ended, cx));
        if ended.verdict.is_evidence()
            && let Some(budget) = self.budget_of(stack)
        {
            let paid = call.attempts.get(attempt).and_then(|attempt| attempt.paid);
            budget.settle(call.key, ended.verdict, paid, verb.now);
        }
    }

    /// The attempt gives everything back; where it was given up and runs on, all but what stays taken until it has really ended.
    pub fn release(&mut self, stack: &Stack, call: &mut Call, attempt: usize, runs_on: bool, verb: &mut Verb) {
        self.each_note(&stack.gates, call, attempt, verb, |gate, key, note, cx| {
            if !runs_on || !gate.holds_until_settled() {
                gate.release(key, note, cx);
            }
        });
        self.end_repeat(stack, call, attempt);
    }

    /// An attempt that was given up has really ended.
    pub fn let_go(&mut self, stack: &Stack, call: &Call, verb: &mut Verb) {
        self.lend_each(&stack.gates, call.stack, verb, |_, gate, cx| {
            if gate.holds_until_settled() {
                gate.let_go(call.key, cx);
            }
        });
    }

    /// The attempt is no repeat in flight any more.
    pub fn end_repeat(&mut self, stack: &Stack, call: &mut Call, attempt: usize) {
        if let Some(paid) = call.attempts.get_mut(attempt).and_then(|attempt| attempt.paid.take())
            && let Some(budget) = self.budget_of(stack)
        {
            budget.release(call.key, paid);
        }
    }

    fn each_note(
        &mut self,
        gates: &[ObjectId],
        call: &mut Call,
        attempt: usize,
        verb: &mut Verb,
        mut act: impl FnMut(&mut AnyGate, Key, &mut Note, &mut Cx<'_>),
    ) {
        let key = call.key;
        let Some(Attempt { notes, .. }) = call.attempts.get_mut(attempt) else { return };
        self.lend_each(gates, call.stack, verb, |slot, gate, cx| {
            if let Some(note) = notes.get_mut(slot) {
                act(gate, key, note, cx);
            }
        });
    }
}

/// The pace of hedges.
impl Policies {
    /// After how long the next attempt starts beside one of this stack and key, where that is measured and known.
    pub fn pace(&mut self, stack: &Stack, key: Key, now: Instant) -> Option<Duration> {
        self.pace_of(stack)?.now(key, now)
    }

    /// A round's first attempt ended.
    pub fn measure_pace(&mut self, stack: &Stack, key: Key, ran: Ran, now: Instant) {
        if let Some(pace) = self.pace_of(stack) {
            pace.sample(key, ran, now);
        }
    }

    fn pace_of(&mut self, stack: &Stack) -> Option<&mut Pace> {
        self.objects.pace_mut(stack.pace?)
    }
}

/// The budget.
impl Policies {
    fn budget_of(&mut self, stack: &Stack) -> Option<&mut AnyBudget> {
        self.objects.budget_mut(stack.budget?)
    }

    /// A call's first attempt is sent.
    pub fn deposit(&mut self, stack: &Stack, key: Key, now: Instant) {
        if let Some(budget) = self.budget_of(stack) {
            budget.deposit(key, now);
        }
    }

    /// A call that made its deposit is over.
    pub fn call_ended(&mut self, stack: &Stack, key: Key) {
        if let Some(budget) = self.budget_of(stack) {
            budget.call_ended(key);
        }
    }

    /// Whether the budget would pay for a repeat.
    #[cold]
    pub fn affords(&mut self, stack: &Stack, call: &Call, after: Option<Verdict>, now: Instant) -> bool {
        self.budget_of(stack).is_none_or(|budget| budget.affords(call.key, after, now))
    }

    /// Pays for a repeat: nothing where there is no budget. When the budget says no, it may know after how long it would not.
    pub fn withdraw(
        &mut self,
        stack: &Stack,
        call: &Call,
        after: Option<Verdict>,
        now: Instant,
    ) -> Result<Option<Receipt>, Option<Duration>> {
        let Some(budget) = self.budget_of(stack) else { return Ok(None) };
        if let Some(receipt) = budget.withdraw(call.key, after, now) {
            return Ok(Some(receipt));
        }
        let (counts, again) = (budget.counts(call.key, now), wait(&**budget, call.key, after, now));
        self.tell_exhausted(Some(call.stack), call.key, (counts, again), now);
        Err(again)
    }

    /// Pays for something outside the verbs; where there is no such budget, nothing is paid for.
    pub fn spend(&mut self, budget: ObjectId, key: Key, now: Instant) -> bool {
        self.objects.budget_mut(budget).is_some_and(|budget| budget.spend(key, now))
    }

    /// Such a budget has said no.
    pub fn tell_unpaid(&mut self, budget: ObjectId, key: Key, now: Instant) {
        if let Some(budget) = self.objects.budget_mut(budget) {
            let told = (budget.counts(key, now), wait(&**budget, key, None, now));
            self.tell_exhausted(None, key, told, now);
        }
    }

    fn tell_exhausted(&mut self, stack: Option<StackId>, key: Key, told: (Counts, Option<Duration>), at: Instant) {
        let (Counts { firsts, repeats, tokens }, retry_after) = told;
        let (policy, what) = (Some(Kind::Budget), What::Exhausted { firsts, repeats, tokens, retry_after });
        self.log.push(|| Event { at, stack, key, policy, what });
    }

    /// What was paid for was never sent.
    pub fn refund(&mut self, stack: &Stack, call: &mut Call) {
        if let Some(receipt) = call.receipt.take()
            && let Some(budget) = self.budget_of(stack)
        {
            budget.refund(receipt);
        }
    }
}

/// After how long a budget would pay that does not now, where it knows.
fn wait(budget: &dyn Budget, key: Key, after: Option<Verdict>, now: Instant) -> Option<Duration> {
    budget.retry_at(key, after, now).map(|at| at.since(now))
}

/// Latency as a policy may know it: the host's own measure, or the call's own two readings.
pub(crate) fn latency(outcome: &Outcome, sent_at: HostTime, host: HostTime) -> Duration {
    outcome.latency.unwrap_or(host.since(sent_at))
}

/// The attempt as the gates see it.
pub(crate) fn asker(call: &Call, now: Instant) -> Asker {
    Asker {
        call: call.id,
        attempt: call.sent.saturating_add(1),
        key: call.key,
        dice: call.dice,
        cost: call.facts.cost,
        deadline: call.deadline,
        since: if call.waiting.is_on() { call.waiting.since } else { now },
        place: None,
    }
}
