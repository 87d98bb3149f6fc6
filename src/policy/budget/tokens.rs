//! The kinds that count tokens, per key: successes add some, repeats (or failures) cost some.
//!
//! Tokens are whole numbers of millionths, the unit that options are exact to, so that nothing is rounded away.

use super::{Budget, Config, Counting, Counts, Receipt, Source};
use crate::config::ConfigError;
use crate::key::{Key, Keyed};
use crate::outcome::Verdict;
use crate::ratio::Ratio;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

/// A budget of tokens.
#[derive(Debug)]
pub struct TokenBudget {
    fingerprint: u64,
    rules: Rules,
    purses: Keyed<Purse>,
}

/// What a kind and its options come to, in millionths of a token.
#[derive(Clone, Copy, Debug)]
struct Rules {
    kind: Counting,
    max: u64,
    /// The ceiling that a purse begins with, and has at least.
    min: u64,
    initial: u64,
    deposit: u64,
    cost: u64,
    /// In a second.
    refill: u64,
    decrease: Ratio,
}

/// What one key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Purse {
    balance: u64,
    /// Between the rules' `min` and `max`.
    ceiling: u64,
    /// Up to when time has been paid for,
    filled_at: Instant,
    /// and what it has earned of the next millionth, in billionths of that.
    part: u32,
    /// A repeat was refused since the last success: it lowers the ceiling once.
    exhausted: bool,
}

impl TokenBudget {
    /// Parses the configuration.
    ///
    /// # Errors
    /// Names the option that is outside its range, or above another one.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Self::of(&config)
    }

    /// From a configuration whose ranges have been checked.
    pub(super) fn of(config: &Config) -> Result<Self, ConfigError> {
        let rules = Rules::new(config);
        let (option, given, most) = if rules.min > rules.max {
            (const { Config::position("min") }, rules.min, rules.max)
        } else if rules.initial > rules.min {
            (const { Config::position("initial") }, rules.initial, rules.min)
        } else {
            return Ok(Self { fingerprint: config.fingerprint(), rules, purses: Keyed::default() });
        };
        let [given, most] = [given, most].map(|millionths| (millionths / TOKEN) as f64);
        Err(ConfigError::conflict(Config::KIND, option, given, 0.0, most))
    }

    /// The key's purse as it is at `now`.
    fn read(&self, key: Key, now: Instant) -> Purse {
        self.purses.get(key).map_or_else(|| self.rules.purse(now), |purse| purse.filled(&self.rules, now))
    }

    fn purse(&mut self, key: Key, now: Instant) -> &mut Purse {
        let filled = self.read(key, now);
        let purse = self.purses.entry(key, || filled);
        *purse = filled;
        purse
    }
}

impl Budget for TokenBudget {
    /// Time begins to refill the key's purse.
    fn deposit(&mut self, key: Key, now: Instant) {
        self.purse(key, now);
    }

    fn affords(&self, key: Key, after: Option<Verdict>, now: Instant) -> bool {
        self.rules.affords(&self.read(key, now), after)
    }

    fn withdraw(&mut self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Receipt> {
        let rules = self.rules;
        let purse = self.purse(key, now);
        if rules.affords(purse, after) {
            let price = rules.price(after);
            purse.balance -= price;
            return Some(Receipt { key, at: now, source: Source(price as u32) });
        }
        if rules.min < rules.max && !purse.exhausted {
            purse.exhausted = true;
            purse.ceiling = share(rules.decrease, purse.ceiling).max(rules.min);
            purse.balance = purse.balance.min(purse.ceiling);
        }
        None
    }

    /// Successes add tokens too, but nobody knows when.
    fn retry_at(&self, key: Key, after: Option<Verdict>, now: Instant) -> Option<Instant> {
        let (rules, purse) = (&self.rules, self.read(key, now));
        let wanted = rules.price(after).max(rules.threshold() + 1);
        if rules.refill == 0 || wanted > purse.ceiling {
            return None;
        }
        let missing = wanted.saturating_sub(purse.balance);
        // Whole seconds apart from the rest, so that nothing overflows: less than 10¹⁸.
        let parts = (missing % rules.refill * SECOND).saturating_sub(u64::from(purse.part));
        let nanos = (missing / rules.refill).saturating_mul(SECOND).saturating_add(parts.div_ceil(rules.refill));
        Some(now + Duration::from_nanos(nanos))
    }

    fn refund(&mut self, receipt: Receipt) {
        if let Some(purse) = self.purses.get_mut(receipt.key) {
            purse.add(u64::from(receipt.source.0));
        }
    }

    fn settle(&mut self, key: Key, verdict: Verdict, paid: Option<Source>, now: Instant) {
        let rules = self.rules;
        let purse = self.purse(key, now);
        if !verdict.is_answer() {
            let fine = if rules.kind == Counting::Grpc { rules.cost } else { 0 };
            purse.balance = purse.balance.saturating_sub(fine);
            return;
        }
        if verdict == Verdict::Success {
            purse.exhausted = false;
            purse.ceiling = purse.ceiling.saturating_add(rules.deposit).min(rules.max);
        }
        match paid {
            Some(paid) if rules.kind == Counting::Aws => purse.add(u64::from(paid.0)),
            _ if verdict == Verdict::Success => purse.add(rules.deposit),
            _ => {}
        }
    }

    fn counts(&self, key: Key, now: Instant) -> Counts {
        let tokens = self.read(key, now).balance / TOKEN;
        Counts { tokens: Some(tokens as u32), ..Counts::default() }
    }

    /// Never: a successor begins with what is left.
    fn is_busy(&self, _key: Key, _now: Instant) -> bool {
        false
    }

    /// The successor has no more than its predecessor left, and no more than anybody begins with.
    fn forget(&mut self, key: Key, now: Instant) {
        if self.purses.get(key).is_some() {
            let fresh = self.rules.purse(now);
            let purse = self.purse(key, now);
            *purse = Purse { balance: purse.balance.min(fresh.balance), ..fresh };
        }
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn save(&self, now: Instant, out: &mut Writer) {
        let filled = self.purses.iter().map(|(key, purse)| (key, purse.filled(&self.rules, now)));
        // One that time is filling is not like one that nobody has touched, whatever is in it now.
        let fresh = self.rules.purse(now);
        let is_filling = self.rules.refill > 0 && fresh.balance < fresh.ceiling;
        out.list(filled.filter(|(_, purse)| is_filling || *purse != fresh), |out, (key, purse)| {
            out.key(key);
            out.u64(purse.balance);
            out.u64(purse.ceiling);
            out.u32(purse.part);
            out.u8(u8::from(purse.exhausted));
        });
    }

    /// Replaces everything, and only once all of it has been read.
    fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut purses = Keyed::default();
        for _ in 0..input.keys()? {
            let key = input.key()?;
            let (balance, ceiling) = (input.u64()?, input.u64()?);
            let (part, exhausted) = (input.u32()?, input.u8()? != 0);
            let purse = Purse { balance, ceiling, filled_at: now, part, exhausted };
            let Rules { min, max, .. } = self.rules;
            if balance > ceiling || !(min..=max).contains(&ceiling) || u64::from(part) >= SECOND {
                return Err(Damaged);
            }
            if key != Key::NEW {
                *purses.entry(key, || purse) = purse;
            }
        }
        self.purses = purses;
        Ok(())
    }
}

impl Purse {
    fn add(&mut self, tokens: u64) {
        self.balance = self.balance.saturating_add(tokens).min(self.ceiling);
    }

