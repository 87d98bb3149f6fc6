//! An application of WASI 0.2 that knows nothing of forbear: it passes every request on to the upstream that the request
//! names, with its body as it comes, and answers with what comes back.
//!
//! `x-upstream` names the upstream; `x-times` makes it ask so many times, one after the other, and `x-parallel` all at once:
//! then it answers with a line for each. `x-open` makes it take and end every request's body after it was handed over, as most
//! libraries do, and not only those that have one. `x-patience` is the time for the first byte that it asks its host for, in
//! milliseconds.

#![allow(missing_docs, unsafe_code)]

use exports::wasi::http::incoming_handler::{Guest, IncomingRequest, ResponseOutparam};
use wasi::http::outgoing_handler::handle;
use wasi::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, OutgoingBody, OutgoingRequest,
    OutgoingResponse, RequestOptions, Scheme,
};
use wasi::io::streams::{InputStream, OutputStream, StreamError};

wit_bindgen::generate!({
    path: "../../wit",
    inline: "
        package forbear:test-application;
        world application {
          import wasi:http/outgoing-handler@0.2.0;
          export wasi:http/incoming-handler@0.2.0;
        }
    ",
    generate_all,
});

struct Application;

impl Guest for Application {
    fn handle(request: IncomingRequest, answer: ResponseOutparam) {
        let asked = Asked::of(&request);
        if asked.calls > 1 {
            let told: Vec<String> = asked.each(&request).iter().map(told).collect();
            return respond(answer, 200, |out| out.blocking_write_and_flush(told.join("\n").as_bytes()));
        }
        let sent = send(&asked, &request).and_then(|response| result_of(&response));
        match &sent {
            Ok(response) => respond(answer, response.status(), |out| with_body(response, |body| copy(body, out))),
            Err(error) => respond(answer, 502, |out| out.blocking_write_and_flush(format!("{error:?}").as_bytes())),
        }
    }
}

struct Asked {
    upstream: Option<String>,
    calls: usize,
    at_once: bool,
    is_open: bool,
    patience: Option<u64>,
    length: Option<Vec<u8>>,
}

impl Asked {
    fn of(request: &IncomingRequest) -> Self {
        let headers = request.headers();
        let field = |name: &str| headers.get(name).into_iter().next();
        let text = |name: &str| field(name).and_then(|value| String::from_utf8(value).ok());
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        Self {
            upstream: text("x-upstream"),
            calls: number("x-times").or(number("x-parallel")).unwrap_or(1) as usize,
            at_once: field("x-parallel").is_some(),
            is_open: field("x-open").is_some(),
            patience: number("x-patience"),
            length: field("content-length"),
        }
    }

    /// What came of each call.
    fn each(&self, request: &IncomingRequest) -> Vec<Result<IncomingResponse, ErrorCode>> {
        let result = |sent: Result<FutureIncomingResponse, ErrorCode>| sent.and_then(|response| result_of(&response));
        if self.at_once {
            let sent: Vec<_> = (0..self.calls).map(|_| send(self, request)).collect();
            return sent.into_iter().map(result).collect();
        }
        (0..self.calls).map(|_| result(send(self, request))).collect()
    }
}

/// Hands a request over, and then writes its body.
fn send(asked: &Asked, from: &IncomingRequest) -> Result<FutureIncomingResponse, ErrorCode> {
    let fields = Fields::new();
    asked.length.iter().for_each(|length| fields.append("content-length", length).unwrap());
    let request = OutgoingRequest::new(fields);
    request.set_method(&from.method()).unwrap();
    request.set_scheme(Some(&Scheme::Http)).unwrap();
    request.set_path_with_query(from.path_with_query().as_deref()).unwrap();
    request.set_authority(asked.upstream.as_deref()).unwrap();
    let options = asked.patience.map(|millis| {
        let options = RequestOptions::new();
        options.set_first_byte_timeout(Some(millis * 1_000_000)).unwrap();
        options
    });
    let body = (asked.is_open || asked.length.is_some()).then(|| request.body().unwrap());
    let response = handle(request, options)?;
    if let Some(body) = body {
        if asked.length.is_some() {
            let out = body.write().unwrap();
            let read = from.consume().unwrap();
            copy(&read.stream().unwrap(), &out).unwrap();
        }
        OutgoingBody::finish(body, None)?;
    }
    Ok(response)
}

fn result_of(response: &FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    response.subscribe().block();
    response.get().unwrap().unwrap()
}

/// A line for a call.
fn told(result: &Result<IncomingResponse, ErrorCode>) -> String {
    match result {
        Ok(response) => response.status().to_string(),
        Err(error) => format!("{error:?}"),
    }
}

fn respond(answer: ResponseOutparam, status: u16, write: impl FnOnce(&OutputStream) -> Result<(), StreamError>) {
    let response = OutgoingResponse::new(Fields::new());
    response.set_status_code(status).unwrap();
    let body = response.body().unwrap();
    ResponseOutparam::set(answer, Ok(response));
    let out = body.write().unwrap();
    // Who broke off hears so: a body that is not ended is no shorter body.
    if write(&out).is_ok() {
        drop(out);
        let _ = OutgoingBody::finish(body, None);
    }
}

fn with_body<T>(response: &IncomingResponse, read: impl FnOnce(&InputStream) -> T) -> T {
    let body: IncomingBody = response.consume().unwrap();
    read(&body.stream().unwrap())
}

/// Piece by piece.
fn copy(from: &InputStream, to: &OutputStream) -> Result<(), StreamError> {
    loop {
        match from.blocking_read(MOST_AT_ONCE) {
            Ok(piece) => to.blocking_write_and_flush(&piece)?,
            Err(StreamError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// `blocking-write-and-flush` takes no more.
const MOST_AT_ONCE: u64 = 4_096;

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Application);
