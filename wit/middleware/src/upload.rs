//! A request as it came, and the request of each attempt.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::{Future, IntoFuture, poll_fn};
use core::pin::pin;
use core::task::Poll;

use wit_bindgen::{FutureReader, FutureWriter, StreamReader, StreamResult, StreamWriter, spawn_local};

use crate::bindings::{
    ErrorCode, Headers, Method, Request, RequestOptions, Response, Scheme, Trailers, send_on, wit_future, wit_stream,
};
use crate::facts;
use crate::replay::{Listener, Piece, ReplayBuffer};

/// A request that was taken apart, to be sent once or several times.
pub struct Upload {
    method: Method,
    scheme: Option<Scheme>,
    authority: Option<String>,
    path: Option<String>,
    headers: Headers,
    options: Option<RequestOptions>,
    /// None where it says that it is empty.
    body: Option<Recording>,
    /// How long it says that its body is.
    length: Option<u64>,
}

/// Who sent a request hears here how its transmission ended.
pub struct Told(FutureWriter<Transmitted>);

/// What belongs to an attempt beside its result. A host that sees the transmission's future dropped gives the request up,
/// and cuts its response short without a word (wasmtime#14227): it is kept until the transmission has ended.
pub struct Delivery {
    transmission: FutureReader<Transmitted>,
    _listener: Option<Recording>,
}

/// What comes of an attempt.
pub type Sent = (Result<Response, ErrorCode>, Delivery);
type Transmitted = Result<(), ErrorCode>;
type Ending = Result<Option<Trailers>, ErrorCode>;
type Recording = Listener<Rc<Ending>>;

impl Upload {
    /// Takes a request apart whose body is `length` bytes long, where it says so; up to `most` bytes of it are kept. Its body is
    /// read from now on, whether or not it is sent.
    pub fn begin(request: Request, length: Option<u64>, most: u64) -> (Rc<Self>, Told) {
        let method = request.get_method();
        let scheme = request.get_scheme();
        let authority = request.get_authority();
        let path = request.get_path_with_query();
        let headers = request.get_headers().clone();
        let options = request.get_options().map(|options| options.clone());
        let (told, heard) = wit_future::new(not_transmitted);
        let (source, trailers) = Request::consume_body(request, heard);
        let body = (length != Some(0)).then(|| {
            let replay = ReplayBuffer::new(most as usize);
            let listener = replay.listen();
            spawn_local(record(replay, source, trailers));
            listener
        });
        (Rc::new(Self { method, scheme, authority, path, headers, options, body, length }), Told(told))
    }

    /// Whether there is a body to send, from its beginning on.
    pub fn can_be_sent(&self) -> bool {
        self.body.as_ref().is_none_or(Listener::is_whole)
    }

    /// Whether an error is the request's own, by whatever name it comes back: its body was broken off or has another length than
    /// it says, or its scheme is one that the host does not know. Such an error says nothing about the upstream.
    pub fn is_to_blame(&self, error: &ErrorCode) -> bool {
        let is_wrong = self.body.as_ref().map(Listener::heard).is_some_and(|(came, ending)| {
            let is_short =
                ending.is_some_and(|ending| ending.is_err() || self.length.is_some_and(|length| came < length));
            is_short || self.length.is_some_and(|length| came > length)
        });
        is_wrong || matches!((&self.scheme, error), (Some(Scheme::Other(_)), ErrorCode::HttpProtocolError))
    }

    /// Whether more of the body is to come, and its sender is what is waited for.
    pub fn waits_for_its_sender(&self) -> bool {
        self.body.as_ref().is_some_and(Listener::waits_for_more)
    }

