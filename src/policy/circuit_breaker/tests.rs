//! One test or more for each guarantee of docs/policies/circuit_breaker.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::id::CallId;
use crate::outcome::Overload;
use crate::policy::Kind;
use crate::policy::lent::Lent;
use crate::ratio::Ratio;

mod elsewhere;
mod generations;
mod half_open;
mod open_for;
mod opening;
mod operators;

pub(super) const KEY: Key = Key::WHOLE;
pub(super) const OTHER: Key = Key::from_number(2);

/// A breaker and all it is lent.
pub(super) type World = Lent<CircuitBreaker>;

impl World {
    pub fn new(config: Config) -> Self {
        Self::of(Kind::Breaker, CircuitBreaker::new(config).unwrap())
    }

    pub fn ask(&self, key: Key) -> Answer {
        self.gate.ask(&asker(key, self.now), self.now)
    }

    pub fn take(&mut self, key: Key) -> Note {
        let asker = asker(key, self.now);
        self.with(|breaker, cx| breaker.take(&asker, cx))
    }

    /// Asks and, if nothing is against it, takes.
    pub fn admit(&mut self, key: Key) -> Option<Note> {
        (self.ask(key) == Answer::Pass).then(|| self.take(key))
    }

    pub fn settle(&mut self, key: Key, note: &mut Note, verdict: Verdict) {
        self.settle_after(key, note, verdict, 10);
    }

    pub fn settle_after(&mut self, key: Key, note: &mut Note, verdict: Verdict, latency_ms: u64) {
        let ended = Ended { verdict, latency: Duration::from_millis(latency_ms) };
        self.with(|breaker, cx| breaker.settle(key, note, &ended, cx));
    }

    pub fn release(&mut self, key: Key, note: &mut Note) {
        self.with(|breaker, cx| breaker.release(key, note, cx));
    }

    /// A whole call: asked, taken, settled, released. `false` if it was refused.
    pub fn call(&mut self, verdict: Verdict) -> bool {
        let Some(mut note) = self.admit(KEY) else { return false };
        self.settle(KEY, &mut note, verdict);
        self.release(KEY, &mut note);
        true
    }

    fn calls(&mut self, count: u32, verdict: Verdict) -> &mut Self {
        (0..count).for_each(|_| assert!(self.call(verdict)));
        self
    }

    pub fn read(&self) -> Reading {
        self.gate.read(KEY, self.now)
    }

    pub fn state(&self) -> StateWord {
        self.gate.state(KEY, self.now)
    }

    pub fn saved(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.gate.save(self.now, &mut out);
        out.finish()
    }

    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        self.gate.restore(self.now, &mut Reader::new(bytes).with_orders())
    }

    pub fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.log.pop()).map(|event| event.what).collect()
    }

    fn told_last(&mut self) -> What {
        self.told().pop().unwrap()
    }

    /// Waits until the open circuit is due.
    fn until_due(&mut self) -> &mut Self {
        self.now = self.read().retry_at.unwrap();
        self
    }
}

fn asker(key: Key, now: Instant) -> Asker {
    let call = CallId::from_u64(0);
    Asker { call, attempt: 1, key, dice: 0, cost: 1, deadline: Instant::NEVER, since: now, place: None }
}

fn world() -> World {
    World::new(Config::default())
}

fn opened() -> World {
    let mut world = world();
    world.calls(10, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Open);
    world.told();
    world
}

fn due(config: Config) -> World {
    let mut world = World::new(config);
    world.calls(10, Verdict::Transient).until_due();
    world.told();
    world
}

fn probes(probes: u32, successes: u32) -> Config {
    Config { probes, successes_to_close: Some(successes), ..Config::default() }
}

fn refused(retry_at: Option<Instant>) -> Answer {
    Answer::Reject { reason: RefusalReason::CircuitOpen, retry_at }
}

fn stale() -> What {
    What::Ignored { reason: IgnoreReason::Stale }
}

const UNAVAILABLE: Verdict = Verdict::Overload(Overload::Unavailable);
const NO_EVIDENCE: [Verdict; 4] = [Verdict::Cancelled, Verdict::Rejected, Verdict::Defect, Verdict::Inconclusive];

// Configuration.

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let refused = |config: Config| {
        let error = CircuitBreaker::new(config).unwrap_err();
        (error.option(), error.min, error.max)
    };
    let plain = Config::default;
    assert_eq!(refused(Config { window_calls: None, window: None, ..plain() }), ("windowCalls", 1.0, 1_000.0));
    assert_eq!(refused(Config { window_calls: Some(19), ..plain() }), ("minCalls", 1.0, 19.0));
    assert_eq!(refused(Config { max_open_for: Duration::from_secs(9), ..plain() }), ("openFor", 1.0, 9_000.0));
    assert!(CircuitBreaker::new(Config { max_open_for: plain().open_for, ..plain() }).is_ok());
    assert_eq!(refused(Config { successes_to_close: Some(2), ..plain() }), ("successesToClose", 1.0, 1.0));
    assert_eq!(refused(Config { failure_rate: Ratio::ZERO, ..plain() }), ("failureRate", 0.000_001, 1.0));
    assert_eq!(refused(Config { probes: 33, ..plain() }), ("probes", 1.0, 32.0));
    assert!(CircuitBreaker::new(Config { window_calls: None, min_calls: 5_000, ..plain() }).is_ok());
}
