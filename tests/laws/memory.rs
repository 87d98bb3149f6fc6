//! Law 9, of memory: the state of all keys together is bounded, whichever stack and policy it belongs to. What is idle goes,
//! the least recently used first; what is open, held or owed stays.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use forbear::event::What;
use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Kind, Note, bulkhead, circuit_breaker, rate_limiter, retry};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{
    CallId, Decision, Engine, Facts, HostTime, Instant, Key, Limits, MAX_KEYS, Outcome, Part, RefusalReason, Rng,
    StackConfig, StackId, Step, Verdict,
};

use crate::bounds::{self, sent, told};

#[test]
fn one_bound_holds_for_all_stacks_and_the_least_recently_used_goes_first() {
    let mut engine = listening(64 * USUAL);
    let stacks: Vec<StackId> = (0..8).map(|_| engine.add_stack(usual()).unwrap()).collect();
    let mut names = Names::default();
    for name in 0..40 {
        for stack in &stacks {
            succeed(&mut engine, &mut names, *stack, name, 0);
        }
        let rows = rows(&engine, &stacks, &names);
        assert!(rows.len() <= 65, "{} states after {name} names", rows.len());
    }
    let kept = rows(&engine, &stacks, &names);
    let oldest = kept.iter().map(|(_, name)| *name).min().unwrap();
    assert_eq!(kept.len(), 64, "as much as fits");
    assert_eq!(oldest, 32, "the latest eight names, with all eight stacks");
    assert!(!told(&mut engine).iter().any(|what| matches!(what, What::KeysFull { .. })));
    // Used again it is the last to go, whichever stack that was with.
    succeed(&mut engine, &mut names, stacks[3], 32, 1);
    (98..100).for_each(|name| succeed(&mut engine, &mut names, stacks[5], name, 1));
    let kept = rows(&engine, &stacks, &names);
    assert!(kept.contains(&(stacks[0], 32)) && !kept.iter().any(|(_, name)| *name == 33));
}

#[test]
fn a_key_that_was_forgotten_begins_anew_under_the_number_it_has() {
    let mut engine = listening(2 * USUAL);
    let stack = engine.add_stack(usual()).unwrap();
    let mut names = Names::default();
    fail(&mut engine, &mut names, stack, 0, 0);
    (1..9).for_each(|name| succeed(&mut engine, &mut names, stack, name, 5_000));
    let key = names.0[&0];
    assert!(engine.metrics(stack, key).is_none());
    succeed(&mut engine, &mut names, stack, 0, 5_001);
    assert_eq!((names.0[&0], engine.metrics(stack, key).unwrap().calls), (key, 1));
    assert_eq!(engine.gate::<CircuitBreaker>(stack).unwrap().read(key, engine.instant(at(5_001))).counts.failures, 0);
}

#[test]
fn what_is_open_or_owed_stays_and_what_is_idle_of_the_same_key_goes() {
    let mut engine = listening(8 * USUAL);
    let breaks = engine.add_stack(usual()).unwrap();
    let limits = rate_limiter::Config { rate: 1, ..Default::default() };
    let limits =
        engine.add_stack(StackConfig { rate_limiter: Some(Part::Own(limits)), ..StackConfig::default() }).unwrap();
    let idle = engine.add_stack(usual()).unwrap();
    let mut names = Names::default();
    fail(&mut engine, &mut names, breaks, 0, 0);
    succeed(&mut engine, &mut names, limits, 0, 0);
    succeed(&mut engine, &mut names, idle, 0, 0);
    (1..30).for_each(|name| succeed(&mut engine, &mut names, idle, name, 1));
    let key = names.0[&0];
    assert!(engine.metrics(idle, key).is_none());
    assert_eq!(refused(&admit(&mut engine, breaks, key, 2)), Some(RefusalReason::CircuitOpen));
    assert_eq!(refused(&admit(&mut engine, limits, key, 2)), Some(RefusalReason::RateLimited));
    // Both are idle again after a while, though nobody used them.
    (30..60).for_each(|name| succeed(&mut engine, &mut names, idle, name, 3_600_000));
    assert!(engine.metrics(breaks, key).is_none() && engine.metrics(limits, key).is_none());
}

