//! Verbs as data: what a world did, to be done again, and to be printed as a golden vector.

use std::collections::BTreeMap;
use std::fmt::Write;

use forbear::event::{Event, What};
use forbear::policy::bulkhead::Bulkhead;
use forbear::policy::circuit_breaker::{CircuitBreaker, StateWord};
use forbear::policy::concurrency_limiter::ConcurrencyLimiter;
use forbear::policy::rate_limiter::RateLimiter;
use forbear::snapshot::Damaged;
use forbear::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Instant, Key, Outcome, Overload, Repeat, StackId, Verdict,
};

/// What worlds need of an engine; doubles that break a law stand behind it too.
pub trait Verbs {
    fn admit(&mut self, stack: StackId, key: Key, facts: Facts, now: HostTime, random: u64) -> Decision;
    fn settle(&mut self, call: CallId, attempt: u8, outcome: Outcome, now: HostTime, random: u64) -> Decision;
    fn due(&mut self, call: CallId, now: HostTime, random: u64) -> Decision;
    fn wake(&mut self, call: CallId, now: HostTime, random: u64) -> Decision;
    fn cancel(&mut self, call: CallId, now: HostTime) -> Decision;
    fn operate(&mut self, stack: StackId, key: Key, action: Action, now: HostTime, random: u64);
    fn snapshot(&self, stack: StackId, now: HostTime) -> Vec<u8>;
    fn restore(&mut self, stack: StackId, bytes: &[u8], names: &[Key], now: HostTime) -> Result<(), Damaged>;
    fn event(&mut self) -> Option<Event>;
    fn woken(&self) -> Vec<CallId>;
    fn intern(&mut self) -> Option<Key>;
    fn key_of(&self, call: CallId) -> Option<Key>;
    fn keys(&self) -> usize;
    fn in_flight(&self) -> usize;
    fn instant(&self, now: HostTime) -> Instant;
    fn circuit(&self, stack: StackId, key: Key, now: Instant) -> Option<StateWord>;
    /// After how long hedges start, where that is measured and known.
    fn pace(&self, stack: StackId, key: Key, now: HostTime) -> Option<Duration>;
    /// What can be read of a key: its counts, and its budget.
    fn readings(&self, stack: StackId, key: Key, now: Instant) -> String;
    /// How many wait in the lines of the registered gates.
    fn waiting(&self, stack: StackId, key: Key) -> u32;
    /// How many permits the rate limiter has, if there is one.
    fn permits(&self, stack: StackId, key: Key, now: Instant) -> Option<u32>;
}

/// What operators do to a circuit.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    ForceOpen,
    ForceClosed,
    Reset,
    Disable,
    Enable,
}

impl Verbs for Engine {
    fn admit(&mut self, stack: StackId, key: Key, facts: Facts, now: HostTime, random: u64) -> Decision {
        self.admit(stack, key, facts, now, random)
    }

    fn settle(&mut self, call: CallId, attempt: u8, outcome: Outcome, now: HostTime, random: u64) -> Decision {
        self.settle(call, attempt, outcome, now, random)
    }

    fn due(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        self.due(call, now, random)
    }

    fn wake(&mut self, call: CallId, now: HostTime, random: u64) -> Decision {
        self.wake(call, now, random)
    }

    fn cancel(&mut self, call: CallId, now: HostTime) -> Decision {
        self.cancel(call, now)
    }

    fn operate(&mut self, stack: StackId, key: Key, action: Action, now: HostTime, random: u64) {
        self.operate(stack, now, random, |breaker: &mut CircuitBreaker, cx| match action {
            Action::ForceOpen => breaker.force_open(key, cx),
            Action::ForceClosed => breaker.force_closed(key, cx),
            Action::Reset => breaker.reset(key, cx),
            Action::Disable => breaker.disable(key, true, cx),
            Action::Enable => breaker.disable(key, false, cx),
        });
    }

    fn snapshot(&self, stack: StackId, now: HostTime) -> Vec<u8> {
        self.snapshot(stack, now)
    }

    fn restore(&mut self, stack: StackId, bytes: &[u8], names: &[Key], now: HostTime) -> Result<(), Damaged> {
        self.restore_with_orders(stack, bytes, names, now).map(drop)
    }

    fn event(&mut self) -> Option<Event> {
        self.events().pop()
    }

    fn woken(&self) -> Vec<CallId> {
        self.woken().collect()
    }

    fn intern(&mut self) -> Option<Key> {
        self.intern()
    }

