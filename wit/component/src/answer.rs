//! What the engine tells: decisions, counts, events, in the types that cross.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use forbear::event::{EventSpec, FieldKind, What};
use forbear::{Engine, Instant, Key, Step};

use crate::bindings::exports::forbear::resilience::engine::{
    Decision, Done, Event, Fact, Metrics, Rejection, Step as Told, Value,
};
use crate::{NANOS_PER_MILLI, engine, words};

/// What the verb decides, with the number of its call's key.
pub fn decision(verb: impl FnOnce(&mut Engine) -> forbear::Decision) -> Decision {
    engine::with(|state| {
        let decision = verb(&mut state.engine);
        tell(&state.engine, &decision)
    })
}

/// A decision, with the number of its call's key.
pub fn tell(engine: &Engine, decision: &forbear::Decision) -> Decision {
    let step = match decision.step {
        Step::Send(attempt) => Told::Send(attempt),
        Step::Wait => Told::Wait,
        Step::Done { attempt, reason, held } => Told::Done(Done {
            attempt,
            reason: words::stop_reason(reason),
            held,
            retry_after: decision.retry_after.map(forbear::Duration::as_nanos),
        }),
        Step::Reject(rejection) => Told::Reject(Rejection {
            reason: words::refusal_reason(rejection.reason),
            policy: rejection.policy.word().to_string(),
        }),
        Step::Unguarded => Told::Unguarded,
    };
    let goes_on = matches!(decision.step, Step::Send(_) | Step::Wait);
    let key = decision.call.filter(|_| goes_on).and_then(|call| engine.key_of(call));
    Decision {
        step,
        drop: decision.drop.bits(),
        timed_out: decision.timed_out.bits(),
        at: decision.at.map(forbear::HostTime::as_nanos),
        call: decision.call.map(forbear::CallId::as_u64),
        key: key.map(Key::number),
    }
}

fn counted(counts: impl Iterator<Item = (&'static str, u32)>) -> Vec<(String, u32)> {
    counts.filter(|(_, count)| *count > 0).map(|(word, count)| (word.to_string(), count)).collect()
}

/// The counts.
pub fn metrics(metrics: &forbear::Metrics) -> Metrics {
    let forbear::Metrics { calls, sent, latencies, .. } = metrics;
    Metrics {
        calls: *calls,
        sent: *sent,
        verdicts: counted(metrics.verdicts().map(|(verdict, count)| (verdict.word(), count))),
        refusals: counted(metrics.refusals().map(|(reason, count)| (reason.word(), count))),
        latencies: latencies.to_vec(),
    }
}

/// An event, with its facts by name.
pub fn event(event: &forbear::event::Event) -> Event {
    let (code, numbers) = event.what.numbers();
    let (name, fields) = match What::SPECS.get(usize::from(code)) {
        Some(EventSpec { name, fields }) => (*name, *fields),
        None => ("", &[][..]),
    };
    let fact = |((name, kind), number): (&(&str, FieldKind), f64)| Fact {
        name: name.to_string(),
        value: value(*kind, number),
    };
    Event {
        at: event.at.since(Instant::ORIGIN).as_nanos(),
        stack: event.stack.map(forbear::StackId::number),
        key: event.key.number(),
        policy: event.policy.map(|policy| policy.word().to_string()),
        name: name.to_string(),
        facts: fields.iter().zip(numbers).map(fact).collect::<Vec<_>>(),
    }
}

fn value(kind: FieldKind, number: f64) -> Value {
    match kind {
        FieldKind::CountOrNone | FieldKind::MillisOrNone if number < 0.0 => Value::None,
        FieldKind::Count | FieldKind::CountOrNone => Value::Count(number as u32),
        FieldKind::Share => Value::Ratio(number),
        FieldKind::Millis | FieldKind::MillisOrNone => Value::Duration((number as u64).saturating_mul(NANOS_PER_MILLI)),
        FieldKind::Flag => Value::Flag(number != 0.0),
        FieldKind::Word(words) => words.get(number as usize).map_or(Value::None, |word| Value::Word(word.to_string())),
    }
}
