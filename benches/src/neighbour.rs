//! tower-resilience. What its own benchmarks call so is written as they write it (benches/comprehensive_benchmarks.rs of
//! its 0.13.0): they build the layers anew for every call, and their open breaker lets its one call through. So the same is
//! also measured as a user has it: layers built once, and a breaker that is open.

use std::convert::Infallible;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_resilience_bulkhead::BulkheadLayer;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;
use tower_resilience_ratelimiter::RateLimiterLayer;
use tower_resilience_retry::RetryLayer;
use tower_resilience_timelimiter::TimeLimiterLayer;

use crate::rounds::Case;

#[derive(Clone, Debug)]
struct Request(u64);

/// Answers at once.
#[derive(Clone)]
struct Upstream;

impl Service<Request> for Upstream {
    type Response = u64;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<u64, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(async move { Ok(request.0) })
    }
}

pub const DIRECT: &str = "tower: no layer";
pub const ITS_THREE_LAYERS: &str = "tower-resilience: its three layers, as it measures them";
pub const ITS_OPEN_BREAKER: &str = "tower-resilience: its open breaker, as it measures it";
pub const THREE_LAYERS: &str = "tower-resilience: its three layers, built once";
pub const SAME_POLICIES: &str = "tower-resilience: retry, breaker, time limit, built once";
pub const OPEN_BREAKER: &str = "tower-resilience: a breaker that is open";

pub fn cases() -> Vec<Case> {
    vec![
        built_once(DIRECT, || Upstream),
        built_per_call(ITS_THREE_LAYERS, || three_layers(1_000)).over(DIRECT),
        built_per_call(ITS_OPEN_BREAKER, || {
            let layer = CircuitBreakerLayer::builder().failure_rate_threshold(0.01).sliding_window_size(10).build();
            layer.expect("as in its benchmark").layer(Upstream)
        })
        .over(DIRECT),
        // Built once, its thousand calls a second would be used up.
        built_once(THREE_LAYERS, || three_layers(usize::MAX)).over(DIRECT),
        built_once(SAME_POLICIES, same_policies).over(DIRECT),
        open_breaker().over(DIRECT),
    ]
}

fn three_layers(calls_a_second: usize) -> impl Service<Request, Response = u64, Error: std::fmt::Debug> {
    let bulkhead = BulkheadLayer::builder().max_concurrent_calls(100).build().expect("as in its benchmark");
    let rate = RateLimiterLayer::builder().limit_for_period(calls_a_second).refresh_period(Duration::from_secs(1));
    let time = TimeLimiterLayer::builder().timeout_duration(Duration::from_secs(30)).build();
    ServiceBuilder::new()
        .layer(time)
        .layer(rate.build().expect("as in its benchmark"))
        .layer(bulkhead)
        .service(Upstream)
}

/// The policies that forbear is measured with, as near as it has them: it has no budget per key and no total deadline.
fn same_policies() -> impl Service<Request, Response = u64, Error: std::fmt::Debug> {
    let time = TimeLimiterLayer::builder().timeout_duration(Duration::from_secs(10)).build();
    let breaker = CircuitBreakerLayer::builder().failure_rate_threshold(0.5).sliding_window_size(100).build();
    let inner = breaker.expect("a usual configuration").layer(time.layer(Upstream));
    RetryLayer::builder().max_attempts(3).fixed_backoff(Duration::from_millis(100)).build().layer(inner)
}

fn open_breaker() -> Case {
    let runtime = runtime();
    let layer = CircuitBreakerLayer::builder().wait_duration_in_open(Duration::from_secs(86_400)).build();
    let mut service = layer.expect("a usual configuration").layer(Upstream);
    runtime.block_on(service.force_open());
    let refused = runtime.block_on(async { service.ready().await.expect("ready").call(Request(42)).await });
    assert!(refused.is_err(), "its breaker is open");
    timed(OPEN_BREAKER, runtime, service)
}

fn built_once<S>(name: &'static str, build: impl FnOnce() -> S) -> Case
where
    S: Service<Request, Response = u64, Error: std::fmt::Debug> + 'static,
{
    let runtime = runtime();
    let service = {
        let _inside = runtime.enter();
        build()
    };
    timed(name, runtime, service)
}

fn timed<S>(name: &'static str, runtime: Runtime, mut service: S) -> Case
where
    S: Service<Request, Response = u64, Error: std::fmt::Debug> + 'static,
{
    Case::timed(name, move |calls| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(one_call(&mut service).await).ok();
            }
            start.elapsed()
        })
    })
}

fn built_per_call<S>(name: &'static str, build: impl Fn() -> S + 'static) -> Case
where
    S: Service<Request, Response = u64, Error: std::fmt::Debug> + 'static,
{
    let runtime = runtime();
    Case::timed(name, move |calls| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..calls {
                let mut service = build();
                black_box(one_call(&mut service).await).ok();
            }
            start.elapsed()
        })
    })
}

async fn one_call<S>(service: &mut S) -> Result<u64, S::Error>
where
    S: Service<Request, Response = u64, Error: std::fmt::Debug>,
{
    service.ready().await?.call(black_box(Request(42))).await
}

/// One thread, as forbear is measured.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}
