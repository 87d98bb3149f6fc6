//! Forwarders for JavaScript hosts.
use wasm_bindgen::prelude::*;

/// placeholder
#[wasm_bindgen]
pub fn version() -> u32 { 1 }
