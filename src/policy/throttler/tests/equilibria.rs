//! Where a throttler settles, in both accountings: 200 attempts a second for a long time, against what algebra says.
//!
//! Where the upstream accepts a share *a*, "sent" settles at p = 1 − K·a; where it serves C a second, at √(offered·K·C)
//! sent. With "offered" an upstream that serves C is sent K·C, and a share below 1/K has no fixed point but p = 1, so
//! that only `maxRejection` keeps it from locking itself out. The sweep is criterion 3 of resilix, spec v0.4, section 10.

use super::*;

enum Upstream {
    /// Accepts each with this probability, in per cent.
    Accepts(u64),
    /// Serves so many a second and refuses what is above.
    Serves(u32),
}

/// How many are sent a second, on average over the last ten of thirty minutes.
fn sent_a_second(accounting: Accounting, upstream: &Upstream) -> f64 {
    let mut world = World::new(Config { accounting, ..Config::default() });
    let mut rng = Rng::new(5);
    let mut sent = 0;
    for second in 0..1_800 {
        let mut served = 0;
        for _ in 0..OFFERED {
            world.later(1_000 / OFFERED);
            let well = match upstream {
                Upstream::Accepts(percent) => rng.between(0, 99) < *percent,
                Upstream::Serves(capacity) => served < *capacity,
            };
            let passed = world.attempt(KEY, rng.word(), if well { Verdict::Success } else { UNAVAILABLE });
            served += u32::from(passed && well);
            sent += u32::from(passed && second >= 1_200);
        }
    }
    f64::from(sent) / 600.0
}

fn assert_close(sent: f64, analytic: f64, what: &str) {
    assert!((sent / analytic - 1.0).abs() < 0.05, "{what}: {sent} sent a second, {analytic} expected");
}

#[test]
fn sent_accounting_sends_what_algebra_says_across_a_failure_sweep() {
    // Not 5 %: there p just meets the largest rate, which cuts off half of its fluctuation.
    for percent in [2, 4, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 100] {
        let p = (1.0 - 2.0 * percent as f64 / 100.0).clamp(0.0, 0.9);
        let sent = sent_a_second(Accounting::Sent, &Upstream::Accepts(percent));
        assert_close(sent, OFFERED as f64 * (1.0 - p), &std::format!("{percent} % accepted"));
    }
}

#[test]
fn sent_accounting_sends_a_geometric_mean_to_an_upstream_that_serves_so_many() {
    for capacity in [5, 20, 60] {
        let sent = sent_a_second(Accounting::Sent, &Upstream::Serves(capacity));
        let analytic = (OFFERED as f64 * 2.0 * f64::from(capacity)).sqrt();
        assert_close(sent, analytic, &std::format!("{capacity} a second served"));
    }
}

/// "One rejection per accept": Google, *Site Reliability Engineering*, chapter 21, section "Client-Side Throttling".
#[test]
fn offered_accounting_sends_twice_what_is_served() {
    for capacity in [20, 40, 60] {
        let sent = sent_a_second(Accounting::Offered, &Upstream::Serves(capacity));
        assert_close(sent, 2.0 * f64::from(capacity), &std::format!("{capacity} a second served"));
    }
}

#[test]
fn offered_accounting_falls_to_the_least_where_less_than_half_is_accepted() {
    for percent in [2, 10, 30] {
        let sent = sent_a_second(Accounting::Offered, &Upstream::Accepts(percent));
        assert_close(sent, OFFERED as f64 / 10.0, &std::format!("{percent} % accepted"));
    }
}

/// go-kratos/kratos#2777: who counts its own refusals goes on refusing long after the upstream has healed. Both come
/// back; who does not count them is back in half a minute.
#[test]
fn both_accountings_recover_and_sent_does_so_sooner() {
    let recovery = |accounting| {
        let mut world = World::new(Config { accounting, ..Config::default() });
        let mut rng = Rng::new(3);
        for _ in 0..600 * OFFERED {
            world.later(1_000 / OFFERED).attempt(KEY, rng.word(), UNAVAILABLE);
        }
        (0..600).find(|_| {
            let sent = (0..OFFERED)
                .filter(|_| world.later(1_000 / OFFERED).attempt(KEY, rng.word(), Verdict::Success))
                .count();
            sent as u64 * 100 >= OFFERED * 95
        })
    };
    let (sent, offered) = (recovery(Accounting::Sent).unwrap(), recovery(Accounting::Offered).unwrap());
    assert!((10..60).contains(&sent), "{sent} s");
    assert!((sent * 3..300).contains(&offered), "{offered} s");
}

const OFFERED: u64 = 200;
const UNAVAILABLE: Verdict = Verdict::Overload(Overload::Unavailable);
