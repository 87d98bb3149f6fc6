//! Stacks: parsed configurations, and how many calls each has seen.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::config::{Config, ConfigError, ConfigReason};
use crate::decision::MAX_ATTEMPTS;
use crate::engine::desk::Desk;
use crate::policy::budget::{self, RetryBudget};
use crate::policy::retry::{self, Retry};
use crate::policy::{BuiltGate, Gate, Kind, MAX_GATES, Part, StackConfig, attempt_timeout, deadline, hedge};
use crate::time::{Duration, Instant};

/// One parsed stack. Gates and budgets live in the desk's arena, so that stacks can share them.
#[derive(Debug)]
pub(crate) struct Stack {
    deadline: Option<deadline::Config>,
    attempt_timeout: Option<attempt_timeout::Config>,
    pub retry: Retry,
    pub hedge: Option<hedge::Config>,
    pub budget: Option<usize>,
    pub gates: GateList,
}

/// A stack's gates, outermost first, as places in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateList {
    places: [u16; MAX_GATES],
    count: u8,
}

impl GateList {
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.places.get(..usize::from(self.count)).unwrap_or_default();
        places.iter().map(|place| usize::from(*place))
    }
}

impl Stack {
    /// Parses a configuration; makes the gates and the budget that are the stack's own.
    pub fn new(config: StackConfig, desk: &mut Desk) -> Result<Self, ConfigError> {
        let retry = Retry::new(config.retry.clone().unwrap_or(retry::Config { attempts: 1, ..Default::default() }))?;
        check(config.deadline.as_ref())?;
        check(config.attempt_timeout.as_ref())?;
        check(config.hedge.as_ref())?;
        check_attempts(&retry, config.hedge.as_ref())?;
        let budget = find_budget(&config, &retry, desk)?;
        Ok(Self {
            gates: find_gates(&config, desk)?,
            budget,
            retry,
            deadline: config.deadline,
            attempt_timeout: config.attempt_timeout,
            hedge: config.hedge,
        })
    }

    pub fn deadline(&self, own: Option<Duration>, now: Instant) -> Instant {
        deadline::deadline(self.deadline.as_ref(), own, now)
    }

    pub fn abort_at(&self, deadline: Instant, now: Instant) -> Instant {
        attempt_timeout::abort_at(self.attempt_timeout.as_ref(), deadline, now)
    }

    /// Whether every attempt ends by itself, so that nothing depends on leases alone.
    pub fn has_a_limit(&self) -> bool {
        self.deadline.is_some() || self.attempt_timeout.is_some()
    }
}

fn check<C: Config>(config: Option<&C>) -> Result<(), ConfigError> {
    config.map_or(Ok(()), C::check_ranges)
}

/// Attempt numbers must fit the decisions' sets.
fn check_attempts(retry: &Retry, hedge: Option<&hedge::Config>) -> Result<(), ConfigError> {
    let beside = hedge.map_or(1, |hedge| hedge.attempts);
    let most = u32::from(MAX_ATTEMPTS) / beside;
    if retry.attempts() > most {
        let spec = retry::Config::spec("attempts");
        return Err(spec.conflict(Kind::Retry, f64::from(retry.attempts()), spec.min, f64::from(most)));
    }
    Ok(())
}

fn find_budget(config: &StackConfig, retry: &Retry, desk: &mut Desk) -> Result<Option<usize>, ConfigError> {
    let repeats = config.retry.is_some() || config.hedge.is_some();
    match &config.budget {
        Some(Part::Shared(object)) => match desk.budget_place(*object) {
            Some(place) => Ok(Some(place)),
            None => Err(unknown_object(Kind::Budget)),
        },
        Some(Part::Own(own)) => own_budget(own.clone(), desk).map(Some),
        None if repeats && retry.wants_budget() => own_budget(budget::Config::default(), desk).map(Some),
        None => Ok(None),
    }
}

/// A part that is built to be shared.
pub(crate) enum SharedPart {
    Gate(Box<dyn Gate>),
    Budget(RetryBudget),
}

/// Builds the gate or the budget of this kind from a configuration, for several stacks.
pub(crate) fn build_shared(config: &StackConfig, kind: Kind) -> Result<SharedPart, ConfigError> {
    if let (Kind::Budget, Some(Part::Own(own))) = (kind, &config.budget) {
        return RetryBudget::new(own.clone()).map(SharedPart::Budget);
    }
    match config.build_gate(kind)? {
        Some(BuiltGate::Own(gate)) => Ok(SharedPart::Gate(gate)),
        _ => Err(unknown_object(kind)),
    }
}

fn own_budget(config: budget::Config, desk: &mut Desk) -> Result<usize, ConfigError> {
    desk.add_budget(Box::new(RetryBudget::new(config)?))
}

fn find_gates(config: &StackConfig, desk: &mut Desk) -> Result<GateList, ConfigError> {
    let mut found: Vec<(Kind, u16)> = Vec::new();
    for kind in Kind::ALL {
        let place = match config.build_gate(*kind)? {
            None => continue,
            Some(BuiltGate::Own(gate)) => desk.add_gate(*kind, gate)?,
            Some(BuiltGate::Shared(object)) => match desk.gate_place(object) {
                Some((its, place)) if its == *kind => place,
                _ => return Err(unknown_object(*kind)),
            },
        };
        found.push((*kind, place as u16));
    }
    for object in &config.others {
        let (kind, place) = desk.gate_place(*object).ok_or(unknown_object(Kind::Breaker))?;
        found.push((kind, place as u16));
    }
    if found.len() > MAX_GATES {
        return Err(too_many(Kind::Breaker, found.len(), MAX_GATES));
    }
    found.sort_by_key(|(kind, _)| *kind);
    let mut gates = GateList { places: [0; MAX_GATES], count: found.len() as u8 };
    for (slot, (_, place)) in gates.places.iter_mut().zip(found) {
        *slot = place;
    }
    Ok(gates)
}

pub(crate) fn too_many(policy: Kind, given: usize, most: usize) -> ConfigError {
    ConfigError { policy, option: "", given: given as f64, min: 0.0, max: most as f64, reason: ConfigReason::TooMany }
}

fn unknown_object(policy: Kind) -> ConfigError {
    ConfigError {
        policy,
        option: "",
        given: f64::NAN,
        min: f64::NAN,
        max: f64::NAN,
        reason: ConfigReason::UnknownObject,
    }
}
