//! The step: what every verb comes to. It looks at the call as it stands, so it does not matter which verb led here,
//! or whether it came early, late or twice.
//!
//! In this order: timeouts → winner → deadline → round over → retry → hedge → gates.

use crate::call::{Attempt, Call, Waiting, Want};
use crate::decision::{AttemptNumber, AttemptSet, Decision, RefusalReason, Rejection, Step, StopReason};
use crate::engine::Engine;
use crate::engine::desk::{Asked, Verb, ended, given_up};
use crate::engine::leases::lease_end;
use crate::event::{Event, What};
use crate::key::Key;
use crate::outcome::{Outcome, Verdict};
use crate::policy::Kind;
use crate::policy::hedge;
use crate::policy::retry::{Next, Round};
use crate::time::{HostTime, Instant};

impl Engine {
    pub(super) fn step(&mut self, index: usize, verb: &mut Verb) -> Decision {
        let mut drop = AttemptSet::EMPTY;
        self.time_out_attempts(index, verb, &mut drop);
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        if let Some(winner) = call.winner {
            let reason = match call.ended.map(|outcome| outcome.verdict) {
                Some(Verdict::Answered) => StopReason::NotRetryable,
                _ => StopReason::Completed,
            };
            return self.done(index, winner, reason, drop, verb);
        }
        if verb.now >= call.deadline && call.ended.is_none() {
            let rejection = Rejection { reason: RefusalReason::DeadlineExceeded, policy: Kind::Deadline };
            return self.rejected(index, rejection, None, drop, verb);
        }
        if let (Some(outcome), 0) = (call.ended, call.running()) {
            if let Some(over) = self.round_over(index, outcome, &mut drop, verb) {
                return over;
            }
        }
        self.go_on(index, drop, verb)
    }

    /// Attempts whose time is up are given up, and that is evidence.
    fn time_out_attempts(&mut self, index: usize, verb: &mut Verb, drop: &mut AttemptSet) {
        let Some(call) = self.calls.get(index) else { return };
        if call.attempts.iter().all(|attempt| !attempt.is_running() || attempt.abort_at > verb.now) {
            return;
        }
        for slot in 0..call.attempts.len() {
            let Some(attempt) = self.calls.get(index).and_then(|call| call.attempts.get(slot)) else { continue };
            let number = attempt.number;
            // A result in hand beats the clock.
            let is_over = self.calls.get(index).is_some_and(|call| call.winner == Some(number));
            if number != 0 && attempt.abort_at <= verb.now && !is_over {
                drop.insert(number);
                self.end_attempt(index, slot, Outcome::new(Verdict::Timeout), verb);
            }
        }
    }

    /// Nothing runs any more and nothing worked: stop here, or begin another round.
    fn round_over(
        &mut self,
        index: usize,
        outcome: Outcome,
        drop: &mut AttemptSet,
        verb: &mut Verb,
    ) -> Option<Decision> {
        let Engine { calls, stacks, desk, .. } = self;
        let call = calls.get_mut(index)?;
        let stack = stacks.get(usize::from(call.stack.number()))?;
        desk.leave(stack.gates, call, verb);
        let round = Round {
            facts: &call.facts,
            outcome: Outcome { retry_after: call.retry_after.or(outcome.retry_after), ..outcome },
            rounds: call.rounds,
            backoff: call.backoff,
            now: verb.now,
            deadline: call.deadline,
        };
        let mut receipt = None;
        let spend = || match desk.withdraw(stack, call, round.now) {
            Some(paid) => {
                receipt = paid;
                true
            }
            None => false,
        };
        match stack.retry.next(&round, &mut verb.rng, spend) {
            Next::Stop(reason) => {
                let primary = call.primary;
                Some(self.done(index, primary, reason, *drop, verb))
            }
            Next::Again { delay, backoff } => {
                let (at, stack, key, attempt) = (verb.now, Some(call.stack), call.key, call.primary);
                let what = What::Retry { attempt, delay };
                desk.log.push(|| Event { at, stack, key, policy: Some(Kind::Retry), what });
                drop.extend(call.in_hand);
                call.receipt = receipt;
                call.backoff = backoff;
                call.rounds = call.rounds.saturating_add(1);
                self.start_round(index, verb);
                if let Some(call) = self.calls.get_mut(index) {
                    call.want = Want::Primary(verb.now + delay);
                }
                None
            }
        }
    }

