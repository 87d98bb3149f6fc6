//! Time as plain numbers: instants and durations in nanoseconds, and the one clock that makes instants.
//!
//! The engine never reads a clock. Hosts bring readings ([`HostTime`]) of whatever clock they have, in whatever state
//! it is; [`Clock`] turns them into an [`Instant`] that never runs backwards. All arithmetic saturates.

use core::ops::{Add, Sub};

/// A span of time, in whole nanoseconds (about 584 years at most).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span; used where a limit is off.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From milliseconds; saturates.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// From seconds; saturates.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// In nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// In milliseconds, rounded up: a host that sleeps this long never wakes early.
    #[must_use]
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_MILLI)
    }

    /// `self − other`, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self × factor`, at most [`Duration::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// An equal part of the span; `parts` of zero is read as one.
    #[must_use]
    pub const fn split(self, parts: u64) -> Self {
        Self(self.0 / if parts == 0 { 1 } else { parts })
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

/// A point on the engine's own time line, which starts when the first reading is seen and never runs backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// Where every engine's time line starts: far enough from zero that restored ages fit before it.
    pub const ORIGIN: Self = Self(1 << 62);
    /// Before every instant.
    pub const PAST: Self = Self(0);
    /// After every instant: "not unless something happens".
    pub const NEVER: Self = Self(u64::MAX);

    /// How much later `self` is than `earlier`; zero when it is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The number of whole periods since the beginning of time; a period of zero is read as one nanosecond.
    #[must_use]
    pub const fn periods(self, period: Duration) -> u64 {
        self.0 / if period.0 == 0 { 1 } else { period.0 }
    }

    /// Rounded up to a multiple of `step`, so that instants close to each other become one.
    #[must_use]
    pub const fn round_up(self, step: Duration) -> Self {
        let rest = self.0 % if step.0 == 0 { 1 } else { step.0 };
        if rest == 0 { self } else { Self(self.0.saturating_add(step.0 - rest)) }
    }

    /// Whether what begins now has any time before a deadline. Ours: a host's timer counts whole milliseconds, so that one
    /// which is set for less rings when the time is up.
    #[must_use]
    pub const fn is_in_time(self, deadline: Self) -> bool {
        deadline.since(self).as_nanos() >= NANOS_PER_MILLI
    }

    /// `None` for [`Instant::NEVER`].
    #[must_use]
    pub const fn or_none(self) -> Option<Self> {
        if self.0 == u64::MAX { None } else { Some(self) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// One reading of the host's clock, in nanoseconds since a moment of the host's choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostTime(u64);

impl HostTime {
    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From milliseconds; saturates.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// In nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How much later this reading is than `earlier`; zero when it is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for HostTime {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// Makes engine time out of host readings.
///
/// The requests of one isolate have clocks that lag each other, so small steps back are clamped. After a step back of
/// `STEP_BACK` or more the host's clock may have been set. Time stands still until `SETTLED_AFTER` has passed on the new
/// clock with no reading of the old one; then what has passed on the new clock counts. (To move at once would let one
/// lagging request add an hour.) So a step back, however long, adds no more than the sum of the two to any wait.
///
/// A timer is a second witness: what a host was told to wait for has passed when its timer rings ([`Clock::reach`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    line: Option<Line>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// The host reading that stands for `anchor`.
    host: u64,
    anchor: Instant,
    now: Instant,
    /// The earliest reading of a clock that was set back, while nobody has read the old one since.
    set_back: Option<u64>,
}

impl Clock {
    /// A clock that has not been read.
    #[must_use]
    pub const fn new() -> Self {
        Self { line: None }
    }

    /// The engine's time for this reading.
    pub fn read(&mut self, host: HostTime) -> Instant {
        let host = host.min(LATEST);
        let Some(line) = &mut self.line else {
            self.line = Some(Line { host: host.0, anchor: Instant::ORIGIN, now: Instant::ORIGIN, set_back: None });
            return Instant::ORIGIN;
        };
        let then = line.place(host);
        if then >= line.now {
            line.now = then;
            line.set_back = None;
        } else if line.now.since(then) < STEP_BACK {
            line.set_back = None;
        } else {
            line.follow(host.0);
        }
        line.now
    }

    /// The engine's time at this reading, where a timer that was set for `instant` has rung: it is not earlier, whatever the
    /// host's clock says. A clock that is far behind its own timer was set back, and goes on from here.
    pub fn reach(&mut self, instant: Instant, host: HostTime) -> Instant {
        let (now, host) = (self.read(host), host.min(LATEST));
        let Some(line) = &mut self.line else { return now };
        // No later than a reading can be: a limit of centuries must not use up time.
        line.now = now.max(instant.min(Instant::ORIGIN + Duration(LATEST.0)));
        if line.now.since(line.place(host)) >= STEP_BACK {
            (line.host, line.anchor, line.set_back) = (host.0, line.now, None);
        }
        line.now
    }

    /// How much later the engine's time is than this reading alone would have it; no more than is waited out.
    #[must_use]
    pub fn lag(&self, host: HostTime) -> Duration {
        self.line.map_or(Duration::ZERO, |line| line.now.since(line.place(host.min(LATEST))).min(STEP_BACK))
    }

    /// The latest instant seen, without a reading; `None` before the first one.
    #[must_use]
    pub fn now(&self) -> Option<Instant> {
        self.line.map(|line| line.now)
    }
}

impl Line {
    fn place(&self, host: HostTime) -> Instant {
        if host.0 >= self.host {
            self.anchor + Duration(host.0 - self.host)
        } else {
            self.anchor - Duration(self.host - host.0)
        }
    }

    fn follow(&mut self, host: u64) {
        match self.set_back {
            Some(first) if host >= first => {
                if host - first >= SETTLED_AFTER.0 {
                    (self.host, self.anchor, self.set_back) = (first, self.now, None);
                    self.now = self.place(HostTime(host));
                }
            }
            _ => self.set_back = Some(host),
        }
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SEC: u64 = 1_000_000_000;
/// A step back at least this long means that the host's clock was set. Ours: far above what requests lag each other, and
/// short enough for shorter steps to be waited out.
const STEP_BACK: Duration = Duration::from_millis(500);
/// Readings beyond this (the year 2116 for clocks that count from 1970) are read as this: garbage must not use up time.
const LATEST: HostTime = HostTime(1 << 62);
/// How long a set clock is watched before it is believed. Ours.
const SETTLED_AFTER: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> HostTime {
        HostTime::from_millis(ms)
    }

    fn elapsed(now: Instant) -> u64 {
        now.since(Instant::ORIGIN).as_millis_ceil()
    }

    #[test]
    fn less_than_a_millisecond_is_no_time() {
        let ends = Instant::ORIGIN + Duration::from_millis(1);
        assert!(Instant::ORIGIN.is_in_time(ends) && Instant::ORIGIN.is_in_time(Instant::NEVER));
        assert!(!(Instant::ORIGIN + Duration::from_nanos(1)).is_in_time(ends) && !ends.is_in_time(ends));
        assert!(!(ends + Duration::from_secs(1)).is_in_time(ends));
    }

    #[test]
    fn the_first_reading_is_the_origin_whatever_it_says() {
        for first in [0, 1, 1_700_000_000_000, u64::MAX / NANOS_PER_MILLI] {
            assert_eq!(Clock::default().read(at(first)), Instant::ORIGIN);
        }
    }

    #[test]
    fn small_steps_back_are_clamped() {
        let mut clock = Clock::default();
        clock.read(at(1_000_000));
        assert_eq!(elapsed(clock.read(at(1_000_500))), 500);
        assert_eq!(elapsed(clock.read(at(1_000_001))), 500);
        assert_eq!(elapsed(clock.read(at(1_000_600))), 600);
    }

    #[test]
    fn a_clock_set_back_is_followed_once_it_has_run_for_half_a_second_and_that_time_counts() {
        let mut clock = Clock::default();
        clock.read(at(10_000_000));
        assert_eq!(elapsed(clock.read(at(0))), 0);
        assert_eq!(elapsed(clock.read(at(499))), 0);
        assert_eq!(elapsed(clock.read(at(500))), 500);
        assert_eq!(elapsed(clock.read(at(750))), 750);
    }

    #[test]
    fn no_step_back_adds_more_than_a_second_to_a_wait() {
        for back in (0..200).chain([59_999, 60_000, 60_500, 61_000, 90_000, 3_600_000]).map(|step| step * 10) {
            let mut clock = Clock::default();
            clock.read(at(100_000_000));
            let start = 100_000_000 - back;
            let waited = (0..).find(|passed| elapsed(clock.read(at(start + passed))) >= 2_000).unwrap_or(0);
            assert!(waited <= 3_000, "{back} ms back: {waited} ms instead of 2000");
        }
    }

    #[test]
    fn a_timer_that_has_rung_is_believed_whatever_the_clock_says() {
        let mut clock = Clock::default();
        let start = clock.read(at(1_000_000));
        // Set back by just as long as the wait: the clock alone shows nothing.
        assert_eq!(clock.read(at(1_000_000)), start);
        assert_eq!(elapsed(clock.reach(start + Duration::from_secs(30), at(1_000_000))), 30_000);
        assert_eq!(elapsed(clock.read(at(1_000_001))), 30_001);
        assert_eq!(elapsed(clock.read(at(1_000_700))), 30_700);
        // A timer that rings late changes nothing.
        assert_eq!(elapsed(clock.reach(start, at(1_000_700))), 30_700);
    }

    #[test]
    fn one_lagging_request_among_others_adds_no_time() {
        let mut clock = Clock::default();
        clock.read(at(3_600_000));
        for step in 0..10_000 {
            clock.read(at(step));
            assert_eq!(elapsed(clock.read(at(3_600_000 + step))), step);
        }
    }

    #[test]
    fn jumps_of_hours_forward_are_time_that_passed() {
        let mut clock = Clock::default();
        clock.read(at(5));
        assert_eq!(elapsed(clock.read(at(7_200_005))), 7_200_000);
    }

    #[test]
    fn a_garbage_reading_does_not_use_up_time() {
        let mut clock = Clock::default();
        clock.read(at(1_000));
        let far = clock.read(HostTime::from_nanos(u64::MAX));
        assert!(far < Instant::NEVER - Duration::from_secs(3_600 * 24 * 365 * 100));
        clock.read(at(2_000));
        assert_eq!(clock.read(at(3_500)).since(far), Duration::from_millis(1_500));
    }

    #[test]
    fn milliseconds_are_rounded_up() {
        assert_eq!(Duration::from_nanos(0).as_millis_ceil(), 0);
        assert_eq!(Duration::from_nanos(1).as_millis_ceil(), 1);
        assert_eq!(Duration::from_millis(7).as_millis_ceil(), 7);
        assert_eq!(Duration::MAX.as_millis_ceil(), u64::MAX / NANOS_PER_MILLI + 1);
    }
}
