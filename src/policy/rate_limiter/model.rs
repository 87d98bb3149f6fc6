//! The bucket against the generic cell rate algorithm, which keeps no credit but the instant at which the next permit
//! would be due, as an exact fraction. Source: ITU-T I.371, annex A, the virtual scheduling algorithm.

use super::tests::{config, stack};
use super::*;
use crate::Facts;
use crate::policy::crowd::{Crowd, State};
use crate::random::Rng;

/// Time is counted in nanoseconds × rate, so that a permit takes a whole number: the interval.
struct Schedule {
    rate: u128,
    interval: u128,
    tolerance: u128,
    /// When the next permit would be due if all came evenly.
    due: u128,
}

impl Schedule {
    fn new(config: &Config) -> Self {
        let (rate, interval) = (u128::from(config.rate), u128::from(config.interval.as_nanos()));
        Self { rate, interval, tolerance: u128::from(config.burst.unwrap()) * interval, due: 0 }
    }

    /// Grants so many permits, or says when they could be.
    fn ask(&mut self, permits: u32, now: u128) -> Result<(), u128> {
        let due = self.due.max(now * self.rate) + u128::from(permits) * self.interval;
        let allowed = now * self.rate + self.tolerance;
        if due > allowed {
            return Err((due - self.tolerance).div_ceil(self.rate));
        }
        self.due = due;
        Ok(())
    }
}

#[test]
fn agrees_with_the_generic_cell_rate_algorithm() {
    let mut seen = [0; 2];
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut pick = |from: &[u64]| from[rng.between(0, from.len() as u64 - 1) as usize];
        let burst = pick(&[1, 2, 10, 1_000]) as u32;
        let interval = Duration::from_millis(pick(&[1, 999, 1_000, 60_000]));
        let config = Config { interval, ..config(pick(&[1, 3, 7, 1_000, 999_983]) as u32, burst) };
        let mut schedule = Schedule::new(&config);
        let mut crowd = Crowd::new(stack(config));
        let start = crowd.now;
        for _ in 0..200 {
            let step = interval.as_nanos() * rng.between(0, 3) / u64::from(config.rate);
            crowd.now = crowd.now + Duration::from_nanos(step + rng.between(0, 2));
            let permits = (rng.between(0, 8) as u32).min(burst);
            let now = u128::from(crowd.now.since(start).as_nanos());
            let expected = schedule.ask(permits, now);
            seen[usize::from(expected.is_ok())] += 1;
            if rng.between(0, 1) == 0 {
                assert_eq!(crowd.try_acquire(permits), expected.is_ok(), "seed {seed}");
                continue;
            }
            let guest = crowd.arrive_with(Key::WHOLE, Facts { cost: permits, ..Facts::default() }, 0);
            match expected {
                Ok(()) => assert_eq!(crowd.state(guest), State::Runs, "seed {seed}"),
                Err(at) => {
                    let at = start + Duration::from_nanos(at as u64);
                    let refused = State::Refused(RefusalReason::RateLimited, Some(at));
                    assert_eq!(crowd.state(guest), refused, "seed {seed}");
                }
            }
            crowd.guests.clear();
        }
    }
    assert!(seen.iter().all(|times| *times > 5_000), "{seen:?}");
}
