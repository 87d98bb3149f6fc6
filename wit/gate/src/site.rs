//! What an instance has once: the engine with its one stack, the names of keys, a clock and randomness.

use alloc::string::String;

use forbear::{
    AttemptNumber, CallId, Decision, Engine, Facts, HostTime, Key, Names, Outcome, OwnLimits, Repeat, Rng, StackId,
};
use forbear_wit_shared::settings::{self, gate};
use forbear_wit_shared::single::Single;

use crate::bindings::ErrorCode;
use crate::bindings::wasi::clocks::monotonic_clock;
use crate::bindings::wasi::config::store;
use crate::bindings::wasi::random::insecure_seed;

/// The engine and what its verbs need.
pub struct Site {
    engine: Engine,
    stack: StackId,
    names: Names,
    random: Rng,
    pub http: HttpSettings,
    pub limits: OwnLimits,
}

/// How requests come in.
#[derive(Clone, Copy)]
pub struct HttpSettings {
    /// Whether each origin has state of its own.
    pub by_origin: bool,
    /// Whether responses' headers are waited for.
    pub waits: bool,
}

/// Lends the site, which the first call opens.
///
/// # Errors
/// The configuration is wrong: every request hears so.
pub fn with<T>(act: impl FnOnce(&mut Site) -> T) -> Result<T, ErrorCode> {
    SITE.with(Site::open, act).map_err(|error| ErrorCode::InternalError(Some(error)))
}

pub fn now() -> HostTime {
    HostTime::from_nanos(monotonic_clock::now())
}

impl Site {
    fn open() -> Result<Self, String> {
        let pairs = store::get_all().map_err(|_| String::from("forbear: the configuration cannot be read"))?;
        let settings = gate::read(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let http = HttpSettings { by_origin: settings.by_origin, waits: settings.waits };
        let limits = settings.stack.own_limits(None);
        let mut engine = Engine::default();
        let stack = engine.add_stack(settings.stack).map_err(|error| settings::refusal(&error))?;
        let (word, _) = insecure_seed::insecure_seed();
        Ok(Self { engine, stack, names: Names::new(), random: Rng::new(word), http, limits })
    }

    /// May this call begin?
    pub fn admit(&mut self, name: Option<&str>) -> Decision {
        let key = name.map_or(Key::WHOLE, |name| self.names.key(name));
        // Nothing is ever repeated here.
        let facts = Facts { repeat: Repeat::OnlyUnprocessed, replayable: false, ..Facts::default() };
        let random = self.random.word();
        let decision = self.engine.admit(self.stack, key, facts, now(), random);
        self.names.learn_admitted(name, key, &decision, &self.engine);
        decision
    }

    /// The attempt has ended.
    pub fn settle(&mut self, call: CallId, attempt: AttemptNumber, outcome: Outcome) -> Decision {
        let random = self.random.word();
        self.engine.settle(call, attempt, outcome, now(), random)
    }

    /// The instant asked for has come.
    pub fn due(&mut self, call: CallId) -> Decision {
        let random = self.random.word();
        self.engine.due(call, now(), random)
    }

    /// How the attempt ends, nobody here will know.
    pub fn cancel(&mut self, call: CallId) {
        let _ = self.engine.cancel(call, now());
    }
}

static SITE: Single<Site> = Single::unopened();