#[test]
fn keys_with_calls_in_flight_stay_and_a_newcomer_shares_a_key_when_nothing_else_is_left() {
    let config = bulkhead::Config { concurrency: 1, queue: 1, ..Default::default() };
    let stack = StackConfig { bulkhead: Some(Part::Own(config)), ..StackConfig::default() };
    let mut engine = listening(4 * 500);
    let stack = engine.add_stack(stack).unwrap();
    let mut calls = Vec::new();
    while told(&mut engine).iter().all(|what| !matches!(what, What::KeysFull { .. })) {
        calls.push(sent(&admit(&mut engine, stack, Key::NEW, 0)));
        assert!(calls.len() < 9);
    }
    let newcomer = calls.pop().unwrap();
    assert_eq!(engine.key_of(newcomer), Some(Key::OVERFLOW));
    for call in &calls {
        let key = engine.key_of(*call).unwrap();
        let second = admit(&mut engine, stack, key, 1);
        assert_eq!(second.step, Step::Wait, "its key is its own");
        let _ = engine.cancel(second.call.unwrap(), at(1));
    }
    let _ = engine.settle(calls[0], 1, Outcome::new(Verdict::Success), at(2), 0);
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 2));
    assert!(engine.key_of(newcomer).is_some_and(Key::is_one_name));
}

#[test]
fn leases_that_have_ended_make_room_for_state() {
    let mut engine = listening(USUAL);
    let stack = engine.add_stack(usual()).unwrap();
    (0..2).for_each(|_| _ = sent(&admit(&mut engine, stack, Key::NEW, 0)));
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 1));
    assert_eq!(engine.key_of(newcomer), Some(Key::OVERFLOW));
    let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 600_000));
    assert!(engine.key_of(newcomer).is_some_and(Key::is_one_name));
}

#[test]
fn an_operators_word_holds_at_the_bound_though_no_call_ever_used_the_key() {
    let mut engine = listening(USUAL);
    let stack = engine.add_stack(usual()).unwrap();
    let key = engine.intern().unwrap();
    engine.operate::<CircuitBreaker, _>(stack, at(0), 0, |breaker, cx| breaker.force_open(key, cx)).unwrap();
    (0..3).for_each(|_| _ = sent(&admit(&mut engine, stack, Key::NEW, 0)));
    assert_eq!(refused(&admit(&mut engine, stack, key, 1)), Some(RefusalReason::CircuitOpen));
}

#[test]
fn what_is_restored_counts_as_what_was_learned_here() {
    let mut elsewhere = Engine::default();
    let there = elsewhere.add_stack(usual()).unwrap();
    let mut names = Names::default();
    (0..100).for_each(|name| succeed(&mut elsewhere, &mut names, there, name, 0));
    let bytes = elsewhere.snapshot(there, at(0));
    let mut engine = listening(64 * USUAL);
    let stacks: Vec<StackId> = (0..4).map(|_| engine.add_stack(usual()).unwrap()).collect();
    let keys: Vec<Key> = [Key::WHOLE, Key::NEW].into_iter().chain((0..100).map(|_| engine.intern().unwrap())).collect();
    for stack in &stacks {
        engine.restore(*stack, &bytes, &keys, at(0)).unwrap();
        let kept: usize = stacks.iter().map(|stack| keys_saved(&engine, *stack)).sum();
        assert!(kept <= 64, "{kept}");
    }
    assert!(keys_saved(&engine, stacks[3]) > 0);
}

#[test]
fn a_newcomer_asks_about_few_keys_where_all_are_busy() {
    let asked = Rc::new(Cell::new(0));
    let mut engine = Engine::default();
    let gate = engine.share(Kind::AttemptTimeout, Busy(Rc::clone(&asked))).unwrap();
    let stack = engine.add_stack(StackConfig { others: vec![gate], ..StackConfig::default() }).unwrap();
    for _ in 0..MAX_KEYS {
        let call = sent(&admit(&mut engine, stack, Key::NEW, 0));
        let _ = engine.settle(call, 1, Outcome::new(Verdict::Success), at(0), 0);
    }
    for _ in 0..9 {
        asked.set(0);
        let newcomer = sent(&admit(&mut engine, stack, Key::NEW, 1));
        assert_eq!(engine.key_of(newcomer), Some(Key::OVERFLOW));
        assert!(asked.get() <= 128, "asked {} times", asked.get());
    }
}

