#![doc = include_str!("../README.md")]

use std::rc::Rc;

use worker::{Fetcher, Stub};

mod attempt;
mod call;
mod config;
mod document;
mod drive;
mod end;
mod event;
mod held;
mod host;
mod isolate;
mod not_made;
mod outcome;
mod race;
mod reads;
mod request;
mod saved;

pub use attempt::Attempt;
pub use call::Call;
pub use config::Config;
pub use end::{Discarded, Done, Error, Failed, Report, Result};
pub use event::{Event, Subscription};
pub use held::Held;
pub use not_made::NotMade;
pub use outcome::outcome_of;
pub use reads::Circuit;
pub use request::Outgoing;
pub use saved::Restored;

/// The engine. What of it a Worker's author needs most stands beside the guard here.
pub use forbear;
pub use forbear::event::{VerdictWord, What};
pub use forbear::policy;
pub use forbear::snapshot::Damaged;
pub use forbear::{
    AttemptNumber, ConfigError, Duration, Engine, HostTime, Key, Kind, Metrics, ObjectId, Outcome, Overload, Part,
    Ratio, RefusalReason, StackConfig, StackId, StopReason, Verdict,
};

use forbear::OwnLimits;

/// A stack of policies around what it fetches or executes. A handle: clones are the same guard.
///
/// Making one touches neither time nor entropy, so it may be made at any scope. It belongs to its isolate, whose guards
/// have one engine between them.
#[derive(Clone, Debug)]
pub struct Guard(Rc<Site>);

/// What all calls of a guard have in common.
#[derive(Debug)]
struct Site {
    stack: StackId,
    /// For a call that has to go on without the engine.
    limits: OwnLimits,
}

impl Guard {
    /// Adds a stack to the isolate's engine, unless a guard of this name and with equal policies has one there.
    ///
    /// # Errors
    /// Names the option, the value and the range; or there are too many stacks: make guards once, not with each request.
    pub fn new(config: impl Into<Config>) -> std::result::Result<Self, NotMade> {
        let Config { name, stack } = config.into();
        let limits = stack.own_limits(None);
        let stack = isolate::with(|isolate| isolate.add_stack(name, stack)).ok_or(NotMade::Lent)??;
        Ok(Self(Rc::new(Site { stack, limits })))
    }

    /// A call with options of its own.
    pub fn call(&self) -> Call<'_> {
        Call::new(&self.0)
    }

    /// Fetches by the runtime's own `fetch`.
    ///
    /// # Errors
    /// What the last attempt brought, or why there is nothing: see [`Error`].
    pub async fn fetch(&self, request: impl Into<Outgoing>) -> Result {
        self.call().fetch(request).await
    }

    /// Fetches from another Worker, through its service binding.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_service(&self, service: &Fetcher, request: impl Into<Outgoing>) -> Result {
        self.call().fetch_service(service, request).await
    }

    /// Fetches from a Durable Object. A stub that has failed once may be broken for good, so each attempt gets a fresh one.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_object(&self, stub: impl Fn() -> worker::Result<Stub>, request: impl Into<Outgoing>) -> Result {
        self.call().fetch_object(stub, request).await
    }

    /// Executes an operation, once for each attempt. How it ended is read off its result by [`outcome_of`].
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn execute<T: 'static, E: 'static, F>(&self, operation: impl FnMut(Attempt) -> F) -> Result<T, E>
    where
        F: Future<Output = std::result::Result<T, E>>,
    {
        self.call().execute(operation).await
    }

    /// Tells a listener what happens in this stack, until the subscription is dropped.
    pub fn on(&self, listener: impl Fn(&Event) + 'static) -> Subscription {
        isolate::listen(self.0.stack, Rc::new(listener))
    }

    /// Lends the isolate's engine, for everything there is to read or to operate. Keys' names stand for numbers that guards
    /// were given: see [`key`](Self::key), and leave [`Engine::intern`] alone.
    ///
    /// Nobody else can ask the engine meanwhile. No guard is made and nothing shared: an error says so. What a guard is asked
    /// that it would have to ask the engine has no answer (`None`, here too), and the Worker's log says why. A call that is
    /// polled in here goes on unguarded. Who listens, leaves or drops something in here is heard afterwards.
    pub fn with_engine<T>(&self, question: impl FnOnce(&mut Engine, StackId, HostTime) -> T) -> Option<T> {
        isolate::ask(|isolate| {
            let now = isolate.now();
            question(&mut isolate.engine, self.0.stack, now)
        })
    }

    /// The number of a key's name, if it has one: of an origin, by any URL of it, or of any other name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<Key> {
        let name = isolate::name_of(name);
        Some(isolate::names(|names| names.key(&name))).filter(|key| *key != Key::NEW)
    }
}

/// Builds a budget or a gate that several guards of this isolate may share, as [`Part::Shared`].
///
/// # Errors
/// The configuration is refused, has nothing of this kind in it, or there is no room.
pub fn share(kind: Kind, config: &StackConfig) -> std::result::Result<ObjectId, NotMade> {
    Ok(isolate::with(|isolate| isolate.engine.share_from(config, kind)).ok_or(NotMade::Lent)??)
}

/// The page's programs must compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/rust-workers.md")]
struct Page;
