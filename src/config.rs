//! Configuration: parsed once into values that cannot be wrong.
//!
//! Every policy declares its options once, with [`options!`]: the field, its name for users, its default and its range
//! stand in one line, and the typed struct, the numbers that cross the wasm boundary, the generated tables of the docs
//! and of the JavaScript shim all come from there.

use crate::policy::Kind;
use crate::ratio::Ratio;
use crate::time::Duration;

/// One option of one policy.
#[derive(Debug)]
pub struct OptionSpec {
    /// The name users write.
    pub name: &'static str,
    /// What kind of value it takes.
    pub kind: OptionKind,
    /// The least value, in the unit of the kind.
    pub min: f64,
    /// The greatest value, in the unit of the kind.
    pub max: f64,
    /// Whether it may be turned off.
    pub can_be_off: bool,
}

/// What kind of value an option takes, and in what unit it crosses as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// A span of time, in milliseconds.
    Duration,
    /// A whole number.
    Count,
    /// A share of a whole, or a factor; exact to a millionth.
    Ratio,
    /// No (0) or yes (1).
    Flag,
    /// One of these words, by position.
    Word(&'static [&'static str]),
}

/// A value that was refused: which option, what was given, and what may be given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigError {
    /// The policy.
    pub policy: Kind,
    /// The option, by the name users write.
    pub option: &'static str,
    /// What was given, in the unit of the option's kind; NaN where the option was turned off.
    pub given: f64,
    /// The least value allowed here.
    pub min: f64,
    /// The greatest value allowed here.
    pub max: f64,
    /// Why this range.
    pub reason: ConfigReason,
}

words! {
    /// Why a configuration was refused.
    pub enum ConfigReason {
        /// The value is outside the option's own range.
        OutOfRange = "out-of-range",
        /// The value is allowed, but not beside another option's value.
        Conflict = "conflict",
        /// No option has this number.
        UnknownOption = "unknown-option",
        /// A shared object was named that does not exist, or is of another kind.
        UnknownObject = "unknown-object",
        /// There is no room for another stack or shared object.
        TooMany = "too-many",
    }
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { policy, option, given, min, max, reason } = self;
        write!(f, "{}.{option}: {} ({given}); allowed are {min} to {max}", policy.word(), reason.word())
    }
}

impl core::error::Error for ConfigError {}

/// A type that an option's value is kept in.
pub(crate) trait OptionValue: Sized {
    const CAN_BE_OFF: bool = false;
    fn from_number(number: f64) -> Self;
    fn to_number(&self) -> f64;
}

impl OptionValue for Duration {
    fn from_number(millis: f64) -> Self {
        Self::from_nanos((millis * NANOS_PER_MILLI) as u64)
    }
    fn to_number(&self) -> f64 {
        self.as_nanos() as f64 / NANOS_PER_MILLI
    }
}

impl OptionValue for u32 {
    fn from_number(count: f64) -> Self {
        count as Self
    }
    fn to_number(&self) -> f64 {
        f64::from(*self)
    }
}

impl OptionValue for Ratio {
    fn from_number(share: f64) -> Self {
        Self::from_millionths((share * MILLION + 0.5) as u32)
    }
    fn to_number(&self) -> f64 {
        f64::from(self.millionths()) / MILLION
    }
}

impl OptionValue for bool {
    fn from_number(flag: f64) -> Self {
        flag != 0.0
    }
    fn to_number(&self) -> f64 {
        f64::from(u8::from(*self))
    }
}

/// Off crosses as NaN, which is in no range.
impl<T: OptionValue> OptionValue for Option<T> {
    const CAN_BE_OFF: bool = true;
    fn from_number(number: f64) -> Self {
        if number.is_nan() { None } else { Some(T::from_number(number)) }
    }
    fn to_number(&self) -> f64 {
        self.as_ref().map_or(f64::NAN, T::to_number)
    }
}

impl OptionSpec {
    /// Whether the number may be given for this option.
    #[must_use]
    pub fn accepts(&self, number: f64) -> bool {
        if number.is_nan() {
            return self.can_be_off;
        }
        let whole = match self.kind {
            OptionKind::Duration | OptionKind::Ratio => true,
            OptionKind::Count | OptionKind::Flag | OptionKind::Word(_) => number == (number as u64) as f64,
        };
        whole && self.min <= number && number <= self.max
    }

