//! One test or more for each guarantee of docs/policies/bulkhead.md, and for what broke in others. Who gets a slot when
//! is tested where slots are, in src/measure/slots.

use alloc::vec::Vec;

use super::*;
use crate::event::What;
use crate::policy::crowd::{Crowd, State};
use crate::policy::lent::Lent;
use crate::policy::{attempt_timeout, deadline, hedge, rate_limiter};
use crate::random::Rng;
use crate::{CallId, Facts, Kind, Part, StackConfig, StackId, Verdict};

const FULL: State = State::Refused(RefusalReason::BulkheadFull, None);

fn config(concurrency: u32, queue: u32) -> Config {
    Config { concurrency, queue, queue_timeout: None, ..Config::default() }
}

fn stack(config: Config) -> StackConfig {
    StackConfig { bulkhead: Some(Part::Own(config)), ..StackConfig::default() }
}

fn crowd(concurrency: u32, queue: u32) -> Crowd {
    Crowd::new(stack(config(concurrency, queue)))
}

impl Crowd {
    fn bulkhead(&self) -> &Bulkhead {
        self.engine.gate(StackId::from_number(0)).unwrap()
    }

    fn taken_and_queued(&self) -> (u32, u32) {
        (self.bulkhead().in_flight(Key::WHOLE), self.bulkhead().queued(Key::WHOLE))
    }
}

#[test]
fn g1_three_hundred_contenders_never_exceed_the_limit() {
    // concurrency-limits#78, tower-resilience#365: one too many.
    for concurrency in [1, 2, 7, 299, 300, 301] {
        let mut crowd = crowd(concurrency, 300);
        for guest in 0..300 {
            crowd.arrive(1 + guest % 13);
        }
        crowd.run_for(60_000);
        assert_eq!(crowd.most_at_once, 300.min(concurrency as usize));
        assert_eq!(crowd.who_started(), (0..300).collect::<Vec<usize>>(), "first in, first out");
        assert_eq!(crowd.taken_and_queued(), (0, 0));
    }
}

#[test]
fn g2_full_and_wait_are_decided_in_one_verb() {
    let mut crowd = crowd(2, 3);
    let guests: Vec<usize> = (0..7).map(|_| crowd.arrive(10)).collect();
    let states: Vec<State> = guests.into_iter().map(|guest| crowd.state(guest)).collect();
    let [runs, waits] = [State::Runs, State::Waits];
    assert_eq!(states, [runs, runs, waits, waits, waits, FULL, FULL]);
    assert_eq!(crowd.taken_and_queued(), (2, 3));
    let mut shedder = self::crowd(1, 0);
    shedder.arrive(10);
    assert_eq!((shedder.arrive(10), shedder.state(1)), (1, FULL));
}

#[test]
fn g3_who_waits_starts_in_order_though_no_hint_arrives() {
    let mut crowd = crowd(1, 3);
    crowd.hints = false;
    for _ in 0..4 {
        crowd.arrive(100);
    }
    crowd.run_for(2_000);
    assert_eq!(crowd.who_started(), [0, 1, 2, 3]);
    // Timers of 50 ms find each slot that soon.
    assert!(crowd.started.windows(2).all(|pair| pair[1].1.since(pair[0].1) <= Duration::from_millis(150)));
}

#[test]
fn g3_a_newcomer_does_not_take_what_a_waiter_was_called_for() {
    let mut crowd = crowd(1, 3);
    crowd.hints = false;
    crowd.arrive(10);
    crowd.arrive(10);
    crowd.run_for(10);
    let newcomer = crowd.arrive(10);
    assert_eq!(crowd.state(newcomer), State::Waits);
    crowd.run_for(200);
    assert_eq!(crowd.who_started(), [0, 1, 2]);
}

