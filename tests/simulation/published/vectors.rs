//! Small numbers that others publish about their own policies, to the digit where they are exact.

use forbear::policy::budget::{self, Counting};
use forbear::policy::circuit_breaker::{self, CircuitBreaker};
use forbear::policy::retry;
use forbear::policy::throttler::{self, Throttler};
use forbear::{
    Duration, HostTime, Key, Kind, Outcome, Overload, Part, Ratio, StackConfig, StackId, Step, StopReason, Verdict,
};

use crate::chance::Chance;
use crate::host::{Host, Next, Upstream, Work};
use crate::rows::{ERRORS, Row, Subject, error_of_share, figure, size};

pub const SUBJECT: Subject = Subject {
    title: "Exact numbers of budgets, throttlers and breakers",
    source: "gRPC A6, section \"Throttling Retry Attempts and Hedged RPCs\", \
             https://github.com/grpc/proposal/blob/master/A6-client-retries.md; smithy-rs, token_bucket.rs; Finagle, \
             RetryBudget.scala; Google, Site Reliability Engineering, chapter 21, equation 21-1; \
             agentic, examples/retry_budget.rb; openings of a circuit: Stoic's policies design",
    rows,
};

/// Ends every attempt at once, as it is told.
struct Says(Verdict);

impl Upstream for Says {
    fn go_on(&mut self, _work: &mut Work, _now: HostTime) -> Next {
        Next::Ends(Duration::ZERO, Outcome::new(self.0))
    }
}

fn rows() -> Vec<Row> {
    let mut rows = grpc();
    rows.extend(aws());
    rows.extend(finagle());
    rows.extend(sre());
    rows.extend(openings());
    rows.extend(agentic());
    rows
}

/// maxTokens 10, tokenRatio 0.1: each failure costs one, and at half there are no retries. Tokens hold their level
/// where r·(1 − f) = f.
fn grpc() -> Vec<Row> {
    let config = budget::Config { kind: Counting::Grpc, ..budget::Config::default() };
    let (mut host, stack) = Host::with(1, Says(Verdict::Transient), budgeted(15, config));
    host.call(stack, Key::WHOLE, 0);
    let ending = host.next().expect("one call");
    let refused = matches!(ending.step, Step::Done { reason: StopReason::BudgetExceeded, .. });
    let failures = if refused { u64::from(ending.sent) } else { 0 };
    let mut rows = vec![Row::exact("gRPC: failures until retries are off", 5, failures)];
    let attempts = size(4_000, 40_000);
    for percent in [10, 50, 100] {
        let ratio = f64::from(percent) / 100.0;
        let published = ratio / (1.0 + ratio);
        let tolerance = ERRORS * error_of_share(published, attempts as f64);
        let what = format!("gRPC: share of failures that tokens stand, ratio {ratio}");
        rows.push(Row::near(what, published, break_even(percent, attempts), tolerance));
    }
    rows
}

/// By bisection: with how large a share of failures a large bucket neither fills nor empties.
fn break_even(percent: u32, attempts: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..10 {
        let fails = (low + high) / 2.0;
        let config = budget::Config {
            kind: Counting::Grpc,
            max: Some(100_000),
            initial: Some(50_000),
            deposit: Some(Ratio::from_percent(percent)),
            ..budget::Config::default()
        };
        let (mut host, stack) = Host::with(1, Says(Verdict::Success), budgeted(1, config));
        let mut chance = Chance::new(21);
        for _ in 0..attempts {
            host.upstream.0 = if chance.happens(fails) { Verdict::Transient } else { Verdict::Success };
            host.call(stack, Key::WHOLE, 0);
            host.next();
        }
        if tokens(&host, stack) >= 50_000 { low = fails } else { high = fails }
    }
    low
}

fn tokens(host: &Host<Says>, stack: StackId) -> u32 {
    let budget = host.engine.budget(stack).expect("a budget");
    budget.counts(Key::WHOLE, host.engine.instant(host.now())).tokens.expect("it counts tokens")
}

/// 500 tokens; a retry costs five, after a timeout ten.
fn aws() -> Vec<Row> {
    let retries = |verdict| {
        let config = budget::Config { kind: Counting::Aws, ..budget::Config::default() };
        let (mut host, stack) = Host::with(1, Says(verdict), budgeted(3, config));
        let mut repeats = 0;
        for _ in 0..200 {
            host.call(stack, Key::WHOLE, 0);
            repeats += u64::from(host.next().expect("one call").sent) - 1;
        }
        repeats
    };
    vec![
        Row::exact("AWS: retries of a full bucket", 100, retries(Verdict::Transient)),
        Row::exact("AWS: retries after timeouts", 50, retries(Verdict::Timeout)),
    ]
}

/// ttl 10 s, no minimum, 20 %.
fn finagle() -> Vec<Row> {
    let window = Duration::from_secs(10);
    let fifth = budget::Config { ratio: Ratio::from_percent(20), window, reserve: 0, ..budget::Config::default() };
    let retries_of_the_last = |requests: u32, pause: Duration| {
        let (mut host, stack) = Host::with(1, Says(Verdict::Success), budgeted(3, fifth));
        for _ in 1..requests {
            host.call(stack, Key::WHOLE, 0);
            host.next();
        }
        let later = host.now() + pause;
        while host.next_until(later).is_some() {}
        host.upstream.0 = Verdict::Transient;
        host.call(stack, Key::WHOLE, 0);
        u64::from(host.next().expect("one call").sent) - 1
    };
    vec![
        Row::exact("Finagle, 20 %: retries that 4 requests buy", 0, retries_of_the_last(4, Duration::ZERO)),
        Row::exact("Finagle, 20 %: retries that 5 requests buy", 1, retries_of_the_last(5, Duration::ZERO)),
        Row::exact("Finagle, 20 %: the same after ten seconds", 0, retries_of_the_last(5, window)),
    ]
}

