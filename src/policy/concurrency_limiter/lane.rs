//! One key's lane: the attempts that run in it or wait for that, and what the results have taught.

use super::Config;
use super::algorithm::{self, Measured};
use crate::event::LimitReason;
use crate::measure::quantile::Samples;
use crate::measure::slots::{Bounds, Slots};
use crate::policy::{Note, slotted};
use crate::snapshot::{Damaged, Read, Reader, Writer};
use crate::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Lane {
    pub slots: Slots,
    /// Raised with every cut: what began before one says nothing about the limit it left.
    era: u16,
    learned: Learned,
}

/// What is kept when the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Learned {
    /// In thousandths, so that it can move by less than one.
    limit: u32,
    /// The latency without a queue, in microseconds; 0 while it is not known.
    baseline: u32,
    /// How many ran at once, at most, when an attempt of this window began.
    used: u32,
    samples: Samples,
    /// When the first sample of this window came,
    begun: Instant,
    /// and the last result at all.
    heard: Instant,
}

/// A lane as it is at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many attempts may run at once.
    pub limit: u32,
    /// How many do.
    pub in_flight: u32,
    /// How many have a place in line.
    pub queued: u32,
    /// The latency without a queue, if it is known.
    pub baseline: Option<Duration>,
}

impl Lane {
    pub fn new(config: &Config) -> Self {
        Self { slots: Slots::default(), era: 0, learned: Learned::nothing(config) }
    }

    /// How many may run at `now`, and wait for that.
    pub fn bounds(&self, config: &Config, now: Instant) -> Bounds {
        let slots = if self.learned.is_stale(config, now) { config.initial } else { self.limit() };
        Bounds { slots, queue: config.queue, patience: config.queue_timeout }
    }

    pub fn is_used(&self) -> bool {
        self.in_flight() > 0 || self.slots.waiting() > 0
    }

    /// Forgets what is too old; answers whether that changes the limit.
    pub fn grow_stale(&mut self, config: &Config, now: Instant) -> bool {
        let stale = self.learned.is_stale(config, now);
        let changed = stale && self.limit() != config.initial;
        if stale {
            self.learned = Learned::nothing(config);
        }
        changed
    }

    /// What an attempt that has just begun keeps: its result may come after its slot went back.
    pub fn note(&self) -> Note {
        Note(slotted::HOLDS | self.in_flight().min(MOST) << USED_AT | u32::from(self.era) << ERA_AT)
    }

    /// The upstream has too much to do. Answers whether the limit changes: one cut for all that began before it.
    pub fn cut(&mut self, config: &Config, note: Note, now: Instant) -> bool {
        self.grow_stale(config, now);
        self.learned.heard = now;
        if !self.is_of_this_era(note) {
            return false;
        }
        self.era = self.era.wrapping_add(1);
        self.learned.begin_window();
        let left = u64::from(self.learned.limit) * u64::from(config.cut.millionths()) / MILLION;
        self.learned.set_limit(config, left as u32)
    }

    /// An attempt took so long. Answers why the limit changes, if it does: at the end of a window.
    pub fn sample(&mut self, config: &Config, note: Note, latency: Duration, now: Instant) -> Option<LimitReason> {
        self.grow_stale(config, now);
        let its_own = self.is_of_this_era(note);
        let learned = &mut self.learned;
        learned.heard = now;
        if !its_own {
            return None;
        }
        if learned.samples.count() == 0 {
            learned.begun = now;
        }
        learned.samples.add(latency);
        learned.used = learned.used.max(note.0 >> USED_AT & MOST);
        if learned.samples.count() < MIN_SAMPLES || now.since(learned.begun) < config.window {
            return None;
        }
        learned.end_window(config)
    }

    fn is_of_this_era(&self, note: Note) -> bool {
        note.0 >> ERA_AT == u32::from(self.era)
    }

    /// Whole attempts.
    pub fn limit(&self) -> u32 {
        self.learned.limit / THOUSAND
    }

    pub fn in_flight(&self) -> u32 {
        self.slots.taken()
    }

