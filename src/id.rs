//! Handles: plain numbers that stand for a call, a stack, a shared object.

use core::fmt;

/// A call's handle: generation · 2²⁰ + index, so that it is exact in an `f64` and a reused slot gives another handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(u64);

impl CallId {
    pub(crate) const MAX_INDEX: u32 = (1 << INDEX_BITS) - 1;

    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        Self(((generation as u64) << INDEX_BITS) | index as u64)
    }

    pub(crate) const fn index(self) -> usize {
        (self.0 & Self::MAX_INDEX as u64) as usize
    }

    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> INDEX_BITS) as u32
    }

    /// As a number, below 2⁵³.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// From a number that [`as_u64`](Self::as_u64) gave; any other number is a handle of no call.
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number & ((1 << (INDEX_BITS + 32)) - 1))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({}#{})", self.index(), self.generation())
    }
}

/// A stack: one configuration of policies, made once and used by many calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(u16);

/// A gate or a budget that several stacks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId(u16);

macro_rules! numbered {
    ($($Id:ident),+) => { $(impl $Id {
        /// As a number.
        #[must_use]
        pub const fn number(self) -> u16 {
            self.0
        }

        /// From a number; one that was never given out stands for nothing.
        #[must_use]
        pub const fn from_number(number: u16) -> Self {
            Self(number)
        }
    })+ };
}

numbered!(StackId, ObjectId);

const INDEX_BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_exact_in_a_double() {
        let last = CallId::new(CallId::MAX_INDEX, u32::MAX);
        assert_eq!(last.as_u64() as f64 as u64, last.as_u64());
        assert_eq!(CallId::from_u64(last.as_u64()), last);
        assert_eq!((last.index(), last.generation()), (CallId::MAX_INDEX as usize, u32::MAX));
        assert_eq!(CallId::from_u64(u64::MAX), last);
    }
}
