//! What is sent: a request, and a body that can be sent again. Nothing is cloned or read, and no stream is teed.

use alloc::rc::Rc;
use alloc::string::String;
use core::fmt;

use ::worker::js_sys::{Function, Object, Promise, Reflect, Uint8Array};
use ::worker::wasm_bindgen::{JsCast, JsValue};
use ::worker::wasm_bindgen_futures::JsFuture;
use ::worker::{AbortSignal, Request, Response, Result, Stub, web_sys};

use crate::call::Repeat;
use crate::http::is_idempotent;

/// A request about to be sent, perhaps more than once.
///
/// Made of a [`Request`]: one without a body can be sent again, one with a body cannot, since that is a stream. A body to be
/// sent again is given beside a request without one.
pub struct Outgoing {
    request: web_sys::Request,
    body: Option<Rc<dyn Fn() -> Result<JsValue>>>,
    url: String,
}

impl Outgoing {
    /// A request and the bytes of its body, which every attempt sends anew.
    pub fn with_body(request: Request, body: impl AsRef<[u8]>) -> Self {
        let bytes = JsValue::from(Uint8Array::from(body.as_ref()));
        Self::with_body_from(request, move || Ok(bytes.clone()))
    }

    /// A request and what makes its body, once for each attempt: a stream too.
    pub fn with_body_from(request: Request, body: impl Fn() -> Result<JsValue> + 'static) -> Self {
        Self { body: Some(Rc::new(body)), ..Self::from(request) }
    }

    pub(super) fn is_replayable(&self) -> bool {
        self.body.is_some() || self.request.body().is_none()
    }

    /// An `Idempotency-Key` makes repeating safe one after the other; two at once are a conflict for most upstreams.
    pub(super) fn repeat(&self) -> Repeat {
        if is_idempotent(&self.request.method()) {
            Repeat::Freely
        } else if self.request.headers().has("idempotency-key").unwrap_or(false) {
            Repeat::AfterFailure
        } else {
            Repeat::OnlyUnprocessed
        }
    }

    pub(super) fn origin(&self) -> Option<&str> {
        origin_of(&self.url)
    }

    /// Sends it once. By hand, since the crate's own functions take no signal everywhere, and other types with other
    /// features.
    pub(super) async fn send(&self, target: &JsValue, signal: &AbortSignal) -> Result<Response> {
        let init = Object::new();
        let signal: &JsValue = signal;
        Reflect::set(&init, &"signal".into(), signal)?;
        if let Some(body) = &self.body {
            Reflect::set(&init, &"body".into(), &body()?)?;
        }
        let fetch: Function = Reflect::get(target, &"fetch".into())?.dyn_into()?;
        let promise: Promise = fetch.call2(target, &self.request, &init)?.dyn_into()?;
        let response: web_sys::Response = JsFuture::from(promise).await?.dyn_into()?;
        Ok(response.into())
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
        Self { request, body: None, url }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The JavaScript object that a stub wraps.
pub(super) fn target_of(stub: Stub) -> JsValue {
    stub.into_rpc::<Object>().into()
}

/// Scheme, host and port of a URL as a Request has it: written out, in lower case, without a default port.
pub(super) fn origin_of(url: &str) -> Option<&str> {
    let host = url.find("://")? + "://".len();
    let end = url.get(host..)?.find(['/', '?', '#']).map_or(url.len(), |end| host + end);
    url.get(..end).filter(|_| end > host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_stands_before_the_path() {
        for (url, origin) in [
            ("https://example.com/", "https://example.com"),
            ("http://127.0.0.1:8787/a/b?c=https://d/", "http://127.0.0.1:8787"),
            ("https://example.com?q", "https://example.com"),
            ("https://example.com#f", "https://example.com"),
            ("https://[::1]:8080/x", "https://[::1]:8080"),
        ] {
            assert_eq!(origin_of(url), Some(origin), "{url}");
        }
        for url in ["", "/relative", "data:text/plain,x", "://", "https:///"] {
            assert_eq!(origin_of(url).filter(|origin| origin.len() > "https://".len()), None, "{url}");
        }
    }
}
