//! A world: callers over several stacks and keys, with hosts that do what they are told, as well as hosts can.
//!
//! Hosts wake late, early or never, lose hints, die without a word, settle twice, leave at any time; their clocks lag
//! each other, stand still, are set back, jump. Everything comes from one seed.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use forbear::event::{Event, What};
use forbear::{
    CallId, Decision, Duration, Facts, HostTime, Instant, Key, Outcome, Overload, RefusalReason, Repeat, Rng, Step,
    Verdict,
};

use crate::gates::Journal;
use crate::judge::{Answered, Around, Caller, Fate, State, Verb, Violation, broken, judge_events};
use crate::plan::{Built, Plan, below, chance, pick};
use crate::verbs::{Action, Handle, Op, Player, Said, Verbs, json};

mod endings;
mod lane;
mod nothing;

pub struct World {
    pub plan: Plan,
    rng: Rng,
    habits: Habits,
    player: Player,
    journal: Rc<RefCell<Journal>>,
    said: Vec<Said>,
    answers: Vec<Option<Decision>>,
    /// After how many verbs a lease ended last.
    lease_ended: usize,
    callers: Vec<Caller>,
    /// What has really passed, in milliseconds.
    clock: u64,
    /// What the hosts' clocks were set by.
    shift: i64,
    first: Option<HostTime>,
    latest: HostTime,
    last: Instant,
    /// The latest instant whose timer has rung.
    rung: Instant,
    /// Whether the engine's time can be said exactly: no clock was set back or stood still.
    exact: bool,
    hints: VecDeque<usize>,
    /// What has been seen here, in a word each.
    pub seen: BTreeSet<&'static str>,
}

/// What happens in this world, in per cent of the occasions.
#[derive(Debug)]
struct Habits {
    callers: u64,
    names: u64,
    steps: u64,
    failures: u64,
    lags: u64,
    stuck: u64,
    sets_clocks: u64,
    dies: u64,
    leaves: u64,
    never_ends: u64,
    late: u64,
    operators: u64,
    stale: u64,
}

impl Habits {
    fn draw(rng: &mut Rng, is_busy: bool) -> Self {
        let mut sometimes = |percent| if chance(rng, 50) { percent } else { 0 };
        Self {
            lags: sometimes(40),
            stuck: sometimes(5),
            sets_clocks: sometimes(2),
            dies: sometimes(4),
            leaves: sometimes(5),
            never_ends: sometimes(20),
            late: sometimes(30),
            operators: sometimes(2),
            stale: sometimes(15),
            callers: 1 + below(rng, 12),
            names: if is_busy { 1 } else { 1 + below(rng, 4) },
            steps: if is_busy { 400 } else { pick(rng, &[20, 60, 120]) },
            failures: pick(rng, &[0, 30, 60, 95]),
        }
    }
}

