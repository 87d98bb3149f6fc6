//! What the versions of wasi:http have in common, though each has types of its own.

/// The function `of_error`, what an error says about the upstream, over a version's own `error-code`.
///
/// | error | verdict | |
/// |---|---|---|
/// | no name, no route, no connection | transient, `never_sent` | nothing was sent |
/// | TLS: certificate, protocol, alert | defect | set up wrong, as 525 and 526; hosts say protocol for certificates too |
/// | prohibited address, loop, the host's own configuration | defect | it would be so again, and the host says so |
/// | the host's own time is up | timeout | the application's or the host's `request-options` |
/// | the host has too many connections; its inside is broken | inconclusive | it says nothing about the upstream |
/// | HTTP-request-denied | rejected | what a guard or a gate inside says |
/// | the request is malformed, or says another length than it has | defect | the caller's |
/// | the response is larger than the host takes | defect | it would be so again |
/// | a connection that broke, a response that is garbled or not whole | transient | |
///
/// Source: the errors are those of RFC 9209, section 2.3, <https://www.rfc-editor.org/rfc/rfc9209#section-2.3>, which says of
/// an internal error that it is unrelated to the origin.
#[macro_export]
macro_rules! of_error {
    ($ErrorCode:ty) => {
        /// What an error says about the upstream.
        pub fn of_error(error: &$ErrorCode) -> ::forbear::Outcome {
            use ::forbear::{Outcome, Verdict};
            type E = $ErrorCode;
            // Each by name, so that one more is not read by accident.
            let (verdict, never_sent) = match error {
                E::DnsTimeout
                | E::DnsError(_)
                | E::DestinationNotFound
                | E::DestinationUnavailable
                | E::DestinationIpUnroutable
                | E::ConnectionRefused
                | E::ConnectionTimeout => (Verdict::Transient, true),
                E::ConnectionLimitReached => (Verdict::Inconclusive, true),
                E::InternalError(_) => (Verdict::Inconclusive, false),
                E::ConnectionReadTimeout | E::ConnectionWriteTimeout | E::HttpResponseTimeout => {
                    (Verdict::Timeout, false)
                }
                E::HttpRequestDenied => (Verdict::Rejected, true),
                E::TlsProtocolError
                | E::TlsCertificateError
                | E::TlsAlertReceived(_)
                | E::DestinationIpProhibited
                | E::LoopDetected
                | E::ConfigurationError
                | E::HttpRequestLengthRequired
                | E::HttpRequestBodySize(_)
                | E::HttpRequestMethodInvalid
                | E::HttpRequestUriInvalid
                | E::HttpRequestUriTooLong
                | E::HttpRequestHeaderSectionSize(_)
                | E::HttpRequestHeaderSize(_)
                | E::HttpRequestTrailerSectionSize(_)
                | E::HttpRequestTrailerSize(_)
                | E::HttpResponseHeaderSectionSize(_)
                | E::HttpResponseHeaderSize(_)
                | E::HttpResponseBodySize(_)
                | E::HttpResponseTrailerSectionSize(_)
                | E::HttpResponseTrailerSize(_) => (Verdict::Defect, false),
                E::ConnectionTerminated
                | E::HttpResponseIncomplete
                | E::HttpResponseTransferCoding(_)
                | E::HttpResponseContentCoding(_)
                | E::HttpUpgradeFailed
                | E::HttpProtocolError => (Verdict::Transient, false),
            };
            Outcome { never_sent, ..Outcome::new(verdict) }
        }
    };
}
