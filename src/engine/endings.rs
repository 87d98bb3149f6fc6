//! How attempts and calls end: by a result, by a refusal, because the caller left, or because nobody was heard of.

use crate::call::{Attempt, Slots, Waiting, Want};
use crate::decision::{AttemptNumber, AttemptSet, RefusalReason, Rejection, Step, StopReason};
use crate::engine::context::{Context, Transition};
use crate::engine::policies::latency;
use crate::event::{HedgeStep, What};
use crate::key::Key;
use crate::outcome::{Outcome, Verdict};
use crate::policy::Ended;
use crate::policy::hedge::{self, Ran};
use crate::time::{Duration, Instant};

/// Attempts.
impl Context<'_> {
    /// The host reports an attempt's end. One that is not in flight changes nothing, but for what it may still hold.
    pub fn attempt_ended(&mut self, number: AttemptNumber, outcome: &Outcome) {
        let Some(slot) = self.call.slot_of(number) else { return self.ended_late(number) };
        self.end_attempt(slot, outcome);
        if self.call.winner != Some(number) {
            self.call.in_hand.insert(number);
        }
    }

    /// An attempt that was given up has really ended: what it still holds goes back.
    #[cold]
    pub fn ended_late(&mut self, number: AttemptNumber) {
        if !self.call.late.contains(number) {
            return self.tell_stale(number);
        }
        self.call.late.remove(number);
        self.policies.let_go(self.stack, self.call, self.verb);
    }

    /// The host names an attempt that is over.
    pub fn tell_stale(&mut self, attempt: AttemptNumber) {
        self.tell(None, || What::Stale { attempt });
    }

    /// Evidence goes to the gates; what the attempt held goes back, but for one whose body the caller may get and that may
    /// still hold it.
    pub fn end_attempt(&mut self, slot: usize, outcome: &Outcome) {
        let outcome = &self.as_sent(slot, *outcome);
        let (number, latency) = self.tell_evidence(slot, outcome);
        if outcome.verdict.is_answer() {
            self.measure_pace(number, Ran::Whole(latency));
        } else if outcome.verdict == Verdict::Timeout {
            self.measure_pace(number, Ran::AtLeast(latency));
        }
        if outcome.verdict.is_answer() {
            if self.call.winner.is_none() {
                self.call.winner = Some(number);
                self.call.ended = Some(outcome.verdict);
                self.tell_race(HedgeStep::Won, number, Some(latency));
            }
            return;
        }
        self.tell_race(HedgeStep::AttemptFailed, number, Some(latency));
        // A probe that was no evidence goes back in `release`; and what timed out has no body.
        let may_have_body =
            matches!(outcome.verdict, Verdict::Overload(_) | Verdict::Transient | Verdict::Inconclusive);
        if outcome.given_up {
            self.give_up(slot);
        } else if self.stack.holds_until_body && number == self.call.primary && may_have_body {
            self.call.running.remove(slot);
            self.call.kept.insert(slot);
            self.policies.end_repeat(self.stack, self.call, slot);
        } else {
            self.release(slot);
        }
        self.call.retry_after = self.call.retry_after.max(outcome.retry_after);
        // A winner's end is the call's, whatever becomes of the first attempt in the same verb.
        if number == self.call.primary && self.call.winner.is_none() {
            self.call.ended = Some(outcome.verdict);
            let Outcome { never_sent, unprocessed, once, .. } = *outcome;
            (self.call.never_sent, self.call.unprocessed, self.call.once) = (never_sent, unprocessed, once);
        }
    }

    /// Time that is up before an attempt is sent says nothing about the upstream, which has seen nothing of it.
    fn as_sent(&self, slot: usize, outcome: Outcome) -> Outcome {
        let is_sent = self.call.attempts.get(slot).is_none_or(|attempt| attempt.is_sent);
        if is_sent || outcome.verdict != Verdict::Timeout {
            return outcome;
        }
        Outcome { verdict: Verdict::Inconclusive, never_sent: true, ..outcome }
    }

    fn tell_evidence(&mut self, slot: usize, outcome: &Outcome) -> (AttemptNumber, Duration) {
        let Some(Attempt { number, sent_at, .. }) = self.call.attempts.get(slot).copied() else {
            return (0, Duration::ZERO);
        };
        let latency = latency(outcome, sent_at, self.verb.host);
        let ended = Ended { verdict: outcome.verdict, latency };
        self.policies.settle(self.stack, self.call, slot, ended, self.verb);
        let verdict = outcome.verdict.into();
        self.count().settle(verdict, latency);
        self.tell(None, || What::Settled { attempt: number, verdict, latency });
        (number, latency)
    }

    /// Tells what happened to an attempt, if its round is hedged.
    pub fn tell_race(&mut self, step: HedgeStep, attempt: AttemptNumber, latency: Option<Duration>) {
        if self.call.sent > self.call.primary {
            self.tell_hedge(step, attempt, latency);
        }
    }

    /// How long a round's first attempt runs is what the next hedges are timed by, where they are timed so.
    fn measure_pace(&mut self, number: AttemptNumber, ran: Ran) {
        if number == self.call.primary && hedge::may_hedge(&self.call.facts) {
            self.policies.measure_pace(self.stack, self.call.key, ran, self.verb.now);
        }
    }

    fn release(&mut self, slot: usize) {
        self.policies.release(self.stack, self.call, slot, false, self.verb);
        self.call.running.remove(slot);
    }

    /// It is given up, and holds nothing any more but for what stays taken until it has really ended.
    fn give_up(&mut self, slot: usize) {
        let runs_on = self.stack.holds_until_settled && !self.call.facts.droppable;
        self.policies.release(self.stack, self.call, slot, runs_on, self.verb);
        self.call.running.remove(slot);
        if runs_on {
            self.call.late.insert(self.call.attempts.get(slot).map_or(0, |attempt| attempt.number));
        }
    }

    /// The caller gets another result than that of the round's first attempt.
    pub fn give_back_kept(&mut self) {
        for slot in core::mem::replace(&mut self.call.kept, Slots::NONE).iter() {
            self.policies.release(self.stack, self.call, slot, false, self.verb);
        }
    }

    /// Gives up what runs, but for the winner, whose result is the caller's: it gives its slot back, or keeps it until
    /// the body ends.
    fn give_up_running(&mut self, winner: Option<AttemptNumber>) {
        if winner == Some(self.call.primary) {
            self.call.running = self.call.running.and(core::mem::replace(&mut self.call.kept, Slots::NONE));
        }
        self.give_back_kept();
        for slot in self.call.running.iter() {
            let number = self.call.attempts.get(slot).map(|attempt| attempt.number);
            if number == winner {
                if !self.stack.holds_until_body {
                    self.release(slot);
                }
                continue;
            }
            self.call.drop.insert(number.unwrap_or(0));
            let (number, latency) = self.tell_evidence(slot, &Outcome::new(Verdict::Cancelled));
            if winner.is_some() {
                self.measure_pace(number, Ran::AtLeast(latency));
            }
            self.give_up(slot);
        }
    }
}

