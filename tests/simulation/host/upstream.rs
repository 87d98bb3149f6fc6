//! What a host and its upstream say to each other, and how a call is over.

use forbear::{AttemptNumber, Duration, HostTime, Outcome, StackId, Step, Verdict};

/// What the host calls.
pub trait Upstream {
    /// An attempt was sent, or is asked about again as it wished: what comes next?
    fn go_on(&mut self, work: &mut Work, now: HostTime) -> Next;

    /// An attempt that was a call of its own has ended so: what is the outer call told?
    fn hand_on(&mut self, verdict: Verdict) -> Verdict {
        verdict
    }
}

/// An attempt on its way.
pub struct Work {
    /// Whose it is, in the numbers of whoever made the call.
    pub tag: u32,
    pub stack: StackId,
    pub attempt: AttemptNumber,
    /// How often it was asked about before.
    pub stage: u8,
    /// What the upstream remembers of it.
    pub note: u32,
}

pub enum Next {
    /// It ends so, after this time.
    Ends(Duration, Outcome),
    /// It is asked about again after this time.
    Comes(Duration),
    /// It is a call of its own through another stack, and ends as that one does.
    Calls(StackId),
}

/// A call that is over.
pub struct Ending {
    pub tag: u32,
    /// Done, Reject or Unguarded.
    pub step: Step,
    /// How the attempt ended whose result the caller gets.
    pub verdict: Verdict,
    /// How many attempts were sent.
    pub sent: u32,
    pub began: HostTime,
    pub ended: HostTime,
}

impl Ending {
    pub fn is_success(&self) -> bool {
        self.verdict == Verdict::Success
    }

    pub fn millis(&self) -> f64 {
        self.ended.since(self.began).as_nanos() as f64 / 1e6
    }
}
