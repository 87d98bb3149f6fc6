//! A call that the engine does not know, any more or at all: docs/driving.md, "Unguarded".

use core::future::poll_fn;

use forbear::{AttemptNumber, Kind, Outcome, RefusalReason, Rejection, Verdict};

use super::{Call, Event};
use crate::bindings::{ErrorCode, Response};
use crate::{clock, outcome, site};

impl Call {
    /// Goes on within its own limits. How it ends may still be evidence, where only its lease has ended.
    pub async fn go_on_alone(mut self) -> Result<Response, ErrorCode> {
        let is_in_hand = self.ended.iter().any(|ended| ended.result.is_ok());
        if self.running.is_empty() && self.ended.is_empty() {
            let is_late = self.limits.end(self.started, None).is_some_and(|(end, _)| end <= clock::now());
            if is_late || !self.upload.can_be_sent() {
                let refusal = Rejection { reason: RefusalReason::DeadlineExceeded, policy: Kind::Deadline };
                return outcome::refused(refusal, None, self.sent > 0);
            }
            self.start(self.sent + 1);
        }
        while let (false, Some(latest)) = (is_in_hand, self.running.last()) {
            let (number, end) =
                (latest.number, self.limits.end(self.started, Some(latest.started)).map(|(end, _)| end));
            match poll_fn(|context| self.poll(end, context)).await {
                Event::Ended(number) => {
                    self.tell(number, self.outcome(number))?;
                    break;
                }
                Event::Due if end.is_some_and(|end| end <= clock::now()) => {
                    let is_late = self.upload.waits_for_its_sender();
                    self.tell(number, Outcome::new(if is_late { Verdict::Inconclusive } else { Verdict::Timeout }))?;
                    let running = core::mem::take(&mut self.running);
                    self.leave_alone(running);
                    return outcome::timed_out();
                }
                #[cfg(feature = "handler")]
                Event::EndedLate(number) => self.tell(number, Outcome::new(Verdict::Cancelled))?,
                Event::Due | Event::Hint => {} // nothing to a call that waits for nobody
            }
        }
        let running = core::mem::take(&mut self.running);
        self.leave_alone(running);
        let number = self.ended.last().map_or(self.sent, |ended| ended.number);
        self.finish(number, false)
    }

    /// What the engine answers is nothing to a call that goes on alone.
    fn tell(&self, number: AttemptNumber, outcome: Outcome) -> Result<(), ErrorCode> {
        self.id.map_or(Ok(()), |id| site::with(|site| _ = site.settle(id, number, outcome)))
    }
}
