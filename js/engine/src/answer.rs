//! How a decision crosses: one packed number, and a struct for what does not fit.

use forbear::event::MAX_FIELDS;
use forbear::policy::MAX_WOKEN;
use forbear::{CallId, Decision, Engine, HostTime, Key, Step};

/// What lies in linear memory after a verb. The offsets are part of the boundary; a test holds them.
#[repr(C)]
pub struct Answer {
    /// When to call `wake`, from this verb's now on; for a refusal, when to come again; −1 for none.
    pub delay_ms: f64,
    /// The call's handle; −1 for none.
    pub call: f64,
    pub woken: [f64; MAX_WOKEN],
    pub woken_count: u32,
    /// The key's number, once the call has one.
    pub key: u32,
    pub reason: u8,
    pub policy: u8,
    pub config_kind: u8,
    pub config_option: u8,
    /// Those of the attempts to drop whose own time was up.
    pub timed_out: u32,
    pub config_min: f64,
    pub config_max: f64,
    pub config_given: f64,
    pub event_at_ms: f64,
    pub event_numbers: [f64; MAX_FIELDS],
    pub event_stack: i32,
    pub event_key: u32,
    pub event_policy: i32,
    pub event_padding: u32,
    /// With a budget that did not pay: after how long it would; −1 where nobody knows.
    pub retry_after_ms: f64,
    pub numbers: [f64; READ_NUMBERS],
}

impl Answer {
    pub const NONE: Self = Self {
        delay_ms: NONE,
        call: NONE,
        woken: [NONE; MAX_WOKEN],
        woken_count: 0,
        key: NO_KEY,
        reason: 0,
        policy: 0,
        config_kind: 0,
        config_option: 0,
        timed_out: 0,
        config_min: 0.0,
        config_max: 0.0,
        config_given: 0.0,
        event_at_ms: 0.0,
        event_numbers: [0.0; MAX_FIELDS],
        event_stack: -1,
        event_key: 0,
        event_policy: -1,
        event_padding: 0,
        retry_after_ms: NONE,
        numbers: [0.0; READ_NUMBERS],
    };

    /// Bits 0–2 what to do, 3–6 the attempt, 7 hints, 8 events, 9 held, 16–31 attempts to drop.
    pub fn give(&mut self, decision: &Decision, now: HostTime, engine: &mut Engine) -> u32 {
        self.delay_ms = decision.delay_millis(now).map_or(NONE, number);
        self.retry_after_ms = decision.retry_after.map_or(NONE, |wait| number(wait.as_millis_ceil()));
        self.call = decision.call.map_or(NONE, |call| number(call.as_u64()));
        let (kind, attempt, held) = match decision.step {
            Step::Send(attempt) => (SEND, attempt, false),
            Step::Wait => (WAIT, 0, false),
            Step::Done { attempt, reason, held } => {
                self.reason = reason.code();
                (DONE, attempt, held)
            }
            Step::Reject(rejection) => {
                self.reason = rejection.reason.code();
                self.policy = rejection.policy.code();
                (REJECT, 0, false)
            }
            Step::Unguarded => (UNGUARDED, 0, false),
        };
        self.timed_out = u32::from(decision.timed_out.bits());
        self.woken_count = 0;
        for (slot, call) in self.woken.iter_mut().zip(engine.woken()) {
            *slot = number(call.as_u64());
            self.woken_count += 1;
        }
        let events = !engine.events().is_empty();
        kind | u32::from(attempt) << 3
            | u32::from(self.woken_count > 0) << 7
            | u32::from(events) << 8
            | u32::from(held) << 9
            | u32::from(decision.drop.bits()) << 16
    }
}

/// A handle as it came back; what is no handle stands for no call.
pub fn call_id(number: f64) -> CallId {
    CallId::from_u64(whole(number))
}

/// A number below 2⁶³, as every handle and every span in milliseconds is. With a sign it is converted in one instruction.
fn number(whole: u64) -> f64 {
    whole as i64 as f64
}

/// The same from the other side; handles and random words are below 2⁵³.
pub fn whole(number: f64) -> u64 {
    number as i64 as u64
}

const SEND: u32 = 0;
const WAIT: u32 = 1;
const DONE: u32 = 2;
const REJECT: u32 = 3;
const UNGUARDED: u32 = 4;

pub const NONE: f64 = -1.0;
const NO_KEY: u32 = Key::NEW.number() as u32;
/// The most numbers a read gives.
pub const READ_NUMBERS: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_fields_lie_where_the_other_side_reads_them() {
        let offsets = [
            (offset_of!(Answer, delay_ms), 0),
            (offset_of!(Answer, call), 8),
            (offset_of!(Answer, woken), 16),
            (offset_of!(Answer, woken_count), 80),
            (offset_of!(Answer, key), 84),
            (offset_of!(Answer, reason), 88),
            (offset_of!(Answer, policy), 89),
            (offset_of!(Answer, config_kind), 90),
            (offset_of!(Answer, config_option), 91),
            (offset_of!(Answer, timed_out), 92),
            (offset_of!(Answer, config_min), 96),
            (offset_of!(Answer, config_max), 104),
            (offset_of!(Answer, config_given), 112),
            (offset_of!(Answer, event_at_ms), 120),
            (offset_of!(Answer, event_numbers), 128),
            (offset_of!(Answer, event_stack), 168),
            (offset_of!(Answer, event_key), 172),
            (offset_of!(Answer, event_policy), 176),
            (offset_of!(Answer, retry_after_ms), 184),
            (offset_of!(Answer, numbers), 192),
        ];
        for (actual, promised) in offsets {
            assert_eq!(actual, promised);
        }
    }
}
