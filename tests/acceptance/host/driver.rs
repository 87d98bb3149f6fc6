//! What hosts do: the loop of docs/driving.md, event by event.

use std::collections::{BTreeMap, BTreeSet};

use forbear::{AttemptNumber, CallId, Decision, Facts, HostTime, Key, Outcome, StackId, Step, StopReason, Verdict};

use super::{Call, Due, End, Fate, Host, Sent};

impl Host {
    pub(super) fn begin(
        &mut self,
        stack: StackId,
        key: Key,
        facts: Facts,
        outer: Option<(usize, AttemptNumber)>,
    ) -> usize {
        let decision = self.engine.admit(stack, key, facts, self.now, self.rng.word());
        let call = self.calls.len();
        self.calls.push(Call {
            id: decision.call,
            stack,
            end: None,
            results: BTreeMap::new(),
            running: BTreeSet::new(),
            aborted: BTreeSet::new(),
            due: None,
            outer,
            inner: BTreeMap::new(),
        });
        self.ids.extend(decision.call.map(|id| (id, call)));
        self.obey(call, decision);
        call
    }

    pub(super) fn wake(&mut self, call: usize) {
        let id = self.calls[call].id.expect("a call that lives");
        let decision = self.engine.wake(id, self.now, self.rng.word());
        self.obey(call, decision);
    }

    pub(super) fn obey(&mut self, call: usize, decision: Decision) {
        let woken: Vec<CallId> = self.engine.woken().collect();
        (1..=15).filter(|attempt| decision.drop.contains(*attempt)).for_each(|attempt| self.give_up(call, attempt));
        self.calls[call].due = None;
        match decision.step {
            Step::Send(attempt) => {
                self.set_timer(call, decision.at);
                self.send(call, attempt);
            }
            Step::Wait => self.set_timer(call, decision.at),
            Step::Done { reason: StopReason::Cancelled, .. } => self.over(call, End::Left),
            Step::Done { attempt, reason, held } => {
                assert!(!held, "bodies take no time here");
                if self.calls[call].aborted.contains(&attempt) {
                    self.calls[call].results.insert(attempt, Outcome::new(Verdict::Timeout));
                }
                self.over(call, End::Done(attempt, reason));
            }
            Step::Reject(rejection) => self.over(call, End::Refused(rejection, decision.at)),
            Step::Unguarded => panic!("call {call} is not known to the engine"),
        }
        for id in woken {
            if let Some(other) = self.ids.get(&id).copied() {
                self.wake(other);
            }
        }
    }

    fn send(&mut self, call: usize, attempt: AttemptNumber) {
        let sent = Sent { call, attempt, stack: self.calls[call].stack, at: self.now };
        self.sent.push(sent);
        self.calls[call].running.insert(attempt);
        self.in_flight += 1;
        self.most_at_once = self.most_at_once.max(self.in_flight);
        match (self.upstream)(&sent, &mut self.rng) {
            Fate::Ends(after, outcome) => self.note(self.now + after, Due::End(call, attempt, outcome)),
            Fate::Hangs => {}
            Fate::Through(stack, facts) => {
                let inner = self.begin(stack, Key::WHOLE, facts, Some((call, attempt)));
                self.calls[call].inner.insert(attempt, inner);
            }
        }
    }

    /// An attempt in flight is aborted, a result in hand discarded; a call inside it is left.
    fn give_up(&mut self, call: usize, attempt: AttemptNumber) {
        let in_flight = self.calls[call].running.remove(&attempt);
        self.in_flight -= usize::from(in_flight);
        let its = &mut self.calls[call];
        let in_hand = its.results.remove(&attempt).is_some();
        assert!(in_flight != in_hand, "call {call}: attempt {attempt} was given up and was not there to be");
        if in_flight {
            its.aborted.insert(attempt);
            if let Some(inner) = its.inner.get(&attempt).copied() {
                self.leave(inner);
            }
        }
    }

    /// The call is over: nothing of it runs any more, and nothing is in hand but what the caller gets.
    fn over(&mut self, call: usize, end: End) {
        let its = &mut self.calls[call];
        its.end = Some((end, self.now));
        self.ids.remove(&its.id.take().unwrap_or(CallId::from_u64(0)));
        let handed_on: Vec<_> = if let End::Done(attempt, _) = end { vec![attempt] } else { vec![] };
        assert!(its.running.is_empty(), "call {call} returns while {:?} run", its.running);
        assert_eq!(its.results.keys().copied().collect::<Vec<_>>(), handed_on, "call {call}: results");
        if let Some((outer, attempt)) = its.outer {
            let outcome = match end {
                End::Done(attempt, _) => its.results[&attempt],
                End::Refused(_, at) => {
                    Outcome { retry_after: at.map(|at| at.since(self.now)), ..Outcome::new(Verdict::Rejected) }
                }
                End::Left => return,
            };
            self.note(self.now, Due::End(outer, attempt, outcome));
        }
    }

    pub(super) fn set_timer(&mut self, call: usize, at: Option<HostTime>) {
        self.calls[call].due = at;
        if let Some(at) = at {
            self.note(at, Due::Timer(call));
        }
    }

    fn note(&mut self, at: HostTime, due: Due) {
        self.entries += 1;
        let is_timer = matches!(due, Due::Timer(_));
        self.agenda.insert((at, is_timer != self.timers_first, self.entries), due);
    }
}
