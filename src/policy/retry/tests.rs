//! What docs/policies/retry.md promises: the order of questions here, delays and Retry-After beside it.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::config::ConfigReason;
use crate::http::outcome_of_status;
use crate::outcome::Overload;

mod delays;
mod distributions;
mod retry_after;

/// A round that is over, as the engine tells of it; everything is in favour of a repeat.
#[derive(Clone)]
struct Case {
    config: Config,
    facts: Facts,
    outcome: Outcome,
    rounds: u8,
    was_once: bool,
    backoff: Duration,
    deadline: Instant,
    affordable: bool,
}

/// What came of it, and whether the budget was asked.
#[derive(Debug, PartialEq)]
struct Answer {
    next: Result<Pause, StopReason>,
    asked_budget: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pause {
    delay: Duration,
    backoff: Duration,
}

impl Case {
    fn new(config: Config) -> Self {
        Self {
            config,
            facts: Facts::default(),
            outcome: Outcome::new(Verdict::Transient),
            rounds: 1,
            was_once: false,
            backoff: Duration::ZERO,
            deadline: Instant::NEVER,
            affordable: true,
        }
    }

    fn with_jitter(jitter: Jitter) -> Self {
        Self::new(Config { jitter, ..Config::default() })
    }

    fn asked_for(&self, ms: u64) -> Self {
        let outcome = Outcome { retry_after: Some(Duration::from_millis(ms)), ..self.outcome };
        Self { outcome, ..self.clone() }
    }

    fn after(&self, rounds: u8) -> Self {
        Self { rounds, ..self.clone() }
    }

    /// With so much time left from now on.
    fn with_time(&self, left: Duration) -> Self {
        Self { deadline: NOW + left, ..self.clone() }
    }

    fn ask(&self, word: u64) -> Answer {
        let retry = Retry::new(self.config).unwrap();
        self.ask_again(&retry, word)
    }

    fn ask_again(&self, retry: &Retry, word: u64) -> Answer {
        let Self { facts, outcome, rounds, was_once, backoff, deadline, affordable, .. } = self;
        let (outcome, rounds, was_once, backoff, deadline) = (*outcome, *rounds, *was_once, *backoff, *deadline);
        let round = Round { facts, outcome, rounds, was_once, backoff, now: NOW, deadline };
        let mut asked_budget = false;
        let spend = || {
            asked_budget = true;
            *affordable
        };
        let next = match retry.next(&round, &mut Rng::new(word), spend) {
            Next::Stop(reason) => Err(reason),
            Next::Again { delay, backoff } => Ok(Pause { delay, backoff }),
        };
        Answer { next, asked_budget }
    }

    fn stops(&self, word: u64) -> StopReason {
        self.ask(word).next.expect_err("it should stop")
    }

    fn pause(&self, word: u64) -> Pause {
        self.ask(word).next.expect("it should go on")
    }

