//! What a request says about itself before its first attempt: who may repeat it, and whose state it meets.

use alloc::string::String;

use forbear::http::repeat_of_request;
use forbear::{Facts, Repeat};
use forbear_wit_shared::origin;

use crate::bindings::{Method, Request, Scheme};

/// The facts of a request whose body is `length` bytes long, where it says so, and is kept up to `most` bytes.
pub fn of(request: &Request, length: Option<u64>, most: u64) -> Facts {
    let method = request.get_method();
    let mut repeat = repeat_of_request(word(&method), &request.get_headers().get("idempotency-key"));
    if length.is_none() && !is_bodyless(&method) {
        // How long it really is shows while it is sent; a second attempt beside the first could not be given the same.
        repeat = repeat.min(Repeat::AfterFailure);
    }
    let replayable = length.is_none_or(|length| length <= most);
    // What is waited for until a body has come is its sender.
    Facts { repeat, replayable, prepared: length != Some(0), droppable: !cfg!(feature = "handler"), ..Facts::default() }
}

/// The length that a request says its body has.
pub fn length(request: &Request) -> Option<u64> {
    let fields = request.get_headers().get("content-length");
    let digits = fields.first()?.trim_ascii();
    let number = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then(|| digits.iter().fold(0, number))
}

/// The origin whose state a request meets; none for schemes that nobody knows.
pub fn origin(request: &Request) -> Option<String> {
    match request.get_scheme() {
        // Where nothing is said, hosts take the safe one.
        None | Some(Scheme::Https) => Some(origin::of(false, &request.get_authority()?)),
        Some(Scheme::Http) => Some(origin::of(true, &request.get_authority()?)),
        Some(Scheme::Other(_)) => None,
    }
}

/// Whether requests of this method usually have no body: RFC 9110, section 9.3, gives none a meaning.
pub fn is_bodyless(method: &Method) -> bool {
    matches!(method, Method::Get | Method::Head | Method::Delete | Method::Connect | Method::Options | Method::Trace)
}

fn word(method: &Method) -> &str {
    match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Post | Method::Patch | Method::Connect => "POST",
        Method::Other(word) => word,
    }
}
