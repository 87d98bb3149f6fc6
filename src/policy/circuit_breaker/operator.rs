//! What operators see and do.

use super::CircuitBreaker;
use super::circuit::{Phase, Record, State};
use super::config::Config;
use crate::event::{CloseReason, EventValue, FieldKind, Trigger, What};
use crate::key::Key;
use crate::measure::window::Counts;
use crate::policy::Cx;
use crate::ratio::Ratio;
use crate::time::{Duration, Instant};

words! {
    /// A circuit's state.
    #[non_exhaustive]
    pub enum StateWord {
        /// Calls pass and are judged.
        Closed = "closed",
        /// Calls are refused until an instant.
        Open = "open",
        /// Probes pass, all other calls are refused.
        HalfOpen = "half-open",
        /// Calls are refused until an operator says otherwise.
        ForcedOpen = "forced-open",
        /// Calls pass and are counted, but not judged.
        Disabled = "disabled",
    }
}

/// A circuit as it is at one instant. Reading changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its state.
    pub state: StateWord,
    /// What the window holds; nothing unless calls are counted.
    pub counts: Counts,
    /// How many failures in a row came last.
    pub consecutive: u32,
    /// How often it has opened since its trips were last forgotten.
    pub trips: u32,
    /// From when on it does not refuse, where that is known.
    pub retry_at: Option<Instant>,
}

figures! {
    Reading as it at now {
        /// What it does with calls.
        "state": StateWord = it.state;
        /// Calls in the window.
        "calls": u32 = it.counts.calls;
        /// Failures among them.
        "failures": u32 = it.counts.failures;
        /// Slow ones among them.
        "slow": u32 = it.counts.slow;
        /// `failures` as a share of `calls`, 0 to 1; 0 of no calls.
        "failureRate": Ratio = it.failure_rate();
        /// `slow` as a share of `calls`, 0 to 1; 0 of no calls.
        "slowRate": Ratio = it.slow_rate();
        /// How many failures came last, one after the other.
        "consecutiveFailures": u32 = it.consecutive;
        /// How often in a row it has opened.
        "trips": u32 = it.trips;
        /// How long it goes on refusing, if it does and that is known.
        "retryAfterMs": Option<Duration> = it.retry_at.map(|at| at.since(now));
    }
}

impl EventValue for StateWord {
    const KIND: FieldKind = FieldKind::Word(Self::WORDS);
    fn to_number(self) -> f64 {
        f64::from(self.code())
    }
}

impl Reading {
    pub(super) const PRISTINE: Self = Self {
        state: StateWord::Closed,
        counts: Counts { calls: 0, failures: 0, slow: 0 },
        consecutive: 0,
        trips: 0,
        retry_at: None,
    };

    /// The share of failures in the window, rounded down; nothing of nothing.
    #[must_use]
    pub fn failure_rate(&self) -> Ratio {
        share(self.counts.failures, self.counts.calls)
    }

    /// The share of slow calls in the window, rounded down; nothing of nothing.
    #[must_use]
    pub fn slow_rate(&self) -> Ratio {
        share(self.counts.slow, self.counts.calls)
    }
}

fn share(part: u32, whole: u32) -> Ratio {
    let millionths = u64::from(part) * u64::from(Ratio::ONE.millionths()) / u64::from(whole.max(1));
    Ratio::from_millionths(u32::try_from(millionths).unwrap_or(u32::MAX))
}

impl CircuitBreaker {
    /// How it is configured: what the window covers, among others.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The circuit's state at `now`. One whose time has come reads as half-open, though nobody has called yet.
    #[must_use]
    pub fn state(&self, key: Key, now: Instant) -> StateWord {
        self.read(key, now).state
    }

    /// All there is to know about a circuit at `now`.
    #[must_use]
    pub fn read(&self, key: Key, now: Instant) -> Reading {
        let Some(circuit) = self.circuits.get(key) else { return Reading::PRISTINE };
        let (state, retry_at) = match circuit.phase(now) {
            Phase::Closed => (StateWord::Closed, None),
            Phase::Open(until) => (StateWord::Open, Some(until)),
            Phase::Due | Phase::Probing { .. } => (StateWord::HalfOpen, None),
            Phase::ForcedOpen => (StateWord::ForcedOpen, None),
            Phase::Disabled => (StateWord::Disabled, None),
        };
        let (counts, consecutive) =
            circuit.record().map_or_else(Default::default, |it| (it.window.counts(now, self.bounds), it.consecutive));
        Reading { state, counts, consecutive, trips: self.trips(key, now).count, retry_at }
    }
}

/// What operators do. Results of calls that are under way are ignored as stale; keys that are never judged stay so.
impl CircuitBreaker {
    /// Opens the circuit without an end and without probes, until somebody says otherwise.
    pub fn force_open(&mut self, key: Key, cx: &mut Cx<'_>) {
        if key.is_one_name() && self.state(key, cx.now) != StateWord::ForcedOpen {
            let Counts { calls, failures, slow } = self.read(key, cx.now).counts;
            self.enter(key, self.trips(key, cx.now), State::ForcedOpen);
            cx.tell(key, || What::Opened { trigger: Trigger::Forced, calls, failures, slow, open_for: None });
        }
    }

    /// Closes the circuit now, with an empty window; it goes on judging, and remembers its trips.
    pub fn force_closed(&mut self, key: Key, cx: &mut Cx<'_>) {
        if key.is_one_name() {
            self.close(key, CloseReason::Forced, cx);
        }
    }

    /// Closes the circuit now and forgets everything, its trips too.
    pub fn reset(&mut self, key: Key, cx: &mut Cx<'_>) {
        self.circuits.forget(key);
        cx.tell(key, || What::Reset {});
    }

    /// Lets everything through and only counts; or, with `false`, closes a circuit that was so.
    pub fn disable(&mut self, key: Key, disabled: bool, cx: &mut Cx<'_>) {
        let is_so = self.state(key, cx.now) == StateWord::Disabled;
        if key.is_one_name() && disabled && !is_so {
            self.enter(key, self.trips(key, cx.now), State::Disabled { record: Record::default() });
            cx.tell(key, || What::Closed { reason: CloseReason::Disabled });
        } else if is_so && !disabled {
            self.close(key, CloseReason::Forced, cx);
        }
    }
}
