//! Slots with a line in front of them, as gates offer them: what the bulkhead and the concurrency limiter have in common.
//! How many slots there are, and what it is called when all are taken, is theirs.

use crate::decision::RefusalReason;
use crate::event::What;
use crate::measure::slots::{Bounds, Slots, Told};
use crate::policy::{Answer, Asker, Cx, Note, Place};
use crate::time::Instant;

/// May this attempt have a slot? Where neither a slot nor a place in line is left, the answer is `full`.
pub(super) fn ask(slots: &Slots, bounds: Bounds, asker: &Asker, now: Instant, full: RefusalReason) -> Answer {
    let reason = match slots.ask(bounds, asker.place.map(|place| place.0), asker.since, now) {
        Told::Pass => return Answer::Pass,
        Told::Wait(at) => return Answer::Wait(at),
        Told::Full => full,
        Told::TooLong => RefusalReason::QueueTimeout,
    };
    // Nobody knows when an attempt will be done.
    Answer::Reject { reason, retry_at: None }
}

/// The attempt takes a slot, and says so in its note with [`HOLDS`].
pub(super) fn take(slots: &mut Slots, bounds: Bounds, asker: &Asker, cx: &mut Cx<'_>) {
    slots.take(asker.place.map(|place| place.0));
    if asker.place.is_some() {
        pass_on(slots, bounds, cx);
        let waited = cx.now.since(asker.since);
        cx.tell(asker.key, || What::Waited { waited });
    }
}

/// Its slot goes back, once.
pub(super) fn release(slots: &mut Slots, bounds: Bounds, note: &mut Note, cx: &mut Cx<'_>) {
    if note.0 & HOLDS != 0 {
        note.0 &= !HOLDS;
        slots.give_back();
        pass_on(slots, bounds, cx);
    }
}

/// It waits, where it waited before if it did.
pub(super) fn join(slots: &mut Slots, asker: &Asker) -> Place {
    Place(slots.join(asker.place.map(|place| place.0), asker.call))
}

/// It waits elsewhere, and lets others pass.
pub(super) fn step_aside(slots: &mut Slots, bounds: Bounds, place: Place, cx: &mut Cx<'_>) {
    slots.step_aside(place.0);
    pass_on(slots, bounds, cx);
}

/// It waits no longer.
pub(super) fn leave(slots: &mut Slots, bounds: Bounds, place: Place, cx: &mut Cx<'_>) {
    slots.leave(place.0);
    pass_on(slots, bounds, cx);
}

/// Whoever can have a slot now is called.
pub(super) fn pass_on(slots: &mut Slots, bounds: Bounds, cx: &mut Cx<'_>) {
    if slots.pass_on(bounds, cx.now) && cx.woken.wants_more() {
        slots.hinted(cx.now).for_each(|call| cx.woken.push(call));
    }
}

/// The bit of a note whose slot has not been given back.
pub(super) const HOLDS: u32 = 1;
