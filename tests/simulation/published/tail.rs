//! Dean and Barroso, "The Tail at Scale": fan-outs, and hedges against their tails.
//!
//! A request asks many leaves at once and is as slow as the slowest. Their arithmetic holds for leaves that are slow
//! independently of each other, and so does ours. For their example of a hedge (1,000 keys in a BigTable over 100
//! servers, a second request after 10 ms) they published three numbers, not a distribution; the leaf here is
//! *calibrated* so that these three come out: 2 % of keys take longer than 10 ms, then a Pareto tail of index 1.553 up
//! to 74 ms and of index 2.129 beyond. What is below 10 ms does not matter, and is spread evenly.
//!
//! So it is our hedge that is checked, against the formula P(slower than x) = S(x)·S(x − delay), and not Google's
//! system: there, a slow server is slow for all its keys, and load makes slowness. The median and the 99th percentile
//! are found by simulation; the 99.9th only by the formula, since it would take a hundred thousand batches to see it.
//!
//! Not checked: the table of leaves (10, 70 and 140 ms) and tied requests (−38 % at p99.9), which came from machines
//! whose queues nobody published.

use forbear::policy::{hedge, retry};
use forbear::{HostTime, Key, Outcome, StackConfig, Verdict};

use crate::chance::{Chance, millis, power};
use crate::host::{Host, Next, Upstream, Work};
use crate::rows::{ERRORS, Row, Subject, error_of_share, size};

pub const SUBJECT: Subject = Subject {
    title: "The tail: fan-outs and hedges",
    source: "Jeffrey Dean, Luiz André Barroso, \"The Tail at Scale\", CACM 56(2), 2013, sections \"Why Variability \
             Exists?\", \"Component-Level Variability Amplified By Scale\", \"Within Request Short-Term Adaptations\", \
             https://research.google/pubs/the-tail-at-scale/",
    rows,
};

/// How long a leaf takes.
#[derive(Clone, Copy)]
enum Leaf {
    /// A second with this probability, else a millisecond.
    Slow(f64),
    /// As a key of the BigTable.
    Key,
}

struct Leaves {
    leaf: Leaf,
    chance: Chance,
    requests: u32,
}

impl Upstream for Leaves {
    fn go_on(&mut self, _work: &mut Work, _now: HostTime) -> Next {
        self.requests += 1;
        let latency_ms = match self.leaf {
            Leaf::Slow(probability) => {
                if self.chance.happens(probability) {
                    1_000.0
                } else {
                    1.0
                }
            }
            Leaf::Key => inverse(self.chance.share()),
        };
        Next::Ends(millis(latency_ms), Outcome::new(Verdict::Success))
    }
}

/// Requests that each ask so many leaves.
struct Batches {
    /// How long each batch took, in milliseconds, sorted.
    took_ms: Vec<f64>,
    /// Requests beyond one a leaf, as a share.
    extra: f64,
}

impl Batches {
    fn run(leaf: Leaf, leaves: u32, batches: usize, hedge_after: Option<f64>) -> Self {
        let hedge = hedge_after.map(|after| hedge::Config { attempts: 2, after: millis(after), ..Default::default() });
        let retry = Some(retry::Config { attempts: 1, budget: false, ..retry::Config::default() });
        let config = StackConfig { hedge, retry, ..StackConfig::default() };
        let upstream = Leaves { leaf, chance: Chance::new(9), requests: 0 };
        let (mut host, stack) = Host::with(7, upstream, config);
        let took_ms = (0..batches).map(|_| {
            for _ in 0..leaves {
                host.call(stack, Key::WHOLE, 0);
            }
            std::iter::from_fn(|| host.next()).map(|ending| ending.millis()).fold(0.0, f64::max)
        });
        let mut took_ms: Vec<f64> = took_ms.collect();
        took_ms.sort_by(f64::total_cmp);
        let asked = f64::from(leaves) * batches as f64;
        Self { took_ms, extra: f64::from(host.upstream.requests) / asked - 1.0 }
    }

    fn slower_than(&self, limit_ms: f64) -> f64 {
        let within = self.took_ms.partition_point(|took| *took <= limit_ms);
        1.0 - within as f64 / self.took_ms.len() as f64
    }
}