/// Living.
impl World {
    /// A world on the engine that `wrap` makes of the planned one.
    pub fn new(seed: u64, plan: Plan, wrap: &dyn Fn(forbear::Engine) -> Box<dyn Verbs>) -> Self {
        let mut rng = Rng::new(seed ^ 0x5EED);
        let Built { engine, stacks, journal } = plan.build().expect("a plan that can be built");
        Self {
            habits: Habits::draw(&mut rng, plan.is_busy),
            player: Player::new(wrap(engine), stacks),
            plan,
            rng,
            journal,
            said: Vec::new(),
            answers: Vec::new(),
            lease_ended: 0,
            callers: Vec::new(),
            clock: START,
            shift: 0,
            first: None,
            latest: HostTime::from_nanos(0),
            last: Instant::PAST,
            rung: Instant::PAST,
            exact: true,
            hints: VecDeque::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Goes through with it to the end, and to what is to be said of the whole.
    pub fn live(&mut self, wrap: &dyn Fn(forbear::Engine) -> Box<dyn Verbs>) -> Result<(), Violation> {
        for _ in 0..self.habits.steps {
            self.step()?;
        }
        if chance(&mut self.rng, 50) {
            self.everybody_dies()?;
        } else {
            self.everybody_leaves()?;
            self.restore_elsewhere(wrap)?;
        }
        self.again(wrap)
    }

    fn step(&mut self) -> Result<(), Violation> {
        let dice = below(&mut self.rng, 100);
        let Habits { dies, leaves, operators, sets_clocks, callers, .. } = self.habits;
        let living = self.callers.iter().filter(|caller| matches!(caller.state, State::Live | State::Held)).count();
        if let Some(call) = self.hints.pop_front()
            && chance(&mut self.rng, 70)
        {
            return self.wake(call);
        }
        if dice < dies {
            if let Some(call) = self.anybody(|caller| matches!(caller.state, State::Live | State::Held)) {
                self.callers[call].state = State::Dead;
            }
        } else if dice < dies + leaves {
            if let Some(call) = self.anybody(|caller| matches!(caller.state, State::Live | State::Held)) {
                return self.cancel(call);
            }
        } else if dice < dies + leaves + operators {
            return self.operate();
        } else if dice < dies + leaves + operators + sets_clocks {
            self.set_clocks();
        } else if dice < 30 {
            if let Some(call) = self.anybody(|caller| caller.state == State::Live) {
                return self.wake_for_nothing(call);
            }
        } else if dice < 34 {
            return self.settle_nothing();
        } else if dice < 60 && (living as u64) < callers {
            return self.admit_somebody();
        } else if dice < 64 {
            self.clock += pick(&mut self.rng, &[0, 1, 10, 200, 3_000, 20_000]);
        }
        self.what_comes_next()
    }

    /// Whatever the hosts have coming first: an attempt ends, or a timer fires.
    fn what_comes_next(&mut self) -> Result<(), Violation> {
        let mut next: Option<(u64, usize, Option<usize>)> = None;
        for (call, caller) in self.callers.iter().enumerate() {
            if caller.state == State::Dead {
                continue;
            }
            let ends = caller.attempts.iter().enumerate().filter_map(|(place, attempt)| {
                let (at, _) = attempt.ends?;
                Some((at, call, Some(place)))
            });
            let timer = caller.timer.map(|at| (at, call, None));
            next = ends.chain(timer).chain(next).min_by_key(|(at, ..)| *at);
        }
        match next {
            None => self.admit_somebody(),
            Some((at, call, place)) => {
                self.clock = self.clock.max(at);
                match place {
                    Some(place) => self.attempt_ends(call, place),
                    None if self.callers[call].state == State::Held && chance(&mut self.rng, 30) => self.cancel(call),
                    None if self.callers[call].is_early => self.wake(call),
                    None => self.due(call),
                }
            }
        }
    }

    fn anybody(&mut self, which: impl Fn(&Caller) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.callers.len()).filter(|call| which(&self.callers[*call])).collect();
        (!found.is_empty()).then(|| pick(&mut self.rng, &found))
    }

    fn set_clocks(&mut self) {
        let by = pick(&mut self.rng, &[-7_200_000, -61_000, -59_000, -1_500, -600, 61_000, 7_200_000]);
        self.shift += by;
        if by < 0 {
            self.exact = false;
        }
    }
}

/// Calls.
impl World {
    fn admit_somebody(&mut self) -> Result<(), Violation> {
        let rng = &mut self.rng;
        let lag = if chance(rng, self.habits.lags) { pick(rng, &[1, 40, 400]) } else { 0 };
        let stack = below(rng, self.plan.stacks.len() as u64) as usize;
        let name = (below(rng, 10) > 0).then(|| below(rng, self.habits.names) as u16);
        let facts = Facts {
            repeat: pick(rng, &[Repeat::Freely, Repeat::Freely, Repeat::AfterFailure, Repeat::OnlyUnprocessed]),
            replayable: chance(rng, 90),
            timeout: chance(rng, 15).then(|| Duration::from_millis(pick(rng, &[0, 1, 80, 2_000]))),
            cost: pick(rng, &[0, 1, 1, 1, 1, 2, 9]),
            droppable: chance(rng, 20),
            ..Facts::default()
        };
        self.admit(stack, name, facts, lag)
    }

