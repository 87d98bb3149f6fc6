//! Pairs of policies: who is asked when, and who sees what.
#![cfg(not(target_family = "wasm"))]

use forbear::event::{Counted, IgnoreReason, VerdictWord, What};
use forbear::policy::budget::{Counting, Counts};
use forbear::policy::bulkhead::Bulkhead;
use forbear::policy::circuit_breaker::{CircuitBreaker, StateWord};
use forbear::policy::{Kind, attempt_timeout, budget, bulkhead, circuit_breaker, deadline, hedge, retry};
use forbear::{Decision, Engine, Facts, Key, Outcome, Part, Ratio, Repeat, StackConfig, StackId, Step, Verdict};

use script::{Script, at, failure, ms, success, unavailable};

#[path = "laws/script.rs"]
mod script;

#[test]
fn every_attempt_of_a_call_asks_the_breaker_again() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), breaker: opens_after(2), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.wake(call, at(110), "send 2");
    // The second failure in a row opens the circuit; retry does not know, and the third attempt finds it open.
    script.settle(call, 2, failure(), at(120), "wait, drop 2, until 320");
    script.wake(call, at(320), "reject breaker circuit-open, until 1120");
}

#[test]
fn a_breaker_that_opens_during_the_backoff_refuses_with_its_own_word() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(2), breaker: opens_after(2), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.pass_by(stack, failure(), at(50));
    script.wake(call, at(110), "reject breaker circuit-open, until 1050");
    script.wake(call, at(111), "unguarded");
}

#[test]
fn a_repeat_that_the_breaker_refuses_is_paid_back() {
    let mut script = Script::new();
    let config = StackConfig {
        retry: paid_retries(2),
        budget: reserve_of(1),
        breaker: opens_after(2),
        ..StackConfig::default()
    };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    let other = script.admit(stack, at(20), "send 1");
    script.settle(other, 1, failure(), at(30), "done 1 budget-exceeded");
    script.wake(call, at(110), "reject breaker circuit-open, until 1030");
    // The one repeat there is goes to the next call that wants one.
    let next = script.admit(stack, at(1030), "send 1");
    script.settle(next, 1, unavailable(ms(1)), at(1031), "wait, drop 1, until 1131");
}

#[test]
fn a_timed_out_attempt_is_evidence_for_the_breaker() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { attempt_timeout: attempts_of(200), breaker: opens_after(1), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 200");
    script.wake(call, at(200), "done 1 attempts-exhausted, drop 1");
    assert_eq!(circuit(&script, stack, 200), StateWord::Open);
    script.admit(stack, at(201), "reject breaker circuit-open, until 1200");
}

#[test]
fn an_answer_to_a_wrong_request_is_neither_repeated_nor_held_against_the_upstream() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), breaker: opens_after(2), ..unlimited() });
    for now in [0, 10, 20] {
        script.pass_by(stack, failure(), at(now));
        let call = script.admit(stack, at(now), "send 1");
        script.settle(call, 1, Outcome::new(Verdict::Answered), at(now), "done 1 not-retryable");
    }
    assert_eq!(circuit(&script, stack, 30), StateWord::Closed);
}

#[test]
fn attempts_that_time_out_are_repeated_and_the_last_one_is_the_result() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { attempt_timeout: attempts_of(200), retry: retries(2), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 200");
    script.wake(call, at(200), "wait, drop 1, until 300");
    script.wake(call, at(300), "send 2, until 500");
    // The host has nothing to hand on but a TimeoutError: the attempt that Done names is given up.
    script.wake(call, at(500), "done 2 attempts-exhausted, drop 2");
}

#[test]
fn an_attempt_has_no_more_time_than_the_call() {
    let mut script = Script::new();
    let config =
        StackConfig { deadline: total_of(500), attempt_timeout: attempts_of(300), retry: retries(3), ..unlimited() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1, until 300");
    script.wake(call, at(300), "wait, drop 1, until 400");
    script.wake(call, at(400), "send 2, until 500");
    script.wake(call, at(500), "done 2 deadline-exceeded, drop 2");
}

#[test]
fn a_callers_own_limit_shortens_the_deadline_and_never_lengthens_it() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { deadline: total_of(500), ..unlimited() });
    let limited = |timeout| Facts { timeout: Some(ms(timeout)), ..Facts::default() };
    script.admit_with(stack, limited(50), at(0), "send 1, until 50");
    script.admit_with(stack, limited(5_000), at(0), "send 1, until 500");
}

#[test]
fn a_backoff_that_would_outlast_the_deadline_stops_the_call_at_once() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { deadline: total_of(150), retry: retries(3), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 150");
    script.settle(call, 1, failure(), at(50), "done 1 deadline-exceeded");
}

#[test]
fn a_wake_after_the_deadline_sends_no_repeat() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { deadline: total_of(150), retry: retries(3), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 150");
    script.settle(call, 1, failure(), at(40), "wait, drop 1, until 140");
    script.wake(call, at(150), "reject deadline deadline-exceeded");
}

#[test]
fn a_result_in_hand_beats_the_clock() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { deadline: total_of(150), attempt_timeout: attempts_of(100), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 100");
    script.settle(call, 1, success(), at(900), "done 1 completed");
}

#[test]
fn a_retry_after_beyond_the_deadline_stops_the_call_and_spends_no_token() {
    let mut script = Script::new();
    let config = StackConfig {
        deadline: total_of(2_000),
        retry: paid_retries(3),
        budget: reserve_of(1),
        ..StackConfig::default()
    };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1, until 2000");
    script.settle(call, 1, unavailable(ms(3_000)), at(10), "done 1 retry-after-exceeds-deadline");
    let other = script.admit(stack, at(20), "send 1, until 2020");
    script.settle(other, 1, failure(), at(30), "wait, drop 1, until 130");
}

