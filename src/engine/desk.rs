//! The desk: gates and budgets in one arena, and how an attempt deals with the gates of its stack.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::call::Call;
use crate::config::ConfigError;
use crate::decision::Rejection;
use crate::engine::stack::{GateList, Stack, too_many};
use crate::event::{Event, EventLog, What};
use crate::id::{ObjectId, StackId};
use crate::key::Key;
use crate::outcome::Outcome;
use crate::policy::budget::{Budget, Receipt};
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Kind, Note, Woken};
use crate::random::Rng;
use crate::time::{Duration, HostTime, Instant};

/// What one verb brought: its instant, and the randomness it lends.
pub(crate) struct Verb {
    pub now: Instant,
    pub host: HostTime,
    pub rng: Rng,
}

pub(crate) struct Desk {
    objects: Vec<Object>,
    pub log: EventLog,
    pub woken: Woken,
}

enum Object {
    Gate(Kind, Box<dyn Gate>),
    Budget(Box<dyn Budget>),
}

impl core::fmt::Debug for Desk {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Desk").field("objects", &self.objects.len()).field("log", &self.log).finish()
    }
}

/// What all gates together say.
pub(crate) enum Asked {
    Pass,
    Wait(Instant),
    Reject(Rejection, Option<Instant>),
}

/// The arena.
impl Desk {
    pub const fn new() -> Self {
        Self { objects: Vec::new(), log: EventLog::new(), woken: Woken::new() }
    }

    pub fn add_gate(&mut self, kind: Kind, gate: Box<dyn Gate>) -> Result<usize, ConfigError> {
        self.add(kind, Object::Gate(kind, gate))
    }

    pub fn add_budget(&mut self, budget: Box<dyn Budget>) -> Result<usize, ConfigError> {
        self.add(Kind::Budget, Object::Budget(budget))
    }

    fn add(&mut self, kind: Kind, object: Object) -> Result<usize, ConfigError> {
        let place = self.objects.len();
        if place >= MAX_OBJECTS {
            return Err(too_many(kind, place + 1, MAX_OBJECTS));
        }
        self.objects.push(object);
        Ok(place)
    }

    pub fn gate_place(&self, object: ObjectId) -> Option<(Kind, usize)> {
        let place = usize::from(object.number());
        match self.objects.get(place)? {
            Object::Gate(kind, _) => Some((*kind, place)),
            Object::Budget(_) => None,
        }
    }

    pub fn budget_place(&self, object: ObjectId) -> Option<usize> {
        let place = usize::from(object.number());
        matches!(self.objects.get(place)?, Object::Budget(_)).then_some(place)
    }

    pub fn gate(&self, place: usize) -> Option<(Kind, &dyn Gate)> {
        match self.objects.get(place)? {
            Object::Gate(kind, gate) => Some((*kind, gate.as_ref())),
            Object::Budget(_) => None,
        }
    }

    pub fn gate_mut(&mut self, place: usize) -> Option<(Kind, &mut Box<dyn Gate>)> {
        match self.objects.get_mut(place)? {
            Object::Gate(kind, gate) => Some((*kind, gate)),
            Object::Budget(_) => None,
        }
    }

    pub fn budget(&self, place: usize) -> Option<&dyn Budget> {
        match self.objects.get(place)? {
            Object::Budget(budget) => Some(budget.as_ref()),
            Object::Gate(..) => None,
        }
    }

    pub fn budget_mut(&mut self, place: usize) -> Option<&mut Box<dyn Budget>> {
        match self.objects.get_mut(place)? {
            Object::Budget(budget) => Some(budget),
            Object::Gate(..) => None,
        }
    }

    /// One gate, and what it is lent.
    pub fn lend<'a>(
        &'a mut self,
        place: usize,
        stack: Option<StackId>,
        verb: &'a mut Verb,
    ) -> Option<(&'a mut Box<dyn Gate>, Cx<'a>)> {
        match self.objects.get_mut(place)? {
            Object::Gate(kind, gate) => {
                let cx = Cx {
                    now: verb.now,
                    rng: &mut verb.rng,
                    log: &mut self.log,
                    woken: &mut self.woken,
                    stack,
                    policy: *kind,
                };
                Some((gate, cx))
            }
            Object::Budget(_) => None,
        }
    }

    /// Whether any policy may not forget the key now.
    pub fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.objects.iter().any(|object| match object {
            Object::Gate(_, gate) => gate.is_busy(key, now),
            Object::Budget(budget) => budget.is_busy(key, now),
        })
    }

    /// The key's number is given to another name.
    pub fn forget(&mut self, key: Key, now: Instant) {
        for object in &mut self.objects {
            match object {
                Object::Gate(_, gate) => gate.forget(key),
                Object::Budget(budget) => budget.forget(key, now),
            }
        }
    }
}

/// An attempt at the gates.
impl Desk {
    /// Asks all gates. The outermost that refuses has the word; while one says wait, the earliest instant counts.
    pub fn ask(&self, gates: &GateList, call: &Call, now: Instant) -> Asked {
        let mut asked = Asked::Pass;
        let mut asker = asker(call, now);
        for (slot, place) in gates.iter().enumerate() {
            let Some((kind, gate)) = self.gate(place) else { continue };
            asker.place = call.waiting.place(slot);
            match gate.ask(&asker, now) {
                Answer::Pass => {}
                Answer::Wait(until) => {
                    asked = Asked::Wait(match asked {
                        Asked::Wait(other) => other.min(until),
                        _ => until,
                    });
                }
                Answer::Reject { reason, retry_at } => {
                    return Asked::Reject(Rejection { reason, policy: kind }, retry_at);
                }
            }
        }
        asked
    }

