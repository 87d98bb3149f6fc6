//! How worlds end: everybody dies, or leaves; and then it is all done again.

use forbear::policy::circuit_breaker::StateWord;
use forbear::{Decision, Facts, HostTime, Key, RefusalReason, Step};

use super::{Habits, NOBODY, World};
use crate::judge::{State, Violation, broken};
use crate::plan::{Built, GatePlan, Object};
use crate::verbs::{Handle, Op, Player, Said, Verbs};

impl World {
    /// Law 5: all hosts die. Once the leases have ended, it is as if nobody had ever held anything.
    pub(super) fn everybody_dies(&mut self) -> Result<(), Violation> {
        self.callers.iter_mut().for_each(|caller| caller.state = State::Dead);
        // Long enough for circuits too; twice, lest clocks that were set back are still being watched.
        for _ in 0..3 {
            self.clock += 7_200_000;
            let host = self.reading(0);
            self.say(Op::Wake { call: NOBODY }, host, false)?;
        }
        for stack in 0..self.plan.stacks.len() {
            for name in (0..self.habits.names as u16).map(Some).chain([None]) {
                let from = self.callers.len();
                // Permits that were spent come back with time only, and slots of what is given up below and never ends.
                self.clock += 70_000;
                let (may_refuse, asked) = (self.may_refuse(stack, name), self.answers.len());
                for _ in 0..5 {
                    // One attempt: a refusal that is waited out would look like a place in line.
                    self.admit(stack, name, Facts { single: true, ..Facts::default() }, 0)?;
                }
                let first = &self.callers[from];
                if first.attempts.is_empty() && !may_refuse && !self.is_shed(asked) {
                    broken!(5, "everybody is gone, and {name:?} of stack {stack} is still {:?}", first.state);
                }
                for call in from..self.callers.len() {
                    if self.callers[call].state == State::Live {
                        self.cancel(call)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether this answer is a refusal by a policy that sheds a share of all calls, which depends on nobody else.
    fn is_shed(&self, answer: usize) -> bool {
        let step = self.answers.get(answer).copied().flatten().map(|decision| decision.step);
        matches!(step, Some(Step::Reject(rejection)) if rejection.reason == RefusalReason::Throttled)
    }

    /// Whether a refusal needs nobody who holds something.
    fn may_refuse(&self, stack: usize, name: Option<u16>) -> bool {
        let now = self.player.engine.instant(self.reading(0));
        let circuit = self.player.engine.circuit(self.player.stacks[stack], self.player.key(name), now);
        let throttles = |gate: &usize| matches!(self.plan.objects[*gate], Object::Gate(_, GatePlan::Throttle));
        let permits = self.player.engine.permits(self.player.stacks[stack], self.player.key(name), now);
        // Probes of those who asked before may have failed since.
        let is_open = matches!(circuit, Some(StateWord::ForcedOpen | StateWord::Open));
        is_open || permits == Some(0) || self.plan.stacks[stack].gates.iter().any(throttles)
    }

    pub(super) fn everybody_leaves(&mut self) -> Result<(), Violation> {
        for call in 0..self.callers.len() {
            if matches!(self.callers[call].state, State::Live | State::Held) {
                self.cancel(call)?;
            }
        }
        Ok(())
    }

    /// Law 7: what was learned here is known there, and decides there as it does here.
    pub(super) fn restore_elsewhere(
        &mut self,
        wrap: &dyn Fn(forbear::Engine) -> Box<dyn Verbs>,
    ) -> Result<(), Violation> {
        let host = self.reading(0);
        if !self.exact || host < self.latest || self.player.engine.in_flight() > 0 || self.has_half_open(host) {
            return Ok(());
        }
        let Built { engine, stacks, .. } = self.plan.build().expect("a plan that was built before");
        let mut there = Player::new(wrap(engine), stacks);
        there.calls = self.player.calls.clone();
        there.names = self.player.names.clone();
        let mut names = vec![Key::WHOLE, Key::OVERFLOW];
        names.extend((2..self.player.engine.keys()).filter_map(|_| there.engine.intern()));
        // Both begin at this instant.
        self.say(Op::Wake { call: NOBODY }, host, false)?;
        let saved = self.player.snapshots(host);
        for (stack, bytes) in there.stacks.clone().into_iter().zip(&saved) {
            if there.engine.restore(stack, bytes, &names, host).is_err() {
                broken!(7, "a snapshot could not be restored");
            }
        }
        if there.snapshots(host) != saved {
            broken!(7, "what was restored is not what was saved");
        }
        let (from, calls) = (self.said.len(), self.callers.len());
        let deadline = from + 40;
        self.habits = Habits { stale: 0, stuck: 0, sets_clocks: 0, ..Habits::draw(&mut self.rng, self.plan.is_busy) };
        while self.said.len() < deadline {
            self.step()?;
        }
        for (said, answer) in self.said[from..].iter().zip(&self.answers[from..]) {
            if speaks_of_before(said, calls) {
                // Its reading of the clock is one all the same.
                there.say(&Said { op: Op::Wake { call: NOBODY }, ..*said });
                continue;
            }
            let elsewhere = there.say(said);
            // Ends of leases are rounded by each engine's own time: they are not the same here and there.
            self.seen.insert("restored");
            if self.lease_ended > from || there.tells_of_a_lease() {
                return Ok(());
            }
            if !alike(answer.as_ref(), elsewhere.as_ref()) {
                broken!(7, "{said:?}: {answer:?} here and {elsewhere:?} where it was restored");
            }
        }
        let host = self.latest;
        if there.snapshots(host) != self.player.snapshots(host) {
            broken!(7, "after the same verbs the restored engine knows something else");
        }
        Ok(())
    }

    /// An episode's permits and the draw of its next trip are not kept, so a half-open circuit may go on otherwise.
    fn has_half_open(&self, host: HostTime) -> bool {
        let now = self.player.engine.instant(host);
        let keys = self.player.names.values().chain([&Key::WHOLE]);
        let mut pairs = keys.flat_map(|key| self.player.stacks.iter().map(move |stack| (*stack, *key)));
        pairs.any(|(stack, key)| self.player.engine.circuit(stack, key, now) == Some(StateWord::HalfOpen))
    }

    /// Law 7: the same verbs again, to another engine.
    pub(super) fn again(&mut self, wrap: &dyn Fn(forbear::Engine) -> Box<dyn Verbs>) -> Result<(), Violation> {
        let Built { engine, stacks, .. } = self.plan.build().expect("a plan that was built before");
        let mut other = Player::new(wrap(engine), stacks);
        for (said, answer) in self.said.iter().zip(&self.answers) {
            let again = other.say(said);
            if again != *answer {
                broken!(7, "{said:?}: {answer:?} the first time and {again:?} the second");
            }
        }
        if other.snapshots(self.latest) != self.player.snapshots(self.latest) {
            broken!(7, "the same verbs twice, and the snapshots differ");
        }
        Ok(())
    }
}

/// Verbs that name a call from before mean another one to an engine that did not see it.
fn speaks_of_before(said: &Said, calls: usize) -> bool {
    match said.op {
        Op::Settle { call, .. } | Op::Due { call } | Op::Wake { call } | Op::Cancel { call } => {
            !matches!(call, Handle::Call(number) if number >= calls)
        }
        Op::Admit { .. } | Op::Operate { .. } => false,
    }
}

/// The same decision about another handle.
fn alike(one: Option<&Decision>, two: Option<&Decision>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => (one.step, one.drop, one.at) == (two.step, two.drop, two.at),
        _ => one.is_none() && two.is_none(),
    }
}