#[test]
fn a_caller_that_leaves_in_the_backoff_gets_its_token_back_for_others() {
    let mut script = Script::new();
    let config = StackConfig { retry: paid_retries(2), budget: reserve_of(1), ..StackConfig::default() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.cancel(call, at(20), "done 0 cancelled");
    let other = script.admit(stack, at(30), "send 1");
    script.settle(other, 1, failure(), at(40), "wait, drop 1, until 140");
}

#[test]
fn a_caller_that_leaves_after_the_repeat_was_sent_has_spent_the_token() {
    let mut script = Script::new();
    let config = StackConfig { retry: paid_retries(2), budget: reserve_of(1), ..StackConfig::default() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.wake(call, at(110), "send 2");
    script.cancel(call, at(120), "done 0 cancelled, drop 2");
    let other = script.admit(stack, at(130), "send 1");
    script.settle(other, 1, failure(), at(140), "done 1 budget-exceeded");
}

#[test]
fn two_stacks_pay_from_one_budget() {
    let mut script = Script::new();
    let own = StackConfig { budget: reserve_of(1), ..StackConfig::default() };
    let shared = Some(Part::Shared(script.engine.share_from(&own, Kind::Budget).unwrap()));
    let config = StackConfig { retry: paid_retries(2), budget: shared, ..StackConfig::default() };
    let (one, two) = (script.stack(config.clone()), script.stack(config));
    let call = script.admit(one, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    let call = script.admit(two, at(20), "send 1");
    script.settle(call, 1, failure(), at(30), "done 1 budget-exceeded");
}

#[test]
fn two_stacks_share_one_circuit() {
    let mut script = Script::new();
    let own = StackConfig { breaker: opens_after(2), ..StackConfig::default() };
    let shared = Some(Part::Shared(script.engine.share_from(&own, Kind::Breaker).unwrap()));
    let config = StackConfig { breaker: shared, ..StackConfig::default() };
    let (one, two) = (script.stack(config.clone()), script.stack(config));
    script.pass_by(one, failure(), at(0));
    script.pass_by(two, failure(), at(10));
    script.admit(one, at(20), "reject breaker circuit-open, until 1010");
    script.admit(two, at(20), "reject breaker circuit-open, until 1010");
    // One probe for both.
    let probe = script.admit(two, at(1010), "send 1");
    script.admit(one, at(1010), "reject breaker circuit-open");
    script.settle(probe, 1, success(), at(1020), "done 1 completed");
    script.admit(one, at(1020), "send 1");
}

#[test]
fn a_refusal_of_a_nested_stack_is_handed_on_and_is_no_evidence() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), breaker: opens_after(1), ..unlimited() });
    let before = script.engine.snapshot(stack, at(20));
    let call = script.admit(stack, at(10), "send 1");
    script.settle(call, 1, Outcome::new(Verdict::Rejected), at(20), "done 1 refused");
    assert_eq!(script.engine.snapshot(stack, at(20)), before);
    assert!(script.events().contains(&What::Ignored { reason: IgnoreReason::Rejection }));
}

#[test]
fn a_refusal_of_a_nested_stack_is_waited_out_if_one_asks_for_that() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: patient_retries(2), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1");
    let refused = Outcome { retry_after: Some(ms(500)), ..Outcome::new(Verdict::Rejected) };
    // Until its word, and at most one backoff longer.
    let decision = script.engine.settle(call, 1, refused, at(10), 7);
    let until = decision.at.unwrap();
    assert!((at(510)..=at(610)).contains(&until), "{until:?}");
    script.wake(call, until, "send 2");
}

#[test]
fn a_refusal_of_the_breakers_is_waited_out_if_one_asks_for_that() {
    let mut script = Script::new();
    let config = StackConfig { retry: patient_retries(2), breaker: opens_after(1), ..unlimited() };
    let stack = script.stack(config);
    let opener = script.admit_with(stack, Facts { replayable: false, ..Facts::default() }, at(0), "send 1");
    script.settle(opener, 1, failure(), at(0), "done 1 body-not-replayable");
    let decision = script.engine.admit(stack, Key::WHOLE, Facts::default(), at(10), 7);
    let until = decision.at.unwrap();
    assert!((at(1_000)..=at(1_100)).contains(&until), "{until:?}");
    // Nothing was discarded: there was no attempt yet, and the first one has the number 1.
    script.wake(decision.call.unwrap(), until, "send 1");
}

#[test]
fn a_refusal_that_outlasts_the_deadline_is_not_waited_out() {
    let mut script = Script::new();
    let config =
        StackConfig { deadline: total_of(900), retry: patient_retries(3), breaker: opens_after(1), ..unlimited() };
    let stack = script.stack(config);
    script.pass_by(stack, failure(), at(0));
    script.admit(stack, at(10), "reject breaker circuit-open, until 1000");
}

#[test]
fn the_loser_of_a_hedge_is_given_up_and_is_no_evidence() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), breaker: opens_after(1), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2");
    script.settle(call, 2, success(), at(70), "done 2 completed, drop 1");
    let events = script.events();
    assert!(events.contains(&What::Settled { attempt: 1, verdict: VerdictWord::Cancelled, latency: ms(70) }));
    assert!(events.contains(&What::Ignored { reason: IgnoreReason::Cancelled }));
    assert_eq!(circuit(&script, stack, 70), StateWord::Closed);
}

