//! A concurrency limiter before an upstream that queues: so many workers, each busy for so long with each call, first come,
//! first served. It refuses nothing, so that only latencies tell what it can do.

use forbear::policy::concurrency_limiter::{ConcurrencyLimiter, Config, Reading};
use forbear::{Duration, HostTime, Key, Outcome, Part, StackConfig, StackId, Verdict};

use crate::chance::{Chance, millis};
use crate::host::{Host, Next, Upstream, Work};

/// How long a service takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    Constant,
    Exponential,
    /// One in twenty takes up to fourteen times as long as the others.
    Tail,
}

#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// More callers than may run, always.
    Crowd,
    /// They come at random, so many for each that can be served.
    Open(f64),
}

#[derive(Clone, Copy, Debug)]
pub struct World {
    pub config: Config,
    pub workers: u32,
    pub service_ms: f64,
    pub service: Service,
    pub load: Load,
    pub seed: u64,
}

/// What was seen in some seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// On average.
    pub limit: f64,
    /// Of the workers' time, as a share.
    pub used: f64,
    /// How long half of the calls took at most, in service times.
    pub median: f64,
    /// Of all calls, as a share.
    pub refused: f64,
}

/// A run that can be looked at in parts, and whose upstream can be changed in between.
pub struct Run {
    world: World,
    host: Host<Workers>,
    stack: StackId,
    arrivals: Chance,
}

struct Workers {
    free_at: Vec<HostTime>,
    service: Service,
    mean_ms: f64,
    chance: Chance,
    /// Since somebody last looked.
    work_ms: f64,
}

impl Upstream for Workers {
    fn go_on(&mut self, _work: &mut Work, now: HostTime) -> Next {
        let (mean, chance) = (self.mean_ms, &mut self.chance);
        let takes = match self.service {
            Service::Constant => mean,
            Service::Exponential => chance.exponential(mean),
            Service::Tail if chance.happens(0.05) => mean * (0.5 + 10.0 * chance.share()),
            Service::Tail => mean * 0.763,
        };
        self.work_ms += takes;
        let free = self.free_at.iter_mut().min().expect("a worker");
        *free = (*free).max(now) + millis(takes);
        Next::Ends(free.since(now), Outcome::new(Verdict::Success))
    }
}

impl Run {
    pub fn new(world: World) -> Self {
        let World { config, workers, service_ms: mean_ms, service, seed, .. } = world;
        let chance = Chance::new(seed);
        let upstream = Workers { free_at: Vec::new(), service, mean_ms, chance, work_ms: 0.0 };
        let stack = StackConfig { concurrency_limiter: Some(Part::Own(config)), ..StackConfig::default() };
        let (host, stack) = Host::with(seed, upstream, stack);
        let mut run = Self { world, host, stack, arrivals: Chance::new(seed + 1) };
        run.workers(workers);
        run
    }

    pub fn workers(&mut self, workers: u32) {
        self.world.workers = workers;
        let (now, free_at) = (self.host.now(), &mut self.host.upstream.free_at);
        free_at.sort_unstable();
        free_at.resize(workers as usize, now);
    }

    #[cfg(test)]
    pub fn service_ms(&mut self, mean: f64) {
        self.world.service_ms = mean;
        self.host.upstream.mean_ms = mean;
    }

    pub fn go(&mut self, seconds: u64) -> Seen {
        let end = self.host.now() + Duration::from_secs(seconds);
        let (mut took, mut limits, mut calls) = (Vec::new(), 0.0, 0.0);
        self.host.upstream.work_ms = 0.0;
        while self.host.now() < end {
            let until = self.ask().min(end);
            while let Some(ending) = self.host.next_until(until) {
                calls += 1.0;
                if ending.is_success() {
                    took.push(ending.millis());
                    limits += f64::from(self.limiter().limit);
                    if let Load::Crowd = self.world.load {
                        self.ask();
                    }
                }
            }
        }
        took.sort_by(f64::total_cmp);
        let served = took.len() as f64;
        let could_ms = f64::from(self.world.workers) * seconds as f64 * 1e3;
        Seen {
            limit: limits / served,
            used: self.host.upstream.work_ms / could_ms,
            median: took.get(took.len() / 2).map_or(0.0, |ms| ms / self.world.service_ms),
            refused: 1.0 - served / calls,
        }
    }

    /// Calls as the load has it; answers when the next comes.
    fn ask(&mut self) -> HostTime {
        match self.world.load {
            Load::Crowd => {
                let reading = self.limiter();
                for _ in reading.in_flight..reading.limit {
                    self.host.call(self.stack, Key::WHOLE, 0);
                }
                HostTime::from_nanos(u64::MAX)
            }
            Load::Open(share) => {
                self.host.call(self.stack, Key::WHOLE, 0);
                let mean = self.world.service_ms / f64::from(self.world.workers) / share;
                self.host.now() + millis(self.arrivals.exponential(mean))
            }
        }
    }

    fn limiter(&self) -> Reading {
        let now = self.host.engine.instant(self.host.now());
        self.host.engine.gate::<ConcurrencyLimiter>(self.stack).expect("a limiter").read(Key::WHOLE, now)
    }
}
