//! One test or more for each guarantee of docs/policies/circuit_breaker.md, and for what broke in others.

use alloc::vec::Vec;

use super::*;
use crate::id::CallId;
use crate::outcome::Overload;
use crate::policy::Kind;
use crate::policy::lent::Lent;
use crate::ratio::Ratio;

pub(super) const KEY: Key = Key::WHOLE;
pub(super) const OTHER: Key = Key::from_number(2);

/// A breaker and all it is lent.
pub(super) type World = Lent<CircuitBreaker>;

impl World {
    pub fn new(config: Config) -> Self {
        Self::of(Kind::Breaker, CircuitBreaker::new(config).unwrap())
    }

    pub fn ask(&self, key: Key) -> Answer {
        self.gate.ask(&asker(key, self.now), self.now)
    }

    pub fn take(&mut self, key: Key) -> Note {
        let asker = asker(key, self.now);
        self.with(|breaker, cx| breaker.take(&asker, cx))
    }

    /// Asks and, if nothing is against it, takes.
    pub fn admit(&mut self, key: Key) -> Option<Note> {
        (self.ask(key) == Answer::Pass).then(|| self.take(key))
    }

    pub fn settle(&mut self, key: Key, note: &mut Note, verdict: Verdict) {
        self.settle_after(key, note, verdict, 10);
    }

    pub fn settle_after(&mut self, key: Key, note: &mut Note, verdict: Verdict, latency_ms: u64) {
        let ended = Ended { verdict, latency: Duration::from_millis(latency_ms) };
        self.with(|breaker, cx| breaker.settle(key, note, &ended, cx));
    }

    pub fn release(&mut self, key: Key, note: &mut Note) {
        self.with(|breaker, cx| breaker.release(key, note, cx));
    }

    /// A whole call: asked, taken, settled, released. `false` if it was refused.
    pub fn call(&mut self, verdict: Verdict) -> bool {
        let Some(mut note) = self.admit(KEY) else { return false };
        self.settle(KEY, &mut note, verdict);
        self.release(KEY, &mut note);
        true
    }

    fn calls(&mut self, count: u32, verdict: Verdict) -> &mut Self {
        (0..count).for_each(|_| assert!(self.call(verdict)));
        self
    }

    pub fn read(&self) -> Reading {
        self.gate.read(KEY, self.now)
    }

    pub fn state(&self) -> StateWord {
        self.gate.state(KEY, self.now)
    }

    pub fn saved(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.gate.save(self.now, &mut out);
        out.finish()
    }

    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        self.gate.restore(self.now, &mut Reader::new(bytes))
    }

    pub fn told(&mut self) -> Vec<What> {
        core::iter::from_fn(|| self.log.pop()).map(|event| event.what).collect()
    }

    fn told_last(&mut self) -> What {
        self.told().pop().unwrap()
    }

    /// Waits until the open circuit is due.
    fn until_due(&mut self) -> &mut Self {
        self.now = self.read().retry_at.unwrap();
        self
    }
}

fn asker(key: Key, now: Instant) -> Asker {
    let call = CallId::from_u64(0);
    Asker { call, attempt: 1, key, dice: 0, cost: 1, priority: 0, deadline: Instant::NEVER, since: now, place: None }
}

fn world() -> World {
    World::new(Config::default())
}

fn opened() -> World {
    let mut world = world();
    world.calls(10, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Open);
    world.told();
    world
}

fn due(config: Config) -> World {
    let mut world = World::new(config);
    world.calls(10, Verdict::Transient).until_due();
    world.told();
    world
}

fn probes(probes: u32, successes: u32) -> Config {
    Config { probes, successes_to_close: Some(successes), ..Config::default() }
}

fn refused(retry_at: Option<Instant>) -> Answer {
    Answer::Reject { reason: RefusalReason::CircuitOpen, retry_at }
}

fn stale() -> What {
    What::Ignored { reason: IgnoreReason::Stale }
}

const UNAVAILABLE: Verdict = Verdict::Overload(Overload::Unavailable);
const NO_EVIDENCE: [Verdict; 3] = [Verdict::Cancelled, Verdict::Rejected, Verdict::Defect];

// G1: it opens exactly when the window says so.

#[test]
fn g1_opens_at_exactly_the_rate() {
    // resilience4j#6, resilix: with `>` a rate of 1 can never be reached.
    for (rate, failures) in [(50, 10), (100, 20), (5, 1)] {
        let failure_rate = Ratio::from_percent(rate);
        let mut world = World::new(Config { failure_rate, consecutive_failures: None, ..Config::default() });
        world.calls(20 - failures, Verdict::Success).calls(failures - 1, Verdict::Transient);
        assert_eq!(world.state(), StateWord::Closed, "{rate} %");
        world.calls(1, UNAVAILABLE);
        assert_eq!(world.state(), StateWord::Open, "{rate} %");
    }
}

