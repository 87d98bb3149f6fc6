//! How an attempt's end crosses: as an HTTP status, or as a code for what is none.

use forbear::{Duration, Outcome, Overload, Verdict};

/// Reads a status (100 and above) or a code.
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
        status => forbear::http::outcome_of_status(status as u16, retry_after),
    };
    Outcome { retry_after, latency, ..outcome }
}

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
];
