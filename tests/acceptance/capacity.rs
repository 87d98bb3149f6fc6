//! Slots and permits: who gets them, and that they are given back.

mod contention;
mod given_back;
mod rate_limiter;
