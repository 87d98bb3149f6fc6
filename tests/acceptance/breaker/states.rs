//! Stoic, section Testing: "Breaker: opens at the threshold only after minimumCalls; a slow-call trip; open rejection
//! and its exact retryAfter; exactly N concurrent probes with the rest rejected; probe success closes, probe failure
//! re-opens with a longer duration; the growth reset; cancellation and defects never counted; stale completions; forced
//! control; the transitions in order, including under consumers that cancel mid-transition."

use forbear::event::{IgnoreReason, What};
use forbear::policy::circuit_breaker::{CircuitBreaker, Config, Reading, StateWord};
use forbear::policy::{Cx, Kind, attempt_timeout};
use forbear::{HostTime, Key, Outcome, Part, Ratio, RefusalReason, Rejection, Rng, StackConfig, StackId, Verdict};

use crate::host::{End, Fate, Host, failure, ms, success};

#[test]
fn it_opens_at_the_threshold_and_only_after_min_calls() {
    let mut world = World::new(Config { consecutive_failures: None, ..Config::default() });
    world.calls(19, failure());
    assert_eq!(world.state(), StateWord::Closed, "19 of 19 failed, and 20 are needed");
    let mut world = World::new(Config { consecutive_failures: None, ..Config::default() });
    world.calls(11, success());
    world.calls(10, failure());
    assert_eq!(world.state(), StateWord::Closed, "10 of 21");
    world.calls(1, failure());
    assert_eq!(world.state(), StateWord::Open, "11 of 22");
}

#[test]
fn slow_calls_open_it() {
    for (takes, state) in [(500, StateWord::Closed), (501, StateWord::Open)] {
        let mut world = World::new(Config { slow_call: Some(ms(500)), ..Config::default() });
        for _ in 0..20 {
            assert_eq!(world.state(), StateWord::Closed);
            world.host.call_that(world.stack, takes, success());
        }
        assert_eq!(world.state(), state, "{takes} ms");
    }
}

#[test]
fn an_open_circuit_says_exactly_how_long_it_refuses() {
    let mut world = World::new(Config::default());
    world.calls(10, failure());
    let opened = world.host.told().into_iter().find_map(|what| match what {
        What::Opened { open_for, .. } => open_for,
        _ => None,
    });
    let (now, until) = (world.host.now, world.host.now + opened.unwrap());
    assert!((ms(24_000)..=ms(30_000)).contains(&until.since(now)), "shortened by a fifth at most");
    for later in [ms(0), ms(1), ms(9_000), ms(23_999)] {
        world.host.run_until(now + later);
        assert_eq!(world.refusal(), Some(until));
    }
    world.host.run_until(HostTime::from_nanos(until.as_nanos() - 1));
    assert_eq!(world.refusal(), Some(until));
    world.host.run_until(until);
    let probe = world.host.arrive(world.stack);
    assert_eq!(world.host.end(probe), None, "it is sent");
}

#[test]
fn of_three_hundred_contenders_exactly_the_probes_are_sent() {
    for probes in [1, 2, 7, 32] {
        let mut world = World::new(Config { probes, ..Config::default() }).opened();
        world.host.run_for(30_000);
        let before = world.host.sent.len();
        for _ in 0..300 {
            world.host.arrive(world.stack);
        }
        assert_eq!(world.host.sent.len() - before, probes as usize);
        // Nobody knows when a probe will be done.
        assert_eq!(world.refusal(), None);
    }
}

#[test]
fn a_probe_that_succeeds_closes_it_and_one_that_fails_opens_it_for_longer() {
    let mut world = World::new(Config { open_jitter: Ratio::ZERO, ..Config::default() }).opened();
    for seconds in [30, 60, 120, 240, 300, 300] {
        assert_eq!(world.refusal(), Some(world.host.after(seconds * 1_000)));
        world.host.run_for(seconds * 1_000);
        world.calls(1, failure());
    }
    world.host.run_for(300_000);
    world.calls(1, success());
    assert_eq!((world.state(), world.read().counts.calls), (StateWord::Closed, 0));
}

#[test]
fn growth_is_forgotten_after_staying_closed_and_not_by_closing() {
    for (closed_for, seconds) in [(0, 120), (299_999, 120), (300_000, 30)] {
        let mut world = World::new(Config { open_jitter: Ratio::ZERO, ..Config::default() }).opened();
        world.host.run_for(30_000);
        world.calls(1, failure());
        world.host.run_for(60_000);
        world.calls(1, success());
        world.host.run_for(closed_for);
        world.calls(10, failure());
        assert_eq!(world.refusal(), Some(world.host.after(seconds * 1_000)), "closed for {closed_for} ms");
    }
}

#[test]
fn cancellation_and_defects_are_never_counted_and_return_their_probe() {
    let mut world = World::new(Config::default());
    let mut half_open = World::new(Config::default()).opened();
    half_open.host.run_for(30_000);
    for world in [&mut world, &mut half_open] {
        let before = world.read();
        for number in 0..100 {
            let call = world.host.arrive(world.stack);
            match number % 3 {
                0 => world.host.leave(call),
                1 => world.host.settle(call, 1, Outcome::new(Verdict::Defect)),
                _ => world.host.settle(call, 1, Outcome::new(Verdict::Rejected)),
            }
            assert_ne!(world.host.end(call), None);
        }
        assert_eq!(world.read(), before);
    }
    half_open.calls(1, success());
    assert_eq!(half_open.state(), StateWord::Closed);
}

