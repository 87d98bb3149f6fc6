//! One test or more for each guarantee of docs/policies/concurrency_limiter.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::config::ConfigReason;
use crate::id::CallId;
use crate::outcome::Overload;
use crate::policy::Kind;
use crate::policy::lent::Lent;
use crate::random::Rng;

mod elsewhere;
mod evidence;
mod limit;
mod line;
mod probe;
mod steps;
mod upstream;

const KEY: Key = Key::WHOLE;
const OTHER: Key = Key::from_number(2);
const BUSY: Verdict = Verdict::Overload(Overload::TooManyRequests);

/// A limiter and all it is lent.
type World = Lent<ConcurrencyLimiter>;

impl World {
    fn new(config: Config) -> Self {
        Self::of(Kind::ConcurrencyLimiter, ConcurrencyLimiter::new(config).unwrap())
    }

    fn admit(&mut self, key: Key) -> Option<Note> {
        let asker = asker(key, self.now);
        let passes = self.gate.ask(&asker, self.now) == Answer::Pass;
        passes.then(|| self.with(|limiter, cx| limiter.take(&asker, cx)))
    }

    /// As many as there is room for.
    fn fill(&mut self, key: Key) -> Vec<Note> {
        core::iter::from_fn(|| self.admit(key)).collect()
    }

    fn settle(&mut self, key: Key, note: &mut Note, verdict: Verdict, ms: u64) {
        let ended = Ended { verdict, latency: Duration::from_millis(ms) };
        self.with(|limiter, cx| limiter.settle(key, note, &ended, cx));
    }

    fn end(&mut self, key: Key, mut note: Note, verdict: Verdict, ms: u64) {
        self.settle(key, &mut note, verdict, ms);
        self.with(|limiter, cx| limiter.release(key, &mut note, cx));
    }

    /// A window in which the limit is used, and every attempt takes so long. What comes after its end belongs to the next.
    fn window(&mut self, ms: u64) -> &mut Self {
        let mut notes = self.fill(KEY);
        let first = notes.remove(0);
        self.end(KEY, first, Verdict::Success, ms);
        self.later(ms.max(1_000));
        let count = notes.len();
        notes.into_iter().rev().for_each(|note| self.end(KEY, note, Verdict::Success, ms));
        for _ in count..9 {
            let note = self.admit(KEY).unwrap();
            self.end(KEY, note, Verdict::Success, ms);
        }
        self
    }

    fn windows(&mut self, count: u32, ms: u64) -> &mut Self {
        (0..count).for_each(|_| {
            self.window(ms);
        });
        self
    }

    fn read(&self) -> Reading {
        self.gate.read(KEY, self.now)
    }

    fn limit(&self) -> u32 {
        self.read().limit
    }

    fn baseline(&self) -> u64 {
        self.read().baseline.unwrap().as_nanos() / 1_000
    }

    fn saved(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.gate.save(self.now, &mut out);
        out.finish()
    }

    fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.log.pop()).map(|event| event.what).collect()
    }

    fn told_why(&mut self) -> Vec<LimitReason> {
        let told = self.told().into_iter();
        told.map(|what| if let What::LimitChanged { why, .. } = what { why } else { panic!("{what:?}") }).collect()
    }
}

fn asker(key: Key, now: Instant) -> Asker {
    let call = CallId::from_u64(0);
    Asker { call, attempt: 1, key, dice: 0, cost: 1, deadline: Instant::NEVER, since: now, place: None }
}

fn world() -> World {
    World::new(Config::default())
}

fn with(algorithm: Algorithm) -> World {
    World::new(Config { algorithm, ..Config::default() })
}

// Configuration.

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let refused = |config: Config| {
        let error = ConcurrencyLimiter::new(config).unwrap_err();
        assert!(error.reason == ConfigReason::Conflict);
        (error.option(), error.min, error.max)
    };
    let plain = Config::default();
    assert_eq!(refused(Config { max: 3, ..plain }), ("min", 1.0, 3.0));
    assert_eq!(refused(Config { max: 19, ..plain }), ("initial", 4.0, 19.0));
    assert_eq!(refused(Config { min: 21, ..plain }), ("initial", 21.0, 200.0));
    assert!(ConcurrencyLimiter::new(Config { min: 20, max: 20, ..plain }).is_ok());
}
