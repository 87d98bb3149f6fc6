//! Snapshots, and keys.

use super::*;

// G10: snapshots are canonical, and restoring cannot be made to fail otherwise than by saying so.

#[test]
fn g10_restored_circuits_go_on_where_they_were() {
    let mut world = due(Config::default());
    world.calls(1, Verdict::Transient).later(1_000);
    let bytes = world.saved();
    let mut elsewhere = self::world();
    elsewhere.later(9 * 86_400_000).restore(&bytes).unwrap();
    assert_eq!(elsewhere.saved(), bytes);
    let left = |world: &World| world.read().retry_at.map(|until| until.since(world.now));
    assert_eq!((left(&elsewhere), elsewhere.read().trips), (left(&world), 2));
}

#[test]
fn g10_pristine_keys_and_permits_are_left_out() {
    let mut world = world();
    let pristine = world.saved();
    world.take(OTHER);
    assert_eq!(world.saved(), pristine);
    world.calls(3, Verdict::Success).later(60_000);
    assert_eq!(world.saved(), pristine);

    let mut world = due(Config::default());
    let before = world.saved();
    world.admit(KEY);
    assert_eq!(world.saved(), before);
    world.restore(&before).unwrap();
    assert_eq!((world.state(), world.ask(KEY)), (StateWord::HalfOpen, Answer::Pass));
}

#[test]
fn g10_damaged_bytes_are_refused_and_change_nothing() {
    let mut world = opened();
    let mut other = world.take(OTHER);
    world.settle(OTHER, &mut other, UNAVAILABLE);
    let bytes = world.saved();
    for end in 0..bytes.len() {
        assert_eq!(world.restore(&bytes[..end]), Err(Damaged));
    }
    let mut rng = Rng::new(1);
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        let place = rng.between(0, bytes.len() as u64 - 1) as usize;
        damaged[place] = rng.word() as u8;
        let mut elsewhere = self::world();
        if elsewhere.restore(&damaged).is_err() {
            assert_eq!(elsewhere.saved(), self::world().saved());
        }
        let until = elsewhere.read().retry_at.unwrap_or(Instant::PAST);
        assert!(until.since(elsewhere.now) <= Duration::from_secs(300), "no lie makes it refuse for longer");
        (0..30).for_each(|_| _ = elsewhere.later(7_000).call(Verdict::Transient));
    }
}

#[test]
fn g10_only_the_same_configuration_has_the_same_fingerprint() {
    let of = |config: Config| CircuitBreaker::new(config).unwrap().fingerprint();
    let plain = of(Config::default());
    assert_eq!(of(Config::default()), plain);
    for option in 0..Config::OPTIONS.len() {
        let mut config = Config { probes: 4, ..Config::default() };
        let before = of(config);
        let spec = &Config::OPTIONS[option];
        let other = if config.number(option) == spec.min { spec.max } else { spec.min };
        config.set(option, other).unwrap();
        if config.check().is_ok() {
            assert_ne!(of(config), before, "{}", spec.name);
        }
    }
}

// G11: keys are apart.

#[test]
fn g11_keys_do_not_know_each_other() {
    let world = opened();
    assert_eq!(world.ask(OTHER), Answer::Pass);
    assert_eq!(world.gate.state(OTHER, world.now), StateWord::Closed);
}

#[test]
fn g11_strangers_in_overflow_do_not_punish_each_other() {
    let mut world = world();
    let before = world.saved();
    for _ in 0..200 {
        let mut note = world.admit(Key::OVERFLOW).unwrap();
        world.settle(Key::OVERFLOW, &mut note, Verdict::Transient);
        world.release(Key::OVERFLOW, &mut note);
    }
    world.with(|breaker, cx| breaker.force_open(Key::OVERFLOW, cx));
    assert_eq!((world.ask(Key::NEW), world.ask(Key::OVERFLOW)), (Answer::Pass, Answer::Pass));
    assert_eq!((world.saved(), world.told()), (before, Vec::new()));
}

#[test]
fn g11_a_circuit_that_refuses_or_probes_is_busy() {
    // resilix: cycling other keys through closed an open circuit.
    let mut world = opened();
    let busy = |world: &World| world.gate.is_busy(KEY, world.now);
    assert!(busy(&world) && !world.gate.is_busy(OTHER, world.now));
    assert!(!busy(world.until_due()));
    let mut probe = world.admit(KEY).unwrap();
    assert!(busy(&world));
    world.release(KEY, &mut probe);
    assert!(!busy(&world), "nothing holds a key for ever");
    world.with(|breaker, cx| breaker.force_open(KEY, cx));
    assert!(busy(&world));
    world.with(|breaker, cx| breaker.force_closed(KEY, cx));
    assert!(!busy(&world));
}

#[test]
fn g10_states_that_cannot_be_are_refused() {
    let mut failing = World::new(Config { consecutive_failures: None, min_calls: 100, ..Config::default() });
    failing.calls(5, Verdict::Transient);
    let bytes = failing.saved();
    let read = |most| World::new(Config { consecutive_failures: Some(most), ..Config::default() }).restore(&bytes);
    assert_eq!([read(6), read(5)], [Ok(()), Err(Damaged)], "five in a row would have opened it");
    let mut out = Writer::default();
    out.list([()].into_iter(), |out, ()| {
        out.key(KEY);
        out.u32(0);
        out.duration(Duration::ZERO);
        out.u8(1);
        out.duration(Duration::ZERO);
    });
    assert_eq!(world().restore(&out.finish()), Err(Damaged), "open, and it never opened");
}
