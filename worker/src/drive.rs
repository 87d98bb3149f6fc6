//! Drives a call: asks the engine, does what it says, tells it how that ended. Nothing here decides.

use forbear::{
    AttemptNumber, AttemptSet, CallId, Decision, Duration, Facts, HostTime, Kind, Outcome, OwnLimits, RefusalReason,
    Rejection, Step, StopReason, Verdict,
};
use wasm_bindgen::JsValue;
use worker::AbortSignal;

use crate::attempt::{Attempt, TIMEOUT_ERROR, brand_of};
use crate::end::{Done, Error, Failed, Report, Result};
use crate::held::Held;
use crate::isolate::{self, Isolate};
use crate::race::{Ended, First, Race, Runner, State};
use crate::{Site, host};

/// What a call is admitted with.
pub struct Order {
    pub key: Option<String>,
    pub facts: Facts,
    pub signal: Option<AbortSignal>,
}

/// Makes a call, from its admission to its end.
pub async fn drive<T: 'static, E: 'static, F>(
    site: &Site,
    order: Order,
    mut operation: impl FnMut(Attempt) -> F,
) -> Result<T, E>
where
    F: Future<Output = Ended<T, E>>,
{
    if let Some(reason) = order.signal.as_ref().and_then(AbortSignal::reason) {
        let report = Report {
            attempts: 0,
            elapsed: std::time::Duration::ZERO,
            stop_reason: Some(StopReason::Cancelled),
            retry_after: None,
            key: order.key,
        };
        return Err(Failed { error: Error::Left(reason), report });
    }
    let (mut driver, mut decision) = Driver::begin(site, order);
    let mut ended = None;
    loop {
        match decision.step {
            Step::Send(attempt) => {
                driver.give_up(decision.drop, true, decision.timed_out);
                driver.start(attempt, &mut operation);
            }
            Step::Wait => driver.give_up(decision.drop, true, decision.timed_out),
            Step::Done { attempt, reason, held } => return driver.done(&decision, attempt, reason, held),
            Step::Reject(rejection) => return driver.refused(&decision, rejection),
            Step::Unguarded => return driver.alone(ended, operation).await,
        }
        let delay = decision.at.map(|at| at.since(driver.now));
        let first = driver.race.first(delay).await;
        (decision, ended) = match first {
            First::Left => return driver.left(),
            First::Due => (driver.ask(Isolate::due), None),
            First::Early => (driver.ask(Isolate::wake), None),
            First::Ended(attempt) => (driver.settle(attempt), Some(attempt)),
        };
    }
}

/// One call. Dropped before its end it leaves: the engine hears of it, and what is in flight is aborted.
struct Driver<T, E, F> {
    /// Its handle, while the engine has something of it.
    call: Option<CallId>,
    key: Option<String>,
    signal: Option<AbortSignal>,
    race: Race<T, E, F>,
    started: HostTime,
    limits: OwnLimits,
    now: HostTime,
    sent: AttemptNumber,
    /// How long to wait before the same is tried again, where the budget did not pay and knows.
    again: Option<Duration>,
}

impl<T: 'static, E: 'static, F: Future<Output = Ended<T, E>>> Driver<T, E, F> {
    fn begin(site: &Site, Order { key, facts, signal }: Order) -> (Self, Decision) {
        let (decision, now) = asked(|isolate| isolate.admit(site.stack, key.as_deref(), facts));
        let limits = OwnLimits { total: facts.timeout.into_iter().chain(site.limits.total).min(), ..site.limits };
        let race = Race::new(site.stack, signal.clone());
        let driver = Self { call: decision.call, key, signal, race, started: now, limits, now, sent: 0, again: None };
        isolate::tell();
        (driver, decision)
    }

    fn start(&mut self, attempt: AttemptNumber, operation: &mut impl FnMut(Attempt) -> F) {
        self.sent = attempt;
        self.race.start(attempt, self.call, self.now, operation);
    }