    /// A new round wants its first attempt.
    pub(super) fn start_round(&mut self, index: usize, verb: &mut Verb) {
        let Some(call) = self.calls.get_mut(index) else { return };
        call.want = Want::Primary(verb.now);
        call.primary = 0;
        call.ended = None;
        call.retry_after = None;
        call.in_hand = AttemptSet::EMPTY;
        call.hedge_at = Instant::NEVER;
        call.turns = 0;
        call.waiting = Waiting { dice: verb.rng.next(), ..Waiting::NOWHERE };
    }

    /// Starts what is due, if the gates let it.
    fn go_on(&mut self, index: usize, drop: AttemptSet, verb: &mut Verb) -> Decision {
        let Some(call) = self.calls.get_mut(index) else { return Decision::UNGUARDED };
        if call.want == Want::Nothing && call.hedge_at <= verb.now {
            call.want = Want::Hedge;
            call.waiting = Waiting { dice: verb.rng.next(), ..Waiting::NOWHERE };
        }
        match call.want {
            Want::Primary(due) if due <= verb.now => {}
            Want::Hedge => {}
            _ => return self.wait(index, drop, verb),
        }
        match self.ask_gates(index, verb) {
            Asked::Pass => self.send(index, drop, verb),
            Asked::Wait(until) => self.stand_in_line(index, until, drop, verb),
            Asked::Reject(rejection, retry_at) => self.refused(index, rejection, retry_at, drop, verb),
        }
    }

    /// Nobody is refused or made to wait because of a lease that has ended.
    fn ask_gates(&mut self, index: usize, verb: &mut Verb) -> Asked {
        match self.ask_once(index, verb.now) {
            Asked::Pass => Asked::Pass,
            no => {
                if self.end_leases(index, verb) {
                    self.ask_once(index, verb.now)
                } else {
                    no
                }
            }
        }
    }

    fn ask_once(&self, index: usize, now: Instant) -> Asked {
        let Some(call) = self.calls.get(index) else { return Asked::Pass };
        match self.stacks.get(usize::from(call.stack.number())) {
            Some(stack) => self.desk.ask(stack.gates, call, now),
            None => Asked::Pass,
        }
    }

