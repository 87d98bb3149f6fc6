//! joshrotenberg/tower-resilience#172, "add retry budget to prevent retry storms": what it promises, asked of ours.
//!
//! Its numbers are options here. Its deposit of a whole token for each success pays for every repeat of an upstream that
//! is half broken, so our defaults deposit a tenth.

use forbear::event::What;
use forbear::policy::{budget, retry};
use forbear::{
    AttemptSet, CallId, Decision, Duration, Engine, Facts, HostTime, Key, Kind, ObjectId, Outcome, Part, Ratio,
    StackConfig, StackId, Step, StopReason, Verdict,
};

#[test]
fn a_token_bucket_begins_full_and_each_repeat_withdraws_one_token() {
    let mut client = Client::of(bucket(100, 100));
    // Five attempts each: four repeats.
    for call in 0..25 {
        assert_eq!(client.fails(), (4, StopReason::AttemptsExhausted), "{call}");
    }
    assert_eq!((client.tokens(), client.fails()), (0, (0, StopReason::BudgetExceeded)));
}

#[test]
fn a_token_bucket_may_begin_with_less_than_it_holds() {
    let mut client = Client::of(bucket(100, 3));
    assert_eq!(client.fails(), (3, StopReason::BudgetExceeded));
    client.succeed(1_000);
    assert_eq!(client.tokens(), 100);
}

#[test]
fn a_success_deposits_a_token_and_never_more_than_fit() {
    let mut client = Client::of(bucket(100, 0));
    client.succeed(7);
    assert_eq!((client.tokens(), client.fails().0, client.fails().0), (7, 4, 3));
    client.succeed(1_000);
    assert_eq!(client.tokens(), 100);
}

#[test]
fn by_default_it_takes_ten_successes_to_pay_for_a_repeat() {
    for kind in [budget::Counting::TokenBucket, budget::Counting::Aimd] {
        let mut client = Client::of(budget::Config { kind, initial: Some(0), ..budget::Config::default() });
        client.succeed(9);
        assert_eq!(client.fails().0, 0);
        client.succeed(1);
        assert_eq!(client.fails().0, 1);
    }
}

/// The first version of theirs left the rate out (tower-resilience#370).
#[test]
fn tokens_come_back_with_time_where_that_is_asked_for() {
    let mut client = Client::of(budget::Config { refill: Ratio::from_percent(1_000), ..bucket(100, 0) });
    assert_eq!(client.fails().0, 0);
    client.now = client.now + Duration::from_millis(300);
    assert_eq!(client.tokens(), 3);
    client.now = client.now + Duration::from_secs(3_600);
    assert_eq!(client.tokens(), 100);
}

#[test]
fn an_aimd_ceiling_is_multiplied_by_its_factor_at_each_exhaustion_down_to_its_floor() {
    let mut client = Client::of(aimd(10, 1_000, 50));
    client.succeed(990);
    let mut ceiling = 1_000.0;
    for _ in 0..9 {
        assert_eq!(client.rested(), ceiling as u32);
        assert_eq!(client.storm(1_200), ceiling as u32);
        // An outage is over when something succeeds, which adds its one token.
        client.succeed(1);
        ceiling = f64::max(ceiling / 2.0, 10.0) + 1.0;
    }
    assert_eq!(client.rested(), 11);
}

#[test]
fn an_aimd_ceiling_grows_by_one_with_each_success_up_to_its_most() {
    let mut client = Client::of(aimd(10, 40, 50));
    for ceiling in 11..=40 {
        client.succeed(1);
        assert_eq!(client.rested(), ceiling);
    }
    client.succeed(1);
    assert_eq!(client.rested(), 40);
}

#[test]
fn an_aimd_ceiling_falls_once_in_an_outage_and_not_with_each_repeat_that_is_skipped() {
    let mut client = Client::of(aimd(10, 1_000, 50));
    client.succeed(990);
    client.rested();
    assert_eq!((client.storm(5_000), client.rested()), (1_000, 500));
    assert_eq!((client.storm(5_000), client.rested()), (500, 500));
}

#[test]
fn all_that_are_made_of_one_budget_share_it() {
    let mut client = Client::of(bucket(100, 10));
    let clones = [client.stack, client.another(), client.another()];
    let mut granted = 0;
    for stack in clones.into_iter().cycle().take(30) {
        client.stack = stack;
        granted += client.fails().0;
    }
    assert_eq!(granted, 10);
    // A success of one pays for a repeat of another.
    client.stack = clones[0];
    client.succeed(1);
    client.stack = clones[2];
    assert_eq!(client.fails().0, 1);
}

#[test]
fn calls_at_the_same_instant_never_spend_a_token_twice() {
    let mut client = Client::of(bucket(100, 37));
    client.another();
    assert_eq!(client.storm(1_000), 37);
}

#[test]
fn when_it_is_exhausted_the_last_error_is_returned_at_once() {
    let mut client = Client::of(bucket(100, 0));
    let call = client.begin();
    let decision = client.settle(call, 1, Verdict::Transient);
    // The attempt's own result is handed over: it is not given up, and there is nothing to wait for.
    assert_eq!(decision.step, Step::Done { attempt: 1, reason: StopReason::BudgetExceeded, held: false });
    assert_eq!((decision.drop, decision.at), (AttemptSet::default(), None));
}