#[test]
fn g1_the_first_failures_of_a_quiet_key_open_nothing() {
    // opossum#217, #288, #481: one failure of one call is 100 %.
    let mut world = world();
    world.calls(9, Verdict::Transient).calls(1, Verdict::Success).calls(9, Verdict::Transient);
    assert_eq!(world.state(), StateWord::Closed);
    assert_eq!((world.read().failure_rate(), world.read().counts.calls), (Ratio::from_millionths(947_368), 19));
    world.calls(1, Verdict::Success);
    assert_eq!(world.state(), StateWord::Open);
    let trigger = Trigger::FailureRate;
    let told = world.told();
    let opened = told.iter().filter(|what| matches!(what, What::Opened { trigger: it, .. } if *it == trigger));
    assert_eq!(opened.count(), 1);
}

#[test]
fn g1_failures_in_a_row_open_at_low_traffic() {
    let mut world = world();
    for _ in 0..9 {
        world.later(3_600_000).calls(1, Verdict::Timeout);
    }
    assert_eq!((world.state(), world.read().consecutive), (StateWord::Closed, 9));
    world.later(3_600_000).calls(1, Verdict::Timeout);
    assert!(matches!(world.told_last(), What::Opened { trigger: Trigger::ConsecutiveFailures, calls: 1, .. }));
}

