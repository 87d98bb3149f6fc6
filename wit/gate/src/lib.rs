//! forbear between a component of WASI 0.2 and its HTTP client: what `wit/world.wit` says.
//!
//! An application's `wasi:http/outgoing-handler` is satisfied by this component, whose own goes on to the host. What the
//! policies decide is the engine's; `call.rs` does it. One instance has one engine, sends one request at a time, and its
//! state lives as long as the instance.

#![cfg_attr(target_family = "wasm", no_std)]
// What is exported there has names that no native linker takes.
#![cfg_attr(not(target_family = "wasm"), allow(dead_code))]

extern crate alloc;

use bindings::{ErrorCode, FutureIncomingResponse, OutgoingRequest, RequestOptions};

mod bindings;
mod call;
mod outcome;
mod site;

/// What the world exports.
struct Gate;

impl bindings::exports::wasi::http::outgoing_handler::Guest for Gate {
    fn handle(request: OutgoingRequest, options: Option<RequestOptions>) -> Result<FutureIncomingResponse, ErrorCode> {
        call::send(request, options.unwrap_or_else(RequestOptions::new))
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
bindings::export!(Gate with_types_in bindings);
