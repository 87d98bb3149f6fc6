//! Prints js/src/generated/config.ts.

fn main() {
    #[cfg(not(target_family = "wasm"))]
    print!("{}", forbear_js::interfaces::typescript());
}
