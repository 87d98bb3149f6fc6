//! What is bounded, left behind, and known elsewhere.

use super::*;

#[test]
fn g6_the_line_is_bounded_and_full_says_when() {
    let mut crowd = Crowd::new(stack(Config { queue: 2, ..patient(10, 1) }));
    for _ in 0..4 {
        crowd.arrive(0);
    }
    assert_eq!((crowd.waiters(), retry_at(&crowd, 3)), (2, crowd.after(300)));
    let mut without = Crowd::new(stack(Config { queue: 0, ..patient(10, 1) }));
    without.arrive(0);
    without.arrive(0);
    assert_eq!((without.waiters(), retry_at(&without, 1)), (0, without.after(100)));
}

#[test]
fn g6_refusals_and_waiting_leave_no_trace_and_permits_that_were_spent_do() {
    let mut crowd = Crowd::new(stack(Config { queue: 1, ..patient(1, 1) }));
    let bytes = |crowd: &Crowd| crowd.engine.snapshot(STACK, crowd.now);
    let fresh = bytes(&crowd);
    crowd.arrive(0);
    let spent = bytes(&crowd);
    assert_ne!(spent, fresh);
    let waits = crowd.arrive(0);
    let refused = crowd.arrive(0);
    assert!(crowd.state(waits) == State::Waits && matches!(crowd.state(refused), State::Refused(..)));
    assert_eq!(bytes(&crowd), spent);
    crowd.leave(waits);
    assert_eq!(bytes(&crowd), spent);
    crowd.run_for(1_000);
    assert_eq!(bytes(&crowd), fresh);
}

#[test]
fn g6_what_was_spent_is_spent_elsewhere_too() {
    let mut here = Crowd::new(stack(config(3, 5)));
    let moved = |here: &Crowd| {
        let mut there = Crowd::new(stack(config(3, 5)));
        there.now = here.now;
        let saved = here.engine.snapshot(STACK, here.now);
        there.engine.restore(STACK, &saved, &[], here.now).unwrap();
        assert_eq!(there.engine.snapshot(STACK, here.now), saved);
        there
    };
    assert!(here.try_acquire(4));
    here.now = here.now + Duration::from_nanos(333_333_333);
    let mut there = moved(&here);
    assert_eq!((there.available(), here.available()), (1, 1));
    for crowd in [&mut here, &mut there] {
        crowd.now = crowd.now + Duration::from_nanos(1);
        assert_eq!(crowd.available(), 2);
    }
}

#[test]
fn g6_damaged_bytes_change_nothing() {
    let mut limiter = RateLimiter::new(config(3, 5)).unwrap();
    let restore = |limiter: &mut RateLimiter, credit: u64, cut: usize| {
        let mut out = Writer::default();
        out.u16(2);
        for key in [Key::WHOLE, Key::OVERFLOW] {
            out.key(key);
            out.u64(credit);
        }
        let bytes = out.finish();
        limiter.restore(Instant::ORIGIN, &mut Reader::new(&bytes[..bytes.len() - cut]))
    };
    assert_eq!(restore(&mut limiter, 5_000_000_000, 0), Err(Damaged), "a full bucket is not written");
    assert_eq!(restore(&mut limiter, u64::MAX, 0), Err(Damaged));
    assert_eq!(restore(&mut limiter, 0, 1), Err(Damaged));
    assert_eq!(limiter.available(Key::WHOLE, Instant::ORIGIN), 5);
    assert_eq!(restore(&mut limiter, 0, 0), Ok(()));
    assert_eq!(limiter.available(Key::WHOLE, Instant::ORIGIN), 0);
}

#[test]
fn g7_a_key_that_is_not_full_is_busy() {
    let mut crowd = Crowd::new(stack(patient(1, 1)));
    let busy = |crowd: &Crowd, key| crowd.limiter().is_busy(key, crowd.engine.instant(crowd.now));
    crowd.arrive(0);
    assert!(busy(&crowd, Key::WHOLE) && !busy(&crowd, Key::OVERFLOW));
    crowd.run_for(999);
    assert!(busy(&crowd, Key::WHOLE));
    crowd.run_for(1);
    assert!(!busy(&crowd, Key::WHOLE));
    let other = crowd.arrive_with(Key::NEW, Facts::default(), 0);
    assert_eq!((crowd.state(other), crowd.available()), (State::Runs, 1), "keys do not know each other");
}

#[test]
fn g7_more_names_are_not_more_permits() {
    let mut crowd = Crowd::new(stack(Config { interval: Duration::from_secs(86_400), ..config(1, 1) }));
    let arrive = |crowd: &mut Crowd| {
        let guest = crowd.arrive_with(Key::NEW, Facts::default(), 0);
        crowd.run_for(0);
        crowd.state(guest) == State::Over
    };
    // A permit for each key there can be, and one for those who come after and share.
    let granted = (0..1_100).filter(|_| arrive(&mut crowd)).count();
    assert_eq!(granted, usize::from(crate::MAX_KEYS) + 1);
}

#[test]
fn g7_a_key_that_somebody_waits_for_is_busy_and_a_new_owner_begins_with_a_burst() {
    let mut crowd = Crowd::new(stack(patient(1, 1)));
    crowd.arrive(0);
    crowd.arrive(0);
    crowd.die(1);
    crowd.now = crowd.after(5_000);
    let now = crowd.engine.instant(crowd.now);
    assert!(crowd.available() == 1 && crowd.limiter().is_busy(Key::WHOLE, now));
    let forgotten = crowd.engine.operate(STACK, crowd.now, 0, |limiter: &mut RateLimiter, cx| {
        limiter.leave(Key::WHOLE, Place(0), cx);
        assert!(limiter.try_acquire(Key::WHOLE, 1, cx));
        limiter.forget(Key::WHOLE);
        limiter.available(Key::WHOLE, cx.now)
    });
    assert_eq!(forgotten, Some(1));
}
