//! Fuzzing without a fuzzer: proptest gives every target of `targets/` some thousands of byte strings, random ones and good ones
//! with mistakes, always the same. A failure prints the shortest bytes that still fail.
//!
//! `PROPTEST_CASES=500000 cargo test --release --test fuzz` goes further. What looks for paths by itself is cargo-fuzz, in `fuzz/`.
#![cfg(not(target_family = "wasm"))]

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

mod good;
mod mistakes;
mod targets;

#[test]
fn any_sequence_of_verbs_is_survived_and_answered_sensibly() {
    fuzz("verbs", 3_000);
}

#[test]
fn any_field_and_date_is_read_as_a_naive_reader_reads_it() {
    fuzz("retry_after", 10_000);
}

#[test]
fn any_configuration_is_taken_or_refused_as_its_tables_say() {
    fuzz("configuration", 4_000);
}

#[test]
fn any_bytes_are_restored_whole_or_not_at_all() {
    fuzz("snapshots", 1_000);
}

/// `npm run generate -- corpus` writes what cargo-fuzz begins with.
#[test]
fn every_target_has_good_bytes_to_begin_with() {
    for (name, run) in targets::ALL {
        let good = good::bytes(name);
        assert!(good.len() >= 16, "{name}");
        for (position, bytes) in good.iter().enumerate() {
            run(bytes);
            if std::env::var("FORBEAR_GENERATE").is_ok_and(|what| what == "corpus") {
                let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join(format!("good-{position}")), bytes).unwrap();
            }
        }
    }
}

/// Runs the target on this many byte strings.
fn fuzz(name: &str, cases: u32) {
    let (_, run) = targets::ALL.iter().find(|(its, _)| *its == name).unwrap();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { cases };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let found = runner.run(&mistakes::bytes(good::bytes(name)), |bytes| {
        run(&bytes);
        Ok(())
    });
    if let Err(error) = found {
        panic!("{name}: {error}");
    }
}
