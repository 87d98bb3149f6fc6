//! How an attempt's end crosses: as an HTTP status, or as a code for what is none.

use forbear::{Duration, Outcome, Overload, Verdict};

/// Reads a status (100 and above, with the bits `REDIRECTED` and `SAME_ORIGIN`) or a code.
pub fn read(number: u32, retry_after: Option<Duration>, latency: Option<Duration>) -> Outcome {
    let outcome = match number {
        0 => Outcome::new(Verdict::Success),
        1 => Outcome::new(Verdict::Answered),
        2 => Outcome::new(Verdict::Overload(Overload::TooManyRequests)),
        3 => Outcome::new(Verdict::Overload(Overload::Unavailable)),
        4 => Outcome::new(Verdict::Overload(Overload::Shedding)),
        5 => Outcome::new(Verdict::Transient),
        6 => Outcome { never_sent: true, ..Outcome::new(Verdict::Transient) },
        7 => Outcome::new(Verdict::Timeout),
        8 => Outcome::new(Verdict::Rejected),
        9 => Outcome::new(Verdict::Defect),
        10 => Outcome::new(Verdict::Cancelled),
        11 => Outcome::new(Verdict::Inconclusive),
        12 => Outcome { given_up: true, ..Outcome::new(Verdict::Timeout) },
        status => {
            let outcome = forbear::http::outcome_of_status((status & STATUS) as u16, retry_after);
            if status & REDIRECTED == 0 { outcome } else { outcome.after_redirect(status & SAME_ORIGIN != 0) }
        }
    };
    Outcome { retry_after, latency, ..outcome }
}

const STATUS: u32 = (1 << 12) - 1;
/// The response came after a redirect, …
const REDIRECTED: u32 = 1 << 12;
/// … from the origin that was called.
const SAME_ORIGIN: u32 = 1 << 13;

/// The codes' words, by code.
#[cfg(not(target_family = "wasm"))]
pub const WORDS: &[&str] = &[
    "success",
    "answered",
    "too-many-requests",
    "unavailable",
    "shedding",
    "transient",
    "never-sent",
    "timeout",
    "rejected",
    "defect",
    "cancelled",
    "inconclusive",
    "given-up",
];
