//! Slots and their line: who gets one, and when the others ask again.

use alloc::vec::Vec;

use super::*;
use crate::measure::queue::steps;

const BOUNDS: Bounds = Bounds { slots: 1, queue: 5, patience: None };

fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Duration::from_millis(ms)
}

fn full() -> Slots {
    let mut slots = Slots::default();
    slots.take(None);
    slots
}

/// All slots taken and so many in line, who are calls 0, 1, 2 …
fn crowded(waiters: u64) -> (Slots, Vec<u32>) {
    let mut slots = full();
    let places = (0..waiters).map(|number| slots.join(None, CallId::from_u64(number))).collect();
    (slots, places)
}

fn free(slots: &mut Slots, now: Instant) -> Vec<u64> {
    slots.give_back();
    passed_on(slots, now)
}

fn passed_on(slots: &mut Slots, now: Instant) -> Vec<u64> {
    if slots.pass_on(BOUNDS, now) { slots.hinted(now).map(CallId::as_u64).collect() } else { Vec::new() }
}

fn asks(slots: &Slots, place: Option<u32>, ms: u64) -> Told {
    slots.ask(BOUNDS, place, at(0), at(ms))
}

#[test]
fn the_first_ask_again_after_50_ms_and_each_row_behind_them_50_ms_later_up_to_250() {
    for (slots, row) in [(1, 3), (3, 3), (10, 10), (1_000, 32)] {
        let bounds = Bounds { slots, queue: 300, patience: None };
        let mut all = Slots::default();
        (0..slots).for_each(|_| all.take(None));
        let places: Vec<u32> = (0..300).map(|number| all.join(None, CallId::from_u64(number))).collect();
        for (number, place) in (0..).zip(places) {
            let delay = 50 * (1 + 4.min(number / row));
            assert_eq!(all.ask(bounds, Some(place), at(0), at(7)), Told::Wait(at(7 + delay)), "{number} of {slots}");
        }
        assert_eq!(all.ask(bounds, None, at(0), at(7)), Told::Full);
    }
    assert_eq!(asks(&full(), None, 7), Told::Wait(at(57)));
}

#[test]
fn nobody_is_asked_to_wait_beyond_what_one_may() {
    let bounds = Bounds { patience: Some(Duration::from_millis(60)), ..BOUNDS };
    let (slots, places) = crowded(1);
    assert_eq!(slots.ask(bounds, Some(places[0]), at(0), at(40)), Told::Wait(at(60)));
    assert_eq!(slots.ask(bounds, Some(places[0]), at(0), at(60)), Told::TooLong);
    // It has waited elsewhere, and now it would have to wait here.
    assert_eq!(slots.ask(bounds, None, at(0), at(60)), Told::TooLong);
}

#[test]
fn a_slot_in_reach_beats_the_clock() {
    let bounds = Bounds { patience: Some(Duration::from_millis(60)), ..BOUNDS };
    let (mut slots, places) = crowded(1);
    free(&mut slots, at(59));
    assert_eq!(slots.ask(bounds, Some(places[0]), at(0), at(4_000)), Told::Pass);
}

#[test]
fn a_freed_slot_is_the_heads_for_20_ms_and_then_any_waiters() {
    let (mut slots, places) = crowded(4);
    assert_eq!(free(&mut slots, at(0)), [0, 1, 2]);
    assert_eq!(asks(&slots, Some(places[0]), 0), Told::Pass);
    for place in &places[1..] {
        assert!(matches!(asks(&slots, Some(*place), 19), Told::Wait(_)));
        assert_eq!(asks(&slots, Some(*place), 20), Told::Pass);
    }
}

#[test]
fn newcomers_never_pass_a_waiter_and_take_what_none_needs() {
    let (mut slots, _) = crowded(1);
    free(&mut slots, at(0));
    assert!(matches!(asks(&slots, None, 50), Told::Wait(_)));
    let two = Bounds { slots: 2, ..BOUNDS };
    assert_eq!(slots.ask(two, None, at(50), at(50)), Told::Pass);
}

