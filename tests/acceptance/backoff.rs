//! azeemshaik025/mettle#2, "add jitter and decorrelated backoff": its properties, asked of the whole engine.
//!
//! Its tests are checked by mutations that must make them fail. These are the same ones of our sources, tried by hand:
//! each makes these tests fail, among others, here and in `policy::retry`.
//!
//! | mutation | fails here | and there |
//! |---|---|---|
//! | `Equal` is the whole backoff | `each_jitter_stays…` | `equal_is_even_between…` |
//! | the mode is not looked at: all are `Full` | `a_factor_of_one…` | `none_has_one_value` |
//! | a fixed seed in place of the host's word (`engine.rs`) | `two_clients…`, `two_calls…` | none: it is given its words |
//! | the raw draw is fed back, not the capped one | `what_is_fed_back…` | `a_hundred_thousand_decorrelated…` |
//! | `2·previous` in place of `3·previous` | `decorrelated_is_never_below…` | `decorrelated_is_even_between…` |
//! | the cap before the draw: `random(base, min(cap, 3·previous))` | `the_cap_comes_after…` | `decorrelated_is_even_between…` |
//! | `Equal` upwards of the delay before, not of half of this one | `each_jitter_stays…` | `equal_is_even_between…` |
//!
//! mettle has dropped equal jitter since; ours stays, and its page says what the simulation shows.

use forbear::policy::retry::{Config, Jitter};
use forbear::{
    CallId, Duration, Engine, Facts, HostTime, Key, Kind, Outcome, Ratio, Rng, StackConfig, StackId, Step, Verdict,
};

mod distribution;

#[test]
fn the_same_seed_gives_the_same_delays() {
    for jitter in SPREAD {
        let config = Config { jitter, ..config() };
        for seed in 0..50 {
            assert_eq!(delays(config, seed), delays(config, seed));
        }
        assert_ne!(delays(config, 1), delays(config, 2));
    }
}

#[test]
fn a_factor_of_one_is_a_constant_backoff() {
    let config = Config { jitter: Jitter::None, factor: Ratio::ONE, ..config() };
    assert_eq!(delays(config, 1), [config.base; REPEATS]);
}

#[test]
fn attempts_end_every_schedule() {
    for jitter in Jitter::ALL {
        for attempts in 1..=15 {
            let config = Config { jitter: *jitter, attempts, ..config() };
            assert_eq!(delays(config, 3).len(), attempts as usize - 1);
        }
    }
}

#[test]
fn each_jitter_stays_within_its_own_bounds_and_reaches_them() {
    let config = Config { factor: Ratio::from_percent(300), ..config() };
    let steady = delays(Config { jitter: Jitter::None, ..config }, 1);
    for (jitter, least) in [(Jitter::Full, 0), (Jitter::Equal, 50)] {
        let config = Config { jitter, ..config };
        let all: Vec<_> = (0..2_000).map(|seed| delays(config, seed)).collect();
        for (repeat, whole) in steady.iter().enumerate() {
            let floor = Ratio::from_percent(least).of(*whole);
            let drawn = || all.iter().map(|delays| delays[repeat]);
            assert!(drawn().all(|delay| floor <= delay && delay <= *whole), "{jitter:?} {repeat}");
            // The floor of equal jitter is half of this delay. By a factor of 2 that is also the one before; not by 3.
            let margin = Ratio::from_percent(1).of(*whole);
            assert!(drawn().min().unwrap() < floor + margin && drawn().max().unwrap() + margin > *whole);
        }
    }
}

#[test]
fn decorrelated_is_never_below_its_base_nor_above_thrice_what_was_drawn_last() {
    let config = Config { jitter: Jitter::Decorrelated, ..config() };
    let mut widest = Duration::ZERO;
    for seed in 0..2_000 {
        let mut last = config.base;
        for delay in delays(config, seed) {
            assert!(config.base <= delay && delay <= last.saturating_mul(3).min(config.cap));
            widest = widest.max(delay.saturating_sub(last.saturating_mul(2)));
            last = delay;
        }
    }
    // Thrice it is, and not twice.
    assert!(widest > config.base);
}

#[test]
fn the_cap_comes_after_the_draw() {
    // From 100 ms on: a draw up to 300 ms, of which half is above a cap of 200 ms. Cap first, and none would be.
    let config = Config { jitter: Jitter::Decorrelated, cap: Duration::from_millis(200), ..config() };
    let first = share_at_cap(config, |_| true, 0);
    assert!((0.48..0.52).contains(&first), "{first}");
}

#[test]
fn what_is_fed_back_is_the_capped_delay_and_not_the_raw_draw() {
    // From 200 ms on, the cap: up to 600 ms, of which four fifths are above. A raw draw is up to half as much again.
    let config = Config { jitter: Jitter::Decorrelated, cap: Duration::from_millis(200), ..config() };
    let second = share_at_cap(config, |delays| delays[0] == config.cap, 1);
    assert!((0.78..0.82).contains(&second), "{second}");
}

