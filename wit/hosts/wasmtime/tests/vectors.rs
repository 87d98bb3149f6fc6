//! The golden vectors (tests/vectors/README.md), replayed through the component in wasmtime: every answer is the one recorded
//! on the native engine.

use support::{replay, vectors};

mod support {
    #[path = "../../../../../tests/support/replay.rs"]
    pub mod replay;
    #[path = "../../../../../tests/support/vectors.rs"]
    pub mod vectors;
    pub mod world;
}

#[test]
fn the_component_decides_as_recorded() {
    let differences: Vec<String> =
        vectors::ALL.iter().flat_map(|(name, text)| replay::differences(name, text)).collect();
    assert!(differences.is_empty(), "{} answers differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (name, text) = vectors::ALL[0];
    let wrong = text.replacen("\"delayMs\": 500", "\"delayMs\": 501", 1);
    assert_eq!(replay::differences(name, &wrong).len(), 1);
}
