//! What counts, what does not, and for how long.

use super::*;

// G6: one cut for all that began before it.

#[test]
fn g6_a_burst_of_refusals_cuts_once() {
    for (verdict, why) in [
        (BUSY, LimitReason::Overload),
        (Verdict::Overload(Overload::Unavailable), LimitReason::Overload),
        (Verdict::Overload(Overload::Shedding), LimitReason::Overload),
        (Verdict::Timeout, LimitReason::Timeout),
    ] {
        let mut world = world();
        for limit in [18, 16, 14, 13] {
            world.fill(KEY).into_iter().for_each(|note| world.end(KEY, note, verdict, 1_000));
            assert_eq!((world.limit(), world.told_why()), (limit, [why].to_vec()));
        }
    }
}

#[test]
fn g6_samples_from_before_a_cut_do_not_count() {
    // envoy#9007: samples of an earlier epoch raise the baseline with every window.
    let mut world = world();
    let mut notes = world.fill(KEY);
    world.end(KEY, notes.pop().unwrap(), BUSY, 10);
    world.later(5_000);
    notes.into_iter().for_each(|note| world.end(KEY, note, Verdict::Success, 5_000));
    assert_eq!(world.read().baseline, None);
    world.windows(1, 50);
    assert_eq!(world.baseline(), 50_000);
}

// G7: what is no evidence changes nothing.

#[test]
fn g7_faults_are_samples_and_wrong_requests_too() {
    for verdict in [Verdict::Success, Verdict::Answered, Verdict::Transient] {
        let mut world = world();
        for _ in 0..11 {
            world.later(100);
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, verdict, 30);
        }
        assert_eq!(world.baseline(), 30_000, "{verdict:?}");
    }
}

#[test]
fn g7_a_window_needs_time_and_samples() {
    // concurrency-limits#165: a low-traffic window of one sample makes a false baseline.
    let mut world = world();
    for _ in 0..9 {
        world.later(5_000);
        let note = world.admit(KEY).unwrap();
        world.end(KEY, note, Verdict::Success, 30);
        assert_eq!(world.read().baseline, None);
    }
    let tenth = world.admit(KEY).unwrap();
    world.end(KEY, tenth, Verdict::Success, 30);
    assert_eq!(world.baseline(), 30_000);
    let mut quick = self::world();
    for _ in 0..100 {
        let note = quick.admit(KEY).unwrap();
        quick.end(KEY, note, Verdict::Success, 30);
        assert_eq!(quick.read().baseline, None);
    }
}

// G8: what was long ago is not known.

#[test]
fn g8_after_a_minute_without_results_nothing_is_known() {
    let mut world = world();
    world.windows(20, 50);
    let learned = world.read();
    assert!(learned.limit > 20);
    world.told();
    world.later(59_999);
    assert_eq!(world.read(), learned);
    world.later(1);
    assert_eq!(world.read(), Reading { limit: 20, in_flight: 0, queued: 0, baseline: None });
    assert_eq!(world.saved(), self::world().saved());
    assert_eq!((world.fill(KEY).len(), world.told_why()), (20, [LimitReason::Stale].to_vec()));
}

#[test]
fn g8_timeouts_are_results() {
    let mut world = world();
    for _ in 0..20 {
        world.later(30_000);
        let note = world.admit(KEY).unwrap();
        world.end(KEY, note, Verdict::Timeout, 10_000);
    }
    assert_eq!(world.limit(), 4);
}

#[test]
fn g8_no_time_at_all_and_the_end_of_time_are_harmless() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        world.windows(3, 0);
        assert_eq!(world.baseline(), 1);
        world.now = Instant::NEVER;
        for _ in 0..50 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Success, u64::MAX);
            world.saved();
        }
    }
}
