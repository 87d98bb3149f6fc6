//! What is known elsewhere, and of other keys.

use super::*;

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
fn g9_of_two_keys_none_is_known_where_the_second_is_damaged() {
    let mut world = world();
    for key in [KEY, OTHER] {
        let note = world.admit(key).unwrap();
        world.end(key, note, Verdict::Success, 30);
    }
    let (bytes, new) = (world.saved(), self::world().saved());
    assert_ne!(bytes, new);
    for end in 0..bytes.len() {
        let mut there = self::world();
        assert_eq!(there.gate.restore(there.now, &mut Reader::new(&bytes[..end])), Err(Damaged));
        assert_eq!(there.saved(), new);
    }
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
    assert_eq!(world.read(), Reading { limit: 20, in_flight: 0, queued: 0, baseline: None });
}

#[test]
fn g10_strangers_share_the_overflow_keys_limit() {
    let mut world = world();
    assert_eq!(world.fill(Key::OVERFLOW).len(), 20);
    assert!(world.admit(Key::OVERFLOW).is_none());
    assert_eq!(world.gate.ask(&asker(Key::NEW, world.now), world.now), Answer::Pass);
}
