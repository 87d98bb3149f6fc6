//! What others ask of policies like these, and what broke there, on virtual time and the real engine.
//!
//! A file is a topic, and a test is named after the line that asks for it. The lists are Stoic's ("Resilience policies",
//! section Testing, as far as policies decide: what concerns tasks and actors has no counterpart here) and resilix's
//! ("Spec: retry, budgets, throttling and rate limiting (v0.4)", sections 9 and 10); docs/others-bugs.md lists the bugs.
//! Where they and we differ ours stands: when all attempts of a hedge fail the first one's error is the call's, and losers
//! are not awaited but in the `drop` of the decision that ends the call; `limiter-full` is our `concurrency-limited`;
//! `budget-exceeded` is a stop reason, since the first attempt was not refused and its result is the caller's.
#![cfg(not(target_family = "wasm"))]

mod backoff;
mod breaker;
mod budget;
mod capacity;
mod hedge;
mod host;
mod pipeline;
mod refusals;
mod refuser;
mod retry;
#[path = "../laws/script.rs"]
mod script;
mod throttler;
