//! Configuration: parsed once into values that cannot be wrong.
//!
//! Every policy declares its options once, with `options!`: the field, its name for users, its default and its range
//! stand in one line, and the typed struct, the numbers that cross the wasm boundary, the generated tables of the docs
//! and of the JavaScript shim all come from there.

use alloc::boxed::Box;

use crate::ratio::Ratio;
use crate::registry::Kind;
use crate::snapshot;
use crate::time::Duration;

mod wording;

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

/// What an option's number may be: all of an [`OptionSpec`] that decides anything. Names are only told, and hosts that have
/// words of their own do without ours.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    min: f64,
    max: f64,
    whole: bool,
    can_be_off: bool,
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

/// Why a configuration was refused; its facts are those of [`RefusedValue`].
///
/// They lie in a box of their own, so that every result that may carry them stays small.
#[derive(Clone, PartialEq)]
pub struct ConfigError(Box<RefusedValue>);

/// A value that was refused: which option, what was given, and what may be given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefusedValue {
    /// The policy.
    pub policy: Kind,
    /// The option's position in the policy's list.
    pub position: usize,
    /// What was given, in the unit of the option's kind; NaN where the option was turned off. In place of a shared object,
    /// the code of the kind it is of; −1 where there is none of its number, NaN where there was nothing to be shared.
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
    #[non_exhaustive]
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

impl ConfigError {
    #[cold]
    pub(crate) fn new(policy: Kind, position: usize, given: f64, range: (f64, f64), reason: ConfigReason) -> Self {
        let (min, max) = range;
        Self(Box::new(RefusedValue { policy, position, given, min, max, reason }))
    }

    /// Says that beside another option's value only `min..=max` is allowed.
    pub(crate) fn conflict(policy: Kind, position: usize, given: f64, min: f64, max: f64) -> Self {
        Self::new(policy, position, given, (min, max), ConfigReason::Conflict)
    }

    /// There are more of something than there may be.
    pub(crate) fn too_many(policy: Kind, given: usize, most: usize) -> Self {
        Self::new(policy, NO_OPTION, given as f64, (0.0, most as f64), ConfigReason::TooMany)
    }
}

impl RefusedValue {
    /// The option, by the name users write; empty where it is about none.
    #[must_use]
    pub fn option(&self) -> &'static str {
        self.policy.options().get(self.position).map_or("", |spec| spec.name)
    }
}

impl core::ops::Deref for ConfigError {
    type Target = RefusedValue;
    fn deref(&self) -> &RefusedValue {
        &self.0
    }
}

impl core::error::Error for ConfigError {}

/// A type that an option's value is kept in. Off crosses as NaN, which is in no range.
pub trait OptionValue {
    /// Reads a number that the option's range allows.
    fn set_number(&mut self, number: f64);

    /// The value as a number, in the unit of the option's kind.
    fn number(&self) -> f64;
}

impl OptionValue for Duration {
    fn set_number(&mut self, millis: f64) {
        *self = Self::from_nanos((millis * NANOS_PER_MILLI + 0.5) as u64);
    }
    fn number(&self) -> f64 {
        self.as_nanos() as f64 / NANOS_PER_MILLI
    }
}

impl OptionValue for u32 {
    fn set_number(&mut self, count: f64) {
        *self = count as Self;
    }
    fn number(&self) -> f64 {
        f64::from(*self)
    }
}

impl OptionValue for Ratio {
    fn set_number(&mut self, share: f64) {
        *self = Self::from_millionths((share * MILLION + 0.5) as u32);
    }
    fn number(&self) -> f64 {
        f64::from(self.millionths()) / MILLION
    }
}

impl OptionValue for bool {
    fn set_number(&mut self, flag: f64) {
        *self = flag != 0.0;
    }
    fn number(&self) -> f64 {
        f64::from(u8::from(*self))
    }
}

impl<T: OptionValue + Default> OptionValue for Option<T> {
    fn set_number(&mut self, number: f64) {
        *self = if number.is_nan() {
            None
        } else {
            let mut value = T::default();
            value.set_number(number);
            Some(value)
        };
    }
    fn number(&self) -> f64 {
        self.as_ref().map_or(f64::NAN, T::number)
    }
}