#[test]
fn the_loser_that_answers_after_all_changes_nothing() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), breaker: opens_after(1), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2");
    script.settle(call, 1, success(), at(70), "done 1 completed, drop 2");
    let before = script.engine.snapshot(stack, at(80));
    script.settle(call, 2, failure(), at(80), "unguarded");
    assert_eq!(script.engine.snapshot(stack, at(80)), before);
}

#[test]
fn a_hedge_that_fails_while_the_first_attempt_runs_decides_nothing() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), retry: retries(2), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2");
    script.settle(call, 2, failure(), at(60), "wait");
    script.settle(call, 1, success(), at(90), "done 1 completed, drop 2");
}

#[test]
fn a_first_attempt_that_fails_before_the_hedges_turn_is_retrys_business() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), retry: retries(2), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.settle(call, 1, failure(), at(20), "wait, drop 1, until 120");
    script.wake(call, at(50), "wait, until 120");
    script.wake(call, at(120), "send 2, until 170");
    script.wake(call, at(170), "send 3");
}

#[test]
fn when_all_attempts_of_a_round_failed_the_first_ones_error_is_the_calls() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2");
    script.settle(call, 1, failure(), at(60), "wait");
    script.settle(call, 2, Outcome::new(Verdict::Defect), at(70), "done 1 attempts-exhausted, drop 2");
}

#[test]
fn a_first_attempt_that_timed_out_long_ago_is_still_the_one_that_done_names() {
    let mut script = Script::new();
    let config = StackConfig { hedge: hedges(2), attempt_timeout: attempts_of(100), ..unhurried() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2, until 100");
    script.wake(call, at(100), "wait, drop 1, until 150");
    script.settle(call, 2, failure(), at(120), "done 1 attempts-exhausted, drop 2");
}

#[test]
fn a_hedges_answer_ends_the_call_even_in_the_verb_in_which_the_first_attempt_times_out() {
    let mut script = Script::new();
    let config = StackConfig { hedge: hedges(2), attempt_timeout: attempts_of(100), ..unhurried() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2, until 100");
    script.settle(call, 2, Outcome::new(Verdict::Answered), at(120), "done 2 not-retryable, drop 1");
}

#[test]
fn the_longest_retry_after_of_a_round_counts() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), retry: retries(2), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2");
    script.settle(call, 2, unavailable(ms(4_000)), at(60), "wait");
    let decision = script.engine.settle(call, 1, unavailable(ms(1_000)), at(70), 7);
    let until = decision.at.unwrap();
    assert!((at(4_070)..=at(4_170)).contains(&until), "{until:?}");
}

#[test]
fn a_hedge_that_the_breaker_refuses_is_silent_and_has_used_up_its_turn() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), breaker: opens_after(1), ..unhurried() });
    script.pass_by(stack, failure(), at(0));
    // The first attempt is the one probe, so the circuit has no permit for another.
    let call = script.admit(stack, at(1_000), "send 1, until 1050");
    script.wake(call, at(1_050), "wait");
    script.settle(call, 1, success(), at(1_090), "done 1 completed");
    assert_eq!(circuit(&script, stack, 1_090), StateWord::Closed);
}

#[test]
fn a_hedge_costs_a_token_and_one_that_nobody_pays_for_is_silent() {
    let mut script = Script::new();
    let config = StackConfig { hedge: hedges(3), budget: reserve_of(1), ..StackConfig::default() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2, until 100");
    script.wake(call, at(100), "wait");
    let told = script.events();
    assert!(
        told.iter().any(|what| matches!(what, What::Exhausted { firsts: 1, repeats: 1, tokens: None, .. })),
        "{told:?}"
    );
    script.settle(call, 1, success(), at(110), "done 1 completed, drop 2");
}

#[test]
fn only_what_anybody_may_repeat_is_hedged() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), retry: retries(2), ..unhurried() });
    for facts in [
        Facts { repeat: Repeat::AfterFailure, ..Facts::default() },
        Facts { repeat: Repeat::OnlyUnprocessed, ..Facts::default() },
        Facts { replayable: false, ..Facts::default() },
    ] {
        script.admit_with(stack, facts, at(0), "send 1");
    }
}

#[test]
fn a_deadline_gives_up_all_attempts_of_a_hedged_call() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { deadline: total_of(100), hedge: hedges(2), ..unhurried() });
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.wake(call, at(50), "send 2, until 100");
    script.wake(call, at(100), "done 1 deadline-exceeded, drop 1 2");
}

#[test]
fn a_decision_says_which_attempts_their_own_limit_ended_whatever_the_hosts_clock_says() {
    let mut script = Script::new();
    let attempt_timeout = Some(attempt_timeout::Config { attempt: ms(100), ..Default::default() });
    let config = StackConfig { attempt_timeout, deadline: total_of(130), hedge: hedges(2), ..unhurried() };
    let stack = script.stack(config);
    let call = script.admit(stack, at(5_000), "send 1, until 5050");
    script.due(call, at(5_050), "send 2, until 5100");
    // The timers ring, and the clock has been set back meanwhile: by it no attempt is older than its limit.
    let told = [at(4_000), at(4_030)].map(|now| script.engine.due(call, now, 7));
    let sets = told.map(|Decision { drop, timed_out, .. }| (drop.bits(), timed_out.bits()));
    assert_eq!(sets, [(1 << 1, 1 << 1), (1 << 2, 0)], "its own limit, then the deadline");
}

