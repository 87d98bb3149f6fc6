//! The pages of the policies, and the one table of options that each has.

use std::fs;

use forbear::config::{OptionKind, OptionSpec};
use forbear::policy::Kind;

use super::source::{root, sources};

/// One row of a page's table of options.
#[derive(Debug)]
pub struct Row {
    pub option: String,
    pub about: String,
    pub unit: String,
    pub range: String,
    pub default: String,
    pub source: String,
    /// The whole row.
    pub text: String,
}

/// The page's name, without its ending: that of the module that declares the policy's options.
pub fn page(kind: Kind) -> String {
    let declaration = format!("pub struct Config for {kind:?} {{");
    let sources = sources();
    let found = sources.iter().find(|source| source.code.contains(&declaration));
    let source = found.unwrap_or_else(|| panic!("no file below src/policy declares the options of {}", kind.word()));
    source.module.split("::").nth(1).expect("policies are modules of policy").to_owned()
}

/// The page's text; empty where there is no page.
pub fn text(page: &str) -> String {
    fs::read_to_string(root().join(format!("docs/policies/{page}.md"))).unwrap_or_default()
}

/// The rows of the page's table of options.
pub fn rows(page: &str) -> Vec<Row> {
    let text = text(page);
    let lines = text.lines().skip_while(|line| !line.starts_with("| option |")).skip(2);
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [option, about, unit, range, default, source] = cells[..] else {
                panic!("docs/policies/{page}.md: a row needs six cells: {line}")
            };
            let option = option.trim_matches('`');
            let [option, about, unit, range, default, source] =
                [option, about, unit, range, default, source].map(str::to_owned);
            Row { option, about, unit, range, default, source, text: line.to_owned() }
        })
        .collect()
}

/// How a page writes the units that an option of this kind may have.
pub fn units(kind: OptionKind) -> &'static [&'static str] {
    match kind {
        OptionKind::Duration => &["ms"],
        OptionKind::Count => &["count"],
        OptionKind::Ratio => &["share", "factor", "tokens"],
        OptionKind::Flag => &["flag"],
        OptionKind::Word(_) => &["word"],
    }
}

/// How a page writes an option's range.
pub fn range(spec: &OptionSpec) -> String {
    match spec.kind {
        OptionKind::Flag => "no, yes".to_owned(),
        OptionKind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        _ if spec.can_be_off => format!("{} to {}, or off", spec.min, spec.max),
        _ => format!("{} to {}", spec.min, spec.max),
    }
}

/// How a page writes an option's default.
pub fn default(kind: OptionKind, number: f64) -> String {
    match kind {
        _ if number.is_nan() => "off".to_owned(),
        OptionKind::Flag => if number == 0.0 { "no" } else { "yes" }.to_owned(),
        OptionKind::Word(words) => format!("`{}`", words[number as usize]),
        _ => number.to_string(),
    }
}
