#![doc = include_str!("../../docs/policies/rate_limiter.md")]

use crate::config::{ConfigError, OptionKind, OptionValue};
use crate::decision::RefusalReason;
use crate::event::What;
use crate::figure::Figures;
use crate::key::{Key, Keyed};
use crate::measure::queue::{KEPT_BYTES, Line, STEP, Waiter};
use crate::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

options! {
    /// How many permits there are, and who waits for one.
    pub struct Config for RateLimiter {
        /// How many permits there are in each interval.
        rate: u32 as "rate", OptionKind::Count, 50, 1.0..=1_000_000.0;
        /// The interval.
        interval: Duration as "interval", OptionKind::Duration, Duration::from_secs(1), 1.0..=86_400_000.0;
        /// How many permits there are at once at most, after a silence; off: one interval's worth.
        burst: Option<u32> as "burst", OptionKind::Count, None, 1.0..=1_000_000.0;
        /// How long an attempt waits for its turn at most; 0: it does not.
        wait: Duration as "wait", OptionKind::Duration, Duration::ZERO, 0.0..=86_400_000.0;
        /// How many attempts wait at most.
        queue: u32 as "queue", OptionKind::Count, 100, 0.0..=10_000.0;
    }
}

/// A bucket of permits for each key.
///
/// Credit is counted in permits × nanoseconds: in every nanosecond it grows by `rate`, and a permit costs `interval`. So
/// nothing is ever rounded, and everything fits 64 bits.
#[derive(Debug)]
pub struct RateLimiter {
    config: Config,
    burst: u32,
    /// The price of a burst, and after how long any bucket holds as much.
    full: u64,
    fills_in: Duration,
    buckets: Keyed<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// As it was at `at`.
    credit: u64,
    at: Instant,
    line: Line,
}

/// What there is to know about a key at one instant. Reading changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many permits there are.
    pub available: u32,
    /// How many attempts have a place in line.
    pub queued: u32,
}

figures! {
    Reading as it at now {
        /// How many permits there are.
        "available": u32 = it.available;
        /// How many attempts wait for their turn.
        "queued": u32 = it.queued;
    }
}

impl RateLimiter {
    /// Checks the configuration; every bucket is full.
    ///
    /// # Errors
    /// Names the option, its value and the range allowed beside the others.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check_ranges()?;
        let burst = config.burst.unwrap_or(config.rate);
        let longest = Duration::from_nanos(MOST_CREDIT / u64::from(burst.max(config.rate).max(1)));
        if config.interval > longest {
            let (given, longest) = (config.interval.number(), longest.number());
            let interval = const { Config::position("interval") };
            return Err(ConfigError::conflict(Config::KIND, interval, given, 1.0, longest));
        }
        let full = u64::from(burst) * config.interval.as_nanos();
        let fills_in = Duration::from_nanos(full.div_ceil(u64::from(config.rate.max(1))));
        Ok(Self { config, burst, full, fills_in, buckets: Keyed::default() })
    }

    /// How it is configured.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// How many permits there are at `now`. Reading changes nothing.
    #[must_use]
    pub fn available(&self, key: Key, now: Instant) -> u32 {
        let permits = self.credit(self.buckets.get(key), now) / self.price(1).max(1);
        u32::try_from(permits).unwrap_or(u32::MAX)
    }

    /// How many attempts have a place in line.
    #[must_use]
    pub fn waiters(&self, key: Key) -> u32 {
        self.buckets.get(key).map_or(0, |bucket| bucket.line.len())
    }

    /// Both.
    #[must_use]
    pub fn read(&self, key: Key, now: Instant) -> Reading {
        Reading { available: self.available(key, now), queued: self.waiters(key) }
    }

    /// Takes so many permits if they are there and nobody waits for one.
    pub fn try_acquire(&mut self, key: Key, permits: u32, cx: &mut Cx<'_>) -> bool {
        if permits > self.burst {
            cx.tell(key, || What::Oversized { permits });
            return false;
        }
        let bucket = self.buckets.get(key);
        let is_free = bucket.is_none_or(|bucket| bucket.line.head(cx.now).is_none());
        let granted = is_free && self.credit(bucket, cx.now) >= self.price(permits);
        if granted {
            self.spend(key, permits, cx.now);
        }
        granted
    }
}

