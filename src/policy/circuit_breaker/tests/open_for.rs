//! How long it stays open.

use super::*;

// G3: an open circuit refuses until an instant, and not at it.

#[test]
fn g3_a_refusal_keeps_its_word() {
    let mut world = opened();
    let Answer::Reject { retry_at: Some(until), .. } = world.ask(KEY) else { panic!() };
    assert_eq!(world.read().retry_at, Some(until));
    world.now = until - Duration::from_nanos(1);
    assert_eq!(world.ask(KEY), refused(Some(until)));
    world.now = until;
    assert_eq!(world.ask(KEY), Answer::Pass);
}

#[test]
fn g3_results_while_open_neither_prolong_nor_end_it() {
    let mut world = world();
    let mut late: Vec<Note> = (0..30).map(|_| world.take(KEY)).collect();
    world.calls(10, Verdict::Transient);
    let until = world.read().retry_at;
    for (position, note) in late.iter_mut().enumerate() {
        world.settle(KEY, note, if position % 2 == 0 { Verdict::Success } else { UNAVAILABLE });
        assert_eq!((world.told_last(), world.read().retry_at), (stale(), until));
    }
}

// G4: repeated trips last longer, never longer than the longest, and are forgotten.

#[test]
fn g4_trips_grow_to_the_longest_and_are_only_shortened() {
    let mut spread = Vec::new();
    for seed in 0..200 {
        let mut world = World { word: seed * 1_000, ..opened() };
        world.gate = CircuitBreaker::new(Config::default()).unwrap();
        world.calls(10, Verdict::Transient);
        for (trip, secs) in [30, 60, 120, 240, 300, 300, 300].into_iter().enumerate() {
            let open_for = world.read().retry_at.unwrap().since(world.now);
            assert!(Duration::from_millis(secs * 800) <= open_for && open_for <= Duration::from_secs(secs));
            assert_eq!(world.read().trips, trip as u32 + 1);
            spread.push(open_for.as_nanos() / (secs * 10_000_000));
            world.until_due().calls(1, Verdict::Transient);
        }
    }
    assert!(spread.contains(&80) && spread.contains(&99), "the whole range is used");
}

#[test]
fn g4_trips_are_forgotten_after_staying_closed_not_by_closing() {
    // envoy#6016: a multiplier that never decays, or keeps counting above the cap.
    for (closed_ms, trips) in [(0, 4), (299_999, 4), (300_000, 1)] {
        let mut world = due(Config::default());
        world.calls(1, Verdict::Transient).until_due().calls(1, Verdict::Transient).until_due();
        world.calls(1, Verdict::Success).later(closed_ms);
        assert_eq!(world.read().trips, trips - 1);
        world.calls(10, Verdict::Transient);
        assert_eq!(world.read().trips, trips);
    }
}
