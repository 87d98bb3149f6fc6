//! What happened: facts for whoever watches, in a bounded log that the host drains after a verb.

use alloc::vec::Vec;

use crate::decision::{AttemptNumber, RefusalReason, StopReason};
use crate::id::StackId;
use crate::key::Key;
use crate::ratio::Ratio;
use crate::registry::Kind;
use crate::time::{Duration, Instant};

mod reasons;

pub use self::reasons::{CloseReason, Counted, HedgeStep, IgnoreReason, LimitReason, Trigger, VerdictWord};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, on the engine's own time line.
    pub at: Instant,
    /// The stack whose verb it happened in; `None` for what an operator did.
    pub stack: Option<StackId>,
    /// The key it concerns.
    pub key: Key,
    /// The policy that tells it; `None` where the engine itself does.
    pub policy: Option<Kind>,
    /// What happened.
    pub what: What,
}

/// A value that an event carries.
pub(crate) trait EventValue {
    const KIND: FieldKind;
    fn to_number(self) -> f64;
}

/// How to read a number that an event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A whole number.
    Count,
    /// The same; −1 stands for none.
    CountOrNone,
    /// A share of a whole, 0 to 1.
    Share,
    /// Whole milliseconds, rounded up.
    Millis,
    /// The same; −1 stands for none.
    MillisOrNone,
    /// No (0) or yes (1).
    Flag,
    /// One of these words, by position.
    Word(&'static [&'static str]),
}

/// The facts of one event, as numbers.
#[derive(Default)]
struct Facts {
    numbers: [f64; MAX_FIELDS],
    count: usize,
}

impl Facts {
    fn add(&mut self, number: f64) {
        if let Some(place) = self.numbers.get_mut(self.count) {
            *place = number;
            self.count += 1;
        }
    }
}

/// An event's name and its fields, for hosts that see only numbers.
#[derive(Debug)]
pub struct EventSpec {
    /// The name users subscribe to.
    pub name: &'static str,
    /// Its fields, in the order of their numbers.
    pub fields: &'static [(&'static str, FieldKind)],
}

macro_rules! events {
    ($($(#[$doc:meta])* $Variant:ident = $name:literal { $($(#[$field_doc:meta])* $field:ident: $Type:ty as $field_name:literal,)* })+) => {
        /// The kinds of events, each with its facts.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum What {
            $($(#[$doc])* $Variant { $($(#[$field_doc])* $field: $Type,)* },)+
        }

        impl What {
            /// All kinds of events, in the order of their codes.
            pub const SPECS: &'static [EventSpec] = &[$(EventSpec {
                name: $name,
                fields: &[$(($field_name, <$Type as EventValue>::KIND),)*],
            },)+];

            /// Its code and its facts as numbers, in the order of its [`EventSpec`].
            #[must_use]
            pub fn numbers(&self) -> (u8, [f64; MAX_FIELDS]) {
                let mut facts = Facts::default();
                match *self {
                    $(Self::$Variant { $($field,)* } => {
                        $(facts.add($field.to_number());)*
                    })+
                }
                (self.code(), facts.numbers)
            }

            #[allow(unused_assignments)]
            fn code(&self) -> u8 {
                let mut code = 0;
                $(
                    if let Self::$Variant { .. } = self {
                        return code;
                    }
                    code += 1;
                )+
                code
            }
        }
    };
}

