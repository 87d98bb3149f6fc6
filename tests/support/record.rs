//! Writes golden vectors: fills in what the engine answers, and lays the file out with one verb a line.

use std::fmt::Write;

use serde_json::Value;

use super::world::World;

/// Replaces what is expected of each verb by what the engine answers now.
pub fn answers(document: &mut Value) {
    let mut world = World::new(document);
    for verb in document["verbs"].as_array_mut().expect("verbs") {
        let answer = world.apply(verb);
        verb["expect"] = answer;
    }
}

/// The document as it stands in its file.
pub fn text(document: &Value) -> String {
    let mut out = String::from("{\n");
    for name in ["format", "policy", "about", "seed"] {
        if !document[name].is_null() {
            let _ = writeln!(out, "  \"{name}\": {},", line(&document[name]));
        }
    }
    for name in ["objects", "stacks"] {
        if let Some(members) = document[name].as_object() {
            let lines: Vec<String> = members.iter().map(|(name, it)| format!("    \"{name}\": {}", line(it))).collect();
            let _ = writeln!(out, "  \"{name}\": {{\n{}\n  }},", lines.join(",\n"));
        }
    }
    let verbs: Vec<String> =
        document["verbs"].as_array().into_iter().flatten().map(|verb| format!("    {}", line(verb))).collect();
    let _ = writeln!(out, "  \"verbs\": [\n{}\n  ]\n}}", verbs.join(",\n"));
    out
}

/// A value on one line, its members in the order in which one reads them.
fn line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by_key(|name| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
            let members: Vec<String> =
                names.into_iter().map(|name| format!("\"{name}\": {}", line(&members[name]))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

const ORDER: &[&str] = &[
    "note",
    "verb",
    "kind",
    "stack",
    "call",
    "key",
    "repeat",
    "replayable",
    "single",
    "prepared",
    "timeoutMs",
    "cost",
    "attempt",
    "action",
    "outcome",
    "retryAfterMs",
    "latencyMs",
    "hex",
    "keys",
    "now",
    "random",
    "expect",
    "reason",
    "policy",
    "held",
    "drop",
    "delayMs",
    "options",
    "state",
    "calls",
    "failures",
    "slow",
    "trips",
    "sent",
    "verdicts",
    "refusals",
    "latencies",
];
