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
    /// Raised with every cut, and before and after a probe: what began earlier says nothing about this limit.
    era: u16,
    /// The era that began with the last cut.
    cut: u16,
    learned: Learned,
}

/// What is kept when the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Learned {
    /// In thousandths, so that it can move by less than one.
    limit: u32,
    /// The latency without a queue, in microseconds; 0 while it is not known.
    baseline: u32,
    /// How many ran at once, at most, when an attempt of this window began,
    used: u32,
    /// and all those numbers together.
    sum: u32,
    samples: Samples,
    probe: Probe,
    /// When the first sample of this window came,
    begun: Instant,
    /// and the last result at all.
    heard: Instant,
}

/// Whether fewer attempts would be served as quickly: for one window half the limit is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Probe {
    /// The limit that half of is tried; 0 outside of a probe.
    full: u32,
    /// From one result to the next, with that.
    pace: Duration,
    /// Not before so many results; of one window no more count than the limit.
    rest: u32,
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
        Self { slots: Slots::default(), era: 0, cut: 0, learned: Learned::nothing(config) }
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
        if era(note).wrapping_sub(self.cut) > self.era.wrapping_sub(self.cut) {
            return false;
        }
        self.era = self.era.wrapping_add(1);
        self.cut = self.era;
        self.learned.begin_window();
        self.learned.probe = Probe::default();
        let left = u64::from(self.learned.limit) * u64::from(config.cut.millionths()) / MILLION;
        self.learned.set_limit(config, left as u32)
    }

    /// An attempt took so long. Answers why the limit changes, if it does: at the end of a window.
    pub fn sample(&mut self, config: &Config, note: Note, latency: Duration, now: Instant) -> Option<LimitReason> {
        self.grow_stale(config, now);
        let its_own = era(note) == self.era;
        let learned = &mut self.learned;
        learned.heard = now;
        if !its_own {
            return None;
        }
        if learned.samples.count() == 0 {
            learned.begun = now;
        }
        learned.samples.add(latency);
        let used = note.0 >> USED_AT & MOST;
        learned.used = learned.used.max(used);
        learned.sum = learned.sum.saturating_add(used);
        let lasted = now.since(learned.begun);
        if learned.samples.count() < MIN_SAMPLES || lasted < config.window {
            return None;
        }
        let before = learned.probe.full;
        let changed = learned.end_window(config, lasted);
        if learned.probe.full != before {
            self.era = self.era.wrapping_add(1);
        }
        changed
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
        let (samples, probe) = (Samples::default(), Probe::default());
        Self { limit: config.initial * THOUSAND, baseline: 0, used: 0, sum: 0, samples, probe, begun, heard }
    }

    fn is_stale(&self, config: &Config, now: Instant) -> bool {
        now.since(self.heard) >= config.stale_after
    }

    fn begin_window(&mut self) {
        self.samples.clear();
        (self.used, self.sum) = (0, 0);
    }

    fn end_window(&mut self, config: &Config, lasted: Duration) -> Option<LimitReason> {
        let latency = self.samples.quantile(config.quantile)?;
        // Clocks that stand still measure nothing; nothing is divided by.
        let latency = (latency.as_nanos() / NANOS_PER_MICRO).max(1) as u32;
        let (before, whole, count) = (self.limit, self.limit / THOUSAND, self.samples.count());
        let was_used = 2 * self.used * THOUSAND >= before;
        let was_full = 10 * u64::from(self.sum) >= 9 * u64::from(count) * u64::from(whole);
        let pace = lasted.split(u64::from(count) - 1);
        self.begin_window();
        self.baseline = algorithm::age(self.baseline, latency);
        if self.probe.full > 0 {
            return self.end_probe(config, pace);
        }
        self.probe.rest = self.probe.rest.saturating_sub(count.min(whole));
        if !was_used {
            return None;
        }
        let next = config.algorithm.next(Measured { limit: before, latency, baseline: self.baseline });
        let why = if next > before { LimitReason::Headroom } else { LimitReason::Latency };
        let changed = self.set_limit(config, next);
        let full = self.limit;
        // What is little more than the least limit would be compared with nearly itself.
        let has_room = 2 * full >= 3 * THOUSAND * config.min;
        let is_due = was_full && has_room && full <= before && self.probe.rest == 0 && config.algorithm.probes();
        if is_due && self.set_limit(config, full / 2) {
            self.probe = Probe { full, pace, rest: 0 };
            return Some(LimitReason::Probe);
        }
        changed.then_some(why)
    }

    /// Half the limit was tried. Where it served nine tenths as much, the rest only queued: a third of the limit goes, with
    /// it the baseline, which that queue was in, and the next probe comes soon. Where it served two thirds as much, some did,
    /// and the baseline gives back about what it can have taken in since the last probe.
    fn end_probe(&mut self, config: &Config, pace: Duration) -> Option<LimitReason> {
        let Probe { full, pace: before, .. } = self.probe;
        let all_queued = pace.saturating_mul(9) <= before.saturating_mul(10);
        let some_queued = pace.saturating_mul(2) <= before.saturating_mul(3);
        let rest = if all_queued { 0 } else { REST * (full / THOUSAND) };
        self.probe = Probe { rest, ..Probe::default() };
        let changed = self.set_limit(config, if all_queued { full / 3 * 2 } else { full });
        if all_queued {
            self.baseline = (u64::from(self.baseline) * u64::from(self.limit) / u64::from(full)).max(1) as u32;
        } else if some_queued {
            self.baseline -= self.baseline / 8;
        }
        changed.then_some(LimitReason::Probe)
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
        let Learned { limit, baseline, used, sum, ref samples, probe, begun, heard } = self.learned;
        [limit, baseline, used, sum, probe.full, probe.rest].into_iter().for_each(|number| out.u32(number));
        out.duration(probe.pace);
        samples.save(out);
        out.age(if samples.count() > 0 { begun } else { now }, now);
        out.age(heard, now);
    }

    pub fn restore(config: &Config, now: Instant, input: &mut Reader<'_>) -> Read<Learned> {
        let (limit, baseline, used, sum) = (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
        let probe = Probe { full: input.u32()?, rest: input.u32()?, pace: input.duration()? };
        let samples = Samples::restore(input)?;
        let (begun, heard) = (input.age(now)?, input.age(now)?);
        let learned = Learned { limit, baseline, used, sum, samples, probe, begun, heard };
        let bounds = config.min * THOUSAND..=config.max * THOUSAND;
        let possible = bounds.contains(&limit) && probe.full <= *bounds.end() && used <= MOST;
        if possible && !learned.is_stale(config, now) { Ok(learned) } else { Err(Damaged) }
    }
}

/// In which an attempt began.
fn era(note: Note) -> u16 {
    (note.0 >> ERA_AT) as u16
}

/// After a note's first bit: how many ran when it began, it among them; no limit is greater than this.
const MOST: u32 = 0x7FFF;
const USED_AT: u32 = 1;
/// Then its era. It wraps: an attempt would have to outlive tens of thousands of cuts to be taken for a newer one.
const ERA_AT: u32 = 16;
/// Source: Netflix, concurrency-limits, `WindowedLimit.java`, `DEFAULT_WINDOW_SIZE`,
/// <https://github.com/Netflix/concurrency-limits>.
const MIN_SAMPLES: u32 = 10;
/// Ours: a probe takes half of what is served for a window at most, and so a little more than one per cent of it.
const REST: u32 = 30;
const THOUSAND: u32 = 1_000;
const MILLION: u64 = 1_000_000;
const NANOS_PER_MICRO: u64 = 1_000;
