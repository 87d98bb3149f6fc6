//! The step: what every verb comes to. It looks at the call as it stands, so it does not matter which verb led here,
//! or whether it came early, late or twice.
//!
//! In this order: timeouts → winner → deadline → round over → retry → hedge → gates.

use crate::call::{Attempt, Call, Slots, Waiting, Want};
use crate::decision::{AttemptSet, RefusalReason, Rejection, Step, StopReason};
use crate::engine::context::{Context, Transition};
use crate::engine::policies::{Asked, asker};
use crate::event::{HedgeStep, What};
use crate::key::Key;
use crate::outcome::{Outcome, Verdict};
use crate::policy::retry::{Next, Round};
use crate::policy::{Asker, Kind};
use crate::time::{Duration, Instant};

impl Context<'_> {
    pub fn step(&mut self) -> Transition {
        self.time_out_attempts();
        if let Some(winner) = self.call.winner {
            let answered = self.call.ended == Some(Verdict::Answered);
            return self.done(winner, if answered { StopReason::NotRetryable } else { StopReason::Completed });
        }
        match self.call.ended {
            None if self.now() >= self.call.deadline => {
                let rejection = Rejection { reason: RefusalReason::DeadlineExceeded, policy: Kind::Deadline };
                return self.rejected(rejection, None);
            }
            Some(verdict) if self.call.running == Slots::NONE => {
                if self.may_be_spent_on_the_lost(Some(verdict)) {
                    return Transition::Blocked;
                }
                if let Some(reason) = self.round_over(verdict) {
                    return self.done(self.call.primary, reason);
                }
            }
            _ => {}
        }
        self.go_on()
    }

    /// Attempts whose time is up are given up, and that is evidence. A result in hand beats the clock.
    fn time_out_attempts(&mut self) {
        for slot in self.call.running.iter() {
            let Some(Attempt { number, abort_at, .. }) = self.call.attempts.get(slot).copied() else { continue };
            if abort_at <= self.now() && self.call.winner != Some(number) {
                self.call.drop.insert(number);
                if abort_at < self.call.deadline {
                    self.call.timed_out.insert(number);
                }
                self.end_attempt(slot, &Outcome { given_up: true, ..Outcome::new(Verdict::Timeout) });
            }
        }
    }

    /// Nothing runs any more and nothing worked: says why to stop here, or begins another round.
    fn round_over(&mut self, verdict: Verdict) -> Option<StopReason> {
        self.leave_lines();
        self.tell_race(HedgeStep::AllFailed, self.call.primary, None);
        if matches!(verdict, Verdict::Timeout | Verdict::Inconclusive) && self.now() >= self.call.deadline {
            return Some(StopReason::DeadlineExceeded);
        }
        let Call { never_sent, unprocessed, once, retry_after, .. } = *self.call;
        let outcome = Outcome { never_sent, unprocessed, once, retry_after, ..Outcome::new(verdict) };
        let (mut receipt, mut again) = (None, None);
        let Self { policies, call, stack, verb, .. } = self;
        let spend = || match policies.withdraw(stack, call, Some(verdict), verb.now) {
            Ok(paid) => {
                receipt = paid;
                true
            }
            Err(wait) => {
                // No sooner than the upstream asked, either.
                again = wait.max(wait.and(retry_after));
                false
            }
        };
        match stack.retry.next(&round(call, outcome, verb.now), &mut verb.rng, spend) {
            Next::Stop(reason) => {
                self.call.again = again;
                Some(reason)
            }
            Next::Again { delay, backoff } => {
                let attempt = self.call.primary;
                self.tell(Some(Kind::Retry), || What::Retry { attempt, delay });
                self.call.drop.extend(self.call.in_hand);
                self.give_back_kept();
                self.next_round(self.now() + delay, backoff);
                self.call.receipt = receipt;
                self.call.was_once |= once;
                None
            }
        }
    }

    fn next_round(&mut self, due: Instant, backoff: Duration) {
        self.call.backoff = backoff;
        self.call.rounds = self.call.rounds.saturating_add(1);
        self.start_round(due);
    }

    /// A round wants its first attempt.
    pub fn start_round(&mut self, due: Instant) {
        let call = &mut *self.call;
        call.want = Want::Primary(due);
        call.primary = 0;
        call.ended = None;
        call.retry_after = None;
        call.in_hand = AttemptSet::EMPTY;
        call.hedge_at = Instant::NEVER;
        call.hedges = 0;
        call.dice = self.verb.rng.word();
        call.waiting.since = Instant::NEVER;
    }

    /// Starts what is due, if the gates let it.
    pub fn go_on(&mut self) -> Transition {
        if self.call.want == Want::Nothing && self.call.hedge_at <= self.now() {
            if self.call.running().all(|(_, attempt)| attempt.is_sent) {
                self.call.want = Want::Hedge;
                self.call.dice = self.verb.rng.word();
                self.call.waiting.since = Instant::NEVER;
            } else {
                self.plan_hedge(); // nobody knows yet what is sent, and whether two of it may arrive
            }
        }
        match self.call.want {
            Want::Primary(due) if due <= self.now() => {}
            Want::Hedge => {}
            _ => return self.wait(),
        }
        if self.call.key == Key::NEW && !self.has_room_for_key() {
            if self.leases_may_have_ended {
                return Transition::Blocked;
            }
            self.share_overflow_key();
        }
        let mut asker = asker(self.call, self.now());
        let said = self.policies.ask(&self.stack.gates, self.call, &mut asker, self.verb.now);
        self.told(said, &mut asker)
    }

    /// Does what the gates have said.
    pub fn told(&mut self, said: Asked, asker: &mut Asker) -> Transition {
        match said {
            Asked::Pass => self.send(asker),
            _ if self.leases_may_have_ended => Transition::Blocked,
            Asked::Wait(until) => self.stand_in_line(asker, until),
            Asked::Reject { by, rejection, retry_at } => {
                self.policies.refused(by, self.call, asker, self.verb);
                self.refused(rejection, retry_at)
            }
        }
    }

    /// Every gate said pass: the attempt takes what it needs and starts.
    fn send(&mut self, asker: &mut Asker) -> Transition {
        let is_hedge = self.call.want == Want::Hedge;
        if is_hedge && self.may_be_spent_on_the_lost(None) {
            return Transition::Blocked;
        }
        // A hedge is paid when it is sent; a retry was paid when it was decided.
        let receipt = if is_hedge {
            let Ok(paid) = self.policies.withdraw(self.stack, self.call, None, self.verb.now) else {
                self.tell_hedge(HedgeStep::BudgetExhausted, asker.attempt, None);
                return self.hedge_is_off();
            };
            paid
        } else {
            self.call.receipt.take()
        };
        self.settle_key();
        let Some(slot) = self.call.running.and(self.call.kept).vacant() else { return self.wait() };
        self.policies.take(&self.stack.gates, self.call, slot, asker, self.verb);
        let is_first = self.call.sent == 0;
        if is_first && !self.call.facts.counted {
            self.call.is_counted = true;
            self.policies.deposit(self.stack, self.call.key, self.verb.now);
        }
        self.count().send(is_first);
        let abort_at = self.stack.abort_at(self.call.deadline, self.now());
        let call = &mut *self.call;
        call.sent = call.sent.saturating_add(1);
        call.want = Want::Nothing;
        if is_hedge {
            call.hedges = call.hedges.saturating_add(1);
        } else {
            call.primary = call.sent;
        }
        call.running.insert(slot);
        if let Some(attempt) = call.attempts.get_mut(slot) {
            attempt.number = call.sent;
            attempt.sent_at = self.verb.host;
            attempt.is_sent = !call.facts.prepared;
            attempt.abort_at = abort_at;
            attempt.paid = receipt.map(|receipt| receipt.source);
        }
        let number = self.call.sent;
        self.tell(None, || What::Sent { attempt: number });
        if is_hedge {
            self.tell_hedge(HedgeStep::Started, number, None);
        }
        self.plan_hedge();
        Transition::Goes(Step::Send(number), next_instant(self.call))
    }

    pub fn plan_hedge(&mut self) {
        let Self { call, stack, policies, verb, .. } = self;
        call.hedge_at = match stack.hedge_after(&call.facts, call.hedges) {
            Some(after) => verb.now + policies.pace(stack, call.key, verb.now).unwrap_or(after),
            None => return call.hedge_at = Instant::NEVER,
        };
        if !call.hedge_at.is_in_time(call.deadline) {
            let attempt = call.sent.saturating_add(1);
            self.tell_hedge(HedgeStep::DeadlineSkip, attempt, None);
        }
    }

    /// A refused or unfunded hedge is silent and has used up its place.
    fn hedge_is_off(&mut self) -> Transition {
        self.leave_lines();
        self.call.hedges = self.call.hedges.saturating_add(1);
        self.call.want = Want::Nothing;
        self.plan_hedge();
        self.wait()
    }

    fn stand_in_line(&mut self, asker: &mut Asker, until: Instant) -> Transition {
        self.settle_key();
        if !self.call.waiting.is_on() {
            self.call.waiting = Waiting { since: self.now(), ..Waiting::NOWHERE };
        }
        // A gate that names an instant that has come would make hosts spin; one that lies ahead is exact.
        self.call.waiting.until = if until > self.now() { until } else { self.now() + SHORTEST_WAIT };
        self.policies.stand(&self.stack.gates, self.call, asker, self.verb);
        self.wait()
    }

    /// A gate refused: silently for a hedge; for a round's first attempt the call ends, or waits the refusal out.
    fn refused(&mut self, rejection: Rejection, retry_at: Option<Instant>) -> Transition {
        if self.call.want == Want::Hedge {
            return self.hedge_is_off();
        }
        if !self.stack.retry.repeats_refusals() {
            return self.rejected(rejection, retry_at);
        }
        let retry_after = retry_at.map(|at| at.since(self.now()));
        let refusal = Outcome { retry_after, ..Outcome::new(Verdict::Rejected) };
        // What was paid for and not sent yet is still paid for.
        match self.stack.retry.next(&round(self.call, refusal, self.verb.now), &mut self.verb.rng, || true) {
            Next::Stop(_) => self.rejected(rejection, retry_at),
            Next::Again { delay, backoff } => {
                self.leave_lines();
                self.settle_key();
                self.next_round(self.now() + delay, backoff);
                self.wait()
            }
        }
    }

    #[inline]
    pub fn leave_lines(&mut self) {
        if self.call.waiting.is_on() {
            self.policies.leave(&self.stack.gates, self.call, self.verb);
        }
    }

    /// Whether the budget has nothing left for a repeat, perhaps because of repeats that nobody will hear of again.
    fn may_be_spent_on_the_lost(&mut self, after: Option<Verdict>) -> bool {
        self.leases_may_have_ended && !self.policies.affords(self.stack, self.call, after, self.verb.now)
    }

    /// The host is told to do nothing until the least of the call's instants.
    fn wait(&mut self) -> Transition {
        Transition::Goes(Step::Wait, next_instant(self.call))
    }
}

fn round<'a>(call: &'a Call, outcome: Outcome, now: Instant) -> Round<'a> {
    let Call { ref facts, rounds, was_once, backoff, deadline, .. } = *call;
    Round { facts, outcome, rounds, was_once, backoff, now, deadline }
}

/// The least of the call's instants.
fn next_instant(call: &Call) -> Instant {
    let own = match call.want {
        Want::Primary(_) | Want::Hedge if call.waiting.is_on() => call.waiting.until,
        Want::Primary(due) => due,
        Want::Nothing => call.hedge_at,
        _ => Instant::NEVER,
    };
    call.running().map(|(_, attempt)| attempt.abort_at).fold(own.min(call.deadline), Instant::min)
}

/// How long a call that stands in line without an instant is left alone. Ours: the least that a host's timer can do.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
