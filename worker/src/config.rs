//! A guard's configuration: the engine's own, or read from the document that the JavaScript package takes too.

use std::fmt::Display;

use forbear::config::OptionKind;
use forbear::{Engine, Kind, StackConfig};
use serde::de::{Deserialize, Deserializer, Error as _};
use wasm_bindgen::JsValue;

use crate::document::Value;

/// What a guard is made of.
///
/// Of a [`StackConfig`], or deserialized from a document as docs/javascript.md describes it:
/// `{ name: "rates", timeout: { total: "10s" }, retry: { attempts: 3 } }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The stack's name, which events carry.
    pub name: Option<String>,
    /// Its policies.
    pub stack: StackConfig,
}

impl Config {
    /// Reads a JavaScript value.
    ///
    /// # Errors
    /// Names the place in the document, what stands there and what may: `timeout.total: "10 parsecs" is not allowed; expected
    /// 1ms to 24h …`.
    pub fn from_js(document: &JsValue) -> Result<Self, serde_wasm_bindgen::Error> {
        serde_wasm_bindgen::from_value(document.clone())
    }
}

impl From<StackConfig> for Config {
    fn from(stack: StackConfig) -> Self {
        Self { name: None, stack }
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Where the deadline's and the attempt timeout's options stand.
const TIMEOUT: &str = "timeout";
/// The budget's section, within retry's.
const BUDGET: &str = "budget";

fn read(document: Value) -> Result<Config, String> {
    let Value::Section(entries) = document else { return Err(wrong("configuration", &document, "an object")) };
    let mut config = Config::default();
    for (name, value) in entries {
        match (name.as_str(), value) {
            (_, Value::Nothing) => {}
            ("name", Value::Text(text)) => config.name = Some(text),
            ("name", value) => return Err(wrong("name", &value, "a text")),
            (TIMEOUT, Value::Flag(false)) => {}
            (TIMEOUT, Value::Section(limits)) => read_limits(&mut config.stack, limits)?,
            (TIMEOUT, value) => return Err(wrong(TIMEOUT, &value, SECTION)),
            (_, value) => match (kind_of(&name), value) {
                (None, _) => return Err(unknown(&name, &sections())),
                (Some(_), Value::Flag(false)) => {}
                (Some(kind), Value::Section(entries)) => {
                    config.stack.slot(kind).turn_on();
                    read_options(&mut config.stack, kind, &name, "", entries)?;
                }
                (Some(_), value) => return Err(wrong(&name, &value, SECTION)),
            },
        }
    }
    // A document shares nothing, so that any engine can tell whether its values go together.
    let checked = config.stack.check_limits().and_then(|()| Engine::default().add_stack(config.stack.clone()));
    checked.map_err(|error| match error.policy {
        Kind::Budget => format!("retry.{error}"),
        Kind::AttemptTimeout => {
            error.to_string().replace("attemptTimeout.", "timeout.").replace("deadline.", "timeout.")
        }
        _ => error.to_string(),
    })?;
    Ok(config)
}

/// The policy that has a section of its own in the document.
fn kind_of(section: &str) -> Option<Kind> {
    let elsewhere = [Kind::Deadline, Kind::AttemptTimeout, Kind::Budget];
    Kind::ALL.iter().copied().find(|kind| kind.word() == section && !elsewhere.contains(kind))
}

/// What a document may have.
fn sections() -> Vec<&'static str> {
    let of_policies = Kind::WORDS.iter().copied().filter(|word| kind_of(word).is_some());
    ["name", TIMEOUT].into_iter().chain(of_policies).collect()
}

/// To name a limit turns its policy on; to name none turns on both.
fn read_limits(stack: &mut StackConfig, limits: Vec<(String, Value)>) -> Result<(), String> {
    let both = [("total", Kind::Deadline), ("attempt", Kind::AttemptTimeout)];
    let mut named = limits.into_iter().filter(|(_, value)| !matches!(value, Value::Nothing)).peekable();
    if named.peek().is_none() {
        for (_, kind) in both {
            stack.slot(kind).turn_on();
        }
    }
    for (name, value) in named {
        let path = format!("{TIMEOUT}.{name}");
        let known = both.iter().find(|(limit, _)| *limit == name);
        let Some((_, kind)) = known else { return Err(unknown(&path, &both.map(|(limit, _)| limit))) };
        if !matches!(value, Value::Flag(false)) {
            set(stack, *kind, &path, &name, &value)?;
        }
    }
    Ok(())
}

/// Options may lie in sections below their policy's: `backoff: { base: 50 }` is the option `backoff.base`.
fn read_options(
    stack: &mut StackConfig,
    kind: Kind,
    section: &str,
    below: &str,
    entries: Vec<(String, Value)>,
) -> Result<(), String> {
    for (name, value) in entries {
        let known = names_below(kind, below);
        let (path, option) = (format!("{section}.{name}"), format!("{below}{name}"));
        let inner = format!("{option}.");
        let has_options = !names_below(kind, &inner).is_empty();
        match value {
            Value::Nothing => {}
            _ if !known.contains(&name.as_str()) => return Err(unknown(&path, &known)),
            Value::Section(entries) if kind == Kind::Retry && option == BUDGET => {
                stack.slot(Kind::Budget).turn_on();
                read_options(stack, Kind::Budget, &path, "", entries)?;
            }
            Value::Section(entries) if has_options => read_options(stack, kind, &path, &inner, entries)?,
            Value::Flag(false) if has_options => {}
            value if has_options => return Err(wrong(&path, &value, SECTION)),
            value => set(stack, kind, &path, &option, &value)?,
        }
    }
    Ok(())
}

/// The names that a policy's options have behind this beginning, up to their next dot.
fn names_below(kind: Kind, beginning: &str) -> Vec<&'static str> {
    let rest = kind.options().iter().filter_map(|spec| spec.name.strip_prefix(beginning));
    let mut names: Vec<&str> = rest.filter_map(|rest| rest.split('.').next()).collect();
    names.dedup();
    names
}

