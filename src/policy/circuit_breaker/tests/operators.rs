//! An operator's word.

use super::*;

// G9: an operator's word stands.

#[test]
fn g9_forced_open_has_no_end_and_no_probes() {
    let mut world = world();
    let mut before = world.take(KEY);
    world.with(|breaker, cx| breaker.force_open(KEY, cx));
    let opened = What::Opened { trigger: Trigger::Forced, calls: 0, failures: 0, slow: 0, open_for: None };
    assert_eq!(world.told(), [opened]);
    world.with(|breaker, cx| breaker.force_open(KEY, cx));
    assert!(world.told().is_empty(), "said once");
    world.later(86_400_000);
    assert_eq!((world.state(), world.ask(KEY)), (StateWord::ForcedOpen, refused(None)));
    world.settle(KEY, &mut before, Verdict::Success);
    assert_eq!((world.state(), world.told()), (StateWord::ForcedOpen, [stale()].to_vec()));
}

#[test]
fn g9_forced_closed_goes_on_judging_and_reset_forgets_trips() {
    let mut world = opened();
    world.with(|breaker, cx| breaker.force_closed(KEY, cx));
    assert_eq!(world.told(), [What::Closed { reason: CloseReason::Forced }]);
    assert_eq!((world.state(), world.read().counts), (StateWord::Closed, Counts::default()));
    world.calls(10, Verdict::Transient);
    assert_eq!((world.state(), world.read().trips), (StateWord::Open, 2));
    world.with(|breaker, cx| breaker.reset(KEY, cx));
    assert_eq!((world.told_last(), world.read()), (What::Reset {}, Reading::PRISTINE));
    world.calls(10, Verdict::Transient);
    assert_eq!(world.read().trips, 1);
}

#[test]
fn g9_a_disabled_circuit_counts_and_never_refuses() {
    let mut world = opened();
    world.with(|breaker, cx| breaker.disable(KEY, true, cx));
    world.calls(300, Verdict::Transient);
    assert_eq!((world.state(), world.read().counts.failures), (StateWord::Disabled, 100));
    world.with(|breaker, cx| breaker.disable(KEY, false, cx));
    assert_eq!((world.state(), world.read().counts), (StateWord::Closed, Counts::default()));
    world.calls(10, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Open);
}

#[test]
fn what_is_read_crosses_as_numbers() {
    let counts = Counts { calls: 8, failures: 2, slow: 4 };
    let read = Reading { state: StateWord::HalfOpen, counts, ..Reading::PRISTINE };
    let mut room = [f64::NAN; 12];
    read.write(Instant::ORIGIN, &mut Figures::new(&mut room));
    let figure = |name| room[Reading::FIGURES.iter().position(|spec| spec.name == name).unwrap()];
    let state = f64::from(StateWord::HalfOpen.code());
    assert_eq!(["state", "calls", "failureRate", "slowRate"].map(figure), [state, 8.0, 0.25, 0.5]);
}
