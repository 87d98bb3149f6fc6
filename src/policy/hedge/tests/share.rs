//! What share of calls is hedged at a measured pace, in front of an upstream that is as fast as ever.

use super::*;
use crate::measure::quantile::Samples;
use crate::policy::retry;
use crate::random::Rng;
use crate::time::HostTime;
use crate::{CallId, Engine, Key, Outcome, StackConfig, StackId, Step, Verdict};

const STACK: StackId = StackId::from_number(0);
const P95: Ratio = Ratio::from_percent(95);

/// A host with one call a second.
struct Day {
    engine: Engine,
    rng: Rng,
    now: HostTime,
    facts: Facts,
}

/// Nine of ten within 100 ms, and a long tail: the 95th percentile is 270 ms.
fn latency(rng: &mut Rng) -> Duration {
    let (least, most) = match rng.between(1, 100) {
        0..=90 => (20, 120),
        91..=98 => (120, 360),
        _ => (400, 900),
    };
    Duration::from_nanos(rng.between(least * 1_000_000, most * 1_000_000))
}

impl Day {
    fn of(config: Config) -> Self {
        let mut engine = Engine::default();
        let retry = Some(retry::Config { attempts: 1, budget: false, ..Default::default() });
        engine.add_stack(StackConfig { hedge: Some(config), retry, ..StackConfig::default() }).unwrap();
        Self { engine, rng: Rng::new(17), now: HostTime::from_millis(1_000_000), facts: Facts::default() }
    }

    fn at_pace(after_ms: u64) -> Self {
        Self::of(Config { after: Duration::from_millis(after_ms), quantile: Some(P95), ..Config::default() })
    }

    fn settle(&mut self, call: CallId, attempt: u8, verdict: Verdict, at: HostTime) {
        let _ = self.engine.settle(call, attempt, Outcome::new(verdict), at, 1);
    }

    /// Whether this call is hedged. The attempt that answers first wins.
    fn call(&mut self) -> bool {
        self.now = self.now + Duration::from_secs(1);
        let begins = self.engine.admit(STACK, Key::WHOLE, self.facts, self.now, 1);
        let call = begins.call.unwrap();
        let first = self.now + latency(&mut self.rng);
        let Some(at) = begins.at.filter(|at| *at < first) else {
            self.settle(call, 1, Verdict::Success, first);
            return false;
        };
        assert_eq!(self.engine.wake(call, at, 1).step, Step::Send(2));
        let second = at + latency(&mut self.rng);
        let (winner, end) = if first <= second { (1, first) } else { (2, second) };
        self.settle(call, winner, Verdict::Success, end);
        true
    }

    /// Of so many calls, how many thousandths are hedged.
    fn share(&mut self, calls: u32) -> u32 {
        let hedged = (0..calls).filter(|_| self.call()).count() as u32;
        hedged * 1_000 / calls
    }

    fn pace(&self) -> Option<u64> {
        self.engine.pace(STACK, Key::WHOLE, self.now).map(|pace| pace.as_nanos() / 1_000_000)
    }
}

#[test]
fn g6_at_the_95th_percentile_one_call_in_twenty_is_hedged_hour_by_hour_for_a_day() {
    // Whatever it begins with: far too soon, or never.
    for after in [1, 60_000] {
        let mut day = Day::at_pace(after);
        day.share(600);
        let hours: alloc::vec::Vec<u32> = (0..24).map(|_| day.share(3_600)).collect();
        // Half a per cent more than promised: a pace that is too low for a window cuts some samples short.
        assert!(hours.iter().all(|share| (45..=65).contains(share)), "{hours:?}");
        let (early, late) = (hours[..12].iter().sum::<u32>() / 12, hours[12..].iter().sum::<u32>() / 12);
        assert!((50..=58).contains(&early) && early.abs_diff(late) <= 2, "{early} and {late} of a thousand");
    }
}

#[test]
fn g6_winners_alone_would_hedge_ever_more_than_they_are_told_to() {
    // What a hedged round tells the window: its winner, or how long its first attempt had run by then.
    type Sampled = fn(first: Duration, hedge: Duration, pace: Duration) -> Duration;
    let winners: Sampled = |first, hedge, pace| if first <= pace + hedge { first } else { hedge };
    let calls: Sampled = |first, hedge, pace| first.min(pace + hedge);
    let shares = [winners, calls].map(|sampled| {
        let (mut rng, mut pace, mut hedged) = (Rng::new(3), Duration::from_millis(270), 0);
        for _ in 0..200 {
            let mut window = Samples::default();
            for _ in 0..100 {
                let (first, hedge) = (latency(&mut rng), latency(&mut rng));
                hedged += u32::from(first > pace);
                window.add(if first > pace { sampled(first, hedge, pace) } else { first });
            }
            pace = window.quantile_of_next(P95).unwrap();
        }
        hedged / 20
    });
    assert!(shares[0] >= 80 && (45..=55).contains(&shares[1]), "{shares:?} of a thousand");
}

