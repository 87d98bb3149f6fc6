//! One request through the gate: asks the engine, waits where it says so, sends with the time that is left, and tells how
//! that went. Nothing here decides.
//!
//! What comes of a request is the application's to read, once. Whether something has come is all that can be seen: an answer
//! and a connection's error look alike.

use alloc::string::String;

use forbear::{AttemptNumber, CallId, Decision, Duration, HostTime, Outcome, Step, Verdict};
use forbear_wit_shared::origin;

use crate::bindings::wasi::clocks::monotonic_clock::subscribe_instant;
use crate::bindings::wasi::io::poll::poll;
use crate::bindings::{ErrorCode, FutureIncomingResponse, Method, OutgoingRequest, RequestOptions, Scheme, send_on};
use crate::site::Site;
use crate::{outcome, site};

/// One request, guarded.
pub fn send(request: OutgoingRequest, options: RequestOptions) -> Result<FutureIncomingResponse, ErrorCode> {
    let (http, limits) = site::with(|site| (site.http, site.limits))?;
    let origin = if http.by_origin { origin(&request) } else { None };
    let started = site::now();
    let mut decision = site::with(|site| site.admit(origin.as_deref()))?;
    // A place in line. The whole application waits in it.
    while let Decision { step: Step::Wait, call: Some(call), at: Some(at), .. } = decision {
        subscribe_instant(at.as_nanos()).block();
        decision = site::with(|site| site.due(call))?;
    }
    if let Step::Reject(_) = decision.step {
        return Err(ErrorCode::HttpRequestDenied);
    }
    // Its own limits, which hold where the engine does not know the call: docs/driving.md, "Unguarded".
    let now = site::now();
    let end = limits.end(started, Some(now)).map(|(end, _)| end);
    let attempt = match decision {
        Decision { step: Step::Send(_), call: Some(call), at, .. } => Attempt { call: Some(call), at, end },
        _ if end.is_some_and(|end| end <= now) => return Err(ErrorCode::HttpRequestDenied),
        _ => Attempt { call: None, at: end, end },
    };
    if http.waits && is_whole(&request) {
        attempt.send_and_wait(request, options)
    } else {
        attempt.send(request, options)
    }
}

/// The one attempt of a call.
struct Attempt {
    /// The engine's handle, where it knows the call.
    call: Option<CallId>,
    /// When to ask the engine whether its time is up.
    at: Option<HostTime>,
    /// When its time is up without an engine.
    end: Option<HostTime>,
}

impl Attempt {
    /// Hands the response over unseen; that its time is up, the host will tell.
    fn send(self, request: OutgoingRequest, options: RequestOptions) -> Result<FutureIncomingResponse, ErrorCode> {
        self.limit(&options, Duration::ZERO);
        let response = self.begin(request, options)?;
        self.call.map_or(Ok(()), |call| site::with(|site| site.cancel(call)))?;
        Ok(response)
    }

    /// Hands the response over when it is there, or gives it up when its time is up. The host gets a longer time: were its own
    /// error there a moment before, it would look like an answer.
    fn send_and_wait(
        mut self,
        request: OutgoingRequest,
        options: RequestOptions,
    ) -> Result<FutureIncomingResponse, ErrorCode> {
        let (sent, patience) = (site::now(), options.first_byte_timeout().map(Duration::from_nanos));
        // Some hosts go on with what was dropped: jco's shim does.
        self.limit(&options, SPARE);
        let response = self.begin(request, options)?;
        loop {
            let is_there = comes_before(&response, self.at);
            let decision = if is_there {
                // The host's error, with what time the application itself gave it.
                let is_late = patience.is_some_and(|patience| site::now().since(sent) >= patience);
                self.settle(Outcome::new(if is_late { Verdict::Timeout } else { Verdict::Success }))?
            } else {
                self.ask(|site, call| site.due(call))?
            };
            match decision.step {
                Step::Wait => self.at = decision.at,
                Step::Done { .. } if !decision.drop.contains(ONLY) => return Ok(response),
                Step::Unguarded if is_there => return Ok(response),
                Step::Unguarded if self.end.is_none_or(|end| site::now() < end) => self.at = self.end,
                // To drop it is to cancel it, and the host closes its connection.
                _ => return Err(ErrorCode::HttpResponseTimeout),
            }
        }
    }

    fn begin(&self, request: OutgoingRequest, options: RequestOptions) -> Result<FutureIncomingResponse, ErrorCode> {
        let response = send_on(request, Some(options));
        if let Err(error) = &response {
            let _ = self.settle(outcome::of_error(error))?;
        }
        response
    }

    /// Hosts have a time for the connection and one for the first byte. What the application asked for stays where it is less.
    /// A host may decline either; then its own stays.
    fn limit(&self, options: &RequestOptions, spare: Duration) {
        let Some(at) = self.at else { return };
        let left = at.since(site::now()).as_nanos().saturating_add(spare.as_nanos());
        let least = |asked: Option<u64>| Some(asked.map_or(left, |asked| asked.min(left)));
        let _ = options.set_connect_timeout(least(options.connect_timeout()));
        let _ = options.set_first_byte_timeout(least(options.first_byte_timeout()));
    }

    fn settle(&self, outcome: Outcome) -> Result<Decision, ErrorCode> {
        self.ask(|site, call| site.settle(call, ONLY, outcome))
    }

    fn ask(&self, verb: impl FnOnce(&mut Site, CallId) -> Decision) -> Result<Decision, ErrorCode> {
        self.call.map_or(Ok(Decision::UNGUARDED), |call| site::with(|site| verb(site, call)))
    }
}

/// Waits for whichever comes first. What tells of the response is gone when this returns: whoever drops a response before
/// that may be trapped.
fn comes_before(response: &FutureIncomingResponse, at: Option<HostTime>) -> bool {
    let there = response.subscribe();
    match at {
        Some(at) => poll(&[&there, &subscribe_instant(at.as_nanos())]).contains(&0),
        None => {
            there.block();
            true
        }
    }
}

/// Whether it is sent as it is. The body of any other may be written once this has returned, and whoever waited for an answer
/// before would wait for ever.
fn is_whole(request: &OutgoingRequest) -> bool {
    let headers = request.headers();
    match headers.get("content-length").first() {
        Some(length) => length.trim_ascii() == b"0",
        // RFC 9110, section 9.3, gives bodies of these no meaning.
        None => matches!(request.method(), Method::Get | Method::Head) && !headers.has("transfer-encoding"),
    }
}

/// The origin whose state a request meets; none for schemes that nobody knows.
fn origin(request: &OutgoingRequest) -> Option<String> {
    match request.scheme() {
        // Where nothing is said, hosts take the safe one.
        None | Some(Scheme::Https) => Some(origin::of(false, &request.authority()?)),
        Some(Scheme::Http) => Some(origin::of(true, &request.authority()?)),
        Some(Scheme::Other(_)) => None,
    }
}

/// Nothing is repeated here.
const ONLY: AttemptNumber = 1;
/// Ours: longer than a host is late, short beside what an attempt may take.
const SPARE: Duration = Duration::from_secs(1);
