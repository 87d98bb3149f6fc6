//! A rate limiter in small: exact credit, and turns.

use forbear::policy::{Answer, Asker, Cx, Ended, Gate, Note, Place};
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{CallId, Duration, Instant, Key, Keyed, RefusalReason};

use super::Pen;

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
        if let Some(place) = asker.place {
            let line = &mut self.tank(asker.key, cx.now).line;
            line.iter_mut().filter(|turn| turn.place == place.0).for_each(|turn| turn.aside = false);
            return place;
        }
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

const PERMIT: u64 = 1_000_000_000;
