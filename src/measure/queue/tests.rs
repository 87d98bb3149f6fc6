//! The line against a plain list, and what a head start is.

use core::cell::Cell;

use super::*;
use crate::random::Rng;

std::thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// A place is looked at.
pub fn count_step() {
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// How many places were looked at since this was asked last.
pub fn steps() -> u64 {
    STEPS.with(Cell::take)
}

fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Duration::from_millis(ms)
}

fn call(number: u64) -> CallId {
    CallId::from_u64(number)
}

fn calls<'a>(waiters: impl Iterator<Item = &'a Waiter>) -> Vec<u64> {
    waiters.map(|waiter| waiter.call.as_u64()).collect()
}

/// A line of so many, who are calls 0, 1, 2 …
fn line(length: u64) -> (Line, Vec<u32>) {
    let mut line = Line::default();
    let places = (0..length).map(|number| line.join(call(number), 1, Instant::NEVER)).collect();
    (line, places)
}

#[test]
fn first_in_first_out_whoever_leaves() {
    let (mut line, places) = line(5);
    line.leave(places[2]);
    assert_eq!(calls(line.ahead(None)), [0, 1, 3, 4]);
    line.leave(places[0]);
    line.leave(places[4]);
    line.join(call(9), 1, Instant::NEVER);
    assert_eq!(calls(line.ahead(None)), [1, 3, 9]);
    assert_eq!(calls(line.ahead(Some(places[3]))), [1]);
}

#[test]
fn the_head_is_the_first_who_is_there() {
    let (mut line, places) = line(3);
    let head = |line: &Line| line.head(at(0)).map(|waiter| waiter.call.as_u64());
    assert_eq!(head(&line), Some(0));
    line.step_aside(places[0]);
    assert_eq!(head(&line), Some(1));
    places.iter().for_each(|place| line.leave(*place));
    assert_eq!(head(&line), None);
}

#[test]
fn leaving_twice_or_from_nowhere_changes_nothing() {
    let (mut line, places) = line(3);
    for place in [places[1], places[1], 77, u32::MAX] {
        line.leave(place);
        line.step_aside(place);
        line.stand(place, at(0));
    }
    assert_eq!((line.len(), calls(line.ahead(None))), (2, [0, 2].to_vec()));
    line.join(call(9), 1, Instant::NEVER);
    assert_eq!(calls(line.ahead(None)), [0, 2, 9]);
}

#[test]
fn a_warm_line_asks_for_no_memory() {
    let (mut line, places) = line(KEPT as u64);
    let room = line.places.capacity();
    places.into_iter().for_each(|place| line.leave(place));
    for round in 0..1_000 {
        let places: Vec<u32> =
            (0..KEPT as u64).map(|number| line.join(call(round + number), 1, Instant::NEVER)).collect();
        places.into_iter().rev().for_each(|place| line.leave(place));
    }
    assert_eq!((line.places.len(), line.places.capacity()), (KEPT, room));
}

#[test]
fn an_empty_line_gives_back_what_a_long_one_took() {
    let (mut line, places) = line(KEPT as u64 + 1);
    places[1..].iter().for_each(|place| line.leave(*place));
    assert_eq!((line.len(), line.places.len()), (1, KEPT + 1));
    line.leave(places[0]);
    assert_eq!((line.len(), line.places.capacity()), (0, 0));
    line.join(call(9), 2, Instant::NEVER);
    assert_eq!((calls(line.ahead(None)), line.standing), ([9].to_vec(), 2));
}

#[test]
fn calling_goes_on_where_it_was_and_comes_to_the_same() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        // The second forgets how far it has come.
        let mut lines = [Line::default(), Line::default()];
        let (mut places, mut now) = (Vec::new(), at(0));
        for step in 0..300 {
            let any = |rng: &mut Rng, places: &[u32]| *places.get(rng.between(0, 20) as usize).unwrap_or(&0);
            let (what, place, turn) = (rng.between(0, 9), any(&mut rng, &places), at(rng.between(0, 90)));
            match what {
                0..=2 => places.push(lines.each_mut().map(|line| line.join(call(step), 1, Instant::NEVER))[0]),
                3 => lines.each_mut().into_iter().for_each(|line| line.leave(place)),
                4 if rng.between(0, 1) == 0 => lines.each_mut().into_iter().for_each(|line| line.step_aside(place)),
                5 if rng.between(0, 1) == 0 => lines.each_mut().into_iter().for_each(|line| line.stand(place, turn)),
                6 => now = now + Duration::from_millis(rng.between(0, 12)),
                _ => {
                    let room = rng.between(0, 6) as u32;
                    lines[1].calling = Calling::NOWHERE;
                    lines.each_mut().into_iter().for_each(|line| line.call(room, now));
                }
            }
            let turns = lines.each_ref().map(|line| line.ahead(None).map(|waiter| waiter.turn).collect::<Vec<_>>());
            assert_eq!(turns[0], turns[1], "seed {seed}, step {step}");
        }
    }
}

