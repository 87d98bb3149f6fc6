//! forbear's own cases, and what they ask of the allocator.

use std::hint::black_box;
use std::time::Instant;

use forbear::policy::{budget, bulkhead, concurrency_limiter, rate_limiter, retry, throttler};
use forbear::{Duration, Key, Kind, MAX_KEYS, Part, Ratio, StackConfig, Step, Verdict};

use crate::host::{Host, MANY, all, full, open_for_a_day, unlimited};
use crate::memory::{Use, used_by};
use crate::neighbour;
use crate::rounds::Case;
use crate::seatbelt;

const DIRECT: &str = "no policy, no engine";
const ALL: &str = "every policy";
const ONE_IN_FLIGHT: &str = "every policy, one call in flight";

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new(DIRECT, || {
            black_box(succeeding());
        }),
        succeeds("retry + budget + breaker + deadline + attempt timeout", full())
            .beside(neighbour::ITS_THREE_LAYERS, None)
            .beside(neighbour::THREE_LAYERS, None)
            .counted(),
        two_clock_readings("the same, and a clock read at both verbs", full())
            .beside(seatbelt::THREE_LAYERS, None)
            .beside(neighbour::SAME_POLICIES, None)
            .bound(seatbelt::THREE_LAYERS, 1.4, 1.0),
        refused("refused by an open breaker", full())
            .beside(neighbour::ITS_OPEN_BREAKER, None)
            .beside(neighbour::OPEN_BREAKER, None)
            .beside(seatbelt::OPEN_BREAKER, None)
            .counted(),
        refused("refused by an open breaker, every policy on", all()).bound(None, REFUSAL, REFUSAL / 2.0),
        over_keys("all five, 1,024 keys in turn", full()),
        one_in_ten_repeated("all five, one call in ten fails and is repeated"),
        succeeds(ALL, all()).beside(neighbour::ITS_THREE_LAYERS, None).counted(),
        two_clock_readings("every policy, and a clock read at both verbs", all())
            .beside(seatbelt::THREE_LAYERS, None)
            .bound(seatbelt::THREE_LAYERS, 2.4, 1.5),
        over_keys("every policy, 1,024 keys in turn", all()).beside(ALL, 1.5),
        in_flight(ONE_IN_FLIGHT, 1),
        in_flight("every policy, 10,000 calls in flight", MANY as usize).beside(ONE_IN_FLIGHT, 1.5),
    ];
    cases.extend(refusals().map(|case| case.beside(neighbour::ITS_OPEN_BREAKER, None).counted()));
    cases.extend(singles().into_iter().map(|(name, config)| succeeds(name, config).counted()));
    cases
}

/// What each policy costs alone. Retry comes without the budget of its own that it has by default.
fn singles() -> Vec<(&'static str, StackConfig)> {
    let retry = retry::Config { budget: false, ..retry::Config::default() };
    let budget = Part::Own(budget::Config::default());
    let mut singles = vec![
        ("no policy", StackConfig::default()),
        ("retry + budget", StackConfig { retry: Some(retry::Config::default()), budget: Some(budget), ..none() }),
    ];
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Budget) {
        let mut config = none();
        match kind {
            Kind::Retry => config.retry = Some(retry),
            Kind::RateLimiter => config.rate_limiter = Some(Part::Own(unlimited())),
            _ => config.slot(*kind).turn_on(),
        }
        singles.push((kind.word(), config));
    }
    singles
}

fn none() -> StackConfig {
    StackConfig::default()
}

fn succeeds(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(config);
    Case::new(name, move || {
        black_box(host.call(Key::WHOLE, succeeding));
    })
    .over(DIRECT)
}

/// What a native host pays in all: it has to read a clock for each verb.
fn two_clock_readings(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(config);
    Case::new(name, move || {
        black_box(Instant::now());
        black_box(host.call(Key::WHOLE, || {
            black_box(Instant::now());
            succeeding()
        }));
    })
    .over(DIRECT)
}

fn refused(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(open_for_a_day(config));
    host.open_breaker();
    Case::new(name, move || {
        let step = host.call(Key::WHOLE, succeeding);
        debug_assert!(matches!(step, Step::Reject(_)));
        black_box(step);
    })
    .over(DIRECT)
}

/// Every policy is on, and one of them refuses.
fn refusals() -> impl Iterator<Item = Case> {
    let one = concurrency_limiter::Config { initial: 1, min: 1, max: 1, ..concurrency_limiter::Config::default() };
    let day = Duration::from_secs(86_400);
    let seldom = rate_limiter::Config { rate: 1, interval: day, ..rate_limiter::Config::default() };
    let bulkhead = bulkhead::Config { concurrency: 1, ..bulkhead::Config::default() };
    let most = throttler::Config { max_rejection: Ratio::from_percent(99), ..throttler::Config::default() };
    let full = [
        ("refused by a full concurrency limiter", StackConfig { concurrency_limiter: Some(Part::Own(one)), ..all() }),
        ("refused by a full bulkhead", StackConfig { bulkhead: Some(Part::Own(bulkhead)), ..all() }),
        ("refused by a rate limiter that is used up", StackConfig { rate_limiter: Some(Part::Own(seldom)), ..all() }),
    ];
    // It cannot refuse more: one call in a hundred is sent, and fails.
    let throttled = StackConfig { retry: None, breaker: None, throttler: Some(Part::Own(most)), ..all() };
    let throttled = fails("refused by a throttler, all but one in a hundred", throttled);
    full.into_iter().map(|(name, config)| refused_while_one_is_held(name, config)).chain([throttled])
}

