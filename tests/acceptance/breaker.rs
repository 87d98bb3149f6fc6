//! Circuits: states and windows, and what counts.

mod evidence;
mod states;
mod windows;