#[test]
fn at_the_bound_any_traffic_keeps_the_bound_and_loses_nothing_that_is_open() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let most = rng.between(6, 40);
        let mut engine = listening(most as u32 * USUAL);
        let stacks: Vec<StackId> = (0..4).map(|_| engine.add_stack(usual()).unwrap()).collect();
        let (mut names, mut open, mut now) = (Names::default(), BTreeMap::new(), 0);
        for _ in 0..400 {
            let (stack, name) = (stacks[rng.between(0, 3) as usize], rng.between(0, 29));
            now += rng.between(0, 900);
            open.retain(|_, until: &mut u64| *until > now);
            let decision = admit(&mut engine, stack, names.key(name), now);
            let is_open = open.contains_key(&(stack.number(), name));
            let Some(call) = decision.call else {
                assert!(is_open, "seed {seed}: {decision:?}");
                continue;
            };
            assert!(!is_open, "seed {seed}: an open circuit was forgotten");
            let shares = engine.key_of(call) == Some(Key::OVERFLOW);
            names.learn(&engine, name, call);
            let verdict = if rng.between(0, 4) == 0 { Verdict::Transient } else { Verdict::Success };
            let _ = engine.settle(call, 1, Outcome::new(verdict), at(now), 0);
            if verdict == Verdict::Transient && !shares {
                open.insert((stack.number(), name), now + 5_000);
            }
            let rows = rows(&engine, &stacks, &names).len() as u64;
            assert!(rows <= most + 1, "seed {seed}: {rows} of {most}");
        }
    }
}

/// What the engine counts for a key of `usual`: its counts, its account and its circuit.
const USUAL: u32 = 176 + 144 + 528;

/// One failure opens the circuit for five seconds.
fn usual() -> StackConfig {
    let breaker = circuit_breaker::Config {
        consecutive_failures: Some(1),
        open_for: forbear::Duration::from_secs(5),
        open_jitter: forbear::Ratio::ZERO,
        growth: forbear::Ratio::ONE,
        ..Default::default()
    };
    StackConfig {
        retry: Some(retry::Config { attempts: 1, ..Default::default() }),
        breaker: Some(Part::Own(breaker)),
        ..StackConfig::default()
    }
}

/// Names and their numbers, as a host keeps them.
#[derive(Default)]
struct Names(BTreeMap<u64, Key>);

impl Names {
    fn key(&self, name: u64) -> Key {
        self.0.get(&name).copied().unwrap_or(Key::NEW)
    }

    fn learn(&mut self, engine: &Engine, name: u64, call: CallId) {
        let key = engine.key_of(call).unwrap();
        if key != Key::OVERFLOW {
            self.0.insert(name, key);
        }
    }
}

fn succeed(engine: &mut Engine, names: &mut Names, stack: StackId, name: u64, now: u64) {
    end(engine, names, stack, name, now, Verdict::Success);
}

fn fail(engine: &mut Engine, names: &mut Names, stack: StackId, name: u64, now: u64) {
    end(engine, names, stack, name, now, Verdict::Transient);
}

fn end(engine: &mut Engine, names: &mut Names, stack: StackId, name: u64, now: u64, verdict: Verdict) {
    let call = sent(&admit(engine, stack, names.key(name), now));
    names.learn(engine, name, call);
    let _ = engine.settle(call, 1, Outcome::new(verdict), at(now), 0);
}

/// Which names the stacks know something of.
fn rows(engine: &Engine, stacks: &[StackId], names: &Names) -> Vec<(StackId, u64)> {
    let all = stacks.iter().flat_map(|stack| names.0.iter().map(move |(name, key)| (*stack, *name, *key)));
    all.filter(|(stack, _, key)| engine.metrics(*stack, *key).is_some()).map(|(stack, name, _)| (stack, name)).collect()
}

fn keys_saved(engine: &Engine, stack: StackId) -> usize {
    let keys = engine.snapshot_keys(stack, at(0));
    keys.chunks(2).collect::<std::collections::BTreeSet<_>>().len()
}

fn admit(engine: &mut Engine, stack: StackId, key: Key, now: u64) -> Decision {
    engine.admit(stack, key, Facts::default(), at(now), 0)
}

fn refused(decision: &Decision) -> Option<RefusalReason> {
    if let Step::Reject(rejection) = decision.step { Some(rejection.reason) } else { None }
}

fn listening(memory: u32) -> Engine {
    bounds::listening(Limits { memory, ..Limits::default() })
}

fn at(ms: u64) -> HostTime {
    HostTime::from_millis(1_000_000 + ms)
}

/// A gate that never lets a key go, and counts how often it is asked.
struct Busy(Rc<Cell<u32>>);

impl Gate for Busy {
    fn ask(&self, _asker: &Asker, _now: Instant) -> Answer {
        Answer::Pass
    }
    fn take(&mut self, _asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        Note::default()
    }
    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}
    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        self.0.set(self.0.get() + 1);
        true
    }
    fn forget(&mut self, _key: Key) {}
    fn fingerprint(&self) -> u64 {
        0
    }
    fn save(&self, _now: Instant, _out: &mut Writer) {}
    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}
