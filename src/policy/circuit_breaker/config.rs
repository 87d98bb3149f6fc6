//! The breaker's options, and how they judge.

use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::event::Trigger;
use crate::measure::window::{Counts, Entry};
use crate::outcome::{Overload, Verdict};
use crate::policy::Ended;
use crate::ratio::Ratio;
use crate::time::Duration;

options! {
    /// When a circuit opens, for how long, and how it closes again.
    pub struct Config for Breaker {
        /// The share of failures in the window at which the circuit opens.
        failure_rate: Ratio as "failureRate", OptionKind::Ratio, Ratio::from_percent(50), 0.000001..=1.0;
        /// The share of slow calls in the window at which the circuit opens, once `slow_call` is given.
        slow_rate: Ratio as "slowRate", OptionKind::Ratio, Ratio::ONE, 0.000001..=1.0;
        /// A call that takes longer is slow; off: none is.
        slow_call: Option<Duration> as "slowCall", OptionKind::Duration, None, 1.0..=86_400_000.0;
        /// How many calls the window holds at least before rates are judged.
        min_calls: u32 as "minCalls", OptionKind::Count, 20, 1.0..=1_000_000.0;
        /// How many calls the window holds at most; off: as many as its age allows.
        window_calls: Option<u32> as "windowCalls", OptionKind::Count, Some(100), 1.0..=1_000.0;
        /// How old a call in the window is at most; off: any age.
        window: Option<Duration> as "window", OptionKind::Duration, Some(Duration::from_secs(60)), 10.0..=86_400_000.0;
        /// How many failures in a row open the circuit, however few calls there are; off: any number is fine.
        consecutive_failures: Option<u32> as "consecutiveFailures", OptionKind::Count, Some(10), 1.0..=1_000_000.0;
        /// How long the first trip lasts.
        open_for: Duration as "openFor", OptionKind::Duration, Duration::from_secs(30), 1.0..=86_400_000.0;
        /// By how much each repeated trip lasts longer than the one before.
        growth: Ratio as "growth", OptionKind::Ratio, Ratio::from_percent(200), 1.0..=10.0;
        /// How long a trip lasts at most.
        max_open_for: Duration as "maxOpenFor", OptionKind::Duration, Duration::from_secs(300), 1.0..=86_400_000.0;
        /// By which share of itself a trip is shortened at most, at random.
        open_jitter: Ratio as "openJitter", OptionKind::Ratio, Ratio::from_percent(20), 0.0..=0.9;
        /// How long a circuit stays closed before its trips are forgotten; off: as long as `max_open_for`.
        reset_after: Option<Duration> as "resetAfter", OptionKind::Duration, None, 1.0..=604_800_000.0;
        /// How many probes a half-open circuit lets through.
        probes: u32 as "probes", OptionKind::Count, 1, 1.0..=32.0;
        /// How many of them close the circuit by succeeding; off: all.
        successes_to_close: Option<u32> as "successesToClose", OptionKind::Count, None, 1.0..=32.0;
        /// How long a probe may take before it counts as failed.
        half_open_timeout: Duration as "halfOpenTimeout", OptionKind::Duration, Duration::from_secs(60), 1.0..=86_400_000.0;
        /// Whether 429 and errors marked `.overloaded` are failures; otherwise they are successes.
        count_rate_limited: bool as "countRateLimited", OptionKind::Flag, false, 0.0..=1.0;
    }
}

impl Config {
    /// Whether the values go together.
    pub(super) fn check(&mut self) -> Result<(), ConfigError> {
        self.check_ranges()?;
        let refuse = |option, given, min, max| Err(ConfigError::conflict(Self::KIND, option, given, min, max));
        if self.window_calls.is_none() && self.window.is_none() {
            return refuse(const { Self::position("windowCalls") }, f64::NAN, 1.0, 1_000.0);
        }
        if let Some(calls) = self.window_calls.filter(|calls| *calls < self.min_calls) {
            return refuse(const { Self::position("minCalls") }, f64::from(self.min_calls), 1.0, f64::from(calls));
        }
        if self.open_for > self.max_open_for {
            return refuse(
                const { Self::position("openFor") },
                self.open_for.number(),
                1.0,
                self.max_open_for.number(),
            );
        }
        if let Some(successes) = self.successes_to_close.filter(|successes| *successes > self.probes) {
            return refuse(
                const { Self::position("successesToClose") },
                f64::from(successes),
                1.0,
                f64::from(self.probes),
            );
        }
        Ok(())
    }

    /// What an attempt that ended so is in the window.
    pub(super) fn entry(&self, ended: &Ended) -> Entry {
        let failed = match ended.verdict {
            Verdict::Transient | Verdict::Timeout | Verdict::Overload(Overload::Unavailable) => true,
            Verdict::Overload(_) => self.count_rate_limited,
            _ => false,
        };
        let cut_short = ended.verdict == Verdict::Timeout;
        Entry { failed, slow: self.slow_call.is_some_and(|limit| cut_short || ended.latency > limit) }
    }

    /// Whether a closed circuit must open, and why.
    pub(super) fn judge(&self, counts: Counts, consecutive: u32) -> Option<Trigger> {
        let enough = counts.calls >= self.min_calls;
        if enough && self.failure_rate.reached_by(counts.failures, counts.calls) {
            Some(Trigger::FailureRate)
        } else if enough && self.slow_rate.reached_by(counts.slow, counts.calls) {
            Some(Trigger::SlowRate)
        } else if self.consecutive_failures.is_some_and(|most| consecutive >= most) {
            Some(Trigger::ConsecutiveFailures)
        } else {
            None
        }
    }
}
