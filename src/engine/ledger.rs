//! The ledger: what happened, counted by stack and key.

use alloc::vec::Vec;

use crate::id::StackId;
use crate::key::{Key, Keyed};
use crate::metrics::Metrics;

#[derive(Debug)]
pub(crate) struct Ledger {
    stacks: Vec<Keyed<Metrics>>,
    /// Where counts go that belong to no stack; nobody reads it.
    nowhere: Metrics,
}

impl Ledger {
    pub const fn new() -> Self {
        Self { stacks: Vec::new(), nowhere: Metrics::NONE }
    }

    pub fn open_stack(&mut self) {
        self.stacks.push(Keyed::default());
    }

    pub fn metrics(&self, stack: StackId, key: Key) -> Option<&Metrics> {
        self.stacks.get(usize::from(stack.number()))?.get(key)
    }

    /// The counts of this stack and key. A newcomer's refusals count with the overflow key's: refusing makes no key.
    pub fn count(&mut self, stack: StackId, key: Key) -> &mut Metrics {
        let key = if key == Key::NEW { Key::OVERFLOW } else { key };
        match self.stacks.get_mut(usize::from(stack.number())) {
            Some(keyed) => keyed.entry(key, Metrics::default),
            None => &mut self.nowhere,
        }
    }

    pub fn forget(&mut self, key: Key) {
        for keyed in &mut self.stacks {
            keyed.forget(key);
        }
    }
}
