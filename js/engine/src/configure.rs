//! Configuration: option by option into a pending document, which is then made into a stack or a shared object.

use forbear::policy::Kind;
use forbear::{ConfigError, ObjectId, StackConfig};
use wasm_bindgen::prelude::*;

use crate::answer::Answer;
use crate::with_host;

/// Starts a fresh document.
#[wasm_bindgen]
pub fn config_begin() {
    with_host(|host| host.pending = StackConfig::OFF);
}

/// Turns a policy on with its defaults.
#[wasm_bindgen]
pub fn config_on(kind: u32) {
    with_host(|host| {
        if let Some(kind) = kind_of(kind) {
            host.pending.slot(kind).turn_on();
        }
    });
}

/// Sets one option; NaN turns it off. 0, or the reason's code + 1.
#[wasm_bindgen]
pub fn config_set(kind: u32, option: u32, value: f64) -> u32 {
    with_host(|host| {
        let Some(kind) = kind_of(kind) else { return UNKNOWN };
        match host.pending.slot(kind).set(option as usize, value) {
            Ok(()) => 0,
            Err(error) => refuse(&mut host.answer, &error),
        }
    })
}

/// Uses a shared object for this policy. 0, or the reason's code + 1.
#[wasm_bindgen]
pub fn config_share(kind: u32, object: u32) -> u32 {
    with_host(|host| match kind_of(kind) {
        Some(kind) if host.pending.slot(kind).share(ObjectId::from_number(object as u16)) => 0,
        _ => UNKNOWN,
    })
}

/// Builds a shared object from the document's settings of this policy: its number, or −(the reason's code + 1).
#[wasm_bindgen]
pub fn config_object(kind: u32) -> i32 {
    with_host(|host| {
        let Some(kind) = kind_of(kind) else { return -(UNKNOWN as i32) };
        match host.engine.share_from(&host.pending, kind) {
            Ok(object) => i32::from(object.number()),
            Err(error) => -(refuse(&mut host.answer, &error) as i32),
        }
    })
}

/// Builds a stack from the document: its number, or −(the reason's code + 1).
#[wasm_bindgen]
pub fn config_stack() -> i32 {
    with_host(|host| {
        let config = core::mem::replace(&mut host.pending, StackConfig::OFF);
        // A document has a limit only where somebody wrote it, or both by default.
        match config.check_limits().and_then(|()| host.engine.add_stack(config)) {
            Ok(stack) => i32::from(stack.number()),
            Err(error) => -(refuse(&mut host.answer, &error) as i32),
        }
    })
}

pub fn kind_of(kind: u32) -> Option<Kind> {
    Kind::ALL.get(kind as usize).copied()
}

/// What was refused crosses in the answer; the words for it are the other side's.
fn refuse(answer: &mut Answer, error: &ConfigError) -> u32 {
    answer.config_kind = error.policy.code();
    answer.config_option = u8::try_from(error.position).unwrap_or(NO_OPTION);
    answer.config_min = error.min;
    answer.config_max = error.max;
    answer.config_given = error.given;
    u32::from(error.reason.code()) + 1
}

const NO_OPTION: u8 = u8::MAX;
const UNKNOWN: u32 = forbear::config::ConfigReason::UnknownOption as u32 + 1;
