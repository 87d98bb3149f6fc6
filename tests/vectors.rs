//! Golden vectors: what the engine decided, recorded once and held to from then on, on every host.
//!
//! `npm run generate -- vectors` records anew what the native engine answers now: review the difference as one reviews code.
//! tests/vectors/README.md describes the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use forbear::policy::Kind;
use forbear::{RefusalReason, StopReason};
use serde_json::Value;
use support::{random, record, replay, vectors};

mod support;

#[test]
fn every_vector_decides_as_recorded() {
    if std::env::var("FORBEAR_GENERATE").is_ok_and(|what| what == "vectors") {
        return write();
    }
    let differences: Vec<String> =
        vectors::ALL.iter().flat_map(|(name, text)| replay::differences(name, text)).collect();
    assert!(differences.is_empty(), "{} answers differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (name, text) = vectors::ALL[0];
    let wrong = text.replacen("\"delayMs\": 500", "\"delayMs\": 501", 1);
    assert_eq!(replay::differences(name, &wrong).len(), 1);
}

#[test]
fn the_vectors_reach_every_kind_of_answer() {
    let mut reached = BTreeSet::new();
    for (_, verb) in all_verbs() {
        let expect = &verb["expect"];
        for name in ["kind", "reason", "state"] {
            reached.extend(expect[name].as_str().map(|word| format!("{name} {word}")));
        }
        reached.extend(verb["outcome"].as_str().map(|word| format!("outcome {word}")));
    }
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend(["send", "wait", "done", "reject", "unguarded"].map(|word| format!("kind {word}")));
    wanted.extend(["closed", "open", "half-open", "forced-open", "disabled"].map(|word| format!("state {word}")));
    wanted.extend(StopReason::WORDS.iter().map(|word| format!("reason {word}")));
    wanted.extend(OUTCOMES.map(|word| format!("outcome {word}")));
    wanted.extend(RefusalReason::WORDS.iter().map(|word| format!("reason {word}")));
    let missing: Vec<&String> = wanted.iter().filter(|word| !reached.contains(*word)).collect();
    assert!(missing.is_empty(), "no vector reaches {missing:?}");
}

#[test]
fn the_vectors_set_every_option_of_every_policy() {
    let mut set = BTreeSet::new();
    for (_, text) in vectors::ALL {
        let document: Value = serde_json::from_str(text).unwrap();
        let stacks = document["stacks"].as_object().into_iter().flatten();
        for (word, options) in stacks.flat_map(|(_, policies)| policies.as_object().unwrap()) {
            let names = options.as_object().into_iter().flatten().map(|(name, _)| format!("{word}.{name}"));
            set.extend(names);
        }
        for (_, object) in document["objects"].as_object().into_iter().flatten() {
            let word = object["policy"].as_str().unwrap();
            set.extend(object["options"].as_object().unwrap().keys().map(|name| format!("{word}.{name}")));
        }
    }
    let all =
        Kind::ALL.iter().flat_map(|kind| kind.options().iter().map(|spec| format!("{}.{}", kind.word(), spec.name)));
    let missing: Vec<String> = all.filter(|name| !set.contains(name)).collect();
    assert!(missing.is_empty(), "no vector sets {missing:?}");
}

fn all_verbs() -> impl Iterator<Item = (&'static str, Value)> {
    vectors::ALL.iter().flat_map(|(name, text)| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let Value::Array(verbs) = document["verbs"].take() else { panic!("{name}: no verbs") };
        verbs.into_iter().map(|verb| (*name, verb))
    })
}

/// Scenarios keep their verbs and get the answers of today's engine; random ones are made anew from their seeds.
fn write() {
    for (name, seed) in random::SEEDS {
        fs::write(folder().join(format!("{name}.json")), record::text(&random::document(*seed))).unwrap();
    }
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let mut document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            record::answers(&mut document);
            fs::write(&path, record::text(&document)).unwrap();
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

const OUTCOMES: [&str; 12] = [
    "success",
    "answered",
    "too-many-requests",
    "unavailable",
    "shedding",
    "transient",
    "never-sent",
    "timeout",
    "rejected",
    "defect",
    "cancelled",
    "inconclusive",
];
