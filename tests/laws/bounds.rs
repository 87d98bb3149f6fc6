//! Law 9: everything is bounded, and what overflows says so. And what law 5 says of keys: they are held, too.

use std::cell::RefCell;
use std::rc::Rc;

use forbear::event::What;
use forbear::policy::{Kind, bulkhead, circuit_breaker, deadline, hedge, retry};
use forbear::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Key, Limits, MAX_KEYS, MAX_STACKS, Outcome, Part,
    RefusalReason, StackConfig, StackId, Step, StopReason, Verdict,
};

use crate::gates::{Bulkhead, Journal, Pen, Spy};

#[test]
fn a_call_too_many_goes_on_unguarded_and_one_that_ends_makes_room() {
    let mut engine = listening(Limits { calls: 3, ..Limits::default() });
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    let calls: Vec<CallId> = (0..3).map(|_| sent(&admit(&mut engine, stack, Key::WHOLE, 0))).collect();
    assert_eq!(admit(&mut engine, stack, Key::WHOLE, 1).step, Step::Unguarded);
    assert!(told(&mut engine).contains(&What::CallsFull { calls: 3 }));
    let _ = engine.settle(calls[1], 1, Outcome::new(Verdict::Success), at(2), 0);
    sent(&admit(&mut engine, stack, Key::WHOLE, 3));
    assert_eq!(engine.in_flight(), 3);
}

#[test]
fn calls_that_nobody_speaks_for_make_room_when_their_leases_have_ended() {
    let mut engine = listening(Limits { calls: 3, ..Limits::default() });
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    for _ in 0..3 {
        sent(&admit(&mut engine, stack, Key::WHOLE, 0));
    }
    assert_eq!(admit(&mut engine, stack, Key::WHOLE, 59_999).step, Step::Unguarded);
    for _ in 0..3 {
        sent(&admit(&mut engine, stack, Key::WHOLE, 60_000));
    }
}

#[test]
fn so_do_calls_that_lost_their_places_in_line_and_might_come_back() {
    let mut engine = listening(Limits { calls: 3, ..Limits::default() });
    let stack = engine.add_stack(one_slot()).unwrap();
    sent(&admit(&mut engine, stack, Key::WHOLE, 0));
    for _ in 0..2 {
        assert_eq!(admit(&mut engine, stack, Key::WHOLE, 0).step, Step::Wait);
    }
    sent(&admit(&mut engine, stack, Key::WHOLE, 60_000));
    for _ in 0..2 {
        assert_eq!(admit(&mut engine, stack, Key::WHOLE, 60_000).step, Step::Wait);
    }
}

#[test]
fn a_call_that_comes_back_to_find_its_key_with_another_name_is_one_of_many() {
    let mut engine = listening(Limits::default());
    let stack = engine.add_stack(one_slot()).unwrap();
    sent(&admit(&mut engine, stack, Key::NEW, 0));
    let key = engine.key_of(CallId::from_u64(1 << 20)).unwrap();
    let late = admit(&mut engine, stack, key, 0).call.unwrap();
    for _ in 0..MAX_KEYS {
        sent(&admit(&mut engine, stack, Key::NEW, 60_000));
    }
    sent(&engine.wake(late, at(60_000), 0));
    assert_eq!(engine.key_of(late), Some(Key::OVERFLOW));
}

#[test]
fn events_that_nobody_drains_are_dropped_oldest_first_and_counted() {
    let mut engine = listening(Limits::default());
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    for now in 0..1_000 {
        let call = sent(&admit(&mut engine, stack, Key::WHOLE, now));
        let _ = engine.settle(call, 1, Outcome::new(Verdict::Success), at(now), 0);
    }
    // A Send, a settle and a Done each.
    let kept = told(&mut engine).len() as u64;
    assert!(kept <= 256);
    assert_eq!(engine.events().lost() + kept, 3_000);
}

#[test]
fn nothing_is_kept_for_nobody() {
    let mut engine = Engine::default();
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    sent(&admit(&mut engine, stack, Key::WHOLE, 0));
    assert!(engine.events().is_empty());
    assert_eq!(engine.events().lost(), 0);
}