#[test]
fn a_caller_that_leaves_is_no_evidence_and_gives_the_probe_back() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { breaker: opens_after(1), ..unlimited() });
    script.pass_by(stack, failure(), at(0));
    let probe = script.admit(stack, at(1_000), "send 1");
    script.admit(stack, at(1_001), "reject breaker circuit-open");
    script.cancel(probe, at(1_002), "done 0 cancelled, drop 1");
    let next = script.admit(stack, at(1_003), "send 1");
    script.settle(next, 1, success(), at(1_004), "done 1 completed");
    assert_eq!(circuit(&script, stack, 1_004), StateWord::Closed);
}

#[test]
fn a_probe_that_is_never_heard_of_again_gives_way_when_its_lease_ends() {
    let mut script = Script::new();
    let config = StackConfig { breaker: opens_after(1), attempt_timeout: attempts_of(1_000), ..unlimited() };
    let stack = script.stack(config);
    script.pass_by(stack, failure(), at(0));
    let lost = script.admit(stack, at(1_000), "send 1, until 2000");
    script.admit(stack, at(6_999), "reject breaker circuit-open");
    // Five seconds after it should have been heard of, rounded up to a quarter.
    let next = script.admit(stack, at(7_250), "send 1, until 8250");
    script.settle(next, 1, success(), at(7_251), "done 1 completed");
    // It counts where it began, and that is over: nobody is opened by it.
    script.settle(lost, 1, failure(), at(7_252), "unguarded");
    assert_eq!(circuit(&script, stack, 7_252), StateWord::Closed);
    assert!(script.events().contains(&What::LeaseEnded { attempts: 1 }));
}

/// Ending them all took a second and more, since each looked along the line.
#[test]
fn a_verb_ends_no_more_leases_than_it_needs_some_hundreds_at_a_time() {
    let crowd = |holders: u32, waiters: u32| {
        let holds =
            bulkhead::Config { concurrency: holders, queue: waiters, queue_timeout: None, ..Default::default() };
        let mut engine = Engine::default();
        let config = StackConfig { bulkhead: Some(Part::Own(holds)), ..StackConfig::default() };
        let stack = engine.add_stack(config).unwrap();
        (0..holders + waiters).for_each(|_| _ = engine.admit(stack, Key::WHOLE, Facts::default(), at(0), 0));
        (engine, stack)
    };
    let in_flight = |engine: &Engine, stack| engine.gate::<Bulkhead>(stack).unwrap().in_flight(Key::WHOLE);
    // Nobody was heard of for a minute. All that stands in a newcomer's way is ended for it;
    for (holders, waiters) in [(50_000, 10_000), (5_000, 10_000), (1, 10_000)] {
        let (mut engine, stack) = crowd(holders, waiters);
        let decision = engine.admit(stack, Key::WHOLE, Facts::default(), at(70_000), 0);
        assert!(matches!(decision.step, Step::Send(1)), "{holders}, {waiters}: {decision:?}");
    }
    // and where little does, only some, however many there are.
    let (mut engine, stack) = crowd(50_000, 0);
    for newcomer in 1..=600 {
        let decision = engine.admit(stack, Key::WHOLE, Facts::default(), at(70_000), 0);
        assert!(matches!(decision.step, Step::Send(1)));
        let ended = (newcomer - 1) / 256 * 256 + 256;
        assert_eq!(in_flight(&engine, stack), 50_000 - ended + newcomer);
    }
}

#[test]
fn a_call_that_outlived_its_lease_still_tells_the_breaker() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { breaker: opens_after(2), ..unlimited() });
    let slow = script.admit(stack, at(0), "send 1");
    script.pass_by(stack, failure(), at(10));
    script.pass_by(stack, success(), at(20));
    script.pass_by(stack, failure(), at(90_000));
    script.settle(slow, 1, failure(), at(90_010), "done 1 attempts-exhausted");
    assert!(script.events().contains(&What::Recorded { counted: Counted::Failure, slow: false }));
    assert_eq!(circuit(&script, stack, 90_010), StateWord::Open);
}

#[test]
fn a_retry_whose_host_was_held_up_in_its_backoff_is_guarded_as_a_first_attempt_is() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), bulkhead: slots(1), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    // Its lease has ended by now, and that is found out when somebody is refused.
    let other = script.admit(stack, at(20_000), "send 1");
    script.admit(stack, at(20_001), "reject bulkhead bulkhead-full");
    assert!(script.events().contains(&What::LeaseEnded { attempts: 0 }));
    script.settle(other, 1, success(), at(20_002), "done 1 completed");
    script.wake(call, at(20_003), "send 2");
    script.admit(stack, at(20_004), "reject bulkhead bulkhead-full");
    script.settle(call, 2, failure(), at(20_005), "wait, drop 2, until 20205");
    let last = script.admit(stack, at(20_300), "send 1");
    script.wake(call, at(20_301), "reject bulkhead bulkhead-full");
    script.settle(last, 1, success(), at(20_302), "done 1 completed");
}

#[test]
fn a_repeat_that_nobody_hears_of_again_costs_no_other_call_its_repeat_once_its_lease_is_over() {
    let mut script = Script::new();
    let config = StackConfig {
        retry: paid_retries(2),
        budget: paid_by_one_at_a_time(),
        attempt_timeout: attempts_of(1_000),
        ..StackConfig::OFF
    };
    let stack = script.stack(config);
    let lost = script.admit(stack, at(0), "send 1, until 1000");
    script.settle(lost, 1, failure(), at(10), "wait, drop 1, until 110");
    script.wake(lost, at(110), "send 2, until 1110");
    let early = script.admit(stack, at(6_000), "send 1, until 7000");
    script.settle(early, 1, failure(), at(6_010), "done 1 budget-exceeded");
    let late = script.admit(stack, at(6_400), "send 1, until 7400");
    script.settle(late, 1, failure(), at(6_410), "wait, drop 1, until 6510");
}

