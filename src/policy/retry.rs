#![doc = include_str!("../../docs/policies/retry.md")]

use crate::call::{Facts, Repeat};
use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::decision::StopReason;
use crate::outcome::{Outcome, Verdict};
use crate::random::Rng;
use crate::ratio::Ratio;
use crate::time::{Duration, Instant};

options! {
    /// Repeats after failures.
    pub struct Config for Retry {
        /// How many attempts a call has, the first among them.
        attempts: u32 as "attempts", OptionKind::Count, 3, 1.0..=15.0;
        /// The backoff before the first repeat, before jitter.
        base: Duration as "backoff.base", OptionKind::Duration, Duration::from_millis(100), 1.0..=86_400_000.0;
        /// The longest backoff.
        cap: Duration as "backoff.cap", OptionKind::Duration, Duration::from_secs(20), 1.0..=86_400_000.0;
        /// By how much the backoff grows with each repeat; 1 keeps it constant.
        factor: Ratio as "backoff.factor", OptionKind::Ratio, Ratio::from_percent(200), 1.0..=10.0;
        /// How the backoff is spread.
        jitter: Jitter as "backoff.jitter", OptionKind::Word(Jitter::WORDS), Jitter::Full, 0.0..=3.0;
        /// The longest Retry-After that is waited for.
        max_retry_after: Duration as "maxRetryAfter", OptionKind::Duration, Duration::from_secs(60), 1.0..=86_400_000.0;
        /// Whether a longer Retry-After is shortened to the longest; otherwise the call stops.
        clamp_retry_after: bool as "clampRetryAfter", OptionKind::Flag, false, 0.0..=1.0;
        /// Whether refusals of forbear's own are waited out and retried.
        retry_refusals: bool as "retryRefusals", OptionKind::Flag, false, 0.0..=1.0;
        /// Whether repeats are paid from a budget: the named one, or a private one where none is named.
        budget: bool as "budget", OptionKind::Flag, true, 0.0..=1.0;
        /// Whether attempts whose time was up are repeated.
        timeouts: bool as "timeouts", OptionKind::Flag, true, 0.0..=1.0;
    }
}

words! {
    /// How a backoff is spread, so that clients that failed together do not come back together.
    #[non_exhaustive]
    pub enum Jitter {
        /// Not at all: `min(cap, base·factorⁿ)`.
        None = "none",
        /// Anywhere below: `random(0, that)`.
        Full = "full",
        /// In the upper half: `that/2 + random(0, that/2)`.
        Equal = "equal",
        /// From the last one: `min(cap, random(base, 3·previous))`.
        Decorrelated = "decorrelated",
    }
}

impl OptionValue for Jitter {
    fn set_number(&mut self, word: f64) {
        *self = Self::ALL.get(word as usize).copied().unwrap_or(Self::Full);
    }
    fn number(&self) -> f64 {
        f64::from(self.code())
    }
}

/// Decides about repeats.
#[derive(Clone, Debug)]
pub struct Retry {
    config: Config,
}

/// A round that is over.
pub(crate) struct Round<'a> {
    pub facts: &'a Facts,
    /// How the round's first attempt ended, with the longest Retry-After of the round.
    pub outcome: Outcome,
    /// How many rounds there were, this one among them.
    pub rounds: u8,
    /// Whether one of them was repeated for what may end better once.
    pub was_once: bool,
    /// The last backoff; zero before the first.
    pub backoff: Duration,
    pub now: Instant,
    pub deadline: Instant,
}

/// What follows a round.
pub(crate) enum Next {
    /// The call ends with the round's result.
    Stop(StopReason),
    /// Another round begins after the delay; `backoff` is the part of it to grow from.
    Again { delay: Duration, backoff: Duration },
}

