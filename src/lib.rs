#![no_std]
#![forbid(unsafe_code)]
//! forbear

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod words;
#[macro_use]
mod registry;
#[macro_use]
pub mod config;

mod call;
mod decision;
mod engine;
pub mod event;
pub mod http;
mod id;
mod key;
mod measure;
mod metrics;
mod outcome;
pub mod policy;
mod random;
mod ratio;
pub mod snapshot;
mod time;

pub use call::{Facts, Repeat};
pub use config::ConfigError;
pub use decision::{AttemptNumber, AttemptSet, Decision, MAX_ATTEMPTS, RefusalReason, Rejection, Step, StopReason};
pub use engine::{Engine, Limits, MAX_STACKS};
pub use id::{CallId, ObjectId, StackId};
pub use key::{Key, Keyed, MAX_KEYS};
pub use metrics::{LATENCY_BUCKETS, Metrics};
pub use outcome::{Outcome, Overload, Verdict};
pub use policy::{Kind, Part, StackConfig};
pub use random::Rng;
pub use ratio::Ratio;
pub use time::{Clock, Duration, HostTime, Instant};
