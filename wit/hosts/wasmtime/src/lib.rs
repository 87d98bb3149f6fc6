//! The engine's component in wasmtime: a few lines that any host on the wasmtime crate needs.

use std::path::Path;

use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Result, Store};

pub use exports::forbear::resilience::{engine, types};

wasmtime::component::bindgen!({ path: "../..", world: "policy-engine" });

/// The component, compiled.
pub struct Compiled {
    engine: Engine,
    component: Component,
}

/// One engine: an instance of the component, and what lives in it.
pub struct Instance {
    /// What every call into the instance is handed.
    pub store: Store<()>,
    exports: PolicyEngine,
}

impl Compiled {
    /// Compiles the component of this file.
    pub fn of(file: &Path) -> Result<Self> {
        let engine = Engine::default();
        let component = Component::from_file(&engine, file)?;
        Ok(Self { engine, component })
    }

    /// A fresh engine. The linker is empty: the component imports nothing.
    pub fn instantiate(&self) -> Result<Instance> {
        let mut store = Store::new(&self.engine, ());
        let exports = PolicyEngine::instantiate(&mut store, &self.component, &Linker::new(&self.engine))?;
        Ok(Instance { store, exports })
    }
}

impl Instance {
    /// The interface, beside the store to call it with.
    pub fn parts(&mut self) -> (&mut Store<()>, &engine::Guest) {
        (&mut self.store, self.exports.forbear_resilience_engine())
    }
}

/// A call like a GET: it may be repeated freely, and can be.
impl Default for engine::Facts {
    fn default() -> Self {
        let repeat = engine::Repeat::Freely;
        Self { repeat, replayable: true, single: false, prepared: false, timeout: None, cost: 1 }
    }
}
