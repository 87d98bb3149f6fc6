//! How an attempt ended, as far as policies may know.

use crate::time::Duration;

/// What one settled attempt says about the upstream. Every policy reads it in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It worked.
    Success,
    /// The upstream worked; the caller was wrong (4xx but 408, 425, 429).
    Answered,
    /// The upstream has too much to do.
    Overload(Overload),
    /// A fault that may pass: other 5xx, 408, 425, transport errors.
    Transient,
    /// Our own limit cut the attempt.
    Timeout,
    /// Refused by forbear itself, here or in a nested stack. Never evidence about the upstream.
    Rejected,
    /// The caller's bug: a used-up body, an invalid URL. Never evidence.
    Defect,
    /// The caller left, or we gave the attempt up. Never evidence.
    Cancelled,
}

/// The three ways an upstream says that it has too much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// 429: this caller asks too often.
    TooManyRequests,
    /// 503: nobody is served.
    Unavailable,
    /// The runtime marked the error `.overloaded`: repeating it makes things worse.
    Shedding,
}

impl Verdict {
    /// Whether the attempt tells anything about the upstream.
    #[must_use]
    pub const fn is_evidence(self) -> bool {
        !matches!(self, Self::Rejected | Self::Defect | Self::Cancelled)
    }

    /// Whether the caller has its answer: nothing better can come of another attempt.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Success | Self::Answered)
    }

    /// Whether another attempt may end better.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Transient | Self::Timeout | Self::Overload(Overload::TooManyRequests | Overload::Unavailable)
        )
    }
}

/// One ended attempt, as the host reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it says about the upstream.
    pub verdict: Verdict,
    /// Whether the request surely never reached the upstream (connection refused, name not found).
    pub never_sent: bool,
    /// How long the upstream (or a refusing inner stack) asked to be left alone.
    pub retry_after: Option<Duration>,
    /// The latency to judge by, where the host froze one earlier than the end; otherwise the engine takes its own.
    pub latency: Option<Duration>,
}

impl Outcome {
    /// An outcome that carries nothing but its verdict.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        Self { verdict, never_sent: false, retry_after: None, latency: None }
    }

    /// Whether the request may be sent again whatever its method: it was never processed, or the upstream said when.
    #[must_use]
    pub const fn is_unprocessed(&self) -> bool {
        match self.verdict {
            Verdict::Overload(Overload::TooManyRequests) => true,
            Verdict::Overload(Overload::Unavailable) => self.retry_after.is_some() || self.never_sent,
            _ => self.never_sent,
        }
    }
}
