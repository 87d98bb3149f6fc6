//! Calls: what the engine knows of each call in flight, kept in a fixed slab and held on lease.

use crate::decision::{AttemptNumber, AttemptSet};
use crate::id::{CallId, StackId};
use crate::key::Key;
use crate::more::More;
use crate::outcome::Verdict;
use crate::policy::budget::{Receipt, Source};
use crate::policy::{MAX_GATES, Note, Place};
use crate::time::{Duration, HostTime, Instant};

/// What the host knows about a call before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Who may repeat it.
    pub repeat: Repeat,
    /// Whether the body, if there is one, can be sent again.
    pub replayable: bool,
    /// Whether it is one attempt, whatever happens: no repeat, and no hedge.
    pub single: bool,
    /// Whether the host prepares each attempt before it sends it, and says `sent` when it does.
    pub prepared: bool,
    /// Whether a call around it has been counted already by the budget that both share: one first attempt, however often it is
    /// guarded.
    pub counted: bool,
    /// Whether an attempt that the host gives up has ended with that, as a future that is dropped has. Otherwise it may run on,
    /// and the host settles it when it has really ended, where a bulkhead's `release` is `settled`.
    pub droppable: bool,
    /// The caller's own limit; it only shortens the stack's deadline.
    pub timeout: Option<Duration>,
    /// How many permits it costs where permits are counted.
    pub cost: u32,
    #[doc(hidden)]
    pub rest_is_default: More,
}

impl Facts {
    pub(crate) const ANYBODYS: Self = Self {
        repeat: Repeat::Freely,
        replayable: true,
        single: false,
        prepared: false,
        counted: false,
        droppable: false,
        timeout: None,
        cost: 1,
        rest_is_default: More::TO_COME,
    };
}

impl Default for Facts {
    /// A GET: anybody may repeat it.
    fn default() -> Self {
        Self::ANYBODYS
    }
}

/// Who may send the request again when it may already have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeat {
    /// Nobody, and not even where the upstream says that it did nothing: only a request that surely never reached it.
    OnlyUnsent,
    /// Nobody: only a request that was surely not processed is sent again.
    OnlyUnprocessed,
    /// Retry may, after a failure; hedging may not.
    AfterFailure,
    /// Both may: the request is idempotent.
    Freely,
}

/// One call in flight.
#[derive(Debug)]
pub(crate) struct Call {
    pub id: CallId,
    pub stack: StackId,
    pub key: Key,
    pub facts: Facts,
    pub started: HostTime,
    pub deadline: Instant,
    /// The instant that the latest decision named; never, where it named none.
    pub due_at: Instant,
    pub want: Want,
    /// How many attempts were sent.
    pub sent: AttemptNumber,
    /// How many rounds have begun.
    pub rounds: u8,
    /// The last backoff, for jitters that grow from it.
    pub backoff: Duration,
    /// The number of the round's first attempt.
    pub primary: AttemptNumber,
    /// How the round's first attempt ended, or the one that ended with an answer.
    pub ended: Option<Verdict>,
    /// Whether that attempt surely never reached the upstream.
    pub never_sent: bool,
    /// Whether the upstream surely did not process it.
    pub unprocessed: bool,
    /// Whether it may end better once,
    pub once: bool,
    /// and whether an attempt of the call was repeated for that.
    pub was_once: bool,
    /// How long to wait before the same is tried again, where the budget did not pay for it and knows.
    pub again: Option<Duration>,
    /// An attempt that ended with an answer.
    pub winner: Option<AttemptNumber>,
    /// The longest Retry-After of the round.
    pub retry_after: Option<Duration>,
    /// Failed attempts whose results the host still has.
    pub in_hand: AttemptSet,
    /// Attempts that the next decision tells the host to give up.
    pub drop: AttemptSet,
    /// Those of them whose own time was up.
    pub timed_out: AttemptSet,
    pub attempts: [Attempt; MAX_PARALLEL],
    /// Which of these slots hold an attempt in flight.
    pub running: Slots,
    /// That of the round's first attempt, where that failed and keeps what it holds until it is known whether the caller
    /// gets its result.
    pub kept: Slots,
    /// Attempts that were given up and hold a slot until they have really ended: none where the call is forgotten.
    pub late: AttemptSet,
    /// What the next attempt was paid with.
    pub receipt: Option<Receipt>,
    /// Whether its budget counts it: from its first Send until it is over or its lease ends.
    pub is_counted: bool,
    /// One random word for the next attempt, however often it asks.
    pub dice: u64,
    pub waiting: Waiting,
    /// When the next attempt beside the running ones starts.
    pub hedge_at: Instant,
    /// How many hedges of the round are decided, sent or not.
    pub hedges: u8,
    /// Which owner of the key's number the call belongs to; `None` until it has a number.
    pub tenancy: Option<u32>,
}

