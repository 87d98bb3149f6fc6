use alloc::vec::Vec;

use super::*;

/// 2026-11-30 00:00:00 GMT, a Monday.
const NOW: u64 = 1_795_996_800;

fn read(field: &str) -> Option<u64> {
    retry_after(field.as_bytes(), NOW * 1_000, None).map(Duration::as_millis_ceil)
}

fn after(seconds: u64) -> Option<u64> {
    Some(seconds * 1_000)
}

#[test]
fn every_status_has_a_verdict() {
    use Verdict::{Answered, Defect, Success, Transient};
    let verdicts = [
        (0, Success),
        (1, Transient),
        (99, Transient),
        (100, Success),
        (101, Success),
        (200, Success),
        (304, Success),
        (399, Success),
        (400, Answered),
        (404, Answered),
        (408, Transient),
        (413, Answered),
        (421, Verdict::Inconclusive),
        (425, Transient),
        (403, Answered),
        (429, Verdict::Overload(Overload::TooManyRequests)),
        (499, Answered),
        (500, Transient),
        (501, Defect),
        (502, Transient),
        (503, Verdict::Overload(Overload::Unavailable)),
        (504, Transient),
        (505, Defect),
        (520, Transient),
        (522, Transient),
        (524, Transient),
        (525, Defect),
        (526, Defect),
        (527, Transient),
        (529, Verdict::Overload(Overload::Unavailable)),
        (530, Transient),
        (599, Transient),
        (600, Transient),
        (u16::MAX, Transient),
    ];
    for (status, verdict) in verdicts {
        assert_eq!(outcome_of_status(status, None).verdict, verdict, "{status}");
    }
}

#[test]
fn a_413_that_says_when_to_come_again_is_no_evidence_and_no_proof_that_nothing_was_done() {
    let temporary = outcome_of_status(413, Some(Duration::ZERO));
    assert_eq!((temporary.verdict, temporary.is_unprocessed()), (Verdict::Inconclusive, false));
}

#[test]
fn a_403_that_says_when_to_come_again_is_a_429() {
    for asked in [Duration::ZERO, Duration::from_secs(60), Duration::MAX] {
        assert_eq!(outcome_of_status(403, Some(asked)), outcome_of_status(429, Some(asked)));
    }
    // Other answers stay what they are, whatever stands beside them.
    for status in [400, 401, 404, 409, 418, 451] {
        assert_eq!(outcome_of_status(status, Some(Duration::ZERO)).verdict, Verdict::Answered, "{status}");
    }
}

#[test]
fn only_what_was_surely_not_processed_may_be_repeated_whatever_its_method() {
    let unprocessed = |asked| (0..=1_000).filter(move |&status| outcome_of_status(status, asked).is_unprocessed());
    assert_eq!(unprocessed(None).collect::<Vec<_>>(), [421, 425, 429, 521, 523]);
    assert_eq!(unprocessed(Some(Duration::ZERO)).collect::<Vec<_>>(), [403, 421, 425, 429, 503, 521, 523, 529]);
    assert_eq!(outcome_of_status(502, Some(Duration::MAX)).retry_after, Some(Duration::MAX));
}

#[test]
fn a_key_makes_a_request_repeatable_after_a_failure_and_no_idempotent_one_less_so() {
    let none: [&str; 0] = [];
    for (method, keys, repeat) in [
        ("GET", &none[..], Repeat::Freely),
        ("GET", &["k"], Repeat::Freely),
        ("POST", &none[..], Repeat::OnlyUnprocessed),
        ("POST", &["k"], Repeat::AfterFailure),
        ("POST", &["", "k"], Repeat::AfterFailure),
        ("POST", &["", "undefined"], Repeat::OnlyUnprocessed),
    ] {
        assert_eq!(repeat_of_request(method, keys), repeat, "{method} {keys:?}");
    }
}

#[test]
fn methods_are_idempotent_as_they_will_be_sent() {
    for method in ["GET", "get", "Head", "OPTIONS", "put", "DELETE", "TRACE", "QUERY"] {
        assert!(is_idempotent(method), "{method}");
    }
    for method in ["POST", "PATCH", "patch", "CONNECT", "trace", "query", "", "GET ", "GETS", "PROPFIND"] {
        assert!(!is_idempotent(method), "{method}");
    }
}

