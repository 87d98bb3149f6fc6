//! One key's circuit: its state, and what it is at a later instant.

use alloc::vec::Vec;

use super::config::Config;
use super::ticket::Ticket;
use crate::measure::window::{Bounds, Counts, Entry, Window};
use crate::snapshot::{Damaged, Read, Reader, Writer};
use crate::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Circuit {
    pub state: State,
    pub trips: Trips,
    pub generation: u32,
}

/// What was decided last; what follows from it by mere passing of time is read with [`Circuit::phase`].
#[derive(Debug)]
pub(super) enum State {
    Closed { since: Instant, record: Record },
    Open { until: Instant },
    HalfOpen { probes: Vec<Probe>, next: Trip },
    ForcedOpen,
    Disabled { record: Record },
}

/// What has been counted since the circuit closed.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub window: Window,
    /// Failures since the last success, however old.
    pub consecutive: u32,
}

/// One permit of a half-open circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    Free,
    /// Under way; failed if it is not settled by then.
    Out {
        until: Instant,
    },
    Succeeded,
}

/// How often the circuit opened since its trips were forgotten, and how long the last one was before jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trips {
    pub count: u32,
    pub length: Duration,
}

/// A trip that was drawn: how long it lasts, and the trips it makes with those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub trips: Trips,
    pub open_for: Duration,
}

/// What a circuit is at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    Open(Instant),
    /// Its time to stay open is over, and nobody has probed yet.
    Due,
    Probing {
        full: bool,
    },
    ForcedOpen,
    Disabled,
}

impl Circuit {
    pub fn phase(&self, now: Instant) -> Phase {
        let open = |until| if now < until { Phase::Open(until) } else { Phase::Due };
        match &self.state {
            State::Closed { .. } => Phase::Closed,
            State::Open { until } => open(*until),
            State::HalfOpen { probes, next } => match overdue(probes, now) {
                Some(at) => open(at + next.open_for),
                None => Phase::Probing { full: !probes.contains(&Probe::Free) },
            },
            State::ForcedOpen => Phase::ForcedOpen,
            State::Disabled { .. } => Phase::Disabled,
        }
    }

    /// The trips as they are at `now`: staying closed for long enough makes them forgotten.
    pub fn trips_at(&self, config: &Config, now: Instant) -> Trips {
        let enough = config.reset_after.unwrap_or(config.max_open_for);
        match &self.state {
            State::Closed { since, .. } if now.since(*since) >= enough => Trips::NONE,
            State::HalfOpen { probes, next } if overdue(probes, now).is_some() => next.trips,
            _ => self.trips,
        }
    }

    /// When a probe failed by not being settled in time.
    pub fn overdue(&self, now: Instant) -> Option<Instant> {
        if let State::HalfOpen { probes, .. } = &self.state { overdue(probes, now) } else { None }
    }

    pub fn record(&self) -> Option<&Record> {
        match &self.state {
            State::Closed { record, .. } | State::Disabled { record } => Some(record),
            _ => None,
        }
    }

    /// Whether the circuit must not be forgotten: it refuses somebody, or a probe is under way, or it was told to.
    pub fn is_busy(&self, now: Instant) -> bool {
        match self.phase(now) {
            Phase::Open(_) | Phase::ForcedOpen | Phase::Disabled => true,
            Phase::Probing { .. } => self.has_probe_out(),
            Phase::Closed | Phase::Due => false,
        }
    }

    /// Whether an operator has the word.
    pub fn is_ordered(&self) -> bool {
        matches!(self.state, State::ForcedOpen | State::Disabled { .. })
    }

    fn has_probe_out(&self) -> bool {
        let State::HalfOpen { probes, .. } = &self.state else { return false };
        probes.iter().any(|probe| matches!(probe, Probe::Out { .. }))
    }

    /// Lets an attempt through, as a probe where the circuit is half-open; `ends` is when a probe's time is up.
    pub fn take(&mut self, ends: Instant) -> Ticket {
        let generation = self.generation;
        let State::HalfOpen { probes, .. } = &mut self.state else { return Ticket::Call { generation } };
        match probes.iter_mut().enumerate().find(|(_, probe)| **probe == Probe::Free) {
            Some((place, probe)) => {
                *probe = Probe::Out { until: ends };
                Ticket::Probe { generation, place }
            }
            // Never after an `ask` that passed.
            None => Ticket::Unjudged,
        }
    }

    /// Whether a result with this ticket is about the present state, and the first one.
    pub fn honours(&self, ticket: Ticket) -> bool {
        match (&self.state, ticket) {
            (State::Closed { .. } | State::Disabled { .. }, Ticket::Call { generation }) => {
                generation == self.generation
            }
            (State::HalfOpen { probes, .. }, Ticket::Probe { generation, place }) => {
                generation == self.generation && matches!(probes.get(place), Some(Probe::Out { .. }))
            }
            _ => false,
        }
    }

