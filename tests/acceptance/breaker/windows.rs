//! Stoic, section Testing: "Both window kinds against a reference model under random call sequences (the model counts
//! the last N calls, or the calls within the bucketed span, directly)."

use forbear::policy::circuit_breaker::{CircuitBreaker, Config};
use forbear::{Duration, HostTime, Key, Part, Ratio, Rng, StackConfig};

use crate::host::{Fate, Host, failure, ms, success};

#[test]
fn a_window_of_calls_counts_the_last_so_many() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let size = rng.between(1, 40) as u32;
        let config = Config { window_calls: Some(size), window: None, ..never() };
        let log = run(config, &mut rng, |log, _, counts| {
            let last = &log[log.len().saturating_sub(size as usize)..];
            assert_eq!(counts, count(last.iter()), "seed {seed}");
        });
        assert_eq!(log.len(), CALLS);
    }
}

#[test]
fn a_window_of_time_counts_what_is_younger_and_forgets_within_a_tenth() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let span = rng.between(100, 60_000);
        let config = Config { window_calls: None, window: Some(ms(span)), ..never() };
        let age = |now: HostTime, at: &HostTime| now.since(*at);
        run(config, &mut rng, |log, now, (calls, failures)| {
            let of = |most: Duration| count(log.iter().filter(|(at, _)| age(now, at) < most));
            // Ten buckets: the edge lies somewhere in the oldest one.
            let (least, most) = (of(ms(span * 9 / 10)), of(ms(span)));
            assert!((least.0..=most.0).contains(&calls), "seed {seed}: {calls} of {least:?} to {most:?}");
            assert!((least.1..=most.1).contains(&failures), "seed {seed}: {failures} of {least:?} to {most:?}");
        });
    }
}

/// Goes on counting, whatever comes.
fn never() -> Config {
    Config { min_calls: 1, failure_rate: Ratio::ONE, consecutive_failures: None, ..Config::default() }
}

/// Calls at random instants, each with when it ended and whether it failed; `check` gets them, the time, and what the
/// breaker counts: calls, and failures among them.
fn run(
    config: Config,
    rng: &mut Rng,
    check: impl Fn(&[(HostTime, bool)], HostTime, (u32, u32)),
) -> Vec<(HostTime, bool)> {
    let mut host = Host::new(|_, _| Fate::Hangs);
    let span = config.window.map_or(1_000, Duration::as_millis_ceil);
    let stack = host.stack(StackConfig { breaker: Some(Part::Own(config)), ..StackConfig::default() });
    host.engine
        .operate(stack, host.now, 0, |breaker: &mut CircuitBreaker, cx| breaker.disable(Key::WHOLE, true, cx))
        .unwrap();
    let mut log = Vec::new();
    for _ in 0..CALLS {
        host.run_for([0, rng.between(0, span / 50), rng.between(0, span / 2)][rng.between(0, 8) as usize / 4]);
        let call = host.arrive(stack);
        let fails = rng.between(0, 1) == 1;
        host.settle(call, 1, if fails { failure() } else { success() });
        log.push((host.now, fails));
        let breaker = host.engine.gate::<CircuitBreaker>(stack).unwrap();
        let counts = breaker.read(Key::WHOLE, host.engine.instant(host.now)).counts;
        check(&log, host.now, (counts.calls, counts.failures));
    }
    log
}

fn count<'a>(log: impl Iterator<Item = &'a (HostTime, bool)>) -> (u32, u32) {
    log.fold((0, 0), |(calls, failures), (_, failed)| (calls + 1, failures + u32::from(*failed)))
}

const CALLS: usize = 300;
