//! What there is to read of a guard, and what its operators do.

use std::time::Duration;

use forbear::policy::circuit_breaker::{CircuitBreaker, StateWord};
use forbear::policy::{Cx, Gate};
use forbear::snapshot::Damaged;
use forbear::{Key, Metrics, Ratio};

use crate::saved::{self, Restored};
use crate::{Guard, isolate};

/// A circuit, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// What it does with calls.
    pub state: StateWord,
    /// Calls in the window.
    pub calls: u32,
    /// Failures among them.
    pub failures: u32,
    /// Slow ones among them.
    pub slow: u32,
    /// `failures` as a share of `calls`.
    pub failure_rate: Ratio,
    /// `slow` as a share of `calls`.
    pub slow_rate: Ratio,
    /// How many failures came last, one after the other.
    pub consecutive_failures: u32,
    /// How often in a row it has opened.
    pub trips: u32,
    /// After this time it does not refuse; `None` where nobody knows.
    pub retry_after: Option<Duration>,
}

/// Reads. A key is an origin, by any URL of it, or any other name; `None` stands for the calls that have none. To read
/// changes nothing.
///
/// They ask the engine, as everything below does: inside [`with_engine`](Guard::with_engine) there is no answer.
impl Guard {
    /// The counts of a key, if any call of this guard had it.
    #[must_use]
    pub fn metrics<'a>(&self, key: impl Into<Option<&'a str>>) -> Option<Metrics> {
        let key = self.number(key.into());
        self.with_engine(|engine, stack, _| engine.metrics(stack, key).cloned()).flatten()
    }

    /// The circuit of a key, which is closed where no call had it; `None` where this guard has no breaker.
    #[must_use]
    pub fn breaker<'a>(&self, key: impl Into<Option<&'a str>>) -> Option<Circuit> {
        let key = self.number(key.into());
        self.with_engine(|engine, stack, now| {
            let now = engine.instant(now);
            let it = engine.gate::<CircuitBreaker>(stack)?.read(key, now);
            Some(Circuit {
                state: it.state,
                calls: it.counts.calls,
                failures: it.counts.failures,
                slow: it.counts.slow,
                failure_rate: it.failure_rate(),
                slow_rate: it.slow_rate(),
                consecutive_failures: it.consecutive,
                trips: it.trips,
                retry_after: it.retry_at.map(|at| at.since(now).into()),
            })
        })
        .flatten()
    }

    fn number(&self, key: Option<&str>) -> Key {
        key.map_or(Key::WHOLE, |name| self.key(name).unwrap_or(Key::NEW))
    }
}

/// Operators, and state for another isolate or another day.
impl Guard {
    /// Operates this guard's policy of this type, for a key that may be new; `None` where the guard has none, or where all keys
    /// are busy.
    pub fn operate<'a, G: Gate, T>(
        &self,
        key: impl Into<Option<&'a str>>,
        act: impl FnOnce(&mut G, Key, &mut Cx<'_>) -> T,
    ) -> Option<T> {
        let (name, stack) = (key.into(), self.0.stack);
        isolate::ask(|isolate| {
            let key = name.map_or(Some(Key::WHOLE), |name| isolate.intern(&isolate::name_of(name)))?;
            let (now, random) = isolate.moment();
            isolate.engine.operate(stack, now, random, |gate: &mut G, cx| act(gate, key, cx))
        })
        .flatten()
    }

    /// What this guard's policies have learned, as bytes. Nothing in flight is in it. The JavaScript package reads them too.
    #[must_use]
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        isolate::ask(|isolate| saved::save(isolate, self.0.stack))
    }

    /// Takes over what a guard with the same policies has saved, here or in the JavaScript package. Meanwhile time stood still:
    /// a circuit that had ten seconds to go has ten seconds to go. Keys that find no room are left out, and so is what
    /// operators ordered.
    ///
    /// # Errors
    /// The bytes are damaged or foreign, or nobody could be asked; nothing has changed then.
    pub fn restore(&self, bytes: &[u8]) -> Result<Restored, Damaged> {
        isolate::ask(|isolate| saved::restore(isolate, self.0.stack, bytes, false)).unwrap_or(Err(Damaged))
    }

    /// The same, and what operators ordered holds here too: circuits that they forced open or disabled. For bytes that nobody
    /// else can have written.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn restore_with_orders(&self, bytes: &[u8]) -> Result<Restored, Damaged> {
        isolate::ask(|isolate| saved::restore(isolate, self.0.stack, bytes, true)).unwrap_or(Err(Damaged))
    }
}
