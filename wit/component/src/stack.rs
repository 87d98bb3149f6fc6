//! A stack: one choice of policies.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::{HostTime, StackConfig, StackId};
use forbear_wit_shared::learned;

use crate::bindings::exports::forbear::resilience::engine::{
    Circuit, CircuitAction, ConfigError, Decision, Facts, GuestStack, Metrics, Policy, PolicySettings, RestoreError,
    SharedBorrow, Snapshot, Stack,
};
use crate::shared::Object;
use crate::{answer, engine, settings, words};

/// A stack, by its number.
pub struct Stacked(StackId);

impl GuestStack for Stacked {
    fn create(policies: Vec<PolicySettings>, shared: Vec<SharedBorrow<'_>>) -> Result<Stack, ConfigError> {
        let mut config = StackConfig::OFF;
        for settings in &policies {
            settings::apply(&mut config, settings)?;
        }
        for object in &shared {
            let Object { kind, id } = object.get();
            config.slot(*kind).share(*id);
        }
        let id = engine::with(|state| state.engine.add_stack(config)).map_err(settings::refused)?;
        Ok(Stack::new(Self(id)))
    }

    fn number(&self) -> u16 {
        self.0.number()
    }

    fn admit(&self, name: Option<String>, facts: Facts, now: u64, random: u64) -> Decision {
        engine::with(|state| {
            let key = state.key(name.as_deref());
            let decision = state.engine.admit(self.0, key, words::facts(facts), HostTime::from_nanos(now), random);
            state.names.learn_admitted(name.as_deref(), key, &decision, &state.engine);
            answer::tell(&state.engine, &decision)
        })
    }

    fn has_a_limit(&self) -> bool {
        engine::with(|state| state.engine.has_a_limit(self.0))
    }

    fn metrics(&self, name: Option<String>) -> Option<Metrics> {
        engine::with(|state| state.engine.metrics(self.0, state.key(name.as_deref())).map(answer::metrics))
    }

    fn circuit(&self, name: Option<String>, now: u64) -> Option<Circuit> {
        engine::with(|state| {
            let now = state.engine.instant(HostTime::from_nanos(now));
            let breaker = state.engine.gate::<CircuitBreaker>(self.0)?;
            let reading = breaker.read(state.key(name.as_deref()), now);
            Some(Circuit {
                state: words::circuit_state(reading.state),
                calls: reading.counts.calls,
                failures: reading.counts.failures,
                slow: reading.counts.slow,
                consecutive: reading.consecutive,
                trips: reading.trips,
                retry_after: reading.retry_at.map(|at| at.since(now).as_nanos()),
            })
        })
    }

    fn operate(&self, name: Option<String>, action: CircuitAction, now: u64, random: u64) -> bool {
        engine::with(|state| {
            let key = state.key(name.as_deref());
            let act = |breaker: &mut CircuitBreaker, cx: &mut forbear::policy::Cx<'_>| match action {
                CircuitAction::Reset => breaker.reset(key, cx),
                CircuitAction::ForceOpen => breaker.force_open(key, cx),
                CircuitAction::ForceClosed => breaker.force_closed(key, cx),
                CircuitAction::Disable => breaker.disable(key, true, cx),
                CircuitAction::Enable => breaker.disable(key, false, cx),
            };
            state.engine.operate(self.0, HostTime::from_nanos(now), random, act).is_some()
        })
    }

    fn snapshot(&self, now: u64) -> Snapshot {
        engine::with(|state| {
            let (state, keys) = learned::take(&state.engine, self.0, &state.names, HostTime::from_nanos(now));
            Snapshot { state, keys: keys.into_iter().map(|(number, name)| (number, String::from(name))).collect() }
        })
    }

    fn restore(&self, snapshot: Snapshot, now: u64) -> Result<Vec<Policy>, RestoreError> {
        self.take_over(&snapshot, false, now)
    }

    fn restore_with_orders(&self, snapshot: Snapshot, now: u64) -> Result<Vec<Policy>, RestoreError> {
        self.take_over(&snapshot, true, now)
    }
}

impl Stacked {
    fn take_over(&self, snapshot: &Snapshot, orders: bool, now: u64) -> Result<Vec<Policy>, RestoreError> {
        engine::with(|state| {
            let keys = snapshot.keys.iter().map(|(number, name)| (*number, name.as_str()));
            let learned = (&*snapshot.state, keys, orders);
            let restored =
                learned::restore(&mut state.engine, self.0, &mut state.names, learned, HostTime::from_nanos(now));
            restored.map(|restored| policies(restored.dropped)).map_err(|_| RestoreError::Damaged)
        })
    }
}

/// The policies of a set.
fn policies(set: u16) -> Vec<Policy> {
    let is_in = |kind: &forbear::Kind| set & 1 << kind.code() != 0;
    forbear::Kind::ALL.iter().copied().filter(is_in).map(|kind| kind.word().to_string()).collect()
}
