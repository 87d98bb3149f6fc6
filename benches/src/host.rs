//! The smallest host there is: it does what the engine says, on a clock of its own making.

use std::hint::black_box;

use forbear::policy::{attempt_timeout, budget, circuit_breaker, deadline, retry};
use forbear::{Duration, Engine, Facts, HostTime, Key, Limits, Outcome, Part, StackConfig, StackId, Step, Verdict};

pub struct Host {
    engine: Engine,
    stack: StackId,
    now: HostTime,
    random: u64,
}

impl Host {
    pub fn new(config: StackConfig) -> Self {
        let mut engine = Engine::new(Limits::default());
        let stack = engine.add_stack(config).expect("the defaults are a configuration");
        Self { engine, stack, now: HostTime::from_millis(1), random: 0 }
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

    /// Numbers for names that were never seen.
    pub fn keys(&mut self, count: usize) -> Vec<Key> {
        (0..count).map(|_| self.engine.intern().expect("there is room for a key")).collect()
    }

    /// Fails until the breaker opens.
    pub fn open_breaker(&mut self) {
        while !matches!(self.call(Key::WHOLE, || Verdict::Transient), Step::Reject(_)) {}
    }
}

/// The stack that the limits are about.
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
pub fn full_open_for_a_day() -> StackConfig {
    let open_for = Duration::from_secs(86_400);
    let breaker = circuit_breaker::Config { open_for, max_open_for: open_for, ..circuit_breaker::Config::default() };
    StackConfig { breaker: Some(Part::Own(breaker)), ..full() }
}

const LATENCY: Duration = Duration::from_millis(1);