/// P(a key takes longer).
fn survival(millis: f64) -> f64 {
    match millis {
        _ if millis <= 0.0 => 1.0,
        _ if millis <= 10.0 => 1.0 - 0.98 * millis / 10.0,
        _ if millis <= 74.0 => 0.02 * power(10.0 / millis, 1.553),
        _ => AT_74 * power(74.0 / millis, 2.129),
    }
}

/// The time that a key takes longer than with this probability.
fn inverse(survival: f64) -> f64 {
    match survival {
        _ if survival > 0.02 => (1.0 - survival) / 0.98 * 10.0,
        _ if survival > AT_74 => 10.0 * power(0.02 / survival, 1.0 / 1.553),
        _ => 74.0 * power(AT_74 / survival, 1.0 / 2.129),
    }
}

/// P(a batch of 1,000 keys takes longer), each hedged after so long.
fn batch_survival(millis: f64, hedge_after: f64) -> f64 {
    1.0 - power(1.0 - survival(millis) * survival(millis - hedge_after), 1_000.0)
}

/// The root of the same, by bisection.
fn batch_quantile(quantile: f64, hedge_after: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100_000.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if batch_survival(middle, hedge_after) > 1.0 - quantile { low = middle } else { high = middle }
    }
    high
}

fn rows() -> Vec<Row> {
    let mut rows = fan_outs();
    rows.extend(hedges());
    rows
}

fn fan_outs() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |what: &str, published, slow, leaves, batches: usize, hedge_after| {
        let share = Batches::run(Leaf::Slow(slow), leaves, batches, hedge_after).slower_than(999.0);
        // What was published is rounded to a hundredth.
        rows.push(Row::near(what, published, share, ERRORS * error_of_share(published, batches as f64) + 0.005));
    };
    row("100 leaves, 1 in 100 slow: requests over a second", 0.63, 0.01, 100, size(600, 5_000), None);
    row("2,000 leaves, 1 in 10,000 slow (\"almost one in five\")", 0.18, 0.000_1, 2_000, size(60, 1_000), None);
    row("100 leaves, 1 in 100 slow, hedged: 1 − 0.9999¹⁰⁰", 0.01, 0.01, 100, size(600, 5_000), Some(10.0));
    rows
}

fn hedges() -> Vec<Row> {
    let batches = size(100, 3_000);
    let keys = 1_000.0 * batches as f64;
    let share = |share: f64, trials: f64| ERRORS * error_of_share(share, trials);
    let [plain, hedged] = [None, Some(10.0)].map(|after| Batches::run(Leaf::Key, 1_000, batches, after));
    // The 95th percentile of this leaf.
    let after_p95 = Batches::run(Leaf::Key, 1_000, batches / 10, Some(inverse(0.05)));
    let mut rows = vec![
        Row::near("hedge after 10 ms: extra requests", 0.02, hedged.extra, share(0.02, keys)),
        Row::near("hedge after the 95th percentile: extra requests", 0.05, after_p95.extra, share(0.05, keys / 10.0)),
        Row::within("p99.9 in ms, no hedge (formula)", 1_800.0, batch_quantile(0.999, f64::INFINITY), 0.01),
        Row::within("p99.9 in ms, hedge after 10 ms (formula)", 74.0, batch_quantile(0.999, 10.0), 0.01),
    ];
    for (name, measured, after) in [("no hedge", &plain, f64::INFINITY), ("hedged", &hedged, 10.0)] {
        for quantile in [0.5, 0.99] {
            let beyond = 1.0 - quantile;
            let limit = batch_quantile(quantile, after);
            let what = format!("{name}: batches over {limit:.0} ms, the formula's p{}", quantile * 100.0);
            let tolerance = share(beyond, batches as f64);
            rows.push(Row::near(what, beyond, measured.slower_than(limit), tolerance));
        }
        let beyond = batch_survival(74.0, after);
        let what = format!("{name}: batches over 74 ms");
        rows.push(Row::near(what, beyond, measured.slower_than(74.0), share(beyond, batches as f64)));
    }
    rows
}

/// 0.02·(10/74)^1.553.
const AT_74: f64 = 8.94e-4;

/// Checks the arithmetic of fan-outs, the extra load of hedges, and what our hedge does to the tail against its
/// formula.
#[test]
fn hedges_cut_the_tail_as_the_formula_says() {
    crate::rows::check(&SUBJECT);
}
