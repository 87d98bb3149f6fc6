//! The sliding window of outcomes: how many calls, and how many of them failed or were slow.
//!
//! It is bounded by count and by age, whichever is reached first; either bound can be off. Two bits remember each
//! entry, so that the oldest can be taken out of its bucket when a newer one needs the room; buckets that have become
//! too old take their entries with them, however long nobody called.

use alloc::vec;
use alloc::vec::Vec;

use super::buckets::Buckets;
use crate::snapshot::{Damaged, Read, Reader, Writer};
use crate::time::{Duration, Instant};

/// How much a window holds; lent on every call, and the same on every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many entries at most; zero when that does not matter.
    calls: u32,
    /// The width of one bucket.
    width: Duration,
}

impl Bounds {
    /// At most so many calls, none older than so long; a bound that is `None` is off.
    #[must_use]
    pub fn new(calls: Option<u32>, age: Option<Duration>) -> Self {
        Self { calls: calls.unwrap_or(0), width: age.map_or(Duration::MAX, |age| age.split(BUCKETS as u64)) }
    }
}

/// What a window holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All entries.
    pub calls: u32,
    /// Those that failed.
    pub failures: u32,
    /// Those that were slow, failed or not.
    pub slow: u32,
}

impl Counts {
    const fn of([calls, failures, slow]: [u32; LANES]) -> Self {
        Self { calls, failures, slow }
    }
}

/// The latest outcomes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    buckets: Buckets<LANES, BUCKETS>,
    entries: Ring,
}

impl Window {
    /// Adds an outcome, now; answers what the window holds then.
    pub fn add(&mut self, now: Instant, bounds: Bounds, entry: Entry) -> Counts {
        self.buckets.roll(now, bounds.width);
        if bounds.calls > 0 {
            let [held, ..] = self.buckets.latest();
            let replaced = self.entries.push(bounds.calls, entry);
            if held >= bounds.calls {
                // Mostly one success takes the place of another, and all of them are of the newest bucket.
                if replaced == entry && held > 1 && self.buckets.is_all_newest() {
                    return Counts::of(self.buckets.latest());
                }
                self.buckets.remove_oldest(replaced.lanes());
            }
        }
        self.buckets.add_each(now, entry.lanes());
        Counts::of(self.buckets.latest())
    }

    /// What the window holds, as if it had been rolled to `now`.
    #[must_use]
    pub fn counts(&self, now: Instant, bounds: Bounds) -> Counts {
        Counts::of(self.buckets.sums(now, bounds.width))
    }

    /// Writes what the window holds at `now`.
    pub fn save(&self, now: Instant, bounds: Bounds, out: &mut Writer) {
        self.buckets.save(now, bounds.width, out);
        if bounds.calls > 0 {
            let held = self.counts(now, bounds).calls;
            let mut packed = Ring::default();
            (0..held).for_each(|back| _ = packed.push(held, self.entries.at(bounds.calls, held - back)));
            packed.bits.iter().for_each(|byte| out.u8(*byte));
        }
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// The bytes are too few, or say what cannot be.
    pub fn restore(now: Instant, bounds: Bounds, input: &mut Reader<'_>) -> Read<Self> {
        let buckets = Buckets::restore(now, bounds.width, input)?;
        let [held, _, _]: [u32; LANES] = buckets.sums(now, bounds.width);
        let mut entries = Ring::default();
        if bounds.calls > 0 {
            if held > bounds.calls {
                return Err(Damaged);
            }
            let mut byte = 0;
            for position in 0..held {
                byte = if position % PER_BYTE == 0 { input.u8()? } else { byte >> 2 };
                entries.push(bounds.calls, Entry::from_bits(byte));
            }
        }
        let window = Self { buckets, entries };
        if window.is_sound(bounds, held) { Ok(window) } else { Err(Damaged) }
    }

    /// Whether the buckets say what the entries say, and nothing impossible.
    fn is_sound(&self, bounds: Bounds, held: u32) -> bool {
        let mut back = held;
        self.buckets.iter().all(|&[calls, failures, slow]| {
            if bounds.calls == 0 {
                return failures <= calls && slow <= calls;
            }
            let mut counted = [0; LANES];
            for _ in 0..calls {
                let entry = self.entries.at(bounds.calls, back).lanes();
                counted.iter_mut().zip(entry).for_each(|(count, n)| *count += n);
                back -= 1;
            }
            counted == [calls, failures, slow]
        })
    }
}

/// One outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// It failed.
    pub failed: bool,
    /// It was slow.
    pub slow: bool,
}

