//! How the list of policies in policy.rs becomes code: the kinds, the stack's configuration, construction.

/// Declares the policies, outermost first. A line is all that a new policy needs outside its own file.
macro_rules! registry {
    (
        outer { $($(#[$outer_doc:meta])* $Outer:ident = $outer_word:literal, $outer:ident: $Outer_slot:ty;)* }
        gates { $($(#[$gate_doc:meta])* $GateKind:ident = $gate_word:literal, $gate:ident: $module:ident::$Gate:ident;)* }
        inner { $($(#[$inner_doc:meta])* $Inner:ident = $inner_word:literal, $inner:ident: $Inner_slot:ty;)* }
    ) => {
        words! {
            /// The policies, in order of precedence, outermost first.
            pub enum Kind {
                $($(#[$outer_doc])* $Outer = $outer_word,)*
                $($(#[$gate_doc])* $GateKind = $gate_word,)*
                $($(#[$inner_doc])* $Inner = $inner_word,)*
            }
        }

        /// Which policies a stack has, and how each is set. What is `None` is off.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct StackConfig {
            $($(#[$outer_doc])* pub $outer: Option<$Outer_slot>,)*
            $($(#[$gate_doc])* pub $gate: Option<Part<$module::Config>>,)*
            $($(#[$inner_doc])* pub $inner: Option<$Inner_slot>,)*
            /// Gates of your own, shared with the engine before; each stands where its kind stands.
            pub others: alloc::vec::Vec<ObjectId>,
        }

        impl StackConfig {
            /// Everything off.
            pub const OFF: Self = Self {
                $($outer: None,)*
                $($gate: None,)*
                $($inner: None,)*
                others: alloc::vec::Vec::new(),
            };

            /// The place of one policy's settings.
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
                        Some(Part::Own(config)) => Ok(Some(BuiltGate::Own(Box::new($module::$Gate::new(config)?)))),
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

            /// The option's default, as a number; NaN for off.
            #[must_use]
            pub fn default_of(self, option: usize) -> f64 {
                StackConfig::default().slot(self).own().map_or(f64::NAN, |config| config::number(config, option))
            }
        }
    };
}
