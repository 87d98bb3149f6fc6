//! What an instance has once: the engine with its one stack, the names of keys, a clock and randomness. Nothing here awaits.

use alloc::string::String;
use alloc::vec::Vec;
use core::task::{Context, Waker};

use forbear::{AttemptNumber, CallId, Decision, Engine, Facts, Key, Names, Outcome, OwnLimits, Repeat, Rng, StackId};
use forbear_wit_shared::single::Single;

use crate::bindings::wasi::config::store;
use crate::bindings::wasi::random::insecure_seed;
use crate::bindings::{ErrorCode, Request};
use crate::clock::now;
#[cfg(feature = "state")]
use crate::persistence::Persistence;
use crate::settings::{self, HttpSettings};

#[cfg(feature = "state")]
mod learned;

/// The engine and what its verbs need.
pub struct Site {
    engine: Engine,
    stack: StackId,
    names: Names,
    random: Rng,
    sleepers: Vec<Sleeper>,
    pub http: HttpSettings,
    pub limits: OwnLimits,
    once: String,
    #[cfg(feature = "state")]
    pub persistence: Persistence,
}

/// A call that waits; without a waker once it was rung.
struct Sleeper {
    call: CallId,
    waker: Option<Waker>,
}

/// Lends the site, which the first call opens.
///
/// # Errors
/// The configuration is wrong: every request hears so.
pub fn with<T>(act: impl FnOnce(&mut Site) -> T) -> Result<T, ErrorCode> {
    SITE.with(Site::open, act).map_err(|error| ErrorCode::InternalError(Some(error)))
}

impl Site {
    fn open() -> Result<Self, String> {
        let pairs = store::get_all().map_err(|_| String::from("forbear: the configuration cannot be read"))?;
        let settings = settings::read(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let limits = settings.stack.own_limits(None);
        let mut engine = Engine::default();
        let stack = engine.add_stack(settings.stack).map_err(|error| settings::refusal(&error))?;
        let (word, _) = insecure_seed::get_insecure_seed();
        let (names, random, sleepers) = (Names::default(), Rng::new(word), Vec::new());
        Ok(Self {
            engine,
            stack,
            names,
            random,
            sleepers,
            http: settings.http,
            limits,
            once: settings.once,
            #[cfg(feature = "state")]
            persistence: Persistence::new(settings.state),
        })
    }

    /// Whether a request says of itself that it is sent once.
    pub fn is_sent_once(&self, request: &Request) -> bool {
        !self.once.is_empty() && !request.get_headers().get(&self.once).is_empty()
    }

    /// May this call begin?
    pub fn admit(&mut self, name: Option<&str>, facts: Facts) -> Decision {
        let key = name.map_or(Key::WHOLE, |name| self.names.key(name));
        let (now, random) = (now(), self.random.word());
        let decision = self.engine.admit(self.stack, key, facts, now, random);
        self.names.learn_admitted(name, key, &decision, &self.engine);
        self.answered(decision)
    }

    /// An attempt has ended.
    pub fn settle(&mut self, call: CallId, attempt: AttemptNumber, outcome: Outcome) -> Decision {
        let (now, random) = (now(), self.random.word());
        let decision = self.engine.settle(call, attempt, outcome, now, random);
        self.answered(decision)
    }

    /// A hint came.
    pub fn wake(&mut self, call: CallId) -> Decision {
        let (now, random) = (now(), self.random.word());
        let decision = self.engine.wake(call, now, random);
        self.answered(decision)
    }

    /// From now on the upstream is what this attempt waits for.
    pub fn sent(&mut self, call: CallId, attempt: AttemptNumber) {
        self.engine.sent(call, attempt, Repeat::Freely, now());
    }

    /// The caller left, or the body of a held call has ended.
    pub fn cancel(&mut self, call: CallId) {
        self.sleepers.retain(|sleeper| sleeper.call != call);
        let decision = self.engine.cancel(call, now());
        let _ = self.answered(decision);
    }

    /// Rings those who are worth a wake now.
    fn answered(&mut self, decision: Decision) -> Decision {
        for call in self.engine.woken() {
            let sleeper = self.sleepers.iter_mut().find(|sleeper| sleeper.call == call);
            sleeper.and_then(|sleeper| sleeper.waker.take()).into_iter().for_each(Waker::wake);
        }
        decision
    }

    /// Whether the call was rung; if not, it will be.
    pub fn rung(&mut self, call: CallId, context: &Context<'_>) -> bool {
        let place = self.sleepers.iter().position(|sleeper| sleeper.call == call);
        let was_rung = place.is_some_and(|place| self.sleepers.swap_remove(place).waker.is_none());
        if !was_rung {
            self.sleepers.push(Sleeper { call, waker: Some(context.waker().clone()) });
        }
        was_rung
    }

    /// The call sleeps no more.
    pub fn awake(&mut self, call: CallId) {
        self.sleepers.retain(|sleeper| sleeper.call != call);
    }
}

static SITE: Single<Site> = Single::unopened();
