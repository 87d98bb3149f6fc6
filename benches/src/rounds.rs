//! Measuring: many short turns, every case once a round.
//!
//! A harness of our own because what counts is a ratio: a usual one measures one case for seconds and then the next, and
//! on a machine that others use too the two meet different neighbours. Here a turn takes about a millisecond, most of them
//! run undisturbed, the median leaves out those that were not, and both sides of a ratio come from the same seconds.

use std::time::{Duration, Instant};

/// One thing to measure.
pub struct Case {
    pub name: &'static str,
    /// What doing the same without any policy costs: the name of another case.
    pub direct: Option<&'static str>,
    /// Whom it is compared with: names of other cases, each with the greatest ratio of times allowed, if any.
    pub peers: Vec<(&'static str, Option<f64>)>,
    /// Whether its instructions are counted too.
    pub counted: bool,
    /// How many instructions it may take, beside a peer's or in all.
    pub bound: Option<Bound>,
    run: Box<dyn FnMut(u32) -> Duration>,
}

/// A row of the table of limits: times a peer's instructions, or, without a peer, instructions.
#[derive(Clone, Copy)]
pub struct Bound {
    pub peer: Option<&'static str>,
    pub limit: f64,
    pub goal: f64,
}

/// What was measured: nanoseconds a call. A case with several peers makes as many figures.
pub struct Figure {
    pub case: &'static str,
    pub ns: f64,
    pub over_direct_ns: Option<f64>,
    pub peer: Option<&'static str>,
    pub ratio: Option<f64>,
    pub limit: Option<f64>,
}

impl Case {
    /// A case that times so many calls itself.
    pub fn timed(name: &'static str, run: impl FnMut(u32) -> Duration + 'static) -> Self {
        Self { name, direct: None, peers: Vec::new(), counted: false, bound: None, run: Box::new(run) }
    }

    /// A case whose calls are simply made one after the other.
    pub fn new(name: &'static str, mut call: impl FnMut() + 'static) -> Self {
        Self::timed(name, move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                call();
            }
            start.elapsed()
        })
    }

    pub fn over(mut self, direct: &'static str) -> Self {
        self.direct = Some(direct);
        self
    }

    pub fn beside(mut self, peer: &'static str, limit: impl Into<Option<f64>>) -> Self {
        self.peers.push((peer, limit.into()));
        self
    }

    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    pub fn bound(mut self, peer: impl Into<Option<&'static str>>, limit: f64, goal: f64) -> Self {
        self.bound = Some(Bound { peer: peer.into(), limit, goal });
        self.counted()
    }

    /// Makes so many calls.
    pub fn calls(&mut self, count: u32) -> Duration {
        (self.run)(count)
    }
}

/// Measures all cases, round by round.
pub fn measure(cases: &mut [Case]) -> Vec<Figure> {
    let calls: Vec<u32> = cases.iter_mut().map(calls_per_turn).collect();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let mut random = 1;
    let mut rounds = vec![vec![0.0; cases.len()]; ROUNDS];
    for round in &mut rounds {
        shuffle(&mut order, &mut random);
        for &index in &order {
            let took = (cases[index].run)(calls[index]);
            round[index] = took.as_nanos() as f64 / f64::from(calls[index]);
        }
    }
    figures(cases, &rounds)
}

/// Medians over the rounds. A ratio is taken within each round: while somebody else on the machine slows everything down,
/// both sides are slowed.
fn figures(cases: &[Case], rounds: &[Vec<f64>]) -> Vec<Figure> {
    let find = |name| cases.iter().position(|case| case.name == name).expect("every case named is measured");
    let over = |index: usize| {
        let direct = cases[index].direct.map(find);
        move |round: &Vec<f64>| round[index] - direct.map_or(0.0, |direct| round[direct])
    };
    let mut figures = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let ns = median(rounds.iter().map(|round| round[index]));
        let over_direct_ns = case.direct.map(|_| median(rounds.iter().map(over(index))));
        let alone = Figure { case: case.name, ns, over_direct_ns, peer: None, ratio: None, limit: None };
        figures.extend(case.peers.iter().map(|&(peer, limit)| {
            let (ours, theirs) = (over(index), over(find(peer)));
            let ratio = median(rounds.iter().map(|round| ours(round) / theirs(round)));
            Figure { peer: Some(peer), ratio: Some(ratio), limit, ..alone }
        }));
        if case.peers.is_empty() {
            figures.push(alone);
        }
    }
    figures
}

/// Another order every round, so that no case always runs in the wake of the same other one.
fn shuffle(order: &mut [usize], random: &mut u64) {
    for last in (1..order.len()).rev() {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (*random >> 33) as usize % (last + 1));
    }
}

/// How many calls a turn makes; finding out warms the case up as well.
fn calls_per_turn(case: &mut Case) -> u32 {
    let mut calls = 1_000;
    for _ in 0..WARM_UP_TURNS {
        let took = (case.run)(calls).max(Duration::from_nanos(1));
        let fitting = f64::from(calls) * TURN.as_secs_f64() / took.as_secs_f64();
        calls = fitting.clamp(100.0, 10_000_000.0) as u32;
    }
    calls
}

fn median(samples: impl Iterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

const ROUNDS: usize = 400;
const TURN: Duration = Duration::from_millis(1);
const WARM_UP_TURNS: u32 = 30;
