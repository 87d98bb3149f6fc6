//! The one engine of an instance, and the names that its keys have.

use core::cell::UnsafeCell;

use forbear::{Engine, Key, Limits, Names};

/// Everything an instance knows.
pub struct State {
    pub engine: Engine,
    pub names: Names,
}

/// Lends the state.
pub fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    // SAFETY: an instance has one thread, and nothing that acts calls an export, so the state is never lent twice.
    act(unsafe { &mut *STATE.0.get() })
}

impl State {
    /// The key of this name, or of the whole stack; `NEW` for a name that has no number yet.
    pub fn key(&self, name: Option<&str>) -> Key {
        name.map_or(Key::WHOLE, |name| self.names.key(name))
    }
}

struct Single(UnsafeCell<State>);

// SAFETY: the artifact is built for wasm32 without threads, and runs nowhere else.
unsafe impl Sync for Single {}

static STATE: Single = Single(UnsafeCell::new(State { engine: Engine::new(Limits::DEFAULT), names: Names::new() }));
