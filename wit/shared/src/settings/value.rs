//! Values as people write them, as numbers of the option's kind, and back. By hand: the standard library's own reading and
//! writing of fractions is larger than everything else here.

use alloc::string::String;
use alloc::vec::Vec;

use forbear::config::{OptionKind, OptionSpec};

/// The value as a number, in the unit of the option's kind; NaN for `off` where it may be.
pub fn number(spec: &OptionSpec, given: &str) -> Option<f64> {
    match spec.kind {
        OptionKind::Flag if given == "on" => Some(1.0),
        OptionKind::Flag if given == "off" => Some(0.0),
        OptionKind::Flag => None,
        OptionKind::Word(words) => words.iter().position(|word| *word == given).map(|place| place as f64),
        _ if given == "off" && spec.can_be_off => Some(f64::NAN),
        OptionKind::Duration => span(given),
        OptionKind::Count | OptionKind::Ratio => fraction(given),
    }
}

/// A number of bytes, `64KiB`: up to what is allowed.
pub fn bytes(given: &str) -> Option<u64> {
    let (digits, unit) = with_unit(given, &[("KiB", 1_024), ("MiB", 1_048_576), ("B", 1)])
        .or_else(|| (given == "0").then_some((given, 1)))?;
    let bytes = fraction(digits)? * unit as f64;
    (bytes <= MOST_BYTES && bytes == (bytes as u64) as f64).then_some(bytes as u64)
}

/// The number as it would be given.
pub fn show(kind: OptionKind, number: f64) -> String {
    match kind {
        OptionKind::Duration => {
            let millis = number as u64;
            let fits = |(_, length): &&(&str, u64)| millis >= *length && millis.is_multiple_of(*length);
            match UNITS.iter().rev().find(fits) {
                Some((unit, length)) if millis as f64 == number => plain((millis / length) as f64) + unit,
                _ => plain(number) + MILLIS,
            }
        }
        OptionKind::Flag => String::from(if number == 0.0 { "off" } else { "on" }),
        OptionKind::Word(words) => String::from(words.get(number as usize).copied().unwrap_or("")),
        OptionKind::Count | OptionKind::Ratio => plain(number),
    }
}

/// Milliseconds. A bare number is refused: whoever wrote it may have meant seconds.
fn span(given: &str) -> Option<f64> {
    let (digits, length) = with_unit(given, UNITS)?;
    Some(fraction(digits)? * length as f64)
}

/// The longest unit that the text ends with, so that `ms` is not read as `s`.
fn with_unit<'a>(given: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, u64)> {
    units.iter().find_map(|(unit, size)| Some((given.strip_suffix(unit)?.trim_ascii_end(), *size)))
}

/// Digits, and after a point at most six more.
fn fraction(given: &str) -> Option<f64> {
    let (whole, rest) = given.split_once('.').unwrap_or((given, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(rest) || whole.len() > LONGEST || rest.len() > PLACES {
        return None;
    }
    let digits = |text: &str| text.bytes().fold(0u64, |number, byte| number * 10 + u64::from(byte - b'0'));
    let scale = (0..rest.len()).fold(1u64, |scale, _| scale * 10);
    // Both are exact in a double, so their quotient is the nearest one to what was written.
    Some((digits(whole) * scale + digits(rest)) as f64 / scale as f64)
}

/// At most six places after the point, and no more than are needed.
fn plain(number: f64) -> String {
    let millionths = (number * MILLION as f64 + 0.5) as u64;
    let (whole, mut rest) = (millionths / MILLION, millionths % MILLION);
    let mut digits = Vec::new();
    for place in 0..PLACES {
        if !digits.is_empty() || !rest.is_multiple_of(10) {
            digits.push(digit(rest));
        }
        rest /= 10;
        if place + 1 == PLACES && !digits.is_empty() {
            digits.push('.');
        }
    }
    let mut left = whole;
    while digits.last().is_none_or(|last| *last == '.') || left > 0 {
        digits.push(digit(left));
        left /= 10;
    }
    digits.iter().rev().collect()
}

/// The last digit of a number.
fn digit(number: u64) -> char {
    char::from(b'0' + (number % 10) as u8)
}

const UNITS: &[(&str, u64)] = &[(MILLIS, 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
const MILLIS: &str = "ms";
/// Ours: what is kept in memory for each request in flight.
const MOST_BYTES: f64 = 16.0 * 1_048_576.0;
/// With six places behind them still exact in a double.
const LONGEST: usize = 9;
const PLACES: usize = 6;
const MILLION: u64 = 1_000_000;
