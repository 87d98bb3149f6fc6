//! What an instance has learned, as the bytes that a store keeps: when they were written, the names of the keys, and the
//! engine's snapshot, which has ages in place of instants.
//!
//!     "fbm1"  milliseconds:u64  n:u16  n × { number:u16 length:u16 name }  snapshot  checksum:u64
//!
//! Numbers have their least significant byte first; the checksum is one of all that comes before it.

use alloc::vec::Vec;

use forbear::snapshot::checksum;
use forbear::{Engine, HostTime, Names, StackId};
use forbear_wit_shared::learned;

/// What a stack has learned until now: by the engine's clock, and in milliseconds since 1970.
pub fn take(engine: &Engine, stack: StackId, names: &Names, (now, written_ms): (HostTime, u64)) -> Vec<u8> {
    let (snapshot, keys) = learned::take(engine, stack, names, now);
    pack(&StoredState { written_ms, keys, snapshot: &snapshot })
}

/// Takes over what another instance wrote, if these bytes are that. Time has passed since then, though this engine has not
/// seen any: the first instant it sees is the one when they were written.
pub fn restore(bytes: &[u8], engine: &mut Engine, stack: StackId, names: &mut Names, (now, now_ms): (HostTime, u64)) {
    let Some(StoredState { written_ms, keys, snapshot }) = unpack(bytes) else { return };
    let since = now_ms.saturating_sub(written_ms).saturating_mul(NANOS_PER_MILLI);
    let written = HostTime::from_nanos(now.as_nanos().saturating_sub(since));
    let _ = learned::restore(engine, stack, names, (snapshot, keys.into_iter(), false), written);
}

/// What is in one.
#[derive(Debug, PartialEq, Eq)]
struct StoredState<'a> {
    /// When it was written, in milliseconds since 1970.
    written_ms: u64,
    /// The names of keys, each with the number that it has in the snapshot.
    keys: Vec<(u16, &'a str)>,
    snapshot: &'a [u8],
}

