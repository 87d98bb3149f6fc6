//! forbear between a component and its HTTP client: what `wit/world.wit` says.
//!
//! An application's `wasi:http/client` is satisfied by this component, whose own goes on to the host. What the policies
//! decide is the engine's; `call.rs` does it. One instance has one engine, and its state lives as long as the instance,
//! or, with the feature `state`, as long as a store keeps it.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

use forbear_wit_shared::{names, settings};

mod bindings;
mod call;
mod clock;
mod facts;
mod held;
#[cfg(any(feature = "state", test))]
mod keeper;
mod outcome;
#[cfg(any(feature = "state", test))]
mod parcel;
mod site;
#[cfg(feature = "state")]
mod state;
mod tape;
mod upload;
