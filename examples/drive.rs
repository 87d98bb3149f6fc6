//! The canonical driver: how any host drives the engine. A virtual clock and a made-up upstream stand in for the world,
//! so it runs in no time and prints the same story every time: `cargo run --example drive`.

use forbear::policy::{attempt_timeout, circuit_breaker, deadline, retry};
use forbear::{
    Decision, Duration, Engine, Facts, HostTime, Key, Outcome, OwnLimits, Part, Rng, StackConfig, StackId, Step,
    Verdict,
};

fn main() -> Result<(), forbear::ConfigError> {
    let config = StackConfig {
        deadline: Some(deadline::Config { total: Duration::from_secs(5), ..Default::default() }),
        retry: Some(retry::Config::default()),
        breaker: Some(Part::Own(circuit_breaker::Config { consecutive_failures: Some(4), ..Default::default() })),
        attempt_timeout: Some(attempt_timeout::Config { attempt: Duration::from_millis(800), ..Default::default() }),
        ..Default::default()
    };
    let limits = config.own_limits(None);
    let mut engine = Engine::default();
    let stack = engine.add_stack(config)?;
    let mut world = World { now_ms: 1_000, rng: Rng::new(7) };
    for number in 1..=9 {
        let upstream = if number <= 2 { Upstream::Healthy } else { Upstream::Down };
        println!("call {number}: {}", drive(&mut engine, stack, limits, &mut world, upstream));
        world.now_ms += 50;
    }
    world.now_ms += 30_000;
    println!("half a minute later, healed: {}", drive(&mut engine, stack, limits, &mut world, Upstream::Healthy));
    Ok(())
}

/// One call. A decision names everything the host must do next; this loop is all there is to a host.
fn drive(engine: &mut Engine, stack: StackId, limits: OwnLimits, world: &mut World, upstream: Upstream) -> String {
    let started = world.now();
    let mut decision = engine.admit(stack, Key::WHOLE, Facts::default(), world.now(), world.random());
    loop {
        decision = match decision {
            Decision { step: Step::Send(attempt), call: Some(call), .. } => {
                // A real host sends the request here and waits for it, or for `at`, whichever comes first.
                world.now_ms += 20;
                engine.settle(call, attempt, upstream.outcome(), world.now(), world.random())
            }
            Decision { step: Step::Wait, call: Some(call), at: Some(at), .. } => {
                world.now_ms = at.as_nanos().div_ceil(1_000_000);
                engine.due(call, world.now(), world.random())
            }
            Decision { step: Step::Done { attempt, reason, .. }, .. } => {
                return format!("done with attempt {attempt}, {}", reason.word());
            }
            Decision { step: Step::Reject(refusal), at, .. } => {
                let wait = at.map_or(0, |at| at.since(world.now()).as_millis_ceil());
                return format!("refused, {}, come again in {wait} ms", refusal.reason.word());
            }
            // The engine does not know this call. It sends once, unless something is in hand or in flight already, and its own
            // limits hold all the same.
            _ => {
                let end = limits.end(started, Some(world.now()));
                world.now_ms += 20;
                let in_time = end.is_none_or(|(end, _)| world.now() < end);
                return String::from(if in_time { "unguarded" } else { "unguarded, timed out" });
            }
        };
    }
}

#[derive(Clone, Copy)]
enum Upstream {
    Healthy,
    Down,
}

impl Upstream {
    fn outcome(self) -> Outcome {
        match self {
            Self::Healthy => Outcome::new(Verdict::Success),
            Self::Down => forbear::http::outcome_of_status(502, None),
        }
    }
}

/// Time and randomness are the host's.
struct World {
    now_ms: u64,
    rng: Rng,
}

impl World {
    fn now(&self) -> HostTime {
        HostTime::from_millis(self.now_ms)
    }

    fn random(&mut self) -> u64 {
        self.rng.word()
    }
}
