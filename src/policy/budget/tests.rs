use alloc::vec::Vec;

use super::*;
use crate::random::Rng;

mod concurrency;
mod model;
mod story;
mod tokens;
mod wallet;

fn budget(reserve: u32) -> RetryBudget {
    RetryBudget::new(Config { reserve, ..Config::default() }).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Duration::from_millis(ms)
}

fn key(number: u16) -> Key {
    Key::from_number(number)
}

fn deposit(budget: &mut RetryBudget, key: Key, now: Instant, times: u32) {
    (0..times).for_each(|_| budget.deposit(key, now));
}

/// How many of `times` repeats are granted.
fn granted(budget: &mut RetryBudget, key: Key, now: Instant, times: u32) -> usize {
    (0..times).filter_map(|_| budget.withdraw(key, None, now)).count()
}

fn saved(budget: &RetryBudget, now: Instant) -> Vec<u8> {
    let mut out = Writer::default();
    budget.save(now, &mut out);
    out.finish()
}

#[test]
fn an_option_that_the_kind_does_not_read_is_refused() {
    for kind in Counting::ALL {
        for (option, spec) in Config::OPTIONS.iter().enumerate().skip(1) {
            let plain = Config { kind: *kind, ..Config::default() };
            let refused = [spec.min, spec.max].into_iter().filter(|end| *end != plain.number(option)).all(|end| {
                let mut config = plain;
                config.set(option, end).unwrap();
                build(config).is_err_and(|error| {
                    let only = plain.number(option).to_bits();
                    error.position == option && [error.min, error.max].map(f64::to_bits) == [only; 2]
                })
            });
            assert_eq!(refused, !kind.reads(option), "{}, {}", kind.word(), spec.name);
        }
        assert!(build(Config { kind: *kind, ..Config::default() }).is_ok());
    }
}

#[test]
fn a_key_repeats_at_most_the_ratio_of_its_first_attempts() {
    let mut budget = budget(0);
    deposit(&mut budget, key(2), at(0), 9);
    assert_eq!(granted(&mut budget, key(2), at(0), 1), 0);
    deposit(&mut budget, key(2), at(0), 91);
    assert_eq!(granted(&mut budget, key(2), at(0), 100), 10);
    assert_eq!(granted(&mut budget, key(3), at(0), 1), 0);
    assert_eq!(budget.counts(key(2), at(0)), Counts { firsts: 100, repeats: 10, tokens: None });
}

#[test]
fn what_is_older_than_the_window_buys_nothing() {
    let mut budget = budget(0);
    deposit(&mut budget, key(2), at(0), 100);
    assert_eq!(granted(&mut budget, key(2), at(119_999), 4), 4);
    assert_eq!(granted(&mut budget, key(2), at(120_000), 4), 0);
    assert_eq!(budget.counts(key(2), at(120_000)), Counts { firsts: 0, repeats: 4, tokens: None });
    assert_eq!(budget.counts(key(2), at(36_000_000)), Counts::default());
}

#[test]
fn the_reserve_serves_thin_traffic_and_comes_back() {
    let mut budget = budget(5);
    assert_eq!(granted(&mut budget, Key::WHOLE, at(0), 9), 5);
    assert_eq!(granted(&mut budget, Key::WHOLE, at(119_999), 9), 0);
    assert_eq!(granted(&mut budget, Key::WHOLE, at(120_000), 9), 5);
}

#[test]
fn no_key_has_more_than_half_of_the_reserve_while_another_has_some() {
    let mut budget = budget(6);
    assert_eq!(granted(&mut budget, key(2), at(0), 1), 1);
    assert_eq!(granted(&mut budget, key(3), at(0), 9), 3);
    assert_eq!(granted(&mut budget, key(2), at(0), 9), 2);
    assert_eq!(granted(&mut budget, key(4), at(0), 9), 0);
}

