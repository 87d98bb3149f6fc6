//! Instruments: they know time, not policies.

pub mod buckets;
pub mod window;
