//! Section 9, open questions, as docs/policies/{budget,retry,throttler}.md answer them.

use forbear::policy::throttler::{Accounting, Throttler};
use forbear::policy::{budget, bulkhead, deadline, retry, throttler};
use forbear::{Facts, Key, Part, Ratio, StackConfig, StopReason, http};

use crate::host::{End, Fate, Host, failure, ms, success};

/// "A shared budget bounds the process, but a single hostile key could consume all of it."
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

/// "`Retry-After` longer than the caller's deadline. Honour it and fail immediately, or ignore it and retry sooner?"
#[test]
fn a_retry_after_beyond_the_deadline_ends_the_call_at_once_with_the_upstreams_own_answer() {
    let busy = http::outcome_of_status(503, Some(ms(3_000)));
    let mut host = Host::new(move |_, _| Fate::Ends(ms(5), busy));
    let stack = host.stack(StackConfig {
        deadline: Some(deadline::Config { total: ms(2_000) }),
        retry: Some(retry::Config::default()),
        ..StackConfig::default()
    });
    let begun = host.now;
    assert_eq!(host.call(stack), End::Done(1, StopReason::RetryAfterExceedsDeadline));
    assert_eq!((host.now.since(begun), host.calls[0].results[&1]), (ms(5), busy));
}

/// "Throttler window at low traffic. Two minutes at 8 req/min is ~16 samples."
#[test]
fn at_eight_requests_a_minute_a_few_failures_throttle_nothing_and_an_outage_does() {
    let refused = |failing: u64| {
        let mut host = Host::new(move |_, rng| {
            Fate::Ends(ms(1), if rng.between(1, 100) <= failing { failure() } else { success() })
        });
        let throttler = Some(Part::Own(throttler::Config::default()));
        let stack = host.stack(StackConfig { throttler, ..StackConfig::default() });
        for _ in 0..8 * 60 * 24 {
            host.arrive(stack);
            host.run_for(7_500);
            host.told();
        }
        host.which(|call| matches!(call.end, Some((End::Refused(..), _)))).len() as f64 / (8.0 * 60.0 * 24.0)
    };
    // In ten and more samples one failure of five looks like an overload once in a while.
    assert!(refused(20) < 0.001, "{}", refused(20));
    // Of an outage it refuses what leaves ten requests in the window, and no more: it goes on asking.
    assert!((0.2..0.5).contains(&refused(100)), "{}", refused(100));
}

/// "The throttler counted a request at admit(), so a call refused by any inner policy was recorded as a request the
/// upstream had not accepted": a bulkhead of 5, 20 offered per tick, an upstream that answers everything; 54,103 calls
/// were shed for no reason at all.
#[test]
fn what_inner_policies_shed_never_throttles() {
    for accounting in Accounting::ALL {
        let mut host = Host::new(|_, _| Fate::Ends(ms(9), success()));
        let stack = host.stack(StackConfig {
            throttler: Some(Part::Own(throttler::Config { accounting: *accounting, ..Default::default() })),
            bulkhead: Some(Part::Own(bulkhead::Config { concurrency: 5, ..Default::default() })),
            ..StackConfig::default()
        });
        for _ in 0..3_000 {
            (0..20).for_each(|_| _ = host.arrive(stack));
            host.run_for(10);
            host.told();
        }
        let throttler = host.engine.gate::<Throttler>(stack).unwrap();
        assert_eq!(throttler.read(Key::WHOLE, host.engine.instant(host.now)).rate, Ratio::ZERO);
        assert_eq!(host.sent.len(), 3_000 * 5, "a quarter of 60,000, which is what the bulkhead lets through");
    }
}