/// Calls.
impl Context<'_> {
    /// The call ends with this attempt's result; all other attempts are given up.
    pub fn done(&mut self, attempt: AttemptNumber, reason: StopReason) -> Transition {
        self.call.in_hand.remove(attempt);
        self.call.drop.extend(self.call.in_hand);
        self.leave_lines();
        self.give_up_running(Some(attempt));
        self.tell_done(reason);
        if self.call.running != Slots::NONE {
            self.call.want = Want::Held;
            return Transition::Goes(Step::Done { attempt, reason, held: true }, self.now() + HEARTBEAT);
        }
        self.over(attempt, reason)
    }

    /// The call ends without a result.
    pub fn rejected(&mut self, rejection: Rejection, retry_at: Option<Instant>) -> Transition {
        self.leave_lines();
        if self.call.running.and(self.call.kept) != Slots::NONE {
            self.give_up_running(None);
        }
        self.policies.refund(self.stack, self.call);
        let is_unsent = self.call.sent == 0;
        let counts = self.count();
        if is_unsent {
            counts.call();
        }
        counts.refuse(rejection.reason);
        if rejection.reason == RefusalReason::Oversized {
            let permits = self.call.facts.cost;
            self.tell(Some(rejection.policy), || What::Oversized { permits });
        }
        let (reason, now) = (rejection.reason, self.now());
        self.tell(Some(rejection.policy), || What::Rejected { reason, retry_after: retry_at.map(|at| at.since(now)) });
        self.unpin_key();
        Transition::Over(Step::Reject(rejection), retry_at.unwrap_or(Instant::NEVER))
    }

    /// The caller left: permits return, and nothing counts as evidence. Or the body of a held call has ended.
    pub fn caller_left(&mut self) -> Transition {
        match self.call.want {
            Want::Outlived | Want::Lost => return self.forgotten(),
            Want::Held => self.take_back(),
            _ => {
                self.leave_lines();
                self.call.drop.extend(self.call.in_hand);
                self.give_up_running(None);
                self.policies.refund(self.stack, self.call);
                self.count_unsent();
                self.tell_done(StopReason::Cancelled);
            }
        }
        self.over(0, StopReason::Cancelled)
    }

    /// A held call is heard of; that is all there is to it.
    pub fn heartbeat(&self) -> Transition {
        Transition::Goes(Step::Wait, self.now() + HEARTBEAT)
    }

    /// A call counts with its first attempt, and where there was none, when it ends.
    fn count_unsent(&mut self) {
        if self.call.sent == 0 {
            self.count().call();
        }
    }

    fn over(&mut self, attempt: AttemptNumber, reason: StopReason) -> Transition {
        self.unpin_key();
        Transition::Over(Step::Done { attempt, reason, held: false }, Instant::NEVER)
    }

    pub fn tell_done(&mut self, reason: StopReason) {
        let (attempts, elapsed) = (self.call.sent, self.verb.host.since(self.call.started));
        self.tell(None, || What::Done { reason, attempts, elapsed });
    }

    fn take_back(&mut self) {
        self.give_back_kept();
        for slot in self.call.running.iter() {
            self.policies.release(self.stack, self.call, slot, false, self.verb);
        }
    }

    /// Nobody waits for the real ends of attempts that were given up any longer.
    fn let_all_go(&mut self) {
        let late = core::mem::replace(&mut self.call.late, AttemptSet::EMPTY);
        (0..late.count()).for_each(|_| self.policies.let_go(self.stack, self.call, self.verb));
    }

    /// A call that is over, whose attempts hold slots until they have really ended.
    pub fn late(&self) -> Transition {
        if self.call.late == AttemptSet::EMPTY {
            Transition::Over(Step::Unguarded, Instant::NEVER)
        } else {
            Transition::Goes(Step::Unguarded, Instant::NEVER)
        }
    }
}

