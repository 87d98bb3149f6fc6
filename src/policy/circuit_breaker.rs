#![doc = include_str!("../../docs/policies/circuit_breaker.md")]

use alloc::vec;

use self::circuit::{Circuit, Phase, Probe, State, Trip, Trips};
pub use self::config::Config;
pub use self::operator::{Reading, StateWord};
use self::ticket::Ticket;
use crate::config::ConfigError;
use crate::decision::RefusalReason;
use crate::event::{CloseReason, Counted, IgnoreReason, Trigger, What};
use crate::figure::Figures;
use crate::key::{Key, Keyed};
use crate::measure::window::{Bounds, Counts, Entry};
use crate::outcome::Verdict;
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note};
use crate::random::Rng;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

mod circuit;
mod config;
#[cfg(test)]
mod model;
mod operator;
#[cfg(test)]
mod tests;
mod ticket;

/// One circuit for each key.
#[derive(Debug)]
pub struct CircuitBreaker {
    config: Config,
    bounds: Bounds,
    circuits: Keyed<Circuit>,
    /// Counts the states entered, over all keys: a note names the one it was taken in, so that results of any earlier
    /// one, even of a key's former owner, are told apart. Wraps within a note's bits.
    generation: u32,
}

impl CircuitBreaker {
    /// Checks the configuration; every circuit is closed.
    ///
    /// # Errors
    /// Names the option, its value and the range allowed beside the others.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let bounds = Bounds::new(config.window_calls, config.window);
        Ok(Self { config, bounds, circuits: Keyed::default(), generation: 0 })
    }
}

impl Gate for CircuitBreaker {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let retry_at = match self.circuits.get(asker.key).map(|circuit| circuit.phase(now)) {
            None | Some(Phase::Closed | Phase::Disabled | Phase::Due | Phase::Probing { full: false }) => {
                return Answer::Pass;
            }
            Some(Phase::Open(until)) => Some(until),
            // Nobody knows when a probe or an operator will be done.
            Some(Phase::Probing { full: true } | Phase::ForcedOpen) => None,
        };
        Answer::Reject { reason: RefusalReason::CircuitOpen, retry_at }
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        let key = asker.key;
        if !key.is_one_name() {
            return Ticket::Unjudged.note();
        }
        match self.circuits.get(key).map(|circuit| circuit.phase(cx.now)) {
            None => self.enter(key, Trips::NONE, State::closed(cx.now)),
            Some(Phase::Due) => {
                self.catch_up(key, cx);
                self.half_open(key, cx);
            }
            Some(_) => {}
        }
        let ends = cx.now + self.config.half_open_timeout;
        self.circuits.get_mut(key).map_or(Ticket::Unjudged, |circuit| circuit.take(ends)).note()
    }

    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, cx: &mut Cx<'_>) {
        let ticket = Ticket::read(*note);
        if ticket == Ticket::Unjudged {
            return;
        }
        self.catch_up(key, cx);
        let reason = match ended.verdict {
            Verdict::Inconclusive => {
                // A probe's permit goes back at once: a body may keep the attempt from its release for long.
                self.release(key, note, cx);
                IgnoreReason::Inconclusive
            }
            Verdict::Cancelled => IgnoreReason::Cancelled,
            // The note stays as it is, so that a probe's permit goes back with `release`.
            verdict if !verdict.is_evidence() => IgnoreReason::Rejection,
            _ if self.record(key, ticket, self.config.entry(ended), cx) => {
                *note = Ticket::Spent.note();
                return;
            }
            _ => IgnoreReason::Stale,
        };
        cx.tell(key, || What::Ignored { reason });
    }

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        let ticket @ Ticket::Probe { .. } = Ticket::read(*note) else { return };
        *note = Ticket::Spent.note();
        self.catch_up(key, cx);
        if let Some(circuit) = self.circuits.get_mut(key).filter(|circuit| circuit.honours(ticket)) {
            circuit.mark(ticket, Probe::Free);
        }
    }

    fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        self.read(key, now).write(now, out);
    }

    fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.circuits.get(key).is_some_and(|circuit| circuit.is_busy(now))
    }

    fn forget(&mut self, key: Key) {
        self.circuits.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let marked = self.circuits.iter().filter(|(_, circuit)| !circuit.is_pristine(&self.config, self.bounds, now));
        out.list(marked, |out, (key, circuit)| {
            out.key(key);
            circuit.save(&self.config, self.bounds, now, out);
        });
    }

    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        // Read twice, so that nothing has changed when the last circuit turns out to be damaged.
        for is_sound in [false, true] {
            let mut input = *input;
            for _ in 0..input.keys()? {
                let (key, circuit) = (input.key()?, Circuit::restore(&self.config, self.bounds, now, &mut input)?);
                let ordered = circuit.is_ordered() || self.circuits.get(key).is_some_and(Circuit::is_ordered);
                if is_sound && key.is_one_name() && (input.takes_orders() || !ordered) {
                    self.enter(key, circuit.trips, circuit.state);
                }
            }
        }
        Ok(())
    }
}