events! {
    /// An attempt starts.
    Sent = "sent" {
        /// Its number.
        attempt: AttemptNumber as "attempt",
    }
    /// An attempt ended, or was given up.
    Settled = "settled" {
        /// Its number.
        attempt: AttemptNumber as "attempt",
        /// What it says about the upstream.
        verdict: VerdictWord as "verdict",
        /// How long it took.
        latency: Duration as "latencyMs",
    }
    /// Another attempt will be made.
    Retry = "retry" {
        /// The attempt whose result is discarded.
        attempt: AttemptNumber as "attempt",
        /// After how long.
        delay: Duration as "delayMs",
    }
    /// The call is over with a result.
    Done = "done" {
        /// Why.
        reason: StopReason as "reason",
        /// How many attempts were sent.
        attempts: AttemptNumber as "attempts",
        /// How long it took.
        elapsed: Duration as "elapsedMs",
    }
    /// The call was refused.
    Rejected = "rejected" {
        /// Why.
        reason: RefusalReason as "reason",
        /// After how long the refusing policy would not refuse.
        retry_after: Option<Duration> as "retryAfterMs",
    }
    /// A verb named an attempt or a call that is over.
    Stale = "stale" {
        /// The attempt's number.
        attempt: AttemptNumber as "attempt",
    }
    /// A call was not heard of for so long that what it held was taken back.
    LeaseEnded = "leaseEnded" {
        /// How many of its attempts were in flight.
        attempts: AttemptNumber as "attempts",
    }
    /// There is no room for another call: it goes on unguarded.
    CallsFull = "callsFull" {
        /// How many calls there are.
        calls: u32 as "calls",
    }
    /// Every key is busy: a newcomer shares the overflow key.
    KeysFull = "keysFull" {
        /// How many keys there are.
        keys: u32 as "keys",
    }
    /// Restored state belongs to another configuration: the policy starts fresh.
    RestoredFresh = "restoredFresh" {}
    /// The circuit opened.
    Opened = "opened" {
        /// What made it open.
        trigger: Trigger as "trigger",
        /// Calls in the window.
        calls: u32 as "calls",
        /// Failures among them.
        failures: u32 as "failures",
        /// Slow calls among them.
        slow: u32 as "slow",
        /// For how long it stays open; none: until someone says otherwise.
        open_for: Option<Duration> as "openForMs",
    }
    /// The circuit lets probes through.
    HalfOpened = "halfOpen" {
        /// How many.
        probes: u32 as "probes",
    }
    /// The circuit closed.
    Closed = "closed" {
        /// Why.
        reason: CloseReason as "reason",
    }
    /// An operator made the circuit forget everything.
    Reset = "reset" {}
    /// An attempt counted.
    Recorded = "recorded" {
        /// As what.
        counted: Counted as "counted",
        /// Whether it was slow.
        slow: bool as "slow",
    }
    /// An attempt did not count.
    Ignored = "ignored" {
        /// Why not.
        reason: IgnoreReason as "reason",
    }
    /// The throttler refuses another share than before; by steps, not with every result.
    RateChanged = "rateChanged" {
        /// The share of attempts that is refused.
        rate: Ratio as "rate",
        /// Requests in the window.
        requests: u32 as "requests",
        /// Accepts among them.
        accepts: u32 as "accepts",
    }
    /// Other than so many attempts may run at once.
    LimitChanged = "limitChanged" {
        /// So many.
        limit: u32 as "limit",
        /// Why.
        why: LimitReason as "why",
        /// How many run.
        in_flight: u32 as "inFlight",
        /// How long the last one took.
        latency: Duration as "latencyMs",
        /// How long they take without a queue, where that is known.
        baseline: Option<Duration> as "baselineMs",
    }
    /// The budget had nothing left for a repeat.
    Exhausted = "exhausted" {
        /// First attempts in the window.
        firsts: u32 as "firsts",
        /// Repeats in the window.
        repeats: u32 as "repeats",
        /// Whole tokens left, where it is tokens that are counted; of a wallet, what is left of it.
        tokens: Option<u32> as "tokens",
        /// After how long it would have, other traffic aside, where it knows.
        retry_after: Option<Duration> as "retryAfterMs",
    }
    /// A hedged round came this far; or a hedge did not start.
    Hedge = "hedge" {
        /// What happened.
        step: HedgeStep as "step",
        /// To which attempt: the one that a hedge would have been, where it did not start.
        attempt: AttemptNumber as "attempt",
        /// How long that attempt took, if it won or failed.
        latency: Option<Duration> as "latencyMs",
    }
    /// An attempt's turn came in a line.
    Waited = "waited" {
        /// How long it had waited, in whatever lines.
        waited: Duration as "waitedMs",
    }
    /// More permits were asked for than can ever be granted at once.
    Oversized = "oversized" {
        /// How many.
        permits: u32 as "permits",
    }
}

