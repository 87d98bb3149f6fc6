#![doc = include_str!("../../docs/policies/attempt_timeout.md")]

use crate::config::OptionKind;
use crate::time::{Duration, Instant};

options! {
    /// The time of one attempt.
    pub struct Config for AttemptTimeout {
        /// From its start until it is settled.
        attempt: Duration as "attempt", OptionKind::Duration, Duration::from_secs(10), 1.0..=86_400_000.0;
    }
}

/// When an attempt that starts now is given up: at its own limit or the call's, whichever comes first.
pub(crate) fn abort_at(config: Option<&Config>, deadline: Instant, now: Instant) -> Instant {
    let limit = config.map_or(Duration::MAX, |config| config.attempt);
    deadline.min(now + limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_never_outlives_its_call() {
        let config = Config { attempt: Duration::from_secs(2), ..Default::default() };
        let now = Instant::ORIGIN;
        assert_eq!(abort_at(Some(&config), Instant::NEVER, now), now + Duration::from_secs(2));
        assert_eq!(abort_at(Some(&config), now + Duration::from_secs(1), now), now + Duration::from_secs(1));
        assert_eq!(abort_at(None, now, now), now);
        assert_eq!(abort_at(None, Instant::NEVER, now), Instant::NEVER);
    }
}
