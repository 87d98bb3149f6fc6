//! forbear between a component and its HTTP client: what `wit/world.wit` says.
//!
//! An application's `wasi:http/client` is satisfied by this component, whose own goes on to the host. What the policies
//! decide is the engine's; `call.rs` does it. One instance has one engine, and its state lives as long as the instance,
//! or, with the feature `state`, as long as a store keeps it.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

use bindings::{ErrorCode, Request, Response};
use forbear_wit_shared::settings;

mod bindings;
mod call;
mod clock;
mod facts;
mod held;
mod outcome;
#[cfg(any(feature = "state", test))]
mod persistence;
mod replay;
mod site;
#[cfg(feature = "state")]
mod state;
#[cfg(any(feature = "state", test))]
mod stored;
mod upload;

/// What the world exports.
struct Middleware;

#[cfg(not(feature = "handler"))]
impl bindings::exports::wasi::http::client::Guest for Middleware {
    async fn send(request: Request) -> Result<Response, ErrorCode> {
        call::send(request).await
    }
}

#[cfg(feature = "handler")]
impl bindings::exports::wasi::http::handler::Guest for Middleware {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        call::send(request).await
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
bindings::export!(Middleware with_types_in bindings);
