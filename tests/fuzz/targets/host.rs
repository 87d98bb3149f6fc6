//! A host that does anything, and judges what can be judged of every answer by itself.

use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::policy::{Cx, MAX_WOKEN};
use forbear::{
    AttemptSet, CallId, Decision, Duration, Engine, Facts, HostTime, Instant, Key, MAX_ATTEMPTS, Outcome, Overload,
    Repeat, StackId, Step, StopReason, Verdict,
};

use super::Bytes;

pub struct Host {
    pub engine: Engine,
    pub stacks: Vec<StackId>,
    pub now: HostTime,
    /// How many calls there may be at once.
    limit: usize,
    /// The engine's own time in the last verb.
    last: Instant,
    callers: Vec<Caller>,
}

/// A call that was admitted.
struct Caller {
    id: CallId,
    sent: u8,
    /// Attempts that were given up or handed on.
    gone: AttemptSet,
    /// When it wants to be heard of.
    due: Option<HostTime>,
    /// Whether the engine has said that it is over, or does not know it.
    is_over: bool,
}

impl Host {
    pub fn new(engine: Engine, stacks: Vec<StackId>, limit: u32, now: HostTime) -> Self {
        let limit = limit.min((1 << 20) - 1) as usize;
        Self { engine, stacks, now, limit, last: Instant::PAST, callers: Vec::new() }
    }

    /// Does one thing.
    pub fn act(&mut self, bytes: &mut Bytes<'_>) {
        let what = bytes.below(100);
        self.pass_time(bytes);
        match what {
            0..28 => self.admit(bytes),
            28..52 => self.settle(bytes),
            52..76 => self.wake(bytes),
            76..78 => self.tell_sent(bytes),
            78..82 => {
                let call = self.handle(bytes);
                let decision = self.engine.cancel(call, self.now);
                self.heed(Some(call), &decision);
            }
            82..88 => self.operate(bytes),
            88..94 => self.read(bytes),
            _ => self.restore(bytes),
        }
    }

    /// Often none; sometimes back, sometimes to the end of time.
    fn pass_time(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.now.as_nanos();
        self.now = HostTime::from_nanos(match bytes.u8() {
            0..120 => now,
            120..220 => now.saturating_add(bytes.u64() % 100_000_000),
            220..244 => now.saturating_add(u64::from(bytes.u16()) * 100_000),
            244..248 => now.saturating_add(u64::from(bytes.u16()) * 1_000_000_000),
            248..254 => now.saturating_sub(u64::from(bytes.u16()) * 4_000_000),
            254 => u64::from(bytes.u16()) * 1_000_000_000,
            _ => bytes.any(),
        });
    }

    fn admit(&mut self, bytes: &mut Bytes<'_>) {
        let (stack, key, random) = (self.stack(bytes), self.key(bytes), bytes.u64());
        let facts = Facts {
            repeat: repeat(bytes),
            replayable: bytes.chance(85),
            single: bytes.chance(10),
            prepared: bytes.chance(20),
            droppable: bytes.chance(20),
            timeout: bytes.chance(20).then(|| Duration::from_nanos(bytes.any())),
            cost: if bytes.chance(95) { 1 } else { bytes.any() as u32 },
            ..Facts::default()
        };
        let decision = self.engine.admit(stack, key, facts, self.now, random);
        self.heed(None, &decision);
    }

    fn settle(&mut self, bytes: &mut Bytes<'_>) {
        let call = self.handle(bytes);
        let sent = self.callers.iter().rev().find(|caller| caller.id == call).map_or(1, |caller| caller.sent);
        let attempt = if bytes.chance(80) { sent } else { bytes.u8() };
        let (outcome, random) = (outcome(bytes), bytes.u64());
        let decision = self.engine.settle(call, attempt, outcome, self.now, random);
        self.heed(Some(call), &decision);
    }

    /// Mostly when it is due.
    fn wake(&mut self, bytes: &mut Bytes<'_>) {
        let (call, random) = (self.handle(bytes), bytes.u64());
        let due = self.callers.iter().find(|caller| caller.id == call).and_then(|caller| caller.due);
        if bytes.chance(70) {
            self.now = due.map_or(self.now, |due| due.max(self.now));
        }
        let decision = if bytes.chance(50) {
            self.engine.wake(call, self.now, random)
        } else {
            self.engine.due(call, self.now, random)
        };
        self.heed(Some(call), &decision);
    }

