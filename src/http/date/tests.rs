use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::retry_after;
use super::*;
use crate::random::Rng;

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
    let words = ["Sun", "day", ", ", " ", "-", ":", "Feb", "29", "00", "99", "6", " GMT", "1994", "\u{e9}"];
    let mut rng = Rng::new(1);
    for _ in 0..20_000 {
        let length = rng.between(0, 40);
        let noise: Vec<u8> = (0..length).map(|_| rng.word() as u8).collect();
        let salad: String = (0..length).filter_map(|_| words.get(rng.between(0, 13) as usize)).copied().collect();
        for field in [&noise[..], salad.as_bytes()] {
            let _ = retry_after(field, rng.word(), None);
            let _ = retry_after(b"Sun, 06 Nov 1994 08:49:37 GMT", rng.word(), Some(field));
        }
    }
}

#[test]
fn every_second_until_the_year_9999_is_read_back() {
    for_moments(|seconds, now, _| {
        assert_eq!(parse(imf(seconds).as_bytes(), now), Some(seconds));
        assert_eq!(parse(asctime(seconds).as_bytes(), now), Some(seconds));
        let close = (now + seconds % (2 * FORTY_NINE_YEARS)).saturating_sub(FORTY_NINE_YEARS).min(LAST_SECOND);
        assert_eq!(parse(rfc850(close).as_bytes(), now), Some(close));
    });
}

#[test]
fn a_byte_too_many_or_too_few_spoils_a_date() {
    for_moments(|seconds, now, rng| {
        for date in [imf(seconds), rfc850(seconds), asctime(seconds)] {
            let last = date.len() as u64;
            let (mut shorter, mut longer) = (date.clone().into_bytes(), date.clone().into_bytes());
            shorter.remove(rng.between(0, last - 1) as usize);
            longer.insert(rng.between(0, last) as usize, rng.between(b'!'.into(), b'~'.into()) as u8);
            assert_eq!((parse(&shorter, now), parse(&longer, now)), (None, None), "{date}");
        }
    });
}

fn for_moments(test: impl Fn(u64, u64, &mut Rng)) {
    let mut rng = Rng::new(2);
    for edge in [0, 951_782_399, 951_782_400, 951_868_800, 4_107_542_400, LAST_SECOND] {
        test(edge, NOW, &mut rng);
    }
    for _ in 0..20_000 {
        test(rng.between(0, LAST_SECOND), rng.between(0, LAST_SECOND), &mut rng);
    }
}

/// Year, month from 0, day from 1: counted, not computed.
fn civil(seconds: u64) -> (u64, usize, u64) {
    let mut days = seconds / 86_400;
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    loop {
        let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
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
