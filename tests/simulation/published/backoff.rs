//! AWS, "Exponential Backoff And Jitter": a hundred clients contend for one row.
//!
//! The model is that of AWS's own simulator: one row with a version; each client reads it, writes with the version it
//! read, and is rejected if another was faster; every hop takes |normal(10 ms, 2 ms)|; base 5 ms, cap 2 s; all begin at
//! once, and a client stops when its write is accepted. *Calls* are the writes that the server sees, *time* is when the
//! last client is told.
//!
//! Every delay is drawn by the engine's retry policy. Two things need words. AWS counts from n = 1, so that its first
//! backoff is 2·5 ms, where ours begins with `base`: it is 10 ms here, but for decorrelated jitter, which begins as
//! AWS's. And a call has fifteen attempts at most. Whoever needs more begins another call, which goes on at the cap,
//! where the backoff has been for six attempts; only decorrelated jitter begins anew, which makes about 1 % more
//! calls. "No backoff" is a call without retry, made again at once.
//!
//! Not checked: equal against full jitter with other numbers of clients, where both orders occur (at 190 in AWS's own
//! simulator the other one), nor decorrelated against full in time but at N = 100.

use forbear::policy::retry::{self, Jitter};
use forbear::{Duration, HostTime, Key, Outcome, StackConfig, StackId, Verdict};

use crate::chance::{Chance, millis};
use crate::host::{Host, Next, Upstream, Work};
use crate::rows::{ERRORS, Row, Sample, Subject, figure, size};

pub const SUBJECT: Subject = Subject {
    title: "Backoff: a hundred clients contend for one row",
    source: "Marc Brooker, \"Exponential Backoff And Jitter\", AWS Architecture Blog, section \"Adding Jitter\", \
             https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/; figures: its simulator, run \
             anew, https://github.com/aws-samples/aws-arch-backoff-simulator",
    rows,
};

/// One row with a version.
struct Database {
    version: u32,
    writes: u32,
    chance: Chance,
    /// The stack in which a client's first attempt stands for the failure it has already had.
    later: Option<StackId>,
}

impl Upstream for Database {
    fn go_on(&mut self, work: &mut Work, _now: HostTime) -> Next {
        if Some(work.stack) == self.later && work.attempt == 1 {
            return Next::Ends(Duration::ZERO, Outcome::new(Verdict::Transient));
        }
        match work.stage {
            0 => Next::Comes(self.hops(1)),
            1 => {
                work.note = self.version;
                Next::Comes(self.hops(2))
            }
            _ => {
                self.writes += 1;
                let accepted = work.note == self.version;
                self.version += u32::from(accepted);
                Next::Ends(self.hops(1), Outcome::new(if accepted { Verdict::Success } else { Verdict::Transient }))
            }
        }
    }
}

impl Database {
    fn hops(&mut self, count: u32) -> Duration {
        millis((0..count).map(|_| self.chance.normal(10.0, 2.0).abs()).sum())
    }
}

struct Measured {
    calls: Sample,
    time_ms: Sample,
}

/// `None` is no backoff at all.
fn contend(jitter: Option<Jitter>) -> Measured {
    let mut measured = Measured { calls: Sample::default(), time_ms: Sample::default() };
    for run in 0..size(60, 100) as u64 {
        let database = Database { version: 0, writes: 0, chance: Chance::new(run ^ 0xDB), later: None };
        let mut host = Host::new(run, database);
        let first = host.engine.add_stack(stack(jitter, false)).expect("a configuration");
        let later = host.engine.add_stack(stack(jitter, true)).expect("a configuration");
        host.upstream.later = jitter.map(|_| later);
        let began = host.now();
        for _ in 0..CLIENTS {
            host.call(first, Key::WHOLE, 0);
        }
        let mut ended = began;
        while let Some(ending) = host.next() {
            ended = ending.ended;
            if !ending.is_success() {
                host.call(later, Key::WHOLE, 0);
            }
        }
        measured.calls.add(f64::from(host.upstream.writes));
        measured.time_ms.add(ended.since(began).as_nanos() as f64 / 1e6);
    }
    measured
}

fn stack(jitter: Option<Jitter>, later: bool) -> StackConfig {
    let cap = Duration::from_millis(2_000);
    let retry = jitter.map(|jitter| {
        let base = match jitter {
            Jitter::Decorrelated => Duration::from_millis(5),
            _ if later => cap,
            _ => Duration::from_millis(10),
        };
        retry::Config { attempts: 15, base, cap, jitter, budget: false, ..retry::Config::default() }
    });
    StackConfig { retry, ..StackConfig::default() }
}

fn rows() -> Vec<Row> {
    let none = contend(None);
    let [exponential, equal, full, decorrelated] =
        [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::Decorrelated].map(|jitter| contend(Some(jitter)));
    let beside = [
        ("none", &none, 2_419.6, 2_029.0),
        ("exponential", &exponential, 1_851.5, 63_433.0),
        ("equal jitter", &equal, 811.6, 6_641.0),
        ("full jitter", &full, 795.6, 4_914.0),
        ("decorrelated jitter", &decorrelated, 1_001.7, 4_505.0),
    ];
    let mut rows = Vec::new();
    for (name, measured, calls, time_ms) in beside {
        rows.push(near(format!("calls, {name}"), calls, &measured.calls));
        rows.push(near(format!("time in ms, {name}"), time_ms, &measured.time_ms));
    }
    let calls = [&full, &equal, &decorrelated, &exponential, &none].map(|measured| measured.calls.mean());
    let times = [&decorrelated, &full, &equal, &exponential].map(|measured| measured.time_ms.mean());
    let fewer = exponential.calls.mean() / full.calls.mean();
    rows.extend([
        Row::holds(
            "calls: jitter against plain exponential backoff",
            "less than half",
            format!("1/{}", figure(fewer)),
            fewer > 2.0,
        ),
        rising("calls: full < equal < decorrelated < exponential < none", &calls),
        rising("time: decorrelated < full < equal < exponential", &times),
    ]);
    rows
}

/// Both sides are means of some hundred runs, so each has its standard error: ours is taken twice. 1 % more is what
/// decorrelated jitter's new beginnings cost.
fn near(what: String, published: f64, sample: &Sample) -> Row {
    Row::near(what, published, sample.mean(), ERRORS * 2f64.sqrt() * sample.error() + 0.01 * published)
}

fn rising(what: &str, figures: &[f64]) -> Row {
    let told: Vec<String> = figures.iter().map(|one| figure(*one)).collect();
    Row::holds(what, "in this order", told.join(" "), figures.is_sorted_by(|a, b| a < b))
}

const CLIENTS: u32 = 100;

/// Checks calls and times of all five strategies at N = 100, both orders, and that jitter more than halves the calls of
/// plain exponential backoff. What it does not check is said above.
#[test]
fn backoffs_rank_as_in_awss_post() {
    crate::rows::check(&SUBJECT);
}
