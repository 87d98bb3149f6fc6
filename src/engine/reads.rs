//! Reads and operators: they stand outside the verbs and touch nothing they do not name.

use core::any::Any;

use super::stack::Stack;
use super::{Engine, NOBODY};
use crate::event::EventLog;
use crate::figure::Figures;
use crate::id::{CallId, ObjectId, StackId};
use crate::key::Key;
use crate::metrics::Metrics;
use crate::policy::budget::Budget;
use crate::policy::{Cx, Gate, Kind};
use crate::time::{Duration, HostTime, Instant};

impl Engine {
    /// What happened lately, to be drained by the host.
    pub fn events(&mut self) -> &mut EventLog {
        &mut self.policies.log
    }

    /// Other calls that are worth a `wake` now: hints of the last verb.
    pub fn woken(&self) -> impl Iterator<Item = CallId> + '_ {
        self.policies.woken.iter()
    }

    /// The counts of one stack and key, if there are any.
    #[must_use]
    pub fn metrics(&self, stack: StackId, key: Key) -> Option<&Metrics> {
        self.counters.metrics(stack, key)
    }

    /// How many calls are in flight, held and waiting ones among them.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.calls.in_flight()
    }

    /// A stack that holds capacity while nothing limits its calls depends on leases alone; users are told.
    #[must_use]
    pub fn has_a_limit(&self, stack: StackId) -> bool {
        self.stacks.get(usize::from(stack.number())).is_some_and(Stack::has_a_limit)
    }

    /// The stack's budget, to read.
    #[must_use]
    pub fn budget(&self, stack: StackId) -> Option<&dyn Budget> {
        self.policies.objects.budget(self.stacks.get(usize::from(stack.number()))?.budget?).map(|budget| &**budget)
    }

    /// After how long hedges of this stack and key start now, where that is measured and known.
    #[must_use]
    pub fn pace(&self, stack: StackId, key: Key, now: HostTime) -> Option<Duration> {
        let pace = self.policies.objects.pace(self.stacks.get(usize::from(stack.number()))?.pace?)?;
        pace.read(key, self.instant(now))
    }

    /// Pays from a shared budget for something that no stack sends, and answers at once: whether it may be done.
    pub fn spend(&mut self, budget: ObjectId, key: Key, now: HostTime) -> bool {
        let mut verb = self.open(now, 0);
        let mut is_paid = self.policies.spend(budget, key, verb.now);
        if !is_paid && self.calls.may_have_ended(verb.now) {
            self.end_leases(NOBODY, usize::MAX, &mut verb);
            is_paid = self.policies.spend(budget, key, verb.now);
        }
        if !is_paid {
            self.policies.tell_unpaid(budget, key, verb.now);
        }
        is_paid
    }

    /// The stack's gate or budget of this kind, its own or shared; the outermost, where it has several.
    #[must_use]
    pub fn object(&self, stack: StackId, kind: Kind) -> Option<ObjectId> {
        let is_it = |object: &ObjectId| self.policies.objects.get(*object).is_some_and(|object| object.kind() == kind);
        self.stacks.get(usize::from(stack.number()))?.objects.iter().copied().find(is_it)
    }

    /// Writes what there is to read of a gate or a budget about a key, in the order of [`Kind::figures`]; `false` where
    /// there is no such object.
    pub fn read(&self, object: ObjectId, key: Key, now: HostTime, out: &mut [f64]) -> bool {
        let Some(object) = self.policies.objects.get(object) else { return false };
        object.write_figures(key, self.instant(now), &mut Figures::new(out));
        true
    }

    /// A stack's gate of this type, to read.
    #[must_use]
    pub fn gate<G: Gate>(&self, stack: StackId) -> Option<&G> {
        let stack = self.stacks.get(usize::from(stack.number()))?;
        stack.gates.iter().find_map(|object| {
            let (_, gate) = self.policies.objects.gate(*object)?;
            (&**gate as &dyn Any).downcast_ref()
        })
    }

    /// A stack's gate of this type, to operate, with what a gate is lent. The operator's reading of the clock counts as
    /// one of the host's.
    pub fn operate<G: Gate, T>(
        &mut self,
        stack: StackId,
        now: HostTime,
        random: u64,
        act: impl FnOnce(&mut G, &mut Cx<'_>) -> T,
    ) -> Option<T> {
        // Counts even where nothing is found; read again, it is the same instant.
        self.clock.read(now);
        let gates = &self.stacks.get(usize::from(stack.number()))?.gates;
        let is_one = |object: &ObjectId| {
            self.policies.objects.gate(*object).is_some_and(|(_, gate)| (&**gate as &dyn Any).is::<G>())
        };
        let object = *gates.iter().find(|object| is_one(object))?;
        self.operate_on(object, now, random, act)
    }

    /// The same of a gate by its number, if it is of this type.
    pub fn operate_on<G: Gate, T>(
        &mut self,
        object: ObjectId,
        now: HostTime,
        random: u64,
        act: impl FnOnce(&mut G, &mut Cx<'_>) -> T,
    ) -> Option<T> {
        let mut verb = self.open(now, random);
        let (gate, mut cx) = self.policies.lend(object, None, &mut verb)?;
        let gate: &mut dyn Any = &mut **gate;
        Some(act(gate.downcast_mut()?, &mut cx))
    }

    /// The engine's own time for a reading that is not a verb's: nothing moves.
    #[must_use]
    pub fn instant(&self, now: HostTime) -> Instant {
        let mut clock = self.clock;
        clock.read(now)
    }
}