/// Leases.
impl Context<'_> {
    /// The first time, a call loses what it holds but may still bring evidence, or come back; the second time it is
    /// forgotten.
    pub fn end_lease(&mut self) -> Transition {
        if matches!(self.call.want, Want::Outlived | Want::Lost) {
            return self.forgotten();
        }
        let (running, late) = (self.call.running.count(), self.call.late.count());
        self.tell(None, || What::LeaseEnded { attempts: running + late });
        self.let_all_go();
        if self.call.want == Want::Late {
            return self.late();
        }
        let Waiting { since, .. } = self.call.waiting;
        self.leave_lines();
        self.policies.refund(self.stack, self.call);
        self.take_back();
        self.unpin_key();
        if matches!(self.call.want, Want::Primary(_)) {
            self.call.want = Want::Lost;
            self.call.waiting = Waiting { since, ..Waiting::NOWHERE };
            return Transition::Lingers;
        }
        let has_evidence = running > 0 && self.call.want != Want::Held;
        self.call.want = Want::Outlived;
        if has_evidence { Transition::Lingers } else { Transition::Over(Step::Unguarded, Instant::NEVER) }
    }

    /// A call whose lease ended has nothing more to bring.
    #[cold]
    fn forgotten(&mut self) -> Transition {
        self.look_up_key();
        self.count_unsent();
        Transition::Over(Step::Unguarded, Instant::NEVER)
    }

    /// Since its lease has ended, a key's number may stand for another name: the call is one of many then.
    fn look_up_key(&mut self) {
        if self.call.tenancy.take().is_some_and(|own| own != self.keys.tenancy(self.call.key)) {
            self.call.key = Key::OVERFLOW;
        }
    }

    /// A call that waited and was not heard of in time is, after all: its host was held up. It asks like a newcomer that has
    /// waited as long as it has; a key whose number stands for another name by now is one of many. A repeat was paid for and
    /// given back: it is paid for again if that can be, and goes on all the same, since there is no result to end with.
    #[cold]
    pub fn come_back(&mut self) {
        self.look_up_key();
        self.call.want = Want::Primary(self.now());
        if self.call.sent > 0 {
            self.call.receipt = self.policies.withdraw(self.stack, self.call, None, self.verb.now).ok().flatten();
        }
    }

    /// An attempt of a call that outlived its lease has ended after all: its evidence counts, unless its key's number
    /// stands for another name by now.
    pub fn late_evidence(&mut self, number: AttemptNumber, outcome: &Outcome) -> Transition {
        match self.call.slot_of(number) {
            Some(slot) => {
                if self.call.tenancy == Some(self.keys.tenancy(self.call.key)) {
                    self.tell_evidence(slot, &self.as_sent(slot, *outcome));
                }
                self.call.running.remove(slot);
            }
            None => self.tell_stale(number),
        }
        if self.call.running == Slots::NONE {
            Transition::Over(Step::Unguarded, Instant::NEVER)
        } else {
            Transition::Lingers
        }
    }
}

/// How often a held call is to be heard of. Ours: it still holds its slot when a beat or two are lost.
const HEARTBEAT: Duration = Duration::from_secs(10);