    fn admit(&mut self, stack: usize, name: Option<u16>, facts: Facts, lag: u64) -> Result<(), Violation> {
        let stuck = chance(&mut self.rng, self.habits.stuck);
        let host = self.reading(lag);
        if stuck {
            self.exact = false;
        }
        let call = self.callers.len();
        let key_is_new = self.player.key(name) == Key::NEW;
        let watched = self.is_watched();
        let answered = self.say(Op::Admit { stack, name, facts }, host, watched)?;
        let Answered { decision, .. } = &answered;
        let id = decision.call.unwrap_or(CallId::from_u64(u64::MAX));
        if decision.call.is_some() && self.callers.iter().any(|caller| caller.id == id) {
            broken!(1, "{id:?} was given to two calls");
        }
        if key_is_new && decision.call.is_some() && self.player.key(name) == Key::NEW {
            broken!(1, "{:?} and the new key has no number", decision.step);
        }
        let stuck = stuck.then_some(host);
        let deadline = self.deadline(stack, facts, &answered);
        self.callers.push(Caller { lag, stuck, deadline, ..Caller::new(id, stack, name, facts, host) });
        self.obey(call, Verb::Admit, &answered)?;
        self.ask_again(call, &answered)
    }

    fn deadline(&self, stack: usize, facts: Facts, answered: &Answered) -> Instant {
        answered.now + self.plan.total(stack).min(facts.timeout.unwrap_or(Duration::MAX))
    }

    fn attempt_ends(&mut self, call: usize, place: usize) -> Result<(), Violation> {
        let Some((_, outcome)) = self.callers[call].attempts[place].ends.take() else { return Ok(()) };
        self.callers[call].attempts[place].runs = false;
        let host = self.reading_of(call);
        let attempt = place as u8 + 1;
        if self.callers[call].attempts[place].state != Fate::InFlight {
            return self.given_up_ends(call, attempt, outcome, host);
        }
        self.callers[call].attempts[place].state = Fate::InHand(outcome.verdict);
        let op = Op::Settle { call: Handle::Call(call), attempt, outcome };
        let watched = self.is_watched();
        let answered = self.say(op, host, watched)?;
        if self.callers[call].state == State::Unguarded {
            // Late evidence is welcome, and nobody is told anything.
            if answered.decision.step != Step::Unguarded {
                broken!(4, "an unguarded call was answered with {:?}", answered.decision.step);
            }
        } else {
            self.judge_latency(call, place, outcome, &answered)?;
            self.obey(call, Verb::Settle, &answered)?;
        }
        if chance(&mut self.rng, self.habits.stale) {
            self.settle_stale(Handle::Call(call), attempt, host)?;
        }
        Ok(())
    }

    /// An attempt that was given up ends after all, and its host says so: no evidence, and nothing for a call that is over.
    fn given_up_ends(&mut self, call: usize, attempt: u8, outcome: Outcome, host: HostTime) -> Result<(), Violation> {
        let op = Op::Settle { call: Handle::Call(call), attempt, outcome };
        let answered = self.say(op, host, true)?;
        if answered.tells(|what| matches!(what, What::Settled { attempt: told, .. } if *told == attempt)) {
            broken!(4, "attempt {attempt} was given up and is evidence");
        }
        if matches!(self.callers[call].state, State::Live | State::Held) {
            return self.obey(call, Verb::Settle, &answered);
        }
        if answered.decision.step != Step::Unguarded {
            broken!(1, "a call that is over was answered with {:?}", answered.decision.step);
        }
        Ok(())
    }

    /// Law 2: an attempt's latency comes from its own readings.
    fn judge_latency(&self, call: usize, place: usize, outcome: Outcome, answered: &Answered) -> Result<(), Violation> {
        let own = outcome.latency.unwrap_or(answered.host.since(self.callers[call].attempts[place].sent_at));
        for event in &answered.events {
            if let What::Settled { attempt, latency, .. } = event.what
                && usize::from(attempt) == place + 1
                && latency != own
            {
                broken!(2, "attempt {attempt} took {own:?} and not {latency:?}");
            }
        }
        Ok(())
    }

    /// The timer that was set for what was promised has rung, on time or late: it has come, whatever the host's clock says.
    fn due(&mut self, call: usize) -> Result<(), Violation> {
        let (host, promised) = (self.reading_of(call), self.callers[call].promise.at);
        let watched = self.is_watched();
        let answered = self.say(Op::Due { call: Handle::Call(call) }, host, watched)?;
        if let Some(promised) = promised
            && answered.now < promised
        {
            broken!(2, "the timer for {promised:?} has rung, and it is {:?}", answered.now);
        }
        self.obey(call, Verb::Wake, &answered)
    }

