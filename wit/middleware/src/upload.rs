//! A request as it came, and the request of each attempt.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::future::{Future, IntoFuture, poll_fn};
use core::pin::pin;
use core::task::Poll;

use wit_bindgen::{FutureReader, FutureWriter, StreamReader, StreamResult, StreamWriter, spawn_local};

use crate::bindings::{ErrorCode, Headers, Method, Request, RequestOptions, Scheme, Trailers, wit_future, wit_stream};
use crate::facts;
use crate::tape::{Listener, Piece, Tape};

/// A request that was taken apart, to be sent once or several times.
pub struct Upload {
    method: Method,
    scheme: Option<Scheme>,
    authority: Option<String>,
    path: Option<String>,
    headers: Headers,
    options: Option<RequestOptions>,
    body: Body,
    /// Who sent it hears here how its transmission ended.
    told: Option<FutureWriter<Transmitted>>,
}

/// What belongs to an attempt beside its result. A host that sees the transmission's future dropped gives the request up,
/// and cuts its response short without a word (wasmtime#14227): it is kept until the transmission has ended.
pub struct Delivery {
    transmission: FutureReader<Transmitted>,
    _listener: Option<Recording>,
}

enum Body {
    /// Too long to be kept: handed over as it is, once.
    Once(RefCell<Option<(StreamReader<u8>, FutureReader<Ending>)>>),
    Kept(Recording),
    /// Nothing, and so no trailers either: HTTP/1.1 has them behind chunks alone (RFC 9112, section 7.1.2).
    Empty,
}

type Transmitted = Result<(), ErrorCode>;
type Ending = Result<Option<Trailers>, ErrorCode>;
type Recording = Listener<Rc<Ending>>;

impl Upload {
    /// Takes a request apart whose body is `length` bytes long, where it says so; up to `most` bytes of it are kept.
    pub async fn begin(request: Request, length: Option<u64>, most: u64) -> Self {
        let method = request.get_method();
        let scheme = request.get_scheme();
        let authority = request.get_authority();
        let path = request.get_path_with_query();
        let headers = request.get_headers().clone();
        let options = request.get_options().map(|options| options.clone());
        let (told, heard) = wit_future::new(not_transmitted);
        let (source, trailers) = Request::consume_body(request, heard);
        let body = if length == Some(0) {
            Body::Empty
        } else if length.is_some_and(|length| length > most) {
            Body::Once(RefCell::new(Some((source, trailers))))
        } else {
            let mut source = Some(source);
            let peeks = length.is_none() && facts::is_bodyless(&method);
            let begun = if peeks { more(&mut source, CHUNK).await } else { Vec::new() };
            if source.is_none() && begun.is_empty() {
                Body::Empty
            } else {
                let tape = Tape::new(most as usize, begun);
                let listener = tape.listen();
                spawn_local(record(tape, source, trailers));
                Body::Kept(listener)
            }
        };
        Self { method, scheme, authority, path, headers, options, body, told: Some(told) }
    }

    /// Whether there is a body to send, from its beginning on.
    pub fn can_be_sent(&self) -> bool {
        match &self.body {
            Body::Once(body) => body.borrow().is_some(),
            Body::Kept(listener) => listener.is_whole(),
            Body::Empty => true,
        }
    }

    /// An attempt's own request.
    pub fn attempt(&self) -> (Request, Delivery) {
        let (contents, trailers, listener) = match &self.body {
            Body::Once(body) => match body.take() {
                Some((contents, trailers)) => (Some(contents), trailers, None),
                None => (None, no_trailers(), None),
            },
            Body::Kept(recording) => {
                let (out, contents) = wit_stream::new();
                let (trailers, listener) = play(recording, out);
                (Some(contents), trailers, Some(listener))
            }
            Body::Empty => (None, no_trailers(), None),
        };
        let options = self.options.as_ref().map(RequestOptions::clone);
        let (request, transmission) = Request::new(self.headers.clone(), contents, trailers, options);
        // All of these were valid in the request they were taken from.
        let _ = request.set_method(&self.method);
        let _ = request.set_scheme(self.scheme.as_ref());
        let _ = request.set_authority(self.authority.as_deref());
        let _ = request.set_path_with_query(self.path.as_deref());
        (request, Delivery { transmission, _listener: listener })
    }

    /// How this attempt's transmission ends is how the request's does.
    pub fn tell(&mut self, delivery: Delivery) {
        let Some(told) = self.told.take() else { return };
        spawn_local(async move {
            let Delivery { transmission, _listener } = delivery;
            let _ = told.write(transmission.await).await;
        });
    }
}

/// Reads the request's own body to its end, or until nobody listens.
async fn record(tape: Rc<Tape<Rc<Ending>>>, mut source: Option<StreamReader<u8>>, trailers: FutureReader<Ending>) {
    while source.is_some() {
        let Some(room) = poll_fn(|context| tape.poll_room(context)).await else { return };
        let Some(bytes) = while_heard(&tape, more(&mut source, room.min(CHUNK))).await else { return };
        tape.record(&bytes);
    }
    if let Some(ending) = while_heard(&tape, trailers.into_future()).await {
        tape.end(Rc::new(ending));
    }
}

/// What comes next of a body. Its end takes it away: to read on after that is a mistake.
async fn more(source: &mut Option<StreamReader<u8>>, room: usize) -> Vec<u8> {
    let Some(reader) = source else { return Vec::new() };
    let (result, bytes) = reader.read(Vec::with_capacity(room)).await;
    if result == StreamResult::Dropped {
        *source = None;
    }
    bytes
}

/// Waits, unless nobody listens any more.
async fn while_heard<T>(tape: &Tape<Rc<Ending>>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => tape.poll_abandoned(context).map(|()| None),
    })
    .await
}

/// Plays the body to an attempt. Written beside the attempt and never before it: whoever waits for a reader waits for ever.
fn play(recording: &Recording, mut out: StreamWriter<u8>) -> (FutureReader<Ending>, Recording) {
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

fn no_trailers() -> FutureReader<Ending> {
    // The writing end is dropped, which writes this.
    wit_future::new(|| Ok(None)).1
}

fn not_transmitted() -> Transmitted {
    Err(ErrorCode::ConnectionTerminated)
}

/// How much is read at once. Ours: as large as most hosts' own pieces.
pub const CHUNK: usize = 64 * 1024;
