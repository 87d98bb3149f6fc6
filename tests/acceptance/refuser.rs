//! How to be refused: for each reason a stack, and a call that it refuses for that reason.

use forbear::policy::{bulkhead, circuit_breaker, concurrency_limiter, deadline, rate_limiter, throttler};
use forbear::{Facts, Key, Part, Ratio, RefusalReason, StackConfig, StackId};

use super::host::{Host, failure, ms};

/// A stack that has come to refuse the next call for this reason: at once, or when it has waited for 100 ms. Its
/// attempts must hang. It has `more` policies besides.
pub fn refuser(host: &mut Host, reason: RefusalReason, more: StackConfig) -> StackId {
    let stack = host.stack(config(reason, more));
    let once = Facts { replayable: false, ..Facts::default() };
    let first = host.arrive_with(stack, Key::WHOLE, once);
    match reason {
        RefusalReason::CircuitOpen => host.settle(first, 1, failure()),
        RefusalReason::Throttled => {
            host.settle(first, 1, failure());
            for _ in 0..300 {
                let call = host.arrive_with(stack, Key::WHOLE, once);
                host.settle(call, 1, failure());
            }
        }
        // The first one has the only slot, or the only permit.
        _ => {}
    }
    stack
}

/// What a call must be for this reason.
pub fn facts(reason: RefusalReason) -> Facts {
    Facts { cost: if reason == RefusalReason::Oversized { 2 } else { 1 }, ..Facts::default() }
}

/// A call that is refused for this reason, some time after it arrives.
pub fn refused(host: &mut Host, reason: RefusalReason) -> usize {
    let stack = refuser(host, reason, StackConfig::default());
    let call = host.arrive_with(stack, Key::WHOLE, facts(reason));
    host.run_for(100);
    call
}

fn config(reason: RefusalReason, plain: StackConfig) -> StackConfig {
    let bulkhead = bulkhead::Config { concurrency: 1, ..Default::default() };
    match reason {
        RefusalReason::CircuitOpen => {
            let breaker = circuit_breaker::Config {
                consecutive_failures: Some(1),
                open_jitter: Ratio::ZERO,
                ..Default::default()
            };
            StackConfig { breaker: Some(Part::Own(breaker)), ..plain }
        }
        RefusalReason::ConcurrencyLimited => {
            let limiter = concurrency_limiter::Config { initial: 1, min: 1, ..Default::default() };
            StackConfig { concurrency_limiter: Some(Part::Own(limiter)), ..plain }
        }
        RefusalReason::Throttled => {
            let throttler = throttler::Config { max_rejection: Ratio::from_percent(99), ..Default::default() };
            StackConfig { throttler: Some(Part::Own(throttler)), ..plain }
        }
        RefusalReason::BulkheadFull => StackConfig { bulkhead: Some(Part::Own(bulkhead)), ..plain },
        RefusalReason::RateLimited | RefusalReason::Oversized => {
            let limiter = rate_limiter::Config { rate: 1, ..Default::default() };
            StackConfig { rate_limiter: Some(Part::Own(limiter)), ..plain }
        }
        RefusalReason::DeadlineExceeded => {
            let bulkhead = bulkhead::Config { queue: 1, ..bulkhead };
            let deadline = Some(deadline::Config { total: ms(100), ..Default::default() });
            StackConfig { bulkhead: Some(Part::Own(bulkhead)), deadline, ..plain }
        }
        RefusalReason::QueueTimeout => {
            let bulkhead = bulkhead::Config { queue: 1, queue_timeout: Some(ms(100)), ..bulkhead };
            StackConfig { bulkhead: Some(Part::Own(bulkhead)), ..plain }
        }
        other => panic!("no stack here refuses by {}", other.word()),
    }
}
