#![doc = include_str!("../../docs/policies/throttler.md")]

use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::decision::RefusalReason;
use crate::event::What;
use crate::figure::Figures;
use crate::key::{Key, Keyed};
use crate::measure::buckets::Buckets;
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note};
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

options! {
    /// How much is refused, and from when on.
    pub struct Config for Throttler {
        /// How many requests there may be for each accept before anything is refused.
        multiplier: Ratio as "multiplier", OptionKind::Ratio, Ratio::from_percent(200), 1.0..=10.0;
        /// How far back requests count.
        window: Duration as "window", OptionKind::Duration, Duration::from_secs(120), 1_000.0..=3_600_000.0;
        /// The largest share that is refused; the rest finds out whether the upstream is well again.
        max_rejection: Ratio as "maxRejection", OptionKind::Ratio, Ratio::from_percent(90), 0.0..=0.99;
        /// Nothing is refused while there are fewer requests in the window.
        min_requests: u32 as "minRequests", OptionKind::Count, 10, 1.0..=1_000_000.0;
        /// What a request is.
        accounting: Accounting as "accounting", OptionKind::Word(Accounting::WORDS), Accounting::Sent, 0.0..=1.0;
    }
}

words! {
    /// What counts as a request.
    #[non_exhaustive]
    pub enum Accounting {
        /// What was sent to the upstream.
        Sent = "sent",
        /// That, and what this throttler refused.
        Offered = "offered",
    }
}

impl OptionValue for Accounting {
    fn set_number(&mut self, word: f64) {
        *self = Self::ALL.get(word as usize).copied().unwrap_or(Self::Sent);
    }
    fn number(&self) -> f64 {
        f64::from(self.code())
    }
}

/// One record of requests and accepts for each key.
#[derive(Debug)]
pub struct Throttler {
    config: Config,
    period: Duration,
    records: Keyed<Record>,
}

#[derive(Debug, Default)]
struct Record {
    counts: Buckets<LANES, BUCKETS>,
    /// The rate that was told last.
    told: Ratio,
}

/// What a throttler knows about a key at one instant. Reading changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Requests in the window.
    pub requests: u32,
    /// Those among them that the upstream accepted.
    pub accepts: u32,
    /// The share of attempts that is refused, rounded down to a millionth.
    pub rate: Ratio,
}

figures! {
    Reading as it at now {
        /// Requests in the window.
        "requests": u32 = it.requests;
        /// Those among them that the upstream accepted.
        "accepts": u32 = it.accepts;
        /// The share of attempts that is refused, 0 to 1.
        "rejection": Ratio = it.rate;
    }
}

impl Throttler {
    /// Checks the configuration; nothing has been counted.
    ///
    /// # Errors
    /// Names the option, its value and the range allowed beside the others.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check_ranges()?;
        if config.multiplier < AGGRESSIVE && config.min_requests < MIN_REQUESTS_IF_AGGRESSIVE {
            let (given, least) = (f64::from(config.min_requests), f64::from(MIN_REQUESTS_IF_AGGRESSIVE));
            let min_requests = const { Config::position("minRequests") };
            return Err(ConfigError::conflict(Config::KIND, min_requests, given, least, 1_000_000.0));
        }
        let period = config.window.split(BUCKETS as u64);
        Ok(Self { config, period, records: Keyed::default() })
    }

    /// What there is to know about a key at `now`.
    #[must_use]
    pub fn read(&self, key: Key, now: Instant) -> Reading {
        let [requests, accepts] = self.counts(key, now);
        Reading { requests, accepts, rate: self.config.rate(requests, accepts) }
    }

    fn counts(&self, key: Key, now: Instant) -> [u32; LANES] {
        self.records.get(key).map_or([0; LANES], |record| record.counts.sums(now, self.period))
    }
}

