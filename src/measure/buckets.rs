//! Counts by age: a row of buckets of equal width, each with the same few lanes.
//!
//! The window is `N` widths long and moves in steps of one: a count is seen for more than `N − 1` widths and at most `N`.
//! The width is lent on every call, so that state of a thousand keys does not hold a thousand copies; it must be the
//! same on every call. Buckets are cut from the first count on, so that they stand where they stood after a restart; as
//! soon as nothing is left they are as good as new, however they got there.

use crate::snapshot::{Damaged, Read, Reader, Writer};
use crate::time::{Duration, Instant};

/// Counts in `LANES` lanes over the last `N` bucket widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets<const LANES: usize, const N: usize> {
    /// When the newest bucket began.
    begun: Instant,
    /// Oldest first.
    counts: [[u32; LANES]; N],
    /// Over all buckets, whether or not they are due to go.
    sums: [u32; LANES],
}

impl<const LANES: usize, const N: usize> Default for Buckets<LANES, N> {
    fn default() -> Self {
        Self { begun: Instant::PAST, counts: [[0; LANES]; N], sums: [0; LANES] }
    }
}

impl<const LANES: usize, const N: usize> Buckets<LANES, N> {
    /// Adds to a lane, now. A lane holds at most `u32::MAX`; what is above is not counted.
    pub fn add(&mut self, now: Instant, width: Duration, lane: usize, n: u32) {
        let mut added = [0; LANES];
        if let Some(count) = added.get_mut(lane) {
            *count = n;
        }
        self.roll(now, width);
        self.add_each(now, added);
    }

    /// Adds to every lane, now, after a [`roll`](Self::roll).
    pub(crate) fn add_each(&mut self, now: Instant, added: [u32; LANES]) {
        if self.sums == [0; LANES] {
            self.begun = now;
        }
        let Some(newest) = self.counts.last_mut() else { return };
        for ((sum, count), n) in self.sums.iter_mut().zip(newest).zip(added) {
            let n = n.min(u32::MAX - *sum);
            *sum += n;
            *count += n;
        }
    }

    /// What the window holds, lane by lane, as if it had been rolled to `now`.
    #[must_use]
    pub fn sums(&self, now: Instant, width: Duration) -> [u32; LANES] {
        let mut sums = self.sums;
        for gone in self.counts.iter().take(self.passed(now, width)) {
            subtract(&mut sums, gone);
        }
        sums
    }

    /// What the window held after the last change.
    pub(crate) const fn latest(&self) -> [u32; LANES] {
        self.sums
    }

    /// Whether the window holds nothing at `now`.
    #[must_use]
    pub fn is_empty(&self, now: Instant, width: Duration) -> bool {
        self.sums(now, width) == [0; LANES]
    }

    /// When the window first holds what is asked for, if nothing is added; it does not now.
    #[must_use]
    pub fn first(&self, now: Instant, width: Duration, is_it: impl Fn([u32; LANES]) -> bool) -> Option<Instant> {
        let mut ends =
            (self.passed(now, width) as u64 + 1..=N as u64).map(|gone| self.begun + width.saturating_mul(gone));
        ends.find(|at| is_it(self.sums(*at, width)))
    }

    /// Takes back up to `n` of what was added at the instant `at`, if it is still there; answers how many that were.
    pub fn remove(&mut self, at: Instant, width: Duration, lane: usize, n: u32) -> u32 {
        let back = self.begun.since(at).as_nanos().div_ceil(width.as_nanos().max(1));
        let bucket = usize::try_from(back).ok().and_then(|back| self.counts.iter_mut().nth_back(back));
        let (Some(sum), Some(count)) = (self.sums.get_mut(lane), bucket.and_then(|bucket| bucket.get_mut(lane))) else {
            return 0;
        };
        let n = n.min(*count);
        *sum = sum.saturating_sub(n);
        *count -= n;
        n
    }

    /// Whether all that is counted in the first lane lies in the newest bucket.
    pub(crate) fn is_all_newest(&self) -> bool {
        self.counts.last().and_then(|newest| newest.first()) == self.sums.first()
    }

    /// Takes these counts out of the oldest bucket that has any in the first lane.
    pub(crate) fn remove_oldest(&mut self, counts: [u32; LANES]) {
        if let Some(oldest) = self.counts.iter_mut().find(|bucket| bucket.first() > Some(&0)) {
            subtract(oldest, &counts);
            subtract(&mut self.sums, &counts);
        }
    }

