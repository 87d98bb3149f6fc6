//! Performs an order: one guarded call, and what became of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use forbear_worker::policy::budget::Counts;
use forbear_worker::policy::circuit_breaker::CircuitBreaker;
use forbear_worker::{
    Attempt, Config, Done, Failed, Guard, Key, Kind, NotMade, Part, RefusalReason, Restored, StackConfig, VerdictWord,
    share,
};
use worker::js_sys::{Array, Date, JSON};
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::spawn_local;
use worker::{AbortController, AbortSignal, Context, Delay, Fetch, Fetcher, Result, Stub};

use crate::order::{Answer, get, is, outgoing, request, text};
use crate::told::{describe, describe_error, metrics, tell};

thread_local! {
    static GUARDS: RefCell<BTreeMap<String, (Guard, Array)>> = const { RefCell::new(BTreeMap::new()) };
}

pub enum Way<'a> {
    Service(&'a Fetcher),
    Object(&'a dyn Fn() -> Result<Stub>),
}

pub async fn perform(order: &JsValue) -> Result<JsValue> {
    let (guard, events) = guard_for(&get(order, "guard"))?;
    let request = outgoing(order).await?;
    let abort = get(order, "abort");
    let caller = Caller::new(&abort);
    let listening = text(&abort, "on").map(|name| {
        let caller = caller.clone();
        guard.on(move |event| {
            if event.name() == name {
                caller.leave();
            }
        })
    });
    if is(&abort, "before") {
        caller.leave();
    }
    let answer = Answer::default();
    let began = Date::now();
    if let Some(after) = get(&abort, "afterMs").as_f64() {
        let caller = caller.clone();
        spawn_local(async move {
            Delay::from(Duration::from_millis(after as u64)).await;
            caller.leave();
        });
    }
    let mut call = guard.call();
    if abort.is_object() {
        call = call.signal(&caller.signal);
    }
    let result = call.fetch(request).await;
    answer.set("tookMs", Date::now() - began);
    let key = tell(&answer, &result);
    if let Ok(Done { value: mut response, held: _held, .. }) = result {
        if is(&abort, "atHeaders") {
            caller.leave();
        }
        if get(order, "read").as_bool() != Some(false) {
            match response.text().await {
                Ok(body) => answer.set("body", body),
                Err(error) => answer.set("bodyError", describe(&error.to_js_value())),
            }
        }
    }
    drop(listening);
    answer.set("endedAfterMs", Date::now() - began);
    answer.set("events", events);
    answer.set("metrics", metrics(&guard, key.as_deref()));
    Ok(answer.done())
}

/// A call whose caller is the client of this very request.
pub async fn signalled(order: &JsValue, client: &AbortSignal) -> Result<JsValue> {
    let (guard, _) = guard_for(&get(order, "guard"))?;
    let answer = Answer::default();
    tell(&answer, &guard.call().signal(client).fetch(outgoing(order).await?).await);
    Ok(answer.done())
}

/// A call whose operation makes its request itself, as an operation may, and sends it by the runtime's own fetch; perhaps it has
/// something to wait for before.
pub async fn execute(order: &JsValue) -> Result<JsValue> {
    let (guard, events) = guard_for(&get(order, "guard"))?;
    let (url, fields) = (text(order, "url").unwrap_or_default(), get(order, "request"));
    let (url, fields) = (&url, &fields);
    let prepared = get(&get(order, "call"), "prepareMs").as_f64();
    let operation = |attempt: Attempt| async move {
        if let Some(millis) = prepared {
            Delay::from(Duration::from_millis(millis as u64)).await;
            attempt.sent();
        }
        Fetch::Request(request(url, fields, None)?).send().await
    };
    let answer = Answer::default();
    let mut call = if prepared.is_some() { guard.call().prepared() } else { guard.call() };
    if let Some(idempotent) = get(&get(order, "call"), "idempotent").as_bool() {
        call = call.idempotent(idempotent);
    }
    tell(&answer, &call.execute(operation).await);
    answer.set("events", events);
    Ok(answer.done())
}

/// So many calls one after the other, each with a timer and a signal: by how much they made the memory grow, in bytes, once
/// the first of them had.
pub async fn many(order: &JsValue) -> Result<JsValue> {
    let guard = Guard::new(Config::from_js(&get(order, "guard"))?).map_err(|error| error.to_string())?;
    let times = get(order, "times").as_f64().unwrap_or(0.0) as usize;
    let caller = AbortController::default().signal();
    let mut before = 0;
    for call in 0..times {
        if call == times / 10 {
            before = core::arch::wasm32::memory_size(0);
        }
        let done = guard.call().signal(&caller).execute(|_| async { Ok::<_, worker::Error>(()) }).await;
        done.map_err(worker::Error::from)?;
        // Lets the runtime do what it does between its turns, as it does between requests.
        if call % 100 == 0 {
            Delay::from(Duration::from_millis(1)).await;
        }
    }
    Ok(((core::arch::wasm32::memory_size(0) - before) as f64 * 65_536.0).into())
}

/// What the guard has learned, byte by byte.
pub fn snapshot(order: &JsValue) -> Result<JsValue> {
    let (guard, _) = guard_for(&get(order, "guard"))?;
    Ok(guard.snapshot().into_iter().flatten().map(JsValue::from).collect::<Array>().into())
}

/// Takes over what `saved` has, and says what became of it.
pub fn restore(order: &JsValue) -> Result<JsValue> {
    let (guard, _) = guard_for(&get(order, "guard"))?;
    let bytes: Vec<u8> =
        Array::from(&get(order, "saved")).iter().filter_map(|byte| byte.as_f64()).map(|byte| byte as u8).collect();
    let Ok(Restored { restored, dropped }) = guard.restore(&bytes) else { return Ok(false.into()) };
    let words = |kinds: Vec<Kind>| kinds.into_iter().map(|kind| JsValue::from(kind.word())).collect::<Array>();
    let answer = Answer::default();
    answer.set("restored", words(restored));
    answer.set("dropped", words(dropped));
    Ok(answer.done())
}

/// What a guard answers while another one has lent the engine, and whether both are what they were afterwards.
pub fn lent(order: &JsValue) -> Result<JsValue> {
    let (guard, _) = guard_for(&get(order, "guard"))?;
    let url = text(order, "url").unwrap_or_default();
    let outside = guard.key(&url);
    let answer = Answer::default();
    guard.with_engine(|_, _, _| {
        answer.set("knows", outside.is_some() && guard.key(&url) == outside);
        answer
            .set("made", Guard::new(StackConfig::default()).map_or_else(|error| error.to_string(), |_| String::new()));
        let answers = [
            guard.with_engine(|_, _, _| ()).is_some(),
            guard.metrics(url.as_str()).is_some(),
            guard.breaker(url.as_str()).is_some(),
            guard.operate(url.as_str(), |_: &mut CircuitBreaker, _, _| ()).is_some(),
            guard.snapshot().is_some(),
            guard.restore(&[]).is_ok(),
        ];
        answer.set("answers", answers.into_iter().map(JsValue::from).collect::<Array>());
    });
    answer.set("afterwards", guard.metrics(url.as_str()).is_some());
    Ok(answer.done())
}

/// What there is to read of a circuit, which an operator forces open before if the order says so.
pub fn circuit(order: &JsValue) -> Result<JsValue> {
    let (guard, events) = guard_for(&get(order, "guard"))?;
    let url = text(order, "url").unwrap_or_default();
    if is(order, "force") {
        guard.operate(url.as_str(), |breaker: &mut CircuitBreaker, key, cx| breaker.force_open(key, cx));
    }
    let answer = Answer::default();
    if let Some(circuit) = guard.breaker(url.as_str()) {
        answer.set("state", circuit.state.word());
        answer.set("trips", circuit.trips);
        answer.set("retryAfterMs", circuit.retry_after.map(|wait| wait.as_millis() as f64));
    }
    if let Some(metrics) = guard.metrics(url.as_str()) {
        answer.set("calls", metrics.calls);
        answer.set("transient", metrics.verdict(VerdictWord::Transient));
        answer.set("refused", metrics.refusal(RefusalReason::CircuitOpen));
    }
    answer.set("events", events);
    Ok(answer.done())
}

/// A call that is dropped while it waits: what the engine holds of it afterwards.
pub async fn dropped(order: &JsValue) -> Result<JsValue> {
    let (guard, events) = guard_for(&get(order, "guard"))?;
    let request = outgoing(order).await?;
    let in_flight = || guard.with_engine(|engine, _, _| engine.in_flight() as f64);
    let mut call = Box::pin(guard.fetch(request));
    let mut patience = Box::pin(Delay::from(Duration::from_millis(200)));
    let answer = Answer::default();
    std::future::poll_fn(|cx| {
        assert!(call.as_mut().poll(cx).is_pending(), "the upstream stalls");
        patience.as_mut().poll(cx)
    })
    .await;
    answer.set("before", in_flight());
    drop(call);
    answer.set("after", in_flight());
    answer.set("events", events);
    Ok(answer.done())
}

/// A call through a binding.
pub async fn through(order: &JsValue, way: Way<'_>, context: &Context) -> Result<JsValue> {
    let (guard, events) = guard_for(&get(order, "guard"))?;
    let request = outgoing(order).await?;
    let call = guard.call().wait_until(context).key("bound");
    let answer = Answer::default();
    let result = match way {
        Way::Service(service) => call.fetch_service(service, request).await,
        Way::Object(stub) => call.fetch_object(stub, request).await,
    };
    tell(&answer, &result);
    if let Ok(Done { value: mut response, held: _held, .. }) = result {
        answer.set("body", response.text().await?);
    }
    answer.set("events", events);
    Ok(answer.done())
}

/// Makes the guard "early" as its document says, before there is any request.
pub fn make_early() {
    let document =
        JSON::parse(r#"{"name": "early", "timeout": {"total": "5s"}, "retry": {"backoff": {"base": 1, "cap": 1}}}"#);
    guard_for(&document.expect("a text of ours")).expect("needs neither time nor entropy");
}

/// A guard in a guard: the inner one hears of the outer one's patience by the attempt's signal.
pub async fn nested(order: &JsValue) -> Result<JsValue> {
    if is(order, "shared") {
        return nested_under_one_budget(order).await;
    }
    let (outer, outer_events) = guard_for(&get(order, "guard"))?;
    let (inner, inner_events) = guard_for(&get(order, "inner"))?;
    let inner = &inner;
    let result = outer
        .execute(|attempt| async move {
            let request = outgoing(order).await?;
            inner.call().signal(attempt.signal()).fetch(request).await.map_err(worker::Error::from)
        })
        .await;
    let answer = Answer::default();
    match result {
        Ok(Done { value: Done { value: response, .. }, .. }) => answer.set("status", response.status_code()),
        Err(Failed { error, .. }) => answer.set("error", describe_error(&error)),
    }
    answer.set("events", outer_events);
    answer.set("innerEvents", inner_events);
    Ok(answer.done())
}

/// So many calls through a guard in a guard that share one budget: how many first attempts that has counted, and how many repeats.
async fn nested_under_one_budget(order: &JsValue) -> Result<JsValue> {
    let wrong = |error: NotMade| worker::Error::RustError(error.to_string());
    let Config { stack, .. } = Config::from_js(&get(order, "guard"))?;
    let budget = Some(Part::Shared(share(Kind::Budget, &stack).map_err(wrong)?));
    let [outer, inner] = [(); 2].map(|()| Guard::new(StackConfig { budget: budget.clone(), ..stack.clone() }));
    let (outer, inner) = (outer.map_err(wrong)?, inner.map_err(wrong)?);
    let inner = &inner;
    for _ in 0..get(order, "times").as_f64().unwrap_or(0.0) as u32 {
        let operation = |attempt: Attempt| async move {
            inner
                .call()
                .signal(attempt.signal())
                .key("one")
                .fetch(outgoing(order).await?)
                .await
                .map_err(worker::Error::from)
        };
        outer.call().key("one").execute(operation).await.map_err(|failed| failed.to_string())?;
    }
    let counts = outer.with_engine(|engine, stack, now| {
        let key = inner.key("one").unwrap_or(Key::NEW);
        engine.budget(stack).map(|budget| budget.counts(key, engine.instant(now)))
    });
    let answer = Answer::default();
    if let Some(Some(Counts { firsts, repeats, .. })) = counts {
        answer.set("firsts", firsts);
        answer.set("repeats", repeats);
    }
    Ok(answer.done())
}

/// One guard a name, with all that ever happened in it.
fn guard_for(config: &JsValue) -> Result<(Guard, Array)> {
    let name = text(config, "name").unwrap_or_default();
    if let Some(made) = GUARDS.with_borrow(|guards| guards.get(&name).cloned()) {
        return Ok(made);
    }
    let guard = Guard::new(Config::from_js(config)?).map_err(|error| worker::Error::RustError(error.to_string()))?;
    let events = Array::new();
    let told = events.clone();
    guard.on(move |event| _ = told.push(&event.to_js().expect("an event can be told"))).keep();
    GUARDS.with_borrow_mut(|guards| guards.insert(name, (guard.clone(), events.clone())));
    Ok((guard, events))
}

/// Who leaves when the order says so.
#[derive(Clone)]
struct Caller {
    controller: Rc<RefCell<Option<AbortController>>>,
    signal: worker::AbortSignal,
    reason: JsValue,
}

impl Caller {
    fn new(abort: &JsValue) -> Self {
        let controller = AbortController::default();
        let reason = text(abort, "reason").unwrap_or_else(|| "the caller left".into()).into();
        Self { signal: controller.signal(), controller: Rc::new(RefCell::new(Some(controller))), reason }
    }

    fn leave(&self) {
        if let Some(controller) = self.controller.borrow_mut().take() {
            controller.abort_with_reason(self.reason.clone());
        }
    }
}
