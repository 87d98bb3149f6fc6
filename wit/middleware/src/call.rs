//! Drives a call: asks the engine, does what it says, tells it how that ended. Nothing here decides; docs/driving.md is what
//! it follows.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use forbear::{AttemptNumber, AttemptSet, CallId, Decision, Facts, HostTime, Outcome, OwnLimits, Step, Verdict};

use crate::bindings::{ErrorCode, Request, Response};
#[cfg(feature = "state")]
use crate::state;
use crate::upload::{Delivery, Sent, Told, Upload};
use crate::{clock, facts, held, outcome, site};

mod alone;
#[cfg(feature = "handler")]
mod late;

/// One request, guarded.
pub async fn send(request: Request) -> Result<Response, ErrorCode> {
    let (http, limits, single) = site::with(|site| (site.http, site.limits, site.is_sent_once(&request)))?;
    #[cfg(feature = "state")]
    state::load().await;
    let length = facts::length(&request);
    let facts = Facts { single, ..facts::of(&request, length, http.replay) };
    let origin = if http.by_origin { facts::origin(&request) } else { None };
    let started = clock::now();
    let decision = site::with(|site| site.admit(origin.as_deref(), facts))?;
    if let Step::Reject(refusal) = decision.step {
        return outcome::refused(refusal, decision.at, false);
    }
    let (upload, told) = Upload::begin(request, length, http.replay);
    let (running, ended) = (Vec::new(), Vec::new());
    let call = Call {
        id: decision.call,
        upload,
        told: Some(told),
        started,
        limits,
        sent: 0,
        running,
        #[cfg(feature = "handler")]
        late: Vec::new(),
        ended,
        timer: None,
    };
    let result = call.drive(decision).await;
    #[cfg(feature = "state")]
    state::save_soon();
    result
}

/// One call. Dropped before its end, it tells the engine that the caller left.
struct Call {
    id: Option<CallId>,
    upload: Rc<Upload>,
    told: Option<Told>,
    started: HostTime,
    limits: OwnLimits,
    sent: AttemptNumber,
    running: Vec<Running>,
    /// Given up, and left to themselves.
    #[cfg(feature = "handler")]
    late: Vec<late::Late>,
    ended: Vec<Ended>,
    timer: Option<Timer>,
}

/// The one timer of a call.
struct Timer {
    at: HostTime,
    ringing: Pin<Box<dyn Future<Output = ()>>>,
}

/// An attempt in flight. To drop it is to cancel it.
struct Running {
    number: AttemptNumber,
    started: HostTime,
    sending: Pin<Box<dyn Future<Output = Sent>>>,
}

/// An attempt that has ended, with its result in hand.
struct Ended {
    number: AttemptNumber,
    result: Result<Response, ErrorCode>,
    delivery: Delivery,
}

enum Event {
    Ended(AttemptNumber),
    /// One that was given up has really ended.
    #[cfg(feature = "handler")]
    EndedLate(AttemptNumber),
    /// The timer has rung.
    Due,
    Hint,
}

impl Call {
    async fn drive(mut self, mut decision: Decision) -> Result<Response, ErrorCode> {
        loop {
            if self.must_end(&decision) {
                return self.finish(self.sent, false);
            }
            self.give_up(decision.drop);
            match decision.step {
                Step::Send(number) => self.start(number),
                Step::Wait => {}
                Step::Done { attempt, held, .. } => {
                    if !held {
                        self.over();
                    }
                    return self.finish(attempt, held);
                }
                Step::Reject(refusal) => {
                    self.over();
                    return outcome::refused(refusal, decision.at, self.sent > 0);
                }
                Step::Unguarded => return self.go_on_alone().await,
            }
            let event = poll_fn(|context| self.poll(decision.at, context)).await;
            let Some(id) = self.id else { return self.go_on_alone().await };
            decision = site::with(|site| match event {
                Event::Hint => site.wake(id),
                Event::Due => {
                    // An upstream that does not take what has come of a long body is what is waited for.
                    if !self.upload.waits_for_its_sender() {
                        self.running.iter().for_each(|attempt| site.sent(id, attempt.number));
                    }
                    site.wake(id) // a monotonic clock needs no timer for a witness
                }
                Event::Ended(number) => site.settle(id, number, self.outcome(number)),
                #[cfg(feature = "handler")]
                Event::EndedLate(number) => site.settle(id, number, Outcome::new(Verdict::Cancelled)),
            })?;
        }
    }

    /// Whether another attempt was decided on that has no body any more: it outgrew what is kept, which shows too late to be
    /// a fact of the call. The call ends with what it has.
    fn must_end(&mut self, decision: &Decision) -> bool {
        let goes_on = matches!(decision.step, Step::Send(_) | Step::Wait);
        let in_flight = self.running.iter().any(|attempt| !decision.drop.contains(attempt.number));
        if !goes_on || self.sent == 0 || in_flight || self.upload.can_be_sent() {
            return false;
        }
        let mut former = decision.drop;
        former.remove(if self.ended.iter().any(|ended| ended.number == self.sent) { self.sent } else { 0 });
        self.give_up(former);
        true
    }

