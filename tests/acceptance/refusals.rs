//! resilix, section 10: "Shed requests never appear in the execution-duration histogram (§8.2)." and "All six rejection
//! reasons are distinguishable by a caller." (There are eight by now. In JavaScript: js/test/refusals.test.ts.)

use std::collections::BTreeSet;

use forbear::event::VerdictWord;
use forbear::policy::{budget, retry};
use forbear::{Facts, Key, Outcome, Part, Ratio, RefusalReason, StackConfig, StopReason, Verdict};

use crate::host::{End, Fate, Host, failure, ms};
use crate::refuser::{facts, refused, refuser};

#[test]
fn shed_calls_are_never_in_the_duration_histogram() {
    for reason in RefusalReason::ALL {
        let mut host = Host::new(|_, _| Fate::Hangs);
        let stack = refuser(&mut host, *reason, StackConfig::default());
        for _ in 0..5 {
            host.arrive_with(stack, Key::WHOLE, facts(*reason));
        }
        host.run_for(100);
        let running: usize = host.calls.iter().map(|call| call.running.len()).sum();
        let metrics = host.engine.metrics(stack, Key::WHOLE).unwrap();
        assert_eq!(metrics.latencies.iter().sum::<u32>() as usize, host.sent.len() - running, "{reason:?}");
        assert!(metrics.refusal(*reason) > 0, "{reason:?}");
    }
}

#[test]
fn what_a_nested_stack_shed_is_not_in_the_outer_ones_histogram_either() {
    let mut host = Host::new(|_, _| Fate::Ends(ms(0), Outcome::new(Verdict::Rejected)));
    let outer = host.stack(StackConfig::default());
    host.call(outer);
    let metrics = host.engine.metrics(outer, Key::WHOLE).unwrap();
    assert_eq!(metrics.verdict(VerdictWord::Rejected), 1);
    assert_eq!(metrics.latencies.iter().sum::<u32>(), 0);
}

#[test]
fn every_reason_is_told_apart_and_names_its_policy() {
    let mut told = BTreeSet::new();
    for reason in RefusalReason::ALL {
        let mut host = Host::new(|_, _| Fate::Hangs);
        let call = refused(&mut host, *reason);
        let Some(End::Refused(rejection, retry_at)) = host.end(call) else { panic!("{reason:?}") };
        assert_eq!(rejection.reason, *reason);
        told.insert((rejection.reason.word(), rejection.policy.word(), retry_at.is_some()));
    }
    let expected = [
        ("bulkhead-full", "bulkhead", false),
        ("circuit-open", "breaker", true),
        ("concurrency-limited", "concurrencyLimiter", false),
        ("deadline-exceeded", "deadline", false),
        ("oversized", "rateLimiter", false),
        ("queue-timeout", "bulkhead", false),
        ("rate-limited", "rateLimiter", true),
        ("throttled", "throttler", false),
    ];
    assert_eq!(told, BTreeSet::from(expected));
}

/// Section 7: "Retry must distinguish 'the call failed and we will not retry it' from 'we would have retried but the
/// budget said no'."
#[test]
fn no_budget_is_told_apart_from_every_other_reason_not_to_retry() {
    let mut host = Host::new(|sent, _| {
        let answered = Outcome::new(Verdict::Answered);
        Fate::Ends(ms(1), if sent.call == 2 { answered } else { failure() })
    });
    let nothing = budget::Config { ratio: Ratio::ZERO, reserve: 1, ..Default::default() };
    let stack = host.stack(StackConfig {
        retry: Some(retry::Config { attempts: 2, ..Default::default() }),
        budget: Some(Part::Own(nothing)),
        ..StackConfig::default()
    });
    let once = Facts { replayable: false, ..Facts::default() };
    let ends: Vec<_> = [Facts::default(), Facts::default(), Facts::default(), once]
        .into_iter()
        .map(|facts| {
            let call = host.arrive_with(stack, Key::WHOLE, facts);
            host.run_for(1_000);
            host.end(call).unwrap()
        })
        .collect();
    let expected = [
        End::Done(2, StopReason::AttemptsExhausted),
        End::Done(1, StopReason::BudgetExceeded),
        End::Done(1, StopReason::NotRetryable),
        End::Done(1, StopReason::BodyNotReplayable),
    ];
    assert_eq!(ends, expected);
}
