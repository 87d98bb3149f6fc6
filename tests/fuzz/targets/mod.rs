//! What is fuzzed: each target is a function of bytes that panics where the engine breaks a promise.
//!
//! Nothing here depends on who brings the bytes: `cargo test --test fuzz` does, from seeds, and the targets of
//! cargo-fuzz in `fuzz/` include this folder.
#![allow(dead_code)]

pub mod bytes;
pub mod configuration;
pub mod host;
pub mod retry_after;
pub mod snapshots;
pub mod stacks;
pub mod verbs;

pub use bytes::Bytes;

/// What bytes are given to.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const ALL: [(&str, Target); 4] = [
    ("verbs", verbs::run),
    ("retry_after", retry_after::run),
    ("configuration", configuration::run),
    ("snapshots", snapshots::run),
];
