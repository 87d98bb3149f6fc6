//! Byte strings that say something sensible to a target.

use forbear::Rng;

use crate::targets::snapshots;

pub fn bytes(target: &str) -> Vec<Vec<u8>> {
    match target {
        "retry_after" => {
            FIELDS.iter().flat_map(|field| [retry_after(field, None), retry_after(field, Some(DATE))]).collect()
        }
        "snapshots" => (0..24).map(snapshots::seed).collect(),
        // Whatever is said to these makes sense to them.
        "configuration" => (0..32).map(|seed| noise(seed, 600)).collect(),
        _ => (0..32).map(|seed| noise(seed, 5_000)).collect(),
    }
}

fn noise(seed: u64, longest: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..rng.between(0, longest)).map(|_| rng.word() as u8).collect()
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
