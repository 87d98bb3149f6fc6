//! A host on virtual time: it drives the engine as any host does, and what would be waiting is a queue of events.
//!
//! It does all that a decision says, has one timer a call and heeds hints, and allocates nothing once its lists have
//! been as long as they get. The same seed is the same run. (The host of tests/acceptance remembers everything instead.)

use std::collections::VecDeque;

use forbear::{
    AttemptNumber, AttemptSet, CallId, Decision, Engine, Facts, HostTime, Key, MAX_ATTEMPTS, Outcome, Rng, StackConfig,
    StackId, Step, Verdict,
};

use agenda::{Agenda, What};
pub use upstream::{Ending, Next, Upstream, Work};

mod agenda;
mod upstream;

pub struct Host<U> {
    pub engine: Engine,
    pub upstream: U,
    now: HostTime,
    words: Rng,
    agenda: Agenda,
    /// By the index in their handles.
    flights: Vec<Flight>,
    nests: bool,
    endings: VecDeque<Ending>,
}

/// A call under way.
#[derive(Clone, Copy)]
struct Flight {
    call: CallId,
    asked: Asked,
    began: HostTime,
    sent: u32,
    flying: AttemptSet,
    verdicts: [Verdict; MAX_ATTEMPTS as usize + 1],
    /// When the engine wants to be woken,
    wake_at: HostTime,
    /// and when the earliest event comes that sees to it.
    armed: HostTime,
}

#[derive(Clone, Copy)]
struct Asked {
    stack: StackId,
    key: Key,
    tag: u32,
    /// The attempt of another call that this call is.
    outer: Option<(CallId, AttemptNumber)>,
}

impl<U: Upstream> Host<U> {
    pub fn new(seed: u64, upstream: U) -> Self {
        Self {
            engine: Engine::default(),
            upstream,
            now: HostTime::from_millis(1_000),
            words: Rng::new(seed),
            agenda: Agenda::default(),
            flights: Vec::new(),
            nests: false,
            endings: VecDeque::new(),
        }
    }

    /// A host with one stack.
    pub fn with(seed: u64, upstream: U, config: StackConfig) -> (Self, StackId) {
        let mut host = Self::new(seed, upstream);
        let stack = host.engine.add_stack(config).expect("a configuration");
        (host, stack)
    }

    pub fn now(&self) -> HostTime {
        self.now
    }

    /// A call begins now.
    pub fn call(&mut self, stack: StackId, key: Key, tag: u32) {
        self.begin(Asked { stack, key, tag, outer: None });
    }

    /// The next call that is over by then; if there is none, it is now `until`.
    pub fn next_until(&mut self, until: HostTime) -> Option<Ending> {
        let ending = self.run(until);
        if ending.is_none() {
            self.now = self.now.max(until);
        }
        ending
    }

    /// The next call that is over; none if none is under way.
    pub fn next(&mut self) -> Option<Ending> {
        self.run(NEVER)
    }

    fn run(&mut self, until: HostTime) -> Option<Ending> {
        loop {
            if let Some(ending) = self.endings.pop_front() {
                return Some(ending);
            }
            let event = self.agenda.next(until)?;
            self.now = event.at;
            self.happen(event.call, event.what);
        }
    }

    fn happen(&mut self, call: CallId, what: What) {
        let Some(flight) = self.flights.get_mut(index(call)).filter(|flight| flight.call == call) else { return };
        match what {
            What::Timer => {
                flight.armed = NEVER;
                // It may have been put off since.
                let at = flight.wake_at;
                if at > self.now { self.arm(call, at) } else { self.wake(call) }
            }
            What::Hint => self.wake(call),
            What::GoesOn { attempt, stage, note } if flight.flying.contains(attempt) => {
                self.go_on(call, attempt, stage, note);
            }
            What::Ends { attempt, outcome } if flight.flying.contains(attempt) => {
                flight.flying.remove(attempt);
                flight.verdicts[usize::from(attempt)] = outcome.verdict;
                let decision = self.engine.settle(call, attempt, outcome, self.now, self.words.word());
                self.follow(call, &decision);
            }
            // It was given up.
            _ => {}
        }
    }

    fn begin(&mut self, asked: Asked) {
        let decision = self.engine.admit(asked.stack, asked.key, Facts::default(), self.now, self.words.word());
        let mut flight = Flight { asked, began: self.now, ..Flight::NONE };
        let Some(call) = decision.call else { return self.end(&flight, &decision) };
        flight.call = call;
        if self.flights.len() <= index(call) {
            self.flights.resize(index(call) + 1, Flight::NONE);
        }
        self.flights[index(call)] = flight;
        self.follow(call, &decision);
    }

    fn wake(&mut self, call: CallId) {
        let decision = self.engine.wake(call, self.now, self.words.word());
        self.follow(call, &decision);
    }

