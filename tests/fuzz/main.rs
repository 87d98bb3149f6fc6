//! Fuzzing without a fuzzer: every target of `targets/` on some thousands of seeded byte strings, random ones and good
//! ones with mistakes.
//!
//! A failure names its target and its seed: `FORBEAR_FUZZ=verbs:17 cargo test --test fuzz` goes there again, and
//! `FORBEAR_FUZZ_ROUNDS=50` goes fifty times as far. What looks for paths by itself is cargo-fuzz, in `fuzz/`.
#![cfg(not(target_family = "wasm"))]

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use forbear::Rng;

mod seeds;
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

/// `FORBEAR_WRITE_CORPUS=1 cargo test --test fuzz` writes what cargo-fuzz begins with.
#[test]
fn every_target_has_good_bytes_to_begin_with() {
    for (name, run) in targets::ALL {
        let good = seeds::good(name);
        assert!(good.len() >= 16, "{name}");
        for (position, bytes) in good.iter().enumerate() {
            run(bytes);
            if env::var_os("FORBEAR_WRITE_CORPUS").is_some() {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(format!("good-{position}")), bytes).unwrap();
            }
        }
    }
}

/// Runs the target on this many seeds, or on the one asked for.
fn fuzz(name: &str, rounds: u64) {
    let (_, run) = targets::ALL.iter().find(|(its, _)| *its == name).unwrap();
    let good = seeds::good(name);
    let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
    let asked = env::var("FORBEAR_FUZZ").ok();
    let seeds = match asked.as_deref().map(|asked| asked.split_once(':').expect("target:seed")) {
        Some((target, seed)) if target == name => {
            let seed: u64 = seed.parse().expect("a seed is a number");
            seed..seed + 1
        }
        Some(_) => return,
        None => 0..rounds * number("FORBEAR_FUZZ_ROUNDS").unwrap_or(1),
    };
    for seed in seeds {
        let bytes = seeds::bytes(&good, &mut Rng::new(seed));
        let survived = catch_unwind(AssertUnwindSafe(|| run(&bytes)));
        assert!(survived.is_ok(), "FORBEAR_FUZZ={name}:{seed} cargo test --test fuzz\n{}", bytes.escape_ascii());
    }
}
