//! Results of an earlier state, and time.

use super::*;

// G7: results of an earlier state are ignored, and told.

#[test]
fn g7_successes_from_before_the_trip_close_nothing() {
    // resilix, sony/gobreaker#49, rubyist/circuitbreaker#63, Polly#217; sony/gobreaker#122: dropped without a word.
    let mut world = world();
    let mut before: Vec<Note> = (0..3).map(|_| world.take(KEY)).collect();
    world.calls(10, Verdict::Transient).until_due();
    let probe = world.admit(KEY);
    for note in &mut before {
        world.settle(KEY, note, Verdict::Success);
        assert_eq!((world.told_last(), world.state()), (stale(), StateWord::HalfOpen));
    }
    world.settle(KEY, &mut probe.unwrap(), Verdict::Success);
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g7_failures_from_before_count_in_no_new_window() {
    // brakes#95.
    let mut world = world();
    let mut before: Vec<Note> = (0..30).map(|_| world.take(KEY)).collect();
    world.calls(10, Verdict::Transient).until_due().calls(1, Verdict::Success);
    before.iter_mut().for_each(|note| world.settle(KEY, note, UNAVAILABLE));
    assert_eq!((world.state(), world.read().counts), (StateWord::Closed, Counts::default()));
}

#[test]
fn g7_every_attempt_is_settled_once() {
    // resilix: a double settle frees another call's place.
    let mut world = world();
    let mut note = world.take(KEY);
    world.settle(KEY, &mut note, UNAVAILABLE);
    world.settle(KEY, &mut note, UNAVAILABLE);
    assert_eq!((world.told_last(), world.read().counts.calls), (stale(), 1));

    let mut world = due(probes(2, 2));
    let mut probe = world.admit(KEY).unwrap();
    let mut copy = probe;
    world.settle(KEY, &mut probe, Verdict::Success);
    world.release(KEY, &mut probe);
    world.settle(KEY, &mut copy, Verdict::Success);
    world.release(KEY, &mut copy);
    assert_eq!(world.told_last(), stale());
    assert_eq!((world.admit(KEY).is_some(), world.admit(KEY).is_some()), (true, false));
}

#[test]
fn g7_after_a_lease_a_call_still_counts_and_a_probe_does_not() {
    let mut world = world();
    let mut note = world.take(KEY);
    world.release(KEY, &mut note);
    world.settle(KEY, &mut note, UNAVAILABLE);
    assert_eq!(world.read().counts.failures, 1);

    let mut world = due(Config::default());
    let mut probe = world.admit(KEY).unwrap();
    world.release(KEY, &mut probe);
    let mut next = world.admit(KEY).unwrap();
    world.settle(KEY, &mut probe, UNAVAILABLE);
    assert_eq!((world.told_last(), world.state()), (stale(), StateWord::HalfOpen));
    world.settle(KEY, &mut next, Verdict::Success);
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g7_a_successor_is_not_judged_by_what_came_before() {
    let mut world = world();
    let mut note = world.take(OTHER);
    world.gate.forget(OTHER);
    world.settle(OTHER, &mut note, UNAVAILABLE);
    assert_eq!(world.told_last(), stale());
    world.take(OTHER);
    world.settle(OTHER, &mut note, UNAVAILABLE);
    assert_eq!((world.told_last(), world.gate.read(OTHER, world.now)), (stale(), Reading::PRISTINE));
}

#[test]
fn g7_generations_wrap() {
    let mut world = world();
    world.gate.generation = Ticket::GENERATIONS - 3;
    for _ in 0..8 {
        let mut before = world.take(KEY);
        world.calls(10, Verdict::Transient).until_due().calls(1, Verdict::Success);
        world.settle(KEY, &mut before, Verdict::Success);
        assert_eq!((world.told_last(), world.state()), (stale(), StateWord::Closed));
        world.with(|breaker, cx| breaker.reset(KEY, cx));
    }
}

#[test]
fn g7_notes_are_read_as_they_were_written() {
    for generation in [0, 1, Ticket::GENERATIONS] {
        for ticket in [Ticket::Call { generation }, Ticket::Probe { generation, place: 31 }, Ticket::Spent] {
            assert_eq!(Ticket::read(ticket.note()), ticket);
        }
    }
    assert_eq!(Ticket::read(Note::default()), Ticket::Unjudged);
}

// G8: time is only ever compared, and reading changes nothing.

#[test]
fn g8_a_circuit_whose_time_has_come_reads_half_open() {
    // cockatiel#91: it reads "open" for ever because nobody calls. opossum#719: no timer fires in short-lived objects.
    let mut world = opened();
    assert_eq!(world.state().word(), "open");
    world.until_due();
    assert_eq!((world.state().word(), world.read().retry_at), ("half-open", None));
    world.later(86_400_000);
    assert_eq!((world.state(), world.ask(KEY), world.told().len()), (StateWord::HalfOpen, Answer::Pass, 0));
}

#[test]
fn g8_everything_may_happen_at_one_instant() {
    let mut world = World::new(Config { open_jitter: Ratio::ZERO, ..Config::default() });
    world.calls(99, Verdict::Success).calls(10, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Open);
    world.until_due().calls(1, Verdict::Transient);
    assert_eq!(world.read().retry_at, Some(world.now + Duration::from_secs(60)));
}

#[test]
fn g8_the_end_of_time_is_harmless() {
    let mut world = opened();
    world.now = Instant::NEVER;
    for _ in 0..40 {
        world.call(Verdict::Transient);
        world.saved();
        world.admit(KEY);
    }
}
