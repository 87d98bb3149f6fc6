//! The slab of calls in flight, and the leases on what they hold.
//!
//! An edge runtime drops a cancelled request without running its cleanup, so every call is held on a lease. The ends of
//! all leases lie in a dense array beside the slab, with one lower bound: nothing is looked at before the bound has
//! come, and then only when somebody is about to be refused, made to wait, or turned away.

use alloc::vec::Vec;

use crate::call::{Attempt, Call, Facts, Slots, Waiting, Want};
use crate::decision::AttemptSet;
use crate::id::{CallId, StackId};
use crate::key::Key;
use crate::time::{Duration, HostTime, Instant};

#[derive(Debug)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// When each call's lease ends; never for vacant slots.
    leases: Vec<Instant>,
    /// No lease ends before this.
    bound: Instant,
    vacant: Vec<u32>,
    generation: u32,
    limit: usize,
    /// Whether some call may only linger.
    lingering: bool,
}

impl Calls {
    /// `generation` is where handles begin: hosts that start over after a trap move it on, so that no old handle fits.
    pub const fn new(generation: u32, limit: u32) -> Self {
        let limit = if limit < CallId::MAX_INDEX { limit } else { CallId::MAX_INDEX } as usize;
        Self {
            calls: Vec::new(),
            leases: Vec::new(),
            bound: Instant::NEVER,
            vacant: Vec::new(),
            generation,
            limit,
            lingering: false,
        }
    }

    pub fn begin_generations_at(&mut self, generation: u32) {
        self.generation = generation;
    }

    /// A slot for a new call, if there is room. What belongs to its first round is set when that begins.
    pub fn begin(
        &mut self,
        stack: StackId,
        key: Key,
        facts: Facts,
        started: HostTime,
        deadline: Instant,
    ) -> Option<usize> {
        let index = match self.vacant.pop() {
            Some(index) => index as usize,
            None => self.grow()?,
        };
        let call = self.calls.get_mut(index)?;
        call.stack = stack;
        call.key = key;
        call.facts = facts;
        call.started = started;
        call.deadline = deadline;
        call.sent = 0;
        call.rounds = 1;
        call.backoff = Duration::ZERO;
        call.winner = None;
        call.was_once = false;
        call.again = None;
        (call.drop, call.timed_out) = (AttemptSet::EMPTY, AttemptSet::EMPTY);
        call.running = Slots::NONE;
        call.receipt = None;
        call.is_counted = false;
        call.tenancy = None;
        Some(index)
    }

    fn grow(&mut self) -> Option<usize> {
        let index = self.calls.len();
        if index >= self.limit || self.calls.try_reserve(1).is_err() || self.leases.try_reserve(1).is_err() {
            return None;
        }
        // A slot is given back without allocating, so that giving back cannot fail.
        if self.vacant.try_reserve(index + 1 - self.vacant.len()).is_err() {
            return None;
        }
        self.calls.push(Call::VACANT);
        self.leases.push(Instant::NEVER);
        self.calls.last_mut()?.id = CallId::new(index as u32, self.generation);
        Some(index)
    }

    /// The call is over: its handle is worth nothing from now on.
    pub fn end(&mut self, index: usize) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.id = CallId::new(index as u32, call.id.generation().wrapping_add(1));
        call.want = Want::Nothing;
        if let Some(lease) = self.leases.get_mut(index) {
            *lease = Instant::NEVER;
        }
        self.vacant.push(index as u32);
    }

    /// Where the call lives, if the handle is worth anything.
    pub fn find(&self, id: CallId) -> Option<usize> {
        let index = id.index();
        // A vacant slot's id is the next call's, which nobody has been given yet.
        let alive = self.leases.get(index).is_some_and(|lease| *lease != Instant::NEVER);
        (alive && self.calls.get(index)?.id == id).then_some(index)
    }

    pub fn get(&self, index: usize) -> Option<&Call> {
        self.calls.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Call> {
        self.calls.get_mut(index)
    }

    /// The call will be heard of by `at`; what it holds is taken back a little after that.
    pub fn lease(&mut self, index: usize, until: Instant) {
        if let Some(lease) = self.leases.get_mut(index) {
            *lease = until;
            self.bound = self.bound.min(until);
        }
    }

    /// Whether some lease may have ended. No is certain, and costs nothing.
    pub fn may_have_ended(&self, now: Instant) -> bool {
        self.bound <= now
    }

    /// Whether this call's lease has ended.
    pub fn has_ended(&self, index: usize, now: Instant) -> bool {
        self.leases.get(index).is_some_and(|lease| *lease <= now)
    }

    /// How many slots there are, vacant ones among them.
    pub fn slots(&self) -> usize {
        self.leases.len()
    }

    /// Finds the lower bound of all leases anew, after those that ended were dealt with.
    pub fn raise_bound(&mut self) {
        self.bound = self.leases.iter().copied().min().unwrap_or(Instant::NEVER);
    }

    /// Notes that a call lingers.
    pub fn linger(&mut self) {
        self.lingering = true;
    }

    /// Ends the calls that only might bring late evidence, or might come back.
    pub fn end_lingering(&mut self) {
        if !core::mem::take(&mut self.lingering) {
            return;
        }
        for index in 0..self.calls.len() {
            if self.calls.get(index).is_some_and(|call| matches!(call.want, Want::Outlived | Want::Lost)) {
                self.end(index);
            }
        }
    }

    /// Whether there is no slot left for a new call.
    pub fn is_full(&self) -> bool {
        self.vacant.is_empty() && self.calls.len() >= self.limit
    }

    /// How many calls there are room for.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many calls are in flight.
    pub fn in_flight(&self) -> usize {
        self.calls.len() - self.vacant.len()
    }
}

impl Call {
    /// What a slot holds before its first call.
    const VACANT: Self = Self {
        id: CallId::new(0, 0),
        stack: StackId::from_number(0),
        key: Key::WHOLE,
        facts: Facts::ANYBODYS,
        started: HostTime::from_nanos(0),
        deadline: Instant::NEVER,
        due_at: Instant::NEVER,
        want: Want::Nothing,
        sent: 0,
        rounds: 0,
        backoff: Duration::ZERO,
        primary: 0,
        ended: None,
        never_sent: false,
        unprocessed: false,
        once: false,
        was_once: false,
        again: None,
        winner: None,
        retry_after: None,
        in_hand: AttemptSet::EMPTY,
        drop: AttemptSet::EMPTY,
        timed_out: AttemptSet::EMPTY,
        attempts: [Attempt::VACANT; crate::call::MAX_PARALLEL],
        running: Slots::NONE,
        kept: Slots::NONE,
        late: AttemptSet::EMPTY,
        receipt: None,
        is_counted: false,
        dice: 0,
        waiting: Waiting::NOWHERE,
        hedge_at: Instant::NEVER,
        hedges: 0,
        tenancy: None,
    };
}
