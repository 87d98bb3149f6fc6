//! Stoic, section Testing: "Bulkhead: concurrency never exceeds the limit under 300 contending tasks; the queue limit
//! is exact; random cancellations never leak a slot." The same is asked of the concurrency limiter.

use forbear::policy::concurrency_limiter::ConcurrencyLimiter;
use forbear::policy::{Kind, bulkhead, concurrency_limiter};
use forbear::{Key, Part, RefusalReason, Rejection, Rng, StackConfig, StackId};

use crate::host::{End, Fate, Host, failure, ms, success};

#[test]
fn three_hundred_contenders_never_exceed_the_bulkheads_limit() {
    for concurrency in [1, 2, 8, 299, 300, 301] {
        let (mut host, stack) = before_a_bulkhead(concurrency, 300);
        for _ in 0..300 {
            host.arrive(stack);
        }
        host.run_for(100_000);
        assert_eq!(host.most_at_once, 300.min(concurrency as usize));
        // First in, first out, and everybody was served.
        assert!(host.sent.iter().map(|sent| sent.call).eq(0..300));
    }
}

#[test]
fn three_hundred_contenders_never_exceed_the_concurrency_limit() {
    for algorithm in concurrency_limiter::Algorithm::ALL {
        let mut host = Host::new(|_, rng| {
            let outcome = if rng.between(0, 9) == 0 { failure() } else { success() };
            Fate::Ends(ms(rng.between(1, 400)), outcome)
        });
        let config = concurrency_limiter::Config { algorithm: *algorithm, ..Default::default() };
        let stack = host.stack(StackConfig { concurrency_limiter: Some(Part::Own(config)), ..StackConfig::default() });
        let mut refused = 0;
        for _ in 0..200 {
            for _ in 0..300 {
                let read = |host: &Host| {
                    let limiter = host.engine.gate::<ConcurrencyLimiter>(stack).unwrap();
                    limiter.read(Key::WHOLE, host.engine.instant(host.now))
                };
                let before = read(&host);
                let call = host.arrive(stack);
                // There was room, or there was none, and that is all there is to it.
                let is_refused = matches!(host.end(call), Some(End::Refused(..)));
                assert_eq!(is_refused, before.in_flight >= before.limit, "{algorithm:?}: {before:?}");
                assert!(is_refused || read(&host).in_flight <= before.limit);
                refused += u32::from(is_refused);
            }
            host.run_for(100);
            host.told();
        }
        assert!(refused > 10_000, "{algorithm:?}: {refused}");
    }
}

#[test]
fn the_queue_limit_is_exact() {
    for (concurrency, queue) in [(1, 0), (1, 1), (3, 16), (8, 200)] {
        let (mut host, stack) = before_a_bulkhead(concurrency, queue);
        for _ in 0..300 {
            host.arrive(stack);
        }
        let full = Rejection { reason: RefusalReason::BulkheadFull, policy: Kind::Bulkhead };
        let refused = host.which(|call| matches!(call.end, Some((End::Refused(by, None), _)) if by == full));
        let first = (concurrency + queue) as usize;
        assert_eq!(refused, (first..300).collect::<Vec<_>>());
    }
}

#[test]
fn random_cancellations_never_leak_a_slot() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let concurrency = rng.between(1, 8) as u32;
        let (mut host, stack) = before_a_bulkhead(concurrency, 20);
        for _ in 0..500 {
            host.arrive(stack);
            let living = host.which(|call| call.end.is_none());
            while rng.between(0, 3) > 0 {
                host.leave(living[rng.between(0, living.len() as u64 - 1) as usize]);
            }
            host.run_for(rng.between(0, 20));
        }
        for call in host.which(|call| call.end.is_none()) {
            host.leave(call);
        }
        let bulkhead = host.engine.gate::<bulkhead::Bulkhead>(stack).unwrap();
        assert_eq!((bulkhead.in_flight(Key::WHOLE), bulkhead.queued(Key::WHOLE)), (0, 0));
        assert!(host.most_at_once <= concurrency as usize);
        // All slots are there to be had.
        let before = host.sent.len();
        (0..concurrency).for_each(|_| _ = host.arrive(stack));
        assert_eq!(host.sent.len() - before, concurrency as usize);
    }
}

/// Attempts take 1 to 50 ms.
fn before_a_bulkhead(concurrency: u32, queue: u32) -> (Host, StackId) {
    let mut host = Host::new(|_, rng| Fate::Ends(ms(rng.between(1, 50)), success()));
    let config = bulkhead::Config { concurrency, queue, queue_timeout: None, ..Default::default() };
    let stack = host.stack(StackConfig { bulkhead: Some(Part::Own(config)), ..StackConfig::default() });
    (host, stack)
}
