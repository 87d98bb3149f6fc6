//! Law 10: no panic is reachable, whatever numbers hosts bring.

use std::panic::{AssertUnwindSafe, catch_unwind};

use forbear::config::OptionKind;
use forbear::policy::circuit_breaker::{CircuitBreaker, StateWord};
use forbear::policy::{Cx, Kind};
use forbear::snapshot::checksum;
use forbear::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Instant, Key, Limits, ObjectId, Outcome, Overload, Repeat,
    Rng, StackConfig, StackId, Step, Verdict,
};

use crate::plan::{Plan, below, chance, pick};

#[test]
fn no_verb_panics_whatever_it_brings() {
    for seed in 0..400 {
        let mut said = Vec::new();
        let survived = catch_unwind(AssertUnwindSafe(|| bombard(seed, &mut said)));
        assert!(survived.is_ok(), "seed {seed}, after {:#?}", said.iter().rev().take(12).rev().collect::<Vec<_>>());
    }
}

#[test]
fn no_configuration_panics_whatever_numbers_it_is_of() {
    let hostile = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        -1.0,
        0.5,
        1e-300,
        f64::MIN_POSITIVE,
        9_007_199_254_740_993.0,
        1e300,
        f64::MAX,
    ];
    for kind in Kind::ALL {
        for (position, spec) in kind.options().iter().enumerate() {
            for number in hostile.into_iter().chain([spec.min, spec.max, spec.min - 1.0, spec.max + 1.0]) {
                let mut config = StackConfig::default();
                let accepted = config.slot(*kind).set(position, number).is_ok();
                assert_eq!(accepted, spec.accepts(number), "{}.{} = {number}", kind.word(), spec.name);
                let _ = Engine::default().add_stack(config);
            }
            assert!(StackConfig::default().slot(*kind).set(usize::MAX, spec.max).is_err());
            assert!(!spec.accepts(f64::INFINITY) && !spec.accepts(f64::NEG_INFINITY), "{}", spec.name);
        }
    }
}

#[test]
fn the_widest_configurations_survive_the_widest_numbers() {
    for most in [false, true] {
        let mut config = StackConfig::default();
        for kind in Kind::ALL {
            for (position, spec) in kind.options().iter().enumerate() {
                let number = match spec.kind {
                    // Together at most fifteen attempts.
                    OptionKind::Count if spec.name == "attempts" => 3.0,
                    _ if most => spec.max,
                    _ => spec.min,
                };
                // Two that do not go together: the one that was set before stays.
                let before = config.clone();
                config.slot(*kind).set(position, number).unwrap();
                if Engine::default().add_stack(config.clone()).is_err() {
                    config = before;
                }
            }
        }
        let mut engine = Engine::default();
        let stack = engine.add_stack(config).unwrap();
        for now in [0, 1, u64::MAX - 1, u64::MAX, 0, u64::MAX / 2] {
            let decision = engine.admit(stack, Key::NEW, Facts::default(), HostTime::from_nanos(now), u64::MAX);
            if let Some(call) = decision.call {
                for attempt in 0..=16 {
                    let outcome = Outcome { retry_after: Some(Duration::MAX), ..Outcome::new(Verdict::Transient) };
                    let _ = engine.settle(call, attempt, outcome, HostTime::from_nanos(now), u64::MAX);
                    let _ = engine.wake(call, HostTime::from_nanos(u64::MAX), 0);
                }
            }
            let _ = engine.snapshot(stack, HostTime::from_nanos(now));
        }
    }
}

#[test]
fn no_damaged_snapshot_panics_or_changes_what_is_known() {
    for seed in 0..60 {
        let rng = &mut Rng::new(seed);
        let plan = Plan::with_gates(rng);
        let built = plan.build().unwrap();
        let (mut engine, stack) = (built.engine, built.stacks[0]);
        for now in 0..80 {
            let name = [Key::WHOLE, Key::NEW][below(rng, 2) as usize];
            let decision = engine.admit(stack, name, Facts::default(), HostTime::from_millis(now), rng.word());
            if let Some(call) = decision.call {
                let _ = engine.settle(call, 1, outcome(rng), HostTime::from_millis(now), rng.word());
                let _ = engine.cancel(call, HostTime::from_millis(now));
            }
        }
        let now = HostTime::from_millis(100);
        let bytes = engine.snapshot(stack, now);
        assert!(forbear::is_snapshot(&bytes), "seed {seed}");
        for _ in 0..60 {
            let mut noise = bytes.clone();
            match below(rng, 3) {
                0 => noise.truncate(below(rng, bytes.len() as u64) as usize),
                1 => noise.extend([0; 9]),
                _ => {
                    let place = below(rng, bytes.len() as u64) as usize;
                    noise[place] ^= 1 << below(rng, 8);
                }
            }
            assert!(!forbear::is_snapshot(&noise), "seed {seed}");
            assert!(engine.restore(stack, &noise, &[], now).is_err(), "seed {seed}");
            assert_eq!(engine.snapshot(stack, now), bytes, "seed {seed}");
        }
    }
}

