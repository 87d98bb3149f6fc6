//! How an attempt ended, as the engine hears it. Errors are read by structure first (brands, marks the runtime sets, names)
//! and by their words last, since words change: the rules of the JavaScript package (js/src/http/outcome.ts).

use std::any::Any;

use forbear::http::{outcome_of_status, retry_after};
use forbear::{Duration, Outcome, Overload, Verdict};
use js_sys::{Array, Date, Promise, Reflect};
use wasm_bindgen::JsValue;
use worker::{Response, ResponseBody};

use crate::attempt::brand_of;
use crate::end::{Discarded, Done, Error, Failed};

/// How the result of an operation ended. A response is read by its status and its `Retry-After`, an error of the runtime's
/// by its marks, what another guard ended with by what that was. Any other value is a success, any other error a fault that
/// may pass.
#[must_use]
pub fn outcome_of<T: 'static, E: 'static>(result: &Result<T, E>) -> Outcome {
    match result {
        // No status says that the operation has done nothing: it may be its last step's.
        Ok(value) => Outcome { never_sent: false, ..outcome_of_value(value) },
        Err(error) => outcome_of_any(error),
    }
}

/// Cancels the body of a result that nobody gets, and says what it was.
pub fn discard<T: 'static, E: 'static>(result: Result<T, E>) -> Option<Discarded<E>> {
    match result {
        Err(error) => Some(Discarded::Error(error)),
        Ok(value) => {
            let response = response_in(&value)?;
            if let ResponseBody::Stream(body) = response.body() {
                // Not waited for, since it may never end; nor is it unheard of when it fails, as where the body is being read.
                let _ = Promise::all_settled(&Array::of1(&body.cancel()));
            }
            Some(Discarded::Status(response.status_code()))
        }
    }
}

fn response_in(value: &dyn Any) -> Option<&Response> {
    value.downcast_ref::<Response>().or_else(|| value.downcast_ref::<Done>().map(|done| &done.value))
}

fn outcome_of_value(value: &dyn Any) -> Outcome {
    if let Some(response) = value.downcast_ref::<web_sys::Response>() {
        let outcome = outcome_of_response(response);
        // Nobody says whose the first URL was.
        return if response.redirected() { outcome.after_redirect(false) } else { outcome };
    }
    let of = |response: &Response| outcome_of_head(response.status_code(), &response.headers().0);
    response_in(value).map_or(Outcome::new(Verdict::Success), of)
}

/// How an attempt ended that brought this response, which no redirect led to.
pub fn outcome_of_response(response: &web_sys::Response) -> Outcome {
    outcome_of_head(response.status(), &response.headers())
}

/// Of two fields of a name, which the runtime joins by a comma, nothing is understood: who knows which one is meant?
fn outcome_of_head(status: u16, headers: &web_sys::Headers) -> Outcome {
    let field = |name| headers.get(name).ok().flatten();
    let wait = (status >= 400)
        .then(|| field("retry-after"))
        .flatten()
        .and_then(|wait| retry_after(wait.as_bytes(), Date::now() as u64, field("date").as_deref().map(str::as_bytes)));
    outcome_of_status(status, wait)
}

fn outcome_of_any(error: &dyn Any) -> Outcome {
    if let Some(error) = error.downcast_ref::<worker::Error>() {
        return outcome_of_workers(error);
    }
    let Some(Failed { error, .. }) = error.downcast_ref::<Failed>() else { return Outcome::new(Verdict::Transient) };
    match error {
        Error::Rejected { retry_after, .. } => {
            Outcome { retry_after: retry_after.map(Duration::from), ..Outcome::new(Verdict::Rejected) }
        }
        Error::TimedOut { .. } => Outcome::new(Verdict::Timeout),
        Error::Left(_) => Outcome::new(Verdict::Cancelled),
        Error::Upstream(error) => outcome_of_workers(error),
    }
}

fn outcome_of_workers(error: &worker::Error) -> Outcome {
    use worker::Error as E;
    match error {
        E::BadEncoding | E::BodyUsed | E::BindingError(_) | E::Infallible | E::SerdeWasmBindgenError(_) => {
            Outcome::new(Verdict::Defect)
        }
        other => outcome_of_error(&other.to_js_value()),
    }
}

/// How an attempt ended that brought this error, as JavaScript has it.
pub fn outcome_of_error(error: &JsValue) -> Outcome {
    marks_of(error).outcome()
}

/// What an error of the runtime's says of itself.
#[derive(Default)]
struct Marks {
    brand: Option<String>,
    retry_after_ms: Option<f64>,
    name: String,
    /// Its own and its causes', in lower case.
    words: String,
    overloaded: bool,
    /// Marked as a fault of the way.
    passing: bool,
    /// Thrown on the other side of a binding.
    remote: bool,
}

