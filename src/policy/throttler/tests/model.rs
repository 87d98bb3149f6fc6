//! A naive log beside the throttler, under random traffic.

use super::*;

#[test]
fn agrees_with_a_naive_log() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let accounting = if seed % 2 == 0 { Accounting::Sent } else { Accounting::Offered };
        let mut world = World::new(Config { accounting, ..Config::default() });
        let (mut log, mut begun): (Vec<(Instant, u32)>, Instant) = (Vec::new(), Instant::ORIGIN);
        for _ in 0..400 {
            let steps = [0, 0, 0, 1, 200, 3_000, 10_000, 70_000, 119_999, 120_000, 14_400_000];
            let longest = if rng.between(0, 9) == 0 { 10 } else { 5 };
            world.later(steps[rng.between(0, longest) as usize]);
            let bucket = |at: Instant| at.since(begun).as_nanos() / 10_000_000_000;
            let now = world.now;
            log.retain(|(at, _)| bucket(now) < bucket(*at) + 12);
            let (requests, accepts) = (log.len() as u32, log.iter().map(|(_, accepted)| accepted).sum::<u32>());
            assert_eq!((world.read().requests, world.read().accepts), (requests, accepts), "seed {seed}");

            let (dice, accepted) = (rng.word(), rng.between(0, 9) < 3);
            let excess = u128::from(requests).saturating_sub(2 * u128::from(accepts));
            let below_p = u128::from(dice) * (u128::from(requests) + 1) < excess << 64;
            let below_most = u128::from(dice) * 10 < 9 << 64;
            let refused = requests >= 10 && below_p && below_most;
            let passed = world.attempt(KEY, dice, if accepted { Verdict::Answered } else { Verdict::Transient });
            assert_eq!(passed, !refused, "seed {seed}: {requests} requests, {accepts} accepts, {dice}");
            if passed || accounting == Accounting::Offered {
                if log.is_empty() {
                    begun = now;
                }
                log.push((now, u32::from(passed && accepted)));
            }
            if rng.between(0, 20) == 0 {
                let bytes = world.saved();
                world.gate = world.restored(&bytes).unwrap();
                assert_eq!(world.saved(), bytes);
            }
        }
    }
}
