//! HTTP-dates: the three forms of RFC 9110, section 5.6.7, and nothing else.
//!
//! <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7>

/// Seconds since 1970 for an HTTP-date; earlier dates are zero. `wall_now` (in the same unit) tells what century a year
/// of two digits belongs to.
pub(super) fn parse(text: &[u8], wall_now: u64) -> Option<u64> {
    let moment = imf_fixdate(text)
        .or_else(|| rfc850_date(text, i64::try_from(wall_now).ok()?))
        .or_else(|| asctime_date(text))?;
    Some(u64::try_from(moment.seconds()).unwrap_or(0))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(text: &[u8]) -> Option<Moment> {
    let mut text = Text(text);
    let weekday = text.word(&SHORT_DAYS)?;
    text.literal(b", ")?;
    let day = text.number(2)?;
    text.literal(b" ")?;
    let month = text.word(&MONTHS)? + 1;
    text.literal(b" ")?;
    let year = text.number(4)?;
    text.literal(b" ")?;
    let time = text.time()?;
    text.literal(b" GMT")?;
    text.end(Moment { year, month, day, time }, weekday)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850_date(text: &[u8], wall_now: i64) -> Option<Moment> {
    let mut text = Text(text);
    let weekday = text.word(&LONG_DAYS)?;
    text.literal(b", ")?;
    let day = text.number(2)?;
    text.literal(b"-")?;
    let month = text.word(&MONTHS)? + 1;
    text.literal(b"-")?;
    let year = text.number(2)?;
    text.literal(b" ")?;
    let time = text.time()?;
    text.literal(b" GMT")?;
    // What seems more than 50 years ahead is meant to be past: the latest century that does not seem so.
    let latest = wall_now.saturating_add(FIFTY_YEARS);
    let mut readings = (0..100).rev().map(|century| Moment { year: century * 100 + year, month, day, time });
    text.end(readings.find(|moment| moment.seconds() <= latest)?, weekday)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime_date(text: &[u8]) -> Option<Moment> {
    let mut text = Text(text);
    let weekday = text.word(&SHORT_DAYS)?;
    text.literal(b" ")?;
    let month = text.word(&MONTHS)? + 1;
    text.literal(b" ")?;
    let day = if text.literal(b" ").is_some() { text.number(1)? } else { text.number(2)? };
    text.literal(b" ")?;
    let time = text.time()?;
    text.literal(b" ")?;
    let year = text.number(4)?;
    text.end(Moment { year, month, day, time }, weekday)
}

/// What is still to be read. After a failure it is thrown away, so a failed reading may have taken a part.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn literal(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// One of these words, by position.
    fn word(&mut self, words: &[&str]) -> Option<i64> {
        let position = words.iter().position(|word| self.literal(word.as_bytes()).is_some())?;
        i64::try_from(position).ok()
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        i64::try_from(super::whole_number(number)?).ok()
    }

    /// `hh:mm:ss`, in seconds. A 60th second is a leap second, and leap seconds end days.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.literal(b":")?;
        let minute = self.number(2)?;
        self.literal(b":")?;
        let second = self.number(2)?;
        let exists = hour < 24 && minute < 60 && second < 60 || (hour, minute, second) == (23, 59, 60);
        exists.then_some((hour * 60 + minute) * 60 + second)
    }

    /// The moment, if nothing is left and the day exists and is that day of the week (RFC 5322, section 3.3).
    fn end(self, moment: Moment, weekday: i64) -> Option<Moment> {
        (self.0.is_empty() && moment.exists() && moment.weekday() == weekday).then_some(moment)
    }
}

#[derive(Clone, Copy)]
struct Moment {
    year: i64,
    /// 1 to 12.
    month: i64,
    day: i64,
    /// Seconds since midnight.
    time: i64,
}

impl Moment {
    fn exists(&self) -> bool {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let last = match self.month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (1..=last).contains(&self.day)
    }

    /// Days since 1970, in the proleptic Gregorian calendar. Years begin in March here, so that the day that comes and
    /// goes is their last.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`,
    /// <https://howardhinnant.github.io/date_algorithms.html>.
    fn days(&self) -> i64 {
        let year = if self.month > 2 { self.year } else { self.year - 1 };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// 0 is Sunday; 1970 began on a Thursday.
    fn weekday(&self) -> i64 {
        (self.days() + 4).rem_euclid(7)
    }

    fn seconds(&self) -> i64 {
        self.days() * SECS_PER_DAY + self.time
    }
}

const SHORT_DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECS_PER_DAY: i64 = 86_400;
/// Of 365.2425 days each.
const FIFTY_YEARS: i64 = 50 * 31_556_952;

#[cfg(test)]
mod tests;