impl Gate for Throttler {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let [requests, accepts] = self.counts(asker.key, now);
        if self.config.refuses(asker.dice, requests, accepts) {
            return Answer::Reject { reason: RefusalReason::Throttled, retry_at: None };
        }
        Answer::Pass
    }

    fn take(&mut self, _asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        Note::default()
    }

    fn settle(&mut self, key: Key, _note: &mut Note, ended: &Ended, cx: &mut Cx<'_>) {
        if ended.verdict.is_evidence() {
            self.count(key, u32::from(ended.verdict.is_answer()), cx);
        }
    }

    fn refused(&mut self, asker: &Asker, cx: &mut Cx<'_>) {
        if self.config.accounting == Accounting::Offered {
            self.count(asker.key, 0, cx);
        }
    }

    fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        self.read(key, now).write(now, out);
    }

    /// Never: a key that is forgotten is only not throttled for a while.
    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, key: Key) {
        self.records.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let live = self.records.iter().filter(|(_, record)| !record.counts.is_empty(now, self.period));
        out.list(live, |out, (key, record)| {
            out.key(key);
            record.counts.save(now, self.period, out);
        });
    }

    /// Replaces everything, and only once all of it has been read.
    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut read = Keyed::default();
        for _ in 0..input.keys()? {
            let (key, counts) = (input.key()?, Buckets::restore(now, self.period, input)?);
            let [requests, accepts] = counts.sums(now, self.period);
            if key.is_one_name() {
                read.forget(key);
                read.entry(key, || Record { counts, told: self.config.rate(requests, accepts) });
            }
        }
        self.records = read;
        Ok(())
    }
}

impl Throttler {
    /// One more request.
    fn count(&mut self, key: Key, accepts: u32, cx: &mut Cx<'_>) {
        if !key.is_one_name() {
            return;
        }
        let record = self.records.entry(key, Record::default);
        record.counts.roll(cx.now, self.period);
        record.counts.add_each(cx.now, [1, accepts]);
        let [requests, accepts] = record.counts.latest();
        let rate = self.config.rate(requests, accepts);
        if is_news(record.told, rate) {
            record.told = rate;
            cx.tell(key, || What::RateChanged { rate, requests, accepts });
        }
    }
}

/// Source: Google, *Site Reliability Engineering*, chapter 21 "Handling Overload", section "Client-Side Throttling",
/// equation 21-1, <https://sre.google/sre-book/handling-overload/>.
impl Config {
    /// `requests − K·accepts`, in millionths, at least nothing.
    fn excess(&self, requests: u32, accepts: u32) -> u64 {
        let tolerated = u64::from(self.multiplier.millionths()) * u64::from(accepts);
        (u64::from(requests) * MILLION).saturating_sub(tolerated)
    }

    /// Whether `draw / 2⁶⁴` is below both the equation's probability and the largest one, without rounding either.
    fn refuses(&self, draw: u64, requests: u32, accepts: u32) -> bool {
        let excess = self.excess(requests, accepts);
        if excess == 0 || requests < self.min_requests {
            return false;
        }
        let draw = u128::from(draw) * u128::from(MILLION);
        draw * (u128::from(requests) + 1) < u128::from(excess) << 64
            && draw < u128::from(self.max_rejection.millionths()) << 64
    }

    fn rate(&self, requests: u32, accepts: u32) -> Ratio {
        if requests < self.min_requests {
            return Ratio::ZERO;
        }
        let excess = self.excess(requests, accepts);
        // Mostly there is none, and then nothing need be divided.
        let millionths = if excess == 0 { 0 } else { excess / (u64::from(requests) + 1) };
        Ratio::from_millionths(millionths as u32).min(self.max_rejection)
    }
}

/// Whether somebody who watches wants to hear of it: refusing begins or ends, or there is a real change.
fn is_news(told: Ratio, rate: Ratio) -> bool {
    let begins_or_ends = (told == Ratio::ZERO) != (rate == Ratio::ZERO);
    begins_or_ends || told.millionths().abs_diff(rate.millionths()) >= NEWS.millionths()
}

/// The bytes of one key's state, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 144;
const _: () = const { assert!(size_of::<Record>() + 16 <= BYTES_OF_A_KEY as usize) };
const LANES: usize = 2;
/// Ours: a window that jumps by a twelfth, ten seconds of the default.
const BUCKETS: usize = 12;
const MILLION: u64 = 1_000_000;
/// Below this multiplier few requests prove nothing: with K = 1.1 and 95 % accepted, ten requests in a row look bad in two
/// cases of five. Ours, from a simulation.
const AGGRESSIVE: Ratio = Ratio::from_percent(150);
const MIN_REQUESTS_IF_AGGRESSIVE: u32 = 100;
/// Ours: twenty steps from nothing to everything are enough to watch.
const NEWS: Ratio = Ratio::from_percent(5);

#[cfg(test)]
mod tests;
