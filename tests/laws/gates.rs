//! Gates that are still to come, in small: whatever the contract must carry is here before the real ones are.
//!
//! Each also watches how the engine deals with it, and writes what it must never see into the journal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{CallId, Duration, Instant, Key, Keyed, RefusalReason, Verdict};

/// What the gates of one engine saw.
#[derive(Debug, Default)]
pub struct Journal {
    /// Which law was broken, and how.
    pub faults: Vec<(u8, String)>,
    /// The calls in lines, with the gate and the key.
    pub in_line: BTreeSet<(usize, u16, u64)>,
    /// Who holds what, by gate and note.
    pub holders: BTreeMap<(usize, u32), (u16, u64)>,
}

impl Journal {
    pub fn stands_in_line(&self, call: CallId) -> bool {
        self.in_line.iter().any(|(_, _, id)| *id == call.as_u64())
    }
}

/// A gate's pen.
#[derive(Clone, Debug)]
pub struct Pen {
    pub gate: usize,
    pub journal: Rc<RefCell<Journal>>,
}

impl Pen {
    pub fn fault(&self, law: u8, text: &str) {
        self.journal.borrow_mut().faults.push((law, format!("gate {}: {text}", self.gate)));
    }

    fn joined(&self, key: Key, call: CallId) {
        if !self.journal.borrow_mut().in_line.insert((self.gate, key.number(), call.as_u64())) {
            self.fault(5, "a call stands in the line twice");
        }
    }

    fn left(&self, key: Key, call: CallId) {
        self.journal.borrow_mut().in_line.remove(&(self.gate, key.number(), call.as_u64()));
    }

    fn took(&self, note: u32, key: Key, call: CallId) {
        self.journal.borrow_mut().holders.insert((self.gate, note), (key.number(), call.as_u64()));
    }

