//! What is repeated, what never is, and who pays.

mod never;
mod paid;
