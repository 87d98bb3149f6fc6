//! Byte strings from seeds: random ones, and good ones with a few mistakes.

use forbear::Rng;

use crate::targets::snapshots;

/// Bytes that say something sensible to this target.
pub fn good(target: &str) -> Vec<Vec<u8>> {
    match target {
        "retry_after" => {
            FIELDS.iter().flat_map(|field| [retry_after(field, None), retry_after(field, Some(DATE))]).collect()
        }
        "snapshots" => (0..24).map(snapshots::seed).collect(),
        // Whatever is said to these makes sense to them.
        "configuration" => (0..32).map(|seed| noise(&mut Rng::new(seed), 600)).collect(),
        _ => (0..32).map(|seed| noise(&mut Rng::new(seed), 5_000)).collect(),
    }
}

/// One in four is noise; the others are good ones, of which each lost, gained or changed something.
pub fn bytes(good: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let longest = [40, 400, 4_000][rng.between(0, 2) as usize];
    if rng.between(0, 3) == 0 {
        return noise(rng, longest);
    }
    let mut bytes = pick(good, rng).clone();
    for _ in 0..rng.between(1, 6) {
        spoil(&mut bytes, good, rng);
    }
    bytes
}

fn spoil(bytes: &mut Vec<u8>, good: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.between(0, bytes.len() as u64) as usize;
    match rng.between(0, 6) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.word() as u8),
        2 => drop(bytes.drain(at..bytes.len().min(at + rng.between(1, 9) as usize))),
        3 => {
            let other = pick(good, rng);
            let from = rng.between(0, other.len() as u64) as usize;
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        4 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << rng.between(0, 7)),
        5 => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0xFF * rng.between(0, 1) as u8),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = rng.word() as u8),
    }
}

fn noise(rng: &mut Rng, longest: u64) -> Vec<u8> {
    (0..rng.between(0, longest)).map(|_| rng.word() as u8).collect()
}

fn pick<'a, T>(from: &'a [T], rng: &mut Rng) -> &'a T {
    &from[rng.between(0, from.len() as u64 - 1) as usize]
}

/// As the target reads it: a clock of today, the field's length, the field, and the date beside it.
fn retry_after(field: &str, date: Option<&str>) -> Vec<u8> {
    let clock = [[0].as_slice(), &123_456_789_u64.to_le_bytes()].concat();
    [&clock[..], &[field.len() as u8], field.as_bytes(), date.unwrap_or("").as_bytes()].concat()
}

const FIELDS: [&str; 14] = [
    "120",
    "0",
    "18446744073709551616",
    " 7\t",
    "Mon, 30 Nov 2026 00:02:00 GMT",
    "Tue, 29 Feb 2028 00:00:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT",
    "Thu, 31 Dec 2026 23:59:60 GMT",
    "Sat, 01 Jan 0000 00:00:00 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Monday, 30-Nov-26 00:02:00 GMT",
    "Wednesday, 01-Jan-76 00:00:00 GMT",
    "Mon Nov 30 00:02:00 2026",
    "Tue Dec  1 00:00:00 2026",
];
const DATE: &str = "Mon, 30 Nov 2026 00:00:50 GMT";
