//! One gate, whichever it is: those of the registry by name, so that what every attempt asks of them is called directly, and
//! a host's own gates behind a table.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

use crate::key::Key;
// The registry names policies by their modules.
use crate::policy::*;
use crate::time::Instant;

macro_rules! any_gate {
    (
        outer { $($_outer:tt)* }
        gates { $($(#[$_doc:meta])* $GateKind:ident = $_word:literal, $_gate:ident: $module:ident::$Gate:ident;)* }
        inner { $($_inner:tt)* }
    ) => {
        pub(crate) enum AnyGate {
            $($GateKind(Box<$module::$Gate>),)*
            Own(Box<dyn Gate>),
        }

        /// The visits of every attempt. Everything else goes through the table.
        impl AnyGate {
            #[inline]
            pub fn ask(&self, asker: &Asker, now: Instant) -> Answer {
                match self {
                    $(Self::$GateKind(gate) => gate.ask(asker, now),)*
                    Self::Own(gate) => gate.ask(asker, now),
                }
            }

            #[inline]
            pub fn refused(&mut self, asker: &Asker, cx: &mut Cx<'_>) {
                match self {
                    $(Self::$GateKind(gate) => gate.refused(asker, cx),)*
                    Self::Own(gate) => gate.refused(asker, cx),
                }
            }

            #[inline]
            pub fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
                match self {
                    $(Self::$GateKind(gate) => gate.take(asker, cx),)*
                    Self::Own(gate) => gate.take(asker, cx),
                }
            }

            #[inline]
            pub fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, cx: &mut Cx<'_>) {
                match self {
                    $(Self::$GateKind(gate) => gate.settle(key, note, ended, cx),)*
                    Self::Own(gate) => gate.settle(key, note, ended, cx),
                }
            }

            #[inline]
            pub fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
                match self {
                    $(Self::$GateKind(gate) => gate.release(key, note, cx),)*
                    Self::Own(gate) => gate.release(key, note, cx),
                }
            }
        }

        impl Deref for AnyGate {
            type Target = dyn Gate;
            fn deref(&self) -> &dyn Gate {
                match self {
                    $(Self::$GateKind(gate) => &**gate,)*
                    Self::Own(gate) => &**gate,
                }
            }
        }

        impl DerefMut for AnyGate {
            fn deref_mut(&mut self) -> &mut dyn Gate {
                match self {
                    $(Self::$GateKind(gate) => &mut **gate,)*
                    Self::Own(gate) => &mut **gate,
                }
            }
        }
    };
}

policies!(any_gate);
