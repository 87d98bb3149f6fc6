//! Simulations: whole systems on virtual time, with the real engine in the middle.
//!
//! `published` finds the published results of the field again; `day` is a day of traffic through every policy at once,
//! `limits` are those that the concurrency limiter finds. `npm run simulate` prints all (`simulate.rs`).
#![cfg(not(target_family = "wasm"))]

mod chance;
mod day;
mod host;
mod limits;
mod published;
mod queues;
mod rows;
