//! One test or more for each guarantee of docs/policies/concurrency_limiter.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::config::ConfigReason;
use crate::id::CallId;
use crate::outcome::Overload;
use crate::policy::Kind;
use crate::policy::lent::Lent;
use crate::random::Rng;

mod upstream;

const KEY: Key = Key::WHOLE;
const OTHER: Key = Key::from_number(2);
const BUSY: Verdict = Verdict::Overload(Overload::TooManyRequests);

/// A limiter and all it is lent.
type World = Lent<ConcurrencyLimiter>;

impl World {
    fn new(config: Config) -> Self {
        Self::of(Kind::ConcurrencyLimiter, ConcurrencyLimiter::new(config).unwrap())
    }

    fn admit(&mut self, key: Key) -> Option<Note> {
        let asker = asker(key, self.now);
        let passes = self.gate.ask(&asker, self.now) == Answer::Pass;
        passes.then(|| self.with(|limiter, cx| limiter.take(&asker, cx)))
    }

    /// As many as there is room for.
    fn fill(&mut self, key: Key) -> Vec<Note> {
        core::iter::from_fn(|| self.admit(key)).collect()
    }

    fn settle(&mut self, key: Key, note: &mut Note, verdict: Verdict, ms: u64) {
        let ended = Ended { verdict, latency: Duration::from_millis(ms) };
        self.with(|limiter, cx| limiter.settle(key, note, &ended, cx));
    }

    fn end(&mut self, key: Key, mut note: Note, verdict: Verdict, ms: u64) {
        self.settle(key, &mut note, verdict, ms);
        self.with(|limiter, cx| limiter.release(key, &mut note, cx));
    }

    /// A window in which the limit is used, and every attempt takes so long. What comes after its end belongs to the next.
    fn window(&mut self, ms: u64) -> &mut Self {
        let mut notes = self.fill(KEY);
        let first = notes.remove(0);
        self.end(KEY, first, Verdict::Success, ms);
        self.later(ms.max(1_000));
        let count = notes.len();
        notes.into_iter().rev().for_each(|note| self.end(KEY, note, Verdict::Success, ms));
        for _ in count..9 {
            let note = self.admit(KEY).unwrap();
            self.end(KEY, note, Verdict::Success, ms);
        }
        self
    }

    fn windows(&mut self, count: u32, ms: u64) -> &mut Self {
        (0..count).for_each(|_| {
            self.window(ms);
        });
        self
    }

    fn read(&self) -> Reading {
        self.gate.read(KEY, self.now)
    }

    fn limit(&self) -> u32 {
        self.read().limit
    }

    fn baseline(&self) -> u64 {
        self.read().baseline.unwrap().as_nanos() / 1_000
    }

    fn saved(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.gate.save(self.now, &mut out);
        out.finish()
    }

    fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.log.pop()).map(|event| event.what).collect()
    }

    fn told_why(&mut self) -> Vec<LimitReason> {
        let told = self.told().into_iter();
        told.map(|what| if let What::LimitChanged { why, .. } = what { why } else { panic!("{what:?}") }).collect()
    }
}

fn asker(key: Key, now: Instant) -> Asker {
    let call = CallId::from_u64(0);
    Asker { call, attempt: 1, key, dice: 0, cost: 1, priority: 0, deadline: Instant::NEVER, since: now, place: None }
}

fn world() -> World {
    World::new(Config::default())
}

fn with(algorithm: Algorithm) -> World {
    World::new(Config { algorithm, ..Config::default() })
}

// G1: never more at once than the limit.

