//! The pace by itself, without an engine around it.

use alloc::vec::Vec;

use super::*;
use crate::key::Key;
use crate::policy::hedge::pace::{Pace, Ran};
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::Instant;

const NOW: Instant = Instant::ORIGIN;
const OTHER: Key = Key::from_number(2);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn pace() -> Pace {
    Pace::new(Config { quantile: Some(Ratio::from_percent(90)), after: ms(500), ..Config::default() }).unwrap()
}

/// One that knows a pace of these keys.
fn measured(keys: &[Key]) -> Pace {
    let mut pace = pace();
    keys.iter().for_each(|key| (0..20).for_each(|_| pace.sample(*key, Ran::Whole(ms(40)), NOW)));
    pace
}

fn saved(pace: &Pace) -> Vec<u8> {
    saved_at(NOW, pace)
}

fn saved_at(now: Instant, pace: &Pace) -> Vec<u8> {
    let mut out = Writer::default();
    pace.save(now, &mut out);
    out.finish()
}

fn restored_at(now: Instant, bytes: &[u8]) -> Pace {
    let mut pace = pace();
    pace.restore(now, &mut Reader::new(bytes)).unwrap();
    pace
}

#[test]
fn g6_what_was_given_up_before_it_was_slow_says_nothing() {
    let mut pace = pace();
    (0..40).for_each(|_| pace.sample(OTHER, Ran::AtLeast(ms(499)), NOW));
    assert_eq!(pace.read(OTHER, NOW), None);
    (0..20).for_each(|_| pace.sample(OTHER, Ran::AtLeast(ms(500)), NOW));
    assert_eq!(pace.read(OTHER, NOW), Some(ms(500)));
    // From then on it is the pace that tells what is slow.
    let mut known = measured(&[OTHER]);
    (0..100).for_each(|_| known.sample(OTHER, Ran::AtLeast(ms(39)), NOW));
    assert_eq!(known.read(OTHER, NOW + ms(3_600_000)), None);
    assert_eq!(known.read(OTHER, NOW), Some(ms(40)));
}

#[test]
fn g6_a_key_that_is_given_to_somebody_else_has_no_pace() {
    let mut pace = measured(&[OTHER]);
    pace.forget(OTHER);
    assert_eq!(pace.read(OTHER, NOW), None);
}

#[test]
fn g6_of_a_damaged_snapshot_nothing_is_known_and_of_pristine_keys_nothing_is_saved() {
    let mut pace = pace();
    let new = saved(&pace);
    pace.sample(OTHER, Ran::AtLeast(ms(40)), NOW);
    assert_eq!(saved(&pace), new);
    let bytes = saved(&measured(&[Key::WHOLE, OTHER]));
    for end in 0..bytes.len() {
        assert_eq!(pace.restore(NOW, &mut Reader::new(&bytes[..end])), Err(Damaged));
        assert_eq!(saved(&pace), new);
    }
    pace.restore(NOW, &mut Reader::new(&bytes)).unwrap();
    assert_eq!(saved(&pace), bytes);
}

#[test]
fn g6_a_window_that_is_not_over_goes_on_where_it_is_restored() {
    let (mut there, mut here) = (pace(), pace());
    (0..19).for_each(|_| here.sample(OTHER, Ran::Whole(ms(40)), NOW));
    there.restore(NOW, &mut Reader::new(&saved(&here))).unwrap();
    assert_eq!(there.read(OTHER, NOW), None);
    there.sample(OTHER, Ran::Whole(ms(40)), NOW);
    assert_eq!(there.read(OTHER, NOW), Some(ms(40)));
}

#[test]
fn g6_what_is_restored_ends_when_it_would_have_ended() {
    let there = NOW + ms(1_000_000);
    // 50 of 60 seconds of its window are over, and what that tells holds for two more.
    let within = restored_at(there, &saved_at(NOW + ms(50_000), &measured(&[OTHER])));
    // The window is over for 30 seconds, and nothing came since.
    let beyond = restored_at(there, &saved_at(NOW + ms(90_000), &measured(&[OTHER])));
    for (pace, left_ms) in [(within, 130_000), (beyond, 90_000)] {
        assert_eq!(pace.read(OTHER, there + ms(left_ms - 1)), Some(ms(40)));
        assert_eq!(pace.read(OTHER, there + ms(left_ms)), None);
    }
}

#[test]
fn g6_what_is_not_there_has_no_age() {
    let unmeasured = |now| {
        let mut pace = pace();
        (0..19).for_each(|_| pace.sample(OTHER, Ran::Whole(ms(40)), now));
        saved_at(now, &pace)
    };
    assert_eq!(unmeasured(NOW), unmeasured(NOW + ms(77)));
    let without_samples = saved_at(NOW + ms(90_000), &measured(&[OTHER]));
    assert!(without_samples.ends_with(&0_u64.to_le_bytes()), "a window that has not begun");
}