#[test]
fn g1_a_blip_among_many_calls_opens_nothing() {
    // unkeyed/unkey#6568: an absolute count trips on a blip of 0.14 %; vertx-circuit-breaker#24: failures that never age.
    let mut world = world();
    for second in 0..600 {
        world.later(1_000).calls(if second % 60 == 0 { 9 } else { 0 }, Verdict::Transient).calls(84, Verdict::Success);
    }
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g1_failures_of_an_hour_ago_are_forgotten() {
    // cockatiel's SamplingBreaker: one bucket goes a call, however long nobody called.
    let mut world = World::new(Config { consecutive_failures: None, ..Config::default() });
    world.calls(19, Verdict::Transient).later(3_600_000).calls(1, Verdict::Transient);
    assert_eq!((world.state(), world.read().counts.calls), (StateWord::Closed, 1));
}

#[test]
fn g1_slow_calls_open_once_slow_is_defined() {
    let mut config = Config { slow_call: Some(Duration::from_millis(100)), ..Config::default() };
    let slow = |config: &Config, latency_ms| {
        let mut world = World::new(*config);
        (0..20).for_each(|_| {
            let mut note = world.take(KEY);
            world.settle_after(KEY, &mut note, Verdict::Answered, latency_ms);
        });
        world
    };
    assert_eq!(slow(&config, 100).read().counts.slow, 0);
    let mut world = slow(&config, 101);
    assert!(matches!(world.told_last(), What::Opened { trigger: Trigger::SlowRate, slow: 20, .. }));
    config.slow_call = None;
    assert_eq!(slow(&config, 100_000).read().slow_rate(), Ratio::ZERO);
}

#[test]
fn g1_a_timeout_is_a_failure_and_slow() {
    // resilience4j#1123: an inner limiter's timeout is not seen by an outer breaker.
    let mut world = World::new(Config { slow_call: Some(Duration::from_secs(9)), ..Config::default() });
    world.calls(3, Verdict::Timeout);
    assert_eq!(world.read().counts, Counts { calls: 3, failures: 3, slow: 3 });
}

#[test]
fn g1_rate_limited_and_shedding_count_only_if_asked() {
    for (count_rate_limited, failures) in [(false, 0), (true, 2)] {
        let mut world = World::new(Config { count_rate_limited, ..Config::default() });
        world.call(Verdict::Overload(Overload::TooManyRequests));
        world.call(Verdict::Overload(Overload::Shedding));
        assert_eq!(world.read().counts, Counts { calls: 2, failures, slow: 0 });
    }
}

// G2: only evidence counts.

#[test]
fn g2_refusals_cancellations_and_defects_change_nothing() {
    // resilience4j#682, apache/brpc#3532: cancelled calls open it; resilience4j#1656: does a full bulkhead?
    for (mut world, _) in [(world(), 0), (opened(), 1), (due(probes(2, 1)), 2)] {
        let before = world.saved();
        for verdict in NO_EVIDENCE.iter().cycle().take(60) {
            world.call(*verdict);
            assert_eq!(world.saved(), before);
        }
        if let Some(mut note) = world.admit(KEY) {
            world.release(KEY, &mut note);
        }
        assert_eq!(world.saved(), before);
    }
}

#[test]
fn g2_a_wrong_request_is_an_answer() {
    // Polly#311, #717: an outcome that the policy does not handle uses up the only probe.
    let mut world = due(Config::default());
    assert!(world.call(Verdict::Answered));
    assert_eq!(world.state(), StateWord::Closed);
}

#[test]
fn g2_what_was_ignored_says_why() {
    let mut world = world();
    for (verdict, reason) in NO_EVIDENCE.iter().zip([IgnoreReason::Cancelled, IgnoreReason::Rejection]) {
        world.call(*verdict);
        assert_eq!(world.told(), [What::Ignored { reason }]);
    }
    world.call(Verdict::Success);
    assert_eq!(world.told(), [What::Recorded { counted: Counted::Success, slow: false }]);
}

// G3: an open circuit refuses until an instant, and not at it.

#[test]
fn g3_a_refusal_keeps_its_word() {
    let mut world = opened();
    let Answer::Reject { retry_at: Some(until), .. } = world.ask(KEY) else { panic!() };
    assert_eq!(world.read().retry_at, Some(until));
    world.now = until - Duration::from_nanos(1);
    assert_eq!(world.ask(KEY), refused(Some(until)));
    world.now = until;
    assert_eq!(world.ask(KEY), Answer::Pass);
}

#[test]
fn g3_results_while_open_neither_prolong_nor_end_it() {
    let mut world = world();
    let mut late: Vec<Note> = (0..30).map(|_| world.take(KEY)).collect();
    world.calls(10, Verdict::Transient);
    let until = world.read().retry_at;
    for (position, note) in late.iter_mut().enumerate() {
        world.settle(KEY, note, if position % 2 == 0 { Verdict::Success } else { UNAVAILABLE });
        assert_eq!((world.told_last(), world.read().retry_at), (stale(), until));
    }
}

// G4: repeated trips last longer, never longer than the longest, and are forgotten.

#[test]
fn g4_trips_grow_to_the_longest_and_are_only_shortened() {
    let mut spread = Vec::new();
    for seed in 0..200 {
        let mut world = World { word: seed * 1_000, ..opened() };
        world.gate = CircuitBreaker::new(Config::default()).unwrap();
        world.calls(10, Verdict::Transient);
        for (trip, secs) in [30, 60, 120, 240, 300, 300, 300].into_iter().enumerate() {
            let open_for = world.read().retry_at.unwrap().since(world.now);
            assert!(Duration::from_millis(secs * 800) <= open_for && open_for <= Duration::from_secs(secs));
            assert_eq!(world.read().trips, trip as u32 + 1);
            spread.push(open_for.as_nanos() / (secs * 10_000_000));
            world.until_due().calls(1, Verdict::Transient);
        }
    }
    assert!(spread.contains(&80) && spread.contains(&99), "the whole range is used");
}

#[test]
fn g4_trips_are_forgotten_after_staying_closed_not_by_closing() {
    // envoy#6016: a multiplier that never decays, or keeps counting above the cap.
    for (closed_ms, trips) in [(0, 4), (299_999, 4), (300_000, 1)] {
        let mut world = due(Config::default());
        world.calls(1, Verdict::Transient).until_due().calls(1, Verdict::Transient).until_due();
        world.calls(1, Verdict::Success).later(closed_ms);
        assert_eq!(world.read().trips, trips - 1);
        world.calls(10, Verdict::Transient);
        assert_eq!(world.read().trips, trips);
    }
}

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

// Configuration.

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let refused = |config: Config| {
        let error = CircuitBreaker::new(config).unwrap_err();
        (error.option, error.min, error.max)
    };
    let plain = Config::default;
    assert_eq!(refused(Config { window_calls: None, window: None, ..plain() }), ("windowCalls", 1.0, 1_000.0));
    assert_eq!(refused(Config { window_calls: Some(19), ..plain() }), ("minCalls", 1.0, 19.0));
    assert_eq!(refused(Config { max_open_for: Duration::from_secs(9), ..plain() }), ("openFor", 1.0, 9_000.0));
    assert_eq!(refused(Config { successes_to_close: Some(2), ..plain() }), ("successesToClose", 1.0, 1.0));
    assert_eq!(refused(Config { failure_rate: Ratio::ZERO, ..plain() }), ("failureRate", 0.000_001, 1.0));
    assert_eq!(refused(Config { probes: 33, ..plain() }), ("probes", 1.0, 32.0));
    assert!(CircuitBreaker::new(Config { window_calls: None, min_calls: 5_000, ..plain() }).is_ok());
}

#[test]
fn a_circuit_is_small() {
    let window = Config::default().window_calls.unwrap() as usize / 4;
    assert!(size_of::<Option<Circuit>>() + window <= 256, "{} bytes", size_of::<Option<Circuit>>());
}
