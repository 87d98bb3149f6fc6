//! resilix, section 10: "Throttler holds its computed rejection rate within ±5 % of the analytic value across a
//! failure-rate sweep."
//!
//! The analytic value is computed for every call from a log of the last two minutes, by the book's equation: p =
//! max(0, (requests − K·accepts)/(requests + 1)), at most `maxRejection`. Google, *Site Reliability Engineering*, chapter
//! 21 "Handling Overload", equation 21-1, <https://sre.google/sre-book/handling-overload/>.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use forbear::policy::throttler::{Accounting, Config};
use forbear::{HostTime, Part, StackConfig};

use crate::host::{Call, End, Fate, Host, failure, ms, success};

#[test]
fn sent_accounting_holds_the_analytic_rate_across_a_failure_sweep() {
    for percent in SWEEP {
        let Rates { refused, analytic } = rates(Accounting::Sent, percent);
        assert_holds(refused, analytic, percent);
        // Where a share a is accepted of what is sent, the fixed point is p = 1 − K·a.
        let fixed = (1.0 - 2.0 * (1.0 - percent as f64 / 100.0)).clamp(0.0, 0.9);
        assert_holds(refused, fixed, percent);
    }
}

#[test]
fn offered_accounting_holds_the_analytic_rate_across_a_failure_sweep() {
    for percent in SWEEP {
        let Rates { refused, analytic } = rates(Accounting::Offered, percent);
        assert_holds(refused, analytic, percent);
        // The throttler's own refusals count: from half failing on it runs into its limit, below it refuses nothing.
        if percent != 50 {
            assert_holds(refused, if percent > 50 { 0.9 } else { 0.0 }, percent);
        }
    }
}

/// Five parts in a hundred; or, near nothing, of everything a fiftieth.
#[track_caller]
fn assert_holds(refused: f64, analytic: f64, percent: u64) {
    let off = (refused - analytic).abs();
    assert!(off <= 0.05 * analytic || off <= 0.02, "{percent} % fail: {refused} refused, {analytic} expected");
}

struct Rates {
    refused: f64,
    analytic: f64,
}

/// Twenty calls a second for twenty-five minutes, of which the last fifteen count.
fn rates(accounting: Accounting, percent: u64) -> Rates {
    let failed = Rc::new(Cell::new(false));
    let fails = Rc::clone(&failed);
    let mut host = Host::new(move |_, rng| {
        fails.set(rng.between(1, 100) <= percent);
        Fate::Ends(ms(0), if fails.get() { failure() } else { success() })
    });
    let throttler = Some(Part::Own(Config { accounting, ..Config::default() }));
    let stack = host.stack(StackConfig { throttler, ..StackConfig::default() });
    let begin = host.now;
    let (mut log, mut rates) = (Log::default(), Rates { refused: 0.0, analytic: 0.0 });
    for _ in 0..20 * 1_500 {
        host.run_for(50);
        host.calls.clear();
        let analytic = log.rate(host.now);
        let call = host.arrive(stack);
        host.run_for(0);
        let is_refused = matches!(host.calls[call], Call { end: Some((End::Refused(..), _)), .. });
        if host.now.since(begin) > ms(600_000) {
            rates.refused += f64::from(u8::from(is_refused)) / (20.0 * 900.0);
            rates.analytic += analytic / (20.0 * 900.0);
        }
        if !is_refused || accounting == Accounting::Offered {
            log.add(host.now, !is_refused && !failed.get());
        }
    }
    rates
}

/// The last two minutes, request by request.
#[derive(Default)]
struct Log {
    requests: VecDeque<(HostTime, bool)>,
    accepts: usize,
}

impl Log {
    fn add(&mut self, now: HostTime, accepted: bool) {
        self.requests.push_back((now, accepted));
        self.accepts += usize::from(accepted);
    }

    fn rate(&mut self, now: HostTime) -> f64 {
        while let Some((_, accepted)) = self.requests.front().filter(|(at, _)| now.since(*at) > ms(120_000)) {
            self.accepts -= usize::from(*accepted);
            self.requests.pop_front();
        }
        let (requests, accepts) = (self.requests.len() as f64, self.accepts as f64);
        ((requests - 2.0 * accepts) / (requests + 1.0)).clamp(0.0, 0.9)
    }
}

const SWEEP: [u64; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
