//! The counters: metrics of each stack and key, and how much memory they and the state of policies may still take.

use alloc::vec::Vec;

use crate::id::StackId;
use crate::key::{Key, Keyed};
use crate::metrics::Metrics;

#[derive(Debug)]
pub(crate) struct Counters {
    stacks: Vec<StackCounters>,
    /// Where counts go that belong to no stack; nobody reads it.
    nowhere: Metrics,
    /// How many bytes are left.
    room: i64,
}

#[derive(Debug)]
struct StackCounters {
    counts: Keyed<Metrics>,
    /// The bytes of one key in this stack: its counts, and the state of every policy.
    each: u32,
}

impl Counters {
    pub const fn new(room: u32) -> Self {
        Self { stacks: Vec::new(), nowhere: Metrics::NONE, room: room as i64 }
    }

    /// A stack whose policies take so many bytes for each key.
    pub fn open_stack(&mut self, each: u32) {
        self.stacks.push(StackCounters { counts: Keyed::default(), each: each + COUNTS });
    }

    pub fn metrics(&self, stack: StackId, key: Key) -> Option<&Metrics> {
        self.stacks.get(usize::from(stack.number()))?.counts.get(key)
    }

    /// The counts of this stack and key. A newcomer's refusals count with the overflow key's: refusing makes no key.
    pub fn count(&mut self, stack: StackId, key: Key) -> &mut Metrics {
        let key = if key == Key::NEW { Key::OVERFLOW } else { key };
        let Self { stacks, nowhere, room } = self;
        let Some(StackCounters { counts, each }) = stacks.get_mut(usize::from(stack.number())) else { return nowhere };
        counts.entry(key, || {
            // Two keys more or less for each stack: they are everybody's, and never go.
            *room -= if key.can_go() { i64::from(*each) } else { 0 };
            Metrics::NONE
        })
    }

    /// Whether there is no more room.
    pub fn is_full(&self) -> bool {
        self.room < 0
    }

    /// The counts of those stacks go, and leave room.
    pub fn forget(&mut self, key: Key, mut goes: impl FnMut(usize) -> bool) {
        for (stack, StackCounters { counts, each }) in self.stacks.iter_mut().enumerate() {
            if counts.get(key).is_some() && goes(stack) {
                counts.forget(key);
                self.room += i64::from(*each);
            }
        }
    }
}

/// The bytes of one key's counts, with what the allocator adds.
const COUNTS: u32 = 176;
const _: () = const { assert!(size_of::<Metrics>() + 16 <= COUNTS as usize) };
