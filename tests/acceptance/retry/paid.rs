//! Repeats and what pays for them.

use forbear::event::What;
use forbear::policy::{budget, deadline, hedge, retry};
use forbear::{CallId, Key, Outcome, Overload, Part, Ratio, StackConfig, StackId, Step, StopReason, Verdict};

use crate::script::{Script, at, failure, ms, success, unavailable};

/// tower-rs/tower#857, #863: a ratio of 0.6 was truncated to a whole repeat for each request.
#[test]
fn every_percentage_of_a_budget_is_exact() {
    for percent in 0..=100 {
        let budget = budget::Config { ratio: Ratio::from_percent(percent), reserve: 0, ..Default::default() };
        let (mut script, stack) = paid_by(budget);
        let calls: Vec<CallId> = (0..100).map(|_| script.admit(stack, at(0), "send 1")).collect();
        let repeated = calls.into_iter().filter(|call| is_repeated(&mut script, *call)).count();
        assert_eq!(repeated, percent as usize);
    }
}

/// hashicorp/aws-sdk-go-base#915, linkerd/linkerd2-proxy#1185: one broken service used up what all had.
#[test]
fn a_dead_upstream_spends_no_repeat_of_anothers() {
    let (mut script, stack) = paid_by(budget::Config::default());
    let engine = &mut script.engine;
    let mut begin = |key, now| {
        let call = engine.admit(stack, key, Default::default(), at(now), 7).call.unwrap();
        (call, engine.key_of(call).unwrap())
    };
    let (mut calls, (dead, healthy)) = (Vec::new(), (begin(Key::NEW, 0).1, begin(Key::NEW, 0).1));
    for now in 0..1_000 {
        calls.push((begin(dead, now).0, begin(healthy, now).0));
    }
    let repeats = |script: &mut Script, calls: &mut dyn Iterator<Item = CallId>| {
        calls.filter(|call| is_repeated(script, *call)).count()
    };
    assert!(repeats(&mut script, &mut calls.iter().map(|(dead, _)| *dead)) <= 105);
    assert!(repeats(&mut script, &mut calls.iter().map(|(_, healthy)| *healthy)) >= 100);
}

/// aws/aws-sdk-go-v2#3189: a used-up budget looked like an error of the server's own.
#[test]
fn that_the_budget_said_no_is_a_reason_of_its_own_beside_the_upstreams_error() {
    let (mut script, stack) = paid_by(budget::Config { reserve: 0, ..Default::default() });
    let call = script.admit(stack, at(0), "send 1");
    // The attempt that Done names is not given up: its error is the caller's.
    script.settle(call, 1, unavailable(ms(500)), at(10), "done 1 budget-exceeded");
    let told = script.events();
    assert!(told.iter().any(|what| matches!(what, What::Exhausted { .. })));
    assert!(told.iter().any(|what| matches!(what, What::Done { reason: StopReason::BudgetExceeded, .. })));
}

/// envoyproxy/envoy#24316, hashicorp/go-retryablehttp#272, cenkalti/backoff#159: whoever was asked to wait slept past its
/// deadline.
#[test]
fn no_wait_ends_after_the_deadline() {
    let asked = [0, 1, 500, 900, 950, 998, 999, 1_000, 30_000];
    for (asked, word) in asked.into_iter().flat_map(|asked| (0..50).map(move |word| (asked, word))) {
        let mut script = Script::new();
        let stack = script.stack(StackConfig {
            deadline: Some(deadline::Config { total: ms(1_000), ..Default::default() }),
            retry: Some(retry::Config { budget: false, ..Default::default() }),
            ..Default::default()
        });
        let call = script.admit(stack, at(0), "send 1, until 1000");
        let decision = script.engine.settle(call, 1, unavailable(ms(asked)), at(1), word);
        match decision.step {
            Step::Wait => assert!(decision.at.unwrap() < at(1_000) && decision.at.unwrap() >= at(1 + asked)),
            // What is asked for alone is too long, or only with what spreads it.
            Step::Done { attempt: 1, reason: StopReason::RetryAfterExceedsDeadline, .. } => assert!(asked >= 999),
            Step::Done { attempt: 1, reason: StopReason::DeadlineExceeded, .. } => assert!((900..999).contains(&asked)),
            _ => panic!("{decision:?}"),
        }
    }
}

/// failsafe-go#141: an exhausted budget ended the call and the attempt that was running.
#[test]
fn a_hedge_that_nobody_pays_for_leaves_the_first_attempt_running() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig {
        budget: Some(Part::Own(budget::Config { ratio: Ratio::ZERO, reserve: 0, ..Default::default() })),
        hedge: Some(hedge::Config { attempts: 2, after: ms(50), ..Default::default() }),
        ..Default::default()
    });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "wait");
    script.settle(call, 1, success(), at(900), "done 1 completed");
}

/// softonic/axios-retry#63: a header that is absent, times a thousand, is no number.
#[test]
fn without_a_retry_after_the_backoff_is_all_there_is() {
    let (mut script, stack) = paid_by(budget::Config::default());
    for overload in [Overload::TooManyRequests, Overload::Unavailable] {
        let call = script.admit(stack, at(0), "send 1");
        script.settle(call, 1, Outcome::new(Verdict::Overload(overload)), at(0), "wait, drop 1, until 100");
    }
}

/// Backoffs of 100 and 200 ms.
fn paid_by(budget: budget::Config) -> (Script, StackId) {
    let mut script = Script::new();
    let retry = retry::Config { jitter: retry::Jitter::None, ..Default::default() };
    let config = StackConfig { retry: Some(retry), budget: Some(Part::Own(budget)), ..Default::default() };
    let stack = script.stack(config);
    (script, stack)
}

fn is_repeated(script: &mut Script, call: CallId) -> bool {
    script.engine.settle(call, 1, failure(), at(1_000), 7).step == Step::Wait
}
