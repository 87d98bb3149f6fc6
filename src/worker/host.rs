//! The host: clock, entropy and timers, as a Worker has them. None is touched before a call asks.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::ToString;
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use ::worker::js_sys::{Date, Function, global};
use ::worker::wasm_bindgen::JsCast;
use ::worker::wasm_bindgen::closure::Closure;
use ::worker::web_sys::WorkerGlobalScope;

use crate::time::{Duration, HostTime};

/// The one clock there is; it stands still while code runs.
pub fn now() -> HostTime {
    HostTime::from_millis(Date::now() as u64)
}

/// A word nobody can guess; none where the runtime refuses.
pub fn entropy() -> Option<u64> {
    getrandom::u64().ok()
}

/// Says what is wrong to whoever reads the Worker's log.
pub fn complain(words: &str) {
    ::worker::console_error!("{words}");
}

/// A timer of the request that polls it. Made inside the future that awaits it, since timers belong to the request that
/// sets them; cleared when dropped.
pub struct Timer {
    id: i32,
    bell: Bell,
}

impl Timer {
    /// None where the runtime refuses one: then whatever else was waited for has to come.
    pub fn after(delay: Duration) -> Option<Self> {
        let bell = Bell::new();
        let delay = timeout_millis(delay);
        let id = scope().set_timeout_with_callback_and_timeout_and_arguments_0(bell.callback(), delay).ok()?;
        Some(Self { id, bell })
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.bell.poll(cx)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        scope().clear_timeout_with_handle(self.id);
    }
}

/// A callback that wakes the future which waits for it. Not a promise: one that never settles is never freed, nor is the
/// task that has waited for it. Whoever gives the callback away takes it back before dropping this.
pub struct Bell {
    heard: Rc<Heard>,
    ring: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct Heard {
    rung: Cell<bool>,
    /// Of the last poll, as a future may move between tasks.
    waker: RefCell<Option<Waker>>,
}

impl Bell {
    pub fn new() -> Self {
        let heard = Rc::new(Heard::default());
        let hears = heard.clone();
        let ring: Box<dyn FnMut()> = Box::new(move || {
            hears.rung.set(true);
            if let Some(waker) = hears.waker.take() {
                waker.wake();
            }
        });
        Self { heard, ring: Closure::wrap_assert_unwind_safe(ring) }
    }

    pub fn callback(&self) -> &Function {
        self.ring.as_ref().unchecked_ref()
    }

    pub fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if self.heard.rung.get() {
            return Poll::Ready(());
        }
        self.heard.waker.replace(Some(cx.waker().clone()));
        Poll::Pending
    }
}

/// Rounded up to whole milliseconds, so that it never rings early; cut to what a timer can hold, since beyond it wraps and
/// rings at once. A call that is woken early asks again.
fn timeout_millis(delay: Duration) -> i32 {
    i32::try_from(delay.as_millis_ceil()).unwrap_or(i32::MAX)
}

fn scope() -> WorkerGlobalScope {
    global().unchecked_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_never_ring_early_and_never_wrap() {
        let cases = [(0, 0), (1, 1), (999_999, 1), (1_000_001, 2), (u64::MAX, i32::MAX)];
        for (nanos, millis) in cases {
            assert_eq!(timeout_millis(Duration::from_nanos(nanos)), millis);
        }
        assert_eq!(timeout_millis(Duration::from_secs(25 * 86_400)), i32::MAX);
    }
}
