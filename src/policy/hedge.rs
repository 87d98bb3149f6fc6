#![doc = include_str!("../../docs/policies/hedge.md")]

pub(crate) use self::pace::{BYTES_OF_A_KEY, Pace, Ran};
use crate::call::{Facts, Repeat};
use crate::config::OptionKind;
use crate::ratio::Ratio;
use crate::time::Duration;

mod pace;

options! {
    /// A second attempt beside a slow one.
    pub struct Config for Hedge {
        /// How many attempts run beside each other at most, the first among them.
        attempts: u32 as "attempts", OptionKind::Count, 2, 2.0..=4.0;
        /// How long nothing may have succeeded since the latest start before the next attempt starts.
        after: Duration as "after", OptionKind::Duration, Duration::from_millis(500), 1.0..=86_400_000.0;
        /// Which share of first attempts is to have answered before another one starts, as far as a window tells.
        quantile: Option<Ratio> as "quantile", OptionKind::Ratio, None, 0.5..=0.999;
        /// How long a window lasts.
        window: Duration as "window", OptionKind::Duration, Duration::from_secs(60), 1_000.0..=86_400_000.0;
    }
}

/// Whether another attempt may start beside the running ones, and after how long it does where that is not measured.
///
/// `hedges` is how many hedges of the round are decided; a refused or unfunded one counts.
pub(crate) fn next_delay(config: Option<&Config>, facts: &Facts, hedges: u8) -> Option<Duration> {
    let config = config.filter(|config| may_hedge(facts) && u32::from(hedges) + 1 < config.attempts)?;
    Some(config.after)
}

/// Two copies may arrive, so only what anybody may repeat is hedged.
pub(crate) fn may_hedge(facts: &Facts) -> bool {
    facts.repeat == Repeat::Freely && facts.replayable && !facts.single
}

#[cfg(test)]
mod tests;
