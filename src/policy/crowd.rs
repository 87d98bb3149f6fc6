//! A crowd: many calls of one host over an engine, on virtual time, for the tests of policies with a line.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::event::What;
use crate::random::Rng;
use crate::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Key, Outcome, RefusalReason, StackConfig, Step, Verdict,
};

/// A host and its calls. Its timers are on time and its hints arrive, until it is told otherwise.
pub(super) struct Crowd {
    pub engine: Engine,
    pub now: HostTime,
    pub guests: Vec<Guest>,
    /// Who started, and when, in order.
    pub started: Vec<(usize, HostTime)>,
    pub hints: bool,
    /// How late timers are at most.
    pub late: Duration,
    /// What its timers and its clock count in.
    pub grain: Duration,
    pub most_at_once: usize,
    /// How many answers its calls were given.
    pub heard: u32,
    rng: Rng,
    /// What is due when; what is due no longer is left in it.
    agenda: BinaryHeap<Reverse<(HostTime, usize)>>,
    known: BTreeMap<u64, usize>,
}

/// A call. Its attempts are never repeated.
pub(super) struct Guest {
    pub id: CallId,
    pub state: State,
    /// When the host speaks of it next by itself.
    due: Option<HostTime>,
    takes: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waits,
    Runs,
    Over,
    Refused(RefusalReason, Option<HostTime>),
    /// It waited, and the engine does not know it any more: its host would send it unguarded.
    Alone,
    /// Its host will say no more.
    Dead,
}

impl Crowd {
    pub fn new(config: StackConfig) -> Self {
        let mut engine = Engine::default();
        engine.add_stack(config).unwrap();
        engine.events().listen(true);
        Self {
            engine,
            now: HostTime::from_millis(1_000_000),
            guests: Vec::new(),
            started: Vec::new(),
            hints: true,
            late: Duration::ZERO,
            grain: Duration::from_nanos(1),
            most_at_once: 0,
            heard: 0,
            rng: Rng::new(7),
            agenda: BinaryHeap::new(),
            known: BTreeMap::new(),
        }
    }

    pub fn after(&self, ms: u64) -> HostTime {
        self.now + Duration::from_millis(ms)
    }

    /// A call arrives that costs one permit.
    pub fn arrive(&mut self, takes_ms: u64) -> usize {
        self.arrive_with(Key::WHOLE, Facts::default(), takes_ms)
    }

    pub fn arrive_with(&mut self, key: Key, facts: Facts, takes_ms: u64) -> usize {
        let stack = crate::StackId::from_number(0);
        let decision = self.engine.admit(stack, key, facts, self.now, self.rng.word());
        let (id, takes) = (decision.call.unwrap_or(CallId::from_u64(0)), Duration::from_millis(takes_ms));
        let guest = self.guests.len();
        self.known.insert(id.as_u64(), guest);
        self.guests.push(Guest { id, state: State::Waits, due: None, takes });
        self.obey(guest, decision);
        guest
    }

    pub fn wake(&mut self, guest: usize) {
        let decision = self.engine.wake(self.guests[guest].id, self.now, self.rng.word());
        self.obey(guest, decision);
    }

    pub fn end(&mut self, guest: usize, verdict: Verdict) {
        let decision = self.engine.settle(self.guests[guest].id, 1, Outcome::new(verdict), self.now, self.rng.word());
        self.obey(guest, decision);
    }

    pub fn leave(&mut self, guest: usize) {
        let decision = self.engine.cancel(self.guests[guest].id, self.now);
        self.obey(guest, decision);
    }

    /// Lets time pass, and does what comes in it.
    pub fn run_until(&mut self, end: HostTime) {
        while let Some(Reverse((at, guest))) = self.agenda.peek().copied().filter(|Reverse((at, _))| *at <= end) {
            self.agenda.pop();
            if self.guests.get(guest).is_none_or(|its| its.due != Some(at)) {
                continue;
            }
            self.now = self.now.max(at);
            match self.guests[guest].state {
                State::Runs => self.end(guest, Verdict::Success),
                _ => self.wake(guest),
            }
        }
        self.now = self.now.max(end);
    }

    pub fn run_for(&mut self, ms: u64) {
        self.run_until(self.after(ms));
    }

    pub fn state(&self, guest: usize) -> State {
        self.guests[guest].state
    }

    pub fn who_started(&self) -> Vec<usize> {
        self.started.iter().map(|(guest, _)| *guest).collect()
    }

    pub fn all(&self, state: State) -> Vec<usize> {
        (0..self.guests.len()).filter(|guest| self.guests[*guest].state == state).collect()
    }

    pub fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.engine.events().pop()).map(|event| event.what).collect()
    }

    /// The host is held up: nobody is heard of meanwhile.
    pub fn stall(&mut self, ms: u64) {
        self.now = self.after(ms);
    }

    pub fn die(&mut self, guest: usize) {
        (self.guests[guest].state, self.guests[guest].due) = (State::Dead, None);
    }

    fn obey(&mut self, guest: usize, decision: Decision) {
        self.heard += 1;
        assert!(self.heard < MOST_ANSWERS, "it never comes to rest");
        let grain = self.grain.as_nanos();
        let its = &mut self.guests[guest];
        if its.state == State::Dead {
            return;
        }
        (its.state, its.due) = match decision.step {
            Step::Send(_) => {
                self.started.push((guest, self.now));
                (State::Runs, Some(self.now + its.takes))
            }
            Step::Wait if its.state == State::Runs => (State::Runs, its.due),
            Step::Wait => {
                let late = Duration::from_nanos(self.rng.between(0, self.late.as_nanos()));
                (
                    State::Waits,
                    decision.at.map(|at| HostTime::from_nanos((at + late).as_nanos().next_multiple_of(grain))),
                )
            }
            Step::Unguarded if its.state == State::Waits => (State::Alone, None),
            Step::Done { .. } | Step::Unguarded => (State::Over, None),
            Step::Reject(rejection) => (State::Refused(rejection.reason, decision.at), None),
        };
        let (started, due) = (its.state == State::Runs, its.due);
        if let Some(at) = due {
            self.agenda.push(Reverse((at, guest)));
        }
        if started {
            self.most_at_once = self.most_at_once.max(self.all(State::Runs).len());
        }
        let woken: Vec<CallId> = self.engine.woken().collect();
        for id in woken {
            let waits =
                |guest: &usize| self.guests.get(*guest).is_some_and(|its| its.id == id && its.state == State::Waits);
            if let Some(guest) = self.known.get(&id.as_u64()).copied().filter(waits).filter(|_| self.hints) {
                self.wake(guest);
            }
        }
    }
}

/// Far more than any test needs: one that waits for what never comes should say so.
const MOST_ANSWERS: u32 = 50_000;
