//! Retry-After: a floor that is spread, bounded, and forgotten.

use super::*;
use crate::http;

fn steady() -> Case {
    Case { outcome: Outcome::new(Verdict::Overload(Overload::Unavailable)), ..Case::with_jitter(Jitter::None) }
}

#[test]
fn it_is_a_floor_and_spread_over_one_base_more() {
    let case = steady().asked_for(1_000);
    for word in 0..500 {
        assert!((ms(1_000)..=ms(1_100)).contains(&case.delay(word)));
    }
    assert_ne!(case.delay(1), case.delay(2));
}

#[test]
fn it_never_shortens_a_backoff() {
    for asked in [0, 1, 99, 100] {
        let case = steady().after(2).asked_for(asked);
        assert!((0..100).all(|word| case.delay(word) == ms(200)));
    }
    let late = Case::new(Config { attempts: 15, jitter: Jitter::None, ..Config::default() }).after(8);
    assert_eq!(late.asked_for(1_000).delay(3), ms(12_800));
}

#[test]
fn zero_sets_no_floor_and_is_not_spread() {
    assert_eq!(steady().asked_for(0).pause(9), steady().pause(9));
    let full = Case::with_jitter(Jitter::Full);
    for word in 0..100 {
        let Pause { delay, backoff } = full.pause(word);
        assert_eq!((delay, full.asked_for(0).pause(word)), (backoff, Pause { delay, backoff }));
    }
    assert_eq!(steady().asked_for(0).with_time(Duration::ZERO).stops(1), StopReason::DeadlineExceeded);
}

#[test]
fn what_the_next_backoff_grows_from_is_the_backoff_and_not_the_floor() {
    let case = Case::with_jitter(Jitter::Decorrelated).asked_for(30_000);
    let pause = case.pause(4);
    assert!(pause.delay >= ms(30_000) && pause.backoff <= ms(300));
}

#[test]
fn one_above_the_maximum_gives_up_unless_clamping_is_asked_for() {
    let case = steady();
    assert!(case.asked_for(60_000).delay(1) >= ms(60_000));
    let above =
        Case { outcome: Outcome { retry_after: Some(ms(60_000) + Duration::from_nanos(1)), ..case.outcome }, ..case };
    assert_eq!(above.stops(1), StopReason::RetryAfterTooLong);
    let clamping = Case::new(Config { clamp_retry_after: true, ..above.config });
    let clamped = clamping.asked_for(999_999_999);
    assert!((0..200).all(|word| (ms(59_900)..=ms(60_000)).contains(&clamped.delay(word))));
}

#[test]
fn ninety_nine_million_seconds_are_neither_slept_nor_nothing() {
    let asked = http::retry_after(b"99999999", 0, None);
    let case = Case { outcome: Outcome { retry_after: asked, ..steady().outcome }, ..steady() };
    assert_eq!(case.stops(1), StopReason::RetryAfterTooLong);
    let endless = http::retry_after(b"99999999999999999999999999", 0, None);
    let case = Case { outcome: Outcome { retry_after: endless, ..case.outcome }, ..case };
    assert_eq!(case.stops(1), StopReason::RetryAfterTooLong);
    let clamping = Case { config: Config { clamp_retry_after: true, ..case.config }, ..case };
    assert!(clamping.delay(1) <= ms(60_000));
}

#[test]
fn a_malformed_one_leaves_the_backoff_as_it_is() {
    for field in ["-3", "+3", "1.5", "1e3", "soon", "", "120, 120", "NaN", "Infinity", "Mon, 32 Foo 2026 99:99:99 GMT"]
    {
        let asked = http::retry_after(field.as_bytes(), 1_700_000_000_000, None);
        let case = Case { outcome: Outcome { retry_after: asked, ..steady().outcome }, ..steady() };
        assert_eq!(case.delay(1), ms(100), "{field}");
    }
}

