//! How a call ended: with a value or an error, and a report beside it.

use std::fmt;
use std::time::Duration;

use forbear::{AttemptNumber, Kind, RefusalReason, StopReason};
use js_sys::{self, Reflect};
use wasm_bindgen::JsValue;
use worker::Response;

use crate::attempt::{TIMEOUT_ERROR, brand};

/// What a guarded call ends with.
pub type Result<T = Response, E = worker::Error> = std::result::Result<Done<T>, Failed<E>>;

/// The call ended with the result of an attempt, which is handed over untouched. It may be a 503: the report says why no
/// other attempt was made.
#[derive(Debug)]
pub struct Done<T = Response> {
    /// What the attempt brought.
    pub value: T,
    /// How the call went.
    pub report: Report,
    /// Where a bulkhead holds its slot until the body has ended: keep it until then.
    pub held: Option<crate::Held>,
}

/// The call ended without a value.
#[derive(Debug)]
pub struct Failed<E = worker::Error> {
    /// Why.
    pub error: Error<E>,
    /// How the call went.
    pub report: Report,
}

/// Why a call has no value.
#[derive(Debug)]
pub enum Error<E = worker::Error> {
    /// A policy refused the call, or its next attempt.
    Rejected {
        /// Why.
        reason: RefusalReason,
        /// Which policy.
        policy: Kind,
        /// Whose state it was refused for.
        key: Option<String>,
        /// After this time the refusing policy would not refuse; `None` where that is not known.
        retry_after: Option<Duration>,
        /// What the last attempt given up had brought.
        last: Option<Discarded<E>>,
    },
    /// Time was up.
    TimedOut {
        /// Whose limit it was: [`Kind::Deadline`] or [`Kind::AttemptTimeout`].
        policy: Kind,
        /// The attempt it ended.
        attempt: AttemptNumber,
        /// What the last attempt given up before had brought.
        last: Option<Discarded<E>>,
    },
    /// The caller's signal aborted, with this reason.
    Left(JsValue),
    /// What the last attempt brought.
    Upstream(E),
}

/// What an attempt brought that the caller does not get.
#[derive(Debug)]
pub enum Discarded<E = worker::Error> {
    /// A response with this status.
    Status(u16),
    /// An error.
    Error(E),
    /// Nothing in time.
    TimedOut(Kind),
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many attempts were made.
    pub attempts: AttemptNumber,
    /// How long it took, to the response's headers.
    pub elapsed: Duration,
    /// Why it ended there; `None` where the engine did not know the call, which went on unguarded.
    pub stop_reason: Option<StopReason>,
    /// Where a budget did not pay: after how long it would, other traffic aside; `None` where nobody knows.
    pub retry_after: Option<Duration>,
    /// Whose state it met: the origin, or the name it was given.
    pub key: Option<String>,
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected { reason, policy, key, .. } => {
                write!(f, "refused by {}: {}", policy.word(), reason.word())?;
                key.as_ref().map_or(Ok(()), |key| write!(f, " for {key}"))
            }
            Self::TimedOut { policy: Kind::Deadline, .. } => f.write_str("the call took too long"),
            Self::TimedOut { attempt, .. } => write!(f, "attempt {attempt} took too long"),
            Self::Left(_) => f.write_str("the caller left"),
            Self::Upstream(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self.report.attempts;
        write!(f, "{} (after {attempts} attempt{})", self.error, if attempts == 1 { "" } else { "s" })
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Error<E> {}
impl<E: fmt::Debug + fmt::Display> std::error::Error for Failed<E> {}

/// So that `?` works in a handler. What JavaScript sees of it has the names and properties that the JavaScript package's
/// errors have, and another stack around it takes it for what it is.
impl From<Failed> for worker::Error {
    fn from(failed: Failed) -> Self {
        let words = failed.to_string();
        let (name, facts) = match failed.error {
            Error::Upstream(error) => return error,
            Error::Left(reason) => return reason.into(),
            Error::Rejected { reason, policy, retry_after, .. } => {
                ("RejectedError", Facts { reason: Some(reason.word()), policy: policy.word(), retry_after })
            }
            Error::TimedOut { policy, .. } => {
                (TIMEOUT_ERROR, Facts { reason: None, policy: policy.word(), retry_after: None })
            }
        };
        let error = js_sys::Error::new(&words);
        error.set_name(name);
        brand(&error, name);
        facts.put_on(&error);
        JsValue::from(error).into()
    }
}

struct Facts {
    reason: Option<&'static str>,
    policy: &'static str,
    retry_after: Option<Duration>,
}

impl Facts {
    fn put_on(&self, error: &JsValue) {
        let retry_after = self.retry_after.map(|span| forbear::Duration::from(span).as_millis_ceil() as f64);
        let all: [(&str, JsValue); 3] =
            [("reason", self.reason.into()), ("policy", self.policy.into()), ("retryAfterMs", retry_after.into())];
        for (name, value) in all {
            let _ = Reflect::set(error, &name.into(), &value); // an error just made takes properties
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attempt_is_not_called_attempts() {
        let told = |attempts| {
            let elapsed = Duration::ZERO;
            let report = Report { attempts, elapsed, stop_reason: None, retry_after: None, key: None };
            Failed { error: Error::Upstream("gone"), report }.to_string()
        };
        assert_eq!(told(0), "gone (after 0 attempts)");
        assert_eq!(told(1), "gone (after 1 attempt)");
        assert_eq!(told(2), "gone (after 2 attempts)");
    }
}