#[test]
fn a_silent_head_is_passed_after_100_ms_and_keeps_its_place() {
    let (mut slots, places) = crowded(1);
    free(&mut slots, at(0));
    assert!(matches!(asks(&slots, None, 99), Told::Wait(_)));
    assert_eq!(asks(&slots, None, 100), Told::Pass);
    slots.take(None);
    assert_eq!((slots.waiting(), slots.taken()), (1, 1));
    // It was only slow: it is first again, and the next slot is its own.
    slots.join(Some(places[0]), CallId::from_u64(0));
    let second = slots.join(None, CallId::from_u64(1));
    assert_eq!(free(&mut slots, at(200)), [0, 1]);
    assert!(matches!(asks(&slots, Some(second), 219), Told::Wait(_)));
    assert_eq!(asks(&slots, Some(places[0]), 219), Told::Pass);
}

#[test]
fn a_silent_head_does_not_keep_newcomers_out_of_a_full_line() {
    // Its lease ends seconds later; until then the slot would be idle.
    let bounds = Bounds { queue: 1, ..BOUNDS };
    let (mut slots, _) = crowded(1);
    free(&mut slots, at(0));
    assert_eq!(slots.ask(bounds, None, at(99), at(99)), Told::Full);
    assert_eq!(slots.ask(bounds, None, at(100), at(100)), Told::Pass);
}

#[test]
fn a_dead_head_is_given_one_head_start_and_no_more() {
    let (mut slots, places) = crowded(2);
    free(&mut slots, at(0));
    for now in [20, 30, 5_000] {
        assert_eq!(asks(&slots, Some(places[1]), now), Told::Pass);
        slots.take(None);
        free(&mut slots, at(now));
    }
}

#[test]
fn whoever_leaves_hands_the_slot_on() {
    // cockatiel#112: an aborted call in line starved the line.
    let (mut slots, places) = crowded(3);
    free(&mut slots, at(0));
    slots.leave(places[0]);
    assert_eq!(passed_on(&mut slots, at(1)), [1, 2]);
    assert_eq!(asks(&slots, Some(places[1]), 1), Told::Pass);
    assert!(matches!(asks(&slots, Some(places[2]), 1), Told::Wait(_)));
}

#[test]
fn whoever_steps_aside_lets_others_pass_until_it_has_to_wait_here_again() {
    let (mut slots, places) = crowded(2);
    slots.step_aside(places[0]);
    free(&mut slots, at(0));
    assert_eq!(asks(&slots, Some(places[1]), 0), Told::Pass);
    assert_eq!(asks(&slots, Some(places[0]), 21), Told::Pass);
    slots.take(Some(places[1]));
    slots.join(Some(places[0]), CallId::from_u64(0));
    assert_eq!(free(&mut slots, at(30)), [0]);
    assert!(matches!(asks(&slots, None, 30), Told::Wait(_)));
}

#[test]
fn nobody_is_hinted_at_while_no_slot_is_free() {
    let (mut slots, _) = crowded(2);
    slots.take(None);
    assert_eq!(slots.waiting(), 2);
    assert!(free(&mut slots, at(0)).is_empty());
    assert_eq!(free(&mut slots, at(0)), [0, 1]);
}

#[test]
fn fewer_slots_than_are_taken_are_none() {
    let mut slots = full();
    slots.take(None);
    assert!(matches!(asks(&slots, None, 0), Told::Wait(_)));
    assert!(free(&mut slots, at(0)).is_empty());
    free(&mut slots, at(0));
    slots.give_back();
    assert_eq!((slots.taken(), asks(&slots, None, 0)), (0, Told::Pass));
}

/// Whoever dies holding slots or places in line is found out in one verb.
#[test]
fn giving_everything_back_at_one_instant_looks_at_everybody_once() {
    let bounds = Bounds { slots: 50_000, queue: 10_000, patience: None };
    for holders_first in [true, false] {
        let mut slots = Slots::default();
        (0..50_000).for_each(|_| slots.take(None));
        let places: Vec<u32> = (0..10_000).map(|number| slots.join(None, CallId::from_u64(number))).collect();
        let give_back = |slots: &mut Slots| {
            (0..50_000).for_each(|_| {
                slots.give_back();
                slots.pass_on(bounds, at(0));
            });
        };
        if holders_first {
            give_back(&mut slots);
        }
        for place in places {
            slots.leave(place);
            slots.pass_on(bounds, at(0));
        }
        if !holders_first {
            give_back(&mut slots);
        }
        assert_eq!((slots.taken(), slots.waiting()), (0, 0));
        let steps = steps();
        assert!(steps <= 20_000, "{steps}");
    }
}
