//! Google SRE on retries: what they do to load while nothing works, with and without a budget, alone and in layers.

use forbear::policy::retry;
use forbear::{Duration, HostTime, Key, Outcome, Overload, StackConfig, StackId, Verdict};

use crate::host::{Host, Next, Upstream, Work};
use crate::rows::{Row, Subject, figure, size};

pub const ATTEMPTS: Subject = Subject {
    title: "Retries in a total outage: three attempts",
    source: "Google, Site Reliability Engineering, chapter 21 \"Handling Overload\", section \"Deciding to Retry\", \
             https://sre.google/sre-book/handling-overload/",
    rows: attempts,
};

pub const LAYERS: Subject = Subject {
    title: "Retries in a total outage: layers, each a stack around a stack",
    source: "Google, Site Reliability Engineering, chapter 22 \"Addressing Cascading Failures\", section \"Retries\", \
             https://sre.google/sre-book/addressing-cascading-failures/; \"overloaded; don't \
             retry\": chapter 21, as above; Amazon Builders' Library, \"Timeouts, retries, and backoff with jitter\", \
             section \"Retries and backoff\", \
             https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/",
    rows: layers,
};

/// Stacks in a row, and nothing that works behind the last.
#[derive(Default)]
struct Layers {
    stacks: Vec<StackId>,
    reached: u64,
    /// Whether a stack whose attempts are used up says that nobody should try again.
    marks: bool,
}

impl Upstream for Layers {
    fn go_on(&mut self, work: &mut Work, _now: HostTime) -> Next {
        let here = self.stacks.iter().position(|stack| *stack == work.stack).expect("one of the layers");
        if let Some(inner) = self.stacks.get(here + 1) {
            return Next::Calls(*inner);
        }
        self.reached += 1;
        Next::Ends(Duration::from_millis(1), Outcome::new(Verdict::Transient))
    }

    fn hand_on(&mut self, verdict: Verdict) -> Verdict {
        if self.marks { Verdict::Overload(Overload::Shedding) } else { verdict }
    }
}

/// Calls at a steady pace while nothing works.
#[derive(Clone, Copy)]
struct Outage {
    layers: usize,
    attempts: u32,
    budget: bool,
    marks: bool,
    calls: u32,
    pause: Duration,
}

impl Outage {
    /// How many attempts reach the bottom for each call at the top.
    fn load(self) -> f64 {
        let Self { layers, attempts, budget, marks, calls, pause } = self;
        let mut host = Host::new(3, Layers { marks, ..Layers::default() });
        for _ in 0..layers {
            let retry = retry::Config { attempts, base: Duration::from_millis(1), budget, ..Default::default() };
            let stack = host.engine.add_stack(StackConfig { retry: Some(retry), ..StackConfig::default() });
            host.upstream.stacks.push(stack.expect("a configuration"));
        }
        let top = host.upstream.stacks[0];
        for _ in 0..calls {
            host.call(top, Key::WHOLE, 0);
            let next = host.now() + pause;
            while host.next_until(next).is_some() {}
        }
        while host.next().is_some() {}
        host.upstream.reached as f64 / f64::from(calls)
    }
}

/// The budget's share is of *first attempts*; of all sends 10 % would be 1.11 times the load. Its reserve of 5 in two
/// minutes is nothing at 100 calls a second, and at fewer calls what the budget's page says.
fn attempts() -> Vec<Row> {
    let unlimited = Outage { budget: false, calls: 1_000, ..OUTAGE };
    let calls = size(24_000, 120_000) as u32;
    let reserve = 5.0 * f64::from(calls.div_ceil(12_000)) / f64::from(calls);
    let busy = Outage { calls, ..OUTAGE };
    let mut rows = vec![
        Row::near("load without a budget (\"just below 3X\")", 3.0, unlimited.load(), 0.0),
        Row::near("load with 10 % of first attempts as budget", 1.1, busy.load(), reserve),
    ];
    for (pace, pause_ms, most) in [("8 a minute", 7_500, 1.42), ("1 a second", 1_000, 1.15), ("10 a second", 100, 1.11)]
    {
        // Ten windows.
        let load =
            Outage { calls: 1_200_000 / pause_ms, pause: Duration::from_millis(pause_ms.into()), ..OUTAGE }.load();
        let what = format!("{pace}: what the page of budgets says");
        rows.push(Row::holds(what, format!("at most {most}"), figure(load), load <= most));
    }
    rows
}

fn layers() -> Vec<Row> {
    let unlimited = Outage { budget: false, calls: 5, ..OUTAGE };
    let three = Outage { layers: 3, attempts: 4, ..unlimited };
    let five = Outage { layers: 5, ..unlimited };
    let budgeted = Outage { budget: true, calls: size(6_000, 60_000) as u32, ..three }.load();
    vec![
        Row::near("3 layers of 4 attempts", 64.0, three.load(), 0.0),
        Row::near("5 layers of 3 attempts", 243.0, five.load(), 0.0),
        Row::near("3 layers of 4, \"overloaded; don't retry\"", 4.0, Outage { marks: true, ..three }.load(), 0.0),
        // 1.1³, and what the reserves add.
        Row::holds("3 layers of 4, each with a budget", "1.1³ = 1.331", figure(budgeted), budgeted < 1.34),
    ]
}

/// One layer with the default budget, a hundred calls a second.
const OUTAGE: Outage =
    Outage { layers: 1, attempts: 3, budget: true, marks: false, calls: 1_000, pause: Duration::from_millis(10) };

/// Checks that in a total outage three attempts are three times the load, and 1.1 times with the budget of 10 %.
/// "Just below" is because some retries work, which is not modelled.
#[test]
fn three_attempts_triple_the_load_and_a_budget_leaves_a_tenth() {
    crate::rows::check(&ATTEMPTS);
}

/// Checks the two published products, and the two ways out that Google names: an error that forbids retries, and a
/// budget. Every layer is a stack of its own whose attempts are calls through the next. Not checked: what the load
/// does to the latency of a backend that still works, where layers time out on each other.
#[test]
fn layers_multiply_unless_one_forbids_it() {
    crate::rows::check(&LAYERS);
}