/// What a call wants next, apart from what is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Nothing.
    Nothing,
    /// To send a round's first attempt, at this instant or when the gates let it.
    Primary(Instant),
    /// To send another attempt beside the running ones, when the gates let it.
    Hedge,
    /// Its body to end: a slot is held till then.
    Held,
    /// Its late attempts to end: it is over.
    Late,
    /// Its lease ended: what it held was taken back, and only late evidence is still welcome.
    Outlived,
    /// Its lease ended while it waited to send a round's first attempt: it lost its places in line and what it had paid,
    /// and no more, should it be heard of after all.
    Lost,
}

/// An attempt in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub number: AttemptNumber,
    /// When it was sent; until it is, when it began.
    pub sent_at: HostTime,
    pub is_sent: bool,
    pub abort_at: Instant,
    /// From what it was paid, if it is a repeat.
    pub paid: Option<Source>,
    pub notes: [Note; MAX_GATES],
}

/// An attempt that waits at the gates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Since when; never while it does not wait, and what is below means nothing then.
    pub since: Instant,
    pub places: [Option<Place>; MAX_GATES],
    /// When to ask again.
    pub until: Instant,
}

/// A set of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots(u32);

impl Waiting {
    pub const NOWHERE: Self = Self { since: Instant::NEVER, places: [None; MAX_GATES], until: Instant::NEVER };

    pub fn is_on(&self) -> bool {
        self.since != Instant::NEVER
    }

    /// The place in this gate's line.
    pub fn place(&self, gate: usize) -> Option<Place> {
        if self.is_on() { self.places.get(gate).copied().flatten() } else { None }
    }
}

impl Attempt {
    pub const VACANT: Self = Self {
        number: 0,
        sent_at: HostTime::from_nanos(0),
        is_sent: true,
        abort_at: Instant::NEVER,
        paid: None,
        notes: [Note(0); MAX_GATES],
    };
}

impl Slots {
    pub const NONE: Self = Self(0);
    /// The first slot alone.
    pub const FIRST: Self = Self(1);

    pub fn insert(&mut self, slot: usize) {
        self.0 |= 1 << slot;
    }

    pub fn remove(&mut self, slot: usize) {
        self.0 &= !(1 << slot);
    }

    /// These and others.
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// One that is not in the set.
    pub fn vacant(self) -> Option<usize> {
        Self(!self.0).iter().next()
    }

    pub fn count(self) -> u8 {
        self.0.count_ones() as u8
    }

    pub fn iter(mut self) -> impl Iterator<Item = usize> {
        core::iter::from_fn(move || {
            let slot = self.0.trailing_zeros() as usize;
            self.0 &= self.0.wrapping_sub(1);
            (slot < MAX_PARALLEL).then_some(slot)
        })
    }
}

impl Call {
    /// The attempts in flight, each with its slot.
    pub fn running(&self) -> impl Iterator<Item = (usize, &Attempt)> {
        self.running.iter().filter_map(|slot| Some((slot, self.attempts.get(slot)?)))
    }

    /// This attempt, if it is in flight.
    pub fn attempt_mut(&mut self, number: AttemptNumber) -> Option<&mut Attempt> {
        let slot = self.slot_of(number)?;
        self.attempts.get_mut(slot)
    }

    /// The slot of this attempt, if it is in flight.
    pub fn slot_of(&self, number: AttemptNumber) -> Option<usize> {
        self.running().find(|(_, attempt)| attempt.number == number).map(|(slot, _)| slot)
    }
}

/// How many attempts of one call run beside each other at most. Ours: the fourth copy of a request rarely helps.
pub(crate) const MAX_PARALLEL: usize = 4;
