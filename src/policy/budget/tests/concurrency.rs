//! Running repeats for running calls, against two plain counts.

use super::*;

fn budget(percent: u32, floor: u32) -> ConcurrencyBudget {
    let (kind, ratio) = (Counting::Concurrency, Ratio::from_percent(percent));
    ConcurrencyBudget::new(Config { kind, ratio, reserve: floor, ..Config::default() }).unwrap()
}

/// envoyproxy/envoy, `circuit_breaker.proto`, `RetryBudget`: 20 % of what runs, at least three.
#[test]
fn the_floor_serves_few_calls_and_the_ratio_many() {
    let mut budget = budget(20, 3);
    for (calls, repeats) in [(0, 3), (1, 3), (15, 3), (19, 3), (20, 4), (1_000, 200)] {
        (0..calls).for_each(|_| budget.deposit(key(2), at(0)));
        let receipts: Vec<Receipt> = core::iter::from_fn(|| budget.withdraw(key(2), None, at(0))).collect();
        assert_eq!(receipts.len(), repeats, "{calls} calls");
        receipts.iter().for_each(|receipt| budget.refund(*receipt));
        (0..calls).for_each(|_| budget.call_ended(key(2)));
    }
    assert_eq!(budget.counts(key(2), at(0)), Counts::default());
}

#[test]
fn no_more_run_than_allowed_whatever_happens() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let (percent, floor) = (rng.between(0, 60) as u32, rng.between(0, 4) as u32);
        let mut budget = budget(percent, floor);
        let (mut calls, mut running) = (0_u32, Vec::new());
        for _ in 0..400 {
            match rng.between(0, 5) {
                0 | 1 => {
                    budget.deposit(key(2), at(0));
                    calls += 1;
                }
                2 if calls > 0 => {
                    budget.call_ended(key(2));
                    calls -= 1;
                }
                3 => {
                    let one_more = running.len() as u32 + 1;
                    let expected = one_more <= floor || one_more * 100 <= percent * calls;
                    assert_eq!(budget.spend(key(2), at(0)), expected, "asking takes nothing");
                    let receipt = budget.withdraw(key(2), None, at(0));
                    assert_eq!(receipt.is_some(), expected, "seed {seed}");
                    running.extend(receipt);
                }
                4 if !running.is_empty() => {
                    let receipt = running.swap_remove(rng.between(0, running.len() as u64 - 1) as usize);
                    match rng.between(0, 1) {
                        0 => budget.refund(receipt),
                        _ => budget.release(receipt.key, receipt.source),
                    }
                }
                _ => assert_eq!(budget.is_busy(key(2), at(0)), calls > 0),
            }
            let counts = Counts { firsts: calls, repeats: running.len() as u32, tokens: None };
            assert_eq!(budget.counts(key(2), at(0)), counts, "seed {seed}");
        }
    }
}

#[test]
fn keys_do_not_know_each_other_and_nothing_that_runs_is_kept() {
    let mut budget = budget(50, 0);
    (0..10).for_each(|_| budget.deposit(key(2), at(0)));
    assert!(budget.withdraw(key(3), None, at(0)).is_none() && budget.withdraw(key(2), None, at(0)).is_some());
    let mut out = Writer::default();
    budget.save(at(0), &mut out);
    assert!(out.finish().is_empty());
    budget.forget(key(2), at(0));
    assert_eq!(budget.counts(key(2), at(0)), Counts::default());
}

/// failsafe-go, tower and Envoy with their floors: with few calls at once a floor is no bound, with many the ratio is.
#[test]
fn an_outage_is_amplified_by_the_ratio_where_calls_are_many() {
    for (at_once, floor, most) in [(1_000, 3, 122), (2, 3, 300)] {
        let mut budget = budget(20, floor);
        let mut sent = 0;
        (0..at_once).for_each(|_| budget.deposit(key(2), at(0)));
        // All of them fail twice and would repeat at the same time.
        for _ in 0..at_once {
            sent += 1 + (0..2).filter_map(|_| budget.withdraw(key(2), None, at(0))).count();
        }
        assert!(sent * 100 <= at_once * most, "{sent} of {at_once}");
    }
}
