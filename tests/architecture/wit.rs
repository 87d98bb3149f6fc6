//! wit/types.wit tells every option of every policy, with its unit, range and default: written from the engine's own tables
//! and the pages of the policies.

use std::fmt::Write;
use std::fs;

use forbear::config::{OptionKind, OptionSpec};
use forbear::event::VerdictWord;
use forbear::policy::Kind;
use forbear::policy::circuit_breaker::StateWord;
use forbear::{RefusalReason, StopReason};

use super::docs::{self, Row};
use super::source::{hold, root};

#[test]
fn every_option_is_told_in_the_wit_package() {
    hold("wit/types.wit", &types());
}

#[test]
fn the_words_of_the_wit_package_are_the_engines() {
    let engine = fs::read_to_string(root().join("wit/engine.wit")).unwrap();
    for (declaration, words) in [
        ("variant stop-reason", StopReason::WORDS),
        ("variant refusal-reason", RefusalReason::WORDS),
        ("enum verdict", VerdictWord::WORDS),
        ("variant circuit-state", StateWord::WORDS),
    ] {
        assert_eq!(cases(&engine, declaration), words, "{declaration}");
    }
}

#[test]
fn every_item_of_the_wit_package_says_since_when_it_is_there_and_what_it_is() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join("wit")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "wit") {
            let text = fs::read_to_string(&path).unwrap();
            wrong.extend(bare_items(&text).into_iter().map(|line| format!("{}: {line}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "without documentation or @since:\n{}", wrong.join("\n"));
}

/// The cases of an enum or a variant, without `other`.
fn cases(text: &str, declaration: &str) -> Vec<String> {
    let (_, body) = text.split_once(&format!("  {declaration} {{\n")).unwrap();
    let lines = body.lines().map(str::trim).take_while(|line| *line != "}");
    let cases = lines.filter(|line| !line.starts_with("///")).map(|line| line.trim_end_matches(',').to_owned());
    cases.filter(|case| !case.starts_with("other")).collect()
}

/// Lines that declare something and lack what belongs above them.
fn bare_items(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let is_item = |line: &str| {
        let starts = ["interface ", "world ", "resource ", "record ", "variant ", "enum ", "type ", "constructor("];
        starts.iter().any(|start| line.starts_with(start)) || line.contains("func(")
    };
    let is_part = |line: &str| {
        !["", "}", "};"].contains(&line)
            && !["///", "@", "package", "use ", "export "].iter().any(|start| line.starts_with(start))
    };
    // The names that a `use` takes over more than one line.
    let mut in_use = false;
    let mut bare = Vec::new();
    for (above, line) in lines.iter().zip(lines.iter().skip(1)) {
        let (above, trimmed) = (above.trim(), line.trim());
        in_use = (in_use || trimmed.starts_with("use ")) && !above.ends_with("};");
        let documented =
            if is_item(trimmed) { above.starts_with("@since(version = ") } else { above.starts_with("///") };
        if is_part(trimmed) && !in_use && !documented {
            bare.push(*line);
        }
    }
    bare
}

fn types() -> String {
    let mut policies = String::new();
    for kind in Kind::ALL {
        policies.push_str("  ///\n");
        about(&mut policies, "", &format!("`{}`: {}", kind.word(), kind_docs(*kind)));
        policies.push_str("  ///\n");
        for (spec, row) in kind.options().iter().zip(docs::rows(&docs::page(*kind))) {
            about(&mut policies, "  ", &format!("- `{}`: {}", spec.name, option_docs(*kind, spec, &row)));
        }
    }
    TYPES.replace("{policies}", &policies)
}

/// What the registry says of a policy.
fn kind_docs(kind: Kind) -> String {
    let registry = fs::read_to_string(root().join("src/registry.rs")).unwrap();
    let declaration = format!("{kind:?} = \"{}\"", kind.word());
    let lines: Vec<&str> = registry.lines().collect();
    let place = lines.iter().position(|line| line.trim().starts_with(&declaration)).unwrap();
    lines[place - 1].trim().trim_start_matches("/// ").to_owned()
}

/// The option's meaning, then what may be given and what it is otherwise.
fn option_docs(kind: Kind, spec: &OptionSpec, row: &Row) -> String {
    let default = kind.default_of(kind.options().iter().position(|other| other.name == spec.name).unwrap());
    let amount = |number: f64| match spec.kind {
        OptionKind::Duration => span(number),
        _ => number.to_string(),
    };
    let usual = match spec.kind {
        _ if default.is_nan() => "off".to_owned(),
        OptionKind::Flag => (default != 0.0).to_string(),
        OptionKind::Word(words) => words[default as usize].to_owned(),
        _ => amount(default),
    };
    let (case, range) = match spec.kind {
        OptionKind::Duration => ("duration", format!("{} to {}", amount(spec.min), amount(spec.max))),
        OptionKind::Count => ("count", format!("{} to {}", amount(spec.min), amount(spec.max))),
        OptionKind::Ratio => ("ratio", format!("{} to {}", amount(spec.min), amount(spec.max))),
        OptionKind::Flag => ("flag", String::new()),
        OptionKind::Word(words) => ("word", words.join(", ")),
    };
    let off = if spec.can_be_off { " or off" } else { "" };
    let demand = row.range.split_once("; ").map(|(_, demand)| demand.replace('`', ""));
    let facts = [format!("{case} {range}{off}").trim_end().to_owned()].into_iter().chain(demand);
    let facts = facts.chain([format!("usually {usual}")]).collect::<Vec<_>>().join("; ");
    format!("{}. ({facts})", row.about.trim_end_matches('.'))
}

/// Documentation of a case, wrapped; what follows its first line is indented.
fn about(out: &mut String, indent: &str, text: &str) {
    let mut line = String::from("  ///");
    for word in text.split(' ') {
        if line.len() + word.len() >= WIDTH {
            let _ = writeln!(out, "{line}");
            line = format!("  ///{indent}");
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(out, "{line}");
}

/// Milliseconds in the largest unit that leaves a whole number.
fn span(millis: f64) -> String {
    let units = [(3_600_000.0, "h"), (60_000.0, "min"), (1_000.0, "s"), (1.0, "ms")];
    let fits = |(length, _): &(f64, &str)| millis >= *length && millis % length == 0.0;
    let (length, name) = units.into_iter().find(fits).unwrap_or((1.0, "ms"));
    if millis == 0.0 { "0".to_owned() } else { format!("{} {name}", millis / length) }
}

const WIDTH: usize = 128;

const TYPES: &str = "package forbear:resilience@0.1.0;

/// What configurations are made of.
///
/// Written from the engine's own tables; a test holds it to them.
@since(version = 0.1.0)
interface types {
  /// A span of time, in nanoseconds.
  @since(version = 0.1.0)
  type duration = u64;

  /// A policy, by its name: here all of them, in the order in which they stand, outermost first, each with the names of its
  /// options. docs/policies says what each promises, and where its defaults come from.
{policies}  @since(version = 0.1.0)
  type policy = string;

  /// The value of an option, or a fact of an event.
  @since(version = 0.1.0)
  variant value {
    /// The option is off; the fact is not known.
    none,
    /// A span, in nanoseconds.
    duration(duration),
    /// A whole number.
    count(u32),
    /// A share of a whole, a factor, or tokens; exact to a millionth.
    ratio(f64),
    /// No or yes.
    flag(bool),
    /// One of the option's words.
    word(string),
  }

  /// A policy that is on.
  @since(version = 0.1.0)
  record policy-settings {
    /// Which.
    policy: policy,
    /// Those of its options that are not as usual. Of two for one option the later one holds.
    options: list<setting>,
  }

  /// One option of one policy.
  @since(version = 0.1.0)
  record setting {
    /// The option's name: `attempts`, `backoff.base`.
    name: string,
    /// Its value, of the option's kind.
    value: value,
  }
}
";
