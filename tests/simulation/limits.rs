//! What limit the concurrency limiter finds, and what that is worth: upstreams of one to a hundred workers, quick and slow,
//! steady and erratic. Each run begins with the default limit of 20, which is far too many for some and too few for others.

use forbear::policy::concurrency_limiter::{Algorithm, Config};

use crate::queues::{Load, Run, Seen, Service, World};
use crate::rows::size;

/// One upstream, and what was found there in the mean of some runs.
pub struct Found {
    pub world: World,
    pub seen: Seen,
}

/// Every algorithm that goes by latencies, before every upstream.
pub fn found() -> Vec<Found> {
    let mut found = Vec::new();
    for algorithm in [Algorithm::Vegas, Algorithm::Gradient2] {
        for service in [Service::Constant, Service::Exponential, Service::Tail] {
            for (workers, service_ms) in UPSTREAMS {
                // Where a build is slow, what takes hundreds of thousands of calls is left out.
                if f64::from(workers) / service_ms <= size(50, 3_000) as f64 / 1e3 {
                    let config = Config { algorithm, ..Config::default() };
                    found.push(find(World { workers, service_ms, service, ..crowd(config) }));
                }
            }
        }
        for (workers, load) in [(4, 0.8), (20, 0.8), (4, 1.5), (20, 1.5)] {
            let config = Config { algorithm, ..Config::default() };
            found.push(find(erratic(config, workers, Load::Open(load))));
        }
    }
    found
}

fn find(world: World) -> Found {
    let seeds = if world.service == Service::Constant { 1 } else { 4 };
    // In windows, of a second or ten results.
    let window_s = (10.0 * world.service_ms / f64::from(world.workers) / 1e3).max(1.0);
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let mut run = Run::new(World { seed, ..world });
        run.go((300.0 * window_s) as u64);
        let Seen { limit, used, median, refused } = run.go((300.0 * window_s) as u64);
        let mean = |sum: &mut f64, one: f64| *sum += one / seeds as f64;
        mean(&mut seen.limit, limit);
        mean(&mut seen.used, used);
        mean(&mut seen.median, median);
        mean(&mut seen.refused, refused);
    }
    Found { world, seen }
}

fn crowd(config: Config) -> World {
    World { config, workers: 4, service_ms: 50.0, service: Service::Constant, load: Load::Crowd, seed: 5 }
}

fn erratic(config: Config, workers: u32, load: Load) -> World {
    World { workers, service: Service::Exponential, load, ..crowd(config) }
}

impl Found {
    /// As much is served as can be, and half of the calls wait no longer than they are served, but where the least limit is
    /// a queue by itself.
    pub fn holds(&self) -> bool {
        if let Load::Open(load) = self.world.load {
            // Where nobody waits in line, a few workers are idle between two arrivals now and then.
            return self.seen.used >= 0.85 * load.min(1.0) && self.seen.median <= 2.0;
        }
        let (workers, least) = (f64::from(self.world.workers), f64::from(self.world.config.min));
        let (most, median) = match self.world.service {
            Service::Constant => ((1.5 * workers).max(least + 2.0), 1.5_f64.max(1.5 * least / workers)),
            _ => ((2.0 * workers).max(workers + 8.0), 2.5_f64.max(2.0 * least / workers)),
        };
        self.seen.used >= 0.95 && self.seen.limit <= most && self.seen.median <= median
    }
}

