//! Hedging against a reference that looks at the world once a millisecond, over random timelines.

use std::collections::BTreeSet;

use forbear::policy::budget::Counting;
use forbear::policy::{attempt_timeout, budget, bulkhead, deadline, hedge};
use forbear::{Outcome, Overload, Part, Rng, StackConfig, StopReason, Verdict};

use crate::host::{End, Fate, Host, ms};

#[test]
fn random_timelines_end_as_the_reference_says() {
    let (mut hedged, mut won, mut lost, mut late) = (0, 0, 0, 0);
    for seed in 0..20_000 {
        let plan = Plan::draw(&mut Rng::new(seed));
        let (story, expected) = (plan.play(seed), plan.imagine());
        assert_eq!(story, expected, "seed {seed}: {plan:?}");
        hedged += u32::from(story.starts.len() > 1);
        won += u32::from(story.attempt > 1);
        lost += u32::from(story.starts.len() > 1 && story.reason != StopReason::Completed);
        late += u32::from(story.reason == StopReason::DeadlineExceeded);
    }
    // Everything that can happen does, and often.
    assert!([hedged, won, lost, late].iter().all(|times| *times > 500), "{hedged} {won} {lost} {late}");
}

/// Everything in milliseconds.
#[derive(Debug)]
struct Plan {
    /// How long each attempt takes, and how it ends; one that takes `FOREVER` hangs.
    fates: Vec<(u64, Verdict)>,
    attempts: u32,
    after: u64,
    /// So many hedges are paid for.
    tokens: u32,
    /// So many attempts have a slot at once; hedges without one are refused.
    slots: u32,
    attempt_limit: u64,
    total: u64,
    /// Which comes first where both come at once.
    timers_first: bool,
}

/// What became of a call.
#[derive(Debug, PartialEq)]
struct Story {
    /// When each attempt started.
    starts: Vec<u64>,
    /// Whose result the caller got, why, and when.
    attempt: u8,
    reason: StopReason,
    ended: u64,
    /// Those given up in flight.
    aborted: BTreeSet<u8>,
}

impl Plan {
    /// Numbers so small that much happens at equal instants.
    fn draw(rng: &mut Rng) -> Self {
        let after = rng.between(1, 20);
        let fates = (0..4).map(|_| {
            let takes = [rng.between(0, 60), after * rng.between(0, 4), FOREVER][rng.between(0, 8) as usize / 4];
            (takes, VERDICTS[rng.between(0, VERDICTS.len() as u64 - 1) as usize])
        });
        Self {
            fates: fates.collect(),
            attempts: rng.between(2, 4) as u32,
            after,
            tokens: rng.between(0, 4) as u32,
            slots: rng.between(1, 4) as u32,
            attempt_limit: [after * rng.between(1, 4), FOREVER][rng.between(0, 2) as usize / 2],
            total: [rng.between(1, 90), after * rng.between(1, 6)][rng.between(0, 1) as usize],
            timers_first: rng.between(0, 1) == 1,
        }
    }

    /// The engine's story.
    fn play(&self, seed: u64) -> Story {
        let fates = self.fates.clone();
        let mut host = Host::new(move |sent, _| match fates[usize::from(sent.attempt) - 1] {
            (FOREVER, _) => Fate::Hangs,
            (takes, verdict) => Fate::Ends(ms(takes), Outcome::new(verdict)),
        });
        host.seed(seed);
        host.timers_first = self.timers_first;
        let budget = budget::Config { kind: Counting::Wallet, reserve: self.tokens, ..Default::default() };
        let bulkhead = bulkhead::Config { concurrency: self.slots, ..Default::default() };
        let stack = host.stack(StackConfig {
            deadline: Some(deadline::Config { total: ms(self.total), ..Default::default() }),
            hedge: Some(hedge::Config { attempts: self.attempts, after: ms(self.after), ..Default::default() }),
            budget: Some(Part::Own(budget)),
            bulkhead: Some(Part::Own(bulkhead)),
            attempt_timeout: Some(attempt_timeout::Config {
                attempt: ms(self.attempt_limit.min(self.total)),
                ..Default::default()
            }),
            ..StackConfig::default()
        });
        let begun = host.now;
        let End::Done(attempt, reason) = host.call(stack) else { panic!("{:?}", host.calls[0].end) };
        Story {
            starts: host.sent.iter().map(|sent| sent.at.since(begun).as_millis_ceil()).collect(),
            attempt,
            reason,
            ended: host.now.since(begun).as_millis_ceil(),
            aborted: host.calls[0].aborted.clone(),
        }
    }

