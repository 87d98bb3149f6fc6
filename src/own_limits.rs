//! The limits of a call as its host holds to them where the engine does not know the call: docs/driving.md, "Unguarded".

use crate::registry::Kind;
use crate::time::{Duration, HostTime};

/// What ends a call without an engine: its limits hold whatever becomes of the guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// That of the whole call, from its admission on.
    pub total: Option<Duration>,
    /// That of each attempt, from its start on.
    pub attempt: Option<Duration>,
}

impl OwnLimits {
    /// When a call ends that was admitted at `started` and whose latest attempt was sent at `sent`, and whose limit ends it.
    #[must_use]
    pub fn end(self, started: HostTime, sent: Option<HostTime>) -> Option<(HostTime, Kind)> {
        let attempt = self.attempt.zip(sent).map(|(limit, sent)| (sent + limit, Kind::AttemptTimeout));
        let total = self.total.map(|limit| (started + limit, Kind::Deadline));
        attempt.into_iter().chain(total).min_by_key(|(end, _)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_an_engine_ends_by_whichever_of_its_limits_is_first() {
        let (both, at) = (OwnLimits { total: Some(secs(3)), attempt: Some(secs(1)) }, HostTime::from_millis);
        assert_eq!(both.end(at(0), Some(at(500))), Some((at(1_500), Kind::AttemptTimeout)));
        assert_eq!(both.end(at(0), Some(at(2_500))), Some((at(3_000), Kind::Deadline)));
        assert_eq!(both.end(at(0), Some(at(2_000))), Some((at(3_000), Kind::AttemptTimeout)));
        assert_eq!(both.end(at(0), None), Some((at(3_000), Kind::Deadline)), "nothing was sent yet");
        assert_eq!(OwnLimits { total: None, ..both }.end(at(0), None), None);
        assert_eq!(OwnLimits::default().end(at(0), Some(at(0))), None);
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }
}
