//! Budgets of tokens: the published numbers of each kind, and a plain model beside them all.

use super::*;
use crate::outcome::Overload;

fn config(kind: Counting) -> Config {
    Config { kind, ..Config::default() }
}

fn budget(config: Config) -> TokenBudget {
    TokenBudget::new(config).unwrap()
}

fn tokens(budget: &TokenBudget, now: u64) -> u32 {
    budget.counts(key(2), at(now)).tokens.unwrap()
}

fn settle(budget: &mut TokenBudget, verdict: Verdict, times: u32) {
    (0..times).for_each(|_| budget.settle(key(2), verdict, None, at(0)));
}

fn granted(budget: &mut TokenBudget, after: Option<Verdict>, times: u32) -> usize {
    (0..times).filter_map(|_| budget.withdraw(key(2), after, at(0))).count()
}

fn saved(budget: &TokenBudget, now: Instant) -> Vec<u8> {
    let mut out = Writer::default();
    budget.save(now, &mut out);
    out.finish()
}

fn restored(budget: &TokenBudget, config: Config, now: Instant) -> TokenBudget {
    let bytes = saved(budget, now);
    let mut restored = self::budget(config);
    restored.restore(now, &mut Reader::new(&bytes)).unwrap();
    assert_eq!(saved(&restored, now), bytes);
    restored
}

/// Brooker, "Fixing retries with token buckets and circuit breakers": "each success could deposit 0.1 tokens, and each
/// retry could consume 1 token".
#[test]
fn brookers_bucket_pays_for_five_and_then_for_every_tenth_success() {
    let mut budget = budget(config(Counting::TokenBucket));
    assert_eq!(granted(&mut budget, Some(Verdict::Transient), 9), 5);
    settle(&mut budget, Verdict::Success, 9);
    assert_eq!(granted(&mut budget, None, 1), 0);
    settle(&mut budget, Verdict::Success, 1);
    assert_eq!(granted(&mut budget, None, 9), 1);
    settle(&mut budget, Verdict::Success, 10_000);
    assert_eq!(tokens(&budget, 0), 5, "never above the most");
}

#[test]
fn neither_answers_nor_what_is_no_success_is_paid_for() {
    let mut budget = budget(config(Counting::TokenBucket));
    granted(&mut budget, None, 9);
    for verdict in [Verdict::Answered, Verdict::Transient, Verdict::Timeout, Verdict::Overload(Overload::Unavailable)] {
        settle(&mut budget, verdict, 1_000);
    }
    assert_eq!(tokens(&budget, 0), 0);
}

/// gRPC proposal A6: with `maxTokens` 10 and `tokenRatio` 0.1 five failures switch repeats off, and they stay off at half.
#[test]
fn grpcs_bucket_is_off_at_or_below_half() {
    let mut budget = budget(config(Counting::Grpc));
    settle(&mut budget, Verdict::Transient, 4);
    assert_eq!((granted(&mut budget, None, 100), tokens(&budget, 0)), (100, 6), "repeats themselves cost nothing");
    settle(&mut budget, Verdict::Overload(Overload::Shedding), 1);
    assert_eq!((granted(&mut budget, None, 100), tokens(&budget, 0)), (0, 5));
    settle(&mut budget, Verdict::Success, 1);
    assert_eq!(granted(&mut budget, None, 1), 1);
    settle(&mut budget, Verdict::Timeout, 1_000);
    assert_eq!(tokens(&budget, 0), 0);
}

/// The break-even failure ratio is r / (1 + r): 0.1 → 9.09 %, 0.5 → 33 %, 1 → 50 %.
#[test]
fn grpcs_bucket_breaks_even_where_published() {
    for (ratio, per_mille) in [(10, 91), (50, 333), (100, 500)] {
        for (failures, is_on) in [(per_mille - 10, true), (per_mille + 10, false)] {
            let deposit = Some(Ratio::from_percent(ratio));
            let mut budget = budget(Config { deposit, ..config(Counting::Grpc) });
            let mut debt = 0;
            for _ in 0..20_000 {
                debt += failures;
                let fails = debt >= 1_000;
                debt -= if fails { 1_000 } else { 0 };
                settle(&mut budget, if fails { Verdict::Transient } else { Verdict::Success }, 1);
            }
            assert_eq!(granted(&mut budget, None, 1) == 1, is_on, "{ratio} %, {failures} of 1,000 fail");
        }
    }
}

