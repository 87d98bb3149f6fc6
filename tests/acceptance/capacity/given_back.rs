//! Slots and permits: given back once, held by none who left.

use forbear::policy::{bulkhead, concurrency_limiter, hedge, rate_limiter, retry};
use forbear::{CallId, Facts, Key, Part, StackConfig, Step};

use crate::script::{Script, at, failure, ms, success};

/// resilience4j#263, #1569; resilix, tried out: a call that was settled twice freed another call's slot.
#[test]
fn a_second_settle_frees_nobody_elses_slot() {
    let bulkhead = Some(Part::Own(bulkhead::Config { concurrency: 2, ..Default::default() }));
    let limiter = concurrency_limiter::Config { initial: 2, min: 2, max: 2, ..Default::default() };
    for config in [
        StackConfig { bulkhead, ..Default::default() },
        StackConfig { concurrency_limiter: Some(Part::Own(limiter)), ..Default::default() },
    ] {
        let mut script = Script::new();
        let stack = script.stack(config);
        let over = script.admit(stack, at(0), "send 1");
        script.admit(stack, at(0), "send 1");
        script.settle(over, 1, success(), at(1), "done 1 completed");
        script.settle(over, 1, success(), at(1), "unguarded");
        script.cancel(over, at(1), "unguarded");
        // Somebody else has the slot now, and the place that the call had in memory.
        script.admit(stack, at(2), "send 1");
        script.settle(over, 1, success(), at(2), "unguarded");
        let decision = script.engine.admit(stack, Key::WHOLE, Facts::default(), at(2), 7);
        assert!(matches!(decision.step, Step::Reject(_)), "{decision:?}");
    }
}

/// The same where one attempt of several is settled twice while its call goes on.
#[test]
fn an_attempt_that_is_told_of_twice_frees_one_slot() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig {
        retry: Some(retry::Config { jitter: retry::Jitter::None, budget: false, ..Default::default() }),
        bulkhead: Some(Part::Own(bulkhead::Config { concurrency: 2, ..Default::default() })),
        ..Default::default()
    });
    let call = script.admit(stack, at(0), "send 1");
    script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(1), "wait, drop 1, until 101");
    script.settle(call, 1, failure(), at(1), "wait, until 101");
    script.admit(stack, at(2), "send 1");
    script.admit(stack, at(2), "reject bulkhead bulkhead-full");
}

/// failsafe-lib/failsafe#242: a retry that was scheduled by hand ignored its delay.
#[test]
fn whoever_asks_too_early_waits_until_the_same_instant() {
    let mut script = Script::new();
    let retry = retry::Config { jitter: retry::Jitter::None, budget: false, ..Default::default() };
    let rate_limiter = rate_limiter::Config { rate: 1, wait: ms(5_000), ..Default::default() };
    let stack = script.stack(StackConfig { retry: Some(retry), ..Default::default() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(1), "wait, drop 1, until 101");
    (1..101).for_each(|now| script.wake(call, at(now), "wait, until 101"));
    script.due(call, at(101), "send 2");

    let stack = script.stack(StackConfig { rate_limiter: Some(Part::Own(rate_limiter)), ..Default::default() });
    script.admit(stack, at(1_000), "send 1");
    let waiter = script.admit(stack, at(1_000), "wait, until 2000");
    (1_000..2_000).for_each(|now| script.wake(waiter, at(now), "wait, until 2000"));
    script.wake(waiter, at(2_000), "send 1");
}

/// grpc/grpc-java#13034, thomhurst/Kevlar#46: a hedge was launched after its caller had cancelled, or after the winner.
#[test]
fn nothing_starts_after_the_caller_left_or_has_its_answer() {
    for wins in [false, true] {
        let mut script = Script::new();
        let stack = script.stack(StackConfig {
            retry: Some(retry::Config { attempts: 2, budget: false, ..Default::default() }),
            hedge: Some(hedge::Config { attempts: 3, after: ms(50), ..Default::default() }),
            ..Default::default()
        });
        let call = script.admit(stack, at(0), "send 1, until 50");
        script.wake(call, at(50), "send 2, until 100");
        if wins {
            script.settle(call, 2, success(), at(100), "done 2 completed, drop 1");
        } else {
            script.cancel(call, at(100), "done 0 cancelled, drop 1 2");
        }
        for now in [100, 150, 10_000] {
            script.wake(call, at(now), "unguarded");
            script.settle(call, 1, failure(), at(now), "unguarded");
        }
        assert_eq!(script.engine.in_flight(), 0);
    }
}

/// grpc/grpc-java#9185: the first attempt was committed to before another had started, and the count of those in flight
/// was never brought down.
#[test]
fn a_winner_at_the_instant_of_the_hedge_leaves_nothing_running() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig {
        hedge: Some(hedge::Config { attempts: 2, after: ms(50), ..Default::default() }),
        bulkhead: Some(Part::Own(bulkhead::Config { concurrency: 2, ..Default::default() })),
        ..Default::default()
    });
    for round in 0..100 {
        let now = 1_000 * round;
        let call: CallId = script.admit(stack, at(now), &format!("send 1, until {}", now + 50));
        script.settle(call, 1, success(), at(now + 50), "done 1 completed");
        script.wake(call, at(now + 50), "unguarded");
    }
    let bulkhead = script.engine.gate::<bulkhead::Bulkhead>(stack).unwrap();
    assert_eq!((bulkhead.in_flight(Key::WHOLE), script.engine.in_flight()), (0, 0));
}

/// golang/go#56924, #69419: a reservation that was cancelled gave back the wrong number of permits.
#[test]
fn whoever_leaves_the_line_had_taken_nothing() {
    let mut script = Script::new();
    let config = rate_limiter::Config { rate: 1, wait: ms(60_000), ..Default::default() };
    let stack = script.stack(StackConfig { rate_limiter: Some(Part::Own(config)), ..Default::default() });
    script.admit(stack, at(0), "send 1");
    // Their turns are a second apart. All ask again when there is a permit, since those ahead may have left.
    let waiters: Vec<CallId> = (0..20).map(|_| script.admit(stack, at(0), "wait, until 1000")).collect();
    waiters[..19].iter().for_each(|call| script.cancel(*call, at(0), "done 0 cancelled"));
    // The last one is the first now; and what comes after it waits for its turn, as if the others had never been.
    script.wake(waiters[19], at(0), "wait, until 1000");
    let last = script.admit(stack, at(0), "wait, until 1000");
    script.wake(waiters[19], at(1_000), "send 1");
    script.wake(last, at(1_000), "wait, until 2000");
}