#[test]
fn stacks_are_counted() {
    let mut engine = Engine::default();
    for _ in 0..MAX_STACKS {
        engine.add_stack(StackConfig::default()).unwrap();
    }
    assert!(engine.add_stack(StackConfig::default()).is_err());
}

#[test]
fn no_call_has_more_than_fifteen_attempts() {
    let attempts = |rounds, beside| StackConfig {
        retry: Some(retry::Config { attempts: rounds, budget: false, ..Default::default() }),
        hedge: Some(hedge::Config { attempts: beside, ..Default::default() }),
        ..StackConfig::default()
    };
    let mut engine = Engine::default();
    assert!(engine.add_stack(attempts(8, 2)).is_err());
    let stack = engine.add_stack(attempts(5, 3)).unwrap();
    let mut decision = admit(&mut engine, stack, Key::WHOLE, 0);
    let call = sent(&decision);
    let mut now = at(0);
    for round in 0..5 {
        for attempt in 1..=3 {
            assert_eq!(decision.step, Step::Send(3 * round + attempt));
            now = decision.at.unwrap_or(now);
            if attempt < 3 {
                decision = engine.wake(call, now, 0);
            }
        }
        for attempt in 1..=3 {
            decision = engine.settle(call, 3 * round + attempt, failure(), now, 0);
        }
        now = decision.at.unwrap_or(now);
        if round < 4 {
            decision = engine.wake(call, now, 0);
        }
    }
    let reason = StopReason::AttemptsExhausted;
    assert_eq!(decision.step, Step::Done { attempt: 13, reason, held: false });
}

#[test]
fn keys_are_counted_and_newcomers_share_one_while_all_are_busy() {
    let mut engine = listening(Limits::default());
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    fill_keys(&mut engine, stack);
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 1));
    assert_eq!(engine.key_of(newcomer), Some(Key::OVERFLOW));
    assert!(told(&mut engine).iter().any(|what| matches!(what, What::KeysFull { .. })));
}

#[test]
fn a_key_that_only_the_dead_hold_is_given_to_a_newcomer() {
    let mut engine = listening(Limits::default());
    let stack = engine.add_stack(StackConfig::default()).unwrap();
    fill_keys(&mut engine, stack);
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 60_000));
    assert_ne!(engine.key_of(newcomer), Some(Key::OVERFLOW));
}

#[test]
fn a_key_whose_calls_are_over_is_given_to_a_newcomer_however_they_ended() {
    let mut engine = listening(Limits::default());
    let config = StackConfig {
        deadline: Some(deadline::Config { total: Duration::from_millis(150), ..Default::default() }),
        retry: Some(retry::Config { jitter: retry::Jitter::None, budget: false, ..Default::default() }),
        ..StackConfig::default()
    };
    let stack = engine.add_stack(config).unwrap();
    for ending in 0..3 {
        for _ in 0..MAX_KEYS {
            let call = sent(&admit(&mut engine, stack, Key::NEW, 0));
            assert_ne!(engine.key_of(call), Some(Key::OVERFLOW));
            let last = match ending {
                0 => engine.settle(call, 1, Outcome::new(Verdict::Success), at(0), 0),
                1 => engine.cancel(call, at(0)),
                _ => {
                    let _ = engine.settle(call, 1, failure(), at(0), 0);
                    engine.cancel(call, at(0))
                }
            };
            assert!(matches!(last.step, Step::Done { .. }), "{last:?}");
        }
    }
    // Refused in the backoff, at the deadline: last, since it takes time.
    let calls: Vec<CallId> = (0..MAX_KEYS).map(|_| sent(&admit(&mut engine, stack, Key::NEW, 0))).collect();
    for call in &calls {
        let _ = engine.settle(*call, 1, failure(), at(0), 0);
    }
    for call in calls {
        assert!(matches!(engine.wake(call, at(150), 0).step, Step::Reject(_)));
    }
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 151));
    assert_ne!(engine.key_of(newcomer), Some(Key::OVERFLOW));
}

