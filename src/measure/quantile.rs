//! A quantile of one window's samples, in fixed memory: evenly spaced samples are kept, and as they become too many
//! every other one goes.
//!
//! Up to [`MAX_KEPT`] samples the quantile is exact. Of more, between half and all of that many are kept, each as far from
//! the next as any other, so that the whole window counts and no part of it more.

use alloc::vec::Vec;

use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Read, Reader, Writer};
use crate::time::Duration;

/// The samples of one window, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Every so many-th, in the order in which they came.
    kept: Vec<u32>,
    /// How many came between two that are kept, as a power of two.
    spacing: u8,
    seen: u32,
}

impl Samples {
    /// Adds one; what is longer than 71 minutes is as long.
    pub fn add(&mut self, sample: Duration) {
        if self.seen.trailing_zeros() >= u32::from(self.spacing) {
            if self.kept.len() >= MAX_KEPT {
                self.thin_out();
            }
            // After thinning out, the newcomer's place may be one of those that are not kept.
            if self.seen.trailing_zeros() >= u32::from(self.spacing) {
                self.kept.push(micros(sample));
            }
        }
        self.seen = self.seen.saturating_add(1);
    }

    fn thin_out(&mut self) {
        let mut place = 0;
        self.kept.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.spacing += 1;
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.seen
    }

    /// The least sample that so large a share of all samples does not exceed; none of none.
    pub fn quantile(&self, share: Ratio) -> Option<Duration> {
        self.least(share, self.kept.len() as u32)
    }

    /// The least sample that the next one does not exceed with so great a probability, if it comes from where these came
    /// from; the greatest, where there are too few to tell. None of none.
    ///
    /// The last of *n* + 1 is as likely to be the least of them as any other: with a probability of *k* / (*n* + 1) it is at
    /// most the *k*-th of the other *n*, whatever their distribution.
    pub fn quantile_of_next(&self, share: Ratio) -> Option<Duration> {
        self.least(share, self.kept.len() as u32 + 1)
    }

    /// The least sample that, with those below it, makes such a share of so many.
    fn least(&self, share: Ratio, of: u32) -> Option<Duration> {
        let all = self.kept.len() as u32;
        if all == 0 {
            return None;
        }
        let enough = |below: u32| below == all || share.reached_by(below, of);
        // Bit by bit, from the top: the largest number that too few samples are below or at, plus one.
        let (mut low, mut bit) = (0_u32, 1_u32 << 31);
        while bit > 0 {
            let middle = low + (bit - 1);
            if !enough(self.kept.iter().filter(|kept| **kept <= middle).count() as u32) {
                low += bit;
            }
            bit >>= 1;
        }
        Some(Duration::from_nanos(u64::from(low) * NANOS_PER_MICRO))
    }

    /// Begins another window.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.spacing = 0;
        self.seen = 0;
    }

    /// Writes all that is kept.
    pub fn save(&self, out: &mut Writer) {
        out.u32(self.seen);
        out.u8(self.spacing);
        out.list(self.kept.iter(), |out, kept| out.u32(*kept));
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// The bytes are too few, or say what cannot be.
    pub fn restore(input: &mut Reader<'_>) -> Read<Self> {
        let mut restored = Self { seen: input.u32()?, spacing: input.u8()?, kept: Vec::new() };
        let count = input.u16()?;
        let spacing = 1_u32.checked_shl(u32::from(restored.spacing)).ok_or(Damaged)?;
        if usize::from(count) > MAX_KEPT || u32::from(count) != restored.seen.div_ceil(spacing) {
            return Err(Damaged);
        }
        for _ in 0..count {
            restored.kept.push(input.u32()?);
        }
        Ok(restored)
    }
}

fn micros(sample: Duration) -> u32 {
    u32::try_from(sample.as_nanos() / NANOS_PER_MICRO).unwrap_or(u32::MAX)
}

