//! The lane of the call that nobody stops: every gate lets it pass, it is sent in the verb that begins it, and its first
//! attempt brings the answer. Nearly every call is one.
//!
//! What happens, and in which order, is what the step would do. Only its questions are left out: their answers are known
//! here. What is no such call leaves the lane for the step, which goes on from what the gates have said. A law holds the two
//! to each other (tests/laws/lane.rs).

use crate::call::{Call, Slots, Want};
use crate::decision::{AttemptNumber, AttemptSet, Decision, Step, StopReason};
use crate::engine::context::{Context, Transition};
use crate::engine::policies::{Asked, Verb, asker, latency};
use crate::engine::{Engine, lease_end};
use crate::event::What;
use crate::key::Key;
use crate::outcome::{Outcome, Verdict};
use crate::policy::hedge::{self, Ran};
use crate::policy::{Asker, Ended};
use crate::time::Instant;

impl Engine {
    /// A call begins.
    pub(super) fn begin(&mut self, index: usize, verb: &mut Verb) -> Decision {
        let has_lane = self.has_lane;
        let Some(mut context) = self.context(index, verb) else { return Decision::UNGUARDED };
        match context.begin(has_lane) {
            Ok(at) => {
                let id = context.call.id;
                self.calls.lease(index, lease_end(at, verb.now));
                let at = at.or_none().map(|at| verb.host + at.since(verb.now));
                Decision {
                    call: Some(id),
                    step: Step::Send(FIRST),
                    drop: AttemptSet::EMPTY,
                    timed_out: AttemptSet::EMPTY,
                    at,
                    retry_after: None,
                }
            }
            Err(transition) => self.conclude(index, transition, verb),
        }
    }

    /// An attempt has ended; nothing where that is not the answer of a call in the lane.
    pub(super) fn end(
        &mut self,
        index: usize,
        attempt: AttemptNumber,
        outcome: &Outcome,
        verb: &mut Verb,
    ) -> Option<Decision> {
        let has_lane = self.has_lane;
        let mut context = self.context(index, verb)?;
        if !has_lane || !context.is_answered(attempt, outcome) {
            return None;
        }
        let reason = context.end(outcome);
        let id = context.call.id;
        self.calls.end(index);
        let step = Step::Done { attempt: FIRST, reason, held: false };
        Some(Decision {
            call: Some(id),
            step,
            drop: AttemptSet::EMPTY,
            timed_out: AttemptSet::EMPTY,
            at: None,
            retry_after: None,
        })
    }
}

impl Context<'_> {
    /// Asks the gates, and sends if all of them say pass: until when nothing more happens by itself, or what becomes of the
    /// call instead.
    fn begin(&mut self, has_lane: bool) -> Result<Instant, Transition> {
        self.start_round(self.now());
        if !has_lane || self.call.key == Key::NEW || self.now() >= self.call.deadline {
            return Err(self.step());
        }
        let mut asker = asker(self.call, self.now());
        match self.policies.ask(&self.stack.gates, self.call, &mut asker, self.verb.now) {
            Asked::Pass => Ok(self.send_first(&mut asker)),
            said => Err(self.told(said, &mut asker)),
        }
    }

    fn send_first(&mut self, asker: &mut Asker) -> Instant {
        self.call.tenancy = Some(self.keys.begin(self.call.key));
        self.policies.take(&self.stack.gates, self.call, 0, asker, self.verb);
        if !self.call.facts.counted {
            self.call.is_counted = true;
            self.policies.deposit(self.stack, self.call.key, self.verb.now);
        }
        self.count().send(true);
        let abort_at = self.stack.abort_at(self.call.deadline, self.now());
        let call = &mut *self.call;
        (call.sent, call.primary, call.want, call.running) = (FIRST, FIRST, Want::Nothing, Slots::FIRST);
        let [first, ..] = &mut call.attempts;
        (first.number, first.sent_at, first.is_sent) = (FIRST, self.verb.host, !call.facts.prepared);
        (first.abort_at, first.paid) = (abort_at, None);
        self.tell(None, || What::Sent { attempt: FIRST });
        self.plan_hedge();
        self.call.due_at = self.call.hedge_at.min(self.call.deadline).min(abort_at);
        self.call.due_at
    }

    /// Whether this is the answer to the only attempt of a call that keeps nothing until its body ends.
    fn is_answered(&self, attempt: AttemptNumber, outcome: &Outcome) -> bool {
        let Call { want, sent, running, .. } = *self.call;
        let is_only = want == Want::Nothing && (sent, attempt) == (FIRST, FIRST) && running == Slots::FIRST;
        is_only && !outcome.given_up && outcome.verdict.is_answer() && !self.stack.holds_until_body
    }

    /// Evidence goes to the gates, what the attempt held goes back, and the call is over.
    fn end(&mut self, outcome: &Outcome) -> StopReason {
        let [first, ..] = &self.call.attempts;
        let latency = latency(outcome, first.sent_at, self.verb.host);
        let ended = Ended { verdict: outcome.verdict, latency };
        self.policies.settle(self.stack, self.call, 0, ended, self.verb);
        let verdict = outcome.verdict.into();
        self.count().settle(verdict, latency);
        self.tell(None, || What::Settled { attempt: FIRST, verdict, latency });
        if self.stack.pace.is_some() && hedge::may_hedge(&self.call.facts) {
            self.policies.measure_pace(self.stack, self.call.key, Ran::Whole(latency), self.verb.now);
        }
        self.policies.release(self.stack, self.call, 0, false, self.verb);
        let answered = outcome.verdict == Verdict::Answered;
        let reason = if answered { StopReason::NotRetryable } else { StopReason::Completed };
        self.tell_done(reason);
        self.unpin_key();
        reason
    }
}

const FIRST: AttemptNumber = 1;
