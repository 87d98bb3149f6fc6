//! One gate with all that it is lent, on virtual time: for the tests of a gate without an engine around it.

use crate::event::EventLog;
use crate::policy::{Cx, Gate, Kind, Woken};
use crate::random::Rng;
use crate::time::{Duration, Instant};

pub(super) struct Lent<G> {
    pub gate: G,
    pub now: Instant,
    pub log: EventLog,
    pub kind: Kind,
    pub word: u64,
}

impl<G: Gate> Lent<G> {
    pub fn of(kind: Kind, gate: G) -> Self {
        let mut log = EventLog::default();
        log.listen(true);
        Self { gate, now: Instant::ORIGIN, log, kind, word: 7 }
    }

    pub fn later(&mut self, ms: u64) -> &mut Self {
        self.now = self.now + Duration::from_millis(ms);
        self
    }

    /// One verb's worth: a random word of its own each time.
    pub fn with<T>(&mut self, act: impl FnOnce(&mut G, &mut Cx<'_>) -> T) -> T {
        self.word += 1;
        let (mut rng, mut woken) = (Rng::new(self.word), Woken::default());
        let (log, woken) = (&mut self.log, &mut woken);
        let mut cx = Cx { now: self.now, rng: &mut rng, log, woken, stack: None, policy: self.kind };
        act(&mut self.gate, &mut cx)
    }
}
