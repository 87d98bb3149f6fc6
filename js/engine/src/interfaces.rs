//! The configuration of the JavaScript package as types, with a comment on each option: js/src/generated/config.ts. What an
//! option means is the text of the policy's page, its range and its default are the engine's.

use std::fmt::Write;

use forbear::config::{OptionKind, OptionSpec};
use forbear::policy::Kind;

/// One interface: its name, what it is, and whose options it has: those that begin with these letters.
pub(crate) struct Interface {
    pub name: String,
    pub about: String,
    pub parts: Vec<(Kind, &'static str)>,
}

pub(crate) const BACKOFF: &str = "backoff.";

/// Those that are made of more or less than one policy; every gate has one of its own.
pub(crate) fn interfaces() -> Vec<Interface> {
    let made = |name: &str, about: &str, parts: &[(Kind, &'static str)]| Interface {
        name: name.to_owned(),
        about: about.to_owned(),
        parts: parts.to_vec(),
    };
    let mut all = vec![
        made(
            "TimeoutConfig",
            "How long a call and its attempts may take.",
            &[(Kind::Deadline, ""), (Kind::AttemptTimeout, "")],
        ),
        made("RetryConfig<Shared>", "When and how often a call is attempted again.", &[(Kind::Retry, "")]),
        made("BackoffConfig", "How long a call waits between attempts.", &[(Kind::Retry, BACKOFF)]),
        made("BudgetConfig", "What repeats may cost together.", &[(Kind::Budget, "")]),
        made(
            "HedgeConfig",
            "Attempts beside one that is slow; the first success wins. Only for requests that may be repeated freely.",
            &[(Kind::Hedge, "")],
        ),
    ];
    all.extend(gates().map(|kind| made(&interface_of(kind), &about(kind), &[(kind, "")])));
    all
}

/// The gates, which stand in a configuration under their own names.
pub(crate) fn gates() -> impl Iterator<Item = Kind> {
    let of_its_own =
        |kind: &Kind| !matches!(kind, Kind::Deadline | Kind::AttemptTimeout | Kind::Retry | Kind::Budget | Kind::Hedge);
    Kind::ALL.iter().copied().filter(of_its_own)
}

/// `rateLimiter` has `RateLimiterConfig`.
pub(crate) fn interface_of(kind: Kind) -> String {
    let (first, rest) = kind.word().split_at(1);
    format!("{}{rest}Config", first.to_uppercase())
}

/// What the registry says of a policy.
pub(crate) fn about(kind: Kind) -> String {
    let registry = read("src/registry.rs");
    let lines: Vec<&str> = registry.lines().map(str::trim).collect();
    let place = lines.iter().position(|line| line.starts_with(&format!("{kind:?} = ")));
    let said = place.and_then(|place| lines.get(place - 1)?.strip_prefix("/// "));
    said.unwrap_or_else(|| panic!("src/registry.rs says what {} is", kind.word())).to_owned()
}

/// A file of the repository.
fn read(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The whole file.
pub fn typescript() -> String {
    let mut out = String::from(HEADER);
    for Interface { name, about, parts } in interfaces() {
        let _ = writeln!(out, "\n/** {about} */\nexport interface {name} {{");
        for (kind, prefix) in parts {
            members(&mut out, kind, prefix);
        }
        out.push_str("}\n");
    }
    let words: Vec<String> = gates().map(|kind| format!("{:?}", kind.word())).collect();
    let _ =
        writeln!(out, "{GATES}export interface GateConfigs<Objects extends Record<{}, unknown>> {{", words.join(" | "));
    for kind in gates() {
        let (word, interface) = (kind.word(), interface_of(kind));
        let _ = writeln!(out, "  /** {} */\n  {word}?: {interface} | Objects[{word:?}] | false;", about(kind));
    }
    out.push_str("}\n");
    out
}

const GATES: &str = "
/** The policies of a configuration that stand under their own names. `Objects` are those that several guards share. */
";

/// The options whose names begin with these letters, and have no dot behind them; where one has, an object stands for all.
fn members(out: &mut String, kind: Kind, prefix: &str) {
    let mut has_backoff = false;
    for (position, spec) in kind.options().iter().enumerate() {
        let Some(name) = spec.name.strip_prefix(prefix) else { continue };
        if !name.contains('.') {
            let comment = comment(kind, spec, kind.default_of(position));
            let _ = writeln!(out, "  /**\n{comment}   */\n  {name}?: {};", value(kind, spec));
        } else if !has_backoff {
            has_backoff = true;
            out.push_str("  /** How long the call waits before a repeat. Default: that of each of its options. */\n");
            out.push_str("  backoff?: BackoffConfig;\n");
        }
    }
}

fn comment(kind: Kind, spec: &OptionSpec, default: f64) -> String {
    let Row { meaning, unit, beside } = row(kind, spec.name);
    let mut lines = String::new();
    for line in [sentence(&meaning), String::new(), format!("{}{beside}.", range(kind, spec, &unit))] {
        let _ = writeln!(lines, "   * {line}");
    }
    let _ = writeln!(lines, "   * @defaultValue {}", written(kind, spec, default));
    lines.replace(" \n", "\n")
}

/// What the policy's page says of an option.
pub(crate) struct Row {
    pub meaning: String,
    pub unit: String,
    /// What another option demands of it.
    pub beside: String,
}

pub(crate) fn row(kind: Kind, option: &str) -> Row {
    let start = format!("| `{option}` | ");
    let text = page(kind);
    let row = text.lines().find_map(|line| line.strip_prefix(&start));
    let cells: Vec<&str> = row.map_or_else(Vec::new, |row| row.split(" | ").collect());
    let [meaning, unit, range, ..] = cells[..] else { panic!("no page says what {}.{option} is", kind.word()) };
    let beside = range.split_once("; ").map_or(String::new(), |(_, beside)| format!("; {beside}"));
    Row { meaning: meaning.replace("Off: ", "`false`: "), unit: unit.to_owned(), beside }
}

/// A capital at its beginning and a dot at its end.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

pub(crate) fn range(kind: Kind, spec: &OptionSpec, unit: &str) -> String {
    let OptionSpec { min, max, .. } = spec;
    let from = match spec.kind {
        OptionKind::Duration => "Milliseconds from",
        OptionKind::Count => "A whole number from",
        OptionKind::Ratio if unit == "tokens" => "Tokens from",
        OptionKind::Ratio if unit == "factor" => "A factor from",
        OptionKind::Ratio => "A share from",
        OptionKind::Flag if is_budget(kind, spec) => return String::from(BUDGETS),
        OptionKind::Flag => return String::from("`true` or `false`"),
        OptionKind::Word(_) => return format!("One of {}", value(kind, spec).replace(" | ", ", ")),
    };
    let strings = if spec.kind == OptionKind::Duration { ", or a string with a unit" } else { "" };
    let off = if can_be_off(kind, spec) { ", or `false`" } else { "" };
    format!("{from} {min} to {max}{strings}{off}")
}

pub(crate) fn written(kind: Kind, spec: &OptionSpec, default: f64) -> String {
    match spec.kind {
        _ if default.is_nan() => String::from("false"),
        OptionKind::Flag if is_budget(kind, spec) => String::from("a private budget with its own defaults"),
        OptionKind::Flag => (default != 0.0).to_string(),
        OptionKind::Word(words) => format!("{:?}", words[default as usize]),
        _ => default.to_string(),
    }
}

fn value(kind: Kind, spec: &OptionSpec) -> String {
    let value = match spec.kind {
        OptionKind::Duration => String::from("Duration"),
        OptionKind::Count | OptionKind::Ratio => String::from("number"),
        OptionKind::Flag if is_budget(kind, spec) => String::from("Shared | BudgetConfig | false"),
        OptionKind::Flag => String::from("boolean"),
        OptionKind::Word(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" | "),
    };
    if can_be_off(kind, spec) { value + " | false" } else { value }
}

/// In TypeScript `false` also turns off a policy that has no other option.
pub(crate) fn can_be_off(kind: Kind, spec: &OptionSpec) -> bool {
    spec.can_be_off || kind.options().len() == 1
}

/// What crosses as a flag, and is an object for users.
pub(crate) fn is_budget(kind: Kind, spec: &OptionSpec) -> bool {
    kind == Kind::Retry && spec.name == "budget"
}

const BUDGETS: &str = "A budget to share, the settings of a private one, or `false` for no limit";

/// The policy's page, which bears the name of its module.
fn page(kind: Kind) -> String {
    let registry = read("src/registry.rs");
    let line = registry.lines().map(str::trim).find(|line| line.starts_with(&format!("{kind:?} = ")));
    let type_of = line.and_then(|line| line.split_once(": ")).map(|(_, type_of)| type_of.trim_start_matches("Part<"));
    let module = type_of.and_then(|type_of| type_of.split("::").next()).expect("a line for each policy");
    read(&format!("docs/policies/{module}.md"))
}

const HEADER: &str = r#"// Written from the engine's own tables and the pages of the policies by `npm run generate`; a test holds it to them.

/** Milliseconds, or a number with a unit: `"250ms"`, `"10s"`, `"2m"`, `"1h"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h"}`;
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: &str = include_str!("../../src/generated/config.ts");

    #[test]
    fn the_committed_configuration_is_the_engines_and_the_pages() {
        assert!(COMMITTED == typescript(), "run `npm run generate` and commit js/src/generated/config.ts");
    }

    /// What an editor shows of each option, by the interface's line and the option's.
    fn comment_before(text: &str, from: &str, option: &str) -> String {
        let (_, interface) = text.split_once(from).unwrap_or_else(|| panic!("no {from}"));
        let (interface, _) = interface.split_once("\n}").unwrap();
        let (before, _) = interface.split_once(&format!("\n  {option}?: ")).unwrap_or_else(|| panic!("no {option}"));
        let (before, end) = before.rsplit_once("*/").unwrap_or_else(|| panic!("{option} has no comment"));
        assert_eq!(end, "", "{option} has no comment");
        before.rsplit_once("/**").unwrap().1.to_owned()
    }

    #[test]
    fn every_option_of_every_policy_says_its_meaning_its_range_and_its_default() {
        let all = interfaces();
        for kind in Kind::ALL {
            for (position, spec) in kind.options().iter().enumerate() {
                let dotted = spec.name.contains('.');
                let holds = |interface: &&Interface| {
                    interface.parts.iter().any(|(its, prefix)| its == kind && dotted != prefix.is_empty())
                };
                let of = all.iter().find(holds);
                let Interface { name, .. } =
                    of.unwrap_or_else(|| panic!("no interface has {}.{}", kind.word(), spec.name));
                let option = spec.name.rsplit('.').next().unwrap();
                let comment = comment_before(COMMITTED, &format!("export interface {name} {{"), option);
                let [meaning, _, range, default] = *comment.trim().lines().collect::<Vec<_>>() else {
                    panic!("{}.{option}: four lines: {comment}", kind.word())
                };
                let at = kind.default_of(position);
                assert!(meaning.len() > "* Ten letters".len(), "{option}: {meaning}");
                if matches!(spec.kind, OptionKind::Duration | OptionKind::Count | OptionKind::Ratio) {
                    assert!(range.contains(&format!("from {} to {}", spec.min, spec.max)), "{option}: {range}");
                    let number = if at.is_nan() { String::from("false") } else { at.to_string() };
                    assert!(default.ends_with(&format!("@defaultValue {number}")), "{option}: {default}");
                }
            }
        }
    }

    #[test]
    fn every_policy_of_a_stack_has_a_comment() {
        let types = include_str!("../../src/types.ts");
        for policy in ["name", "timeout", "retry", "hedge"] {
            assert!(!comment_before(types, "export interface Config ", policy).is_empty());
        }
    }
}