#[test]
fn two_clients_of_one_configuration_are_never_in_step() {
    for jitter in SPREAD {
        let config = Config { jitter, ..config() };
        for seed in 0..500 {
            let (one, other) = (delays(config, seed), delays(config, seed + 1_000_000));
            assert!(one.iter().zip(&other).all(|(one, other)| one != other || *one == config.cap), "{jitter:?} {seed}");
        }
    }
}

#[test]
fn two_calls_of_one_client_are_not_in_step_either() {
    for jitter in SPREAD {
        let mut client = Client::new(Config { jitter, ..config() }, 5);
        let one = client.begin();
        let other = client.begin();
        for attempt in 1..15 {
            let delays = [one, other].map(|call| client.fails(call, attempt).unwrap());
            assert!(delays[0] != delays[1] || delays[0] == config().cap, "{jitter:?}");
            client.now = client.now + delays[0].max(delays[1]);
            for call in [one, other] {
                client.wakes(call, attempt + 1);
            }
        }
    }
}

/// What one call drew last is its own: a call that begins beside it begins at the base.
#[test]
fn what_decorrelated_grows_from_belongs_to_the_call() {
    let config = Config { jitter: Jitter::Decorrelated, ..config() };
    for seed in 0..500 {
        let mut client = Client::new(config, seed);
        let old = client.begin();
        for attempt in 1..10 {
            let delay = client.fails(old, attempt).unwrap();
            client.now = client.now + delay;
            client.wakes(old, attempt + 1);
        }
        let young = client.begin();
        assert!(client.fails(young, 1).unwrap() <= config.base.saturating_mul(3));
    }
}

#[test]
fn what_cannot_be_is_refused_when_it_is_built() {
    let refused = |config: Config| {
        let config = StackConfig { retry: Some(config), ..StackConfig::default() };
        let error = Engine::default().add_stack(config).unwrap_err();
        assert_eq!(error.policy, Kind::Retry);
        error.option()
    };
    assert_eq!(refused(Config { base: Duration::ZERO, ..config() }), "backoff.base");
    assert_eq!(refused(Config { factor: Ratio::ZERO, ..config() }), "backoff.factor");
    assert_eq!(refused(Config { cap: Duration::from_millis(99), ..config() }), "backoff.cap");
}

/// All that are drawn.
const SPREAD: [Jitter; 3] = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated];

const REPEATS: usize = 14;

fn config() -> Config {
    Config { attempts: REPEATS as u32 + 1, budget: false, ..Config::default() }
}

/// How long a call waits before each of its repeats, on a client with this seed.
fn delays(config: Config, seed: u64) -> Vec<Duration> {
    let mut client = Client::new(config, seed);
    let call = client.begin();
    let mut delays = Vec::new();
    while let Some(delay) = client.fails(call, delays.len() as u8 + 1) {
        client.now = client.now + delay;
        delays.push(delay);
        client.wakes(call, delays.len() as u8 + 1);
    }
    delays
}

/// Of the schedules that are meant, how many have the cap at this place.
fn share_at_cap(config: Config, is_meant: impl Fn(&[Duration]) -> bool, place: usize) -> f64 {
    let config = Config { attempts: place as u32 + 2, ..config };
    let all = (0..20_000).map(|seed| delays(config, seed));
    let meant: Vec<_> = all.filter(|delays| is_meant(delays)).collect();
    let capped = meant.iter().filter(|delays| delays[place] == config.cap).count();
    capped as f64 / meant.len() as f64
}

/// A host with a clock and a seed of its own.
struct Client {
    engine: Engine,
    stack: StackId,
    now: HostTime,
    words: Rng,
}

impl Client {
    fn new(config: Config, seed: u64) -> Self {
        let mut engine = Engine::default();
        let stack = engine.add_stack(StackConfig { retry: Some(config), ..StackConfig::default() }).unwrap();
        Self { engine, stack, now: HostTime::from_millis(1_000), words: Rng::new(seed) }
    }

    fn begin(&mut self) -> CallId {
        let word = self.words.word();
        self.engine.admit(self.stack, Key::WHOLE, Facts::default(), self.now, word).call.unwrap()
    }

    /// The attempt fails: for how long the call waits, unless it is over.
    fn fails(&mut self, call: CallId, attempt: u8) -> Option<Duration> {
        let failure = Outcome::new(Verdict::Transient);
        let decision = self.engine.settle(call, attempt, failure, self.now, self.words.word());
        (decision.step == Step::Wait).then(|| decision.at.unwrap().since(self.now))
    }

    fn wakes(&mut self, call: CallId, attempt: u8) {
        assert_eq!(self.engine.wake(call, self.now, self.words.word()).step, Step::Send(attempt));
    }
}
