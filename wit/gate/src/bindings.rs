//! What wit-bindgen makes of `wit/world.wit`, and the one function the world exports.

#![allow(missing_docs, unsafe_code)]

wit_bindgen::generate!({ world: "gate", generate_all });

pub use wasi::http::types::*;

/// Where requests go.
pub use wasi::http::outgoing_handler::handle as send_on;

struct Gate;

impl exports::wasi::http::outgoing_handler::Guest for Gate {
    fn handle(request: OutgoingRequest, options: Option<RequestOptions>) -> Result<FutureIncomingResponse, ErrorCode> {
        crate::call::send(request, options.unwrap_or_else(RequestOptions::new))
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Gate);
