//! The configuration as a JSON Schema: js/schema.json, for editors and for whoever keeps configurations in files.

use std::fmt::Write;

use forbear::config::{OptionKind, OptionSpec};
use forbear::policy::Kind;

use crate::interfaces::{
    BACKOFF, Interface, about, can_be_off, gates, interface_of, interfaces, is_budget, range, row, sentence, written,
};

/// The whole file.
#[must_use]
pub fn json() -> String {
    let mut out = String::from(HEAD);
    let whole = WHOLE.map(|(section, interface, about)| (section, interface.to_owned(), about.to_owned()));
    let sections: Vec<_> =
        whole.into_iter().chain(gates().map(|kind| (kind.word(), interface_of(kind), about(kind)))).collect();
    for (place, (section, interface, about)) in sections.iter().enumerate() {
        let comma = if place + 1 < sections.len() { "," } else { "" };
        let either = format!("[{{ \"const\": false }}, {{ \"$ref\": \"#/$defs/{interface}\" }}]");
        let _ = writeln!(out, "    {section:?}: {{ \"description\": {about:?}, \"anyOf\": {either} }}{comma}");
    }
    out.push_str("  },\n  \"$defs\": {\n");
    let interfaces = interfaces();
    for (place, Interface { name, about, parts }) in interfaces.iter().enumerate() {
        let name = name.split('<').next().unwrap_or(name);
        let properties: Vec<String> = parts.iter().flat_map(|(kind, prefix)| members(*kind, prefix)).collect();
        let comma = if place + 1 < interfaces.len() { "," } else { "" };
        let _ = writeln!(
            out,
            "    {name:?}: {{\n      \"description\": {about:?},\n      \"type\": \"object\",\n      \
             \"additionalProperties\": false,\n      \"properties\": {{\n{}\n      }}\n    }}{comma}",
            properties.join(",\n")
        );
    }
    out.push_str("  }\n}\n");
    out
}

/// The options whose names begin with these letters, and have no dot behind them; where one has, an object stands for all.
fn members(kind: Kind, prefix: &str) -> Vec<String> {
    let mut members = Vec::new();
    for (position, spec) in kind.options().iter().enumerate() {
        let Some(name) = spec.name.strip_prefix(prefix) else { continue };
        if !name.contains('.') {
            members.push(format!("        {name:?}: {}", option(kind, spec, kind.default_of(position))));
        } else if name.starts_with(BACKOFF) && !members.iter().any(|member| member.contains("\"backoff\": ")) {
            members.push(String::from("        \"backoff\": { \"$ref\": \"#/$defs/BackoffConfig\" }"));
        }
    }
    members
}

fn option(kind: Kind, spec: &OptionSpec, default: f64) -> String {
    let facts = row(kind, spec.name);
    let about = format!("{} {}{}.", sentence(&facts.meaning), range(kind, spec, &facts.unit), facts.beside);
    let mut values = values(kind, spec);
    if can_be_off(kind, spec) || is_budget(kind, spec) {
        values.push(String::from("{ \"const\": false }"));
    }
    let value = match &values[..] {
        [one] => one.trim_start_matches("{ ").trim_end_matches(" }").to_owned(),
        several => format!("\"anyOf\": [{}]", several.join(", ")),
    };
    let default =
        if is_budget(kind, spec) { String::new() } else { format!(", \"default\": {}", written(kind, spec, default)) };
    format!("{{ \"description\": {:?}, {value}{default} }}", about.replace('`', "'"))
}

fn values(kind: Kind, spec: &OptionSpec) -> Vec<String> {
    let number = |kind: &str| format!("{{ \"type\": {kind:?}, \"minimum\": {}, \"maximum\": {} }}", spec.min, spec.max);
    match spec.kind {
        OptionKind::Duration => vec![number("number"), String::from(WITH_UNIT)],
        OptionKind::Count => vec![number("integer")],
        OptionKind::Ratio => vec![number("number")],
        OptionKind::Flag if is_budget(kind, spec) => vec![String::from("{ \"$ref\": \"#/$defs/BudgetConfig\" }")],
        OptionKind::Flag => vec![String::from("{ \"type\": \"boolean\" }")],
        OptionKind::Word(words) => vec![format!("{{ \"enum\": {words:?} }}")],
    }
}

/// What stands in a configuration beside its name and the gates, and of which interface it is.
const WHOLE: [(&str, &str, &str); 3] = [
    ("timeout", "TimeoutConfig", "How long the call and each attempt may take. false: as long as they like."),
    ("retry", "RetryConfig", "Attempts again what failed, within a budget."),
    ("hedge", "HedgeConfig", "Starts another attempt beside one that is slow."),
];

const WITH_UNIT: &str = r#"{ "type": "string", "pattern": "^\\s*[-+.\\deE]+\\s*(ms|s|m|h)$" }"#;

const HEAD: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$comment": "Written from the engine's own tables and the pages of the policies by `npm run generate`; a test holds it to them.",
  "title": "A configuration of forbear",
  "description": "One stack of policies. An absent policy is off, {} is its defaults.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "name": { "description": "Names the stack in errors, events and metrics.", "type": "string", "minLength": 1 },
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_the_engines_and_the_pages() {
        assert!(include_str!("../../schema.json") == json(), "run `npm run generate` and commit js/schema.json");
    }

    #[test]
    fn every_option_of_every_policy_stands_in_it() {
        let text = json();
        for kind in Kind::ALL {
            for spec in kind.options() {
                let name = spec.name.rsplit('.').next().unwrap();
                assert!(text.contains(&format!("        {name:?}: {{")), "{}.{name}", kind.word());
            }
        }
    }
}
