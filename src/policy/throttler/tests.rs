//! One test or more for each guarantee of docs/policies/throttler.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::config::ConfigReason;
use crate::id::CallId;
use crate::outcome::{Overload, Verdict};
use crate::policy::Kind;
use crate::policy::lent::Lent;
use crate::random::Rng;

mod equilibria;
mod model;

const KEY: Key = Key::WHOLE;
const OTHER: Key = Key::from_number(2);

/// A throttler and all it is lent.
type World = Lent<Throttler>;

impl World {
    fn new(config: Config) -> Self {
        Self::of(Kind::Throttler, Throttler::new(config).unwrap())
    }

    /// An attempt as the engine deals with it; `false` if it was refused.
    fn attempt(&mut self, key: Key, dice: u64, verdict: Verdict) -> bool {
        let asker = asker(key, dice, self.now);
        let passes = self.gate.ask(&asker, self.now) == Answer::Pass;
        self.with(|throttler, cx| match passes {
            true => {
                let mut note = throttler.take(&asker, cx);
                throttler.settle(key, &mut note, &ended(verdict), cx);
                throttler.release(key, &mut note, cx);
            }
            false => throttler.refused(&asker, cx),
        });
        passes
    }

    /// Sends, whatever the dice would say.
    fn send(&mut self, count: u32, verdict: Verdict) -> &mut Self {
        for _ in 0..count {
            self.with(|throttler, cx| throttler.settle(KEY, &mut Note::default(), &ended(verdict), cx));
        }
        self
    }

    fn read(&self) -> Reading {
        self.gate.read(KEY, self.now)
    }

    fn refuses(&self, dice: u64) -> bool {
        let answer = self.gate.ask(&asker(KEY, dice, self.now), self.now);
        assert!(matches!(answer, Answer::Pass | Answer::Reject { reason: RefusalReason::Throttled, retry_at: None }));
        answer != Answer::Pass
    }

    fn saved(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.gate.save(self.now, &mut out);
        out.finish()
    }

    fn restored(&self, bytes: &[u8]) -> Result<Throttler, Damaged> {
        let mut fresh = Throttler::new(self.gate.config).unwrap();
        fresh.restore(self.now, &mut Reader::new(bytes)).map(|()| fresh)
    }

    fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.log.pop()).map(|event| event.what).collect()
    }
}

fn asker(key: Key, dice: u64, now: Instant) -> Asker {
    let call = CallId::from_u64(0);
    Asker { call, attempt: 1, key, dice, cost: 1, deadline: Instant::NEVER, since: now, place: None }
}

fn ended(verdict: Verdict) -> Ended {
    Ended { verdict, latency: Duration::from_millis(10) }
}

fn world() -> World {
    World::new(Config::default())
}

fn unlimited() -> Config {
    Config { max_rejection: Ratio::from_percent(99), min_requests: 1, ..Config::default() }
}