#[test]
fn g6_until_twenty_first_attempts_of_a_window_are_known_after_is_what_counts() {
    let mut day = Day::at_pace(200);
    day.share(19);
    assert_eq!(day.pace(), None);
    day.call();
    assert!(day.pace().is_some());
    // One call every five seconds are twelve in a minute.
    let mut quiet = Day::at_pace(200);
    for _ in 0..200 {
        quiet.now = quiet.now + Duration::from_secs(4);
        quiet.call();
        assert_eq!(quiet.pace(), None);
    }
}

#[test]
fn g6_a_pace_is_forgotten_two_windows_after_its_own() {
    let mut day = Day::at_pace(200);
    day.share(61);
    let known = day.pace();
    day.now = day.now + Duration::from_secs(119);
    assert!(known.is_some() && day.pace().is_some());
    day.now = day.now + Duration::from_secs(62);
    assert_eq!(day.pace(), None);
}

#[test]
fn g6_an_upstream_that_has_become_slower_is_hedged_too_often_for_a_few_windows_only() {
    let mut day = Day::at_pace(500);
    day.share(600);
    let before = day.pace().unwrap();
    // A first attempt that a hedge has beaten counts as longer than the pace: so the pace climbs.
    let mut slow =
        Day::of(Config { quantile: Some(P95), after: Duration::from_millis(before / 4), ..Config::default() });
    assert!(slow.share(60) > 150);
    slow.share(180);
    assert!((30..=75).contains(&slow.share(1_200)));
}

#[test]
fn g6_what_may_not_be_hedged_sets_no_pace() {
    for facts in
        [Facts { repeat: Repeat::AfterFailure, ..Facts::default() }, Facts { replayable: false, ..Facts::default() }]
    {
        let mut day = Day { facts, ..Day::at_pace(200) };
        assert_eq!((day.share(200), day.pace()), (0, None));
    }
}

#[test]
fn g6_failures_refusals_and_callers_who_leave_set_no_pace() {
    let mut day = Day::at_pace(200);
    day.share(100);
    let saved = day.engine.snapshot(STACK, day.now);
    let at = day.now;
    for verdict in [Verdict::Transient, Verdict::Rejected, Verdict::Defect, Verdict::Cancelled] {
        let call = day.engine.admit(STACK, Key::WHOLE, day.facts, at, 1).call.unwrap();
        day.settle(call, 1, verdict, at);
    }
    let call = day.engine.admit(STACK, Key::WHOLE, day.facts, at, 1).call.unwrap();
    let _ = day.engine.cancel(call, at);
    assert_eq!(day.engine.snapshot(STACK, at), saved);
    // A limit below the pace says nothing of what takes longer than the pace.
    let call = day.engine.admit(STACK, Key::WHOLE, day.facts, at, 1).call.unwrap();
    day.settle(call, 1, Verdict::Timeout, at);
    assert_eq!(day.engine.snapshot(STACK, at), saved);
}

#[test]
fn g6_a_pace_is_known_elsewhere_and_keys_do_not_know_each_other() {
    let mut day = Day::at_pace(200);
    day.share(90);
    let saved = day.engine.snapshot(STACK, day.now);
    let mut there = Day::at_pace(200);
    there.now = day.now + Duration::from_secs(1_000_000);
    there.engine.restore(STACK, &saved, &[], there.now).unwrap();
    assert_eq!((there.pace(), there.engine.snapshot(STACK, there.now)), (day.pace(), saved.clone()));
    assert_eq!(day.engine.pace(STACK, Key::from_number(2), day.now), None);
    let mut other = Day::at_pace(201);
    other.engine.restore(STACK, &saved, &[], other.now).unwrap();
    assert_eq!(other.pace(), None, "configured differently");
    // What nobody writes changes nothing.
    let pristine = Day::at_pace(200);
    assert_eq!(pristine.engine.snapshot(STACK, pristine.now).len(), 4 + 1 + 4 + 8 + 4 + 2 + 8);
}
