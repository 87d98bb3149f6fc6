//! The isolate's engine, and what stands around it: clock, entropy, names of keys, listeners.

use alloc::string::String;
use alloc::vec::Vec;
use std::cell::RefCell;
use std::rc::Rc;

use crate::call::Facts;
use crate::config::ConfigError;
use crate::decision::{AttemptNumber, Decision, Step};
use crate::engine::{Engine, Limits};
use crate::id::{CallId, StackId};
use crate::key::Key;
use crate::outcome::Outcome;
use crate::random::Rng;
use crate::stack_config::StackConfig;
use crate::time::HostTime;

use super::event::{Event, Heard, Listener, Subscription};
use super::host;
use super::keys::KeyNames;

pub struct Isolate {
    pub engine: Engine,
    pub keys: KeyNames,
    /// By the stacks' numbers.
    names: Vec<Option<Rc<str>>>,
    listeners: Vec<Listener>,
    listened: u64,
    /// Not there before the first verb: a Worker's module scope has no entropy.
    rng: Option<Rng>,
}

std::thread_local! {
    static ISOLATE: RefCell<Isolate> = const { RefCell::new(Isolate::new()) };
}

/// Asks the isolate's engine. Who asks while it is being asked finds an empty one, which knows no call.
pub fn with<T>(question: impl FnOnce(&mut Isolate) -> T) -> T {
    ISOLATE.with(|isolate| match isolate.try_borrow_mut() {
        Ok(mut isolate) => question(&mut isolate),
        Err(_) => question(&mut Isolate::new()),
    })
}

/// Tells listeners what has happened, with the engine free again: they may call guards.
pub fn tell() {
    while let Some((event, listeners)) = with(Isolate::next_event) {
        for listener in listeners {
            listener(&event);
        }
    }
}

impl Isolate {
    const fn new() -> Self {
        Self {
            engine: Engine::new(Limits::DEFAULT),
            keys: KeyNames::new(),
            names: Vec::new(),
            listeners: Vec::new(),
            listened: 0,
            rng: None,
        }
    }

    pub fn add_stack(&mut self, name: Option<String>, config: StackConfig) -> Result<StackId, ConfigError> {
        let stack = self.engine.add_stack(config)?;
        self.names.push(name.map(Rc::from));
        Ok(stack)
    }

    pub fn now(&self) -> HostTime {
        host::now()
    }
}

/// The verbs, each at the host's now and with a random word of its own.
impl Isolate {
    pub fn admit(&mut self, stack: StackId, key: Option<&str>, facts: Facts) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        let number = key.map_or(Key::WHOLE, |name| self.keys.find(name).unwrap_or(Key::NEW));
        let decision = self.engine.admit(stack, number, facts, now, random);
        if let (Key::NEW, Some(name), Some(call)) = (number, key, decision.call)
            && matches!(decision.step, Step::Send(_) | Step::Wait)
            && let Some(number) = self.engine.key_of(call)
        {
            self.keys.learn(name, number);
        }
        (decision, now)
    }

    pub fn settle(&mut self, call: CallId, attempt: AttemptNumber, outcome: Outcome) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        (self.engine.settle(call, attempt, outcome, now, random), now)
    }

    pub fn wake(&mut self, call: CallId) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        (self.engine.wake(call, now, random), now)
    }

    pub fn cancel(&mut self, call: CallId) {
        let now = self.now();
        let _ = self.engine.cancel(call, now);
    }

    fn moment(&mut self) -> (HostTime, u64) {
        let now = self.now();
        let rng = self.rng.get_or_insert_with(|| Rng::new(host::entropy().unwrap_or(now.as_nanos())));
        (now, rng.word())
    }
}

/// Events.
impl Isolate {
    pub fn listen(&mut self, stack: StackId, heard: Heard) -> Subscription {
        self.listened += 1;
        self.listeners.push(Listener { number: self.listened, stack, heard });
        self.engine.events().listen(true);
        Subscription::new(self.listened)
    }

    pub fn forget(&mut self, listener: u64) {
        self.listeners.retain(|other| other.number != listener);
        if self.listeners.is_empty() {
            self.engine.events().listen(false);
        }
    }

    /// The oldest event, and who hears of it: what belongs to no stack is told to all.
    fn next_event(&mut self) -> Option<(Event, Vec<Heard>)> {
        let event = self.engine.events().pop()?;
        let hears = |listener: &&Listener| event.stack.is_none_or(|stack| stack == listener.stack);
        let listeners = self.listeners.iter().filter(hears).map(|listener| listener.heard.clone()).collect();
        let stack = event.stack.and_then(|stack| self.names.get(usize::from(stack.number())).cloned().flatten());
        let key = self.keys.name_of(event.key);
        Some((Event { at: self.now(), stack, key, policy: event.policy, what: event.what }, listeners))
    }
}
