//! Marc Brooker, "Fixing retries with token buckets and circuit breakers": what three ways to limit retries cost and
//! give.
//!
//! The model: 1,000 calls a second for ten seconds, spread over so many clients, each with a budget of its own; an
//! upstream that fails each attempt with probability f, whatever its load. *Success* is the share of calls that end
//! well, *load* the attempts for each call.
//!
//! His text deposits 0.1 tokens for each success; his simulator for each first try. Ours has both: `tokenBucket` is
//! the text, `ratio` with a reserve of 5 the simulator. His breaker only breaks retries: it lets none through while
//! more than 10 % of all attempts of its client have failed. forbear's own breaker is another thing, so his is a
//! budget of the test's own, through the trait that users have.
//!
//! Not checked: his curves point by point, of which no figures were published; his simulator, whose bucket must hold
//! *more* than one token, which leaves the last one unspent; and retries without end, where ours have fifteen
//! attempts.

use forbear::policy::budget::{self, Budget, Counting, Counts, Receipt, Source};
use forbear::policy::retry;
use forbear::snapshot::{Damaged, Reader, Writer};
use forbear::{Duration, HostTime, Instant, Key, Outcome, Part, StackConfig, Verdict};

use crate::chance::{Chance, millis, power};
use crate::host::{Host, Next, Upstream, Work};
use crate::rows::{ERRORS, Row, Subject, error_of_share, figure};

pub const CLOSED_FORMS: Subject =
    Subject { title: "Retries by token bucket: closed forms", source: SOURCE, rows: closed_forms };

pub const FINDINGS: Subject = Subject {
    title: "Retries by token bucket or by circuit breaker: with many small clients",
    source: SOURCE,
    rows: findings,
};

const SOURCE: &str = "Marc Brooker, \"Fixing retries with token buckets and circuit breakers\", \
                      https://brooker.co.za/blog/2022/02/28/retries.html";

/// Fails each attempt with the same probability.
struct Flaky {
    fails: f64,
    chance: Chance,
    attempts: u32,
}

impl Upstream for Flaky {
    fn go_on(&mut self, _work: &mut Work, _now: HostTime) -> Next {
        self.attempts += 1;
        let verdict = if self.chance.happens(self.fails) { Verdict::Transient } else { Verdict::Success };
        Next::Ends(millis(self.chance.exponential(10.0)), Outcome::new(verdict))
    }
}

#[derive(Clone, Copy)]
enum Limit {
    NoRetries,
    ThreeRetries,
    /// A bucket: by success, or by first try.
    Bucket(Counting),
    Breaker,
}

#[derive(Clone, Copy)]
struct Measured {
    success: f64,
    load: f64,
}

/// Ten thousand calls in all. The upstream does not mind load, so one client after the other has its ten seconds.
fn measure(limit: Limit, fails: f64, clients: u32) -> Measured {
    let calls = CALLS / clients;
    let pause = f64::from(clients);
    let (mut well, mut attempts) = (0u32, 0u32);
    for client in 0..u64::from(clients) {
        let chance = Chance::new(client ^ 0xB00);
        let mut host = Host::new(client, Flaky { fails, chance, attempts: 0 });
        let config = config(limit, &mut host);
        let stack = host.engine.add_stack(config).expect("a configuration");
        for _ in 0..calls {
            let next = host.now() + millis(host.upstream.chance.exponential(pause));
            while let Some(ending) = host.next_until(next) {
                well += u32::from(ending.is_success());
            }
            host.call(stack, Key::WHOLE, 0);
        }
        while let Some(ending) = host.next() {
            well += u32::from(ending.is_success());
        }
        attempts += host.upstream.attempts;
    }
    Measured { success: f64::from(well) / f64::from(CALLS), load: f64::from(attempts) / f64::from(CALLS) }
}

fn config(limit: Limit, host: &mut Host<Flaky>) -> StackConfig {
    let (attempts, budget) = match limit {
        Limit::NoRetries => (1, None),
        Limit::ThreeRetries => (4, None),
        Limit::Bucket(kind) => (15, Some(Part::Own(budget::Config { kind, ..budget::Config::default() }))),
        Limit::Breaker => {
            let breaker = host.engine.share_budget(RetryBreaker::default()).expect("there is room");
            (4, Some(Part::Shared(breaker)))
        }
    };
    // He retries at once.
    let base = Duration::from_millis(1);
    let retry = retry::Config { attempts, base, cap: base, budget: budget.is_some(), ..retry::Config::default() };
    StackConfig { retry: Some(retry), budget, ..StackConfig::default() }
}

