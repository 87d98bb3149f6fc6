//! A line: who waits at one gate for one key, first in, first out, in places that are kept.
//!
//! Nobody is served from here. Whoever waits asks again, on a timer of its own, on a hint, or never: its host may be
//! dead. So being first is a head start and no reservation. A waiter is *called* when its turn comes. For
//! [`HEAD_START`] what it waited for is its own; then it may be passed by whoever stands behind it and asks; and after
//! [`SILENCE`] newcomers need not wait for it either. It keeps its place all the same, and is as good as anybody as soon
//! as it is heard of. A waiter that could go here but waits elsewhere steps *aside*: it keeps its place, and nobody
//! behind it waits for it.
//!
//! Places are nodes of a list in one vector, and vacant ones are used again: joining and leaving take the same time
//! however long the line is. A line that is empty gives back what more than a few places took.

use alloc::vec::Vec;

use crate::id::CallId;
use crate::time::{Duration, Instant};

/// A line of places.
#[derive(Debug)]
pub struct Line {
    places: Vec<Waiter>,
    first: u32,
    last: u32,
    /// The first of the vacant places; the others hang on its `behind`.
    vacant: u32,
    taken: u32,
    /// What those who stand in line cost together.
    standing: u64,
    /// How far [`Line::call`] has come, so that calling again at the same instant goes on from there.
    calling: Calling,
}

/// How far calling has come at one instant.
#[derive(Clone, Copy, Debug)]
struct Calling {
    at: Instant,
    /// How many of those before `next` are called.
    called: u32,
    /// Who comes next.
    next: u32,
}

/// Who stands at a place.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// The call.
    pub call: CallId,
    /// When its turn comes, or came: never while that is not known.
    pub turn: Instant,
    /// When it is heard of at the latest, if it lives.
    asks: Instant,
    /// How much of what there is it needs.
    pub cost: u32,
    stand: Stand,
    before: u32,
    behind: u32,
    /// What those cost together who joined before it, whatever became of them; counted from when the line was empty last.
    joined_before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    InLine,
    Aside,
    Vacant,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            first: NOBODY,
            last: NOBODY,
            vacant: NOBODY,
            taken: 0,
            standing: 0,
            calling: Calling::NOWHERE,
        }
    }
}

impl Waiter {
    /// Whether newcomers wait for it: it stands here, and has been heard of in time.
    #[must_use]
    pub fn is_present(&self, now: Instant) -> bool {
        self.stand == Stand::InLine && now < self.turn + SILENCE
    }

    /// Whether what it waited for is its own: its turn is known, and its head start is not over.
    #[must_use]
    pub fn is_called(&self, now: Instant) -> bool {
        self.stand == Stand::InLine && self.turn != Instant::NEVER && now < self.turn + HEAD_START
    }
}

impl Calling {
    const NOWHERE: Self = Self { at: Instant::NEVER, called: 0, next: NOBODY };
}

