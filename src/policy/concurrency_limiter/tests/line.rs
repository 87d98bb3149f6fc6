//! What is above the limit waits in a line, in a crowd of calls. Who gets a slot when is tested where slots are, in
//! src/measure/slots.

use super::*;
use crate::policy::crowd::{Crowd, State};
use crate::policy::rate_limiter;
use crate::{Part, StackConfig, StackId};

const FULL: State = State::Refused(RefusalReason::ConcurrencyLimited, None);

fn stack(config: Config) -> StackConfig {
    StackConfig { concurrency_limiter: Some(Part::Own(config)), ..StackConfig::default() }
}

fn config(initial: u32, queue: u32) -> Config {
    Config { initial, min: 1, queue, queue_timeout: None, ..Config::default() }
}

fn crowd(initial: u32, queue: u32) -> Crowd {
    Crowd::new(stack(config(initial, queue)))
}

impl Crowd {
    fn reading(&self) -> Reading {
        let limiter: &ConcurrencyLimiter = self.engine.gate(StackId::from_number(0)).unwrap();
        limiter.read(Key::WHOLE, self.engine.instant(self.now))
    }

    fn running_and_queued(&self) -> (u32, u32) {
        let Reading { in_flight, queued, .. } = self.reading();
        (in_flight, queued)
    }

    /// So many windows of a second, with so many calls of 50 ms in line all the time.
    fn windows(&mut self, count: u32, in_line: usize) {
        let end = self.after(u64::from(count) * 1_050);
        while self.now < end {
            while self.all(State::Waits).len() < in_line {
                self.arrive(50);
            }
            self.run_for(10);
        }
    }
}

#[test]
fn g11_full_and_wait_are_decided_in_one_verb() {
    let mut crowd = crowd(2, 3);
    let guests: Vec<usize> = (0..7).map(|_| crowd.arrive(10)).collect();
    let states: Vec<State> = guests.into_iter().map(|guest| crowd.state(guest)).collect();
    let [runs, waits] = [State::Runs, State::Waits];
    assert_eq!(states, [runs, runs, waits, waits, waits, FULL, FULL]);
    assert_eq!(crowd.running_and_queued(), (2, 3));
    crowd.run_for(100);
    assert_eq!((crowd.who_started(), crowd.most_at_once), (alloc::vec![0, 1, 2, 3, 4], 2));
    let mut shedder = self::crowd(1, 0);
    shedder.arrive(10);
    assert_eq!((shedder.arrive(10), shedder.state(1)), (1, FULL), "by default nobody waits");
    assert_eq!(Config::default().queue, 0);
}

#[test]
fn g11_three_hundred_contenders_start_in_order_and_never_pass_the_limit() {
    for limit in [1, 7, 60] {
        let mut crowd = crowd(limit, 300);
        (0..300).for_each(|guest| {
            crowd.arrive(1 + guest % 13);
        });
        let (mut running, mut most) = (crowd.reading().in_flight, limit);
        while running > 0 {
            crowd.run_for(1);
            most = most.max(crowd.reading().limit);
            running = crowd.reading().in_flight;
            assert!(running <= most, "{running} of {most}");
        }
        assert_eq!(crowd.who_started(), (0..300).collect::<Vec<usize>>(), "first in, first out");
        assert_eq!(crowd.running_and_queued(), (0, 0));
    }
}

#[test]
fn g11_a_limit_that_grows_calls_the_next_in_line_at_once() {
    let mut crowd = crowd(4, 12);
    crowd.windows(1, 0);
    while crowd.reading().limit == 4 {
        while crowd.all(State::Waits).len() < 12 {
            crowd.arrive(50);
        }
        crowd.run_for(1);
    }
    // Vegas adds six at once.
    assert_eq!(crowd.reading().limit, 10);
    assert_eq!(crowd.running_and_queued().0, 10);
    assert!(crowd.told().iter().any(|what| matches!(what, What::Waited { .. })));
}

#[test]
fn g11_a_limit_that_falls_below_what_runs_admits_nobody_until_it_is_reached() {
    let mut crowd = Crowd::new(stack(Config { cut: Ratio::from_percent(50), ..config(8, 4) }));
    (0..10).for_each(|_| {
        crowd.arrive(3_600_000);
    });
    crowd.end(0, BUSY);
    assert_eq!((crowd.reading().limit, crowd.running_and_queued()), (4, (7, 2)));
    for (ended, taken) in [(1, 6), (2, 5), (3, 4)] {
        crowd.end(ended, BUSY);
        crowd.run_for(1_000);
        assert_eq!(crowd.running_and_queued(), (taken, 2), "one cut for all, and nobody starts");
    }
    crowd.end(4, Verdict::Cancelled);
    assert_eq!((crowd.running_and_queued(), crowd.state(8)), ((4, 1), State::Runs));
}

#[test]
fn g11_nobody_waits_longer_than_the_queue_timeout() {
    let queue_timeout = Some(Duration::from_millis(120));
    let mut crowd = Crowd::new(stack(Config { queue_timeout, ..config(1, 2) }));
    crowd.arrive(3_600_000);
    let waiter = crowd.arrive(10);
    crowd.run_for(119);
    assert_eq!(crowd.state(waiter), State::Waits);
    crowd.run_for(1);
    assert_eq!(crowd.state(waiter), State::Refused(RefusalReason::QueueTimeout, None));
    assert_eq!(crowd.running_and_queued(), (1, 0));
}

