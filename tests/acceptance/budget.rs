//! What pays for repeats, and what that bounds.

mod load;
mod story;
mod tokens;