    /// Every bucket, oldest first, as they were after the last change.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32; LANES]> {
        self.counts.iter()
    }

    /// Drops what has become too old.
    pub(crate) fn roll(&mut self, now: Instant, width: Duration) {
        let passed = self.passed(now, width);
        if passed > 0 {
            self.sums = self.sums(now, width);
            for place in 0..N {
                self.counts[place] = self.counts.get(place + passed).copied().unwrap_or([0; LANES]);
            }
            self.begun = self.begun + width.saturating_mul(passed as u64);
        }
    }

    /// How many buckets are due to go, at most all.
    fn passed(&self, now: Instant, width: Duration) -> usize {
        let age = now.since(self.begun);
        if age < width {
            return 0;
        }
        (age.as_nanos() / width.as_nanos().max(1)).min(N as u64) as usize
    }

    /// Writes what the window holds at `now`.
    pub fn save(&self, now: Instant, width: Duration, out: &mut Writer) {
        let mut rolled = self.clone();
        rolled.roll(now, width);
        out.age(if rolled.sums == [0; LANES] { now } else { rolled.begun }, now);
        rolled.iter().flatten().for_each(|count| out.u32(*count));
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// The bytes are too few, or say what cannot be.
    pub fn restore(now: Instant, width: Duration, input: &mut Reader<'_>) -> Read<Self> {
        let mut restored = Self { begun: input.age(now)?, ..Self::default() };
        if now.since(restored.begun) >= width {
            return Err(Damaged);
        }
        for bucket in &mut restored.counts {
            for (count, sum) in bucket.iter_mut().zip(&mut restored.sums) {
                *count = input.u32()?;
                *sum = sum.checked_add(*count).ok_or(Damaged)?;
            }
        }
        Ok(restored)
    }
}