    /// With what time has added by `now`; the same however often one looks in between.
    fn filled(mut self, rules: &Rules, now: Instant) -> Self {
        let elapsed = now.since(self.filled_at).as_nanos();
        let (seconds, nanos) = (elapsed / SECOND, elapsed % SECOND);
        // Less than 10¹⁸ + 10⁹.
        let parts = nanos * rules.refill + u64::from(self.part);
        let earned = seconds.saturating_mul(rules.refill).saturating_add(parts / SECOND);
        self.part = if earned < self.ceiling.saturating_sub(self.balance) { (parts % SECOND) as u32 } else { 0 };
        self.add(earned);
        self.filled_at = now;
        self
    }
}

/// Sources: see the page's table of kinds.
impl Rules {
    fn new(config: &Config) -> Self {
        let (max, deposit, cost) = match config.kind {
            Counting::Grpc => (10, 100_000, TOKEN),
            Counting::Aws => (500, TOKEN, 5 * TOKEN),
            Counting::Aimd => (1_000, 100_000, TOKEN),
            _ => (5, 100_000, TOKEN),
        };
        let max = tokens(config.max, max);
        let min = if config.kind == Counting::Aimd { tokens(Some(config.min), 0) } else { max };
        Self {
            kind: config.kind,
            max,
            min,
            initial: config.initial.map_or(min, |initial| tokens(Some(initial), 0)),
            deposit: config.deposit.map_or(deposit, |ratio| u64::from(ratio.millionths())),
            cost: config.cost.map_or(cost, |ratio| u64::from(ratio.millionths())),
            refill: u64::from(config.refill.millionths()),
            decrease: config.decrease,
        }
    }

    /// What a repeat costs.
    fn price(&self, after: Option<Verdict>) -> u64 {
        match (self.kind, after) {
            // It is failures that cost.
            (Counting::Grpc, _) => 0,
            (Counting::Aws, Some(Verdict::Timeout)) => 2 * self.cost,
            _ => self.cost,
        }
    }

    fn affords(&self, purse: &Purse, after: Option<Verdict>) -> bool {
        purse.balance >= self.price(after) && purse.balance > self.threshold()
    }

    /// A repeat needs more than this.
    fn threshold(&self) -> u64 {
        if self.kind == Counting::Grpc { self.max / 2 } else { 0 }
    }

    /// What nobody has touched.
    fn purse(&self, now: Instant) -> Purse {
        Purse { balance: self.initial, ceiling: self.min, filled_at: now, part: 0, exhausted: false }
    }
}

/// A share of so many tokens, rounded down.
fn share(ratio: Ratio, tokens: u64) -> u64 {
    ratio.of(Duration::from_nanos(tokens)).as_nanos()
}

fn tokens(given: Option<u32>, or: u32) -> u64 {
    u64::from(given.unwrap_or(or)) * TOKEN
}

const TOKEN: u64 = 1_000_000;
/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;
const _: () = const { assert!(size_of::<Purse>() + 16 <= super::BYTES_OF_A_KEY as usize) };
