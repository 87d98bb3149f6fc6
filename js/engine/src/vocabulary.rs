//! The words and options that the other side reads, written as TypeScript from the engine's own tables.

use std::fmt::Write;

use forbear::config::{ConfigReason, OptionKind, OptionSpec};
use forbear::event::{FieldKind, VerdictWord, What};
use forbear::policy::Kind;
use forbear::{RefusalReason, StopReason};

/// The whole file.
#[must_use]
pub fn typescript() -> String {
    let mut out = String::from(HEADER);
    words(&mut out, "POLICIES", "The policies, by code.", Kind::WORDS);
    words(&mut out, "STOP_REASONS", "Why calls end, by code.", StopReason::WORDS);
    words(&mut out, "REFUSAL_REASONS", "Why calls are refused, by code.", RefusalReason::WORDS);
    words(&mut out, "VERDICTS", "What attempts say about the upstream, by code.", VerdictWord::WORDS);
    words(
        &mut out,
        "OUTCOMES",
        "How an attempt's end crosses, by code; HTTP statuses cross as they are.",
        crate::outcome::WORDS,
    );
    words(&mut out, "CONFIG_REASONS", "Why configurations are refused, by code.", ConfigReason::WORDS);
    words(
        &mut out,
        "BREAKER_STATES",
        "The states of a circuit, by code.",
        forbear::policy::circuit_breaker::StateWord::WORDS,
    );
    options(&mut out);
    events(&mut out);
    out
}

fn words(out: &mut String, name: &str, about: &str, words: &[&str]) {
    let _ = writeln!(out, "\n/** {about} */\nexport const {name} = {} as const;", list(words));
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", quoted.join(", "))
}

fn options(out: &mut String) {
    out.push_str("\n/** The options of each policy, in the order of their positions. */\n");
    out.push_str("export const OPTIONS: Record<(typeof POLICIES)[number], readonly OptionSpec[]> = {\n");
    for kind in Kind::ALL {
        let _ = writeln!(out, "  {}: [", kind.word());
        for (position, spec) in kind.options().iter().enumerate() {
            let _ = writeln!(out, "    {},", option(spec, kind.default_of(position)));
        }
        out.push_str("  ],\n");
    }
    out.push_str("};\n");
}

fn option(spec: &OptionSpec, default: f64) -> String {
    let OptionSpec { name, kind, min, max, can_be_off } = spec;
    let default = if default.is_nan() { String::from("null") } else { default.to_string() };
    let (kind, words) = match kind {
        OptionKind::Duration => ("duration", String::new()),
        OptionKind::Count => ("count", String::new()),
        OptionKind::Ratio => ("ratio", String::new()),
        OptionKind::Flag => ("flag", String::new()),
        OptionKind::Word(words) => ("word", format!(", words: {}", list(words))),
    };
    format!(
        "{{ name: {name:?}, kind: {kind:?}, min: {min}, max: {max}, off: {can_be_off}, default: {default}{words} }}"
    )
}

fn events(out: &mut String) {
    out.push_str("\n/** The kinds of events, by code, each with its facts in the order of their numbers. */\n");
    out.push_str("export const EVENTS: readonly EventSpec[] = [\n");
    for spec in What::SPECS {
        let fields: Vec<String> = spec.fields.iter().map(|(name, kind)| field(name, *kind)).collect();
        let _ = writeln!(out, "  {{ name: {:?}, fields: [{}] }},", spec.name, fields.join(", "));
    }
    out.push_str("];\n");
}

fn field(name: &str, kind: FieldKind) -> String {
    match kind {
        FieldKind::Count => format!("{{ name: {name:?}, kind: \"count\" }}"),
        FieldKind::Millis => format!("{{ name: {name:?}, kind: \"millis\" }}"),
        FieldKind::Word(words) => format!("{{ name: {name:?}, kind: \"word\", words: {} }}", list(words)),
    }
}

const HEADER: &str = r#"// Written from the engine's own tables by `npm run generate`; a test holds it to them.

/** One option of one policy. Durations are in milliseconds; `default: null` means off. */
export interface OptionSpec {
  readonly name: string;
  readonly kind: "duration" | "count" | "ratio" | "flag" | "word";
  readonly min: number;
  readonly max: number;
  readonly off: boolean;
  readonly default: number | null;
  readonly words?: readonly string[];
}

/** One kind of event. A field of kind `millis` is −1 when there is none. */
export interface EventSpec {
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly kind: "count" | "millis" | "word"; readonly words?: readonly string[] }[];
}
"#;

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_vocabulary_is_the_engines() {
        let committed = include_str!("../../src/generated/vocabulary.ts");
        assert!(committed == super::typescript(), "run `npm run generate` and commit js/src/generated/vocabulary.ts");
    }
}
