//! Names of keys here, numbers in the engine, which decides what is forgotten: it gives the number to another name.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use forbear::Key;

/// The names that have numbers, in order. As many as the engine has keys, so no more than a thousand.
#[derive(Default)]
pub struct Names(Vec<(String, Key)>);

impl Names {
    /// The name's key; one never seen where it has none yet.
    pub fn key(&self, name: &str) -> Key {
        self.place(name).ok().and_then(|place| self.0.get(place)).map_or(Key::NEW, |(_, key)| *key)
    }

    /// The engine gave the name a key, maybe one that another name had.
    pub fn learn(&mut self, name: &str, key: Key) {
        if !key.is_one_name() {
            return;
        }
        self.0.retain(|(other, owned)| *owned != key && other != name);
        let place = self.place(name).unwrap_or_else(|place| place);
        self.0.insert(place, (name.to_owned(), key));
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_given_out_again_is_the_new_names_alone() {
        let mut names = Names::default();
        assert_eq!(names.key("http://a"), Key::NEW);
        names.learn("http://a", Key::from_number(2));
        names.learn("http://b", Key::from_number(2));
        names.learn("http://c", Key::OVERFLOW);
        assert_eq!(names.key("http://a"), Key::NEW);
        assert_eq!(names.key("http://b"), Key::from_number(2));
        assert_eq!(names.key("http://c"), Key::NEW);
    }
}
