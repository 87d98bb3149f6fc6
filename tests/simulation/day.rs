//! A day of traffic through every policy at once, against four origins of which one has a bad day.
//!
//! The model: calls come at random, more by day than by night, and go to each origin alike. A healthy attempt takes 15
//! ms and an exponential rest; one in a hundred is slow, one in five hundred fails. Twice the first origin falls ill.

use forbear::policy::circuit_breaker::{CircuitBreaker, StateWord};
use forbear::policy::{
    attempt_timeout, budget, bulkhead, circuit_breaker, concurrency_limiter, deadline, hedge, rate_limiter, retry,
    throttler,
};
use forbear::{Duration, HostTime, Key, Outcome, Overload, Part, RefusalReason, StackConfig, StackId, Step, Verdict};

use crate::chance::{Chance, millis};
use crate::host::{Ending, Host, Next, Upstream, Work};

/// What happened in one stretch of the day.
pub struct Stretch {
    /// In seconds of the day.
    pub from: u64,
    pub until: u64,
    pub name: &'static str,
    /// Of the origin that falls ill, and of the three others.
    pub sick: Tally,
    pub others: Tally,
}

/// What became of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub calls: u32,
    pub well: u32,
    pub sent: u32,
    pub refused: [u32; RefusalReason::ALL.len()],
    /// Calls by the millisecond they took; the last is for all that took longer.
    took_ms: Vec<u32>,
}

/// The whole day.
pub struct Day {
    pub stretches: Vec<Stretch>,
    /// When the circuit of the first origin was seen in another state, by the second of the day.
    pub circuit: Vec<(u64, StateWord)>,
    /// Calls still under way when all was over.
    pub left_over: usize,
}

/// Whoever is told how the day passes.
pub trait Watch {
    /// A minute has passed in which so many calls ended.
    fn minute(&mut self, _calls: u32) {}

    /// A stretch has.
    fn stretch(&mut self, _stretch: &Stretch) {}
}

#[derive(Clone, Copy, PartialEq)]
enum Health {
    Well,
    /// Every attempt is answered 503, soon.
    Down,
    /// Attempts take seconds, and one in three fails.
    Slow,
}

struct Origins {
    /// Of the first; the others are well.
    health: Health,
    chance: Chance,
}

impl Upstream for Origins {
    fn go_on(&mut self, work: &mut Work, _now: HostTime) -> Next {
        let health = if work.tag == SICK { self.health } else { Health::Well };
        let chance = &mut self.chance;
        let (latency_ms, verdict) = match health {
            Health::Down => (5.0, Verdict::Overload(Overload::Unavailable)),
            Health::Slow => {
                let fails = chance.happens(1.0 / 3.0);
                (chance.exponential(3_000.0), if fails { Verdict::Transient } else { Verdict::Success })
            }
            Health::Well => {
                let rest = if chance.happens(0.01) { 300.0 } else { 10.0 };
                let fails = chance.happens(0.002);
                (15.0 + chance.exponential(rest), if fails { Verdict::Transient } else { Verdict::Success })
            }
        };
        Next::Ends(millis(latency_ms), Outcome::new(verdict))
    }
}

/// Lives through the day, with so many calls a second on average.
pub fn live(calls_a_second: f64, watch: &mut impl Watch) -> Day {
    let origins = Origins { health: Health::Well, chance: Chance::new(1) };
    let (mut host, stack) = Host::with(2, origins, everything_on());
    let keys: Vec<Key> = (0..ORIGINS).map(|_| host.engine.intern().expect("there is room for a key")).collect();
    let mut traffic = Traffic { midnight: host.now(), calls_a_second, chance: Chance::new(3) };
    let mut day = Day { stretches: Vec::new(), circuit: vec![(0, StateWord::Closed)], left_over: 0 };
    for (position, (from, name, health)) in STRETCHES.into_iter().enumerate() {
        let until = STRETCHES.get(position + 1).map_or(A_DAY, |next| next.0);
        let mut stretch = Stretch { from, until, name, sick: Tally::new(), others: Tally::new() };
        host.upstream.health = health;
        let mut told = 0;
        for second in from..until {
            traffic.second(&mut host, stack, &keys, second, &mut stretch);
            if (second + 1) % MINUTE == 0 {
                watch.minute(stretch.calls() - told);
                told = stretch.calls();
            }
            let now = host.engine.instant(host.now());
            let breaker = host.engine.gate::<CircuitBreaker>(stack).expect("a breaker");
            let state = breaker.read(keys[SICK as usize], now).state;
            if day.circuit.last().is_some_and(|(_, last)| *last != state) {
                day.circuit.push((second + 1, state));
            }
        }
        watch.stretch(&stretch);
        day.stretches.push(stretch);
    }
    while host.next().is_some() {}
    day.left_over = host.engine.in_flight();
    day
}

struct Traffic {
    midnight: HostTime,
    calls_a_second: f64,
    chance: Chance,
}

impl Traffic {
    /// A second of the day.
    fn second(&mut self, host: &mut Host<Origins>, stack: StackId, keys: &[Key], second: u64, into: &mut Stretch) {
        let end = self.midnight + Duration::from_secs(second + 1);
        // Least at four in the night, most twelve hours later: a triangle.
        let hour = (second as f64 / 3_600.0 + 20.0) % 24.0;
        let pause_ms = 1_000.0 / (self.calls_a_second * (0.3 + 1.4 * (1.0 - (hour - 12.0).abs() / 12.0)));
        loop {
            let next = (host.now() + millis(self.chance.exponential(pause_ms))).min(end);
            while let Some(ending) = host.next_until(next) {
                into.tally(&ending);
            }
            if next == end {
                return;
            }
            let origin = (self.chance.share() * f64::from(ORIGINS)) as u32;
            host.call(stack, keys[origin as usize], origin);
        }
    }
}

