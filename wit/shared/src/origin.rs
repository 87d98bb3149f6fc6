//! The origin whose state a request meets, as the URL standard writes it, so that there is one name for one server and not as
//! many as there are ways to write an address: <https://url.spec.whatwg.org/#host-parsing>.

use alloc::borrow::Cow;
use alloc::string::String;

/// Lower case, an address in its one form, no default port, no user.
#[must_use]
pub fn of(is_plain: bool, authority: &str) -> String {
    let (scheme, default_port) = if is_plain { ("http://", "80") } else { ("https://", "443") };
    let authority = authority.rsplit_once('@').map_or(authority, |(_, rest)| rest).to_ascii_lowercase();
    // The colons of an address in brackets are its own.
    let in_brackets = authority.find(']').map_or(0, |place| place + 1);
    let (host, port) = match authority[in_brackets..].find(':') {
        Some(colon) => {
            (&authority[..in_brackets + colon], authority[in_brackets + colon + 1..].trim_start_matches('0'))
        }
        None => (&*authority, ""),
    };
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => in_six(address),
        None => in_four(host),
    }
    .map_or(Cow::Borrowed(host), Cow::Owned);
    let colon = if port.is_empty() || port == default_port { "" } else { ":" };
    [scheme, &host, colon, if colon.is_empty() { "" } else { port }].concat()
}

/// An IPv4 address as it is written.
fn in_four(host: &str) -> Option<String> {
    let mut written = String::new();
    for (byte, place) in four(host)?.to_be_bytes().into_iter().zip(0..) {
        written.push_str(if place > 0 { "." } else { "" });
        push(&mut written, u64::from(byte), 10);
    }
    Some(written)
}

/// An IPv4 address, in whatever way it is written: `127.1`, `0x7f.0.0.1` and `2130706433` are the same one.
fn four(host: &str) -> Option<u32> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next()?;
    // Names end in a letter; nothing else is done for them.
    if !last.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let before = host.matches('.').count();
    let mut address = number(last).filter(|last| before < 4 && *last < 1 << (8 * (4 - before)))?;
    for (part, place) in host.split('.').take(before).zip(0..) {
        address |= number(part).filter(|part| *part < 256)? << (24 - 8 * place);
    }
    Some(address as u32)
}

/// A number in decimal, in octal behind a `0`, or in hexadecimal behind `0x`.
fn number(part: &str) -> Option<u64> {
    let (digits, radix) = match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (part, 10),
    };
    if part.is_empty() {
        return None;
    }
    digits.chars().try_fold(0u64, |number, digit| {
        Some(number.saturating_mul(radix).saturating_add(u64::from(digit.to_digit(radix as u32)?)))
    })
}

/// An IPv6 address: no needless zeros, and the longest run of them, the first where several are as long, as `::`.
fn in_six(address: &str) -> Option<String> {
    let pieces = six(address)?;
    let zeros = |start: &usize| pieces[*start..].iter().take_while(|piece| **piece == 0).count();
    let longest = (0..pieces.len()).rev().max_by_key(zeros).filter(|start| zeros(start) > 1);
    let mut written = String::from("[");
    let mut place = 0;
    while place < pieces.len() {
        if longest == Some(place) {
            written.push_str(if place == 0 { "::" } else { ":" });
            place += zeros(&place);
        } else {
            push(&mut written, u64::from(pieces[place]), 16);
            place += 1;
            written.push_str(if place < pieces.len() { ":" } else { "" });
        }
    }
    written.push(']');
    Some(written)
}

/// The pieces of an IPv6 address. The standard library's own reading is larger than everything else here.
fn six(address: &str) -> Option<[u16; 8]> {
    let (mut pieces, mut rest) = ([0; 8], [0; 8]);
    let Some((head, tail)) = address.split_once("::") else {
        return (read(address, &mut pieces)? == pieces.len()).then_some(pieces);
    };
    let (before, behind) = (read(head, &mut pieces)?, read(tail, &mut rest)?);
    let zeros = pieces.len().checked_sub(before + behind).filter(|zeros| *zeros > 0)?;
    pieces[before + zeros..].copy_from_slice(&rest[..behind]);
    Some(pieces)
}

/// Reads pieces, of which the last two may be written as an IPv4 address, and says how many there are.
fn read(text: &str, pieces: &mut [u16; 8]) -> Option<usize> {
    let mut count = 0;
    for part in text.split(':').filter(|_| !text.is_empty()) {
        let (high, low) = match four(part).filter(|_| part.contains('.')) {
            Some(address) => (Some((address >> 16) as u16), address as u16),
            None => (None, u16::from_str_radix(part, 16).ok().filter(|_| part.len() <= 4 && !part.starts_with('+'))?),
        };
        for piece in high.into_iter().chain([low]) {
            *pieces.get_mut(count)? = piece;
            count += 1;
        }
    }
    Some(count)
}

/// Writes a number in this base. The formatting machinery of the standard library would cost some kilobytes.
fn push(out: &mut String, number: u64, radix: u64) {
    if number >= radix {
        push(out, number / radix, radix);
    }
    out.push(char::from_digit((number % radix) as u32, radix as u32).unwrap_or('0'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_origin_has_one_name_however_it_is_written() {
        for (is_plain, authority, origin) in [
            (true, "Example.ORG:80", "http://example.org"),
            (false, "me:secret@example.org:443", "https://example.org"),
            (false, "a@b:c@example.org", "https://example.org"),
            (true, "example.org:443", "http://example.org:443"),
            (true, "example.org:0080", "http://example.org"),
            (true, "example.org:08080", "http://example.org:8080"),
            (true, "example.org:", "http://example.org"),
            (false, "[::1]:8443", "https://[::1]:8443"),
        ] {
            assert_eq!(of(is_plain, authority), origin, "{authority}");
        }
    }

    #[test]
    fn an_address_has_one_name_in_whatever_numbers_it_is_written() {
        for authority in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "127.0.0.1.",
            "0x7f.1",
            "0X7F.0.0.0x1",
            "0177.0.0.01",
            "2130706433",
            "0x7f000001",
            "017700000001",
        ] {
            assert_eq!(of(true, authority), "http://127.0.0.1", "{authority}");
        }
        assert_eq!(of(true, "0"), "http://0.0.0.0");
        assert_eq!(of(true, "0x"), "http://0.0.0.0");
        assert_eq!(of(true, "4294967295:8080"), "http://255.255.255.255:8080");
    }

    #[test]
    fn an_address_in_brackets_has_one_name_too() {
        for (authority, host) in [
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("[0000::0001]", "[::1]"),
            ("[::]", "[::]"),
            ("[2001:DB8::]", "[2001:db8::]"),
            ("[2001:db8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]"),
            ("[2001:db8:0:1:1:1:1:1]", "[2001:db8:0:1:1:1:1:1]"),
            ("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"),
            ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
            ("[::FFFF:7F00:1]", "[::ffff:7f00:1]"),
        ] {
            assert_eq!(of(true, authority), ["http://", host].concat(), "{authority}");
        }
    }

    #[test]
    fn what_only_looks_like_an_address_is_left_as_it_is() {
        for authority in [
            "1.2.3.4.5",
            "256.0.0.1",
            "1.2.3.256",
            "4294967296",
            "08.1",
            "1..1",
            "x.1",
            "0xg",
            "a.3com",
            "[::1",
            "[x]",
            "7eleven",
        ] {
            assert_eq!(of(true, authority), ["http://", authority].concat());
        }
        assert_eq!(of(true, ""), "http://");
        assert_eq!(of(true, "."), "http://.");
    }
}
