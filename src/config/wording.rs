//! The words for values that cannot be. Whoever has words of their own does without these.

use core::fmt;

use crate::registry::Kind;

use super::{ConfigError, ConfigReason, OptionKind, OptionSpec, RefusedValue};

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusedValue { policy, position, given, min, max, reason } = **self;
        let word = policy.word();
        if let Some(spec) = policy.options().get(position) {
            let (given, expected) = (Shown(spec.kind, given), Expected::here(spec, min, max, !given.is_nan()));
            if policy == Kind::Budget && min.to_bits() == max.to_bits() {
                return write!(
                    f,
                    "{word}.{}: {given} is not allowed beside this kind, which does not read it",
                    spec.name
                );
            }
            let beside = match (reason, policy) {
                (ConfigReason::Conflict, Kind::AttemptTimeout) => " beside deadline.total",
                (ConfigReason::Conflict, _) => " beside the other options",
                _ => "",
            };
            return write!(f, "{word}.{}: {given} is not allowed{beside}; expected {expected}", spec.name);
        }
        match reason {
            ConfigReason::TooMany => {
                let what = if policy == Kind::Deadline { "guards" } else { "policies" };
                write!(f, "too many {what} ({given}); there may be {max}: make guards once, not with every call")
            }
            ConfigReason::UnknownObject => match Kind::ALL.get(given as usize).filter(|_| given >= 0.0) {
                Some(kind) => write!(f, "{word}: what was given to be shared is a {}", kind.word()),
                None if !given.is_nan() => f.write_str("there is no such shared object"),
                None if policy.figures().is_empty() => write!(f, "{word}: this policy cannot be shared"),
                None => write!(f, "{word}: the configuration has none of its own that could be shared"),
            },
            _ => write!(f, "{word}: it has no option of this number"),
        }
    }
}

/// As it reads: whoever unwraps a result reads this.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl OptionSpec {
    /// What may be given in a document such as the JavaScript package takes, as it reads: `1ms to 24h (a number of ms, …)`.
    pub fn expected_in_document(&self) -> impl fmt::Display {
        let spans = r#" (a number of ms, or "250ms", "10s", "2m", "1h")"#;
        Expected { spec: self, min: self.min, max: self.max, spans, off: ", or false" }
    }
}

/// What may be given for an option.
struct Expected<'a> {
    spec: &'a OptionSpec,
    min: f64,
    max: f64,
    /// How spans are written, and what stands for off; empty where nothing is to be said of it.
    spans: &'static str,
    off: &'static str,
}

impl<'a> Expected<'a> {
    fn here(spec: &'a OptionSpec, min: f64, max: f64, may_be_off: bool) -> Self {
        Self { spec, min, max, spans: "", off: if may_be_off { ", or off" } else { "" } }
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, min, max, spans, off } = self;
        let (least, most) = (Shown(spec.kind, *min), Shown(spec.kind, *max));
        match spec.kind {
            OptionKind::Flag => f.write_str("true or false")?,
            OptionKind::Word(words) => write!(f, "one of {}", Listed(words))?,
            OptionKind::Duration => write!(f, "{least} to {most}{spans}")?,
            OptionKind::Count => write!(f, "a whole number from {least} to {most}")?,
            OptionKind::Ratio => write!(f, "a number from {least} to {most}")?,
        }
        f.write_str(if spec.can_be_off { off } else { "" })
    }
}

/// A number of an option, as it reads.
struct Shown(OptionKind, f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, number) = *self;
        match kind {
            _ if number.is_nan() => f.write_str("off"),
            OptionKind::Duration => {
                let fits = |(_, length): &&(&str, f64)| number > 0.0 && number % length == 0.0;
                let (unit, length) = UNITS.iter().find(fits).unwrap_or(&("ms", 1.0));
                write!(f, "{}{unit}", number / length)
            }
            _ => number.fmt(f),
        }
    }
}