impl Line {
    /// How many places are taken, whatever for.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.taken
    }

    /// Takes the last place.
    pub fn join(&mut self, call: CallId, cost: u32, turn: Instant) -> u32 {
        let before = self.last;
        let joined_before =
            self.places.get(before as usize).map_or(0, |last| last.joined_before.saturating_add(u64::from(last.cost)));
        let waiter =
            Waiter { call, turn, asks: turn, cost, stand: Stand::InLine, before, behind: NOBODY, joined_before };
        let place = match self.places.get_mut(self.vacant as usize) {
            Some(vacant) => {
                let place = self.vacant;
                self.vacant = vacant.behind;
                *vacant = waiter;
                place
            }
            None => {
                self.places.push(waiter);
                (self.places.len() - 1) as u32
            }
        };
        *self.behind_of(waiter.before) = place;
        if self.calling.next == NOBODY {
            self.calling.next = place;
        }
        self.last = place;
        self.taken += 1;
        self.standing = self.standing.saturating_add(u64::from(cost));
        place
    }

    /// The waiter has been heard of and goes on waiting; whoever stood aside stands in line again.
    pub fn stand(&mut self, place: u32, turn: Instant) {
        self.calling = Calling::NOWHERE;
        if let Some(waiter) = self.set(place, Stand::InLine) {
            waiter.turn = turn;
        }
    }

    /// The waiter was told to ask again then.
    pub fn was_told(&mut self, place: u32, asks: Instant) {
        if let Some(waiter) = self.places.get_mut(place as usize) {
            waiter.asks = asks;
        }
    }

    /// The turn of the first who is there comes at this instant already, or as soon as it is heard of.
    pub fn hasten(&mut self, turn: Instant, now: Instant) {
        let mut next = self.first;
        while let Some(waiter) = self.places.get_mut(next as usize) {
            if waiter.is_present(now) {
                waiter.turn = waiter.turn.min(turn.max(waiter.asks));
                return;
            }
            next = waiter.behind;
        }
    }

    /// The waiter keeps its place and lets everybody pass.
    pub fn step_aside(&mut self, place: u32) {
        self.calling = Calling::NOWHERE;
        self.set(place, Stand::Aside);
    }

    /// The place becomes vacant.
    pub fn leave(&mut self, place: u32) {
        self.leave_calling(place);
        let vacant = self.vacant;
        let Some(waiter) = self.set(place, Stand::Vacant) else { return };
        let Waiter { before, behind, .. } = *waiter;
        waiter.behind = vacant;
        self.vacant = place;
        self.taken -= 1;
        *self.behind_of(before) = behind;
        match self.places.get_mut(behind as usize) {
            Some(next) => next.before = before,
            None => self.last = before,
        }
        if self.taken == 0 && self.places.len() > KEPT {
            *self = Self::default();
        }
    }

    /// When the turn of whoever has this place comes.
    #[must_use]
    pub fn turn(&self, place: u32) -> Instant {
        self.places.get(place as usize).map_or(Instant::NEVER, |waiter| waiter.turn)
    }

    /// Those ahead of this place, first come first; for who has none, the whole line.
    pub fn ahead(&self, place: Option<u32>) -> impl Iterator<Item = &Waiter> {
        let (mut next, end) = (self.first, place.unwrap_or(NOBODY));
        core::iter::from_fn(move || {
            if next == end {
                return None;
            }
            let waiter = self.places.get(next as usize)?;
            #[cfg(test)]
            tests::count_step();
            next = waiter.behind;
            Some(waiter)
        })
    }

    /// What those ahead of this place cost together, as far as they are of this kind; it is not counted beyond `most`.
    #[inline]
    #[must_use]
    pub fn cost_ahead(&self, place: Option<u32>, which: fn(&Waiter, Instant) -> bool, now: Instant, most: u64) -> u64 {
        if self.taken == 0 { 0 } else { self.walk(place, which, now, most) }
    }

    // One copy, or each caller carries a walk of its own into the artifact.
    #[inline(never)]
    fn walk(&self, place: Option<u32>, which: fn(&Waiter, Instant) -> bool, now: Instant, most: u64) -> u64 {
        let mut cost = 0;
        for waiter in self.ahead(place) {
            if cost >= most {
                break;
            }
            if which(waiter, now) {
                cost += u64::from(waiter.cost);
            }
        }
        cost
    }

    /// The same in a time that does not grow with the line: the first [`LOOKED_AT`] are looked at one by one, and whoever
    /// stands in line behind them is taken to be of this kind. With a place ahead of which somebody has left back there, it
    /// may be too much: never more than all of them cost.
    #[must_use]
    pub fn cost_in_front(&self, place: Option<u32>, which: fn(&Waiter, Instant) -> bool, now: Instant) -> u64 {
        let (mut cost, mut rest) = (0_u64, self.standing);
        for (position, waiter) in self.ahead(place).enumerate() {
            if position == LOOKED_AT {
                let own = place.and_then(|place| self.places.get(place as usize));
                let between = own.map_or(rest, |own| own.joined_before.saturating_sub(waiter.joined_before));
                return cost.saturating_add(rest.min(between));
            }
            if which(waiter, now) {
                cost += u64::from(waiter.cost);
            }
            if waiter.stand == Stand::InLine {
                rest = rest.saturating_sub(u64::from(waiter.cost));
            }
        }
        cost
    }

    /// The first who is there.
    #[must_use]
    pub fn head(&self, now: Instant) -> Option<&Waiter> {
        self.hinted(now).next()
    }

    /// Those worth a hint when something is to be had.
    pub fn hinted(&self, now: Instant) -> impl Iterator<Item = &Waiter> {
        self.ahead(None).filter(move |waiter| waiter.is_present(now)).take(HINTED)
    }

    /// When whoever has this place is to ask again, though no hint has come. Of those who are there as many as are served at
    /// once ask soon, as many behind them a step later, and so on, for so many steps.
    #[must_use]
    pub fn asks_again(&self, place: Option<u32>, served: u32, steps: u32, now: Instant) -> Instant {
        let row = served.clamp(HINTED as u32, WIDEST);
        let most = LOOKED_AT.min(row.saturating_mul(steps) as usize);
        let ahead = self.ahead(place).filter(|waiter| waiter.is_present(now)).take(most).count() as u32;
        now + STEP.saturating_mul(u64::from(1 + ahead / row))
    }

    /// There is room for so many: calls the first of those that have not been called.
    pub fn call(&mut self, room: u32, now: Instant) {
        if self.calling.at != now {
            self.calling = Calling { at: now, called: 0, next: self.first };
        }
        let Calling { called, next, .. } = &mut self.calling;
        while *called < room
            && let Some(waiter) = self.places.get_mut(*next as usize)
        {
            #[cfg(test)]
            tests::count_step();
            *next = waiter.behind;
            if waiter.stand == Stand::InLine && waiter.turn == Instant::NEVER {
                waiter.turn = now;
            }
            *called += u32::from(waiter.is_called(now));
        }
    }

    /// Whoever has this place is about to leave: those who were called without it are one fewer.
    fn leave_calling(&mut self, place: u32) {
        let Self { places, calling, .. } = self;
        let Some(waiter) = places.get(place as usize).filter(|waiter| waiter.stand != Stand::Vacant) else { return };
        let before = places.get(calling.next as usize).is_none_or(|next| waiter.joined_before < next.joined_before);
        if calling.next == place {
            calling.next = waiter.behind;
        } else if before && waiter.is_called(calling.at) {
            calling.called = calling.called.saturating_sub(1);
        }
    }

    /// How whoever has this place stands from now on.
    fn set(&mut self, place: u32, stand: Stand) -> Option<&mut Waiter> {
        let waiter = self.places.get_mut(place as usize).filter(|waiter| waiter.stand != Stand::Vacant)?;
        let cost = |stand| if stand == Stand::InLine { u64::from(waiter.cost) } else { 0 };
        self.standing = self.standing.saturating_sub(cost(waiter.stand)).saturating_add(cost(stand));
        waiter.stand = stand;
        Some(waiter)
    }

    /// Where it is written who stands behind this place; behind nobody stands the first.
    fn behind_of(&mut self, place: u32) -> &mut u32 {
        match self.places.get_mut(place as usize) {
            Some(waiter) => &mut waiter.behind,
            None => &mut self.first,
        }
    }
}

/// For how long what a called waiter waited for is its own. Ours: a timer and a verb are done in that time, and a dead
/// waiter costs no more.
pub const HEAD_START: Duration = Duration::from_millis(20);
/// After how long newcomers no longer wait for a called waiter that was not heard of. Ours: two of its timers.
pub const SILENCE: Duration = Duration::from_millis(100);
/// How many are looked at one by one. Ours: more than are ever dead at once, and done in some microseconds.
pub const LOOKED_AT: usize = 1_000;
/// How many get a hint. Ours: the head may be dead, and perhaps the next.
pub const HINTED: usize = 3;
/// How soon the first in line ask again. Ours: a lost hint costs no more.
pub const STEP: Duration = Duration::from_millis(50);
/// How many ask together at most. Ours: the first do so twenty times a second.
const WIDEST: u32 = 32;
/// How many places an empty line keeps at most. Ours: a short line comes and goes, and what a long one took others need too.
const KEPT: usize = 4;
const NOBODY: u32 = u32::MAX;

/// What an empty line keeps, in bytes.
pub(crate) const KEPT_BYTES: usize = KEPT * size_of::<Waiter>();

#[cfg(test)]
pub use tests::steps;

#[cfg(test)]
mod tests;
