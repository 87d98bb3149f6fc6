//! What became of a call, in plain data.

use forbear::event::FieldKind;
use forbear_worker::{Discarded, Done, Error, Failed, Guard, Kind, Report};
use worker::Response;
use worker::wasm_bindgen::JsValue;

use crate::order::{Answer, get};

/// Puts the end of a call in an answer; gives its key.
pub fn tell(answer: &Answer, result: &forbear_worker::Result<Response>) -> Option<String> {
    let report = match result {
        Ok(Done { value, report, .. }) => {
            answer.set("status", value.status_code());
            report
        }
        Err(Failed { error, report }) => {
            answer.set("error", describe_error(error));
            report
        }
    };
    let Report { attempts, elapsed, stop_reason, retry_after, key } = report;
    let told = Answer::default();
    told.set("attempts", *attempts);
    told.set("elapsedMs", elapsed.as_millis() as f64);
    told.set("stopReason", stop_reason.map_or("unguarded", |reason| reason.word()));
    if let Some(wait) = retry_after {
        told.set("retryAfterMs", wait.as_millis() as f64);
    }
    told.set("key", key.as_deref());
    answer.set("report", told.done());
    key.clone()
}

pub fn describe_error(error: &Error) -> JsValue {
    let told = Answer::default();
    match error {
        Error::Left(reason) => return reason.clone(),
        Error::Upstream(error) => return describe(&error.to_js_value()),
        Error::Rejected { reason, policy, retry_after, last, .. } => {
            told.set("name", "RejectedError");
            told.set("reason", reason.word());
            told.set("policy", policy.word());
            told.set("retryAfterMs", retry_after.map(|wait| wait.as_millis() as f64));
            told.set("cause", describe_discarded(last.as_ref()));
        }
        Error::TimedOut { policy, attempt, last } => {
            told.set("name", "TimeoutError");
            told.set("policy", policy.word());
            told.set("attempt", *attempt);
            told.set("cause", describe_discarded(last.as_ref()));
        }
    }
    told.done()
}

fn describe_discarded(last: Option<&Discarded>) -> JsValue {
    let told = Answer::default();
    match last {
        None => return JsValue::UNDEFINED,
        Some(Discarded::Error(error)) => return describe(&error.to_js_value()),
        Some(Discarded::Status(status)) => told.set("status", *status),
        Some(Discarded::TimedOut(policy)) => {
            told.set("name", "TimeoutError");
            told.set("policy", policy.word());
        }
    }
    told.done()
}

pub fn describe(error: &JsValue) -> JsValue {
    if !error.is_object() {
        return error.clone();
    }
    let told = Answer::default();
    for name in ["name", "message", "code", "reason", "policy", "retryAfterMs"] {
        told.set(name, get(error, name));
    }
    told.done()
}

/// What the breaker knows of a key, as the JavaScript package reads it.
pub fn metrics(guard: &Guard, key: Option<&str>) -> JsValue {
    let told = Answer::default();
    let Some(key) = key.and_then(|name| guard.key(name)) else { return told.done() };
    let figures = Kind::Breaker.figures();
    let mut numbers = vec![0.0; figures.len()];
    let known = guard.with_engine(|engine, stack, now| {
        engine.object(stack, Kind::Breaker).is_some_and(|breaker| engine.read(breaker, key, now, &mut numbers))
    });
    if known == Some(true) {
        let breaker = Answer::default();
        for (figure, number) in figures.iter().zip(numbers) {
            match figure.kind {
                FieldKind::Word(words) => breaker.set(figure.name, words[number as usize]),
                _ => breaker.set(figure.name, number),
            }
        }
        told.set("breaker", breaker.done());
    }
    told.done()
}
