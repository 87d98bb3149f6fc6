//! Reads, events and state: cold paths, where bytes and strings may cross.

use alloc::vec::Vec;

use forbear::policy::Cx;
use forbear::policy::circuit_breaker::CircuitBreaker;
use forbear::policy::rate_limiter::RateLimiter;
use forbear::snapshot::renaming;
use forbear::{Key, Metrics, ObjectId, StackId};
use wasm_bindgen::prelude::*;

use crate::answer::NONE;
use crate::configure::kind_of;
use crate::host_time::NANOS_PER_MILLI;
use crate::with_host;

/// Starts or stops keeping events.
#[wasm_bindgen]
pub fn events_listen(on: bool) {
    with_host(|host| host.engine.events().listen(on));
}

/// Takes the oldest event out: its code, or −1.
#[wasm_bindgen]
pub fn event_next() -> i32 {
    with_host(|host| {
        let Some(event) = host.engine.events().pop() else { return -1 };
        let (code, numbers) = event.what.numbers();
        let answer = &mut host.answer;
        answer.event_at_ms = event.at.since(forbear::Instant::ORIGIN).as_nanos() as f64 / NANOS_PER_MILLI;
        answer.event_numbers = numbers;
        answer.event_stack = event.stack.map_or(-1, |stack| i32::from(stack.number()));
        answer.event_key = u32::from(event.key.number());
        answer.event_policy = event.policy.map_or(-1, |policy| i32::from(policy.code()));
        i32::from(code)
    })
}

/// The counts of one stack and key: calls, sent, verdicts, refusals, latencies. False when there are none.
#[wasm_bindgen]
pub fn metrics(stack: u32, key: u32) -> bool {
    with_host(|host| match host.engine.metrics(stack_id(stack), key_id(key)) {
        Some(metrics) => {
            let Metrics { calls, sent, latencies, .. } = metrics;
            let verdicts = metrics.verdicts().map(|(_, count)| count);
            let refusals = metrics.refusals().map(|(_, count)| count);
            let counts = [*calls, *sent].into_iter().chain(verdicts).chain(refusals).chain(*latencies);
            host.answer.numbers.iter_mut().zip(counts).for_each(|(slot, count)| *slot = f64::from(count));
            true
        }
        None => false,
    })
}

/// How many keys were given numbers: 0 up to this, without it.
#[wasm_bindgen]
pub fn keys() -> u32 {
    with_host(|host| host.engine.keys() as u32)
}

/// A number for a name that state is to be restored for; 65535 where there is none.
#[wasm_bindgen]
pub fn key_intern() -> u32 {
    with_host(|host| host.engine.intern().map_or(u32::from(u16::MAX), |key| u32::from(key.number())))
}

/// How many calls are in flight.
#[wasm_bindgen]
pub fn in_flight() -> u32 {
    with_host(|host| host.engine.in_flight() as u32)
}

/// The number of the stack's gate or budget of this kind; −1 where it has none.
#[wasm_bindgen]
pub fn object_of(stack: u32, kind: u32) -> i32 {
    with_host(|host| {
        let object = kind_of(kind).and_then(|kind| host.engine.object(stack_id(stack), kind));
        object.map_or(-1, |object| i32::from(object.number()))
    })
}

/// What there is to read of a gate or a budget about a key, in the order of its kind's figures. False for no object.
#[wasm_bindgen]
pub fn read(object: u32, key: u32, now: f64) -> bool {
    with_host(|host| {
        let now = host.time.read(now);
        host.engine.read(object_id(object), key_id(key), now, &mut host.answer.numbers)
    })
}

/// Pays from a budget for something that no stack sends: whether it may be done.
#[wasm_bindgen]
pub fn spend(budget: u32, key: u32, now: f64) -> bool {
    with_host(|host| {
        let now = host.time.read(now);
        host.engine.spend(object_id(budget), key_id(key), now)
    })
}

/// Takes so many permits of a rate limiter, if they are there and nobody waits for one.
#[wasm_bindgen]
pub fn try_acquire(limiter: u32, key: u32, permits: u32, now: f64) -> bool {
    with_host(|host| {
        let (now, key) = (host.time.read(now), key_id(key));
        let act = |limiter: &mut RateLimiter, cx: &mut Cx<'_>| limiter.try_acquire(key, permits, cx);
        host.engine.operate_on(object_id(limiter), now, 0, act).unwrap_or(false)
    })
}

/// What operators do: 0 reset, 1 force open, 2 force closed, 3 disable, 4 enable.
#[wasm_bindgen]
pub fn breaker_do(breaker: u32, key: u32, action: u32, now: f64, random: f64) -> bool {
    with_host(|host| {
        let (now, key) = (host.time.read(now), key_id(key));
        let done =
            host.engine.operate_on(object_id(breaker), now, random as u64, |breaker: &mut CircuitBreaker, cx| {
                match action {
                    0 => breaker.reset(key, cx),
                    1 => breaker.force_open(key, cx),
                    2 => breaker.force_closed(key, cx),
                    3 => breaker.disable(key, true, cx),
                    _ => breaker.disable(key, false, cx),
                }
            });
        done.is_some()
    })
}

/// What the stack's policies have learned; or only the numbers of the keys that it speaks of, two bytes each, some more than
/// once.
#[wasm_bindgen]
pub fn snapshot(stack: u32, now: f64, only_keys: bool) -> Vec<u8> {
    with_host(|host| {
        let (stack, now) = (stack_id(stack), host.time.read(now));
        if only_keys { host.engine.snapshot_keys(stack, now) } else { host.engine.snapshot(stack, now) }
    })
}

/// Whether these bytes are a whole snapshot of this version.
#[wasm_bindgen]
pub fn is_snapshot(bytes: &[u8]) -> bool {
    forbear::is_snapshot(bytes)
}

/// Takes over what another engine learned; its key `old_ids[i]` is `new_ids[i]` here. The policies that did as bits by their
/// codes, and from bit 16 on those whose state was dropped; −1 for damaged bytes. With `orders` also what operators ordered.
#[wasm_bindgen]
pub fn restore(stack: u32, bytes: &[u8], old_ids: &[u16], new_ids: &[u16], now: f64, orders: bool) -> i32 {
    with_host(|host| {
        let now = host.time.read(now);
        let names = renaming(old_ids.iter().copied().zip(new_ids.iter().copied().map(Key::from_number)));
        let (stack, engine) = (stack_id(stack), &mut host.engine);
        let restored = if orders {
            engine.restore_with_orders(stack, bytes, &names, now)
        } else {
            engine.restore(stack, bytes, &names, now)
        };
        restored.map_or(-1, |restored| i32::from(restored.taken) | i32::from(restored.dropped) << 16)
    })
}

/// What a Retry-After header asks for, in milliseconds; −1 when it says nothing. `date` is the response's Date header,
/// empty when it has none.
#[wasm_bindgen]
pub fn retry_after(field: &str, wall_now_ms: f64, date: &str) -> f64 {
    let date = (!date.is_empty()).then_some(date.as_bytes());
    let asked = forbear::http::retry_after(field.as_bytes(), wall_now_ms as u64, date);
    asked.map_or(NONE, |span| span.as_nanos() as f64 / NANOS_PER_MILLI)
}

pub fn stack_id(number: u32) -> StackId {
    StackId::from_number(number as u16)
}

fn object_id(number: u32) -> ObjectId {
    ObjectId::from_number(u16::try_from(number).unwrap_or(u16::MAX))
}

fn key_id(number: u32) -> Key {
    Key::from_number(u16::try_from(number).unwrap_or(u16::MAX))
}
