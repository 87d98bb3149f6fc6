//! A Rust Worker that asks an upstream through a guard: repeats, a breaker, limits of time, and a refusal that says when to
//! come again.

use forbear_worker::policy::{attempt_timeout, circuit_breaker, deadline, retry};
use forbear_worker::{Config, Done, Duration, Error, Failed, Guard, Part, StackConfig};
use worker::{Context, Env, Method, Request, Response, Result, event};

thread_local! {
    /// One for the isolate. To make it needs neither time nor entropy, so any scope will do.
    static RATES: Guard = Guard::new(policies()).expect("values in range");
}

fn policies() -> Config {
    let stack = StackConfig {
        deadline: Some(deadline::Config { total: Duration::from_secs(10), ..Default::default() }),
        retry: Some(retry::Config::default()),
        breaker: Some(Part::Own(circuit_breaker::Config::default())),
        attempt_timeout: Some(attempt_timeout::Config { attempt: Duration::from_secs(2), ..Default::default() }),
        ..StackConfig::default()
    };
    Config { name: Some("rates".into()), stack }
}

#[event(fetch)]
async fn fetch(_request: Request, env: Env, context: Context) -> Result<Response> {
    let rates = RATES.with(Guard::clone);
    let request = Request::new(&env.var("UPSTREAM")?.to_string(), Method::Get)?;
    match rates.call().wait_until(&context).fetch(request).await {
        Ok(Done { value: response, report, .. }) => {
            worker::console_log!("{} attempts in {:?}: {:?}", report.attempts, report.elapsed, report.stop_reason);
            Ok(response)
        }
        Err(Failed { error: Error::Rejected { reason, retry_after, .. }, .. }) => {
            let seconds = retry_after.map_or(1, |wait| wait.as_millis().div_ceil(1_000));
            let refusal = Response::error(reason.word(), 503)?;
            refusal.headers().set("retry-after", &seconds.to_string())?;
            Ok(refusal)
        }
        Err(failed) => Response::error(failed.to_string(), 502),
    }
}
