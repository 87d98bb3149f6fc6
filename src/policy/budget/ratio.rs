//! The default kind: so many repeats for so many first attempts, per key, and a small reserve for all keys together. A
//! wallet is nothing but such a reserve, of which a single key may have all.

use super::reserve::Reserve;
use super::{Budget, Config, Counting, Counts, Receipt, Source};
use crate::config::ConfigError;
use crate::key::{Key, Keyed};
use crate::measure::buckets::Buckets;
use crate::outcome::Verdict;
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer, fingerprint};
use crate::time::{Duration, Instant};

/// A budget of repeats for first attempts.
#[derive(Debug)]
pub struct RetryBudget {
    ratio: Ratio,
    period: Duration,
    accounts: Keyed<Account>,
    /// How many accounts were opened, so that a receipt of a forgotten key is never paid out to its successor.
    opened: u32,
    reserve: Reserve,
}

/// What one key has sent in the window.
#[derive(Debug)]
struct Account {
    number: u32,
    sent: Buckets<LANES, BUCKETS>,
}

impl RetryBudget {
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
        let Config { kind, ratio, window, .. } = *config;
        let ratio = if kind == Counting::Wallet { Ratio::ZERO } else { ratio };
        let (period, reserve) = (window.split(BUCKETS as u64), Reserve::new(config));
        Self { ratio, period, accounts: Keyed::default(), opened: 0, reserve }
    }

    fn account(&mut self, key: Key) -> &mut Account {
        let opened = &mut self.opened;
        self.accounts.entry(key, || {
            *opened = opened.checked_add(1).unwrap_or(1);
            Account { number: *opened, sent: Buckets::default() }
        })
    }

    /// First attempts, and the repeats they paid for.
    fn sent(&self, key: Key, now: Instant) -> [u32; LANES] {
        self.accounts.get(key).map_or([0; LANES], |account| account.sent.sums(now, self.period))
    }

    /// Whether first attempts of the key have earned one more repeat.
    fn has_earned(&self, key: Key, now: Instant) -> bool {
        let [firsts, repeats] = self.sent(key, now);
        self.ratio.allows(repeats.saturating_add(1), firsts)
    }
}

impl Budget for RetryBudget {
    fn deposit(&mut self, key: Key, now: Instant) {
        let period = self.period;
        self.account(key).sent.add(now, period, FIRSTS, 1);
    }

    fn affords(&self, key: Key, _after: Option<Verdict>, now: Instant) -> bool {
        self.has_earned(key, now) || self.reserve.affords(key, now)
    }

    fn withdraw(&mut self, key: Key, _after: Option<Verdict>, now: Instant) -> Option<Receipt> {
        if self.has_earned(key, now) {
            let period = self.period;
            let account = self.account(key);
            account.sent.add(now, period, REPEATS, 1);
            return Some(Receipt { key, at: now, source: Source(account.number) });
        }
        self.reserve.draw(key, now).then_some(Receipt { key, at: now, source: RESERVE })
    }

    fn refund(&mut self, receipt: Receipt) {
        let Receipt { key, at, source } = receipt;
        if source == RESERVE {
            return self.reserve.put_back(key, at);
        }
        if let Some(account) = self.accounts.get_mut(key).filter(|account| account.number == source.0) {
            account.sent.remove(at, self.period, REPEATS, 1);
        }
    }

    fn retry_at(&self, key: Key, _after: Option<Verdict>, now: Instant) -> Option<Instant> {
        let allows = |[firsts, repeats]: [u32; LANES]| self.ratio.allows(repeats.saturating_add(1), firsts);
        let earned = self.accounts.get(key).and_then(|account| account.sent.first(now, self.period, allows));
        earned.into_iter().chain(self.reserve.retry_at(key, now)).min()
    }

    fn counts(&self, key: Key, now: Instant) -> Counts {
        let [firsts, repeats] = self.sent(key, now);
        let repeats = repeats.saturating_add(self.reserve.drawn_by(key, now));
        Counts { firsts, repeats, tokens: self.reserve.left(now) }
    }

    /// Never: a successor earns its own repeats, and what was drawn on the reserve stays drawn.
    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    fn forget(&mut self, key: Key, _now: Instant) {
        self.accounts.forget(key);
        self.reserve.forget(key);
    }

    fn fingerprint(&self) -> u64 {
        let [kind, window, size] = self.reserve.numbers();
        fingerprint([1 + kind, u64::from(self.ratio.millionths()), window, size].into_iter())
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let live = self.accounts.iter().filter(|(_, account)| !account.sent.is_empty(now, self.period));
        out.list(live, |out, (key, account)| {
            out.key(key);
            account.sent.save(now, self.period, out);
        });
        self.reserve.save(now, out);
    }

    /// Replaces everything, and only once all of it has been read.
    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut read = Self { accounts: Keyed::default(), reserve: self.reserve.whole(), ..*self };
        for _ in 0..input.keys()? {
            let (key, sent) = (input.key()?, Buckets::restore(now, self.period, input)?);
            if key != Key::NEW {
                read.account(key).sent = sent;
            }
        }
        read.reserve.restore(now, input)?;
        *self = read;
        Ok(())
    }
}

/// The reserve's source; accounts are numbered from 1.
const RESERVE: Source = Source(0);
const LANES: usize = 2;
const FIRSTS: usize = 0;
const REPEATS: usize = 1;
/// Ours: a window that jumps by a twelfth, ten seconds of the default.
const BUCKETS: usize = 12;
const _: () = const { assert!(size_of::<Account>() + 16 <= super::BYTES_OF_A_KEY as usize) };
