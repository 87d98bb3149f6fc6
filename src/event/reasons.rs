//! The words that events carry.

words! {
    /// What made a circuit open.
    #[non_exhaustive]
    pub enum Trigger {
        /// The failure rate.
        FailureRate = "failure-rate",
        /// The rate of slow calls.
        SlowRate = "slow-rate",
        /// Too many failures in a row.
        ConsecutiveFailures = "consecutive-failures",
        /// A probe failed or was slow.
        ProbeFailed = "probe-failed",
        /// Probes were not settled in time.
        ProbeTimeout = "probe-timeout",
        /// An operator.
        Forced = "forced",
    }
}

words! {
    /// Why a circuit closed.
    #[non_exhaustive]
    pub enum CloseReason {
        /// Its probes succeeded.
        ProbesSucceeded = "probes-succeeded",
        /// An operator.
        Forced = "forced",
        /// An operator, who wants it to count but never to refuse.
        Disabled = "disabled",
    }
}

words! {
    /// What an attempt counted as.
    pub enum Counted {
        /// A success.
        Success = "success",
        /// A failure.
        Failure = "failure",
    }
}

words! {
    /// Why an attempt did not count.
    #[non_exhaustive]
    pub enum IgnoreReason {
        /// The caller left, or we gave it up.
        Cancelled = "cancelled",
        /// It was refused before it was sent, or was the caller's bug.
        Rejection = "rejection",
        /// It began under an earlier state.
        Stale = "stale",
        /// It failed, and nobody can say that this upstream is to blame.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// Why a limit changed.
    #[non_exhaustive]
    pub enum LimitReason {
        /// It was used, and nothing took longer for it.
        Headroom = "headroom",
        /// Attempts took longer.
        Latency = "latency",
        /// Half of it is tried for a while, or has been.
        Probe = "probe",
        /// The upstream said that it has too much to do.
        Overload = "overload",
        /// An attempt was cut by its limit.
        Timeout = "timeout",
        /// Nothing was heard for so long that nothing is known.
        Stale = "stale",
    }
}

words! {
    /// What happens to hedges.
    #[non_exhaustive]
    pub enum HedgeStep {
        /// Another attempt starts beside those that run.
        Started = "started",
        /// One of several failed.
        AttemptFailed = "attempt-failed",
        /// One of several answered first.
        Won = "won",
        /// The budget did not pay for a hedge.
        BudgetExhausted = "budget-exhausted",
        /// The call is out of time before a hedge would start.
        DeadlineSkip = "deadline-skip",
        /// Nothing of a hedged round worked.
        AllFailed = "all-failed",
    }
}

words! {
    /// The verdicts' words.
    #[non_exhaustive]
    pub enum VerdictWord {
        /// It worked.
        Success = "success",
        /// The caller was wrong.
        Answered = "answered",
        /// Too much to do.
        Overload = "overload",
        /// A fault that may pass.
        Transient = "transient",
        /// Our limit cut it.
        Timeout = "timeout",
        /// Refused by forbear.
        Rejected = "rejected",
        /// The caller's bug.
        Defect = "defect",
        /// The caller left.
        Cancelled = "cancelled",
        /// It failed, and nobody can say that this upstream is to blame.
        Inconclusive = "inconclusive",
    }
}

impl From<crate::outcome::Verdict> for VerdictWord {
    fn from(verdict: crate::outcome::Verdict) -> Self {
        use crate::outcome::Verdict;
        match verdict {
            Verdict::Success => Self::Success,
            Verdict::Answered => Self::Answered,
            Verdict::Overload(_) => Self::Overload,
            Verdict::Transient => Self::Transient,
            Verdict::Timeout => Self::Timeout,
            Verdict::Rejected => Self::Rejected,
            Verdict::Defect => Self::Defect,
            Verdict::Cancelled => Self::Cancelled,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}
