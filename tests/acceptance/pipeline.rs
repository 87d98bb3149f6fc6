//! Stoic, section Testing: "Pipeline: flattening for every stage kind, stage order, and the HTTP stack of the API
//! example end to end on virtual time." Our stages stand in one stack in a fixed order; what needs another one nests.
//! (Errors as callers see them: js/test/nested.test.ts and js/test/http-stack.test.ts.)

use forbear::event::VerdictWord;
use forbear::policy::circuit_breaker::{self, CircuitBreaker, StateWord};
use forbear::policy::concurrency_limiter::{self, ConcurrencyLimiter};
use forbear::policy::rate_limiter::{self, RateLimiter};
use forbear::policy::throttler::{self, Throttler};
use forbear::policy::{Kind, attempt_timeout, bulkhead, deadline, hedge, retry};
use forbear::{Key, Outcome, Part, Ratio, RefusalReason, Rejection, StackConfig, StackId, StopReason, Verdict};

use crate::host::{End, Fate, Host, failure, ms, success};
use crate::refuser::{facts, refuser};

/// The outermost stack is the first one, and each attempt of one is a call through the next.
#[test]
fn a_refusal_of_any_kind_passes_through_three_stacks_as_it_is_and_is_evidence_for_none() {
    for reason in RefusalReason::ALL {
        let ([outer, middle, inner], facts) = ([0, 1, 2].map(StackId::from_number), facts(*reason));
        let mut host = Host::new(move |sent, _| match sent.stack {
            stack if stack == outer => Fate::Through(middle, facts),
            stack if stack == middle => Fate::Through(inner, facts),
            _ => Fate::Hangs,
        });
        host.stack(everything());
        host.stack(everything());
        refuser(&mut host, *reason, StackConfig::default());
        let begun = host.now;
        let call = host.arrive(outer);
        host.run_for(100);
        assert_eq!(host.end(call), Some(End::Done(1, StopReason::Refused)), "{reason:?}");
        let End::Refused(rejection, at) = host.end(call + 2).unwrap() else { panic!("{reason:?}") };
        assert_eq!(rejection.reason, *reason);
        let retry_after = at.map(|at| at.since(begun));
        for (stack, call) in [(outer, call), (middle, call + 1)] {
            assert_eq!(host.calls[call].results[&1], Outcome { retry_after, ..Outcome::new(Verdict::Rejected) });
            assert_no_evidence(&host, stack);
        }
    }
}

fn assert_no_evidence(host: &Host, stack: StackId) {
    let (engine, now) = (&host.engine, host.engine.instant(host.now));
    let metrics = engine.metrics(stack, Key::WHOLE).unwrap();
    assert_eq!(metrics.verdicts().map(|(_, count)| count).sum::<u32>(), 1);
    assert_eq!(metrics.verdict(VerdictWord::Rejected), 1);
    assert_eq!(engine.gate::<CircuitBreaker>(stack).unwrap().read(Key::WHOLE, now).counts.calls, 0);
    assert_eq!(engine.gate::<Throttler>(stack).unwrap().read(Key::WHOLE, now).requests, 0);
    let limiter = engine.gate::<ConcurrencyLimiter>(stack).unwrap().read(Key::WHOLE, now);
    assert_eq!((limiter.in_flight, limiter.baseline), (0, None));
}

#[test]
fn the_upstreams_failure_passes_through_three_stacks_as_it_is() {
    let [outer, middle, inner] = [0, 1, 2].map(StackId::from_number);
    let facts = facts(RefusalReason::CircuitOpen);
    let mut host = Host::new(move |sent, _| match sent.stack {
        stack if stack == outer => Fate::Through(middle, facts),
        stack if stack == middle => Fate::Through(inner, facts),
        _ => Fate::Ends(ms(10), failure()),
    });
    for _ in 0..3 {
        host.stack(StackConfig { retry: Some(attempts(2)), ..StackConfig::default() });
    }
    assert_eq!(host.call(outer), End::Done(2, StopReason::AttemptsExhausted));
    assert_eq!(host.calls[0].results[&2], failure());
    assert_eq!(host.sent.iter().filter(|sent| sent.stack == inner).count(), 8, "each stack makes two of one");
}

