//! Exact shares, compared by cross-multiplication: the same answer on every host, and a rate of 1 can be reached.

use crate::time::Duration;

/// A share or a factor, kept in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// Nothing of the whole.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(MILLION as u32);

    /// So many millionths.
    #[must_use]
    pub const fn from_millionths(millionths: u32) -> Self {
        Self(millionths)
    }

    /// So many per cent.
    #[must_use]
    pub const fn from_percent(percent: u32) -> Self {
        Self(percent.saturating_mul(10_000))
    }

    /// In millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Whether `part` is at least this share of `whole`. Nothing is never a share of nothing.
    #[must_use]
    pub const fn reached_by(self, part: u32, whole: u32) -> bool {
        whole > 0 && part as u64 * MILLION >= self.0 as u64 * whole as u64
    }

    /// Whether `part` is at most this share of `whole`.
    #[must_use]
    pub const fn allows(self, part: u32, whole: u32) -> bool {
        part as u64 * MILLION <= self.0 as u64 * whole as u64
    }

    /// This share of a span, rounded down; saturates.
    #[must_use]
    pub fn of(self, span: Duration) -> Duration {
        let (whole, rest) = (span.as_nanos() / MILLION, span.as_nanos() % MILLION);
        let share = u64::from(self.0);
        Duration::from_nanos(whole.saturating_mul(share).saturating_add(rest * share / MILLION))
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_reached_exactly() {
        let half = Ratio::from_percent(50);
        assert!(half.reached_by(1, 2) && half.reached_by(10, 20) && !half.reached_by(9, 20));
        assert!(Ratio::ONE.reached_by(20, 20) && !Ratio::ONE.reached_by(19, 20));
        assert!(!Ratio::ZERO.reached_by(0, 0));
        assert!(Ratio::from_millionths(333_333).reached_by(u32::MAX / 3, u32::MAX));
    }

    #[test]
    fn a_share_allows_up_to_itself() {
        let tenth = Ratio::from_percent(10);
        assert!(tenth.allows(1, 10) && !tenth.allows(1, 9) && tenth.allows(0, 0) && !tenth.allows(1, 0));
    }

    #[test]
    fn a_share_of_a_span_saturates() {
        assert_eq!(Ratio::from_millionths(1_500_000).of(Duration::from_millis(2)), Duration::from_millis(3));
        assert_eq!(Ratio::from_millionths(2_000_000).of(Duration::MAX), Duration::MAX);
    }
}
