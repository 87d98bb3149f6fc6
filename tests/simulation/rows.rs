//! What was published beside what the engine gives, one figure a row.

/// Some figures from one source, and how they are found again.
pub struct Subject {
    pub title: &'static str,
    /// Title, section, address.
    pub source: &'static str,
    pub rows: fn() -> Vec<Row>,
}

/// One figure.
pub struct Row {
    pub what: String,
    pub published: String,
    pub ours: String,
    pub tolerance: String,
    pub ok: bool,
}

impl Row {
    /// Ours may be off by this much.
    pub fn near(what: impl Into<String>, published: f64, ours: f64, tolerance: f64) -> Self {
        Self {
            what: what.into(),
            published: figure(published),
            ours: figure(ours),
            tolerance: if tolerance == 0.0 { "exact".to_owned() } else { format!("± {}", figure(tolerance)) },
            ok: (ours - published).abs() <= tolerance,
        }
    }

    /// Ours may be off by this share of what was published.
    pub fn within(what: impl Into<String>, published: f64, ours: f64, share: f64) -> Self {
        let tolerance = format!("± {} %", figure(share * 100.0));
        Self { tolerance, ..Self::near(what, published, ours, published.abs() * share) }
    }

    /// Ours is that, to the digit.
    pub fn exact(what: impl Into<String>, published: u64, ours: u64) -> Self {
        let (published, ours, ok) = (published.to_string(), ours.to_string(), published == ours);
        Self { what: what.into(), published, ours, tolerance: "exact".into(), ok }
    }

    /// Something that is so or not: an ordering, a limit.
    pub fn holds(what: impl Into<String>, published: impl Into<String>, ours: impl Into<String>, ok: bool) -> Self {
        Self { what: what.into(), published: published.into(), ours: ours.into(), tolerance: String::new(), ok }
    }
}

/// A mean, and how sure it is.
#[derive(Default)]
pub struct Sample {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sample {
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The standard error of the mean.
    pub fn error(&self) -> f64 {
        let variance = (self.squares - self.sum * self.mean()) / (self.count - 1.0);
        (variance.max(0.0) / self.count).sqrt()
    }
}

/// The standard error of a share that so many trials found.
pub fn error_of_share(share: f64, trials: f64) -> f64 {
    (share * (1.0 - share) / trials).sqrt()
}

/// A number as one says it: four digits, and no more than are needed.
pub fn figure(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 1_000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        size if size >= 0.1 => 4,
        _ => 6,
    };
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How large a simulation is: smaller where the build is slow. Tolerances follow from the size.
pub const fn size(debug: usize, release: usize) -> usize {
    if cfg!(debug_assertions) { debug } else { release }
}

/// How many standard errors a figure may be off: by chance once in sixteen thousand. Seeds are fixed, so that whoever
/// misses it has changed something.
pub const ERRORS: f64 = 4.0;

/// Fails with every row that is off.
#[cfg(test)]
pub fn check(subject: &Subject) {
    let off: Vec<String> = (subject.rows)()
        .into_iter()
        .filter(|row| !row.ok)
        .map(|row| format!("{}: {} published, {} ours, {}", row.what, row.published, row.ours, row.tolerance))
        .collect();
    assert!(off.is_empty(), "{}\n{}\n{}", subject.title, subject.source, off.join("\n"));
}