    /// Every gate said pass: takes from all of them what the attempt needs.
    pub fn take(&mut self, gates: &GateList, call: &mut Call, attempt: usize, verb: &mut Verb) {
        let mut asker = asker(call, verb.now);
        for (slot, place) in gates.iter().enumerate() {
            asker.place = call.waiting.place(slot);
            let Some((gate, mut cx)) = self.lend(place, Some(call.stack), verb) else { continue };
            let note = gate.take(&asker, &mut cx);
            if let Some(kept) = call.attempts.get_mut(attempt).and_then(|attempt| attempt.notes.get_mut(slot)) {
                *kept = note;
            }
        }
        call.waiting.since = Instant::NEVER;
    }

    /// Some gate said wait: the attempt takes a place in the lines of those that did, and lets others pass in the
    /// lines where it could go now.
    pub fn stand(&mut self, gates: &GateList, call: &mut Call, verb: &mut Verb) {
        let mut asker = asker(call, verb.now);
        for (slot, place) in gates.iter().enumerate() {
            asker.place = call.waiting.place(slot);
            let Some((gate, mut cx)) = self.lend(place, Some(call.stack), verb) else { continue };
            let waits = matches!(gate.ask(&asker, cx.now), Answer::Wait(_));
            match asker.place {
                None if waits => {
                    let place = gate.join(&asker, &mut cx);
                    if let Some(kept) = call.waiting.places.get_mut(slot) {
                        *kept = Some(place);
                    }
                }
                Some(place) if !waits => gate.step_aside(call.key, place, &mut cx),
                _ => {}
            }
        }
    }

    /// The attempt waits no longer: its places in all lines are free.
    pub fn leave(&mut self, gates: &GateList, call: &mut Call, verb: &mut Verb) {
        if !call.waiting.is_on() {
            return;
        }
        for (slot, place) in gates.iter().enumerate() {
            let Some(Some(standing)) = call.waiting.places.get(slot).copied() else { continue };
            if let Some((gate, mut cx)) = self.lend(place, Some(call.stack), verb) {
                gate.leave(call.key, standing, &mut cx);
            }
        }
        call.waiting.since = Instant::NEVER;
    }

    /// Tells the gates how the attempt ended.
    pub fn settle(&mut self, gates: &GateList, call: &mut Call, attempt: usize, ended: Ended, verb: &mut Verb) {
        self.each_note(gates, call, attempt, verb, |gate, key, note, cx| gate.settle(key, note, &ended, cx));
    }

    /// The attempt gives everything back.
    pub fn release(&mut self, gates: &GateList, call: &mut Call, attempt: usize, verb: &mut Verb) {
        self.each_note(gates, call, attempt, verb, |gate, key, note, cx| gate.release(key, note, cx));
    }

    fn each_note(
        &mut self,
        gates: &GateList,
        call: &mut Call,
        attempt: usize,
        verb: &mut Verb,
        mut act: impl FnMut(&mut Box<dyn Gate>, Key, &mut Note, &mut Cx<'_>),
    ) {
        let (key, stack) = (call.key, call.stack);
        let Some(attempt) = call.attempts.get_mut(attempt) else { return };
        for (place, note) in gates.iter().zip(&mut attempt.notes) {
            if let Some((gate, mut cx)) = self.lend(place, Some(stack), verb) {
                act(gate, key, note, &mut cx);
            }
        }
    }

    /// Whether capacity stays taken until the body ends.
    pub fn holds_until_body(&self, gates: &GateList) -> bool {
        gates.iter().any(|place| self.gate(place).is_some_and(|(_, gate)| gate.holds_until_body()))
    }
}

/// The budget.
impl Desk {
    /// A call's first attempt is sent.
    pub fn deposit(&mut self, stack: &Stack, key: Key, now: Instant) {
        if let Some(budget) = stack.budget.and_then(|place| self.budget_mut(place)) {
            budget.deposit(key, now);
        }
    }

    /// Pays for a repeat: `None` when the budget says no, `Some(None)` where there is no budget.
    pub fn withdraw(&mut self, stack: &Stack, call: &Call, now: Instant) -> Option<Option<Receipt>> {
        let Some(budget) = stack.budget.and_then(|place| self.budget_mut(place)) else { return Some(None) };
        if let Some(receipt) = budget.withdraw(call.key, now) {
            return Some(Some(receipt));
        }
        let counts = budget.counts(call.key, now);
        let (stack, key, policy) = (Some(call.stack), call.key, Some(Kind::Budget));
        let what = What::Exhausted { firsts: counts.firsts, repeats: counts.repeats };
        self.log.push(|| Event { at: now, stack, key, policy, what });
        None
    }

    /// What was paid for was never sent.
    pub fn refund(&mut self, stack: &Stack, call: &mut Call) {
        if let Some(receipt) = call.receipt.take()
            && let Some(budget) = stack.budget.and_then(|place| self.budget_mut(place))
        {
            budget.refund(receipt);
        }
    }
}

/// Latency as a policy may know it: the host's own measure, or the call's own two readings.
pub(crate) fn latency(outcome: &Outcome, sent_at: HostTime, host: HostTime) -> Duration {
    outcome.latency.unwrap_or(host.since(sent_at))
}

fn asker(call: &Call, now: Instant) -> Asker {
    Asker {
        call: call.id,
        attempt: call.sent.saturating_add(1),
        key: call.key,
        dice: call.dice,
        cost: call.facts.cost,
        priority: call.facts.priority,
        deadline: call.deadline,
        since: if call.waiting.is_on() { call.waiting.since } else { now },
        place: None,
    }
}

/// How many gates and budgets one engine has. Ours: every one of 256 stacks with all that it may have of its own.
const MAX_OBJECTS: usize = 2_048;