#[test]
fn g1_three_hundred_contenders_never_pass_the_limit() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        let mut rng = Rng::new(4);
        let mut running: Vec<Note> = Vec::new();
        for _ in 0..300 * 100 {
            world.later(rng.between(0, 20));
            if rng.between(0, 2) > 0 {
                let room = (running.len() as u32) < world.limit();
                let note = world.admit(KEY);
                assert_eq!(note.is_some(), room, "{} of {}", running.len(), world.limit());
                running.extend(note);
            } else if !running.is_empty() {
                let note = running.swap_remove(rng.between(0, running.len() as u64 - 1) as usize);
                let verdict =
                    [Verdict::Success, Verdict::Success, BUSY, Verdict::Cancelled][rng.between(0, 3) as usize];
                world.end(KEY, note, verdict, rng.between(1, 300));
            }
            assert_eq!(world.read().in_flight as usize, running.len());
        }
    }
}

#[test]
fn g1_a_refusal_names_no_instant_and_leaves_no_trace() {
    let mut world = world();
    assert_eq!(world.fill(KEY).len(), 20);
    let before = world.saved();
    let refused = Answer::Reject { reason: RefusalReason::ConcurrencyLimited, retry_at: None };
    assert_eq!(world.gate.ask(&asker(KEY, world.now), world.now), refused);
    assert_eq!((world.saved(), world.told()), (before, Vec::new()));
}

#[test]
fn g1_a_limit_that_falls_below_what_runs_admits_nobody_until_it_is_reached() {
    let mut world = World::new(Config { cut: Ratio::from_percent(50), ..Config::default() });
    let mut notes = world.fill(KEY);
    world.end(KEY, notes.pop().unwrap(), Verdict::Timeout, 1_000);
    assert_eq!((world.limit(), world.read().in_flight), (10, 19));
    for left in (10..19).rev() {
        assert!(world.admit(KEY).is_none(), "{left}");
        world.end(KEY, notes.pop().unwrap(), Verdict::Success, 1_000);
    }
    world.end(KEY, notes.pop().unwrap(), Verdict::Success, 1_000);
    assert!(world.admit(KEY).is_some());
}

#[test]
fn g1_every_slot_is_given_back_once() {
    let mut world = world();
    let mut note = world.admit(KEY).unwrap();
    for _ in 0..3 {
        world.with(|limiter, cx| limiter.release(KEY, &mut note, cx));
        assert_eq!(world.read().in_flight, 0);
    }
    // After a lease a result still counts.
    let mut samples = 0;
    while world.read().baseline.is_none() {
        world.later(100);
        let mut note = world.admit(KEY).unwrap();
        world.with(|limiter, cx| limiter.release(KEY, &mut note, cx));
        world.settle(KEY, &mut note, Verdict::Success, 50);
        samples += 1;
    }
    assert_eq!((samples, world.read().in_flight), (11, 0));
}

// G2: a limit that is not used does not grow.

#[test]
fn g2_idle_lanes_do_not_grow() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        for _ in 0..1_000 {
            let notes: Vec<Note> = (0..9).filter_map(|_| world.admit(KEY)).collect();
            world.later(200);
            notes.into_iter().for_each(|note| world.end(KEY, note, Verdict::Success, 20));
        }
        assert_eq!((world.limit(), world.baseline()), (20, 20_000), "{algorithm:?}");
        world.windows(3, 20);
        assert!(world.limit() > 20, "{algorithm:?}");
    }
}

#[test]
fn g2_what_never_ran_or_was_refused_inside_is_no_use_of_the_limit() {
    // resilix, ADR 007: a growth tether that was raised at admission, by what an inner policy then refused.
    let mut world = world();
    for _ in 0..100 {
        let notes = world.fill(KEY);
        world.later(200);
        let before = world.saved();
        for (place, note) in notes.into_iter().enumerate() {
            world.end(KEY, note, [Verdict::Rejected, Verdict::Cancelled, Verdict::Defect][place % 3], 20);
        }
        assert_eq!(world.saved(), before);
        for _ in 0..11 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Success, 20);
        }
    }
    assert_eq!(world.limit(), 20);
}

// G3: the algorithms' steps.

