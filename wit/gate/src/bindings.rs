//! What wit-bindgen makes of `wit/world.wit`.

#![allow(missing_docs)]

wit_bindgen::generate!({ world: "gate", generate_all });

pub use wasi::http::types::*;

/// Where requests go.
pub use wasi::http::outgoing_handler::handle as send_on;
