//! Replays golden vectors and says where an answer differs.

use serde_json::Value;

use super::world::World;

/// What differs between the recorded answers and the engine's, one line each.
pub fn differences(name: &str, text: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(document["format"], 1, "{name}: a format that this test does not read");
    let mut world = World::new(&document);
    let verbs = document["verbs"].as_array().unwrap_or_else(|| panic!("{name}: no verbs"));
    let mut differences = Vec::new();
    for (position, verb) in verbs.iter().enumerate() {
        let (expected, given) = (&verb["expect"], world.apply(verb));
        if *expected != given {
            differences.push(format!("{name}, verb {position}: {verb}\n  answered {given}"));
        }
    }
    differences
}
