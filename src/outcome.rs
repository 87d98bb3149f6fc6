//! How an attempt ended, as far as policies may know.

use crate::more::More;
use crate::time::Duration;

/// What one settled attempt says about the upstream. Every policy reads it in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// It failed, and nobody can say that this upstream is to blame: another server answered after a redirect, or the
    /// attempt's time was up before it was sent. Never evidence; repeated as a transient fault is.
    Inconclusive,
}

/// The three ways an upstream says that it has too much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
        !matches!(self, Self::Rejected | Self::Defect | Self::Cancelled | Self::Inconclusive)
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
            Self::Transient
                | Self::Timeout
                | Self::Inconclusive
                | Self::Overload(Overload::TooManyRequests | Overload::Unavailable)
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
    /// Whether it did, and the server surely did not process it (421, 425).
    pub unprocessed: bool,
    /// Whether another attempt may end better once, and no more often (421: over another connection).
    pub once: bool,
    /// Whether it has not ended, but was given up by the host for a limit that is not the engine's, such as an outer stack's.
    pub given_up: bool,
    /// How long the upstream (or a refusing inner stack) asked to be left alone.
    pub retry_after: Option<Duration>,
    /// The latency to judge by, where the host froze one earlier than the end; otherwise the engine takes its own.
    pub latency: Option<Duration>,
    #[doc(hidden)]
    pub rest_is_default: More,
}

impl Outcome {
    /// An outcome that carries nothing but its verdict.
    #[must_use]
    pub const fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            never_sent: false,
            unprocessed: false,
            once: false,
            given_up: false,
            retry_after: None,
            latency: None,
            rest_is_default: More::TO_COME,
        }
    }

    /// The same end after a redirect was followed. Whoever answered, the first server may have processed the request, so
    /// nothing here proves that it was not; and the failure of another origin says nothing about the one that was called.
    #[must_use]
    pub const fn after_redirect(self, same_origin: bool) -> Self {
        let verdict = match self.verdict {
            Verdict::Transient | Verdict::Overload(_) if !same_origin => Verdict::Inconclusive,
            Verdict::Overload(Overload::TooManyRequests | Overload::Unavailable) => Verdict::Transient,
            other => other,
        };
        Self { verdict, never_sent: false, unprocessed: false, once: false, ..self }
    }

    /// Whether the request may be sent again whatever its method: it was never processed, or the upstream said when.
    #[must_use]
    pub const fn is_unprocessed(&self) -> bool {
        match self.verdict {
            Verdict::Overload(Overload::TooManyRequests) => true,
            Verdict::Overload(Overload::Unavailable) => self.retry_after.is_some() || self.never_sent,
            _ => self.never_sent || self.unprocessed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::outcome_of_status;

    #[test]
    fn after_a_redirect_no_status_proves_that_the_first_server_did_nothing() {
        for status in 100..600 {
            for retry_after in [None, Some(Duration::from_secs(1))] {
                for same_origin in [true, false] {
                    let outcome = outcome_of_status(status, retry_after).after_redirect(same_origin);
                    assert!(!outcome.is_unprocessed(), "{status}");
                    assert_eq!(outcome.retry_after, retry_after);
                }
            }
        }
    }

    #[test]
    fn after_a_redirect_the_failure_of_another_origin_is_no_evidence() {
        for status in [408, 425, 429, 500, 502, 503, 504, 521, 599] {
            let outcome = outcome_of_status(status, None);
            assert_eq!(outcome.after_redirect(false).verdict, Verdict::Inconclusive, "{status}");
            assert_eq!(outcome.after_redirect(true).verdict, Verdict::Transient, "{status}");
        }
        for status in [200, 204, 304, 404, 501] {
            let outcome = outcome_of_status(status, None);
            assert_eq!(outcome.after_redirect(false).verdict, outcome.verdict, "{status}");
        }
    }
}
