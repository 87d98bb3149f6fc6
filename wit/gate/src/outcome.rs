//! Errors of wasi:http as the engine hears them.

use crate::bindings::ErrorCode;

forbear_wit_shared::of_error!(ErrorCode);
