//! What a stack has learned, with the names of its keys, as one instance hands it to another: numbers of keys mean something
//! in one instance only.

use alloc::vec;
use alloc::vec::Vec;

use forbear::snapshot::{Damaged, Restored};
use forbear::{Engine, HostTime, Key, MAX_KEYS, StackId, is_snapshot};

use crate::names::Names;

/// The engine's snapshot, and those names that it needs, each with the number its key has in there.
#[must_use]
pub fn take<'a>(engine: &Engine, stack: StackId, names: &'a Names, now: HostTime) -> (Vec<u8>, Vec<(u16, &'a str)>) {
    let mut told = vec![false; KEYS];
    for number in engine.snapshot_keys(stack, now).as_chunks().0 {
        told.get_mut(usize::from(u16::from_le_bytes(*number))).into_iter().for_each(|told| *told = true);
    }
    let numbers = (0..).zip(told).filter_map(|(number, told)| told.then_some(number));
    let named = numbers.filter_map(|number: u16| Some((number, names.name(Key::from_number(number))?)));
    (engine.snapshot(stack, now), named.collect())
}

/// Takes over what another instance learned, under the names its keys have here; with `orders` also what operators ordered.
///
/// # Errors
/// It is not a snapshot of this version, or a damaged one; nothing has changed then.
pub fn restore<'a>(
    engine: &mut Engine,
    stack: StackId,
    names: &mut Names,
    (state, keys, orders): (&[u8], impl Iterator<Item = (u16, &'a str)> + Clone, bool),
    now: HostTime,
) -> Result<Restored, Damaged> {
    // All that can be wrong with it is asked first: names that are given numbers may cost others theirs.
    if !is_snapshot(state) || keys.clone().count() > usize::from(MAX_KEYS) {
        return Err(Damaged);
    }
    for (_, name) in keys.clone() {
        names.intern(name, engine);
    }
    let mut here = vec![Key::NEW; KEYS];
    here[0] = Key::WHOLE;
    for (number, name) in keys {
        if let Some(place) = here.get_mut(usize::from(number)) {
            // Where there is little room, a later name may have got this one's number.
            *place = names.key(name);
        }
    }
    if orders { engine.restore_with_orders(stack, state, &here, now) } else { engine.restore(stack, state, &here, now) }
}

/// All keys there may be, the two that everybody has among them.
const KEYS: usize = MAX_KEYS as usize + 2;
