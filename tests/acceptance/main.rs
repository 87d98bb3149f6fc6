//! What others ask of policies like these: their acceptance lists, line by line, on virtual time and the real engine.
//!
//! A line is a test that is named after it; a file is one source.
#![cfg(not(target_family = "wasm"))]

mod host;
mod mettle;
mod peers;
mod refusals;
mod resilix;
mod retry_budget;
mod stoic;
mod tower;