    fn delay(&self, word: u64) -> Duration {
        self.pause(word).delay
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const NOW: Instant = Instant::ORIGIN;

#[test]
fn the_questions_are_asked_in_one_order_and_the_budget_last() {
    let mut case =
        Case::new(Config { attempts: 1, max_retry_after: ms(10), jitter: Jitter::None, ..Config::default() });
    case.facts = Facts { repeat: Repeat::OnlyUnprocessed, replayable: false, ..Facts::default() };
    case.outcome = Outcome { retry_after: Some(ms(11)), ..Outcome::new(Verdict::Rejected) };
    (case.deadline, case.affordable) = (NOW, false);

    // Everything speaks against a repeat; one objection after the other is taken away, and the next one shows.
    assert_eq!(case.stops(1), StopReason::Refused);
    case.outcome.verdict = Verdict::Defect;
    assert_eq!(case.stops(1), StopReason::NotRetryable);
    case.outcome.verdict = Verdict::Transient;
    assert_eq!(case.stops(1), StopReason::NotRepeatable);
    case.facts.repeat = Repeat::AfterFailure;
    assert_eq!(case.stops(1), StopReason::BodyNotReplayable);
    case.facts.replayable = true;
    assert_eq!(case.stops(1), StopReason::AttemptsExhausted);
    case.config.attempts = 2;
    assert_eq!(case.stops(1), StopReason::RetryAfterTooLong);
    case.config.max_retry_after = ms(11);
    assert_eq!(case.stops(1), StopReason::RetryAfterExceedsDeadline);
    case.outcome.retry_after = None;
    let tight = case.ask(1);
    assert_eq!(tight, Answer { next: Err(StopReason::DeadlineExceeded), asked_budget: false });
    case.deadline = Instant::NEVER;
    assert_eq!(case.ask(1), Answer { next: Err(StopReason::BudgetExceeded), asked_budget: true });
    case.affordable = true;
    assert_eq!(case.delay(1), ms(100));
}

#[test]
fn a_budget_that_says_no_is_never_told_as_would_not_repeat() {
    let broke = Case { affordable: false, ..Case::with_jitter(Jitter::Full) };
    assert_eq!(broke.stops(1), StopReason::BudgetExceeded);
    for verdict in [Verdict::Success, Verdict::Answered, Verdict::Defect, Verdict::Cancelled] {
        let ended = Case { outcome: Outcome::new(verdict), ..broke.clone() };
        let reason = if verdict == Verdict::Success { StopReason::Completed } else { StopReason::NotRetryable };
        assert_eq!(ended.ask(1), Answer { next: Err(reason), asked_budget: false });
    }
}

#[test]
fn what_may_end_better_is_repeated_and_nothing_else() {
    let overload = [Overload::TooManyRequests, Overload::Unavailable].map(Verdict::Overload);
    for verdict in [Verdict::Transient, Verdict::Timeout].into_iter().chain(overload) {
        let case = Case { outcome: Outcome::new(verdict), ..Case::with_jitter(Jitter::None) };
        assert_eq!(case.delay(1), ms(100), "{verdict:?}");
    }
    let shed = Case { outcome: Outcome::new(Verdict::Overload(Overload::Shedding)), ..Case::with_jitter(Jitter::None) };
    assert_eq!(shed.stops(1), StopReason::NotRetryable);
}

#[test]
fn a_request_that_may_have_been_processed_is_repeated_only_by_permission() {
    let mut post = Case::with_jitter(Jitter::None);
    post.facts.repeat = Repeat::OnlyUnprocessed;
    let outcome = |verdict| Outcome::new(verdict);
    let told_when = |verdict| Outcome { retry_after: Some(ms(1)), ..Outcome::new(verdict) };
    let never_sent = |verdict| Outcome { never_sent: true, ..Outcome::new(verdict) };
    let unavailable = Verdict::Overload(Overload::Unavailable);
    let too_many = Verdict::Overload(Overload::TooManyRequests);
    let allowed = [
        (outcome(Verdict::Transient), false),
        (outcome(Verdict::Timeout), false),
        (told_when(Verdict::Transient), false),
        (outcome(unavailable), false),
        (told_when(unavailable), true),
        (outcome(too_many), true),
        (told_when(too_many), true),
        (never_sent(Verdict::Transient), true),
        (never_sent(unavailable), true),
    ];
    for (outcome, allowed) in allowed {
        post.outcome = outcome;
        let answer = post.ask(1).next;
        assert_eq!(answer.is_ok(), allowed, "{outcome:?}");
        assert!(allowed || answer == Err(StopReason::NotRepeatable));
        for repeat in [Repeat::AfterFailure, Repeat::Freely] {
            let asked = Case { facts: Facts { repeat, ..post.facts }, ..post.clone() };
            assert!(asked.ask(1).next.is_ok(), "{outcome:?}");
        }
    }
}

#[test]
fn what_was_not_surely_unsent_is_repeated_by_nobody_who_forbids_it() {
    let mut post = Case::with_jitter(Jitter::None);
    let unprocessed = [429, 421, 425].map(|status| outcome_of_status(status, None));
    let told_when = [403, 429, 503, 529, 413, 500].map(|status| outcome_of_status(status, Some(ms(1))));
    for outcome in unprocessed.into_iter().chain(told_when) {
        post.outcome = outcome;
        post.facts.repeat = Repeat::OnlyUnsent;
        assert_eq!(post.stops(1), StopReason::NotRepeatable, "{outcome:?}");
        post.facts.repeat = Repeat::OnlyUnprocessed;
        assert_eq!(post.ask(1).next.is_ok(), outcome.is_unprocessed(), "{outcome:?}");
    }
    post.facts.repeat = Repeat::OnlyUnsent;
    for status in [521, 523] {
        post.outcome = outcome_of_status(status, None);
        assert!(post.ask(1).next.is_ok(), "no connection to the origin, {status}");
    }
    post.outcome = Outcome { never_sent: true, ..Outcome::new(Verdict::Transient) };
    assert!(post.ask(1).next.is_ok());
}

#[test]
fn a_call_that_is_to_be_one_attempt_is_one_whatever_happens() {
    for outcome in [outcome_of_status(429, None), Outcome { never_sent: true, ..Outcome::new(Verdict::Transient) }] {
        let facts = Facts { single: true, ..Facts::default() };
        let case = Case { outcome, facts, ..Case::with_jitter(Jitter::None) };
        assert_eq!(case.ask(1), Answer { next: Err(StopReason::AttemptsExhausted), asked_budget: false });
        let refused = Case { outcome: Outcome::new(Verdict::Rejected), ..case };
        let waits = Case { config: Config { retry_refusals: true, ..refused.config }, ..refused };
        assert_eq!(waits.stops(1), StopReason::AttemptsExhausted);
    }
}

#[test]
fn a_421_is_repeated_once_whatever_the_method_and_however_many_attempts_are_left() {
    let misdirected = Case { outcome: outcome_of_status(421, None), ..Case::with_jitter(Jitter::None) };
    for repeat in [Repeat::OnlyUnprocessed, Repeat::AfterFailure, Repeat::Freely] {
        let case = Case { facts: Facts { repeat, ..Facts::default() }, ..misdirected.clone() };
        assert_eq!(case.delay(1), ms(100));
        let again = Case { was_once: true, rounds: 2, ..case.clone() };
        assert_eq!(again.stops(1), StopReason::NotRetryable);
        // What ends otherwise is repeated as ever.
        assert!(Case { outcome: outcome_of_status(429, None), ..again }.ask(1).next.is_ok());
    }
}

#[test]
fn refusals_are_waited_out_only_where_asked_for() {
    let mut case = Case::with_jitter(Jitter::None);
    case.outcome = Outcome::new(Verdict::Rejected);
    assert_eq!(case.stops(1), StopReason::Refused);
    case.config.retry_refusals = true;
    // Nothing was sent, so it does not matter who may repeat.
    case.facts.repeat = Repeat::OnlyUnprocessed;
    assert_eq!(case.delay(1), ms(100));
    let told = case.asked_for(5_000);
    assert!((ms(5_000)..=ms(5_100)).contains(&told.delay(1)));
    assert_eq!(told.with_time(ms(5_000)).stops(1), StopReason::RetryAfterExceedsDeadline);
}

#[test]
fn timeouts_are_repeated_unless_that_is_turned_off() {
    let timed_out = |timeouts| Case {
        outcome: Outcome::new(Verdict::Timeout),
        ..Case::new(Config { timeouts, ..Config::default() })
    };
    assert!(timed_out(true).ask(1).next.is_ok());
    assert_eq!(timed_out(false).ask(1), Answer { next: Err(StopReason::NotRetryable), asked_budget: false });
    let failed = Case { outcome: Outcome::new(Verdict::Transient), ..timed_out(false) };
    assert!(failed.ask(1).next.is_ok(), "nothing else changes");
}

#[test]
fn attempts_count_the_first() {
    for attempts in 1..=15 {
        let case = Case::new(Config { attempts, ..Config::default() });
        for rounds in 1..attempts {
            assert!(case.after(rounds as u8).ask(1).next.is_ok());
        }
        assert_eq!(case.after(attempts as u8).stops(1), StopReason::AttemptsExhausted);
    }
}

#[test]
fn a_configuration_that_cannot_be_is_refused_by_name() {
    let refused = |config| Retry::new(config).unwrap_err();
    let cap = refused(Config { base: ms(200), cap: ms(199), ..Config::default() });
    assert_eq!((cap.option(), cap.given, cap.min, cap.reason), ("backoff.cap", 199.0, 200.0, ConfigReason::Conflict));
    let base = refused(Config { base: Duration::ZERO, ..Config::default() });
    assert_eq!((base.option(), base.given, base.reason), ("backoff.base", 0.0, ConfigReason::OutOfRange));
    assert_eq!(refused(Config { attempts: 0, ..Config::default() }).option(), "attempts");
    assert_eq!(refused(Config { attempts: 16, ..Config::default() }).option(), "attempts");
    assert_eq!(refused(Config { cap: Duration::MAX, ..Config::default() }).option(), "backoff.cap");
}

/// Numbers that once crashed others, or made them sleep for ever or not at all.
#[test]
fn what_the_engine_asks_of_it_is_what_was_configured() {
    let asked = |attempts, budget| {
        let retry = Retry::new(Config { attempts, budget, ..Config::default() }).unwrap();
        (retry.attempts(), retry.wants_budget())
    };
    assert_eq!([asked(1, true), asked(5, false)], [(1, true), (5, false)]);
}

#[test]
fn no_number_that_is_none_reaches_a_delay() {
    for option in ["backoff.base", "backoff.cap", "backoff.factor", "backoff.jitter", "maxRetryAfter"] {
        let position = Config::OPTIONS.iter().position(|spec| spec.name == option).unwrap();
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
            let mut config = Config::default();
            let error = config.set(position, number).unwrap_err();
            assert_eq!((error.option(), error.reason), (option, ConfigReason::OutOfRange));
            assert_eq!(config, Config::default());
        }
    }
    let jitter = Config::OPTIONS.iter().position(|spec| spec.name == "backoff.jitter").unwrap();
    assert!(Config::default().set(jitter, 1.5).is_err() && Config::default().set(jitter, 4.0).is_err());
}
