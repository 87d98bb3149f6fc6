//! Settings of the gate for WASI 0.2: those of the middleware, without what nobody can do there. That is refused with the
//! reason; to turn it off is no mistake.

use alloc::string::String;
use alloc::vec::Vec;

use forbear::{Kind, StackConfig};

use super::{Choice, HttpSettings, PREFIX, Settings, fit, read_as, wrong};

/// What the gate is told.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSettings {
    /// The policies.
    pub stack: StackConfig,
    /// Whether each origin has state of its own.
    pub by_origin: bool,
    /// Whether it waits for the headers of responses.
    pub waits: bool,
}

/// Reads what a store of configuration has.
///
/// # Errors
/// Says what is wrong, as a sentence for whoever wrote it.
pub fn read<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<GateSettings, String> {
    let mut waits = false;
    let mut rest = Vec::new();
    for (name, given) in pairs {
        let (ours, value) = (name.strip_prefix(PREFIX).unwrap_or(""), given.trim_ascii());
        match (ours, impossible(ours)) {
            ("wait", _) => waits = wait(value)?,
            (_, None) => rest.push((name, given)),
            (_, Some(_)) if value == "off" && !ours.contains('.') => {}
            (_, Some(why)) => return Err(["forbear: ", ours, " = ", value, ": ", why].concat()),
        }
    }
    let choice = if waits { WAITING } else { CHOICE };
    let Settings { stack, http: HttpSettings { by_origin, .. }, .. } = read_as(rest.into_iter(), choice)?;
    let learns = if stack.breaker.is_some() { Kind::Breaker } else { Kind::Throttler };
    if !waits && (stack.breaker.is_some() || stack.throttler.is_some()) {
        return Err(["forbear: ", learns.word(), NOTHING_TO_LEARN].concat());
    }
    Ok(GateSettings { stack, by_origin, waits })
}

/// Whether the engine would take it.
///
/// # Errors
/// As [`read`], and where settings do not fit each other.
pub fn check<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
    fit(read(pairs)?.stack)
}

fn wait(given: &str) -> Result<bool, String> {
    match given {
        "headers" => Ok(true),
        "none" => Ok(false),
        _ => Err(["forbear: wait", &wrong(given, "headers or none")].concat()),
    }
}

fn impossible(name: &str) -> Option<&'static str> {
    match name.split_once('.').map_or(name, |(policy, _)| policy) {
        "retry" | "budget" | "hedge" => Some("on WASI 0.2 nobody can answer with another attempt's response"),
        "bulkhead" | "concurrencyLimiter" => Some("on WASI 0.2 nobody tells a gate when a request has ended"),
        "replay" => Some("on WASI 0.2 a gate sees no bodies, and nothing is sent again"),
        _ => None,
    }
}

const CHOICE: Choice = Choice {
    policies: &[Kind::Deadline, Kind::Throttler, Kind::Breaker, Kind::RateLimiter, Kind::AttemptTimeout],
    usual: &[Kind::Deadline, Kind::AttemptTimeout],
    own: &["wait", "key"],
};
const WAITING: Choice = Choice { usual: &[Kind::Deadline, Kind::Breaker, Kind::AttemptTimeout], ..CHOICE };
const NOTHING_TO_LEARN: &str = ": without wait = headers a gate sees nothing that it could learn from";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::pairs;

    fn settings(text: &str) -> Result<GateSettings, String> {
        let pairs = pairs(text)?;
        read(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    #[test]
    fn without_a_word_it_sets_times_and_does_not_wait() {
        let GateSettings { stack, by_origin, waits } = settings("").unwrap();
        assert!(stack.deadline.is_some() && stack.attempt_timeout.is_some());
        assert!(stack.retry.is_none() && stack.breaker.is_none());
        assert_eq!((by_origin, waits), (true, false));
    }

    #[test]
    fn a_gate_that_waits_has_a_breaker() {
        let GateSettings { stack, waits, .. } = settings("wait = headers").unwrap();
        assert!(stack.breaker.is_some() && waits);
        assert!(settings("wait = headers\nbreaker = off").unwrap().stack.breaker.is_none());
    }

    #[test]
    fn what_it_cannot_do_is_refused_with_the_reason_and_may_be_turned_off() {
        for (given, why) in [
            ("retry = on", "retry = on: on WASI 0.2 nobody can answer with another attempt's response"),
            ("retry.budget = off", "retry.budget = off: on WASI 0.2 nobody can answer with another attempt's response"),
            ("hedge.after = 1s", "hedge.after = 1s: on WASI 0.2 nobody can answer with another attempt's response"),
            ("bulkhead = on", "bulkhead = on: on WASI 0.2 nobody tells a gate when a request has ended"),
            ("replay = 1MiB", "replay = 1MiB: on WASI 0.2 a gate sees no bodies, and nothing is sent again"),
            ("breaker = on", "breaker: without wait = headers a gate sees nothing that it could learn from"),
            ("throttler = on", "throttler: without wait = headers a gate sees nothing that it could learn from"),
            ("wait = body", "wait = body: give headers or none"),
        ] {
            assert_eq!(settings(given).unwrap_err(), ["forbear: ", why].concat());
        }
        assert!(settings("retry = off\nhedge = off\nbulkhead = off\nconcurrencyLimiter = off").is_ok());
        let unknown = settings("retries = 2").unwrap_err();
        let there_are = "there are deadline, throttler, breaker, rateLimiter, attemptTimeout, wait, key";
        assert!(unknown.ends_with(there_are), "{unknown}");
    }

    #[test]
    fn what_others_keep_in_the_same_store_is_theirs() {
        assert!(read([("wait", "for it"), ("retry", "on")].into_iter()).is_ok());
    }
}
