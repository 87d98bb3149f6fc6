//! What an instance has once.

use alloc::string::String;
use core::cell::RefCell;

/// Made when it is first asked for, and lent to one at a time: an instance has one thread.
pub struct Single<T>(RefCell<Option<Result<T, String>>>);

// SAFETY: components are built for wasm32 without threads; natively nobody asks for one.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    /// Nobody has asked yet.
    #[must_use]
    pub const fn unopened() -> Self {
        Self(RefCell::new(None))
    }

    /// Lends it; the first who asks makes it.
    ///
    /// # Errors
    /// What could not be made, everybody hears.
    pub fn with<R>(
        &self,
        open: impl FnOnce() -> Result<T, String>,
        act: impl FnOnce(&mut T) -> R,
    ) -> Result<R, String> {
        match self.0.borrow_mut().get_or_insert_with(open) {
            Ok(one) => Ok(act(one)),
            Err(error) => Err(error.clone()),
        }
    }
}
