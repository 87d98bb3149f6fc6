#![doc = include_str!("../../docs/policies/concurrency_limiter.md")]

pub use self::algorithm::Algorithm;
use self::lane::Lane;
pub use self::lane::Reading;
use crate::config::{ConfigError, OptionKind};
use crate::decision::RefusalReason;
use crate::event::{LimitReason, What};
use crate::figure::Figures;
use crate::key::{Key, Keyed};
use crate::measure::quantile::MAX_KEPT;
use crate::measure::queue::KEPT_BYTES;
use crate::measure::slots::{Bounds, Slots};
use crate::outcome::Verdict;
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place, slotted};
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

mod algorithm;
mod lane;

options! {
    /// How many attempts run at once, and how that is found out.
    pub struct Config for ConcurrencyLimiter {
        /// How the limit follows what is measured.
        algorithm: Algorithm as "algorithm", OptionKind::Word(Algorithm::WORDS), Algorithm::Vegas, 0.0..=2.0;
        /// The limit while nothing is known.
        initial: u32 as "initial", OptionKind::Count, 20, 1.0..=10_000.0;
        /// The least limit.
        min: u32 as "min", OptionKind::Count, 4, 1.0..=10_000.0;
        /// The greatest limit.
        max: u32 as "max", OptionKind::Count, 200, 1.0..=10_000.0;
        /// Which latency of a window stands for it.
        quantile: Ratio as "quantile", OptionKind::Ratio, Ratio::from_percent(90), 0.01..=1.0;
        /// How long a window lasts at least.
        window: Duration as "window", OptionKind::Duration, Duration::from_secs(1), 1.0..=3_600_000.0;
        /// What an overload or a timeout leaves of the limit.
        cut: Ratio as "cut", OptionKind::Ratio, Ratio::from_percent(90), 0.1..=0.99;
        /// After how long without results nothing is known any more.
        stale_after: Duration as "staleAfter", OptionKind::Duration, Duration::from_secs(60), 1_000.0..=86_400_000.0;
        /// How many more wait; the next is refused.
        queue: u32 as "queue", OptionKind::Count, 0, 0.0..=10_000.0;
        /// How long an attempt waits at most; off: as long as its call has time.
        queue_timeout: Option<Duration> as "queueTimeout", OptionKind::Duration, Some(Duration::from_secs(5)), 1.0..=86_400_000.0;
    }
}

/// One limit for each key.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    config: Config,
    lanes: Keyed<Lane>,
}

figures! {
    Reading as it at now {
        /// How many attempts may run at once.
        "limit": u32 = it.limit;
        /// How many do.
        "inFlight": u32 = it.in_flight;
        /// How many wait for a slot.
        "queued": u32 = it.queued;
        /// How long they take without a queue, where that is known.
        "baselineMs": Option<Duration> = it.baseline;
    }
}

impl ConcurrencyLimiter {
    /// Checks the configuration; nothing is known.
    ///
    /// # Errors
    /// Names the option, its value and the range allowed beside the others.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check_ranges()?;
        let Config { initial, min, max, .. } = config;
        let refuse = |option, given, least| {
            Err(ConfigError::conflict(Config::KIND, option, f64::from(given), f64::from(least), f64::from(max)))
        };
        if min > max {
            return refuse(const { Config::position("min") }, min, 1);
        }
        if initial < min || initial > max {
            return refuse(const { Config::position("initial") }, initial, min);
        }
        Ok(Self { config, lanes: Keyed::default() })
    }

    /// What there is to know about a key at `now`. Reading changes nothing.
    #[must_use]
    pub fn read(&self, key: Key, now: Instant) -> Reading {
        let fresh = Reading { limit: self.config.initial, in_flight: 0, queued: 0, baseline: None };
        self.lanes.get(key).map_or(fresh, |lane| lane.read(&self.config, now))
    }

    /// The key's slots, and what bounds them now.
    fn slots(&mut self, key: Key, now: Instant) -> (&mut Slots, Bounds) {
        let lane = self.lanes.entry(key, || Lane::new(&self.config));
        let bounds = lane.bounds(&self.config, now);
        (&mut lane.slots, bounds)
    }
}

impl Gate for ConcurrencyLimiter {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let Some(lane) = self.lanes.get(asker.key) else { return Answer::Pass };
        slotted::ask(&lane.slots, lane.bounds(&self.config, now), asker, now, RefusalReason::ConcurrencyLimited)
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        let lane = self.lanes.entry(asker.key, || Lane::new(&self.config));
        if lane.grow_stale(&self.config, cx.now) {
            tell(lane, asker.key, LimitReason::Stale, Duration::ZERO, cx);
        }
        let bounds = lane.bounds(&self.config, cx.now);
        slotted::take(&mut lane.slots, bounds, asker, cx);
        lane.note()
    }

    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, cx: &mut Cx<'_>) {
        if !ended.verdict.is_evidence() {
            return;
        }
        let Some(lane) = self.lanes.get_mut(key) else { return };
        let changed = match ended.verdict {
            Verdict::Overload(_) => lane.cut(&self.config, *note, cx.now).then_some(LimitReason::Overload),
            Verdict::Timeout => lane.cut(&self.config, *note, cx.now).then_some(LimitReason::Timeout),
            _ => lane.sample(&self.config, *note, ended.latency, cx.now),
        };
        if let Some(why) = changed {
            tell(lane, key, why, ended.latency, cx);
            let bounds = lane.bounds(&self.config, cx.now);
            slotted::pass_on(&mut lane.slots, bounds, cx);
        }
    }

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        if let Some(lane) = self.lanes.get_mut(key) {
            let bounds = lane.bounds(&self.config, cx.now);
            slotted::release(&mut lane.slots, bounds, note, cx);
        }
    }

    fn join(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Place {
        slotted::join(self.slots(asker.key, cx.now).0, asker)
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let (slots, bounds) = self.slots(key, cx.now);
        slotted::step_aside(slots, bounds, place, cx);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let (slots, bounds) = self.slots(key, cx.now);
        slotted::leave(slots, bounds, place, cx);
    }

    fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        self.read(key, now).write(now, out);
    }

    fn is_busy(&self, key: Key, _now: Instant) -> bool {
        self.lanes.get(key).is_some_and(Lane::is_used)
    }

    fn forget(&mut self, key: Key) {
        self.lanes.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let known = self.lanes.iter().filter(|(_, lane)| lane.knows_something(&self.config, now));
        out.list(known, |out, (key, lane)| {
            out.key(key);
            lane.save(now, out);
        });
    }

    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        // Read twice, so that nothing has changed when the last lane turns out to be damaged.
        for is_sound in [false, true] {
            let mut input = *input;
            for _ in 0..input.keys()? {
                let (key, restored) = (input.key()?, Lane::restore(&self.config, now, &mut input)?);
                if is_sound && key != Key::NEW {
                    self.lanes.entry(key, || Lane::new(&self.config)).learn(restored);
                }
            }
        }
        Ok(())
    }
}

fn tell(lane: &Lane, key: Key, why: LimitReason, latency: Duration, cx: &mut Cx<'_>) {
    let (limit, in_flight, baseline) = (lane.limit(), lane.in_flight(), lane.baseline());
    cx.tell(key, || What::LimitChanged { limit, why, in_flight, latency, baseline });
}

/// The bytes of one key's state: a lane, 128 samples, and the few places that an empty line keeps, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 960;
const _: () = const { assert!(size_of::<Lane>() + MAX_KEPT * 4 + KEPT_BYTES + 3 * 16 <= BYTES_OF_A_KEY as usize) };

#[cfg(test)]
mod tests;
