//! A host on virtual time: many calls at once through one engine, in front of an upstream that is a function.
//!
//! Its timers are on time and its hints arrive. Where an attempt may be a call through another stack, stacks nest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use forbear::event::What;
use forbear::{
    AttemptNumber, CallId, Duration, Engine, Facts, HostTime, Key, Outcome, Rejection, Rng, StackConfig, StackId,
    StopReason, Verdict,
};

mod driver;

pub struct Host {
    pub engine: Engine,
    pub now: HostTime,
    pub calls: Vec<Call>,
    /// Every attempt, in the order in which they started.
    pub sent: Vec<Sent>,
    /// How many attempts were in flight at once, at most.
    pub most_at_once: usize,
    /// At equal instants timers fire before attempts end; otherwise after.
    pub timers_first: bool,
    in_flight: usize,
    upstream: Upstream,
    agenda: BTreeMap<(HostTime, bool, usize), Due>,
    entries: usize,
    ids: HashMap<CallId, usize>,
    rng: Rng,
}

/// What becomes of an attempt, decided when it starts.
pub type Upstream = Box<dyn FnMut(&Sent, &mut Rng) -> Fate>;

#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It ends after so long.
    Ends(Duration, Outcome),
    /// It never ends by itself.
    Hangs,
    /// It is a call through another stack.
    Through(StackId, Facts),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    pub call: usize,
    pub attempt: AttemptNumber,
    pub stack: StackId,
    pub at: HostTime,
}

pub struct Call {
    pub id: Option<CallId>,
    pub stack: StackId,
    /// How it ended, and when.
    pub end: Option<(End, HostTime)>,
    /// What each attempt brought, in hand or handed on.
    pub results: BTreeMap<AttemptNumber, Outcome>,
    /// Attempts in flight.
    pub running: BTreeSet<AttemptNumber>,
    /// Attempts given up in flight.
    pub aborted: BTreeSet<AttemptNumber>,
    due: Option<HostTime>,
    outer: Option<(usize, AttemptNumber)>,
    inner: BTreeMap<AttemptNumber, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// With this attempt's result.
    Done(AttemptNumber, StopReason),
    /// Refused; the instant is the refusing policy's word.
    Refused(Rejection, Option<HostTime>),
    /// Its caller left.
    Left,
}

enum Due {
    Timer(usize),
    End(usize, AttemptNumber, Outcome),
}

/// What tests do.
impl Host {
    pub fn new(upstream: impl FnMut(&Sent, &mut Rng) -> Fate + 'static) -> Self {
        let mut engine = Engine::default();
        engine.events().listen(true);
        Self {
            engine,
            now: HostTime::from_millis(1_000_000),
            calls: Vec::new(),
            sent: Vec::new(),
            most_at_once: 0,
            timers_first: false,
            in_flight: 0,
            upstream: Box::new(upstream),
            agenda: BTreeMap::new(),
            entries: 0,
            ids: HashMap::new(),
            rng: Rng::new(7),
        }
    }

    /// Other dice.
    pub fn seed(&mut self, seed: u64) {
        self.rng = Rng::new(seed);
    }

    pub fn stack(&mut self, config: StackConfig) -> StackId {
        self.engine.add_stack(config).unwrap()
    }

    /// A GET begins.
    pub fn arrive(&mut self, stack: StackId) -> usize {
        self.arrive_with(stack, Key::WHOLE, Facts::default())
    }

    pub fn arrive_with(&mut self, stack: StackId, key: Key, facts: Facts) -> usize {
        self.begin(stack, key, facts, None)
    }

    pub fn leave(&mut self, call: usize) {
        let Some(id) = self.calls[call].id.filter(|_| self.calls[call].end.is_none()) else { return };
        let decision = self.engine.cancel(id, self.now);
        self.obey(call, decision);
    }

    /// An attempt ends: what hangs does so when a test says it.
    pub fn settle(&mut self, call: usize, attempt: AttemptNumber, outcome: Outcome) {
        if !self.calls[call].running.remove(&attempt) {
            return;
        }
        self.in_flight -= 1;
        self.calls[call].results.insert(attempt, outcome);
        let id = self.calls[call].id.expect("a call that lives");
        let decision = self.engine.settle(id, attempt, outcome, self.now, self.rng.word());
        self.obey(call, decision);
    }

    /// Its timer fires so much later from now on, and hints do not arrive before.
    pub fn oversleep(&mut self, call: usize, ms: u64) {
        self.ids.remove(&self.calls[call].id.expect("a call that lives"));
        self.set_timer(call, Some(self.after(ms)));
    }

    /// Does all that comes until then, each at its instant.
    pub fn run_until(&mut self, until: HostTime) {
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, ..), due) = entry.remove_entry();
            self.now = self.now.max(at);
            match due {
                Due::Timer(call) => {
                    if self.calls[call].due == Some(at) {
                        self.wake(call);
                    }
                }
                Due::End(call, attempt, outcome) => self.settle(call, attempt, outcome),
            }
        }
        self.now = self.now.max(until);
    }

    pub fn run_for(&mut self, ms: u64) {
        self.run_until(self.after(ms));
    }

    /// A call from its beginning to its end, alone in the world.
    pub fn call(&mut self, stack: StackId) -> End {
        let call = self.arrive(stack);
        while self.calls[call].end.is_none() {
            let next = self.agenda.first_key_value().expect("a call that can end").0.0;
            self.run_until(next);
        }
        self.end(call).unwrap()
    }

    pub fn after(&self, ms: u64) -> HostTime {
        self.now + Duration::from_millis(ms)
    }

    pub fn end(&self, call: usize) -> Option<End> {
        self.calls[call].end.map(|(end, _)| end)
    }

    /// The calls of which this is true.
    pub fn which(&self, is_so: impl Fn(&Call) -> bool) -> Vec<usize> {
        (0..self.calls.len()).filter(|call| is_so(&self.calls[*call])).collect()
    }

    /// What has happened since this was asked last.
    pub fn told(&mut self) -> Vec<What> {
        std::iter::from_fn(|| self.engine.events().pop()).map(|event| event.what).collect()
    }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn success() -> Outcome {
    Outcome::new(Verdict::Success)
}

/// A 500.
pub fn failure() -> Outcome {
    Outcome::new(Verdict::Transient)
}
