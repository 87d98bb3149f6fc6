//! A `forbear:resilience/state-store` behind an HTTP server, which may be as hostile as a test wants: `GET /name` loads,
//! `PUT /name` saves. The host's configuration says which server, as `store.authority`.

#![allow(missing_docs, unsafe_code)]

use exports::forbear::resilience::state_store::{Error, Guest};
use wasi::config::store;
use wasi::http::client;
use wasi::http::types::{Fields, Method, Request, Response, Scheme};
use wit_bindgen::{StreamResult, spawn_local};

wit_bindgen::generate!({
    path: ["../../..", "../../wit"],
    inline: "
        package forbear:test-store;
        world store {
          import wasi:config/store@0.2.0-rc.1;
          import wasi:http/client@0.3.0;
          export forbear:resilience/state-store@0.1.0;
        }
    ",
    world: "forbear:test-store/store",
    generate_all,
});

struct Store;

impl Guest for Store {
    async fn load(name: String) -> Result<Option<Vec<u8>>, Error> {
        let response = ask(&Method::Get, &name, None).await?;
        let (_told, heard) = wit_future::new(|| Ok(()));
        let (mut body, _trailers) = Response::consume_body(response, heard);
        let mut state = Vec::new();
        loop {
            let (result, bytes) = body.read(Vec::with_capacity(65_536)).await;
            state.extend(bytes);
            if result == StreamResult::Dropped {
                return Ok((!state.is_empty()).then_some(state));
            }
        }
    }

    async fn save(name: String, state: Vec<u8>) -> Result<(), Error> {
        ask(&Method::Put, &name, Some(state)).await.map(drop)
    }
}

async fn ask(method: &Method, name: &str, body: Option<Vec<u8>>) -> Result<Response, Error> {
    let authority = store::get("store.authority").ok().flatten();
    let contents = body.map(|body| {
        let (mut out, contents) = wit_stream::new();
        spawn_local(async move { drop(out.write_all(body).await) });
        contents
    });
    let (request, transmission) = Request::new(Fields::new(), contents, wit_future::new(|| Ok(None)).1, None);
    request.set_method(method).unwrap();
    request.set_scheme(Some(&Scheme::Http)).unwrap();
    request.set_authority(authority.as_deref()).unwrap();
    request.set_path_with_query(Some(&["/", name].concat())).unwrap();
    let response = client::send(request).await.map_err(|_| Error::Unavailable)?;
    spawn_local(async move { drop(transmission.await) });
    match response.get_status_code() {
        200 => Ok(response),
        403 => Err(Error::AccessDenied),
        413 => Err(Error::TooLarge),
        status => Err(Error::Other(Some(status.to_string()))),
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Store);