#[test]
fn a_repeat_that_nobody_hears_of_again_costs_no_other_call_its_hedge_once_its_lease_is_over() {
    let mut script = Script::new();
    let config = StackConfig {
        retry: paid_retries(1),
        budget: paid_by_one_at_a_time(),
        hedge: hedges(2),
        attempt_timeout: attempts_of(1_000),
        ..StackConfig::OFF
    };
    let stack = script.stack(config);
    let lost = script.admit(stack, at(0), "send 1, until 50");
    script.wake(lost, at(50), "send 2, until 1000");
    let early = script.admit(stack, at(5_900), "send 1, until 5950");
    script.wake(early, at(5_950), "wait, until 6900");
    let late = script.admit(stack, at(6_200), "send 1, until 6250");
    script.wake(late, at(6_250), "send 2, until 7200");
}

#[test]
fn a_repeat_that_nobody_hears_of_again_costs_no_work_beside_the_calls_once_its_lease_is_over() {
    let mut script = Script::new();
    let config = StackConfig { budget: paid_by_one_at_a_time(), ..StackConfig::OFF };
    let budget = script.engine.share_from(&config, Kind::Budget).unwrap();
    let budget_part = Some(Part::Shared(budget));
    let limits = StackConfig { retry: paid_retries(2), attempt_timeout: attempts_of(1_000), ..StackConfig::OFF };
    let stack = script.stack(StackConfig { budget: budget_part, ..limits });
    let lost = script.admit(stack, at(0), "send 1, until 1000");
    script.settle(lost, 1, failure(), at(10), "wait, drop 1, until 110");
    assert!(!script.engine.spend(budget, Key::WHOLE, at(5_000)));
    assert!(script.engine.spend(budget, Key::WHOLE, at(5_360)));
}

#[test]
fn a_call_that_its_budget_has_counted_further_out_is_not_counted_again_and_pays_for_its_repeats() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: paid_retries(2), budget: reserve_of(1), ..StackConfig::OFF });
    let counted = Facts { counted: true, ..Facts::default() };
    let outer = script.admit(stack, at(0), "send 1");
    let inner = script.admit_with(stack, counted, at(1), "send 1");
    script.settle(inner, 1, failure(), at(10), "wait, drop 1, until 110");
    let now = script.engine.instant(at(10));
    let Counts { firsts, repeats, .. } = script.engine.budget(stack).unwrap().counts(Key::WHOLE, now);
    assert_eq!((firsts, repeats), (1, 1));
    script.settle(outer, 1, failure(), at(20), "done 1 budget-exceeded");
}

#[test]
fn a_retry_that_comes_back_is_paid_for_again_and_its_call_counts_once() {
    let mut script = Script::new();
    let budget = paid_by_one_at_a_time();
    let stack = script.stack(StackConfig { retry: paid_retries(3), bulkhead: slots(1), budget, ..unlimited() });
    let counts = |script: &Script, now| {
        let Counts { firsts, repeats, .. } =
            script.engine.budget(stack).unwrap().counts(Key::WHOLE, script.engine.instant(at(now)));
        (firsts, repeats)
    };
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    assert_eq!(counts(&script, 10), (1, 1));
    let other = script.admit(stack, at(20_000), "send 1");
    script.admit(stack, at(20_001), "reject bulkhead bulkhead-full");
    assert_eq!(counts(&script, 20_001), (1, 0), "given back when its lease ended");
    script.settle(other, 1, failure(), at(20_002), "wait, drop 1, until 20102");
    // The budget has nothing left: what it had is sent all the same, behind the gates.
    script.wake(call, at(20_003), "send 2");
    assert_eq!(counts(&script, 20_003), (1, 1));
    script.settle(call, 2, success(), at(20_004), "done 2 completed");
    assert_eq!(counts(&script, 20_004), (1, 1));
    script.cancel(other, at(20_005), "done 0 cancelled");
    assert_eq!(counts(&script, 20_005), (0, 0));
}

#[test]
fn a_failure_that_the_caller_gets_holds_its_slot_until_its_body_ends_and_one_that_is_repeated_does_not() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(2), bulkhead: bodies_of(1), ..StackConfig::default() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.pass_by(stack, success(), at(20));
    script.wake(call, at(110), "send 2");
    script.settle(call, 2, failure(), at(120), "done 2 attempts-exhausted held, until 10120");
    script.admit(stack, at(130), "reject bulkhead bulkhead-full");
    script.wake(call, at(10_120), "wait, until 20120");
    script.cancel(call, at(10_130), "done 0 cancelled");
    script.admit(stack, at(10_130), "send 1");
}

