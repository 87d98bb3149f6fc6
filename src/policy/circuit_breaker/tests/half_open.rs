//! Half-open: who is let through, and why it cannot get stuck.

use super::*;

// G5: half-open lets `probes` through, no more.

#[test]
fn g5_fifty_callers_get_exactly_the_probes() {
    // opossum#819, resilience4j#1432, smallrye-fault-tolerance#319, Polly PR #223, tower-resilience#382.
    for count in [1, 3, 32] {
        let mut world = due(probes(count, count));
        let admitted = (0..50).filter_map(|_| world.admit(KEY)).count();
        assert_eq!(admitted, count as usize);
        assert_eq!(world.ask(KEY), refused(None));
        assert_eq!(world.told(), [What::HalfOpened { probes: count }]);
    }
}

#[test]
fn g5_the_first_bad_probe_reopens_whatever_the_volume() {
    // opossum#119: no new deadline; opossum#276: below the minimum volume a failed probe decides nothing.
    for (verdict, latency_ms) in [(UNAVAILABLE, 1), (Verdict::Success, 501)] {
        let slow_call = Some(Duration::from_millis(500));
        let mut world = due(Config { slow_call, ..probes(3, 3) });
        let mut notes: Vec<Note> = (0..3).filter_map(|_| world.admit(KEY)).collect();
        world.settle(KEY, &mut notes[0], Verdict::Success);
        world.settle_after(KEY, &mut notes[1], verdict, latency_ms);
        assert!(matches!(world.told_last(), What::Opened { trigger: Trigger::ProbeFailed, calls: 2, .. }));
        assert_eq!((world.state(), world.read().trips), (StateWord::Open, 2));
        assert!(world.read().retry_at.unwrap().since(world.now) >= Duration::from_secs(48));
        world.settle(KEY, &mut notes[2], Verdict::Success);
        assert_eq!(world.told_last(), stale());
    }
}

#[test]
fn g5_one_lucky_probe_does_not_close_where_three_must() {
    // cockatiel#73. A permit is for the episode: success does not hand it on.
    let mut world = due(probes(4, 3));
    let mut notes: Vec<Note> = (0..4).filter_map(|_| world.admit(KEY)).collect();
    for (position, note) in notes.iter_mut().take(3).enumerate() {
        assert_eq!((world.state(), world.ask(KEY)), (StateWord::HalfOpen, refused(None)), "{position}");
        world.settle(KEY, note, Verdict::Success);
    }
    assert_eq!(world.told_last(), What::Closed { reason: CloseReason::ProbesSucceeded });
    assert_eq!((world.state(), world.read().counts), (StateWord::Closed, Counts::default()));
    world.settle(KEY, &mut notes[3], UNAVAILABLE);
    assert_eq!((world.told_last(), world.read().counts), (stale(), Counts::default()));
}

// G6: a half-open circuit cannot get stuck.

#[test]
fn g6_a_probe_without_verdict_gives_its_permit_back() {
    // Hystrix#1781, #1621, rezilience#482, #521, monix#1080, Polly#1979, opossum#57.
    for verdict in NO_EVIDENCE.map(Some).into_iter().chain([None]) {
        let mut world = due(Config::default());
        for _ in 0..100 {
            let mut note = world.admit(KEY).expect("a permit");
            assert_eq!(world.ask(KEY), refused(None));
            if let Some(verdict) = verdict {
                world.settle(KEY, &mut note, verdict);
            }
            world.release(KEY, &mut note);
        }
        assert!(world.call(Verdict::Success));
        assert_eq!(world.state(), StateWord::Closed);
    }
}

#[test]
fn g6_a_probe_that_is_never_settled_fails_at_its_own_end() {
    // resilience4j#935; OmniRoute#13836: half-open for six days, 49,607 calls refused.
    let mut world = due(Config { open_jitter: Ratio::ZERO, ..probes(2, 2) });
    let mut first = world.admit(KEY).unwrap();
    world.later(20_000);
    let mut second = world.admit(KEY).unwrap();
    world.settle(KEY, &mut first, Verdict::Success);
    world.later(59_999);
    assert_eq!((world.state(), world.ask(KEY)), (StateWord::HalfOpen, refused(None)));
    world.later(1);
    let until = world.now + Duration::from_secs(60);
    assert_eq!((world.state(), world.read().trips, world.ask(KEY)), (StateWord::Open, 2, refused(Some(until))));
    world.later(5_000);
    assert_eq!(world.ask(KEY), refused(Some(until)));
    world.settle(KEY, &mut second, Verdict::Success);
    let left = Some(Duration::from_secs(55));
    let opened = What::Opened { trigger: Trigger::ProbeTimeout, calls: 2, failures: 1, slow: 0, open_for: left };
    assert_eq!(world.told().split_off(2), [opened, stale()]);
    world.until_due();
    assert_eq!(world.ask(KEY), Answer::Pass);
}

#[test]
fn g6_days_of_silence_in_an_episode_are_one_failed_probe() {
    let mut world = due(Config::default());
    let mut lost = world.admit(KEY).unwrap();
    world.later(6 * 86_400_000);
    assert_eq!((world.state(), world.read().trips), (StateWord::HalfOpen, 2));
    assert!(world.call(Verdict::Success));
    world.release(KEY, &mut lost);
    assert_eq!(world.state(), StateWord::Closed);
    let open_for = Some(Duration::ZERO);
    let opened = What::Opened { trigger: Trigger::ProbeTimeout, calls: 1, failures: 1, slow: 0, open_for };
    assert_eq!(world.told()[1..3], [opened, What::HalfOpened { probes: 1 }]);
}
