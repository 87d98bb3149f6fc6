//! An instance of the component that understands golden vectors: verbs come as JSON, and so do the answers. What
//! tests/support/world.rs is for the native engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use forbear_wasmtime_host::engine::{
    Circuit, CircuitAction, Decision, Ending, Facts, Metrics, Outcome, Repeat, RestoreError, Snapshot, Step,
};
use forbear_wasmtime_host::types::{PolicySettings, Setting, Value as Given};
use forbear_wasmtime_host::{Compiled, Instance};
use serde_json::{Map, Value, json};
use wasmtime::component::ResourceAny;

pub struct World {
    instance: Instance,
    stacks: BTreeMap<String, ResourceAny>,
    calls: BTreeMap<String, u64>,
}

/// Making one.
impl World {
    /// The engine that a document's objects and stacks describe.
    pub fn new(document: &Value) -> Self {
        let mut instance = COMPILED.instantiate().unwrap();
        let (mut store, engine) = instance.parts();
        let mut objects = BTreeMap::new();
        for (name, object) in members(document, "objects") {
            let settings = settings(text(object, "policy"), &object["options"]);
            let made = engine.shared().call_create(&mut store, &settings).unwrap();
            objects.insert(name.as_str(), made.unwrap_or_else(|error| panic!("object {name}: {error:?}")));
        }
        let mut stacks = BTreeMap::new();
        for (name, policies) in members(document, "stacks") {
            let policies = policies.as_object().expect("a stack is an object of policies");
            let shared: Vec<ResourceAny> =
                policies.values().filter_map(Value::as_str).map(|name| objects[name]).collect();
            let own = policies.iter().filter(|(_, options)| options.is_object());
            let own: Vec<PolicySettings> = own.map(|(word, options)| settings(word, options)).collect();
            let made = engine.stack().call_create(&mut store, &own, &shared).unwrap();
            stacks.insert(name.clone(), made.unwrap_or_else(|error| panic!("stack {name}: {error:?}")));
        }
        Self { instance, stacks, calls: BTreeMap::new() }
    }
}

/// Answering.
impl World {
    /// Carries the verb out and says what came of it.
    pub fn apply(&mut self, verb: &Value) -> Value {
        let (stack, call) = (self.stacks.get(verb["stack"].as_str().unwrap_or("")).copied(), self.call(verb));
        let (mut store, engine) = self.instance.parts();
        let (key, now) = (verb["key"].as_str(), nanos(verb, "now").unwrap_or(0));
        let random = verb["random"].as_u64().unwrap_or(0);
        let decision = match text(verb, "verb") {
            "admit" => {
                let stack = stack.expect("a stack");
                let decision = engine.stack().call_admit(&mut store, stack, key, facts(verb), now, random).unwrap();
                if let Some(call) = decision.call {
                    self.calls.insert(text(verb, "call").to_owned(), call);
                }
                decision
            }
            "settle" => {
                let attempt = verb["attempt"].as_u64().expect("an attempt") as u8;
                engine.call_settle(&mut store, call, attempt, outcome(verb), now, random).unwrap()
            }
            "due" => engine.call_due(&mut store, call, now, random).unwrap(),
            "sent" => {
                let attempt = verb["attempt"].as_u64().expect("an attempt") as u8;
                engine.call_sent(&mut store, call, attempt, repeat(verb), now).unwrap();
                return json!({});
            }
            "wake" => engine.call_wake(&mut store, call, now, random).unwrap(),
            "cancel" => engine.call_cancel(&mut store, call, now).unwrap(),
            _ => return self.read(verb, stack.expect("a stack"), key, now, random),
        };
        self.tell(&decision, now)
    }

