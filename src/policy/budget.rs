#![doc = include_str!("../../docs/policies/budget.md")]

use alloc::boxed::Box;
use core::any::Any;

use crate::config::{self, ConfigError, OptionKind, OptionValue};
use crate::key::Key;
use crate::outcome::Verdict;
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

pub(crate) use any::AnyBudget;
pub use concurrency::ConcurrencyBudget;
pub use ratio::RetryBudget;
pub use tokens::TokenBudget;

mod any;
mod concurrency;
mod ratio;
mod reserve;
mod tokens;

/// Decides whether one more repeat may be afforded.
pub trait Budget: Any {
    /// A call's first attempt is sent.
    fn deposit(&mut self, key: Key, now: Instant);

    /// Whether it would pay for one repeat. Changes nothing.
    fn affords(&self, key: Key, after: Option<Verdict>, now: Instant) -> bool;

    /// Pays for one repeat, or says no. `after` is how the round ended that is to be repeated; none for a hedge.
    fn withdraw(&mut self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Receipt>;

    /// Pays for something that no verb will hear the end of.
    fn spend(&mut self, key: Key, now: Instant) -> bool {
        self.withdraw(key, None, now).is_some()
    }

    /// The repeat was never sent: what it was paid with goes back to where it came from. What has aged out since stays
    /// out.
    fn refund(&mut self, receipt: Receipt);

    /// An attempt ended, with evidence about the upstream. `paid` is from what it was paid, if it was a repeat.
    fn settle(&mut self, _key: Key, _verdict: Verdict, _paid: Option<Source>, _now: Instant) {}

    /// A repeat that was paid for and sent runs no more: it ended, was given up, or its call's lease ended. Once for each.
    fn release(&mut self, _key: Key, _paid: Source) {}

    /// A call is over, or its lease has ended. Once for each deposit.
    fn call_ended(&mut self, _key: Key) {}

    /// From when on a repeat would be paid that is not now, other traffic aside; `None` where nobody knows.
    fn retry_at(&self, _key: Key, _after: Option<Verdict>, _now: Instant) -> Option<Instant> {
        None
    }

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
    /// The bytes are damaged; nothing has changed then.
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

/// What a budget counts. Kinds of tokens count no attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// First attempts of the key in the window, or its calls that run.
    pub firsts: u32,
    /// Repeats of the key that were paid for in the window, or those that run.
    pub repeats: u32,
    /// Whole tokens that the key has left; of a wallet, the repeats that it has left for all keys. None where nothing such
    /// is counted.
    pub tokens: Option<u32>,
}

figures! {
    Counts as it at now {
        /// First attempts of the key in the window, or its calls that run; 0 where tokens are counted.
        "firsts": u32 = it.firsts;
        /// Repeats of the key that were paid for in the window, or those that run; 0 where tokens are counted.
        "repeats": u32 = it.repeats;
        /// Whole tokens that the key has left; of a wallet, the repeats that it has left for all keys. Undefined for other kinds.
        "tokens": Option<u32> = it.tokens;
    }
}

options! {
    /// How many repeats there may be.
    pub struct Config for Budget {
        /// How it counts. What the options below mean, and which of them a kind reads, is in the table of kinds.
        kind: Counting as "kind", OptionKind::Word(Counting::WORDS), Counting::Ratio, 0.0..=6.0;
        /// The most repeats for each first attempt of a key in the window.
        ratio: Ratio as "ratio", OptionKind::Ratio, Ratio::from_percent(10), 0.0..=1.0;
        /// How far back attempts count.
        window: Duration as "window", OptionKind::Duration, Duration::from_secs(120), 1_000.0..=3_600_000.0;
        /// Repeats in the window beyond the ratio, for all keys together.
        reserve: u32 as "reserve", OptionKind::Count, 5, 0.0..=1_000.0;
        /// The most tokens a key has; off: as many as the kind's origin.
        max: Option<u32> as "max", OptionKind::Count, None, 1.0..=100_000.0;
        /// The tokens a key begins with; off: as many as it may have.
        initial: Option<u32> as "initial", OptionKind::Count, None, 0.0..=100_000.0;
        /// The tokens each success adds; off: as many as the kind's origin.
        deposit: Option<Ratio> as "deposit", OptionKind::Ratio, None, 0.0..=100.0;
        /// The tokens each repeat costs; off: as many as the kind's origin.
        cost: Option<Ratio> as "cost", OptionKind::Ratio, None, 0.0..=1_000.0;
        /// The tokens each second adds.
        refill: Ratio as "refill", OptionKind::Ratio, Ratio::ZERO, 0.0..=1_000.0;
        /// The least ceiling, and the first.
        min: u32 as "min", OptionKind::Count, 10, 1.0..=100_000.0;
        /// What an exhaustion leaves of the ceiling.
        decrease: Ratio as "decrease", OptionKind::Ratio, Ratio::from_percent(50), 0.0..=0.99;
    }
}

words! {
    /// How a budget counts.
    #[non_exhaustive]
    pub enum Counting {
        /// Repeats for first attempts in a window, and a reserve.
        Ratio = "ratio",
        /// Tokens: each success adds some, each repeat costs some. Brooker's, unless set otherwise.
        TokenBucket = "tokenBucket",
        /// Tokens as gRPC counts them: each failure costs, and repeats need more than half of all tokens.
        Grpc = "grpc",
        /// Tokens as AWS's clients count them: a repeat after a timeout costs twice, and one that works is free.
        Aws = "aws",
        /// Tokens below a ceiling that grows with successes and falls when they are used up.
        Aimd = "aimd",
        /// Running repeats for running calls, and a floor.
        Concurrency = "concurrency",
        /// So many repeats in a window, whoever makes them.
        Wallet = "wallet",
    }
}

impl OptionValue for Counting {
    fn set_number(&mut self, word: f64) {
        *self = Self::ALL.get(word as usize).copied().unwrap_or(Self::Ratio);
    }
    fn number(&self) -> f64 {
        f64::from(self.code())
    }
}

impl Counting {
    /// Whether budgets of this kind read the option at this position.
    #[must_use]
    pub const fn reads(self, option: usize) -> bool {
        let read = match self {
            Self::Ratio => const { places(&["kind", "ratio", "window", "reserve"]) },
            Self::TokenBucket | Self::Grpc | Self::Aws => {
                const { places(&["kind", "max", "initial", "deposit", "cost", "refill"]) }
            }
            Self::Aimd => const { places(&["kind", "max", "initial", "deposit", "cost", "refill", "min", "decrease"]) },
            Self::Concurrency => const { places(&["kind", "ratio", "reserve"]) },
            Self::Wallet => const { places(&["kind", "window", "reserve"]) },
        };
        read & (1 << option) != 0
    }
}

/// The positions of these options, one bit each.
const fn places(names: &[&str]) -> u16 {
    let (mut bits, mut name) = (0, 0);
    while name < names.len() {
        bits |= 1 << Config::position(names[name]);
        name += 1;
    }
    bits
}

impl Config {
    /// Checks every value against its own range, and that none is set which this kind does not read.
    fn check(&mut self) -> Result<(), ConfigError> {
        self.check_ranges()?;
        let (kind, mut default) = (self.kind, Self::default());
        for option in 0..Self::OPTIONS.len() {
            let (given, only) = (config::number(self, option), config::number(&mut default, option));
            if !kind.reads(option) && given.to_bits() != only.to_bits() {
                return Err(ConfigError::conflict(Self::KIND, option, given, only, only));
            }
        }
        Ok(())
    }
}

/// The budget that a configuration asks for.
pub(crate) fn build(mut config: Config) -> Result<AnyBudget, ConfigError> {
    config.check()?;
    Ok(match config.kind {
        Counting::Ratio | Counting::Wallet => AnyBudget::Ratio(Box::new(RetryBudget::of(&config))),
        Counting::Concurrency => AnyBudget::Concurrency(Box::new(ConcurrencyBudget::of(&config))),
        _ => AnyBudget::Tokens(Box::new(TokenBudget::of(&config)?)),
    })
}

/// The bytes of one key's state, of the kind that takes most, with what the allocator adds.
pub(crate) const BYTES_OF_A_KEY: u32 = 144;

#[cfg(test)]
mod tests;
