//! The artifact's stack, as in js/engine: the engine's calls are shallow.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family.contains("wasm")) {
        println!("cargo::rustc-cdylib-link-arg=-zstack-size=65536");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
