//! Handlers that were given up. They are left to themselves, and go on to their ends with nobody to hear them: an application
//! that is built with wit-bindgen 0.63 traps when it is cancelled, unless it has the feature `inter-task-wakeup`, and takes all
//! other requests of its instance along. The engine is told of their ends, since a bulkhead may hold their slots until then.

use alloc::vec::Vec;
use core::task::{Context, Poll};

use forbear::{AttemptNumber, CallId, Outcome, Verdict};

use super::Running;
use crate::site;

/// An attempt that was given up and goes on, and the call that the engine knows it of.
pub struct Late {
    pub call: Option<CallId>,
    pub attempt: Running,
}

/// The first of these that ends.
pub fn poll(late: &mut Vec<Late>, context: &mut Context<'_>) -> Poll<AttemptNumber> {
    for place in 0..late.len() {
        if late[place].attempt.sending.as_mut().poll(context).is_ready() {
            return Poll::Ready(late.remove(place).attempt.number);
        }
    }
    Poll::Pending
}

impl Late {
    /// Its call is over.
    pub fn outlive(self) {
        wit_bindgen::spawn_local(async move {
            let Self { call, attempt } = self;
            let _ = attempt.sending.await;
            if let Some(id) = call {
                let _ = site::with(|site| site.settle(id, attempt.number, Outcome::new(Verdict::Cancelled)));
            }
        });
    }
}
