//! Makes random golden vectors from a seed: a host with several calls at once, which is late, forgetful and now and then
//! wrong, in front of an upstream that is sometimes ill.

use std::collections::BTreeMap;

use forbear::Rng;
use forbear::config::OptionKind;
use forbear::policy::Kind;
use forbear::policy::budget::Counting;
use serde_json::{Map, Value, json};

use super::world::World;

/// The files made from seeds.
pub const SEEDS: &[(&str, u64)] =
    &[("random-1", 1), ("random-2", 2), ("random-3", 3), ("random-4", 4), ("random-5", 5), ("random-6", 6)];

/// Two stacks that share a budget and a circuit breaker, a few hundred verbs, and what came of it all.
pub fn document(seed: u64) -> Value {
    let mut dice = Dice(Rng::new(seed));
    let mut document = json!({
        "format": 1,
        "about": "random calls through two stacks that share a budget and a circuit breaker, everything on",
        "seed": seed,
        "objects": {
            "budget": { "policy": "budget", "options": options(&mut dice, Kind::Budget) },
            "breaker": { "policy": "breaker", "options": options(&mut dice, Kind::Breaker) },
        },
        "stacks": {
            "first": policies(&mut dice),
            "second": policies(&mut dice),
        },
    });
    let mut host = Host::new(dice, World::new(&document));
    while host.verbs.len() < VERBS {
        host.act();
    }
    host.finish();
    document["verbs"] = host.verbs.into();
    document
}

fn policies(dice: &mut Dice) -> Value {
    let mut policies = Map::new();
    for kind in DRAWN {
        let its = match kind {
            Kind::Budget => "budget".into(),
            Kind::Breaker => "breaker".into(),
            _ => options(dice, *kind),
        };
        policies.insert(kind.word().to_owned(), its);
    }
    let total = policies["deadline"]["total"].clone();
    let attempt = &mut policies["attemptTimeout"]["attempt"];
    if attempt.as_f64() > total.as_f64() {
        *attempt = total; // a longer one is refused
    }
    policies.into()
}

