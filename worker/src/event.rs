//! Events, as listeners of a guard hear them.

use std::rc::Rc;

use forbear::event::{EventSpec, FieldKind, What};
use forbear::{HostTime, Kind, StackId};
use serde::ser::{Serialize, SerializeMap, Serializer};
use wasm_bindgen::JsValue;

use crate::isolate;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// When it was told, by the host's clock.
    pub at: HostTime,
    /// The name of the stack it happened in.
    pub stack: Option<Rc<str>>,
    /// The name of the key it concerns.
    pub key: Option<Rc<str>>,
    /// The policy that tells it; `None` where the engine itself does.
    pub policy: Option<Kind>,
    /// What happened.
    pub what: What,
}

impl Event {
    /// The name of what happened: `sent`, `settled`, `retry` …
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec().0.name
    }

    /// As the JavaScript package tells it: `{ type, at, stack, key, policy, …facts }`.
    ///
    /// # Errors
    /// The runtime makes no objects any more.
    pub fn to_js(&self) -> Result<JsValue, serde_wasm_bindgen::Error> {
        self.serialize(&serde_wasm_bindgen::Serializer::new().serialize_maps_as_objects(true))
    }

    fn spec(&self) -> (&'static EventSpec, [f64; forbear::event::MAX_FIELDS]) {
        let (code, numbers) = self.what.numbers();
        (What::SPECS.get(usize::from(code)).unwrap_or(&NO_SPEC), numbers)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (spec, numbers) = self.spec();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", spec.name)?;
        map.serialize_entry("at", &self.at.as_nanos().div_ceil(NANOS_PER_MILLI))?;
        if let Some(stack) = self.stack.as_deref() {
            map.serialize_entry("stack", stack)?;
        }
        map.serialize_entry("key", &self.key.as_deref())?;
        if let Some(policy) = self.policy {
            map.serialize_entry("policy", policy.word())?;
        }
        for ((name, kind), number) in spec.fields.iter().zip(numbers) {
            match kind {
                FieldKind::Word(words) => map.serialize_entry(name, &words.get(number as usize))?,
                FieldKind::Flag => map.serialize_entry(name, &(number != 0.0))?,
                FieldKind::CountOrNone | FieldKind::MillisOrNone if number < 0.0 => {}
                _ if number == (number as u64) as f64 => map.serialize_entry(name, &(number as u64))?,
                _ => map.serialize_entry(name, &number)?,
            }
        }
        map.end()
    }
}

pub(crate) type Heard = Rc<dyn Fn(&Event)>;

/// Who listens to a stack.
pub(crate) struct Listener {
    pub number: u64,
    pub stack: StackId,
    pub heard: Heard,
}

/// A listener is told of events until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the subscription"]
pub struct Subscription(u64);

impl Subscription {
    pub(crate) fn new(listener: u64) -> Self {
        Self(listener)
    }

    /// Listens as long as the isolate lives.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let listener = self.0;
        isolate::say(move |isolate| isolate.forget(listener));
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
const NO_SPEC: EventSpec = EventSpec { name: "", fields: &[] };

#[cfg(test)]
mod tests {

    use super::*;
    use forbear::event::VerdictWord;
    use forbear::{Duration, RefusalReason, StopReason};

    fn told(what: What, policy: Option<Kind>) -> String {
        let event = Event { at: HostTime::from_millis(5), stack: Some("rates".into()), key: None, policy, what };
        serde_json::to_value(&event).unwrap().to_string()
    }

    #[test]
    fn events_read_as_the_javascript_package_tells_them() {
        let done = What::Done { reason: StopReason::Completed, attempts: 2, elapsed: Duration::from_millis(31) };
        assert_eq!(
            told(done, None),
            r#"{"at":5,"attempts":2,"elapsedMs":31,"key":null,"reason":"completed","stack":"rates","type":"done"}"#
        );
        let refused = What::Rejected { reason: RefusalReason::CircuitOpen, retry_after: None };
        assert_eq!(
            told(refused, Some(Kind::Breaker)),
            r#"{"at":5,"key":null,"policy":"breaker","reason":"circuit-open","stack":"rates","type":"rejected"}"#
        );
    }

    #[test]
    fn what_is_whole_is_written_whole_also_at_the_clock_of_today() {
        let (attempt, at) = (1, HostTime::from_millis(1_796_025_387_330));
        let what = What::Settled { attempt, verdict: VerdictWord::Success, latency: Duration::from_millis(15) };
        let event = Event { at, stack: None, key: None, policy: None, what };
        let told = r#"{"type":"settled","at":1796025387330,"key":null,"attempt":1,"verdict":"success","latencyMs":15}"#;
        assert_eq!(serde_json::to_string(&event).unwrap(), told);
    }
}
