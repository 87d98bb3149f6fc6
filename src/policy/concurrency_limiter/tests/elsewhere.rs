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
fn g9_limits_out_of_bounds_are_refused_and_those_at_the_bounds_are_not() {
    let mut world = world();
    let bytes = world.window(80).saved();
    // After the number of keys and the key.
    let read = |limit: u32| {
        let lying = [&bytes[..4], &limit.to_le_bytes(), &bytes[8..]].concat();
        self::world().gate.restore(world.now, &mut Reader::new(&lying))
    };
    assert_eq!([read(4_000), read(200_000)], [Ok(()); 2]);
    assert_eq!([read(3_999), read(200_001)], [Err(Damaged); 2]);
}

#[test]
fn g9_a_window_that_has_not_begun_has_no_age() {
    let mut world = world();
    // Last of all are two ages: the window's, and that of the last result.
    let begun = |world: &World| {
        let bytes = world.saved();
        Reader::new(&bytes[bytes.len() - 16..]).duration().unwrap()
    };
    let sample = |world: &mut World| {
        let note = world.admit(KEY).unwrap();
        world.end(KEY, note, Verdict::Success, 80);
    };
    // The tenth ends the window.
    (0..10).for_each(|_| sample(world.later(200)));
    world.later(300);
    assert_eq!(begun(&world), Duration::ZERO);
    sample(&mut world);
    world.later(700);
    assert_eq!(begun(&world), Duration::from_millis(700));
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
