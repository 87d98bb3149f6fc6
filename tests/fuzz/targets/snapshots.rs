//! Snapshots: real ones with damage, and bytes that are none.

use forbear::policy::Kind;
use forbear::snapshot::{Restored, checksum};
use forbear::{Engine, HostTime, Key, Limits, Rng, StackConfig};

use super::host::Host;
use super::{Bytes, stacks};

/// Whose snapshot, how it is spoiled, and what is then done with whoever read it.
pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let (world, how) = (bytes.u8() % WORLDS, bytes.u8());
    let taught = teach(world);
    let real = taught.engine.snapshot(taught.stacks[0], taught.now);
    let mut spoiled = if how & RAW == 0 { edit(real, &mut bytes) } else { bytes.take(MOST_RAW).to_vec() };
    if how & SEALED != 0 {
        seal(&mut spoiled);
    }
    let mut reader = if how & ELSEWHERE == 0 { taught } else { host(world, &mut Bytes::new(&[])) };
    let names: Vec<Key> = if how & RENAMED == 0 { Vec::new() } else { (0..8).map(|_| key(&mut bytes)).collect() };
    judge(&mut reader, &spoiled, &names);
    for _ in 0..20 {
        reader.act(&mut bytes);
    }
}

/// The bytes that lead to this world's own snapshot, as it is.
pub fn seed(world: u8) -> Vec<u8> {
    let taught = teach(world % WORLDS);
    let how = if world.is_multiple_of(2) { RAW | ELSEWHERE } else { RAW };
    [vec![world, how], taught.engine.snapshot(taught.stacks[0], taught.now)].concat()
}

/// Either it is refused and nothing has changed, or it is taken, and what is then saved is stable.
fn judge(reader: &mut Host, bytes: &[u8], names: &[Key]) {
    let (stack, now) = (reader.stacks[0], reader.now);
    let before = reader.engine.snapshot(stack, now);
    let restored = reader.engine.restore(stack, bytes, names, now);
    let after = reader.engine.snapshot(stack, now);
    assert!(after.len() <= MOST_SAVED, "{} bytes became {}", bytes.len(), after.len());
    let Ok(Restored { taken, dropped }) = restored else {
        return assert_eq!(after, before, "refused, and something has changed");
    };
    assert!(forbear::is_snapshot(bytes), "what is no snapshot was taken");
    assert_eq!((taken | dropped) >> Kind::ALL.len(), 0);
    assert!(forbear::is_snapshot(&after), "what was saved is no snapshot");
    let again = reader.engine.restore(stack, &after, &[], now);
    assert!(again.is_ok_and(|again| again.dropped == 0), "{again:?} from what was saved just now");
    assert_eq!(reader.engine.snapshot(stack, now), after, "what was saved is not what is restored");
}

/// Cuts, flips, copies and swaps.
fn edit(mut snapshot: Vec<u8>, bytes: &mut Bytes<'_>) -> Vec<u8> {
    for _ in 0..bytes.below(6) {
        let (what, value) = (bytes.below(8), bytes.u8());
        let at = usize::from(bytes.u16()) % snapshot.len().max(1);
        match what {
            _ if snapshot.is_empty() => snapshot.push(value),
            0 => snapshot.truncate(at),
            1 => snapshot.insert(at, value),
            2 => _ = snapshot.remove(at),
            3 => snapshot[at] ^= 1 << (value % 8),
            4 => snapshot[at] = bytes.pick(&[0, 1, 127, 128, 254, 255]),
            5 => {
                let part: Vec<u8> = snapshot[at..].iter().take(value.into()).copied().collect();
                let place = usize::from(bytes.u16()) % snapshot.len();
                snapshot.splice(place..place, part);
            }
            6 => snapshot[at..].iter_mut().take(8).for_each(|byte| *byte = value),
            _ => snapshot[at] = value,
        }
    }
    snapshot
}

/// Makes a whole snapshot of it: the checksum finds damage, not forgery.
fn seal(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len().saturating_sub(8));
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}

/// A host whose stack has learned a few things; the same for the same number.
fn teach(world: u8) -> Host {
    let rng = &mut Rng::new(u64::from(world) + 1_000);
    let lessons: Vec<u8> = (0..3_000).map(|_| rng.word() as u8).collect();
    let mut lessons = Bytes::new(&lessons);
    let mut host = host(world, &mut lessons);
    for _ in 0..LESSONS {
        host.act(&mut lessons);
    }
    host
}

/// A host with one stack in which every policy is on.
fn host(world: u8, bytes: &mut Bytes<'_>) -> Host {
    let rng = &mut Rng::new(u64::from(world));
    let drawn: Vec<u8> = (0..500).map(|_| rng.word() as u8).collect();
    let mut drawn = Bytes::new(&drawn);
    let mut config = StackConfig::default();
    for kind in Kind::ALL {
        stacks::draw_options(config.slot(*kind), *kind, &mut drawn);
    }
    let mut engine = Engine::default();
    let stack = stacks::settled(&mut config, |config| engine.add_stack(config.clone()));
    let now = HostTime::from_millis(u64::from(bytes.u16()) * 1_000_000);
    Host::new(engine, vec![stack], Limits::DEFAULT.calls, now)
}

fn key(bytes: &mut Bytes<'_>) -> Key {
    if bytes.chance(80) { Key::from_number(bytes.u16() % 12) } else { Key::from_number(bytes.u16()) }
}

/// What is read are the bytes themselves, and no edited snapshot.
const RAW: u8 = 1;
/// The checksum is made right.
const SEALED: u8 = 2;
/// Another engine reads it, which has learned nothing.
const ELSEWHERE: u8 = 4;
/// Under other keys.
const RENAMED: u8 = 8;
const WORLDS: u8 = 24;
const LESSONS: usize = 120;
const MOST_RAW: usize = 8_192;
/// Far more than what any bytes of that length may leave behind.
const MOST_SAVED: usize = 1 << 20;
