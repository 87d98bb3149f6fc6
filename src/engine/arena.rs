//! The arena: gates, budgets and paces, each in a place of its own, so that stacks can share them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::any_gate::AnyGate;
use crate::config::ConfigError;
use crate::figure::Figures;
use crate::id::ObjectId;
use crate::key::Key;
use crate::policy::Kind;
use crate::policy::budget::AnyBudget;
use crate::policy::hedge::Pace;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::Instant;

pub(crate) struct Arena {
    objects: Vec<Object>,
}

pub(crate) enum Object {
    Gate(Kind, AnyGate),
    Budget(AnyBudget),
    Pace(Box<Pace>),
}

impl Arena {
    pub const fn new() -> Self {
        Self { objects: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    pub fn add_gate(&mut self, kind: Kind, gate: AnyGate) -> Result<ObjectId, ConfigError> {
        self.add(kind, Object::Gate(kind, gate))
    }

    pub fn add_budget(&mut self, budget: AnyBudget) -> Result<ObjectId, ConfigError> {
        self.add(Kind::Budget, Object::Budget(budget))
    }

    pub fn add_pace(&mut self, pace: Pace) -> Result<ObjectId, ConfigError> {
        self.add(Kind::Hedge, Object::Pace(Box::new(pace)))
    }

    fn add(&mut self, kind: Kind, object: Object) -> Result<ObjectId, ConfigError> {
        let place = self.objects.len();
        if place >= MAX_OBJECTS {
            return Err(ConfigError::too_many(kind, place + 1, MAX_OBJECTS));
        }
        self.objects.push(object);
        Ok(ObjectId::from_number(place as u16))
    }

    pub fn get(&self, object: ObjectId) -> Option<&Object> {
        self.objects.get(usize::from(object.number()))
    }

    pub fn get_mut(&mut self, object: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(usize::from(object.number()))
    }

    pub fn gate(&self, object: ObjectId) -> Option<(Kind, &AnyGate)> {
        match self.get(object)? {
            Object::Gate(kind, gate) => Some((*kind, gate)),
            _ => None,
        }
    }

    pub fn budget(&self, object: ObjectId) -> Option<&AnyBudget> {
        match self.get(object)? {
            Object::Budget(budget) => Some(budget),
            _ => None,
        }
    }

    pub fn budget_mut(&mut self, object: ObjectId) -> Option<&mut AnyBudget> {
        match self.get_mut(object)? {
            Object::Budget(budget) => Some(budget),
            _ => None,
        }
    }

    pub fn pace(&self, object: ObjectId) -> Option<&Pace> {
        match self.get(object)? {
            Object::Pace(pace) => Some(pace),
            _ => None,
        }
    }

    pub fn pace_mut(&mut self, object: ObjectId) -> Option<&mut Pace> {
        match self.get_mut(object)? {
            Object::Pace(pace) => Some(pace),
            _ => None,
        }
    }

    /// Whether any policy may not forget the key now.
    pub fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.objects.iter().any(|object| object.is_busy(key, now))
    }

    /// Whether any of these may not.
    pub fn is_any_busy(&self, objects: &[ObjectId], key: Key, now: Instant) -> bool {
        objects.iter().any(|object| self.get(*object).is_some_and(|object| object.is_busy(key, now)))
    }

    /// About how many keys one verb may ask whether they are busy: of the more objects, the fewer.
    pub fn looks(&self) -> usize {
        (MOST_ASKED / (self.objects.len() + 1)).clamp(FEWEST_LOOKS, MOST_LOOKS)
    }

    /// The key's number is given to another name.
    pub fn forget(&mut self, key: Key, now: Instant) {
        self.objects.iter_mut().for_each(|object| object.forget(key, now));
    }

    /// One of them forgets the key.
    pub fn forget_in(&mut self, object: ObjectId, key: Key, now: Instant) {
        if let Some(object) = self.get_mut(object) {
            object.forget(key, now);
        }
    }
}

/// What gates, budgets and paces have in common.
impl Object {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Gate(kind, _) => *kind,
            Self::Budget(_) => Kind::Budget,
            Self::Pace(_) => Kind::Hedge,
        }
    }

    pub fn fingerprint(&self) -> u64 {
        match self {
            Self::Gate(_, gate) => gate.fingerprint(),
            Self::Budget(budget) => budget.fingerprint(),
            Self::Pace(pace) => pace.fingerprint(),
        }
    }

    pub fn save(&self, now: Instant, out: &mut Writer) {
        match self {
            Self::Gate(_, gate) => gate.save(now, out),
            Self::Budget(budget) => budget.save(now, out),
            Self::Pace(pace) => pace.save(now, out),
        }
    }

    pub fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        match self {
            Self::Gate(_, gate) => gate.restore(now, input),
            Self::Budget(budget) => budget.restore(now, input),
            Self::Pace(pace) => pace.restore(now, input),
        }
    }

    pub fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        match self {
            Self::Gate(_, gate) => gate.write_figures(key, now, out),
            Self::Budget(budget) => budget.counts(key, now).write(now, out),
            Self::Pace(_) => {}
        }
    }

    /// Whether it may not forget the key now.
    pub fn is_busy(&self, key: Key, now: Instant) -> bool {
        match self {
            Self::Gate(_, gate) => gate.is_busy(key, now),
            Self::Budget(budget) => budget.is_busy(key, now),
            Self::Pace(_) => false,
        }
    }

    pub fn forget(&mut self, key: Key, now: Instant) {
        match self {
            Self::Gate(_, gate) => gate.forget(key),
            Self::Budget(budget) => budget.forget(key, now),
            Self::Pace(pace) => pace.forget(key),
        }
    }
}

/// How many gates, budgets and paces one engine has. Ours: every one of 256 stacks with all that it may have of its own.
const MAX_OBJECTS: usize = 2_048;
/// How many answers about keys one verb asks for, and bounds of how many keys those are about. Ours: done in a few tens of
/// microseconds.
const MOST_ASKED: usize = 4_096;
const FEWEST_LOOKS: usize = 8;
const MOST_LOOKS: usize = 64;