    /// Says what became of a probe; answers how many have succeeded.
    pub fn mark(&mut self, ticket: Ticket, what: Probe) -> u32 {
        let State::HalfOpen { probes, .. } = &mut self.state else { return 0 };
        if let Ticket::Probe { place, .. } = ticket {
            probes.iter_mut().skip(place).take(1).for_each(|probe| *probe = what);
        }
        succeeded(probes)
    }

    /// Whether nothing tells it from a circuit nobody has used.
    pub fn is_pristine(&self, config: &Config, bounds: Bounds, now: Instant) -> bool {
        let State::Closed { record, .. } = &self.state else { return false };
        let unused = record.consecutive == 0 && record.window.counts(now, bounds) == Counts::default();
        unused && self.trips_at(config, now) == Trips::NONE
    }

    /// Writes the circuit as it is at `now`. An episode's permits are not kept: a half-open circuit is due.
    pub fn save(&self, config: &Config, bounds: Bounds, now: Instant, out: &mut Writer) {
        let trips = self.trips_at(config, now);
        out.u32(trips.count);
        out.duration(trips.length);
        match self.phase(now) {
            Phase::Closed => out.u8(CLOSED),
            Phase::Open(_) | Phase::Due | Phase::Probing { .. } => out.u8(OPEN),
            Phase::ForcedOpen => out.u8(FORCED_OPEN),
            Phase::Disabled => out.u8(DISABLED),
        }
        match (self.phase(now), &self.state) {
            // Since when it is closed matters only while there is something to forget.
            (_, State::Closed { since, .. }) => out.age(if trips == Trips::NONE { now } else { *since }, now),
            (Phase::Open(until), _) => out.ahead(until, now),
            (Phase::Due | Phase::Probing { .. }, _) => out.ahead(now, now),
            _ => {}
        }
        if let Some(record) = self.record() {
            out.u32(record.consecutive);
            record.window.save(now, bounds, out);
        }
    }

    /// Reads what [`save`](Self::save) wrote.
    pub fn restore(config: &Config, bounds: Bounds, now: Instant, input: &mut Reader<'_>) -> Read<Self> {
        let trips = Trips { count: input.u32()?, length: input.duration()? };
        let state = match input.u8()? {
            CLOSED => State::Closed { since: input.age(now)?, record: Record::restore(bounds, now, input)? },
            OPEN => State::Open { until: input.ahead(now)? },
            FORCED_OPEN => State::ForcedOpen,
            DISABLED => State::Disabled { record: Record::restore(bounds, now, input)? },
            _ => return Err(Damaged),
        };
        let possible = match &state {
            State::Closed { record, .. } => config.consecutive_failures.is_none_or(|most| record.consecutive < most),
            State::Open { until } => trips.count > 0 && until.since(now) <= trips.length,
            _ => true,
        };
        let lengths = config.open_for..=config.max_open_for;
        let grown = if trips.count == 0 { trips == Trips::NONE } else { lengths.contains(&trips.length) };
        if possible && grown { Ok(Self { state, trips, generation: 0 }) } else { Err(Damaged) }
    }
}

impl State {
    pub fn closed(since: Instant) -> Self {
        Self::Closed { since, record: Record::default() }
    }
}

impl Record {
    pub fn add(&mut self, now: Instant, bounds: Bounds, entry: Entry) -> Counts {
        self.consecutive = if entry.failed { self.consecutive.saturating_add(1) } else { 0 };
        self.window.add(now, bounds, entry)
    }

    fn restore(bounds: Bounds, now: Instant, input: &mut Reader<'_>) -> Read<Self> {
        Ok(Self { consecutive: input.u32()?, window: Window::restore(now, bounds, input)? })
    }
}

impl Trips {
    pub const NONE: Self = Self { count: 0, length: Duration::ZERO };

    /// One more: longer than the last, up to the longest.
    pub fn next(self, config: &Config) -> Self {
        let longer = if self.count == 0 { config.open_for } else { config.growth.of(self.length) };
        Self { count: self.count.saturating_add(1), length: longer.min(config.max_open_for) }
    }
}

/// When the first probe failed by not being settled in time.
fn overdue(probes: &[Probe], now: Instant) -> Option<Instant> {
    let ends = probes.iter().filter_map(|probe| if let Probe::Out { until } = probe { Some(*until) } else { None });
    ends.filter(|until| *until <= now).min()
}

/// How many probes have succeeded.
pub(super) fn succeeded(probes: &[Probe]) -> u32 {
    probes.iter().filter(|probe| **probe == Probe::Succeeded).count() as u32
}

const CLOSED: u8 = 0;
const OPEN: u8 = 1;
const FORCED_OPEN: u8 = 2;
const DISABLED: u8 = 3;
