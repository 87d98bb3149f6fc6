//! How an attempt ended, as the engine hears it; and how the engine's refusals read in the words of wasi:http.

use alloc::string::ToString;

use forbear::http::{outcome_of_status, retry_after_of};
use forbear::{HostTime, Outcome, RefusalReason, Rejection, Verdict};

use crate::bindings::{ErrorCode, Fields, Response, wit_future};
use crate::clock::{now, wall_now_ms};
use crate::site;

/// What an attempt's end says about the upstream.
pub fn of(result: &Result<Response, ErrorCode>) -> Outcome {
    match result {
        Ok(response) => of_response(response),
        // Before a handler that is what a handler says which failed.
        Err(ErrorCode::InternalError(_)) if cfg!(feature = "handler") => Outcome::new(Verdict::Transient),
        Err(error) => of_error(error),
    }
}

/// What the caller hears of a refusal, which ends `at` that instant. A call that ran out of time after something was sent has
/// timed out. Why it was refused only a response can say, for which the caller must be prepared.
pub fn refused(refusal: Rejection, at: Option<HostTime>, sent: bool) -> Result<Response, ErrorCode> {
    let Rejection { reason, policy } = refusal;
    let explains = site::with(|site| site.http.explains)?;
    if reason == RefusalReason::DeadlineExceeded && sent {
        return timed_out();
    }
    if !explains && !cfg!(feature = "handler") {
        return Err(ErrorCode::HttpRequestDenied);
    }
    let headers = Fields::new();
    if let Some(at) = at {
        let seconds = at.since(now()).as_millis_ceil().div_ceil(MILLIS_PER_SECOND);
        let _ = headers.append("retry-after", seconds.to_string().as_bytes());
    }
    if explains {
        let why = [reason.word(), ";policy=", policy.word()].concat();
        let _ = headers.append("forbear-refused", why.as_bytes());
    }
    Ok(answer(UNAVAILABLE, headers))
}

/// What the caller hears of an attempt or a call whose time was up.
pub fn timed_out() -> Result<Response, ErrorCode> {
    if cfg!(feature = "handler") {
        Ok(answer(GATEWAY_TIMEOUT, Fields::new()))
    } else {
        Err(ErrorCode::HttpResponseTimeout)
    }
}

/// Before a handler the middleware is the server. Of an error its host would make a 500, which tells the client nothing.
fn answer(status: u16, headers: Fields) -> Response {
    let (response, _) = Response::new(headers, None, wit_future::new(|| Ok(None)).1);
    let _ = response.set_status_code(status);
    response
}

forbear_wit_shared::of_error!(ErrorCode);

fn of_response(response: &Response) -> Outcome {
    let status = response.get_status_code();
    let headers = response.get_headers();
    let asked = || retry_after_of(&headers.get("retry-after"), wall_now_ms(), &headers.get("date"));
    let asked = if status >= FIRST_FAILURE { asked() } else { None };
    outcome_of_status(status, asked)
}

const FIRST_FAILURE: u16 = 400;
const UNAVAILABLE: u16 = 503;
const GATEWAY_TIMEOUT: u16 = 504;
const MILLIS_PER_SECOND: u64 = 1_000;

#[cfg(test)]
mod tests {
    use forbear::Verdict::{Defect, Inconclusive, Rejected, Timeout, Transient};

    use super::*;
    use crate::bindings::{DnsErrorPayload, FieldSizePayload, TlsAlertReceivedPayload};

    #[test]
    fn only_what_the_upstream_or_the_way_to_it_did_is_evidence() {
        use ErrorCode as E;
        let field = || FieldSizePayload { field_name: None, field_size: None };
        let dns = DnsErrorPayload { rcode: None, info_code: None };
        let alert = TlsAlertReceivedPayload { alert_id: None, alert_message: None };
        for (verdict, never_sent, errors) in [
            (
                Transient,
                true,
                vec![
                    E::DnsTimeout,
                    E::DnsError(dns),
                    E::DestinationNotFound,
                    E::DestinationUnavailable,
                    E::DestinationIpUnroutable,
                    E::ConnectionRefused,
                    E::ConnectionTimeout,
                ],
            ),
            (
                Transient,
                false,
                vec![
                    E::ConnectionTerminated,
                    E::HttpResponseIncomplete,
                    E::HttpResponseTransferCoding(None),
                    E::HttpResponseContentCoding(None),
                    E::HttpUpgradeFailed,
                    E::HttpProtocolError,
                ],
            ),
            (Timeout, false, vec![E::ConnectionReadTimeout, E::ConnectionWriteTimeout, E::HttpResponseTimeout]),
            (Rejected, true, vec![E::HttpRequestDenied]),
            (Inconclusive, true, vec![E::ConnectionLimitReached]),
            (Inconclusive, false, vec![E::InternalError(None)]),
            (
                Defect,
                false,
                vec![
                    E::TlsProtocolError,
                    E::TlsCertificateError,
                    E::TlsAlertReceived(alert),
                    E::DestinationIpProhibited,
                    E::LoopDetected,
                    E::ConfigurationError,
                    E::HttpRequestLengthRequired,
                    E::HttpRequestBodySize(None),
                    E::HttpRequestMethodInvalid,
                    E::HttpRequestUriInvalid,
                    E::HttpRequestUriTooLong,
                    E::HttpRequestHeaderSectionSize(None),
                    E::HttpRequestHeaderSize(None),
                    E::HttpRequestTrailerSectionSize(None),
                    E::HttpRequestTrailerSize(field()),
                    E::HttpResponseHeaderSectionSize(None),
                    E::HttpResponseHeaderSize(field()),
                    E::HttpResponseBodySize(None),
                    E::HttpResponseTrailerSectionSize(None),
                    E::HttpResponseTrailerSize(field()),
                ],
            ),
        ] {
            for error in errors {
                let outcome = of_error(&error);
                assert_eq!((outcome.verdict, outcome.never_sent), (verdict, never_sent), "{error:?}");
            }
        }
    }
}
