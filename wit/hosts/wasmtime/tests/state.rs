//! Where instances are short-lived: each call meets a fresh instance of the engine, and goes on where the last one ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use forbear_wasmtime_host::engine::{Ending, Facts, Outcome, Snapshot, Step};
use forbear_wasmtime_host::types::{PolicySettings, Setting, Value};
use forbear_wasmtime_host::{Compiled, Instance};
use wasmtime::component::ResourceAny;

#[test]
fn a_new_instance_goes_on_where_the_last_one_ended() {
    let mut host = Host::new();
    for _ in 0..3 {
        assert!(host.call(503), "an open circuit refused");
    }
    assert!(!host.call(200), "three failures open the circuit");
    host.clock += 29 * SECOND;
    assert!(!host.call(200), "for half a minute");
    host.clock += SECOND;
    assert!(host.call(200), "and then it probes");
    assert!(host.call(200), "and closes");
}

#[test]
fn a_state_that_is_not_one_is_refused_and_the_instance_goes_on_without() {
    let mut host = Host::new();
    host.shelf.insert(NAME, (0, Snapshot { state: b"not a state".to_vec(), keys: vec![(2, ORIGIN.to_owned())] }));
    assert!(host.call(200));
    assert!(host.shelf[NAME].1.state.len() > b"not a state".len(), "and leaves what it has learned itself");
}

/// A host that has an instance for each call, and a store in its memory.
struct Host {
    /// What was kept, under its name, with the time when it was.
    shelf: BTreeMap<&'static str, (u64, Snapshot)>,
    /// The host's own clock, in nanoseconds; that of an instance begins anew with it.
    clock: u64,
}

impl Host {
    fn new() -> Self {
        Self { shelf: BTreeMap::new(), clock: 0 }
    }

    /// A call whose only attempt ends with this status; whether it was sent.
    fn call(&mut self, status: u16) -> bool {
        let (mut instance, stack) = self.open();
        let (store, engine) = instance.parts();
        let decision = engine.stack().call_admit(&mut *store, stack, Some(ORIGIN), Facts::default(), START, 1).unwrap();
        let sent = matches!(decision.step, Step::Send(1));
        if let (true, Some(call)) = (sent, decision.call) {
            let outcome = Outcome { ended: Ending::Status(status), retry_after: None, latency: None };
            engine.call_settle(&mut *store, call, 1, outcome, START, 2).unwrap();
        }
        let learned = engine.stack().call_snapshot(&mut *store, stack, START).unwrap();
        self.shelf.insert(NAME, (self.clock, learned));
        sent
    }

    /// A fresh instance, with what is on the shelf. The first instant it hears of is the one when that was put there.
    fn open(&self) -> (Instance, ResourceAny) {
        let mut instance = COMPILED.instantiate().unwrap();
        let (store, engine) = instance.parts();
        let stack = engine.stack().call_create(&mut *store, &policies(), &[]).unwrap().unwrap();
        if let Some((then, learned)) = self.shelf.get(NAME) {
            let _ = engine.stack().call_restore(&mut *store, stack, learned, START - (self.clock - then)).unwrap();
        }
        (instance, stack)
    }
}

/// A circuit that opens for half a minute after three failures in a row.
fn policies() -> Vec<PolicySettings> {
    let option = |name: &str, value| Setting { name: name.to_owned(), value };
    let options = vec![
        option("consecutiveFailures", Value::Count(3)),
        option("openFor", Value::Duration(30 * SECOND)),
        option("openJitter", Value::Ratio(0.0)),
        option("successesToClose", Value::Count(1)),
    ];
    vec![PolicySettings { policy: "breaker".to_owned(), options }]
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/component/engine.wasm");
    Compiled::of(&file).unwrap()
});

const NAME: &str = "default";
const ORIGIN: &str = "https://api.example.com";
const SECOND: u64 = 1_000_000_000;
/// Where the clock of every instance begins: a day, so that what was learned before lies after its zero.
const START: u64 = 86_400 * SECOND;