    fn wake(&mut self, call: usize) -> Result<(), Violation> {
        if !matches!(self.callers[call].state, State::Live | State::Held) {
            return Ok(());
        }
        let host = self.reading_of(call);
        let watched = self.is_watched();
        let answered = self.say(Op::Wake { call: Handle::Call(call) }, host, watched)?;
        self.obey(call, Verb::Wake, &answered)
    }

    fn cancel(&mut self, call: usize) -> Result<(), Violation> {
        let host = self.reading_of(call);
        let answered = self.say(Op::Cancel { call: Handle::Call(call) }, host, true)?;
        self.obey(call, Verb::Cancel, &answered)
    }

    fn operate(&mut self) -> Result<(), Violation> {
        let rng = &mut self.rng;
        let all = [Action::ForceOpen, Action::ForceClosed, Action::Reset, Action::Disable, Action::Enable];
        let action = pick(rng, &all);
        let stack = below(rng, self.plan.stacks.len() as u64) as usize;
        let name = Some(below(rng, self.habits.names) as u16);
        if self.player.key(name) != Key::NEW {
            let host = self.reading(0);
            self.say(Op::Operate { stack, name, action }, host, false)?;
        }
        Ok(())
    }
}

/// Saying and obeying.
impl World {
    /// Says the verb, and judges what concerns no call in particular.
    fn say(&mut self, op: Op, host: HostTime, watched: bool) -> Result<Answered, Violation> {
        let before = watched.then(|| self.player.snapshots(host));
        let expected = self.player.engine.instant(host);
        let rung = match op {
            Op::Due { call: Handle::Call(call) } => self.callers[call].promise.at.unwrap_or(Instant::PAST),
            _ => Instant::PAST,
        };
        self.rung = self.rung.max(rung);
        let said = Said { op, now: host, random: self.rng.word() >> 11 };
        self.said.push(said);
        let player = &mut self.player;
        let answer = match catch_unwind(AssertUnwindSafe(|| player.say(&said))) {
            Ok(answer) => answer,
            Err(_) => broken!(10, "{said:?} panicked"),
        };
        self.answers.push(answer);
        let mut events = Vec::new();
        while let Some(event) = self.player.engine.event() {
            events.push(event);
        }
        if events.iter().any(|event| matches!(event.what, What::LeaseEnded { .. })) {
            self.lease_ended = self.said.len();
        }
        self.first.get_or_insert(host);
        self.latest = self.latest.max(host);
        let now = self.player.engine.instant(host);
        self.judge_time(expected.max(rung), now)?;
        if let Some((law, text)) = self.journal.borrow_mut().faults.pop() {
            broken!(law, "{text}");
        }
        self.judge_bounds()?;
        self.see_pace(op, host);
        let decision = answer.unwrap_or(Decision::UNGUARDED);
        self.see(&decision, &events);
        // Snapshots hold ages: of two instants they differ.
        let same = before.filter(|_| now == expected).map(|before| before == self.player.snapshots(host));
        let answered = Answered { decision, events, now, host, same };
        let caller = match op {
            Op::Due { call: Handle::Call(call) }
            | Op::Wake { call: Handle::Call(call) }
            | Op::Cancel { call: Handle::Call(call) } => Some(&self.callers[call]),
            Op::Settle { call: Handle::Call(call), .. } => Some(&self.callers[call]),
            _ => None,
        };
        judge_events(&answered, caller)?;
        let woken = self.player.engine.woken();
        self.hints.extend(woken.iter().filter_map(|id| self.callers.iter().position(|caller| caller.id == *id)));
        Ok(answered)
    }

    fn see(&mut self, decision: &Decision, events: &[Event]) {
        let word = match decision.step {
            Step::Send(_) => "send",
            Step::Wait => "wait",
            Step::Done { held: true, .. } => "held",
            Step::Done { reason, .. } => reason.word(),
            Step::Reject(rejection) => rejection.reason.word(),
            Step::Unguarded => "unguarded",
        };
        self.seen.insert(word);
        self.seen.extend(events.iter().map(|event| What::SPECS[usize::from(event.what.numbers().0)].name));
        self.seen.extend(self.player.engine.woken().first().map(|_| "woken"));
    }

    fn see_pace(&mut self, op: Op, host: HostTime) {
        let Op::Admit { stack, name, .. } = op else { return };
        let (stack, key) = (self.player.stacks[stack], self.player.key(name));
        self.seen.extend(self.player.engine.pace(stack, key, host).map(|_| "measured pace"));
    }