/// "An outer timeout is `timeout` inside, any other abort `cancelled`": here the engine's host says which; that the shim
/// says it right is in js/test/nested.test.ts.
#[test]
fn an_outer_timeout_ends_every_call_inside_at_once() {
    let [outer, middle, inner] = [0, 1, 2].map(StackId::from_number);
    let facts = facts(RefusalReason::CircuitOpen);
    let mut host = Host::new(move |sent, _| match sent.stack {
        stack if stack == outer => Fate::Through(middle, facts),
        stack if stack == middle => Fate::Through(inner, facts),
        _ => Fate::Hangs,
    });
    let limit = |attempt| StackConfig {
        attempt_timeout: Some(attempt_timeout::Config { attempt: ms(attempt), ..Default::default() }),
        ..StackConfig::default()
    };
    [100, 1_000, 1_000].into_iter().for_each(|attempt| _ = host.stack(limit(attempt)));
    let call = host.arrive(outer);
    host.run_for(100);
    assert_eq!(host.end(call), Some(End::Done(1, StopReason::AttemptsExhausted)));
    assert_eq!([1, 2].map(|call| host.end(call)), [Some(End::Left); 2]);
    assert_eq!(host.engine.in_flight(), 0);
}

#[test]
fn the_outermost_policy_that_refuses_is_the_one_that_is_named() {
    // All of them refuse. Each in turn is taken away.
    let order = [
        (Kind::Throttler, RefusalReason::Throttled),
        (Kind::Breaker, RefusalReason::CircuitOpen),
        (Kind::ConcurrencyLimiter, RefusalReason::ConcurrencyLimited),
        (Kind::Bulkhead, RefusalReason::BulkheadFull),
        (Kind::RateLimiter, RefusalReason::RateLimited),
    ];
    for (place, (policy, reason)) in order.into_iter().enumerate() {
        let mut host = Host::new(|_, _| Fate::Hangs);
        let keep = |kind| order[place..].iter().any(|(other, _)| *other == kind);
        let stack = host.stack(StackConfig {
            throttler: keep(Kind::Throttler).then(|| {
                Part::Own(throttler::Config {
                    min_requests: 1,
                    max_rejection: Ratio::from_percent(99),
                    ..Default::default()
                })
            }),
            breaker: keep(Kind::Breaker).then(|| {
                Part::Own(circuit_breaker::Config {
                    consecutive_failures: Some(300),
                    min_calls: 300,
                    window_calls: Some(300),
                    ..Default::default()
                })
            }),
            concurrency_limiter: keep(Kind::ConcurrencyLimiter)
                .then(|| Part::Own(concurrency_limiter::Config { initial: 1, min: 1, ..Default::default() })),
            bulkhead: keep(Kind::Bulkhead)
                .then(|| Part::Own(bulkhead::Config { concurrency: 1, ..Default::default() })),
            rate_limiter: Some(Part::Own(rate_limiter::Config { rate: 301, ..Default::default() })),
            ..StackConfig::default()
        });
        // One holds the only slot; three hundred failures before it have made the others refuse.
        while host.engine.metrics(stack, Key::WHOLE).is_none_or(|metrics| metrics.sent < 300) {
            let call = host.arrive(stack);
            host.settle(call, 1, failure());
        }
        host.arrive(stack);
        let call = host.arrive(stack);
        let Some(End::Refused(by, _)) = host.end(call) else { panic!("{policy:?}") };
        assert_eq!(by, Rejection { reason, policy });
    }
}