impl OptionSpec {
    /// Whether the number may be given for this option.
    #[must_use]
    pub fn accepts(&self, number: f64) -> bool {
        self.allowed().accepts(number)
    }

    const fn allowed(&self) -> Allowed {
        let Self { kind, min, max, can_be_off, .. } = *self;
        Allowed { min, max, whole: !matches!(kind, OptionKind::Duration | OptionKind::Ratio), can_be_off }
    }
}

impl Allowed {
    fn accepts(&self, number: f64) -> bool {
        if number.is_nan() {
            return self.can_be_off;
        }
        let fits = !self.whole || number == (number as u64) as f64;
        fits && self.min <= number && number <= self.max
    }

    fn refuse(&self, policy: Kind, position: usize, given: f64) -> ConfigError {
        ConfigError::new(policy, position, given, (self.min, self.max), ConfigReason::OutOfRange)
    }
}

/// What may be given for each of these options.
pub(crate) const fn allowed<const COUNT: usize>(specs: &[OptionSpec]) -> [Allowed; COUNT] {
    let mut all = [Allowed { min: 0.0, max: 0.0, whole: false, can_be_off: false }; COUNT];
    let mut position = 0;
    while position < COUNT {
        all[position] = specs[position].allowed();
        position += 1;
    }
    all
}

