//! The isolate's engine, and what stands around it: clock, entropy, names of keys, listeners.
//!
//! Users' code may run while the engine is lent (`Guard::with_engine`, gates of their own). What it asks then is never
//! answered by anything but this engine: it hears that the engine is lent, or is heard once it is free.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use forbear::{
    AttemptNumber, CallId, ConfigError, Decision, Engine, Facts, HostTime, Key, Kind, Limits, MAX_STACKS, Names,
    Outcome, Repeat, Rng, StackConfig, StackId,
};

use crate::event::{Event, Heard, Listener, Subscription};
use crate::host;
use crate::request::origin_of;

pub struct Isolate {
    pub engine: Engine,
    /// The guards' stacks, by their numbers; none where whoever was lent the engine has added one.
    stacks: Vec<Option<Stack>>,
    listeners: Vec<Listener>,
    /// Not there before the first verb: a Worker's module scope has no entropy.
    rng: Option<Rng>,
}

std::thread_local! {
    static ISOLATE: RefCell<Isolate> = const { RefCell::new(Isolate::new()) };
    /// Beside the engine, so that names are known while it is lent. No code of users' runs while this is borrowed.
    static NAMES: RefCell<Names> = const { RefCell::new(Names::new()) };
    /// What waits for the engine to be free, in order.
    static LATER: RefCell<VecDeque<Act>> = const { RefCell::new(VecDeque::new()) };
    static LISTENED: Cell<u64> = const { Cell::new(0) };
    /// The stacks whose attempts are being polled, from the outermost to the innermost: what begins now is nested in them.
    static AROUND: RefCell<Vec<StackId>> = const { RefCell::new(Vec::new()) };
}

/// What a stack was made of.
struct Stack {
    id: StackId,
    name: Option<Rc<str>>,
    config: StackConfig,
}

type Act = Box<dyn FnOnce(&mut Isolate)>;

/// Asks the isolate's engine; `None` where it is lent.
pub fn with<T>(question: impl FnOnce(&mut Isolate) -> T) -> Option<T> {
    ISOLATE.with(|isolate| isolate.try_borrow_mut().ok().map(|mut isolate| question(&mut isolate)))
}

/// Asks the isolate's engine for somebody who has to know why there is no answer, and tells what came of it.
pub fn ask<T>(question: impl FnOnce(&mut Isolate) -> T) -> Option<T> {
    let told = with(question);
    if told.is_none() {
        host::complain("forbear: the engine was asked for something inside with_engine or operate, which has lent it");
    }
    tell();
    told
}

/// Says something to the engine that must not get lost: at once, or when it is free again.
pub fn say(act: impl FnOnce(&mut Isolate) + 'static) {
    LATER.with_borrow_mut(|later| later.push_back(Box::new(act)));
    catch_up();
}

/// Tells listeners what has happened, with the engine free again: they may call guards.
pub fn tell() {
    catch_up();
    while let Some((event, listeners)) = with(Isolate::next_event).flatten() {
        for listener in listeners {
            listener(&event);
        }
    }
}

/// Polls an attempt of this stack.
pub fn within<T>(stack: StackId, poll: impl FnOnce() -> T) -> T {
    AROUND.with_borrow_mut(|around| around.push(stack));
    let polled = poll();
    AROUND.with_borrow_mut(Vec::pop);
    polled
}

/// Tells a listener what happens in a stack, until the subscription is dropped.
pub fn listen(stack: StackId, heard: Heard) -> Subscription {
    let number = LISTENED.get() + 1;
    LISTENED.set(number);
    say(move |isolate| isolate.listen(Listener { number, stack, heard }));
    Subscription::new(number)
}

/// What is asked of the names of keys, whether the engine is lent or not.
pub fn names<T>(question: impl FnOnce(&Names) -> T) -> T {
    NAMES.with_borrow(question)
}

/// The name that is meant: a key's own, or any URL of an origin. A key may look like a URL and be none.
pub fn name_of(given: &str) -> Cow<'_, str> {
    let known = names(|names| names.key(given)) != Key::NEW;
    if known { Cow::Borrowed(given) } else { origin_of(given).unwrap_or(Cow::Borrowed(given)) }
}

