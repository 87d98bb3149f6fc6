//! An application that knows nothing of forbear: it passes every request on to the upstream that the request names, with its
//! body as it comes, and answers with what comes back.
//!
//! `x-upstream` names the upstream; `x-keep` makes it keep the future that tells how its request was transmitted, which most
//! applications drop; `x-streamed` makes it not say how long a body is, and `x-length` say that; `x-scheme` is in place of `http`; `x-patience` is for how many milliseconds it waits,
//! after which it drops the call; `x-compute` is for how many milliseconds it computes before it sends, while nothing else of its
//! instance runs. A request without `x-upstream` is answered at once with the number of requests that this instance has had.

#![allow(missing_docs, unsafe_code)]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use wasi::clocks::monotonic_clock;
use wasi::http::client;
use wasi::http::types::{ErrorCode, Fields, Request, Response, Scheme};
use wit_bindgen::spawn_local;

wit_bindgen::generate!({
    path: ["../../..", "../../wit"],
    inline: "
        package forbear:test-application;
        world application {
          import wasi:http/client@0.3.0;
          import wasi:clocks/monotonic-clock@0.3.0;
          export wasi:http/handler@0.3.0;
        }
    ",
    world: "forbear:test-application/application",
    generate_all,
});

struct Application;

static REQUESTS: AtomicU32 = AtomicU32::new(0);

impl exports::wasi::http::handler::Guest for Application {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let requests = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
        let headers = request.get_headers().copy_all();
        let field = |name: &str| headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let millis = |name: &str| field(name).and_then(|value| String::from_utf8(value).ok()?.parse::<u64>().ok());
        if field("x-upstream").is_none() {
            return Ok(tell(&requests.to_string()));
        }
        let (method, path) = (request.get_method(), request.get_path_with_query());
        let has_body = field("content-length").is_some();
        let (contents, trailers) = Request::consume_body(request, wit_future::new(|| Ok(())).1);
        let passed_on = Fields::new();
        for (name, value) in &headers {
            let is_length = name == "content-length" && field("x-streamed").is_none() && field("x-length").is_none();
            if is_length || name == "idempotency-key" || name == "x-once" {
                passed_on.append(name, value).unwrap();
            }
        }
        if let Some(length) = field("x-length") {
            passed_on.append("content-length", &length).unwrap();
        }
        let (request, transmission) = Request::new(passed_on, has_body.then_some(contents), trailers, None);
        request.set_method(&method).unwrap();
        let scheme = field("x-scheme").map(|value| String::from_utf8(value).unwrap());
        let scheme = match scheme.as_deref() {
            None => Scheme::Http,
            Some("https") => Scheme::Https,
            Some(other) => Scheme::Other(other.to_owned()),
        };
        request.set_scheme(Some(&scheme)).unwrap();
        request.set_path_with_query(path.as_deref()).unwrap();
        request.set_authority(field("x-upstream").and_then(|value| String::from_utf8(value).ok()).as_deref()).unwrap();
        if field("x-keep").is_some() {
            spawn_local(async move { drop(transmission.await) });
        } else {
            drop(transmission);
        }
        compute(millis("x-compute").unwrap_or(0));
        let sent = match millis("x-patience") {
            Some(millis) => within(millis, client::send(request)).await,
            None => Some(client::send(request).await),
        };
        match sent {
            Some(Ok(response)) => Ok(response),
            Some(Err(error)) => Ok(tell(&format!("{error:?}"))),
            None => Ok(tell("gave up")),
        }
    }
}

fn compute(millis: u64) {
    let end = monotonic_clock::now() + millis * 1_000_000;
    while monotonic_clock::now() < end {}
}

/// What the work comes to, unless that takes too long: then it is dropped.
async fn within<T>(millis: u64, work: impl Future<Output = T>) -> Option<T> {
    let mut work = Box::pin(work);
    let mut late = pin!(monotonic_clock::wait_for(millis * 1_000_000));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => late.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// What went wrong, for the tests to read.
fn tell(what: &str) -> Response {
    let text = what.as_bytes().to_vec();
    let (mut out, contents) = wit_stream::new();
    spawn_local(async move { drop(out.write_all(text).await) });
    let (response, _) = Response::new(Fields::new(), Some(contents), wit_future::new(|| Ok(None)).1);
    response.set_status_code(502).unwrap();
    response
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Application);
