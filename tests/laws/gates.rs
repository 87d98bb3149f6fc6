//! Gates that are still to come, in small: whatever the contract must carry is here before the real ones are.
//!
//! Each also watches how the engine deals with it, and writes what it must never see into the journal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use forbear::{CallId, Key};

pub use bulkhead::Bulkhead;
pub use spy::Spy;
pub use throttle::Throttle;
pub use turns::Turns;

mod bulkhead;
mod spy;
mod throttle;
mod turns;

/// What the gates of one engine saw.
#[derive(Debug, Default)]
pub struct Journal {
    /// Which law was broken, and how.
    pub faults: Vec<(u8, String)>,
    /// The calls in lines, with the gate and the key.
    pub in_line: BTreeSet<(usize, u16, u64)>,
    /// Who holds what, by gate and note.
    pub holders: BTreeMap<(usize, u32), (u16, u64)>,
    /// What was said to the gates that only watch, in its order.
    pub visits: Vec<(usize, &'static str, u16)>,
}

impl Journal {
    pub fn stands_in_line(&self, call: CallId) -> bool {
        self.in_line.iter().any(|(_, _, id)| *id == call.as_u64())
    }
}

/// A gate's pen.
#[derive(Clone, Debug)]
pub struct Pen {
    pub gate: usize,
    pub journal: Rc<RefCell<Journal>>,
}

impl Pen {
    pub fn fault(&self, law: u8, text: &str) {
        self.journal.borrow_mut().faults.push((law, format!("gate {}: {text}", self.gate)));
    }

    pub fn visited(&self, what: &'static str, key: Key) {
        self.journal.borrow_mut().visits.push((self.gate, what, key.number()));
    }

    pub fn joined(&self, key: Key, call: CallId) {
        if !self.journal.borrow_mut().in_line.insert((self.gate, key.number(), call.as_u64())) {
            self.fault(5, "a call stands in the line twice");
        }
    }

    pub fn left(&self, key: Key, call: CallId) {
        self.journal.borrow_mut().in_line.remove(&(self.gate, key.number(), call.as_u64()));
    }

    pub fn took(&self, note: u32, key: Key, call: CallId) {
        self.journal.borrow_mut().holders.insert((self.gate, note), (key.number(), call.as_u64()));
    }

    pub fn gave_back(&self, note: u32) {
        if self.journal.borrow_mut().holders.remove(&(self.gate, note)).is_none() {
            self.fault(5, "something was given back that nobody held");
        }
    }
}
