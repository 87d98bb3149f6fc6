//! Snapshot and restore: what a stack's policies have learned, as bytes.

use alloc::vec::Vec;

use crate::engine::Engine;
use crate::engine::arena::Object;
use crate::event::{Event, What};
use crate::id::StackId;
use crate::key::{KEYS, Key};
use crate::policy::{Kind, MAX_GATES};
use crate::snapshot::{Damaged, Read, Reader, Restored, Writer, checksum};
use crate::time::HostTime;

impl Engine {
    /// What the stack's gates and budget have learned, as it is at `now`; nothing in flight, no permits. Keys are
    /// written as numbers: hosts keep the names beside them.
    ///
    /// Two engines that would decide alike give equal bytes: windows are rolled first, and pristine keys left out.
    #[must_use]
    pub fn snapshot(&self, stack: StackId, now: HostTime) -> Vec<u8> {
        let mut bytes = self.saved(stack, now).finish();
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The keys that a snapshot taken now speaks of, two bytes each, some more than once: those whose names are needed to restore it.
    #[must_use]
    pub fn snapshot_keys(&self, stack: StackId, now: HostTime) -> Vec<u8> {
        self.saved(stack, now).into_keys()
    }

    fn saved(&self, stack: StackId, now: HostTime) -> Writer {
        let now = self.instant(now);
        let mut out = Writer::default();
        out.u32(MAGIC);
        out.u8(VERSION);
        if let Some(stack) = self.stacks.get(usize::from(stack.number())) {
            for object in stack.objects.iter().filter_map(|object| self.policies.objects.get(*object)) {
                out.u32(tag(object.kind()));
                out.u64(object.fingerprint());
                out.part(|out| object.save(now, out));
            }
        }
        out
    }

    /// Takes over what another engine learned. `names[old] = new` says what its keys are called here; a key left out is
    /// thrown away. What a policy cannot take over, since it is configured differently here or could not have written it, is
    /// dropped, and an event says so. What an operator ordered there is not taken over, and what one ordered here stays.
    ///
    /// The checksum finds damage and no forgery: whoever writes these bytes may say of every key what its policies could have
    /// learned, and no more. At worst a circuit is open for as long as `maxOpenFor` allows.
    ///
    /// # Errors
    /// The bytes are not a snapshot of this version, or damaged, or longer than [`MAX_SNAPSHOT`]; nothing has changed then.
    pub fn restore(&mut self, stack: StackId, bytes: &[u8], names: &[Key], now: HostTime) -> Result<Restored, Damaged> {
        let input = opened(bytes, names)?;
        self.take_over(stack, input, names, now)
    }

    /// The same, and what operators ordered there holds here too: circuits that they forced open or disabled. For bytes that
    /// nobody else may have written.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn restore_with_orders(
        &mut self,
        stack: StackId,
        bytes: &[u8],
        names: &[Key],
        now: HostTime,
    ) -> Result<Restored, Damaged> {
        let input = opened(bytes, names)?.with_orders();
        self.take_over(stack, input, names, now)
    }

    fn take_over(
        &mut self,
        stack: StackId,
        mut input: Reader<'_>,
        names: &[Key],
        now: HostTime,
    ) -> Result<Restored, Damaged> {
        let now = self.clock.read(now);
        let Some(found) = self.stacks.get(usize::from(stack.number())) else { return Err(Damaged) };
        for key in names.iter().copied().filter(|key| self.keys.knows(*key) && key.can_go()) {
            self.counters.count(stack, key);
        }
        let mut restored = Restored::default();
        while !input.is_empty() {
            let (kind, fingerprint, mut state) = entry(&mut input)?;
            let is_its = |object: &Object| object.kind() == kind && object.fingerprint() == fingerprint;
            let its =
                found.objects.iter().copied().find(|object| self.policies.objects.get(*object).is_some_and(is_its));
            let its = its.and_then(|object| self.policies.objects.get_mut(object));
            // State that no such policy can have, under a checksum that is right, is not damage but somebody's doing.
            if let Some(object) = its
                && object.restore(now, &mut state).is_ok()
            {
                object.forget(Key::NEW, now);
                restored.taken |= 1 << kind.code();
            } else {
                restored.dropped |= 1 << kind.code();
                let what = What::RestoredFresh {};
                let (stack, policy) = (Some(stack), Some(kind));
                self.policies.log.push(|| Event { at: now, stack, key: Key::WHOLE, policy, what });
            }
        }
        self.make_room_for_state(KEYS, now);
        Ok(restored)
    }
}

/// Whether these bytes are a whole snapshot of this version: what can be known before anything changes.
#[must_use]
pub fn is_snapshot(bytes: &[u8]) -> bool {
    opened(bytes, &[]).is_ok()
}

/// A reader of the entries, if the bytes are whole and of this version.
fn opened<'a>(bytes: &'a [u8], names: &'a [Key]) -> Read<Reader<'a>> {
    let mut input = Reader::renaming(checked(bytes)?, names);
    if input.u32()? != MAGIC || input.u8()? != VERSION {
        return Err(Damaged);
    }
    let mut ahead = input;
    for _ in 0..MAX_ENTRIES {
        if ahead.is_empty() {
            return Ok(input);
        }
        entry(&mut ahead)?;
    }
    if ahead.is_empty() { Ok(input) } else { Err(Damaged) }
}

/// What one policy wrote: which it was, how it was configured, its state.
fn entry<'a>(input: &mut Reader<'a>) -> Read<(Kind, u64, Reader<'a>)> {
    let (mark, fingerprint, state) = (input.u32()?, input.u64()?, input.part()?);
    let kind = Kind::ALL.iter().copied().find(|kind| tag(*kind) == mark).ok_or(Damaged)?;
    Ok((kind, fingerprint, state))
}

/// A policy's mark in a snapshot: made of its name, since its place moves when another policy comes before it.
fn tag(kind: Kind) -> u32 {
    checksum(kind.word().as_bytes()) as u32
}

/// The bytes without their checksum, if it is right.
fn checked(bytes: &[u8]) -> Read<&[u8]> {
    let (body, sum) = bytes.split_last_chunk::<8>().filter(|_| bytes.len() <= MAX_SNAPSHOT).ok_or(Damaged)?;
    if checksum(body) == u64::from_le_bytes(*sum) { Ok(body) } else { Err(Damaged) }
}

/// The longest snapshot that is read, in bytes. Ours: eight kilobytes for each key.
pub const MAX_SNAPSHOT: usize = 8 * 1024 * 1024;
/// A stack has so many gates at most, a budget and a pace.
const MAX_ENTRIES: usize = MAX_GATES + 2;
/// "FBR" and a byte that no text has.
const MAGIC: u32 = 0x01_52_42_46;
/// Raised whenever old bytes would be read wrongly.
const VERSION: u8 = 2;