fn refused_while_one_is_held(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(config);
    host.hold();
    Case::new(name, move || {
        let step = host.call(Key::WHOLE, succeeding);
        debug_assert!(matches!(step, Step::Reject(_)));
        black_box(step);
    })
    .over(DIRECT)
}

fn fails(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(config);
    Case::new(name, move || {
        black_box(host.call(Key::WHOLE, || black_box(Verdict::Transient)));
    })
    .over(DIRECT)
}

/// So many calls are in flight all the time; with each new one the oldest ends.
fn in_flight(name: &'static str, many: usize) -> Case {
    let mut host = Host::new(all());
    Case::new(name, move || {
        let step = host.replace_oldest(many);
        debug_assert!(matches!(step, Step::Send(_)));
        black_box(step);
    })
    .over(DIRECT)
}

fn over_keys(name: &'static str, config: StackConfig) -> Case {
    let mut host = Host::new(config);
    let mut keys = host.keys(usize::from(MAX_KEYS)).into_iter().cycle();
    Case::new(name, move || {
        black_box(host.call(keys.next().unwrap_or(Key::WHOLE), succeeding));
    })
    .over(DIRECT)
}

fn one_in_ten_repeated(name: &'static str) -> Case {
    let mut host = Host::new(full());
    let mut fails = one_in(10);
    Case::new(name, move || {
        black_box(host.call(Key::WHOLE, &mut fails));
    })
    .over(DIRECT)
}

// ——— memory ———

/// What warm calls ask of the allocator: successes, failures with their repeats, refusals, and all keys in turn. Warm is
/// where every list has been as long as it gets; a breaker that half-opens asks once, which is not counted here.
pub fn allocations_of_warm_calls() -> Vec<(&'static str, u64)> {
    let all_keys = usize::from(MAX_KEYS);
    vec![
        ("calls that succeed", warm(full(), 1, Upstream::Succeeds)),
        ("calls of which one in ten fails and is repeated", warm(full(), 1, Upstream::FailsOneInTen)),
        ("calls refused by an open breaker", warm(open_for_a_day(full()), 1, Upstream::Fails)),
        ("calls of 1,024 keys, one in ten repeated", warm(full(), all_keys, Upstream::FailsOneInTen)),
        ("calls that succeed, every policy", warm(all(), 1, Upstream::Succeeds)),
    ]
}

/// What the engine holds once every key has had more calls than its window keeps.
pub fn bytes_of_1024_keys() -> i64 {
    let (Use { bytes, .. }, _host) = used_by(|| {
        let mut host = Host::new(full());
        let keys = host.keys(usize::from(MAX_KEYS));
        let mut fails = one_in(10);
        for key in keys.iter().cycle().take(CALLS_PER_KEY * keys.len()) {
            black_box(host.call(*key, &mut fails));
        }
        host
    });
    bytes
}

#[derive(Clone, Copy)]
enum Upstream {
    Succeeds,
    FailsOneInTen,
    Fails,
}

fn warm(config: StackConfig, keys: usize, upstream: Upstream) -> u64 {
    let mut host = Host::new(config);
    let keys = if keys == 1 { vec![Key::WHOLE] } else { host.keys(keys) };
    let mut one_in_ten = one_in(10);
    let mut ends = move || match upstream {
        Upstream::Succeeds => Verdict::Success,
        Upstream::FailsOneInTen => one_in_ten(),
        Upstream::Fails => Verdict::Transient,
    };
    let mut calls = |count: usize| {
        for key in keys.iter().cycle().take(count) {
            black_box(host.call(*key, &mut ends));
        }
    };
    calls(100_000.max(CALLS_PER_KEY * keys.len()));
    let (Use { allocations, .. }, ()) = used_by(|| calls(100_000));
    allocations
}

fn succeeding() -> Verdict {
    black_box(Verdict::Success)
}

fn one_in(many: u32) -> impl FnMut() -> Verdict {
    let mut calls = 0;
    move || {
        calls += 1;
        if calls % many == 0 { Verdict::Transient } else { Verdict::Success }
    }
}

/// Instructions of a refusal by an open breaker behind every policy, before calls were made cheaper.
const REFUSAL: f64 = 667.0;
/// More than a window of the breaker holds.
const CALLS_PER_KEY: usize = 150;
