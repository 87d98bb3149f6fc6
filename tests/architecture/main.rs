//! The house rules that a compiler does not know: who may use whom, what a policy brings along, what is never written.

use std::fs;

use source::{Source, is_within, root, sources};

mod defaults;
mod docs;
mod imports;
mod others;
mod policies;
mod source;
mod wit;

/// What must not be written outside tests: no panic is reachable.
const NEVER: &[&str] =
    &["todo!", "unimplemented!", "unreachable!", "panic!", ".unwrap()", ".expect(", "assert!(", "unsafe ", STD];

/// The engine has no standard library; the host for Rust Workers, which is a feature, has.
const STD: &str = "std::";
const HOST: &str = "worker";

/// A file that is longer has two subjects.
const MOST_LINES: usize = 500;

#[test]
fn nothing_that_could_panic_is_written_outside_tests() {
    let mut found = Vec::new();
    for Source { path, module, code, .. } in sources() {
        for (number, line) in code.lines().enumerate() {
            // An assertion about constants fails the build, not the program.
            if line.contains("const { assert!(") {
                continue;
            }
            let may_have_std = is_within(&module, HOST);
            let written = NEVER.iter().filter(|word| line.contains(**word) && !(may_have_std && **word == STD));
            found.extend(written.map(|word| format!("{path}:{}: {word}", number + 1)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_engine_has_no_dependencies_but_those_of_a_feature() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("a table of dependencies");
    let (dependencies, _) = rest.split_once("\n[").expect("other tables");
    let needed: Vec<&str> =
        dependencies.lines().filter(|line| line.contains('=') && !line.contains("optional = true")).collect();
    assert!(needed.is_empty(), "{needed:?}");
    assert!(manifest.contains("\ndefault = []\n"));
}

#[test]
fn no_file_has_two_subjects() {
    let long: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.text.lines().count() > MOST_LINES)
        .map(|source| format!("{} has {} lines", source.path, source.text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}
