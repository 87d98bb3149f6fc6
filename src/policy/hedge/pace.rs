//! The pace of hedges: after how long another attempt starts, measured by how long first attempts take.
//!
//! Each key has a window that collects and, from the one before it, the pace that holds. docs/adr/0011-pace-of-hedges.md
//! says what is sampled, and why.

use super::Config;
use crate::key::{Key, Keyed};
use crate::measure::quantile::{MAX_KEPT, Samples};
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

/// The pace of one stack's hedges, for each key.
#[derive(Debug)]
pub(crate) struct Pace {
    config: Config,
    share: Ratio,
    lanes: Keyed<Lane>,
}

/// For how long a round's first attempt ran.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ran {
    /// Then it had answered.
    Whole(Duration),
    /// Then it was given up, because it was out of time or another attempt had answered. It would have taken longer: if that
    /// is longer than the pace, it counts as such, or the share of what is slow would shrink with every hedge that wins. If
    /// it is not, it says nothing.
    AtLeast(Duration),
}

#[derive(Clone, Debug)]
struct Lane {
    samples: Samples,
    /// When the window's first sample came.
    begun: Instant,
    known: Known,
}

/// What the last window that had enough samples said.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Nothing where that is not known, or not any more.
    pace: Duration,
    /// When that window ended.
    since: Instant,
}

impl Pace {
    /// Nothing is known yet. `None` where nothing is to be measured.
    pub fn new(config: Config) -> Option<Self> {
        Some(Self { config, share: config.quantile?, lanes: Keyed::default() })
    }

    /// After how long another attempt starts, where that is known.
    pub fn now(&mut self, key: Key, now: Instant) -> Option<Duration> {
        let lane = self.lanes.get_mut(key)?;
        lane.roll(&self.config, self.share, now);
        lane.known.pace()
    }

    /// The same, to read.
    pub fn read(&self, key: Key, now: Instant) -> Option<Duration> {
        self.lanes.get(key)?.known(&self.config, self.share, now).pace()
    }

    /// A round's first attempt ended. Strangers who share a key must not pace each other.
    pub fn sample(&mut self, key: Key, ran: Ran, now: Instant) {
        if !key.is_one_name() {
            return;
        }
        let lane = self.lanes.entry(key, Lane::fresh);
        lane.roll(&self.config, self.share, now);
        let latency = match ran {
            Ran::Whole(latency) => latency,
            Ran::AtLeast(latency) if latency >= lane.known.pace().unwrap_or(self.config.after) => latency,
            Ran::AtLeast(_) => return,
        };
        if lane.samples.count() == 0 {
            lane.begun = now;
        }
        lane.samples.add(latency);
        // Until a whole window has been measured, its beginning is better than a guess.
        if lane.known.pace == Duration::ZERO && lane.samples.count() >= ENOUGH {
            lane.known = lane.measured(self.share, now);
        }
    }

    pub fn forget(&mut self, key: Key) {
        self.lanes.forget(key);
    }

    pub fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    pub fn save(&self, now: Instant, out: &mut Writer) {
        let measured = self.lanes.iter().map(|(key, lane)| (key, lane.at(&self.config, self.share, now)));
        out.list(measured.filter(|(_, lane)| !lane.is_pristine()), |out, (key, lane)| {
            let Lane { samples, begun, known } = lane;
            out.key(key);
            out.duration(known.pace);
            out.age(if known.pace > Duration::ZERO { known.since } else { now }, now);
            samples.save(out);
            out.age(if samples.count() > 0 { begun } else { now }, now);
        });
    }

    pub fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        // Read twice, so that nothing has changed when the last entry turns out to be damaged.
        for is_sound in [false, true] {
            let mut input = *input;
            for _ in 0..input.keys()? {
                let key = input.key()?;
                let known = Known { pace: input.duration()?, since: input.age(now)? };
                let lane = Lane { known, samples: Samples::restore(&mut input)?, begun: input.age(now)? };
                if known.pace > Duration::ZERO && known.pace < LEAST {
                    return Err(Damaged);
                }
                if is_sound && key != Key::NEW {
                    *self.lanes.entry(key, Lane::fresh) = lane;
                }
            }
        }
        Ok(())
    }
}

impl Lane {
    fn fresh() -> Self {
        Self { samples: Samples::default(), begun: Instant::PAST, known: Known::NOTHING }
    }

    fn is_pristine(&self) -> bool {
        self.samples.count() == 0 && self.known.pace == Duration::ZERO
    }

    fn is_over(&self, window: Duration, now: Instant) -> bool {
        self.samples.count() > 0 && self.begun + window <= now
    }

    /// What is known at `now`: the same whether what has ended by then was noticed or not.
    fn known(&self, config: &Config, share: Ratio, now: Instant) -> Known {
        let mut known = self.known;
        if self.is_over(config.window, now) && self.samples.count() >= ENOUGH {
            known = self.measured(share, self.begun + config.window);
        }
        // The next window begins with its first sample, some time after the last one's end.
        if known.since + config.window + config.window <= now { Known::NOTHING } else { known }
    }

    /// Ends what has ended by `now`.
    fn roll(&mut self, config: &Config, share: Ratio, now: Instant) {
        self.known = self.known(config, share, now);
        if self.is_over(config.window, now) {
            self.samples.clear();
        }
    }

    /// The same, to save: as if it had been rolled.
    fn at(&self, config: &Config, share: Ratio, now: Instant) -> Self {
        let mut lane = self.clone();
        lane.roll(config, share, now);
        lane
    }

    fn measured(&self, share: Ratio, since: Instant) -> Known {
        Known { pace: self.samples.quantile_of_next(share).unwrap_or(LEAST).max(LEAST), since }
    }
}

impl Known {
    const NOTHING: Self = Self { pace: Duration::ZERO, since: Instant::PAST };

    fn pace(self) -> Option<Duration> {
        (self.pace > Duration::ZERO).then_some(self.pace)
    }
}

/// Ours: the next attempt takes longer than the longest of nineteen in one case of twenty, and no quantile worth hedging by
/// asks for less.
const ENOUGH: u32 = 20;
/// Clocks may stand still while an attempt runs. Ours: the least that `after` may be.
const LEAST: Duration = Duration::from_millis(1);
/// The bytes of one key's state: a lane and 128 samples, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 624;
const _: () = const { assert!(size_of::<Lane>() + MAX_KEPT * 4 + 2 * 16 <= BYTES_OF_A_KEY as usize) };
