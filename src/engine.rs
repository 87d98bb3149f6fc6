//! The engine: all state, and the four verbs that ask it.
//!
//! Every verb is a synchronous function of (state, input, now, random) and answers with one [`Decision`]. What a verb
//! does is in `step`; this file is the public interface of it, `reads` that of everything else.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::any_gate::AnyGate;
use crate::call::{Facts, Repeat, Want};
use crate::config::ConfigError;
use crate::decision::{AttemptNumber, AttemptSet, Decision, Step};
use crate::event::{Event, What};
use crate::id::{CallId, ObjectId, StackId};
use crate::key::{Key, Keys};
use crate::more::More;
use crate::outcome::Outcome;
use crate::policy::budget::{AnyBudget, Budget};
use crate::policy::hedge;
use crate::policy::{Gate, Kind};
use crate::random::Rng;
use crate::stack_config::StackConfig;
use crate::time::{Clock, Duration, HostTime, Instant};

use calls::Calls;
use context::{Context, Input, Transition};
use counters::Counters;
use policies::{Policies, Verb};
use stack::Stack;

mod arena;
mod calls;
mod context;
mod counters;
mod endings;
mod keys;
mod lane;
mod policies;
mod reads;
mod stack;
mod state;
mod step;

pub use state::{MAX_SNAPSHOT, is_snapshot};

/// All shared state of all policies.
///
/// Making one, and making stacks, needs neither time nor randomness: both come with the first verb.
#[derive(Debug)]
pub struct Engine {
    clock: Clock,
    calls: Calls,
    stacks: Vec<Stack>,
    keys: Keys,
    policies: Policies,
    counters: Counters,
    has_lane: bool,
}

/// How large an engine may grow, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many calls there are at most; one more goes on unguarded. At most 2²⁰ − 1.
    pub calls: u32,
    /// How many bytes the state of all keys takes at most, of all stacks and policies together; what is busy stays all the
    /// same. Ours: a quarter of what a Worker's isolate has.
    pub memory: u32,
    /// Where the generations of handles begin. A host that starts over after a crash moves it on, so that no handle of
    /// the old engine means anything to the new one.
    pub first_generation: u32,
    #[doc(hidden)]
    pub rest_is_default: More,
}

impl Limits {
    /// What [`Default`] gives.
    pub const DEFAULT: Self =
        Self { calls: 65_536, memory: 32 << 20, first_generation: 1, rest_is_default: More::TO_COME };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

/// Construction.
impl Engine {
    /// An engine without stacks.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            clock: Clock::new(),
            calls: Calls::new(limits.first_generation, limits.calls),
            stacks: Vec::new(),
            keys: Keys::new(),
            policies: Policies::new(),
            counters: Counters::new(limits.memory),
            has_lane: true,
        }
    }

    /// Lets every call go by the step. Nothing but a law needs that, which holds the lane to it.
    #[doc(hidden)]
    #[must_use]
    pub fn without_lane(self) -> Self {
        Self { has_lane: false, ..self }
    }

    /// Moves on where the generations of handles begin, as [`Limits::first_generation`] does; before the first call.
    pub fn begin_generations_at(&mut self, first_generation: u32) {
        self.calls.begin_generations_at(first_generation);
    }

    /// Parses a configuration and adds it as a stack.
    ///
    /// # Errors
    /// Names the option, the value and the range; or there are [`MAX_STACKS`] already.
    pub fn add_stack(&mut self, config: StackConfig) -> Result<StackId, ConfigError> {
        if self.stacks.len() >= MAX_STACKS {
            return Err(ConfigError::too_many(Kind::Deadline, MAX_STACKS + 1, MAX_STACKS));
        }
        let stack = Stack::new(config, &mut self.policies.objects)?;
        let bytes =
            |object: &ObjectId| self.policies.objects.get(*object).map_or(0, |object| object.kind().bytes_of_a_key());
        self.counters.open_stack(stack.objects.iter().map(bytes).sum());
        self.stacks.push(stack);
        Ok(StackId::from_number((self.stacks.len() - 1) as u16))
    }

    /// Adds a gate that several stacks may share. It stands where its kind stands.
    ///
    /// # Errors
    /// There is no room for another one.
    pub fn share(&mut self, kind: Kind, gate: impl Gate) -> Result<ObjectId, ConfigError> {
        self.policies.objects.add_gate(kind, AnyGate::Own(Box::new(gate)))
    }

    /// Adds a budget that several stacks may share.
    ///
    /// # Errors
    /// There is no room for another one.
    pub fn share_budget(&mut self, budget: impl Budget) -> Result<ObjectId, ConfigError> {
        self.policies.objects.add_budget(AnyBudget::Own(Box::new(budget)))
    }

    /// Builds the gate or the budget of this kind from a configuration, to be shared.
    ///
    /// # Errors
    /// The configuration is refused; there is nothing of this kind in it; or there is no room for another one.
    pub fn share_from(&mut self, config: &StackConfig, kind: Kind) -> Result<ObjectId, ConfigError> {
        match stack::build_shared(config, kind)? {
            stack::SharedPart::Gate(gate) => self.policies.objects.add_gate(kind, gate),
            stack::SharedPart::Budget(budget) => self.policies.objects.add_budget(budget),
        }
    }
}

