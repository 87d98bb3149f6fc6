//! The engine as a component: what wit/engine.wit says, and nothing here decides anything.
//!
//! It imports nothing. Calls, keys and stacks cross as the engine's own numbers; names of keys are kept here, so that hosts
//! need not keep any.

#![cfg_attr(target_family = "wasm", no_std)]
// What is exported there has names that no native linker takes.
#![cfg_attr(not(target_family = "wasm"), allow(dead_code))]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;

use bindings::exports::forbear::resilience::engine::{Decision, Event, Guest, Outcome, Repeat};
use forbear::{CallId, Duration, HostTime};

mod answer;
mod engine;
mod settings;
mod shared;
mod stack;
mod words;

#[allow(missing_docs, unsafe_code)]
mod bindings {
    wit_bindgen::generate!({ path: "..", world: "policy-engine" });

    #[cfg(target_family = "wasm")]
    use crate::Component;
    #[cfg(target_family = "wasm")]
    export!(Component);
}

/// What the world exports.
struct Component;

impl Guest for Component {
    type Shared = shared::Object;
    type Stack = stack::Stacked;

    fn settle(call: u64, attempt: u8, outcome: Outcome, now: u64, random: u64) -> Decision {
        let (call, outcome, now) = (CallId::from_u64(call), words::outcome(outcome), HostTime::from_nanos(now));
        answer::decision(|engine| engine.settle(call, attempt, outcome, now, random))
    }

    fn due(call: u64, now: u64, random: u64) -> Decision {
        answer::decision(|engine| engine.due(CallId::from_u64(call), HostTime::from_nanos(now), random))
    }

    fn sent(call: u64, attempt: u8, repeat: Repeat, now: u64) {
        let (call, repeat, now) = (CallId::from_u64(call), words::repeat(repeat), HostTime::from_nanos(now));
        engine::with(|state| state.engine.sent(call, attempt, repeat, now));
    }

    fn wake(call: u64, now: u64, random: u64) -> Decision {
        answer::decision(|engine| engine.wake(CallId::from_u64(call), HostTime::from_nanos(now), random))
    }

    fn cancel(call: u64, now: u64) -> Decision {
        answer::decision(|engine| engine.cancel(CallId::from_u64(call), HostTime::from_nanos(now)))
    }

    fn woken() -> Vec<u64> {
        engine::with(|state| state.engine.woken().map(CallId::as_u64).collect())
    }

    fn begin_generations_at(first: u32) {
        // The handle 0 is nobody's.
        engine::with(|state| state.engine.begin_generations_at(first.max(1)));
    }

    fn in_flight() -> u32 {
        engine::with(|state| state.engine.in_flight() as u32)
    }

    fn listen(on: bool) {
        engine::with(|state| state.engine.events().listen(on));
    }

    fn next_event() -> Option<Event> {
        engine::with(|state| state.engine.events().pop()).map(|event| answer::event(&event))
    }

    fn lost_events() -> u64 {
        engine::with(|state| state.engine.events().lost())
    }

    fn retry_after(field: String, wall_now: u64, date: Option<String>) -> Option<u64> {
        let date = date.as_ref().map(|date| date.as_bytes());
        forbear::http::retry_after(field.as_bytes(), wall_now / NANOS_PER_MILLI, date).map(Duration::as_nanos)
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