/// (R − K·A) / (R + 1), and that so many are refused.
fn sre() -> Vec<Row> {
    let mut rows = Vec::new();
    for (requests, accepts, published) in [(100, 50, 0.0), (100, 25, 50.0 / 101.0), (10, 0, 10.0 / 11.0)] {
        let config = throttler::Config {
            min_requests: requests,
            max_rejection: Ratio::from_percent(99),
            ..throttler::Config::default()
        };
        let config = StackConfig { throttler: Some(Part::Own(config)), ..StackConfig::default() };
        let (mut host, stack) = Host::with(1, Says(Verdict::Success), config);
        for request in 0..requests {
            let unavailable = Verdict::Overload(Overload::Unavailable);
            host.upstream.0 = if request < accepts { Verdict::Success } else { unavailable };
            host.call(stack, Key::WHOLE, 0);
            host.next();
        }
        let now = host.engine.instant(host.now());
        let reading = host.engine.gate::<Throttler>(stack).expect("a throttler").read(Key::WHOLE, now);
        let rate = f64::from(reading.rate.millionths()) / 1e6;
        rows.push(Row::near(format!("SRE: p at R = {requests}, A = {accepts}"), published, rate, 1e-6));
        // What these end with is no evidence, so that R and A stay.
        host.upstream.0 = Verdict::Defect;
        let trials = 10_000;
        let refused = (0..trials).filter(|_| {
            host.call(stack, Key::WHOLE, 0);
            matches!(host.next().expect("one call").step, Step::Reject(_))
        });
        let share = refused.count() as f64 / f64::from(trials);
        let tolerance = ERRORS * error_of_share(published, f64::from(trials));
        rows.push(Row::near("… and the share refused", published, share, tolerance));
    }
    rows
}

/// 30 s, doubled by each repeated trip, at most 300 s; shortened by up to a fifth.
fn openings() -> Vec<Row> {
    let published = [30.0, 60.0, 120.0, 240.0, 300.0, 300.0];
    let exact = openings_of(Ratio::ZERO);
    let spread = openings_of(Ratio::from_percent(20));
    let told = |seconds: &[f64]| seconds.iter().map(|one| figure(*one)).collect::<Vec<_>>().join(" ");
    let within = spread.iter().zip(published).all(|(ours, whole)| (0.8 * whole..=whole).contains(ours));
    vec![
        Row::holds("breaker: seconds open, no jitter", told(&published), told(&exact), exact == published),
        Row::holds("breaker: seconds open, at most a fifth less", told(&published), told(&spread), within),
    ]
}

fn openings_of(open_jitter: Ratio) -> Vec<f64> {
    let breaker = circuit_breaker::Config { consecutive_failures: Some(1), open_jitter, ..Default::default() };
    let config = StackConfig { breaker: Some(Part::Own(breaker)), ..StackConfig::default() };
    let (mut host, stack) = Host::with(1, Says(Verdict::Transient), config);
    let open = |_| {
        host.call(stack, Key::WHOLE, 0);
        host.next();
        let now = host.engine.instant(host.now());
        let reading = host.engine.gate::<CircuitBreaker>(stack).expect("a breaker").read(Key::WHOLE, now);
        let open_for = reading.retry_at.expect("it is open").since(now);
        let half_open_at = host.now() + open_for;
        while host.next_until(half_open_at).is_some() {}
        open_for.as_nanos() as f64 / 1e9
    };
    (0..6).map(open).collect()
}

/// Twelve jobs, three retries each, one of them hopeless; the upstream is dead.
fn agentic() -> Vec<Row> {
    let calls = |wallet: bool| {
        let mut host = Host::new(1, Says(Verdict::Transient));
        let config = budget::Config { kind: Counting::Wallet, reserve: 5, ..budget::Config::default() };
        let config = StackConfig { budget: Some(Part::Own(config)), ..StackConfig::default() };
        let shared = host.engine.share_from(&config, Kind::Budget).expect("a budget");
        let retry = retry::Config { attempts: 4, budget: wallet, ..retry::Config::default() };
        let budget = wallet.then_some(Part::Shared(shared));
        let config = StackConfig { retry: Some(retry), budget, ..StackConfig::default() };
        let stack = host.engine.add_stack(config).expect("a configuration");
        let jobs = (0..12).map(|job| {
            host.upstream.0 = if job == 7 { Verdict::Answered } else { Verdict::Transient };
            host.call(stack, Key::WHOLE, 0);
            u64::from(host.next().expect("one job").sent)
        });
        jobs.sum()
    };
    vec![
        Row::exact("agentic: calls of 12 jobs, each for itself", 45, calls(false)),
        Row::exact("agentic: calls of 12 jobs with one wallet of 5", 17, calls(true)),
    ]
}

fn budgeted(attempts: u32, budget: budget::Config) -> StackConfig {
    let retry = retry::Config { attempts, base: Duration::from_millis(1), ..retry::Config::default() };
    StackConfig { retry: Some(retry), budget: Some(Part::Own(budget)), ..StackConfig::default() }
}

/// Checks the numbers themselves, each through calls that meet the policy. Not checked: what these projects do with
/// them otherwise.
#[test]
fn others_exact_numbers_are_ours() {
    crate::rows::check(&SUBJECT);
}
