//! Long lines on hosts as they are: their timers and clocks count in milliseconds, and come late.

use super::*;

/// A throng at once on such a host, until everybody has started or is refused.
fn throng(config: Config, late_ms: u64, hints: bool) -> (Crowd, f64) {
    let mut crowd = Crowd::new(stack(config));
    crowd.grain = ms(1);
    (crowd.late, crowd.hints) = (ms(late_ms), hints);
    crowd.engine.events().listen(false);
    (0..THRONG).for_each(|_| _ = crowd.arrive(0));
    let joined = crowd.heard;
    crowd.run_for(30_000);
    assert_eq!(crowd.all(State::Waits), []);
    // Each that started was heard of once more, at its end.
    let wakes = crowd.heard - joined - (crowd.started.len() as u32 - 1);
    let wakes_per_call = f64::from(wakes) / f64::from(THRONG);
    (crowd, wakes_per_call)
}

fn dense() -> Config {
    Config { queue: THRONG, ..patient(10_000, 1) }
}

#[test]
fn g1_a_long_line_goes_as_fast_as_its_host_counts_and_is_not_woken_in_vain() {
    // Ten turns in each millisecond, and a bucket that holds one permit: at each tick one starts, and the others come again.
    for hints in [true, false] {
        let (crowd, wakes) = throng(dense(), 0, hints);
        assert_eq!(crowd.starts(), (0..u64::from(THRONG)).collect::<Vec<u64>>());
        assert_eq!(crowd.who_started(), (0..THRONG as usize).collect::<Vec<usize>>());
        assert!(wakes <= 3.0, "{wakes} wakes a call");
    }
}

#[test]
fn g4_where_timers_are_late_whoever_comes_sees_to_it_that_the_first_goes() {
    for (rate, most_ms) in [(10_000, 1_150), (1_000, 1_250), (500, 2_400)] {
        let (crowd, wakes) = throng(Config { rate, ..dense() }, 5, true);
        assert_eq!(crowd.who_started(), (0..THRONG as usize).collect::<Vec<usize>>(), "first in, first out");
        let last_ms = *crowd.starts().last().unwrap();
        assert!(last_ms >= u64::from(THRONG) * 1_000 / u64::from(rate) - 1 && last_ms <= most_ms, "{last_ms}");
        assert!(wakes <= 4.5, "{wakes} wakes a call");
    }
}

#[test]
fn g4_where_timers_are_late_and_hints_are_lost_everybody_comes_for_its_own_turn() {
    let (crowd, wakes) = throng(dense(), 5, false);
    assert_eq!(crowd.who_started(), (0..THRONG as usize).collect::<Vec<usize>>());
    assert!(wakes <= 15.0, "{wakes} wakes a call");
}

#[test]
fn g1_a_burst_that_holds_what_the_timers_miss_loses_nothing() {
    for hints in [true, false] {
        let (crowd, wakes) = throng(Config { burst: Some(100), ..dense() }, 5, hints);
        // The first hundred start at once, and a hundred are earned in ten milliseconds.
        assert!(*crowd.starts().last().unwrap() <= u64::from(THRONG - 100) / 10 + 10);
        assert!(wakes <= 1.5, "{wakes} wakes a call");
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const THRONG: u32 = 1_000;