/// The verbs.
impl Engine {
    /// May this call begin?
    pub fn admit(&mut self, stack: StackId, key: Key, facts: Facts, now: HostTime, random: u64) -> Decision {
        let mut verb = self.open(now, random);
        let Some(found) = self.stacks.get(usize::from(stack.number())) else { return Decision::UNGUARDED };
        let deadline = found.deadline(facts.timeout, verb.now);
        let mut key = if self.keys.knows(key) { key } else { Key::NEW };
        if self.counters.is_full() {
            key = self.key_at_the_bound(stack, key, &mut verb);
        }
        if self.calls.is_full() {
            self.make_room(&mut verb);
        }
        let Some(index) = self.calls.begin(stack, key, facts, now, deadline) else {
            return self.turn_away(stack, key, &verb);
        };
        self.begin(index, &mut verb)
    }

    /// An attempt has ended.
    pub fn settle(
        &mut self,
        call: CallId,
        attempt: AttemptNumber,
        outcome: Outcome,
        now: HostTime,
        random: u64,
    ) -> Decision {
        let mut verb = self.open(now, random);
        let Some(index) = self.calls.find(call) else { return self.unknown(attempt, &verb) };
        if let Some(done) = self.end(index, attempt, &outcome, &mut verb) {
            return done;
        }
        self.handle(index, &mut verb, Input::Ended(attempt, &outcome))
    }

    /// A hint came, or the host looks early.
    pub fn wake(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        let mut verb = self.open(now, random);
        let Some(index) = self.calls.find(call) else { return Decision::UNGUARDED };
        self.handle(index, &mut verb, Input::Wakes)
    }

    /// The timer that was set for the instant asked for has rung: the instant has come, whatever the host's clock says.
    pub fn due(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        let mut verb = self.open(now, random);
        let Some(index) = self.calls.find(call) else { return Decision::UNGUARDED };
        if let Some(at) = self.calls.get(index).and_then(|call| call.due_at.or_none()) {
            verb.now = self.clock.reach(at, now);
        }
        self.handle(index, &mut verb, Input::Wakes)
    }

    /// An attempt of a call whose attempts are prepared first is really sent now. Nothing is decided: its latency begins here,
    /// and from here on its end is evidence. `repeat` says who may repeat what is sent; the strictest word of a call counts. To
    /// say it again changes nothing.
    pub fn sent(&mut self, call: CallId, attempt: AttemptNumber, repeat: Repeat, now: HostTime) {
        let call = self.calls.find(call).and_then(|index| self.calls.get_mut(index));
        let Some(call) = call.filter(|call| call.facts.prepared) else { return };
        call.facts.repeat = call.facts.repeat.min(repeat);
        if !hedge::may_hedge(&call.facts) {
            call.hedge_at = Instant::NEVER;
        }
        if let Some(attempt) = call.attempt_mut(attempt).filter(|attempt| !attempt.is_sent) {
            (attempt.sent_at, attempt.is_sent) = (now, true);
        }
    }

    /// The call's body, which could be sent only once, is kept now and can be sent again. Nothing is decided.
    pub fn body_kept(&mut self, call: CallId) {
        if let Some(call) = self.calls.find(call).and_then(|index| self.calls.get_mut(index)) {
            call.facts.replayable = true;
        }
    }

    /// The caller left, or the body of a held call has ended.
    pub fn cancel(&mut self, call: CallId, now: HostTime) -> Decision {
        let mut verb = self.open(now, 0);
        let Some(index) = self.calls.find(call) else { return Decision::UNGUARDED };
        self.handle(index, &mut verb, Input::Leaves)
    }

    fn open(&mut self, host: HostTime, random: u64) -> Verb {
        self.policies.woken.clear();
        Verb { now: self.clock.read(host), host, rng: Rng::new(random) }
    }

    /// Handles one input of one call.
    fn handle(&mut self, index: usize, verb: &mut Verb, input: Input<'_>) -> Decision {
        let Some(mut context) = self.context(index, verb) else { return Decision::UNGUARDED };
        let transition = context.handle(input);
        self.conclude(index, transition, verb)
    }

    /// Ends leases as long as they may be what stands in the way, and carries out the transition.
    fn conclude(&mut self, index: usize, mut transition: Transition, verb: &mut Verb) -> Decision {
        let mut most = FEW;
        while let Transition::Blocked = transition {
            let may_be_more = self.end_leases(index, most, verb);
            let Some(mut context) = self.context(index, verb) else { return Decision::UNGUARDED };
            context.leases_may_have_ended = may_be_more;
            // From the beginning: what was done by then is not done again.
            transition = context.step();
            most = most.saturating_mul(2);
        }
        self.carry_out(index, transition, verb)
    }

