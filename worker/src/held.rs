//! A slot that is held until the response's body ends.

use std::cell::Cell;
use std::rc::Rc;

use forbear::{CallId, Duration};
use wasm_bindgen_futures::spawn_local;

use crate::host::Timer;
use crate::isolate;

/// A slot that stays taken while the response's body is read. Drop it when that is done.
#[derive(Debug)]
#[must_use = "dropping it gives the slot back"]
pub struct Held {
    call: CallId,
    over: Rc<Cell<bool>>,
}

impl Held {
    /// Beats from the request that holds it; where that is dropped by the runtime, beats stop and the lease ends.
    pub(crate) fn new(call: CallId, beat: Option<Duration>) -> Self {
        let over = Rc::new(Cell::new(false));
        if let Some(beat) = beat {
            let over = over.clone();
            spawn_local(async move {
                while let Some(timer) = Timer::after(beat) {
                    timer.await;
                    if over.get() {
                        break;
                    }
                    let _ = isolate::with(|isolate| isolate.due(call));
                }
            });
        }
        Self { call, over }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.over.set(true);
        let call = self.call;
        isolate::say(move |isolate| isolate.cancel(call));
        isolate::tell();
    }
}
