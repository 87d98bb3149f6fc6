//! The words and options that the other side reads, written as TypeScript from the engine's own tables. Every byte of it that
//! the shim uses travels to users, so it is tuples, and every list of words is written once.

use std::fmt::Write;

use forbear::config::{ConfigReason, OptionKind, OptionSpec};
use forbear::event::{FieldKind, VerdictWord, What};
use forbear::http::LONGEST_FIELD;
use forbear::policy::Kind;
use forbear::policy::budget::Counting;
use forbear::policy::circuit_breaker::StateWord;
use forbear::{MAX_KEYS, MAX_SNAPSHOT, RefusalReason, StopReason};

/// The whole file.
#[must_use]
pub fn typescript() -> String {
    let mut out = String::from(HEADER);
    for (name, about, words) in WORDS {
        let _ = writeln!(out, "\n/** {about} */\nexport const {name} = {} as const;", list(words));
    }
    options(&mut out);
    budget_reads(&mut out);
    defaults(&mut out);
    bounds(&mut out);
    events(&mut out);
    event_facts(&mut out);
    figures(&mut out);
    readings(&mut out);
    out
}

/// The words, as an array.
fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The words, by the name of their list if they have one.
fn named(words: &[&str]) -> String {
    WORDS.iter().find(|(_, _, list)| *list == words).map_or_else(|| list(words), |(name, ..)| String::from(*name))
}

fn options(out: &mut String) {
    out.push_str("\n/** The options of each policy, in the order of their positions. */\n");
    out.push_str("export const OPTIONS: Record<(typeof POLICIES)[number], readonly OptionSpec[]> = {\n");
    for kind in Kind::ALL {
        let _ = writeln!(out, "  {}: [", kind.word());
        for spec in kind.options() {
            let _ = writeln!(out, "    {},", option(spec));
        }
        out.push_str("  ],\n");
    }
    out.push_str("};\n");
}

fn option(spec: &OptionSpec) -> String {
    let OptionSpec { name, kind, can_be_off, .. } = spec;
    let kind = match kind {
        OptionKind::Duration => String::from("\"duration\""),
        OptionKind::Count => String::from("\"count\""),
        OptionKind::Ratio => String::from("\"number\""),
        OptionKind::Flag => String::from("\"flag\""),
        OptionKind::Word(words) => named(words),
    };
    let off = if *can_be_off { ", true" } else { "" };
    format!("[{name:?}, {kind}{off}]")
}

fn budget_reads(out: &mut String) {
    let reads = |kind: &Counting| {
        let read = (0..Kind::Budget.options().len()).filter(|option| kind.reads(*option));
        read.fold(0, |bits, option| bits | 1u32 << option).to_string()
    };
    let all: Vec<String> = Counting::ALL.iter().map(reads).collect();
    let _ = writeln!(
        out,
        "\n/** Which options each kind of budget reads: a bit for each position. */\nexport const BUDGET_READS = [{}] as const;",
        all.join(", ")
    );
}

fn bounds(out: &mut String) {
    let all = [
        (
            "LONGEST_FIELD",
            "So many letters of a Retry-After or a Date are read; a longer one says nothing",
            LONGEST_FIELD,
        ),
        ("MAX_KEYS", "So many keys have state of their own", usize::from(MAX_KEYS)),
        ("MAX_SNAPSHOT", "The engine's part of a snapshot is no longer, in bytes", MAX_SNAPSHOT),
    ];
    for (name, about, bound) in all {
        let _ = writeln!(out, "\n/** {about}. */\nexport const {name} = {bound};");
    }
}

fn defaults(out: &mut String) {
    out.push_str(
        "\n/** What each option is when it is absent; `null` is off. For tests: absent options do not cross. */\n",
    );
    out.push_str("export const DEFAULTS: Record<(typeof POLICIES)[number], readonly (number | null)[]> = {\n");
    for kind in Kind::ALL {
        let defaults: Vec<String> =
            (0..kind.options().len()).map(|position| default(kind.default_of(position))).collect();
        let _ = writeln!(out, "  {}: [{}],", kind.word(), defaults.join(", "));
    }
    out.push_str("};\n");
    let attempt = default(Kind::AttemptTimeout.default_of(0));
    let _ = writeln!(
        out,
        "\n/** The one that the shim needs: how long an attempt may take where nobody says. */\nexport const ATTEMPT_TIMEOUT_MS = {attempt};"
    );
}

fn default(value: f64) -> String {
    if value.is_nan() { String::from("null") } else { value.to_string() }
}

