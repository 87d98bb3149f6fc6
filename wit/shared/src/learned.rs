//! What a stack has learned, with the names of its keys, as one instance hands it to another: numbers of keys mean something
//! in one instance only.

use alloc::vec::Vec;

use forbear::snapshot::{Damaged, Restored};
use forbear::{Engine, HostTime, MAX_KEYS, Names, StackId, is_snapshot};

/// The engine's snapshot, and those names that it needs, each with the number its key has in there.
#[must_use]
pub fn take<'a>(engine: &Engine, stack: StackId, names: &'a Names, now: HostTime) -> (Vec<u8>, Vec<(u16, &'a str)>) {
    (engine.snapshot(stack, now), names.of_snapshot(&engine.snapshot_keys(stack, now)))
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
    let here = names.renaming(keys);
    if orders { engine.restore_with_orders(stack, state, &here, now) } else { engine.restore(stack, state, &here, now) }
}
