//! The host: clock, entropy and timers, as a Worker has them. None is touched before a call asks.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use forbear::{Duration, HostTime};
use js_sys::{Date, Function, global};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::WorkerGlobalScope;

/// The one clock there is; it stands still while code runs.
pub fn now() -> HostTime {
    host_time(Date::now())
}

/// Milliseconds since 1970 as the engine has them, to the nanosecond. No whole number is lost on the way, as it would be in one
/// multiplication; what is no number is 0.
fn host_time(millis: f64) -> HostTime {
    let whole = millis.floor();
    HostTime::from_millis(whole as u64) + Duration::from_nanos(((millis - whole) * 1e6).round() as u64)
}

/// A word nobody can guess; none where the runtime refuses.
pub fn entropy() -> Option<u64> {
    getrandom::u64().ok()
}

/// Says what is wrong to whoever reads the Worker's log.
pub fn complain(words: &str) {
    worker::console_error!("{words}");
}

/// A timer of the request that polls it. Made inside the future that awaits it, since timers belong to the request that
/// sets them; cleared when dropped.
pub struct Timer {
    id: i32,
    bell: Bell,
    /// Whether it rings before its time, which is longer than a timer can be set for.
    pub is_cut: bool,
}

impl Timer {
    /// None where the runtime refuses one: then whatever else was waited for has to come.
    pub fn after(delay: Duration) -> Option<Self> {
        let bell = Bell::new();
        let millis = timeout_millis(delay);
        let id = scope().set_timeout_with_callback_and_timeout_and_arguments_0(bell.callback(), millis).ok()?;
        Some(Self { id, bell, is_cut: Duration::from_millis(millis as u64) < delay })
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
    fn fractions_of_a_millisecond_are_rounded_and_whole_ones_stay_whole() {
        let cases = [
            (0.0, 0),
            (0.001, 1_000),
            (0.0014999, 1_500),
            (4.1, 4_100_000),
            (1_796_025_387_330.0, 1_796_025_387_330_000_000),
            (1_796_025_387_330.5, 1_796_025_387_330_500_000),
            (-1.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, u64::MAX),
        ];
        for (millis, nanos) in cases {
            assert_eq!(host_time(millis).as_nanos(), nanos, "{millis}");
        }
    }

    #[test]
    fn timers_never_ring_early_and_never_wrap() {
        let cases = [(0, 0), (1, 1), (999_999, 1), (1_000_001, 2), (u64::MAX, i32::MAX)];
        for (nanos, millis) in cases {
            assert_eq!(timeout_millis(Duration::from_nanos(nanos)), millis);
        }
        assert_eq!(timeout_millis(Duration::from_secs(25 * 86_400)), i32::MAX);
    }
}