/// Credit.
impl RateLimiter {
    /// Of no more permits than a burst, so that it fits: on wasm32 a product that may not fit is a call.
    fn price(&self, permits: u32) -> u64 {
        u64::from(permits.min(self.burst)) * self.config.interval.as_nanos()
    }

    fn credit(&self, bucket: Option<&Bucket>, now: Instant) -> u64 {
        let Some(bucket) = bucket else { return self.full };
        let span = now.since(bucket.at);
        if span >= self.fills_in {
            return self.full;
        }
        bucket.credit.saturating_add(span.as_nanos() * u64::from(self.config.rate)).min(self.full)
    }

    /// After how long this credit is enough for so many permits, however many more than a burst they are:
    /// `⌈(permits · interval − credit) / rate⌉`, whole rates apart from the rest, so that nothing overflows.
    fn until(&self, credit: u64, permits: u64) -> Duration {
        let (rate, interval) = (u64::from(self.config.rate.max(1)), self.config.interval.as_nanos());
        // Mostly it is, and then nothing need be divided.
        if permits <= u64::from(self.burst) && permits * interval <= credit {
            return Duration::ZERO;
        }
        let whole = (permits / rate).saturating_mul(interval);
        let rest = (permits % rate).saturating_mul(interval);
        Duration::from_nanos(if rest > credit {
            whole.saturating_add((rest - credit).div_ceil(rate))
        } else {
            whole.saturating_sub((credit - rest) / rate)
        })
    }

    /// A permit that is spent is spent.
    fn spend(&mut self, key: Key, permits: u32, now: Instant) {
        let credit = self.credit(self.buckets.get(key), now).saturating_sub(self.price(permits));
        self.set(key, credit, now);
    }

    fn set(&mut self, key: Key, credit: u64, now: Instant) {
        let bucket = self.bucket(key);
        (bucket.credit, bucket.at) = (credit, now);
    }

    /// A bucket that nobody took from is full, whatever is written in it.
    fn bucket(&mut self, key: Key) -> &mut Bucket {
        self.buckets.entry(key, || Bucket { credit: u64::MAX, at: Instant::PAST, line: Line::default() })
    }
}

/// Turns.
impl RateLimiter {
    /// When it is this one's turn, or when to ask again. First in, first out: a newcomer comes after everybody in line.
    /// Who stands in line has its turn then too, or sooner where somebody ahead has left; from its turn on it leaves
    /// those ahead only what their own turn gave them.
    fn turn(&self, asker: &Asker, now: Instant) -> Instant {
        let Some(bucket) = self.buckets.get(asker.key) else { return now };
        let Bucket { line, .. } = bucket;
        let credit = self.credit(Some(bucket), now);
        if line.len() == 0 && self.price(asker.cost) <= credit {
            return now;
        }
        let place = asker.place.map(|place| place.0);
        let turn = place.map_or(Instant::NEVER, |place| line.turn(place));
        let own = u64::from(asker.cost);
        if turn > now {
            let ahead = line.cost_in_front(place, Waiter::is_present, now);
            return turn.min(now + self.until(credit, ahead + own));
        }
        let most = credit / self.price(1).max(1);
        if line.cost_ahead(place, Waiter::is_called, now, most + 1) + own <= most {
            return now;
        }
        let permits = line.cost_in_front(place, Waiter::is_called, now) + own;
        // It was its turn, and others' too: its host did not come when it should have. No host comes more often than this.
        let ticks = Duration::from_millis(permits.div_ceil(u64::from(self.burst.max(1))));
        now + self.until(credit, permits).max(ticks)
    }