    #[inline]
    fn carry_out(&mut self, index: usize, transition: Transition, verb: &Verb) -> Decision {
        let (step, at, lease) = match transition {
            Transition::Goes(step, at) => (step, at, Some(lease_end(at, verb.now))),
            Transition::Over(step, at) => (step, at, None),
            Transition::Lingers => (Step::Unguarded, Instant::NEVER, Some(verb.now + OUTLIVED)),
            Transition::Blocked => return Decision::UNGUARDED,
        };
        if let Transition::Lingers = transition {
            self.calls.linger();
        }
        let Some(call) = self.calls.get_mut(index) else { return Decision::UNGUARDED };
        call.due_at = at;
        let decision = Decision {
            call: (!matches!(step, Step::Reject(_) | Step::Unguarded)).then_some(call.id),
            step,
            drop: core::mem::take(&mut call.drop),
            timed_out: core::mem::take(&mut call.timed_out),
            // As the host will read it: as far from this verb's own reading as it is from the engine's now. Who is refused
            // comes again without a timer, so its reading must get there even if it lags.
            at: at.or_none().map(|at| {
                let lag = if matches!(step, Step::Reject(_)) { self.clock.lag(verb.host) } else { Duration::ZERO };
                verb.host + at.since(verb.now) + lag
            }),
            retry_after: call.again,
        };
        match lease {
            Some(until) => self.calls.lease(index, until),
            None if call.late != AttemptSet::EMPTY => self.outlast(index, verb.now),
            None => self.calls.end(index),
        }
        decision
    }

    /// The call is over, and attempts that were given up still hold something.
    #[cold]
    fn outlast(&mut self, index: usize, now: Instant) {
        if let Some(call) = self.calls.get_mut(index) {
            (call.want, call.due_at) = (Want::Late, Instant::NEVER);
            self.calls.lease(index, now + MAX_LEASE);
        }
    }

    #[inline]
    fn context<'a>(&'a mut self, index: usize, verb: &'a mut Verb) -> Option<Context<'a>> {
        let leases_may_have_ended = self.calls.may_have_ended(verb.now);
        let Self { calls, stacks, keys, policies, counters, .. } = self;
        let call = calls.get_mut(index)?;
        let stack = stacks.get(usize::from(call.stack.number()))?;
        Some(Context { call, stack, policies, keys, counters, verb, leases_may_have_ended })
    }

    #[cold]
    fn unknown(&mut self, attempt: AttemptNumber, verb: &Verb) -> Decision {
        let at = verb.now;
        let what = What::Stale { attempt };
        self.policies.log.push(|| Event { at, stack: None, key: Key::WHOLE, policy: None, what });
        Decision::UNGUARDED
    }

    #[cold]
    fn turn_away(&mut self, stack: StackId, key: Key, verb: &Verb) -> Decision {
        let at = verb.now;
        let what = What::CallsFull { calls: self.calls.limit() as u32 };
        self.policies.log.push(|| Event { at, stack: Some(stack), key, policy: None, what });
        Decision::UNGUARDED
    }
}

/// Leases.
impl Engine {
    /// Takes back what calls hold whose lease has ended, but of no more than so many; answers whether there are others. `own`
    /// is spared, since it is being heard of right now.
    #[cold]
    fn end_leases(&mut self, own: usize, most: usize, verb: &mut Verb) -> bool {
        let mut left = most;
        for index in 0..self.calls.slots() {
            if index == own || !self.calls.has_ended(index, verb.now) {
                continue;
            }
            let Some(one_fewer) = left.checked_sub(1) else { return true };
            left = one_fewer;
            let transition = self.context(index, verb).map_or(Transition::Blocked, |mut context| context.end_lease());
            let _ = self.carry_out(index, transition, verb);
        }
        self.calls.raise_bound();
        false
    }

    /// There is no room for a new call: calls whose lease has ended make some, and so do those that only might bring
    /// late evidence or might come back.
    #[cold]
    fn make_room(&mut self, verb: &mut Verb) {
        if self.calls.may_have_ended(verb.now) {
            self.end_leases(NOBODY, FEW, verb);
        }
        self.calls.end_lingering();
    }
}

/// When the lease of a call ends that promised to be heard of at `at`.
fn lease_end(at: Instant, now: Instant) -> Instant {
    match at.or_none() {
        Some(at) => (at + GRACE).round_up(STEP),
        None => now + MAX_LEASE,
    }
}

/// How late a host's timer may be. Ours.
const GRACE: Duration = Duration::from_secs(5);
/// Leases end on multiples of this, so that many end at once and are looked for seldom. Ours.
const STEP: Duration = Duration::from_millis(250);
/// The lease of a call that nothing limits. Ours.
const MAX_LEASE: Duration = Duration::from_secs(60);
/// How long late evidence of a call that outlived its lease is still welcome. Ours.
const OUTLIVED: Duration = Duration::from_secs(600);
/// How many stacks one engine has. Ours: hosts that build a stack for every call are told early.
pub const MAX_STACKS: usize = 256;
const NOBODY: usize = usize::MAX;
/// How many leases end before it is looked again whether whoever stood in the way is gone; twice as many the next time. Ours:
/// done in some microseconds.
const FEW: usize = 256;
