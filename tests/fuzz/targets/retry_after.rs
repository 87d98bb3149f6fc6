//! `Retry-After` and HTTP-dates: any bytes, any clock, beside a reader that is naive and reads less.

use forbear::Duration;
use forbear::http::retry_after;

use super::Bytes;

/// A clock, how long the field is, the field, and the response's `date`.
pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let wall_ms = if bytes.chance(60) { NOW_MS + bytes.u64() % YEAR_MS } else { bytes.any() };
    let length = usize::from(bytes.u8());
    let field = bytes.take(length);
    let date = (!bytes.is_empty()).then(|| bytes.rest());
    let read = retry_after(field, wall_ms, date);
    let alone = retry_after(field, wall_ms, None);
    assert_eq!(read.is_some(), alone.is_some(), "a date beside it changes how long, not whether");
    match (naive(field), date.map(naive)) {
        (Some(Naive::Seconds(seconds)), _) => assert_eq!(read, Some(Duration::from_secs(seconds))),
        (Some(Naive::Date(then)), Some(Some(Naive::Date(sent)))) => assert_eq!(read, Some(span(then, sent))),
        (Some(Naive::Date(then)), None) => assert_eq!(read, Some(span(then, wall_ms))),
        (Some(Naive::Date(_)), Some(_)) => assert!(read.is_some()),
        (None, _) => assert!(read.is_none() || looks_like_an_old_date(field), "{read:?}"),
    }
    judge_surroundings(field, wall_ms, alone);
}

/// Spaces around the value change nothing; anything else beside it leaves no meaning.
fn judge_surroundings(field: &[u8], wall_ms: u64, read: Option<Duration>) {
    let spaced = [b" \t", field, b"\t "].concat();
    assert_eq!(retry_after(&spaced, wall_ms, None), read, "spaces mean something");
    for spoiled in [[field, b"x"].concat(), [b"-", field].concat(), [field, b"\0"].concat()] {
        assert_eq!(retry_after(&spoiled, wall_ms, None), None, "{spoiled:?} means something");
    }
}

enum Naive {
    Seconds(u64),
    /// In milliseconds since 1970; earlier ones are zero.
    Date(u64),
}

/// Digits, or the one form of a date that anybody should send.
fn naive(field: &[u8]) -> Option<Naive> {
    let text = std::str::from_utf8(field).ok()?.trim_matches([' ', '\t']);
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Naive::Seconds(text.parse().unwrap_or(u64::MAX)));
    }
    let parts: Vec<&str> = text.split(' ').collect();
    let [weekday, day, month, year, time, "GMT"] = parts[..] else { return None };
    let [hour, minute, second] = time.split(':').map(|part| number(part, 2)).collect::<Option<Vec<_>>>()?[..] else {
        return None;
    };
    let (day, year) = (number(day, 2)?, number(year, 4)?);
    let month = MONTHS.iter().position(|name| *name == month)?;
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = (0..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<u64>()
        + lengths[..month].iter().sum::<u64>()
        + day.checked_sub(1)?;
    let leap_second = (hour, minute, second) == (23, 59, 60);
    let exists = day <= lengths[month] && hour < 24 && minute < 60 && (second < 60 || leap_second);
    if !exists || WEEKDAYS[(days % 7) as usize] != weekday {
        return None;
    }
    let seconds = (days * 24 + hour) * 3_600 + minute * 60 + second;
    Some(Naive::Date(seconds.saturating_sub(SECONDS_BEFORE_1970) * 1_000))
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn span(then_ms: u64, now_ms: u64) -> Duration {
    Duration::from_millis(then_ms.saturating_sub(now_ms))
}

/// `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
fn looks_like_an_old_date(field: &[u8]) -> bool {
    let text = field.trim_ascii();
    let is_asctime = text.len() == 24 && text[20..].iter().all(u8::is_ascii_digit);
    let is_rfc850 = (30..=33).contains(&text.len()) && text.ends_with(b" GMT") && text.contains(&b'-');
    is_asctime || is_rfc850
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From the first day of the year 0 on, a Saturday in the proleptic calendar.
const WEEKDAYS: [&str; 7] = ["Sat,", "Sun,", "Mon,", "Tue,", "Wed,", "Thu,", "Fri,"];
const SECONDS_BEFORE_1970: u64 = 719_528 * 86_400;
/// 2026-11-30 00:00:00 GMT.
const NOW_MS: u64 = 1_795_996_800_000;
const YEAR_MS: u64 = 31_556_952_000;
