//! The Rust Worker of the tests. It answers what js/test/workers/faults.worker.mjs answers, so that one file of scenarios
//! drives both, and replays the golden vectors.

use std::cell::Cell;

use worker::js_sys::{Array, JSON, Reflect};
use worker::wasm_bindgen::JsValue;
use worker::{Context, Env, Request, Response, Result, Stub, event};

mod object;
mod order;
mod perform;
#[path = "../../support/mod.rs"]
mod support;
mod told;

/// At module scope, where clocks, timers and entropy are forbidden.
#[event(start)]
fn start() {
    perform::make_early();
}

#[event(fetch)]
async fn fetch(mut request: Request, env: Env, context: Context) -> Result<Response> {
    let answer = match request.path().as_str() {
        "/" => perform::perform(&JSON::parse(&request.text().await?)?).await?,
        // The signal of the request itself is the caller's.
        "/signalled" => {
            let signal = request.inner().signal().into();
            perform::signalled(&JSON::parse(&request.text().await?)?, &signal).await?
        }
        "/vectors" => vectors().into(),
        "/nested" => perform::nested(&JSON::parse(&request.text().await?)?).await?,
        "/panic" => panic!("on purpose: the instance dies, and the runtime's shim makes a fresh one"),
        "/snapshot" => perform::snapshot(&JSON::parse(&request.text().await?)?)?,
        "/restore" => perform::restore(&JSON::parse(&request.text().await?)?)?,
        "/lent" => perform::lent(&JSON::parse(&request.text().await?)?)?,
        "/circuit" => perform::circuit(&JSON::parse(&request.text().await?)?)?,
        "/execute" => perform::execute(&JSON::parse(&request.text().await?)?).await?,
        "/many" => perform::many(&JSON::parse(&request.text().await?)?).await?,
        "/dropped" => perform::dropped(&JSON::parse(&request.text().await?)?).await?,
        "/service" => {
            perform::through(
                &JSON::parse(&request.text().await?)?,
                perform::Way::Service(&env.service("UPSTREAM")?),
                &context,
            )
            .await?
        }
        "/object" => {
            let stubs = Cell::new(0);
            let stub = || -> Result<Stub> {
                stubs.set(stubs.get() + 1);
                env.durable_object("OBJECT")?.get_by_name("the one")
            };
            let order = JSON::parse(&request.text().await?)?;
            let answer = perform::through(&order, perform::Way::Object(&stub), &context).await?;
            Reflect::set(&answer, &"stubs".into(), &stubs.get().into())?;
            answer
        }
        _ => return Response::error("no such order", 404),
    };
    let text = JSON::stringify(&answer)?;
    Response::ok(String::from(text))
}

/// What differs between the recorded answers and the engine's in here, vector by vector.
fn vectors() -> Array {
    let replayed = |(name, text): &(&str, &str)| {
        let differences = support::replay::differences(name, text);
        Array::of2(&(*name).into(), &differences.into_iter().map(JsValue::from).collect::<Array>().into())
    };
    support::vectors::ALL.iter().map(replayed).collect()
}
