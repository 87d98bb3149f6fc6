//! Imports point down only.

use super::source::{Source, is_within, sources};

/// What each module may use besides itself, outermost rule first: the first prefix that fits a module counts. `Trait`
/// stands for the items of policy.rs itself: the trait and what it speaks of.
const MAY_USE: &[(&str, &[&str])] = &[
    // Values of our own.
    ("words", &[]),
    ("more", &[]),
    ("time", &[]),
    ("random", &[]),
    ("ratio", &["time"]),
    // Which policies there are, by name alone.
    ("registry", &[]),
    // The vocabulary.
    ("id", &[]),
    ("key", &[]),
    ("outcome", &["more", "time"]),
    ("snapshot", &["key", "time"]),
    ("decision", &["id", "registry", "time"]),
    ("event", &["decision", "id", "key", "outcome", "ratio", "registry", "time"]),
    ("figure", &["event", "time"]),
    ("metrics", &["decision", "event", "time"]),
    ("config", &["more", "ratio", "registry", "snapshot", "time"]),
    // What is known of a call is what its policies gave it to keep.
    (
        "call",
        &[
            "decision",
            "id",
            "key",
            "more",
            "outcome",
            "time",
            "policy::budget::Receipt",
            "policy::budget::Source",
            "Trait",
        ],
    ),
    ("http", &["call", "outcome", "time"]),
    ("own_limits", &["registry", "time"]),
    // Instruments know time, not policies.
    ("measure", &["id", "ratio", "snapshot", "time"]),
    // What gates with slots have in common.
    ("policy::slotted", &["decision", "event", "measure", "time", "Trait"]),
    // A policy knows the trait and the instruments; never another policy, never the engine.
    (
        "policy::",
        &[
            "call",
            "config",
            "decision",
            "event",
            "figure",
            "key",
            "measure",
            "outcome",
            "policy::slotted",
            "random",
            "ratio",
            "snapshot",
            "time",
            "Trait",
        ],
    ),
    ("policy", &["decision", "event", "figure", "id", "key", "outcome", "random", "registry", "snapshot", "time"]),
    // What builds policies knows them all by name.
    ("any_gate", &["key", "policy", "time"]),
    ("stack_config", &["any_gate", "config", "figure", "id", "more", "own_limits", "policy", "registry", "time"]),
    // What a host in Rust keeps beside its engine.
    ("names", &["decision", "engine", "key", "snapshot"]),
    // The engine knows them all, gates through the registry only.
    ("engine", &["*"]),
    ("", &["*"]),
];

#[test]
fn imports_point_down_only() {
    let mut wrong = Vec::new();
    for source in sources() {
        for reference in source.references() {
            if !may_use(&source.module, &reference) {
                wrong.push(format!("{} uses {reference}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "see MAY_USE above:\n{}", wrong.join("\n"));
}

#[test]
fn the_import_table_is_understood() {
    let allowed = [
        ("policy::retry", "policy::retry::Config"),
        ("policy::budget::ratio", "policy::budget::reserve::Reserve"),
        ("policy::circuit_breaker::operator", "policy::Cx"),
        ("policy::circuit_breaker", "measure::window::Bounds"),
        ("engine::step", "policy::retry::Next"),
        ("decision", "registry::Kind"),
        ("", "engine::Engine"),
    ];
    let forbidden = [
        ("policy::retry", "policy::budget::Receipt"),
        ("policy::hedge", "engine::Engine"),
        ("policy", "measure::window::Bounds"),
        ("policy", "policies::Kind"),
        ("measure::window", "policy::Kind"),
        ("time", "ratio::Ratio"),
        ("http", "policy::Kind"),
        ("decision", "policy::Kind"),
        ("policy::retry", "stack_config::Part"),
    ];
    for (module, reference) in allowed {
        assert!(may_use(module, reference), "{module} may use {reference}");
    }
    for (module, reference) in forbidden {
        assert!(!may_use(module, reference), "{module} may not use {reference}");
    }
    let source =
        Source::new("policy::retry", "use crate::{a::{b, c as d}, e};\nfn f() -> super::G { crate::h::I } // crate::j");
    assert_eq!(source.references(), ["a::b", "a::c", "e", "h::I", "policy::G"]);
}

#[test]
fn every_module_stands_in_the_import_table() {
    let known = |module: &str| MAY_USE.iter().any(|(prefix, _)| !prefix.is_empty() && module.starts_with(prefix));
    let strangers: Vec<String> = sources()
        .into_iter()
        .map(|source| source.module)
        .filter(|module| !module.is_empty() && !known(module))
        .collect();
    assert!(strangers.is_empty(), "say in MAY_USE what these may use: {strangers:?}");
}

fn may_use(module: &str, reference: &str) -> bool {
    if unit(module) == unit(reference) {
        return true;
    }
    let fits = |prefix: &str| match prefix {
        "" => true,
        "policy::" => module.starts_with(prefix),
        prefix => is_within(module, prefix),
    };
    let (_, allowed) = MAY_USE.iter().find(|(prefix, _)| fits(prefix)).expect("the last rule fits all");
    allowed.iter().any(|allowed| match *allowed {
        "*" => true,
        "Trait" => is_of_the_trait(reference),
        allowed => is_within(reference, allowed),
    })
}

/// What may use all of itself: a policy with its parts, or a module of the crate's root with its own.
fn unit(path: &str) -> Vec<&str> {
    let mut names: Vec<&str> = path.split("::").collect();
    let is_policy = names[0] == "policy" && names.get(1).is_some_and(|name| name.starts_with(char::is_lowercase));
    names.truncate(if is_policy { 2 } else { 1 });
    names
}

fn is_of_the_trait(reference: &str) -> bool {
    reference.strip_prefix("policy::").is_some_and(|item| item.starts_with(char::is_uppercase))
}