/// The stack of Stoic's example: ten seconds in all, three attempts, a breaker, fifty a second with a burst of a hundred,
/// eight at once with sixteen in line, two seconds for each attempt.
#[test]
fn the_http_stack_end_to_end() {
    let upstream = |sent: &crate::host::Sent, rng: &mut forbear::Rng| {
        match (sent.at.as_nanos() / 1_000_000 - 1_000_000) / 1_000 {
            // Well; then it hangs; then it is well again.
            0..10 | 40.. => Fate::Ends(ms(rng.between(10, 60)), success()),
            10..20 => Fate::Hangs,
            _ => Fate::Ends(ms(5), failure()),
        }
    };
    let mut host = Host::new(upstream);
    let stack = host.stack(StackConfig {
        deadline: Some(deadline::Config { total: ms(10_000), ..Default::default() }),
        retry: Some(retry::Config { base: ms(200), ..attempts(3) }),
        breaker: Some(Part::Own(circuit_breaker::Config { open_for: ms(5_000), ..Default::default() })),
        rate_limiter: Some(Part::Own(rate_limiter::Config {
            rate: 50,
            burst: Some(100),
            wait: ms(10_000),
            ..Default::default()
        })),
        bulkhead: Some(Part::Own(bulkhead::Config { concurrency: 8, queue: 16, ..Default::default() })),
        attempt_timeout: Some(attempt_timeout::Config { attempt: ms(2_000), ..Default::default() }),
        ..StackConfig::default()
    });
    let begun = host.now;
    let mut arrived = Vec::new();
    for _ in 0..60 * 20 {
        arrived.push(host.now);
        host.arrive(stack);
        host.run_for(50);
    }
    host.run_for(20_000);
    assert_eq!(host.engine.in_flight(), 0);
    assert!(host.most_at_once <= 8);
    for (call, its) in host.calls.iter().enumerate() {
        let (end, at) = its.end.unwrap();
        let second = arrived[call].since(begun).as_millis_ceil() / 1_000;
        assert!(at.since(arrived[call]) <= ms(10_000), "call {call}");
        match second {
            // As long as all is well nobody waits for anything.
            0..8 => assert_eq!(end, End::Done(1, StopReason::Completed), "call {call}"),
            // While it fails there is nothing to be had.
            22..40 => assert!(!matches!(end, End::Done(_, StopReason::Completed)), "call {call}"),
            _ => {}
        }
    }
    let reasons =
        |reason| host.which(|call| matches!(call.end, Some((End::Refused(by, _), _)) if by.reason == reason)).len();
    assert!(reasons(RefusalReason::BulkheadFull) > 10, "while all eight hang and sixteen wait");
    assert!(reasons(RefusalReason::CircuitOpen) > 200, "while it fails");
    let breaker = host.engine.gate::<CircuitBreaker>(stack).unwrap();
    assert_eq!(breaker.state(Key::WHOLE, host.engine.instant(host.now)), StateWord::Closed);
    // Whatever waited for a permit has left the line, and the bucket is full again.
    let limiter = host.engine.gate::<RateLimiter>(stack).unwrap();
    assert_eq!((limiter.waiters(Key::WHOLE), limiter.available(Key::WHOLE, host.engine.instant(host.now))), (0, 100));
}

/// Every policy there is.
fn everything() -> StackConfig {
    StackConfig {
        deadline: Some(deadline::Config::default()),
        retry: Some(attempts(3)),
        hedge: Some(hedge::Config::default()),
        throttler: Some(Part::Own(throttler::Config::default())),
        breaker: Some(Part::Own(circuit_breaker::Config { consecutive_failures: Some(1), ..Default::default() })),
        concurrency_limiter: Some(Part::Own(concurrency_limiter::Config::default())),
        bulkhead: Some(Part::Own(bulkhead::Config::default())),
        rate_limiter: Some(Part::Own(rate_limiter::Config::default())),
        attempt_timeout: Some(attempt_timeout::Config::default()),
        ..StackConfig::default()
    }
}

fn attempts(attempts: u32) -> retry::Config {
    retry::Config { attempts, budget: false, ..retry::Config::default() }
}
