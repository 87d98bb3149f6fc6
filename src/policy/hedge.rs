#![doc = include_str!("../../docs/policies/hedge.md")]

use crate::call::{Facts, Repeat};
use crate::config::OptionKind;
use crate::time::{Duration, Instant};

options! {
    /// A second attempt beside a slow one.
    pub struct Config for Hedge {
        /// How many attempts run beside each other at most, the first among them.
        attempts: u32 as "attempts", OptionKind::Count, 2, 2.0..=4.0;
        /// How long nothing may have succeeded since the latest start before the next attempt starts.
        after: Duration as "after", OptionKind::Duration, Duration::from_millis(500), 1.0..=86_400_000.0;
    }
}

/// When the next attempt beside the running ones starts, if nothing has succeeded by then.
///
/// `turns` is how many such turns the round has had; a refused or unfunded one counts.
pub(crate) fn next_turn(config: Option<&Config>, facts: &Facts, turns: u8, now: Instant) -> Instant {
    match config {
        Some(config) if may_hedge(facts) && u32::from(turns) + 1 < config.attempts => now + config.after,
        _ => Instant::NEVER,
    }
}

/// Two copies may arrive, so only what anybody may repeat is hedged.
fn may_hedge(facts: &Facts) -> bool {
    facts.repeat == Repeat::Freely && facts.replayable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_arrive_twice_is_hedged_and_only_so_often() {
        let config = Config { attempts: 3, after: Duration::from_millis(50) };
        let due = Instant::ORIGIN + config.after;
        let get = Facts::default();
        assert_eq!(next_turn(Some(&config), &get, 0, Instant::ORIGIN), due);
        assert_eq!(next_turn(Some(&config), &get, 1, Instant::ORIGIN), due);
        assert_eq!(next_turn(Some(&config), &get, 2, Instant::ORIGIN), Instant::NEVER);
        assert_eq!(next_turn(None, &get, 0, Instant::ORIGIN), Instant::NEVER);
        let post = Facts { repeat: Repeat::AfterFailure, ..get };
        assert_eq!(next_turn(Some(&config), &post, 0, Instant::ORIGIN), Instant::NEVER);
        let stream = Facts { replayable: false, ..get };
        assert_eq!(next_turn(Some(&config), &stream, 0, Instant::ORIGIN), Instant::NEVER);
    }
}