    /// Every gate said pass: the attempt takes what it needs and starts.
    fn send(&mut self, index: usize, drop: AttemptSet, verb: &mut Verb) -> Decision {
        if !self.pay_for_hedge(index, verb) {
            return self.hedge_is_off(index, drop, verb);
        }
        self.settle_key(index, verb.now);
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return Decision::UNGUARDED };
        let Some(stack) = stacks.get_mut(usize::from(call.stack.number())) else { return Decision::UNGUARDED };
        let Some(slot) = call.attempts.iter().position(|attempt| !attempt.is_running()) else {
            return Decision::UNGUARDED;
        };
        desk.take(stack.gates, call, slot, verb);
        if call.sent == 0 {
            desk.deposit(stack, call.key, verb.now);
            stack.count(call.key).call();
        }
        stack.count(call.key).send();
        call.sent = call.sent.saturating_add(1);
        call.receipt = None;
        if let Want::Primary(_) = call.want {
            call.primary = call.sent;
        } else {
            call.turns = call.turns.saturating_add(1);
        }
        call.want = Want::Nothing;
        call.hedge_at = hedge::next_turn(stack.hedge.as_ref(), &call.facts, call.turns, verb.now);
        let abort_at = stack.abort_at(call.deadline, verb.now);
        let number = call.sent;
        if let Some(attempt) = call.attempts.get_mut(slot) {
            let notes = attempt.notes;
            *attempt = Attempt { number, sent_at: verb.host, abort_at, notes };
        }
        let (at, stack, key) = (verb.now, Some(call.stack), call.key);
        desk.log.push(|| Event { at, stack, key, policy: None, what: What::Sent { attempt: number } });
        self.answer(index, Step::Send(number), drop, verb)
    }

    /// A hedge is paid when it is sent; a retry was paid when it was decided.
    fn pay_for_hedge(&mut self, index: usize, verb: &Verb) -> bool {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get(index) else { return false };
        if call.want != Want::Hedge {
            return true;
        }
        let Some(stack) = stacks.get(usize::from(call.stack.number())) else { return false };
        desk.withdraw(stack, call, verb.now).is_some()
    }

    /// A refused or unfunded hedge is silent and has used up its turn.
    fn hedge_is_off(&mut self, index: usize, drop: AttemptSet, verb: &mut Verb) -> Decision {
        let Engine { calls, stacks, desk, .. } = self;
        if let Some(call) = calls.get_mut(index) {
            if let Some(stack) = stacks.get(usize::from(call.stack.number())) {
                desk.leave(stack.gates, call, verb);
                call.turns = call.turns.saturating_add(1);
                call.want = Want::Nothing;
                call.hedge_at = hedge::next_turn(stack.hedge.as_ref(), &call.facts, call.turns, verb.now);
            }
        }
        self.wait(index, drop, verb)
    }

    fn stand_in_line(&mut self, index: usize, until: Instant, drop: AttemptSet, verb: &mut Verb) -> Decision {
        self.settle_key(index, verb.now);
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return Decision::UNGUARDED };
        let Some(stack) = stacks.get(usize::from(call.stack.number())) else { return Decision::UNGUARDED };
        if !call.waiting.is_on() {
            call.waiting.since = verb.now;
        }
        call.waiting.until = until;
        desk.stand(stack.gates, call, verb);
        self.wait(index, drop, verb)
    }

    /// A gate refused: silently for a hedge; for a round's first attempt the call ends, or waits the refusal out.
    fn refused(
        &mut self,
        index: usize,
        rejection: Rejection,
        retry_at: Option<Instant>,
        mut drop: AttemptSet,
        verb: &mut Verb,
    ) -> Decision {
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        if call.want == Want::Hedge {
            return self.hedge_is_off(index, drop, verb);
        }
        if self.waits_out(index, retry_at, verb) {
            return self.wait(index, drop, verb);
        }
        drop.extend(self.calls.get(index).map(|call| call.in_hand).unwrap_or_default());
        self.rejected(index, rejection, retry_at, drop, verb)
    }

    /// Whether the call waits for a refusal of our own to end, as another round.
    fn waits_out(&mut self, index: usize, retry_at: Option<Instant>, verb: &mut Verb) -> bool {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return false };
        let Some(stack) = stacks.get(usize::from(call.stack.number())) else { return false };
        let refusal = Outcome { retry_after: retry_at.map(|at| at.since(verb.now)), ..Outcome::new(Verdict::Rejected) };
        let round = Round {
            facts: &call.facts,
            outcome: refusal,
            rounds: call.rounds,
            backoff: call.backoff,
            now: verb.now,
            deadline: call.deadline,
        };
        // What was paid for and not sent yet is still paid for.
        match stack.retry.next(&round, &mut verb.rng, || true) {
            Next::Stop(_) => false,
            Next::Again { delay, backoff } => {
                desk.leave(stack.gates, call, verb);
                call.backoff = backoff;
                call.rounds = call.rounds.saturating_add(1);
                let receipt = call.receipt;
                self.start_round(index, verb);
                if let Some(call) = self.calls.get_mut(index) {
                    call.receipt = receipt;
                    call.want = Want::Primary(verb.now + delay);
                }
                self.settle_key(index, verb.now);
                true
            }
        }
    }

    /// The host is told to do nothing until the least of the call's instants.
    fn wait(&mut self, index: usize, drop: AttemptSet, verb: &Verb) -> Decision {
        self.answer(index, Step::Wait, drop, verb)
    }

    fn answer(&mut self, index: usize, step: Step, drop: AttemptSet, verb: &Verb) -> Decision {
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        let (id, at) = (call.id, next_instant(call));
        self.calls.lease(index, lease_end(at, verb.now));
        Decision { call: Some(id), step, drop, at: on_host_clock(at, verb) }
    }

    /// A held call is heard of; that is all there is to it.
    pub(super) fn heartbeat(&mut self, index: usize, verb: &Verb) -> Decision {
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        let (id, at) = (call.id, verb.now + super::leases::HEARTBEAT);
        self.calls.lease(index, lease_end(at, verb.now));
        Decision { call: Some(id), step: Step::Wait, drop: AttemptSet::EMPTY, at: on_host_clock(at, verb) }
    }
}

