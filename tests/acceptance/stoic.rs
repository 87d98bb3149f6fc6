//! Stoic, "Resilience policies", section Testing, item by item, as far as policies decide: what concerns tasks and actors
//! has no counterpart here. Where the two differ ours stands: when all attempts of a hedge fail the first one's error is
//! the call's, and losers are not awaited but in the `drop` of the decision that ends the call.

mod breaker;
mod bulkhead;
mod hedge;
mod limiter;
mod pipeline;
mod windows;