/// Workers, and for how many milliseconds each is busy with a call.
const UPSTREAMS: [(u32, f64); 12] = [
    (1, 5.0),
    (1, 50.0),
    (1, 500.0),
    (2, 50.0),
    (2, 500.0),
    (4, 5.0),
    (4, 50.0),
    (4, 500.0),
    (20, 50.0),
    (20, 500.0),
    (100, 50.0),
    (100, 500.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn both(world: World) -> [World; 2] {
        [Algorithm::Vegas, Algorithm::Gradient2]
            .map(|algorithm| World { config: Config { algorithm, ..world.config }, ..world })
    }

    #[test]
    fn every_upstream_is_used_and_its_queue_stays_short() {
        for Found { world, seen } in found() {
            assert!(Found { world, seen }.holds(), "{world:?}\n{seen:?}");
        }
    }

    #[test]
    fn a_limit_that_begins_far_too_high_comes_down_within_a_minute_or_four() {
        for (initial, service, seconds) in [
            (20, Service::Constant, 60),
            (20, Service::Exponential, 60),
            (200, Service::Constant, 240),
            (200, Service::Exponential, 240),
        ] {
            for world in both(crowd(Config { initial, ..Config::default() })) {
                let mut run = Run::new(World { service, ..world });
                run.go(seconds);
                let seen = run.go(60);
                assert!(seen.limit <= 8.0 && seen.median <= 2.0 && seen.used >= 0.95, "{initial}, {world:?}\n{seen:?}");
            }
        }
    }

    #[test]
    fn the_demos_limited_upstream_soon_has_a_short_queue() {
        // Two at once, 150 ms each, 20 calls a second; from eight at once on.
        let config = Config { initial: 8, min: 1, ..Config::default() };
        for world in both(World { workers: 2, service_ms: 150.0, load: Load::Open(1.5), ..crowd(config) }) {
            for seed in 0..4 {
                let mut run = Run::new(World { seed, ..world });
                run.go(60);
                let seen = run.go(60);
                assert!(seen.limit <= 7.0 && seen.median <= 3.0 && seen.used >= 0.9, "{seed}, {world:?}\n{seen:?}");
            }
        }
    }

    #[test]
    fn calls_at_random_that_can_be_served_are_hardly_ever_refused() {
        for (workers, load, most) in
            [(4, 0.5, 0.0), (20, 0.6, 0.0), (4, 0.8, 0.005), (20, 0.8, 0.001), (20, 0.95, 0.08)]
        {
            for world in both(erratic(Config::default(), workers, Load::Open(load))) {
                let mut run = Run::new(world);
                run.go(100);
                let seen = run.go(200);
                assert!(seen.refused <= most, "{world:?}\n{seen:?}");
            }
        }
    }

    #[test]
    fn of_calls_at_random_that_are_too_many_as_many_are_served_as_can_be() {
        // Where nobody waits in line, a few workers are idle between two arrivals now and then.
        for (workers, load, used) in [(4, 1.5, 0.85), (20, 1.2, 0.93), (20, 1.5, 0.93)] {
            for world in both(erratic(Config::default(), workers, Load::Open(load))) {
                let mut run = Run::new(world);
                run.go(100);
                let seen = run.go(200);
                let most = f64::from(workers) * 2.0;
                assert!(seen.used >= used && seen.limit <= most && seen.median <= 2.0, "{world:?}\n{seen:?}");
            }
        }
    }

    #[test]
    fn it_follows_an_upstream_that_changes() {
        // After a third of the time, half the workers, twice the workers: within a minute.
        for (workers, service_ms) in [(20, 33.0), (10, 100.0), (40, 100.0)] {
            for world in both(World { service_ms: 100.0, ..erratic(Config::default(), 20, Load::Crowd) }) {
                let mut run = Run::new(world);
                run.go(100);
                run.workers(workers);
                run.service_ms(service_ms);
                run.go(60);
                let seen = run.go(120);
                let most = f64::from(workers) * 2.0;
                assert!(seen.used >= 0.93 && seen.limit <= most && seen.median <= 2.0, "{world:?}\n{seen:?}");
            }
        }
    }

    #[test]
    fn an_upstream_three_times_as_slow_for_good_is_used_again_within_ten_minutes() {
        for world in both(World { service_ms: 100.0, ..erratic(Config::default(), 20, Load::Crowd) }) {
            let mut run = Run::new(world);
            run.go(100);
            run.service_ms(300.0);
            run.go(600);
            let seen = run.go(120);
            assert!(seen.used >= 0.9 && seen.limit <= 50.0, "{world:?}\n{seen:?}");
        }
    }

    #[test]
    fn aimd_sees_no_queue() {
        let mut run = Run::new(crowd(Config { algorithm: Algorithm::Aimd, ..Config::default() }));
        run.go(200);
        assert!(run.go(10).limit > 190.0);
    }
}
