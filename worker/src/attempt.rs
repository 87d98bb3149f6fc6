//! One attempt: what its operation sees of it, and the end at which it is given up.

use forbear::{AttemptNumber, CallId};
use js_sys::{Array, Error, Reflect, Symbol};
use wasm_bindgen::JsValue;
use worker::{AbortController, AbortSignal};

use crate::isolate;

/// One attempt, as its operation sees it.
#[derive(Clone, Debug)]
pub struct Attempt {
    number: AttemptNumber,
    signal: AbortSignal,
    call: Option<CallId>,
}

impl Attempt {
    /// Its number, from 1 on.
    #[must_use]
    pub fn number(&self) -> AttemptNumber {
        self.number
    }

    /// Aborts when the attempt is given up or the caller leaves. Give it to whatever is fetched: to drop a future does not
    /// end what it waits for.
    #[must_use]
    pub fn signal(&self) -> &AbortSignal {
        &self.signal
    }

    /// Says of a [`prepared`](crate::Call::prepared) call's attempt that it is really sent now: its latency begins here.
    pub fn sent(&self) {
        let Self { number, call: Some(call), .. } = *self else { return };
        isolate::say(move |isolate| isolate.sent(call, number));
    }

    /// An attempt, and what aborts it. The caller's own signal reaches its body too, for which no call of ours is there any
    /// more: the runtime joins the two. (On other hosts such joints leak; here a signal lives no longer than its request.)
    pub(crate) fn new(
        number: AttemptNumber,
        call: Option<CallId>,
        caller: Option<&AbortSignal>,
    ) -> (Self, AbortController) {
        let controller = AbortController::default();
        let own = controller.signal();
        let signal = match caller {
            None => own,
            Some(caller) => {
                let both: [&JsValue; 2] = [caller, &own];
                web_sys::AbortSignal::any(&both.into_iter().collect::<Array>()).into()
            }
        };
        (Self { number, signal, call }, controller)
    }
}

/// Why an attempt is given up, as its signal tells it.
pub(crate) fn timed_out() -> JsValue {
    let error = Error::new("forbear: it took too long");
    error.set_name(TIMEOUT_ERROR);
    brand(&error, TIMEOUT_ERROR);
    error.into()
}

pub(crate) fn superseded() -> JsValue {
    let error = Error::new("forbear: another attempt has answered, or the caller left");
    error.set_name("AbortError");
    error.into()
}

/// Marks an error as forbear's own, as the JavaScript package does: stacks around it, in either language, know it by that.
pub(crate) fn brand(error: &JsValue, name: &str) {
    // What cannot be marked is not one of ours.
    let _ = Reflect::set(error, &Symbol::for_("forbear.error"), &name.into());
}

/// The brand of an error made by any copy of forbear.
pub(crate) fn brand_of(error: &JsValue) -> Option<String> {
    if !error.is_object() {
        return None;
    }
    Reflect::get(error, &Symbol::for_("forbear.error")).ok()?.as_string()
}

pub(crate) const TIMEOUT_ERROR: &str = "TimeoutError";
