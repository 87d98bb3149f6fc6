//! A script: verbs and the answers they must get, each in a line that reads aloud.
//!
//! An answer is written as in `send 2, drop 1, until 1500`: the step, the attempts to give up, and the instant that the
//! decision speaks of, in milliseconds on the script's clock.

use forbear::event::{Event, What};
use forbear::{
    CallId, Decision, Duration, Engine, Facts, HostTime, Key, Outcome, Overload, StackConfig, StackId, Step, Verdict,
};

pub struct Script {
    pub engine: Engine,
}

impl Script {
    pub fn new() -> Self {
        let mut engine = Engine::default();
        engine.events().listen(true);
        Self { engine }
    }

    pub fn stack(&mut self, config: StackConfig) -> StackId {
        self.engine.add_stack(config).unwrap()
    }

    /// A GET begins; what anybody may repeat.
    #[track_caller]
    pub fn admit(&mut self, stack: StackId, now: HostTime, answer: &str) -> CallId {
        self.admit_with(stack, Facts::default(), now, answer)
    }

    #[track_caller]
    pub fn admit_with(&mut self, stack: StackId, facts: Facts, now: HostTime, answer: &str) -> CallId {
        let decision = self.engine.admit(stack, Key::WHOLE, facts, now, RANDOM);
        assert_eq!(told(&decision), answer);
        decision.call.unwrap_or(CallId::from_u64(0))
    }

    #[track_caller]
    pub fn settle(&mut self, call: CallId, attempt: u8, outcome: Outcome, now: HostTime, answer: &str) {
        assert_eq!(told(&self.engine.settle(call, attempt, outcome, now, RANDOM)), answer);
    }

    #[track_caller]
    pub fn wake(&mut self, call: CallId, now: HostTime, answer: &str) {
        assert_eq!(told(&self.engine.wake(call, now, RANDOM)), answer);
    }

    /// The timer that was set for the latest decision's instant has rung.
    #[track_caller]
    pub fn due(&mut self, call: CallId, now: HostTime, answer: &str) {
        assert_eq!(told(&self.engine.due(call, now, RANDOM)), answer);
    }

    #[track_caller]
    pub fn cancel(&mut self, call: CallId, now: HostTime, answer: &str) {
        assert_eq!(told(&self.engine.cancel(call, now)), answer);
    }

    /// A call that begins now and ends at once; whatever the answers are.
    pub fn pass_by(&mut self, stack: StackId, outcome: Outcome, now: HostTime) {
        if let Decision { call: Some(call), step: Step::Send(1), .. } =
            self.engine.admit(stack, Key::WHOLE, Facts::default(), now, RANDOM)
        {
            let _ = self.engine.settle(call, 1, outcome, now, RANDOM);
            let _ = self.engine.cancel(call, now);
        }
    }

    /// What has happened since this was asked last.
    pub fn events(&mut self) -> Vec<What> {
        std::iter::from_fn(|| self.engine.events().pop()).map(|Event { what, .. }| what).collect()
    }
}

pub fn told(decision: &Decision) -> String {
    let mut line = match decision.step {
        Step::Send(attempt) => format!("send {attempt}"),
        Step::Wait => "wait".to_owned(),
        Step::Done { attempt, reason, held } => {
            format!("done {attempt} {}{}", reason.word(), if held { " held" } else { "" })
        }
        Step::Reject(rejection) => format!("reject {} {}", rejection.policy.word(), rejection.reason.word()),
        Step::Unguarded => "unguarded".to_owned(),
    };
    let dropped: Vec<String> =
        (0..=15u8).filter(|attempt| decision.drop.contains(*attempt)).map(|attempt| attempt.to_string()).collect();
    if !dropped.is_empty() {
        line += &format!(", drop {}", dropped.join(" "));
    }
    if let Some(at) = decision.at {
        line += &format!(", until {}", at.as_nanos() / 1_000_000);
    }
    line
}

pub fn at(ms: u64) -> HostTime {
    HostTime::from_millis(ms)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn success() -> Outcome {
    Outcome::new(Verdict::Success)
}

/// A 500.
pub fn failure() -> Outcome {
    Outcome::new(Verdict::Transient)
}

/// A 503 that says for how long it wants to be left alone.
pub fn unavailable(retry_after: Duration) -> Outcome {
    Outcome { retry_after: Some(retry_after), ..Outcome::new(Verdict::Overload(Overload::Unavailable)) }
}

const RANDOM: u64 = 7;