/// How attempts and calls end.
impl Engine {
    /// The host reports an attempt's end. One that is not in flight changes nothing.
    pub(super) fn attempt_ended(&mut self, index: usize, number: AttemptNumber, outcome: Outcome, verb: &mut Verb) {
        let Some(call) = self.calls.get(index) else { return };
        let slot = call.attempts.iter().position(|attempt| attempt.is_running() && attempt.number == number);
        match (slot, call.want) {
            (Some(slot), Want::Outlived) => self.late_evidence(index, slot, outcome, verb),
            (Some(slot), Want::Nothing | Want::Primary(_) | Want::Hedge) => {
                self.end_attempt(index, slot, outcome, verb);
                if let Some(call) = self.calls.get_mut(index) {
                    if call.winner != Some(number) {
                        call.in_hand.insert(number);
                    }
                }
            }
            _ => {
                let (at, stack, key) = (verb.now, Some(call.stack), call.key);
                let what = What::Stale { attempt: number };
                self.desk.log.push(|| Event { at, stack, key, policy: None, what });
            }
        }
    }

    /// Evidence goes to the gates; what the attempt held goes back, but for a winner whose body may still hold it.
    fn end_attempt(&mut self, index: usize, slot: usize, outcome: Outcome, verb: &mut Verb) {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        let Some(stack) = stacks.get_mut(usize::from(call.stack.number())) else { return };
        let Some(Attempt { number, sent_at, .. }) = call.attempts.get(slot).copied() else { return };
        let ended = ended(&outcome, sent_at, verb.host);
        desk.settle(stack.gates, call, slot, ended, verb);
        stack.count(call.key).settle(outcome.verdict.into(), ended.latency);
        let (at, source, key) = (verb.now, Some(call.stack), call.key);
        let what = What::Settled { attempt: number, verdict: outcome.verdict.into(), latency: ended.latency };
        desk.log.push(|| Event { at, stack: source, key, policy: None, what });
        if outcome.verdict.is_answer() {
            if call.winner.is_none() {
                call.winner = Some(number);
                call.ended = Some(outcome);
            }
            return;
        }
        desk.release(stack.gates, call, slot, verb);
        if let Some(attempt) = call.attempts.get_mut(slot) {
            attempt.number = Attempt::VACANT.number;
        }
        call.retry_after = call.retry_after.max(outcome.retry_after);
        if number == call.primary {
            call.ended = Some(outcome);
        }
    }

    /// The call ends with this attempt's result; all other attempts are given up.
    fn done(
        &mut self,
        index: usize,
        attempt: AttemptNumber,
        reason: StopReason,
        mut drop: AttemptSet,
        verb: &mut Verb,
    ) -> Decision {
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        let id = call.id;
        let mut others = call.in_hand;
        others.remove(attempt);
        drop.extend(others);
        self.leave_lines(index, verb);
        self.give_up_running(index, Some(attempt), &mut drop, verb);
        let Some(call) = self.calls.get_mut(index) else { return Decision::UNGUARDED };
        let (at, stack, key) = (verb.now, Some(call.stack), call.key);
        let what = What::Done { reason, attempts: call.sent, elapsed: verb.host.since(call.started) };
        self.desk.log.push(|| Event { at, stack, key, policy: None, what });
        let held = call.running() > 0;
        if held {
            call.want = Want::Held;
            let beat = self.heartbeat(index, verb);
            return Decision { step: Step::Done { attempt, reason, held }, drop, ..beat };
        }
        self.forget_call(index);
        Decision { call: Some(id), step: Step::Done { attempt, reason, held }, drop, at: None }
    }

