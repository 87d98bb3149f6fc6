//! One budget and a whole fleet, of every kind: agentic's story (tests/acceptance/budget/story.rs) told of others.

use super::*;
use crate::id::StackId;
use crate::policy::{Kind, retry};
use crate::{Engine, Facts, HostTime, Outcome, Part, StackConfig, Step};

/// Twelve jobs call a host that is down for all of them, with three repeats each; one of them is hopeless whoever
/// asks. Answers how many calls are fired.
fn drill(engine: &mut Engine, stack: StackId) -> u32 {
    let (mut calls, mut now) = (0, HostTime::from_millis(1_000));
    for job in 0..12 {
        let mut decision = engine.admit(stack, Key::WHOLE, Facts::default(), now, job);
        while let (Some(call), step) = (decision.call, decision.step) {
            decision = match step {
                Step::Send(attempt) => {
                    calls += 1;
                    let verdict = if job == 7 { Verdict::Answered } else { Verdict::Transient };
                    engine.settle(call, attempt, Outcome::new(verdict), now, job)
                }
                Step::Wait => {
                    now = decision.at.unwrap();
                    engine.wake(call, now, job)
                }
                Step::Done { .. } => break,
                _ => panic!("{decision:?}"),
            };
        }
    }
    calls
}

fn engine_with(retry: retry::Config, budget: Config) -> (Engine, StackId) {
    let mut engine = Engine::default();
    let own = StackConfig { budget: Some(Part::Own(budget)), ..StackConfig::default() };
    let shared = Part::Shared(engine.share_from(&own, Kind::Budget).unwrap());
    let config = StackConfig { retry: Some(retry), budget: Some(shared), ..StackConfig::default() };
    let stack = engine.add_stack(config).unwrap();
    (engine, stack)
}

#[test]
fn every_kind_bites_in_a_stack() {
    // aws-sdk-rust#1234, aws-sdk-js-v3#4754: a bucket that was never installed, or never refilled.
    let retry = retry::Config { attempts: 4, base: Duration::from_millis(1), ..Default::default() };
    let none = |kind| Config { kind, ..Config::default() };
    for (budget, repeats) in [
        (none(Counting::TokenBucket), 5),
        // The fifth failure, that of the second job, switches them off.
        (none(Counting::Grpc), 3),
        (none(Counting::Aws), 33),
        (Config { min: 7, ..none(Counting::Aimd) }, 7),
        (none(Counting::Concurrency), 33),
        (Config { reserve: 0, ..none(Counting::Concurrency) }, 0),
        (none(Counting::Wallet), 5),
        // Ten first attempts earn the sixth.
        (none(Counting::Ratio), 6),
    ] {
        let (mut engine, stack) = engine_with(retry, budget);
        assert_eq!(drill(&mut engine, stack), 12 + repeats, "{budget:?}");
    }
}

#[test]
fn nothing_that_runs_is_counted_for_ever() {
    let kind = Counting::Concurrency;
    let retry = retry::Config { attempts: 4, base: Duration::from_millis(1), ..Default::default() };
    let (mut engine, stack) = engine_with(retry, Config { kind, ..Config::default() });
    let at = HostTime::from_millis;
    let running = |engine: &Engine| engine.budget(stack).unwrap().counts(Key::WHOLE, Instant::ORIGIN);
    let failed = || Outcome::new(Verdict::Transient);
    // One is over, one left before its repeat was sent, one while it ran.
    for end in 0..3 {
        let now = 10 * end;
        let call = engine.admit(stack, Key::WHOLE, Facts::default(), at(now), end).call.unwrap();
        let _ = engine.settle(call, 1, failed(), at(now), end);
        assert_eq!(running(&engine), Counts { firsts: 1, repeats: 1, tokens: None });
        if end != 1 {
            assert_eq!(engine.wake(call, at(now + 1), end).step, Step::Send(2));
        }
        let _ = match end {
            0 => engine.settle(call, 2, Outcome::new(Verdict::Success), at(now + 1), end),
            _ => engine.cancel(call, at(now + 1)),
        };
        assert_eq!(running(&engine), Counts::default(), "{end}");
    }
}

#[test]
fn what_the_dead_were_running_ends_with_their_leases() {
    let budget = Config { kind: Counting::Concurrency, ..Config::default() };
    let retry = retry::Config { base: Duration::from_millis(1), ..Default::default() };
    let mut engine = Engine::new(crate::Limits { calls: 2, ..Default::default() });
    let config = StackConfig { retry: Some(retry), budget: Some(Part::Own(budget)), ..StackConfig::default() };
    let stack = engine.add_stack(config).unwrap();
    let at = HostTime::from_millis;
    for now in [0, 10] {
        let call = engine.admit(stack, Key::WHOLE, Facts::default(), at(now), 1).call.unwrap();
        let _ = engine.settle(call, 1, Outcome::new(Verdict::Transient), at(now), 1);
        assert_eq!(engine.wake(call, at(now + 1), 1).step, Step::Send(2));
    }
    let running = |engine: &Engine| engine.budget(stack).unwrap().counts(Key::WHOLE, Instant::ORIGIN);
    assert_eq!(running(&engine), Counts { firsts: 2, repeats: 2, tokens: None });
    // There is no room for a newcomer: leases that have ended make some.
    assert_eq!(engine.admit(stack, Key::WHOLE, Facts::default(), at(120_000), 1).step, Step::Send(1));
    assert_eq!(running(&engine), Counts { firsts: 1, repeats: 0, tokens: None });
}
