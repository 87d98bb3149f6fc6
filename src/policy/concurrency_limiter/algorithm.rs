//! How a limit follows what a window measured. Limits are thousandths of attempts, latencies microseconds; nothing here
//! is a float.

use crate::config::OptionValue;

words! {
    /// How a limit follows what is measured.
    #[non_exhaustive]
    pub enum Algorithm {
        /// Estimates the queue from how much longer attempts take than without one, and keeps it short.
        Vegas = "vegas",
        /// Shrinks by the ratio of the latencies, and leaves room for a queue.
        Gradient2 = "gradient2",
        /// Grows by one a window until something is cut.
        Aimd = "aimd",
    }
}

impl OptionValue for Algorithm {
    fn set_number(&mut self, word: f64) {
        *self = Self::ALL.get(word as usize).copied().unwrap_or(Self::Vegas);
    }
    fn number(&self) -> f64 {
        f64::from(self.code())
    }
}

/// What a window measured, of a limit that was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub limit: u32,
    /// At least 1.
    pub latency: u32,
    /// At least 1.
    pub baseline: u32,
}

impl Algorithm {
    /// Whether it goes by latencies, which a queue of its own making spoils.
    pub(super) fn probes(self) -> bool {
        self != Self::Aimd
    }

    /// The next limit, before its bounds.
    pub(super) fn next(self, measured: Measured) -> u32 {
        let Measured { limit, latency, baseline } = measured;
        let next = match self {
            Self::Vegas => vegas(measured),
            Self::Gradient2 => gradient2(measured),
            Self::Aimd => return limit + ONE,
        };
        // concurrency-limits#35: with the room for a queue a limit grows for ever at a gradient of 0.8.
        let is_slow = 4 * u64::from(latency) >= 5 * u64::from(baseline);
        if is_slow { next.min(limit) } else { next }
    }
}

/// Source: Netflix, concurrency-limits, `VegasLimit.java`, `updateEstimatedLimit` with its default functions,
/// <https://github.com/Netflix/concurrency-limits>; after Brakmo, O'Malley, Peterson, "TCP Vegas", SIGCOMM 1994.
fn vegas(Measured { limit, latency, baseline }: Measured) -> u32 {
    let whole = limit / ONE;
    let step = whole.checked_ilog10().unwrap_or(0).max(1);
    let excess = u64::from(latency.saturating_sub(baseline));
    let queue = (u64::from(whole) * excess).div_ceil(u64::from(latency)) as u32;
    if queue <= step {
        limit + 6 * step * ONE
    } else if queue < 3 * step {
        limit + step * ONE
    } else if queue > 6 * step {
        limit.saturating_sub(step * ONE)
    } else {
        limit
    }
}

/// Source: Netflix, concurrency-limits, `Gradient2Limit.java`, `_update`: tolerance 1.5, queue 4, smoothing 0.2,
/// <https://github.com/Netflix/concurrency-limits>. The long-term latency is our baseline.
fn gradient2(Measured { limit, latency, baseline }: Measured) -> u32 {
    let gradient = (1_500 * u64::from(baseline) / u64::from(latency)).clamp(500, 1_000);
    let next = u64::from(limit) * gradient / 1_000 + 4 * u64::from(ONE);
    ((4 * u64::from(limit) + next) / 5) as u32
}

/// The baseline after a window: it follows by a sixteenth of the way, and rises by 1/256 of itself at most, so that an
/// incident of minutes moves it little and a change for good is accepted in the end. Up and down alike, since what follows
/// lucky windows faster than unlucky ones ends below all of them, and no limit grows then.
///
/// All ours. Netflix's Vegas takes the first latency after so many samples for the new baseline, whatever is wrong
/// then; tower-resilience's never rises; failsafe-go#127: it climbs to the incident's; concurrency-limits#37: the luckiest
/// sample presses the limit.
pub(super) fn age(baseline: u32, latency: u32) -> u32 {
    if baseline == 0 {
        latency
    } else if latency < baseline {
        baseline - (baseline - latency).div_ceil(16)
    } else {
        baseline.saturating_add((latency - baseline).div_ceil(16).min(baseline.div_ceil(256)))
    }
}

/// One attempt, in thousandths.
const ONE: u32 = 1_000;