fn catch_up() {
    // To forget a listener drops what is its own, which may say something in turn.
    while let Some(Some(act)) = with(|_| LATER.with_borrow_mut(VecDeque::pop_front)) {
        with(act);
    }
}

impl Isolate {
    const fn new() -> Self {
        Self { engine: Engine::new(Limits::DEFAULT), stacks: Vec::new(), listeners: Vec::new(), rng: None }
    }

    /// The stack for a guard: guards of one name and equal policies have one between them, and one without a name has its
    /// own, unless there are so many that it must be made with each request.
    pub fn add_stack(&mut self, name: Option<String>, config: StackConfig) -> Result<StackId, ConfigError> {
        if name.is_some() || self.stacks.len() >= MOST_BEFORE_SHARED {
            let is_alike = |stack: &&Stack| stack.name.as_deref() == name.as_deref() && stack.config == config;
            if let Some(alike) = self.stacks.iter().rev().flatten().find(is_alike) {
                return Ok(alike.id);
            }
        }
        let id = self.engine.add_stack(config.clone())?;
        self.stacks.resize_with(usize::from(id.number()), || None);
        self.stacks.push(Some(Stack { id, name: name.map(Rc::from), config }));
        Ok(id)
    }

    /// The number of this very name, which is given one if need be; `None` where every key is busy.
    pub fn intern(&mut self, name: &str) -> Option<Key> {
        match names(|names| names.key(name)) {
            Key::NEW => {
                let key = self.engine.intern()?;
                NAMES.with_borrow_mut(|names| names.learn(name, key));
                Some(key)
            }
            key => Some(key),
        }
    }

    pub fn now(&self) -> HostTime {
        host::now()
    }

    /// Now, and a random word.
    pub fn moment(&mut self) -> (HostTime, u64) {
        let now = self.now();
        let rng = self.rng.get_or_insert_with(|| Rng::new(host::entropy().unwrap_or(now.as_nanos())));
        (now, rng.word())
    }
}

/// The verbs, each at the host's now and with a random word of its own.
impl Isolate {
    pub fn admit(&mut self, stack: StackId, name: Option<&str>, facts: Facts) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        let facts = Facts { counted: self.is_counted(stack), ..facts };
        let key = name.map_or(Key::WHOLE, |name| names(|names| names.key(name)));
        let decision = self.engine.admit(stack, key, facts, now, random);
        NAMES.with_borrow_mut(|names| names.learn_admitted(name, key, &decision, &self.engine));
        (decision, now)
    }

    /// Whether a call around one of this stack has been counted by the budget that both share.
    fn is_counted(&self, stack: StackId) -> bool {
        let budget_of = |stack: StackId| self.engine.object(stack, Kind::Budget);
        let shares = |outer: &StackId| budget_of(*outer).is_some_and(|budget| budget_of(stack) == Some(budget));
        AROUND.with_borrow(|around| around.iter().any(shares))
    }

    pub fn settle(&mut self, call: CallId, attempt: AttemptNumber, outcome: Outcome) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        (self.engine.settle(call, attempt, outcome, now, random), now)
    }

    pub fn wake(&mut self, call: CallId) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        (self.engine.wake(call, now, random), now)
    }

    pub fn due(&mut self, call: CallId) -> (Decision, HostTime) {
        let (now, random) = self.moment();
        (self.engine.due(call, now, random), now)
    }

    /// What is sent may be repeated by whoever the call's facts name: they were read off it.
    pub fn sent(&mut self, call: CallId, attempt: AttemptNumber) {
        self.engine.sent(call, attempt, Repeat::Freely, self.now());
    }

    pub fn cancel(&mut self, call: CallId) {
        let now = self.now();
        let _ = self.engine.cancel(call, now);
    }
}

/// Events.
impl Isolate {
    fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
        self.engine.events().listen(true);
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
        let stack = event.stack.and_then(|stack| self.stacks.get(usize::from(stack.number()))?.as_ref()?.name.clone());
        let key = names(|names| names.name(event.key).cloned());
        Some((Event { at: self.now(), stack, key, policy: event.policy, what: event.what }, listeners))
    }
}

