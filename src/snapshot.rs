//! State as bytes: versioned, with ages instead of instants, so that it can be read in another process on another day.

use alloc::vec::Vec;

use crate::key::{KEYS, Key};
use crate::time::{Duration, Instant};

/// Writes numbers, least significant byte first.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The keys among them, each as often as it was written.
    keys: Vec<u8>,
}

impl Writer {
    /// A byte.
    pub fn u8(&mut self, number: u8) {
        self.write(&[number]);
    }

    /// A 16-bit number.
    pub fn u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    /// A 32-bit number.
    pub fn u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    /// A 64-bit number.
    pub fn u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    /// A key.
    pub fn key(&mut self, key: Key) {
        self.keys.extend_from_slice(&key.number().to_le_bytes());
        self.u16(key.number());
    }

    /// A span.
    pub fn duration(&mut self, span: Duration) {
        self.u64(span.as_nanos());
    }

    /// How long ago an instant was.
    pub fn age(&mut self, instant: Instant, now: Instant) {
        self.duration(now.since(instant));
    }

    /// How far away an instant is.
    pub fn ahead(&mut self, instant: Instant, now: Instant) {
        self.duration(instant.since(now));
    }

    /// A part with its length in front, so that a reader can leave it out.
    pub fn part(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        write(self);
        let length = (self.bytes.len() - start).saturating_sub(LENGTH) as u32;
        self.put(start, length.to_le_bytes());
    }

    /// Entries with their number in front, 16 bits of it.
    pub fn list<T>(&mut self, entries: impl Iterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        let start = self.bytes.len();
        let mut count: u16 = 0;
        self.u16(count);
        for entry in entries {
            count = count.wrapping_add(1);
            write(self, entry);
        }
        self.put(start, count.to_le_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put<const N: usize>(&mut self, start: usize, bytes: [u8; N]) {
        self.bytes.iter_mut().skip(start).zip(bytes).for_each(|(place, byte)| *place = byte);
    }

    /// The keys that were written, two bytes each, each as often as it was.
    #[must_use]
    pub fn into_keys(self) -> Vec<u8> {
        self.keys
    }

    /// The bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads what [`Writer`] wrote; never past the end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// What the keys are called here, by what they were called there; empty where nothing was renamed.
    names: &'a [Key],
    /// Whether what operators ordered is taken over too.
    orders: bool,
}

/// Where the state in a snapshot went: two sets of policies, as bits by their codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Those that took theirs over.
    pub taken: u16,
    /// Those that are configured differently here, are not here at all, or could not have written it.
    pub dropped: u16,
}

/// The bytes are not a snapshot, or not a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl core::fmt::Display for Damaged {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("not a snapshot of this engine, or a damaged one")
    }
}

impl core::error::Error for Damaged {}

/// What a reader answers.
pub type Read<T> = Result<T, Damaged>;