    /// Does what the decision says.
    fn follow(&mut self, call: CallId, decision: &Decision) {
        self.pass_hints_on();
        if decision.drop != AttemptSet::EMPTY {
            self.give_up(call, decision.drop);
        }
        let flight = &mut self.flights[index(call)];
        match decision.step {
            Step::Send(attempt) => {
                flight.flying.insert(attempt);
                flight.sent += 1;
                self.arm(call, decision.at.unwrap_or(NEVER));
                self.go_on(call, attempt, 0, 0);
            }
            Step::Wait => self.arm(call, decision.at.unwrap_or(NEVER)),
            step => {
                let flight = *flight;
                self.flights[index(call)].call = NOBODY;
                if let Step::Done { held: true, .. } = step {
                    let _ = self.engine.cancel(call, self.now);
                    self.pass_hints_on();
                }
                self.end(&flight, decision);
            }
        }
    }

    fn go_on(&mut self, call: CallId, attempt: AttemptNumber, stage: u8, note: u32) {
        let Asked { stack, key, tag, .. } = self.flights[index(call)].asked;
        let mut work = Work { tag, stack, attempt, stage, note };
        match self.upstream.go_on(&mut work, self.now) {
            Next::Ends(after, outcome) => self.agenda.put(self.now + after, call, What::Ends { attempt, outcome }),
            Next::Comes(after) => {
                self.agenda.put(self.now + after, call, What::GoesOn { attempt, stage: stage + 1, note: work.note });
            }
            Next::Calls(stack) => {
                self.nests = true;
                self.begin(Asked { stack, key, tag, outer: Some((call, attempt)) });
            }
        }
    }

    /// The call is over: whoever made it is told, be it another call.
    fn end(&mut self, flight: &Flight, decision: &Decision) {
        let verdict = match decision.step {
            Step::Done { attempt, .. } => flight.verdicts[usize::from(attempt)],
            _ => Verdict::Rejected,
        };
        let Flight { asked: Asked { tag, outer, .. }, sent, began, .. } = *flight;
        match outer {
            Some((outer, attempt)) => {
                let retry_after = decision.at.map(|at| at.since(self.now));
                let outcome = Outcome { retry_after, ..Outcome::new(self.upstream.hand_on(verdict)) };
                self.agenda.put(self.now, outer, What::Ends { attempt, outcome });
            }
            None => {
                let step = decision.step;
                self.endings.push_back(Ending { tag, step, verdict, sent, began, ended: self.now });
            }
        }
    }

    /// Attempts in flight are aborted, and with them the calls that they are.
    fn give_up(&mut self, call: CallId, dropped: AttemptSet) {
        for attempt in (1..=MAX_ATTEMPTS).filter(|attempt| dropped.contains(*attempt)) {
            let flight = &mut self.flights[index(call)];
            if flight.flying.contains(attempt) {
                flight.flying.remove(attempt);
                // Losers are dropped too, but no call is done with one.
                flight.verdicts[usize::from(attempt)] = Verdict::Timeout;
            }
            let is_it = |flight: &Flight| flight.call != NOBODY && flight.asked.outer == Some((call, attempt));
            let inner = if self.nests { self.flights.iter().copied().find(is_it) } else { None };
            if let Some(Flight { call: inner, flying, .. }) = inner {
                self.flights[index(inner)].call = NOBODY;
                let _ = self.engine.cancel(inner, self.now);
                self.pass_hints_on();
                self.give_up(inner, flying);
            }
        }
    }

    fn pass_hints_on(&mut self) {
        let mut hinted = [NOBODY; 8];
        for (place, call) in hinted.iter_mut().zip(self.engine.woken()) {
            *place = call;
        }
        for call in hinted.into_iter().take_while(|call| *call != NOBODY) {
            self.agenda.put(self.now, call, What::Hint);
        }
    }

    /// One timer a call: one that comes too early is armed anew.
    fn arm(&mut self, call: CallId, at: HostTime) {
        let flight = &mut self.flights[index(call)];
        flight.wake_at = at;
        if at < flight.armed {
            flight.armed = at;
            self.agenda.put(at, call, What::Timer);
        }
    }
}

impl Flight {
    const NONE: Self = Self {
        call: NOBODY,
        asked: Asked { stack: StackId::from_number(0), key: Key::WHOLE, tag: 0, outer: None },
        began: HostTime::from_nanos(0),
        sent: 0,
        flying: AttemptSet::EMPTY,
        verdicts: [Verdict::Cancelled; MAX_ATTEMPTS as usize + 1],
        wake_at: NEVER,
        armed: NEVER,
    };
}

/// A handle is generation · 2²⁰ + index, and indices are dense.
fn index(call: CallId) -> usize {
    (call.as_u64() & 0xF_FFFF) as usize
}

const NEVER: HostTime = HostTime::from_nanos(u64::MAX);
/// Generations begin at 1.
const NOBODY: CallId = CallId::from_u64(0);
