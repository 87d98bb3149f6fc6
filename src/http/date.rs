//! HTTP-dates: the three forms of RFC 9110, section 5.6.7, and nothing else.
//!
//! <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7>

/// Seconds since 1970 for an HTTP-date; earlier dates are zero. `wall_now` (in the same unit) tells what century a year
/// of two digits belongs to.
pub(super) fn parse(text: &[u8], wall_now: u64) -> Option<u64> {
    FORMS.iter().find_map(|form| read(Text(text), form, wall_now))
}

/// Each letter of the form reads a part of the date, as [`FORMS`] says; anything else stands for itself.
fn read(mut text: Text<'_>, form: &[u8], wall_now: u64) -> Option<u64> {
    let (mut moment, mut weekday) = (Moment::default(), 0);
    for part in form {
        match part {
            b'w' => weekday = text.word(DAYS.iter().filter_map(|day| day.get(..3)))?,
            b'W' => weekday = text.word(DAYS.iter().copied())?,
            b'm' => moment.month = text.word(MONTHS.chunks(3))? + 1,
            b'd' => moment.day = text.number(2)?,
            b'e' => moment.day = if text.literal(b" ").is_some() { text.number(1)? } else { text.number(2)? },
            b'y' => moment.year = text.number(2)?,
            b'Y' => moment.year = text.number(4)?,
            b't' => moment.time = text.time()?,
            literal => text.literal(&[*literal])?,
        }
    }
    if form.contains(&b'y') {
        // What seems more than 50 years ahead is meant to be past: the latest century that does not seem so.
        let latest = i64::try_from(wall_now).ok()?.saturating_add(FIFTY_YEARS);
        let mut readings = (0..100).rev().map(|century| Moment { year: century * 100 + moment.year, ..moment });
        moment = readings.find(|moment| moment.seconds() <= latest)?;
    }
    // RFC 5322, section 3.3: the day must exist and be that day of the week.
    let is_right = text.0.is_empty() && moment.exists() && moment.weekday() == weekday;
    is_right.then(|| u64::try_from(moment.seconds()).unwrap_or(0))
}

/// What is still to be read. After a failure it is thrown away, so a failed reading may have taken a part.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn literal(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// One of these words, by position.
    fn word<'w>(&mut self, mut words: impl Iterator<Item = &'w [u8]>) -> Option<i64> {
        let position = words.position(|word| self.literal(word).is_some())?;
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
}

#[derive(Clone, Copy, Default)]
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

/// `w` and `W` are days of the week, short and long; `m` is a month; `d` and `e` are days of the month, with a zero or a
/// space in front; `y` and `Y` are years of two and four digits; `t` is the time of day.
const FORMS: [&[u8]; 3] = [
    b"w, d m Y t GMT", // Sun, 06 Nov 1994 08:49:37 GMT
    b"W, d-m-y t GMT", // Sunday, 06-Nov-94 08:49:37 GMT
    b"w m e t Y",      // Sun Nov  6 08:49:37 1994
];
const DAYS: [&[u8]; 7] = [b"Sunday", b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday"];
const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
const SECS_PER_DAY: i64 = 86_400;
/// Of 365.2425 days each.
const FIFTY_YEARS: i64 = 50 * 31_556_952;

#[cfg(test)]
mod tests;
