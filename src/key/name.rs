//! What hosts keep of a key's name: docs/driving.md says the rule, tests/names.json has cases of it.

use alloc::borrow::Cow;
use alloc::string::String;

/// What is kept of a key's name: the whole of it, or of one longer than 1,024 bytes its beginning, its length and a checksum
/// of the rest. The same on every host, so that snapshots meet. What is kept of what is kept is the same again.
#[must_use]
pub fn kept_name(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST {
        return Cow::Borrowed(name);
    }
    let (beginning, rest) = (0..=KEPT).rev().find_map(|place| name.split_at_checked(place)).unwrap_or(("", name));
    let mut kept = String::from(beginning);
    kept.push('…');
    push_number(&mut kept, name.len(), 10);
    kept.push('…');
    push_number(&mut kept, checksum(rest.as_bytes()) as usize, 16);
    Cow::Owned(kept)
}

/// FNV-1a, 32 bits: JavaScript can compute it too.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// By hand: the formatting machinery of the standard library would cost a component some kilobytes.
fn push_number(out: &mut String, number: usize, base: usize) {
    if number >= base {
        push_number(out, number / base, base);
    }
    out.push(char::from_digit((number % base) as u32, base as u32).unwrap_or('0'));
}

/// The longest name that is kept as it is, in bytes of UTF-8. Ours.
const LONGEST: usize = 1_024;
/// Leaves room for what stands behind it.
const KEPT: usize = 960;

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_kept_of_a_name_is_what_the_cases_of_all_hosts_say() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("../../tests/names.json")).unwrap();
        let told = |pieces: &serde_json::Value| -> String {
            let piece = |piece: &serde_json::Value| {
                piece[0].as_str().unwrap().repeat(piece[1].as_u64().map_or(1, |times| times as usize))
            };
            pieces.as_array().unwrap().iter().map(piece).collect()
        };
        for case in cases["cases"].as_array().unwrap() {
            let (name, kept) = (told(&case["name"]), told(&case["kept"]));
            assert_eq!(kept_name(&name), kept, "{}", case["about"]);
            assert_eq!(kept_name(&kept), kept, "{}", case["about"]);
        }
    }

    #[test]
    fn long_names_that_differ_anywhere_stay_apart() {
        let names: [String; 4] = core::array::from_fn(|place| {
            let mut name = "x".repeat(2_000);
            name.replace_range(place * 600..=place * 600, "y");
            name
        });
        for (place, name) in names.iter().enumerate() {
            assert!(names.iter().skip(place + 1).all(|other| kept_name(other) != kept_name(name)));
        }
        assert_ne!(kept_name(&names[0]), kept_name(&format!("{}x", names[0])).to_string());
    }
}
