//! What HTTP itself says: status codes as verdicts, `Retry-After`, and which methods may be repeated.
//!
//! Pure functions of what is written in a response or a request; nothing here knows a policy or allocates.

use crate::call::Repeat;
use crate::outcome::{Outcome, Overload, Verdict};
use crate::time::Duration;

mod date;

/// How an attempt ended that brought a response with this status.
///
/// | status | verdict | |
/// |---|---|---|
/// | 1xx, 2xx, 3xx | success | 101 is how a WebSocket begins |
/// | 0 | success | an opaque response hides its status |
/// | 403 | overload: too many requests, where it says when to come again; otherwise answered | GitHub's and others' 429 |
/// | 408 | transient | |
/// | 413 | inconclusive, where it says when to come again; otherwise answered | for now only |
/// | 421 | inconclusive, `unprocessed`, `once` | not for this server: any method may be repeated, over another connection |
/// | 425 | transient, `unprocessed` | the server refused to process it, so any method may be repeated |
/// | 429 | overload: too many requests | |
/// | other 4xx | answered | |
/// | 501, 505, 525, 526 | defect | repeating changes nothing, and it is no sign of the upstream's health |
/// | 503, 529 | overload: unavailable | 529 is what services in front of others say |
/// | 521, 523 | transient, `never_sent` | Cloudflare could not connect to the origin |
/// | other 5xx | transient | the request may have been processed |
/// | anything else | transient | an invalid status is read as a 5xx |
///
/// *Defect* is neither an answer nor evidence: 501 and 505 say that the request asks for what the
/// server never learned, 525 and 526 that TLS is set up wrong behind the edge. As a success they would close a circuit
/// that guards a dead origin; as a failure they would open one over a method nobody implements.
///
/// Sources: RFC 9110, section 15 (invalid codes: its last paragraph; 413: section 15.5.14; 421: section 15.5.20),
/// <https://www.rfc-editor.org/rfc/rfc9110#section-15>;
/// RFC 8470, section 5.2 (425), <https://www.rfc-editor.org/rfc/rfc8470#section-5.2>; Cloudflare 5xx errors,
/// <https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/>; GitHub, "Rate limits
/// for the REST API", section "Exceeding the rate limit" (403),
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>; Anthropic, "Errors" (529: overloaded),
/// <https://docs.anthropic.com/en/api/errors>.
#[must_use]
pub fn outcome_of_status(status: u16, retry_after: Option<Duration>) -> Outcome {
    let verdict = match status {
        0 | 100..=399 => Verdict::Success,
        408 | 425 => Verdict::Transient,
        413 if retry_after.is_some() => Verdict::Inconclusive,
        421 => Verdict::Inconclusive,
        429 => Verdict::Overload(Overload::TooManyRequests),
        403 if retry_after.is_some() => Verdict::Overload(Overload::TooManyRequests),
        400..=499 => Verdict::Answered,
        501 | 505 | 525 | 526 => Verdict::Defect,
        503 | 529 => Verdict::Overload(Overload::Unavailable),
        _ => Verdict::Transient,
    };
    let (never_sent, unprocessed, once) = (matches!(status, 521 | 523), matches!(status, 421 | 425), status == 421);
    Outcome { never_sent, unprocessed, once, retry_after, ..Outcome::new(verdict) }
}

/// How long a response asks to be left alone, by its `Retry-After` fields and its `Date` fields as they stand in its head.
/// There is one of each at most: of several nobody knows which one counts, so they say nothing, as they do where a host
/// knows them only joined by commas.
///
/// Source: RFC 9110, section 5.3, <https://www.rfc-editor.org/rfc/rfc9110#section-5.3>.
#[must_use]
pub fn retry_after_of<F: AsRef<[u8]>>(fields: &[F], wall_now_ms: u64, dates: &[F]) -> Option<Duration> {
    retry_after(only(fields)?, wall_now_ms, only(dates))
}

