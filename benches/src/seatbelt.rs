//! Microsoft's seatbelt, the cheapest neighbour there is natively: a retry around a circuit breaker around a timeout, as its
//! examples compose them, on tokio's clock. Its breaker reads the clock, and so does its timeout.

use std::future::Future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use layered::{Execute, Service, Stack};
use seatbelt::breaker::Breaker;
use seatbelt::retry::Retry;
use seatbelt::timeout::Timeout;
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;

use crate::neighbour::runtime;
use crate::rounds::Case;

pub const DIRECT: &str = "seatbelt: no layer";
pub const THREE_LAYERS: &str = "seatbelt: retry, breaker, timeout";
pub const OPEN_BREAKER: &str = "seatbelt: the same, its breaker open";

type Answer = Result<u64, &'static str>;

pub fn cases() -> Vec<Case> {
    vec![
        case(DIRECT, |_| Execute::new(answers)),
        case(THREE_LAYERS, |clock| three_layers(clock, answers)).over(DIRECT).counted(),
        case(OPEN_BREAKER, opened).over(DIRECT).counted(),
    ]
}

async fn answers(request: u64) -> Answer {
    Ok(request)
}

async fn fails(_request: u64) -> Answer {
    Err("down")
}

fn three_layers<F>(clock: &Clock, upstream: fn(u64) -> F) -> impl Service<u64, Out = Answer> + use<F>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let context = ResilienceContext::new(clock);
    let recovery = |answer: &Answer| if *answer == Err("down") { RecoveryInfo::retry() } else { RecoveryInfo::never() };
    (
        Retry::layer("retry", &context)
            .clone_input()
            .base_delay(Duration::ZERO)
            .recovery_with(move |answer: &Answer, _| recovery(answer)),
        Breaker::layer("breaker", &context)
            .recovery_with(move |answer: &Answer, _| recovery(answer))
            .rejected_input_error(|_, _| "open")
            .break_duration(Duration::from_secs(86_400)),
        Timeout::layer("timeout", &context).timeout_error(|_| "too late").timeout(Duration::from_secs(10)),
        Execute::new(upstream),
    )
        .into_service()
}

/// Failed for long enough that its breaker refuses.
fn opened(clock: &Clock) -> impl Service<u64, Out = Answer> + use<> {
    let service = three_layers(clock, fails);
    let refuses = tokio::runtime::Handle::current().block_on(async {
        for request in 0..1_000 {
            if service.execute(request).await == Err("open") {
                return true;
            }
        }
        false
    });
    assert!(refuses, "its breaker is open");
    service
}

fn case<S>(name: &'static str, build: impl FnOnce(&Clock) -> S) -> Case
where
    S: Service<u64, Out = Answer> + 'static,
{
    let runtime = runtime();
    let service = {
        let _inside = runtime.enter();
        build(&Clock::new_tokio())
    };
    Case::timed(name, move |calls| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(service.execute(black_box(42)).await).ok();
            }
            start.elapsed()
        })
    })
}