    /// Gives up the attempts of a set: for lack of time, their own where they are `cut`, or because another one won.
    fn give_up(&mut self, set: AttemptSet, timed_out: bool, cut: AttemptSet) {
        self.race.give_up(set, |attempt| timed_out.then(|| limit_in(cut, attempt)));
    }

    fn settle(&mut self, attempt: AttemptNumber) -> Decision {
        let outcome = self.race.ended(attempt).map_or(Outcome::new(Verdict::Defect), |ended| ended.outcome);
        self.ask(|isolate, call| isolate.settle(call, attempt, outcome))
    }

    fn ask(&mut self, verb: impl FnOnce(&mut Isolate, CallId) -> (Decision, HostTime)) -> Decision {
        let Some(call) = self.call else {
            self.now = host::now();
            return Decision::UNGUARDED;
        };
        let (decision, now) = asked(|isolate| verb(isolate, call));
        self.now = now;
        isolate::tell();
        decision
    }

    // ——— the end ———

    fn done(mut self, decision: &Decision, number: AttemptNumber, reason: StopReason, held: bool) -> Result<T, E> {
        let call = self.call.take();
        self.again = decision.retry_after;
        let timed_out = decision.drop.contains(number);
        let mut others = decision.drop;
        others.remove(number);
        self.give_up(others, timed_out, decision.timed_out);
        let Some(mut attempt) = self.race.take(number) else { return self.timed_out(Kind::Deadline, number, reason) };
        if timed_out {
            let policy = limit_in(decision.timed_out, number);
            attempt.give_up(Some(policy));
            let reason = if policy == Kind::Deadline { StopReason::DeadlineExceeded } else { reason };
            return self.timed_out(policy, number, reason);
        }
        let held = call.filter(|_| held).map(|call| Held::new(call, decision.at.map(|at| at.since(self.now))));
        match attempt.hand_over() {
            State::Ended(Ended { result: Ok(value), .. }) => {
                Ok(Done { value, report: self.report(Some(reason)), held })
            }
            State::Ended(Ended { result: Err(error), .. }) => self.fail(Error::Upstream(error), Some(reason)),
            State::GivenUp(policy) => self.timed_out(policy.unwrap_or(Kind::Deadline), number, reason),
            State::Running(_) => self.timed_out(Kind::Deadline, number, reason),
        }
    }

    fn refused(mut self, decision: &Decision, Rejection { reason, policy }: Rejection) -> Result<T, E> {
        self.call = None;
        self.give_up(decision.drop, true, decision.timed_out);
        if policy == Kind::Deadline && self.sent > 0 {
            let attempt = self.sent;
            return self.timed_out(policy, attempt, StopReason::DeadlineExceeded);
        }
        let retry_after = decision.at.map(|at| at.since(self.now).into());
        let (key, last) = (self.key.clone(), self.race.discarded.take());
        self.fail(Error::Rejected { reason, policy, key, retry_after, last }, Some(StopReason::Refused))
    }

    fn timed_out(mut self, policy: Kind, attempt: AttemptNumber, reason: StopReason) -> Result<T, E> {
        let last = self.race.discarded.take();
        self.fail(Error::TimedOut { policy, attempt, last }, Some(reason))
    }

    /// The caller's signal has aborted. What there is to tell the engine, to drop the call tells.
    fn left(mut self) -> Result<T, E> {
        self.now = host::now();
        let reason = self.signal.as_ref().and_then(AbortSignal::reason).unwrap_or(JsValue::UNDEFINED);
        self.fail(Error::Left(reason), Some(StopReason::Cancelled))
    }

    fn fail(self, error: Error<E>, stop_reason: Option<StopReason>) -> Result<T, E> {
        Err(Failed { error, report: self.report(stop_reason) })
    }

    fn report(&self, stop_reason: Option<StopReason>) -> Report {
        Report {
            attempts: self.sent,
            elapsed: self.now.since(self.started).into(),
            stop_reason,
            retry_after: self.again.map(Into::into),
            key: self.key.clone(),
        }
    }

    // ——— without the engine ———

