//! The judge: knows what a host knows, and says which law a decision breaks.

use forbear::event::{Event, VerdictWord, What};
use forbear::policy::circuit_breaker::StateWord;
use forbear::{
    CallId, Decision, Duration, Facts, HostTime, Instant, MAX_ATTEMPTS, Outcome, RefusalReason, Rejection, Step,
    StopReason, Verdict,
};

/// A law that was broken, and how.
#[derive(Debug)]
pub struct Violation {
    pub law: u8,
    pub text: String,
}

/// Ends a check: law so and so is broken.
macro_rules! broken {
    ($law:expr, $($text:tt)+) => { return Err(crate::judge::Violation { law: $law, text: format!($($text)+) }) };
}
pub(crate) use broken;

/// One call, as its host sees it.
#[derive(Debug)]
pub struct Caller {
    pub id: CallId,
    pub stack: usize,
    pub name: Option<u16>,
    pub facts: Facts,
    /// How far the clock of its request lags the others'.
    pub lag: u64,
    /// The reading its clock stands still at.
    pub stuck: Option<HostTime>,
    pub started: HostTime,
    /// When it is out of time.
    pub deadline: Instant,
    pub state: State,
    pub attempts: Vec<Attempt>,
    pub promise: Promise,
    /// Until when it waits before a repeat; what it was paid with goes back if it never comes.
    pub backoff: Option<Instant>,
    /// When the host's timer rings.
    pub timer: Option<u64>,
    /// Whether it rings before the time that it was set for, and so proves nothing.
    pub is_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The engine's.
    Live,
    /// Done, but its body holds a slot.
    Held,
    /// The engine does not know it any more, or never did.
    Unguarded,
    /// Over.
    Over,
    /// Its host died without a word.
    Dead,
}

#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub sent_at: HostTime,
    /// When and how it ends by itself.
    pub ends: Option<(u64, Outcome)>,
    /// Whether it has not ended yet, though it may have been given up.
    pub runs: bool,
    /// Whether its call's lease has surely run ever since it was sent.
    pub leased: bool,
    pub state: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    InFlight,
    /// The host has its result.
    InHand(Verdict),
    /// Given up in flight.
    GivenUp {
        timed_out: bool,
    },
    /// Its result was thrown away.
    Discarded,
    /// Its result is the caller's.
    HandedOn,
}

/// When the engine is to hear of a call, and when it may forget it.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    pub at: Option<Instant>,
    /// Its lease does not end before this,
    pub leased: Instant,
    /// and has ended at this.
    pub ended: Instant,
}

impl Promise {
    pub const NONE: Self = Self { at: None, leased: Instant::PAST, ended: Instant::NEVER };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Admit,
    Settle,
    Wake,
    Cancel,
}

/// What a verb was answered with, and what could be seen of it.
#[derive(Debug)]
pub struct Answered {
    pub decision: Decision,
    pub events: Vec<Event>,
    /// The engine's time in the verb.
    pub now: Instant,
    pub host: HostTime,
    /// Whether the snapshots before and after are equal, if anybody looked.
    pub same: Option<bool>,
}

impl Answered {
    /// A change of somebody else's may be in the snapshot, too: what an ended lease gave back.
    pub fn left_a_trace(&self) -> bool {
        self.same == Some(false) && !self.tells(|what| matches!(what, What::LeaseEnded { .. }))
    }

    pub fn tells(&self, which: impl Fn(&What) -> bool) -> bool {
        self.events.iter().any(|event| which(&event.what))
    }
}

/// What the world around the call looks like.
pub struct Around {
    pub most_beside: usize,
    pub in_flight: usize,
    pub limit: usize,
    /// Whether the call stands in a line.
    pub in_line: bool,
    pub circuit: Option<StateWord>,
    /// Whether the throttler counts what it refuses: the one documented exception to law 6.
    pub counts_refusals: bool,
    /// Whether another call whose lease runs has an attempt in flight.
    pub others_run: bool,
    /// or a slot until its body ends.
    pub others_hold: bool,
    /// or may stand in the concurrency limiter's line.
    pub others_wait: bool,
}

impl Caller {
    pub fn new(id: CallId, stack: usize, name: Option<u16>, facts: Facts, started: HostTime) -> Self {
        Self {
            id,
            stack,
            name,
            facts,
            lag: 0,
            stuck: None,
            started,
            deadline: Instant::NEVER,
            state: State::Live,
            attempts: Vec::new(),
            promise: Promise::NONE,
            backoff: None,
            timer: None,
            is_early: false,
        }
    }