    fn gave_back(&self, note: u32) {
        if self.journal.borrow_mut().holders.remove(&(self.gate, note)).is_none() {
            self.fault(5, "something was given back that nobody held");
        }
    }
}

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
    fn ask(&self, _asker: &Asker, _now: Instant) -> Answer {
        Answer::Pass
    }

    fn take(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        self.next += 1;
        self.pen.took(self.next, asker.key, asker.call);
        Note(self.next)
    }

    fn settle(&mut self, key: Key, note: &mut Note, ended: &Ended, _cx: &mut Cx<'_>) {
        // An attempt that outlived its lease has been released and is settled all the same; but only once.
        if note.0 == 0 || note.0 > self.next || !self.settled.insert(note.0) {
            self.pen.fault(4, "an attempt was settled twice");
        }
        if ended.verdict.is_evidence() {
            self.evidence.entry(key, || [0; 2])[usize::from(ended.verdict == Verdict::Success)] += 1;
        }
    }

    fn release(&mut self, _key: Key, note: &mut Note, _cx: &mut Cx<'_>) {
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

/// So many at once; some more wait, first in, first out.
#[derive(Debug)]
pub struct Bulkhead {
    pub pen: Pen,
    pub slots: usize,
    pub queue: usize,
    pub queue_timeout: Duration,
    pub until_body: bool,
    lanes: Keyed<Lane>,
    next: u32,
}

#[derive(Debug)]
struct Lane {
    used: usize,
    line: Vec<Waiter>,
    freed_at: Instant,
}

#[derive(Debug)]
struct Waiter {
    place: u32,
    call: CallId,
    aside: bool,
}

impl Bulkhead {
    pub fn new(pen: Pen, slots: usize, queue: usize, queue_timeout: Duration, until_body: bool) -> Self {
        Self { pen, slots, queue, queue_timeout, until_body, lanes: Keyed::default(), next: 0 }
    }

    fn lane(&mut self, key: Key) -> &mut Lane {
        self.lanes.entry(key, || Lane { used: 0, line: Vec::new(), freed_at: Instant::PAST })
    }

    fn serial(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A slot is free, or the head of the line is gone: the first in line has its head start from now on.
    fn hint(&mut self, key: Key, cx: &mut Cx<'_>) {
        let now = cx.now;
        let lane = self.lane(key);
        lane.freed_at = now;
        lane.line.iter().take(HINTS).for_each(|waiter| cx.woken.push(waiter.call));
    }

    fn drop_place(&mut self, key: Key, place: Place) {
        let lane = self.lane(key);
        match lane.line.iter().position(|waiter| waiter.place == place.0) {
            Some(position) => {
                let call = lane.line.remove(position).call;
                self.pen.left(key, call);
            }
            None => self.pen.fault(5, "a place was left that nobody had"),
        }
    }
}

impl Gate for Bulkhead {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let Some(lane) = self.lanes.get(asker.key) else { return Answer::Pass };
        let mine = asker.place.and_then(|place| lane.line.iter().position(|waiter| waiter.place == place.0));
        if asker.place.is_some() && mine.is_none() {
            self.pen.fault(5, "a call asks from a place that it does not have");
        }
        // It may have waited elsewhere before it had to wait here.
        let timeout = asker.since + self.queue_timeout;
        let too_long = Answer::Reject { reason: RefusalReason::QueueTimeout, retry_at: None };
        if mine.is_some() && timeout <= now {
            return too_long;
        }
        let ahead = lane.line.iter().take(mine.unwrap_or(lane.line.len())).filter(|waiter| !waiter.aside).count();
        let head_is_silent = mine.is_some() && now >= lane.freed_at + HEAD_START;
        if lane.used < self.slots && (ahead == 0 || head_is_silent) {
            return Answer::Pass;
        }
        if mine.is_none() && lane.line.len() >= self.queue {
            return Answer::Reject { reason: RefusalReason::BulkheadFull, retry_at: None };
        }
        if timeout <= now {
            return too_long;
        }
        let pause = if ahead < HINTS { NEAR } else { FAR };
        Answer::Wait(timeout.min(now + pause))
    }

    fn take(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Note {
        if let Some(place) = asker.place {
            self.drop_place(asker.key, place);
        }
        let (note, slots) = (self.serial(), self.slots);
        let lane = self.lane(asker.key);
        lane.used += 1;
        if lane.used > slots {
            self.pen.fault(3, "more pass than there are slots");
        }
        self.pen.took(note, asker.key, asker.call);
        Note(note)
    }

    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn release(&mut self, key: Key, note: &mut Note, cx: &mut Cx<'_>) {
        self.pen.gave_back(note.0);
        let lane = self.lane(key);
        lane.used = lane.used.saturating_sub(1);
        self.hint(key, cx);
    }

    fn join(&mut self, asker: &Asker, _cx: &mut Cx<'_>) -> Place {
        let (place, queue) = (self.serial(), self.queue);
        self.pen.joined(asker.key, asker.call);
        let lane = self.lane(asker.key);
        lane.line.push(Waiter { place, call: asker.call, aside: false });
        if lane.line.len() > queue {
            self.pen.fault(9, "more wait than there are places");
        }
        Place(place)
    }

    fn step_aside(&mut self, key: Key, place: Place, _cx: &mut Cx<'_>) {
        self.lane(key).line.iter_mut().filter(|waiter| waiter.place == place.0).for_each(|waiter| waiter.aside = true);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        self.drop_place(key, place);
        self.hint(key, cx);
    }

    fn holds_until_body(&self) -> bool {
        self.until_body
    }

    fn is_busy(&self, key: Key, _now: Instant) -> bool {
        self.lanes.get(key).is_some_and(|lane| lane.used > 0 || !lane.line.is_empty())
    }

    fn forget(&mut self, key: Key) {
        if self.is_busy(key, Instant::PAST) {
            self.pen.fault(9, "a busy key was forgotten");
        }
        self.lanes.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        0x4255_4c00 + self.pen.gate as u64
    }

    /// Permits do not outlive a restart.
    fn save(&self, _now: Instant, _out: &mut Writer) {}

    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

/// So many permits a second, never more than a burst at once; who comes too early is given a turn. Credit is counted in
/// permits × nanoseconds, so nothing is ever rounded.
#[derive(Debug)]
pub struct Turns {
    pub pen: Pen,
    pub burst: u64,
    pub per_second: u64,
    pub queue: usize,
    tanks: Keyed<Tank>,
    next: u32,
}

#[derive(Debug)]
struct Tank {
    credit: u64,
    at: Instant,
    line: Vec<Turn>,
    begun: Instant,
    granted: u64,
}

#[derive(Debug)]
struct Turn {
    place: u32,
    call: CallId,
    cost: u64,
    at: Instant,
    aside: bool,
}

impl Turns {
    pub fn new(pen: Pen, burst: u64, per_second: u64, queue: usize) -> Self {
        Self { pen, burst, per_second, queue, tanks: Keyed::default(), next: 0 }
    }

    fn full(&self) -> u64 {
        self.burst * PERMIT
    }

    fn credit(&self, key: Key, now: Instant) -> u64 {
        self.tanks.get(key).map_or(self.full(), |tank| {
            let refill = now.since(tank.at).as_nanos().saturating_mul(self.per_second);
            tank.credit.saturating_add(refill).min(self.full())
        })
    }

    fn tank(&mut self, key: Key, now: Instant) -> &mut Tank {
        let full = self.full();
        let fresh = || Tank { credit: full, at: now, line: Vec::new(), begun: now, granted: 0 };
        self.tanks.entry(key, fresh)
    }

    /// When there is credit for so many permits.
    fn when(&self, key: Key, permits: u64, now: Instant) -> Instant {
        let missing = (permits * PERMIT).saturating_sub(self.credit(key, now));
        now + Duration::from_nanos(missing.div_ceil(self.per_second))
    }

    fn ahead(&self, key: Key) -> u64 {
        let line = self.tanks.get(key).map_or(&[][..], |tank| &tank.line);
        line.iter().filter(|turn| !turn.aside).map(|turn| turn.cost).sum()
    }
}

impl Gate for Turns {
    fn ask(&self, asker: &Asker, now: Instant) -> Answer {
        let cost = u64::from(asker.cost);
        if cost > self.burst {
            return Answer::Reject { reason: RefusalReason::Oversized, retry_at: None };
        }
        let line = self.tanks.get(asker.key).map_or(&[][..], |tank| &tank.line);
        let refuse = |retry_at| Answer::Reject { reason: RefusalReason::RateLimited, retry_at };
        if let Some(place) = asker.place {
            let Some(mine) = line.iter().find(|turn| turn.place == place.0) else {
                self.pen.fault(5, "a call asks from a place that it does not have");
                return refuse(None);
            };
            let at = mine.at.max(self.when(asker.key, cost, now));
            return if at <= now { Answer::Pass } else { Answer::Wait(at) };
        }
        let ahead = self.ahead(asker.key);
        let at = self.when(asker.key, ahead + cost, now);
        if at <= now {
            Answer::Pass
        } else if line.len() >= self.queue {
            refuse(None)
        } else if at >= asker.deadline {
            // A word that waiters might break is not given.
            refuse((ahead == 0).then_some(at))
        } else {
            Answer::Wait(at)
        }
    }

    fn take(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Note {
        if let Some(place) = asker.place {
            self.leave(asker.key, place, cx);
        }
        let (now, cost) = (cx.now, u64::from(asker.cost) * PERMIT);
        let (credit, full, rate) = (self.credit(asker.key, now), self.full(), self.per_second);
        let tank = self.tank(asker.key, now);
        tank.credit = credit.saturating_sub(cost);
        tank.at = now;
        tank.granted += cost;
        let earned = full.saturating_add(now.since(tank.begun).as_nanos().saturating_mul(rate));
        if credit < cost || tank.granted > earned {
            self.pen.fault(3, "more permits were granted than earned");
        }
        Note(0)
    }

    fn settle(&mut self, _key: Key, _note: &mut Note, _ended: &Ended, _cx: &mut Cx<'_>) {}

    fn join(&mut self, asker: &Asker, cx: &mut Cx<'_>) -> Place {
        self.next += 1;
        let cost = u64::from(asker.cost);
        let at = self.when(asker.key, self.ahead(asker.key) + cost, cx.now);
        let turn = Turn { place: self.next, call: asker.call, cost, at, aside: false };
        let (place, queue) = (turn.place, self.queue);
        self.pen.joined(asker.key, asker.call);
        let tank = self.tank(asker.key, cx.now);
        tank.line.push(turn);
        if tank.line.len() > queue {
            self.pen.fault(9, "more wait than there are places");
        }
        Place(place)
    }

    fn step_aside(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let line = &mut self.tank(key, cx.now).line;
        line.iter_mut().filter(|turn| turn.place == place.0).for_each(|turn| turn.aside = true);
    }

    fn leave(&mut self, key: Key, place: Place, cx: &mut Cx<'_>) {
        let line = &mut self.tank(key, cx.now).line;
        match line.iter().position(|turn| turn.place == place.0) {
            Some(position) => {
                let call = line.remove(position).call;
                self.pen.left(key, call);
            }
            None => self.pen.fault(5, "a place was left that nobody had"),
        }
    }

    fn is_busy(&self, key: Key, now: Instant) -> bool {
        self.credit(key, now) < self.full() || self.tanks.get(key).is_some_and(|tank| !tank.line.is_empty())
    }

    fn forget(&mut self, key: Key) {
        if self.tanks.get(key).is_some_and(|tank| !tank.line.is_empty()) {
            self.pen.fault(9, "a busy key was forgotten");
        }
        self.tanks.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        0x5455_5200 + self.pen.gate as u64
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let spent = || self.tanks.iter().filter(|(key, _)| self.credit(*key, now) < self.full());
        out.u16(spent().count() as u16);
        for (key, _) in spent() {
            out.key(key);
            out.u64(self.credit(key, now));
        }
    }

    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        for _ in 0..input.u16()? {
            let (key, credit) = (input.key()?, input.u64()?);
            let full = self.full();
            let tank = self.tank(key, now);
            (tank.credit, tank.granted) = (credit.min(full), full - credit.min(full));
        }
        Ok(())
    }
}

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

const PERMIT: u64 = 1_000_000_000;
const HINTS: usize = 3;
const HEAD_START: Duration = Duration::from_millis(100);
const NEAR: Duration = Duration::from_millis(50);
const FAR: Duration = Duration::from_millis(250);
