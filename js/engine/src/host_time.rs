//! Milliseconds as JavaScript has them, and what the engine makes of them.

use forbear::{Duration, HostTime};

/// Turns the host's milliseconds into nanoseconds without losing any.
///
/// Milliseconds since 1970 times a million do not fit a double's 53 bits; counted from the first reading they do.
pub struct HostMillis {
    first: Option<f64>,
}

impl HostMillis {
    pub const fn new() -> Self {
        Self { first: None }
    }

    pub fn read(&mut self, millis: f64) -> HostTime {
        if !millis.is_finite() {
            return HostTime::from_nanos(FIRST as u64);
        }
        let first = *self.first.get_or_insert(millis);
        HostTime::from_nanos((FIRST + (millis - first) * NANOS_PER_MILLI) as u64)
    }
}

/// A span in milliseconds; none when negative or not a number.
pub fn span(millis: f64) -> Option<Duration> {
    (millis >= 0.0).then(|| Duration::from_nanos((millis * NANOS_PER_MILLI) as u64))
}

pub const NANOS_PER_MILLI: f64 = 1e6;
/// What the first reading stands for: far enough from zero for a clock that is set back by months.
const FIRST: f64 = (1u64 << 53) as f64;
