//! The four jitters against the distributions that AWS's formulas have.
//!
//! 20,000 draws each, from seeded words, compared by the Kolmogorov–Smirnov distance. By chance it exceeds 1.95/√20,000
//! = 0.0138 once in a thousand samples; the words are fixed, so a failure here is no chance but another distribution.

use super::*;

const DRAWS: u64 = 20_000;
const TOLERANCE: f64 = 0.0138;

/// Backoffs in milliseconds, in order.
fn sample(case: &Case) -> Vec<f64> {
    let mut words = Rng::new(0x5EED);
    let retry = Retry::new(case.config).unwrap();
    let draw = |_| case.ask_again(&retry, words.word()).next.unwrap().backoff.as_nanos() as f64 / 1e6;
    let mut sample: Vec<f64> = (0..DRAWS).map(draw).collect();
    sample.sort_by(f64::total_cmp);
    sample
}

/// The greatest distance between the sample's distribution and this one.
fn distance(sample: &[f64], distribution: impl Fn(f64) -> f64) -> f64 {
    let count = sample.len() as f64;
    let steps = sample.iter().enumerate().map(|(below, value)| {
        let expected = distribution(*value);
        (expected - below as f64 / count).abs().max((expected - (below + 1) as f64 / count).abs())
    });
    steps.fold(0.0, f64::max)
}

fn uniform(low: f64, high: f64) -> impl Fn(f64) -> f64 {
    move |value| ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

fn case(jitter: Jitter) -> Case {
    Case::new(Config { attempts: 15, jitter, ..Config::default() })
}

#[test]
fn none_has_one_value() {
    let sample = sample(&case(Jitter::None).after(3));
    assert!(sample.iter().all(|value| *value == 400.0));
}

#[test]
fn full_is_even_between_nothing_and_the_whole_backoff() {
    for (rounds, whole) in [(1, 100.0), (4, 800.0), (12, 20_000.0)] {
        let sample = sample(&case(Jitter::Full).after(rounds));
        assert!(distance(&sample, uniform(0.0, whole)) < TOLERANCE);
        assert!((mean(&sample) - whole / 2.0).abs() < whole / 100.0);
    }
}

#[test]
fn equal_is_even_between_half_and_the_whole_backoff() {
    for (rounds, whole) in [(1, 100.0), (4, 800.0), (12, 20_000.0)] {
        let sample = sample(&case(Jitter::Equal).after(rounds));
        assert!(distance(&sample, uniform(whole / 2.0, whole)) < TOLERANCE);
        assert!((mean(&sample) - whole * 0.75).abs() < whole / 100.0);
    }
}

#[test]
fn decorrelated_is_even_between_the_base_and_thrice_the_last_and_what_exceeds_the_cap_is_the_cap() {
    let first = sample(&case(Jitter::Decorrelated));
    assert!(distance(&first, uniform(100.0, 300.0)) < TOLERANCE);

    let later = sample(&Case { backoff: ms(1_000), ..case(Jitter::Decorrelated).after(2) });
    assert!(distance(&later, uniform(100.0, 3_000.0)) < TOLERANCE);

    let capped = sample(&Case { backoff: ms(10_000), ..case(Jitter::Decorrelated).after(2) });
    let below: Vec<f64> = capped.iter().copied().filter(|value| *value < 20_000.0).collect();
    let at_cap = 1.0 - below.len() as f64 / capped.len() as f64;
    assert!((at_cap - 10_000.0 / 29_900.0).abs() < TOLERANCE, "{at_cap}");
    // Fewer draws, so a wider tolerance: 1.95/√13,300.
    assert!(distance(&below, uniform(100.0, 20_000.0)) < 0.017);
}

#[test]
fn words_that_follow_each_other_spread_as_well_as_words_at_random() {
    let retry = Retry::new(case(Jitter::Full).config).unwrap();
    let draw = |word| case(Jitter::Full).ask_again(&retry, word).next.unwrap().backoff.as_nanos() as f64 / 1e6;
    let mut sample: Vec<f64> = (0..DRAWS).map(draw).collect();
    sample.sort_by(f64::total_cmp);
    assert!(distance(&sample, uniform(0.0, 100.0)) < TOLERANCE);
}

#[test]
fn the_spread_of_a_retry_after_is_even_over_one_base() {
    let mut words = Rng::new(0x5EED);
    let asked = case(Jitter::Full).asked_for(5_000);
    let mut sample: Vec<f64> =
        (0..DRAWS).map(|_| asked.delay(words.word()).as_nanos() as f64 / 1e6 - 5_000.0).collect();
    sample.sort_by(f64::total_cmp);
    assert!(distance(&sample, uniform(0.0, 100.0)) < TOLERANCE);
}

/// A spread that is drawn from the same word as the backoff must not repeat it.
#[test]
fn the_spread_and_the_backoff_are_independent() {
    let mut words = Rng::new(0x5EED);
    let asked = case(Jitter::Full).asked_for(5_000);
    let pairs = (0..DRAWS).map(|_| {
        let pause = asked.pause(words.word());
        let spread = (pause.delay.as_nanos() - ms(5_000).as_nanos()) as f64 / ms(100).as_nanos() as f64;
        (pause.backoff.as_nanos() as f64 / ms(100).as_nanos() as f64, spread)
    });
    let covariance: f64 = pairs.map(|(one, other)| (one - 0.5) * (other - 0.5)).sum::<f64>() / DRAWS as f64;
    // A twelfth is the variance of each; a correlation of 0.02 is three standard deviations.
    assert!((covariance * 12.0).abs() < 0.02, "{covariance}");
}