#[test]
fn digits_are_seconds_however_many() {
    let read_digits = |digits: &str| retry_after(digits.as_bytes(), 0, None);
    // mastra-ai/mastra#23778, wisecom-oy/atlas#229: `Date.parse` reads "120" as a year.
    assert_eq!(read("120"), after(120));
    assert_eq!(read("0"), after(0));
    assert_eq!(read("00"), after(0));
    assert_eq!(read("0007"), after(7));
    // smithy-lang/smithy-ruby#338: told as it is; what is too long is for the retry policy to say.
    assert_eq!(read("99999999"), after(99_999_999));
    assert_eq!(read_digits("18446744073709551616"), Some(Duration::MAX));
    assert_eq!(read_digits(&"9".repeat(4_000)), Some(Duration::MAX));
    assert_eq!(read_digits(&(" ".repeat(3_999) + "7")), Some(Duration::from_secs(7)));
    assert_eq!(read_digits(&("0".repeat(3_999) + "7")), Some(Duration::from_secs(7)));
}

#[test]
fn a_field_of_more_than_four_thousand_bytes_says_nothing() {
    for field in ["9".repeat(4_001), "0".repeat(4_001), " ".repeat(4_000) + "7", "7".repeat(1_000_000)] {
        assert_eq!(read(&field), None);
    }
    // Nor does a date of that length: the client's own clock stands for it.
    let date = " ".repeat(4_000) + "Mon, 30 Nov 2026 00:00:50 GMT";
    let asked = retry_after(b"Mon, 30 Nov 2026 00:01:00 GMT", NOW * 1_000, Some(date.as_bytes()));
    assert_eq!(asked, Some(Duration::from_secs(60)));
}

#[test]
fn of_several_fields_nobody_knows_which_one_counts() {
    let of = |fields: &[&str], dates: &[&str]| retry_after_of(fields, NOW * 1_000, dates).map(Duration::as_millis_ceil);
    assert_eq!(of(&["2"], &[]), after(2));
    // As JavaScript has them, joined by a comma.
    assert_eq!((of(&["2", "60"], &[]), read("2, 60")), (None, None));
    assert_eq!((of(&["2", "2"], &[]), of(&[], &[])), (None, None));
    let (asked, date) = ("Mon, 30 Nov 2026 00:01:00 GMT", "Mon, 30 Nov 2026 00:00:50 GMT");
    assert_eq!(of(&[asked], &[date]), after(10));
    assert_eq!(of(&[asked], &[date, date]), after(60));
}

#[test]
fn spaces_and_tabs_around_the_value_are_ignored() {
    assert_eq!(read("120 "), after(120));
    assert_eq!(read(" \t 120\t"), after(120));
    assert_eq!(read("\tMon, 30 Nov 2026 00:00:30 GMT "), after(30));
}

