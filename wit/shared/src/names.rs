//! Names of keys, and the numbers that the engine gave them. Both are bounded together: the engine decides which key is
//! forgotten, and tells by giving its number to another name.

use alloc::boxed::Box;
use alloc::vec::Vec;

use forbear::{Engine, Key, kept_name, snapshot};

/// The names that have numbers.
#[derive(Default)]
pub struct Names {
    /// Each at the place that is its key's number, behind its checksum, so that most are told apart without being read. A tree
    /// would cost four kilobytes.
    entries: Vec<Option<(u64, Box<str>)>>,
}

impl Names {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The name's number; `NEW` where it has none.
    #[must_use]
    pub fn key(&self, name: &str) -> Key {
        let name = &*kept_name(name);
        let sum = snapshot::checksum(name.as_bytes());
        let is_its = |entry: &Option<(u64, Box<str>)>| {
            entry.as_ref().is_some_and(|(other, its)| *other == sum && **its == *name)
        };
        self.entries.iter().position(is_its).map_or(Key::NEW, |place| Key::from_number(place as u16))
    }

    /// The name that has this number.
    #[must_use]
    pub fn name(&self, key: Key) -> Option<&str> {
        self.entries.get(usize::from(key.number()))?.as_ref().map(|(_, name)| &**name)
    }

    /// The name's number, which the engine gives it if it has none; `OVERFLOW` where there is no room.
    pub fn intern(&mut self, name: &str, engine: &mut Engine) -> Key {
        match self.key(name) {
            Key::NEW => {
                let key = engine.intern().unwrap_or(Key::OVERFLOW);
                self.learn(name, key);
                key
            }
            key => key,
        }
    }

    /// The engine gave this name a number. A number handed out again replaces the name that had it.
    pub fn learn(&mut self, name: &str, key: Key) {
        if !key.is_one_name() || key == Key::WHOLE {
            return;
        }
        let place = usize::from(key.number());
        while self.entries.len() <= place {
            self.entries.push(None);
        }
        let name = kept_name(name);
        let entry = (snapshot::checksum(name.as_bytes()), name.into());
        if let Some(place) = self.entries.get_mut(place) {
            *place = Some(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_handed_out_again_replaces_the_name_that_had_it() {
        let mut names = Names::new();
        let (first, second) = (Key::from_number(2), Key::from_number(3));
        names.learn("a", first);
        names.learn("b", second);
        names.learn("c", first);
        assert_eq!((names.key("a"), names.key("b"), names.key("c")), (Key::NEW, second, first));
        assert_eq!((names.name(first), names.name(second)), (Some("c"), Some("b")));
    }

    #[test]
    fn nobody_has_the_keys_that_are_everybodys() {
        let mut names = Names::new();
        for key in [Key::WHOLE, Key::OVERFLOW, Key::NEW] {
            names.learn("a", key);
        }
        assert_eq!(names.key("a"), Key::NEW);
    }

    #[test]
    fn a_long_name_is_known_by_its_beginning_length_and_checksum() {
        let mut names = Names::new();
        let long = "ä".repeat(100_000);
        names.learn(&long, Key::from_number(2));
        assert_eq!(names.key(&long), Key::from_number(2));
        let kept = names.name(Key::from_number(2)).unwrap().to_owned();
        assert_eq!(kept, kept_name(&long));
        assert_eq!(names.key(&kept), Key::from_number(2));
        assert_eq!(names.key(&(long + "ä")), Key::NEW);
    }
}
