//! Prints js/src/generated/vocabulary.ts.

fn main() {
    print!("{}", forbear_js::vocabulary::typescript());
}
