//! What a stack is told, as the engine reads it.

use alloc::string::ToString;

use forbear::config::{ConfigReason, OptionKind};
use forbear::{Kind, StackConfig};

use crate::bindings::exports::forbear::resilience::engine::{ConfigError, Problem, RefusedValue};
use crate::bindings::exports::forbear::resilience::types::{PolicySettings, Setting, Value};
use crate::words;

/// Turns the policy on and sets its options, one after the other; says which policy it was.
pub fn apply(config: &mut StackConfig, settings: &PolicySettings) -> Result<Kind, ConfigError> {
    let PolicySettings { policy, options } = settings;
    let kind = words::kind_of(policy).ok_or_else(|| refuse(policy, "", Problem::UnknownPolicy))?;
    let slot = config.slot(kind);
    slot.turn_on();
    for Setting { name, value } in options {
        let option = kind.options().iter().enumerate().find(|(_, option)| option.name == name);
        let (position, option) = option.ok_or_else(|| refuse(policy, name, Problem::UnknownOption))?;
        let number = number(option.kind, value).ok_or_else(|| refuse(policy, name, Problem::WrongKind))?;
        slot.set(position, number).map_err(refused)?;
    }
    Ok(kind)
}

/// The value as the engine's number: milliseconds, a count, a share, a flag, a word's position, NaN for off.
fn number(kind: OptionKind, value: &Value) -> Option<f64> {
    Some(match (kind, value) {
        (_, Value::None) => f64::NAN,
        (OptionKind::Duration, Value::Duration(nanos)) => *nanos as f64 / NANOS_PER_MILLI,
        (OptionKind::Count, Value::Count(count)) => f64::from(*count),
        (OptionKind::Ratio, Value::Ratio(ratio)) => *ratio,
        (OptionKind::Flag, Value::Flag(flag)) => f64::from(u8::from(*flag)),
        (OptionKind::Word(words), Value::Word(word)) => words.iter().position(|known| known == word)? as f64,
        _ => return None,
    })
}

/// What the engine refused, in the units that cross.
pub fn refused(error: forbear::ConfigError) -> ConfigError {
    let option = error.policy.options().get(error.position);
    let unit = if option.is_some_and(|option| option.kind == OptionKind::Duration) { NANOS_PER_MILLI } else { 1.0 };
    let given = (!error.given.is_nan()).then_some(error.given * unit);
    let value = RefusedValue { given, min: error.min * unit, max: error.max * unit };
    let problem = match error.reason {
        ConfigReason::OutOfRange => Problem::OutOfRange(value),
        ConfigReason::Conflict => Problem::Conflict(value),
        ConfigReason::UnknownOption => Problem::UnknownOption,
        ConfigReason::UnknownObject => Problem::UnknownObject,
        ConfigReason::TooMany => Problem::TooMany,
        other => Problem::Other(Some(other.word().to_string())),
    };
    refuse(error.policy.word(), option.map_or("", |option| option.name), problem)
}

/// The error that says that this is wrong.
pub fn refuse(policy: &str, option: &str, problem: Problem) -> ConfigError {
    ConfigError { policy: policy.to_string(), option: option.to_string(), problem }
}

const NANOS_PER_MILLI: f64 = 1e6;
