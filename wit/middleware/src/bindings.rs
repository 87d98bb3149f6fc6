//! What wit-bindgen makes of `wit/world.wit`.

#![allow(missing_docs)]

#[cfg(not(any(feature = "handler", feature = "state")))]
wit_bindgen::generate!({ world: "forbear:middleware/client", path: ["..", "wit"], generate_all });
#[cfg(all(not(feature = "handler"), feature = "state"))]
wit_bindgen::generate!({ world: "forbear:middleware/client-with-state", path: ["..", "wit"], generate_all });
#[cfg(all(feature = "handler", not(feature = "state")))]
wit_bindgen::generate!({ world: "forbear:middleware/handler", path: ["..", "wit"], generate_all });
#[cfg(all(feature = "handler", feature = "state"))]
wit_bindgen::generate!({ world: "forbear:middleware/handler-with-state", path: ["..", "wit"], generate_all });

pub use wasi::http::types::*;

/// Where attempts go.
#[cfg(not(feature = "handler"))]
pub use wasi::http::client::send as send_on;
#[cfg(feature = "handler")]
pub use wasi::http::handler::handle as send_on;