/// smithy-rs, `token_bucket.rs`: 500 tokens, 5 a repeat, 10 after a timeout, 1 for a first attempt that succeeds.
#[test]
fn awss_bucket_pays_for_a_hundred_repeats_or_fifty_after_timeouts() {
    for (after, repeats) in [(None, 100), (Some(Verdict::Transient), 100), (Some(Verdict::Timeout), 50)] {
        let mut budget = budget(config(Counting::Aws));
        assert_eq!(granted(&mut budget, after, 1_000), repeats);
        settle(&mut budget, Verdict::Success, 5);
        assert_eq!(granted(&mut budget, None, 9), 1);
    }
}

/// aws-sdk-go-v2#3186: a repeat that ends in an answer nobody would repeat keeps its tokens for ever.
#[test]
fn awss_bucket_gets_back_what_a_repeat_cost_that_was_answered() {
    let mut budget = budget(config(Counting::Aws));
    for (verdict, left) in [
        (Verdict::Success, 500),
        (Verdict::Answered, 500),
        (Verdict::Transient, 490),
        (Verdict::Timeout, 480),
        (Verdict::Success, 480),
    ] {
        let receipt = budget.withdraw(key(2), Some(Verdict::Timeout), at(0)).unwrap();
        budget.settle(key(2), verdict, Some(receipt.source), at(0));
        assert_eq!(tokens(&budget, 0), left, "{verdict:?}");
    }
}

/// tower-resilience, `AimdBudget`, but that a storm lowers the ceiling once and not once for each of its refusals.
#[test]
fn aimds_ceiling_grows_with_successes_and_halves_once_when_it_is_used_up() {
    let deposit = Some(Ratio::ONE);
    let mut budget = budget(Config { deposit, max: Some(50), ..config(Counting::Aimd) });
    assert_eq!(granted(&mut budget, None, 100), 10);
    settle(&mut budget, Verdict::Success, 100);
    assert_eq!(tokens(&budget, 0), 50);
    assert_eq!(granted(&mut budget, None, 1_000), 50);
    // Of the 50 half is left, and each success adds one.
    settle(&mut budget, Verdict::Success, 26);
    assert_eq!((tokens(&budget, 0), granted(&mut budget, None, 30)), (26, 26));
    settle(&mut budget, Verdict::Success, 1_000);
    assert_eq!(tokens(&budget, 0), 50);
}

#[test]
fn aimds_ceiling_stays_between_its_bounds() {
    let mut budget = budget(Config { max: Some(40), min: 8, decrease: Ratio::ZERO, ..config(Counting::Aimd) });
    for _ in 0..10 {
        settle(&mut budget, Verdict::Success, 1_000);
        assert_eq!((tokens(&budget, 0), granted(&mut budget, None, 100)), (40, 40));
        settle(&mut budget, Verdict::Success, 70);
        assert!((7..=15).contains(&tokens(&budget, 0)), "{}", tokens(&budget, 0));
    }
}