impl Entry {
    const fn lanes(self) -> [u32; LANES] {
        [1, self.failed as u32, self.slow as u32]
    }

    const fn bits(self) -> u8 {
        self.failed as u8 | (self.slow as u8) << 1
    }

    const fn from_bits(bits: u8) -> Self {
        Self { failed: bits & 1 != 0, slow: bits & 2 != 0 }
    }
}

/// The last entries, four to a byte. How many of them still count, the buckets know.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// Empty until the first entry comes.
    bits: Vec<u8>,
    /// Where the next entry goes.
    next: u32,
}

impl Ring {
    /// Puts an entry in the place of the oldest of `capacity`, which it answers.
    fn push(&mut self, capacity: u32, entry: Entry) -> Entry {
        if self.bits.is_empty() {
            self.bits = vec![0; capacity.div_ceil(PER_BYTE) as usize];
        }
        let (place, shift) = (self.next / PER_BYTE, 2 * (self.next % PER_BYTE));
        self.next = if self.next + 1 < capacity { self.next + 1 } else { 0 };
        let Some(byte) = self.bits.get_mut(place as usize) else { return Entry::default() };
        let replaced = Entry::from_bits(*byte >> shift);
        *byte = *byte & !(3 << shift) | entry.bits() << shift;
        replaced
    }

    /// The entry that came so many entries ago; the last one came one ago.
    fn at(&self, capacity: u32, back: u32) -> Entry {
        let position = if back <= self.next { self.next - back } else { (self.next + capacity).saturating_sub(back) };
        let byte = self.bits.get((position / PER_BYTE) as usize).copied().unwrap_or(0);
        Entry::from_bits(byte >> (2 * (position % PER_BYTE)))
    }
}

/// The window moves in steps of a tenth of itself, as Hystrix's does.
/// Source: Hystrix Wiki, "Configuration", metrics.rollingStats.numBuckets, <https://github.com/Netflix/Hystrix/wiki/Configuration>.
const BUCKETS: usize = 10;
const LANES: usize = 3;
const PER_BYTE: u32 = 4;

