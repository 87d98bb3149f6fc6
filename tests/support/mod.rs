//! What replays the golden vectors, here and in browsers.

#[cfg(not(target_family = "wasm"))]
pub mod random;
#[cfg(not(target_family = "wasm"))]
pub mod record;
pub mod replay;
pub mod vectors;
pub mod world;
