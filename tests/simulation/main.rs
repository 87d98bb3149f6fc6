//! Simulations: whole systems on virtual time, with the real engine in the middle.
//!
//! `published` finds the published results of the field again; `day` is a day of traffic through every policy at once.
//! `npm run simulate` prints both (`simulate.rs`).
#![cfg(not(target_family = "wasm"))]

mod chance;
mod day;
mod host;
mod published;
mod rows;
