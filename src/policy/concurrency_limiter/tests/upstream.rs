//! An upstream of so many workers, before which attempts queue: what a limit makes of it.

use std::collections::BTreeMap;

use super::*;

/// Serves so many at once, each for so long, first come, first served.
struct Upstream {
    free_at: Vec<u64>,
    service: u64,
}

/// A crowd that always wants more, in front of a limiter, in front of an upstream.
struct Run {
    world: World,
    upstream: Upstream,
    /// Who ends when, and how long it took.
    running: BTreeMap<(u64, u64), (Note, u64)>,
    clock: u64,
    number: u64,
    rng: Rng,
    /// In tenths of a per cent of the service time, up and down.
    noise: u64,
    /// Whether half the limit is being tried.
    probes: bool,
}

impl Run {
    fn new(algorithm: Algorithm, workers: usize, service: u64) -> Self {
        let upstream = Upstream { free_at: std::vec![0; workers], service };
        let world = with(algorithm);
        Self {
            world,
            upstream,
            running: BTreeMap::new(),
            clock: 0,
            number: 0,
            rng: Rng::new(8),
            noise: 0,
            probes: false,
        }
    }

    fn takes(&mut self) -> u64 {
        let service = self.upstream.service;
        let wobble = service * self.noise / 1_000;
        self.rng.between(service - wobble, service + wobble)
    }

    fn workers(&mut self, workers: usize) {
        self.upstream.free_at.sort_unstable();
        self.upstream.free_at.resize(workers, self.clock);
    }

    /// Few callers for a while: the latency without a queue is seen.
    fn breathe(mut self) -> Self {
        for _ in 0..200 {
            let note = self.world.later(20).admit(KEY).unwrap();
            let takes = self.takes();
            self.world.end(KEY, note, Verdict::Success, takes);
        }
        self
    }

    /// For so many milliseconds with a crowd; answers the least and the greatest limit, probes aside, and how many were
    /// served.
    fn go(&mut self, ms: u64) -> (u32, u32, u32) {
        let (until, mut least, mut most, mut served) = (self.clock + ms, u32::MAX, 0, 0);
        while self.clock < until {
            // Contenders come at random, more than can ever be served; one a millisecond or so finds room.
            while self.rng.between(0, 3) > 0
                && let Some(note) = self.world.admit(KEY)
            {
                let (clock, takes) = (self.clock, self.takes());
                let free = self.upstream.free_at.iter_mut().min().unwrap();
                *free = (*free).max(clock) + takes;
                self.number += 1;
                self.running.insert((*free, self.number), (note, *free - clock));
            }
            self.clock += 1;
            self.world.later(1);
            while let Some(first) = self.running.first_entry().filter(|first| first.key().0 <= self.clock) {
                let (note, took) = first.remove();
                self.world.end(KEY, note, Verdict::Success, took);
                served += 1;
            }
            for why in self.world.told_why() {
                self.probes = why == LimitReason::Probe && !self.probes;
            }
            if !self.probes {
                least = least.min(self.world.limit());
                most = most.max(self.world.limit());
            }
        }
        (least, most, served)
    }
}

#[test]
fn vegas_and_gradient2_find_what_can_be_served_and_little_more() {
    for (workers, algorithm) in [(10, Algorithm::Vegas), (50, Algorithm::Vegas), (50, Algorithm::Gradient2)] {
        let mut run = Run::new(algorithm, workers, 100).breathe();
        run.go(90_000);
        let (least, most, served) = run.go(60_000);
        let can = workers as u32;
        assert!(least >= can, "{algorithm:?}, {workers}: {least} to {most}");
        assert!(most <= can + can / 2 + 8, "{algorithm:?}, {workers}: {least} to {most}");
        assert!(served * 100 >= can * 600 * 98, "{algorithm:?}, {workers}: {served} served");
    }
}

#[test]
fn noise_does_not_press_the_limit_far_below_what_can_be_served() {
    let mut run = Run { noise: 200, ..Run::new(Algorithm::Vegas, 50, 100) }.breathe();
    run.go(120_000);
    let (_least, _most, served) = run.go(60_000);
    assert!(served >= 27_000, "{served} of 30,000 served; {_least} to {_most}");
}

#[test]
fn half_the_upstream_is_half_the_limit_and_it_comes_back() {
    let mut run = Run::new(Algorithm::Vegas, 60, 100).breathe();
    run.go(120_000);
    let (before, _, _) = run.go(30_000);
    run.workers(30);
    run.go(90_000);
    let (_, during, _) = run.go(30_000);
    assert!(before >= 60 && during <= 45, "{before} and then {during}");
    run.workers(60);
    run.go(120_000);
    let (after, _, _) = run.go(30_000);
    assert!(after >= 55, "{after}");
}

#[test]
fn hours_at_the_limit_do_not_raise_it_for_ever() {
    // concurrency-limits#165: the baseline drifts up with the queue that the limit itself makes.
    let mut run = Run::new(Algorithm::Vegas, 20, 100).breathe();
    run.go(120_000);
    let (_, early, _) = run.go(60_000);
    run.go(3_600_000);
    let (_, late, _) = run.go(60_000);
    assert!(late <= early + 5, "{early}, and an hour later {late}");
}