    pub fn baseline(&self) -> Option<Duration> {
        (self.learned.baseline > 0).then(|| Duration::from_nanos(u64::from(self.learned.baseline) * NANOS_PER_MICRO))
    }

    pub fn read(&self, config: &Config, now: Instant) -> Reading {
        let (in_flight, queued) = (self.in_flight(), self.slots.waiting());
        let baseline = self.baseline().filter(|_| self.knows_something(config, now));
        Reading { limit: self.bounds(config, now).slots, in_flight, queued, baseline }
    }
}

impl Learned {
    fn nothing(config: &Config) -> Self {
        let (begun, heard) = (Instant::PAST, Instant::PAST);
        Self { limit: config.initial * THOUSAND, baseline: 0, used: 0, samples: Samples::default(), begun, heard }
    }

    fn is_stale(&self, config: &Config, now: Instant) -> bool {
        now.since(self.heard) >= config.stale_after
    }

    fn begin_window(&mut self) {
        self.samples.clear();
        self.used = 0;
    }

    fn end_window(&mut self, config: &Config) -> Option<LimitReason> {
        let latency = self.samples.quantile(config.quantile)?;
        // Clocks that stand still measure nothing; nothing is divided by.
        let latency = (latency.as_nanos() / NANOS_PER_MICRO).max(1) as u32;
        self.baseline = algorithm::age(self.baseline, latency);
        let was_used = 2 * self.used * THOUSAND >= self.limit;
        let measured = Measured { limit: self.limit, latency, baseline: self.baseline };
        self.begin_window();
        if !was_used {
            return None;
        }
        let (before, next) = (self.limit, config.algorithm.next(measured));
        let why = if next > before { LimitReason::Headroom } else { LimitReason::Latency };
        self.set_limit(config, next).then_some(why)
    }

    /// Answers whether whole attempts more or fewer may run.
    fn set_limit(&mut self, config: &Config, limit: u32) -> bool {
        let before = self.limit / THOUSAND;
        self.limit = limit.max(config.min * THOUSAND).min(config.max * THOUSAND);
        self.limit / THOUSAND != before
    }
}

/// Snapshots.
impl Lane {
    pub fn knows_something(&self, config: &Config, now: Instant) -> bool {
        !self.learned.is_stale(config, now)
    }

    pub fn learn(&mut self, learned: Learned) {
        self.learned = learned;
    }

    pub fn save(&self, now: Instant, out: &mut Writer) {
        let Learned { limit, baseline, used, ref samples, begun, heard } = self.learned;
        out.u32(limit);
        out.u32(baseline);
        out.u32(used);
        samples.save(out);
        out.age(if samples.count() > 0 { begun } else { now }, now);
        out.age(heard, now);
    }

    pub fn restore(config: &Config, now: Instant, input: &mut Reader<'_>) -> Read<Learned> {
        let (limit, baseline, used) = (input.u32()?, input.u32()?, input.u32()?);
        let samples = Samples::restore(input)?;
        let learned = Learned { limit, baseline, used, samples, begun: input.age(now)?, heard: input.age(now)? };
        let possible = (config.min * THOUSAND..=config.max * THOUSAND).contains(&limit) && used <= MOST;
        if possible && !learned.is_stale(config, now) { Ok(learned) } else { Err(Damaged) }
    }
}

/// After a note's first bit: how many ran when it began, it among them; no limit is greater than this.
const MOST: u32 = 0x7FFF;
const USED_AT: u32 = 1;
/// Then its era. It wraps: an attempt would have to outlive 65,536 cuts, exactly so many, to be taken for a newer one.
const ERA_AT: u32 = 16;
/// Source: Netflix, concurrency-limits, `WindowedLimit.java`, `DEFAULT_WINDOW_SIZE`,
/// <https://github.com/Netflix/concurrency-limits>.
const MIN_SAMPLES: u32 = 10;
const THOUSAND: u32 = 1_000;
const MILLION: u64 = 1_000_000;
const NANOS_PER_MICRO: u64 = 1_000;