    fn key_of(&self, call: CallId) -> Option<Key> {
        self.key_of(call)
    }

    fn keys(&self) -> usize {
        self.keys()
    }

    fn in_flight(&self) -> usize {
        self.in_flight()
    }

    fn instant(&self, now: HostTime) -> Instant {
        self.instant(now)
    }

    fn circuit(&self, stack: StackId, key: Key, now: Instant) -> Option<StateWord> {
        self.gate::<CircuitBreaker>(stack).map(|breaker| breaker.state(key, now))
    }

    fn pace(&self, stack: StackId, key: Key, now: HostTime) -> Option<Duration> {
        self.pace(stack, key, now)
    }

    fn readings(&self, stack: StackId, key: Key, now: Instant) -> String {
        format!("{:?} {:?}", self.metrics(stack, key), self.budget(stack).map(|budget| budget.counts(key, now)))
    }

    fn waiting(&self, stack: StackId, key: Key) -> u32 {
        let bulkhead = self.gate::<Bulkhead>(stack).map_or(0, |bulkhead| bulkhead.queued(key));
        let limiter = self.gate::<ConcurrencyLimiter>(stack);
        let limited = limiter.map_or(0, |limiter| limiter.read(key, Instant::ORIGIN).queued);
        bulkhead + limited + self.gate::<RateLimiter>(stack).map_or(0, |limiter| limiter.waiters(key))
    }

    fn permits(&self, stack: StackId, key: Key, now: Instant) -> Option<u32> {
        self.gate::<RateLimiter>(stack).map(|limiter| limiter.available(key, now))
    }
}

/// One verb. Calls go by the number of their admission, keys by the number of their name.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Admit { stack: usize, name: Option<u16>, facts: Facts },
    Settle { call: Handle, attempt: u8, outcome: Outcome },
    Due { call: Handle },
    Wake { call: Handle },
    Cancel { call: Handle },
    Operate { stack: usize, name: Option<u16>, action: Action },
}

/// A call of this world, or a number that is nobody's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    Call(usize),
    Foreign(u64),
}

/// A verb with what it brought. Readings are whole milliseconds and random words below 2⁵³, as in the vectors.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    pub op: Op,
    pub now: HostTime,
    pub random: u64,
}

/// Says verbs to an engine, and remembers which handles and keys came back.
pub struct Player {
    pub engine: Box<dyn Verbs>,
    pub stacks: Vec<StackId>,
    pub calls: Vec<CallId>,
    pub names: BTreeMap<u16, Key>,
}

impl Player {
    pub fn new(engine: Box<dyn Verbs>, stacks: Vec<StackId>) -> Self {
        Self { engine, stacks, calls: Vec::new(), names: BTreeMap::new() }
    }

    /// Operators are not answered.
    pub fn say(&mut self, said: &Said) -> Option<Decision> {
        let Said { op, now, random } = *said;
        match op {
            Op::Admit { stack, name, facts } => {
                let key = self.key(name);
                let decision = self.engine.admit(self.stacks[stack], key, facts, now, random);
                self.calls.push(decision.call.unwrap_or(CallId::from_u64(u64::MAX)));
                self.learn(name, decision.call);
                Some(decision)
            }
            Op::Settle { call, attempt, outcome } => {
                Some(self.engine.settle(self.handle(call), attempt, outcome, now, random))
            }
            Op::Due { call } => Some(self.engine.due(self.handle(call), now, random)),
            Op::Wake { call } => Some(self.engine.wake(self.handle(call), now, random)),
            Op::Cancel { call } => Some(self.engine.cancel(self.handle(call), now)),
            Op::Operate { stack, name, action } => {
                let key = self.key(name);
                if key != Key::NEW {
                    self.engine.operate(self.stacks[stack], key, action, now, random);
                }
                None
            }
        }
    }

    pub fn handle(&self, handle: Handle) -> CallId {
        match handle {
            Handle::Call(number) => self.calls[number],
            Handle::Foreign(number) => CallId::from_u64(number),
        }
    }

    pub fn key(&self, name: Option<u16>) -> Key {
        name.map_or(Key::WHOLE, |name| self.names.get(&name).copied().unwrap_or(Key::NEW))
    }

    /// The engine gave a name a number, perhaps one that another name had.
    fn learn(&mut self, name: Option<u16>, call: Option<CallId>) {
        if let (Some(name), Some(key)) = (name, call.and_then(|call| self.engine.key_of(call)))
            && key != Key::OVERFLOW
        {
            self.names.retain(|_, other| *other != key);
            self.names.insert(name, key);
        }
    }

