//! Gates and engines that each break one law, so that one can see the laws' tests see it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use forbear::event::{Event, What};
use forbear::policy::circuit_breaker::StateWord;
use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Instant, Key, Outcome, RefusalReason, StackId, Step,
    StopReason, Verdict,
};

use crate::verbs::{Action, Verbs};

/// What is wrong with a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Law 3: lets one pass in the wake that finds it waiting, whether or not it is its turn.
    GrantsToWhoeverWakes,
    /// Law 4: cancels and refusals, which are no evidence, teach it something.
    LearnsFromCancels,
    /// Law 5: what a cancelled attempt held stays taken.
    KeepsSlotsOfCancelled,
    /// Law 6: counts whom it refuses.
    CountsRefusals,
    /// Law 7: asks a counter of the whole process.
    AsksTheProcess,
    /// Law 8: says "now" when it means "later".
    PromisesTooSoon,
    /// Law 9: its line has no end.
    EndlessLine,
    /// Law 10: divides by the time that has passed.
    DividesByElapsed,
}

/// A gate with a flaw.
#[derive(Debug)]
pub struct BrokenGate<G> {
    gate: G,
    flaw: Flaw,
    count: Cell<u64>,
    cancelled: bool,
    last: Instant,
}

impl<G: Gate> BrokenGate<G> {
    pub fn new(gate: G, flaw: Flaw) -> Self {
        Self { gate, flaw, count: Cell::new(0), cancelled: false, last: Instant::PAST }
    }

    fn count(&self) {
        self.count.set(self.count.get() + 1);
    }
}

impl<G: Gate> Gate for BrokenGate<G> {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let answer = self.gate.ask(asker, now);
        match (self.flaw, answer) {
            (Flaw::CountsRefusals, Answer::Reject { .. }) => self.count(),
            (Flaw::GrantsToWhoeverWakes, Answer::Wait(_)) if asker.place.is_some() => return Answer::Pass,
            (Flaw::AsksTheProcess, Answer::Pass) => {
                static CALLS: AtomicU64 = AtomicU64::new(0);
                if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(7) {
                    return Answer::Reject { reason: RefusalReason::Throttled, retry_at: None };
                }
            }
            (Flaw::PromisesTooSoon, Answer::Reject { reason, .. }) => {
                return Answer::Reject { reason, retry_at: Some(now + Duration::from_millis(1)) };
            }
            (Flaw::EndlessLine, Answer::Reject { reason: RefusalReason::BulkheadFull, .. }) => {
                return Answer::Wait(now + Duration::from_millis(50));
            }
            _ => {}
        }
        answer
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        if self.flaw == Flaw::DividesByElapsed {
            self.count.set(1_000 / (cx.now.since(self.last).as_nanos() / 1_000_000));
        }
        self.last = cx.now;
        self.gate.take(asker, cx)
    }

    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, cx: &mut Cx<'_>) {
        self.cancelled = ended.verdict == Verdict::Cancelled;
        if self.flaw == Flaw::LearnsFromCancels && !ended.verdict.is_evidence() {
            self.count();
        }
        self.gate.settle(key, note, ended, cx);
    }

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        if self.flaw != Flaw::KeepsSlotsOfCancelled || !core::mem::take(&mut self.cancelled) {
            self.gate.release(key, note, cx);
        }
    }

    fn join(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Place {
        self.gate.join(asker, cx)
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.gate.step_aside(key, place, cx);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.gate.leave(key, place, cx);
    }

    fn holds_until_body(&self) -> bool {
        self.gate.holds_until_body()
    }

    fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.gate.is_busy(key, now)
    }

    fn forget(&mut self, key: Key) {
        self.gate.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.gate.fingerprint()
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        out.u64(self.count.get());
        self.gate.save(now, out);
    }

    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        self.count.set(input.u64()?);
        self.gate.restore(now, input)
    }
}

/// What is wrong with an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Nothing, to stand beside one.
    None,
    /// Law 1: the call is over, and nobody is told what to give up.
    ForgetsToDrop,
    /// Law 1: answers a wake with the Send that it answered before.
    SendsTwice,
    /// Law 2: its events tell of an earlier time than the ones before.
    TellsThePast,
    /// Law 3: an early wake is as good as a late one.
    WakesEarly,
    /// Law 3: slots go back when attempts are given up, not when they have really ended.
    ForgetsTheGivenUp,
    /// Law 4: a second settle counts once more.
    SettlesTwice,
    /// Law 4: a settle of nothing is passed over in silence.
    HidesStale,
    /// Law 7: one way to end a call is silent.
    HidesTheEnd,
    /// Law 5: calls that nobody speaks for any more are kept alive.
    ForgetsLeases,
    /// Law 6: a refused call was a call after all.
    RefusesWithATrace,
    /// Law 7: what is restored is not what was saved.
    RestoresNothing,
    /// Law 9: what has no room is let through without a word.
    HidesOverflow,
}

/// An engine with a defect.
pub struct BrokenEngine {
    engine: Engine,
    defect: Defect,
    /// What each call was told last.
    told: BTreeMap<u64, Decision>,
    count: u64,
}

impl BrokenEngine {
    pub fn new(engine: Engine, defect: Defect) -> Self {
        Self { engine, defect, told: BTreeMap::new(), count: 0 }
    }

