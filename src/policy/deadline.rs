#![doc = include_str!("../../docs/policies/deadline.md")]

use crate::config::OptionKind;
use crate::time::{Duration, Instant};

options! {
    /// The call's total time.
    pub struct Config for Deadline {
        /// Everything together: waiting in line, backoff, all attempts.
        total: Duration as "total", OptionKind::Duration, Duration::from_secs(30), 1.0..=86_400_000.0;
    }
}

/// When a call that begins now is out of time; a caller's own limit only shortens it.
pub(crate) fn deadline(config: Option<&Config>, own: Option<Duration>, now: Instant) -> Instant {
    let total = config.map_or(Duration::MAX, |config| config.total);
    now + total.min(own.unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_limit_only_shortens() {
        let config = Config { total: Duration::from_secs(2), ..Default::default() };
        let after = |own| deadline(Some(&config), own, Instant::ORIGIN).since(Instant::ORIGIN);
        assert_eq!(after(None), Duration::from_secs(2));
        assert_eq!(after(Some(Duration::from_secs(1))), Duration::from_secs(1));
        assert_eq!(after(Some(Duration::from_secs(9))), Duration::from_secs(2));
        assert_eq!(deadline(None, None, Instant::ORIGIN), Instant::NEVER);
    }
}