    /// Whether a lease ended lately.
    pub fn tells_of_a_lease(&mut self) -> bool {
        let mut ended = false;
        while let Some(event) = self.engine.event() {
            ended |= matches!(event.what, What::LeaseEnded { .. });
        }
        ended
    }

    pub fn snapshots(&self, now: HostTime) -> Vec<Vec<u8>> {
        self.stacks.iter().map(|stack| self.engine.snapshot(*stack, now)).collect()
    }
}

/// The verbs of a golden vector.
pub fn json(said: &[Said]) -> String {
    let mut calls = 0;
    let lines: Vec<String> = said.iter().map(|said| format!("    {{{}}}", line(said, &mut calls))).collect();
    format!("  \"verbs\": [\n{}\n  ]\n", lines.join(",\n"))
}

fn line(Said { op, now, random }: &Said, calls: &mut usize) -> String {
    let mut line = String::new();
    let mut put = |name: &str, value: String| {
        let _ = write!(line, "{}\"{name}\": {value}", if line.is_empty() { "" } else { ", " });
    };
    let quoted = |text: &str| format!("\"{text}\"");
    let handle = |call: &Handle| match call {
        Handle::Call(number) => format!("\"c{number}\""),
        Handle::Foreign(number) => format!("\"foreign {number}\""),
    };
    match op {
        Op::Admit { stack, name, facts } => {
            put("verb", quoted("admit"));
            put("stack", format!("\"s{stack}\""));
            put("call", format!("\"c{calls}\""));
            *calls += 1;
            if let Some(name) = name {
                put("key", format!("\"k{name}\""));
            }
            match facts.repeat {
                Repeat::Freely => {}
                Repeat::AfterFailure => put("repeat", quoted("after-failure")),
                Repeat::OnlyUnprocessed => put("repeat", quoted("only-unprocessed")),
                Repeat::OnlyUnsent => put("repeat", quoted("only-unsent")),
            }
            if facts.single {
                put("single", "true".to_owned());
            }
            if !facts.replayable {
                put("replayable", "false".to_owned());
            }
            if let Some(timeout) = facts.timeout {
                put("timeoutMs", timeout.as_millis_ceil().to_string());
            }
            if facts.cost != 1 {
                put("cost", facts.cost.to_string());
            }
        }
        Op::Settle { call, attempt, outcome } => {
            put("verb", quoted("settle"));
            put("call", handle(call));
            put("attempt", attempt.to_string());
            put("outcome", quoted(word(outcome)));
            if let Some(asked) = outcome.retry_after {
                put("retryAfterMs", asked.as_millis_ceil().to_string());
            }
            if let Some(latency) = outcome.latency {
                put("latencyMs", latency.as_millis_ceil().to_string());
            }
        }
        Op::Due { call } => {
            put("verb", quoted("due"));
            put("call", handle(call));
        }
        Op::Wake { call } => {
            put("verb", quoted("wake"));
            put("call", handle(call));
        }
        Op::Cancel { call } => {
            put("verb", quoted("cancel"));
            put("call", handle(call));
        }
        Op::Operate { stack, name, action } => {
            put("verb", quoted("operate"));
            put("stack", format!("\"s{stack}\""));
            if let Some(name) = name {
                put("key", format!("\"k{name}\""));
            }
            let word = match action {
                Action::ForceOpen => "forceOpen",
                Action::ForceClosed => "forceClosed",
                Action::Reset => "reset",
                Action::Disable => "disable",
                Action::Enable => "enable",
            };
            put("action", quoted(word));
        }
    }
    put("now", (now.as_nanos() / 1_000_000).to_string());
    put("random", random.to_string());
    line
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome.verdict {
        Verdict::Success => "success",
        Verdict::Answered => "answered",
        Verdict::Overload(Overload::TooManyRequests) => "too-many-requests",
        Verdict::Overload(Overload::Unavailable) => "unavailable",
        Verdict::Overload(Overload::Shedding) => "shedding",
        Verdict::Transient if outcome.never_sent => "never-sent",
        Verdict::Transient => "transient",
        Verdict::Timeout => "timeout",
        Verdict::Rejected => "rejected",
        Verdict::Defect => "defect",
        Verdict::Cancelled => "cancelled",
        Verdict::Inconclusive => "inconclusive",
        other => panic!("{other:?} has no word in a vector"),
    }
}
