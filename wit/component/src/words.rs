//! The engine's words as the cases that cross, and back.

use alloc::string::ToString;

use forbear::policy::circuit_breaker::StateWord;
use forbear::{Duration, Facts, Kind, Outcome, Overload, RefusalReason, Repeat, StopReason, Verdict};

use crate::bindings::exports::forbear::resilience::engine as types;

macro_rules! cases {
    ($($name:ident: $Word:ident => $Case:ident { $($Variant:ident)+ })+) => { $(
        /// The case of this word.
        pub fn $name(word: $Word) -> types::$Case {
            match word {
                $($Word::$Variant => types::$Case::$Variant,)+
                other => types::$Case::Other(other.word().to_string()),
            }
        }
    )+ };
}

cases! {
    stop_reason: StopReason => StopReason {
        Completed NotRetryable NotRepeatable BodyNotReplayable AttemptsExhausted DeadlineExceeded RetryAfterExceedsDeadline
        RetryAfterTooLong BudgetExceeded Refused Cancelled
    }
    refusal_reason: RefusalReason => RefusalReason {
        CircuitOpen ConcurrencyLimited Throttled BulkheadFull RateLimited DeadlineExceeded QueueTimeout Oversized
    }
    circuit_state: StateWord => CircuitState { Closed Open HalfOpen ForcedOpen Disabled }
}

/// The policy of this name.
pub fn kind_of(name: &str) -> Option<Kind> {
    Kind::ALL.iter().copied().find(|kind| kind.word() == name)
}

pub fn repeat(repeat: types::Repeat) -> Repeat {
    match repeat {
        types::Repeat::OnlyUnsent => Repeat::OnlyUnsent,
        types::Repeat::OnlyUnprocessed => Repeat::OnlyUnprocessed,
        types::Repeat::AfterFailure => Repeat::AfterFailure,
        types::Repeat::Freely => Repeat::Freely,
    }
}

pub fn facts(facts: types::Facts) -> Facts {
    let types::Facts { repeat, replayable, single, prepared, timeout, cost } = facts;
    Facts {
        repeat: self::repeat(repeat),
        replayable,
        single,
        prepared,
        timeout: timeout.map(Duration::from_nanos),
        cost,
        ..Facts::default() // never counted elsewhere: a host that nests stacks gives them budgets of their own
    }
}

pub fn outcome(outcome: types::Outcome) -> Outcome {
    let types::Outcome { ended, retry_after, latency } = outcome;
    let retry_after = retry_after.map(Duration::from_nanos);
    let verdict = match ended {
        types::Ending::Status(status) => {
            let outcome = forbear::http::outcome_of_status(status, retry_after);
            return Outcome { latency: latency.map(Duration::from_nanos), ..outcome };
        }
        types::Ending::Success => Verdict::Success,
        types::Ending::Answered => Verdict::Answered,
        types::Ending::TooManyRequests => Verdict::Overload(Overload::TooManyRequests),
        types::Ending::Unavailable => Verdict::Overload(Overload::Unavailable),
        types::Ending::Shedding => Verdict::Overload(Overload::Shedding),
        types::Ending::Transient | types::Ending::NeverSent => Verdict::Transient,
        types::Ending::Timeout => Verdict::Timeout,
        types::Ending::Rejected => Verdict::Rejected,
        types::Ending::Defect => Verdict::Defect,
        types::Ending::Cancelled => Verdict::Cancelled,
        types::Ending::Inconclusive => Verdict::Inconclusive,
    };
    let never_sent = matches!(ended, types::Ending::NeverSent);
    Outcome { never_sent, retry_after, latency: latency.map(Duration::from_nanos), ..Outcome::new(verdict) }
}
