//! Backoffs: how they grow, and what they never do.

use super::*;

const ALL: [Jitter; 4] = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated];

/// Random words at both ends, in between, and the one that SplitMix64 expands to nothing, with its neighbour.
const WORDS: [u64; 6] = [0, 1, u64::MAX, 1 << 52, 0x61C8_8646_80B5_83EB, 0x61C8_8646_80B5_83EA];

fn case(jitter: Jitter, base: u64, cap: u64, factor: u32) -> Case {
    let factor = Ratio::from_percent(factor * 100);
    Case::new(Config { attempts: 15, base: ms(base), cap: ms(cap), factor, jitter, ..Config::default() })
}

fn delays(case: &Case, rounds: core::ops::RangeInclusive<u8>) -> Vec<Duration> {
    rounds.map(|rounds| case.after(rounds).delay(7)).collect()
}

fn millis(numbers: &[u64]) -> Vec<Duration> {
    numbers.iter().map(|number| ms(*number)).collect()
}

#[test]
fn the_first_repeat_waits_the_base_and_not_its_double_nor_nothing() {
    for rounds_of in [Jitter::None, Jitter::Full, Jitter::Equal] {
        let case = case(rounds_of, 100, 20_000, 2);
        let most = (0..2_000).map(|word| case.delay(word)).max().unwrap();
        assert!(most <= ms(100) && most > ms(99), "{rounds_of:?}: {most:?}");
    }
    assert_eq!(case(Jitter::None, 100, 20_000, 2).delay(0), ms(100));
}

#[test]
fn without_jitter_the_schedule_is_the_published_one() {
    let schedule = millis(&[100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000]);
    assert_eq!(delays(&case(Jitter::None, 100, 20_000, 2), 1..=10), schedule);
    assert_eq!(delays(&case(Jitter::None, 100, 1_000_000, 3), 1..=5), millis(&[100, 300, 900, 2_700, 8_100]));
}

#[test]
fn a_factor_of_one_is_constant() {
    let constant = case(Jitter::None, 250, 20_000, 1);
    assert_eq!(delays(&constant, 1..=14), vec![ms(250); 14]);
    let least = case(Jitter::Equal, 250, 20_000, 1);
    assert!((1..=14).all(|rounds| (ms(125)..=ms(250)).contains(&least.after(rounds).delay(9))));
}

/// A shift or a product that overflows before the cap makes a delay of nothing, at high load and nowhere else.
#[test]
fn no_count_of_repeats_overflows_or_shrinks_the_backoff() {
    for (base, cap) in [(1, 86_400_000), (100, 20_000), (86_400_000, 86_400_000), (3, 4)] {
        for factor in [1, 2, 7, 10] {
            let steady = case(Jitter::None, base, cap, factor);
            let mut last = Duration::ZERO;
            for rounds in 1..=u8::MAX - 1 {
                let delay = steady.after(rounds).backoff_alone(0);
                assert!(delay >= last && delay >= ms(base) && delay <= ms(cap), "{rounds}: {delay:?}");
                last = delay;
            }
            assert!(factor == 1 || last == ms(cap));
        }
    }
}

#[test]
fn the_cap_comes_last_so_that_no_jitter_exceeds_it() {
    for jitter in ALL {
        for (base, cap) in [(1, 1), (100, 100), (100, 150), (99, 20_001), (86_400_000, 86_400_000)] {
            let case = case(jitter, base, cap, 10);
            for rounds in [1, 2, 3, 14, 64, 65, 254] {
                for word in WORDS {
                    let spread = Case { backoff: ms(cap), ..case.after(rounds) };
                    assert!(spread.backoff_alone(word) <= ms(cap), "{jitter:?}");
                }
            }
        }
    }
}

#[test]
fn decorrelated_is_never_below_its_base_nor_above_thrice_the_last() {
    let case = case(Jitter::Decorrelated, 100, 20_000, 2);
    for previous in [0, 50, 100, 101, 5_000, 20_000] {
        let case = Case { backoff: ms(previous), ..case.clone() };
        for word in (0..500).chain(WORDS) {
            let delay = case.delay(word);
            let most = ms(previous.max(100) * 3).min(ms(20_000));
            assert!(ms(100) <= delay && delay <= most, "{previous}: {delay:?}");
        }
    }
}

#[test]
fn a_hundred_thousand_decorrelated_repeats_in_a_row_stay_in_range() {
    let case = case(Jitter::Decorrelated, 100, 20_000, 2);
    let retry = Retry::new(case.config).unwrap();
    let (mut backoff, mut at_cap) = (Duration::ZERO, 0);
    for word in 0..100_000 {
        let next = Case { backoff, ..case.after(2) }.ask_again(&retry, word).next.unwrap();
        assert!(ms(100) <= next.backoff && next.backoff <= ms(20_000));
        assert_eq!(next.delay, next.backoff);
        at_cap += u32::from(next.backoff == ms(20_000));
        backoff = next.backoff;
    }
    assert!(at_cap > 1_000 && at_cap < 99_000, "it neither stays at the cap nor never reaches it: {at_cap}");
}

#[test]
fn the_same_word_gives_the_same_delay_and_another_word_another() {
    for jitter in [Jitter::Full, Jitter::Equal, Jitter::Decorrelated] {
        let case = case(jitter, 100, 20_000, 2);
        assert_eq!(case.delay(5), case.delay(5));
        assert_ne!(case.delay(5), case.delay(6));
    }
}

#[test]
fn the_deadline_is_compared_with_the_delay_that_was_drawn() {
    let case = case(Jitter::Full, 100, 20_000, 2);
    for word in 0..200 {
        let drawn = case.delay(word);
        assert_eq!(case.with_time(drawn).ask(word).next, Err(StopReason::DeadlineExceeded));
        assert_eq!(case.with_time(drawn + ms(1)).delay(word), drawn);
    }
}

#[test]
fn without_a_deadline_no_delay_is_too_late() {
    let longest = Config { base: ms(86_400_000), cap: ms(86_400_000), attempts: 15, ..Config::default() };
    for rounds in 1..15 {
        let case = Case::new(longest).after(rounds);
        assert!(WORDS.iter().all(|word| case.ask(*word).next.is_ok()));
    }
}

#[test]
fn a_delay_beyond_any_timer_is_told_in_full() {
    let case = Case::new(Config {
        base: ms(86_400_000),
        cap: ms(86_400_000),
        max_retry_after: ms(86_400_000),
        jitter: Jitter::None,
        ..Config::default()
    });
    assert_eq!(case.delay(0), ms(86_400_000));
    assert_eq!(case.asked_for(86_400_000).delay(3), ms(86_400_000));
}

impl Case {
    /// The backoff, without the question whether an attempt is left.
    fn backoff_alone(&self, word: u64) -> Duration {
        let retry = Retry::new(self.config).unwrap();
        let Self { facts, outcome, rounds, backoff, deadline, .. } = self;
        let (outcome, rounds, backoff, deadline) = (*outcome, *rounds, *backoff, *deadline);
        let round = Round { facts, outcome, rounds, was_once: false, backoff, now: NOW, deadline };
        retry.backoff(&round, &mut Rng::new(word))
    }
}