#[test]
fn a_hedged_failure_keeps_its_slot_while_it_may_still_be_what_the_caller_gets() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), bulkhead: bodies_of(2), ..unhurried() });
    let free = |script: &Script| 2 - script.engine.gate::<Bulkhead>(stack).unwrap().in_flight(Key::WHOLE);
    let hedged = |script: &mut Script, now| {
        let call = script.engine.admit(stack, Key::WHOLE, Facts::default(), at(now), 7).call.unwrap();
        script.wake(call, at(now + 50), "send 2");
        script.settle(call, 1, failure(), at(now + 60), "wait");
        assert_eq!(free(script), 0);
        call
    };
    let call = hedged(&mut script, 0);
    script.settle(call, 2, success(), at(70), "done 2 completed held, drop 1, until 10070");
    assert_eq!(free(&script), 1);
    script.cancel(call, at(80), "done 0 cancelled");
    assert_eq!(free(&script), 2);

    let call = hedged(&mut script, 100);
    script.settle(call, 2, failure(), at(170), "done 1 attempts-exhausted held, drop 2, until 10170");
    assert_eq!(free(&script), 1);
    script.cancel(call, at(180), "done 0 cancelled");
    assert_eq!(free(&script), 2);

    let call = hedged(&mut script, 200);
    script.cancel(call, at(270), "done 0 cancelled, drop 1 2");
    assert_eq!(free(&script), 2);

    let lost = hedged(&mut script, 300);
    for begun in [100_000, 100_001] {
        let call = script.engine.admit(stack, Key::WHOLE, Facts::default(), at(begun), 7).call.unwrap();
        script.settle(call, 1, success(), at(begun), &format!("done 1 completed held, until {}", begun + 10_000));
    }
    assert_eq!(free(&script), 0);
    script.settle(lost, 2, success(), at(100_010), "unguarded");
    assert_eq!(free(&script), 0);
}

#[test]
fn an_attempt_that_was_given_up_keeps_its_slot_until_it_has_really_ended() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { bulkhead: settled_of(1), attempt_timeout: attempts_of(100), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 100");
    script.due(call, at(100), "done 1 attempts-exhausted, drop 1");
    script.admit(stack, at(5_000), "reject bulkhead bulkhead-full");
    script.settle(call, 1, success(), at(5_001), "unguarded");
    let left = script.admit(stack, at(5_001), "send 1, until 5101");
    script.cancel(left, at(5_010), "done 0 cancelled, drop 1");
    script.admit(stack, at(5_011), "reject bulkhead bulkhead-full");
    script.cancel(left, at(5_012), "unguarded");
    script.admit(stack, at(5_012), "reject bulkhead bulkhead-full");
    script.settle(left, 1, failure(), at(5_020), "unguarded");
    let next = script.admit(stack, at(5_020), "send 1, until 5120");
    script.settle(left, 1, failure(), at(5_030), "unguarded");
    script.admit(stack, at(5_030), "reject bulkhead bulkhead-full");
    script.settle(next, 1, success(), at(5_040), "done 1 completed");
}

#[test]
fn who_lost_a_race_keeps_its_slot_and_so_does_one_that_an_outer_stack_gave_up() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { hedge: hedges(2), bulkhead: settled_of(2), ..unhurried() });
    let taken = |script: &Script| script.engine.gate::<Bulkhead>(stack).unwrap().in_flight(Key::WHOLE);
    let call = script.admit(stack, at(0), "send 1, until 50");
    script.due(call, at(50), "send 2");
    script.settle(call, 2, success(), at(60), "done 2 completed, drop 1");
    assert_eq!(taken(&script), 1);
    script.settle(call, 1, success(), at(90), "unguarded");
    assert_eq!(taken(&script), 0);

    let call = script.admit(stack, at(100), "send 1, until 150");
    let cut = Outcome { given_up: true, ..Outcome::new(Verdict::Timeout) };
    script.settle(call, 1, cut, at(110), "done 1 attempts-exhausted");
    assert_eq!(taken(&script), 1);
    script.settle(call, 1, failure(), at(120), "unguarded");
    assert_eq!(taken(&script), 0);
}

#[test]
fn a_retry_has_a_slot_of_its_own_beside_an_attempt_that_runs_on() {
    let mut script = Script::new();
    let config = |concurrency| StackConfig {
        bulkhead: settled_of(concurrency),
        attempt_timeout: attempts_of(100),
        retry: retries(2),
        ..unlimited()
    };
    let (one, two) = (script.stack(config(1)), script.stack(config(2)));
    let call = script.admit(one, at(0), "send 1, until 100");
    script.due(call, at(100), "wait, drop 1, until 200");
    script.due(call, at(200), "reject bulkhead bulkhead-full");
    script.settle(call, 1, success(), at(201), "unguarded");

    let call = script.admit(one, at(300), "send 1, until 400");
    script.due(call, at(400), "wait, drop 1, until 500");
    script.settle(call, 1, success(), at(450), "wait, until 500");
    script.due(call, at(500), "send 2, until 600");
    script.settle(call, 2, success(), at(510), "done 2 completed");

    let call = script.admit(two, at(600), "send 1, until 700");
    script.due(call, at(700), "wait, drop 1, until 800");
    script.due(call, at(800), "send 2, until 900");
    script.settle(call, 2, success(), at(810), "done 2 completed");
    script.settle(call, 1, success(), at(811), "unguarded");
}

#[test]
fn a_slot_of_an_attempt_that_never_ends_is_back_when_its_lease_has_ended() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { bulkhead: settled_of(1), attempt_timeout: attempts_of(100), ..unlimited() });
    let call = script.admit(stack, at(0), "send 1, until 100");
    script.due(call, at(100), "done 1 attempts-exhausted, drop 1");
    assert_eq!(script.engine.in_flight(), 1);
    script.admit(stack, at(60_099), "reject bulkhead bulkhead-full");
    let next = script.admit(stack, at(60_100), "send 1, until 60200");
    script.settle(call, 1, success(), at(60_110), "unguarded");
    script.admit(stack, at(60_111), "reject bulkhead bulkhead-full");
    script.settle(next, 1, success(), at(60_120), "done 1 completed");
    assert_eq!(script.engine.in_flight(), 0);
    assert!(script.events().contains(&What::LeaseEnded { attempts: 1 }));
}