    fn tell_sent(&mut self, bytes: &mut Bytes<'_>) {
        let (call, attempt, repeat) = (self.handle(bytes), bytes.u8(), repeat(bytes));
        self.engine.sent(call, attempt, repeat, self.now);
    }

    fn operate(&mut self, bytes: &mut Bytes<'_>) {
        let (stack, key, what, random) = (self.stack(bytes), self.key(bytes), bytes.below(5), bytes.u64());
        self.engine.operate(stack, self.now, random, |breaker: &mut CircuitBreaker, cx: &mut Cx<'_>| match what {
            0 => breaker.force_open(key, cx),
            1 => breaker.force_closed(key, cx),
            2 => breaker.reset(key, cx),
            what => breaker.disable(key, what == 3, cx),
        });
    }

    fn read(&mut self, bytes: &mut Bytes<'_>) {
        let (stack, key, call) = (self.stack(bytes), self.key(bytes), self.handle(bytes));
        self.engine.events().listen(bytes.chance(80));
        for _ in 0..bytes.u8() {
            _ = self.engine.events().pop();
        }
        _ = (self.engine.metrics(stack, key), self.engine.key_of(call), self.engine.has_a_limit(stack));
        let now = self.engine.instant(self.now);
        _ = self.engine.gate::<CircuitBreaker>(stack).map(|breaker| breaker.read(key, now));
        if bytes.chance(30) {
            _ = self.engine.intern();
        }
    }

    /// What the stack learned goes through bytes, perhaps into another stack, perhaps under other keys.
    fn restore(&mut self, bytes: &mut Bytes<'_>) {
        let (from, to) = (self.stack(bytes), self.stack(bytes));
        let saved = self.engine.snapshot(from, self.now);
        assert!(forbear::is_snapshot(&saved), "an engine's own snapshot is damaged");
        let names: Vec<Key> = (0..bytes.below(4)).map(|_| self.key(bytes)).collect();
        let restored = self.engine.restore(to, &saved, &names, self.now);
        let is_there = self.stacks.contains(&to);
        assert_eq!(restored.is_ok(), is_there, "an engine's own snapshot, {saved:?}, into {to:?}");
    }

    fn stack(&self, bytes: &mut Bytes<'_>) -> StackId {
        if bytes.chance(95) { bytes.pick(&self.stacks) } else { StackId::from_number(bytes.u16()) }
    }

    /// Mostly one of a few.
    fn key(&self, bytes: &mut Bytes<'_>) -> Key {
        match bytes.u8() {
            0..80 => Key::WHOLE,
            80..120 => Key::NEW,
            byte @ 120..240 => Key::from_number(u16::from(byte % 7)),
            _ => Key::from_number(bytes.u16()),
        }
    }

    /// Mostly one of the latest calls that are not over.
    fn handle(&self, bytes: &mut Bytes<'_>) -> CallId {
        let living = || self.callers.iter().rev().filter(|caller| !caller.is_over).take(6);
        match bytes.u8() {
            0..220 if living().next().is_some() => {
                let which = bytes.below(living().count());
                living().nth(which).map_or(CallId::from_u64(0), |caller| caller.id)
            }
            220..245 if !self.callers.is_empty() => self.callers[usize::from(bytes.u16()) % self.callers.len()].id,
            _ => CallId::from_u64(bytes.any()),
        }
    }
}

