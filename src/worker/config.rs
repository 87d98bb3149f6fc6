//! A guard's configuration: the engine's own, or read from the document that the JavaScript package takes too.

use alloc::format;
use alloc::string::String;
use core::fmt::Display;

use ::worker::wasm_bindgen::JsValue;
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::config::OptionKind;
use crate::registry::Kind;
use crate::stack_config::StackConfig;

use super::document::Value;

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
    /// Names the place in the document, what stands there and what may.
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
    let Value::Section(entries) = document else { return Err("a configuration is an object".into()) };
    let mut config = Config::default();
    for (name, value) in entries {
        match (name.as_str(), value) {
            (_, Value::Nothing) => {}
            ("name", Value::Text(text)) => config.name = Some(text),
            ("name", _) => return Err("name: not a text".into()),
            (_, Value::Flag(false)) if name == TIMEOUT || kind_of(&name).is_some() => {}
            (TIMEOUT, Value::Section(limits)) => read_limits(&mut config.stack, limits)?,
            (TIMEOUT, _) => return Err("timeout: not an object, or false".into()),
            (_, value) => match (kind_of(&name), value) {
                (None, _) => return Err(format!("{name}: no such option")),
                (Some(kind), Value::Section(entries)) => {
                    config.stack.slot(kind).turn_on();
                    read_options(&mut config.stack, kind, &name, "", entries)?;
                }
                (Some(_), _) => return Err(format!("{name}: not an object, or false")),
            },
        }
    }
    Ok(config)
}

/// The policy that has a section of its own in the document.
fn kind_of(section: &str) -> Option<Kind> {
    let elsewhere = [Kind::Deadline, Kind::AttemptTimeout, Kind::Budget];
    Kind::ALL.iter().copied().find(|kind| kind.word() == section && !elsewhere.contains(kind))
}

/// To name a limit turns its policy on; to name none turns on both.
fn read_limits(stack: &mut StackConfig, limits: alloc::vec::Vec<(String, Value)>) -> Result<(), String> {
    let both = [("total", Kind::Deadline), ("attempt", Kind::AttemptTimeout)];
    let mut named = limits.into_iter().filter(|(_, value)| !matches!(value, Value::Nothing)).peekable();
    if named.peek().is_none() {
        for (_, kind) in both {
            stack.slot(kind).turn_on();
        }
    }
    for (name, value) in named {
        let known = both.iter().find(|(limit, _)| *limit == name);
        let Some((_, kind)) = known else { return Err(format!("timeout.{name}: no such option")) };
        if !matches!(value, Value::Flag(false)) {
            set(stack, *kind, TIMEOUT, &name, &value)?;
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
    entries: alloc::vec::Vec<(String, Value)>,
) -> Result<(), String> {
    for (name, value) in entries {
        let option = if below.is_empty() { name } else { format!("{below}.{name}") };
        match value {
            Value::Nothing => {}
            Value::Section(entries) if kind == Kind::Retry && option == BUDGET => {
                stack.slot(Kind::Budget).turn_on();
                read_options(stack, Kind::Budget, "retry.budget", "", entries)?;
            }
            Value::Section(entries) => {
                let has_options =
                    |name: &&str| name.strip_prefix(option.as_str()).is_some_and(|rest| rest.starts_with('.'));
                if !kind.options().iter().map(|spec| spec.name).any(|name| has_options(&name)) {
                    return Err(format!("{section}.{option}: no such section"));
                }
                read_options(stack, kind, section, &option, entries)?;
            }
            value => set(stack, kind, section, &option, &value)?,
        }
    }
    Ok(())
}

fn set(stack: &mut StackConfig, kind: Kind, section: &str, option: &str, value: &Value) -> Result<(), String> {
    let at = |what: &dyn Display| format!("{section}.{option}: {what}");
    let position = kind.options().iter().position(|spec| spec.name == option);
    let Some(position) = position else { return Err(at(&"no such option")) };
    let number = match kind.options().get(position).map(|spec| spec.kind) {
        Some(option) => number_of(option, value).ok_or_else(|| at(&"a value of another kind"))?,
        None => return Err(at(&"no such option")),
    };
    stack.slot(kind).set(position, number).map_err(|error| at(&error))
}

/// The number that crosses to the engine; NaN for off.
fn number_of(kind: OptionKind, value: &Value) -> Option<f64> {
    match (kind, value) {
        (OptionKind::Flag, Value::Flag(flag)) => Some(f64::from(u8::from(*flag))),
        (OptionKind::Flag, _) => None,
        (_, Value::Flag(false)) => Some(f64::NAN),
        (_, Value::Number(number)) if *number == f64::INFINITY => Some(f64::NAN),
        (OptionKind::Duration, value) => value.millis(),
        (OptionKind::Word(words), Value::Text(text)) => {
            words.iter().position(|word| word == text).map(|place| place as f64)
        }
        (OptionKind::Word(_), _) => None,
        (_, Value::Number(number)) => Some(*number),
        _ => None,
    }
    .filter(|number| !number.is_infinite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{attempt_timeout, deadline, retry};
    use crate::{Duration, Part};

    fn parse(json: &str) -> Result<Config, String> {
        serde_json::from_str(json).map_err(|error| alloc::string::ToString::to_string(&error))
    }

    #[test]
    fn a_document_means_what_it_means_in_javascript() {
        let config = parse(
            r#"{"name": "rates", "timeout": {"total": "10s", "attempt": 2000},
                "retry": {"attempts": 3, "backoff": {"base": "50ms"}}, "breaker": {}, "hedge": false}"#,
        )
        .unwrap();
        let mut wanted = StackConfig {
            deadline: Some(deadline::Config { total: Duration::from_secs(10) }),
            attempt_timeout: Some(attempt_timeout::Config { attempt: Duration::from_secs(2) }),
            retry: Some(retry::Config { attempts: 3, ..retry::Config::default() }),
            breaker: Some(Part::Own(crate::policy::circuit_breaker::Config::default())),
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
    fn what_is_wrong_is_named_by_its_place() {
        for (json, place) in [
            (r#"{"retries": {}}"#, "retries: no such option"),
            (r#"{"retry": {"atempts": 3}}"#, "retry.atempts: no such option"),
            (r#"{"retry": {"backoff": {"bse": 3}}}"#, "retry.backoff.bse: no such option"),
            (r#"{"retry": {"attempts": "three"}}"#, "retry.attempts: a value of another kind"),
            (r#"{"retry": {"attempts": 99}}"#, "retry.attempts: retry.attempts: out-of-range (99)"),
            (r#"{"retry": true}"#, "retry: not an object"),
            (r#"{"timeout": {"all": 3}}"#, "timeout.all: no such option"),
            (r#"{"name": 3}"#, "name: not a text"),
            ("[]", "invalid type: sequence"),
        ] {
            let told = parse(json).unwrap_err();
            assert!(told.contains(place), "{json}: {told}");
        }
    }
}
