//! The host's clocks: one for the engine, one for dates.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;

use forbear::HostTime;

use crate::bindings::wasi::clocks::{monotonic_clock, system_clock};

/// Now, as the engine reads it.
pub fn now() -> HostTime {
    HostTime::from_nanos(BEFORE.saturating_add(monotonic_clock::now()))
}

/// Waits until the engine's time has come.
pub async fn until(at: HostTime) {
    monotonic_clock::wait_until(at.as_nanos().saturating_sub(BEFORE)).await;
}

/// What the work comes to, unless it takes longer than `limit` nanoseconds.
pub async fn within<T>(limit: u64, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut late = pin!(monotonic_clock::wait_until(monotonic_clock::now().saturating_add(limit)));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => late.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Milliseconds since 1970.
pub fn wall_now_ms() -> u64 {
    let now = system_clock::now();
    u64::try_from(now.seconds).unwrap_or(0).saturating_mul(1_000) + u64::from(now.nanoseconds / 1_000_000)
}

/// 36 years. A host's clock may begin at zero with the instance, and what was learned before that must lie in the past.
const BEFORE: u64 = 1 << 60;
