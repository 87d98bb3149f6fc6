//! Circuits: transitions, clocks, and what counts.

use forbear::event::{Trigger, What};
use forbear::policy::bulkhead;
use forbear::policy::circuit_breaker::{CircuitBreaker, Config, Reading, StateWord};
use forbear::{CallId, Decision, Engine, Facts, Key, Part, Ratio, StackConfig, StackId, Step};

use crate::script::{Script, at, failure, ms, success};

/// resilience4j#734: the duration of a slow call came from the system's clock, whatever clock was injected.
#[test]
fn a_slow_call_is_slow_by_the_hosts_clock() {
    let slow = Config { slow_call: Some(ms(1_500)), min_calls: 1, ..config() };
    for (took, state) in [(1_500, StateWord::Closed), (1_501, StateWord::Open)] {
        let (mut script, stack) = guarded(slow);
        let call = script.admit(stack, at(10_000), "send 1");
        script.settle(call, 1, success(), at(10_000 + took), "done 1 completed");
        assert_eq!(read(&script, stack, 10_000 + took).state, state);
    }
}

/// resilience4j#646, #674: two callers made the same transition, and one of them was thrown an error. Polly#254, PR 223:
/// one trip was told twice.
#[test]
fn a_hundred_calls_at_the_instant_of_a_transition_make_it_once() {
    let (mut script, stack) = guarded(Config { consecutive_failures: Some(3), ..config() });
    let calls: Vec<CallId> = (0..100).map(|_| script.admit(stack, at(0), "send 1")).collect();
    let mut told = Vec::new();
    for call in calls {
        script.settle(call, 1, failure(), at(0), "done 1 attempts-exhausted");
        told.extend(opened(&mut script));
    }
    assert_eq!(told, [Trigger::ConsecutiveFailures]);

    let mut told = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..100 {
        sent.extend(sends(&mut script.engine, stack, 1_000));
        told.extend(script.events());
    }
    script.settle(sent[0], 1, success(), at(1_000), "done 1 completed");
    told.extend(script.events());
    let count = |is: fn(&What) -> bool| told.iter().filter(|what| is(what)).count();
    let transitions =
        [count(|what| matches!(what, What::HalfOpened { .. })), count(|what| matches!(what, What::Closed { .. }))];
    assert_eq!((sent.len(), transitions), (1, [1, 1]));
}

/// resilience4j#1003: permission was acquired twice where decorators were composed. Here a gate is asked as often as the
/// attempt has to wait elsewhere, and takes once.
#[test]
fn a_probe_that_waits_at_the_bulkhead_takes_one_permit_however_often_it_asks() {
    let bulkhead = bulkhead::Config { concurrency: 1, queue: 9, ..Default::default() };
    let mut script = Script::new();
    let breaker = Config { consecutive_failures: Some(1), probes: 2, ..config() };
    let stack = script.stack(StackConfig {
        breaker: Some(Part::Own(breaker)),
        bulkhead: Some(Part::Own(bulkhead)),
        ..Default::default()
    });
    script.pass_by(stack, failure(), at(0));
    let first = script.admit(stack, at(1_000), "send 1");
    let second = script.admit(stack, at(1_000), "wait, until 1050");
    for now in (1_050..2_000).step_by(50) {
        script.wake(second, at(now), &format!("wait, until {}", now + 50));
    }
    script.settle(first, 1, success(), at(2_000), "done 1 completed");
    script.wake(second, at(2_000), "send 1");
    script.settle(second, 1, success(), at(2_001), "done 1 completed");
    assert_eq!(read(&script, stack, 2_001).state, StateWord::Closed);
}

/// resilience4j's time window; alibaba/sentinel-golang#409: a clock that went back put a bucket into the future, or broke
/// the statistics.
#[test]
fn a_clock_that_is_set_back_loses_no_failure_and_keeps_none_for_ever() {
    for back in [1, 999, 30_000, 59_000, 3_600_000] {
        let (mut script, stack) = guarded(Config { min_calls: 20, ..config() });
        let start = 10_000_000;
        (0..10).for_each(|_| script.pass_by(stack, success(), at(start)));
        (0..9).for_each(|_| script.pass_by(stack, failure(), at(start - back)));
        assert_eq!(read(&script, stack, start - back).counts.failures, 9, "{back}");
        script.pass_by(stack, failure(), at(start - back + 1));
        assert_eq!(read(&script, stack, start - back + 1).state, StateWord::Open, "{back}");
    }
    let (mut script, stack) = guarded(config());
    script.pass_by(stack, failure(), at(10_000_000));
    script.pass_by(stack, success(), at(1_000));
    script.pass_by(stack, success(), at(2_500));
    script.pass_by(stack, success(), at(65_000));
    assert_eq!(read(&script, stack, 65_000).counts.failures, 0);
}

