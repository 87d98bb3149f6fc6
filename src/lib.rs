#![no_std]
#![forbid(unsafe_code)]
//! Resilience policies for outgoing calls: one engine that decides, hosts that act.
//!
//! For every call the engine decides whether to make it, when to give up on it, whether to make it again, and when to
//! say no. It is sans-IO: every decision is a synchronous function of (state, input, now, random). It reads no clock,
//! draws no entropy, sets no timer, awaits nothing and calls nobody back.
//!
//! ```
//! use forbear::policy::{circuit_breaker, deadline, retry};
//! use forbear::{Duration, Engine, Facts, HostTime, Key, Outcome, Part, StackConfig, Step, Verdict};
//!
//! let mut engine = Engine::default();
//! let stack = engine.add_stack(StackConfig {
//!     deadline: Some(deadline::Config { total: Duration::from_secs(10), ..Default::default() }),
//!     retry: Some(retry::Config::default()),
//!     breaker: Some(Part::Own(circuit_breaker::Config::default())),
//!     ..StackConfig::default()
//! })?;
//!
//! // The host brings time and randomness, and does what the decision says.
//! let decision = engine.admit(stack, Key::WHOLE, Facts::default(), HostTime::from_millis(1_000), 42);
//! let (Step::Send(attempt), Some(call)) = (decision.step, decision.call) else { panic!("refused") };
//! let outcome = Outcome::new(Verdict::Success);
//! let decision = engine.settle(call, attempt, outcome, HostTime::from_millis(1_020), 43);
//! assert!(matches!(decision.step, Step::Done { attempt: 1, .. }));
//! # Ok::<(), forbear::ConfigError>(())
//! ```
//!
//! # The verbs
//!
//! [`Engine::admit`], [`Engine::settle`], [`Engine::due`], [`Engine::wake`] and [`Engine::cancel`] each answer with one
//! [`Decision`]. [`Engine::sent`] only tells the engine when a prepared attempt leaves.
//! `docs/driving.md` says how to write a host; `examples/drive.rs` is the shortest one.
//!
//! # The laws
//!
//! 1. One verb, one decision. It names everything the host must do next.
//! 2. Time never runs backwards, whatever the host's clock does. Equal instants and jumps of hours are normal.
//! 3. Spurious wakes are harmless; a late wake never grants what was not earned and never loses what was.
//! 4. Every Send is settled at most once. A second settle, a stale or foreign handle changes nothing and says so in an
//!    event.
//! 5. Nothing held is held for ever: it is leased, and nobody is refused or made to wait because of a lease that has
//!    ended.
//! 6. Our own refusals are never evidence: a refusal, or a cancel before the first Send, leaves the snapshot byte-equal.
//!    (A throttler that is told to count what it refuses is the one exception.)
//! 7. Same inputs, same decisions, bit for bit, on every host.
//! 8. A refusal keeps its word: absent other traffic the refusing policy does not refuse at the instant it named.
//! 9. Everything is bounded: keys, lines, events, attempts, calls. What overflows says so.
//! 10. No panic is reachable. Configuration is parsed once into values that cannot be wrong; verbs return no `Result`.
//!
//! `tests/laws.rs` holds every policy to them.

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod words;
#[macro_use]
mod registry;
#[macro_use]
pub mod config;
#[macro_use]
pub mod figure;

mod any_gate;
mod call;
mod decision;
mod engine;
pub mod event;
pub mod http;
mod id;
mod key;
mod measure;
mod metrics;
mod more;
mod names;
mod outcome;
mod own_limits;
pub mod policy;
mod random;
mod ratio;
pub mod snapshot;
mod stack_config;
mod time;

pub use call::{Facts, Repeat};
pub use config::ConfigError;
pub use decision::{AttemptNumber, AttemptSet, Decision, MAX_ATTEMPTS, RefusalReason, Rejection, Step, StopReason};
pub use engine::{Engine, Limits, MAX_SNAPSHOT, MAX_STACKS, is_snapshot};
pub use id::{CallId, ObjectId, StackId};
pub use key::{Key, Keyed, MAX_KEYS, kept_name};
pub use metrics::{LATENCY_BUCKETS, Metrics};
pub use names::Names;
pub use outcome::{Outcome, Overload, Verdict};
pub use own_limits::OwnLimits;
pub use random::Rng;
pub use ratio::Ratio;
pub use registry::Kind;
pub use stack_config::{Part, Slot, StackConfig};
pub use time::{Clock, Duration, HostTime, Instant};

/// The page's program must compile.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct Page;