    /// Sends the request, as an attempt's own, once it is known whether it has a body. `came` hears when all of that has come.
    pub async fn send(self: Rc<Self>, came: impl FnOnce() + 'static) -> Sent {
        let may_be_empty = self.length.is_none() && facts::is_bodyless(&self.method);
        let (contents, trailers, listener) = match &self.body {
            Some(recording) if !(may_be_empty && poll_fn(|context| recording.poll_is_empty(context)).await) => {
                let (out, contents) = wit_stream::new();
                let (trailers, listener) = play(recording, out, came);
                (Some(contents), trailers, Some(listener))
            }
            // Nothing, and so no trailers either: HTTP/1.1 has them behind chunks alone (RFC 9112, section 7.1.2). The writing end
            // is dropped, which writes this.
            _ => {
                came();
                (None, wit_future::new(|| Ok(None)).1, None)
            }
        };
        let options = self.options.as_ref().map(RequestOptions::clone);
        let (request, transmission) = Request::new(self.headers.clone(), contents, trailers, options);
        // All of these were valid in the request they were taken from.
        let _ = request.set_method(&self.method);
        let _ = request.set_scheme(self.scheme.as_ref());
        let _ = request.set_authority(self.authority.as_deref());
        let _ = request.set_path_with_query(self.path.as_deref());
        (send_on(request).await, Delivery { transmission, _listener: listener })
    }
}

impl Told {
    /// How this attempt's transmission ends is how the request's does.
    pub fn of(self, delivery: Delivery) {
        spawn_local(async move {
            let Delivery { transmission, _listener } = delivery;
            let _ = self.0.write(transmission.await).await;
        });
    }
}

/// Reads the request's own body to its end, or until nobody listens.
async fn record(replay: Rc<ReplayBuffer<Rc<Ending>>>, mut source: StreamReader<u8>, trailers: FutureReader<Ending>) {
    loop {
        let Some(room) = poll_fn(|context| replay.poll_room(context)).await else { return };
        let piece = Vec::with_capacity(room.min(CHUNK));
        let Some((result, bytes)) = while_heard(&replay, source.read(piece)).await else { return };
        replay.record(&bytes);
        // To read on after its end is a mistake.
        if result == StreamResult::Dropped {
            break;
        }
    }
    if let Some(ending) = while_heard(&replay, trailers.into_future()).await {
        replay.end(Rc::new(ending));
    }
}

/// Waits, unless nobody listens any more.
async fn while_heard<T>(replay: &ReplayBuffer<Rc<Ending>>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => replay.poll_abandoned(context).map(|()| None),
    })
    .await
}

/// Plays the body to an attempt. Written beside the attempt and never before it: whoever waits for a reader waits for ever.
fn play(
    recording: &Recording,
    mut out: StreamWriter<u8>,
    came: impl FnOnce() + 'static,
) -> (FutureReader<Ending>, Recording) {
    let listener = recording.another();
    let mut player = listener.play();
    let (trailers, read) = wit_future::new(broken_off);
    spawn_local(async move {
        loop {
            match poll_fn(|context| player.poll(context)).await {
                Piece::Bytes(bytes) => {
                    if !out.write_all(bytes).await.is_empty() {
                        return; // nobody takes it any more
                    }
                }
                Piece::End(ending) => {
                    came();
                    drop(out);
                    let _ = trailers.write(copy(&ending)).await;
                    return;
                }
                Piece::Nothing => return,
            }
        }
    });
    (read, listener)
}

/// Whose body was broken off by the application, for whatever reason, is broken off.
fn copy(ending: &Ending) -> Ending {
    match ending {
        Ok(trailers) => Ok(trailers.as_ref().map(Trailers::clone)),
        Err(_) => broken_off(),
    }
}

/// What is read where nothing was written: a body that was broken off is not a shorter body.
fn broken_off() -> Ending {
    Err(ErrorCode::ConnectionTerminated)
}

fn not_transmitted() -> Transmitted {
    Err(ErrorCode::ConnectionTerminated)
}

/// How much is read at once. Ours: as large as most hosts' own pieces.
pub const CHUNK: usize = 64 * 1024;