#[test]
fn g3_vegas_steps_as_published() {
    // From 20: a queue of at most 1 adds 6, of 2 adds 1, of 3 to 6 holds, of 7 takes 1.
    for (latency, next) in [(1_000, 26), (1_050, 26), (1_110, 21), (1_170, 20), (1_240, 20), (1_420, 20), (1_430, 19)] {
        let measured = algorithm::Measured { limit: 20_000, latency, baseline: 1_000 };
        assert_eq!(Algorithm::Vegas.next(measured) / 1_000, next, "{latency}");
    }
    let measured = |limit, latency| algorithm::Measured { limit, latency, baseline: 1_000 };
    assert_eq!(Algorithm::Vegas.next(measured(20_000, 1_600)), 19_000);
    // Above a hundred all steps are twice as large.
    assert_eq!(Algorithm::Vegas.next(measured(150_000, 1_000)), 162_000);
    assert_eq!(Algorithm::Vegas.next(measured(150_000, 1_600)), 148_000);
}

#[test]
fn g3_gradient2_steps_as_published() {
    let measured = |limit, latency| algorithm::Measured { limit, latency, baseline: 1_000 };
    // Up to 1.25 times the baseline there is room for a queue of 4, a fifth of which is added; beyond, no growth.
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_000)), 20_800);
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_249)), 20_800);
    assert_eq!(Algorithm::Gradient2.next(measured(20_000, 1_250)), 20_000);
    // Half at most, a fifth of the way.
    assert_eq!(Algorithm::Gradient2.next(measured(100_000, 2_000)), 95_800);
    assert_eq!(Algorithm::Gradient2.next(measured(100_000, u32::MAX)), 90_800);
}

#[test]
fn g3_aimd_adds_one_a_window_and_cuts_a_tenth() {
    let mut world = with(Algorithm::Aimd);
    world.windows(10, 900);
    assert_eq!(world.limit(), 30);
    let note = world.admit(KEY).unwrap();
    world.end(KEY, note, BUSY, 5);
    assert_eq!(world.limit(), 27);
}

#[test]
fn g3_limits_stay_within_their_bounds() {
    for algorithm in Algorithm::ALL {
        let config = Config { algorithm: *algorithm, min: 5, max: 30, ..Config::default() };
        let mut world = World::new(config);
        world.windows(100, 20);
        assert_eq!(world.limit(), 30, "{algorithm:?}");
        for _ in 0..100 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Timeout, 1_000);
        }
        assert_eq!(world.limit(), 5, "{algorithm:?}");
    }
}

// G4: it does not grow while attempts take a quarter longer than the baseline.

#[test]
fn g4_a_long_outage_never_raises_the_limit() {
    // concurrency-limits#35, #165, failsafe-go#127: limits that creep up, baselines that climb to the incident's latency.
    for algorithm in [Algorithm::Vegas, Algorithm::Gradient2] {
        let mut world = with(algorithm);
        // The first window that is slow still has samples that are not.
        world.windows(20, 100).windows(2, 2_500);
        let (mut last, mut windows) = (world.limit(), 0);
        while 4 * 2_500_000 >= 5 * world.baseline() && windows < 150 {
            world.window(2_500);
            assert!(world.limit() <= last, "{algorithm:?}, window {windows}");
            (last, windows) = (world.limit(), windows + 1);
        }
        assert_eq!(windows, 150, "{algorithm:?}: the baseline has climbed");
        assert!(last <= 30, "{algorithm:?}: {last}");
        // And back, once it is over.
        world.windows(60, 100);
        assert!(world.limit() >= 50, "{algorithm:?}: {}", world.limit());
    }
}

// G5: the baseline ages.

#[test]
fn g5_the_baseline_falls_at_once_and_rises_slowly() {
    let mut world = world();
    world.windows(10, 100);
    assert_eq!(world.baseline(), 100_000);
    world.windows(60, 200);
    assert!((110_000..130_000).contains(&world.baseline()), "{}", world.baseline());
    world.windows(12, 100);
    assert!(world.baseline() < 101_500, "{}", world.baseline());
}

