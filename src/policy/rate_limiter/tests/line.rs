//! Who waits, in which order, and what those are told who may not.

use super::*;
use crate::policy::lent::Lent;
use crate::{CallId, Kind};

#[test]
fn g3_a_refusal_tells_the_exact_instant() {
    // ratelimit_meter#36: the wait that was told ignored the burst.
    for (rate, burst, cost) in [(3, 1, 1), (7, 5, 2), (999_983, 3, 3), (1, 1, 1)] {
        let mut crowd = Crowd::new(stack(config(rate, burst)));
        for _ in 0..burst {
            crowd.arrive(0);
        }
        let refused = crowd.arrive_with(Key::WHOLE, costing(cost), 0);
        let at = retry_at(&crowd, refused);
        crowd.now = HostTime::from_nanos(at.as_nanos() - 1);
        let early = crowd.arrive_with(Key::WHOLE, costing(cost), 0);
        assert_eq!(retry_at(&crowd, early), at);
        crowd.now = at;
        let again = crowd.arrive_with(Key::WHOLE, costing(cost), 0);
        assert_eq!(crowd.state(again), State::Runs);
    }
}

#[test]
fn g3_it_is_decided_before_waiting() {
    let deadline = Some(deadline::Config { total: Duration::from_millis(250), ..Default::default() });
    let mut crowd = Crowd::new(StackConfig { deadline, ..stack(patient(10, 1)) });
    for _ in 0..5 {
        crowd.arrive(0);
    }
    // Turns come at 0, 100, 200; 300 is later than the deadline. The fifth would have the same turn as the fourth.
    let at = crowd.after(300);
    assert_eq!((crowd.waiters(), retry_at(&crowd, 3), retry_at(&crowd, 4)), (2, at, at));
    let mut crowd = Crowd::new(stack(Config { wait: Duration::from_millis(200), ..config(10, 1) }));
    let states: Vec<usize> = (0..4).map(|_| crowd.arrive(0)).collect();
    assert_eq!((crowd.state(states[2]), retry_at(&crowd, states[3])), (State::Waits, crowd.after(300)));
}

#[test]
fn g3_a_turn_at_the_deadline_is_too_late() {
    let deadline = Some(deadline::Config { total: Duration::from_millis(100), ..Default::default() });
    let mut crowd = Crowd::new(StackConfig { deadline, ..stack(patient(10, 1)) });
    crowd.arrive(0);
    let refused = crowd.arrive(0);
    assert_eq!(retry_at(&crowd, refused), crowd.after(100));
}

#[test]
fn g3_retries_wait_a_refusal_out() {
    let retry = Some(retry::Config { retry_refusals: true, budget: false, ..retry::Config::default() });
    let mut crowd = Crowd::new(StackConfig { retry, ..stack(config(1, 1)) });
    crowd.arrive(0);
    let patient = crowd.arrive(0);
    crowd.run_for(999);
    assert_eq!(crowd.state(patient), State::Waits);
    crowd.run_for(200);
    assert_eq!(crowd.state(patient), State::Over);
}

#[test]
fn g4_nobody_overtakes() {
    let mut crowd = Crowd::new(stack(patient(10, 5)));
    for _ in 0..5 {
        crowd.arrive(0);
    }
    crowd.run_for(100);
    // There is one permit. A dear one waits for four more, and a cheap one comes after it.
    let dear = crowd.arrive_with(Key::WHOLE, costing(5), 0);
    crowd.run_for(50);
    let cheap = crowd.arrive(0);
    assert!(!crowd.try_acquire(1) && !crowd.try_acquire(0));
    assert_eq!((crowd.available(), crowd.state(cheap)), (1, State::Waits));
    crowd.run_for(1_000);
    assert_eq!(crowd.who_started()[5..], [dear, cheap]);
    assert_eq!(crowd.starts()[5..], [500, 600]);
}

#[test]
fn g4_who_is_a_little_late_is_waited_for_and_who_is_dead_is_not() {
    let mut crowd = Crowd::new(stack(patient(100, 1)));
    for _ in 0..4 {
        crowd.arrive(0);
    }
    let late = crowd.guests[1].id;
    crowd.die(1);
    crowd.run_for(19);
    assert_eq!(crowd.who_started(), [0]);
    // 10 ms was its turn; 20 ms is the next one's.
    crowd.run_for(21);
    assert_eq!(crowd.who_started(), [0, 2, 3]);
    // It waits for another permit and is before anybody new.
    let decision = crowd.engine.wake(late, crowd.now, 0);
    assert_eq!((decision.step, decision.at), (crate::Step::Wait, Some(crowd.after(10))));
    let newcomer = crowd.arrive(0);
    assert_eq!(crowd.state(newcomer), State::Waits);
    crowd.now = crowd.after(10);
    assert_eq!(crowd.engine.wake(late, crowd.now, 0).step, crate::Step::Send(1));
}

