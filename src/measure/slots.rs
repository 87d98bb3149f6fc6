//! So many at once, and a bounded line for those who come when all slots are taken.

use super::queue::{Line, Waiter};
use crate::id::CallId;
use crate::time::{Duration, Instant};

/// The slots that are taken, and who waits for one.
#[derive(Debug, Default)]
pub struct Slots {
    taken: u32,
    line: Line,
}

/// What is lent on every call.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many slots there are.
    pub slots: u32,
    /// How many may wait.
    pub queue: u32,
    /// How long one may wait.
    pub patience: Option<Duration>,
}

/// What somebody who wants a slot is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is one.
    Pass,
    /// Ask again then.
    Wait(Instant),
    /// All slots are taken, and so are all places in line.
    Full,
    /// It has waited as long as one may.
    TooLong,
}

impl Slots {
    /// Is there a slot for this one? A newcomer passes nobody: it takes only what is left when everybody in line has a
    /// slot. Who has a place leaves those ahead what they were called for.
    #[must_use]
    pub fn ask(&self, bounds: Bounds, place: Option<u32>, since: Instant, now: Instant) -> Told {
        let free = u64::from(self.free(bounds));
        let owed = if place.is_some() { Waiter::is_called } else { Waiter::is_present };
        if self.line.cost_ahead(place, owed, now, free) < free {
            return Told::Pass;
        }
        self.stop(bounds, place, since, now)
    }

    /// There is none.
    #[inline(never)]
    fn stop(&self, bounds: Bounds, place: Option<u32>, since: Instant, now: Instant) -> Told {
        if place.is_none() && self.line.len() >= bounds.queue {
            return Told::Full;
        }
        let timeout = bounds.patience.map_or(Instant::NEVER, |patience| since + patience);
        if timeout <= now {
            return Told::TooLong;
        }
        // Every slot may be free each time, and then somebody must come for it though no hint arrives.
        Told::Wait(timeout.min(self.line.asks_again(place, bounds.slots, MOST_STEPS, now)))
    }

    /// Takes a slot, and leaves the line.
    pub fn take(&mut self, place: Option<u32>) {
        self.taken = self.taken.saturating_add(1);
        if let Some(place) = place {
            self.line.leave(place);
        }
    }

    /// Gives a slot back.
    pub fn give_back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Takes a place in line, or stands in it again.
    pub fn join(&mut self, place: Option<u32>, call: CallId) -> u32 {
        match place {
            Some(place) => {
                self.line.stand(place, Instant::NEVER);
                place
            }
            None => self.line.join(call, 1, Instant::NEVER),
        }
    }

    /// Keeps its place and lets others pass.
    pub fn step_aside(&mut self, place: u32) {
        self.line.step_aside(place);
    }

    /// Leaves the line without a slot.
    pub fn leave(&mut self, place: u32) {
        self.line.leave(place);
    }

    /// After a change: calls as many of those in line as there are slots free; answers whether anybody is to hear of that.
    pub fn pass_on(&mut self, bounds: Bounds, now: Instant) -> bool {
        let free = self.free(bounds);
        let any = free > 0 && self.line.len() > 0;
        if any {
            self.line.call(free, now);
        }
        any
    }

    /// Those worth a hint.
    pub fn hinted(&self, now: Instant) -> impl Iterator<Item = CallId> + '_ {
        self.line.hinted(now).map(|waiter| waiter.call)
    }

    /// How many slots are taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.line.len()
    }

    fn free(&self, bounds: Bounds) -> u32 {
        bounds.slots.saturating_sub(self.taken)
    }
}

/// By how many steps more the last ask again. Ours: a quarter of a second in all.
const MOST_STEPS: u32 = 4;

#[cfg(test)]
mod tests;
