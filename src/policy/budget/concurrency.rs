//! The kind that counts what runs: so many repeats at once for so many calls, per key, and a floor.

use super::{Budget, Config, Counting, Counts, Receipt, Source};
use crate::config::ConfigError;
use crate::key::{Key, Keyed};
use crate::outcome::Verdict;
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::Instant;

/// A budget of running repeats for running calls.
#[derive(Debug)]
pub struct ConcurrencyBudget {
    ratio: Ratio,
    floor: u32,
    running: Keyed<Running>,
}

/// What runs of one key.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    /// From their first Send until they are over, pauses between attempts among it.
    calls: u32,
    /// From the moment they are paid for until they end.
    repeats: u32,
}

impl ConcurrencyBudget {
    /// Parses the configuration.
    ///
    /// # Errors
    /// Names the option that is outside its range.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::of(&config))
    }

    /// From a configuration whose ranges have been checked.
    pub(super) fn of(config: &Config) -> Self {
        Self { ratio: config.ratio, floor: config.reserve, running: Keyed::default() }
    }

    fn read(&self, key: Key) -> Running {
        self.running.get(key).copied().unwrap_or_default()
    }

    fn repeat_ended(&mut self, key: Key) {
        if let Some(running) = self.running.get_mut(key) {
            running.repeats = running.repeats.saturating_sub(1);
        }
    }
}

impl Budget for ConcurrencyBudget {
    fn deposit(&mut self, key: Key, _now: Instant) {
        let running = self.running.entry(key, Running::default);
        running.calls = running.calls.saturating_add(1);
    }

    fn affords(&self, key: Key, _after: Option<Verdict>, _now: Instant) -> bool {
        let Running { calls, repeats } = self.read(key);
        let one_more = repeats.saturating_add(1);
        one_more <= self.floor || self.ratio.allows(one_more, calls)
    }

    fn withdraw(&mut self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Receipt> {
        if !self.affords(key, after, now) {
            return None;
        }
        let running = self.running.entry(key, Running::default);
        running.repeats = running.repeats.saturating_add(1);
        Some(Receipt { key, at: now, source: Source(0) })
    }

    /// Answers, and takes nothing: nobody would say when it has ended.
    fn spend(&mut self, key: Key, now: Instant) -> bool {
        self.affords(key, None, now)
    }

    fn refund(&mut self, receipt: Receipt) {
        self.repeat_ended(receipt.key);
    }

    fn release(&mut self, key: Key, _paid: Source) {
        self.repeat_ended(key);
    }

    fn call_ended(&mut self, key: Key) {
        if let Some(running) = self.running.get_mut(key) {
            running.calls = running.calls.saturating_sub(1);
        }
    }

    fn counts(&self, key: Key, _now: Instant) -> Counts {
        let Running { calls, repeats } = self.read(key);
        Counts { firsts: calls, repeats, tokens: None }
    }

    fn is_busy(&self, key: Key, _now: Instant) -> bool {
        self.read(key).calls > 0
    }

    fn forget(&mut self, key: Key, _now: Instant) {
        self.running.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        // Nothing is saved.
        u64::from(Counting::Concurrency.code())
    }

    /// Nothing: what runs ends with the process.
    fn save(&self, _now: Instant, _out: &mut Writer) {}

    fn restore(&mut self, _now: Instant, _input: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}
const _: () = const { assert!(size_of::<Running>() + 16 <= super::BYTES_OF_A_KEY as usize) };
