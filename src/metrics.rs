//! What happened, counted: per stack and key, for whoever asks.

use crate::decision::RefusalReason;
use crate::event::VerdictWord;
use crate::time::Duration;

/// Counts since the key was first seen. They saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Calls that began, refused ones among them.
    pub calls: u32,
    /// Attempts sent.
    pub sent: u32,
    verdicts: [u32; VerdictWord::ALL.len()],
    refusals: [u32; RefusalReason::ALL.len()],
    /// Settled attempts by latency: bucket *i* counts those below 2^*i* milliseconds, the last one all others. Refusals
    /// are never in it, a nested stack's no more than our own.
    pub latencies: [u32; LATENCY_BUCKETS],
}

impl Metrics {
    pub(crate) const NONE: Self = Self {
        calls: 0,
        sent: 0,
        verdicts: [0; VerdictWord::ALL.len()],
        refusals: [0; RefusalReason::ALL.len()],
        latencies: [0; LATENCY_BUCKETS],
    };

    /// How many settled attempts had this verdict.
    #[must_use]
    pub fn verdict(&self, verdict: VerdictWord) -> u32 {
        self.verdicts[usize::from(verdict.code())]
    }

    /// How many calls were refused for this reason.
    #[must_use]
    pub fn refusal(&self, reason: RefusalReason) -> u32 {
        self.refusals[usize::from(reason.code())]
    }

    /// Settled attempts by verdict: every verdict, and how many had it.
    pub fn verdicts(&self) -> impl Iterator<Item = (VerdictWord, u32)> + '_ {
        VerdictWord::ALL.iter().copied().zip(self.verdicts)
    }

    /// Refused calls by reason: every reason, and how many were refused for it.
    pub fn refusals(&self) -> impl Iterator<Item = (RefusalReason, u32)> + '_ {
        RefusalReason::ALL.iter().copied().zip(self.refusals)
    }

    pub(crate) fn call(&mut self) {
        increment(Some(&mut self.calls));
    }

    pub(crate) fn send(&mut self, is_first: bool) {
        self.calls = self.calls.saturating_add(u32::from(is_first));
        increment(Some(&mut self.sent));
    }

    pub(crate) fn settle(&mut self, verdict: VerdictWord, latency: Duration) {
        increment(self.verdicts.get_mut(usize::from(verdict.code())));
        // Nothing was sent: how quickly a nested stack refuses says nothing about the upstream.
        if verdict == VerdictWord::Rejected {
            return;
        }
        let millis = latency.as_nanos() / NANOS_PER_MILLI;
        let bucket = (u64::BITS - millis.leading_zeros()) as usize;
        increment(self.latencies.get_mut(bucket.min(LATENCY_BUCKETS - 1)));
    }

    pub(crate) fn refuse(&mut self, reason: RefusalReason) {
        increment(self.refusals.get_mut(usize::from(reason.code())));
    }
}

fn increment(count: Option<&mut u32>) {
    if let Some(count) = count {
        *count = count.saturating_add(1);
    }
}

/// How many latency buckets there are: up to 2¹⁵ ms, and the rest.
pub const LATENCY_BUCKETS: usize = 16;
const NANOS_PER_MILLI: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_powers_of_two() {
        let mut metrics = Metrics::default();
        for millis in [0, 1, 2, 3, 500, 40_000, u64::MAX] {
            metrics.settle(VerdictWord::Success, Duration::from_millis(millis));
        }
        assert_eq!(metrics.latencies[..3], [1, 1, 2]);
        assert_eq!((metrics.latencies[9], metrics.latencies[15]), (1, 2));
        assert_eq!(metrics.verdicts[0], 7);
    }

    #[test]
    fn a_refusal_of_a_nested_stack_is_no_latency() {
        let mut metrics = Metrics::default();
        metrics.settle(VerdictWord::Rejected, Duration::ZERO);
        assert_eq!((metrics.verdicts[5], metrics.latencies), (1, [0; LATENCY_BUCKETS]));
    }
}
