//! codenamev/agentic, `examples/retry_budget.rb`: "per-job retry policies answer 'should I try again?'; the budget
//! answers 'should ANYONE?'". The example tells it, and this is what it tells.

use forbear::Duration;

use example::{Fleet, JOBS, Tally, WALLET};

#[path = "../../../examples/retry_budget.rs"]
#[allow(dead_code, reason = "its main prints")]
mod example;

#[test]
fn each_for_itself_eleven_jobs_try_four_times_and_the_hopeless_one_once() {
    let tally = Fleet::each_for_itself().unwrap().run();
    assert_eq!(tally, Tally { calls: 45, told: 0 });
}

#[test]
fn with_one_wallet_of_five_45_calls_become_17() {
    let tally = Fleet::with_one_wallet().unwrap().run();
    assert_eq!(tally, Tally { calls: 17, told: 10 });
    assert_eq!(tally.calls, JOBS + u64::from(WALLET));
}

#[test]
fn whoever_else_asks_is_answered_at_once_and_anew_when_the_window_has_passed() {
    let mut fleet = Fleet::with_one_wallet().unwrap();
    assert!(fleet.asks_the_wallet());
    let start = fleet.now;
    assert_eq!(fleet.run(), Tally { calls: 16, told: 10 });
    assert!(!fleet.asks_the_wallet());
    fleet.now = start + Duration::from_secs(60);
    assert!(fleet.asks_the_wallet());
}
