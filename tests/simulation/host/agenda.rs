//! What is to happen, earliest first; of equal instants what was put down first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use forbear::{AttemptNumber, CallId, HostTime, Outcome};

#[derive(Default)]
pub struct Agenda {
    events: BinaryHeap<Event>,
    /// How many there were.
    count: u64,
}

pub struct Event {
    pub at: HostTime,
    pub call: CallId,
    pub what: What,
    number: u64,
}

pub enum What {
    /// The instant may have come at which the engine wants to be woken.
    Timer,
    /// Another call's verb said that a wake may be worth it.
    Hint,
    /// The upstream is asked about an attempt again.
    GoesOn { attempt: AttemptNumber, stage: u8, note: u32 },
    /// An attempt ends.
    Ends { attempt: AttemptNumber, outcome: Outcome },
}

impl Agenda {
    pub fn put(&mut self, at: HostTime, call: CallId, what: What) {
        self.count += 1;
        self.events.push(Event { at, call, what, number: self.count });
    }

    /// The next event, if it comes by then.
    pub fn next(&mut self, until: HostTime) -> Option<Event> {
        if self.events.peek()?.at > until {
            return None;
        }
        self.events.pop()
    }
}

/// The greatest comes first out of the heap, so the earliest is the greatest.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Event {}