fn set(stack: &mut StackConfig, kind: Kind, path: &str, option: &str, value: &Value) -> Result<(), String> {
    let found = kind.options().iter().enumerate().find(|(_, spec)| spec.name == option);
    let Some((position, spec)) = found else { return Err(unknown(path, &names_below(kind, ""))) };
    match number_of(spec.kind, value).filter(|number| spec.accepts(*number)) {
        Some(number) => stack.slot(kind).set(position, number).map_err(|error| format!("{path}: {error}")),
        None if option == BUDGET => Err(wrong(path, value, SECTION)),
        None => Err(wrong(path, value, spec.expected_in_document())),
    }
}

/// The number that crosses to the engine; NaN for off.
fn number_of(kind: OptionKind, value: &Value) -> Option<f64> {
    match (kind, value) {
        (OptionKind::Flag, Value::Flag(flag)) => return Some(f64::from(u8::from(*flag))),
        (OptionKind::Flag, _) => return None,
        (_, Value::Flag(false)) => return Some(f64::NAN),
        (_, Value::Number(number)) if *number == f64::INFINITY => return Some(f64::NAN),
        (OptionKind::Duration, value) => value.millis(),
        (OptionKind::Word(words), Value::Text(text)) => {
            words.iter().position(|word| word == text).map(|place| place as f64)
        }
        (OptionKind::Word(_), _) => None,
        (_, Value::Number(number)) => Some(*number),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

// The words are those of the JavaScript package (js/src/config/wording.ts).

fn wrong(path: &str, value: &Value, expected: impl Display) -> String {
    format!("{path}: {value} is not allowed; expected {expected}")
}

fn unknown(path: &str, known: &[&str]) -> String {
    format!("{path}: unknown; known are {}", known.join(", "))
}

const SECTION: &str = "an object, or false";

#[cfg(test)]
mod tests {
    use super::*;
    use forbear::policy::{attempt_timeout, deadline, retry};
    use forbear::{Duration, Part};

    fn parse(json: &str) -> Result<Config, String> {
        serde_json::from_str(json).map_err(|error| ToString::to_string(&error))
    }

    #[test]
    fn a_document_means_what_it_means_in_javascript() {
        let config = parse(
            r#"{"name": "rates", "timeout": {"total": "10s", "attempt": 2000},
                "retry": {"attempts": 3, "backoff": {"base": "50ms"}}, "breaker": {}, "hedge": false}"#,
        )
        .unwrap();
        let mut wanted = StackConfig {
            deadline: Some(deadline::Config { total: Duration::from_secs(10), ..Default::default() }),
            attempt_timeout: Some(attempt_timeout::Config { attempt: Duration::from_secs(2), ..Default::default() }),
            retry: Some(retry::Config { attempts: 3, ..retry::Config::default() }),
            breaker: Some(Part::Own(forbear::policy::circuit_breaker::Config::default())),
            ..StackConfig::default()
        };
        let base = Kind::Retry.options().iter().position(|spec| spec.name == "backoff.base").unwrap();
        wanted.slot(Kind::Retry).set(base, 50.0).unwrap();
        assert_eq!(config, Config { name: Some("rates".into()), stack: wanted });
    }

    #[test]
    fn naming_one_limit_turns_on_that_one_and_naming_none_turns_on_both() {
        let on = |json| {
            let StackConfig { deadline, attempt_timeout, .. } = parse(json).unwrap().stack;
            (deadline.is_some(), attempt_timeout.is_some())
        };
        assert_eq!(on(r#"{"timeout": {"attempt": 100}}"#), (false, true));
        assert_eq!(on(r#"{"timeout": {"total": "1s", "attempt": false}}"#), (true, false));
        assert_eq!(on(r#"{"timeout": {}}"#), (true, true));
        assert_eq!(on(r#"{"timeout": false}"#), (false, false));
    }

    #[test]
    fn a_budget_is_a_section_of_retrys_or_off() {
        let off = parse(r#"{"retry": {"budget": false}}"#).unwrap().stack;
        assert_eq!(off.budget, None);
        let on = parse(r#"{"retry": {"budget": {"ratio": 0.5}}}"#).unwrap().stack;
        assert!(matches!(on.budget, Some(Part::Own(_))));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place_with_what_stands_there_and_what_may() {
        let spans = r#" (a number of ms, or "250ms", "10s", "2m", "1h")"#;
        for (json, told) in [
            (
                r#"{"timeout": {"total": "10 parsecs"}}"#,
                r#"timeout.total: "10 parsecs" is not allowed; expected 1ms to 24h"#,
            ),
            (r#"{"timeout": {"total": -1}}"#, "timeout.total: -1 is not allowed; expected 1ms to 24h"),
            (r#"{"timeout": {"total": -1}}"#, spans),
            (
                r#"{"retry": {"attempts": "3"}}"#,
                r#"retry.attempts: "3" is not allowed; expected a whole number from 1 to 15"#,
            ),
            (
                r#"{"retry": {"attempts": 30}}"#,
                "retry.attempts: 30 is not allowed; expected a whole number from 1 to 15",
            ),
            (r#"{"retry": {"attempts": {}}}"#, "retry.attempts: an object is not allowed; expected a whole number"),
            (r#"{"retry": {"attempts": []}}"#, "retry.attempts: an array is not allowed; expected a whole number"),
            (
                r#"{"retry": {"backoff": {"jitter": "Full"}}}"#,
                r#"retry.backoff.jitter: "Full" is not allowed; expected one of none, full, equal, decorrelated"#,
            ),
            (r#"{"retry": {"budget": 3}}"#, "retry.budget: 3 is not allowed; expected an object, or false"),
            (r#"{"retry": {"backoff": 3}}"#, "retry.backoff: 3 is not allowed; expected an object, or false"),
            (r#"{"bulkhead": {"release": "tail"}}"#, r#"bulkhead.release: "tail" is not allowed; expected one of "#),
            (r#"{"breaker": {"consecutiveFailures": 0}}"#, ", or false"),
            (r#"{"retry": true}"#, "retry: true is not allowed; expected an object, or false"),
            (r#"{"timeout": 3}"#, "timeout: 3 is not allowed; expected an object, or false"),
            (r#"{"name": 3}"#, "name: 3 is not allowed; expected a text"),
            ("[]", "configuration: an array is not allowed; expected an object"),
        ] {
            let all = parse(json).unwrap_err();
            assert!(all.contains(told), "{json}: {all}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_told_where_it_is_read() {
        let budget = r#"{"retry": {"budget": {"kind": "wallet", "ratio": 0.3}}}"#;
        assert!(parse(budget).unwrap_err().starts_with("retry.budget.ratio: 0.3 is not allowed beside this kind"));
        let limits = r#"{"timeout": {"attempt": "10s", "total": "1s"}}"#;
        assert_eq!(
            parse(limits).unwrap_err(),
            "timeout.attempt: 10s is not allowed beside timeout.total; expected 1ms to 1s"
        );
        let breaker = r#"{"breaker": {"minCalls": 500}}"#;
        assert!(
            parse(breaker).unwrap_err().starts_with("breaker.minCalls: 500 is not allowed beside the other options")
        );
    }

    #[test]
    fn an_unknown_name_is_told_beside_those_there_are() {
        for (json, told) in [
            (r#"{"deadline": {}}"#, "deadline: unknown; known are name, timeout, retry, hedge, throttler, breaker, "),
            (r#"{"retry": {"atempts": 3}}"#, "retry.atempts: unknown; known are attempts, backoff, "),
            (r#"{"retry": {"backoff": {"bse": 3}}}"#, "retry.backoff.bse: unknown; known are base, "),
            (r#"{"retry": {"budget": {"rate": 3}}}"#, "retry.budget.rate: unknown; known are kind, "),
            (r#"{"retry": {"backoff.base": 3}}"#, "retry.backoff.base: unknown"),
            (r#"{"timeout": {"all": 3}}"#, "timeout.all: unknown; known are total, attempt"),
        ] {
            let all = parse(json).unwrap_err();
            assert!(all.starts_with(told), "{json}: {all}");
        }
    }

    #[test]
    fn a_number_that_is_none_turns_nothing_off() {
        let windows = Value::Section(vec![("windowCalls".into(), Value::Number(f64::NAN))]);
        let told = read(Value::Section(vec![("breaker".into(), windows)])).unwrap_err();
        assert!(told.starts_with("breaker.windowCalls: NaN is not allowed; expected a whole number"), "{told}");
    }
}