impl Retry {
    /// Parses the configuration.
    ///
    /// # Errors
    /// Names the option that is outside its range.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check_ranges()?;
        if config.cap < config.base {
            let (given, least) = (config.cap.number(), config.base.number());
            let cap = const { Config::position("backoff.cap") };
            return Err(ConfigError::conflict(Config::KIND, cap, given, least, 86_400_000.0));
        }
        Ok(Self { config })
    }

    pub(crate) fn wants_budget(&self) -> bool {
        self.config.budget
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.config.attempts
    }

    /// The questions, always in this order; the budget is asked last, so that nothing is spent on a repeat that
    /// something else forbids.
    pub(crate) fn next(&self, round: &Round<'_>, rng: &mut Rng, spend: impl FnOnce() -> bool) -> Next {
        if let Some(reason) = self.forbids(round) {
            return Next::Stop(reason);
        }
        let backoff = self.backoff(round, rng);
        let in_time = |pause| (round.now + pause).is_in_time(round.deadline);
        // Nothing at all is no floor.
        let asked = round.outcome.retry_after.filter(|asked| *asked > Duration::ZERO);
        let longest = self.config.max_retry_after;
        if asked.is_some_and(|asked| asked > longest) && !self.config.clamp_retry_after {
            return Next::Stop(StopReason::RetryAfterTooLong);
        }
        if asked.is_some_and(|asked| !in_time(asked.min(longest))) {
            return Next::Stop(StopReason::RetryAfterExceedsDeadline);
        }
        let delay = asked.map_or(backoff, |asked| backoff.max(self.spread(asked, rng)));
        if !in_time(delay) {
            return Next::Stop(StopReason::DeadlineExceeded);
        }
        if !spend() {
            return Next::Stop(StopReason::BudgetExceeded);
        }
        Next::Again { delay, backoff }
    }

    /// Whether refusals of the stack's own gates are repeated.
    pub(crate) fn repeats_refusals(&self) -> bool {
        self.config.retry_refusals
    }

    fn forbids(&self, round: &Round<'_>) -> Option<StopReason> {
        let Round { facts, outcome, .. } = round;
        let refused = outcome.verdict == Verdict::Rejected;
        if refused && !self.config.retry_refusals {
            return Some(StopReason::Refused);
        }
        if outcome.verdict == Verdict::Success {
            return Some(StopReason::Completed);
        }
        let is_unwanted = outcome.verdict == Verdict::Timeout && !self.config.timeouts;
        let is_in_vain = is_unwanted || outcome.once && round.was_once;
        if !refused && (is_in_vain || !outcome.verdict.is_retryable()) {
            return Some(StopReason::NotRetryable);
        }
        if !refused && !may_be_repeated(facts.repeat, outcome) {
            return Some(StopReason::NotRepeatable);
        }
        if !facts.replayable {
            return Some(StopReason::BodyNotReplayable);
        }
        if facts.single || u32::from(round.rounds) >= self.config.attempts {
            return Some(StopReason::AttemptsExhausted);
        }
        None
    }

    /// Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, section "Adding Jitter",
    /// <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>.
    fn backoff(&self, round: &Round<'_>, rng: &mut Rng) -> Duration {
        let Config { base, cap, .. } = self.config;
        let random = |rng: &mut Rng, low: Duration, high: Duration| {
            Duration::from_nanos(rng.between(low.as_nanos(), high.as_nanos()))
        };
        match self.config.jitter {
            Jitter::None => self.exponential(round.rounds),
            Jitter::Full => random(rng, Duration::ZERO, self.exponential(round.rounds)),
            Jitter::Equal => {
                let half = self.exponential(round.rounds).split(2);
                half + random(rng, Duration::ZERO, half)
            }
            Jitter::Decorrelated => {
                let previous = round.backoff.max(base);
                cap.min(random(rng, base, previous.saturating_mul(3)))
            }
        }
    }

    /// `min(cap, base·factorⁿ)`, where n is the number of repeats before this one.
    fn exponential(&self, rounds: u8) -> Duration {
        let Config { base, cap, factor, .. } = self.config;
        let mut delay = base;
        for _ in 1..rounds {
            if delay >= cap {
                break;
            }
            delay = factor.of(delay);
        }
        delay.min(cap)
    }

    /// A Retry-After, spread so that all who were told the same do not come at once: over a base more, as far as the longest
    /// one allows; what is longer than that, and shortened, over a base before it.
    fn spread(&self, asked: Duration, rng: &mut Rng) -> Duration {
        let Config { base, max_retry_after: longest, .. } = self.config;
        let mut random = |most: Duration| Duration::from_nanos(rng.between(0, most.as_nanos()));
        if asked > longest {
            longest.saturating_sub(random(base.min(longest.split(2))))
        } else {
            asked + random(base.min(longest.saturating_sub(asked)))
        }
    }
}

/// Whether a request that ended so may be sent again, by what is known of it and by who may.
fn may_be_repeated(repeat: Repeat, outcome: &Outcome) -> bool {
    match repeat {
        Repeat::OnlyUnsent => outcome.never_sent,
        Repeat::OnlyUnprocessed => outcome.is_unprocessed(),
        Repeat::AfterFailure | Repeat::Freely => true,
    }
}

/// Where `attempts` stands among the options: what is refused beside a hedge's is the engine's to say.
pub(crate) const ATTEMPTS: usize = Config::position("attempts");

#[cfg(test)]
mod tests;
