//! When an instance reads what others have learned, and when it writes what it has.

use alloc::string::String;

use forbear::{Duration, HostTime};

/// An instance's dealings with its store.
pub struct Persistence {
    /// The name under which its state is kept.
    name: String,
    /// When it had heard from the store, or had waited long enough.
    began: Option<HostTime>,
    /// The store is not for this component, and is left alone.
    denied: bool,
    /// Somebody writes, or waits until it is time to.
    writing: bool,
    /// Something was learned that is not written.
    unsaved: bool,
    due: HostTime,
}

impl Persistence {
    pub const fn new(name: String) -> Self {
        let due = HostTime::from_nanos(0);
        Self { name, began: None, denied: false, writing: false, unsaved: false, due }
    }

    /// What to ask the store for, as long as nothing was heard from it.
    pub fn asks(&self) -> Option<String> {
        self.began.is_none().then(|| self.name.clone())
    }

    /// The store has answered, or not in time. Says whether it is the first time.
    pub fn begin(&mut self, now: HostTime, denied: bool) -> bool {
        let is_first = self.began.is_none();
        if is_first {
            (self.began, self.denied) = (Some(now), denied);
        }
        is_first
    }

    /// A call has taught something. Says whether its task is to write.
    pub fn learn(&mut self) -> bool {
        self.unsaved = true;
        !self.denied && !core::mem::replace(&mut self.writing, true)
    }

    /// When it is time to write.
    pub const fn due(&self) -> HostTime {
        self.due
    }

    /// All that was learned is about to be written, under this name. It is time again when the instance is twice as old, or
    /// after a second: one that lives for a request writes what that has taught, one that lives on does not write with each.
    pub fn save(&mut self, now: HostTime) -> String {
        let age = now.since(self.began.unwrap_or(now));
        (self.unsaved, self.due) = (false, now + age.min(PERIOD));
        self.name.clone()
    }

    /// It was written, or not. Says whether to go on: more was learned meanwhile, and no call is there that would write it.
    pub fn saved(&mut self, is_idle: bool, denied: bool) -> bool {
        self.denied |= denied;
        self.writing = self.unsaved && is_idle && !self.denied;
        self.writing
    }
}

/// Ours: a second of evidence may be lost with an instance.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> HostTime {
        HostTime::from_millis(1_000_000 + ms)
    }

    fn begun() -> Persistence {
        let mut persistence = Persistence::new("shop".into());
        assert_eq!(persistence.asks().as_deref(), Some("shop"));
        assert!(persistence.begin(at(0), false));
        persistence
    }

    #[test]
    fn only_what_is_heard_first_counts_and_nobody_asks_after_that() {
        let mut persistence = begun();
        assert!(!persistence.begin(at(5), true));
        assert_eq!(persistence.asks(), None);
        assert!(persistence.learn(), "the late answer is not heeded");
    }

    #[test]
    fn a_young_instance_writes_at_once_and_an_old_one_once_a_second() {
        let mut persistence = begun();
        let mut written = Vec::new();
        // A call ends every ten milliseconds, for three seconds and a half.
        for now in (10..3_500).step_by(10).map(at) {
            if now >= persistence.due() && persistence.learn() {
                persistence.save(now);
                persistence.saved(true, false);
                written.push((now.as_nanos() / 1_000_000) - 1_000_000);
            }
        }
        assert_eq!(written, [10, 20, 40, 80, 160, 320, 640, 1_280, 2_280, 3_280]);
    }

    #[test]
    fn one_call_at_a_time_writes_and_writes_for_the_others_when_none_is_left() {
        let mut persistence = begun();
        assert!(persistence.learn());
        assert!(!persistence.learn(), "somebody writes");
        persistence.save(at(10));
        assert!(!persistence.learn());
        assert!(persistence.saved(true, false), "nobody else would");
        persistence.save(at(20));
        assert!(!persistence.saved(true, false), "all is written");
        assert!(persistence.learn());
        persistence.save(at(40));
        assert!(!persistence.learn());
        assert!(!persistence.saved(false, false), "whoever is still there will");
        assert!(persistence.learn());
    }

    #[test]
    fn a_store_that_denies_is_left_alone() {
        let mut persistence = Persistence::new("shop".into());
        assert!(persistence.begin(at(0), true));
        assert!(!persistence.learn());
        let mut persistence = begun();
        assert!(persistence.learn());
        persistence.save(at(10));
        assert!(!persistence.learn());
        assert!(!persistence.saved(true, true));
        assert!(!persistence.learn());
    }
}