#[test]
fn an_operators_order_is_restored_only_where_that_is_asked_for_and_one_given_here_stays() {
    let guarded = || {
        let mut config = StackConfig::default();
        config.slot(Kind::Breaker).turn_on();
        let mut engine = Engine::default();
        let stack = engine.add_stack(config).unwrap();
        (engine, stack)
    };
    let now = HostTime::from_millis(1_000);
    let order = |engine: &mut Engine, stack, what: fn(&mut CircuitBreaker, &mut Cx<'_>)| {
        engine.operate(stack, now, 1, |breaker: &mut CircuitBreaker, cx| what(breaker, cx)).unwrap();
    };
    let state =
        |engine: &Engine, stack| engine.gate::<CircuitBreaker>(stack).unwrap().read(Key::WHOLE, Instant::ORIGIN).state;
    let open: fn(&mut CircuitBreaker, &mut Cx<'_>) = |breaker, cx| breaker.force_open(Key::WHOLE, cx);
    let off: fn(&mut CircuitBreaker, &mut Cx<'_>) = |breaker, cx| breaker.disable(Key::WHOLE, true, cx);
    for (given, word) in [(open, StateWord::ForcedOpen), (off, StateWord::Disabled)] {
        let (mut there, stack) = guarded();
        order(&mut there, stack, given);
        let bytes = there.snapshot(stack, now);
        let (mut here, stack) = guarded();
        here.restore(stack, &bytes, &[], now).unwrap();
        assert_eq!(state(&here, stack), StateWord::Closed);
        let call = here.admit(stack, Key::WHOLE, Facts::default(), now, 1);
        assert_eq!(call.step, Step::Send(1), "nobody's circuit is open for good by a snapshot");
        here.restore_with_orders(stack, &bytes, &[], now).unwrap();
        assert_eq!(state(&here, stack), word);
        // Nor does a snapshot undo what was ordered here.
        let (plain, stack) = guarded();
        here.restore(stack, &plain.snapshot(stack, now), &[], now).unwrap();
        assert_eq!(state(&here, stack), word);
    }
}

#[test]
fn a_snapshot_is_no_longer_and_has_no_more_parts_than_a_stack_can_write() {
    let mut config = StackConfig::default();
    config.slot(Kind::Breaker).turn_on();
    let now = HostTime::from_millis(1_000);
    let mut engine = Engine::default();
    let stack = engine.add_stack(config).unwrap();
    let saved = engine.snapshot(stack, now);
    let (head, part) = saved[..saved.len() - 8].split_at(5);
    let of = |parts: usize| sealed(&[head, &part.repeat(parts)].concat());
    assert!(forbear::is_snapshot(&of(8)) && !forbear::is_snapshot(&of(9)));
    assert!(engine.restore(stack, &of(10_000), &[], now).is_err());
    // One part of any length, that no policy reads to its end.
    let padded = |length: usize| {
        let mut part = part.to_vec();
        part[12..16].copy_from_slice(&(length as u32).to_le_bytes());
        part.resize(16 + length, 0);
        sealed(&[head, &part].concat())
    };
    let most = forbear::MAX_SNAPSHOT - head.len() - 16 - 8;
    assert!(forbear::is_snapshot(&padded(most)) && !forbear::is_snapshot(&padded(most + 1)));
}

#[test]
fn a_part_that_no_policy_can_have_written_is_dropped_and_the_others_are_taken() {
    let mut config = StackConfig::default();
    config.slot(Kind::Breaker).turn_on();
    config.slot(Kind::RateLimiter).turn_on();
    let now = HostTime::from_millis(1_000);
    let mut engine = Engine::default();
    let stack = engine.add_stack(config).unwrap();
    let call = engine.admit(stack, Key::WHOLE, Facts::default(), now, 1).call.unwrap();
    let _ = engine.settle(call, 1, Outcome::new(Verdict::Transient), now, 1);
    let saved = engine.snapshot(stack, now);
    // The rate limiter's part is the last: one bucket, whose credit stands at the very end.
    let mut body = saved[..saved.len() - 8].to_vec();
    let credit = body.len() - 8;
    body[credit..].fill(0xFF);
    let restored = engine.restore(stack, &sealed(&body), &[], now).unwrap();
    assert_eq!((restored.taken, restored.dropped), (1 << Kind::Breaker.code(), 1 << Kind::RateLimiter.code()));
    assert_eq!(engine.snapshot(stack, now), saved);
    // A part that is cut off is damage, whatever the checksum says: the parts before it are not read.
    engine.operate(stack, now, 1, |breaker: &mut CircuitBreaker, cx| breaker.force_open(Key::WHOLE, cx));
    let opened = engine.snapshot(stack, now);
    body.pop();
    assert!(!forbear::is_snapshot(&sealed(&body)));
    assert!(engine.restore(stack, &sealed(&body), &[], now).is_err());
    assert_eq!(engine.snapshot(stack, now), opened);
}

fn sealed(body: &[u8]) -> Vec<u8> {
    [body, &checksum(body).to_le_bytes()].concat()
}

/// Says anything to an engine.
fn bombard(seed: u64, said: &mut Vec<String>) {
    let rng = &mut Rng::new(seed);
    let mut plan = Plan::with_gates(rng);
    let (calls, memory) = (pick(rng, &[0, 1, 5, u32::MAX]), pick(rng, &[0, 1_000, 5_000, u32::MAX]));
    plan.limits = Limits { calls, memory, first_generation: pick(rng, &[0, 7, u32::MAX]), ..Limits::DEFAULT };
    let built = plan.build().unwrap();
    let mut engine = built.engine;
    let mut calls = vec![CallId::from_u64(0)];
    let note = |decision: Decision, calls: &mut Vec<CallId>| calls.extend(decision.call);
    for _ in 0..250 {
        let (now, random) = (HostTime::from_nanos(any(rng)), any(rng));
        let stack = StackId::from_number(if chance(rng, 90) { below(rng, 3) as u16 } else { any(rng) as u16 });
        let key = Key::from_number(if chance(rng, 80) { below(rng, 6) as u16 } else { any(rng) as u16 });
        let call = if chance(rng, 90) { pick(rng, &calls) } else { CallId::from_u64(any(rng)) };
        let attempt = if chance(rng, 70) { below(rng, 4) as u8 } else { any(rng) as u8 };
        let verb = below(rng, 12);
        match verb {
            0..=3 => {
                let facts = facts(rng);
                said.push(format!("admit {stack:?} {key:?} {facts:?} {now:?} {random}"));
                note(engine.admit(stack, key, facts, now, random), &mut calls);
            }
            4..=6 => {
                let outcome = outcome(rng);
                said.push(format!("settle {call:?} {attempt} {outcome:?} {now:?} {random}"));
                note(engine.settle(call, attempt, outcome, now, random), &mut calls);
            }
            7 | 8 => {
                said.push(format!("wake {call:?} {now:?} {random}"));
                note(engine.wake(call, now, random), &mut calls);
            }
            9 => {
                said.push(format!("cancel {call:?} {now:?}"));
                note(engine.cancel(call, now), &mut calls);
            }
            10 => {
                said.push(format!("operate {stack:?} {key:?} {now:?}"));
                let which = below(rng, 4);
                engine.operate(stack, now, random, |breaker: &mut CircuitBreaker, cx| match which {
                    0 => breaker.force_open(key, cx),
                    1 => breaker.force_closed(key, cx),
                    2 => breaker.reset(key, cx),
                    _ => breaker.disable(key, attempt > 1, cx),
                });
            }
            _ => {
                said.push(format!("read and restore {stack:?} {key:?} {now:?}"));
                let bytes = engine.snapshot(stack, now);
                let names = [Key::NEW, key, Key::from_number(any(rng) as u16)];
                let _ = engine.restore(stack, &bytes, &names[..below(rng, 4) as usize], now);
                let _ = (engine.metrics(stack, key), engine.key_of(call), engine.has_a_limit(stack));
                let _ = engine.intern();
                let _ = engine.add_stack(StackConfig {
                    others: vec![ObjectId::from_number(random as u16)],
                    ..StackConfig::default()
                });
            }
        }
    }
}

/// A number that somebody forgot to think of.
fn any(rng: &mut Rng) -> u64 {
    let edge = pick(rng, &[0, 1, 1 << 20, 1 << 32, 1 << 53, 1 << 62, 1 << 63, u64::MAX, 100_000_000_000_000]);
    match below(rng, 4) {
        0 => edge.wrapping_sub(below(rng, 3)),
        1 => edge.wrapping_add(below(rng, 3)),
        2 => below(rng, 100_000) * 1_000_000,
        _ => rng.word(),
    }
}

fn facts(rng: &mut Rng) -> Facts {
    Facts {
        repeat: pick(rng, &[Repeat::Freely, Repeat::AfterFailure, Repeat::OnlyUnprocessed]),
        replayable: chance(rng, 80),
        single: chance(rng, 10),
        prepared: chance(rng, 20),
        counted: chance(rng, 20),
        droppable: chance(rng, 20),
        timeout: chance(rng, 30).then(|| Duration::from_nanos(any(rng))),
        cost: if chance(rng, 80) { 1 } else { any(rng) as u32 },
        ..Facts::default()
    }
}

fn outcome(rng: &mut Rng) -> Outcome {
    Outcome {
        verdict: pick(
            rng,
            &[
                Verdict::Success,
                Verdict::Answered,
                Verdict::Transient,
                Verdict::Transient,
                Verdict::Overload(Overload::Unavailable),
                Verdict::Overload(Overload::Shedding),
                Verdict::Timeout,
                Verdict::Rejected,
                Verdict::Defect,
                Verdict::Cancelled,
                Verdict::Inconclusive,
            ],
        ),
        never_sent: chance(rng, 20),
        unprocessed: chance(rng, 20),
        once: chance(rng, 20),
        given_up: chance(rng, 20),
        retry_after: chance(rng, 30).then(|| Duration::from_nanos(any(rng))),
        latency: chance(rng, 30).then(|| Duration::from_nanos(any(rng))),
        ..Outcome::new(Verdict::Success)
    }
}
