//! The published results of the field, found again by the real engine through its public interface.
//!
//! Each file is one subject: the model, how a figure is found, and what is *not* found that way. The same rows are
//! asserted by `cargo test --test simulation` and printed by `npm run simulate -- --published`.

use crate::rows::Subject;

mod amplification;
mod backoff;
mod tail;
mod throttling;
mod token_buckets;
mod vectors;

pub const SUBJECTS: &[Subject] = &[
    backoff::SUBJECT,
    amplification::ATTEMPTS,
    amplification::LAYERS,
    throttling::EQUILIBRIA,
    throttling::RECOVERY,
    token_buckets::CLOSED_FORMS,
    token_buckets::FINDINGS,
    tail::SUBJECT,
    vectors::SUBJECT,
];

#[test]
fn every_figure_has_a_source() {
    for subject in SUBJECTS {
        assert!(subject.source.contains("https://"), "{}", subject.title);
    }
}