#[test]
fn where_the_host_drops_what_it_gives_up_a_slot_is_free_at_once() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { bulkhead: settled_of(1), attempt_timeout: attempts_of(100), ..unlimited() });
    let facts = Facts { droppable: true, ..Facts::default() };
    let call = script.admit_with(stack, facts, at(0), "send 1, until 100");
    script.due(call, at(100), "done 1 attempts-exhausted, drop 1");
    assert_eq!(script.engine.in_flight(), 0);
    script.admit(stack, at(101), "send 1, until 201");
}

#[test]
fn a_repeat_that_failed_is_not_in_flight_for_the_budget_that_pays_for_the_next() {
    let mut script = Script::new();
    let budget =
        budget::Config { kind: budget::Counting::Concurrency, ratio: Ratio::ZERO, reserve: 1, ..Default::default() };
    let budget = Some(Part::Own(budget));
    let stack =
        script.stack(StackConfig { retry: paid_retries(3), budget, bulkhead: bodies_of(1), ..StackConfig::default() });
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "wait, drop 1, until 110");
    script.wake(call, at(110), "send 2");
    script.settle(call, 2, failure(), at(120), "wait, drop 2, until 320");
    script.wake(call, at(320), "send 3");
    script.settle(call, 3, failure(), at(330), "done 3 attempts-exhausted held, until 10330");
}

#[test]
fn time_that_is_up_before_an_attempt_is_sent_is_no_evidence_and_any_request_may_be_sent_again() {
    let mut script = Script::new();
    let config = StackConfig {
        retry: retries(2),
        attempt_timeout: attempts_of(200),
        breaker: opens_after(1),
        deadline: total_of(1_000),
        ..StackConfig::default()
    };
    let stack = script.stack(config);
    let post = Facts { prepared: true, repeat: Repeat::OnlyUnprocessed, ..Facts::default() };
    let call = script.admit_with(stack, post, at(0), "send 1, until 200");
    script.due(call, at(200), "wait, drop 1, until 300");
    script.due(call, at(300), "send 2, until 500");
    script.due(call, at(500), "done 2 attempts-exhausted, drop 2");
    assert_eq!(circuit(&script, stack, 500), StateWord::Closed);
    // Once it is sent, the same is evidence, and proves nothing.
    let call = script.admit_with(stack, post, at(1_000), "send 1, until 1200");
    script.engine.sent(call, 1, Repeat::OnlyUnprocessed, at(1_100));
    script.due(call, at(1_200), "done 1 not-repeatable, drop 1");
    assert_eq!(circuit(&script, stack, 1_200), StateWord::Open);
}

#[test]
fn the_latency_of_a_prepared_attempt_begins_when_it_is_sent() {
    let mut script = Script::new();
    let slow =
        circuit_breaker::Config { slow_call: Some(ms(100)), slow_rate: Ratio::ONE, min_calls: 1, ..Default::default() };
    let stack = script.stack(StackConfig { breaker: Some(Part::Own(slow)), ..unlimited() });
    let call = script.admit_with(stack, Facts { prepared: true, ..Facts::default() }, at(0), "send 1");
    script.engine.sent(call, 1, Repeat::Freely, at(5_000));
    script.engine.sent(call, 1, Repeat::Freely, at(5_005)); // changes nothing
    script.settle(call, 1, success(), at(5_010), "done 1 completed");
    let latency = |what: &What| if let What::Settled { latency, .. } = what { Some(*latency) } else { None };
    assert_eq!(script.events().iter().find_map(latency), Some(ms(10)));
    assert_eq!(circuit(&script, stack, 5_010), StateWord::Closed);
}

#[test]
fn a_body_that_is_kept_while_it_is_sent_can_be_sent_again() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), hedge: hedges(2), ..unlimited() });
    let stream = Facts { replayable: false, ..Facts::default() };
    let call = script.admit_with(stack, stream, at(0), "send 1");
    script.settle(call, 1, failure(), at(10), "done 1 body-not-replayable");
    script.engine.body_kept(call); // it is over: nothing changes
    let call = script.admit_with(stack, stream, at(100), "send 1");
    script.engine.body_kept(call);
    script.due(call, at(150), "wait"); // no hedge starts beside it
    script.settle(call, 1, failure(), at(160), "wait, drop 1, until 260");
}

#[test]
fn what_is_really_sent_decides_who_may_repeat_it() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(3), hedge: hedges(2), ..unlimited() });
    let get = Facts { prepared: true, ..Facts::default() };
    let call = script.admit_with(stack, get, at(0), "send 1, until 50");
    // The GET was made a POST: no hedge starts beside it, and nothing is repeated.
    script.engine.sent(call, 1, Repeat::OnlyUnprocessed, at(10));
    script.due(call, at(50), "wait");
    script.settle(call, 1, failure(), at(60), "done 1 not-repeatable");
    // The strictest word of a call counts.
    let call = script.admit_with(stack, get, at(100), "send 1, until 150");
    script.engine.sent(call, 1, Repeat::OnlyUnprocessed, at(110));
    script.engine.sent(call, 1, Repeat::Freely, at(111));
    script.settle(call, 1, failure(), at(120), "done 1 not-repeatable");
    // A call that prepares nothing has said all there is to say.
    let call = script.admit(stack, at(200), "send 1, until 250");
    script.engine.sent(call, 1, Repeat::OnlyUnprocessed, at(210));
    script.settle(call, 1, failure(), at(220), "wait, drop 1, until 320");
}

