use alloc::format;
use alloc::string::String;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::retry_after;
use super::*;

fn check<S: Strategy>(inputs: S, test: impl Fn(S::Value)) {
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
        .run(&inputs, |input| {
            test(input);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
    let year = |two_digits: u64| {
        let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        let mut years = days
            .iter()
            .filter_map(|day| parse(format!("{day}, 15-Jun-{two_digits:02} 12:00:00 GMT").as_bytes(), NOW).map(civil));
        let (year, ..) = years.next().unwrap();
        assert_eq!(years.next(), None);
        year
    };
    assert_eq!([26, 27, 50, 75, 76].map(year), [2026, 2027, 2050, 2075, 2076]);
    assert_eq!([77, 99].map(year), [1977, 1999]);
    // In 1999 the year 01 is ahead.
    assert_eq!(parse(b"Monday, 01-Jan-01 00:00:00 GMT", 946_684_799), Some(978_307_200));
}

#[test]
fn any_bytes_at_all_are_read_without_a_panic() {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    check((bytes(), any::<u64>(), prop::option::of(bytes())), |(field, now, date)| {
        let _ = retry_after(&field, now, date.as_deref());
    });
    let words = prop::collection::vec(
        prop::sample::select(&["Sun", "day", ", ", " ", "-", ":", "Feb", "29", "00", "99", "6", " GMT", "1994"][..]),
        0..16,
    );
    check((words, any::<u64>()), |(words, now)| {
        let _ = retry_after(words.concat().as_bytes(), now, None);
    });
}

#[test]
fn every_second_until_the_year_9999_is_read_back() {
    check((0..=LAST_SECOND, 0..=LAST_SECOND), |(seconds, now)| {
        assert_eq!(parse(imf(seconds).as_bytes(), now), Some(seconds));
        assert_eq!(parse(asctime(seconds).as_bytes(), now), Some(seconds));
        let close = (now + seconds % (2 * FORTY_NINE_YEARS)).saturating_sub(FORTY_NINE_YEARS).min(LAST_SECOND);
        assert_eq!(parse(rfc850(close).as_bytes(), now), Some(close));
    });
}

#[test]
fn a_byte_too_many_or_too_few_spoils_a_date() {
    check((0..=LAST_SECOND, any::<prop::sample::Index>(), b'!'..=b'~'), |(seconds, place, byte)| {
        for date in [imf(seconds), rfc850(seconds), asctime(seconds)] {
            let mut shorter = date.clone().into_bytes();
            shorter.remove(place.index(shorter.len()));
            assert_eq!(parse(&shorter, seconds), None, "{date}");
            let mut longer = date.clone().into_bytes();
            longer.insert(place.index(longer.len() + 1), byte);
            assert_eq!(parse(&longer, seconds), None, "{date}");
        }
    });
}

/// Year, month from 0, day from 1: counted, not computed.
fn civil(seconds: u64) -> (u64, usize, u64) {
    let mut days = seconds / 86_400;
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    loop {
        let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
        let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in lengths.into_iter().enumerate() {
            if days < length {
                return (year, month, days + 1);
            }
            days -= length;
        }
        year += 1;
    }
}

fn clock(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

fn weekday(seconds: u64) -> &'static str {
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"][(seconds / 86_400 % 7) as usize]
}

fn month(month: usize) -> &'static str {
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month]
}

fn imf(seconds: u64) -> String {
    let (year, m, day) = civil(seconds);
    format!("{}, {day:02} {} {year:04} {} GMT", &weekday(seconds)[..3], month(m), clock(seconds))
}

fn rfc850(seconds: u64) -> String {
    let (year, m, day) = civil(seconds);
    format!("{}, {day:02}-{}-{:02} {} GMT", weekday(seconds), month(m), year % 100, clock(seconds))
}

fn asctime(seconds: u64) -> String {
    let (year, m, day) = civil(seconds);
    format!("{} {} {day:2} {} {year:04}", &weekday(seconds)[..3], month(m), clock(seconds))
}

/// 9999-12-31 23:59:59 GMT.
const LAST_SECOND: u64 = 253_402_300_799;
const FORTY_NINE_YEARS: u64 = 49 * 31_556_952;
/// 2026-11-30 00:00:00 GMT.
const NOW: u64 = 1_795_996_800;