fn events(out: &mut String) {
    out.push_str("\n/** The kinds of events, by code. */\n");
    out.push_str("export const EVENTS: readonly EventSpec[] = [\n");
    for spec in What::SPECS {
        let fields = spec.fields.iter().map(|(name, kind)| field(name, *kind));
        let parts: Vec<String> = std::iter::once(format!("{:?}", spec.name)).chain(fields).collect();
        let _ = writeln!(out, "  [{}],", parts.join(", "));
    }
    out.push_str("];\n");
}

/// The same as types. The compiler alone reads them, so they cost nobody a byte.
fn event_facts(out: &mut String) {
    out.push_str("\n/** What each kind of event tells. */\nexport interface EventFacts {\n");
    for spec in What::SPECS {
        let facts: Vec<String> =
            spec.fields.iter().map(|(name, kind)| format!("readonly {name}: {}", fact(*kind))).collect();
        let _ = writeln!(out, "  {}: {{ {} }};", spec.name, facts.join("; "));
    }
    out.push_str("}\n");
}

/// The policies that have something to read.
fn readable() -> impl Iterator<Item = &'static Kind> {
    Kind::ALL.iter().filter(|kind| !kind.figures().is_empty())
}

fn figures(out: &mut String) {
    out.push_str("\n/** What there is to read of each policy about a key, in the order of the numbers. */\n");
    out.push_str("export const FIGURES: Record<keyof Readings, readonly FactSpec[]> = {\n");
    for kind in readable() {
        let figures: Vec<String> = kind.figures().iter().map(|spec| field(spec.name, spec.kind)).collect();
        let _ = writeln!(out, "  {}: [{}],", kind.word(), figures.join(", "));
    }
    out.push_str("};\n");
}

/// The same as types.
fn readings(out: &mut String) {
    for kind in readable() {
        let _ = writeln!(out, "\nexport interface {} {{", reading(*kind));
        for spec in kind.figures() {
            let _ = writeln!(out, "  /**{} */\n  readonly {}: {};", spec.about, spec.name, fact(spec.kind));
        }
        out.push_str("}\n");
    }
    out.push_str("\n/** What each policy reads as, by its name. */\nexport interface Readings {\n");
    for kind in readable() {
        let _ = writeln!(out, "  {}: {};", kind.word(), reading(*kind));
    }
    out.push_str("}\n");
}

/// `BreakerReading`
fn reading(kind: Kind) -> String {
    let (first, rest) = kind.word().split_at(1);
    format!("{}{rest}Reading", first.to_uppercase())
}

fn fact(kind: FieldKind) -> String {
    match kind {
        FieldKind::Count | FieldKind::Share | FieldKind::Millis => String::from("number"),
        FieldKind::CountOrNone | FieldKind::MillisOrNone => String::from("number | undefined"),
        FieldKind::Flag => String::from("boolean"),
        FieldKind::Word(words) => match WORDS.iter().find(|(_, _, list)| *list == words) {
            Some((name, ..)) => format!("(typeof {name})[number]"),
            None => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | "),
        },
    }
}

fn field(name: &str, kind: FieldKind) -> String {
    match kind {
        FieldKind::Flag => format!("[{name:?}, [false, true]]"),
        FieldKind::Word(words) => format!("[{name:?}, {}]", named(words)),
        _ => format!("{name:?}"),
    }
}

/// Lists of words: name, what they are, the words.
const WORDS: [(&str, &str, &[&str]); 7] = [
    ("POLICIES", "The policies, by code.", Kind::WORDS),
    ("STOP_REASONS", "Why calls end, by code.", StopReason::WORDS),
    ("REFUSAL_REASONS", "Why calls are refused, by code.", RefusalReason::WORDS),
    ("VERDICTS", "What attempts say about the upstream, by code.", VerdictWord::WORDS),
    ("OUTCOMES", "How an attempt's end crosses, by code; HTTP statuses cross as they are.", crate::outcome::WORDS),
    ("CONFIG_REASONS", "Why configurations are refused, by code.", ConfigReason::WORDS),
    ("BREAKER_STATES", "The states of a circuit, by code.", StateWord::WORDS),
];

const HEADER: &str = r#"// Written from the engine's own tables by `npm run generate`; a test holds it to them.

/** One option of one policy: a kind of number, or words. Its range is the engine's business. */
export type OptionSpec = readonly [name: string, kind: "duration" | "count" | "number" | "flag" | readonly string[], canBeOff?: true];

/** One fact of an event or a reading that crosses as a number: a word where there is a list, else the number; below 0 none. */
export type FactSpec = string | readonly [name: string, words: readonly unknown[]];

/** One kind of event, and its facts in the order of their numbers. */
export type EventSpec = readonly [name: string, ...facts: readonly FactSpec[]];
"#;

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_vocabulary_is_the_engines() {
        let committed = include_str!("../../src/generated/vocabulary.ts");
        assert!(committed == super::typescript(), "run `npm run generate` and commit js/src/generated/vocabulary.ts");
    }
}