    fn keep(&mut self, mut decision: Decision) -> Decision {
        if let Some(call) = decision.call {
            self.told.insert(call.as_u64(), decision);
        }
        if self.defect == Defect::ForgetsToDrop && matches!(decision.step, Step::Done { .. }) {
            decision.drop = forbear::AttemptSet::EMPTY;
        }
        if self.defect == Defect::RefusesWithATrace && matches!(decision.step, Step::Reject(_)) {
            self.count += 1;
        }
        decision
    }

    /// Speaks for the calls whose hosts should have been heard of long ago, so that no lease ends.
    fn speak_for_the_dead(&mut self, now: HostTime) {
        for call in self.told.clone().keys() {
            if self.told[call].at.is_none_or(|at| now >= at + PRESUMED_DEAD) {
                let decision = self.engine.wake(CallId::from_u64(*call), now, 0);
                self.told.insert(*call, decision);
            }
        }
    }
}

impl Verbs for BrokenEngine {
    fn admit(&mut self, stack: StackId, key: Key, facts: Facts, now: HostTime, random: u64) -> Decision {
        if self.defect == Defect::ForgetsLeases {
            self.speak_for_the_dead(now);
        }
        let droppable = facts.droppable || self.defect == Defect::ForgetsTheGivenUp;
        let facts = Facts { droppable, ..facts };
        let decision = self.engine.admit(stack, key, facts, now, random);
        self.keep(decision)
    }

    fn settle(&mut self, call: CallId, attempt: u8, outcome: Outcome, now: HostTime, random: u64) -> Decision {
        let decision = self.engine.settle(call, attempt, outcome, now, random);
        if self.defect == Defect::SettlesTwice && decision.step == Step::Unguarded {
            let again = self.engine.admit(StackId::from_number(0), Key::WHOLE, Facts::default(), now, random);
            if let Some(again) = again.call {
                let _ = self.engine.settle(again, 1, outcome, now, random);
                let _ = self.engine.cancel(again, now);
            }
        }
        self.keep(decision)
    }

    fn due(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        let before = self.told.get(&call.as_u64()).copied();
        if let (Defect::SendsTwice, Some(Decision { step: Step::Send(_), .. })) = (self.defect, before) {
            return before.unwrap();
        }
        let decision = self.engine.due(call, now, random);
        self.keep(decision)
    }

    fn wake(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        let before = self.told.get(&call.as_u64()).copied();
        if let (Defect::SendsTwice, Some(Decision { step: Step::Send(_), .. })) = (self.defect, before) {
            return before.unwrap();
        }
        let at = before.and_then(|decision| decision.at).unwrap_or(now);
        let now = if self.defect == Defect::WakesEarly { now.max(at) } else { now };
        let decision = self.engine.wake(call, now, random);
        self.keep(decision)
    }

    fn cancel(&mut self, call: CallId, now: HostTime) -> Decision {
        let decision = self.engine.cancel(call, now);
        self.keep(decision)
    }

    fn operate(&mut self, stack: StackId, key: Key, action: Action, now: HostTime, random: u64) {
        Verbs::operate(&mut self.engine, stack, key, action, now, random);
    }

    fn snapshot(&self, stack: StackId, now: HostTime) -> Vec<u8> {
        let mut bytes = self.engine.snapshot(stack, now);
        bytes.extend(self.count.to_le_bytes());
        bytes
    }

    fn restore(&mut self, stack: StackId, bytes: &[u8], names: &[Key], now: HostTime) -> Result<(), Damaged> {
        if self.defect == Defect::RestoresNothing {
            return Ok(());
        }
        self.engine.restore_with_orders(stack, &bytes[..bytes.len() - 8], names, now).map(drop)
    }

    fn event(&mut self) -> Option<Event> {
        let mut event = self.engine.events().pop()?;
        match (self.defect, event.what) {
            (Defect::HidesTheEnd, What::Done { reason: StopReason::Completed, .. }) => self.event(),
            (Defect::HidesStale, What::Stale { .. }) | (Defect::HidesOverflow, What::CallsFull { .. }) => self.event(),
            (Defect::TellsThePast, _) => {
                self.count += 1;
                event.at = event.at - Duration::from_millis(self.count % 2);
                Some(event)
            }
            _ => Some(event),
        }
    }

    fn woken(&self) -> Vec<CallId> {
        self.engine.woken().collect()
    }

    fn intern(&mut self) -> Option<Key> {
        self.engine.intern()
    }

    fn key_of(&self, call: CallId) -> Option<Key> {
        self.engine.key_of(call)
    }

    fn keys(&self) -> usize {
        self.engine.keys()
    }

    fn in_flight(&self) -> usize {
        self.engine.in_flight()
    }

    fn instant(&self, now: HostTime) -> Instant {
        self.engine.instant(now)
    }

    fn circuit(&self, stack: StackId, key: Key, now: Instant) -> Option<StateWord> {
        self.engine.circuit(stack, key, now)
    }

    fn pace(&self, stack: StackId, key: Key, now: HostTime) -> Option<Duration> {
        self.engine.pace(stack, key, now)
    }

    fn readings(&self, stack: StackId, key: Key, now: Instant) -> String {
        self.engine.readings(stack, key, now)
    }

    fn waiting(&self, stack: StackId, key: Key) -> u32 {
        self.engine.waiting(stack, key)
    }

    fn permits(&self, stack: StackId, key: Key, now: Instant) -> Option<u32> {
        self.engine.permits(stack, key, now)
    }
}

const PRESUMED_DEAD: Duration = Duration::from_secs(4);