    fn read(&mut self, verb: &Value, stack: ResourceAny, key: Option<&str>, now: u64, random: u64) -> Value {
        let (mut store, engine) = self.instance.parts();
        let stacks = engine.stack();
        match text(verb, "verb") {
            "circuit" => {
                let circuit = stacks.call_circuit(&mut store, stack, key, now).unwrap();
                tell_circuit(&circuit.expect("a stack with a breaker"))
            }
            "operate" => {
                let action = action(text(verb, "action"));
                json!({ "done": stacks.call_operate(&mut store, stack, key, action, now, random).unwrap() })
            }
            "metrics" => match stacks.call_metrics(&mut store, stack, key).unwrap() {
                None => json!({}),
                Some(Metrics { calls, sent, verdicts, refusals, latencies }) => json!({
                    "calls": calls, "sent": sent, "verdicts": by_name(verdicts), "refusals": by_name(refusals), "latencies": latencies,
                }),
            },
            "snapshot" => {
                let Snapshot { state, .. } = stacks.call_snapshot(&mut store, stack, now).unwrap();
                json!({ "hex": state.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
            }
            "restore" => {
                let restored = stacks.call_restore(&mut store, stack, &snapshot(verb), now).unwrap();
                json!({ "damaged": matches!(restored, Err(RestoreError::Damaged)) })
            }
            other => panic!("no such verb: {other}"),
        }
    }

    /// A decision, without what it does not say.
    fn tell(&mut self, decision: &Decision, now: u64) -> Value {
        let mut told = Map::new();
        let mut put = |name: &str, value: Value| told.insert(name.to_owned(), value);
        let _ = match &decision.step {
            Step::Send(attempt) => {
                put("kind", "send".into());
                put("attempt", (*attempt).into())
            }
            Step::Wait => put("kind", "wait".into()),
            Step::Done(done) => {
                put("kind", "done".into());
                put("attempt", done.attempt.into());
                if done.held {
                    put("held", true.into());
                }
                if let Some(wait) = done.retry_after {
                    put("retryAfterMs", wait.div_ceil(1_000_000).into());
                }
                put("reason", kebab(&format!("{:?}", done.reason)).into())
            }
            Step::Reject(rejection) => {
                put("kind", "reject".into());
                put("policy", rejection.policy.as_str().into());
                put("reason", kebab(&format!("{:?}", rejection.reason)).into())
            }
            Step::Unguarded => put("kind", "unguarded".into()),
        };
        if decision.drop != 0 {
            put("drop", (1..=15).filter(|attempt| decision.drop & 1 << attempt != 0).collect());
        }
        if let Some(at) = decision.at {
            put("delayMs", at.saturating_sub(now).div_ceil(NANOS_PER_MILLI).into());
        }
        if let Some(call) = decision.call {
            put("call", self.label(call));
        }
        if let Some(key) = decision.key {
            put("key", key.into());
        }
        let (mut store, engine) = self.instance.parts();
        let woken = engine.call_woken(&mut store).unwrap();
        if !woken.is_empty() {
            put("woken", woken.into_iter().map(|call| self.label(call)).collect());
        }
        told.into()
    }

    /// The call of this label; a label that was never given to a call stands for the handle 0, which no call has.
    fn call(&self, verb: &Value) -> u64 {
        verb["call"].as_str().and_then(|label| self.calls.get(label)).copied().unwrap_or(0)
    }

    fn label(&self, call: u64) -> Value {
        let label = self.calls.iter().find(|(_, id)| **id == call).map(|(label, _)| label.as_str());
        label.expect("the engine names calls it was asked about").into()
    }
}

/// A policy's settings as a document has them: milliseconds, counts, shares, 0 and 1, a word's position, `null` for off. Which
/// of these an option takes, the component says itself.
fn settings(word: &str, options: &Value) -> PolicySettings {
    let options = options.as_object().expect("options are an object").iter().map(|(name, number)| Setting {
        name: name.clone(),
        value: match number.as_f64() {
            None => Given::None,
            Some(number) => value(word, name, number),
        },
    });
    PolicySettings { policy: word.to_owned(), options: options.collect() }
}

/// The number as the value that the option takes, by the list in wit/types.wit.
fn value(word: &str, option: &str, number: f64) -> Given {
    let (_, policy) = TYPES.split_once(&format!("  /// `{word}`: ")).expect("the policy's lines");
    let (_, told) = policy.split_once(&format!("  /// - `{option}`: ")).expect("the option's line");
    let told = told.split("\n  /// - `").next().unwrap().split("\n  ///\n").next().unwrap();
    let told = told.split("\n  @since").next().unwrap().replace("\n  ///  ", "");
    let (_, kind) = told.rsplit_once(" (").expect("its kind");
    let (kind, words) = kind.split_once(' ').map_or((kind, ""), |(kind, rest)| (kind, rest));
    match kind.trim_end_matches(';') {
        "duration" => Given::Duration((number * NANOS_PER_MILLI as f64).round() as u64),
        "count" => Given::Count(number as u32),
        "ratio" => Given::Ratio(number),
        "flag" => Given::Flag(number != 0.0),
        "word" => Given::Word(words.split(';').next().unwrap().split(", ").nth(number as usize).unwrap().to_owned()),
        other => panic!("{word}.{option} is a {other}"),
    }
}

fn facts(verb: &Value) -> Facts {
    Facts {
        repeat: repeat(verb),
        replayable: verb["replayable"].as_bool().unwrap_or(true),
        single: verb["single"].as_bool().unwrap_or(false),
        prepared: verb["prepared"].as_bool().unwrap_or(false),
        timeout: nanos(verb, "timeoutMs"),
        cost: verb["cost"].as_u64().unwrap_or(1) as u32,
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
    let ended = match &verb["outcome"] {
        Value::Number(status) => Ending::Status(status.as_u64().expect("a status is a whole number") as u16),
        word => match word.as_str().expect("an outcome is a status or a word") {
            "success" => Ending::Success,
            "answered" => Ending::Answered,
            "too-many-requests" => Ending::TooManyRequests,
            "unavailable" => Ending::Unavailable,
            "shedding" => Ending::Shedding,
            "transient" => Ending::Transient,
            "never-sent" => Ending::NeverSent,
            "timeout" => Ending::Timeout,
            "rejected" => Ending::Rejected,
            "defect" => Ending::Defect,
            "inconclusive" => Ending::Inconclusive,
            "cancelled" => Ending::Cancelled,
            other => panic!("attempts do not end so: {other}"),
        },
    };
    Outcome { ended, retry_after: nanos(verb, "retryAfterMs"), latency: nanos(verb, "latencyMs") }
}

/// The bytes, with the names of their keys in the order of their numbers.
fn snapshot(verb: &Value) -> Snapshot {
    let mut keys: Vec<(u16, String)> =
        members(verb, "keys").map(|(old, name)| (old.parse().unwrap(), name.as_str().unwrap().to_owned())).collect();
    keys.sort();
    let hex = text(verb, "hex").as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
    Snapshot { state: hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect(), keys }
}

fn tell_circuit(circuit: &Circuit) -> Value {
    let state = kebab(&format!("{:?}", circuit.state));
    let Circuit { calls, failures, slow, trips, .. } = circuit;
    let mut told = json!({ "state": state, "calls": calls, "failures": failures, "slow": slow, "trips": trips });
    if let Some(span) = circuit.retry_after {
        told["retryAfterMs"] = span.div_ceil(NANOS_PER_MILLI).into();
    }
    told
}

fn action(word: &str) -> CircuitAction {
    match word {
        "reset" => CircuitAction::Reset,
        "forceOpen" => CircuitAction::ForceOpen,
        "forceClosed" => CircuitAction::ForceClosed,
        "disable" => CircuitAction::Disable,
        "enable" => CircuitAction::Enable,
        other => panic!("operators cannot {other}"),
    }
}

/// `StopReason::NotRetryable` is called `not-retryable`.
fn kebab(debug: &str) -> String {
    let name = debug.rsplit("::").next().unwrap();
    let dashed = |(place, letter): (usize, char)| {
        (place > 0 && letter.is_uppercase()).then_some('-').into_iter().chain(letter.to_lowercase())
    };
    name.chars().enumerate().flat_map(dashed).collect()
}

fn nanos(verb: &Value, name: &str) -> Option<u64> {
    verb[name].as_u64().map(|millis| millis * NANOS_PER_MILLI)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn members<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value[name].as_object().into_iter().flatten()
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    Compiled::of(Path::new("../../../build/component/engine.wasm")).expect("npm run build:component makes it")
});

const TYPES: &str = include_str!("../../../../types.wit");
const NANOS_PER_MILLI: u64 = 1_000_000;

fn by_name(counts: Vec<(String, u32)>) -> Value {
    counts.into_iter().map(|(word, count)| (word, json!(count))).collect::<Map<_, _>>().into()
}
