//! resilix, section 9, open questions, as docs/policies/throttler.md answers them.

use forbear::policy::throttler::{Accounting, Throttler};
use forbear::policy::{bulkhead, throttler};
use forbear::{Key, Part, Ratio, StackConfig};

use crate::host::{End, Fate, Host, failure, ms, success};

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