/// tower-resilience#370: tokens per second that were never added; aws-sdk-rust#1423: fractions of tokens that got lost.
#[test]
fn time_refills_exactly_however_often_one_looks() {
    for (refill, steps) in [(1_u32, 1_000_000), (333_333, 7_919), (999_999_999, 1)] {
        let refill = Ratio::from_millionths(refill);
        let (max, initial) = (Some(100_000), Some(0));
        let config = Config { refill, max, initial, ..config(Counting::TokenBucket) };
        let (mut looked, mut not) = (budget(config), budget(config));
        let mut now = Instant::ORIGIN;
        for budget in [&mut looked, &mut not] {
            assert!(budget.withdraw(key(2), None, now).is_none());
        }
        for step in 0..1_000 {
            now = now + Duration::from_nanos(step * steps + 1);
            looked.settle(key(2), Verdict::Answered, None, now);
            if step % 100 == 0 {
                looked = restored(&looked, config, now);
            }
        }
        assert_eq!(saved(&looked, now), saved(&not, now));
        let elapsed = u128::from(now.since(Instant::ORIGIN).as_nanos());
        let exact = (elapsed * u128::from(refill.millionths()) / 1_000_000_000_000_000).min(100_000);
        assert_eq!(u128::from(looked.counts(key(2), now).tokens.unwrap()), exact);
    }
}

/// cockroachdb/cockroach#151748: where all callers are busy repeating nobody makes first attempts, and a bucket that
/// only successes fill stays empty; a refill brings it back.
#[test]
fn a_refill_recovers_where_successes_cannot() {
    let refill = Ratio::from_percent(50);
    let mut budget = budget(Config { refill, ..config(Counting::TokenBucket) });
    assert_eq!(granted(&mut budget, None, 9), 5);
    assert!(budget.withdraw(key(2), None, at(1_999)).is_none());
    assert!(budget.withdraw(key(2), None, at(2_000)).is_some());
    assert_eq!(tokens(&budget, 36_000_000), 5);
}

#[test]
fn forgetting_a_key_mints_nothing() {
    for kind in [Counting::TokenBucket, Counting::Grpc, Counting::Aws, Counting::Aimd] {
        let mut budget = budget(config(kind));
        settle(&mut budget, Verdict::Transient, 100);
        let repeats = granted(&mut budget, Some(Verdict::Timeout), 1_000);
        budget.forget(key(2), at(0));
        assert_eq!(granted(&mut budget, None, 1_000), 0, "{kind:?} after {repeats}");
        settle(&mut budget, Verdict::Success, 100_000);
        budget.forget(key(2), at(0));
        assert_eq!(saved(&budget, at(0)), saved(&self::budget(config(kind)), at(0)), "as good as new");
    }
}

#[test]
fn a_refund_restores_what_was_paid_and_a_refusal_leaves_no_trace() {
    let mut budget = budget(config(Counting::Aws));
    let before = saved(&budget, at(0));
    let receipt = budget.withdraw(key(2), Some(Verdict::Timeout), at(0)).unwrap();
    assert_ne!(saved(&budget, at(0)), before);
    budget.refund(receipt);
    assert_eq!(saved(&budget, at(0)), before);
    granted(&mut budget, None, 1_000);
    let empty = saved(&budget, at(0));
    assert_eq!(granted(&mut budget, None, 10), 0);
    assert_eq!(saved(&budget, at(0)), empty);
}

#[test]
fn a_first_refusal_leaves_no_trace_but_on_a_ceiling_that_moves() {
    for (kind, leaves_one) in [(Counting::TokenBucket, false), (Counting::Aws, false), (Counting::Aimd, true)] {
        let mut budget = budget(config(kind));
        while tokens(&budget, 0) > 0 {
            assert_eq!(granted(&mut budget, None, 1), 1);
        }
        let empty = saved(&budget, at(0));
        assert_eq!(granted(&mut budget, None, 1), 0);
        assert_eq!(saved(&budget, at(0)) != empty, leaves_one, "{kind:?}");
    }
}

#[test]
fn time_fills_a_purse_up_to_its_ceiling_which_falls_once_for_a_storm() {
    let (deposit, refill) = (Some(Ratio::ONE), Ratio::ONE);
    let mut budget = budget(Config { deposit, refill, max: Some(50), ..config(Counting::Aimd) });
    settle(&mut budget, Verdict::Success, 100);
    assert_eq!(granted(&mut budget, None, 1_000), 50);
    assert_eq!(tokens(&budget, 3_600_000), 25);
}

