//! A throttler in small: dice, and what it has learned.

use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{Instant, Key, Keyed, RefusalReason};

use super::Pen;

/// Refuses at random, the more the less the upstream accepts.
#[derive(Debug)]
pub struct Throttle {
    pub pen: Pen,
    counts: Keyed<[u32; 2]>,
}

impl Throttle {
    pub fn new(pen: Pen) -> Self {
        Self { pen, counts: Keyed::default() }
    }
}

impl Gate for Throttle {
    fn ask(&self, asker: &Asker, _now: Instant) -> Answer {
        let [requests, accepts] = self.counts.get(asker.key).copied().unwrap_or_default();
        let excess = u64::from(requests.saturating_sub(2 * accepts + 2));
        if (asker.dice >> 32) * u64::from(requests + 1) < excess << 32 {
            return Answer::Reject { reason: RefusalReason::Throttled, retry_at: None };
        }
        Answer::Pass
    }

    fn take(&mut self, _asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        Note(1)
    }

    fn settle(&mut self, key: Key, _note: &mut Note, ended: &Ended, _cx: &mut Cx<'_>) {
        if ended.verdict.is_evidence() {
            let [requests, accepts] = self.counts.entry(key, || [0; 2]);
            *requests += 1;
            *accepts += u32::from(ended.verdict.is_answer());
            if *requests > 64 {
                (*requests, *accepts) = (*requests / 2, *accepts / 2);
            }
        }
    }

    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, key: Key) {
        self.counts.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        0x5448_5200 + self.pen.gate as u64
    }

    fn save(&self, _now: Instant, out: &mut Writer) {
        out.u16(self.counts.iter().count() as u16);
        for (key, [requests, accepts]) in self.counts.iter() {
            out.key(key);
            out.u32(*requests);
            out.u32(*accepts);
        }
    }

    fn restore(&mut self, _now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        for _ in 0..input.u16()? {
            let (key, counts) = (input.key()?, [input.u32()?, input.u32()?]);
            *self.counts.entry(key, || [0; 2]) = counts;
        }
        Ok(())
    }
}
