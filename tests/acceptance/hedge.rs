//! Stoic, section Testing: "Slow first attempt, winner returned, loser cancelled; budget exhaustion (including a budget
//! of one across two calls), all-fail, no hedge after a fast failure, and a model over random timelines: the winner,
//! the first failure, the number of attempts started and 'nothing running at return' must match a reference
//! simulation."
//!
//! That nothing runs at return, and nothing is in hand but the result, the host asserts at every end of a call.

use forbear::policy::{budget, hedge};
use forbear::{Outcome, Part, Ratio, StackConfig, StopReason, Verdict};

use crate::host::{End, Fate, Host, Sent, failure, ms, success};

mod model;

#[test]
fn a_slow_first_attempt_is_hedged_and_the_winner_returned() {
    let mut host = timeline(vec![(500, success()), (20, success())]);
    let stack = host.stack(hedged(None));
    let begun = host.now;
    assert_eq!(host.call(stack), End::Done(2, StopReason::Completed));
    assert_eq!((host.now.since(begun), host.calls[0].aborted.iter().copied().collect()), (ms(120), vec![1]));
}

#[test]
fn a_fast_first_attempt_is_not_hedged() {
    let mut host = timeline(vec![(99, success())]);
    let stack = host.stack(hedged(None));
    assert_eq!(host.call(stack), End::Done(1, StopReason::Completed));
    assert_eq!(host.sent.len(), 1);
}

#[test]
fn no_hedge_follows_a_fast_failure() {
    let mut host = timeline(vec![(10, failure())]);
    let stack = host.stack(hedged(None));
    let begun = host.now;
    assert_eq!(host.call(stack), End::Done(1, StopReason::AttemptsExhausted));
    assert_eq!((host.sent.len(), host.now.since(begun)), (1, ms(10)));
}

#[test]
fn when_all_fail_the_first_attempts_error_is_the_calls_whatever_the_order() {
    for (first, second) in [(300, 20), (150, 300)] {
        let mut host = timeline(vec![(first, failure()), (second, Outcome::new(Verdict::Defect))]);
        let stack = host.stack(hedged(None));
        assert_eq!(host.call(stack), End::Done(1, StopReason::AttemptsExhausted));
        assert_eq!((host.sent.len(), host.calls[0].results[&1]), (2, failure()));
    }
}

#[test]
fn a_budget_of_one_pays_for_one_hedge_across_two_calls() {
    let mut host = timeline(vec![(500, success()), (500, success())]);
    let stack = host.stack(hedged(Some(1)));
    let calls = [host.arrive(stack), host.arrive(stack)];
    host.run_for(10_000);
    assert_eq!(host.sent.iter().map(|sent| (sent.call, sent.attempt)).collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 2)]);
    // The attempt that nobody accompanies goes on.
    assert_eq!(calls.map(|call| host.end(call).unwrap()), [End::Done(1, StopReason::Completed); 2]);
}

/// So long, and with this outcome, for each attempt of a call.
fn timeline(attempts: Vec<(u64, Outcome)>) -> Host {
    Host::new(move |sent: &Sent, _| {
        let (takes, outcome) = attempts[usize::from(sent.attempt) - 1];
        Fate::Ends(ms(takes), outcome)
    })
}

/// After 100 ms, with so many tokens in all.
fn hedged(tokens: Option<u32>) -> StackConfig {
    let budget = budget::Config { ratio: Ratio::ZERO, reserve: tokens.unwrap_or(1_000), ..Default::default() };
    StackConfig {
        hedge: Some(hedge::Config { attempts: 2, after: ms(100), ..Default::default() }),
        budget: Some(Part::Own(budget)),
        ..StackConfig::default()
    }
}