    /// The engine does not know this call: docs/driving.md, "Unguarded". How it ends may still be evidence, where only its lease
    /// has ended.
    async fn alone(mut self, ended: Option<AttemptNumber>, mut operation: impl FnMut(Attempt) -> F) -> Result<T, E> {
        let is_value = |attempt: &AttemptNumber| self.race.ended(*attempt).is_some_and(|ended| ended.result.is_ok());
        let mut last = ended.filter(|attempt| is_value(attempt) || self.race.latest_start().is_none());
        if last.is_none() && self.race.latest_start().is_none() {
            self.now = host::now();
            if self.limits.end(self.started, None).is_some_and(|(end, _)| end <= self.now) {
                let (reason, policy) = (RefusalReason::DeadlineExceeded, Kind::Deadline);
                return self.refused(&Decision::UNGUARDED, Rejection { reason, policy });
            }
            self.start(self.sent.saturating_add(1), &mut operation);
        }
        let mut cut = Kind::Deadline;
        if last.is_none() {
            let (limit, sent) = (self.rest(), self.sent);
            cut = limit.map_or(Kind::Deadline, |(_, policy)| policy);
            last = match self.race.first(limit.map(|(rest, _)| rest)).await {
                First::Left => return self.left(),
                First::Due | First::Early => None,
                First::Ended(attempt) => Some(attempt),
            };
            match last {
                Some(attempt) => _ = self.settle(attempt),
                None => _ = self.ask(|isolate, call| isolate.settle(call, sent, Outcome::new(Verdict::Timeout))),
            }
        }
        match last.and_then(|attempt| self.race.take(attempt)).map(Runner::hand_over) {
            Some(State::Ended(Ended { result: Ok(value), .. })) => {
                Ok(Done { value, report: self.report(None), held: None })
            }
            Some(State::Ended(Ended { result: Err(error), .. })) => self.fail(Error::Upstream(error), None),
            _ => {
                let (attempt, last) = (self.sent, self.race.discarded.take());
                let mut late = AttemptSet::EMPTY;
                self.race.running().for_each(|attempt| late.insert(attempt));
                self.give_up(late, true, if cut == Kind::AttemptTimeout { late } else { AttemptSet::EMPTY });
                self.fail(Error::TimedOut { policy: cut, attempt, last }, None)
            }
        }
    }

    /// How long a call without an engine still waits for its latest attempt, and whose limit that is. Never longer than the limit
    /// itself, though the clock was set back meanwhile.
    fn rest(&self) -> Option<(Duration, Kind)> {
        let (end, policy) = self.limits.end(self.started, self.race.latest_start())?;
        let limit = if policy == Kind::Deadline { self.limits.total } else { self.limits.attempt };
        Some((end.since(host::now()).min(limit?), policy))
    }
}

/// The caller is gone. What ran is no evidence, unless the caller is an outer stack whose time was up: that is a timeout for
/// whoever stands inside it, or an inner breaker would never see a stalled upstream.
impl<T, E, F> Drop for Driver<T, E, F> {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        let reason = self.signal.as_ref().and_then(AbortSignal::reason);
        let timed_out = reason.and_then(|reason| brand_of(&reason)).is_some_and(|brand| brand == TIMEOUT_ERROR);
        let cut: Vec<_> = self.race.running().filter(|_| timed_out).collect();
        isolate::say(move |isolate| {
            for attempt in cut {
                let _ = isolate.settle(call, attempt, Outcome::new(Verdict::Timeout));
            }
            isolate.cancel(call);
        });
        isolate::tell();
    }
}

/// What the engine decides. One that is lent knows of nothing, and the call goes on without it.
fn asked(verb: impl FnOnce(&mut Isolate) -> (Decision, HostTime)) -> (Decision, HostTime) {
    isolate::with(verb).unwrap_or_else(|| (Decision::UNGUARDED, host::now()))
}

/// Which limit ended an attempt, as the engine says it.
fn limit_in(cut: AttemptSet, attempt: AttemptNumber) -> Kind {
    if cut.contains(attempt) { Kind::AttemptTimeout } else { Kind::Deadline }
}
