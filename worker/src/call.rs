//! A call with options of its own.

use forbear::{Duration, Facts, Outcome, Repeat};
use js_sys::{Function, Promise, global};
use wasm_bindgen::JsValue;
use worker::{AbortSignal, Context, Fetcher, Stub};

use crate::Site;
use crate::attempt::Attempt;
use crate::drive::{Order, drive};
use crate::end::Result;
use crate::outcome::outcome_of;
use crate::race::Ended;
use crate::request::{Outgoing, target_of};

/// A call that is about to be made. What is not said is read off the request.
#[derive(Debug)]
#[must_use = "it is made by `fetch` or `execute`"]
pub struct Call<'a> {
    site: &'a Site,
    key: Option<String>,
    signal: Option<AbortSignal>,
    timeout: Option<Duration>,
    idempotent: Option<bool>,
    prepared: bool,
    single: bool,
    cost: u32,
    anchor: Option<Anchor>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        let (key, signal, timeout, idempotent, anchor) = (None, None, None, None, None);
        Self { site, key, signal, timeout, idempotent, single: false, prepared: false, cost: 1, anchor }
    }

    /// Whose state it meets; of a fetch, the origin where nothing else is said.
    pub fn key(mut self, name: impl Into<String>) -> Self {
        self.key = Some(name.into());
        self
    }

    /// The caller's signal: once it aborts the call ends, and it reaches the body of the response.
    pub fn signal(mut self, signal: &AbortSignal) -> Self {
        self.signal = Some(signal.clone());
        self
    }

    /// The caller's own limit, as either crate's duration; it only shortens the stack's.
    pub fn timeout(mut self, limit: impl Into<Duration>) -> Self {
        self.timeout = Some(limit.into());
        self
    }

    /// Whether it may be repeated though it may have been processed. Of a fetch, the method and an `Idempotency-Key` tell. With
    /// `false` only what surely never reached the upstream is repeated, and no answer of its own counts as that.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Its operation has work of its own to do before it sends anything, and says [`Attempt::sent`] when it does. Until then
    /// its time is bounded all the same, and is not the upstream's: an attempt whose time is up blames nobody.
    pub fn prepared(mut self) -> Self {
        self.prepared = true;
        self
    }

    /// Whether it may be repeated at all: with `false` it is one attempt, whatever happens, and is not hedged.
    pub fn retry(mut self, retry: bool) -> Self {
        self.single = !retry;
        self
    }

    /// How many permits it costs where permits are counted.
    pub fn cost(mut self, permits: u32) -> Self {
        self.cost = permits;
        self
    }

    /// Keeps the request alive until the call has ended, also when its client has gone.
    pub fn wait_until(mut self, context: &Context) -> Self {
        self.anchor = Anchor::new(context);
        self
    }

    /// Fetches by the runtime's own `fetch`.
    ///
    /// # Errors
    /// As [`Guard::fetch`](crate::Guard::fetch).
    pub async fn fetch(self, request: impl Into<Outgoing>) -> Result {
        let outgoing = request.into();
        let prepared = outgoing.is_made();
        self.send(|| Ok(global().into()), outgoing, prepared).await
    }

    /// Fetches from another Worker, through its service binding.
    ///
    /// # Errors
    /// As [`Guard::fetch`](crate::Guard::fetch).
    pub async fn fetch_service(self, service: &Fetcher, request: impl Into<Outgoing>) -> Result {
        let service: &JsValue = service.as_ref();
        let outgoing = request.into();
        let prepared = outgoing.is_made();
        self.send(|| Ok(service.clone()), outgoing, prepared).await
    }

    /// Fetches from a Durable Object, with a fresh stub for each attempt.
    ///
    /// # Errors
    /// As [`Guard::fetch`](crate::Guard::fetch).
    pub async fn fetch_object(self, stub: impl Fn() -> worker::Result<Stub>, request: impl Into<Outgoing>) -> Result {
        self.send(|| stub().map(target_of), request.into(), true).await
    }

    /// Executes an operation, once for each attempt. How it ended is read off its result by
    /// [`outcome_of`](crate::outcome_of).
    ///
    /// # Errors
    /// As [`Guard::fetch`](crate::Guard::fetch).
    pub async fn execute<T: 'static, E: 'static, F>(self, operation: impl FnMut(Attempt) -> F) -> Result<T, E>
    where
        F: Future<Output = std::result::Result<T, E>>,
    {
        self.execute_judged(operation, outcome_of).await
    }

    /// Executes an operation, once for each attempt; `judge` says how each ended.
    ///
    /// # Errors
    /// As [`Guard::fetch`](crate::Guard::fetch).
    pub async fn execute_judged<T: 'static, E: 'static, F>(
        self,
        mut operation: impl FnMut(Attempt) -> F,
        judge: impl Fn(&std::result::Result<T, E>) -> Outcome,
    ) -> Result<T, E>
    where
        F: Future<Output = std::result::Result<T, E>>,
    {
        let facts = self.facts(Repeat::AfterFailure, true);
        let Self { site, key, signal, anchor: _anchor, .. } = self;
        let judge = &judge;
        let judged = move |attempt| {
            let running = operation(attempt);
            async move {
                let result = running.await;
                let outcome = judge(&result);
                Ended { result, outcome }
            }
        };
        drive(site, Order { key, facts, signal }, judged).await
    }

    /// `prepared`: code of the caller's makes a part of each attempt.
    async fn send(self, target: impl Fn() -> worker::Result<JsValue>, outgoing: Outgoing, prepared: bool) -> Result {
        let facts = Facts { prepared, ..self.facts(outgoing.repeat(), outgoing.is_replayable()) };
        let Self { site, key, signal, anchor: _anchor, .. } = self;
        let key = key.or_else(|| outgoing.origin());
        let (target, outgoing) = (&target, &outgoing);
        let operation = move |attempt: Attempt| async move { outgoing.send(target, &attempt, prepared).await };
        drive(site, Order { key, facts, signal }, operation).await
    }

    fn facts(&self, repeat: Repeat, replayable: bool) -> Facts {
        let repeat = match self.idempotent {
            None => repeat,
            Some(true) => Repeat::Freely,
            Some(false) => Repeat::OnlyUnsent,
        };
        let Self { single, prepared, timeout, cost, .. } = *self;
        Facts { repeat, replayable, single, prepared, timeout, cost, droppable: true, ..Facts::default() }
    }
}

/// A promise the runtime waits for; dropping this resolves it.
#[derive(Debug)]
struct Anchor(Function);

impl Anchor {
    /// A hint: where it comes too late, the call's leases end by themselves.
    fn new(context: &Context) -> Option<Self> {
        let mut resolve = None;
        let promise = Promise::new(&mut |settle, _| resolve = Some(settle));
        context.as_ref().wait_until(&promise).ok()?;
        resolve.map(Self)
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        let _ = self.0.call0(&JsValue::UNDEFINED);
    }
}
