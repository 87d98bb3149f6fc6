//! What wit-bindgen makes of `wit/world.wit`, and the one function the world exports.

#![allow(missing_docs, unsafe_code)]

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

struct Middleware;

#[cfg(not(feature = "handler"))]
impl exports::wasi::http::client::Guest for Middleware {
    async fn send(request: Request) -> Result<Response, ErrorCode> {
        crate::call::send(request).await
    }
}

#[cfg(feature = "handler")]
impl exports::wasi::http::handler::Guest for Middleware {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        crate::call::send(request).await
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Middleware);
