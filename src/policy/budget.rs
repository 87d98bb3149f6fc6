#![doc = include_str!("../../docs/policies/budget.md")]

use core::any::Any;

use crate::config::OptionKind;
use crate::key::Key;
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

pub use ratio::RetryBudget;

mod ratio;
mod reserve;

/// Decides whether one more repeat may be afforded.
pub trait Budget: Any {
    /// A call's first attempt is sent.
    fn deposit(&mut self, key: Key, now: Instant);

    /// Pays for one repeat, or changes nothing and says no.
    fn withdraw(&mut self, key: Key, now: Instant) -> Option<Receipt>;

    /// The repeat was never sent: what it was paid with goes back to where it came from. What has aged out since stays
    /// out.
    fn refund(&mut self, receipt: Receipt);

    /// What was counted for the key lately.
    fn counts(&self, key: Key, now: Instant) -> Counts;

    /// Whether the key's state may not be forgotten now.
    fn is_busy(&self, key: Key, now: Instant) -> bool;

    /// The key is given to somebody else. That must not make repeats affordable that were not.
    fn forget(&mut self, key: Key, now: Instant);

    /// Tells two configurations apart: state of one is not restored into the other.
    fn fingerprint(&self) -> u64;

    /// Writes what outlives a restart, as it is at `now`: windows rolled, ages instead of instants, nothing for pristine
    /// keys.
    fn save(&self, now: Instant, out: &mut Writer);

    /// Reads what `save` wrote.
    ///
    /// # Errors
    /// The bytes are damaged; the budget is then to be thrown away.
    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged>;
}

/// Proof of one withdrawal; kept in the call until the repeat is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whose repeat was paid.
    pub key: Key,
    /// When.
    pub at: Instant,
    /// From what.
    pub source: Source,
}

/// Where a withdrawal came from, in the budget's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub u32);

/// What a budget counted for one key in its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// First attempts.
    pub firsts: u32,
    /// Repeats paid for.
    pub repeats: u32,
}

options! {
    /// How many repeats there may be.
    pub struct Config for Budget {
        /// The most repeats for each first attempt of a key in the window.
        ratio: Ratio as "ratio", OptionKind::Ratio, Ratio::from_percent(10), 0.0..=1.0;
        /// How far back attempts count.
        window: Duration as "window", OptionKind::Duration, Duration::from_secs(120), 1_000.0..=3_600_000.0;
        /// Repeats in the window beyond the ratio, for all keys together.
        reserve: u32 as "reserve", OptionKind::Count, 5, 0.0..=1_000.0;
    }
}

#[cfg(test)]
mod tests;
