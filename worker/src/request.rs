//! What is sent: a request, and a body that can be sent again. Nothing is cloned or read, and no stream is teed.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;

use forbear::http::repeat_of_request;
use forbear::{Outcome, Repeat, Verdict};
use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array, global};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use worker::{Error, Request, Response, Result, Stub};

use crate::attempt::Attempt;
use crate::outcome::{outcome_of_error, outcome_of_response};
use crate::race::Ended;

/// A request about to be sent, perhaps more than once.
///
/// Made of a [`Request`]: one without a body can be sent again, one with a body cannot, since that is a stream. A body to be
/// sent again is given beside a request without one.
pub struct Outgoing {
    request: web_sys::Request,
    body: Body,
    url: String,
}

enum Body {
    /// The request's own, if it has one.
    Own,
    Whole(JsValue),
    Made(Rc<dyn Fn() -> Result<JsValue>>),
}

impl Outgoing {
    /// A request and the bytes of its body, which every attempt sends anew.
    pub fn with_body(request: Request, body: impl AsRef<[u8]>) -> Self {
        Self { body: Body::Whole(Uint8Array::from(body.as_ref()).into()), ..Self::from(request) }
    }

    /// A request and what makes its body, once for each attempt: a stream too.
    pub fn with_body_from(request: Request, body: impl Fn() -> Result<JsValue> + 'static) -> Self {
        Self { body: Body::Made(Rc::new(body)), ..Self::from(request) }
    }

    pub(crate) fn is_replayable(&self) -> bool {
        !matches!(self.body, Body::Own) || self.request.body().is_none()
    }

    /// Whether its body is made by code of the caller's.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.body, Body::Made(_))
    }

    pub(crate) fn repeat(&self) -> Repeat {
        let key = self.request.headers().get("idempotency-key").ok().flatten();
        repeat_of_request(&self.request.method(), key.as_slice())
    }

    pub(crate) fn origin(&self) -> Option<String> {
        origin_of(&self.url).map(Cow::into_owned)
    }

    /// Sends it once. What goes wrong before there is anything to wait for is the caller's own: its body or its stub was not
    /// made, or the runtime does not take such a request.
    pub(crate) async fn send(
        &self,
        target: impl Fn() -> Result<JsValue>,
        attempt: &Attempt,
        prepared: bool,
    ) -> Ended<Response, Error> {
        let promise = match target().and_then(|target| self.begin(&target, attempt, prepared)) {
            Ok(promise) => promise,
            Err(error) => return Ended { result: Err(error), outcome: Outcome::new(Verdict::Defect) },
        };
        match JsFuture::from(promise).await.and_then(JsCast::dyn_into::<web_sys::Response>) {
            Err(error) => Ended { outcome: outcome_of_error(&error), result: Err(error.into()) },
            Ok(response) => Ended { outcome: self.outcome_of(&response), result: Ok(response.into()) },
        }
    }

    fn outcome_of(&self, response: &web_sys::Response) -> Outcome {
        let outcome = outcome_of_response(response);
        if !response.redirected() {
            return outcome;
        }
        outcome.after_redirect(origin_of(&response.url()) == origin_of(&self.url))
    }

    /// By hand, since the crate's own functions take no signal everywhere, and other types with other features.
    fn begin(&self, target: &JsValue, attempt: &Attempt, prepared: bool) -> Result<Promise> {
        let init = Object::new();
        let signal: &JsValue = attempt.signal();
        Reflect::set(&init, &"signal".into(), signal)?;
        match &self.body {
            Body::Own => {}
            Body::Whole(body) => _ = Reflect::set(&init, &"body".into(), body)?,
            Body::Made(body) => _ = Reflect::set(&init, &"body".into(), &body()?)?,
        }
        let fetch: Function = Reflect::get(target, &"fetch".into())?.dyn_into()?;
        if prepared {
            attempt.sent();
        }
        Ok(fetch.call2(target, &self.request, &init)?.dyn_into()?)
    }
}