/// Names, one after the other.
struct Listed<'a>(&'a [&'a str]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// In milliseconds, the largest first.
const UNITS: [(&str, f64); 3] = [("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)];

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use crate::policy::{attempt_timeout, budget, circuit_breaker, deadline, retry};
    use crate::{Duration, Engine, Kind, MAX_STACKS, ObjectId, Part, StackConfig};

    fn refused(config: StackConfig) -> String {
        Engine::default().add_stack(config).unwrap_err().to_string()
    }

    #[test]
    fn a_refused_value_is_named_with_its_place_and_its_range() {
        let deadline = Some(deadline::Config { total: Duration::ZERO, ..Default::default() });
        assert_eq!(
            refused(StackConfig { deadline, ..StackConfig::OFF }),
            "deadline.total: 0ms is not allowed; expected 1ms to 24h"
        );
        let attempt_timeout =
            Some(attempt_timeout::Config { attempt: Duration::from_secs(90_000), ..Default::default() });
        assert!(refused(StackConfig { attempt_timeout, ..StackConfig::OFF }).contains("attempt: 25h is not allowed"));
        let retry = Some(retry::Config { attempts: 99, ..Default::default() });
        assert_eq!(
            refused(StackConfig { retry, ..StackConfig::OFF }),
            "retry.attempts: 99 is not allowed; expected a whole number from 1 to 15"
        );
        let breaker = circuit_breaker::Config { min_calls: 500, ..Default::default() };
        let told = refused(StackConfig { breaker: Some(Part::Own(breaker)), ..StackConfig::OFF });
        assert!(told.starts_with("breaker.minCalls: 500 is not allowed beside the other options; expected"), "{told}");
    }

    #[test]
    fn attempts_that_may_take_longer_than_their_call_are_refused_but_for_defaults() {
        let with = |attempt: Duration, total: Duration| StackConfig {
            deadline: Some(deadline::Config { total, ..Default::default() }),
            attempt_timeout: Some(attempt_timeout::Config { attempt, ..Default::default() }),
            ..StackConfig::OFF
        };
        let secs = Duration::from_secs;
        assert_eq!(
            refused(with(secs(5), secs(1))),
            "attemptTimeout.attempt: 5s is not allowed beside deadline.total; expected 1ms to 1s"
        );
        let (attempt, total) = (attempt_timeout::Config::default().attempt, deadline::Config::default().total);
        for config in [with(secs(1), secs(1)), with(attempt, secs(1)), with(secs(60), total), with(attempt, total)] {
            assert!(Engine::default().add_stack(config).is_ok());
        }
        assert!(with(attempt, secs(1)).check_limits().is_err(), "for who knows that both were written");
    }

    #[test]
    fn off_where_it_may_not_be_is_called_so() {
        let breaker = circuit_breaker::Config { window_calls: None, window: None, ..Default::default() };
        let told = refused(StackConfig { breaker: Some(Part::Own(breaker)), ..StackConfig::OFF });
        assert!(told.contains(": off is not allowed beside the other options"), "{told}");
        assert!(!told.contains("or off") && !told.contains("NaN"), "{told}");
    }

    #[test]
    fn an_option_that_a_budgets_kind_does_not_read_is_called_so() {
        let budget = budget::Config { max: Some(7), ..Default::default() };
        let told = refused(StackConfig { budget: Some(Part::Own(budget)), ..StackConfig::OFF });
        assert_eq!(told, "budget.max: 7 is not allowed beside this kind, which does not read it");
    }

    #[test]
    fn too_many_guards_are_called_so() {
        let mut engine = Engine::default();
        for _ in 0..MAX_STACKS {
            engine.add_stack(StackConfig::OFF).unwrap();
        }
        let told = engine.add_stack(StackConfig::OFF).unwrap_err().to_string();
        assert_eq!(told, "too many guards (257); there may be 256: make guards once, not with every call");
    }

    #[test]
    fn what_is_wrong_with_something_shared_is_said() {
        let mut engine = Engine::default();
        let mut share = |config: StackConfig, kind| engine.share_from(&config, kind).map_err(|error| error.to_string());
        let retry = StackConfig { retry: Some(Default::default()), ..StackConfig::OFF };
        assert_eq!(share(retry, Kind::Retry).unwrap_err(), "retry: this policy cannot be shared");
        assert_eq!(
            share(StackConfig::OFF, Kind::Breaker).unwrap_err(),
            "breaker: the configuration has none of its own that could be shared"
        );
        let breaker = StackConfig { breaker: Some(Part::Own(Default::default())), ..StackConfig::OFF };
        let breaker = share(breaker, Kind::Breaker).unwrap();
        let budget = StackConfig { budget: Some(Part::Own(Default::default())), ..StackConfig::OFF };
        let budget = share(budget, Kind::Budget).unwrap();
        let mut refused = |config| engine.add_stack(config).unwrap_err().to_string();
        let throttler = |object| StackConfig { throttler: Some(Part::Shared(object)), ..StackConfig::OFF };
        assert_eq!(refused(throttler(breaker)), "throttler: what was given to be shared is a breaker");
        assert_eq!(refused(throttler(budget)), "throttler: what was given to be shared is a budget");
        let wrong = StackConfig { budget: Some(Part::Shared(breaker)), ..StackConfig::OFF };
        assert_eq!(refused(wrong), "budget: what was given to be shared is a breaker");
        let nowhere = ObjectId::from_number(9);
        assert_eq!(refused(throttler(nowhere)), "there is no such shared object");
        let others = StackConfig { others: alloc::vec![nowhere], ..StackConfig::OFF };
        assert_eq!(refused(others), "there is no such shared object");
    }
}