/// Values that make a lot happen in a short time.
fn options(dice: &mut Dice, kind: Kind) -> Value {
    let mut options = Map::new();
    for spec in kind.options() {
        let choices: &[f64] = match (kind.word(), spec.name) {
            ("deadline", _) => &[2_000.0, 5_000.0, 30_000.0],
            ("attemptTimeout", _) => &[400.0, 1_000.0, 3_000.0],
            ("retry", "attempts") => &[2.0, 3.0, 5.0],
            ("retry", "backoff.base") => &[20.0, 100.0, 333.0],
            ("retry", "backoff.cap") => &[400.0, 1_000.0, 20_000.0],
            ("retry", "backoff.factor") => &[1.0, 1.5, 2.0, 3.0],
            ("retry", "maxRetryAfter") => &[500.0, 2_000.0],
            ("concurrencyLimiter", "algorithm") => &[0.0, 1.0, 2.0],
            ("concurrencyLimiter", "initial") => &[3.0, 6.0],
            ("concurrencyLimiter", "min") => &[1.0, 2.0],
            ("concurrencyLimiter", "max") => &[7.0, 30.0],
            ("concurrencyLimiter", "quantile") => &[0.5, 0.9],
            ("concurrencyLimiter", "window") => &[100.0, 500.0],
            ("concurrencyLimiter", "cut") => &[0.5, 0.9],
            ("concurrencyLimiter", "staleAfter") => &[5_000.0, 60_000.0],
            ("concurrencyLimiter", "queue") => &[0.0, 2.0, 4.0],
            ("concurrencyLimiter", "queueTimeout") => &[150.0, 800.0, f64::NAN],
            ("budget", "kind") => &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            ("budget", "max") => &[4.0, 9.0, f64::NAN],
            ("budget", "initial") => &[2.0, f64::NAN],
            ("budget", "deposit") => &[0.5, 0.1, f64::NAN],
            ("budget", "cost") => &[1.0, 1.5, f64::NAN],
            ("budget", "refill") => &[0.0, 0.5],
            ("budget", "min") => &[3.0, 4.0],
            ("budget", "decrease") => &[0.25, 0.5],
            ("budget", "ratio") => &[0.25, 0.5, 1.0],
            ("budget", "window") => &[2_000.0, 12_000.0],
            ("budget", "reserve") => &[2.0, 8.0],
            ("hedge", "attempts") => &[2.0, 3.0],
            ("hedge", "after") => &[50.0, 250.0],
            ("hedge", "quantile") => &[0.5, 0.9, f64::NAN],
            ("hedge", "window") => &[1_000.0, 10_000.0],
            ("throttler", "multiplier") => &[1.5, 2.0, 3.0],
            ("throttler", "window") => &[2_000.0, 12_000.0],
            ("throttler", "maxRejection") => &[0.5, 0.9],
            ("throttler", "minRequests") => &[4.0, 8.0],
            ("throttler", "accounting") => &[0.0, 1.0],
            ("breaker", "failureRate") => &[0.4, 0.75],
            ("breaker", "slowRate") => &[0.5, 1.0],
            ("breaker", "slowCall") => &[300.0, 900.0, f64::NAN],
            ("breaker", "minCalls") => &[4.0, 8.0],
            ("breaker", "windowCalls") => &[8.0, 30.0],
            ("breaker", "window") => &[1_500.0, 10_000.0, f64::NAN],
            ("breaker", "consecutiveFailures") => &[4.0, 6.0, f64::NAN],
            ("breaker", "openFor") => &[300.0, 1_000.0],
            ("breaker", "growth") => &[1.5, 2.0],
            ("breaker", "maxOpenFor") => &[2_500.0, 6_000.0],
            ("breaker", "openJitter") => &[0.1, 0.5],
            ("breaker", "resetAfter") => &[5_000.0, f64::NAN],
            ("breaker", "probes") => &[2.0, 3.0],
            ("breaker", "successesToClose") => &[1.0, 2.0, f64::NAN],
            ("breaker", "halfOpenTimeout") => &[700.0, 5_000.0],
            ("bulkhead", "concurrency") => &[3.0, 5.0],
            ("bulkhead", "queue") => &[2.0, 4.0],
            ("bulkhead", "queueTimeout") => &[150.0, 800.0, f64::NAN],
            ("bulkhead", "release") => &[0.0, 1.0],
            ("rateLimiter", "rate") => &[20.0, 60.0],
            ("rateLimiter", "interval") => &[900.0, 1_000.0],
            ("rateLimiter", "burst") => &[3.0, 10.0, f64::NAN],
            ("rateLimiter", "wait") => &[0.0, 300.0],
            ("rateLimiter", "queue") => &[2.0, 5.0],
            _ => match spec.kind {
                OptionKind::Flag => &[0.0, 1.0],
                OptionKind::Word(_) => &[0.0, 1.0, 2.0, 3.0],
                _ => continue,
            },
        };
        options.insert(spec.name.to_owned(), number(*dice.pick(choices)));
    }
    if kind == Kind::Budget {
        let counting = Counting::ALL[options["kind"].as_u64().unwrap_or(0) as usize];
        let read =
            |name: &str| kind.options().iter().position(|spec| spec.name == name).is_some_and(|at| counting.reads(at));
        options.retain(|name, _| read(name));
    }
    options.into()
}

/// Whole numbers are written without a point; off is null.
fn number(value: f64) -> Value {
    if value.is_nan() {
        Value::Null
    } else if value == f64::from(value as u32) {
        (value as u32).into()
    } else {
        value.into()
    }
}

struct Host {
    dice: Dice,
    world: World,
    verbs: Vec<Value>,
    now: u64,
    live: BTreeMap<String, Live>,
    named: u32,
    ill: bool,
}

/// A call as its host sees it.
#[derive(Default)]
struct Live {
    running: Vec<u64>,
    due: Option<u64>,
    held: bool,
}

impl Host {
    fn new(dice: Dice, world: World) -> Self {
        Self { dice, world, verbs: Vec::new(), now: START, live: BTreeMap::new(), named: 0, ill: false }
    }

    fn act(&mut self) {
        if self.dice.one_in(25) {
            self.ill = !self.ill;
        }
        self.pass_time();
        match self.dice.below(100) {
            0..30 => self.admit(),
            30..72 => self.settle(),
            72..84 => self.wake(),
            84..88 => self.cancel(),
            88..92 => self.confuse(),
            92..94 => self.abandon(),
            94..96 => self.operate(),
            _ => self.read(),
        }
    }

