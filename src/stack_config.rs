//! What a stack is made of: which policies it has, and how each is set.

use alloc::boxed::Box;

use crate::any_gate::AnyGate;
use crate::config::{self, Config, ConfigError, OptionSpec};
use crate::figure::FigureSpec;
use crate::id::ObjectId;
use crate::own_limits::OwnLimits;
// The registry names policies by their modules.
use crate::policy::*;
use crate::time::Duration;

macro_rules! stack_config {
    (
        outer { $($(#[$outer_doc:meta])* $Outer:ident = $outer_word:literal, $outer:ident: $Outer_slot:ty;)* }
        gates { $($(#[$gate_doc:meta])* $GateKind:ident = $gate_word:literal, $gate:ident: $module:ident::$Gate:ident;)* }
        inner { $($(#[$inner_doc:meta])* $Inner:ident = $inner_word:literal, $inner:ident: $Inner_slot:ty;)* }
    ) => {
        /// Which policies a stack has, and how each is set. What is `None` is off.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct StackConfig {
            $($(#[$outer_doc])* pub $outer: Option<$Outer_slot>,)*
            $($(#[$gate_doc])* pub $gate: Option<Part<$module::Config>>,)*
            $($(#[$inner_doc])* pub $inner: Option<$Inner_slot>,)*
            /// Gates of your own, shared with the engine before; each stands where its kind stands.
            pub others: alloc::vec::Vec<ObjectId>,
            #[doc(hidden)]
            pub rest_is_default: crate::more::More,
        }

        impl StackConfig {
            /// Everything off.
            pub const OFF: Self = Self {
                $($outer: None,)*
                $($gate: None,)*
                $($inner: None,)*
                others: alloc::vec::Vec::new(),
                rest_is_default: crate::more::More::TO_COME,
            };

            /// The place of one policy's settings.
            #[inline(never)]
            pub fn slot(&mut self, kind: Kind) -> &mut dyn Slot {
                match kind {
                    $(Kind::$Outer => &mut self.$outer,)*
                    $(Kind::$GateKind => &mut self.$gate,)*
                    $(Kind::$Inner => &mut self.$inner,)*
                }
            }

            /// Builds the gate of this kind, if there is one and it is on.
            ///
            /// # Errors
            /// Its configuration is refused.
            pub(crate) fn build_gate(&self, kind: Kind) -> Result<Option<BuiltGate>, ConfigError> {
                match kind {
                    $(Kind::$GateKind => match self.$gate {
                        None => Ok(None),
                        Some(Part::Shared(object)) => Ok(Some(BuiltGate::Shared(object))),
                        Some(Part::Own(config)) => {
                            let gate = AnyGate::$GateKind(Box::new($module::$Gate::new(config)?));
                            Ok(Some(BuiltGate::Own(gate)))
                        }
                    },)*
                    _ => Ok(None),
                }
            }
        }

        impl Kind {
            /// The policy's options, in the order of their positions.
            #[must_use]
            pub fn options(self) -> &'static [OptionSpec] {
                match self {
                    $(Self::$Outer => $outer::Config::OPTIONS,)*
                    $(Self::$GateKind => $module::Config::OPTIONS,)*
                    $(Self::$Inner => $inner::Config::OPTIONS,)*
                }
            }

            /// What there is to read of this policy about a key, in the order in which it is written.
            #[must_use]
            pub fn figures(self) -> &'static [FigureSpec] {
                match self {
                    Self::Budget => budget::Counts::FIGURES,
                    $(Self::$GateKind => $module::Reading::FIGURES,)*
                    _ => &[],
                }
            }

            /// How many bytes the state of one key takes at most, with what the allocator adds. One number for all hosts and
            /// settings, however wide pointers are, so that all forget alike.
            pub(crate) const fn bytes_of_a_key(self) -> u32 {
                match self {
                    Self::Budget => budget::BYTES_OF_A_KEY,
                    Self::Hedge => hedge::BYTES_OF_A_KEY,
                    $(Self::$GateKind => $module::BYTES_OF_A_KEY,)*
                    _ => 0,
                }
            }

            /// The option's default, as a number; NaN for off.
            #[must_use]
            pub fn default_of(self, option: usize) -> f64 {
                StackConfig::default().slot(self).own().map_or(f64::NAN, |config| config::number(config, option))
            }
        }
    };
}

policies!(stack_config);

impl StackConfig {
    /// Refuses a limit of attempts that is longer than that of the whole call: it would never act, and whoever wrote both meant
    /// something else. For hosts that know that neither is a default; [`Engine::add_stack`](crate::Engine::add_stack) can only
    /// tell where neither is equal to one.
    ///
    /// # Errors
    /// Names the limit of attempts, and the other one as the most that it may be.
    pub fn check_limits(&self) -> Result<(), ConfigError> {
        match (self.deadline, self.attempt_timeout) {
            (Some(deadline), Some(timeout)) if timeout.attempt > deadline.total => {
                let (attempt, total) = (timeout.number(0), deadline.number(0));
                Err(ConfigError::conflict(Kind::AttemptTimeout, 0, attempt, 1.0, total))
            }
            _ => Ok(()),
        }
    }

    /// What ends a call of this stack where the engine does not know it. `timeout` is the call's own limit, which only
    /// shortens the stack's.
    #[must_use]
    pub fn own_limits(&self, timeout: Option<Duration>) -> OwnLimits {
        let total = self.deadline.as_ref().map(|deadline| deadline.total).into_iter().chain(timeout).min();
        OwnLimits { total, attempt: self.attempt_timeout.as_ref().map(|timeout| timeout.attempt) }
    }
}

/// A gate or a budget of one stack's own, or one that several stacks share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<C> {
    /// Made for this stack alone.
    Own(C),
    /// Made before, with [`Engine::share`](crate::Engine::share) or [`Engine::share_budget`](crate::Engine::share_budget).
    Shared(ObjectId),
}

/// One policy's place in a stack's configuration, for hosts that see only numbers.
pub trait Slot {
    /// Turns the policy on, with its defaults where nothing is set.
    fn turn_on(&mut self);

    /// The settings of the stack's own policy, which this turns on where it is off or shared.
    fn own(&mut self) -> Option<&mut dyn Config>;

    /// Turns the policy on as a shared object; `false` where the policy cannot be shared.
    fn share(&mut self, object: ObjectId) -> bool;
}

impl dyn Slot + '_ {
    /// Turns the policy on and sets one option.
    ///
    /// # Errors
    /// Names the option, the number and the range.
    pub fn set(&mut self, option: usize, number: f64) -> Result<(), ConfigError> {
        self.own().map_or(Ok(()), |config| config::set(config, option, number))
    }
}

impl<C: Config + Default> Slot for Option<C> {
    fn turn_on(&mut self) {
        self.own();
    }

    fn own(&mut self) -> Option<&mut dyn Config> {
        Some(self.get_or_insert_default())
    }

    fn share(&mut self, _object: ObjectId) -> bool {
        false
    }
}

impl<C: Config + Default> Slot for Option<Part<C>> {
    fn turn_on(&mut self) {
        if self.is_none() {
            self.own();
        }
    }

    fn own(&mut self) -> Option<&mut dyn Config> {
        if !matches!(self, Some(Part::Own(_))) {
            *self = Some(Part::Own(C::default()));
        }
        match self {
            Some(Part::Own(config)) => Some(config),
            _ => None,
        }
    }

    fn share(&mut self, object: ObjectId) -> bool {
        *self = Some(Part::Shared(object));
        true
    }
}

pub(crate) enum BuiltGate {
    Own(AnyGate),
    Shared(ObjectId),
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::figure::Figures;
    use crate::{Instant, Key};

    fn built(kind: Kind, setting: Option<(usize, f64)>) -> Option<u64> {
        let mut config = StackConfig::default();
        let slot = config.slot(kind);
        slot.turn_on();
        setting.map_or(Ok(()), |(option, number)| slot.set(option, number)).ok()?;
        match config.build_gate(kind).ok()? {
            Some(BuiltGate::Own(gate)) => Some(gate.fingerprint()),
            _ => None,
        }
    }

    #[test]
    fn every_gate_writes_all_figures_that_its_table_lists() {
        for kind in Kind::ALL {
            let mut config = StackConfig::default();
            config.slot(*kind).turn_on();
            let Ok(Some(BuiltGate::Own(gate))) = config.build_gate(*kind) else { continue };
            let mut room = [f64::NAN; 32];
            gate.write_figures(Key::WHOLE, Instant::ORIGIN, &mut Figures::new(&mut room));
            let written = room.iter().take_while(|figure| !figure.is_nan()).count();
            assert_eq!(written, kind.figures().len(), "{}", kind.word());
        }
    }

    #[test]
    fn gates_that_are_configured_differently_have_different_fingerprints() {
        for kind in Kind::ALL {
            let Some(plain) = built(*kind, None) else { continue };
            assert_eq!(built(*kind, None), Some(plain));
            let ends =
                |option: usize| [kind.options()[option].min, kind.options()[option].max].map(|end| (option, end));
            let others =
                (0..kind.options().len()).flat_map(ends).filter(|(option, end)| kind.default_of(*option) != *end);
            let prints: Vec<u64> = others.filter_map(|setting| built(*kind, Some(setting))).collect();
            assert!(!prints.is_empty() && prints.iter().all(|print| *print != plain), "{}", kind.word());
        }
    }
}
