//! The artifact's stack: the engine's calls are shallow, and a mebibyte of zeros would be every instance's.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family.contains("wasm")) {
        println!("cargo::rustc-cdylib-link-arg=-zstack-size=65536");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