    /// The error that says that this value is outside the option's range.
    #[must_use]
    pub fn refuse(&self, policy: Kind, given: f64) -> ConfigError {
        let Self { name: option, min, max, .. } = *self;
        ConfigError { policy, option, given, min, max, reason: ConfigReason::OutOfRange }
    }

    /// The error that says that beside another option's value only `min..=max` is allowed.
    #[must_use]
    pub fn conflict(&self, policy: Kind, given: f64, min: f64, max: f64) -> ConfigError {
        ConfigError { policy, option: self.name, given, min, max, reason: ConfigReason::Conflict }
    }
}

/// What every policy's configuration can do; written by [`options!`].
pub trait Config: Clone + Default {
    /// The policy it configures.
    const KIND: Kind;
    /// Its options, in order.
    const OPTIONS: &'static [OptionSpec];

    /// The value of the option at this position, as a number; NaN for off and for no such option.
    fn number(&self, option: usize) -> f64;

    /// Sets the option at this position, if the number is in its range.
    ///
    /// # Errors
    /// Names the option, the number and the range.
    fn set(&mut self, option: usize, number: f64) -> Result<(), ConfigError>;

    /// Checks every value against its own range.
    ///
    /// # Errors
    /// Names the first option that is outside its range.
    fn check_ranges(&self) -> Result<(), ConfigError> {
        for (position, spec) in Self::OPTIONS.iter().enumerate() {
            let given = self.number(position);
            if !spec.accepts(given) {
                return Err(spec.refuse(Self::KIND, given));
            }
        }
        Ok(())
    }
}

/// Declares a policy's options: `field: Type as "name", kind, default, least..=greatest;`.
macro_rules! options {
    ($(#[$about:meta])* pub struct $Config:ident for $kind:ident {
        $($(#[$doc:meta])* $field:ident: $Type:ty as $name:literal, $option_kind:expr, $default:expr, $min:literal..=$max:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Config { $($(#[$doc])* pub $field: $Type,)* }

        impl Default for $Config {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::config::Config for $Config {
            const KIND: $crate::policy::Kind = $crate::policy::Kind::$kind;

            const OPTIONS: &'static [$crate::config::OptionSpec] = &[$($crate::config::OptionSpec {
                name: $name,
                kind: $option_kind,
                min: $min,
                max: $max,
                can_be_off: <$Type as $crate::config::OptionValue>::CAN_BE_OFF,
            },)*];

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn number(&self, option: usize) -> f64 {
                let mut position = 0;
                $(
                    if position == option {
                        return $crate::config::OptionValue::to_number(&self.$field);
                    }
                    position += 1;
                )*
                f64::NAN
            }

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn set(&mut self, option: usize, number: f64) -> Result<(), $crate::config::ConfigError> {
                let mut position = 0;
                $(
                    if position == option {
                        let spec = &Self::OPTIONS[position];
                        if !spec.accepts(number) {
                            return Err(spec.refuse(Self::KIND, number));
                        }
                        self.$field = $crate::config::OptionValue::from_number(number);
                        return Ok(());
                    }
                    position += 1;
                )*
                Err($crate::config::ConfigError {
                    policy: Self::KIND,
                    option: "",
                    given: number,
                    min: f64::NAN,
                    max: f64::NAN,
                    reason: $crate::config::ConfigReason::UnknownOption,
                })
            }
        }

        impl $Config {
            /// The options' positions, by field.
            #[allow(dead_code)]
            pub(crate) fn spec(name: &str) -> &'static $crate::config::OptionSpec {
                use $crate::config::Config;
                Self::OPTIONS.iter().find(|spec| spec.name == name).unwrap_or(&$crate::config::NO_OPTION)
            }
        }
    };
}

pub(crate) const NO_OPTION: OptionSpec =
    OptionSpec { name: "", kind: OptionKind::Flag, min: 0.0, max: 0.0, can_be_off: false };

const NANOS_PER_MILLI: f64 = 1e6;
const MILLION: f64 = 1e6;
