//! Milliseconds as JavaScript has them, and what the engine makes of them.

use forbear::{Duration, HostTime};

/// Turns the host's milliseconds into nanoseconds without losing any.
///
/// Milliseconds since 1970 times a million do not fit a double's 53 bits. So they are counted from the first reading, and
/// whole ones apart from the rest: the first may be the 1970 of a Worker's module scope.
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
        // Within what fits, so that nothing below need be checked: on wasm32 a product that may not fit is a call.
        let span = (millis - *self.first.get_or_insert(millis)).clamp(-FARTHEST, FARTHEST);
        let whole = span as i64;
        let rest = nearest((span - whole as f64) * NANOS_PER_MILLI);
        let nanos = FIRST + whole * NANOS_PER_MILLI as i64 + rest;
        HostTime::from_nanos(nanos.max(0) as u64)
    }
}

/// A span in milliseconds; none when negative or not a number.
pub fn span(millis: f64) -> Option<Duration> {
    (millis >= 0.0).then(|| Duration::from_nanos(nearest(millis * NANOS_PER_MILLI) as u64))
}

/// A microsecond is no double: cut off instead of rounded, every other one would lack a nanosecond.
fn nearest(nanos: f64) -> i64 {
    (nanos + if nanos < 0.0 { -0.5 } else { 0.5 }) as i64
}

pub const NANOS_PER_MILLI: f64 = 1e6;
/// What the first reading stands for: far enough from zero for a clock that is set back by months.
const FIRST: i64 = 1 << 53;
/// In milliseconds: about as much as 63 bits of nanoseconds hold above the first reading.
const FARTHEST: f64 = 9e12;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(first: f64, from: f64, to: f64) -> u64 {
        let mut time = HostMillis::new();
        let [_, from, to] = [first, from, to].map(|millis| time.read(millis));
        to.since(from).as_nanos()
    }

    #[test]
    fn a_millisecond_is_one_however_long_ago_the_first_reading_was() {
        for first in [0.0, 1_700_000_000_000.0, 1_796_000_000_123.0] {
            for step in 0..1_000 {
                let now = 1_796_000_000_123.0 + f64::from(step);
                assert_eq!(after(first, now, now + 1.0), 1_000_000, "{first} {now}");
            }
        }
        assert_eq!(after(5.0, 5.0, 5.25), 250_000);
        assert_eq!(after(5.0, 5.25, 7.0), 1_750_000);
    }

    #[test]
    fn a_clock_with_fractions_loses_no_nanosecond() {
        for first in [0.0, 16.125, 86_400_000.5] {
            let mut time = HostMillis::new();
            let begin = time.read(first);
            for micros in 0..100_000_u32 {
                let now = time.read(first + f64::from(micros) / 1_000.0);
                assert_eq!(now.since(begin).as_nanos(), u64::from(micros) * 1_000, "{first} {micros}");
                assert_eq!(
                    begin.since(time.read(first - f64::from(micros) / 1_000.0)).as_nanos(),
                    u64::from(micros) * 1_000
                );
            }
        }
        assert_eq!(span(1.001), Some(Duration::from_nanos(1_001_000)));
        assert_eq!(span(4.35), Some(Duration::from_nanos(4_350_000)));
    }

    #[test]
    fn clocks_that_are_set_back_or_say_what_no_clock_can_are_survived() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, -1.0, f64::MIN_POSITIVE] {
            for then in [0.0, 1_796_000_000_123.0, odd] {
                let mut time = HostMillis::new();
                let _ = time.read(then);
                assert!(time.read(odd).as_nanos() <= i64::MAX as u64);
            }
        }
        let mut time = HostMillis::new();
        let (first, earlier) = (time.read(1_796_000_000_123.0), time.read(1_796_000_000_122.5));
        assert_eq!(first.since(earlier).as_nanos(), 500_000);
    }
}