impl From<Request> for Outgoing {
    fn from(request: Request) -> Self {
        // The same object: JavaScript's own `clone` would tee its body.
        <web_sys::Request as Clone>::clone(request.inner()).into()
    }
}

impl From<web_sys::Request> for Outgoing {
    fn from(request: web_sys::Request) -> Self {
        let url = request.url();
        Self { request, body: Body::Own, url }
    }
}

/// Its origin alone: what else is in a URL may be a secret.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("origin", &self.origin()).finish_non_exhaustive()
    }
}

/// The JavaScript object that a stub wraps.
pub(crate) fn target_of(stub: Stub) -> JsValue {
    stub.into_rpc::<Object>().into()
}

/// The origin of a URL as the URL standard writes it, without whoever is named in it. What is plainly one already is only cut
/// off; the runtime reads everything else.
pub(crate) fn origin_of(url: &str) -> Option<Cow<'_, str>> {
    if let Some(origin) = plain_origin(url) {
        return Some(Cow::Borrowed(origin));
    }
    // No scheme, no URL: a key's name, mostly.
    url.contains(':').then(|| parsed_origin(url)).flatten().map(Cow::Owned)
}

/// Lower case, no user, no default port; a name, or an IPv4 address that is written out.
fn plain_origin(url: &str) -> Option<&str> {
    let (scheme, default_port) = if url.starts_with("https://") { ("https://", "443") } else { ("http://", "80") };
    let rest = url.strip_prefix(scheme)?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_plain = host.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'));
    // What ends in a number is an IPv4 address, in one of many ways to write it.
    let last = host.rsplit('.').next()?;
    let is_name = last.starts_with(|first: char| first.is_ascii_lowercase());
    let is_port = |port: &str| !port.starts_with(['0', '+']) && port != default_port && port.parse::<u16>().is_ok();
    (is_plain && (is_name || host.parse::<Ipv4Addr>().is_ok()) && port.is_none_or(is_port))
        .then(|| url.get(..scheme.len() + authority.len()))
        .flatten()
}

fn parsed_origin(url: &str) -> Option<String> {
    let maker: Function = Reflect::get(&global(), &"URL".into()).ok()?.dyn_into().ok()?;
    let parsed = Reflect::construct(&maker, &Array::of1(&url.into())).ok()?;
    Reflect::get(&parsed, &"origin".into()).ok()?.as_string().filter(|origin| origin != "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_origin_is_what_stands_before_the_path() {
        for (url, origin) in [
            ("https://example.com/", "https://example.com"),
            ("http://127.0.0.1:8787/a/b?c=https://d/", "http://127.0.0.1:8787"),
            ("https://example.com?q", "https://example.com"),
            ("https://example.com#f", "https://example.com"),
            ("http://x-1.example.com:443/@", "http://x-1.example.com:443"),
        ] {
            assert_eq!(plain_origin(url), Some(origin), "{url}");
        }
    }

    #[test]
    fn what_may_be_written_otherwise_in_an_origin_is_not_plain() {
        let users = ["http://alice:s3cret@host/", "http://bob@host", "http://a:1@b"];
        let cases =
            ["HTTP://host/", "http://Host/", "http://bücher.example/", "http://host\\@other/", "http://ho%73t/"];
        let ports = [
            "http://host:80",
            "https://host:443",
            "http://host:080",
            "http://host:+8",
            "http://host:",
            "http://h:99999",
        ];
        let addresses = [
            "http://127.1/",
            "http://0x7f.1",
            "http://2130706433",
            "http://127.0.0.01",
            "http://127.0.0.1.",
            "http://[::1]/",
        ];
        let others =
            ["", "/relative", "data:text/plain,x", "://", "https://", "https:///", "ftp://host/", "https:host"];
        for url in [&users[..], &cases, &ports, &addresses, &others].concat() {
            assert_eq!(plain_origin(url), None, "{url}");
        }
    }
}
