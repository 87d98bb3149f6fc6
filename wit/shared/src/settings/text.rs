//! A file of settings: one `name = value` a line. `#` begins a comment at the start of a line or after a space.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Names, as a store has them, and values.
///
/// # Errors
/// Names the line that is neither a setting nor a comment, that sets what an earlier one has set, or whose name is one of the
/// JavaScript configuration's.
pub fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (line, number) in text.trim_start_matches(BYTE_ORDER_MARK).lines().zip(1..) {
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(format!("line {number}: `{line}` is not `name = value`"));
        };
        let name = name.trim();
        if let Some(ours) = name_here(name) {
            return Err(format!("line {number}: `{name}` is called {ours} here"));
        }
        let name = [super::PREFIX, name].concat();
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(format!("line {number}: `{line}` sets what an earlier line has set"));
        }
        pairs.push((name, value.trim().to_owned()));
    }
    Ok(pairs)
}

fn without_comment(line: &str) -> &str {
    let comment = line.match_indices('#').map(|(place, _)| place);
    let starts = |place: &usize| line[..*place].ends_with(|letter: char| letter.is_whitespace());
    comment.filter(|place| *place == 0 || starts(place)).min().map_or(line, |place| &line[..place])
}

/// What the JavaScript configuration calls otherwise.
fn name_here(name: &str) -> Option<String> {
    OTHERWISE.iter().find_map(|(there, here)| match name.strip_prefix(there)? {
        "" => Some(String::from(*here)),
        rest => there.ends_with('.').then(|| [*here, rest].concat()),
    })
}

const OTHERWISE: &[(&str, &str)] = &[
    ("timeout", "deadline.total or attemptTimeout.attempt"),
    ("timeout.total", "deadline.total"),
    ("timeout.attempt", "attemptTimeout.attempt"),
    ("retry.budget.", "budget."),
    ("retryBudget.", "budget."),
    ("circuitBreaker.", "breaker."),
];

/// What some editors begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';
