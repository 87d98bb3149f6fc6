//! Long lines on hosts as they are: their timers and clocks count in milliseconds, and come late.

use super::line::asker;
use super::*;
use crate::Kind;
use crate::policy::lent::Lent;

/// A throng at once on such a host, until everybody has started or is refused.
fn throng(config: Config, late_ms: u64, hints: bool) -> (Crowd, f64) {
    let mut crowd = Crowd::new(stack(config));
    crowd.grain = ms(1);
    (crowd.late, crowd.hints) = (ms(late_ms), hints);
    crowd.engine.events().listen(false);
    (0..THRONG).for_each(|_| _ = crowd.arrive(0));
    let joined = crowd.heard;
    crowd.run_for(30_000);
    assert!(crowd.all(State::Waits).is_empty());
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

#[test]
fn g8_who_cannot_be_served_in_time_by_such_a_host_is_told_so_at_its_turn() {
    let (crowd, wakes) = throng(Config { wait: ms(200), ..dense() }, 0, true);
    assert_eq!(crowd.starts(), (0..=200).collect::<Vec<u64>>());
    // A tenth of a millisecond each: the others' turns were promised within a tenth of a second.
    assert!((201..THRONG as usize).all(|guest| retry_at(&crowd, guest) > crowd.started[200].1));
    assert!(wakes <= 2.0, "{wakes} wakes a call");
}

#[test]
fn g8_nobody_waits_longer_than_it_may_though_its_host_was_held_up() {
    // Ten a second for a second; for 700 ms of it nobody is heard of, and six permits are lost.
    let mut crowd = Crowd::new(stack(Config { wait: Duration::from_secs(1), ..config(10, 1) }));
    (0..11).for_each(|_| _ = crowd.arrive(0));
    let limit = crowd.after(1_000);
    crowd.run_for(150);
    crowd.stall(700);
    let resumed = crowd.now;
    crowd.run_for(60_000);
    assert_eq!(crowd.starts(), [0, 100, 850, 950]);
    assert_eq!(crowd.who_started(), [0, 1, 2, 3]);
    for guest in 4..11 {
        assert!(retry_at(&crowd, guest) > limit && retry_at(&crowd, guest) > resumed);
    }
}

#[test]
fn g8_a_permit_in_reach_beats_the_clock() {
    let mut crowd = Crowd::new(stack(Config { wait: Duration::from_secs(1), ..config(10, 1) }));
    (0..4).for_each(|_| _ = crowd.arrive(0));
    crowd.stall(3_000);
    let now = crowd.now;
    crowd.run_for(0);
    // The first who comes has waited for too long, and has its permit; the next would have to wait for longer still.
    assert_eq!((crowd.who_started(), crowd.now), ([0, 1].to_vec(), now));
    assert_eq!([2, 3].map(|guest| retry_at(&crowd, guest)), [crowd.after(100), crowd.after(100)]);
}

#[test]
fn g8_who_waited_elsewhere_has_waited() {
    let mut lent = Lent::of(Kind::RateLimiter, RateLimiter::new(Config { wait: ms(500), ..config(1, 1) }).unwrap());
    lent.with(|limiter, cx| limiter.take(&asker(0, None), cx));
    let (now, turn) = (lent.later(600).now, Instant::ORIGIN + ms(1_000));
    let newcomer = Asker { since: now, ..asker(1, None) };
    assert_eq!(lent.gate.ask(&newcomer, now), Answer::Wait(turn));
    let reason = RefusalReason::RateLimited;
    assert_eq!(lent.gate.ask(&asker(1, None), now), Answer::Reject { reason, retry_at: Some(turn) });
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const THRONG: u32 = 1_000;