#[test]
fn who_has_a_key_after_others_is_not_judged_by_what_they_tell_late() {
    let mut engine = listening(Limits::default());
    let pen = Pen { gate: 0, journal: Rc::default() };
    let gate = engine.share(Kind::AttemptTimeout, Spy::new(pen)).unwrap();
    let stack = engine.add_stack(StackConfig { others: vec![gate], ..StackConfig::default() }).unwrap();
    let first = sent(&admit(&mut engine, stack, Key::NEW, 0));
    let key = engine.key_of(first).unwrap();
    for _ in 1..MAX_KEYS {
        sent(&admit(&mut engine, stack, Key::NEW, 0));
    }
    let successor = sent(&admit(&mut engine, stack, Key::NEW, 60_000));
    assert_eq!(engine.key_of(successor), Some(key));
    let before = engine.snapshot(stack, at(60_001));
    let _ = engine.settle(first, 1, failure(), at(60_001), 0);
    assert_eq!(engine.snapshot(stack, at(60_001)), before);
    let _ = engine.settle(successor, 1, failure(), at(60_001), 0);
    assert_ne!(engine.snapshot(stack, at(60_001)), before);
}

#[test]
fn who_shares_the_overflow_key_shares_its_limits() {
    let mut engine = listening(Limits::default());
    let journal = Rc::new(RefCell::new(Journal::default()));
    let pen = Pen { gate: 0, journal: Rc::clone(&journal) };
    let gate = engine.share(Kind::AttemptTimeout, Bulkhead::new(pen, 1, 0, Duration::from_secs(1), false)).unwrap();
    let stack = engine.add_stack(StackConfig { others: vec![gate], ..StackConfig::default() }).unwrap();
    fill_keys(&mut engine, stack);
    sent(&admit(&mut engine, stack, Key::NEW, 1));
    let second = admit(&mut engine, stack, Key::NEW, 2);
    let Step::Reject(rejection) = second.step else { panic!("two share one slot: {second:?}") };
    assert_eq!(rejection.reason, RefusalReason::BulkheadFull);
    assert!(journal.borrow().faults.is_empty(), "{:?}", journal.borrow().faults);
}

#[test]
fn strangers_who_share_the_overflow_key_are_not_judged_by_each_other() {
    let mut engine = listening(Limits::default());
    let breaker = circuit_breaker::Config { consecutive_failures: Some(1), ..Default::default() };
    let breaker = Some(forbear::Part::Own(breaker));
    let stack = engine.add_stack(StackConfig { breaker, ..StackConfig::default() }).unwrap();
    fill_keys(&mut engine, stack);
    for now in 1..9 {
        let call = sent(&admit(&mut engine, stack, Key::NEW, now));
        let _ = engine.settle(call, 1, failure(), at(now), 0);
    }
}

/// One call in flight for each key there can be.
fn one_slot() -> StackConfig {
    let config = bulkhead::Config { concurrency: 1, queue: 5, queue_timeout: None, ..Default::default() };
    StackConfig { bulkhead: Some(Part::Own(config)), ..StackConfig::default() }
}

fn fill_keys(engine: &mut Engine, stack: StackId) {
    for _ in 0..MAX_KEYS {
        sent(&admit(engine, stack, Key::NEW, 0));
    }
}

fn admit(engine: &mut Engine, stack: StackId, key: Key, now: u64) -> Decision {
    engine.admit(stack, key, Facts::default(), at(now), 0)
}

#[track_caller]
pub fn sent(decision: &Decision) -> CallId {
    assert!(matches!(decision.step, Step::Send(1)), "{decision:?}");
    decision.call.unwrap()
}

pub fn listening(limits: Limits) -> Engine {
    let mut engine = Engine::new(limits);
    engine.events().listen(true);
    engine
}

pub fn told(engine: &mut Engine) -> Vec<What> {
    std::iter::from_fn(|| engine.events().pop()).map(|event| event.what).collect()
}

fn failure() -> Outcome {
    Outcome::new(Verdict::Transient)
}

fn at(ms: u64) -> HostTime {
    HostTime::from_millis(ms)
}