    /// The reference's story.
    fn imagine(&self) -> Story {
        let mut world =
            Reference { plan: self, now: 0, running: Vec::new(), primary: None, hedges: 0, due: 0, paid: 0 };
        let mut story =
            Story { starts: vec![], attempt: 1, reason: StopReason::Completed, ended: 0, aborted: BTreeSet::new() };
        world.start(&mut story);
        loop {
            while let Some(happened) = world.next() {
                if let Some((attempt, reason)) = world.goes_on_after(happened, &mut story) {
                    let running = world.running.iter().map(|running| running.number);
                    story.aborted.extend(running.filter(|number| *number != attempt));
                    return Story { attempt, reason, ended: world.now, ..story };
                }
            }
            world.now += 1;
        }
    }
}

struct Reference<'a> {
    plan: &'a Plan,
    now: u64,
    running: Vec<Running>,
    /// How the first attempt ended.
    primary: Option<Verdict>,
    /// How many hedges had their turn, whatever became of them, and when the next one has.
    hedges: u32,
    due: u64,
    paid: u32,
}

#[derive(Clone, Copy)]
struct Running {
    number: u8,
    ends: u64,
    limit: u64,
    verdict: Verdict,
}

enum Happened {
    Ended(Running),
    TimerFired,
}

impl Reference<'_> {
    fn start(&mut self, story: &mut Story) {
        story.starts.push(self.now);
        let (takes, verdict) = self.plan.fates[story.starts.len() - 1];
        let limit = (self.now + self.plan.attempt_limit).min(self.plan.total);
        self.running.push(Running { number: story.starts.len() as u8, ends: self.now + takes, limit, verdict });
        self.due = self.now + self.plan.after;
    }

    /// What happens next at this instant, if anything.
    fn next(&mut self) -> Option<Happened> {
        let end = self.running.iter().position(|running| running.ends <= self.now);
        let hedge_is_due = self.hedges + 1 < self.plan.attempts && self.due <= self.now;
        let timer = hedge_is_due || self.running.iter().any(|running| running.limit <= self.now);
        match end {
            Some(_) if timer && self.plan.timers_first => Some(Happened::TimerFired),
            Some(place) => Some(Happened::Ended(self.running.remove(place))),
            None => timer.then_some(Happened::TimerFired),
        }
    }

    /// Whose result the caller gets and why, if that is the end.
    fn goes_on_after(&mut self, happened: Happened, story: &mut Story) -> Option<(u8, StopReason)> {
        if let Happened::Ended(Running { number, verdict, .. }) = happened {
            match verdict {
                Verdict::Success => return Some(self.won(number, StopReason::Completed, story)),
                Verdict::Answered => return Some(self.won(number, StopReason::NotRetryable, story)),
                _ if number == 1 => self.primary = Some(verdict),
                _ => {}
            }
        }
        self.time_out(story);
        if self.running.is_empty() {
            let verdict = self.primary.expect("the first attempt has ended");
            return Some((1, self.why_it_stops(verdict)));
        }
        if self.hedges + 1 < self.plan.attempts && self.due <= self.now {
            self.hedges += 1;
            self.due = self.now + self.plan.after;
            if self.running.len() < self.plan.slots as usize && self.paid < self.plan.tokens {
                self.paid += 1;
                self.start(story);
            }
        }
        None
    }

    fn won(&mut self, number: u8, reason: StopReason, story: &mut Story) -> (u8, StopReason) {
        self.time_out(story);
        (number, reason)
    }

    fn time_out(&mut self, story: &mut Story) {
        let (late, running): (Vec<_>, Vec<_>) = self.running.iter().partition(|running| running.limit <= self.now);
        self.running = running;
        for Running { number, .. } in late {
            story.aborted.insert(number);
            self.primary = if number == 1 { Some(Verdict::Timeout) } else { self.primary };
        }
    }

    fn why_it_stops(&self, verdict: Verdict) -> StopReason {
        match verdict {
            Verdict::Timeout if self.now >= self.plan.total => StopReason::DeadlineExceeded,
            Verdict::Rejected => StopReason::Refused,
            Verdict::Defect => StopReason::NotRetryable,
            _ => StopReason::AttemptsExhausted,
        }
    }
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Success,
    Verdict::Success,
    Verdict::Answered,
    Verdict::Transient,
    Verdict::Overload(Overload::Unavailable),
    Verdict::Rejected,
    Verdict::Defect,
];
/// Longer than any call.
const FOREVER: u64 = 1_000_000;