fn subtract<const LANES: usize>(from: &mut [u32; LANES], counts: &[u32; LANES]) {
    for (sum, count) in from.iter_mut().zip(counts) {
        *sum = sum.saturating_sub(*count);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::random::Rng;

    const WIDTH: Duration = Duration::from_secs(10);

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Duration::from_millis(ms)
    }

    /// Every count ever added, and the plainest way to tell which are in the window.
    #[derive(Default)]
    struct Log {
        counts: Vec<(Instant, usize, u32)>,
        begun: Option<Instant>,
    }

    impl Log {
        fn bucket(&self, at: Instant) -> u64 {
            let begun = self.begun.unwrap_or(at);
            at.since(begun).as_nanos() / WIDTH.as_nanos()
        }

        fn forget(&mut self, now: Instant) {
            let mut counts = core::mem::take(&mut self.counts);
            counts.retain(|&(at, _, n)| n > 0 && self.bucket(now) < self.bucket(at) + 4);
            self.counts = counts;
            if self.counts.is_empty() {
                self.begun = None;
            }
        }

        fn add(&mut self, now: Instant, lane: usize, n: u32) {
            self.forget(now);
            self.begun.get_or_insert(now);
            self.counts.push((now, lane, n));
        }

        fn remove(&mut self, at: Instant, lane: usize, n: u32) {
            let mut counts = core::mem::take(&mut self.counts);
            let mut left = n;
            for count in counts.iter_mut().filter(|count| count.1 == lane && self.bucket(count.0) == self.bucket(at)) {
                let taken = if self.begun > Some(at) { 0 } else { left.min(count.2) };
                count.2 -= taken;
                left -= taken;
            }
            self.counts = counts;
        }

        fn sums(&mut self, now: Instant) -> [u32; 2] {
            self.forget(now);
            let mut sums = [0; 2];
            self.counts.iter().for_each(|&(_, lane, n)| sums[lane] += n);
            sums
        }
    }

    #[test]
    fn agrees_with_a_naive_log() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let (mut buckets, mut log) = (Buckets::<2, 4>::default(), Log::default());
            let (mut now, mut past) = (Instant::ORIGIN, Vec::new());
            for _ in 0..200 {
                let steps = [0, 0, 1, 400, 3_000, 10_000, 25_000, 39_999, 40_000, 7_200_000];
                now = now + Duration::from_millis(steps[rng.between(0, 9) as usize]);
                let (lane, n) = (rng.between(0, 1) as usize, rng.between(1, 3) as u32);
                match rng.between(0, 3) {
                    0 if !past.is_empty() => {
                        // Takes back what was added once, whether or not it is still there.
                        let (at, lane, n) = past.swap_remove(rng.between(0, past.len() as u64 - 1) as usize);
                        log.forget(now);
                        buckets.roll(now, WIDTH);
                        log.remove(at, lane, n);
                        buckets.remove(at, WIDTH, lane, n);
                    }
                    1 => buckets = saved_and_restored(&buckets, now),
                    _ => {
                        log.add(now, lane, n);
                        buckets.add(now, WIDTH, lane, n);
                        past.push((now, lane, n));
                    }
                }
                let later = now + Duration::from_millis(rng.between(0, 60_000));
                let mut rolled = buckets.clone();
                rolled.roll(later, WIDTH);
                assert_eq!(rolled.sums(later, WIDTH), buckets.sums(later, WIDTH), "seed {seed}");
                assert_eq!(buckets.sums(now, WIDTH), log.sums(now), "seed {seed}");
                assert_eq!(saved(&buckets, later), saved(&rolled, later), "seed {seed}");
            }
        }
    }

    fn saved(buckets: &Buckets<2, 4>, now: Instant) -> Vec<u8> {
        let mut out = Writer::default();
        buckets.save(now, WIDTH, &mut out);
        out.finish()
    }

    fn saved_and_restored(buckets: &Buckets<2, 4>, now: Instant) -> Buckets<2, 4> {
        let bytes = saved(buckets, now);
        let restored = Buckets::restore(now, WIDTH, &mut Reader::new(&bytes)).unwrap();
        assert_eq!(saved(&restored, now), bytes);
        restored
    }

    #[test]
    fn all_elapsed_buckets_go_at_once() {
        let mut buckets = Buckets::<1, 4>::default();
        for second in 0..40 {
            buckets.add(at(second * 1_000), WIDTH, 0, 1);
        }
        assert_eq!(buckets.sums(at(39_999), WIDTH), [40]);
        assert_eq!(buckets.sums(at(40_000), WIDTH), [30]);
        assert_eq!(buckets.sums(at(60_000), WIDTH), [10]);
        assert!(buckets.is_empty(at(70_000), WIDTH) && buckets.is_empty(Instant::NEVER, WIDTH));
    }

    #[test]
    fn what_was_taken_back_or_has_expired_leaves_nothing() {
        let mut buckets = Buckets::<1, 4>::default();
        buckets.add(at(0), WIDTH, 0, 2);
        buckets.add(at(12_000), WIDTH, 0, 1);
        assert_eq!(buckets.remove(at(0), WIDTH, 0, 5), 2);
        assert_eq!(buckets.remove(at(0), WIDTH, 0, 1), 0);
        assert_eq!(buckets.remove(at(12_000), WIDTH, 0, 1), 1);
        assert!(buckets.is_empty(at(12_000), WIDTH));
        buckets.add(at(99_000), WIDTH, 0, 1);
        assert_eq!(buckets.remove(at(0), WIDTH, 0, 1), 0);
        assert_eq!(buckets.sums(at(99_000), WIDTH), [1]);
    }

    #[test]
    fn a_window_is_empty_until_something_comes_and_after_it_has_gone() {
        let (mut buckets, width) = (Buckets::<2, 4>::default(), Duration::from_millis(10));
        assert!(buckets.is_empty(at(0), width));
        buckets.add(at(0), width, 1, 1);
        assert!(!buckets.is_empty(at(39), width));
        assert!(buckets.is_empty(at(40), width));
    }

    #[test]
    fn extremes_are_harmless() {
        let mut buckets = Buckets::<1, 3>::default();
        buckets.add(at(0), Duration::MAX, 0, u32::MAX);
        buckets.add(at(5), Duration::MAX, 0, 9);
        assert_eq!(buckets.sums(Instant::NEVER, Duration::MAX), [u32::MAX]);
        buckets.add(at(5), Duration::ZERO, 0, 1);
        buckets.add(Instant::NEVER, Duration::ZERO, 7, 1);
        assert_eq!(buckets.remove(Instant::PAST, Duration::ZERO, 7, 1), 0);
        assert!(buckets.is_empty(Instant::NEVER, Duration::ZERO));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut buckets = Buckets::<2, 4>::default();
        buckets.add(at(0), WIDTH, 1, u32::MAX);
        let bytes = saved(&buckets, at(3));
        let read = |bytes: &[u8]| Buckets::<2, 4>::restore(at(3), WIDTH, &mut Reader::new(bytes));
        assert!(read(&bytes).is_ok() && (0..bytes.len()).all(|end| read(&bytes[..end]).is_err()));
        let (mut too_old, mut too_many) = (bytes.clone(), bytes);
        too_old[..8].copy_from_slice(&WIDTH.as_nanos().to_le_bytes());
        too_many[12..16].copy_from_slice(&1u32.to_le_bytes());
        assert_eq!((read(&too_old), read(&too_many)), (Err(Damaged), Err(Damaged)));
    }
}
