//! A bulkhead in small: slots, a line, a head start.

use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{CallId, Duration, Instant, Key, Keyed, RefusalReason};

use super::Pen;

/// So many at once; some more wait, first in, first out.
#[derive(Debug)]
pub struct Bulkhead {
    pub pen: Pen,
    pub slots: usize,
    pub queue: usize,
    pub queue_timeout: Duration,
    pub until_body: bool,
    lanes: Keyed<Lane>,
    next: u32,
}

#[derive(Debug)]
struct Lane {
    used: usize,
    line: Vec<Waiter>,
    freed_at: Instant,
}

#[derive(Debug)]
struct Waiter {
    place: u32,
    call: CallId,
    aside: bool,
}

impl Bulkhead {
    pub fn new(pen: Pen, slots: usize, queue: usize, queue_timeout: Duration, until_body: bool) -> Self {
        Self { pen, slots, queue, queue_timeout, until_body, lanes: Keyed::default(), next: 0 }
    }

    fn lane(&mut self, key: Key) -> &mut Lane {
        self.lanes.entry(key, || Lane { used: 0, line: Vec::new(), freed_at: Instant::PAST })
    }

    fn serial(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A slot is free, or the head of the line is gone: the first in line has its head start from now on.
    fn hint(&mut self, key: Key, cx: &mut Cx<'_>) {
        let now = cx.now;
        let lane = self.lane(key);
        lane.freed_at = now;
        lane.line.iter().take(HINTS).for_each(|waiter| cx.woken.push(waiter.call));
    }

    fn drop_place(&mut self, key: Key, place: Place) {
        let lane = self.lane(key);
        match lane.line.iter().position(|waiter| waiter.place == place.0) {
            Some(position) => {
                let call = lane.line.remove(position).call;
                self.pen.left(key, call);
            }
            None => self.pen.fault(5, "a place was left that nobody had"),
        }
    }
}

impl Gate for Bulkhead {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let Some(lane) = self.lanes.get(asker.key) else { return Answer::Pass };
        let mine = asker.place.and_then(|place| lane.line.iter().position(|waiter| waiter.place == place.0));
        if asker.place.is_some() && mine.is_none() {
            self.pen.fault(5, "a call asks from a place that it does not have");
        }
        // It may have waited elsewhere before it had to wait here.
        let timeout = asker.since + self.queue_timeout;
        let too_long = Answer::Reject { reason: RefusalReason::QueueTimeout, retry_at: None };
        if mine.is_some() && timeout <= now {
            return too_long;
        }
        let ahead = lane.line.iter().take(mine.unwrap_or(lane.line.len())).filter(|waiter| !waiter.aside).count();
        let head_is_silent = mine.is_some() && now >= lane.freed_at + HEAD_START;
        if lane.used < self.slots && (ahead == 0 || head_is_silent) {
            return Answer::Pass;
        }
        if mine.is_none() && lane.line.len() >= self.queue {
            return Answer::Reject { reason: RefusalReason::BulkheadFull, retry_at: None };
        }
        if timeout <= now {
            return too_long;
        }
        let pause = if ahead < HINTS { NEAR } else { FAR };
        Answer::Wait(timeout.min(now + pause))
    }

    fn take(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        if let Some(place) = asker.place {
            self.drop_place(asker.key, place);
        }
        let (note, slots) = (self.serial(), self.slots);
        let lane = self.lane(asker.key);
        lane.used += 1;
        if lane.used > slots {
            self.pen.fault(3, "more pass than there are slots");
        }
        self.pen.took(note, asker.key, asker.call);
        Note(note)
    }

    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        self.pen.gave_back(note.0);
        let lane = self.lane(key);
        lane.used = lane.used.saturating_sub(1);
        self.hint(key, cx);
    }

    fn join(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Place {
        if let Some(place) = asker.place {
            let line = &mut self.lane(asker.key).line;
            line.iter_mut().filter(|waiter| waiter.place == place.0).for_each(|waiter| waiter.aside = false);
            return place;
        }
        let (place, queue) = (self.serial(), self.queue);
        self.pen.joined(asker.key, asker.call);
        let lane = self.lane(asker.key);
        lane.line.push(Waiter { place, call: asker.call, aside: false });
        if lane.line.len() > queue {
            self.pen.fault(9, "more wait than there are places");
        }
        Place(place)
    }

    fn step_aside(&mut self, key: Key, place: Place, _cx: &mut Cx<'_>) {
        self.lane(key).line.iter_mut().filter(|waiter| waiter.place == place.0).for_each(|waiter| waiter.aside = true);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.drop_place(key, place);
        self.hint(key, cx);
    }

    fn holds_until_body(&self) -> bool {
        self.until_body
    }

    fn is_busy(&self, key: Key, _now: Instant) -> bool {
        self.lanes.get(key).is_some_and(|lane| lane.used > 0 || !lane.line.is_empty())
    }

    fn forget(&mut self, key: Key) {
        if self.is_busy(key, Instant::PAST) {
            self.pen.fault(9, "a busy key was forgotten");
        }
        self.lanes.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        0x4255_4c00 + self.pen.gate as u64
    }

    /// Permits do not outlive a restart.
    fn save(&self, _now: Instant, _out: &mut Writer) {}

    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

const HINTS: usize = 3;
const HEAD_START: Duration = Duration::from_millis(100);
const NEAR: Duration = Duration::from_millis(50);
const FAR: Duration = Duration::from_millis(250);
