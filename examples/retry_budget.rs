//! One budget for a whole fleet. Twelve jobs call a host that is down, and one of them is hopeless anyway; each for
//! itself, and then with one wallet of five repeats for all: `cargo run --example retry_budget`.
//!
//! The story is agentic's (codenamev/agentic, `examples/retry_budget.rb`), and so are its numbers. The clock is made up.

use forbear::policy::{budget, retry};
use forbear::{
    ConfigError, Duration, Engine, Facts, HostTime, Key, Kind, ObjectId, Part, StackConfig, StackId, Step, StopReason,
};

pub(crate) const JOBS: u64 = 12;
/// Its key was revoked: whoever asks gets a 401.
const HOPELESS: u64 = 7;
const ATTEMPTS: u32 = 4;
pub(crate) const WALLET: u32 = 5;
const WINDOW: Duration = Duration::from_secs(60);

fn main() -> Result<(), ConfigError> {
    println!("{JOBS} jobs, up to {} repeats each. The host is down for all of them.\n", ATTEMPTS - 1);

    let mut fleet = Fleet::each_for_itself()?;
    let alone = fleet.run();
    println!("each for itself: {} calls", alone.calls);
    println!("  {} jobs tried {ATTEMPTS} times, and the hopeless one once\n", JOBS - 1);

    let mut fleet = Fleet::with_one_wallet()?;
    let together = fleet.run();
    println!("with one wallet of {WALLET}: {} calls", together.calls);
    println!("  {JOBS} first attempts, and {} repeats", together.calls - JOBS);
    println!("  {} jobs were told at once that there are no more; the hopeless one had asked for none", together.told);
    println!("  {} calls fewer, and nothing was lost by it: the host was down\n", alone.calls - together.calls);

    println!("somebody else asks the wallet: {}", fleet.answer());
    fleet.now = fleet.now + WINDOW;
    println!("the same a minute later: {}", fleet.answer());
    Ok(())
}

/// All jobs, and what they share.
pub(crate) struct Fleet {
    engine: Engine,
    stack: StackId,
    wallet: Option<ObjectId>,
    pub(crate) now: HostTime,
}

/// What it came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Tally {
    /// How often the host was called.
    pub(crate) calls: u64,
    /// How many jobs ended because the wallet was empty.
    pub(crate) told: u64,
}

impl Fleet {
    pub(crate) fn each_for_itself() -> Result<Self, ConfigError> {
        let mut engine = Engine::default();
        let retry = retry::Config { attempts: ATTEMPTS, budget: false, ..Default::default() };
        let stack = engine.add_stack(StackConfig { retry: Some(retry), ..Default::default() })?;
        Ok(Self { engine, stack, wallet: None, now: START })
    }

    pub(crate) fn with_one_wallet() -> Result<Self, ConfigError> {
        let mut engine = Engine::default();
        let wallet =
            budget::Config { kind: budget::Counting::Wallet, reserve: WALLET, window: WINDOW, ..Default::default() };
        let own = StackConfig { budget: Some(Part::Own(wallet)), ..Default::default() };
        let wallet = engine.share_from(&own, Kind::Budget)?;
        let retry = retry::Config { attempts: ATTEMPTS, ..Default::default() };
        let config = StackConfig { retry: Some(retry), budget: Some(Part::Shared(wallet)), ..Default::default() };
        let stack = engine.add_stack(config)?;
        Ok(Self { engine, stack, wallet: Some(wallet), now: START })
    }

    /// One job after the other.
    pub(crate) fn run(&mut self) -> Tally {
        let mut tally = Tally { calls: 0, told: 0 };
        (0..JOBS).for_each(|job| self.work(job, &mut tally));
        tally
    }

    fn work(&mut self, job: u64, tally: &mut Tally) {
        let status = if job == HOPELESS { 401 } else { 503 };
        let mut decision = self.engine.admit(self.stack, Key::WHOLE, Facts::default(), self.now, job);
        while let Some(call) = decision.call {
            decision = match decision.step {
                Step::Send(attempt) => {
                    tally.calls += 1;
                    let outcome = forbear::http::outcome_of_status(status, None);
                    self.engine.settle(call, attempt, outcome, self.now, job)
                }
                Step::Wait => {
                    self.now = decision.at.unwrap_or(self.now);
                    self.engine.wake(call, self.now, job)
                }
                Step::Done { reason, .. } => {
                    tally.told += u64::from(reason == StopReason::BudgetExceeded);
                    return;
                }
                _ => return,
            };
        }
    }

    /// Whether the wallet has one more for somebody who is no stack; nobody is made to wait for that.
    pub(crate) fn asks_the_wallet(&mut self) -> bool {
        self.wallet.is_some_and(|wallet| self.engine.spend(wallet, Key::WHOLE, self.now))
    }

    fn answer(&mut self) -> &'static str {
        if self.asks_the_wallet() { "yes" } else { "no" }
    }
}

const START: HostTime = HostTime::from_millis(1_000);
