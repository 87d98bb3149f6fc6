//! A slot that is held until the response's body ends: the caller gets a response that reads the same body and notices its
//! end. Nothing is collected; a piece is passed on before the next one is read.

use alloc::vec::Vec;
use core::future::Future;
use core::pin::{Pin, pin};

use forbear::CallId;
use wit_bindgen::{StreamReader, StreamResult, StreamWriter, spawn_local};

use crate::bindings::{ErrorCode, Response, wit_future, wit_stream};
use crate::upload::CHUNK;
use crate::{clock, site};

/// The same response; the call is over when its body is.
pub fn to_its_end(response: Response, call: CallId) -> Response {
    let (status, headers) = (response.get_status_code(), response.get_headers().clone());
    let (told, heard) = wit_future::new(cut_short);
    let (source, trailers) = Response::consume_body(response, heard);
    let (out, contents) = wit_stream::new();
    let (passed_on, transmission) = Response::new(headers, Some(contents), trailers);
    let _ = passed_on.set_status_code(status);
    spawn_local(async move {
        let _ = told.write(transmission.await).await;
    });
    spawn_local(pass(Hold(call), source, out));
    passed_on
}

async fn pass(hold: Hold, mut source: StreamReader<u8>, mut out: StreamWriter<u8>) {
    loop {
        let mut read = pin!(source.read(Vec::with_capacity(CHUNK)));
        let (result, bytes) = loop {
            if let Some(piece) = hold.for_a_beat(read.as_mut()).await {
                break piece;
            }
            // Whether somebody still waits for what is read shows in writes only; one of nothing is enough.
            if hold.to_the_end(out.write(Vec::new())).await.0 == StreamResult::Dropped {
                return;
            }
        };
        if !hold.to_the_end(out.write_all(bytes)).await.is_empty() || result == StreamResult::Dropped {
            return;
        }
    }
}

/// Gives the slot back when it is dropped, by whomever.
struct Hold(CallId);

impl Hold {
    async fn to_the_end<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            if let Some(done) = self.for_a_beat(work.as_mut()).await {
                return done;
            }
        }
    }

    /// Waits for a while, after which the engine hears that the call is still there.
    async fn for_a_beat<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let done = clock::within(BEAT_NANOS, work).await;
        if done.is_none() {
            let _ = site::with(|site| site.wake(self.0));
        }
        done
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = site::with(|site| site.cancel(self.0));
    }
}

fn cut_short() -> Result<(), ErrorCode> {
    Err(ErrorCode::ConnectionTerminated)
}

/// Ours: how long a slot may stay taken after its reader has left; more often than the engine asks for.
const BEAT_NANOS: u64 = 1_000_000_000;