#[test]
fn g4_who_costs_nothing_passes_nobody_either() {
    let mut crowd = Crowd::new(stack(patient(1_000, 1)));
    (0..3).for_each(|_| _ = crowd.arrive(0));
    let free = crowd.arrive_with(Key::WHOLE, costing(0), 0);
    [1, 2].into_iter().for_each(|late| crowd.die(late));
    crowd.run_for(2);
    // There is a permit, and those ahead of it, who are a little late, would need two.
    assert_eq!((crowd.available(), crowd.state(free)), (1, State::Waits));
    crowd.run_for(21);
    assert_eq!(crowd.who_started(), [0, free]);
}

#[test]
fn g4_who_asks_before_its_turn_passes_nobody_who_may_only_be_late() {
    let mut crowd = Crowd::new(stack(patient(1, 1)));
    for _ in 0..3 {
        crowd.arrive(0);
    }
    crowd.die(1);
    crowd.now = crowd.after(1_099);
    crowd.wake(2);
    assert_eq!(crowd.state(2), State::Waits);
    crowd.now = crowd.after(1);
    crowd.wake(2);
    assert_eq!(crowd.state(2), State::Runs);
}

#[test]
fn g4_who_waits_elsewhere_lets_those_behind_pass() {
    let mut lent = Lent::of(Kind::RateLimiter, RateLimiter::new(patient(1, 1)).unwrap());
    lent.with(|limiter, cx| limiter.take(&asker(0, None), cx));
    let [first, second] = [1, 2].map(|call| lent.with(|limiter, cx| limiter.join(&asker(call, None), cx)));
    let now = lent.later(1_000).now;
    assert!(matches!(lent.gate.ask(&asker(2, Some(second)), now), Answer::Wait(_)));
    let hinted: Vec<CallId> = lent.with(|limiter, cx| {
        limiter.step_aside(Key::WHOLE, first, cx);
        cx.woken.iter().collect()
    });
    assert_eq!(hinted, [CallId::from_u64(2)]);
    assert_eq!(lent.gate.ask(&asker(2, Some(second)), now), Answer::Pass);
}

pub(super) fn asker(call: u64, place: Option<Place>) -> Asker {
    let (call, since) = (CallId::from_u64(call), Instant::ORIGIN);
    let key = Key::WHOLE;
    Asker { call, attempt: 1, key, dice: 0, cost: 1, deadline: Instant::NEVER, since, place }
}

#[test]
fn g4_who_leaves_from_behind_hastens_nobody() {
    let mut crowd = Crowd::new(stack(patient(1, 1)));
    for _ in 0..4 {
        crowd.arrive(0);
    }
    crowd.hints = false;
    crowd.leave(3);
    assert_eq!(crowd.engine.woken().count(), 0);
    crowd.leave(1);
    assert_eq!(crowd.engine.woken().collect::<Vec<_>>(), [crowd.guests[2].id]);
}

#[test]
fn g4_late_timers_starve_nobody() {
    for seed in 0..40 {
        let mut crowd = Crowd::new(stack(Config { queue: 10, ..patient(100, 1) }));
        crowd.late = Duration::from_millis(1 + seed % 15);
        crowd.hints = seed % 2 == 0;
        for _ in 0..200 {
            while crowd.waiters() < 10 {
                crowd.arrive(0);
            }
            crowd.run_for(10);
        }
        // Nobody is passed by more than stood in line behind it.
        for (position, guest) in crowd.who_started().iter().enumerate() {
            assert!(position.abs_diff(*guest) <= 10, "seed {seed}: {guest} started as number {position}");
        }
    }
}

#[test]
fn g4_who_leaves_took_nothing_and_those_behind_go_sooner() {
    // golang/go#56924: a cancelled reservation gave back what it had not taken. T86.
    let mut crowd = Crowd::new(stack(patient(1, 1)));
    for _ in 0..6 {
        crowd.arrive(0);
    }
    crowd.run_for(500);
    crowd.leave(1);
    crowd.leave(3);
    crowd.run_for(3_500);
    assert_eq!(crowd.who_started(), [0, 2, 4, 5]);
    assert_eq!(crowd.starts(), [0, 1_000, 2_000, 3_000]);
}