/// The least draw that passes.
fn edge(world: &World) -> u64 {
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if world.refuses(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

// G1: the probability is the published one, exactly.

#[test]
fn g1_the_published_examples() {
    for (requests, accepts, part, whole) in
        [(100, 50, 0, 1), (100, 25, 50, 101), (10, 0, 10, 11), (1_000, 499, 2, 1_001)]
    {
        let mut world = World::new(unlimited());
        world.send(accepts, Verdict::Success).send(requests - accepts, Verdict::Transient);
        assert_eq!(world.read().rate.millionths(), part * 1_000_000 / whole);
        // The first draw that passes is ⌈p·2⁶⁴⌉.
        let exact = (u128::from(part) << 64).div_ceil(u128::from(whole));
        assert_eq!(u128::from(edge(&world)), exact, "{requests} requests, {accepts} accepts");
    }
}

#[test]
fn g1_a_dead_upstream_hits_the_largest_rate() {
    let mut world = world();
    world.send(1_000, Verdict::Timeout);
    assert_eq!(world.read(), Reading { requests: 1_000, accepts: 0, rate: Ratio::from_percent(90) });
    assert_eq!(u128::from(edge(&world)), (9_u128 << 64).div_ceil(10));
    assert!(!world.refuses(u64::MAX), "some always get through");
}

#[test]
fn g1_a_draw_at_the_very_edge_passes() {
    // p is 15/16 and the largest rate 1/2: both are whole draws.
    let config = |most| Config { max_rejection: Ratio::from_percent(most), min_requests: 1, ..Config::default() };
    for (config, edge) in [(config(99), u64::MAX - (u64::MAX >> 4)), (config(50), 1 << 63)] {
        assert!(config.refuses(edge - 1, 15, 0));
        assert!(!config.refuses(edge, 15, 0));
    }
}

#[test]
fn g1_a_roll_is_made_once_an_attempt() {
    let mut world = world();
    world.send(40, Verdict::Transient);
    for dice in [0, 1 << 63, u64::MAX] {
        let first = world.refuses(dice);
        assert!((0..100).all(|_| world.refuses(dice) == first));
    }
}

#[test]
fn g1_counts_at_the_end_of_their_range_are_harmless() {
    let config = Config { multiplier: Ratio::from_percent(1_000), ..unlimited() };
    for accepts in [0, 1, u32::MAX] {
        for draw in [0, u64::MAX] {
            config.refuses(draw, u32::MAX, accepts);
        }
    }
    assert_eq!(config.rate(u32::MAX, 0), Ratio::from_percent(99));
    assert_eq!(config.rate(u32::MAX, u32::MAX), Ratio::ZERO);
}

// G2: nothing is refused without evidence.

#[test]
fn g2_nothing_known_refuses_nothing() {
    // go-kratos/aegis#26, #36: windows that are empty, or in their first bucket.
    let mut world = world();
    assert!(!world.refuses(0));
    world.send(9, Verdict::Transient);
    assert!(!world.refuses(0) && world.read().rate == Ratio::ZERO);
    world.send(1, Verdict::Transient);
    assert!(world.refuses(0));
    world.later(120_000);
    assert!(!world.refuses(0));
    assert_eq!(world.read(), Reading { requests: 0, accepts: 0, rate: Ratio::ZERO });
}

#[test]
fn g2_few_requests_prove_nothing_to_an_aggressive_one() {
    // envoy#16392, #33739: admission control that refuses at low traffic.
    let aggressive = |min_requests| Config { multiplier: Ratio::from_percent(110), min_requests, ..Config::default() };
    let error = Throttler::new(aggressive(10)).unwrap_err();
    assert_eq!((error.option(), error.reason, error.min), ("minRequests", ConfigReason::Conflict, 100.0));
    assert!(Throttler::new(aggressive(100)).is_ok());
    let at_the_edge = Config { multiplier: Ratio::from_percent(150), ..Config::default() };
    assert!(Throttler::new(at_the_edge).is_ok());
}

/// What a healthy upstream, which accepts four of five, has to fear: the probability that ten in a row look bad.
#[test]
fn g2_a_healthy_upstream_is_seldom_throttled() {
    let mut rng = Rng::new(1);
    let throttled = (0..20_000).filter(|_| {
        let accepts = (0..10).filter(|_| rng.between(1, 10) <= 8).count() as u32;
        Config::default().rate(10, accepts) > Ratio::ZERO
    });
    let throttled = throttled.count();
    assert!((100..160).contains(&throttled), "{throttled} of 20,000, published are .0064");
}

// G3: what counts.

#[test]
fn g3_only_the_upstreams_own_word_counts_and_only_at_the_end() {
    let mut world = world();
    let counted = [
        (Verdict::Success, 1, 1),
        (Verdict::Answered, 1, 1),
        (Verdict::Transient, 1, 0),
        (Verdict::Timeout, 1, 0),
        (Verdict::Overload(Overload::Unavailable), 1, 0),
        (Verdict::Overload(Overload::TooManyRequests), 1, 0),
        (Verdict::Overload(Overload::Shedding), 1, 0),
        (Verdict::Rejected, 0, 0),
        (Verdict::Cancelled, 0, 0),
        (Verdict::Defect, 0, 0),
    ];
    for (verdict, requests, accepts) in counted {
        let before = world.read();
        // resilix counted at admit: its own bulkhead's refusals pinned it at the largest rate for ever.
        let note = world.with(|throttler, cx| throttler.take(&asker(KEY, 0, cx.now), cx));
        assert_eq!((world.read(), note), (before, Note::default()));
        world.send(1, verdict);
        let after = world.read();
        assert_eq!(
            (after.requests - before.requests, after.accepts - before.accepts),
            (requests, accepts),
            "{verdict:?}"
        );
    }
}

#[test]
fn g3_shedding_inside_is_not_read_as_distress_of_the_upstream() {
    // resilix, spec v0.4, open question 4: 20 offered to a bulkhead of 5, and an upstream that answers all it gets.
    let mut world = world();
    for _ in 0..1_000 {
        for place in 0..20 {
            world.attempt(KEY, 0, if place < 5 { Verdict::Success } else { Verdict::Rejected });
        }
        world.later(100);
    }
    assert_eq!(world.read().rate, Ratio::ZERO);
}

#[test]
fn g3_own_refusals_count_only_if_offered_ones_are_to() {
    for (accounting, requests) in [(Accounting::Sent, 20), (Accounting::Offered, 25)] {
        let mut world = World::new(Config { accounting, ..Config::default() });
        world.send(20, Verdict::Transient);
        let before = world.saved();
        assert!((0..5).all(|_| !world.attempt(KEY, 0, Verdict::Success)));
        assert_eq!(world.read().requests, requests);
        assert_eq!(world.saved() == before, accounting == Accounting::Sent, "law 6, and its one exception");
    }
}

// G4: it never locks itself out.

#[test]
fn g4_a_largest_rate_of_one_cannot_be_configured() {
    assert!(Config::default().set(2, 0.99).is_ok() && Config::default().set(2, 1.0).is_err());
    assert!(Throttler::new(Config { max_rejection: Ratio::ONE, ..Config::default() }).is_err());
}

// G5: keys do not know each other.

#[test]
fn g5_strangers_on_the_overflow_key_are_not_judged() {
    let mut world = World::new(Config { accounting: Accounting::Offered, ..Config::default() });
    for key in [Key::OVERFLOW, Key::NEW] {
        (0..50).for_each(|_| assert!(world.attempt(key, 0, Verdict::Transient)));
        world.with(|throttler, cx| throttler.refused(&asker(key, 0, cx.now), cx));
        assert_eq!(world.gate.read(key, world.now).requests, 0);
    }
}

#[test]
fn g5_a_key_and_its_successor_are_strangers() {
    let mut world = world();
    world.send(50, Verdict::Transient);
    assert!(world.refuses(0) && world.attempt(OTHER, 0, Verdict::Transient));
    world.gate.forget(KEY);
    assert!(!world.refuses(0) && !world.gate.is_busy(KEY, world.now));
}

// G6: snapshots.

#[test]
fn g6_what_was_counted_is_known_elsewhere() {
    let mut world = world();
    world.send(30, Verdict::Transient).later(30_000).send(30, Verdict::Success);
    let bytes = world.saved();
    let there = world.restored(&bytes).unwrap();
    for ms in [0, 89_999, 90_000, 119_999, 120_000, 10_000_000] {
        let now = world.now + Duration::from_millis(ms);
        assert_eq!(there.read(KEY, now), world.gate.read(KEY, now));
    }
    for end in 0..bytes.len() {
        assert!(world.restored(&bytes[..end]).is_err());
    }
    world.later(120_000);
    assert_eq!(world.saved(), self::world().saved(), "nothing is left");
}

#[test]
fn g6_what_was_thrown_away_or_shared_is_not_restored() {
    let mut old = world();
    old.attempt(OTHER, 0, Verdict::Transient);
    let mut new = world();
    new.send(5, Verdict::Success);
    for name in [Key::NEW, Key::OVERFLOW] {
        new.gate.restore(new.now, &mut Reader::renaming(&old.saved(), &[KEY, Key::OVERFLOW, name])).unwrap();
        assert_eq!(new.saved(), world().saved());
    }
}

// Events.

#[test]
fn a_change_is_told_by_steps() {
    let mut world = world();
    world.send(10, Verdict::Transient).send(10, Verdict::Transient).send(40, Verdict::Success);
    let rates: Vec<u32> =
        world
            .told()
            .into_iter()
            .map(|what| {
                if let What::RateChanged { rate, .. } = what { rate.millionths() / 10_000 } else { panic!("{what:?}") }
            })
            .collect();
    assert_eq!(rates, [90, 78, 70, 64, 57, 51, 46, 41, 32, 24, 17, 10, 5, 0]);
}
