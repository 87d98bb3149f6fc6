//! When it opens, by what evidence.

use super::*;

// G1: it opens exactly when the window says so.

#[test]
fn g1_opens_at_exactly_the_rate() {
    // resilience4j#6, resilix: with `>` a rate of 1 can never be reached.
    for (rate, failures) in [(50, 10), (100, 20), (5, 1)] {
        let failure_rate = Ratio::from_percent(rate);
        let mut world = World::new(Config { failure_rate, consecutive_failures: None, ..Config::default() });
        world.calls(20 - failures, Verdict::Success).calls(failures - 1, Verdict::Transient);
        assert_eq!(world.state(), StateWord::Closed, "{rate} %");
        world.calls(1, UNAVAILABLE);
        assert_eq!(world.state(), StateWord::Open, "{rate} %");
    }
}

#[test]
fn g1_the_first_failures_of_a_quiet_key_open_nothing() {
    // opossum#217, #288, #481: one failure of one call is 100 %.
    let mut world = world();
    world.calls(9, Verdict::Transient).calls(1, Verdict::Success).calls(9, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Closed);
    assert_eq!((world.read().failure_rate(), world.read().counts.calls), (Ratio::from_millionths(947_368), 19));
    world.calls(1, Verdict::Success);
    assert_eq!(world.state(), StateWord::Open);
    let trigger = Trigger::FailureRate;
    let told = world.told();
    let opened = told.iter().filter(|what| matches!(what, What::Opened { trigger: it, .. } if *it == trigger));
    assert_eq!(opened.count(), 1);
}

#[test]
fn g1_failures_in_a_row_open_at_low_traffic() {
    let mut world = world();
    for _ in 0..9 {
        world.later(3_600_000).calls(1, Verdict::Timeout);
    }
    assert_eq!((world.state(), world.read().consecutive), (StateWord::Closed, 9));
    world.later(3_600_000).calls(1, Verdict::Timeout);
    assert!(matches!(world.told_last(), What::Opened { trigger: Trigger::ConsecutiveFailures, calls: 1, .. }));
}

#[test]
fn g1_a_blip_among_many_calls_opens_nothing() {
    // unkeyed/unkey#6568: an absolute count trips on a blip of 0.14 %; vertx-circuit-breaker#24: failures that never age.
    let mut world = world();
    for second in 0..600 {
        world.later(1_000).calls(if second % 60 == 0 { 9 } else { 0 }, Verdict::Transient).calls(84, Verdict::Success);
    }
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g1_failures_of_an_hour_ago_are_forgotten() {
    // cockatiel's SamplingBreaker: one bucket goes a call, however long nobody called.
    let mut world = World::new(Config { consecutive_failures: None, ..Config::default() });
    world.calls(19, Verdict::Transient).later(3_600_000).calls(1, Verdict::Transient);
    assert_eq!((world.state(), world.read().counts.calls), (StateWord::Closed, 1));
}

#[test]
fn g1_slow_calls_open_once_slow_is_defined() {
    let mut config = Config { slow_call: Some(Duration::from_millis(100)), ..Config::default() };
    let slow = |config: &Config, latency_ms| {
        let mut world = World::new(*config);
        (0..20).for_each(|_| {
            let mut note = world.take(KEY);
            world.settle_after(KEY, &mut note, Verdict::Answered, latency_ms);
        });
        world
    };
    assert_eq!(slow(&config, 100).read().counts.slow, 0);
    let mut world = slow(&config, 101);
    assert!(matches!(world.told_last(), What::Opened { trigger: Trigger::SlowRate, slow: 20, .. }));
    config.slow_call = None;
    assert_eq!(slow(&config, 100_000).read().slow_rate(), Ratio::ZERO);
}

#[test]
fn g1_a_timeout_is_a_failure_and_slow() {
    // resilience4j#1123: an inner limiter's timeout is not seen by an outer breaker.
    let mut world = World::new(Config { slow_call: Some(Duration::from_secs(9)), ..Config::default() });
    world.calls(3, Verdict::Timeout);
    assert_eq!(world.read().counts, Counts { calls: 3, failures: 3, slow: 3 });
}

#[test]
fn g1_rate_limited_and_shedding_count_only_if_asked() {
    for (count_rate_limited, failures) in [(false, 0), (true, 2)] {
        let mut world = World::new(Config { count_rate_limited, ..Config::default() });
        world.call(Verdict::Overload(Overload::TooManyRequests));
        world.call(Verdict::Overload(Overload::Shedding));
        assert_eq!(world.read().counts, Counts { calls: 2, failures, slow: 0 });
    }
}

// G2: only evidence counts.

#[test]
fn g2_refusals_cancellations_and_defects_change_nothing() {
    // resilience4j#682, apache/brpc#3532: cancelled calls open it; resilience4j#1656: does a full bulkhead?
    for (mut world, _) in [(world(), 0), (opened(), 1), (due(probes(2, 1)), 2)] {
        let before = world.saved();
        for verdict in NO_EVIDENCE.iter().cycle().take(60) {
            world.call(*verdict);
            assert_eq!(world.saved(), before);
        }
        if let Some(mut note) = world.admit(KEY) {
            world.release(KEY, &mut note);
        }
        assert_eq!(world.saved(), before);
    }
}

#[test]
fn g2_a_wrong_request_is_an_answer() {
    // Polly#311, #717: an outcome that the policy does not handle uses up the only probe.
    let mut world = due(Config::default());
    assert!(world.call(Verdict::Answered));
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g2_what_was_ignored_says_why() {
    let mut world = world();
    for (verdict, reason) in NO_EVIDENCE.iter().zip([IgnoreReason::Cancelled, IgnoreReason::Rejection]) {
        world.call(*verdict);
        assert_eq!(world.told(), [What::Ignored { reason }]);
    }
    world.call(Verdict::Success);
    assert_eq!(world.told(), [What::Recorded { counted: Counted::Success, slow: false }]);
}
