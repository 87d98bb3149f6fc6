//! What should change nothing: wakes before the time, settles of what is not in flight, waiting a refusal out.

use forbear::event::What;
use forbear::{CallId, Decision, HostTime, Key, Step};

use super::World;
use crate::judge::{Answered, Caller, State, Verb, Violation, broken};
use crate::plan::{chance, pick};
use crate::verbs::{Handle, Op};

impl World {
    /// Law 3: nothing has happened and the time has not come.
    pub(super) fn wake_for_nothing(&mut self, call: usize) -> Result<(), Violation> {
        let host = self.reading_of(call);
        let now = self.player.engine.instant(host);
        let promise = self.callers[call].promise;
        if promise.at.is_some_and(|at| at <= now) || now >= promise.leased {
            return self.wake(call);
        }
        let in_line = self.is_in_line(call);
        let answered = self.say(Op::Wake { call: Handle::Call(call) }, host, true)?;
        self.obey(call, Verb::Wake, &answered)?;
        let again = match (in_line, answered.decision.step) {
            // The line may have moved: then it is the second wake that is for nothing.
            (true, Step::Wait) => {
                let promise = self.callers[call].promise;
                let again = self.say(Op::Wake { call: Handle::Call(call) }, host, true)?;
                self.obey(call, Verb::Wake, &again)?;
                (promise.at, again)
            }
            (true, _) => return Ok(()),
            (false, _) => {
                self.seen.insert("woken for nothing");
                (promise.at, answered)
            }
        };
        let (at, answered) = again;
        let Decision { step, drop, .. } = answered.decision;
        if step != Step::Wait || drop.bits() != 0 || self.callers[call].promise.at != at {
            broken!(3, "a wake for nothing was answered with {:?} instead of Wait until {at:?}", answered.decision);
        }
        if answered.left_a_trace() {
            broken!(3, "a wake for nothing left a trace");
        }
        Ok(())
    }

    /// Whether the call may stand in a line: in one of our own gates', or beside others in a registered gate's.
    pub(super) fn is_in_line(&self, call: usize) -> bool {
        let Caller { id, stack, name, .. } = self.callers[call];
        let key = self.player.key(name);
        self.journal.borrow().stands_in_line(id) || self.player.engine.waiting(self.player.stacks[stack], key) > 0
    }

    fn nobody_waits(&self) -> bool {
        let mut keys = self.player.names.values().chain([&Key::WHOLE, &Key::OVERFLOW]);
        let waits = |key| self.player.stacks.iter().any(|stack| self.player.engine.waiting(*stack, key) > 0);
        self.journal.borrow().in_line.is_empty() && !keys.any(|key| waits(*key))
    }

    /// Law 4: a call that is over, or never was; an attempt that is not in flight.
    pub(super) fn settle_nothing(&mut self) -> Result<(), Violation> {
        let over = self.anybody(|caller| caller.state == State::Over && caller.id != CallId::from_u64(u64::MAX));
        let handle = match over {
            Some(call) if chance(&mut self.rng, 70) => Handle::Call(call),
            _ => Handle::Foreign(pick(&mut self.rng, &[0, 1 << 20, 7 << 20 | 3, u64::MAX])),
        };
        let id = self.player.handle(handle);
        if self.callers.iter().any(|caller| caller.id == id && caller.state != State::Over) {
            return Ok(());
        }
        let (attempt, host) = (pick(&mut self.rng, &[0, 1, 2, 15, 255]), self.reading(0));
        let place = usize::from(attempt).wrapping_sub(1);
        let runs = |caller: &Caller| caller.attempts.get(place).is_some_and(|attempt| attempt.runs);
        if self.callers.iter().any(|caller| caller.id == id && runs(caller)) {
            return Ok(()); // it was given up, and this would be its end
        }
        self.settle_stale(handle, attempt, host)
    }

    /// Law 4: the attempt is not in flight, and the call has just been answered at this very instant.
    pub(super) fn settle_stale(&mut self, handle: Handle, attempt: u8, host: HostTime) -> Result<(), Violation> {
        let outcome = self.outcome();
        let answered = self.say(Op::Settle { call: handle, attempt, outcome }, host, true)?;
        let Decision { step, drop, at, .. } = answered.decision;
        let caller = match handle {
            Handle::Call(call) => Some(&self.callers[call]),
            Handle::Foreign(_) => None,
        };
        match caller.filter(|caller| matches!(caller.state, State::Live | State::Held)) {
            Some(caller) => {
                let at = at.map(|at| answered.now + at.since(host));
                if step != Step::Wait || at != caller.promise.at {
                    broken!(4, "a late settle was answered with {step:?}, {at:?}, and not {:?}", caller.promise.at);
                }
            }
            None if step != Step::Unguarded => broken!(4, "a settle of nothing was answered with {step:?}"),
            None => {}
        }
        if drop.bits() != 0 || answered.left_a_trace() {
            broken!(4, "a settle of nothing left a trace");
        }
        if !answered.tells(|what| matches!(what, What::Stale { attempt: its } if *its == attempt)) {
            broken!(4, "a settle of nothing was passed over in silence");
        }
        Ok(())
    }

    /// Law 8: a refusal keeps its word, if nobody stands in line meanwhile.
    pub(super) fn ask_again(&mut self, call: usize, answered: &Answered) -> Result<(), Violation> {
        let (Step::Reject(rejection), Some(at)) = (answered.decision.step, answered.decision.at) else {
            return Ok(());
        };
        let quiet = self.nobody_waits() && answered.host >= self.latest;
        if !quiet || chance(&mut self.rng, 60) {
            return Ok(());
        }
        self.seen.insert("asked again");
        self.clock += at.since(answered.host).as_millis_ceil();
        let Caller { stack, name, facts, .. } = self.callers[call];
        let host = self.reading(0);
        let again = self.callers.len();
        let answered = self.say(Op::Admit { stack, name, facts }, host, false)?;
        if answered.decision.step == Step::Reject(rejection) {
            broken!(8, "{rejection:?} was to end at {at:?}, and did not");
        }
        let id = answered.decision.call.unwrap_or(CallId::from_u64(u64::MAX));
        let deadline = self.deadline(stack, facts, &answered);
        self.callers.push(Caller { deadline, ..Caller::new(id, stack, name, facts, host) });
        self.obey(again, Verb::Admit, &answered)
    }
}