impl Stretch {
    /// How many calls have ended.
    pub fn calls(&self) -> u32 {
        self.sick.calls + self.others.calls
    }

    fn tally(&mut self, ending: &Ending) {
        let tally = if ending.tag == SICK { &mut self.sick } else { &mut self.others };
        tally.calls += 1;
        tally.well += u32::from(ending.is_success());
        tally.sent += ending.sent;
        if let Step::Reject(rejection) = ending.step {
            tally.refused[usize::from(rejection.reason.code())] += 1;
        }
        let took_ms = ending.ended.since(ending.began).as_nanos() / 1_000_000;
        tally.took_ms[(took_ms as usize).min(LONGEST_MS)] += 1;
    }
}

impl Tally {
    fn new() -> Self {
        Self { calls: 0, well: 0, sent: 0, refused: [0; RefusalReason::ALL.len()], took_ms: vec![0; LONGEST_MS + 1] }
    }

    pub fn refused(&self) -> u32 {
        self.refused.iter().sum()
    }

    /// The latency that this share of calls did not exceed, in whole milliseconds.
    pub fn quantile_ms(&self, share: f64) -> usize {
        let rank = share * f64::from(self.calls);
        let mut calls = 0;
        self.took_ms
            .iter()
            .position(|count| {
                calls += count;
                f64::from(calls) >= rank
            })
            .unwrap_or(LONGEST_MS)
    }
}

/// All ten policies.
fn everything_on() -> StackConfig {
    let after = Duration::from_millis(100);
    StackConfig {
        deadline: Some(deadline::Config { total: Duration::from_secs(5), ..Default::default() }),
        retry: Some(retry::Config::default()),
        budget: Some(Part::Own(budget::Config::default())),
        hedge: Some(hedge::Config { after, ..hedge::Config::default() }),
        throttler: Some(Part::Own(throttler::Config::default())),
        breaker: Some(Part::Own(circuit_breaker::Config::default())),
        concurrency_limiter: Some(Part::Own(concurrency_limiter::Config::default())),
        bulkhead: Some(Part::Own(bulkhead::Config { queue: 10, ..bulkhead::Config::default() })),
        rate_limiter: Some(Part::Own(rate_limiter::Config { rate: 1_000, ..rate_limiter::Config::default() })),
        attempt_timeout: Some(attempt_timeout::Config { attempt: Duration::from_secs(1), ..Default::default() }),
        ..StackConfig::default()
    }
}

/// From which second of the day on, what it is, and how the first origin is.
const STRETCHES: [(u64, &str, Health); 8] = [
    (0, "night", Health::Well),
    (7 * HOUR, "morning", Health::Well),
    (10 * HOUR, "the first origin answers 503", Health::Down),
    (10 * HOUR + 20 * MINUTE, "healed", Health::Well),
    (10 * HOUR + 30 * MINUTE, "noon", Health::Well),
    (16 * HOUR, "the first origin takes seconds", Health::Slow),
    (16 * HOUR + 20 * MINUTE, "healed", Health::Well),
    (16 * HOUR + 30 * MINUTE, "evening", Health::Well),
];

const ORIGINS: u32 = 4;
const SICK: u32 = 0;
const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
const A_DAY: u64 = 24 * HOUR;
const LONGEST_MS: usize = 5_000;

#[cfg(test)]
struct Nobody;

#[cfg(test)]
impl Watch for Nobody {}

/// The story in figures, with three calls in two seconds: the origins that are well notice nothing; the one that is
/// ill is spared nearly all of its calls; and within minutes of its recovery everything is as before.
#[test]
fn a_day_with_an_outage_hurts_nobody_but_its_own_calls() {
    let day = live(1.5, &mut Nobody);
    assert_eq!(day.left_over, 0);
    assert_eq!(day.circuit.last().map(|(_, state)| *state), Some(StateWord::Closed));
    let share = |part: u32, tally: &Tally| f64::from(part) / f64::from(tally.calls);
    let mut before = Health::Well;
    for (stretch, (.., health)) in day.stretches.iter().zip(STRETCHES) {
        let Stretch { name, from, until, sick, others } = stretch;
        let told = format!("{name}, {from} to {until} s");
        assert!(share(others.well, others) > 0.999 && others.quantile_ms(0.99) < 150, "{told}");
        match health {
            Health::Well if before == Health::Well => assert!(share(sick.well, sick) > 0.999, "{told}"),
            Health::Well => assert!(share(sick.well, sick) > 0.5, "{told}"),
            _ => assert!(share(sick.refused(), sick) > 0.75 && share(sick.sent, sick) < 0.5, "{told}"),
        }
        before = health;
    }
}

#[test]
fn the_same_day_is_lived_twice_alike() {
    let [once, again] = [(); 2].map(|()| live(0.2, &mut Nobody).stretches);
    let figures = |day: &[Stretch]| day.iter().map(|one| (one.sick.clone(), one.others.clone())).collect::<Vec<_>>();
    assert_eq!(figures(&once), figures(&again));
}
