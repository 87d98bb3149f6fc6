//! A native engine that understands golden vectors: verbs come as JSON, and so do the answers.
//!
//! The format is described in tests/vectors/README.md. js/test/vectors.test.ts is the same thing over the wasm exports.

use std::collections::BTreeMap;

use forbear::policy::Kind;
use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::{
    AttemptSet, CallId, Decision, Duration, Engine, Facts, HostTime, Key, Metrics, ObjectId, Outcome, Overload, Repeat,
    StackConfig, StackId, Step, Verdict,
};
use serde_json::{Map, Value, json};

pub struct World {
    engine: Engine,
    stacks: BTreeMap<String, StackId>,
    calls: BTreeMap<String, CallId>,
    keys: BTreeMap<String, Key>,
}

/// Making one.
impl World {
    /// The engine that a document's objects and stacks describe.
    pub fn new(document: &Value) -> Self {
        let mut engine = Engine::default();
        let mut objects = BTreeMap::new();
        for (name, object) in members(document, "objects") {
            let kind = kind(text(object, "policy"));
            let mut config = StackConfig::default();
            set(&mut config, kind, &object["options"], &objects);
            let made = engine.share_from(&config, kind).unwrap_or_else(|error| panic!("object {name}: {error}"));
            objects.insert(name.clone(), made);
        }
        let mut stacks = BTreeMap::new();
        for (name, policies) in members(document, "stacks") {
            let mut config = StackConfig::default();
            for (word, options) in policies.as_object().expect("a stack is an object of policies") {
                set(&mut config, kind(word), options, &objects);
            }
            let made = engine.add_stack(config).unwrap_or_else(|error| panic!("stack {name}: {error}"));
            stacks.insert(name.clone(), made);
        }
        Self { engine, stacks, calls: BTreeMap::new(), keys: BTreeMap::new() }
    }
}