/// How long a `Retry-After` field asks to be left alone; `None` where it says nothing that can be understood.
///
/// The field holds either digits only (seconds; any number of them, saturating) or one of the three forms of HTTP-date.
/// A date is measured against the response's own `date` field, so that the clocks of client and server need not agree, or
/// against `wall_now_ms` (milliseconds since 1970) where that field is missing or malformed; a date in the past is zero.
/// Spaces and tabs around the value are ignored, nothing else is: `-3`, `+3`, `1.5`, `1e3` and `120, 120` are malformed, and
/// so is what is longer than [`LONGEST_FIELD`].
///
/// Source: RFC 9110, section 10.2.3, <https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>.
#[must_use]
pub fn retry_after(field: &[u8], wall_now_ms: u64, date: Option<&[u8]>) -> Option<Duration> {
    if field.len() > LONGEST_FIELD {
        return None;
    }
    let field = trim(field);
    if let Some(seconds) = whole_number(field) {
        return Some(Duration::from_secs(seconds));
    }
    let wall_now = wall_now_ms / MILLIS_PER_SEC;
    let then_ms = date::parse(field, wall_now)?.saturating_mul(MILLIS_PER_SEC);
    let date = date.filter(|date| date.len() <= LONGEST_FIELD);
    let now_ms = match date.and_then(|date| date::parse(trim(date), wall_now)) {
        Some(seconds) => seconds.saturating_mul(MILLIS_PER_SEC),
        None => wall_now_ms,
    };
    Some(Duration::from_millis(then_ms.saturating_sub(now_ms)))
}

/// Who may repeat a request, by its method and its `Idempotency-Key` fields.
///
/// The key makes repeating safe one after the other; two at once are a conflict for most upstreams.
#[must_use]
pub fn repeat_of_request<F: AsRef<[u8]>>(method: &str, idempotency_keys: &[F]) -> Repeat {
    match () {
        () if is_idempotent(method) => Repeat::Freely,
        () if idempotency_keys.iter().any(|key| is_idempotency_key(key.as_ref())) => Repeat::AfterFailure,
        () => Repeat::OnlyUnprocessed,
    }
}

/// Whether sending the request twice is meant to do what sending it once does.
///
/// Methods are case-sensitive, but `fetch` writes five of these in capitals before it sends them, so those five are
/// recognised in any case. QUERY is defined as safe and idempotent.
///
/// Sources: RFC 9110, section 9.2.2, <https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2>; Fetch, section 2.2.1,
/// "normalize a method", <https://fetch.spec.whatwg.org/#concept-method-normalize>; The HTTP QUERY Method, section 2,
/// <https://datatracker.ietf.org/doc/draft-ietf-httpbis-safe-method-w-body/>.
#[must_use]
pub fn is_idempotent(method: &str) -> bool {
    matches!(method, "TRACE" | "QUERY")
        || ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].iter().any(|known| method.eq_ignore_ascii_case(known))
}

fn only<F: AsRef<[u8]>>(fields: &[F]) -> Option<&[u8]> {
    if let [field] = fields { Some(field.as_ref()) } else { None }
}

/// Whether an `Idempotency-Key` field tells one request from another.
///
/// An empty one does not, in quotes or not, nor does a variable that was never set, as JavaScript writes it.
///
/// Source: The Idempotency-Key HTTP Header Field, section 2.1,
/// <https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>.
#[must_use]
pub fn is_idempotency_key(field: &[u8]) -> bool {
    let says_something = field.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'"' | b','));
    says_something && !matches!(trim(field), b"undefined" | b"null")
}

/// Digits and nothing else, as a number that saturates.
fn whole_number(text: &[u8]) -> Option<u64> {
    let (first, rest) = text.split_first()?;
    rest.iter().try_fold(digit(*first)?, |number, byte| Some(number.saturating_mul(10).saturating_add(digit(*byte)?)))
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// Without the optional whitespace that may surround a field's value (RFC 9110, section 5.6.3).
fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The longest `Retry-After` or `Date` that is read, in bytes. Ours: half of what servers usually take for all fields
/// together, so that no honest one is longer and no host has to look at more.
pub const LONGEST_FIELD: usize = 4_000;
const MILLIS_PER_SEC: u64 = 1_000;

#[cfg(test)]
mod tests;
