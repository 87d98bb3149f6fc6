//! The share that a throttler refuses.

mod rate;
mod traffic;
