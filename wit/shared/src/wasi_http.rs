//! What the versions of wasi:http have in common, though each has types of its own.

use alloc::string::String;

/// The origin whose state a request meets, as RFC 6454, section 4, writes it: lower case, no default port, no user.
#[must_use]
pub fn origin(is_plain: bool, authority: &str) -> String {
    let (scheme, default_port) = if is_plain { ("http", ":80") } else { ("https", ":443") };
    let authority = authority.to_ascii_lowercase();
    let host = authority.rsplit_once('@').map_or(authority.as_str(), |(_, host)| host);
    [scheme, "://", host.strip_suffix(default_port).unwrap_or(host)].concat()
}

/// The function `of_error`, what an error says about the upstream, over a version's own `error-code`.
///
/// | error | verdict | |
/// |---|---|---|
/// | no name, no route, no connection | transient, `never_sent` | nothing was sent |
/// | TLS alert or protocol error | transient, `never_sent` | the handshake comes before the request |
/// | TLS certificate, prohibited address | defect | set up wrong; as 526 at Cloudflare |
/// | the host's own time is up | timeout | the application's or the host's `request-options` |
/// | HTTP-request-denied | rejected | what a guard or a gate inside says |
/// | the request or the response is malformed or too large, a loop | defect | it would be so again |
/// | anything else | transient | |
#[macro_export]
macro_rules! of_error {
    ($ErrorCode:ty) => {
        /// What an error says about the upstream.
        pub fn of_error(error: &$ErrorCode) -> ::forbear::Outcome {
            use ::forbear::{Outcome, Verdict};
            type E = $ErrorCode;
            const DEFECT: (Verdict, bool) = (Verdict::Defect, false);
            let (verdict, never_sent) = match error {
                E::DnsTimeout | E::DnsError(_) | E::DestinationNotFound | E::DestinationUnavailable => {
                    (Verdict::Transient, true)
                }
                E::DestinationIpUnroutable | E::ConnectionRefused | E::ConnectionTimeout => (Verdict::Transient, true),
                E::ConnectionLimitReached | E::TlsProtocolError | E::TlsAlertReceived(_) => (Verdict::Transient, true),
                E::ConnectionReadTimeout | E::ConnectionWriteTimeout | E::HttpResponseTimeout => {
                    (Verdict::Timeout, false)
                }
                E::HttpRequestDenied => (Verdict::Rejected, true),
                E::TlsCertificateError | E::DestinationIpProhibited | E::LoopDetected | E::ConfigurationError => DEFECT,
                E::HttpRequestLengthRequired | E::HttpRequestBodySize(_) | E::HttpRequestMethodInvalid => DEFECT,
                E::HttpRequestUriInvalid | E::HttpRequestUriTooLong | E::HttpRequestHeaderSectionSize(_) => DEFECT,
                E::HttpRequestHeaderSize(_) | E::HttpRequestTrailerSectionSize(_) | E::HttpRequestTrailerSize(_) => {
                    DEFECT
                }
                E::HttpResponseHeaderSectionSize(_) | E::HttpResponseHeaderSize(_) | E::HttpResponseBodySize(_) => {
                    DEFECT
                }
                _ => (Verdict::Transient, false),
            };
            Outcome { never_sent, ..Outcome::new(verdict) }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_origin_has_one_name_however_it_is_written() {
        assert_eq!(origin(true, "Example.ORG:80"), "http://example.org");
        assert_eq!(origin(false, "me:secret@example.org:443"), "https://example.org");
        assert_eq!(origin(true, "example.org:443"), "http://example.org:443");
        assert_eq!(origin(false, "[::1]:8443"), "https://[::1]:8443");
    }
}
