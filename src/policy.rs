//! What a policy is.
//!
//! Four *schedulers* (deadline, retry, hedge, attempt timeout) shape a call; the engine's step names them. All other
//! policies are *gates*: the engine knows them only through [`Gate`] and asks them in the registry's order.

use core::any::Any;

use crate::decision::{AttemptNumber, RefusalReason};
use crate::event::{Event, EventLog, What};
use crate::figure::Figures;
use crate::id::{CallId, StackId};
use crate::key::Key;
use crate::outcome::Verdict;
use crate::random::Rng;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

pub use crate::registry::Kind;

pub mod attempt_timeout;
pub mod budget;
pub mod bulkhead;
pub mod circuit_breaker;
pub mod concurrency_limiter;
#[cfg(test)]
mod crowd;
pub mod deadline;
pub mod hedge;
#[cfg(test)]
mod lent;
pub mod rate_limiter;
pub mod retry;
mod slotted;
pub mod throttler;

/// A policy that lets attempts through, makes them wait, or refuses them.
///
/// The engine asks all gates of a stack first and takes from all in the same verb, so nobody holds a permit while
/// waiting; while waiting an attempt holds only places in lines. Every `take` is followed by at most one `settle`
/// (evidence, where there is any) and exactly one `release`, or `let_go` in its place.
pub trait Gate: Any {
    /// May this attempt start now? Changes nothing, so that a refusal leaves no trace.
    fn ask(&self, asker: &Asker, now: Instant) -> Answer;

    /// The attempt starts: take what it needs. Called in the verb in which every gate answered [`Answer::Pass`].
    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note;