    /// When to ask again: at its turn, or sooner, since those ahead may leave and no hint may come of it. Not before the
    /// credit is enough for itself alone.
    fn asks_again(&self, asker: &Asker, turn: Instant, now: Instant) -> Instant {
        let Some(bucket) = self.buckets.get(asker.key) else { return turn };
        let alone = now + self.until(self.credit(Some(bucket), now), u64::from(asker.cost));
        if turn <= alone.max(now + STEP) {
            return turn; // nobody is ahead of it, or it is soon
        }
        let place = asker.place.map(|place| place.0);
        turn.min(alone.max(bucket.line.asks_again(place, self.burst, u32::MAX, now)))
    }

    /// Somebody left the line or lets others pass, or came before those ahead of it: a hint, if the first one's turn is
    /// now, or comes sooner than it knows.
    fn hasten(&mut self, key: Key, cx: &mut Cx<'_>) {
        let Some(bucket) = self.buckets.get(key) else { return };
        if bucket.line.len() == 0 || !cx.woken.wants_more() {
            return;
        }
        let credit = self.credit(Some(bucket), cx.now);
        let Some(head) = bucket.line.head(cx.now) else { return };
        let at = cx.now + self.until(credit, u64::from(head.cost));
        if at <= cx.now || at < head.turn {
            cx.woken.push(head.call);
            self.bucket(key).line.hasten(at, cx.now);
        }
    }
}

impl Gate for RateLimiter {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        if asker.cost > self.burst {
            return Answer::Reject { reason: RefusalReason::Oversized, retry_at: None };
        }
        let at = self.turn(asker, now);
        if at <= now {
            return Answer::Pass;
        }
        let too_late = !at.is_in_time(asker.deadline) || at > asker.since + self.config.wait;
        if too_late || asker.place.is_none() && self.waiters(asker.key) >= self.config.queue {
            return Answer::Reject { reason: RefusalReason::RateLimited, retry_at: Some(at) };
        }
        Answer::Wait(self.asks_again(asker, at, now))
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        self.spend(asker.key, asker.cost, cx.now);
        if let Some(place) = asker.place {
            self.leave(asker.key, place, cx);
            let waited = cx.now.since(asker.since);
            cx.tell(asker.key, || What::Waited { waited });
        }
        Note::default()
    }

    /// How an attempt ended is nothing to it.
    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn join(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Place {
        let turn = self.turn(asker, cx.now);
        let asks = self.asks_again(asker, turn, cx.now);
        let line = &mut self.bucket(asker.key).line;
        let place = asker.place.unwrap_or_else(|| Place(line.join(asker.call, asker.cost, turn)));
        line.was_told(place.0, asks);
        if asker.place.is_some() {
            line.stand(place.0, turn);
            self.hasten(asker.key, cx);
        }
        place
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.line.step_aside(place.0);
        }
        self.hasten(key, cx);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.line.leave(place.0);
        }
        self.hasten(key, cx);
    }

    fn write_figures(&self, key: Key, now: Instant, out: &mut Figures<'_>) {
        self.read(key, now).write(now, out);
    }

    /// A bucket that is forgotten is full again.
    fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.credit(self.buckets.get(key), now) < self.full || self.waiters(key) > 0
    }

    fn forget(&mut self, key: Key) {
        self.buckets.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let full = self.full;
        let credits = self.buckets.iter().map(|(key, bucket)| (key, self.credit(Some(bucket), now)));
        out.list(credits.filter(|(_, credit)| *credit < full), |out, (key, credit)| {
            out.key(key);
            out.u64(credit);
        });
    }

    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        // Read twice, so that nothing has changed when the last bucket turns out to be damaged.
        for is_sound in [false, true] {
            let mut input = *input;
            for _ in 0..input.keys()? {
                let (key, credit) = (input.key()?, input.u64()?);
                if credit >= self.full {
                    return Err(Damaged);
                }
                if is_sound && key != Key::NEW {
                    self.set(key, credit, now);
                }
            }
        }
        Ok(())
    }
}

/// The bytes of one key's state: a bucket, and the few places that an empty line keeps, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 320;
const _: () = const { assert!(size_of::<Bucket>() + KEPT_BYTES + 2 * 16 <= BYTES_OF_A_KEY as usize) };
/// The most credit there is: a burst, or an interval's worth. Twice as much fits 64 bits.
const MOST_CREDIT: u64 = 1 << 63;