    /// The call ends without a result.
    fn rejected(
        &mut self,
        index: usize,
        rejection: Rejection,
        retry_at: Option<Instant>,
        mut drop: AttemptSet,
        verb: &mut Verb,
    ) -> Decision {
        self.leave_lines(index, verb);
        self.give_up_running(index, None, &mut drop, verb);
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return Decision::UNGUARDED };
        if let Some(stack) = stacks.get_mut(usize::from(call.stack.number())) {
            desk.refund(stack, call);
            if call.sent == 0 {
                stack.count(call.key).call();
            }
            stack.count(call.key).refuse(rejection.reason);
        }
        let (at, source, key) = (verb.now, Some(call.stack), call.key);
        let what = What::Rejected { reason: rejection.reason, retry_after: retry_at.map(|at| at.since(verb.now)) };
        desk.log.push(|| Event { at, stack: source, key, policy: Some(rejection.policy), what });
        self.forget_call(index);
        let at = on_host_clock(retry_at.unwrap_or(Instant::NEVER), verb);
        Decision { call: None, step: Step::Reject(rejection), drop, at }
    }

    /// The caller left: permits return, and nothing counts as evidence.
    pub(super) fn caller_left(&mut self, index: usize, verb: &mut Verb) -> Decision {
        let Some(call) = self.calls.get(index) else { return Decision::UNGUARDED };
        let (id, want) = (call.id, call.want);
        let mut drop = call.in_hand;
        match want {
            Want::Outlived => {
                self.forget_call(index);
                return Decision::UNGUARDED;
            }
            Want::Held => self.release_held(index, verb),
            _ => {
                self.leave_lines(index, verb);
                self.give_up_running(index, None, &mut drop, verb);
                let Engine { calls, stacks, desk, .. } = self;
                if let Some(call) = calls.get_mut(index) {
                    if let Some(stack) = stacks.get(usize::from(call.stack.number())) {
                        desk.refund(stack, call);
                    }
                    let (at, stack, key) = (verb.now, Some(call.stack), call.key);
                    let elapsed = verb.host.since(call.started);
                    let what = What::Done { reason: StopReason::Cancelled, attempts: call.sent, elapsed };
                    desk.log.push(|| Event { at, stack, key, policy: None, what });
                }
            }
        }
        self.forget_call(index);
        let step = Step::Done { attempt: 0, reason: StopReason::Cancelled, held: false };
        Decision { call: Some(id), step, drop, at: None }
    }

    /// Gives up what runs, but for the winner, whose result is the caller's: it gives its slot back, or keeps it until
    /// the body ends.
    fn give_up_running(&mut self, index: usize, winner: Option<AttemptNumber>, drop: &mut AttemptSet, verb: &mut Verb) {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        let Some(stack) = stacks.get_mut(usize::from(call.stack.number())) else { return };
        for slot in 0..call.attempts.len() {
            let Some(Attempt { number, sent_at, .. }) = call.attempts.get(slot).copied() else { continue };
            if number == 0 {
                continue;
            }
            if Some(number) == winner {
                if desk.holds_until_body(stack.gates) {
                    continue;
                }
            } else {
                drop.insert(number);
                let ended = given_up(Verdict::Cancelled, sent_at, verb.host);
                desk.settle(stack.gates, call, slot, ended, verb);
                stack.count(call.key).settle(Verdict::Cancelled.into(), ended.latency);
            }
            desk.release(stack.gates, call, slot, verb);
            if let Some(attempt) = call.attempts.get_mut(slot) {
                attempt.number = Attempt::VACANT.number;
            }
        }
    }

    fn leave_lines(&mut self, index: usize, verb: &mut Verb) {
        let Engine { calls, stacks, desk, .. } = self;
        let Some(call) = calls.get_mut(index) else { return };
        if let Some(stack) = stacks.get(usize::from(call.stack.number())) {
            desk.leave(stack.gates, call, verb);
        }
    }

    /// The first Send or Wait gives a new key its number, and pins it for as long as the call lasts.
    fn settle_key(&mut self, index: usize, now: Instant) {
        let Some(Call { tenancy: None, key, .. }) = self.calls.get(index) else { return };
        let mut key = *key;
        if key == Key::NEW {
            key = self.give_number(now);
        }
        self.keys.begin(key);
        let tenancy = self.keys.tenancy(key);
        if let Some(call) = self.calls.get_mut(index) {
            call.key = key;
            call.tenancy = Some(tenancy);
        }
    }

    pub(super) fn forget_call(&mut self, index: usize) {
        if let Some(Call { tenancy: Some(_), key, want, .. }) = self.calls.get(index) {
            if *want != Want::Outlived {
                self.keys.end(*key);
            }
        }
        self.calls.end(index);
    }
}

/// The least of the call's instants.
fn next_instant(call: &Call) -> Instant {
    let running = call.attempts.iter().filter(|attempt| attempt.is_running());
    let aborts = running.map(|attempt| attempt.abort_at).min().unwrap_or(Instant::NEVER);
    let own = match call.want {
        Want::Primary(_) | Want::Hedge if call.waiting.is_on() => call.waiting.until,
        Want::Primary(due) => due,
        Want::Nothing => call.hedge_at,
        _ => Instant::NEVER,
    };
    aborts.min(own).min(call.deadline)
}

/// An instant as the host will read it: as far from this verb's own reading as it is from the engine's now.
fn on_host_clock(at: Instant, verb: &Verb) -> Option<HostTime> {
    at.or_none().map(|at| verb.host + at.since(verb.now))
}