fn marks_of(error: &JsValue) -> Marks {
    if !error.is_object() {
        return Marks { words: error.as_string().unwrap_or_default().to_lowercase(), ..Marks::default() };
    }
    let property = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let is = |name| property(error, name).is_truthy();
    let mut words = String::new();
    let mut link = error.clone();
    for _ in 0..DEEPEST {
        if !link.is_object() {
            break;
        }
        words.push_str(&property(&link, "message").as_string().unwrap_or_default());
        words.push('\n');
        link = property(&link, "cause");
    }
    Marks {
        brand: brand_of(error),
        retry_after_ms: property(error, "retryAfterMs").as_f64(),
        name: property(error, "name").as_string().unwrap_or_default(),
        words: words.to_lowercase(),
        overloaded: is("overloaded"),
        passing: is("retryable") || is("durableObjectReset"),
        remote: is("remote"),
    }
}

impl Marks {
    fn outcome(&self) -> Outcome {
        let verdict = match (self.brand.as_deref(), self.name.as_str()) {
            (Some("RejectedError"), _) => {
                let retry_after = self.retry_after_ms.filter(|millis| *millis >= 0.0);
                let retry_after = retry_after.map(|millis| Duration::from_millis(millis.ceil() as u64));
                return Outcome { retry_after, ..Outcome::new(Verdict::Rejected) };
            }
            (Some("TimeoutError"), _) => Verdict::Timeout,
            (Some(_), _) => Verdict::Defect,
            _ if self.overloaded => Verdict::Overload(Overload::Shedding),
            (_, "AbortError") => Verdict::Cancelled,
            (_, "TimeoutError") => Verdict::Timeout,
            _ if self.passing || self.remote => Verdict::Transient,
            (_, "TypeError" | "RangeError" | "ReferenceError" | "NotSupportedError" | "DataCloneError") => {
                Verdict::Defect
            }
            _ if MISTAKES.iter().any(|words| self.words.contains(words)) => Verdict::Defect,
            _ => Verdict::Transient,
        };
        Outcome::new(verdict)
    }
}

/// Mistakes of the caller's that no name tells: those that the runtime throws as a mere Error, and those that Rust's own
/// crates find (`http`, `url`).
const MISTAKES: &[&str] = &[
    "too many subrequests",
    "within global scope",
    "on behalf of a different",
    "invalid header",
    "already been read",
    "relative url",
    "empty host",
    "invalid port",
    "invalid domain",
    "invalid international domain",
    "invalid ipv",
];

/// How far causes are followed.
const DEEPEST: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(marks: Marks) -> Verdict {
        marks.outcome().verdict
    }

    fn said(words: &str) -> Marks {
        Marks { name: "Error".into(), words: words.to_lowercase(), ..Marks::default() }
    }

    #[test]
    fn a_lost_connection_is_a_fault_of_the_way_in_whatever_words() {
        for words in ["Network connection lost.", "internal error; reference = x1", "Load failed", ""] {
            assert_eq!(verdict(said(words)), Verdict::Transient, "{words}");
        }
    }

    #[test]
    fn mistakes_of_the_callers_are_no_evidence() {
        let named = |name: &str| Marks { name: name.into(), ..said("in any words") };
        for name in ["TypeError", "RangeError", "ReferenceError", "NotSupportedError", "DataCloneError"] {
            assert_eq!(verdict(named(name)), Verdict::Defect, "{name}");
        }
        for words in [
            "Too many subrequests by single Worker invocation.",
            "Disallowed operation called within global scope.",
            "Cannot perform I/O on behalf of a different request.",
            "Invalid header value: InvalidHeaderValue",
            "relative URL without a base",
        ] {
            assert_eq!(verdict(said(words)), Verdict::Defect, "{words}");
        }
    }

    #[test]
    fn a_mistake_of_a_bound_workers_is_a_fault_of_its_own_to_whoever_asks_it() {
        let thrown = Marks { name: "TypeError".into(), remote: true, ..said("x is not a function") };
        assert_eq!(verdict(thrown), Verdict::Transient);
    }

    #[test]
    fn marks_of_the_runtimes_outweigh_words() {
        let shed = Marks { overloaded: true, passing: true, ..said("Durable Object is overloaded.") };
        assert_eq!(verdict(shed), Verdict::Overload(Overload::Shedding));
        let reset = Marks { passing: true, name: "TypeError".into(), ..said("") };
        assert_eq!(verdict(reset), Verdict::Transient);
        let timeout = Marks { name: "TimeoutError".into(), ..Marks::default() };
        assert_eq!(verdict(timeout), Verdict::Timeout);
    }

    #[test]
    fn errors_of_other_guards_are_what_their_brand_says() {
        let refused =
            Marks { brand: Some("RejectedError".into()), retry_after_ms: Some(250.0), ..said("circuit-open") };
        let outcome = refused.outcome();
        assert_eq!((outcome.verdict, outcome.retry_after), (Verdict::Rejected, Some(Duration::from_millis(250))));
        let partly = Marks { retry_after_ms: Some(249.5), brand: Some("RejectedError".into()), ..said("circuit-open") };
        assert_eq!(partly.outcome().retry_after, Some(Duration::from_millis(250)));
        let cut = Marks { brand: Some("TimeoutError".into()), ..said("") };
        assert_eq!(verdict(cut), Verdict::Timeout);
    }
}