    pub fn running(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.state == Fate::InFlight).count()
    }

    /// How many attempts run, those among them that were given up and ignore it.
    pub fn really_running(&self) -> usize {
        let gone = |attempt: &Attempt| self.facts.droppable && attempt.state != Fate::InFlight;
        self.attempts.iter().filter(|attempt| attempt.runs && attempt.leased && !gone(attempt)).count()
    }

    /// Laws 1, 3, 5, 6, 9: whether the host can act on the decision with nothing else.
    pub fn judge(&mut self, verb: Verb, answered: &Answered, around: &Around) -> Result<(), Violation> {
        let Answered { decision, now, host, .. } = answered;
        let sent_before = self.attempts.len();
        let paid = self.backoff.is_some();
        if *now >= self.promise.leased {
            self.attempts.iter_mut().for_each(|attempt| attempt.leased = false);
        }
        self.drop_attempts(answered)?;
        if let Some(at) = decision.at.filter(|at| at < host) {
            broken!(1, "{at:?} is before now");
        }
        let named = match decision.step {
            Step::Send(_) | Step::Wait | Step::Done { .. } => Some(self.id),
            Step::Reject(_) | Step::Unguarded => None,
        };
        if decision.call != named {
            broken!(1, "the decision is about {:?} instead of {named:?}", decision.call);
        }
        if verb == Verb::Cancel && !matches!(decision.step, Step::Done { attempt: 0, .. } | Step::Unguarded) {
            broken!(1, "a cancel was answered with {:?}", decision.step);
        }
        match decision.step {
            Step::Send(number) => self.judge_send(number, answered, around)?,
            Step::Wait => self.judge_wait(answered)?,
            Step::Done { attempt, reason, held } => self.judge_done(verb, attempt, reason, held, decision)?,
            Step::Reject(rejection) => self.judge_reject(rejection, answered, around)?,
            Step::Unguarded => self.judge_unguarded(verb, answered, around)?,
        }
        self.judge_trace(verb, answered, sent_before, paid, around)?;
        self.note_promise(answered);
        let lasts = matches!(decision.step, Step::Send(_) | Step::Wait) && self.state == State::Live;
        if lasts && self.deadline != Instant::NEVER && self.promise.at.is_none_or(|at| at > self.deadline) {
            broken!(1, "the call is to be heard of at {:?}, after its deadline {:?}", self.promise.at, self.deadline);
        }
        if let Some(delay) = answered.events.iter().find_map(|event| match event.what {
            What::Retry { delay, .. } => Some(delay),
            _ => None,
        }) {
            self.backoff = Some(*now + delay);
        }
        if matches!(decision.step, Step::Send(_)) {
            self.backoff = None;
        }
        Ok(())
    }

    fn drop_attempts(&mut self, answered: &Answered) -> Result<(), Violation> {
        let drop = answered.decision.drop;
        for number in (0..16u8).filter(|number| drop.contains(*number)) {
            let timed_out = answered.tells(|what| {
                matches!(what, What::Settled { attempt, verdict: VerdictWord::Timeout, .. } if *attempt == number)
            });
            let attempt = usize::from(number).checked_sub(1).and_then(|place| self.attempts.get_mut(place));
            let Some(attempt) = attempt else { broken!(1, "attempt {number} is given up and was never sent") };
            attempt.state = match attempt.state {
                Fate::InFlight => Fate::GivenUp { timed_out },
                Fate::InHand(_) => Fate::Discarded,
                Fate::HandedOn => broken!(1, "attempt {number} is given up and was handed on"),
                Fate::GivenUp { .. } | Fate::Discarded => broken!(1, "attempt {number} is given up twice"),
            };
        }
        Ok(())
    }

    fn judge_send(&mut self, number: u8, answered: &Answered, around: &Around) -> Result<(), Violation> {
        if usize::from(number) != self.attempts.len() + 1 || number > MAX_ATTEMPTS {
            broken!(1, "attempt {number} comes after {}", self.attempts.len());
        }
        if self.running() >= around.most_beside {
            broken!(1, "attempt {number} would run beside {} others", self.running());
        }
        if answered.now >= self.deadline {
            broken!(3, "attempt {number} was sent at {:?}, after the deadline {:?}", answered.now, self.deadline);
        }
        if let Some(due) = self.backoff.filter(|due| answered.now < *due) {
            broken!(3, "attempt {number} was sent at {:?}, {due:?} was agreed on", answered.now);
        }
        self.attempts.push(Attempt {
            sent_at: answered.host,
            ends: None,
            runs: true,
            leased: true,
            state: Fate::InFlight,
        });
        Ok(())
    }

    fn judge_wait(&self, answered: &Answered) -> Result<(), Violation> {
        match answered.decision.at {
            None if self.running() == 0 => broken!(1, "the call waits for nothing"),
            Some(at) if at <= answered.host => broken!(1, "the call waits for now"),
            _ => Ok(()),
        }
    }

    fn judge_done(
        &mut self,
        verb: Verb,
        number: u8,
        reason: StopReason,
        held: bool,
        decision: &Decision,
    ) -> Result<(), Violation> {
        if (verb == Verb::Cancel) != (number == 0) || (number == 0) != (reason == StopReason::Cancelled) {
            broken!(1, "{verb:?} ended the call with attempt {number}, {reason:?}");
        }
        if held != decision.at.is_some() {
            broken!(1, "a call that is held: {held} is to be heard of at {:?}", decision.at);
        }
        for (place, attempt) in self.attempts.iter().enumerate() {
            let its = place as u8 + 1;
            match attempt.state {
                Fate::InFlight | Fate::InHand(_) if its != number => {
                    broken!(1, "the call is over and attempt {its} is left over: {:?}", attempt.state)
                }
                Fate::InFlight => broken!(1, "the call is over with attempt {its}, which is in flight"),
                Fate::Discarded | Fate::GivenUp { timed_out: false } if its == number => {
                    broken!(1, "the call is over with attempt {its}, whose result there is none of")
                }
                Fate::InHand(Verdict::Success) if reason != StopReason::Completed => {
                    broken!(1, "a success ends as {reason:?}")
                }
                Fate::InHand(Verdict::Answered) if reason != StopReason::NotRetryable => {
                    broken!(1, "an answer ends as {reason:?}")
                }
                _ => {}
            }
        }
        if usize::from(number) > self.attempts.len() {
            broken!(1, "the call is over with attempt {number}, which was never sent");
        }
        if let Some(named) = usize::from(number).checked_sub(1) {
            self.attempts[named].state = Fate::HandedOn;
        }
        self.state = if held { State::Held } else { State::Over };
        Ok(())
    }

    fn judge_reject(&mut self, rejection: Rejection, answered: &Answered, around: &Around) -> Result<(), Violation> {
        let left = self.attempts.iter().position(|it| matches!(it.state, Fate::InFlight | Fate::InHand(_)));
        if let Some(left) = left {
            broken!(1, "the call is refused and attempt {} is left over", left + 1);
        }
        let full = rejection.reason == RefusalReason::CircuitOpen && answered.decision.at.is_none();
        if full && around.circuit == Some(StateWord::HalfOpen) && !around.others_run {
            broken!(5, "all probes are out, and nobody is there who could have one");
        }
        let limited = rejection.reason == RefusalReason::ConcurrencyLimited;
        if limited && !around.others_run && !around.others_hold && !around.others_wait {
            broken!(5, "the limit is reached, and nobody is there who could run or wait");
        }
        self.state = State::Over;
        Ok(())
    }

    fn judge_unguarded(&mut self, verb: Verb, answered: &Answered, around: &Around) -> Result<(), Violation> {
        if verb == Verb::Admit {
            if around.in_flight < around.limit {
                broken!(9, "a call was turned away with {} of {} in flight", around.in_flight, around.limit);
            }
            if !answered.tells(|what| matches!(what, What::CallsFull { .. })) {
                broken!(9, "a call was turned away without a word");
            }
        } else if answered.now < self.promise.leased {
            broken!(5, "the call was forgotten before its lease ended");
        }
        self.state = State::Unguarded;
        Ok(())
    }

    /// Law 6.
    fn judge_trace(
        &self,
        verb: Verb,
        answered: &Answered,
        sent_before: usize,
        paid: bool,
        around: &Around,
    ) -> Result<(), Violation> {
        let step = answered.decision.step;
        let throttled = match step {
            Step::Reject(rejection) => rejection.reason == RefusalReason::Throttled,
            // A refusal may be waited out.
            step => step == Step::Wait,
        };
        let harmless = match verb {
            _ if throttled && around.counts_refusals => false,
            Verb::Cancel => !paid,
            Verb::Admit | Verb::Wake => sent_before == 0 && matches!(step, Step::Reject(_) | Step::Wait),
            Verb::Settle => false,
        };
        if harmless && answered.left_a_trace() {
            broken!(6, "{verb:?} was answered with {step:?} and left a trace");
        }
        if verb == Verb::Cancel && answered.tells(|what| matches!(what, What::Recorded { .. })) {
            broken!(6, "a cancelled attempt is evidence");
        }
        Ok(())
    }

    fn note_promise(&mut self, answered: &Answered) {
        let Answered { decision, now, host, .. } = answered;
        self.promise = match decision.at {
            Some(at) => {
                let at = *now + at.since(*host);
                Promise { at: Some(at), leased: at + GRACE, ended: at + GRACE + ROUNDED }
            }
            None => Promise { at: None, leased: *now + MAX_LEASE, ended: *now + MAX_LEASE },
        };
    }
}

/// Law 2, of the events of one verb.
pub fn judge_events(answered: &Answered, caller: Option<&Caller>) -> Result<(), Violation> {
    for event in &answered.events {
        if event.at != answered.now {
            broken!(2, "an event of {:?} was told at {:?}", event.at, answered.now);
        }
        let (What::Done { elapsed, .. }, Some(caller)) = (event.what, caller) else { continue };
        if elapsed != answered.host.since(caller.started) {
            broken!(2, "the call took {elapsed:?} by the engine's clock and not by its own");
        }
    }
    Ok(())
}

const GRACE: Duration = Duration::from_secs(5);
const ROUNDED: Duration = Duration::from_millis(250);
const MAX_LEASE: Duration = Duration::from_secs(60);
