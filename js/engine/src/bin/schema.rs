//! Prints js/schema.json.

fn main() {
    #[cfg(not(target_family = "wasm"))]
    print!("{}", forbear_js::schema::json());
}
