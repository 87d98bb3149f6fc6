//! What a call waits for: its attempts, one instant, and its caller, whichever comes first.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use forbear::{AttemptNumber, AttemptSet, CallId, Duration, HostTime, Kind, Outcome, StackId};
use wasm_bindgen::JsValue;
use worker::{AbortController, AbortSignal};

use crate::attempt::{Attempt, superseded, timed_out};
use crate::end::Discarded;
use crate::host::{Bell, Timer};
use crate::isolate::within;
use crate::outcome::discard;

pub struct Race<T, E, F> {
    stack: StackId,
    attempts: Vec<Runner<T, E, F>>,
    caller: Option<Caller>,
    /// What the last attempt given up had brought.
    pub discarded: Option<Discarded<E>>,
}

/// What came first.
pub enum First {
    Ended(AttemptNumber),
    Due,
    /// A timer has rung that could not be set for so long.
    Early,
    Left,
}

/// An attempt that was started. Dropped before its result was taken, it is aborted.
pub struct Runner<T, E, F> {
    number: AttemptNumber,
    pub started: HostTime,
    controller: Option<AbortController>,
    pub state: State<T, E, F>,
}

pub enum State<T, E, F> {
    Running(Pin<Box<F>>),
    Ended(Ended<T, E>),
    /// Given up; the policy whose limit it had reached, if it was that.
    GivenUp(Option<Kind>),
}

/// What an attempt brought, and what that says about the upstream.
pub struct Ended<T, E> {
    pub result: Result<T, E>,
    pub outcome: Outcome,
}

impl<T: 'static, E: 'static, F: Future<Output = Ended<T, E>>> Race<T, E, F> {
    pub fn new(stack: StackId, caller: Option<AbortSignal>) -> Self {
        Self { stack, attempts: Vec::new(), caller: caller.map(Caller::new), discarded: None }
    }

    pub fn start(
        &mut self,
        number: AttemptNumber,
        call: Option<CallId>,
        now: HostTime,
        operation: &mut impl FnMut(Attempt) -> F,
    ) {
        let (attempt, controller) = Attempt::new(number, call, self.caller.as_ref().map(|caller| &caller.signal));
        let state = State::Running(Box::pin(operation(attempt)));
        self.attempts.push(Runner { number, started: now, controller: Some(controller), state });
    }

    /// Waits for whatever comes first. The timer is set in here, by whoever awaits it.
    pub async fn first(&mut self, delay: Option<Duration>) -> First {
        let mut timer = delay.and_then(Timer::after);
        poll_fn(|cx| {
            if self.caller.as_ref().is_some_and(|caller| caller.has_left(cx)) {
                return Poll::Ready(First::Left);
            }
            for attempt in &mut self.attempts {
                let State::Running(operation) = &mut attempt.state else { continue };
                if let Poll::Ready(ended) = within(self.stack, || operation.as_mut().poll(cx)) {
                    attempt.state = State::Ended(ended);
                    return Poll::Ready(First::Ended(attempt.number));
                }
            }
            match &mut timer {
                Some(timer) => {
                    Pin::new(&mut *timer).poll(cx).map(|()| if timer.is_cut { First::Early } else { First::Due })
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// When the latest attempt in flight started.
    pub fn latest_start(&self) -> Option<HostTime> {
        let running = self.attempts.iter().filter(|attempt| matches!(attempt.state, State::Running(_)));
        running.map(|attempt| attempt.started).max()
    }

    pub fn ended(&self, number: AttemptNumber) -> Option<&Ended<T, E>> {
        match &self.attempts.iter().find(|attempt| attempt.number == number)?.state {
            State::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// Takes an attempt out, to hand on what it brought.
    pub fn take(&mut self, number: AttemptNumber) -> Option<Runner<T, E, F>> {
        let place = self.attempts.iter().position(|attempt| attempt.number == number)?;
        Some(self.attempts.swap_remove(place))
    }

    /// Gives up the attempts of a set; `cut` says whose limit one has reached, if it is for that.
    pub fn give_up(&mut self, set: AttemptSet, cut: impl Fn(AttemptNumber) -> Option<Kind>) {
        for attempt in &mut self.attempts {
            if set.contains(attempt.number) && !matches!(attempt.state, State::GivenUp(_)) {
                let cut = cut(attempt.number);
                self.discarded = attempt.give_up(cut).or(self.discarded.take());
            }
        }
    }
}

impl<T: 'static, E: 'static, F> Runner<T, E, F> {
    /// Aborts what is in flight and discards what is in hand.
    pub fn give_up(&mut self, cut: Option<Kind>) -> Option<Discarded<E>> {
        let had = std::mem::replace(&mut self.state, State::GivenUp(cut));
        let discarded = match had {
            State::Running(_) => cut.map(Discarded::TimedOut),
            State::Ended(ended) => discard(ended.result),
            State::GivenUp(_) => None,
        };
        self.abort(&if cut.is_some() { timed_out() } else { superseded() });
        discarded
    }

    /// What it brought; from here on it is the caller's.
    pub fn hand_over(mut self) -> State<T, E, F> {
        self.controller = None;
        std::mem::replace(&mut self.state, State::GivenUp(None))
    }
}

impl<T, E, F> Race<T, E, F> {
    /// The attempts in flight.
    pub fn running(&self) -> impl Iterator<Item = AttemptNumber> {
        self.attempts.iter().filter(|attempt| matches!(attempt.state, State::Running(_))).map(|attempt| attempt.number)
    }
}

impl<T, E, F> Runner<T, E, F> {
    fn abort(&mut self, reason: &JsValue) {
        if let Some(controller) = self.controller.take() {
            controller.abort_with_reason(reason);
        }
    }
}

impl<T, E, F> Drop for Runner<T, E, F> {
    fn drop(&mut self) {
        if self.controller.is_some() {
            self.abort(&superseded());
        }
    }
}

/// The caller's signal, listened to while the call goes on.
struct Caller {
    signal: AbortSignal,
    leaves: Bell,
}

impl Caller {
    fn new(signal: AbortSignal) -> Self {
        let leaves = Bell::new();
        // Without it the caller's leaving is seen when something else happens.
        let _ = signal.add_event_listener_with_callback("abort", leaves.callback());
        Self { signal, leaves }
    }

    fn has_left(&self, cx: &Context<'_>) -> bool {
        self.leaves.poll(cx).is_ready() || self.signal.aborted()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.signal.remove_event_listener_with_callback("abort", self.leaves.callback());
    }
}
