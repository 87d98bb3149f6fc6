//! How many run, and how many may: never more than the limit, and none that is not used grows.

use super::*;

// G1: never more at once than the limit.

#[test]
fn g1_three_hundred_contenders_never_pass_the_limit() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        let mut rng = Rng::new(4);
        let mut running: Vec<Note> = Vec::new();
        for _ in 0..300 * 100 {
            world.later(rng.between(0, 20));
            if rng.between(0, 2) > 0 {
                let room = (running.len() as u32) < world.limit();
                let note = world.admit(KEY);
                assert_eq!(note.is_some(), room, "{} of {}", running.len(), world.limit());
                running.extend(note);
            } else if !running.is_empty() {
                let note = running.swap_remove(rng.between(0, running.len() as u64 - 1) as usize);
                let verdict =
                    [Verdict::Success, Verdict::Success, BUSY, Verdict::Cancelled][rng.between(0, 3) as usize];
                world.end(KEY, note, verdict, rng.between(1, 300));
            }
            assert_eq!(world.read().in_flight as usize, running.len());
        }
    }
}

#[test]
fn g1_a_refusal_names_no_instant_and_leaves_no_trace() {
    let mut world = world();
    assert_eq!(world.fill(KEY).len(), 20);
    let before = world.saved();
    let refused = Answer::Reject { reason: RefusalReason::ConcurrencyLimited, retry_at: None };
    assert_eq!(world.gate.ask(&asker(KEY, world.now), world.now), refused);
    assert_eq!((world.saved(), world.told()), (before, Vec::new()));
}

#[test]
fn g1_a_limit_that_falls_below_what_runs_admits_nobody_until_it_is_reached() {
    let mut world = World::new(Config { cut: Ratio::from_percent(50), ..Config::default() });
    let mut notes = world.fill(KEY);
    world.end(KEY, notes.pop().unwrap(), Verdict::Timeout, 1_000);
    assert_eq!((world.limit(), world.read().in_flight), (10, 19));
    for left in (10..19).rev() {
        assert!(world.admit(KEY).is_none(), "{left}");
        world.end(KEY, notes.pop().unwrap(), Verdict::Success, 1_000);
    }
    world.end(KEY, notes.pop().unwrap(), Verdict::Success, 1_000);
    assert!(world.admit(KEY).is_some());
}

#[test]
fn g1_every_slot_is_given_back_once() {
    let mut world = world();
    let mut note = world.admit(KEY).unwrap();
    for _ in 0..3 {
        world.with(|limiter, cx| limiter.release(KEY, &mut note, cx));
        assert_eq!(world.read().in_flight, 0);
    }
    // After a lease a result still counts.
    let mut samples = 0;
    while world.read().baseline.is_none() {
        world.later(100);
        let mut note = world.admit(KEY).unwrap();
        world.with(|limiter, cx| limiter.release(KEY, &mut note, cx));
        world.settle(KEY, &mut note, Verdict::Success, 50);
        samples += 1;
    }
    assert_eq!((samples, world.read().in_flight), (11, 0));
}

// G2: a limit that is not used does not grow.

#[test]
fn g2_idle_lanes_do_not_grow() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        for _ in 0..1_000 {
            let notes: Vec<Note> = (0..9).filter_map(|_| world.admit(KEY)).collect();
            world.later(200);
            notes.into_iter().for_each(|note| world.end(KEY, note, Verdict::Success, 20));
        }
        assert_eq!((world.limit(), world.baseline()), (20, 20_000), "{algorithm:?}");
        world.windows(3, 20);
        assert!(world.limit() > 20, "{algorithm:?}");
    }
}

#[test]
fn g2_what_never_ran_or_was_refused_inside_is_no_use_of_the_limit() {
    // resilix, ADR 007: a growth tether that was raised at admission, by what an inner policy then refused.
    let mut world = world();
    for _ in 0..100 {
        let notes = world.fill(KEY);
        world.later(200);
        let before = world.saved();
        for (place, note) in notes.into_iter().enumerate() {
            world.end(KEY, note, [Verdict::Rejected, Verdict::Cancelled, Verdict::Defect][place % 3], 20);
        }
        assert_eq!(world.saved(), before);
        for _ in 0..11 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Success, 20);
        }
    }
    assert_eq!(world.limit(), 20);
}