#[test]
fn g5_a_change_for_good_is_accepted_in_the_end() {
    // tower-resilience: a minimum that is kept for ever; envoy#11579: a limit that is pinned to its minimum.
    let mut world = world();
    world.windows(20, 100);
    world.windows(200, 300);
    let pressed = world.limit();
    assert!(pressed < 20, "{pressed}");
    world.windows(1_500, 300);
    assert!(world.limit() > 2 * pressed, "{} after {pressed}", world.limit());
}

// G6: one cut for all that began before it.

#[test]
fn g6_a_burst_of_refusals_cuts_once() {
    for (verdict, why) in [
        (BUSY, LimitReason::Overload),
        (Verdict::Overload(Overload::Unavailable), LimitReason::Overload),
        (Verdict::Overload(Overload::Shedding), LimitReason::Overload),
        (Verdict::Timeout, LimitReason::Timeout),
    ] {
        let mut world = world();
        for limit in [18, 16, 14, 13] {
            world.fill(KEY).into_iter().for_each(|note| world.end(KEY, note, verdict, 1_000));
            assert_eq!((world.limit(), world.told_why()), (limit, [why].to_vec()));
        }
    }
}

#[test]
fn g6_samples_from_before_a_cut_do_not_count() {
    // envoy#9007: samples of an earlier epoch raise the baseline with every window.
    let mut world = world();
    let mut notes = world.fill(KEY);
    world.end(KEY, notes.pop().unwrap(), BUSY, 10);
    world.later(5_000);
    notes.into_iter().for_each(|note| world.end(KEY, note, Verdict::Success, 5_000));
    assert_eq!(world.read().baseline, None);
    world.windows(1, 50);
    assert_eq!(world.baseline(), 50_000);
}

// G7: what is no evidence changes nothing.

#[test]
fn g7_faults_are_samples_and_wrong_requests_too() {
    for verdict in [Verdict::Success, Verdict::Answered, Verdict::Transient] {
        let mut world = world();
        for _ in 0..11 {
            world.later(100);
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, verdict, 30);
        }
        assert_eq!(world.baseline(), 30_000, "{verdict:?}");
    }
}

#[test]
fn g7_a_window_needs_time_and_samples() {
    // concurrency-limits#165: a low-traffic window of one sample makes a false baseline.
    let mut world = world();
    for _ in 0..9 {
        world.later(5_000);
        let note = world.admit(KEY).unwrap();
        world.end(KEY, note, Verdict::Success, 30);
        assert_eq!(world.read().baseline, None);
    }
    let mut quick = self::world();
    for _ in 0..100 {
        let note = quick.admit(KEY).unwrap();
        quick.end(KEY, note, Verdict::Success, 30);
        assert_eq!(quick.read().baseline, None);
    }
}

// G8: what was long ago is not known.

#[test]
fn g8_after_a_minute_without_results_nothing_is_known() {
    let mut world = world();
    world.windows(20, 50);
    let learned = world.read();
    assert!(learned.limit > 20);
    world.told();
    world.later(59_999);
    assert_eq!(world.read(), learned);
    world.later(1);
    assert_eq!(world.read(), Reading { limit: 20, in_flight: 0, baseline: None });
    assert_eq!(world.saved(), self::world().saved());
    assert_eq!((world.fill(KEY).len(), world.told_why()), (20, [LimitReason::Stale].to_vec()));
}

#[test]
fn g8_timeouts_are_results() {
    let mut world = world();
    for _ in 0..20 {
        world.later(30_000);
        let note = world.admit(KEY).unwrap();
        world.end(KEY, note, Verdict::Timeout, 10_000);
    }
    assert_eq!(world.limit(), 4);
}

