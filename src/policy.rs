//! What a policy is, and the registry of all there are.
//!
//! Four *schedulers* (deadline, retry, hedge, attempt timeout) shape a call; the engine's step names them. All other
//! policies are *gates*: the engine knows them only through [`Gate`] and asks them in the registry's order.

use alloc::boxed::Box;
use core::any::Any;

use crate::config::{self, Config, ConfigError, OptionSpec};
use crate::decision::{AttemptNumber, RefusalReason};
use crate::event::{Event, EventLog, What};
use crate::id::{CallId, ObjectId, StackId};
use crate::key::Key;
use crate::outcome::Verdict;
use crate::random::Rng;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

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
pub mod throttler;

// The position is the precedence; docs/adr/0004-fixed-order.md says why each stands where it does.
registry! {
    outer {
        /// The call's total time.
        Deadline = "deadline", deadline: deadline::Config;
        /// Repeats after failures.
        Retry = "retry", retry: retry::Config;
        /// What repeats may cost together.
        Budget = "budget", budget: Part<budget::Config>;
        /// A second attempt beside a slow one.
        Hedge = "hedge", hedge: hedge::Config;
    }
    gates {
        /// Refuses a share of all attempts, the larger the less the upstream accepts.
        Throttler = "throttler", throttler: throttler::Throttler;
        /// Stops calling what keeps failing.
        Breaker = "breaker", breaker: circuit_breaker::CircuitBreaker;
        /// Lets as many attempts run at once as their latencies say is good.
        ConcurrencyLimiter = "concurrencyLimiter", concurrency_limiter: concurrency_limiter::ConcurrencyLimiter;
        /// So many attempts at once.
        Bulkhead = "bulkhead", bulkhead: bulkhead::Bulkhead;
        /// So many attempts in so much time.
        RateLimiter = "rateLimiter", rate_limiter: rate_limiter::RateLimiter;
    }
    inner {
        /// The time of one attempt.
        AttemptTimeout = "attemptTimeout", attempt_timeout: attempt_timeout::Config;
    }
}

/// A policy that lets attempts through, makes them wait, or refuses them.
///
/// The engine asks all gates of a stack first and takes from all in the same verb, so nobody holds a permit while
/// waiting; while waiting an attempt holds only places in lines. Every `take` is followed by at most one `settle`
/// (evidence, where there is any) and exactly one `release`.
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

    /// Whether capacity stays taken until the response's body ends.
    fn holds_until_body(&self) -> bool {
        false
    }

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
    /// How much it matters; nothing reads it yet.
    pub priority: u8,
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
}

impl Woken {
    pub(crate) const fn new() -> Self {
        Self { calls: [None; MAX_WOKEN], count: 0 }
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

    /// The hints of the last verb.
    pub fn iter(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.iter().take(self.count).flatten().copied()
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
}

/// A gate or a budget of one stack's own, or one that several stacks share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<C> {
    /// Made for this stack alone.
    Own(C),
    /// Made before, with [`Engine::share`](crate::Engine::share) or [`Engine::share_budget`](crate::Engine::share_budget).
    Shared(ObjectId),
}

/// One policy's place in a stack's configuration, for hosts that see only numbers.
pub trait Slot {
    /// Turns the policy on, with its defaults where nothing is set.
    fn turn_on(&mut self);

    /// The settings of the stack's own policy, which this turns on where it is off or shared.
    fn own(&mut self) -> Option<&mut dyn Config>;

    /// Turns the policy on as a shared object; `false` where the policy cannot be shared.
    fn share(&mut self, object: ObjectId) -> bool;
}

impl dyn Slot + '_ {
    /// Turns the policy on and sets one option.
    ///
    /// # Errors
    /// Names the option, the number and the range.
    pub fn set(&mut self, option: usize, number: f64) -> Result<(), ConfigError> {
        self.own().map_or(Ok(()), |config| config::set(config, option, number))
    }
}

impl<C: Config + Default> Slot for Option<C> {
    fn turn_on(&mut self) {
        self.own();
    }

    fn own(&mut self) -> Option<&mut dyn Config> {
        Some(self.get_or_insert_default())
    }

    fn share(&mut self, _object: ObjectId) -> bool {
        false
    }
}

impl<C: Config + Default> Slot for Option<Part<C>> {
    fn turn_on(&mut self) {
        if self.is_none() {
            self.own();
        }
    }

    fn own(&mut self) -> Option<&mut dyn Config> {
        if !matches!(self, Some(Part::Own(_))) {
            *self = Some(Part::Own(C::default()));
        }
        match self {
            Some(Part::Own(config)) => Some(config),
            _ => None,
        }
    }

    fn share(&mut self, object: ObjectId) -> bool {
        *self = Some(Part::Shared(object));
        true
    }
}

pub(crate) enum BuiltGate {
    Own(Box<dyn Gate>),
    Shared(ObjectId),
}

/// The most gates one stack has.
pub const MAX_GATES: usize = 6;
/// The most hints one verb gives.
pub const MAX_WOKEN: usize = 8;
