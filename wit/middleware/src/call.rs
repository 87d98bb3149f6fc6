//! Drives a call: asks the engine, does what it says, tells it how that ended. Nothing here decides; docs/driving.md is what
//! it follows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use forbear::{
    AttemptNumber, AttemptSet, CallId, Decision, HostTime, Kind, Outcome, OwnLimits, RefusalReason, Rejection, Step,
    Verdict,
};

use crate::bindings::{ErrorCode, Request, Response, send_on};
#[cfg(feature = "state")]
use crate::state;
use crate::upload::{Delivery, Upload};
use crate::{clock, facts, held, outcome, site};

/// One request, guarded.
pub async fn send(request: Request) -> Result<Response, ErrorCode> {
    let (door, limits) = site::with(|site| (site.door, site.limits))?;
    #[cfg(feature = "state")]
    state::load().await;
    let length = facts::length(&request);
    let facts = facts::of(&request, length, door.replay);
    let origin = if door.by_origin { facts::origin(&request) } else { None };
    let started = clock::now();
    let decision = site::with(|site| site.admit(origin.as_deref(), facts))?;
    let call =
        Call { id: decision.call, started, limits, sent: 0, running: Vec::new(), ended: Vec::new(), timer: None };
    if let Step::Reject(refusal) = decision.step {
        return outcome::refused(refusal, decision.at, false);
    }
    let upload = Upload::begin(request, length, door.replay).await;
    let result = call.drive(upload, decision).await;
    #[cfg(feature = "state")]
    state::save_soon();
    result
}

/// One call. Dropped before its end, it tells the engine that the caller left.
struct Call {
    id: Option<CallId>,
    started: HostTime,
    limits: OwnLimits,
    sent: AttemptNumber,
    running: Vec<Running>,
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
    sending: Pin<Box<dyn Future<Output = Result<Response, ErrorCode>>>>,
    delivery: Delivery,
}

/// An attempt that has ended, with its result in hand.
struct Ended {
    number: AttemptNumber,
    result: Result<Response, ErrorCode>,
    delivery: Delivery,
}

enum Event {
    Ended(AttemptNumber),
    Due,
}

impl Call {
    async fn drive(mut self, mut upload: Upload, mut decision: Decision) -> Result<Response, ErrorCode> {
        loop {
            if self.must_end(&upload, &decision) {
                return self.finish(&mut upload, self.sent, false);
            }
            self.give_up(decision.drop);
            match decision.step {
                Step::Send(number) => self.start(&upload, number),
                Step::Wait => {}
                Step::Done { attempt, held, .. } => {
                    if !held {
                        self.over();
                    }
                    return self.finish(&mut upload, attempt, held);
                }
                Step::Reject(refusal) => {
                    self.over();
                    return outcome::refused(refusal, decision.at, self.sent > 0);
                }
                Step::Unguarded => return self.go_on_alone(upload).await,
            }
            let event = poll_fn(|context| self.poll(decision.at, context)).await;
            let Some(id) = self.id else { return self.go_on_alone(upload).await };
            decision = site::with(|site| match event {
                Event::Due => site.wake(id),
                Event::Ended(number) => site.settle(id, number, self.outcome(number)),
            })?;
        }
    }

    /// Whether another attempt was decided on that has no body any more: it outgrew what is kept, which shows too late to be
    /// a fact of the call. The call ends with what it has.
    fn must_end(&mut self, upload: &Upload, decision: &Decision) -> bool {
        let goes_on = matches!(decision.step, Step::Send(_) | Step::Wait);
        let in_flight = self.running.iter().any(|attempt| !decision.drop.contains(attempt.number));
        if !goes_on || self.sent == 0 || in_flight || upload.can_be_sent() {
            return false;
        }
        let mut former = decision.drop;
        former.remove(if self.ended.iter().any(|ended| ended.number == self.sent) { self.sent } else { 0 });
        self.give_up(former);
        true
    }

    fn start(&mut self, upload: &Upload, number: AttemptNumber) {
        let (request, delivery) = upload.attempt();
        self.sent = number;
        self.running.push(Running { number, started: clock::now(), sending: Box::pin(send_on(request)), delivery });
    }

    fn give_up(&mut self, dropped: AttemptSet) {
        self.running.extract_if(.., |attempt| dropped.contains(attempt.number)).for_each(Running::give_up);
        self.ended.retain(|attempt| !dropped.contains(attempt.number));
    }

