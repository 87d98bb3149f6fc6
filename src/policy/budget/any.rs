//! One budget, whichever it is: those of ours by name, so that what every call tells them is called directly, and a host's
//! own behind a table.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

use super::{Budget, ConcurrencyBudget, RetryBudget, Source, TokenBudget};
use crate::key::Key;
use crate::outcome::Verdict;
use crate::time::Instant;

pub(crate) enum AnyBudget {
    Ratio(Box<RetryBudget>),
    Tokens(Box<TokenBudget>),
    Concurrency(Box<ConcurrencyBudget>),
    Own(Box<dyn Budget>),
}

/// What every call tells it. Everything else goes through the table.
impl AnyBudget {
    #[inline]
    pub fn deposit(&mut self, key: Key, now: Instant) {
        match self {
            Self::Ratio(budget) => budget.deposit(key, now),
            Self::Tokens(budget) => budget.deposit(key, now),
            Self::Concurrency(budget) => budget.deposit(key, now),
            Self::Own(budget) => budget.deposit(key, now),
        }
    }

    #[inline]
    pub fn settle(&mut self, key: Key, verdict: Verdict, paid: Option<Source>, now: Instant) {
        match self {
            Self::Ratio(budget) => budget.settle(key, verdict, paid, now),
            Self::Tokens(budget) => budget.settle(key, verdict, paid, now),
            Self::Concurrency(budget) => budget.settle(key, verdict, paid, now),
            Self::Own(budget) => budget.settle(key, verdict, paid, now),
        }
    }

    #[inline]
    pub fn call_ended(&mut self, key: Key) {
        match self {
            Self::Ratio(budget) => budget.call_ended(key),
            Self::Tokens(budget) => budget.call_ended(key),
            Self::Concurrency(budget) => budget.call_ended(key),
            Self::Own(budget) => budget.call_ended(key),
        }
    }
}

impl Deref for AnyBudget {
    type Target = dyn Budget;
    fn deref(&self) -> &dyn Budget {
        match self {
            Self::Ratio(budget) => &**budget,
            Self::Tokens(budget) => &**budget,
            Self::Concurrency(budget) => &**budget,
            Self::Own(budget) => &**budget,
        }
    }
}

impl DerefMut for AnyBudget {
    fn deref_mut(&mut self) -> &mut dyn Budget {
        match self {
            Self::Ratio(budget) => &mut **budget,
            Self::Tokens(budget) => &mut **budget,
            Self::Concurrency(budget) => &mut **budget,
            Self::Own(budget) => &mut **budget,
        }
    }
}
