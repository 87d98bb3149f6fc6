#![doc = include_str!("../../docs/policies/bulkhead.md")]

use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::decision::RefusalReason;
use crate::event::What;
use crate::key::{Key, Keyed};
use crate::measure::slots::{Bounds, Slots, Told};
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
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
        /// When the winning attempt gives its slot back.
        release: Release as "release", OptionKind::Word(Release::WORDS), Release::Headers, 0.0..=1.0;
    }
}

words! {
    /// When the attempt whose result the caller gets gives its slot back.
    pub enum Release {
        /// As soon as it is settled.
        Headers = "headers",
        /// When its body ends.
        Body = "body",
    }
}

impl OptionValue for Release {
    fn set_number(&mut self, word: f64) {
        *self = if word == 0.0 { Self::Headers } else { Self::Body };
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

    fn bounds(&self) -> Bounds {
        let Config { concurrency: slots, queue, queue_timeout: patience, .. } = self.config;
        Bounds { slots, queue, patience }
    }

    fn slots(&mut self, key: Key) -> &mut Slots {
        self.lanes.entry(key, Slots::default)
    }

    /// Whoever can have a slot now is called.
    fn pass_on(&mut self, key: Key, cx: &mut Cx<'_>) {
        let bounds = self.bounds();
        self.slots(key).pass_on(bounds, cx.now, |call| cx.woken.push(call));
    }
}

impl Gate for Bulkhead {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let Some(slots) = self.lanes.get(asker.key) else { return Answer::Pass };
        let reason = match slots.ask(self.bounds(), asker.place.map(|place| place.0), asker.since, now) {
            Told::Pass => return Answer::Pass,
            Told::Wait(at) => return Answer::Wait(at),
            Told::Full => RefusalReason::BulkheadFull,
            Told::TooLong => RefusalReason::QueueTimeout,
        };
        // Nobody knows when an attempt will be done.
        Answer::Reject { reason, retry_at: None }
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        self.slots(asker.key).take(asker.place.map(|place| place.0));
        if asker.place.is_some() {
            self.pass_on(asker.key, cx);
            let waited = cx.now.since(asker.since);
            cx.tell(asker.key, || What::Waited { waited });
        }
        HOLDS
    }

    /// How an attempt ended is nothing to it.
    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        if core::mem::take(note) == HOLDS {
            self.slots(key).give_back();
            self.pass_on(key, cx);
        }
    }

    fn join(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Place {
        Place(self.slots(asker.key).join(asker.place.map(|place| place.0), asker.call))
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.slots(key).step_aside(place.0);
        self.pass_on(key, cx);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.slots(key).leave(place.0);
        self.pass_on(key, cx);
    }

    fn holds_until_body(&self) -> bool {
        self.config.release == Release::Body
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

/// A note whose slot has not been given back; an empty note holds nothing.
const HOLDS: Note = Note(1);