/// zeromicro/go-zero#5011: what is recorded at the end of a call, but as of its beginning, has left a window that is
/// shorter than the call.
#[test]
fn failures_of_calls_that_outlast_the_window_count() {
    let (mut script, stack) = guarded(Config { window: Some(ms(1_000)), ..config() });
    let calls: Vec<CallId> = (0..20).map(|_| script.admit(stack, at(0), "send 1")).collect();
    calls.into_iter().for_each(|call| script.settle(call, 1, failure(), at(30_000), "done 1 attempts-exhausted"));
    assert_eq!(opened(&mut script), [Trigger::FailureRate]);
}

/// opossum, read in source: calls that an open circuit refuses count as calls, and dilute its failure rate.
#[test]
fn refused_calls_dilute_no_rate() {
    let (mut script, stack) = guarded(Config { consecutive_failures: Some(5), ..config() });
    (0..5).for_each(|_| script.pass_by(stack, failure(), at(0)));
    let before = script.engine.snapshot(stack, at(500));
    (0..1_000).for_each(|_| _ = script.admit(stack, at(500), "reject breaker circuit-open, until 1000"));
    assert_eq!(script.engine.snapshot(stack, at(500)), before);
}

/// resilience4j#1656: whether a full bulkhead opens the circuit around it.
#[test]
fn a_full_bulkhead_opens_no_circuit() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig {
        breaker: Some(Part::Own(Config { consecutive_failures: Some(2), ..config() })),
        bulkhead: Some(Part::Own(bulkhead::Config { concurrency: 1, ..Default::default() })),
        ..Default::default()
    });
    let call = script.admit(stack, at(0), "send 1");
    (0..100).for_each(|_| _ = script.admit(stack, at(1), "reject bulkhead bulkhead-full"));
    script.settle(call, 1, success(), at(2), "done 1 completed");
    let Reading { state, counts, .. } = read(&script, stack, 2);
    assert_eq!((state, counts.calls, counts.failures), (StateWord::Closed, 1, 0));
}

/// resilix, tried out: three other keys than the registry has room for closed an open circuit.
#[test]
fn ten_thousand_other_keys_close_no_open_circuit() {
    let (mut script, stack) = guarded(Config { consecutive_failures: Some(1), open_for: ms(60_000), ..config() });
    let engine = &mut script.engine;
    let broken = engine.admit(stack, Key::NEW, Facts::default(), at(0), 7).call.unwrap();
    let key = engine.key_of(broken).unwrap();
    let _ = engine.settle(broken, 1, failure(), at(0), 7);
    for now in 1..10_000 {
        let call = engine.admit(stack, Key::NEW, Facts::default(), at(now), 7).call.unwrap();
        let _ = engine.settle(call, 1, success(), at(now), 7);
    }
    assert!(matches!(engine.admit(stack, key, Facts::default(), at(10_000), 7).step, Step::Reject(_)));
}

/// Open for a second, to the millisecond; failures in a row do not open it unless asked.
fn config() -> Config {
    Config { consecutive_failures: None, open_for: ms(1_000), open_jitter: Ratio::ZERO, ..Config::default() }
}

fn guarded(config: Config) -> (Script, StackId) {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { breaker: Some(Part::Own(config)), ..StackConfig::default() });
    (script, stack)
}

fn sends(engine: &mut Engine, stack: StackId, now: u64) -> Option<CallId> {
    let Decision { step, call, .. } = engine.admit(stack, Key::WHOLE, Facts::default(), at(now), 7);
    call.filter(|_| step == Step::Send(1))
}

fn read(script: &Script, stack: StackId, now: u64) -> Reading {
    let breaker = script.engine.gate::<CircuitBreaker>(stack).unwrap();
    breaker.read(Key::WHOLE, script.engine.instant(at(now)))
}

/// What opened it since this was asked last.
fn opened(script: &mut Script) -> Vec<Trigger> {
    let opened = |what| if let What::Opened { trigger, .. } = what { Some(trigger) } else { None };
    script.events().into_iter().filter_map(opened).collect()
}
