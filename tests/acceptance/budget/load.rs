//! resilix, section 10: "Reproduce the SRE amplification numbers: unbudgeted retry storm ≈ 3× load, budgeted ≈ 1.1×."
//! and "A single shared budget demonstrably caps retries across three independent pipelines."
//!
//! Source: Google, *Site Reliability Engineering*, chapter 21 "Handling Overload", section "Deciding to Retry",
//! <https://sre.google/sre-book/handling-overload/>.

use forbear::policy::{Kind, budget, retry};
use forbear::{Facts, Part, StackConfig, StackId, StopReason};

use crate::host::{End, Fate, Host, failure, ms};

#[test]
fn a_storm_without_a_budget_is_three_times_the_load() {
    let mut host = down();
    let stack = host.stack(StackConfig { retry: Some(unbudgeted()), ..StackConfig::default() });
    storm(&mut host, &[stack], 600);
    assert_eq!(host.sent.len(), 3 * host.calls.len());
}

#[test]
fn a_storm_with_the_default_budget_is_a_tenth_more_than_the_load() {
    let mut host = down();
    let stack = host.stack(StackConfig { retry: Some(retry::Config::default()), ..StackConfig::default() });
    storm(&mut host, &[stack], 1_200);
    let amplification = host.sent.len() as f64 / host.calls.len() as f64;
    assert!((1.09..1.11).contains(&amplification), "{amplification}");
    // The others were told that the budget said no, and not that nothing more would come of it.
    let poor = host.which(|call| matches!(call.end, Some((End::Done(_, StopReason::BudgetExceeded), _))));
    assert!(poor.len() * 10 > host.calls.len() * 8, "{} of {}", poor.len(), host.calls.len());
}

#[test]
fn one_shared_budget_bounds_three_stacks_where_three_budgets_do_not() {
    let mut shared = down();
    let own = StackConfig { budget: Some(Part::Own(budget::Config::default())), ..StackConfig::default() };
    let object = shared.engine.share_from(&own, Kind::Budget).unwrap();
    let stacks = [(); 3].map(|()| shared.stack(with(Part::Shared(object))));
    // Only the first one has traffic enough to pay for anything; the others have five calls in ten minutes.
    quiet_neighbours(&mut shared, stacks);
    let repeats = shared.sent.len() - shared.calls.len();
    assert_eq!(repeats, 5 + 301, "the reserve once, and a tenth");

    let mut apart = down();
    let stacks = [(); 3].map(|()| apart.stack(with(Part::Own(budget::Config::default()))));
    quiet_neighbours(&mut apart, stacks);
    assert_eq!(apart.sent.len() - apart.calls.len(), 5 + 300 + 5 + 5, "each has a reserve of its own");

    // And a storm on all three at once.
    let mut shared = down();
    let object = shared.engine.share_from(&own, Kind::Budget).unwrap();
    let stacks = [(); 3].map(|()| shared.stack(with(Part::Shared(object))));
    storm(&mut shared, &stacks, 600);
    let amplification = shared.sent.len() as f64 / shared.calls.len() as f64;
    assert!((1.09..1.11).contains(&amplification), "{amplification}");
}

/// Section 9, open questions: "A shared budget bounds the process, but a single hostile key could consume all of it."
#[test]
fn a_hostile_key_consumes_its_own_tenth_and_half_of_the_reserve() {
    let mut host = Host::new(|_, _| Fate::Ends(ms(1), failure()));
    let budget = budget::Config { reserve: 10, ..Default::default() };
    let stack = host.stack(StackConfig {
        retry: Some(retry::Config { attempts: 2, ..Default::default() }),
        budget: Some(Part::Own(budget)),
        ..StackConfig::default()
    });
    let keys = [(); 2].map(|()| host.engine.intern().unwrap());
    let arrive = |host: &mut Host, key| {
        let call = host.arrive_with(stack, key, Facts::default());
        host.run_for(200);
        u32::from(matches!(host.end(call), Some(End::Done(2, _))))
    };
    let [hostile, quiet] = keys;
    // The quiet one draws once; then somebody calls and calls.
    let first = arrive(&mut host, quiet);
    let taken: u32 = (0..400).map(|_| arrive(&mut host, hostile)).sum();
    assert_eq!((first, taken), (1, 400 / 10 + 5));
    // What is left of the reserve is the quiet one's.
    let left: u32 = (0..8).map(|_| arrive(&mut host, quiet)).sum();
    assert_eq!(left, 4);
}

/// Half a minute, which is less than a window.
fn quiet_neighbours(host: &mut Host, [busy, one, other]: [StackId; 3]) {
    for second in 0..30 {
        storm(host, &[busy], 1);
        if second % 6 == 0 {
            host.arrive(one);
            host.arrive(other);
        }
    }
    host.run_for(60_000);
}

/// A hundred calls a second, in turn to each of the stacks; and what they leave behind.
fn storm(host: &mut Host, stacks: &[StackId], seconds: usize) {
    for number in 0..seconds * 100 {
        host.arrive(stacks[number % stacks.len()]);
        host.run_for(10);
        host.told();
    }
    host.run_for(1_000);
}

fn down() -> Host {
    Host::new(|_, _| Fate::Ends(ms(2), failure()))
}

fn with(budget: Part<budget::Config>) -> StackConfig {
    StackConfig { retry: Some(retry::Config::default()), budget: Some(budget), ..StackConfig::default() }
}

fn unbudgeted() -> retry::Config {
    retry::Config { budget: false, ..retry::Config::default() }
}