#[test]
fn g11_who_waits_elsewhere_lets_others_pass() {
    let turns = rate_limiter::Config { rate: 1, queue: 5, wait: Duration::from_secs(60), ..Default::default() };
    let mut crowd = Crowd::new(StackConfig { rate_limiter: Some(Part::Own(turns)), ..stack(config(1, 5)) });
    crowd.arrive(10);
    let dear = crowd.arrive(10);
    crowd.run_for(10);
    assert_eq!((crowd.state(dear), crowd.running_and_queued()), (State::Waits, (0, 1)));
    crowd.leave(dear);
    assert_eq!(crowd.running_and_queued(), (0, 0));
}

#[test]
fn g11_who_steps_aside_hands_on_what_it_was_called_for() {
    let mut world = World::new(config(1, 5));
    let at_place = |call, place, now| Asker { call: CallId::from_u64(call), place, ..asker(KEY, now) };
    let (now, running) = (world.now, world.admit(KEY).unwrap());
    let [first, second] = [1, 2].map(|call| world.with(|limiter, cx| limiter.join(&at_place(call, None, now), cx)));
    world.end(KEY, running, Verdict::Success, 10);
    assert!(matches!(world.gate.ask(&at_place(2, Some(second), now), now), Answer::Wait(_)), "it is the first's");
    let hinted: Vec<CallId> = world.with(|limiter, cx| {
        limiter.step_aside(KEY, first, cx);
        cx.woken.iter().collect()
    });
    assert_eq!(hinted, [CallId::from_u64(2)]);
    assert_eq!(world.gate.ask(&at_place(2, Some(second), now), now), Answer::Pass);
}

#[test]
fn g2_a_line_means_that_the_limit_is_used_and_it_grows() {
    let mut crowd = crowd(4, 300);
    crowd.windows(4, 40);
    assert!(crowd.reading().limit >= 20, "{:?}", crowd.reading());
    // Nobody waits, and few run: it stays where it is.
    let mut quiet = self::crowd(20, 300);
    for _ in 0..500 {
        quiet.arrive(50);
        quiet.run_for(10);
    }
    assert_eq!(quiet.reading().limit, 20);
}

#[test]
fn g2_who_waits_is_no_evidence() {
    let mut crowd = crowd(2, 40);
    (0..42).for_each(|_| {
        crowd.arrive(3_600_000);
    });
    crowd.run_for(30_000);
    (2..42).for_each(|guest| crowd.leave(guest));
    let stack = StackId::from_number(0);
    assert_eq!(crowd.engine.snapshot(stack, crowd.now), self::crowd(2, 40).engine.snapshot(stack, crowd.now));
}

#[test]
fn g8_a_limit_that_has_grown_stale_lets_the_line_in() {
    let stale_after = Duration::from_secs(10);
    let mut crowd = Crowd::new(stack(Config { cut: Ratio::from_percent(50), stale_after, ..config(8, 40) }));
    crowd.hints = false;
    (0..9).for_each(|_| {
        crowd.arrive(3_600_000);
    });
    crowd.end(0, BUSY);
    (0..9).for_each(|_| {
        crowd.arrive(3_600_000);
    });
    assert_eq!((crowd.reading().limit, crowd.running_and_queued()), (4, (7, 10)));
    // Whoever waits asks again by itself.
    crowd.run_for(10_250);
    assert_eq!((crowd.reading().limit, crowd.running_and_queued()), (8, (8, 9)));
}

#[test]
fn g11_nothing_leaks_and_no_slot_is_idle_while_somebody_waits() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let queue = rng.between(0, 8) as u32;
        let window = Duration::from_millis(100);
        let algorithm = Algorithm::ALL[seed as usize % 3];
        let mut crowd = Crowd::new(stack(Config { window, algorithm, ..config(1 + rng.between(0, 6) as u32, queue) }));
        for _ in 0..300 {
            match rng.between(0, 9) {
                0..=4 => {
                    crowd.arrive(rng.between(1, 90));
                }
                5 => {
                    let live: Vec<usize> = [State::Waits, State::Runs].iter().flat_map(|it| crowd.all(*it)).collect();
                    if !live.is_empty() {
                        crowd.leave(live[rng.between(0, live.len() as u64 - 1) as usize]);
                    }
                }
                6 => {
                    if let Some(runs) = crowd.all(State::Runs).first() {
                        crowd.end(*runs, BUSY);
                    }
                }
                _ => crowd.run_for(rng.between(0, 40)),
            }
            let Reading { limit, in_flight, queued, .. } = crowd.reading();
            assert_eq!(
                (in_flight as usize, queued as usize),
                (crowd.all(State::Runs).len(), crowd.all(State::Waits).len())
            );
            assert!(queued <= queue, "seed {seed}");
            assert!(queued == 0 || in_flight >= limit, "seed {seed}: {queued} wait for {in_flight} of {limit}");
        }
        crowd.run_for(100_000);
        assert_eq!(crowd.running_and_queued(), (0, 0), "seed {seed}");
    }
}

#[test]
fn g10_a_key_with_somebody_in_line_is_busy() {
    let mut world = World::new(Config { initial: 4, queue: 3, ..Config::default() });
    let notes = world.fill(KEY);
    let waiter = asker(KEY, world.now);
    let place = world.with(|limiter, cx| limiter.join(&waiter, cx));
    notes.into_iter().for_each(|note| world.end(KEY, note, Verdict::Cancelled, 5));
    assert_eq!((world.read().in_flight, world.gate.is_busy(KEY, world.now)), (0, true));
    world.with(|limiter, cx| limiter.leave(KEY, place, cx));
    assert!(!world.gate.is_busy(KEY, world.now));
}
