//! The component in wasmtime: a host that drives it through a small story, in virtual time.
//!
//! `npm run build:component`, then in wit/hosts/wasmtime `cargo run --example story`.
//!
//! The host brings the clock and the random numbers, and does what decisions say; the component imports nothing. jco.mjs
//! beside this file tells the same story in JavaScript, line for line.

use std::path::Path;

use forbear_wasmtime_host::engine::{Decision, Ending, Facts, Outcome, Step};
use forbear_wasmtime_host::types::{PolicySettings, Setting, Value};
use forbear_wasmtime_host::{Compiled, Instance};
use wasmtime::Result;
use wasmtime::component::ResourceAny;

fn main() -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/component/engine.wasm");
    let compiled = Compiled::of(&file)?;
    let mut host = Host::new(compiled.instantiate()?, 0)?;

    println!("An upstream that fails twice:");
    host.call(&[503, 503, 200])?;
    println!("An upstream that is gone:");
    host.call(&[500, 500, 500])?;
    println!("The next call is not even sent:");
    host.call(&[200])?;

    println!("Another instance takes over what this one learned:");
    let (store, engine) = host.instance.parts();
    let learned = engine.stack().call_snapshot(store, host.stack, host.now)?;
    let mut other = Host::new(compiled.instantiate()?, host.now)?;
    let (store, engine) = other.instance.parts();
    let dropped = engine.stack().call_restore(store, other.stack, &learned, other.now)?.expect("a whole snapshot");
    println!("  {} keys, {} policies dropped", learned.keys.len(), dropped.len());
    other.call(&[200])?;

    println!("A minute later:");
    other.now += 60 * SECOND;
    other.call(&[200])
}

/// One engine with one stack, and a clock of its own.
struct Host {
    instance: Instance,
    stack: ResourceAny,
    now: u64,
    random: u64,
}

impl Host {
    fn new(mut instance: Instance, now: u64) -> Result<Self> {
        let (store, engine) = instance.parts();
        let made = engine.stack().call_create(store, &policies(), &[])?;
        let stack = made.unwrap_or_else(|error| panic!("{error:?}"));
        Ok(Self { instance, stack, now, random: 0 })
    }

    /// One call, whose attempts end with these statuses after 20 ms each. The loop is the one in docs/driving.md.
    fn call(&mut self, statuses: &[u16]) -> Result<()> {
        let (now, random) = (self.now, self.random());
        let (store, engine) = self.instance.parts();
        let mut decision = engine.stack().call_admit(store, self.stack, Some(ORIGIN), Facts::default(), now, random)?;
        loop {
            self.tell(&decision);
            decision = match decision {
                Decision { step: Step::Send(attempt), call: Some(call), .. } => {
                    self.now += 20 * MILLI;
                    let ended = Ending::Status(statuses[usize::from(attempt) - 1]);
                    let outcome = Outcome { ended, retry_after: None, latency: None };
                    let (now, random) = (self.now, self.random());
                    let (store, engine) = self.instance.parts();
                    engine.call_settle(store, call, attempt, outcome, now, random)?
                }
                Decision { step: Step::Wait, call: Some(call), at: Some(at), .. } => {
                    self.now = at;
                    let random = self.random();
                    let (store, engine) = self.instance.parts();
                    engine.call_wake(store, call, at, random)?
                }
                _ => return Ok(()),
            };
        }
    }

    fn tell(&self, decision: &Decision) {
        let in_ms = decision.at.map_or(0, |at| at.saturating_sub(self.now).div_ceil(MILLI));
        let told = match &decision.step {
            Step::Send(attempt) => format!("send attempt {attempt}"),
            Step::Wait => format!("wait {in_ms} ms"),
            Step::Done(done) => format!("done with attempt {}", done.attempt),
            Step::Reject(_) => format!("refused; come again in {in_ms} ms"),
            Step::Unguarded => "go on unguarded".to_owned(),
        };
        println!("  {:>6} ms  {told}", self.now / MILLI);
    }

    /// A host of your own draws these from its system.
    fn random(&mut self) -> u64 {
        self.random += 1;
        self.random
    }
}

/// Three attempts, a second apart at first; a circuit that opens after three failures in a row.
fn policies() -> Vec<PolicySettings> {
    let option = |name: &str, value| Setting { name: name.to_owned(), value };
    vec![
        PolicySettings { policy: "deadline".to_owned(), options: vec![option("total", Value::Duration(10 * SECOND))] },
        PolicySettings {
            policy: "retry".to_owned(),
            options: vec![
                option("attempts", Value::Count(3)),
                option("backoff.base", Value::Duration(SECOND)),
                option("backoff.jitter", Value::Word("none".to_owned())),
            ],
        },
        PolicySettings {
            policy: "breaker".to_owned(),
            options: vec![option("consecutiveFailures", Value::Count(3)), option("openJitter", Value::Ratio(0.0))],
        },
    ]
}

const ORIGIN: &str = "https://api.example.com";
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
