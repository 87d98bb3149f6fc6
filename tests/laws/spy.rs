//! A gate that only watches.

use std::collections::BTreeSet;

use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{Instant, Key, Keyed, Verdict};

use super::Pen;

/// Lets everybody pass, counts evidence, and watches that every attempt is settled at most once and released once.
#[derive(Debug)]
pub struct Spy {
    pub pen: Pen,
    next: u32,
    settled: BTreeSet<u32>,
    evidence: Keyed<[u32; 2]>,
}

impl Spy {
    pub fn new(pen: Pen) -> Self {
        Self { pen, next: 0, settled: BTreeSet::new(), evidence: Keyed::default() }
    }
}

impl Gate for Spy {
    fn ask(&self, asker: &Asker, _now: Instant) -> Answer {
        self.pen.visited("ask", asker.key);
        Answer::Pass
    }

    fn take(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        self.next += 1;
        self.pen.visited("take", asker.key);
        self.pen.took(self.next, asker.key, asker.call);
        Note(self.next)
    }

    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, _cx: &mut Cx<'_>) {
        self.pen.visited("settle", key);
        // An attempt that outlived its lease has been released and is settled all the same; but only once.
        if note.0 == 0 || note.0 > self.next || !self.settled.insert(note.0) {
            self.pen.fault(4, "an attempt was settled twice");
        }
        if ended.verdict.is_evidence() {
            self.evidence.entry(key, || [0; 2])[usize::from(ended.verdict == Verdict::Success)] += 1;
        }
    }

    fn release(&mut self, key: Key, note: &mut Note, _cx: &mut Cx<'_>) {
        self.pen.visited("release", key);
        self.pen.gave_back(note.0);
    }

    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, key: Key) {
        let journal = self.pen.journal.borrow();
        let held = journal.holders.iter().any(|((gate, _), (its, _))| *gate == self.pen.gate && *its == key.number());
        drop(journal);
        if held {
            self.pen.fault(9, "a key was forgotten while an attempt of its was in flight");
        }
        self.evidence.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        0x5350_5900 + self.pen.gate as u64
    }

    fn save(&self, _now: Instant, out: &mut Writer) {
        out.u16(self.evidence.iter().count() as u16);
        for (key, [failures, successes]) in self.evidence.iter() {
            out.key(key);
            out.u32(*failures);
            out.u32(*successes);
        }
    }

    fn restore(&mut self, _now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        for _ in 0..input.u16()? {
            let (key, counts) = (input.key()?, [input.u32()?, input.u32()?]);
            *self.evidence.entry(key, || [0; 2]) = counts;
        }
        Ok(())
    }
}
