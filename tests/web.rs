//! The golden vectors in a headless browser: the engine compiled to wasm decides there as it does anywhere.

#![cfg(target_family = "wasm")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

mod support;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn a_browser_decides_what_the_vectors_say() {
    for (name, text) in support::vectors::ALL {
        let differences = support::replay::differences(name, text);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}
