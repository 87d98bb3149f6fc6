use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use std::time::UNIX_EPOCH;

use super::super::retry_after;
use super::*;
use crate::random::Rng;

#[test]
fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
    let year = |two_digits: u64| {
        let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        let mut years =
            days.iter().filter_map(|day| parse(format!("{day}, 15-Jun-{two_digits:02} 12:00:00 GMT").as_bytes(), NOW));
        let year = parts(&imf(years.next().unwrap()))[3].parse::<u64>().unwrap();
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

/// By the crate httpdate.
fn imf(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The same date in the words of old.
fn rfc850(seconds: u64) -> String {
    let date = imf(seconds);
    let [weekday, day, month, year, clock] = parts(&date);
    let long = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let weekday = long.into_iter().find(|name| name.starts_with(weekday)).unwrap();
    format!("{weekday}, {day}-{month}-{} {clock} GMT", &year[2..])
}

fn asctime(seconds: u64) -> String {
    let date = imf(seconds);
    let [weekday, day, month, year, clock] = parts(&date);
    format!("{weekday} {month} {:>2} {clock} {year}", day.trim_start_matches('0'))
}

/// Of `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parts(date: &str) -> [&str; 5] {
    let words: Vec<&str> = date.split(' ').collect();
    [&words[0][..3], words[1], words[2], words[3], words[4]]
}

/// 9999-12-31 23:59:59 GMT.
const LAST_SECOND: u64 = 253_402_300_799;
const FORTY_NINE_YEARS: u64 = 49 * 31_556_952;
/// 2026-11-30 00:00:00 GMT.
const NOW: u64 = 1_795_996_800;
