//! Names of keys, and the numbers that an engine gave them: what every host in Rust keeps beside its engine.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use crate::decision::Decision;
use crate::engine::Engine;
use crate::key::{KEYS, Key, kept_name};
use crate::snapshot::{checksum, renaming};

/// The names that have numbers. They are bounded with the engine's keys: it decides which one is forgotten, and tells by giving
/// its number to another name.
#[derive(Debug, Default)]
pub struct Names {
    /// Each at the place that is its key's number, behind its checksum, so that most are told apart without being read. A tree
    /// would cost four kilobytes.
    entries: Vec<Option<(u64, Rc<str>)>>,
}

impl Names {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The name's number, to admit a call by; [`Key::NEW`] where it has none.
    #[must_use]
    pub fn key(&self, name: &str) -> Key {
        let name = &*kept_name(name);
        let sum = checksum(name.as_bytes());
        let is_its =
            |entry: &Option<(u64, Rc<str>)>| entry.as_ref().is_some_and(|(other, its)| *other == sum && **its == *name);
        self.entries.iter().position(is_its).map_or(Key::NEW, |place| Key::from_number(place as u16))
    }

    /// The name that has this number.
    #[must_use]
    pub fn name(&self, key: Key) -> Option<&Rc<str>> {
        self.entries.get(usize::from(key.number()))?.as_ref().map(|(_, name)| name)
    }

    /// The name's number, which the engine gives it if it has none; [`Key::OVERFLOW`] where there is no room.
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

    /// A call of this name was admitted by this key. Where that was [`Key::NEW`], the engine has given the name a number.
    pub fn learn_admitted(&mut self, name: Option<&str>, key: Key, decision: &Decision, engine: &Engine) {
        if let (Some(name), Key::NEW, Some(call)) = (name, key, decision.call) {
            engine.key_of(call).into_iter().for_each(|given| self.learn(name, given));
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
        let entry = (checksum(name.as_bytes()), Rc::from(&*name));
        if let Some(place) = self.entries.get_mut(place) {
            *place = Some(entry);
        }
    }

    /// The names that a snapshot needs, each with its number, by what [`Engine::snapshot_keys`] tells.
    #[must_use]
    pub fn of_snapshot(&self, keys: &[u8]) -> Vec<(u16, &str)> {
        let mut told = vec![false; KEYS];
        for number in keys.as_chunks().0 {
            told.get_mut(usize::from(u16::from_le_bytes(*number))).into_iter().for_each(|told| *told = true);
        }
        let numbers = (0..).zip(told).filter_map(|(number, told)| told.then_some(number));
        numbers.filter_map(|number| Some((number, &**self.name(Key::from_number(number))?))).collect()
    }

    /// What the keys of a snapshot are called here, by its names: for [`Engine::restore`]. Where there is little room, a later
    /// name may have got an earlier one's number.
    #[must_use]
    pub fn renaming<'a>(&self, names: impl Iterator<Item = (u16, &'a str)>) -> [Key; KEYS] {
        renaming(names.map(|(number, name)| (number, self.key(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, HostTime, StackConfig};

    #[test]
    fn a_number_handed_out_again_replaces_the_name_that_had_it() {
        let mut names = Names::new();
        let (first, second) = (Key::from_number(2), Key::from_number(3));
        names.learn("a", first);
        names.learn("b", second);
        names.learn("c", first);
        assert_eq!((names.key("a"), names.key("b"), names.key("c")), (Key::NEW, second, first));
        let name = |key| names.name(key).map(|name| &**name);
        assert_eq!((name(first), name(second)), (Some("c"), Some("b")));
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
        let kept = names.name(Key::from_number(2)).unwrap();
        assert_eq!(**kept, *kept_name(&long));
        assert_eq!(names.key(kept), Key::from_number(2));
        assert_eq!(names.key(&(long + "ä")), Key::NEW);
    }

    #[test]
    fn who_is_admitted_by_a_new_key_has_a_number_from_then_on() {
        let mut engine = Engine::default();
        let stack = engine.add_stack(StackConfig::OFF).unwrap();
        let mut names = Names::new();
        let mut admit = |name: Option<&str>| {
            let key = name.map_or(Key::WHOLE, |name| names.key(name));
            let decision = engine.admit(stack, key, Facts::default(), HostTime::from_millis(1), 7);
            names.learn_admitted(name, key, &decision, &engine);
            (key, name.map(|name| names.key(name)))
        };
        assert_eq!(admit(Some("a")), (Key::NEW, Some(Key::from_number(2))));
        assert_eq!(admit(Some("a")), (Key::from_number(2), Some(Key::from_number(2))));
        assert_eq!(admit(None), (Key::WHOLE, None));
    }

    #[test]
    fn a_snapshots_names_are_told_once_each_and_lead_to_their_numbers_elsewhere() {
        let mut there = Names::new();
        let mut here = Names::new();
        for (number, name) in [(2, "a"), (3, "b"), (4, "c")] {
            there.learn(name, Key::from_number(number));
            here.learn(name, Key::from_number(9 - number));
        }
        let told = there.of_snapshot(&[4, 0, 2, 0, 4, 0, 0, 0, 99, 0, 255, 255]);
        assert_eq!(told, [(2, "a"), (4, "c")]);
        let keys = here.renaming(told.into_iter());
        let numbers = [0, u16::MAX, 7, u16::MAX, 5, u16::MAX].map(Key::from_number);
        assert_eq!(keys[..6], numbers);
    }
}
