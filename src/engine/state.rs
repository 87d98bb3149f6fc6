//! Snapshot and restore: what a stack's policies have learned, as bytes.

use alloc::vec::Vec;

use crate::engine::Engine;
use crate::engine::desk::Desk;
use crate::event::{Event, What};
use crate::id::StackId;
use crate::key::Key;
use crate::policy::Kind;
use crate::snapshot::{Damaged, Read, Reader, Writer, checksum};
use crate::time::{HostTime, Instant};

impl Engine {
    /// What the stack's gates and budget have learned, as it is at `now`; nothing in flight, no permits. Keys are
    /// written as numbers: hosts keep the names beside them.
    ///
    /// Two engines that would decide alike give equal bytes: windows are rolled first, and pristine keys left out.
    #[must_use]
    pub fn snapshot(&self, stack: StackId, now: HostTime) -> Vec<u8> {
        let now = self.instant(now);
        let mut out = Writer::default();
        out.u32(MAGIC);
        out.u8(VERSION);
        if let Some(stack) = self.stacks.get(usize::from(stack.number())) {
            for place in stack.gates.iter().chain(stack.budget) {
                save(&self.desk, place, now, &mut out);
            }
        }
        let bytes = out.finish();
        let sum = checksum(&bytes);
        let mut whole = bytes;
        whole.extend_from_slice(&sum.to_le_bytes());
        whole
    }

    /// Takes over what another engine learned. `names[old] = new` says what its keys are called here; a key left out is
    /// thrown away. A policy that is configured differently here starts fresh and says so in an event.
    ///
    /// # Errors
    /// The bytes are not a snapshot of this version, or damaged; nothing has changed then.
    pub fn restore(&mut self, stack: StackId, bytes: &[u8], names: &[Key], now: HostTime) -> Result<(), Damaged> {
        let now = self.clock.read(now);
        let mut input = Reader::renaming(checked(bytes)?, names);
        if input.u32()? != MAGIC || input.u8()? != VERSION {
            return Err(Damaged);
        }
        let Some(found) = self.stacks.get(usize::from(stack.number())) else { return Err(Damaged) };
        let places: Vec<usize> = found.gates.iter().chain(found.budget).collect();
        while !input.is_empty() {
            let (kind, fingerprint, state) = (input.u8()?, input.u64()?, input.part()?);
            let Some(kind) = Kind::ALL.get(usize::from(kind)).copied() else { return Err(Damaged) };
            if !self.desk.restore(&places, kind, fingerprint, state, now)? {
                let what = What::RestoredFresh {};
                let (stack, policy) = (Some(stack), Some(kind));
                self.desk.log.push(|| Event { at: now, stack, key: Key::WHOLE, policy, what });
            }
        }
        Ok(())
    }
}

fn save(desk: &Desk, place: usize, now: Instant, out: &mut Writer) {
    if let Some((kind, gate)) = desk.gate(place) {
        out.u8(kind.code());
        out.u64(gate.fingerprint());
        out.part(|out| gate.save(now, out));
    } else if let Some(budget) = desk.budget(place) {
        out.u8(Kind::Budget.code());
        out.u64(budget.fingerprint());
        out.part(|out| budget.save(now, out));
    }
}

impl Desk {
    /// Whether one of these gates or budgets is of this kind and configuration, and took the state over.
    fn restore(
        &mut self,
        places: &[usize],
        kind: Kind,
        fingerprint: u64,
        mut state: Reader<'_>,
        now: Instant,
    ) -> Read<bool> {
        for place in places {
            if let Some((its, gate)) = self.gate_mut(*place) {
                if its == kind && gate.fingerprint() == fingerprint {
                    gate.restore(now, &mut state)?;
                    gate.forget(Key::NEW);
                    return Ok(true);
                }
            } else if let Some(budget) = self.budget_mut(*place)
                && kind == Kind::Budget
                && budget.fingerprint() == fingerprint
            {
                budget.restore(now, &mut state)?;
                budget.forget(Key::NEW, now);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The bytes without their checksum, if it is right.
fn checked(bytes: &[u8]) -> Read<&[u8]> {
    let (body, sum) = bytes.split_last_chunk::<8>().ok_or(Damaged)?;
    if checksum(body) == u64::from_le_bytes(*sum) { Ok(body) } else { Err(Damaged) }
}

/// "FBR" and a byte that no text has.
const MAGIC: u32 = 0x01_52_42_46;
/// Raised whenever old bytes would be read wrongly.
const VERSION: u8 = 1;
