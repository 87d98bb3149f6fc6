//! The smallest host there is: it does what the engine says, on a clock of its own making.

use std::collections::VecDeque;
use std::hint::black_box;

use forbear::policy::{
    attempt_timeout, budget, bulkhead, circuit_breaker, concurrency_limiter, deadline, hedge, rate_limiter, retry,
    throttler,
};
use forbear::{
    AttemptNumber, CallId, Duration, Engine, Facts, HostTime, Key, Limits, Outcome, Part, StackConfig, StackId, Step,
    Verdict,
};

pub struct Host {
    engine: Engine,
    stack: StackId,
    now: HostTime,
    random: u64,
    in_flight: VecDeque<(CallId, AttemptNumber)>,
}

impl Host {
    pub fn new(config: StackConfig) -> Self {
        let mut engine = Engine::new(Limits::default());
        let stack = engine.add_stack(config).expect("the defaults are a configuration");
        Self { engine, stack, now: HostTime::from_millis(1), random: 0, in_flight: VecDeque::new() }
    }

    /// Makes one call whose attempts end as `upstream` says, and carries it to its end. A call takes a millisecond, so that
    /// windows roll and budgets refill at the pace of a thousand calls a second; waits are not waited out but skipped.
    pub fn call(&mut self, key: Key, mut upstream: impl FnMut() -> Verdict) -> Step {
        let mut decision = self.engine.admit(self.stack, key, Facts::default(), self.now, self.random);
        loop {
            self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let (step, call) = (decision.step, decision.call);
            decision = match (step, call) {
                (Step::Send(attempt), Some(call)) => {
                    let verdict = black_box(upstream());
                    self.now = self.now + LATENCY;
                    self.engine.settle(call, attempt, Outcome::new(verdict), self.now, self.random)
                }
                (Step::Wait, Some(call)) => {
                    self.now = decision.at.unwrap_or(self.now);
                    self.engine.wake(call, self.now, self.random)
                }
                _ => return step,
            };
        }
    }

    /// Ends the call that has been in flight longest, once there are so many, and begins another.
    pub fn replace_oldest(&mut self, many: usize) -> Step {
        self.now = self.now + SHORT_STEP;
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        if self.in_flight.len() == many
            && let Some((call, attempt)) = self.in_flight.pop_front()
        {
            let outcome = Outcome::new(black_box(Verdict::Success));
            let _ = black_box(self.engine.settle(call, attempt, outcome, self.now, self.random));
        }
        let decision = self.engine.admit(self.stack, Key::WHOLE, Facts::default(), self.now, self.random);
        if let (Step::Send(attempt), Some(call)) = (decision.step, decision.call) {
            self.in_flight.push_back((call, attempt));
        }
        decision.step
    }

    /// Numbers for names that were never seen.
    pub fn keys(&mut self, count: usize) -> Vec<Key> {
        (0..count).map(|_| self.engine.intern().expect("there is room for a key")).collect()
    }

    /// Begins a call that does not end.
    pub fn hold(&mut self) {
        self.replace_oldest(usize::MAX);
    }

    /// Fails until the breaker opens.
    pub fn open_breaker(&mut self) {
        while !matches!(self.call(Key::WHOLE, || Verdict::Transient), Step::Reject(_)) {}
    }
}

/// The five that are measured beside seatbelt's three.
pub fn full() -> StackConfig {
    StackConfig {
        deadline: Some(deadline::Config::default()),
        retry: Some(retry::Config::default()),
        budget: Some(Part::Own(budget::Config::default())),
        breaker: Some(Part::Own(circuit_breaker::Config::default())),
        attempt_timeout: Some(attempt_timeout::Config::default()),
        ..StackConfig::default()
    }
}

/// The same, with a breaker that stays open as long as anybody measures.
pub fn open_for_a_day(config: StackConfig) -> StackConfig {
    let open_for = Duration::from_secs(86_400);
    let breaker = circuit_breaker::Config { open_for, max_open_for: open_for, ..circuit_breaker::Config::default() };
    StackConfig { breaker: Some(Part::Own(breaker)), ..config }
}

/// Every policy there is. Nothing is refused: the limits are as wide as they can be.
pub fn all() -> StackConfig {
    let concurrency_limiter =
        concurrency_limiter::Config { initial: MANY, min: MANY, max: MANY, ..concurrency_limiter::Config::default() };
    StackConfig {
        hedge: Some(hedge::Config::default()),
        throttler: Some(Part::Own(throttler::Config::default())),
        concurrency_limiter: Some(Part::Own(concurrency_limiter)),
        bulkhead: Some(Part::Own(bulkhead::Config { concurrency: MANY, ..bulkhead::Config::default() })),
        rate_limiter: Some(Part::Own(unlimited())),
        ..full()
    }
}

/// A rate that no benchmark reaches.
pub fn unlimited() -> rate_limiter::Config {
    let interval = Duration::from_millis(1);
    rate_limiter::Config { rate: 1_000_000, interval, ..rate_limiter::Config::default() }
}

/// The most that are ever in flight.
pub const MANY: u32 = 10_000;
/// So short that no call in flight comes to its timeout meanwhile.
const SHORT_STEP: Duration = Duration::from_nanos(10_000);
const LATENCY: Duration = Duration::from_millis(1);
