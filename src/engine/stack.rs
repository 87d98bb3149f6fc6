//! Stacks: parsed configurations, and how many calls each has seen.

use alloc::vec::Vec;

use crate::any_gate::AnyGate;
use crate::call::Facts;
use crate::config::{ConfigError, ConfigReason, NO_OPTION};
use crate::decision::MAX_ATTEMPTS;
use crate::engine::arena::Arena;
use crate::id::ObjectId;
use crate::policy::budget::{self, AnyBudget};
use crate::policy::retry::{self, Retry};
use crate::policy::{Kind, MAX_GATES, attempt_timeout, deadline, hedge};
use crate::stack_config::{BuiltGate, Part, StackConfig};
use crate::time::{Duration, Instant};

/// One parsed stack. Gates and budgets live in the arena, so that stacks can share them.
#[derive(Debug)]
pub(crate) struct Stack {
    config: StackConfig,
    pub retry: Retry,
    pub budget: Option<ObjectId>,
    /// What measures the pace of hedges, where that is measured.
    pub pace: Option<ObjectId>,
    /// Outermost first.
    pub gates: Vec<ObjectId>,
    /// Its gates, its budget and its pace.
    pub objects: Vec<ObjectId>,
    /// Whether some gate's capacity stays taken until the body ends.
    pub holds_until_body: bool,
    /// Whether some gate's capacity stays taken until an attempt that was given up has really ended.
    pub holds_until_settled: bool,
}

impl Stack {
    /// Parses a configuration; makes the gates and the budget that are the stack's own.
    pub fn new(mut config: StackConfig, arena: &mut Arena) -> Result<Self, ConfigError> {
        let once = retry::Config { attempts: 1, ..Default::default() };
        let retry = Retry::new(*config.retry.as_ref().unwrap_or(&once))?;
        config.deadline.as_mut().map_or(Ok(()), deadline::Config::check_ranges)?;
        config.attempt_timeout.as_mut().map_or(Ok(()), attempt_timeout::Config::check_ranges)?;
        if config.deadline != Some(Default::default()) && config.attempt_timeout != Some(Default::default()) {
            config.check_limits()?;
        }
        config.hedge.as_mut().map_or(Ok(()), hedge::Config::check_ranges)?;
        check_attempts(&retry, config.hedge)?;
        let budget = find_budget(&config, &retry, arena)?;
        let pace = config.hedge.and_then(hedge::Pace::new).map(|pace| arena.add_pace(pace)).transpose()?;
        let gates = find_gates(&config, arena)?;
        let any = |holds: fn(&AnyGate) -> bool| {
            gates.iter().any(|object| arena.gate(*object).is_some_and(|(_, gate)| holds(gate)))
        };
        let holds_until_body = any(|gate| gate.holds_until_body());
        let holds_until_settled = any(|gate| gate.holds_until_settled());
        let mut objects = gates.clone();
        objects.extend(budget);
        objects.extend(pace);
        Ok(Self { config, retry, budget, pace, gates, objects, holds_until_body, holds_until_settled })
    }

    /// When a call that begins now is out of time.
    pub fn deadline(&self, own: Option<Duration>, now: Instant) -> Instant {
        deadline::deadline(self.config.deadline.as_ref(), own, now)
    }

    /// When an attempt that starts now is given up.
    pub fn abort_at(&self, deadline: Instant, now: Instant) -> Instant {
        attempt_timeout::abort_at(self.config.attempt_timeout.as_ref(), deadline, now)
    }

    /// Whether another attempt may start beside the running ones after so many hedges, and after how long it does
    /// where that is not measured.
    pub fn hedge_after(&self, facts: &Facts, hedges: u8) -> Option<Duration> {
        hedge::next_delay(self.config.hedge.as_ref(), facts, hedges)
    }

    /// Whether every attempt ends by itself, so that nothing depends on leases alone.
    pub fn has_a_limit(&self) -> bool {
        self.config.deadline.is_some() || self.config.attempt_timeout.is_some()
    }
}

/// Attempt numbers must fit the decisions' sets.
fn check_attempts(retry: &Retry, hedge: Option<hedge::Config>) -> Result<(), ConfigError> {
    let beside = hedge.map_or(1, |hedge| hedge.attempts);
    let most = u32::from(MAX_ATTEMPTS) / beside.max(1);
    if retry.attempts() > most {
        let (given, most) = (f64::from(retry.attempts()), f64::from(most));
        return Err(ConfigError::conflict(Kind::Retry, retry::ATTEMPTS, given, 1.0, most));
    }
    Ok(())
}

fn find_budget(config: &StackConfig, retry: &Retry, arena: &mut Arena) -> Result<Option<ObjectId>, ConfigError> {
    let repeats = config.retry.is_some() || config.hedge.is_some();
    let own = match config.budget {
        Some(Part::Shared(object)) if arena.budget(object).is_some() => return Ok(Some(object)),
        Some(Part::Shared(object)) => return Err(unknown_object(Kind::Budget, arena, object)),
        Some(Part::Own(own)) => own,
        None if repeats && retry.wants_budget() => budget::Config::default(),
        None => return Ok(None),
    };
    arena.add_budget(budget::build(own)?).map(Some)
}

/// A part that is built to be shared.
pub(crate) enum SharedPart {
    Gate(AnyGate),
    Budget(AnyBudget),
}

/// Builds the gate or the budget of this kind from a configuration, for several stacks.
pub(crate) fn build_shared(config: &StackConfig, kind: Kind) -> Result<SharedPart, ConfigError> {
    if let (Kind::Budget, Some(Part::Own(own))) = (kind, config.budget) {
        return budget::build(own).map(SharedPart::Budget);
    }
    match config.build_gate(kind)? {
        Some(BuiltGate::Own(gate)) => Ok(SharedPart::Gate(gate)),
        _ => Err(refuse_object(kind, f64::NAN)),
    }
}

fn find_gates(config: &StackConfig, arena: &mut Arena) -> Result<Vec<ObjectId>, ConfigError> {
    let kind_of = |arena: &Arena, object: ObjectId| arena.gate(object).map(|(kind, _)| kind);
    if let Some(other) = config.others.iter().find(|other| kind_of(arena, **other).is_none()) {
        return Err(unknown_object(Kind::Breaker, arena, *other));
    }
    let mut gates = Vec::new();
    for kind in Kind::ALL {
        match config.build_gate(*kind)? {
            None => {}
            Some(BuiltGate::Own(gate)) => gates.push(arena.add_gate(*kind, gate)?),
            Some(BuiltGate::Shared(object)) if kind_of(arena, object) == Some(*kind) => gates.push(object),
            Some(BuiltGate::Shared(object)) => return Err(unknown_object(*kind, arena, object)),
        }
        gates.extend(config.others.iter().filter(|other| kind_of(arena, **other) == Some(*kind)));
    }
    if gates.len() > MAX_GATES {
        return Err(ConfigError::too_many(Kind::Breaker, gates.len(), MAX_GATES));
    }
    Ok(gates)
}

/// There is no such object, or it is of another kind.
#[cold]
#[inline(never)]
fn unknown_object(policy: Kind, arena: &Arena, object: ObjectId) -> ConfigError {
    refuse_object(policy, arena.get(object).map_or(-1.0, |object| f64::from(object.kind().code())))
}

fn refuse_object(policy: Kind, given: f64) -> ConfigError {
    ConfigError::new(policy, NO_OPTION, given, (f64::NAN, f64::NAN), ConfigReason::UnknownObject)
}