#[test]
fn an_inconclusive_end_is_repeated_as_a_fault_is_and_is_no_evidence() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { retry: retries(2), breaker: opens_after(1), ..unlimited() });
    let inconclusive = Outcome::new(Verdict::Inconclusive);
    let call = script.admit(stack, at(0), "send 1");
    script.settle(call, 1, inconclusive, at(10), "wait, drop 1, until 110");
    script.due(call, at(110), "send 2");
    script.settle(call, 2, inconclusive, at(120), "done 2 attempts-exhausted");
    let post = Facts { repeat: Repeat::OnlyUnprocessed, ..Facts::default() };
    let call = script.admit_with(stack, post, at(200), "send 1");
    script.settle(call, 1, inconclusive, at(210), "done 1 not-repeatable");
    assert_eq!(circuit(&script, stack, 210), StateWord::Closed);
    assert!(script.events().contains(&What::Ignored { reason: IgnoreReason::Inconclusive }));
}

#[test]
fn an_inconclusive_probe_whose_body_is_read_for_long_makes_room_for_the_next_at_once() {
    let mut script = Script::new();
    let stack = script.stack(StackConfig { breaker: opens_after(1), bulkhead: bodies_of(5), ..unlimited() });
    script.pass_by(stack, failure(), at(0));
    let call = script.admit(stack, at(2_000), "send 1");
    script.settle(
        call,
        1,
        Outcome::new(Verdict::Inconclusive),
        at(2_010),
        "done 1 attempts-exhausted held, until 12010",
    );
    script.admit(stack, at(2_020), "send 1");
}

#[test]
fn limits_hold_on_time_whatever_the_hosts_clock_is_set_to() {
    for back in [0, 400, 500, 1_000, 30_000, 59_000, 60_000, 61_000, 90_000, 3_600_000] {
        let mut script = Script::new();
        let stack = script.stack(StackConfig { deadline: total_of(500), ..StackConfig::default() });
        let start = 10_000_000;
        let call = script.admit(stack, at(start), "send 1, until 10000500");
        // The clock is set back while the timer runs; the timer is on time all the same.
        script.due(call, at(start + 500 - back), "done 1 deadline-exceeded, drop 1");
    }
}

fn circuit(script: &Script, stack: StackId, now: u64) -> StateWord {
    let breaker = script.engine.gate::<CircuitBreaker>(stack).unwrap();
    breaker.state(Key::WHOLE, script.engine.instant(at(now)))
}

fn unlimited() -> StackConfig {
    StackConfig::default()
}

fn slots(concurrency: u32) -> Option<Part<bulkhead::Config>> {
    Some(Part::Own(bulkhead::Config { concurrency, ..Default::default() }))
}

/// So many repeats at once, and no gate: nobody else would ever look whose lease has ended.
fn paid_by_one_at_a_time() -> Option<Part<budget::Config>> {
    let running = budget::Config { kind: Counting::Concurrency, ratio: Ratio::ZERO, reserve: 1, ..Default::default() };
    Some(Part::Own(running))
}

/// Hedges need no budget here.
fn unhurried() -> StackConfig {
    StackConfig { retry: retries(1), ..StackConfig::default() }
}

fn total_of(total: u64) -> Option<deadline::Config> {
    Some(deadline::Config { total: ms(total), ..Default::default() })
}

fn attempts_of(limit: u64) -> Option<attempt_timeout::Config> {
    Some(attempt_timeout::Config { attempt: ms(limit), ..Default::default() })
}

/// Backoffs of 100 and 200 ms, no jitter, no budget.
fn retries(attempts: u32) -> Option<retry::Config> {
    Some(retry::Config { attempts, jitter: retry::Jitter::None, budget: false, ..Default::default() })
}

fn paid_retries(attempts: u32) -> Option<retry::Config> {
    Some(retry::Config { attempts, jitter: retry::Jitter::None, ..Default::default() })
}

fn patient_retries(attempts: u32) -> Option<retry::Config> {
    retries(attempts).map(|config| retry::Config { retry_refusals: true, ..config })
}

fn hedges(attempts: u32) -> Option<hedge::Config> {
    Some(hedge::Config { attempts, after: ms(50), ..Default::default() })
}

/// So many slots, held until bodies end; nobody waits for one.
fn bodies_of(concurrency: u32) -> Option<Part<bulkhead::Config>> {
    let release = bulkhead::Release::Body;
    Some(Part::Own(bulkhead::Config { concurrency, queue: 0, release, ..Default::default() }))
}

/// So many slots, held until attempts have really ended; nobody waits for one.
fn settled_of(concurrency: u32) -> Option<Part<bulkhead::Config>> {
    let release = bulkhead::Release::Settled;
    Some(Part::Own(bulkhead::Config { concurrency, queue: 0, release, ..Default::default() }))
}

/// So many repeats in all, whatever the traffic.
fn reserve_of(reserve: u32) -> Option<Part<budget::Config>> {
    Some(Part::Own(budget::Config { ratio: Ratio::ZERO, reserve, ..Default::default() }))
}

/// Open for a second, to the millisecond, after so many failures in a row.
fn opens_after(failures: u32) -> Option<Part<circuit_breaker::Config>> {
    Some(Part::Own(circuit_breaker::Config {
        consecutive_failures: Some(failures),
        open_for: ms(1_000),
        open_jitter: Ratio::ZERO,
        ..Default::default()
    }))
}
