//! The component that keeps states in `wasi:keyvalue`, on a host whose buckets are maps.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use exports::forbear::resilience::state_store::Error;
use wasi::keyvalue::store::{self, Bucket, Host, HostBucket, KeyResponse};
use wasmtime::component::{Component, HasSelf, Linker, Resource};
use wasmtime::{Config, Engine, Store};

wasmtime::component::bindgen!({ path: ["../..", "../../keyvalue/wit"], world: "forbear:keyvalue/adapter" });

#[test]
fn what_one_instance_saves_another_loads_from_the_bucket_that_the_host_has() {
    for (names, its) in [(&["default"][..], "default"), (&[""], ""), (&["", "default"], "default")] {
        let mut shelf = Shelf::of(names);
        assert!(matches!(shelf.load(), Ok(None)));
        shelf.save(b"\0learned\xff").unwrap();
        assert_eq!(shelf.load().unwrap().unwrap(), b"\0learned\xff");
        assert_eq!(shelf.buckets[its].keys().collect::<Vec<_>>(), ["forbear.shop"]);
    }
}

#[test]
fn what_is_wrong_with_a_bucket_is_told_as_what_is_wrong_with_a_store() {
    let mut none = Shelf::of(&[]);
    assert!(matches!((none.load(), none.save(b"")), (Err(Error::Unavailable), Err(Error::Unavailable))));
    let mut closed = Shelf { refusal: Some(store::Error::AccessDenied), ..Shelf::of(&[""]) };
    assert!(matches!((closed.load(), closed.save(b"")), (Err(Error::AccessDenied), Err(Error::AccessDenied))));
    let mut broken = Shelf { refusal: Some(store::Error::Other("no disk".to_owned())), ..Shelf::of(&[""]) };
    assert!(matches!(broken.load(), Err(Error::Other(Some(text))) if text == "no disk"));
}

/// A host's buckets. Each load and each save is an instance's.
#[derive(Default)]
struct Shelf {
    buckets: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The names of those that were opened, each at its handle's number.
    opened: Vec<String>,
    refusal: Option<store::Error>,
}

impl Shelf {
    fn of(names: &[&str]) -> Self {
        Self { buckets: names.iter().map(|name| ((*name).to_owned(), BTreeMap::new())).collect(), ..Self::default() }
    }

    fn load(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let (mut store, adapter) = self.instance();
        let store_of = adapter.forbear_resilience_state_store();
        let loads = store.run_concurrent(async |accessor| store_of.call_load(accessor, "shop".to_owned()).await);
        let loaded = block_on(loads).unwrap().unwrap();
        *self = store.into_data();
        loaded
    }

    fn save(&mut self, state: &[u8]) -> Result<(), Error> {
        let (mut store, adapter) = self.instance();
        let store_of = adapter.forbear_resilience_state_store();
        let saves = store
            .run_concurrent(async |accessor| store_of.call_save(accessor, "shop".to_owned(), state.to_vec()).await);
        let saved = block_on(saves).unwrap().unwrap();
        *self = store.into_data();
        saved
    }

    fn instance(&mut self) -> (Store<Self>, Adapter) {
        let (engine, component) = &*COMPILED;
        let mut linker = Linker::new(engine);
        store::add_to_linker::<_, HasSelf<_>>(&mut linker, |shelf: &mut Self| shelf).unwrap();
        let mut store = Store::new(engine, std::mem::take(self));
        let adapter = block_on(Adapter::instantiate_async(&mut store, component, &linker)).unwrap();
        (store, adapter)
    }
}

impl Host for Shelf {
    fn open(&mut self, name: String) -> Result<Resource<Bucket>, store::Error> {
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None if !self.buckets.contains_key(&name) => Err(store::Error::NoSuchStore),
            None => {
                self.opened.push(name);
                Ok(Resource::new_own(self.opened.len() as u32 - 1))
            }
        }
    }
}

impl HostBucket for Shelf {
    fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Result<Option<Vec<u8>>, store::Error> {
        Ok(self.buckets[&self.opened[bucket.rep() as usize]].get(&key).cloned())
    }

    fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Result<(), store::Error> {
        self.buckets.get_mut(&self.opened[bucket.rep() as usize]).unwrap().insert(key, value);
        Ok(())
    }

    fn delete(&mut self, _: Resource<Bucket>, _: String) -> Result<(), store::Error> {
        unreachable!("nobody deletes")
    }

    fn exists(&mut self, _: Resource<Bucket>, _: String) -> Result<bool, store::Error> {
        unreachable!("nobody asks")
    }

    fn list_keys(&mut self, _: Resource<Bucket>, _: Option<u64>) -> Result<KeyResponse, store::Error> {
        unreachable!("nobody lists")
    }

    fn drop(&mut self, _: Resource<Bucket>) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// Nothing here waits for anything outside.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

static COMPILED: LazyLock<(Engine, Component)> = LazyLock::new(|| {
    let engine = Engine::new(Config::new().wasm_component_model_async(true)).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/component/keyvalue.wasm");
    let component = Component::from_file(&engine, file).unwrap();
    (engine, component)
});
