//! Prints js/src/generated/vocabulary.ts.

fn main() {
    #[cfg(not(target_family = "wasm"))]
    print!("{}", forbear_js::vocabulary::typescript());
}
