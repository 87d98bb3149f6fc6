//! resilix, section 10: "Full jitter's distribution matches random(0, min(cap, base·2^n)), and all four strategies are
//! exercised."
//!
//! Through whole calls: what is measured is when attempts start. 4,000 draws for each backoff are compared by the
//! Kolmogorov–Smirnov distance, which by chance exceeds 1.95/√4,000 = 0.031 once in a thousand samples.

use forbear::StackConfig;
use forbear::policy::retry::{Config, Jitter};

use crate::host::{Fate, Host, failure, ms};

#[test]
fn without_jitter_every_backoff_is_the_exponential_one() {
    for pauses in calls(Jitter::None) {
        pauses.iter().enumerate().for_each(|(n, pause)| assert!((pause - whole(n)).abs() < 1e-6, "{n}: {pause}"));
    }
}

#[test]
fn full_jitter_is_even_between_nothing_and_the_exponential_backoff_and_the_default() {
    assert_eq!(Config::default().jitter, Jitter::Full);
    let calls = calls(Jitter::Full);
    for n in 0..BACKOFFS {
        assert_even(calls.iter().map(|pauses| pauses[n] / whole(n)), n);
    }
}

#[test]
fn equal_jitter_is_even_between_half_and_the_whole_exponential_backoff() {
    let calls = calls(Jitter::Equal);
    for n in 0..BACKOFFS {
        assert_even(calls.iter().map(|pauses| 2.0 * pauses[n] / whole(n) - 1.0), n);
    }
}

#[test]
fn decorrelated_jitter_is_even_between_the_base_and_thrice_the_last_and_never_above_the_cap() {
    let calls = calls(Jitter::Decorrelated);
    for n in 0..BACKOFFS {
        let (mut below, mut capped, mut expected) = (Vec::new(), 0.0, 0.0);
        for pauses in &calls {
            let (last, pause) = (if n == 0 { BASE } else { pauses[n - 1] }, pauses[n]);
            let top = 3.0 * last;
            expected += ((top - CAP) / (top - BASE)).max(0.0);
            if pause < CAP {
                below.push((pause - BASE) / (top.min(CAP) - BASE));
            } else {
                assert!(pause < CAP + 1e-3, "{n}: {pause}");
                capped += 1.0;
            }
        }
        assert!((f64::abs(capped - expected)) < 0.031 * CALLS as f64, "{n}: {capped} at the cap, {expected} expected");
        assert_even(below.into_iter(), n);
    }
}

/// The pauses of many calls that always fail, in milliseconds.
fn calls(jitter: Jitter) -> Vec<Vec<f64>> {
    let mut host = Host::new(|_, _| Fate::Ends(ms(0), failure()));
    let attempts = BACKOFFS as u32 + 1;
    let retry = Config { attempts, cap: ms(CAP as u64), jitter, budget: false, ..Config::default() };
    let stack = host.stack(StackConfig { retry: Some(retry), ..StackConfig::default() });
    let one = |_| {
        host.sent.clear();
        host.call(stack);
        let starts = host.sent.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_nanos() as f64 / 1e6);
        starts.collect()
    };
    (0..CALLS).map(one).collect()
}

/// min(cap, base·2^n)
fn whole(n: usize) -> f64 {
    (BASE * f64::from(1 << n)).min(CAP)
}

#[track_caller]
fn assert_even(shares: impl Iterator<Item = f64>, n: usize) {
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    let count = shares.len() as f64;
    let off = shares
        .iter()
        .enumerate()
        .map(|(below, share)| (share - below as f64 / count).abs().max((share - (below + 1) as f64 / count).abs()));
    let distance = off.fold(0.0, f64::max);
    assert!(distance < 1.95 / count.sqrt(), "backoff {n}: {distance}");
}

const CALLS: usize = 4_000;
const BACKOFFS: usize = 8;
const BASE: f64 = 100.0;
/// Low, so that the last backoffs reach it.
const CAP: f64 = 5_000.0;
