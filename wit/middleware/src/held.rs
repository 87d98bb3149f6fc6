//! A slot that is held until the response's body ends: the caller gets a response that reads the same body and notices its
//! end. Nothing is collected; a piece is passed on before the next one is read.

use alloc::vec::Vec;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;

use forbear::{CallId, HostTime};
use wit_bindgen::{StreamResult, spawn_local};

use crate::bindings::wasi::clocks::monotonic_clock::wait_until;
use crate::bindings::{ErrorCode, Response, wit_future, wit_stream};
use crate::site;
use crate::upload::CHUNK;

/// The same response; the call is over when its body is. The engine wants to hear of it at `beat_at`.
pub fn to_its_end(response: Response, call: CallId, beat_at: Option<HostTime>) -> Response {
    let hold = Hold { call, beat_at: Cell::new(beat_at) };
    let (status, headers) = (response.get_status_code(), response.get_headers().clone());
    let (told, heard) = wit_future::new(cut_short);
    let (mut source, trailers) = Response::consume_body(response, heard);
    let (mut out, contents) = wit_stream::new();
    let (passed_on, transmission) = Response::new(headers, Some(contents), trailers);
    let _ = passed_on.set_status_code(status);
    spawn_local(async move {
        let _ = told.write(transmission.await).await;
    });
    spawn_local(async move {
        loop {
            let (result, bytes) = hold.while_it_lasts(source.read(Vec::with_capacity(CHUNK))).await;
            if !hold.while_it_lasts(out.write_all(bytes)).await.is_empty() || result == StreamResult::Dropped {
                return;
            }
        }
    });
    passed_on
}

/// Gives the slot back when it is dropped, by whomever.
struct Hold {
    call: CallId,
    beat_at: Cell<Option<HostTime>>,
}

impl Hold {
    /// Waits, and lets the engine hear meanwhile that the call is still there.
    async fn while_it_lasts<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let mut beat = pin!(wait_until(self.beat_at.get().map_or(u64::MAX, HostTime::as_nanos)));
            let done = poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending => beat.as_mut().poll(context).map(|()| None),
            });
            if let Some(done) = done.await {
                return done;
            }
            let heard = site::with(|site| site.wake(self.call));
            self.beat_at.set(heard.ok().and_then(|decision| decision.at));
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = site::with(|site| site.cancel(self.call));
    }
}

fn cut_short() -> Result<(), ErrorCode> {
    Err(ErrorCode::ConnectionTerminated)
}
