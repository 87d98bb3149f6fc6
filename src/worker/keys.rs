//! Names of keys, and the engine's numbers for them. Both are bounded together: the engine decides which key is
//! forgotten, and tells by giving its number to another name.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use std::rc::Rc;

use crate::key::Key;
use crate::snapshot::checksum;

pub struct KeyNames {
    numbers: BTreeMap<Rc<str>, Key>,
    /// By the keys' numbers.
    names: Vec<Option<Rc<str>>>,
}

impl KeyNames {
    pub const fn new() -> Self {
        Self { numbers: BTreeMap::new(), names: Vec::new() }
    }

    pub fn find(&self, name: &str) -> Option<Key> {
        self.numbers.get(&*kept(name)).copied()
    }

    pub fn name_of(&self, key: Key) -> Option<Rc<str>> {
        self.names.get(usize::from(key.number())).cloned().flatten()
    }

    /// The engine gave this name a number. A number given again replaces the name that had it.
    pub fn learn(&mut self, name: &str, key: Key) {
        if !key.is_one_name() || key == Key::WHOLE {
            return;
        }
        let name: Rc<str> = Rc::from(kept(name));
        let place = usize::from(key.number());
        if self.names.len() <= place {
            self.names.resize(place + 1, None);
        }
        if let Some(former) = self.names.get_mut(place).and_then(|place| place.replace(name.clone())) {
            self.numbers.remove(&former);
        }
        self.numbers.insert(name, key);
    }
}

/// A name too long to keep is known by its beginning, its length and a checksum of the rest.
fn kept(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST {
        return Cow::Borrowed(name);
    }
    let (start, rest) = name.split_at((0..=KEPT).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0));
    Cow::Owned(format!("{start}…{}…{:x}", name.len(), checksum(rest.as_bytes())))
}

/// The longest name that is kept as it is, in bytes. Ours, as in the JavaScript package.
const LONGEST: usize = 1_024;
/// Leaves room for what stands behind it.
const KEPT: usize = 960;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_given_again_forgets_the_name_that_had_it() {
        let mut keys = KeyNames::new();
        keys.learn("a", Key::from_number(2));
        keys.learn("b", Key::from_number(2));
        assert_eq!((keys.find("a"), keys.find("b")), (None, Some(Key::from_number(2))));
        assert_eq!(keys.name_of(Key::from_number(2)).as_deref(), Some("b"));
    }

    #[test]
    fn what_no_single_name_has_is_not_learned() {
        let mut keys = KeyNames::new();
        for key in [Key::WHOLE, Key::OVERFLOW, Key::NEW] {
            keys.learn("a", key);
        }
        assert_eq!(keys.find("a"), None);
    }

    #[test]
    fn long_names_are_kept_short_and_stay_apart() {
        let long = |last: &str| "é".repeat(5_000) + last;
        assert!(kept(&long("a")).len() <= LONGEST);
        assert_ne!(kept(&long("a")), kept(&long("b")));
        assert_eq!(kept(&kept(&long("a"))), kept(&long("a")));
    }
}