#[test]
fn g4_a_slot_goes_back_however_its_attempt_ends() {
    // resilience4j#332, failsafe-go 0.9.2: kept by the cancelled. resilience4j#263: given back twice.
    let verdicts =
        [Verdict::Success, Verdict::Answered, Verdict::Transient, Verdict::Rejected, Verdict::Defect, Verdict::Timeout];
    let mut crowd = crowd(2, 0);
    crowd.arrive(3_600_000);
    for verdict in verdicts {
        let guest = crowd.arrive(3_600_000);
        crowd.end(guest, verdict);
        crowd.end(guest, verdict);
        crowd.leave(guest);
        assert_eq!(crowd.taken_and_queued(), (1, 0), "{verdict:?}");
    }
    let guest = crowd.arrive(3_600_000);
    crowd.leave(guest);
    crowd.leave(guest);
    assert_eq!(crowd.taken_and_queued(), (1, 0));
}

#[test]
fn g4_who_leaves_the_line_starves_nobody() {
    // cockatiel#112, p-queue#168.
    let mut crowd = crowd(1, 3);
    crowd.hints = false;
    for _ in 0..4 {
        crowd.arrive(10);
    }
    crowd.run_for(10);
    crowd.hints = true;
    crowd.leave(1);
    assert_eq!(crowd.state(2), State::Runs);
    crowd.leave(2);
    assert_eq!(crowd.state(3), State::Runs);
    crowd.leave(3);
    assert_eq!(crowd.taken_and_queued(), (0, 0));
}

#[test]
fn g4_who_died_in_line_keeps_nobody_waiting_beyond_its_lease() {
    let mut crowd = crowd(1, 2);
    crowd.arrive(3_600_000);
    let dead = crowd.arrive(10);
    crowd.die(dead);
    crowd.arrive(10);
    crowd.run_for(5_000);
    let newcomer = crowd.arrive(10);
    assert_eq!(crowd.state(newcomer), FULL);
    // 50 ms after it joined it was to be heard of; five seconds later, rounded up, its place is free.
    crowd.run_for(300);
    let newcomer = crowd.arrive(10);
    assert_eq!(crowd.state(newcomer), State::Waits);
}

#[test]
fn g4_slots_that_come_back_together_find_all_who_wait() {
    let mut crowd = crowd(6, 9);
    for _ in 0..6 {
        let guest = crowd.arrive(3_600_000);
        crowd.die(guest);
    }
    for _ in 0..9 {
        crowd.arrive(100);
    }
    // Their leases end in one verb, which has room for eight hints.
    crowd.run_for(60_000);
    crowd.run_for(250);
    assert_eq!(crowd.all(State::Waits).len(), 0);
    assert_eq!(crowd.who_started()[6..], [6, 7, 8, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn g4_nothing_leaks_and_no_slot_is_idle_while_somebody_waits() {
    // bottleneck#194: calls in line while slots were free.
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut crowd = crowd(1 + rng.between(0, 4) as u32, rng.between(0, 8) as u32);
        let (slots, queue) = (crowd.bulkhead().config.concurrency, crowd.bulkhead().config.queue);
        for _ in 0..200 {
            match rng.between(0, 9) {
                0..=4 => drop(crowd.arrive(rng.between(0, 90))),
                5 => {
                    let live: Vec<usize> = [State::Waits, State::Runs].iter().flat_map(|it| crowd.all(*it)).collect();
                    if !live.is_empty() {
                        crowd.leave(live[rng.between(0, live.len() as u64 - 1) as usize]);
                    }
                }
                _ => crowd.run_for(rng.between(0, 40)),
            }
            let (taken, queued) = crowd.taken_and_queued();
            assert_eq!(
                (taken as usize, queued as usize),
                (crowd.all(State::Runs).len(), crowd.all(State::Waits).len())
            );
            assert!(taken <= slots && queued <= queue, "seed {seed}");
            assert!(queued == 0 || taken == slots, "seed {seed}: {queued} wait for {taken} of {slots}");
        }
        crowd.run_for(100_000);
        assert_eq!(crowd.taken_and_queued(), (0, 0), "seed {seed}");
    }
}

#[test]
fn g4_nothing_leaks_where_timers_are_late_hints_get_lost_and_hosts_die() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut crowd = crowd(1 + rng.between(0, 3) as u32, 6);
        crowd.late = Duration::from_millis(rng.between(0, 400));
        for _ in 0..150 {
            crowd.hints = rng.between(0, 2) == 0;
            match rng.between(0, 9) {
                0..=4 => drop(crowd.arrive(rng.between(0, 90))),
                5 => {
                    let live: Vec<usize> = [State::Waits, State::Runs].iter().flat_map(|it| crowd.all(*it)).collect();
                    if !live.is_empty() {
                        crowd.die(live[rng.between(0, live.len() as u64 - 1) as usize]);
                    }
                }
                _ => crowd.run_for(rng.between(0, 200)),
            }
            let (taken, queued) = crowd.taken_and_queued();
            assert!(taken <= crowd.bulkhead().config.concurrency && queued <= 6, "seed {seed}");
        }
        // Without a limit of their own the leases of those that ran last a minute.
        crowd.run_for(70_000);
        for _ in 0..crowd.bulkhead().config.concurrency {
            let last = crowd.arrive(0);
            assert_eq!(crowd.state(last), State::Runs, "seed {seed}");
        }
        // One that must wait, and leases are looked into.
        crowd.arrive(0);
        crowd.run_for(1_000);
        assert_eq!(crowd.taken_and_queued(), (0, 0), "seed {seed}");
    }
}