    /// This gate refused the attempt, and the call or the hedge ends with that. Only for a gate that counts its own refusals
    /// (the throttler, if told to): no other learns from a refusal.
    fn refused(&mut self, _asker: &Asker, _cx: &mut Cx<'_>) {}

    /// The attempt ended. The note may be spent, so that `release` gives nothing back.
    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, cx: &mut Cx<'_>);

    /// The attempt holds nothing any more, whether it ended, was given up, or its call's lease ended.
    fn release(&mut self, _key: Key, _note: &mut Note, _cx: &mut Cx<'_>) {}

    /// The attempt was told to wait by this gate: give it a place in the line, or, where it has one, let it stand there
    /// again. It has just been heard of.
    fn join(&mut self, _asker: &Asker, _cx: &mut Cx<'_>) -> Place {
        Place(0)
    }

    /// The attempt passed here but waits at another gate: it keeps its place and lets others pass, until it has to wait
    /// here again.
    fn step_aside(&mut self, _key: Key, _place: Place, _cx: &mut Cx<'_>) {}

    /// The attempt leaves the line, served or not.
    fn leave(&mut self, _key: Key, _place: Place, _cx: &mut Cx<'_>) {}

    /// Writes what there is to read about a key at `now`, for hosts that see only numbers. Changes nothing.
    fn write_figures(&self, _key: Key, _now: Instant, _out: &mut Figures<'_>) {}

    /// Whether capacity stays taken until the response's body ends.
    fn holds_until_body(&self) -> bool {
        false
    }

    /// Whether an attempt that was given up keeps what it holds here until it has really ended. [`Gate::let_go`] takes the
    /// place of its `release` then.
    fn holds_until_settled(&self) -> bool {
        false
    }

    /// An attempt that was given up before has really ended, or nobody has been heard of for too long.
    fn let_go(&mut self, _key: Key, _cx: &mut Cx<'_>) {}

    /// Whether the key's state may not be forgotten now.
    fn is_busy(&self, key: Key, now: Instant) -> bool;

    /// The key is given to somebody else: back to its pristine state.
    fn forget(&mut self, key: Key);

    /// Tells two configurations apart: state of one is not restored into the other.
    fn fingerprint(&self) -> u64;

    /// Writes what outlives a restart, as it is at `now`: windows rolled, ages instead of instants, nothing in flight,
    /// nothing for pristine keys.
    fn save(&self, now: Instant, out: &mut Writer);

    /// Reads what `save` wrote.
    ///
    /// # Errors
    /// The bytes are damaged; nothing has changed then.
    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged>;
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The call.
    pub call: CallId,
    /// The number the attempt will have.
    pub attempt: AttemptNumber,
    /// Whose state is asked.
    pub key: Key,
    /// One random word for this attempt, the same however often it asks: a roll of dice is made once.
    pub dice: u64,
    /// How many permits it costs.
    pub cost: u32,
    /// When the call is out of time.
    pub deadline: Instant,
    /// Since when it has been waiting; now, when it has not.
    pub since: Instant,
    /// Its place in this gate's line, if it has one.
    pub place: Option<Place>,
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing against it.
    Pass,
    /// Not yet: ask again at this instant, or when hinted.
    Wait(Instant),
    /// No.
    Reject {
        /// Why.
        reason: RefusalReason,
        /// From when on the answer would be another, other traffic aside.
        retry_at: Option<Instant>,
    },
}

/// What a gate remembers about an attempt it let through; kept in the call, since policies keep no state of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note(pub u32);

/// A place in a gate's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u32);

/// How an attempt ended, for gates.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// What it says about the upstream.
    pub verdict: Verdict,
    /// How long it took.
    pub latency: Duration,
}

/// What a gate is lent for one verb.
pub struct Cx<'a> {
    /// The verb's instant.
    pub now: Instant,
    /// The verb's randomness.
    pub rng: &'a mut Rng,
    /// Where events go; use [`Cx::tell`].
    pub log: &'a mut EventLog,
    /// Other calls that may be worth a wake now.
    pub woken: &'a mut Woken,
    /// The stack whose verb this is.
    pub stack: Option<StackId>,
    /// The gate's place in the registry.
    pub policy: Kind,
}

impl Cx<'_> {
    /// Tells what happened, if anybody listens.
    #[inline]
    pub fn tell(&mut self, key: Key, what: impl FnOnce() -> What) {
        if self.log.is_listening() {
            self.note(key, what());
        }
    }

    #[cold]
    fn note(&mut self, key: Key, what: What) {
        let (at, stack, policy) = (self.now, self.stack, Some(self.policy));
        self.log.push(|| Event { at, stack, key, policy, what });
    }
}

/// Handles of other calls worth a wake now. Hints: what does not fit is left out.
#[derive(Debug, Default)]
pub struct Woken {
    calls: [Option<CallId>; MAX_WOKEN],
    count: usize,
    /// How often somebody was looked for.
    looks: u32,
}

impl Woken {
    pub(crate) const fn new() -> Self {
        Self { calls: [None; MAX_WOKEN], count: 0, looks: 0 }
    }

    /// Adds a hint, if it is not there already.
    pub fn push(&mut self, call: CallId) {
        if self.iter().any(|hinted| hinted == call) {
            return;
        }
        if let Some(slot) = self.calls.get_mut(self.count) {
            *slot = Some(call);
            self.count += 1;
        }
    }

    /// Whether to look for another one: there is room for it, and the verb has not looked along too many lines already, as
    /// where thousands of leases end in it.
    pub fn wants_more(&mut self) -> bool {
        self.looks = self.looks.saturating_add(1);
        self.count < MAX_WOKEN && self.looks <= MOST_LOOKS
    }

    /// The hints of the last verb.
    pub fn iter(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.iter().take(self.count).flatten().copied()
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.looks) = (0, 0);
    }
}

/// The most gates one stack has.
pub const MAX_GATES: usize = 6;
/// The most hints one verb gives.
pub const MAX_WOKEN: usize = 8;
/// How many lines a verb looks along for them. Ours: some for each gate of a stack.
const MOST_LOOKS: u32 = 64;
