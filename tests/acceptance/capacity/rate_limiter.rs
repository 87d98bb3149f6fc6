//! Stoic, section Testing: "Limiter: burst then the steady rate on virtual time; FIFO among waiters; cancelled and
//! deadline-cancelled waiters never consume; immediate rejection when the wait exceeds the deadline; property test: for
//! any random schedule of advances, tryAcquires and waiting acquires, permits granted by t never exceed burst + rate ×
//! t, and with enough demand they equal it exactly."

use forbear::policy::rate_limiter::{Config, RateLimiter};
use forbear::policy::{Kind, deadline};
use forbear::{Duration, Facts, HostTime, Key, Part, RefusalReason, Rejection, Rng, StackConfig, StackId};

use crate::host::{End, Fate, Host, ms, success};

#[test]
fn a_burst_and_then_the_steady_rate_first_in_first_out() {
    let (mut host, stack) = limited(50, 100, 100, None);
    for _ in 0..150 {
        host.arrive(stack);
    }
    let begun = host.now;
    assert_eq!(host.sent.len(), 100);
    host.run_for(1_000);
    let starts: Vec<u64> = host.sent.iter().map(|sent| sent.at.since(begun).as_millis_ceil()).collect();
    assert!(starts[100..].iter().copied().eq((1..=50).map(|turn| turn * 20)));
    assert!(host.sent.iter().map(|sent| sent.call).eq(0..150));
}

#[test]
fn waiters_that_leave_or_run_out_of_time_consume_nothing() {
    let (mut host, stack) = limited(10, 5, 100, None);
    let facts = |timeout| Facts { timeout, ..Facts::default() };
    (0..5).for_each(|_| _ = host.arrive(stack));
    // Its turn is at 100 ms.
    let leaves = host.arrive(stack);
    // And its own at 200, five milliseconds before its deadline; but its host comes late.
    let late = host.arrive_with(stack, Key::WHOLE, facts(Some(ms(205))));
    let patient = host.arrive(stack);
    host.run_for(50);
    host.leave(leaves);
    host.run_for(49);
    assert_eq!(host.sent.len(), 5);
    let begun = host.sent[0].at;
    host.oversleep(late, 210);
    host.run_for(300);
    let deadline = Rejection { reason: RefusalReason::DeadlineExceeded, policy: Kind::Deadline };
    assert_eq!(host.end(late), Some(End::Refused(deadline, None)));
    // 399 ms have earned three permits; one was granted.
    let started = host.sent.iter().find(|sent| sent.call == patient).unwrap().at.since(begun);
    assert!(started <= ms(300), "{started:?}");
    assert_eq!((host.sent.len(), available(&host, stack)), (6, 2));
}

#[test]
fn who_would_wait_beyond_the_deadline_is_refused_at_once_and_told_when() {
    let (mut host, stack) = limited(10, 1, 100, Some(ms(250)));
    let calls: Vec<usize> = (0..6).map(|_| host.arrive(stack)).collect();
    // Turns come at 0, 100, 200 ms; 300 is too late for all who follow, and none of them is in line.
    let limited = Rejection { reason: RefusalReason::RateLimited, policy: Kind::RateLimiter };
    let told = End::Refused(limited, Some(host.after(300)));
    let ends: Vec<Option<End>> = calls.iter().map(|call| host.end(*call)).collect();
    assert_eq!(ends, [None, None, None, Some(told), Some(told), Some(told)]);
    assert_eq!(host.engine.gate::<RateLimiter>(stack).unwrap().waiters(Key::WHOLE), 2);
}

#[test]
fn granted_is_never_more_than_burst_plus_rate_times_time_and_with_demand_exactly_that() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let rates = [1, 3, 7, 50, 999];
        // A bucket for one is full for a part of a nanosecond before each permit, so that it earns a little less.
        let (rate, burst) = (rates[rng.between(0, 4) as usize], rng.between(2, 40) as u32);
        let (mut host, stack) = limited(rate, burst, 10, None);
        let demand = rng.between(0, 1) == 1;
        host.arrive(stack);
        let (begun, mut acquired) = (host.now, 0);
        for _ in 0..300 {
            if !demand && rng.between(0, 3) == 0 {
                acquired += u64::from(try_acquire(&mut host, stack));
            }
            if !demand && rng.between(0, 9) == 0 {
                let waiting = host.which(|call| call.end.is_none());
                waiting.into_iter().for_each(|call| host.leave(call));
            }
            while (demand || rng.between(0, 2) == 0) && waiters(&host, stack) < 10 {
                host.arrive(stack);
            }
            // While no more permits come than there are waiters, the line does not run dry.
            let nanos = rng.between(0, 8 * 1_000_000_000 / u64::from(rate));
            host.run_until(host.now + Duration::from_nanos(nanos));
            host.told();
            let granted = host.sent.len() as u64 + acquired;
            let earned = u64::from(burst) + earned(rate, host.now, begun);
            assert!(granted <= earned, "seed {seed}: {granted} of {earned}");
            assert!(!demand || granted == earned, "seed {seed}: only {granted} of {earned}");
        }
    }
}

/// Whole permits for the time that has passed.
fn earned(rate: u32, now: HostTime, begun: HostTime) -> u64 {
    (u128::from(now.since(begun).as_nanos()) * u128::from(rate) / 1_000_000_000) as u64
}

fn limited(rate: u32, burst: u32, queue: u32, total: Option<Duration>) -> (Host, StackId) {
    let mut host = Host::new(|_, _| Fate::Ends(ms(0), success()));
    let config = Config { rate, burst: Some(burst), wait: Duration::from_secs(86_400), queue, ..Config::default() };
    let stack = host.stack(StackConfig {
        deadline: total.map(|total| deadline::Config { total, ..Default::default() }),
        rate_limiter: Some(Part::Own(config)),
        ..StackConfig::default()
    });
    (host, stack)
}

fn waiters(host: &Host, stack: StackId) -> u32 {
    host.engine.gate::<RateLimiter>(stack).unwrap().waiters(Key::WHOLE)
}

fn available(host: &Host, stack: StackId) -> u32 {
    host.engine.gate::<RateLimiter>(stack).unwrap().available(Key::WHOLE, host.engine.instant(host.now))
}

fn try_acquire(host: &mut Host, stack: StackId) -> bool {
    let now = host.now;
    host.engine.operate(stack, now, 0, |limiter: &mut RateLimiter, cx| limiter.try_acquire(Key::WHOLE, 1, cx)).unwrap()
}