#[test]
fn g1_whoever_was_not_heard_of_for_hours_lines_up_again_and_passes_nobody() {
    for stall_ms in [1_000, 5_500, 60_000, 7_200_000] {
        let mut crowd = crowd(2, 9);
        for guest in 0..9 {
            crowd.arrive(10 + guest);
        }
        crowd.stall(stall_ms);
        let newcomer = crowd.arrive(10);
        crowd.run_for(5_000);
        assert_eq!(crowd.all(State::Over).len(), 10, "after {stall_ms} ms");
        assert!(crowd.most_at_once <= 2 + 2, "the two whose slots came back are still running");
        assert_eq!(crowd.taken_and_queued(), (0, 0));
        if stall_ms < 5_000 {
            assert_eq!(crowd.who_started()[..9], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        } else {
            assert_eq!(crowd.who_started()[2], newcomer);
        }
    }
}

#[test]
fn g5_whoever_comes_back_after_the_queue_timeout_waits_no_more() {
    let mut crowd = Crowd::new(stack(Config { queue_timeout: Some(Duration::from_secs(5)), ..config(1, 9) }));
    for _ in 0..4 {
        crowd.arrive(100);
    }
    crowd.stall(3_600_000);
    crowd.run_for(1_000);
    // The first of them that asks finds the slot free, which beats the clock.
    assert_eq!(crowd.who_started().len(), 2);
    assert_eq!(crowd.all(State::Refused(RefusalReason::QueueTimeout, None)).len(), 2);
}

#[test]
fn g3_a_line_moves_without_a_single_hint_at_worst_as_fast_as_its_timers() {
    // All come at once, so all their timers ring at once and none in between: the worst there is.
    for (hints, takes_ms, percent) in [(true, 5, 100), (true, 20, 100), (false, 20, 39), (false, 100, 97)] {
        let mut crowd = crowd(10, 200);
        crowd.hints = hints;
        let from = crowd.now;
        for _ in 0..200 {
            crowd.arrive(takes_ms);
        }
        crowd.run_for(60_000);
        assert_eq!(crowd.who_started(), (0..200).collect::<Vec<usize>>(), "first in, first out");
        let took = crowd.started[199].1.since(from).as_millis_ceil() + takes_ms;
        assert!(100 * 20 * takes_ms / took >= percent, "{hints} {takes_ms}: {}", 100 * 20 * takes_ms / took);
    }
}

#[test]
fn g5_nobody_waits_longer_than_the_queue_timeout() {
    let queue_timeout = Some(Duration::from_millis(120));
    let mut crowd = Crowd::new(stack(Config { queue_timeout, ..config(1, 2) }));
    crowd.arrive(3_600_000);
    let waiter = crowd.arrive(10);
    crowd.run_for(119);
    assert_eq!(crowd.state(waiter), State::Waits);
    crowd.run_for(1);
    assert_eq!(crowd.state(waiter), State::Refused(RefusalReason::QueueTimeout, None));
    assert_eq!(crowd.taken_and_queued(), (1, 0));
}

#[test]
fn g5_a_waiter_out_of_time_takes_nothing() {
    let deadline = Some(deadline::Config { total: Duration::from_millis(70), ..Default::default() });
    let mut crowd = Crowd::new(StackConfig { deadline, ..stack(config(1, 2)) });
    let first = crowd.arrive(3_600_000);
    let waiter = crowd.arrive(10);
    crowd.die(first);
    crowd.run_for(70);
    assert_eq!(crowd.state(waiter), State::Refused(RefusalReason::DeadlineExceeded, None));
    assert_eq!(crowd.taken_and_queued(), (1, 0));
}

#[test]
fn g6_refusals_and_waiting_leave_no_trace() {
    let mut crowd = crowd(1, 1);
    let bytes = |crowd: &Crowd| crowd.engine.snapshot(StackId::from_number(0), crowd.now);
    let before = bytes(&crowd);
    for _ in 0..3 {
        crowd.arrive(10);
    }
    assert_eq!(bytes(&crowd), before);
    crowd.run_for(1_000);
    assert_eq!(bytes(&crowd), before);
}

#[test]
fn g8_a_key_that_holds_or_waits_is_busy_and_others_are_not() {
    let mut crowd = crowd(1, 1);
    let busy = |crowd: &Crowd, key| crowd.bulkhead().is_busy(key, Instant::ORIGIN);
    let running = crowd.arrive(10);
    assert!(busy(&crowd, Key::WHOLE) && !busy(&crowd, Key::OVERFLOW));
    let other = crowd.arrive_with(Key::NEW, Facts::default(), 10);
    assert_eq!(crowd.state(other), State::Runs, "keys do not know each other");
    let waiting = crowd.arrive(10);
    crowd.hints = false;
    crowd.leave(running);
    assert!(busy(&crowd, Key::WHOLE));
    crowd.leave(waiting);
    assert!(!busy(&crowd, Key::WHOLE));
}

// What others tell of it.

#[test]
fn who_waited_says_for_how_long() {
    let mut crowd = crowd(1, 1);
    crowd.arrive(30);
    crowd.arrive(10);
    crowd.told();
    crowd.run_for(30);
    let waited = Duration::from_millis(30);
    assert!(crowd.told().contains(&What::Waited { waited }));
    crowd.run_for(10);
    crowd.arrive(10);
    assert!(!crowd.told().iter().any(|what| matches!(what, What::Waited { .. })));
}

#[test]
fn a_slot_is_held_until_the_body_ends_where_that_is_asked_for() {
    // linkerd2-proxy#751 for the default: the slot is back when the attempt is settled.
    let mut plain = crowd(1, 0);
    plain.arrive(10);
    plain.run_for(10);
    assert_eq!(plain.taken_and_queued(), (0, 0));
    let mut crowd = Crowd::new(stack(Config { release: Release::Body, ..config(1, 0) }));
    let first = crowd.arrive(10);
    crowd.run_for(10);
    assert_eq!(crowd.taken_and_queued(), (1, 0));
    assert_eq!((crowd.arrive(10), crowd.state(1)), (1, FULL));
    crowd.leave(first);
    assert_eq!(crowd.taken_and_queued(), (0, 0));
    // A failure may have a body too; what timed out has none.
    let failed = crowd.arrive(3_600_000);
    crowd.end(failed, Verdict::Transient);
    assert_eq!(crowd.taken_and_queued(), (1, 0));
    crowd.leave(failed);
    let late = crowd.arrive(3_600_000);
    crowd.end(late, Verdict::Timeout);
    assert_eq!(crowd.taken_and_queued(), (0, 0));
}

#[test]
fn a_hedge_needs_a_slot_of_its_own_and_leaves_the_line_with_its_round() {
    let hedge = Some(hedge::Config { after: Duration::from_millis(20), ..hedge::Config::default() });
    let mut crowd = Crowd::new(StackConfig { hedge, ..stack(config(1, 1)) });
    crowd.arrive(90);
    let call = crowd.guests[0].id;
    crowd.now = crowd.after(20);
    let _ = crowd.engine.wake(call, crowd.now, 0);
    assert_eq!(crowd.taken_and_queued(), (1, 1));
    crowd.run_for(70);
    assert_eq!((crowd.state(0), crowd.taken_and_queued()), (State::Over, (0, 0)));
}

#[test]
fn who_waits_at_the_rate_limiter_holds_no_slot_and_keeps_its_place() {
    let rate = rate_limiter::Config { rate: 1, wait: Duration::from_secs(10), ..rate_limiter::Config::default() };
    let rate_limiter = Some(Part::Own(rate));
    let timeout = Some(attempt_timeout::Config { attempt: Duration::from_secs(30), ..Default::default() });
    let mut crowd = Crowd::new(StackConfig { rate_limiter, attempt_timeout: timeout, ..stack(config(1, 5)) });
    for _ in 0..4 {
        crowd.arrive(2_500);
    }
    assert_eq!(crowd.taken_and_queued(), (1, 3));
    crowd.run_for(30_000);
    assert_eq!(crowd.who_started(), [0, 1, 2, 3]);
    assert_eq!(crowd.most_at_once, 1);
}

#[test]
fn who_steps_aside_hands_on_what_it_was_called_for() {
    let mut lent = Lent::of(Kind::Bulkhead, Bulkhead::new(config(1, 5)).unwrap());
    let mut note = lent.with(|bulkhead, cx| bulkhead.take(&asker(0, None), cx));
    let [first, second] = [1, 2].map(|call| lent.with(|bulkhead, cx| bulkhead.join(&asker(call, None), cx)));
    lent.with(|bulkhead, cx| bulkhead.release(Key::WHOLE, &mut note, cx));
    let now = lent.now;
    assert!(matches!(lent.gate.ask(&asker(2, Some(second)), now), Answer::Wait(_)), "it is the first's");
    let hinted: Vec<CallId> = lent.with(|bulkhead, cx| {
        bulkhead.step_aside(Key::WHOLE, first, cx);
        cx.woken.iter().collect()
    });
    assert_eq!(hinted, [CallId::from_u64(2)]);
    assert_eq!(lent.gate.ask(&asker(2, Some(second)), now), Answer::Pass);
}

#[test]
fn a_slot_goes_back_once() {
    let mut lent = Lent::of(Kind::Bulkhead, Bulkhead::new(config(2, 0)).unwrap());
    let mut note = lent.with(|bulkhead, cx| bulkhead.take(&asker(0, None), cx));
    lent.with(|bulkhead, cx| bulkhead.take(&asker(1, None), cx));
    for _ in 0..2 {
        lent.with(|bulkhead, cx| bulkhead.release(Key::WHOLE, &mut note, cx));
        assert_eq!(lent.gate.in_flight(Key::WHOLE), 1);
    }
}

#[test]
fn a_key_that_is_given_to_somebody_else_begins_with_all_slots() {
    let mut lent = Lent::of(Kind::Bulkhead, Bulkhead::new(config(1, 0)).unwrap());
    lent.with(|bulkhead, cx| bulkhead.take(&asker(0, None), cx));
    assert_eq!(lent.gate.in_flight(Key::WHOLE), 1);
    lent.gate.forget(Key::WHOLE);
    assert_eq!(lent.gate.in_flight(Key::WHOLE), 0);
}

fn asker(call: u64, place: Option<Place>) -> Asker {
    let (call, since) = (CallId::from_u64(call), Instant::ORIGIN);
    let key = Key::WHOLE;
    Asker { call, attempt: 1, key, dice: 0, cost: 1, deadline: Instant::NEVER, since, place }
}
