//! The house rules that a compiler does not know: who may use whom, what a policy brings along, what is never written.

use source::{Source, sources};

mod defaults;
mod docs;
mod imports;
mod others;
mod policies;
mod source;

/// What must not be written outside tests: no panic is reachable.
const NEVER: &[&str] =
    &["todo!", "unimplemented!", "unreachable!", "panic!", ".unwrap()", ".expect(", "assert!(", "unsafe ", "std::"];

/// A file that is longer has two subjects.
const MOST_LINES: usize = 500;

#[test]
fn nothing_that_could_panic_is_written_outside_tests() {
    let mut found = Vec::new();
    for Source { path, code, .. } in sources() {
        for (number, line) in code.lines().enumerate() {
            // An assertion about constants fails the build, not the program.
            if line.contains("const { assert!(") {
                continue;
            }
            let written = NEVER.iter().filter(|word| line.contains(**word));
            found.extend(written.map(|word| format!("{path}:{}: {word}", number + 1)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
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