#[test]
fn completions_of_an_earlier_state_are_stale_and_change_nothing() {
    let mut world = World::new(Config::default());
    let late: Vec<usize> = (0..40).map(|_| world.host.arrive(world.stack)).collect();
    world.calls(10, failure());
    world.host.told();
    let settle = |world: &mut World, from: usize| {
        let before = world.read();
        for (place, call) in late[from..from + 10].iter().enumerate() {
            world.host.settle(*call, 1, if place % 2 == 0 { success() } else { failure() });
            assert!(world.host.told().contains(&What::Ignored { reason: IgnoreReason::Stale }));
        }
        assert_eq!(world.read(), before);
    };
    settle(&mut world, 0);
    world.host.run_for(30_000);
    let probe = world.host.arrive(world.stack);
    settle(&mut world, 10);
    world.host.settle(probe, 1, success());
    settle(&mut world, 20);
    assert_eq!(world.read().counts.calls, 0, "closed, with an empty window");
}

#[test]
fn an_operator_forces_it_open_without_an_end_and_closed_without_a_latch() {
    let mut world = World::new(Config::default()).opened();
    world.operate(|breaker, cx| breaker.force_open(Key::WHOLE, cx));
    world.host.run_for(86_400_000);
    assert_eq!((world.refusal(), world.state()), (None, StateWord::ForcedOpen));
    world.operate(|breaker, cx| breaker.force_closed(Key::WHOLE, cx));
    world.calls(9, failure());
    assert_eq!((world.state(), world.read().trips), (StateWord::Closed, 1));
    world.calls(1, failure());
    assert_eq!((world.state(), world.read().trips), (StateWord::Open, 2));
    world.operate(|breaker, cx| breaker.reset(Key::WHOLE, cx));
    assert_eq!((world.state(), world.read().trips), (StateWord::Closed, 0));
}

#[test]
fn transitions_come_in_order_whoever_leaves_in_their_midst() {
    let mut transitions = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let probes = rng.between(1, 4) as u32;
        let mut world = World::new(Config { probes, half_open_timeout: ms(20_000), ..Config::default() });
        let (mut state, mut running) = (StateWord::Closed, Vec::new());
        for _ in 0..400 {
            world.host.run_for([0, 10, 1_000, 20_000][rng.between(0, 3) as usize]);
            let call = world.host.arrive(world.stack);
            running.extend(Some(call).filter(|call| world.host.end(*call).is_none()));
            while rng.between(0, 2) > 0 && !running.is_empty() {
                let call = running.swap_remove(rng.between(0, running.len() as u64 - 1) as usize);
                match rng.between(0, 9) {
                    0..3 => world.host.leave(call),
                    3..8 => world.host.settle(call, 1, failure()),
                    _ => world.host.settle(call, 1, success()),
                }
            }
            for what in world.host.told() {
                state = match (state, what) {
                    (StateWord::Closed | StateWord::HalfOpen, What::Opened { .. }) => StateWord::Open,
                    (StateWord::Open, What::HalfOpened { .. }) => StateWord::HalfOpen,
                    (StateWord::HalfOpen, What::Closed { .. }) => StateWord::Closed,
                    (_, What::Opened { .. } | What::HalfOpened { .. } | What::Closed { .. }) => {
                        panic!("seed {seed}: {what:?} while {state:?}")
                    }
                    _ => continue,
                };
                transitions += 1;
            }
        }
    }
    assert!(transitions > 3_000, "{transitions}");
}

/// A stack that is a breaker; its attempts hang until they are told otherwise, or time out.
struct World {
    host: Host,
    stack: StackId,
}

impl World {
    fn new(config: Config) -> Self {
        let mut host = Host::new(|_, _| Fate::Hangs);
        let attempt_timeout = Some(attempt_timeout::Config { attempt: ms(50_000), ..Default::default() });
        let breaker = Some(Part::Own(config));
        let stack = host.stack(StackConfig { breaker, attempt_timeout, ..StackConfig::default() });
        Self { host, stack }
    }

    fn opened(mut self) -> Self {
        self.calls(10, failure());
        assert_eq!(self.state(), StateWord::Open);
        self
    }

    /// Calls that end at once.
    fn calls(&mut self, count: u32, outcome: Outcome) {
        for _ in 0..count {
            self.host.call_that(self.stack, 0, outcome);
        }
    }

    /// The word that a refused call is given.
    fn refusal(&mut self) -> Option<HostTime> {
        let call = self.host.arrive(self.stack);
        let rejection = Rejection { reason: RefusalReason::CircuitOpen, policy: Kind::Breaker };
        let Some(End::Refused(by, at)) = self.host.end(call) else { panic!("{:?}", self.host.end(call)) };
        assert_eq!(by, rejection);
        at
    }

    fn read(&self) -> Reading {
        let breaker = self.host.engine.gate::<CircuitBreaker>(self.stack).unwrap();
        breaker.read(Key::WHOLE, self.host.engine.instant(self.host.now))
    }

    fn state(&self) -> StateWord {
        self.read().state
    }

    fn operate(&mut self, act: impl FnOnce(&mut CircuitBreaker, &mut Cx<'_>)) {
        self.host.engine.operate(self.stack, self.host.now, 0, act).unwrap();
    }
}

impl Host {
    /// A call that takes so long and ends so, if it is sent at all.
    fn call_that(&mut self, stack: StackId, takes_ms: u64, outcome: Outcome) {
        let call = self.arrive(stack);
        self.run_for(takes_ms);
        self.settle(call, 1, outcome);
    }
}