    /// Law 2.
    fn judge_time(&mut self, expected: Instant, now: Instant) -> Result<(), Violation> {
        if now < self.last || now != expected {
            broken!(2, "the engine's time went from {:?} to {now:?}, {expected:?} was announced", self.last);
        }
        self.last = now;
        let first = self.first.unwrap_or(self.latest);
        // Timers of requests whose clocks lag are ahead of what was read.
        let passed = (Instant::ORIGIN + self.latest.since(first)).max(self.rung);
        if self.exact && now != passed {
            broken!(2, "it is {now:?} and should be {passed:?}");
        }
        Ok(())
    }

    /// Law 9.
    fn judge_bounds(&self) -> Result<(), Violation> {
        let (calls, limit) = (self.player.engine.in_flight(), self.plan.limits.calls as usize);
        if calls > limit {
            broken!(9, "{calls} calls in flight, {limit} allowed");
        }
        Ok(())
    }

    /// Judges what a call was told, and does it.
    fn obey(&mut self, call: usize, verb: Verb, answered: &Answered) -> Result<(), Violation> {
        let around = self.around(call, answered);
        let sent = self.callers[call].attempts.len();
        self.callers[call].judge(verb, answered, &around)?;
        self.judge_slots(call, answered)?;
        self.judge_leases(call, answered, &around)?;
        if self.callers[call].attempts.len() > sent {
            self.callers[call].attempts[sent].ends = self.ending();
        }
        self.callers[call].timer = self.timer(call, answered);
        Ok(())
    }

    fn around(&self, call: usize, answered: &Answered) -> Around {
        let Caller { id, stack, name, .. } = self.callers[call];
        let key = self.player.key(name);
        let engine = &self.player.engine;
        let has_line = self.plan.has_limiters_line(stack);
        Around {
            most_beside: self.plan.most_beside(stack),
            in_flight: engine.in_flight(),
            limit: self.plan.limits.calls as usize,
            in_line: self.journal.borrow().stands_in_line(id),
            circuit: engine.circuit(self.player.stacks[stack], key, answered.now),
            counts_refusals: self.plan.counts_refusals(stack),
            others_hold: self.callers.iter().enumerate().any(|(other, caller)| {
                let holds = matches!(caller.state, State::Held | State::Dead);
                other != call && caller.name == name && holds && answered.now < caller.promise.ended
            }),
            others_wait: self.callers.iter().enumerate().any(|(other, caller)| {
                let waits = matches!(caller.state, State::Live | State::Dead) && caller.running() == 0;
                has_line && other != call && caller.name == name && waits && answered.now < caller.promise.ended
            }),
            others_run: self.callers.iter().enumerate().any(|(other, caller)| {
                other != call
                    && caller.name == name
                    && caller.running() > 0
                    && matches!(caller.state, State::Live | State::Dead)
                    && answered.now < caller.promise.ended
            }),
        }
    }

    /// Law 5: nobody is refused or made to wait because of a lease that has ended.
    fn judge_leases(&self, call: usize, answered: &Answered, around: &Around) -> Result<(), Violation> {
        let full = match answered.decision.step {
            Step::Reject(rejection) => {
                matches!(rejection.reason, RefusalReason::BulkheadFull | RefusalReason::QueueTimeout)
            }
            Step::Wait => around.in_line,
            _ => false,
        };
        if !full {
            return Ok(());
        }
        let Caller { stack, name, .. } = self.callers[call];
        let (key, gates) = (self.player.key(name).number(), &self.plan.stacks[stack].gates);
        let journal = self.journal.borrow();
        let holders = journal.holders.iter().map(|((gate, _), (its, id))| (gate, its, id));
        let waiters = journal.in_line.iter().map(|(gate, its, id)| (gate, its, id));
        for (gate, its, id) in holders.chain(waiters) {
            if *its != key || !gates.contains(gate) {
                continue;
            }
            let holder = self.callers.iter().position(|caller| caller.id.as_u64() == *id);
            if let Some(holder) = holder.filter(|holder| *holder != call)
                && answered.now >= self.callers[holder].promise.ended
            {
                broken!(5, "call {call} is kept out of gate {gate} by call {holder}, whose lease has ended");
            }
        }
        Ok(())
    }