    fn finish(&mut self) {
        for stack in ["first", "second"] {
            for key in KEYS {
                self.push(json!({ "verb": "metrics", "stack": stack, "key": key }));
            }
            self.push(json!({ "verb": "snapshot", "stack": stack, "now": self.now }));
        }
    }

    /// Often none at all; sometimes a jump, or a reading of a clock that lags.
    fn pass_time(&mut self) {
        match self.dice.below(100) {
            0..35 => {}
            35..80 => self.now += self.dice.below(60),
            80..92 => self.now += self.dice.below(600),
            92..95 => self.now += self.dice.below(20_000),
            _ => self.now -= self.dice.below(80),
        }
    }

    fn admit(&mut self) {
        if self.live.len() >= MOST_AT_ONCE {
            return self.settle();
        }
        self.named += 1;
        let mut verb = json!({
            "verb": "admit",
            "stack": self.dice.pick(&["first", "second"]),
            "call": format!("c{}", self.named),
        });
        if !self.dice.one_in(8) {
            verb["key"] = (*self.dice.pick(KEYS)).into();
        }
        if self.dice.one_in(4) {
            verb["repeat"] = (*self.dice.pick(&["only-unprocessed", "after-failure"])).into();
        }
        if self.dice.one_in(12) {
            verb["replayable"] = false.into();
        }
        if self.dice.one_in(6) {
            verb["timeoutMs"] = self.dice.below(3_000).into();
        }
        self.say(verb);
    }

    fn settle(&mut self) {
        let running: Vec<(String, u64)> = self
            .live
            .iter()
            .flat_map(|(label, call)| call.running.iter().map(|attempt| (label.clone(), *attempt)))
            .collect();
        if running.is_empty() {
            return self.wake();
        }
        let (label, attempt) = self.dice.pick(&running).clone();
        if let Some(call) = self.live.get_mut(&label) {
            call.running.retain(|other| *other != attempt);
        }
        let verb = json!({ "verb": "settle", "call": label, "attempt": attempt });
        let verb = self.with_outcome(verb);
        self.say(verb);
    }

    fn with_outcome(&mut self, mut verb: Value) -> Value {
        let well = if self.ill { self.dice.one_in(6) } else { !self.dice.one_in(6) };
        verb["outcome"] = if well {
            self.dice.pick(&[json!("success"), json!(200), json!(204), json!(404)]).clone()
        } else {
            self.dice.pick(&failures()).clone()
        };
        if !well && self.dice.one_in(4) {
            verb["retryAfterMs"] = (*self.dice.pick(&[0, 1, 150, 1_000, 5_000])).into();
        }
        if self.dice.one_in(5) {
            verb["latencyMs"] = self.dice.below(1_500).into();
        }
        verb
    }

    /// Mostly at the instant asked for or a little later; sometimes early.
    fn wake(&mut self) {
        let Some(label) = self.any_call() else { return self.admit() };
        if let Some(due) = self.live[&label].due.filter(|_| !self.dice.one_in(5)) {
            self.now = self.now.max(due + if self.dice.one_in(3) { self.dice.below(300) } else { 0 });
        }
        self.say(json!({ "verb": "wake", "call": label }));
    }

    fn cancel(&mut self) {
        let Some(label) = self.any_call() else { return self.admit() };
        let verb = json!({ "verb": "cancel", "call": label, "now": self.now });
        self.push_about(&label, verb);
    }

    /// Verbs about what is over, or never was.
    fn confuse(&mut self) {
        let label = match self.dice.below(4) {
            0 => "nobody".to_owned(),
            _ => format!("c{}", 1 + self.dice.below(u64::from(self.named.max(1)))),
        };
        if self.live.contains_key(&label) {
            let verb = json!({ "verb": "settle", "call": label, "attempt": 1 + self.dice.below(15) });
            let verb = self.with_outcome(verb);
            return self.say(verb);
        }
        match self.dice.below(3) {
            0 => self.say(json!({ "verb": "wake", "call": label })),
            1 => {
                let verb = json!({ "verb": "cancel", "call": label, "now": self.now });
                self.push_about(&label, verb);
            }
            _ => {
                let verb = json!({ "verb": "settle", "call": label, "attempt": 1 + self.dice.below(4) });
                let verb = self.with_outcome(verb);
                self.say(verb);
            }
        }
    }

