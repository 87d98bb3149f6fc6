//! What components of forbear have in common. It exports nothing to their hosts and knows no interface of theirs.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

#[cfg(target_family = "wasm")]
mod artifact;
pub mod learned;
pub mod origin;
pub mod settings;
pub mod single;
pub mod wasi_http;