#[test]
fn time_begins_to_fill_with_the_first_call() {
    let purse = Config { max: Some(9), initial: Some(1), refill: Ratio::ONE, ..config(Counting::TokenBucket) };
    let mut budget = budget(purse);
    assert_eq!(tokens(&budget, 3_000), 1);
    budget.deposit(key(2), at(0));
    assert_eq!(tokens(&budget, 3_000), 4);
}

#[test]
fn a_purse_that_is_as_good_as_new_is_not_written_unless_time_is_filling_it() {
    let of = |initial, refill| {
        let mut budget =
            budget(Config { max: Some(9), initial: Some(initial), refill, ..config(Counting::TokenBucket) });
        budget.deposit(key(2), at(0));
        saved(&budget, at(0)).len() > 2
    };
    assert_eq!(
        [of(9, Ratio::ZERO), of(1, Ratio::ZERO), of(9, Ratio::ONE), of(1, Ratio::ONE)],
        [false, false, false, true]
    );
}

#[test]
fn what_time_earns_beyond_a_full_purse_is_gone() {
    let [refill, cost] = [3, 4].map(Ratio::from_millionths);
    let mut budget = budget(Config { refill, cost: Some(cost), ..config(Counting::TokenBucket) });
    let new = saved(&budget, at(0));
    assert_eq!(granted(&mut budget, None, 1), 1);
    // Four and a half millionths for the four that are missing.
    assert_ne!(saved(&budget, at(1_333)), new);
    assert_eq!(saved(&budget, at(1_500)), new);
}

#[test]
fn no_purse_is_kept_for_its_owner() {
    let mut budget = budget(config(Counting::TokenBucket));
    granted(&mut budget, None, 9);
    assert!(!budget.is_busy(key(2), at(0)));
}

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let refused = |config: Config| {
        let error = TokenBudget::new(config).unwrap_err();
        (error.option(), error.max)
    };
    assert_eq!(refused(Config { initial: Some(6), ..config(Counting::TokenBucket) }), ("initial", 5.0));
    assert_eq!(refused(Config { initial: Some(11), ..config(Counting::Aimd) }), ("initial", 10.0));
    assert_eq!(refused(Config { max: Some(9), ..config(Counting::Aimd) }), ("min", 9.0));
    assert!(TokenBudget::new(Config { max: Some(9), ..config(Counting::TokenBucket) }).is_ok());
}

#[test]
fn damaged_bytes_change_nothing() {
    let mut budget = budget(config(Counting::Aimd));
    settle(&mut budget, Verdict::Success, 200);
    granted(&mut budget, None, 7);
    let bytes = saved(&budget, at(5));
    for end in 0..bytes.len() {
        assert_eq!(budget.restore(at(5), &mut Reader::new(&bytes[..end])), Err(Damaged));
        let mut noise = bytes.clone();
        noise[end] ^= 0x80;
        let mut other = self::budget(config(Counting::Aimd));
        if other.restore(at(5), &mut Reader::new(&noise)).is_ok() {
            assert!(other.withdraw(key(2), None, at(5)).is_none_or(|paid| paid.source == Source(1_000_000)));
        }
    }
    assert_eq!(saved(&budget, at(5)), bytes);
    budget.restore(at(5), &mut Reader::renaming(&bytes, &[key(0)])).unwrap();
    assert_eq!(tokens(&budget, 5), 10, "what was thrown away is as good as new");
}

#[test]
fn what_no_purse_can_hold_is_refused() {
    let rules = Config { min: 6, max: Some(12), ..config(Counting::Aimd) };
    let read = |balance: u64, ceiling: u64, part: u32| {
        let mut out = Writer::default();
        out.list([()].into_iter(), |out, ()| {
            out.key(key(2));
            out.u64(balance);
            out.u64(ceiling);
            out.u32(part);
            out.u8(0);
        });
        budget(rules).restore(at(0), &mut Reader::new(&out.finish()))
    };
    let token = 1_000_000;
    for sound in [(0, 6 * token, 0), (6 * token, 6 * token, 999_999_999), (12 * token, 12 * token, 0)] {
        assert_eq!(read(sound.0, sound.1, sound.2), Ok(()));
    }
    for not in
        [(6 * token + 1, 6 * token, 0), (0, 6 * token - 1, 0), (0, 12 * token + 1, 0), (0, 6 * token, 1_000_000_000)]
    {
        assert_eq!(read(not.0, not.1, not.2), Err(Damaged));
    }
}