    fn start(&mut self, number: AttemptNumber) {
        self.sent = number;
        let id = self.id;
        let came = move || id.into_iter().for_each(|id| _ = site::with(|site| site.sent(id, number)));
        let sending = Box::pin(self.upload.clone().send(came));
        self.running.push(Running { number, started: clock::now(), sending });
    }

    fn give_up(&mut self, dropped: AttemptSet) {
        let given_up = self.running.extract_if(.., |attempt| dropped.contains(attempt.number)).collect();
        self.leave_alone(given_up);
        self.ended.retain(|attempt| !dropped.contains(attempt.number));
    }

    /// A host closes the connection of a request that is dropped. A handler goes on.
    fn leave_alone(&mut self, given_up: Vec<Running>) {
        #[cfg(feature = "handler")]
        self.late.extend(given_up.into_iter().map(|attempt| late::Late { call: self.id, attempt }));
        #[cfg(not(feature = "handler"))]
        drop(given_up);
    }

    /// The first thing that happens: an attempt ends, the instant comes, or another call rings.
    fn poll(&mut self, at: Option<HostTime>, context: &mut Context<'_>) -> Poll<Event> {
        for place in 0..self.running.len() {
            if let Poll::Ready((result, delivery)) = self.running[place].sending.as_mut().poll(context) {
                let Running { number, .. } = self.running.remove(place);
                self.ended.push(Ended { number, result, delivery });
                return Poll::Ready(Event::Ended(number));
            }
        }
        #[cfg(feature = "handler")]
        if let Poll::Ready(number) = late::poll(&mut self.late, context) {
            return Poll::Ready(Event::EndedLate(number));
        }
        if self.timer.as_ref().map(|timer| timer.at) != at {
            self.timer = at.map(|at| Timer { at, ringing: Box::pin(clock::until(at)) });
        }
        if self.timer.as_mut().is_some_and(|timer| timer.ringing.as_mut().poll(context).is_ready()) {
            self.timer = None;
            return Poll::Ready(Event::Due);
        }
        match self.id.map(|id| site::with(|site| site.rung(id, context))) {
            Some(Ok(true)) => Poll::Ready(Event::Hint),
            _ => Poll::Pending,
        }
    }

    fn outcome(&self, number: AttemptNumber) -> Outcome {
        match self.ended.iter().find(|ended| ended.number == number).map(|ended| &ended.result) {
            None => Outcome::new(Verdict::Cancelled),
            Some(Err(error)) if self.upload.is_to_blame(error) => Outcome::new(Verdict::Defect),
            Some(result) => {
                let outcome = outcome::of(result);
                if self.is_late(&outcome, result) {
                    Outcome { verdict: Verdict::Inconclusive, ..outcome }
                } else {
                    outcome
                }
            }
        }
    }

    /// Whether the sender of the body may be why this ended: while that is waited for, time that is up, a connection that is
    /// closed and a 408 say nothing about the upstream.
    fn is_late(&self, outcome: &Outcome, result: &Result<Response, ErrorCode>) -> bool {
        let is_failure = matches!(outcome.verdict, Verdict::Transient | Verdict::Timeout) && !outcome.never_sent;
        let may_be = result.as_ref().is_ok_and(|response| response.get_status_code() == REQUEST_TIMEOUT);
        is_failure && (result.is_err() || may_be) && self.upload.waits_for_its_sender()
    }

    /// Hands over this attempt's result; without one, it timed out. A call that is to be held goes on until its body ends.
    fn finish(&mut self, number: AttemptNumber, hold: bool) -> Result<Response, ErrorCode> {
        let Some(place) = self.ended.iter().position(|ended| ended.number == number) else {
            return outcome::timed_out();
        };
        let Ended { result, delivery, .. } = self.ended.swap_remove(place);
        if let Some(told) = self.told.take() {
            told.of(delivery);
        }
        match (result, self.id) {
            (Ok(response), Some(id)) if hold => {
                self.over();
                Ok(held::to_its_end(response, id))
            }
            (result, _) => result,
        }
    }

    /// The engine has nothing more to hear from it.
    fn over(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = site::with(|site| site.awake(id));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = site::with(|site| site.cancel(id));
            // What is dropped with the call has ended with it.
            #[cfg(feature = "handler")]
            for attempt in &self.running {
                let _ = site::with(|site| site.settle(id, attempt.number, Outcome::new(Verdict::Cancelled)));
            }
        }
        #[cfg(feature = "handler")]
        self.late.drain(..).for_each(late::Late::outlive);
    }
}

const REQUEST_TIMEOUT: u16 = 408;