macro_rules! word_values {
    ($($Word:ty),+) => { $(impl EventValue for $Word {
        const KIND: FieldKind = FieldKind::Word(<$Word>::WORDS);
        fn to_number(self) -> f64 { f64::from(self.code()) }
    })+ };
}

word_values!(
    StopReason,
    RefusalReason,
    Trigger,
    CloseReason,
    Counted,
    IgnoreReason,
    LimitReason,
    HedgeStep,
    VerdictWord
);

impl EventValue for u8 {
    const KIND: FieldKind = FieldKind::Count;
    fn to_number(self) -> f64 {
        f64::from(self)
    }
}

impl EventValue for u32 {
    const KIND: FieldKind = FieldKind::Count;
    fn to_number(self) -> f64 {
        f64::from(self)
    }
}

impl EventValue for Option<u32> {
    const KIND: FieldKind = FieldKind::CountOrNone;
    fn to_number(self) -> f64 {
        self.map_or(-1.0, EventValue::to_number)
    }
}

impl EventValue for bool {
    const KIND: FieldKind = FieldKind::Flag;
    fn to_number(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl EventValue for Ratio {
    const KIND: FieldKind = FieldKind::Share;
    fn to_number(self) -> f64 {
        f64::from(self.millionths()) / 1e6
    }
}

impl EventValue for Duration {
    const KIND: FieldKind = FieldKind::Millis;
    fn to_number(self) -> f64 {
        self.as_millis_ceil() as f64
    }
}

impl EventValue for Option<Duration> {
    const KIND: FieldKind = FieldKind::MillisOrNone;
    fn to_number(self) -> f64 {
        self.map_or(-1.0, EventValue::to_number)
    }
}

/// The last events, oldest first; nothing is kept while nobody listens.
#[derive(Debug, Default)]
pub struct EventLog {
    /// Event number *n* lies at *n* modulo [`MAX_EVENTS`].
    events: Vec<Event>,
    /// How many were put in, and how many of those were taken out, since the log was empty.
    put: usize,
    taken: usize,
    lost: u64,
    listening: bool,
}

impl EventLog {
    pub(crate) const fn new() -> Self {
        Self { events: Vec::new(), put: 0, taken: 0, lost: 0, listening: false }
    }

    /// Starts or stops keeping events; stopping drops what is there.
    pub fn listen(&mut self, listening: bool) {
        self.listening = listening;
        if !listening {
            self.taken = self.put;
        }
    }

    /// Whether anything is there to drain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken == self.put
    }

    /// The oldest event, taken out.
    pub fn pop(&mut self) -> Option<Event> {
        if self.is_empty() {
            (self.put, self.taken) = (0, 0);
            return None;
        }
        let event = self.events.get(self.taken % MAX_EVENTS).copied();
        self.taken += 1;
        event
    }

    /// How many events were dropped because nobody drained them in time.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    #[inline]
    pub(crate) fn is_listening(&self) -> bool {
        self.listening
    }

    #[inline]
    pub(crate) fn push(&mut self, event: impl FnOnce() -> Event) {
        if self.listening {
            self.keep(event());
        }
    }

    #[cold]
    fn keep(&mut self, event: Event) {
        match self.events.get_mut(self.put % MAX_EVENTS) {
            Some(place) => *place = event,
            None => self.events.push(event),
        }
        self.put += 1;
        if self.put - self.taken > MAX_EVENTS {
            self.taken += 1;
            self.lost = self.lost.saturating_add(1);
        }
    }
}

/// The most facts one event carries.
pub const MAX_FIELDS: usize = 5;
/// How many events wait to be drained at most. Ours: more than one verb can make.
const MAX_EVENTS: usize = 256;