    /// The host forgets a call: nobody speaks of it again, and its lease ends.
    fn abandon(&mut self) {
        if let Some(label) = self.any_call() {
            self.live.remove(&label);
        }
    }

    fn operate(&mut self) {
        let action =
            *self.dice.pick(&["reset", "forceOpen", "forceClosed", "disable", "enable", "enable", "forceClosed"]);
        let verb = json!({ "verb": "operate", "stack": "first", "key": self.dice.pick(KEYS), "action": action });
        self.say(verb);
    }

    fn read(&mut self) {
        let key = *self.dice.pick(KEYS);
        let verb = match self.dice.below(4) {
            0 => json!({ "verb": "snapshot", "stack": "second", "now": self.now }),
            _ => json!({ "verb": "circuit", "stack": "second", "key": key, "now": self.now }),
        };
        self.push(verb);
    }

    fn any_call(&mut self) -> Option<String> {
        let labels: Vec<String> = self.live.keys().cloned().collect();
        (!labels.is_empty()).then(|| self.dice.pick(&labels).clone())
    }

    /// A verb at this moment, with a random word of its own.
    fn say(&mut self, mut verb: Value) {
        verb["now"] = self.now.into();
        verb["random"] = self.dice.word().into();
        match verb["call"].as_str().map(str::to_owned) {
            Some(label) => self.push_about(&label, verb),
            None => self.push(verb),
        }
    }

    /// A verb about a call, and what the host takes from the answer.
    fn push_about(&mut self, label: &str, verb: Value) {
        let begins = verb["verb"] == "admit";
        self.push(verb);
        let answer = &self.verbs[self.verbs.len() - 1]["expect"];
        let due = answer["delayMs"].as_u64().map(|delay| self.now + delay);
        let dropped = answer["drop"].as_array().cloned().unwrap_or_default();
        let (kind, attempt) = (answer["kind"].as_str().unwrap_or(""), answer["attempt"].as_u64());
        let lives = matches!(kind, "send" | "wait") || answer["held"] == true;
        if !lives {
            self.live.remove(label);
            return;
        }
        if begins {
            self.live.insert(label.to_owned(), Live::default());
        }
        let Some(call) = self.live.get_mut(label) else { return };
        call.due = due;
        call.held = kind == "done" || call.held;
        call.running.retain(|running| !call.held && !dropped.contains(&json!(running)));
        if let (false, Some(attempt)) = (call.held, attempt) {
            call.running.push(attempt);
        }
    }

    fn push(&mut self, mut verb: Value) {
        verb["expect"] = self.world.apply(&verb);
        self.verbs.push(verb);
    }
}

fn failures() -> Vec<Value> {
    let words = [
        "answered",
        "too-many-requests",
        "unavailable",
        "shedding",
        "transient",
        "transient",
        "never-sent",
        "timeout",
        "rejected",
        "defect",
        "cancelled",
    ];
    let statuses = [408, 425, 429, 500, 501, 502, 503, 503, 504, 520, 521, 524, 526];
    words.into_iter().map(Value::from).chain(statuses.map(Value::from)).collect()
}

struct Dice(Rng);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0.between(0, end.saturating_sub(1))
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// A random word as hosts give it.
    fn word(&mut self) -> u64 {
        self.below(1 << 53)
    }
}

const VERBS: usize = 320;
const START: u64 = 1_700_000_000_000;
const MOST_AT_ONCE: usize = 12;
const KEYS: &[&str] = &["a", "b", "c"];

/// The policies that are drawn, in the order of the registry. A list of its own, so that a further policy changes no vector.
const DRAWN: &[Kind] = &[
    Kind::Deadline,
    Kind::Retry,
    Kind::Budget,
    Kind::Hedge,
    Kind::Throttler,
    Kind::Breaker,
    Kind::ConcurrencyLimiter,
    Kind::Bulkhead,
    Kind::RateLimiter,
    Kind::AttemptTimeout,
];
