//! A stack: one choice of policies.

use alloc::string::String;
use alloc::vec::Vec;

use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::{HostTime, Key, MAX_KEYS, StackConfig, StackId, is_snapshot};

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
            if let (Key::NEW, Some(name), Some(call)) = (key, &name, decision.call)
                && let Some(given) = state.engine.key_of(call)
            {
                state.names.learn(name, given);
            }
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
            let now = HostTime::from_nanos(now);
            let mut keys = Vec::new();
            for pair in state.engine.snapshot_keys(self.0, now).chunks_exact(2) {
                let number = pair.iter().rev().fold(0, |number, byte| number << 8 | u16::from(*byte));
                if !keys.iter().any(|(known, _)| *known == number)
                    && let Some(name) = state.names.name(Key::from_number(number))
                {
                    keys.push((number, String::from(name)));
                }
            }
            Snapshot { state: state.engine.snapshot(self.0, now), keys }
        })
    }

    fn restore(&self, snapshot: Snapshot, now: u64) -> Result<Vec<Policy>, RestoreError> {
        let Snapshot { state: bytes, keys } = snapshot;
        // All that can be wrong with it is asked first: names that are given numbers may cost others theirs.
        if !is_snapshot(&bytes) {
            return Err(RestoreError::Damaged);
        }
        engine::with(|state| {
            for (_, name) in &keys {
                state.intern(name);
            }
            let mut here = [Key::NEW; KEYS];
            here[0] = Key::WHOLE;
            for (number, name) in &keys {
                if let Some(place) = here.get_mut(usize::from(*number)) {
                    // Where there is little room, a later name may have got this one's number.
                    *place = state.names.key(name);
                }
            }
            match state.engine.restore(self.0, &bytes, &here, HostTime::from_nanos(now)) {
                Ok(restored) => Ok(policies(restored.dropped)),
                Err(_) => Err(RestoreError::Damaged),
            }
        })
    }
}

/// The policies of a set.
fn policies(set: u16) -> Vec<Policy> {
    let is_in = |kind: &forbear::Kind| set & 1 << kind.code() != 0;
    forbear::Kind::ALL.iter().copied().filter(is_in).map(words::policy).collect()
}

/// All keys there may be, the two that everybody has among them.
const KEYS: usize = MAX_KEYS as usize + 2;