#[test]
fn forgetting_a_key_mints_nothing() {
    let mut budget = budget(4);
    let mut repeats = 0;
    for _ in 0..100 {
        deposit(&mut budget, key(2), at(0), 10);
        repeats += granted(&mut budget, key(2), at(0), 9);
        budget.forget(key(2), at(0));
    }
    assert_eq!(repeats, 100 + 4);
}

#[test]
fn a_refund_goes_back_to_where_it_came_from_and_only_while_it_counts() {
    let mut budget = budget(1);
    deposit(&mut budget, key(2), at(0), 10);
    let earned = budget.withdraw(key(2), None, at(0)).unwrap();
    let reserved = budget.withdraw(key(2), None, at(0)).unwrap();
    assert_eq!(granted(&mut budget, key(2), at(0), 1), 0);
    budget.refund(earned);
    assert_eq!(budget.withdraw(key(2), None, at(0)).map(|receipt| receipt.source), Some(earned.source));
    budget.refund(reserved);
    assert_eq!(budget.withdraw(key(3), None, at(0)).map(|receipt| receipt.source), Some(reserved.source));

    // The key's successor is not paid for what its predecessor did not send; nor is anybody after the window.
    budget.forget(key(2), at(0));
    deposit(&mut budget, key(2), at(0), 10);
    assert_eq!(granted(&mut budget, key(2), at(0), 9), 1);
    budget.refund(earned);
    budget.refund(reserved);
    assert_eq!(granted(&mut budget, key(2), at(0), 9), 0);
    deposit(&mut budget, key(2), at(500_000), 10);
    assert_eq!(granted(&mut budget, key(2), at(500_000), 9), 2);
    budget.refund(earned);
    assert_eq!(granted(&mut budget, key(2), at(500_000), 9), 0);
}

#[test]
fn a_refusal_leaves_no_trace() {
    let mut budget = budget(1);
    deposit(&mut budget, key(2), at(0), 10);
    assert_eq!(granted(&mut budget, key(2), at(5), 9), 2);
    for now in [at(5), at(60_000), at(119_000), at(121_000), at(900_000)] {
        let before = saved(&budget, now);
        if budget.withdraw(key(2), None, now).is_none() {
            assert_eq!(saved(&budget, now), before);
        }
        let receipt = budget.withdraw(key(3), None, now);
        receipt.into_iter().for_each(|receipt| budget.refund(receipt));
        assert_eq!(granted(&mut budget, Key::NEW, at(0), 1), 0);
    }
    assert_eq!(saved(&budget, at(9_000_000)), saved(&self::budget(1), at(0)));
}

/// Google, Site Reliability Engineering, "Handling Overload": three attempts a call make just below 3 times the load,
/// the budget makes it 1.1 times.
#[test]
fn an_outage_is_amplified_by_a_tenth() {
    let mut budget = budget(5);
    let (mut sent, mut calls) = (0, 0);
    for call in 0..60_000 {
        let now = at(call * 100);
        budget.deposit(Key::WHOLE, now);
        calls += 1;
        sent += 1 + granted(&mut budget, Key::WHOLE, now, 2);
    }
    assert!((calls * 110 / 100..=calls * 111 / 100).contains(&sent), "{sent} of {calls}");
}

/// Ten keys with 100 calls a second each, one of them dead, 5 % of the others' calls failing.
#[test]
fn a_dead_key_takes_nothing_from_the_others() {
    let mut budget = budget(5);
    let (mut dead, mut dead_calls) = (0, 0);
    for call in 0..200_000u64 {
        let (now, this) = (at(call), key(2 + (call % 10) as u16));
        budget.deposit(this, now);
        if this == key(2) {
            dead_calls += 1;
            dead += granted(&mut budget, this, now, 2);
        } else if call >= 10_000 && call / 10 % 20 == 0 {
            assert_eq!(granted(&mut budget, this, now, 1), 1, "{call}");
        }
    }
    assert!(dead * 100 <= dead_calls * 11, "{dead} of {dead_calls}");
}