/// The plainest way: thousandths of a millisecond's worth, added one millisecond after the other.
#[test]
fn agrees_with_a_plain_model() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let kind = [Counting::TokenBucket, Counting::Grpc, Counting::Aws, Counting::Aimd][seed as usize % 4];
        let refill = Ratio::from_percent([0, 0, 30, 250][rng.between(0, 3) as usize]);
        let min = if kind == Counting::Aimd { 6 } else { Config::default().min };
        let config = Config { refill, min, max: Some(12), ..config(kind) };
        let mut budget = self::budget(config);
        let is = |other| kind == other;
        let (cost, deposit) =
            (if is(Counting::Aws) { 5_000 } else { 1_000 }, if is(Counting::Aws) { 1_000 } else { 100 });
        // In thousandths of a token.
        let first = if is(Counting::Aimd) { 6_000 } else { 12_000 };
        let (mut balance, mut ceiling, mut exhausted, mut now) = (first, first, false, 0);
        for _ in 0..400 {
            for _ in 0..[0, 0, 0, 1, 40, 1_000, 30_000][rng.between(0, 6) as usize] {
                // A per cent of tokens a second are hundredths of thousandths a millisecond: whole every ten.
                now += 10;
                balance = (balance + u64::from(refill.millionths()) / 100_000).min(ceiling);
            }
            match rng.between(0, 9) {
                0..=3 => {
                    let timed_out = rng.between(0, 2) == 0;
                    let after = if timed_out { Some(Verdict::Timeout) } else { None };
                    let price = match kind {
                        Counting::Grpc => 0,
                        Counting::Aws if timed_out => 2 * cost,
                        _ => cost,
                    };
                    let expected = if is(Counting::Grpc) { balance > 6_000 } else { balance >= price };
                    let receipt = budget.withdraw(key(2), after, at(now));
                    assert_eq!(receipt.is_some(), expected, "seed {seed}");
                    match receipt {
                        Some(receipt) => {
                            balance -= price;
                            match rng.between(0, 3) {
                                0 => {
                                    budget.refund(receipt);
                                    balance = (balance + price).min(ceiling);
                                }
                                1 => {
                                    budget.settle(key(2), Verdict::Success, Some(receipt.source), at(now));
                                    exhausted = false;
                                    ceiling =
                                        if is(Counting::Aimd) { (ceiling + deposit).min(12_000) } else { ceiling };
                                    let back = if is(Counting::Aws) { price } else { deposit };
                                    balance = (balance + back).min(ceiling);
                                }
                                _ => {}
                            }
                        }
                        None if is(Counting::Aimd) && !exhausted => {
                            exhausted = true;
                            ceiling = (ceiling / 2).max(6_000);
                            balance = balance.min(ceiling);
                        }
                        None => {}
                    }
                }
                4..=6 => {
                    budget.settle(key(2), Verdict::Success, None, at(now));
                    exhausted = false;
                    ceiling = if is(Counting::Aimd) { (ceiling + deposit).min(12_000) } else { ceiling };
                    balance = (balance + deposit).min(ceiling);
                }
                7 => {
                    budget.settle(key(2), Verdict::Transient, None, at(now));
                    balance = balance.saturating_sub(if is(Counting::Grpc) { cost } else { 0 });
                }
                8 if rng.between(0, 9) == 0 => {
                    budget.forget(key(2), at(now));
                    (balance, ceiling, exhausted) = (balance.min(first), first, false);
                }
                _ => budget = restored(&budget, config, at(now)),
            }
            assert_eq!(u64::from(tokens(&budget, now)), balance / 1_000, "seed {seed}");
        }
    }
}