/// The position of the option that users call so; for constants, since a wrong name does not compile there.
pub(crate) const fn position(specs: &[OptionSpec], name: &str) -> usize {
    let mut position = 0;
    while !equal(specs[position].name.as_bytes(), name.as_bytes()) {
        position += 1;
    }
    position
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// What every policy's configuration can do; written by `options!`.
pub trait Config {
    /// The policy it configures.
    fn kind(&self) -> Kind;

    /// What may be given for each of its options, in order.
    fn allowed(&self) -> &'static [Allowed];

    /// The place of the option at this position.
    fn value(&mut self, option: usize) -> Option<&mut dyn OptionValue>;
}

/// The value of the option at this position, as a number; NaN for off and for no such option.
pub(crate) fn number(config: &mut dyn Config, option: usize) -> f64 {
    config.value(option).map_or(f64::NAN, |value| value.number())
}

/// Sets the option at this position, if the number is in its range.
pub(crate) fn set(config: &mut dyn Config, option: usize, number: f64) -> Result<(), ConfigError> {
    let (policy, allowed) = (config.kind(), config.allowed().get(option));
    let (Some(allowed), Some(value)) = (allowed, config.value(option)) else {
        return Err(ConfigError::new(policy, NO_OPTION, number, (f64::NAN, f64::NAN), ConfigReason::UnknownOption));
    };
    if !allowed.accepts(number) {
        return Err(allowed.refuse(policy, option, number));
    }
    value.set_number(number);
    Ok(())
}

/// Checks every value against its own range.
pub(crate) fn check_ranges(config: &mut dyn Config) -> Result<(), ConfigError> {
    for (option, allowed) in config.allowed().iter().enumerate() {
        let given = number(config, option);
        if !allowed.accepts(given) {
            return Err(allowed.refuse(config.kind(), option, given));
        }
    }
    Ok(())
}

/// Tells two configurations of one policy apart.
pub(crate) fn fingerprint(config: &mut dyn Config) -> u64 {
    let numbers = (0..config.allowed().len()).map(|option| number(config, option));
    snapshot::fingerprint(numbers.map(|number| if number.is_nan() { u64::MAX } else { number.to_bits() }))
}

/// Declares a policy's options: `field: Type as "name", kind, default, least..=greatest;`.
macro_rules! options {
    ($(#[$about:meta])* pub struct $Config:ident for $kind:ident {
        $($(#[$doc:meta])* $field:ident: $Type:ty as $name:literal, $option_kind:expr, $default:expr, $min:literal..=$max:literal;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $Config {
            $($(#[$doc])* pub $field: $Type,)*
            #[doc(hidden)]
            pub rest_is_default: $crate::more::More,
        }

        impl Default for $Config {
            fn default() -> Self {
                Self { $($field: $default,)* rest_is_default: $crate::more::More::TO_COME }
            }
        }

        impl $Config {
            /// The policy it configures.
            pub const KIND: $crate::registry::Kind = $crate::registry::Kind::$kind;

            /// Its options, in order.
            pub const OPTIONS: &'static [$crate::config::OptionSpec] = {
                // One table, however often it is named.
                static OPTIONS: &[$crate::config::OptionSpec] = &[$($crate::config::OptionSpec {
                    name: $name,
                    kind: $option_kind,
                    min: $min,
                    max: $max,
                    can_be_off: $crate::config::can_be_off(stringify!($Type)),
                },)*];
                OPTIONS
            };

            /// The position of the option that users call so.
            #[allow(dead_code)]
            const fn position(name: &str) -> usize {
                $crate::config::position(Self::OPTIONS, name)
            }

            /// The value of the option at this position, as a number; NaN for off and for no such option.
            #[must_use]
            pub fn number(&self, option: usize) -> f64 {
                $crate::config::number(&mut self.clone(), option)
            }

            /// Sets the option at this position, if the number is in its range.
            ///
            /// # Errors
            /// Names the option, the number and the range.
            pub fn set(&mut self, option: usize, number: f64) -> Result<(), $crate::config::ConfigError> {
                $crate::config::set(self, option, number)
            }

            /// Checks every value against its own range.
            ///
            /// # Errors
            /// Names the first option that is outside its range.
            pub fn check_ranges(&mut self) -> Result<(), $crate::config::ConfigError> {
                $crate::config::check_ranges(self)
            }

            /// Tells two configurations apart.
            #[must_use]
            #[allow(dead_code)]
            pub(crate) fn fingerprint(mut self) -> u64 {
                $crate::config::fingerprint(&mut self)
            }
        }

        impl $crate::config::Config for $Config {
            fn kind(&self) -> $crate::registry::Kind {
                Self::KIND
            }

            fn allowed(&self) -> &'static [$crate::config::Allowed] {
                static ALLOWED: [$crate::config::Allowed; $Config::OPTIONS.len()] =
                    $crate::config::allowed($Config::OPTIONS);
                &ALLOWED
            }

            #[allow(unused_assignments)]
            fn value(&mut self, option: usize) -> Option<&mut dyn $crate::config::OptionValue> {
                let mut position = 0;
                $(
                    if position == option {
                        return Some(&mut self.$field);
                    }
                    position += 1;
                )*
                None
            }
        }
    };
}

/// Whether a field of this type can be off: whether it is an `Option`.
pub(crate) const fn can_be_off(type_name: &str) -> bool {
    matches!(type_name.as_bytes(), [b'O', b'p', b't', b'i', b'o', b'n', ..])
}

/// The position of no option.
pub(crate) const NO_OPTION: usize = usize::MAX;
const NANOS_PER_MILLI: f64 = 1e6;
const MILLION: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StackConfig;

    #[test]
    fn every_word_is_set_and_read_by_its_place() {
        for kind in Kind::ALL {
            for (option, spec) in kind.options().iter().enumerate() {
                let OptionKind::Word(words) = spec.kind else { continue };
                for word in 0..words.len() {
                    let mut config = StackConfig::default();
                    config.slot(*kind).set(option, word as f64).unwrap();
                    let own = config.slot(*kind).own().unwrap();
                    assert_eq!(number(own, option), word as f64, "{}.{}", kind.word(), spec.name);
                }
            }
        }
    }

    #[test]
    fn a_time_is_kept_to_the_nearest_nanosecond_and_reads_as_it_was_given() {
        let mut span = Duration::ZERO;
        // Times a million, each is a little less than whole in binary.
        for millis in [4.1, 8.2, 69_624_632.661_021] {
            span.set_number(millis);
            assert_eq!(span.number(), millis);
        }
    }
}
