//! One test or more for each guarantee of docs/policies/rate_limiter.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::policy::crowd::{Crowd, State};
use crate::policy::{bulkhead, circuit_breaker, deadline, retry};
use crate::random::Rng;
use crate::{Facts, HostTime, Part, StackConfig, StackId, Verdict};

mod bounds;
mod company;
mod line;
mod permits;
mod throng;

pub(super) const STACK: StackId = StackId::from_number(0);

pub(super) fn config(rate: u32, burst: u32) -> Config {
    Config { rate, burst: Some(burst), ..Config::default() }
}

/// Who comes too early waits, for as long as it takes.
fn patient(rate: u32, burst: u32) -> Config {
    Config { wait: Duration::from_secs(86_400), ..config(rate, burst) }
}

pub(super) fn stack(config: Config) -> StackConfig {
    StackConfig { rate_limiter: Some(Part::Own(config)), ..StackConfig::default() }
}

fn costing(cost: u32) -> Facts {
    Facts { cost, ..Facts::default() }
}

impl Crowd {
    fn limiter(&self) -> &RateLimiter {
        self.engine.gate(STACK).unwrap()
    }

    fn waiters(&self) -> u32 {
        self.limiter().waiters(Key::WHOLE)
    }

    fn available(&self) -> u32 {
        self.limiter().available(Key::WHOLE, self.engine.instant(self.now))
    }

    pub(super) fn try_acquire(&mut self, permits: u32) -> bool {
        let act = |limiter: &mut RateLimiter, cx: &mut Cx<'_>| limiter.try_acquire(Key::WHOLE, permits, cx);
        self.engine.operate(STACK, self.now, 0, act).unwrap()
    }

    /// Everybody's start, in milliseconds after the first.
    fn starts(&self) -> Vec<u64> {
        let first = self.started[0].1;
        self.started.iter().map(|(_, at)| at.since(first).as_millis_ceil()).collect()
    }
}

/// The instant that a refused guest was told.
fn retry_at(crowd: &Crowd, guest: usize) -> HostTime {
    match crowd.state(guest) {
        State::Refused(RefusalReason::RateLimited, Some(at)) => at,
        other => panic!("{other:?}"),
    }
}

// Configuration.

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let refused = |config: Config| {
        let error = RateLimiter::new(config).unwrap_err();
        (error.option(), error.given, error.max)
    };
    assert_eq!(refused(Config { rate: 0, ..Config::default() }), ("rate", 0.0, 1_000_000.0));
    assert_eq!(refused(config(1, 0)), ("burst", 0.0, 1_000_000.0));
    let day = Duration::from_secs(86_400);
    let (option, given, longest) = refused(Config { interval: day, ..config(1, 1_000_000) });
    assert_eq!((option, given, longest.floor()), ("interval", 86_400_000.0, 9_223_372.0));
    let longest = Duration::from_nanos(MOST_CREDIT / 1_000_000);
    assert!(RateLimiter::new(Config { interval: longest, ..config(1_000_000, 1) }).is_ok());
    assert!(RateLimiter::new(Config { interval: day, ..config(100_000, 100_000) }).is_ok());
}

#[test]
fn the_widest_buckets_overflow_nothing() {
    let limiter = RateLimiter::new(Config { interval: Duration::from_secs(9_223), ..config(1_000_000, 1) }).unwrap();
    let day = u64::from(limiter.config.rate) * 1_000;
    assert_eq!(limiter.until(0, day), Duration::from_secs(9_223_000));
    assert_eq!(limiter.until(1, day), Duration::from_secs(9_223_000));
    assert_eq!(limiter.until(1_000_000, day), Duration::from_nanos(9_223_000_000_000_000 - 1));
    assert_eq!(limiter.until(0, u64::MAX), Duration::MAX);
    assert_eq!(limiter.until(u64::MAX, 0), Duration::ZERO);
}