#[cfg(test)]
pub(crate) mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::random::Rng;

    /// Every outcome, and the plainest way to tell which are in the window.
    #[derive(Default)]
    pub(crate) struct Log {
        entries: Vec<(Instant, Entry)>,
        begun: Option<Instant>,
    }

    impl Log {
        pub fn expire(&mut self, now: Instant, age: Option<Duration>) {
            let (Some(begun), Some(age)) = (self.begun, age) else { return };
            let bucket = |at: Instant| at.since(begun).as_nanos() * BUCKETS as u64 / age.as_nanos();
            self.entries.retain(|&(at, _)| bucket(now) - bucket(at) < BUCKETS as u64);
        }

        pub fn add(&mut self, now: Instant, calls: Option<u32>, age: Option<Duration>, entry: Entry) {
            self.expire(now, age);
            if calls.is_some_and(|calls| self.entries.len() == calls as usize) {
                self.entries.remove(0);
            }
            if self.entries.is_empty() {
                self.begun = Some(now);
            }
            self.entries.push((now, entry));
        }

        pub fn counts(&self) -> Counts {
            let count = |wanted: fn(&Entry) -> bool| self.entries.iter().filter(|(_, entry)| wanted(entry)).count();
            Counts {
                calls: self.entries.len() as u32,
                failures: count(|entry| entry.failed) as u32,
                slow: count(|entry| entry.slow) as u32,
            }
        }
    }

    fn saved(window: &Window, now: Instant, bounds: Bounds) -> Vec<u8> {
        let mut out = Writer::default();
        window.save(now, bounds, &mut out);
        out.finish()
    }

    fn agrees_with_a_naive_log(calls: Option<u32>, age: Option<Duration>, seed: u64) {
        let bounds = Bounds::new(calls, age);
        let mut rng = Rng::new(seed);
        let (mut window, mut log, mut now) = (Window::default(), Log::default(), Instant::ORIGIN);
        for _ in 0..400 {
            let steps = [0, 0, 0, 1, 90, 700, 6_000, 30_000, 59_999, 60_000, 14_400_000];
            now = now + Duration::from_millis(steps[rng.between(0, 10) as usize]);
            if rng.between(0, 9) == 0 {
                let bytes = saved(&window, now, bounds);
                window = Window::restore(now, bounds, &mut Reader::new(&bytes)).unwrap();
                assert_eq!(saved(&window, now, bounds), bytes, "seed {seed}");
            } else {
                let entry = Entry::from_bits(rng.between(0, 3) as u8);
                window.add(now, bounds, entry);
                log.add(now, calls, age, entry);
            }
            assert_eq!(
                window.counts(now, bounds),
                {
                    log.expire(now, age);
                    log.counts()
                },
                "seed {seed}"
            );
            let later = now + Duration::from_millis(rng.between(0, 90_000));
            let mut rolled = window.clone();
            rolled.buckets.roll(later, bounds.width);
            assert_eq!(window.counts(later, bounds), rolled.counts(later, bounds), "seed {seed}");
            assert_eq!(saved(&window, later, bounds), saved(&rolled, later, bounds), "seed {seed}");
        }
    }

    #[test]
    fn agrees_with_a_naive_log_at_every_size() {
        for seed in 0..20 {
            for calls in [None, Some(1), Some(2), Some(3), Some(4), Some(20), Some(101), Some(1_000)] {
                for age in [None, Some(Duration::from_secs(60))] {
                    agrees_with_a_naive_log(calls, age, seed);
                }
            }
        }
    }

    #[test]
    fn after_any_silence_the_window_is_empty() {
        // cockatiel's SamplingBreaker drops one bucket a call, so an hour-old failure still counts.
        let bounds = Bounds::new(Some(100), Some(Duration::from_secs(10)));
        let mut window = Window::default();
        for _ in 0..50 {
            window.add(Instant::ORIGIN, bounds, Entry { failed: true, slow: false });
        }
        let later = Instant::ORIGIN + Duration::from_secs(3_600);
        assert_eq!(window.counts(later, bounds), Counts::default());
        window.add(later, bounds, Entry::default());
        assert_eq!(window.counts(later, bounds), Counts { calls: 1, failures: 0, slow: 0 });
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bounds = Bounds::new(Some(9), Some(Duration::from_secs(10)));
        let (mut window, now) = (Window::default(), Instant::ORIGIN);
        (0..14).for_each(|n| _ = window.add(now, bounds, Entry::from_bits(n % 4)));
        let bytes = saved(&window, now, bounds);
        let read = |bytes: &[u8]| Window::restore(now, bounds, &mut Reader::new(bytes)).map(|_| ());
        assert_eq!(read(&bytes), Ok(()));
        assert!((0..bytes.len()).all(|end| read(&bytes[..end]) == Err(Damaged)));
        let (mut lying, last) = (bytes.clone(), bytes.len() - 1);
        lying[last - 1] ^= 1;
        assert_eq!(read(&lying), Err(Damaged));
        assert!(Window::restore(now, Bounds::new(Some(8), None), &mut Reader::new(&bytes)).is_err());
    }

    #[test]
    fn a_window_of_time_alone_writes_counts_and_nothing_impossible_is_read() {
        let bounds = Bounds::new(None, Some(Duration::from_secs(10)));
        let (mut window, now) = (Window::default(), Instant::ORIGIN);
        (0..14).for_each(|n| _ = window.add(now, bounds, Entry::from_bits(n % 4)));
        let bytes = saved(&window, now, bounds);
        assert_eq!(bytes.len(), 8 + BUCKETS * LANES * 4);
        let calls = bytes.iter().position(|byte| *byte == 14).unwrap();
        for more_than_all in [calls + 4, calls + 8] {
            let mut lying = bytes.clone();
            lying[more_than_all] = 15;
            assert!(Window::restore(now, bounds, &mut Reader::new(&lying)).is_err());
        }
    }

    #[test]
    fn a_window_of_a_hundred_calls_is_small() {
        assert!(size_of::<Window>() + 100 / 4 <= 208, "{} bytes", size_of::<Window>());
    }
}