    /// Law 3: where a bulkhead's slots are held until attempts have really ended, no more of a key run than there are slots.
    fn judge_slots(&self, call: usize, answered: &Answered) -> Result<(), Violation> {
        let Caller { stack, name, .. } = self.callers[call];
        let Some((bulkhead, slots)) = self.plan.slots_until_settled(stack) else { return Ok(()) };
        let shares = |caller: &&Caller| {
            let its = self.plan.slots_until_settled(caller.stack).map(|(its, _)| its);
            caller.name == name && its == Some(bulkhead) && caller.state != State::Unguarded
        };
        let holders = self.callers.iter().filter(shares).filter(|caller| answered.now < caller.promise.leased);
        let running: usize = holders.map(Caller::really_running).sum();
        if running > slots {
            broken!(3, "{running} attempts run at once, and there are {slots} slots");
        }
        Ok(())
    }

    /// When the host will wake the call: on time, late, early, or not at all.
    fn timer(&mut self, call: usize, answered: &Answered) -> Option<u64> {
        let delay = answered.decision.at?.since(answered.host).as_millis_ceil();
        if !matches!(self.callers[call].state, State::Live | State::Held) {
            return None;
        }
        let rng = &mut self.rng;
        self.callers[call].is_early = false;
        if !chance(rng, self.habits.late) {
            return Some(self.clock.saturating_add(delay));
        }
        match below(rng, 4) {
            0 => None,
            1 => {
                self.callers[call].is_early = true;
                Some(self.clock.saturating_add(delay / 2))
            }
            _ => Some(self.clock.saturating_add(delay).saturating_add(pick(rng, &[1, 40, 900, 4_000]))),
        }
    }

    fn ending(&mut self) -> Option<(u64, Outcome)> {
        if chance(&mut self.rng, self.habits.never_ends) {
            return None;
        }
        let takes = pick(&mut self.rng, &[0, 0, 1, 5, 30, 30, 150, 150, 900, 4_000, 30_000]);
        Some((self.clock + takes, self.outcome()))
    }

    fn outcome(&mut self) -> Outcome {
        let rng = &mut self.rng;
        if !chance(rng, self.habits.failures) {
            return Outcome::new(if chance(rng, 85) { Verdict::Success } else { Verdict::Answered });
        }
        let verdict = pick(
            rng,
            &[
                Verdict::Transient,
                Verdict::Transient,
                Verdict::Transient,
                Verdict::Timeout,
                Verdict::Overload(Overload::Unavailable),
                Verdict::Overload(Overload::TooManyRequests),
                Verdict::Overload(Overload::Shedding),
                Verdict::Rejected,
                Verdict::Defect,
                Verdict::Cancelled,
                Verdict::Inconclusive,
            ],
        );
        Outcome {
            never_sent: verdict == Verdict::Transient && chance(rng, 20),
            retry_after: chance(rng, 25).then(|| Duration::from_millis(pick(rng, &[0, 1, 200, 5_000, 90_000]))),
            latency: chance(rng, 10).then(|| Duration::from_millis(below(rng, 3_000))),
            ..Outcome::new(verdict)
        }
    }

    /// Snapshots cost more than verbs do.
    fn is_watched(&mut self) -> bool {
        chance(&mut self.rng, 40)
    }

    fn reading(&self, lag: u64) -> HostTime {
        HostTime::from_millis((self.clock as i64 + self.shift).saturating_sub_unsigned(lag).max(0) as u64)
    }

    fn reading_of(&self, call: usize) -> HostTime {
        self.callers[call].stuck.unwrap_or_else(|| self.reading(self.callers[call].lag))
    }
}

/// Telling.
impl World {
    /// The violation, and all that led to it as a golden vector.
    pub fn told(&self, seed: u64, Violation { law, text }: &Violation) -> String {
        let about = text.replace('"', "'");
        format!(
            "law {law} is broken in world {seed}: {text}\n{}\n{{\n  \"format\": 1,\n  \"about\": \"law {law}: {about}\",\n{}{}}}",
            self.plan.notes(),
            self.plan.json(),
            json(&self.said),
        )
    }
}

/// Far enough from zero for clocks to be set back.
const START: u64 = 100_000_000;
/// A handle that is never given to anybody.
const NOBODY: Handle = Handle::Foreign(u64::MAX);