/// Ours: the 90th percentile of 64 to 128 samples is off by three or four percentiles at one standard deviation.
pub const MAX_KEPT: usize = 128;
const NANOS_PER_MICRO: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn samples(count: u64, sample: impl Fn(u64) -> u64) -> Samples {
        let mut samples = Samples::default();
        (0..count).for_each(|number| samples.add(ms(sample(number))));
        samples
    }

    fn saved(samples: &Samples) -> Vec<u8> {
        let mut out = Writer::default();
        samples.save(&mut out);
        out.finish()
    }

    #[test]
    fn agrees_with_a_sorted_list_of_what_is_kept() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let (mut samples, mut all) = (Samples::default(), Vec::new());
            let widest = [1, 20, 1_000_000, u64::MAX >> 1][rng.between(0, 3) as usize];
            for number in 0..rng.between(1, 2_000) {
                let sample = Duration::from_nanos(rng.between(0, widest) / 1_000 * 1_000);
                samples.add(sample);
                all.push(sample.min(Duration::from_nanos(u64::from(u32::MAX) * 1_000)));
                if number % 50 == 0 {
                    samples = Samples::restore(&mut Reader::new(&saved(&samples))).unwrap();
                }
            }
            // All of them, every other, every fourth …: the first spacing that leaves no more than may be kept.
            let spacing = (0..32).map(|shift| 1 << shift).find(|step| all.len().div_ceil(*step) <= MAX_KEPT).unwrap();
            let mut kept: Vec<Duration> = all.iter().step_by(spacing).copied().collect();
            kept.sort_unstable();
            for percent in [1, 10, 50, 90, 95, 100] {
                let rank = (kept.len() * percent).div_ceil(100);
                let quantile = samples.quantile(Ratio::from_percent(percent as u32));
                assert_eq!(quantile, Some(kept[rank - 1]), "seed {seed}, {percent} %");
            }
            assert_eq!(samples.count() as usize, all.len());
        }
    }

    #[test]
    fn a_long_window_counts_from_its_first_sample_to_its_last() {
        for count in [129, 1_000, 100_000] {
            let rising = samples(count, |number| number);
            for percent in [10, 50, 90] {
                let exact = count * u64::from(percent) / 100;
                let quantile = rising.quantile(Ratio::from_percent(percent)).unwrap().as_nanos() / 1_000_000;
                assert!(quantile.abs_diff(exact) <= count / 32, "{percent} % of {count}: {quantile}");
            }
            assert!(rising.kept.len() > MAX_KEPT / 2 && rising.kept.len() <= MAX_KEPT);
        }
    }

    #[test]
    fn the_error_of_many_random_samples_is_that_of_a_hundred() {
        let (mut rng, mut worst) = (Rng::new(9), 0);
        for _ in 0..200 {
            let mut samples = Samples::default();
            (0..5_000).for_each(|_| samples.add(ms(rng.between(0, 9_999))));
            let p90 = samples.quantile(Ratio::from_percent(90)).unwrap().as_nanos() / 1_000_000;
            worst = worst.max(p90.abs_diff(9_000));
        }
        assert!(worst < 1_500, "{worst}: four standard deviations");
    }

    #[test]
    fn none_of_none_and_the_same_after_a_new_beginning() {
        let mut samples = samples(500, |number| number);
        samples.clear();
        assert_eq!((samples.quantile(Ratio::ONE), samples.count()), (None, 0));
        assert_eq!(samples, Samples::default());
        samples.add(Duration::MAX);
        assert_eq!(samples.quantile(Ratio::ONE), Some(Duration::from_nanos(u64::from(u32::MAX) * 1_000)));
        samples.add(Duration::ZERO);
        assert_eq!(samples.quantile(Ratio::from_percent(50)), Some(Duration::ZERO));
    }

    #[test]
    fn of_the_next_one_it_is_the_rank_among_one_more_and_the_greatest_where_they_are_too_few() {
        let rank = |count, percent| {
            let quantile = samples(count, |number| number + 1).quantile_of_next(Ratio::from_percent(percent));
            quantile.map(|quantile| quantile.as_nanos() / 1_000_000)
        };
        assert_eq!([1, 10, 50, 90, 91, 100].map(|percent| rank(9, percent)), [1, 1, 5, 9, 9, 9].map(Some));
        assert_eq!([50, 51, 90, 94, 95, 96].map(|percent| rank(19, percent)), [10, 11, 18, 19, 19, 19].map(Some));
        assert_eq!((rank(1, 1), rank(0, 50)), (Some(1), None));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = saved(&samples(300, |number| number));
        for end in 0..bytes.len() {
            assert_eq!(Samples::restore(&mut Reader::new(&bytes[..end])), Err(Damaged));
        }
        // As many as are kept at most, and one more than that.
        let most = saved(&samples(128, |number| number));
        assert!(Samples::restore(&mut Reader::new(&most)).is_ok());
        let one_more = [&[129, 0, 0, 0, 0, 129, 0], &most[7..], &[0; 4]].concat();
        assert_eq!(Samples::restore(&mut Reader::new(&one_more)), Err(Damaged));
        for (place, byte) in [(0, 0), (4, 200), (4, 0), (5, 1), (6, 9)] {
            let mut wrong = bytes.clone();
            wrong[place] = byte;
            assert_eq!(Samples::restore(&mut Reader::new(&wrong)), Err(Damaged), "{place}");
        }
    }
}
