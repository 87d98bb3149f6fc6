//! Orders as they come in, and answers as they go out: JavaScript values (js/test/support/perform.mjs says what is in them).

use forbear_worker::Outgoing;
use worker::js_sys::{Date, Object, Reflect};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Request, Result, web_sys};

/// A property of an order; undefined where it has none.
pub fn get(order: &JsValue, name: &str) -> JsValue {
    if !order.is_object() {
        return JsValue::UNDEFINED;
    }
    Reflect::get(order, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

pub fn text(order: &JsValue, name: &str) -> Option<String> {
    get(order, name).as_string()
}

pub fn is(order: &JsValue, name: &str) -> bool {
    get(order, name).is_truthy()
}

/// An answer in the making.
#[derive(Clone, Default)]
pub struct Answer(Object);

impl Answer {
    pub fn set(&self, name: &str, value: impl Into<JsValue>) {
        Reflect::set(&self.0, &name.into(), &value.into()).expect("an object of our own");
    }

    /// Without what is undefined.
    pub fn done(self) -> JsValue {
        self.0.into()
    }
}

/// The request of an order, as its fields say it is to be sent.
pub async fn outgoing(order: &JsValue) -> Result<Outgoing> {
    let fields = get(order, "request");
    let url = text(order, "url").unwrap_or_default();
    let bare = || request(&url, &fields, None);
    if let Some(made) = text(&get(order, "call"), "getBody") {
        let busy = get(&get(order, "call"), "busyMs").as_f64().unwrap_or(0.0);
        return Ok(Outgoing::with_body_from(bare()?, move || {
            let began = Date::now();
            while Date::now() < began + busy {}
            stream(&made)
        }));
    }
    if let Some(why) = text(&get(order, "call"), "noBody") {
        return Ok(Outgoing::with_body_from(bare()?, move || Err(why.as_str().into())));
    }
    let Some(body) = text(&fields, "body") else { return Ok(bare()?.into()) };
    if is(&fields, "used") {
        let used = stream(&body)?;
        JsFuture::from(response(&used)?.text()?).await?;
        return Ok(Outgoing::with_body_from(bare()?, move || Ok(used.clone())));
    }
    if is(&fields, "stream") {
        return Ok(request(&url, &fields, Some(stream(&body)?))?.into());
    }
    if is(&fields, "whole") {
        return Ok(request(&url, &fields, Some(body.into()))?.into());
    }
    Ok(Outgoing::with_body(bare()?, body))
}

pub fn request(url: &str, fields: &JsValue, body: Option<JsValue>) -> Result<Request> {
    let init = Object::new();
    for name in ["method", "headers", "redirect"] {
        Reflect::set(&init, &name.into(), &get(fields, name))?;
    }
    if let Some(body) = body {
        Reflect::set(&init, &"body".into(), &body)?;
    }
    Ok(web_sys::Request::new_with_str_and_init(url, init.unchecked_ref())?.into())
}

fn stream(text: &str) -> Result<JsValue> {
    Ok(response(&text.into())?.body().map_or(JsValue::NULL, JsValue::from))
}

/// Whatever makes a stream of a text here: a response has one.
fn response(body: &JsValue) -> Result<web_sys::Response> {
    let maker: worker::js_sys::Function = get(&worker::js_sys::global(), "Response").dyn_into()?;
    Ok(Reflect::construct(&maker, &worker::js_sys::Array::of1(body))?.dyn_into()?)
}
