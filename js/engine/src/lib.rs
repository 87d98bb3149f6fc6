//! The engine for JavaScript hosts: numbers in, numbers out, and nothing here decides anything.
//!
//! A verb answers with one packed number and leaves the rest in one struct in linear memory, whose place `layout` tells.
//! Neither strings nor objects cross on the hot path; names of keys stay on the other side.

#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

use core::cell::UnsafeCell;

use forbear::{Decision, Engine, Facts, HostTime, Key, Limits, Repeat, StackConfig, StackId};
use wasm_bindgen::prelude::*;

use answer::{Answer, whole};
use host_time::HostMillis;

mod answer;
#[cfg(target_family = "wasm")]
mod artifact;
mod configure;
mod host_time;
mod inspect;
#[cfg(not(target_family = "wasm"))]
pub mod interfaces;
mod outcome;
#[cfg(not(target_family = "wasm"))]
pub mod schema;
#[cfg(not(target_family = "wasm"))]
pub mod vocabulary;

/// Everything one instance holds.
struct Host {
    engine: Engine,
    time: HostMillis,
    pending: StackConfig,
    answer: Answer,
}

/// An instance has one thread, and nothing exported calls back, so the host is never borrowed twice.
struct Single(UnsafeCell<Host>);

// SAFETY: the artifact is built for wasm32 without threads; natively only the vocabulary is used.
unsafe impl Sync for Single {}

static HOST: Single = Single(UnsafeCell::new(Host {
    engine: Engine::new(Limits::DEFAULT),
    time: HostMillis::new(),
    pending: StackConfig::OFF,
    answer: Answer::NONE,
}));

fn with_host<T>(act: impl FnOnce(&mut Host) -> T) -> T {
    // SAFETY: see `Single`; `act` is one of the exports below, and none of them calls another.
    act(unsafe { &mut *HOST.0.get() })
}

/// Handles begin at this generation; called once, right after instantiation.
#[wasm_bindgen]
pub fn open(first_generation: u32) {
    with_host(|host| host.engine.begin_generations_at(first_generation));
}

/// Where the answer lies in linear memory; it stays there.
#[wasm_bindgen]
pub fn layout() -> u32 {
    with_host(|host| core::ptr::from_ref::<Answer>(&host.answer) as usize as u32)
}

/// May this call begin? `flags`: bits 0–1 who may repeat it, bit 2 whether its body can be sent again, bit 3 whether its
/// attempts are prepared first, bit 4 whether it is one attempt whatever happens.
#[wasm_bindgen]
pub fn admit(stack: u32, key: u32, flags: u32, timeout_ms: f64, cost: u32, now: f64, random: f64) -> u32 {
    with_host(|host| {
        let facts = Facts {
            repeat: repeat_of(flags),
            replayable: flags & 4 != 0,
            prepared: flags & 8 != 0,
            single: flags & 16 != 0,
            timeout: host_time::span(timeout_ms),
            cost,
            ..Facts::default() // never counted elsewhere: nested guards that share a budget are refused
        };
        let now = host.time.read(now);
        let (stack, key) = (StackId::from_number(stack as u16), Key::from_number(key as u16));
        let decision = host.engine.admit(stack, key, facts, now, whole(random));
        if key == Key::NEW {
            let given = decision.call.and_then(|call| host.engine.key_of(call));
            host.answer.key = u32::from(given.unwrap_or(Key::NEW).number());
        }
        host.answer.give(&decision, now, &mut host.engine)
    })
}

fn repeat_of(flags: u32) -> Repeat {
    match flags & 3 {
        0 => Repeat::OnlyUnprocessed,
        1 => Repeat::AfterFailure,
        2 => Repeat::Freely,
        _ => Repeat::OnlyUnsent,
    }
}

/// An attempt has ended. `outcome`: an HTTP status from 100 on, or one of the codes below it.
#[wasm_bindgen]
pub fn settle(
    call: f64,
    attempt: u32,
    outcome: u32,
    retry_after_ms: f64,
    latency_ms: f64,
    now: f64,
    random: f64,
) -> u32 {
    decide(now, |engine, now| {
        let outcome = outcome::read(outcome, host_time::span(retry_after_ms), host_time::span(latency_ms));
        engine.settle(answer::call_id(call), attempt as u8, outcome, now, whole(random))
    })
}

/// The timer that was set for the instant asked for has rung.
#[wasm_bindgen]
pub fn due(call: f64, now: f64, random: f64) -> u32 {
    decide(now, |engine, now| engine.due(answer::call_id(call), now, whole(random)))
}

/// An attempt whose call prepares its attempts is really sent now. `flags`: bits 0–1 who may repeat what is sent.
#[wasm_bindgen]
pub fn sent(call: f64, attempt: u32, flags: u32, now: f64) {
    with_host(|host| {
        let now = host.time.read(now);
        host.engine.sent(answer::call_id(call), attempt as u8, repeat_of(flags), now);
    });
}

/// The call's body is kept now and can be sent again.
#[wasm_bindgen]
pub fn body_kept(call: f64) {
    with_host(|host| host.engine.body_kept(answer::call_id(call)));
}

/// A hint came, or the host looks early.
#[wasm_bindgen]
pub fn wake(call: f64, now: f64, random: f64) -> u32 {
    decide(now, |engine, now| engine.wake(answer::call_id(call), now, whole(random)))
}

/// The caller left, or the body of a held call has ended.
#[wasm_bindgen]
pub fn cancel(call: f64, now: f64) -> u32 {
    decide(now, |engine, now| engine.cancel(answer::call_id(call), now))
}

/// What the verb decides at this instant becomes the answer.
fn decide(now: f64, verb: impl FnOnce(&mut Engine, HostTime) -> Decision) -> u32 {
    with_host(|host| {
        let now = host.time.read(now);
        let decision = verb(&mut host.engine, now);
        host.answer.give(&decision, now, &mut host.engine)
    })
}

/// Traps on purpose, so that hosts can test what they do when the engine dies.
#[wasm_bindgen]
pub fn debug_trap() {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
}
