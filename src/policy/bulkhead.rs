#![doc = include_str!("../../docs/policies/bulkhead.md")]

use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::decision::RefusalReason;
use crate::figure::Figures;
use crate::key::{Key, Keyed};
use crate::measure::queue::KEPT_BYTES;
use crate::measure::slots::{Bounds, Slots};
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place, slotted};
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

#[cfg(test)]
mod tests;

options! {
    /// How many attempts at once, and what becomes of the others.
    pub struct Config for Bulkhead {
        /// How many attempts there are at once, for each key.
        concurrency: u32 as "concurrency", OptionKind::Count, 25, 1.0..=1_000_000.0;
        /// How many more wait; the next is refused.
        queue: u32 as "queue", OptionKind::Count, 0, 0.0..=10_000.0;
        /// How long an attempt waits at most; off: as long as its call has time.
        queue_timeout: Option<Duration> as "queueTimeout", OptionKind::Duration, Some(Duration::from_secs(5)), 1.0..=86_400_000.0;
        /// When an attempt gives its slot back.
        release: Release as "release", OptionKind::Word(Release::WORDS), Release::Headers, 0.0..=2.0;
    }
}

words! {
    /// When an attempt gives its slot back.
    #[non_exhaustive]
    pub enum Release {
        /// As soon as it is settled or given up.
        Headers = "headers",
        /// The one whose result the caller gets: when its body ends.
        Body = "body",
        /// As soon as it is settled, though it was given up before.
        Settled = "settled",
    }
}

impl OptionValue for Release {
    fn set_number(&mut self, word: f64) {
        *self = Self::ALL.get(word as usize).copied().unwrap_or(Self::Headers);
    }
    fn number(&self) -> f64 {
        f64::from(self.code())
    }
}

/// Slots for each key.
#[derive(Debug)]
pub struct Bulkhead {
    config: Config,
    lanes: Keyed<Slots>,
}

/// What there is to know about a key. Reading changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many slots are taken.
    pub in_flight: u32,
    /// How many attempts have a place in line.
    pub queued: u32,
}

figures! {
    Reading as it at now {
        /// How many slots are taken.
        "inFlight": u32 = it.in_flight;
        /// How many attempts wait for one.
        "queued": u32 = it.queued;
    }
}

impl Bulkhead {
    /// Checks the configuration; every slot is free.
    ///
    /// # Errors
    /// Names the option that is outside its range.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check_ranges()?;
        Ok(Self { config, lanes: Keyed::default() })
    }

    /// How it is configured.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// How many slots are taken.
    #[must_use]
    pub fn in_flight(&self, key: Key) -> u32 {
        self.lanes.get(key).map_or(0, Slots::taken)
    }

    /// How many attempts have a place in line.
    #[must_use]
    pub fn queued(&self, key: Key) -> u32 {
        self.lanes.get(key).map_or(0, Slots::waiting)
    }

    /// Both.
    #[must_use]
    pub fn read(&self, key: Key) -> Reading {
        Reading { in_flight: self.in_flight(key), queued: self.queued(key) }
    }

    /// The key's slots, and what bounds them.
    fn slots(&mut self, key: Key) -> (&mut Slots, Bounds) {
        let bounds = self.config.bounds();
        (self.lanes.entry(key, Slots::default), bounds)
    }
}

impl Config {
    fn bounds(&self) -> Bounds {
        Bounds { slots: self.concurrency, queue: self.queue, patience: self.queue_timeout }
    }
}

impl Gate for Bulkhead {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let Some(slots) = self.lanes.get(asker.key) else { return Answer::Pass };
        slotted::ask(slots, self.config.bounds(), asker, now, RefusalReason::BulkheadFull)
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        let (slots, bounds) = self.slots(asker.key);
        slotted::take(slots, bounds, asker, cx);
        Note(slotted::HOLDS)
    }

    /// How an attempt ended is nothing to it.
    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        if let Some(slots) = self.lanes.get_mut(key) {
            slotted::release(slots, self.config.bounds(), note, cx);
        }
    }

    fn join(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Place {
        slotted::join(self.slots(asker.key).0, asker)
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let (slots, bounds) = self.slots(key);
        slotted::step_aside(slots, bounds, place, cx);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let (slots, bounds) = self.slots(key);
        slotted::leave(slots, bounds, place, cx);
    }

    fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        self.read(key).write(now, out);
    }

    fn holds_until_body(&self) -> bool {
        self.config.release == Release::Body
    }

    fn holds_until_settled(&self) -> bool {
        self.config.release == Release::Settled
    }

    fn let_go(&mut self, key: Key, cx: &mut Cx<'_>) {
        self.release(key, &mut Note(slotted::HOLDS), cx);
    }

    fn is_busy(&self, key: Key, _now: Instant) -> bool {
        self.in_flight(key) > 0 || self.queued(key) > 0
    }

    fn forget(&mut self, key: Key) {
        self.lanes.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    /// Slots do not outlive a restart.
    fn save(&self, _now: Instant, _out: &mut Writer) {}

    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

/// The bytes of one key's state: slots, and the few places that an empty line keeps, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 320;
const _: () = const { assert!(size_of::<Slots>() + KEPT_BYTES + 2 * 16 <= BYTES_OF_A_KEY as usize) };
