//! stub
use crate::config::*;
use crate::key::Key;
use crate::policy::*;
use crate::snapshot::*;
use crate::time::*;
options! { /// c
pub struct Config for Breaker { /// p
 probes: u32 as "probes", OptionKind::Count, 1, 1.0..=10.0; } }
/// b
pub struct CircuitBreaker;
impl CircuitBreaker {
    /// n
    /// # Errors
    /// x
    pub fn new(_c: Config) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}
impl Gate for CircuitBreaker {
    fn ask(&self, _: &Asker, _: Instant) -> Answer {
        Answer::Pass
    }
    fn take(&mut self, _: &Asker, _: &mut Cx<'_>) -> Note {
        Note(0)
    }
    fn settle(&mut self, _: Key, _: &mut Note, _: &Ended, _: &mut Cx<'_>) {}
    fn is_busy(&self, _: Key, _: Instant) -> bool {
        false
    }
    fn forget(&mut self, _: Key) {}
    fn fingerprint(&self) -> u64 {
        1
    }
    fn save(&self, _: Instant, _: &mut Writer) {}
    fn restore(&mut self, _: Instant, _: &mut Reader<'_>) -> Result<(), Damaged> {
        Ok(())
    }
}

words! {
    /// s
    pub enum StateWord {
        /// c
        Closed = "closed",
    }
}