/// As bytes.
fn pack(StoredState { written_ms, keys, snapshot }: &StoredState<'_>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(written_ms.to_le_bytes());
    bytes.extend((keys.len() as u16).to_le_bytes());
    for (number, name) in keys {
        bytes.extend(number.to_le_bytes());
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(snapshot);
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// What is in it, if these are the bytes of one, all of them and of this version.
fn unpack(bytes: &[u8]) -> Option<StoredState<'_>> {
    let (body, sum) = bytes.split_last_chunk()?;
    let mut rest = body.strip_prefix(MAGIC).filter(|_| checksum(body) == u64::from_le_bytes(*sum))?;
    let written_ms = u64::from_le_bytes(*next(&mut rest)?);
    let mut keys = Vec::new();
    for _ in 0..u16::from_le_bytes(*next(&mut rest)?) {
        let number = u16::from_le_bytes(*next(&mut rest)?);
        let length = usize::from(u16::from_le_bytes(*next(&mut rest)?));
        let (name, others) = rest.split_at_checked(length)?;
        keys.push((number, core::str::from_utf8(name).ok()?));
        rest = others;
    }
    Some(StoredState { written_ms, keys, snapshot: rest })
}

fn next<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (next, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(next)
}

/// Another version begins otherwise.
const MAGIC: &[u8] = b"fbm1";
const NANOS_PER_MILLI: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use forbear::{Facts, Kind, Outcome, RefusalReason, StackConfig, Step, Verdict};

    use super::*;

    /// A breaker that opens for a minute after three failures, and two slots.
    fn instance() -> (Engine, StackId, Names) {
        let mut config = StackConfig::OFF;
        for (kind, option, value) in [
            (Kind::Breaker, "consecutiveFailures", 3.0),
            (Kind::Breaker, "openFor", 60_000.0),
            (Kind::Breaker, "openJitter", 0.0),
            (Kind::Bulkhead, "concurrency", 2.0),
        ] {
            let place = kind.options().iter().position(|spec| spec.name == option).unwrap();
            config.slot(kind).set(place, value).unwrap();
        }
        let mut engine = Engine::default();
        let stack = engine.add_stack(config).unwrap();
        (engine, stack, Names::new())
    }

    fn admit((engine, stack, names): &mut (Engine, StackId, Names), origin: &str, now: HostTime) -> forbear::Decision {
        let key = names.intern(origin, engine);
        engine.admit(*stack, key, Facts::default(), now, 7)
    }

    fn fail(instance: &mut (Engine, StackId, Names), origin: &str, now: HostTime) {
        let decision = admit(instance, origin, now);
        let _ = instance.0.settle(decision.call.unwrap(), 1, Outcome::new(Verdict::Transient), now, 7);
    }

    fn why(decision: &forbear::Decision) -> Option<RefusalReason> {
        if let Step::Reject(rejection) = decision.step { Some(rejection.reason) } else { None }
    }

    #[test]
    fn a_new_instance_goes_on_where_the_last_one_ended_with_the_time_between_them_passed() {
        let mut last = instance();
        let now = HostTime::from_millis(5_000_000);
        (0..3).for_each(|_| fail(&mut last, "https://b.example", now));
        let _ = (admit(&mut last, "https://a.example", now), admit(&mut last, "https://a.example", now));
        let bytes = take(&last.0, last.1, &last.2, (now, 1_700_000_000_000));
        for (passed_ms, refused) in [(59_000, Some(RefusalReason::CircuitOpen)), (60_000, None)] {
            let mut next = instance();
            // Its clock begins anew, and its keys have other numbers.
            let now = HostTime::from_millis(1_000_000);
            next.2.intern("https://z.example", &mut next.0);
            restore(&bytes, &mut next.0, next.1, &mut next.2, (now, 1_700_000_000_000 + passed_ms));
            assert_eq!(why(&admit(&mut next, "https://b.example", now)), refused, "after {passed_ms} ms");
            // What was in flight there is nothing here.
            assert_eq!(why(&admit(&mut next, "https://a.example", now)), None);
            assert_eq!(why(&admit(&mut next, "https://a.example", now)), None);
        }
    }

    #[test]
    fn bytes_from_a_clock_ahead_of_ours_are_taken_as_new_and_from_long_ago_as_old() {
        let mut last = instance();
        let now = HostTime::from_millis(5_000_000);
        (0..3).for_each(|_| fail(&mut last, "https://b.example", now));
        for (written_ms, is_open) in [(u64::MAX, true), (0, false)] {
            let bytes = take(&last.0, last.1, &last.2, (now, written_ms));
            let mut next = instance();
            restore(&bytes, &mut next.0, next.1, &mut next.2, (now, 1_700_000_000_000));
            assert_eq!(why(&admit(&mut next, "https://b.example", now)).is_some(), is_open);
        }
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let stored = StoredState {
            written_ms: 1_700_000_000_123,
            keys: vec![(2, "https://ä.example"), (9, "")],
            snapshot: b"state",
        };
        assert_eq!(unpack(&pack(&stored)), Some(stored));
    }

    #[test]
    fn bytes_that_are_damaged_cut_short_or_of_another_version_are_nothing() {
        let bytes = pack(&StoredState { written_ms: 1, keys: vec![(2, "https://a.example")], snapshot: b"state" });
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(unpack(&damaged), None, "byte {place}");
            assert_eq!(unpack(&bytes[..place]), None, "{place} bytes");
        }
        let mut other = [b"fbm2", &bytes[4..bytes.len() - 8]].concat();
        other.extend(checksum(&other).to_le_bytes());
        assert_eq!(unpack(&other), None);
        // Under a checksum that is right: more names than there are.
        let mut lying = [MAGIC, &[0; 8], &[255, 255, 1, 0, 255, 255]].concat();
        lying.extend(checksum(&lying).to_le_bytes());
        assert_eq!(unpack(&lying), None);
    }
}
