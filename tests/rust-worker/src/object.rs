//! A Durable Object that fails as it is told, and counts its requests.

use std::cell::Cell;

use worker::{DurableObject, Env, Request, Response, Result, State, durable_object, wasm_bindgen};

#[durable_object]
pub struct Failing {
    asked: Cell<u32>,
}

impl DurableObject for Failing {
    fn new(_state: State, _env: Env) -> Self {
        Self { asked: Cell::new(0) }
    }

    /// `?failures=n`: the first n are answered with 503.
    async fn fetch(&self, request: Request) -> Result<Response> {
        let asked = self.asked.get() + 1;
        self.asked.set(asked);
        let failures =
            request.url()?.query_pairs().find(|(name, _)| name == "failures").and_then(|(_, n)| n.parse().ok());
        if asked <= failures.unwrap_or(0) {
            return Response::error(format!("no. {asked}"), 503);
        }
        Response::ok(format!("asked {asked} times"))
    }
}
