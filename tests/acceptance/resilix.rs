//! resilix, "Spec: retry, budgets, throttling and rate limiting (v0.4)": section 10, acceptance criteria, and section 9,
//! open questions. Its `limiter-full` is our `concurrency-limited`; its `budget-exceeded` is a stop reason, since the first attempt was
//! not refused and its result is the caller's.

mod jitter;
mod load;
mod questions;
mod refusals;
mod repeats;
mod throttler;
