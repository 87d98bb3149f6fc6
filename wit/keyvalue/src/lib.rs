//! What forbear's components have learned, in `wasi:keyvalue`: `npm run compose -- … --state keyvalue`.

#![cfg_attr(target_family = "wasm", no_std)]
#![allow(missing_docs, unsafe_code)]

extern crate alloc;
/// For its allocator and its panic handler.
extern crate forbear_wit_shared as _;

use alloc::string::String;
use alloc::vec::Vec;

use exports::forbear::resilience::state_store::{Error, Guest};
use wasi::keyvalue::store::{self, Bucket};

wit_bindgen::generate!({ world: "forbear:keyvalue/adapter", path: ["..", "wit"], generate_all });

struct Adapter;

impl Guest for Adapter {
    async fn load(name: String) -> Result<Option<Vec<u8>>, Error> {
        bucket()?.get(&key(&name)).map_err(why)
    }

    async fn save(name: String, state: Vec<u8>) -> Result<(), Error> {
        bucket()?.set(&key(&name), &state).map_err(why)
    }
}

/// Hosts have a bucket called "default", as Spin has, or one without a name, as wasmtime has.
fn bucket() -> Result<Bucket, Error> {
    match store::open("default") {
        Err(store::Error::NoSuchStore) => store::open(""),
        opened => opened,
    }
    .map_err(why)
}

/// In a bucket that others use too, ours begin so.
fn key(name: &str) -> String {
    ["forbear.", name].concat()
}

fn why(error: store::Error) -> Error {
    match error {
        store::Error::NoSuchStore => Error::Unavailable,
        store::Error::AccessDenied => Error::AccessDenied,
        store::Error::Other(text) => Error::Other(Some(text)),
    }
}

// A linker of this machine's own does not take the names of exports.
#[cfg(target_family = "wasm")]
export!(Adapter);
