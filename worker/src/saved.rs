//! Snapshots: the engine's own bytes behind the names of their keys, since its numbers mean something in one isolate only.
//! They are those of the JavaScript package (js/src/guards/snapshot.ts), and each reads the other's:
//!
//! ```text
//! fbn2 ████ [["name",number],…] ⏎ …        (without the spaces)
//! ```
//!
//! The four bytes are a checksum of all that follows, least significant first; then JSON, which has no line breaks, with the
//! names of those keys only that the state speaks of; and after the first line break the engine's bytes.

use forbear::snapshot::Damaged;
use forbear::{Engine, Kind, MAX_KEYS, StackId, is_snapshot};
use js_sys::{Array, JSON};
use wasm_bindgen::{JsCast, JsValue};

use crate::isolate::{Isolate, names};

/// Where the state in a snapshot went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The policies that took theirs over.
    pub restored: Vec<Kind>,
    /// Those that are configured differently here, are not here at all, or could not have written it.
    pub dropped: Vec<Kind>,
}

/// What a stack's policies have learned.
pub fn save(isolate: &Isolate, stack: StackId) -> Vec<u8> {
    let now = isolate.now();
    let told = isolate.engine.snapshot_keys(stack, now);
    let entry = |(number, name): (u16, &str)| Array::of2(&name.into(), &number.into());
    let named: Array = names(|names| names.of_snapshot(&told).into_iter().map(entry).collect());
    let names = JSON::stringify(&named).map(String::from).unwrap_or_default();
    let mut told = names.into_bytes();
    told.push(LINE_BREAK);
    told.extend(isolate.engine.snapshot(stack, now));
    let mut bytes = Vec::from(*MAGIC);
    bytes.extend(checksum(&told).to_le_bytes());
    bytes.extend(told);
    bytes
}

/// Takes over what was saved, under the numbers that its names have here; with `orders` also what operators ordered.
pub fn restore(isolate: &mut Isolate, stack: StackId, bytes: &[u8], orders: bool) -> Result<Restored, Damaged> {
    let (json, state) = opened(bytes).ok_or(Damaged)?;
    let named = names_in(json).ok_or(Damaged)?;
    // All that can be wrong with it is asked first: names that are given numbers may cost others theirs.
    if !is_snapshot(state) || named.len() > usize::from(MAX_KEYS) {
        return Err(Damaged);
    }
    for (_, name) in &named {
        isolate.intern(name);
    }
    let here = names(|names| names.renaming(named.iter().map(|(number, name)| (*number, &**name))));
    let now = isolate.now();
    let engine = &mut isolate.engine;
    let restore = if orders { Engine::restore_with_orders } else { Engine::restore };
    let sets = restore(engine, stack, state, &here, now)?;
    let policies = |set: u16| Kind::ALL.iter().copied().filter(|kind| set & 1 << kind.code() != 0).collect();
    Ok(Restored { restored: policies(sets.taken), dropped: policies(sets.dropped) })
}

/// The names and the engine's bytes of a snapshot that is whole.
fn opened(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sum, told) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    if u32::from_le_bytes(*sum) != checksum(told) {
        return None;
    }
    let (names, state) = told.split_at_checked(told.iter().position(|byte| *byte == LINE_BREAK)?)?;
    Some((names, state.get(1..)?))
}

fn names_in(json: &[u8]) -> Option<Vec<(u16, String)>> {
    let entries: Array = JSON::parse(std::str::from_utf8(json).ok()?).ok()?.dyn_into().ok()?;
    let named = |entry: JsValue| {
        let entry: Array = entry.dyn_into().ok()?;
        Some((entry.get(1).as_f64()? as u16, entry.get(0).as_string()?))
    };
    entries.iter().map(named).collect()
}

/// FNV-1a, 32 bits: finds damage, not forgery.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

const MAGIC: &[u8; 4] = b"fbn2";
const LINE_BREAK: u8 = b'\n';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_not_opened() {
        let told = b"[]\nstate";
        let whole = [&MAGIC[..], &checksum(told).to_le_bytes(), told].concat();
        assert_eq!(opened(&whole), Some((&b"[]"[..], &b"state"[..])));
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            assert_eq!(opened(&damaged), None, "byte {place}");
            assert_eq!(opened(&whole[..place]), None, "the first {place}");
        }
    }
}