    /// The first thing that happens: an attempt ends, the instant comes, or another call rings.
    fn poll(&mut self, at: Option<HostTime>, context: &mut Context<'_>) -> Poll<Event> {
        for place in 0..self.running.len() {
            if let Poll::Ready(result) = self.running[place].sending.as_mut().poll(context) {
                let Running { number, delivery, .. } = self.running.remove(place);
                self.ended.push(Ended { number, result, delivery });
                return Poll::Ready(Event::Ended(number));
            }
        }
        if self.timer.as_ref().map(|timer| timer.at) != at {
            self.timer = at.map(|at| Timer { at, ringing: Box::pin(clock::until(at)) });
        }
        if self.timer.as_mut().is_some_and(|timer| timer.ringing.as_mut().poll(context).is_ready()) {
            self.timer = None;
            return Poll::Ready(Event::Due);
        }
        match self.id.map(|id| site::with(|site| site.rung(id, context))) {
            Some(Ok(true)) => Poll::Ready(Event::Due),
            _ => Poll::Pending,
        }
    }

    fn outcome(&self, number: AttemptNumber) -> forbear::Outcome {
        let ended = self.ended.iter().find(|ended| ended.number == number);
        ended.map_or(forbear::Outcome::new(forbear::Verdict::Cancelled), |ended| outcome::of(&ended.result))
    }

    /// Hands over this attempt's result; without one, it timed out. A call that is to be held goes on until its body ends.
    fn finish(&mut self, upload: &mut Upload, number: AttemptNumber, hold: bool) -> Result<Response, ErrorCode> {
        let Some(place) = self.ended.iter().position(|ended| ended.number == number) else {
            return outcome::timed_out();
        };
        let Ended { result, delivery, .. } = self.ended.swap_remove(place);
        upload.tell(delivery);
        match (result, self.id) {
            (Ok(response), Some(id)) if hold => {
                self.over();
                Ok(held::to_its_end(response, id))
            }
            (result, _) => result,
        }
    }

    /// The engine does not know this call: docs/driving.md, "Unguarded". How it ends may still be evidence, where only its
    /// lease has ended.
    async fn go_on_alone(mut self, mut upload: Upload) -> Result<Response, ErrorCode> {
        let is_in_hand = self.ended.iter().any(|ended| ended.result.is_ok());
        if self.running.is_empty() && self.ended.is_empty() {
            let is_late = self.limits.end(self.started, None).is_some_and(|(end, _)| end <= clock::now());
            if is_late || !upload.can_be_sent() {
                let refusal = Rejection { reason: RefusalReason::DeadlineExceeded, policy: Kind::Deadline };
                return outcome::refused(refusal, None, self.sent > 0);
            }
            self.start(&upload, self.sent + 1);
        }
        while let (false, Some(latest)) = (is_in_hand, self.running.last()) {
            let (number, end) =
                (latest.number, self.limits.end(self.started, Some(latest.started)).map(|(end, _)| end));
            match poll_fn(|context| self.poll(end, context)).await {
                Event::Ended(number) => {
                    self.tell(number, self.outcome(number))?;
                    break;
                }
                Event::Due if end.is_some_and(|end| end <= clock::now()) => {
                    self.tell(number, Outcome::new(Verdict::Timeout))?;
                    self.running.drain(..).for_each(Running::give_up);
                    return outcome::timed_out();
                }
                Event::Due => {} // a hint, which is nothing to a call that waits for nobody
            }
        }
        self.running.drain(..).for_each(Running::give_up);
        let number = self.ended.last().map_or(self.sent, |ended| ended.number);
        self.finish(&mut upload, number, false)
    }

    /// What the engine answers is nothing to a call that goes on alone.
    fn tell(&self, number: AttemptNumber, outcome: Outcome) -> Result<(), ErrorCode> {
        self.id.map_or(Ok(()), |id| site::with(|site| _ = site.settle(id, number, outcome)))
    }

    /// The engine has nothing more to hear from it.
    fn over(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = site::with(|site| site.awake(id));
        }
    }
}

impl Running {
    /// A host closes the connection of a request that is dropped. A handler is left to itself, and goes on to its end with
    /// nobody to hear it: an application that is built with wit-bindgen 0.63 traps when it is cancelled, unless it has the
    /// feature `inter-task-wakeup`, and takes all other requests of its instance along.
    fn give_up(self) {
        #[cfg(feature = "handler")]
        wit_bindgen::spawn_local(async move {
            let Self { sending, delivery: _until_then, .. } = self;
            let _ = sending.await;
        });
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = site::with(|site| site.cancel(id));
        }
    }
}