/// A call is one trial for success, and so many attempts have a variance of at most f·load for each call.
fn closed_forms() -> Vec<Row> {
    let calls = f64::from(CALLS);
    let mut rows = Vec::new();
    let mut row = |what: String, measured: Measured, success: f64, load: f64| {
        let error = ERRORS * error_of_share(success, calls);
        rows.push(Row::near(format!("{what}: success"), success, measured.success, error));
        let error = ERRORS * (load * (load - 1.0) / calls).sqrt();
        rows.push(Row::near(format!("{what}: load"), load, measured.load, error));
    };
    for fails in [0.1, 0.2, 0.5] {
        let without = measure(Limit::NoRetries, fails, 10);
        row(format!("no retries, f = {fails}"), without, 1.0 - fails, 1.0);
        let three = measure(Limit::ThreeRetries, fails, 10);
        let load = 1.0 + fails + power(fails, 2.0) + power(fails, 3.0);
        row(format!("three retries, f = {fails}"), three, 1.0 - power(fails, 4.0), load);
    }
    for fails in [0.2, 0.5] {
        // Each of few clients spends what it had at first, and from then on what it earns: 0.1 for each first try, or
        // for each success, those of retries among them: r = 0.1·(1 − f)·(1 + r).
        let initial = 5.0 * 10.0 / calls;
        let by_try = 0.1 + initial;
        let by_success = (0.1 * (1.0 - fails) + initial) / (1.0 - 0.1 * (1.0 - fails));
        for (what, kind, retries) in
            [("first try", Counting::Ratio, by_try), ("success", Counting::TokenBucket, by_success)]
        {
            let measured = measure(Limit::Bucket(kind), fails, 10);
            row(format!("0.1 for each {what}, f = {fails}"), measured, (1.0 - fails) * (1.0 + retries), 1.0 + retries);
        }
    }
    rows
}

/// Ten clients, a hundred, a thousand.
fn findings() -> Vec<Row> {
    let sweep = |limit: Limit, fails: f64| CLIENTS.map(|clients| measure(limit, fails, clients));
    let mut rows = Vec::new();
    for fails in [0.2, 0.5] {
        let measured = sweep(Limit::Bucket(Counting::TokenBucket), fails);
        let loads = measured.map(|one| one.load);
        rows.push(Row::holds(
            format!("bucket, f = {fails}: load with 10, 100, 1,000 clients"),
            "doesn't deplete fast enough",
            told(&loads),
            loads.is_sorted_by(|few, many| few < many),
        ));
    }
    let [.., many] = sweep(Limit::Bucket(Counting::TokenBucket), 0.1);
    let three = measure(Limit::ThreeRetries, 0.1, 1_000);
    rows.push(Row::within("bucket, 1,000 clients, f = 0.1: load as with N retries", three.load, many.load, 0.02));

    // Half of what trips it.
    let breaker = sweep(Limit::Breaker, 0.05);
    let success = breaker.map(|one| one.success);
    rows.push(Row::holds(
        "breaker at 10 %, f = 0.05: success with 10, 100, 1,000 clients",
        "is tripping too early",
        told(&success),
        success.is_sorted_by(|few, many| few > many),
    ));
    let [few, .., many] = success;
    rows.push(Row::near("the same, 1,000 clients: as without retries", 0.95, many, 0.01));
    rows.push(Row::near("the same, 10 clients: as with three retries", 1.0 - power(0.05, 4.0), few, 0.002));
    let broken = measure(Limit::Breaker, 0.5, 10);
    rows.push(Row::near("breaker at 10 %, f = 0.5, 10 clients: load", 1.0, broken.load, 0.01));
    rows
}

fn told(figures: &[f64]) -> String {
    figures.iter().map(|one| figure(*one)).collect::<Vec<_>>().join(" ")
}

/// Retries are broken while more than a tenth of all attempts have failed.
#[derive(Debug, Default)]
struct RetryBreaker {
    attempts: u32,
    failures: u32,
}

impl Budget for RetryBreaker {
    fn deposit(&mut self, _key: Key, _now: Instant) {}

    fn affords(&self, _key: Key, _after: Option<Verdict>, _now: Instant) -> bool {
        self.failures * 10 <= self.attempts
    }

    fn withdraw(&mut self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Receipt> {
        self.affords(key, after, now).then_some(Receipt { key, at: now, source: Source(0) })
    }

    fn refund(&mut self, _receipt: Receipt) {}

    fn settle(&mut self, _key: Key, verdict: Verdict, _paid: Option<Source>, _now: Instant) {
        self.attempts += 1;
        self.failures += u32::from(!verdict.is_answer());
    }

    fn counts(&self, _key: Key, _now: Instant) -> Counts {
        Counts::default()
    }

    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, _key: Key, _now: Instant) {}

    fn fingerprint(&self) -> u64 {
        0
    }

    fn save(&self, _now: Instant, _out: &mut Writer) {}

    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

const CALLS: u32 = 10_000;
const CLIENTS: [u32; 3] = [10, 100, 1_000];

/// Checks success and load against their closed forms: no retries, three retries, and a bucket in both its accountings.
#[test]
fn retries_by_token_bucket_follow_their_closed_forms() {
    crate::rows::check(&CLOSED_FORMS);
}

/// Checks what he found, not his curves: with many small clients a bucket hardly bites, and a breaker trips too early.
#[test]
fn many_small_clients_defeat_buckets_and_breakers_alike() {
    crate::rows::check(&FINDINGS);
}
