//! Names of keys, and the engine's numbers for them. Both are bounded together: the engine decides which key is
//! forgotten, and tells by giving its number to another name.

use std::collections::BTreeMap;
use std::rc::Rc;

use forbear::{Key, kept_name};

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
        self.numbers.get(&*kept_name(name)).copied()
    }

    pub fn name_of(&self, key: Key) -> Option<Rc<str>> {
        self.names.get(usize::from(key.number())).cloned().flatten()
    }

    /// The engine gave this name a number. A number given again replaces the name that had it.
    pub fn learn(&mut self, name: &str, key: Key) {
        if !key.is_one_name() || key == Key::WHOLE {
            return;
        }
        let name: Rc<str> = Rc::from(kept_name(name));
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
}