#[test]
fn what_is_malformed_says_nothing() {
    // mastra-ai/mastra#23778: V8 reads a year out of each of these.
    let years = "-3|+3|1.5|1,5|-0|−3";
    // DataDog/dd-trace-js#9788, earendil-works/pi#9724, axios/axios-retry#63: what became NaN, and a retry at once.
    let not_numbers = "| |NaN|null|undefined|Infinity|soon|Invalid Date";
    let not_digits = "1e3|0x10|1_000|120s|120 s|120;|12 0|120, 120|120\n|\u{661}\u{662}|\u{ff11}|\u{a0}120";
    let other_dates = "2026-11-30T00:00:30Z|30 Nov 2026 00:00:30 GMT|Mon, 30 Nov 2026 00:00:30|\
        Mon, 30 Nov 2026 00:00:30 UTC|Mon, 30 Nov 2026 00:00:30 +0000|Mon, 30 Nov 2026 00:00:30 gmt|\
        mon, 30 nov 2026 00:00:30 GMT|Mon,30 Nov 2026 00:00:30 GMT|Mon, 30-Nov-2026 00:00:30 GMT|\
        Mon, 30 November 2026 00:00:30 GMT|Monday, 30 Nov 2026 00:00:30 GMT|Mon, 30 Nov 26 00:00:30 GMT|\
        Mon, 30 Nov 2026 0:00:30 GMT|Mon Nov 30 00:00:30 2026 GMT|Tue Dec 1 00:00:00 2026|Tue Dec  1 00:00:00 26";
    let no_such_day = "Tue, 31 Nov 2026 00:00:30 GMT|Sat, 00 Nov 2026 00:00:30 GMT|Mon, 29 Feb 2027 00:00:00 GMT|\
        Mon, 29 Feb 2100 00:00:00 GMT|Tue, 30 Nov 2026 00:00:30 GMT";
    let no_such_time = "Mon, 30 Nov 2026 24:00:00 GMT|Mon, 30 Nov 2026 00:60:00 GMT|Mon, 30 Nov 2026 00:00:60 GMT";
    for fields in [years, not_numbers, not_digits, other_dates, no_such_day, no_such_time] {
        for field in fields.split('|') {
            assert_eq!(read(field), None, "{field:?}");
        }
    }
}

#[test]
fn the_three_forms_of_a_date_are_read() {
    // elizaOS/eliza#22162, earendil-works/pi#9571, nodejs/undici#4084: none of these may become a retry at once.
    assert_eq!(read("Mon, 30 Nov 2026 00:02:00 GMT"), after(120));
    assert_eq!(read("Monday, 30-Nov-26 00:02:00 GMT"), after(120));
    assert_eq!(read("Mon Nov 30 00:02:00 2026"), after(120));
    assert_eq!(read("Tue Dec  1 00:00:00 2026"), after(86_400));
    assert_eq!(read("Tue Dec 01 00:00:00 2026"), after(86_400));
    assert_eq!(read("Tue, 29 Feb 2028 00:00:00 GMT"), after(456 * 86_400));
    assert_eq!(read("Thu, 31 Dec 2026 23:59:60 GMT"), after(32 * 86_400));
    assert_eq!(read("Tue, 31 Dec 2599 23:59:59 GMT"), after(19_880_899_199 - NOW));
    assert_eq!(read("Fri, 31 Dec 9999 23:59:59 GMT"), Some(Duration::MAX.as_millis_ceil()));
}

#[test]
fn a_date_in_the_past_is_no_time_at_all() {
    for field in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
        assert_eq!(read(field), after(0), "{field}");
    }
    assert_eq!(read("Sat, 01 Jan 0000 00:00:00 GMT"), after(0));
    assert_eq!(read("Mon, 30 Nov 2026 00:00:00 GMT"), after(0));
}

#[test]
fn a_date_is_measured_against_the_responses_own() {
    let field = b"Mon, 30 Nov 2026 00:01:00 GMT";
    let measured =
        |date: &str| retry_after(field, NOW * 1_000 + 250, Some(date.as_bytes())).map(Duration::as_millis_ceil);
    // The client's clock is an hour slow, or an hour fast.
    assert_eq!(measured(" Mon, 30 Nov 2026 00:00:50 GMT"), after(10));
    assert_eq!(measured("Sun, 29 Nov 2026 23:00:00 GMT"), after(3_660));
    assert_eq!(measured("Mon, 30 Nov 2026 00:05:00 GMT"), after(0));
    assert_eq!(measured("yesterday"), Some(59_750));
    // Seconds need no clock.
    assert_eq!(retry_after(b"7", 0, Some(b"yesterday")), Some(Duration::from_secs(7)));
}

#[test]
fn a_key_that_tells_no_request_from_another_is_none() {
    for field in ["", " ", "\t", "\"\"", "\" \"", ", ", "undefined", " null "] {
        assert!(!is_idempotency_key(field.as_bytes()), "{field:?}");
    }
    for field in ["k", "0", "\"8e03978e\"", "undefined-7", "a, b"] {
        assert!(is_idempotency_key(field.as_bytes()), "{field:?}");
    }
}