#[test]
fn every_skipped_repeat_is_an_event() {
    let mut client = Client::of(bucket(100, 4));
    client.engine.events().listen(true);
    client.fails();
    assert_eq!(client.exhaustions(), []);
    client.fails();
    client.fails();
    let told = What::Exhausted { firsts: 0, repeats: 0, tokens: Some(0), retry_after: None };
    assert_eq!(client.exhaustions(), [told, told]);
}

#[test]
fn what_is_not_to_be_repeated_never_asks_the_budget() {
    let mut client = Client::of(bucket(100, 0));
    client.engine.events().listen(true);
    for verdict in [Verdict::Success, Verdict::Answered, Verdict::Rejected, Verdict::Defect, Verdict::Cancelled] {
        let call = client.begin();
        let _ = client.settle(call, 1, verdict);
    }
    assert_eq!(client.exhaustions(), []);
}

/// 100 tokens more or less: `TokenBucketBudget`, whose success deposits a whole token.
fn bucket(max: u32, initial: u32) -> budget::Config {
    let (max, initial, deposit) = (Some(max), Some(initial), Some(Ratio::ONE));
    budget::Config { kind: budget::Counting::TokenBucket, max, initial, deposit, ..budget::Config::default() }
}

/// `AimdBudget`, refilled by time so that its ceiling can be seen.
fn aimd(min: u32, max: u32, decrease: u32) -> budget::Config {
    let (max, deposit, decrease) = (Some(max), Some(Ratio::ONE), Ratio::from_percent(decrease));
    let refill = Ratio::from_percent(100);
    budget::Config { kind: budget::Counting::Aimd, min, max, deposit, decrease, refill, ..budget::Config::default() }
}

/// A service and its clones: stacks that share one budget.
struct Client {
    engine: Engine,
    budget: ObjectId,
    stack: StackId,
    now: HostTime,
}

impl Client {
    fn of(config: budget::Config) -> Self {
        let mut engine = Engine::default();
        let own = StackConfig { budget: Some(Part::Own(config)), ..StackConfig::default() };
        let budget = engine.share_from(&own, Kind::Budget).unwrap();
        let now = HostTime::from_millis(1_000);
        let mut client = Self { engine, budget, stack: StackId::from_number(0), now };
        client.stack = client.another();
        client
    }

    /// A clone.
    fn another(&mut self) -> StackId {
        let retry = retry::Config { attempts: 5, base: Duration::from_millis(1), ..retry::Config::default() };
        let config =
            StackConfig { retry: Some(retry), budget: Some(Part::Shared(self.budget)), ..StackConfig::default() };
        self.engine.add_stack(config).unwrap()
    }

    fn begin(&mut self) -> CallId {
        self.engine.admit(self.stack, Key::WHOLE, Facts::default(), self.now, 7).call.unwrap()
    }

    fn settle(&mut self, call: CallId, attempt: u8, verdict: Verdict) -> Decision {
        self.engine.settle(call, attempt, Outcome::new(verdict), self.now, 7)
    }

    fn succeed(&mut self, times: u32) {
        for _ in 0..times {
            let call = self.begin();
            let _ = self.settle(call, 1, Verdict::Success);
        }
    }

    /// A call whose attempts all fail: how many repeats it was granted, and why it ended.
    fn fails(&mut self) -> (u32, StopReason) {
        let call = self.begin();
        for attempt in 1.. {
            let decision = self.settle(call, attempt, Verdict::Transient);
            match decision.step {
                Step::Done { reason, .. } => return (u32::from(attempt) - 1, reason),
                Step::Wait => {
                    self.now = decision.at.unwrap();
                    assert_eq!(self.engine.wake(call, self.now, 7).step, Step::Send(attempt + 1));
                }
                _ => panic!("{decision:?}"),
            }
        }
        unreachable!("attempts are bounded")
    }

    /// So many calls fail at one instant: how many of them are repeated. Each repeat gets a plain answer.
    fn storm(&mut self, calls: u32) -> u32 {
        let calls: Vec<CallId> = (0..calls).map(|_| self.begin()).collect();
        let waits = |client: &mut Self, call: &CallId| client.settle(*call, 1, Verdict::Transient).step == Step::Wait;
        let repeated: Vec<CallId> = calls.into_iter().filter(|call| waits(self, call)).collect();
        self.now = self.now + Duration::from_millis(1);
        for call in &repeated {
            assert_eq!(self.engine.wake(*call, self.now, 7).step, Step::Send(2));
            let _ = self.settle(*call, 2, Verdict::Answered);
        }
        repeated.len() as u32
    }

    fn tokens(&self) -> u32 {
        self.engine.budget(self.stack).unwrap().counts(Key::WHOLE, self.engine.instant(self.now)).tokens.unwrap()
    }

    /// What time refills: all there may be.
    fn rested(&mut self) -> u32 {
        self.now = self.now + Duration::from_secs(3_600);
        self.tokens()
    }

    fn exhaustions(&mut self) -> Vec<What> {
        let events = std::iter::from_fn(|| self.engine.events().pop());
        events.map(|event| event.what).filter(|what| matches!(what, What::Exhausted { .. })).collect()
    }
}
