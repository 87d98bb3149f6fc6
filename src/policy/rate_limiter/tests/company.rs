//! Beside other policies.

use super::*;

// In company.

#[test]
fn a_refusal_further_in_or_out_spends_nothing() {
    // resilix gave tokens back, and minted bursts; here none is taken before all have let the attempt pass.
    let breaker = circuit_breaker::Config { consecutive_failures: Some(1), ..Default::default() };
    let bulkhead = bulkhead::Config { concurrency: 1, ..Default::default() };
    let mut crowd = Crowd::new(StackConfig {
        breaker: Some(Part::Own(breaker)),
        bulkhead: Some(Part::Own(bulkhead)),
        ..stack(config(1, 9))
    });
    let first = crowd.arrive(10);
    crowd.arrive(10);
    assert_eq!(crowd.available(), 8, "the bulkhead refused");
    crowd.end(first, Verdict::Transient);
    crowd.arrive(10);
    assert_eq!(crowd.available(), 8, "the breaker refused, and a failure is not paid back");
}

#[test]
fn a_waiter_that_is_refused_elsewhere_spends_nothing() {
    let breaker = circuit_breaker::Config { consecutive_failures: Some(1), ..Default::default() };
    let mut crowd = Crowd::new(StackConfig { breaker: Some(Part::Own(breaker)), ..stack(patient(1, 1)) });
    let first = crowd.arrive(3_600_000);
    let waiter = crowd.arrive(0);
    crowd.run_for(500);
    crowd.end(first, Verdict::Transient);
    crowd.run_for(500);
    assert!(matches!(crowd.state(waiter), State::Refused(RefusalReason::CircuitOpen, Some(_))));
    assert_eq!((crowd.available(), crowd.waiters()), (1, 0));
}

#[test]
fn a_waiter_out_of_time_spends_nothing() {
    let deadline = Some(deadline::Config { total: Duration::from_millis(1_001), ..Default::default() });
    let mut crowd = Crowd::new(StackConfig { deadline, ..stack(patient(1, 1)) });
    crowd.arrive(0);
    let waiter = crowd.arrive(0);
    crowd.now = crowd.after(1_001);
    crowd.wake(waiter);
    assert_eq!(crowd.state(waiter), State::Refused(RefusalReason::DeadlineExceeded, None));
    assert_eq!((crowd.available(), crowd.waiters()), (1, 0));
}