/// From so many on, guards without a name are one as those of a name are: what else there is to make must have room. As in
/// the JavaScript package.
const MOST_BEFORE_SHARED: usize = MAX_STACKS / 2;

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{Guard, share};
    use forbear::{Key, Part};

    fn repeating() -> StackConfig {
        StackConfig { retry: Some(Default::default()), ..StackConfig::OFF }
    }

    fn nested<T>(question: impl FnOnce() -> T) -> T {
        with(|_| question()).expect("the engine is free")
    }

    fn listeners() -> usize {
        with(|isolate| isolate.listeners.len()).unwrap()
    }

    #[test]
    fn a_guard_made_while_the_engine_is_lent_is_an_error_and_never_another_guard() {
        let before = Guard::new(StackConfig::default()).unwrap();
        let error = nested(|| Guard::new(StackConfig::default())).unwrap_err();
        assert!(error.to_string().contains("with_engine"), "{error}");
        let after = Guard::new(StackConfig::default()).unwrap();
        assert_eq!(after.0.stack.number(), before.0.stack.number() + 1);
    }

    #[test]
    fn nothing_is_shared_while_the_engine_is_lent() {
        let config = StackConfig { breaker: Some(Part::Own(Default::default())), ..StackConfig::OFF };
        let error = nested(|| share(Kind::Breaker, &config)).unwrap_err();
        assert!(error.to_string().contains("with_engine"), "{error}");
        assert!(share(Kind::Breaker, &config).is_ok());
    }

    #[test]
    fn names_of_keys_are_known_while_the_engine_is_lent() {
        let guard = Guard::new(StackConfig::default()).unwrap();
        NAMES.with_borrow_mut(|names| names.learn("db", Key::from_number(2)));
        assert_eq!(nested(|| guard.key("db")), Some(Key::from_number(2)));
    }

    #[test]
    fn who_begins_or_ceases_to_listen_while_the_engine_is_lent_is_heard_afterwards() {
        let guard = Guard::new(StackConfig::default()).unwrap();
        let begun = nested(|| guard.on(|_| {}));
        tell();
        assert_eq!(listeners(), 1);
        nested(|| drop(begun));
        tell();
        assert_eq!(listeners(), 0);
    }

    #[test]
    fn a_listener_may_own_another_ones_subscription() {
        let guard = Guard::new(StackConfig::default()).unwrap();
        let inner = guard.on(|_| {});
        let outer = guard.on(move |_| _ = &inner);
        assert_eq!(listeners(), 2);
        drop(outer);
        assert_eq!(listeners(), 0);
    }

    #[test]
    fn a_stack_that_a_borrower_added_takes_no_name_of_a_guards() {
        with(|isolate| isolate.engine.add_stack(StackConfig::default())).unwrap().unwrap();
        let named = crate::Config { name: Some("rates".into()), ..Default::default() };
        let place = usize::from(Guard::new(named).unwrap().0.stack.number());
        let name = with(|isolate| isolate.stacks[place].as_ref()?.name.clone()).flatten();
        assert_eq!(name.as_deref(), Some("rates"));
    }

    #[test]
    fn guards_of_one_name_and_equal_policies_are_one_and_one_without_a_name_is_on_its_own() {
        let number = |name: Option<&str>, stack: StackConfig| {
            Guard::new(crate::Config { name: name.map(Into::into), stack }).unwrap().0.stack.number()
        };
        let mail = number(Some("mail"), StackConfig::default());
        assert_eq!(number(Some("mail"), StackConfig::default()), mail);
        assert_ne!(number(Some("mail"), repeating()), mail);
        assert_ne!(number(Some("database"), StackConfig::default()), mail);
        assert_ne!(number(None, StackConfig::default()), number(None, StackConfig::default()));
    }

    #[test]
    fn a_guard_without_a_name_that_is_made_with_each_request_is_bounded_and_never_an_error() {
        for _ in 0..1_000 {
            Guard::new(StackConfig::default()).unwrap();
        }
        assert_eq!(with(|isolate| isolate.stacks.len()).unwrap(), MOST_BEFORE_SHARED);
        for other in 0..MOST_BEFORE_SHARED {
            Guard::new(crate::Config { name: Some(other.to_string()), ..Default::default() }).unwrap();
        }
        assert!(Guard::new(StackConfig::default()).is_ok());
        assert!(Guard::new(repeating()).is_err());
    }
}
