//! Verbs: any sequence of them, with whatever numbers, on any stacks.

use forbear::{Engine, HostTime};

use super::host::Host;
use super::{Bytes, stacks};

pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let limits = stacks::limits(&mut bytes);
    let mut engine = Engine::new(limits);
    engine.events().listen(bytes.chance(50));
    let stacks = stacks::build(&mut engine, &mut bytes);
    let start = if bytes.chance(80) { u64::from(bytes.u16()) * 1_000_000_000 } else { bytes.any() };
    let mut host = Host::new(engine, stacks, limits.calls, HostTime::from_nanos(start));
    while !bytes.is_empty() {
        host.act(&mut bytes);
    }
}
