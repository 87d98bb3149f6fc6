//! What the engine answers: one decision a verb, and everything the host must do next is in it.

use crate::id::CallId;
use crate::registry::Kind;
use crate::time::{Duration, HostTime};

/// The answer to every verb.
///
/// | step | what the host does |
/// |---|---|
/// | `Send` | start this attempt, and call `wake` at `at` |
/// | `Wait` | nothing, until an attempt ends or `at` comes |
/// | `Done` | hand this attempt's result to the caller; the call is over (or held until its body ends) |
/// | `Reject` | tell the caller why; `at` is the instant from which the refusing policy would not refuse |
/// | `Unguarded` | go on without the engine, within the call's [own limits](crate::OwnLimits): it does not know this call |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a decision names everything the host must do next"]
pub struct Decision {
    /// The call it is about; `None` where there is none (refused before it began, or unguarded).
    pub call: Option<CallId>,
    /// What to do.
    pub step: Step,
    /// Attempts to give up now: abort those in flight, discard the results in hand.
    pub drop: AttemptSet,
    /// Those of `drop` whose own time was up, by the attempt timeout. Any other that timed out was ended by the deadline.
    pub timed_out: AttemptSet,
    /// The one instant, on the clock of this verb's `now`, that the step speaks of.
    pub at: Option<HostTime>,
    /// With [`StopReason::BudgetExceeded`]: after how long the budget would pay, other traffic aside, where it knows.
    pub retry_after: Option<Duration>,
}

impl Decision {
    /// The answer of an engine that does not know the call; also of a host that cannot ask its engine.
    pub const UNGUARDED: Self = Self {
        call: None,
        step: Step::Unguarded,
        drop: AttemptSet::EMPTY,
        timed_out: AttemptSet::EMPTY,
        at: None,
        retry_after: None,
    };

    /// How long from `now` to `at`, in whole milliseconds, rounded up.
    #[must_use]
    pub fn delay_millis(&self, now: HostTime) -> Option<u64> {
        self.at.map(|at| at.since(now).as_millis_ceil())
    }
}

/// What the host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start attempt number so and so.
    Send(AttemptNumber),
    /// Do nothing yet.
    Wait,
    /// The call is over with the result of this attempt. If that attempt is also in `drop`, or was in an earlier one, it
    /// timed out.
    Done {
        /// Whose result the caller gets.
        attempt: AttemptNumber,
        /// Why the call ends here.
        reason: StopReason,
        /// Whether capacity stays taken until the body ends: the host calls `wake` as a heartbeat and then `cancel`.
        held: bool,
    },
    /// The call is over without a result to hand on.
    Reject(Rejection),
    /// The engine does not know this call.
    Unguarded,
}

/// Why a call was refused, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Why.
    pub reason: RefusalReason,
    /// The policy that refused.
    pub policy: Kind,
}

words! {
    /// Why a policy refuses.
    #[non_exhaustive]
    pub enum RefusalReason {
        /// The circuit breaker is open, or its probes are all out.
        CircuitOpen = "circuit-open",
        /// The adaptive concurrency limit is reached.
        ConcurrencyLimited = "concurrency-limited",
        /// The adaptive throttler sheds this call.
        Throttled = "throttled",
        /// The bulkhead and its line are full.
        BulkheadFull = "bulkhead-full",
        /// No permit of the rate limiter's comes in time.
        RateLimited = "rate-limited",
        /// The call is out of time, or would be before its turn comes.
        DeadlineExceeded = "deadline-exceeded",
        /// It waited in line as long as a call may.
        QueueTimeout = "queue-timeout",
        /// It costs more than can ever be granted at once.
        Oversized = "oversized",
    }
}

words! {
    /// Why a call ends with the result it ends with.
    #[non_exhaustive]
    pub enum StopReason {
        /// It worked.
        Completed = "completed",
        /// Another attempt would not end better.
        NotRetryable = "not-retryable",
        /// The request may have been processed, and nobody said that it may be repeated.
        NotRepeatable = "not-repeatable",
        /// The body can be sent only once.
        BodyNotReplayable = "body-not-replayable",
        /// The last attempt allowed was made.
        AttemptsExhausted = "attempts-exhausted",
        /// The deadline has come, or comes before another attempt could start.
        DeadlineExceeded = "deadline-exceeded",
        /// The upstream asked to be left alone for longer than there is time.
        RetryAfterExceedsDeadline = "retry-after-exceeds-deadline",
        /// The upstream asked to be left alone for longer than `maxRetryAfter`.
        RetryAfterTooLong = "retry-after-too-long",
        /// It would have been repeated, but the retry budget said no.
        BudgetExceeded = "budget-exceeded",
        /// A nested stack refused.
        Refused = "refused",
        /// The caller left.
        Cancelled = "cancelled",
    }
}

/// An attempt's number within its call: 1 to 15.
pub type AttemptNumber = u8;

/// The highest attempt number: `retry.attempts × hedge.attempts` may not exceed it.
pub const MAX_ATTEMPTS: u8 = 15;

/// A set of attempt numbers; bit *n* stands for attempt *n*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptSet(u16);

impl AttemptSet {
    /// No attempt.
    pub const EMPTY: Self = Self(0);

    /// Adds an attempt; a number above [`MAX_ATTEMPTS`] is left out.
    pub fn insert(&mut self, attempt: AttemptNumber) {
        self.0 |= 1u16.checked_shl(u32::from(attempt)).unwrap_or(0);
    }

    /// Takes an attempt out.
    pub fn remove(&mut self, attempt: AttemptNumber) {
        self.0 &= !1u16.checked_shl(u32::from(attempt)).unwrap_or(0);
    }

    /// Adds all of another set.
    pub fn extend(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Whether the attempt is in the set.
    #[must_use]
    pub fn contains(self, attempt: AttemptNumber) -> bool {
        self.0 & 1u16.checked_shl(u32::from(attempt)).unwrap_or(0) != 0
    }

    /// How many there are.
    #[must_use]
    pub const fn count(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// As bits.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_fifteen_attempts_and_ignore_others() {
        let mut set = AttemptSet::EMPTY;
        set.insert(1);
        set.insert(MAX_ATTEMPTS);
        set.insert(16);
        set.insert(200);
        assert_eq!(set.bits(), 0b1000_0000_0000_0010);
        assert!(set.contains(1) && set.contains(15) && !set.contains(2) && !set.contains(200));
    }

    #[test]
    fn every_word_is_the_fields_word() {
        assert_eq!(StopReason::ALL.len(), 11);
        assert_eq!(StopReason::RetryAfterExceedsDeadline.word(), "retry-after-exceeds-deadline");
        assert_eq!(RefusalReason::ALL[1].word(), "concurrency-limited");
    }
}