/// Judging: what a host relies on, whatever it has done.
impl Host {
    /// Does what the decision says, and says what is wrong with it.
    fn heed(&mut self, about: Option<CallId>, decision: &Decision) {
        let now = self.engine.instant(self.now);
        assert!(now >= self.last, "time went back from {:?} to {now:?}", self.last);
        self.last = now;
        assert!(self.engine.in_flight() <= self.limit, "{} calls in flight", self.engine.in_flight());
        assert!(decision.at.is_none_or(|at| at >= self.now), "{decision:?} at {:?}", self.now);
        assert_eq!(
            decision.call.is_some(),
            !matches!(decision.step, Step::Reject(_) | Step::Unguarded),
            "{decision:?}"
        );
        if let (None, Some(id)) = (about, decision.call) {
            assert!(self.callers.iter().all(|caller| caller.id != id), "{id:?} was given twice");
            self.callers.push(Caller { id, sent: 0, gone: AttemptSet::EMPTY, due: None, is_over: false });
        }
        assert!(about.is_none() || decision.call.is_none() || decision.call == about, "{decision:?} about {about:?}");
        self.judge_hints();
        let known = about.or(decision.call);
        match self.callers.iter_mut().find(|caller| Some(caller.id) == known) {
            Some(caller) => caller.heed(decision),
            None => assert!(
                matches!(decision.step, Step::Unguarded | Step::Reject(_)) && decision.drop == AttemptSet::EMPTY,
                "{decision:?} about a call that nobody made"
            ),
        }
    }

    fn judge_hints(&self) {
        let hints: Vec<CallId> = self.engine.woken().collect();
        assert!(hints.len() <= MAX_WOKEN, "{hints:?}");
        for hint in hints {
            let caller = self.callers.iter().find(|caller| caller.id == hint);
            assert!(caller.is_some_and(|caller| !caller.is_over), "a hint for {hint:?}");
        }
    }
}

impl Caller {
    fn heed(&mut self, decision: &Decision) {
        assert!(!self.is_over || decision.step == Step::Unguarded, "{decision:?} about a call that is over");
        for attempt in (0..16).filter(|attempt| decision.drop.contains(*attempt)) {
            assert!((1..=self.sent).contains(&attempt), "attempt {attempt} of {} is given up: {decision:?}", self.sent);
            assert!(!self.gone.contains(attempt), "attempt {attempt} is given up again: {decision:?}");
        }
        match decision.step {
            Step::Send(attempt) => {
                assert_eq!((attempt, attempt <= MAX_ATTEMPTS), (self.sent + 1, true), "{decision:?}");
                self.sent = attempt;
            }
            Step::Done { attempt: 0, reason, held } => {
                assert!(reason == StopReason::Cancelled && !held, "{decision:?}");
                self.is_over = true;
            }
            Step::Done { attempt, held, .. } => {
                // Perhaps one that was given up before: then it timed out.
                assert!(attempt <= self.sent, "{decision:?} of {}", self.sent);
                assert_eq!(held, decision.at.is_some(), "{decision:?}");
                self.gone.insert(attempt);
                self.is_over = !held;
            }
            Step::Reject(_) | Step::Unguarded => self.is_over = true,
            Step::Wait => {}
        }
        self.gone.extend(decision.drop);
        self.due = decision.at;
    }
}

fn outcome(bytes: &mut Bytes<'_>) -> Outcome {
    let outcome = if bytes.chance(20) {
        forbear::http::outcome_of_status(bytes.u16(), None)
    } else {
        Outcome { never_sent: bytes.chance(15), ..Outcome::new(bytes.pick(&VERDICTS)) }
    };
    Outcome {
        retry_after: bytes.chance(25).then(|| Duration::from_nanos(bytes.any())),
        latency: bytes.chance(25).then(|| Duration::from_nanos(bytes.any())),
        ..outcome
    }
}

/// Those that are worth a repeat more often than others.
fn repeat(bytes: &mut Bytes<'_>) -> Repeat {
    bytes.pick(&[Repeat::Freely, Repeat::Freely, Repeat::AfterFailure, Repeat::OnlyUnprocessed])
}

const VERDICTS: [Verdict; 14] = [
    Verdict::Transient,
    Verdict::Transient,
    Verdict::Transient,
    Verdict::Success,
    Verdict::Success,
    Verdict::Answered,
    Verdict::Timeout,
    Verdict::Overload(Overload::Unavailable),
    Verdict::Overload(Overload::TooManyRequests),
    Verdict::Overload(Overload::Shedding),
    Verdict::Rejected,
    Verdict::Defect,
    Verdict::Cancelled,
    Verdict::Inconclusive,
];