/// What results do to a circuit.
impl CircuitBreaker {
    /// Whether the ticket is about the present state; otherwise nothing is done.
    fn record(&mut self, key: Key, ticket: Ticket, entry: Entry, cx: &mut Cx<'_>) -> bool {
        let Some(circuit) = self.circuits.get_mut(key).filter(|circuit| circuit.honours(ticket)) else { return false };
        let counted = if entry.failed { Counted::Failure } else { Counted::Success };
        cx.tell(key, || What::Recorded { counted, slow: entry.slow });
        match &mut circuit.state {
            State::Closed { record, .. } => {
                let counts = record.add(cx.now, self.bounds, entry);
                if let Some(trigger) = self.config.judge(counts, record.consecutive) {
                    self.trip(key, trigger, counts, cx);
                }
            }
            State::Disabled { record } => _ = record.add(cx.now, self.bounds, entry),
            State::HalfOpen { .. } if entry.failed || entry.slow => {
                self.reopen(key, cx.now, Trigger::ProbeFailed, entry, cx);
            }
            State::HalfOpen { .. } => {
                let succeeded = circuit.mark(ticket, Probe::Succeeded);
                if succeeded >= self.config.successes_to_close.unwrap_or(self.config.probes) {
                    self.close(key, CloseReason::ProbesSucceeded, cx);
                }
            }
            State::Open { .. } | State::ForcedOpen => {}
        }
        true
    }

    /// Does what has been due since before `now`: a probe that was not settled in time has failed when its time was up.
    fn catch_up(&mut self, key: Key, cx: &mut Cx<'_>) {
        if let Some(at) = self.circuits.get(key).and_then(|circuit| circuit.overdue(cx.now)) {
            self.reopen(key, at, Trigger::ProbeTimeout, Entry { failed: true, slow: false }, cx);
        }
    }
}

/// The transitions: nothing else assigns a state, and each tells one event.
impl CircuitBreaker {
    fn trip(&mut self, key: Key, trigger: Trigger, Counts { calls, failures, slow }: Counts, cx: &mut Cx<'_>) {
        let Trip { trips, open_for } = self.next_trip(key, cx.now, cx.rng);
        self.enter(key, trips, State::Open { until: cx.now + open_for });
        cx.tell(key, || What::Opened { trigger, calls, failures, slow, open_for: Some(open_for) });
    }

    fn half_open(&mut self, key: Key, cx: &mut Cx<'_>) {
        // Drawn now, because a probe may fail by itself, at an instant at which nobody lends us a random word.
        let next = self.next_trip(key, cx.now, cx.rng);
        let probes = self.config.probes;
        let all_free = vec![Probe::Free; probes as usize];
        self.enter(key, self.trips(key, cx.now), State::HalfOpen { probes: all_free, next });
        cx.tell(key, || What::HalfOpened { probes });
    }

    fn reopen(&mut self, key: Key, at: Instant, trigger: Trigger, probe: Entry, cx: &mut Cx<'_>) {
        let Some(Circuit { state: State::HalfOpen { next, probes }, .. }) = self.circuits.get(key) else { return };
        let (Trip { trips, open_for }, calls) = (*next, circuit::succeeded(probes) + 1);
        let until = at + open_for;
        self.enter(key, trips, State::Open { until });
        let (failures, slow, open_for) = (u32::from(probe.failed), u32::from(probe.slow), Some(until.since(cx.now)));
        cx.tell(key, || What::Opened { trigger, calls, failures, slow, open_for });
    }

    fn close(&mut self, key: Key, reason: CloseReason, cx: &mut Cx<'_>) {
        self.enter(key, self.trips(key, cx.now), State::closed(cx.now));
        cx.tell(key, || What::Closed { reason });
    }

    fn enter(&mut self, key: Key, trips: Trips, state: State) {
        self.generation = self.generation.wrapping_add(1) & Ticket::GENERATIONS;
        let entered = Circuit { state, trips, generation: self.generation };
        self.circuits.forget(key);
        self.circuits.entry(key, || entered);
    }

    fn trips(&self, key: Key, now: Instant) -> Trips {
        self.circuits.get(key).map_or(Trips::NONE, |circuit| circuit.trips_at(&self.config, now))
    }

    /// How long the next trip lasts, shortened at random and never lengthened.
    fn next_trip(&self, key: Key, now: Instant, rng: &mut Rng) -> Trip {
        let trips = self.trips(key, now).next(&self.config);
        let most = self.config.open_jitter.of(trips.length);
        let shortened = Duration::from_nanos(rng.between(0, most.as_nanos()));
        Trip { trips, open_for: trips.length.saturating_sub(shortened) }
    }
}

/// The bytes of one key's state: a circuit with the longest window there may be, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 528;
const _: () = const { assert!(size_of::<Circuit>() + 1_000 / 4 + 2 * 16 <= BYTES_OF_A_KEY as usize) };
