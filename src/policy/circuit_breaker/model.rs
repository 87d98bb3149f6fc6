//! The breaker against a model that keeps every outcome and does everything the plain way, under random calls.

use alloc::vec::Vec;

use super::tests::{KEY, World};
use super::*;
use crate::measure::window::tests::Log;
use crate::outcome::Overload;
use crate::ratio::Ratio;

struct Model {
    config: Config,
    phase: Plain,
    trips: u32,
    length: Duration,
    /// Which state it is in: raised with every transition.
    era: u32,
    taken: u32,
}

enum Plain {
    Closed { since: Instant, log: Log, run: u32 },
    Open { until: Instant },
    HalfOpen { out: Vec<(u32, Instant)>, succeeded: u32 },
    Forced,
    Disabled { log: Log, run: u32 },
}

/// What the model remembers about an attempt.
#[derive(Clone, Copy)]
struct Taken {
    era: u32,
    probe: Option<u32>,
    /// Its result was heard, or it was a probe and was released.
    spent: bool,
}

impl Model {
    fn new(config: Config, now: Instant) -> Self {
        let phase = Plain::Closed { since: now, log: Log::default(), run: 0 };
        Self { config, phase, trips: 0, length: Duration::ZERO, era: 0, taken: 0 }
    }

    /// What happens by mere passing of time, the moment it happens.
    fn advance(&mut self, now: Instant) {
        let forget = self.config.reset_after.unwrap_or(self.config.max_open_for);
        match &self.phase {
            Plain::Closed { since, .. } if *since + forget <= now => (self.trips, self.length) = (0, Duration::ZERO),
            Plain::HalfOpen { out, .. } => {
                if let Some(ended) = out.iter().map(|(_, ends)| *ends).filter(|ends| *ends <= now).min() {
                    self.open(ended);
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, at: Instant) {
        self.trips += 1;
        self.length = match self.trips {
            1 => self.config.open_for,
            _ => self.config.growth.of(self.length).min(self.config.max_open_for),
        };
        self.enter(Plain::Open { until: at + self.length });
    }

    fn close(&mut self, now: Instant) {
        self.enter(Plain::Closed { since: now, log: Log::default(), run: 0 });
    }

    fn enter(&mut self, phase: Plain) {
        self.phase = phase;
        self.era += 1;
    }

    fn admits(&self, now: Instant) -> bool {
        match &self.phase {
            Plain::Closed { .. } | Plain::Disabled { .. } => true,
            Plain::Open { until } => *until <= now,
            Plain::HalfOpen { out, succeeded } => (out.len() as u32) + succeeded < self.config.probes,
            Plain::Forced => false,
        }
    }

    fn take(&mut self, now: Instant) -> Taken {
        if matches!(self.phase, Plain::Open { .. }) {
            self.enter(Plain::HalfOpen { out: Vec::new(), succeeded: 0 });
        }
        self.taken += 1;
        let mut probe = None;
        if let Plain::HalfOpen { out, .. } = &mut self.phase {
            out.push((self.taken, now + self.config.half_open_timeout));
            probe = Some(self.taken);
        }
        Taken { era: self.era, probe, spent: false }
    }

    /// Answers whether the result counted.
    fn settle(&mut self, taken: &mut Taken, verdict: Verdict, latency: Duration, now: Instant) -> bool {
        let entry = match verdict {
            Verdict::Cancelled | Verdict::Rejected | Verdict::Defect | Verdict::Inconclusive => return false,
            _ if taken.spent || taken.era != self.era => return false,
            verdict => {
                let slow = self.config.slow_call.is_some_and(|limit| latency > limit || verdict == Verdict::Timeout);
                let unavailable = Verdict::Overload(Overload::Unavailable);
                Entry { failed: [Verdict::Transient, Verdict::Timeout, unavailable].contains(&verdict), slow }
            }
        };
        taken.spent = true;
        let Config { window_calls, window, .. } = self.config;
        match &mut self.phase {
            Plain::Closed { log, run, .. } | Plain::Disabled { log, run } => {
                log.add(now, window_calls, window, entry);
                *run = if entry.failed { *run + 1 } else { 0 };
            }
            Plain::HalfOpen { .. } if entry.failed || entry.slow => self.open(now),
            Plain::HalfOpen { out, succeeded } => {
                out.retain(|(probe, _)| Some(*probe) != taken.probe);
                *succeeded += 1;
                if *succeeded == self.config.successes_to_close.unwrap_or(self.config.probes) {
                    self.close(now);
                }
            }
            _ => unreachable!("no result belongs to an open circuit"),
        }
        if self.must_open() {
            self.open(now);
        }
        true
    }

    fn must_open(&self) -> bool {
        let Plain::Closed { log, run, .. } = &self.phase else { return false };
        let Counts { calls, failures, slow } = log.counts();
        let reaches =
            |part: u32, rate: Ratio| u128::from(part) * 1_000_000 >= u128::from(rate.millionths()) * u128::from(calls);
        let rates = reaches(failures, self.config.failure_rate) || reaches(slow, self.config.slow_rate);
        calls >= self.config.min_calls && rates || self.config.consecutive_failures.is_some_and(|most| *run >= most)
    }

    fn release(&mut self, taken: &mut Taken) {
        taken.spent |= taken.probe.is_some();
        if let Plain::HalfOpen { out, .. } = &mut self.phase {
            out.retain(|(probe, _)| Some(*probe) != taken.probe);
        }
    }

    fn read(&mut self, now: Instant) -> Reading {
        let (state, retry_at) = match &self.phase {
            Plain::Closed { .. } => (StateWord::Closed, None),
            Plain::Open { until } if now < *until => (StateWord::Open, Some(*until)),
            Plain::Open { .. } | Plain::HalfOpen { .. } => (StateWord::HalfOpen, None),
            Plain::Forced => (StateWord::ForcedOpen, None),
            Plain::Disabled { .. } => (StateWord::Disabled, None),
        };
        let (mut counts, mut consecutive) = (Counts::default(), 0);
        if let Plain::Closed { log, run, .. } | Plain::Disabled { log, run } = &mut self.phase {
            log.expire(now, self.config.window);
            (counts, consecutive) = (log.counts(), *run);
        }
        Reading { state, counts, consecutive, trips: self.trips, retry_at }
    }
}

fn any_config(rng: &mut Rng) -> Config {
    let mut pick = |from: &[u64]| from[rng.between(0, from.len() as u64 - 1) as usize];
    let off = |number: u64| (number > 0).then_some(number as u32);
    let secs = |number: u64| (number > 0).then_some(Duration::from_secs(number));
    let window_calls = off(pick(&[0, 1, 5, 20, 100]));
    let probes = pick(&[1, 2, 3]) as u32;
    Config {
        failure_rate: Ratio::from_percent(pick(&[10, 50, 100]) as u32),
        slow_rate: Ratio::from_percent(pick(&[30, 100]) as u32),
        slow_call: secs(pick(&[0, 2])),
        min_calls: (pick(&[1, 4, 20]) as u32).min(window_calls.unwrap_or(u32::MAX)),
        window_calls,
        window: if window_calls.is_none() { secs(60) } else { secs(pick(&[0, 60])) },
        consecutive_failures: off(pick(&[0, 1, 3, 10])),
        open_jitter: Ratio::ZERO,
        reset_after: secs(pick(&[0, 1, 90])),
        probes,
        successes_to_close: off(pick(&[0, 1, 2])).map(|successes| successes.min(probes)),
        half_open_timeout: Duration::from_secs(pick(&[5, 60])),
        ..Config::default()
    }
}

fn any_verdict(rng: &mut Rng) -> Verdict {
    let [rejected, busy] = [Verdict::Rejected, Verdict::Overload(Overload::TooManyRequests)];
    let down = Verdict::Overload(Overload::Unavailable);
    let verdicts = [Verdict::Success, Verdict::Transient, Verdict::Answered, Verdict::Timeout, Verdict::Cancelled];
    let all: Vec<Verdict> = verdicts.into_iter().chain([rejected, busy, down, Verdict::Defect]).collect();
    // Half of all calls are plain successes, so that circuits close again.
    all[rng.between(0, 2 * all.len() as u64 - 1) as usize % all.len() * usize::from(rng.between(0, 2) > 0)]
}

struct Pair {
    seed: u64,
    rng: Rng,
    world: World,
    model: Model,
    under_way: Vec<(Note, Taken)>,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let world = World::new(config);
        let model = Model::new(config, world.now);
        Self { seed, rng, world, model, under_way: Vec::new() }
    }

    fn step(&mut self) {
        let steps = [0, 0, 0, 1, 200, 2_000, 6_000, 29_999, 30_000, 61_000, 300_000, 14_400_000];
        let step = steps[self.rng.between(0, steps.len() as u64 - 1) as usize];
        self.world.later(step);
        self.model.advance(self.world.now);
        match self.rng.between(0, 39) {
            0..=15 => self.admit(),
            16..=31 => self.settle(),
            32..=34 => self.release(),
            35 => self.operate(),
            36 => self.move_elsewhere(),
            _ => {}
        }
        let (world, now) = (&self.world, self.world.now);
        assert_eq!(world.read(), self.model.read(now), "seed {}", self.seed);
        assert_eq!(world.ask(KEY) == Answer::Pass, self.model.admits(now), "seed {}", self.seed);
        if let Answer::Reject { retry_at, .. } = world.ask(KEY) {
            assert_eq!(retry_at, self.model.read(now).retry_at, "seed {}", self.seed);
            assert!(retry_at.is_none_or(|at| self.model.admits(at)), "seed {}", self.seed);
        }
    }

    fn admit(&mut self) {
        if let Some(note) = self.world.admit(KEY) {
            self.under_way.push((note, self.model.take(self.world.now)));
        }
    }

    /// Of calls in any order; some are settled again.
    fn settle(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        let chosen = self.rng.between(0, self.under_way.len() as u64 - 1) as usize;
        let (verdict, latency) = (any_verdict(&mut self.rng), [10, 2_000, 2_001][self.rng.between(0, 2) as usize]);
        let (note, taken) = &mut self.under_way[chosen];
        let before = self.world.saved();
        self.world.settle_after(KEY, note, verdict, latency);
        let counted = self.model.settle(taken, verdict, Duration::from_millis(latency), self.world.now);
        assert!(counted || self.world.saved() == before, "seed {}", self.seed);
        if self.rng.between(0, 9) > 0 {
            let (mut note, mut taken) = self.under_way.swap_remove(chosen);
            self.world.release(KEY, &mut note);
            self.model.release(&mut taken);
        }
    }

    /// A lease ends: the call may still settle.
    fn release(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        let chosen = self.rng.between(0, self.under_way.len() as u64 - 1) as usize;
        let (note, taken) = &mut self.under_way[chosen];
        let before = self.world.saved();
        self.world.release(KEY, note);
        self.model.release(taken);
        assert_eq!(self.world.saved(), before, "seed {}", self.seed);
    }

    fn operate(&mut self) {
        let now = self.world.now;
        match self.rng.between(0, 4) {
            0 => {
                self.world.with(|breaker, cx| breaker.force_open(KEY, cx));
                self.model.enter(Plain::Forced);
            }
            1 => {
                self.world.with(|breaker, cx| breaker.force_closed(KEY, cx));
                self.model.close(now);
            }
            2 => {
                self.world.with(|breaker, cx| breaker.reset(KEY, cx));
                self.model.close(now);
                (self.model.trips, self.model.length) = (0, Duration::ZERO);
            }
            3 if !matches!(self.model.phase, Plain::Disabled { .. }) => {
                self.world.with(|breaker, cx| breaker.disable(KEY, true, cx));
                self.model.enter(Plain::Disabled { log: Log::default(), run: 0 });
            }
            _ => {
                self.world.with(|breaker, cx| breaker.disable(KEY, false, cx));
                if matches!(self.model.phase, Plain::Disabled { .. }) {
                    self.model.close(now);
                }
            }
        }
    }

    /// Another isolate takes over: nothing is under way there, and a half-open circuit is due.
    fn move_elsewhere(&mut self) {
        let bytes = self.world.saved();
        self.world.gate = CircuitBreaker::new(self.model.config).unwrap();
        self.world.restore(&bytes).unwrap();
        assert_eq!(self.world.saved(), bytes, "seed {}", self.seed);
        self.under_way.clear();
        if matches!(self.model.phase, Plain::HalfOpen { .. }) {
            self.model.enter(Plain::Open { until: self.world.now });
        }
    }
}

#[test]
fn agrees_with_the_model() {
    let mut seen = [0; StateWord::ALL.len()];
    for seed in 0..400 {
        let mut pair = Pair::new(seed);
        for _ in 0..300 {
            pair.step();
            seen[pair.world.state() as usize] += 1;
        }
    }
    assert!(seen.iter().all(|times| *times > 2_000), "every state is visited: {seen:?}");
}