/// A permit a second, none left; a dear waiter, and five cheap ones behind it.
fn behind_a_dear_one(hints: bool) -> (Crowd, usize, Vec<usize>) {
    let mut crowd = Crowd::new(stack(Config { wait: Duration::from_secs(200), ..patient(1, 100) }));
    crowd.hints = hints;
    crowd.arrive_with(Key::WHOLE, costing(100), 0);
    let dear = crowd.arrive_with(Key::WHOLE, costing(100), 0);
    let cheap = (0..5).map(|_| crowd.arrive(0)).collect();
    (crowd, dear, cheap)
}

#[test]
fn g4_where_no_hint_arrives_who_may_go_sooner_is_sent_soon_and_before_newcomers() {
    let (mut crowd, dear, cheap) = behind_a_dear_one(false);
    crowd.run_for(1_500);
    crowd.leave(dear);
    crowd.run_for(10);
    let newcomer = crowd.arrive(0);
    crowd.run_for(10_000);
    assert_eq!(crowd.who_started(), [&[0], &cheap[..], &[newcomer]].concat());
    let starts = crowd.starts();
    assert!(starts[1] <= 1_550, "{starts:?}");
    for (turn, at) in (2..=6).zip(&starts[2..]) {
        assert!((turn * 1_000..=turn * 1_000 + 50).contains(at), "{starts:?}");
    }
}

#[test]
fn g4_where_no_hint_arrives_newcomers_pass_nobody_who_has_not_yet_asked() {
    for late_ms in [1, 15, 30, 49] {
        let (mut crowd, dear, cheap) = behind_a_dear_one(false);
        crowd.run_for(5_500);
        crowd.leave(dear);
        crowd.run_for(late_ms);
        // Five permits are there, and five wait for them.
        let newcomer = crowd.arrive(0);
        crowd.run_for(10_000);
        assert_eq!(crowd.who_started(), [&[0], &cheap[..], &[newcomer]].concat());
        let starts = crowd.starts();
        assert!(starts[1..6].iter().all(|at| *at <= 5_600) && starts[6] <= 6_050, "{starts:?}");
    }
}

#[test]
fn g4_where_no_hint_arrives_the_dead_hold_nobody_up_for_long_though_their_turns_were_far() {
    let (mut crowd, dear, cheap) = behind_a_dear_one(false);
    crowd.run_for(3_500);
    crowd.die(cheap[0]);
    crowd.die(cheap[1]);
    crowd.leave(dear);
    crowd.run_for(500);
    assert_eq!(crowd.who_started(), [0, cheap[2], cheap[3], cheap[4]]);
    assert!(crowd.starts()[3] <= 3_500 + 2 * (50 + 100 + 50), "{:?}", crowd.starts());
}

#[test]
fn who_waits_asks_again_the_more_seldom_the_more_stand_before_it_and_never_before_there_is_credit() {
    let mut crowd = Crowd::new(stack(Config { wait: Duration::from_secs(600), ..patient(1, 1) }));
    (0..101).for_each(|_| _ = crowd.arrive(0));
    crowd.run_for(1);
    let before = crowd.heard;
    crowd.run_for(998);
    assert_eq!(crowd.heard, before, "there can be no permit yet");
    crowd.run_for(10_000);
    // Ten have started and ended. Of the others the first sixty ask for every permit, and the last for every second one.
    let asked = crowd.heard - before - 20;
    assert!((700..900).contains(&asked), "{asked}");
}

#[test]
fn g5_what_is_too_dear_is_refused_at_once_and_told() {
    let mut crowd = Crowd::new(stack(patient(100, 5)));
    let refused = crowd.arrive_with(Key::WHOLE, costing(6), 0);
    assert_eq!(crowd.state(refused), State::Refused(RefusalReason::Oversized, None));
    let told = crowd.told();
    assert!(told.contains(&What::Oversized { permits: 6 }));
    let retry_after = None;
    assert!(told.contains(&What::Rejected { reason: RefusalReason::Oversized, retry_after }));
    assert!(!crowd.try_acquire(6) && crowd.try_acquire(5));
    assert_eq!(crowd.told(), [What::Oversized { permits: 6 }]);
    let dear = crowd.arrive_with(Key::WHOLE, costing(5), 0);
    assert_eq!(crowd.state(dear), State::Waits);
}

#[test]
fn who_waited_says_for_how_long() {
    let mut crowd = Crowd::new(stack(patient(10, 1)));
    crowd.arrive(0);
    crowd.arrive(0);
    crowd.run_for(100);
    let waited = Duration::from_millis(100);
    let told: Vec<What> = crowd.told().into_iter().filter(|it| matches!(it, What::Waited { .. })).collect();
    assert_eq!(told, [What::Waited { waited }]);
}