#[test]
fn g8_no_time_at_all_and_the_end_of_time_are_harmless() {
    for algorithm in Algorithm::ALL {
        let mut world = with(*algorithm);
        world.windows(3, 0);
        assert_eq!(world.baseline(), 1);
        world.now = Instant::NEVER;
        for _ in 0..50 {
            let note = world.admit(KEY).unwrap();
            world.end(KEY, note, Verdict::Success, u64::MAX);
            world.saved();
        }
    }
}

// G9: snapshots.

#[test]
fn g9_what_was_learned_is_known_elsewhere_and_what_runs_is_not() {
    let mut world = world();
    world.windows(7, 80);
    let notes = world.fill(KEY);
    world.later(700);
    notes.into_iter().take(25).for_each(|note| world.end(KEY, note, Verdict::Success, 90));
    let bytes = world.saved();
    let mut there = self::world();
    there.now = world.now;
    there.gate.restore(there.now, &mut Reader::new(&bytes)).unwrap();
    assert_eq!(there.saved(), bytes);
    assert!(world.read().in_flight > 0 && there.read() == Reading { in_flight: 0, ..world.read() });
    for end in 0..bytes.len() {
        let before = there.saved();
        assert!(there.gate.restore(there.now, &mut Reader::new(&bytes[..end])).is_err());
        assert_eq!(there.saved(), before);
    }
    let mut noise = bytes.clone();
    noise[7] = 0xFF;
    assert_eq!(there.gate.restore(there.now, &mut Reader::new(&noise)), Err(Damaged), "a limit out of bounds");
}

#[test]
fn g9_what_runs_goes_on_when_state_is_restored() {
    let mut world = world();
    world.windows(5, 80);
    let (bytes, learned) = (world.saved(), world.limit());
    let mut there = self::world();
    there.now = world.now;
    let notes = there.fill(KEY);
    there.gate.restore(there.now, &mut Reader::new(&bytes)).unwrap();
    assert_eq!((there.limit(), there.read().in_flight), (learned, 20));
    notes.into_iter().for_each(|note| there.end(KEY, note, Verdict::Success, 80));
    assert_eq!(there.read().in_flight, 0);
}

// G10: keys.

#[test]
fn g10_keys_do_not_know_each_other_and_those_in_use_are_busy() {
    let mut world = world();
    let notes = world.fill(KEY);
    assert!(world.admit(OTHER).is_some() && world.gate.is_busy(KEY, world.now));
    notes.into_iter().for_each(|note| world.end(KEY, note, BUSY, 10));
    assert!(!world.gate.is_busy(KEY, world.now));
    assert_eq!((world.limit(), world.gate.read(OTHER, world.now).limit), (18, 20));
    world.gate.forget(KEY);
    assert_eq!(world.read(), Reading { limit: 20, in_flight: 0, baseline: None });
}

#[test]
fn g10_strangers_share_the_overflow_keys_limit() {
    let mut world = world();
    assert_eq!(world.fill(Key::OVERFLOW).len(), 20);
    assert!(world.admit(Key::OVERFLOW).is_none());
    assert_eq!(world.gate.ask(&asker(Key::NEW, world.now), world.now), Answer::Pass);
}

// Configuration.

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let refused = |config: Config| {
        let error = ConcurrencyLimiter::new(config).unwrap_err();
        assert!(error.reason == ConfigReason::Conflict);
        (error.option, error.min, error.max)
    };
    let plain = Config::default();
    assert_eq!(refused(Config { max: 3, ..plain }), ("min", 1.0, 3.0));
    assert_eq!(refused(Config { max: 19, ..plain }), ("initial", 4.0, 19.0));
    assert_eq!(refused(Config { min: 21, ..plain }), ("initial", 21.0, 200.0));
    assert!(ConcurrencyLimiter::new(Config { min: 20, max: 20, ..plain }).is_ok());
}

#[test]
fn a_lane_is_small() {
    assert!(size_of::<Option<Lane>>() <= 96, "{} bytes", size_of::<Option<Lane>>());
}