#[test]
fn one_beyond_the_deadline_stops_now_and_spends_no_token() {
    let case = steady().asked_for(5_000);
    for left in [ms(0), ms(1), ms(4_999), ms(5_000), ms(5_001).saturating_sub(Duration::from_nanos(1))] {
        let late = case.with_time(left).ask(1);
        assert_eq!(late, Answer { next: Err(StopReason::RetryAfterExceedsDeadline), asked_budget: false });
    }
    let spread_only = case.with_time(ms(5_001)).ask(1);
    assert_eq!(spread_only, Answer { next: Err(StopReason::DeadlineExceeded), asked_budget: false });
    assert!(case.with_time(ms(5_101)).ask(1).asked_budget);
}

#[test]
fn however_it_is_spread_it_is_never_longer_than_the_maximum() {
    let config = Config { base: ms(60_000), cap: ms(60_000), max_retry_after: ms(5_000), ..steady().config };
    for jitter in Jitter::ALL {
        let case = Case { config: Config { jitter: *jitter, clamp_retry_after: true, ..config }, ..steady() };
        for (asked, least) in
            [(1, 1), (3_000, 3_000), (4_999, 4_999), (5_000, 5_000), (5_001, 2_500), (u64::MAX, 2_500)]
        {
            for word in 0..200 {
                let Pause { delay, backoff } = case.asked_for(asked).pause(word);
                assert!(delay <= backoff.max(ms(5_000)) && delay >= backoff.max(ms(least)), "{asked}: {delay:?}");
            }
        }
    }
}

#[test]
fn one_that_is_shortened_is_spread_all_the_same() {
    let clamping = Case::new(Config { clamp_retry_after: true, ..steady().config }).asked_for(999_999_999);
    let mut delays: Vec<_> = (0..200).map(|word| clamping.delay(word)).collect();
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 190);
}

#[test]
fn a_pause_that_ends_with_less_than_a_millisecond_left_is_not_begun() {
    let nearly = |pause: u64| ms(pause + 1).saturating_sub(Duration::from_nanos(1));
    for asked in [steady(), steady().asked_for(0)] {
        assert_eq!(asked.with_time(nearly(100)).stops(1), StopReason::DeadlineExceeded);
        assert_eq!(asked.with_time(ms(101)).delay(1), ms(100));
    }
    // With no pause at all, too.
    let at_once = (0..).find(|word| Case::with_jitter(Jitter::Full).delay(*word) < ms(1)).unwrap();
    assert_eq!(Case::with_jitter(Jitter::Full).with_time(nearly(0)).stops(at_once), StopReason::DeadlineExceeded);
}

/// A delay longer than the time left, chosen before the budget is asked, once cost a token for nothing.
#[test]
fn a_backoff_beyond_the_deadline_spends_no_token() {
    let late = steady().with_time(ms(100)).ask(1);
    assert_eq!(late, Answer { next: Err(StopReason::DeadlineExceeded), asked_budget: false });
}

#[test]
fn a_long_one_never_disables_the_deadline() {
    let clamping = Case::new(Config { clamp_retry_after: true, ..Config::default() }).asked_for(u64::MAX);
    assert_eq!(clamping.with_time(ms(30_000)).stops(1), StopReason::RetryAfterExceedsDeadline);
}

/// Kept in the policy, one call's Retry-After became another's.
#[test]
fn it_is_forgotten_with_the_round_that_brought_it() {
    let retry = Retry::new(steady().config).unwrap();
    assert!(steady().asked_for(30_000).ask_again(&retry, 1).next.unwrap().delay >= ms(30_000));
    assert_eq!(steady().ask_again(&retry, 1).next.unwrap().delay, ms(100));
    assert_eq!(steady().after(2).ask_again(&retry, 1).next.unwrap().delay, ms(200));
}

/// All clients that were told the same second came back in that second.
#[test]
fn a_thousand_clients_told_the_same_do_not_come_back_together() {
    let case = steady().asked_for(1_000);
    let mut tens = [0u32; 11];
    for word in 0..1_000 {
        let after = case.delay(word).as_nanos() - ms(1_000).as_nanos();
        tens[(after / ms(10).as_nanos()) as usize] += 1;
    }
    assert!(tens[..10].iter().all(|clients| (60..=140).contains(clients)), "{tens:?}");
}