#[test]
fn values_outside_their_range_are_refused() {
    let with = |option, number| Config::default().set(option, number).is_ok();
    assert!(with(1, 0.0) && with(1, 1.0) && !with(1, 1.1) && !with(1, -0.1) && !with(1, f64::NAN));
    assert!(with(2, 1_000.0) && !with(2, 0.0) && !with(2, f64::INFINITY) && with(3, 0.0) && !with(3, 0.5));
    assert!(RetryBudget::new(Config { ratio: Ratio::from_percent(101), ..Config::default() }).is_err());
    assert!(RetryBudget::new(Config { window: Duration::MAX, ..Config::default() }).is_err());
}

#[test]
fn configurations_have_fingerprints_of_their_own() {
    let mut seen = Vec::new();
    for (ratio, window, reserve) in [(10, 120, 5), (5, 120, 10), (10, 120, 10), (10, 5, 120), (0, 1, 0)] {
        let (ratio, window) = (Ratio::from_percent(ratio), Duration::from_secs(window));
        seen.push(RetryBudget::new(Config { ratio, window, reserve, ..Config::default() }).unwrap().fingerprint());
    }
    assert_eq!(seen.first(), Some(&budget(5).fingerprint()));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

#[test]
fn damaged_bytes_change_nothing() {
    let mut budget = budget(5);
    deposit(&mut budget, key(2), at(0), 10);
    granted(&mut budget, key(2), at(30_000), 3);
    let bytes = saved(&budget, at(40_000));
    let mut rng = Rng::new(3);
    for end in 0..bytes.len() {
        assert_eq!(budget.restore(at(40_000), &mut Reader::new(&bytes[..end])), Err(Damaged));
        let mut noise = bytes.clone();
        noise[end] = rng.word() as u8;
        let _ = self::budget(5).restore(at(40_000), &mut Reader::new(&noise));
    }
    assert_eq!(saved(&budget, at(40_000)), bytes);
}

#[test]
fn keys_are_renamed_or_thrown_away() {
    let mut old = budget(5);
    deposit(&mut old, key(2), at(0), 20);
    deposit(&mut old, key(3), at(0), 30);
    assert_eq!(granted(&mut old, key(3), at(0), 4), 4);
    let names = [Key::WHOLE, Key::OVERFLOW, key(9), Key::NEW];
    let mut new = budget(5);
    new.restore(at(7), &mut Reader::renaming(&saved(&old, at(0)), &names)).unwrap();
    assert_eq!(new.counts(key(9), at(7)), Counts { firsts: 20, repeats: 0, tokens: None });
    assert_eq!(new.counts(key(3), at(7)), Counts::default());
    // Nothing of what was there before is left.
    deposit(&mut new, key(4), at(7), 80);
    new.restore(at(7), &mut Reader::renaming(&saved(&old, at(0)), &names)).unwrap();
    assert_eq!(new.counts(key(4), at(7)), Counts::default());
    // What a key that is unknown here drew on the reserve stays drawn.
    assert_eq!(granted(&mut new, key(9), at(7), 9), 2 + 2);
}

#[test]
fn budgets_that_count_differently_have_different_fingerprints() {
    let print = |config: Config| build(config).unwrap().fingerprint();
    let mut seen = Vec::new();
    for kind in Counting::ALL {
        seen.push(print(Config { kind: *kind, ..Config::default() }));
    }
    let larger =
        [Config { reserve: 6, ..Config::default() }, Config { ratio: Ratio::from_percent(20), ..Config::default() }];
    seen.extend(larger.map(print));
    seen.push(print(Config { kind: Counting::Aws, max: Some(600), ..Config::default() }));
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn a_key_that_repeats_is_not_kept_for_it() {
    let mut budget = budget(5);
    deposit(&mut budget, key(2), at(0), 1);
    granted(&mut budget, key(2), at(0), 9);
    assert!(!budget.is_busy(key(2), at(0)));
}

/// Law 8, of what a budget suggests: nobody was told how long to wait.
#[test]
fn a_budget_that_does_not_pay_says_from_when_on_it_would_and_keeps_its_word() {
    let refills = |kind| Config { kind, refill: Ratio::from_millionths(300_007), ..Config::default() };
    let configs = [
        Config::default(),
        Config { reserve: 1, ratio: Ratio::from_percent(50), window: Duration::from_secs(7), ..Config::default() },
        Config { kind: Counting::Wallet, window: Duration::from_secs(7), ..Config::default() },
        refills(Counting::TokenBucket),
        refills(Counting::Grpc),
        refills(Counting::Aws),
        refills(Counting::Aimd),
    ];
    for config in configs {
        let mut told = 0;
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let (mut budget, mut now) = (build(config).unwrap(), at(0));
            for _ in 0..80 {
                now = now + Duration::from_millis(rng.between(0, 900));
                let key = key(2 + rng.between(0, 1) as u16);
                match rng.between(0, 3) {
                    0 => budget.deposit(key, now),
                    1 => budget.settle(key, Verdict::Transient, None, now),
                    _ => _ = budget.withdraw(key, None, now),
                }
            }
            let verdict = [None, Some(Verdict::Timeout)][(seed % 2) as usize];
            // gRPC's repeats cost nothing: its failures do.
            (0..9).for_each(|_| budget.settle(key(2), Verdict::Transient, None, now));
            while config.kind != Counting::Grpc && budget.withdraw(key(2), verdict, now).is_some() {}
            let Some(then) = budget.retry_at(key(2), verdict, now) else { continue };
            let mut out = Writer::default();
            budget.save(now, &mut out);
            let bytes = out.finish();
            let pays = |when: Instant| {
                let mut later = build(config).unwrap();
                later.restore(now, &mut Reader::new(&bytes)).unwrap();
                later.withdraw(key(2), verdict, when).is_some()
            };
            assert!(then > now && pays(then), "{config:?}, seed {seed}");
            assert!(!pays(now) && !pays(then - Duration::from_nanos(1)), "{config:?}, seed {seed}: sooner");
            told += 1;
        }
        assert!(told > 0, "{config:?}");
    }
}

#[test]
fn a_budget_pays_for_what_it_affords() {
    for kind in Counting::ALL {
        let (mut budget, mut rng, mut paid) =
            (build(Config { kind: *kind, ..Config::default() }).unwrap(), Rng::new(7), 0);
        for turn in 0..600 {
            let (key, now) = (key(2 + rng.between(0, 1) as u16), at(turn * 200));
            let after = [None, Some(Verdict::Timeout)][(turn % 2) as usize];
            match rng.between(0, 9) {
                0 => budget.deposit(key, now),
                1 => budget.settle(key, Verdict::Transient, None, now),
                _ => {
                    let affords = budget.affords(key, after, now);
                    assert_eq!(budget.withdraw(key, after, now).is_some(), affords, "{kind:?}, turn {turn}");
                    paid += u32::from(affords);
                }
            }
        }
        assert!((1..500).contains(&paid), "{kind:?}: {paid}");
    }
}

#[test]
fn who_cannot_know_when_it_would_pay_says_nothing() {
    let asked = |config| {
        let mut budget = build(config).unwrap();
        budget.deposit(key(2), at(0));
        (0..600).for_each(|_| _ = budget.withdraw(key(2), None, at(0)));
        (0..40).for_each(|_| budget.settle(key(2), Verdict::Transient, None, at(0)));
        budget.retry_at(key(2), None, at(0))
    };
    let of = |kind| Config { kind, ..Config::default() };
    let tokens = [Counting::TokenBucket, Counting::Grpc, Counting::Aws, Counting::Aimd, Counting::Concurrency].map(of);
    let never = [Config { reserve: 0, ..of(Counting::Ratio) }, Config { reserve: 0, ..of(Counting::Wallet) }];
    // A repeat that costs more than there can ever be.
    let dear =
        Config { refill: Ratio::from_percent(100), cost: Some(Ratio::from_percent(900)), ..of(Counting::TokenBucket) };
    for config in tokens.into_iter().chain(never).chain([dear]) {
        assert_eq!(asked(config), None, "{config:?}");
    }
}