/// Sets one policy: from its options, or as the object of this name.
fn set(config: &mut StackConfig, kind: Kind, options: &Value, objects: &BTreeMap<String, ObjectId>) {
    let slot = config.slot(kind);
    if let Some(name) = options.as_str() {
        assert!(slot.share(objects[name]), "{} cannot be shared", kind.word());
        return;
    }
    slot.turn_on();
    for (name, number) in options.as_object().expect("options are an object") {
        let position = kind.options().iter().position(|spec| spec.name == name);
        let position = position.unwrap_or_else(|| panic!("{} has no option {name}", kind.word()));
        let number = number.as_f64().unwrap_or(f64::NAN);
        slot.set(position, number).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Answering.
impl World {
    /// Carries the verb out and says what came of it.
    pub fn apply(&mut self, verb: &Value) -> Value {
        match text(verb, "verb") {
            "admit" => self.admit(verb),
            "settle" => {
                let attempt = number(verb, "attempt") as u8;
                let (call, now, random) = (self.call(verb), now(verb), random(verb));
                let decision = self.engine.settle(call, attempt, outcome(verb), now, random);
                self.tell(&decision, now)
            }
            "wake" => {
                let (call, now, random) = (self.call(verb), now(verb), random(verb));
                let decision = self.engine.wake(call, now, random);
                self.tell(&decision, now)
            }
            "due" => {
                let (call, now, random) = (self.call(verb), now(verb), random(verb));
                let decision = self.engine.due(call, now, random);
                self.tell(&decision, now)
            }
            "sent" => {
                self.engine.sent(self.call(verb), number(verb, "attempt") as u8, repeat(verb), now(verb));
                json!({})
            }
            "cancel" => {
                let (call, now) = (self.call(verb), now(verb));
                let decision = self.engine.cancel(call, now);
                self.tell(&decision, now)
            }
            "circuit" => self.circuit(verb),
            "operate" => self.operate(verb),
            "metrics" => self.metrics(verb),
            "snapshot" => {
                let bytes = self.engine.snapshot(self.stack(verb), now(verb));
                json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
            }
            "restore" => self.restore(verb),
            other => panic!("no such verb: {other}"),
        }
    }

    fn admit(&mut self, verb: &Value) -> Value {
        let facts = Facts {
            repeat: repeat(verb),
            replayable: verb["replayable"].as_bool().unwrap_or(true),
            single: verb["single"].as_bool().unwrap_or(false),
            prepared: verb["prepared"].as_bool().unwrap_or(false),
            timeout: span(verb, "timeoutMs"),
            cost: verb["cost"].as_u64().unwrap_or(1) as u32,
            ..Facts::default()
        };
        let (stack, key, now) = (self.stack(verb), self.key(verb), now(verb));
        let decision = self.engine.admit(stack, key, facts, now, random(verb));
        if let Some(call) = decision.call {
            self.calls.insert(text(verb, "call").to_owned(), call);
            if let (Key::NEW, Some(name), Some(key)) = (key, verb["key"].as_str(), self.engine.key_of(call)) {
                self.learn(name, key);
            }
        }
        self.tell(&decision, now)
    }

    fn circuit(&mut self, verb: &Value) -> Value {
        let now = self.engine.instant(now(verb));
        let breaker = self.engine.gate::<CircuitBreaker>(self.stack(verb)).expect("a stack with a breaker");
        let reading = breaker.read(self.key(verb), now);
        let mut told = json!({
            "state": reading.state.word(),
            "calls": reading.counts.calls,
            "failures": reading.counts.failures,
            "slow": reading.counts.slow,
            "trips": reading.trips,
        });
        if let Some(at) = reading.retry_at {
            told["retryAfterMs"] = at.since(now).as_millis_ceil().into();
        }
        told
    }

    fn operate(&mut self, verb: &Value) -> Value {
        let (stack, key) = (self.stack(verb), self.key(verb));
        let act = |breaker: &mut CircuitBreaker, cx: &mut forbear::policy::Cx<'_>| match text(verb, "action") {
            "reset" => breaker.reset(key, cx),
            "forceOpen" => breaker.force_open(key, cx),
            "forceClosed" => breaker.force_closed(key, cx),
            "disable" => breaker.disable(key, true, cx),
            "enable" => breaker.disable(key, false, cx),
            other => panic!("operators cannot {other}"),
        };
        let done = self.engine.operate(stack, now(verb), random(verb), act);
        json!({ "done": done.is_some() })
    }

    fn metrics(&mut self, verb: &Value) -> Value {
        let Some(metrics) = self.engine.metrics(self.stack(verb), self.key(verb)) else { return json!({}) };
        let Metrics { calls, sent, latencies, .. } = metrics;
        let verdicts = counted(metrics.verdicts().map(|(verdict, count)| (verdict.word(), count)));
        let refusals = counted(metrics.refusals().map(|(reason, count)| (reason.word(), count)));
        json!({ "calls": calls, "sent": sent, "verdicts": verdicts, "refusals": refusals, "latencies": latencies })
    }

    fn restore(&mut self, verb: &Value) -> Value {
        let mut names: Vec<(usize, String)> = members(verb, "keys")
            .map(|(old, name)| (old.parse().expect("a key's number"), name.as_str().expect("a name").to_owned()))
            .collect();
        names.sort();
        let mut keys = vec![Key::NEW; names.iter().map(|(old, _)| old + 1).max().unwrap_or(1)];
        keys[0] = Key::WHOLE;
        for (old, name) in names {
            if !self.keys.contains_key(&name) {
                let given = self.engine.intern().expect("a free key");
                self.learn(&name, given);
            }
            keys[old] = self.keys[&name];
        }
        let hex = text(verb, "hex").as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
        let bytes: Vec<u8> = hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        json!({ "damaged": self.engine.restore(self.stack(verb), &bytes, &keys, now(verb)).is_err() })
    }

    /// A decision, without what it does not say.
    fn tell(&self, decision: &Decision, now: HostTime) -> Value {
        let mut told = Map::new();
        let mut put = |name: &str, value: Value| told.insert(name.to_owned(), value);
        let _ = match decision.step {
            Step::Send(attempt) => {
                put("kind", "send".into());
                put("attempt", attempt.into())
            }
            Step::Wait => put("kind", "wait".into()),
            Step::Done { attempt, reason, held } => {
                put("kind", "done".into());
                put("attempt", attempt.into());
                if held {
                    put("held", true.into());
                }
                put("reason", reason.word().into())
            }
            Step::Reject(rejection) => {
                put("kind", "reject".into());
                put("policy", rejection.policy.word().into());
                put("reason", rejection.reason.word().into())
            }
            Step::Unguarded => put("kind", "unguarded".into()),
        };
        if decision.drop != AttemptSet::EMPTY {
            put("drop", (1..=15).filter(|attempt| decision.drop.contains(*attempt)).collect());
        }
        if let Some(wait) = decision.retry_after {
            put("retryAfterMs", wait.as_millis_ceil().into());
        }
        if let Some(delay) = decision.delay_millis(now) {
            put("delayMs", delay.into());
        }
        if let Some(call) = decision.call {
            put("call", self.label(call));
            if let (Step::Send(_) | Step::Wait, Some(key)) = (decision.step, self.engine.key_of(call)) {
                put("key", key.number().into());
            }
        }
        let woken: Vec<Value> = self.engine.woken().map(|call| self.label(call)).collect();
        if !woken.is_empty() {
            put("woken", woken.into());
        }
        told.into()
    }
}

/// Names.
impl World {
    fn stack(&self, verb: &Value) -> StackId {
        let name = text(verb, "stack");
        *self.stacks.get(name).unwrap_or_else(|| panic!("no such stack: {name}"))
    }

    /// The call of this label; a label that was never given to a call stands for the handle 0, which no call has.
    fn call(&self, verb: &Value) -> CallId {
        self.calls.get(text(verb, "call")).copied().unwrap_or(CallId::from_u64(0))
    }

    fn label(&self, call: CallId) -> Value {
        let label = self.calls.iter().find(|(_, id)| **id == call).map(|(label, _)| label.as_str());
        label.expect("the engine names calls it was asked about").into()
    }

    fn key(&self, verb: &Value) -> Key {
        match verb["key"].as_str() {
            None => Key::WHOLE,
            Some(name) => self.keys.get(name).copied().unwrap_or(Key::NEW),
        }
    }

    /// The engine gave this name a number, perhaps one that another name had.
    fn learn(&mut self, name: &str, key: Key) {
        if key != Key::WHOLE && key != Key::OVERFLOW {
            self.keys.retain(|_, other| *other != key);
            self.keys.insert(name.to_owned(), key);
        }
    }
}

fn repeat(verb: &Value) -> Repeat {
    match verb["repeat"].as_str() {
        None | Some("freely") => Repeat::Freely,
        Some("after-failure") => Repeat::AfterFailure,
        Some("only-unprocessed") => Repeat::OnlyUnprocessed,
        Some("only-unsent") => Repeat::OnlyUnsent,
        Some(other) => panic!("nobody may repeat it so: {other}"),
    }
}

fn outcome(verb: &Value) -> Outcome {
    let retry_after = span(verb, "retryAfterMs");
    let outcome = match &verb["outcome"] {
        Value::Number(status) => {
            let status = status.as_u64().expect("a status is a whole number");
            forbear::http::outcome_of_status(status as u16, retry_after)
        }
        word => {
            let word = word.as_str().expect("an outcome is a status or a word");
            let never_sent = word == "never-sent";
            Outcome { never_sent, ..Outcome::new(verdict(word)) }
        }
    };
    Outcome { retry_after, latency: span(verb, "latencyMs"), ..outcome }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "success" => Verdict::Success,
        "answered" => Verdict::Answered,
        "too-many-requests" => Verdict::Overload(Overload::TooManyRequests),
        "unavailable" => Verdict::Overload(Overload::Unavailable),
        "shedding" => Verdict::Overload(Overload::Shedding),
        "transient" | "never-sent" => Verdict::Transient,
        "timeout" => Verdict::Timeout,
        "rejected" => Verdict::Rejected,
        "defect" => Verdict::Defect,
        "cancelled" => Verdict::Cancelled,
        "inconclusive" => Verdict::Inconclusive,
        other => panic!("attempts do not end so: {other}"),
    }
}

fn kind(word: &str) -> Kind {
    let kind = Kind::ALL.iter().copied().find(|kind| kind.word() == word);
    kind.unwrap_or_else(|| panic!("no such policy: {word}"))
}

fn now(verb: &Value) -> HostTime {
    HostTime::from_millis(number(verb, "now"))
}

fn random(verb: &Value) -> u64 {
    let random = number(verb, "random");
    assert!(random < 1 << 53, "random words are below 2⁵³");
    random
}

fn span(verb: &Value, name: &str) -> Option<Duration> {
    (!verb[name].is_null()).then(|| Duration::from_millis(number(verb, name)))
}

fn number(verb: &Value, name: &str) -> u64 {
    verb[name].as_u64().unwrap_or_else(|| panic!("no whole number {name} in {verb}"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn members<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value[name].as_object().into_iter().flatten()
}

/// What happened at all, by name: what is counted some day in addition changes no vector.
fn counted(counts: impl Iterator<Item = (&'static str, u32)>) -> Value {
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| (word.to_owned(), json!(count)))
        .collect::<Map<_, _>>()
        .into()
}
