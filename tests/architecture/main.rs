//! The house rules that a compiler does not know: who may use whom, what a policy brings along, what is never written.

use std::fs;

use source::{Source, root, sources, sources_of};

mod defaults;
mod docs;
mod imports;
mod others;
mod policies;
mod source;
mod wit;

/// What must not be written outside tests: no panic is reachable.
const NEVER: &[&str] =
    &["todo!", "unimplemented!", "unreachable!", "panic!", ".unwrap()", ".expect(", "assert!(", "unsafe "];

/// The engine has no standard library.
const STD: &str = "std::";
/// The host for Rust Workers.
const WORKER: &str = "worker/src";

/// A file that is longer has two subjects.
const MOST_LINES: usize = 500;

#[test]
fn nothing_that_could_panic_is_written_outside_tests() {
    let found: Vec<String> = [sources(), sources_of(WORKER)]
        .concat()
        .iter()
        // An assertion about constants fails the build, not the program.
        .flat_map(|source| lines_with(source, NEVER, "const { assert!("))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_engine_has_no_standard_library() {
    let found: Vec<String> = sources().iter().flat_map(|source| lines_with(source, &[STD], "\n")).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_engine_has_no_dependencies_and_no_features() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let tables: Vec<&str> = manifest.lines().filter(|line| line.starts_with('[')).collect();
    let brings = |table: &&&str| table.contains("dependencies") && !table.contains("dev-dependencies");
    assert_eq!(tables.iter().find(brings), None);
    assert!(!tables.contains(&"[features]"));
}

#[test]
fn no_file_has_two_subjects() {
    let long: Vec<String> = [sources(), sources_of(WORKER)]
        .concat()
        .into_iter()
        .filter(|source| source.text.lines().count() > MOST_LINES)
        .map(|source| format!("{} has {} lines", source.path, source.text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The lines of the code that have one of these words, but not the one that excuses them.
fn lines_with(Source { path, code, .. }: &Source, words: &[&str], excuse: &str) -> Vec<String> {
    let lines = code.lines().zip(1..).filter(|(line, _)| !line.contains(excuse));
    let found = lines
        .flat_map(|(line, number)| words.iter().filter(|word| line.contains(**word)).map(move |word| (number, word)));
    found.map(|(number, word)| format!("{path}:{number}: {word}")).collect()
}