#[test]
fn room_calls_as_many_as_it_is_for() {
    let (mut line, places) = line(4);
    line.step_aside(places[0]);
    line.call(2, at(0));
    let called: Vec<bool> = places.iter().map(|place| line.turn(*place) != Instant::NEVER).collect();
    assert_eq!(called, [false, true, true, false]);
    // Those two have their head start: there is no room for anybody else.
    line.call(2, at(19));
    assert_eq!(line.turn(places[3]), Instant::NEVER);
    // They were not heard of: the next one is called, and their silence is counted from when they were.
    line.call(1, at(20));
    assert_eq!((line.turn(places[3]), line.turn(places[1])), (at(20), at(0)));
}

#[test]
fn a_head_start_is_20_ms_and_a_silence_100() {
    let (mut line, _) = line(1);
    let head = |line: &Line, ms| line.ahead(None).map(|head| (head.is_called(at(ms)), head.is_present(at(ms)))).next();
    assert_eq!(head(&line, 7_200_000), Some((false, true)));
    line.call(1, at(0));
    let seen = [0, 19, 20, 99, 100].map(|ms| head(&line, ms).unwrap());
    assert_eq!(seen, [(true, true), (true, true), (false, true), (false, true), (false, false)]);
}

#[test]
fn who_is_heard_of_again_counts_again() {
    let (mut line, places) = line(1);
    line.call(1, at(0));
    assert!(!line.ahead(None).any(|head| head.is_present(at(100))));
    line.stand(places[0], Instant::NEVER);
    assert!(line.ahead(None).all(|head| head.is_present(at(100))));
    line.step_aside(places[0]);
    assert!(!line.ahead(None).any(|head| head.is_present(at(100)) || head.is_called(at(100))));
    line.stand(places[0], at(100));
    assert!(line.ahead(None).all(|head| head.is_called(at(100))));
}

#[test]
fn hints_go_to_the_first_three_who_are_there() {
    let (mut line, places) = line(6);
    line.step_aside(places[1]);
    assert_eq!(calls(line.hinted(at(0))), [0, 2, 3]);
    line.call(1, at(0));
    assert_eq!(calls(line.hinted(at(100))), [2, 3, 4]);
}

#[test]
fn costs_ahead_are_counted_as_far_as_it_matters() {
    let mut line = Line::default();
    let places: Vec<u32> = [3, 0, 5, 7].map(|cost| line.join(call(u64::from(cost)), cost, Instant::NEVER)).into();
    let ahead = |line: &Line, place, most| line.cost_ahead(place, Waiter::is_present, at(0), most);
    assert_eq!([0, 1, 3, 4, 9].map(|most| ahead(&line, None, most)), [0, 3, 3, 8, 15]);
    assert_eq!((ahead(&line, Some(places[2]), 99), ahead(&line, Some(places[0]), 99)), (3, 0));
    line.step_aside(places[0]);
    assert_eq!(ahead(&line, None, 99), 12);
    assert_eq!(line.cost_ahead(None, Waiter::is_called, at(0), 99), 0);
}