impl<'a> Reader<'a> {
    /// A reader of these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, names: &[], orders: false }
    }

    /// A reader that gives keys the numbers they have here: `names[old] = new`. A key left out becomes [`Key::NEW`],
    /// whose state is thrown away.
    #[must_use]
    pub const fn renaming(bytes: &'a [u8], names: &'a [Key]) -> Self {
        Self { bytes, names, orders: false }
    }

    /// The same reader, for state whose operators' orders hold here too.
    #[must_use]
    pub const fn with_orders(self) -> Self {
        Self { orders: true, ..self }
    }

    /// Whether what operators ordered is taken over too. Where it is not, an order that was given here stays.
    #[must_use]
    pub const fn takes_orders(&self) -> bool {
        self.orders
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(Damaged)?;
        self.bytes = rest;
        Ok(*head)
    }

    /// A byte.
    ///
    /// # Errors
    /// Nothing is left. So for all that follow.
    pub fn u8(&mut self) -> Read<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// A 16-bit number.
    #[allow(clippy::missing_errors_doc)]
    pub fn u16(&mut self) -> Read<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// A 32-bit number.
    #[allow(clippy::missing_errors_doc)]
    pub fn u32(&mut self) -> Read<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A 64-bit number.
    #[allow(clippy::missing_errors_doc)]
    pub fn u64(&mut self) -> Read<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A key's number.
    #[allow(clippy::missing_errors_doc)]
    pub fn key(&mut self) -> Read<Key> {
        let old = self.u16()?;
        if self.names.is_empty() {
            return Ok(Key::from_number(old));
        }
        Ok(self.names.get(usize::from(old)).copied().unwrap_or(Key::NEW))
    }

    /// A span.
    #[allow(clippy::missing_errors_doc)]
    pub fn duration(&mut self) -> Read<Duration> {
        self.u64().map(Duration::from_nanos)
    }

    /// An instant that was so long ago.
    #[allow(clippy::missing_errors_doc)]
    pub fn age(&mut self, now: Instant) -> Read<Instant> {
        self.duration().map(|age| now - age)
    }

    /// An instant that is so far away.
    #[allow(clippy::missing_errors_doc)]
    pub fn ahead(&mut self, now: Instant) -> Read<Instant> {
        self.duration().map(|span| now + span)
    }

    /// How many entries follow, one for each key: no more than there are keys.
    #[allow(clippy::missing_errors_doc)]
    pub fn keys(&mut self) -> Read<u16> {
        self.u16().and_then(|count| if usize::from(count) <= KEYS { Ok(count) } else { Err(Damaged) })
    }

    /// A part that was written with its length.
    #[allow(clippy::missing_errors_doc)]
    pub fn part(&mut self) -> Read<Reader<'a>> {
        let length = self.u32()? as usize;
        let (head, rest) = self.bytes.split_at_checked(length).ok_or(Damaged)?;
        self.bytes = rest;
        Ok(Reader { bytes: head, ..*self })
    }
}

/// FNV-1a, 64 bits: finds damage, not forgery.
///
/// Source: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", section 4, RFC 9923,
/// <https://www.rfc-editor.org/rfc/rfc9923>.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    fingerprint(bytes.iter().map(|byte| u64::from(*byte)))
}

/// What the keys of a snapshot are called here, by their numbers there: for [`Engine::restore`](crate::Engine::restore).
#[must_use]
pub fn renaming(keys: impl Iterator<Item = (u16, Key)>) -> [Key; KEYS] {
    let mut here = [Key::NEW; KEYS];
    here[0] = Key::WHOLE;
    for (number, key) in keys {
        if let Some(place) = here.get_mut(usize::from(number)) {
            *place = key;
        }
    }
    here
}

/// One number for many, computed as the [`checksum`] is.
pub(crate) fn fingerprint(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0xCBF2_9CE4_8422_2325, |sum, part| (sum ^ part).wrapping_mul(0x0100_0000_01B3))
}

const LENGTH: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let now = Instant::ORIGIN + Duration::from_secs(9);
        let mut out = Writer::default();
        out.part(|out| {
            out.u8(1);
            out.u16(2);
            out.age(Instant::ORIGIN, now);
        });
        out.u64(u64::MAX);
        let bytes = out.finish();
        let mut input = Reader::new(&bytes);
        let mut part = input.part().unwrap();
        assert_eq!((part.u8(), part.u16(), part.age(now)), (Ok(1), Ok(2), Ok(Instant::ORIGIN)));
        assert_eq!(input.u64(), Ok(u64::MAX));
        assert!(part.is_empty() && input.is_empty());
    }

    #[test]
    fn short_or_lying_bytes_are_refused() {
        assert_eq!(Reader::new(&[]).u8(), Err(Damaged));
        assert_eq!(Reader::new(&[1, 2, 3]).u32(), Err(Damaged));
        assert!(Reader::new(&[255, 255, 255, 255, 0]).part().is_err());
        let entries = |count: u16| Reader::new(&count.to_le_bytes()).keys();
        assert_eq!(
            (entries(0), entries(1_026), entries(1_027), entries(u16::MAX)),
            (Ok(0), Ok(1_026), Err(Damaged), Err(Damaged))
        );
    }
}
