//! How far a limit goes in one step, by which algorithm, and the baseline it goes by.

use super::*;

// G3: the algorithms' steps.

#[test]
fn g3_vegas_steps_as_published() {
    // From 20: a queue of at most 1 adds 6, of 2 adds 1, of 3 to 6 holds, of 7 takes 1.
    for (latency, next) in [(1_000, 26), (1_050, 26), (1_110, 21), (1_170, 20), (1_240, 20), (1_420, 20), (1_430, 19)] {
        let measured = algorithm::Measured { limit: 20_000, latency, baseline: 1_000 };
        assert_eq!(Algorithm::Vegas.next(measured) / 1_000, next, "{latency}");
    }
    let measured = |limit, latency| algorithm::Measured { limit, latency, baseline: 1_000 };
    assert_eq!(Algorithm::Vegas.next(measured(20_000, 1_600)), 19_000);
    // From a hundred on all steps are twice as large, and so are the queues they go by.
    for (queue, next) in [(2, 112), (3, 102), (5, 102), (6, 100), (12, 100), (13, 98)] {
        let measured = algorithm::Measured { limit: 100_000, latency: 100, baseline: 100 - queue };
        assert_eq!(Algorithm::Vegas.next(measured) / 1_000, next, "a queue of {queue}");
    }
    assert_eq!(Algorithm::Vegas.next(measured(150_000, 1_000)), 162_000);
    assert_eq!(Algorithm::Vegas.next(measured(150_000, 1_600)), 148_000);
}

#[test]
fn g3_gradient2_steps_as_published() {
    let measured = |limit, latency| algorithm::Measured { limit, latency, baseline: 1_000 };
    // Up to 1.25 times the baseline there is room for a queue of 4, a fifth of which is added; beyond, no growth.
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_000)), 20_800);
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_249)), 20_800);
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_250)), 20_000);
    // Half at most, a fifth of the way.
    assert_eq!(Algorithm::Gradient2.next(measured(100_000, 2_000)), 95_800);
    assert_eq!(Algorithm::Gradient2.next(measured(100_000, u32::MAX)), 90_800);
}

#[test]
fn g3_aimd_adds_one_a_window_and_cuts_a_tenth() {
    let mut world = with(Algorithm::Aimd);
    world.windows(10, 900);
    assert_eq!(world.limit(), 30);
    let note = world.admit(KEY).unwrap();
    world.end(KEY, note, BUSY, 5);
    assert_eq!(world.limit(), 27);
}

#[test]
fn g3_what_is_told_is_whole_attempts_and_why() {
    // A fifth of the room for a queue is added: 20.8 is no attempt more, 21.6 is one.
    let mut world = with(Algorithm::Gradient2);
    assert_eq!(world.window(100).told_why(), []);
    assert_eq!(world.window(100).told_why(), [LimitReason::Headroom]);
    assert_eq!(world.limit(), 21);
    let told = world.windows(3, 900).told_why();
    // The first of them began in the last good window.
    assert!(told.ends_with(&[LimitReason::Latency, LimitReason::Latency]), "{told:?}");
}

#[test]
fn g3_limits_stay_within_their_bounds() {
    for algorithm in Algorithm::ALL {
        let config = Config { algorithm: *algorithm, min: 5, max: 30, ..Config::default() };
        let mut world = World::new(config);
        world.windows(100, 20);
        assert_eq!(world.limit(), 30, "{algorithm:?}");
        for _ in 0..100 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Timeout, 1_000);
        }
        assert_eq!(world.limit(), 5, "{algorithm:?}");
    }
}

// G4: it does not grow while attempts take a quarter longer than the baseline.

#[test]
fn g4_a_long_outage_never_raises_the_limit() {
    // concurrency-limits#35, #165, failsafe-go#127: limits that creep up, baselines that climb to the incident's latency.
    for algorithm in [Algorithm::Vegas, Algorithm::Gradient2] {
        let mut world = with(algorithm);
        // The first window that is slow still has samples that are not.
        world.windows(20, 100).windows(2, 2_500);
        let (mut last, mut windows) = (world.limit(), 0);
        while 4 * 2_500_000 >= 5 * world.baseline() && windows < 150 {
            world.window(2_500);
            assert!(world.limit() <= last, "{algorithm:?}, window {windows}");
            (last, windows) = (world.limit(), windows + 1);
        }
        assert_eq!(windows, 150, "{algorithm:?}: the baseline has climbed");
        assert!(last <= 30, "{algorithm:?}: {last}");
        // And back, once it is over.
        world.windows(60, 100);
        assert!(world.limit() >= 50, "{algorithm:?}: {}", world.limit());
    }
}

// G5: the baseline ages.

#[test]
fn g5_the_baseline_rises_slowly_and_falls_sooner() {
    let mut world = world();
    world.windows(10, 100);
    assert_eq!(world.baseline(), 100_000);
    world.windows(60, 200);
    assert!((110_000..130_000).contains(&world.baseline()), "{}", world.baseline());
    world.windows(50, 100);
    assert!(world.baseline() < 101_500, "{}", world.baseline());
}

#[test]
fn g5_small_differences_move_the_baseline_up_and_down_alike() {
    // concurrency-limits#37: what follows the luckiest sample presses the limit.
    assert_eq!([algorithm::age(1_600, 1_616), algorithm::age(1_600, 1_584)], [1_601, 1_599]);
    assert_eq!([algorithm::age(25_600, 1_000_000), algorithm::age(25_600, 9_600)], [25_700, 24_600]);
    assert_eq!([algorithm::age(0, 7), algorithm::age(7, 7), algorithm::age(7, 6), algorithm::age(7, 8)], [7, 7, 6, 8]);
}

#[test]
fn g5_a_change_for_good_is_accepted_in_the_end() {
    // tower-resilience: a minimum that is kept for ever; envoy#11579: a limit that is pinned to its minimum.
    let mut world = world();
    world.windows(20, 100);
    world.windows(200, 300);
    let pressed = world.limit();
    assert!(pressed < 20, "{pressed}");
    world.windows(1_500, 300);
    assert!(world.limit() > 2 * pressed, "{} after {pressed}", world.limit());
}
