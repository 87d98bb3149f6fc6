//! The page of others' bugs, whose rows name tests.

use std::fs;

use super::source::root;

/// A symptom that needs more words is two.
const MOST_WORDS: usize = 12;

#[test]
fn every_bug_of_others_is_shown_by_a_test_that_is_there() {
    let page = fs::read_to_string(root().join("docs/others-bugs.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && *line != HEAD).collect();
    let wrong: Vec<String> = rows.iter().filter_map(|row| Some(format!("{}\n  {row}", fault(row)?))).collect();
    assert!(wrong.is_empty(), "docs/others-bugs.md:\n{}", wrong.join("\n"));
    assert!(rows.len() > 100, "only {} rows were understood", rows.len());
}

/// What is wrong with a row.
fn fault(row: &str) -> Option<String> {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [_, symptom, ours] = cells[..] else { return Some("a row has three cells".to_owned()) };
    if symptom.split_whitespace().count() > MOST_WORDS {
        return Some(format!("a symptom has at most {MOST_WORDS} words"));
    }
    if ours.strip_prefix("does not apply: ").is_some_and(|why| !why.is_empty()) {
        return None;
    }
    let names: Vec<(&str, &str)> =
        ours.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::")).collect();
    if names.is_empty() {
        return Some("it names no test, nor why it does not apply".to_owned());
    }
    names
        .into_iter()
        .find(|(file, name)| !has_test(file, name))
        .map(|(file, name)| format!("{file} has no test {name}"))
}

fn has_test(file: &str, name: &str) -> bool {
    let text = fs::read_to_string(root().join(file)).unwrap_or_default();
    if file.ends_with(".rs") {
        return text.contains(&format!("#[test]\nfn {name}() {{"))
            || text.contains(&format!("#[test]\n    fn {name}() {{"));
    }
    ['"', '`'].iter().any(|quote| text.contains(&format!("test({quote}{name}{quote}, ")))
}

const HEAD: &str = "| whose | symptom | ours |";