#[test]
fn in_a_long_line_the_first_thousand_are_looked_at() {
    std::thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }
    fn is_there(waiter: &Waiter, now: Instant) -> bool {
        LOOKS.set(LOOKS.get() + 1);
        waiter.is_present(now)
    }
    let (mut line, places) = line(5_000);
    let in_front = |line: &Line, place| {
        LOOKS.set(0);
        let cost = line.cost_in_front(place, is_there, at(0));
        assert!(LOOKS.get() <= LOOKED_AT);
        cost
    };
    for ahead in [0, 1, 999, 1_000, 1_001, 4_999] {
        assert_eq!(in_front(&line, Some(places[ahead])), ahead as u64);
    }
    assert_eq!(in_front(&line, None), 5_000);
    // Who steps aside or leaves is told of exactly at the front, and to newcomers.
    line.step_aside(places[10]);
    line.leave(places[20]);
    line.step_aside(places[3_000]);
    line.leave(places[4_000]);
    assert_eq!([in_front(&line, Some(places[900])), in_front(&line, None)], [898, 4_996]);
    assert_eq!([3_500, 4_500, 4_999].map(|place| in_front(&line, Some(places[place]))), [3_498, 4_498, 4_996]);
    line.stand(places[10], Instant::NEVER);
    assert_eq!([in_front(&line, Some(places[900])), in_front(&line, None)], [899, 4_997]);
    // Whoever left, nobody is told of more than there are.
    places[1_500..4_500].iter().for_each(|place| line.leave(*place));
    assert_eq!([in_front(&line, Some(places[4_999])), in_front(&line, None)], [1_999, 1_999]);
}

/// What a line is, the plain way.
#[derive(Default)]
struct Model {
    line: Vec<(u32, u64, bool, Option<Instant>)>,
}

#[test]
fn agrees_with_a_plain_list() {
    for seed in 0..300 {
        let (mut rng, mut line, mut model) = (Rng::new(seed), Line::default(), Model::default());
        let (mut now, mut longest) = (at(0), 0);
        for number in 0..300 {
            now = now + Duration::from_millis([0, 0, 1, 19, 20, 100][rng.between(0, 5) as usize]);
            let chosen = rng.between(0, model.line.len().max(1) as u64 - 1) as usize;
            let has_room = model.line.len() < 20;
            match (rng.between(0, 9), model.line.get_mut(chosen)) {
                (0..=3, _) if has_room => {
                    let place = line.join(call(number), 1, Instant::NEVER);
                    assert!(model.line.iter().all(|waiter| waiter.0 != place), "seed {seed}");
                    model.line.push((place, number, true, None));
                }
                (4..=5, Some(waiter)) => {
                    line.leave(waiter.0);
                    model.line.remove(chosen);
                }
                (6, Some(waiter)) => {
                    line.step_aside(waiter.0);
                    waiter.2 = false;
                }
                (7, Some(waiter)) => {
                    line.stand(waiter.0, Instant::NEVER);
                    (waiter.2, waiter.3) = (true, None);
                }
                (8, _) => {
                    let mut room = rng.between(0, 3);
                    line.call(room as u32, now);
                    for (.., stands, turn) in model.line.iter_mut().filter(|waiter| waiter.2) {
                        if room > 0 && turn.is_none() {
                            *turn = Some(now);
                        }
                        if room > 0 && *stands && turn.is_some_and(|turn| now < turn + HEAD_START) {
                            room -= 1;
                        }
                    }
                }
                _ => {}
            }
            longest = longest.max(model.line.len());
            if model.line.is_empty() && longest > KEPT {
                longest = 0;
            }
            let order: Vec<u64> = model.line.iter().map(|waiter| waiter.1).collect();
            assert_eq!(calls(line.ahead(None)), order, "seed {seed}");
            assert_eq!((line.len() as usize, line.places.len()), (order.len(), longest), "seed {seed}");
            for (position, (place, _, stands, turn)) in model.line.iter().enumerate() {
                assert_eq!(calls(line.ahead(Some(*place))), order[..position], "seed {seed}");
                let waiter = line.places[*place as usize];
                let present = *stands && turn.is_none_or(|turn| now < turn + SILENCE);
                assert_eq!(waiter.is_present(now), present, "seed {seed}");
                let called = *stands && turn.is_some_and(|turn| now < turn + HEAD_START);
                assert_eq!(waiter.is_called(now), called, "seed {seed}");
            }
            for place in [None, model.line.last().map(|waiter| waiter.0)] {
                let cost = line.cost_in_front(place, Waiter::is_called, now);
                assert_eq!(cost, line.cost_ahead(place, Waiter::is_called, now, u64::MAX), "seed {seed}");
            }
            assert_eq!(line.standing, model.line.iter().filter(|waiter| waiter.2).count() as u64, "seed {seed}");
        }
    }
}
