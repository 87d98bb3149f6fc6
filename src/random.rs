//! Randomness, lent by the host one word a verb and expanded here.

/// A stream of random words grown from one word of the host's, by SplitMix64.
///
/// It lives for one verb and is neither stored nor cloned: a stored generator that is copied with its owner gives every
/// copy the same jitter.
///
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", section 5, figure 16,
/// <https://doi.org/10.1145/2714064.2660195>.
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    /// Grown from one word of the host's.
    #[must_use]
    pub const fn new(word: u64) -> Self {
        Self(word)
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number in `low..=high`, every one equally likely but for one part in 2⁶⁴; `low` when the bounds are crossed.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let Some(width) = high.checked_sub(low) else { return low };
        let scaled = (u128::from(self.word()) * (u128::from(width) + 1)) >> 64;
        low + scaled as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_words() {
        // The first words of the reference generator for seed 1234567 (Vigna, splitmix64.c, xoshiro's test vector).
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.word(), 6_457_827_717_110_365_317);
        assert_eq!(rng.word(), 3_203_168_211_198_807_973);
        assert_eq!(rng.word(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn draws_stay_within_their_bounds_and_reach_both() {
        let mut seen = [false; 4];
        for word in 0..200 {
            let drawn = Rng::new(word).between(3, 6);
            seen[(drawn - 3) as usize] = true;
        }
        assert_eq!(seen, [true; 4]);
        assert_eq!(Rng::new(1).between(9, 9), 9);
        assert_eq!(Rng::new(1).between(9, 3), 9);
        assert!(Rng::new(u64::MAX).between(0, u64::MAX) > 0);
    }
}
