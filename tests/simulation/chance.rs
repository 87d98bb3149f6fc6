//! Chance, from a seed: the distributions that models of upstreams are made of.
//!
//! They use logarithms and powers, whose last bits differ between machines. Nothing here decides for the engine, and no
//! tolerance is near those bits.
#![allow(clippy::disallowed_methods)]

use forbear::{Duration, Rng};

pub struct Chance(Rng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Evenly between 0 and 1, and neither.
    pub fn share(&mut self) -> f64 {
        ((self.0.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.share().ln()
    }

    /// Source: Box, Muller, "A Note on the Generation of Random Normal Deviates",
    /// <https://doi.org/10.1214/aoms/1177706645>.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.share().ln()).sqrt();
        mean + deviation * radius * (core::f64::consts::TAU * self.share()).cos()
    }
}

/// Milliseconds as a span.
pub fn millis(millis: f64) -> Duration {
    Duration::from_nanos((millis * 1e6) as u64)
}

/// `base` to this power.
pub fn power(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}
