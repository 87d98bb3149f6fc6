//! Instruments: they know time, not policies.

pub mod buckets;
pub mod quantile;
pub mod queue;
pub mod slots;
pub mod window;
