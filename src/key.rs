//! Keys: what shares the state of a policy (usually the origin), as small numbers the host interned.

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use name::kept_name;

mod name;

/// A key's number. Hosts intern names to numbers; the engine gives the numbers out and takes them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u16);

impl Key {
    /// The key of calls that have none: everything shares one state.
    pub const WHOLE: Self = Self(0);
    /// The key that newcomers share while no other key can go.
    pub const OVERFLOW: Self = Self(1);
    /// A key the host has not seen before; the decision that admits the call is followed by its number.
    pub const NEW: Self = Self(u16::MAX);

    /// As a number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// From a number; one that was never given out is read as [`Key::NEW`].
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// Whether it stands for one name. Strangers who share the overflow key must not be judged by each other's results, and
    /// a new key has no number yet.
    #[must_use]
    pub const fn is_one_name(self) -> bool {
        self.0 != Self::OVERFLOW.0 && self.0 != Self::NEW.0
    }

    /// Whether it is one of those that are given out and taken back.
    pub(crate) const fn can_go(self) -> bool {
        self.0 >= RESERVED
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The keys in use: when each was last used, and how many calls it has in flight.
#[derive(Debug)]
pub(crate) struct Keys {
    /// From the first key that is not reserved on.
    slots: Vec<Slot>,
    /// How often any key was used or looked at.
    uses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The last of the uses that was its own. To be found busy is a use as well: it is looked at again after all the others.
    used: u64,
    /// When its idle state was last forgotten, counted like uses.
    swept: u64,
    in_flight: u32,
    /// How many names have had this number: what a name's late calls tell must not be told of the next one.
    tenancy: u32,
}

impl Slot {
    /// This use, unless it lasts.
    fn idle_since(&self, last: u64) -> u64 {
        if self.in_flight == 0 { last } else { u64::MAX }
    }
}

impl Keys {
    pub const fn new() -> Self {
        Self { slots: Vec::new(), uses: 0 }
    }

    /// Whether the host may use this number: it was given out.
    pub fn knows(&self, key: Key) -> bool {
        key.index() < self.count()
    }

    /// A number for a key never seen: a fresh one, or that of the least recently used key that is not `busy`, which is
    /// then forgotten; [`Key::OVERFLOW`] where `looks` at the least recently used ones find none.
    pub fn intern(&mut self, looks: usize, busy: impl Fn(Key) -> bool) -> Interned {
        if self.is_growing() {
            let used = self.one_more();
            self.slots.push(Slot { used, ..Slot::default() });
            return Interned::Fresh(Key(self.slots.len() as u16 + RESERVED - 1));
        }
        let Some(key) = self.find_idle(looks, busy) else { return Interned::Overflow };
        let used = self.one_more();
        if let Some(slot) = self.slot(key) {
            *slot = Slot { used, tenancy: slot.tenancy.wrapping_add(1), ..Slot::default() };
        }
        Interned::Reused(key)
    }

    /// Whether a key never seen would get a number of its own.
    pub fn has_room(&mut self, looks: usize, busy: impl Fn(Key) -> bool) -> bool {
        self.is_growing() || self.find_idle(looks, busy).is_some()
    }

    fn is_growing(&self) -> bool {
        self.slots.len() < MAX_KEYS as usize
    }

    /// The least recently used key that is not busy. Each that is takes one of the looks.
    fn find_idle(&mut self, looks: usize, busy: impl Fn(Key) -> bool) -> Option<Key> {
        for _ in 0..looks {
            let key = self.least(|slot| slot.idle_since(slot.used))?;
            if !busy(key) {
                return Some(key);
            }
            self.touch(key);
        }
        None
    }

    /// The key whose idle state goes next: the least recently used one without calls in flight, each in its turn.
    pub fn next_to_sweep(&mut self) -> Option<Key> {
        let key = self.least(|slot| slot.idle_since(slot.used.max(slot.swept)))?;
        let swept = self.one_more();
        self.slot(key)?.swept = swept;
        Some(key)
    }

    /// The key for which this is least, and not as great as can be.
    #[inline(never)]
    fn least(&self, order: fn(&Slot) -> u64) -> Option<Key> {
        let (mut least, mut found) = (u64::MAX, None);
        for (key, slot) in (RESERVED..).map(Key).zip(&self.slots) {
            let its = order(slot);
            if its < least {
                (least, found) = (its, Some(key));
            }
        }
        found
    }

    /// Notes that a key is used, though no call of it begins.
    pub fn touch(&mut self, key: Key) {
        let used = self.one_more();
        if let Some(slot) = self.slot(key) {
            slot.used = used;
        }
    }

    fn one_more(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Notes that a call of this key begins; answers which name the number stands for.
    pub fn begin(&mut self, key: Key) -> u32 {
        let used = self.one_more();
        let Some(slot) = self.slot(key) else { return 0 };
        slot.in_flight = slot.in_flight.saturating_add(1);
        slot.used = used;
        slot.tenancy
    }

    /// Notes that a call of this key is over.
    pub fn end(&mut self, key: Key) {
        if let Some(slot) = self.slot(key) {
            slot.in_flight = slot.in_flight.saturating_sub(1);
        }
    }

    /// Which name the number stands for now.
    pub fn tenancy(&mut self, key: Key) -> u32 {
        self.slot(key).map_or(0, |slot| slot.tenancy)
    }

    /// How many numbers were given out.
    pub fn count(&self) -> usize {
        self.slots.len() + RESERVED as usize
    }

    /// Reserved keys are everybody's and never go.
    fn slot(&mut self, key: Key) -> Option<&mut Slot> {
        self.slots.get_mut(key.index().checked_sub(RESERVED as usize)?)
    }
}

/// What became of a key never seen.
pub(crate) enum Interned {
    Fresh(Key),
    Reused(Key),
    Overflow,
}

/// State for each key, made when a key is first written to; a key without state is in its pristine one. Each state lies by
/// itself, so that the memory of one that is forgotten is free for whatever comes next, of whichever policy.
#[derive(Debug)]
pub struct Keyed<S> {
    states: Vec<Option<Box<S>>>,
}

impl<S> Default for Keyed<S> {
    fn default() -> Self {
        Self { states: Vec::new() }
    }
}

impl<S> Keyed<S> {
    /// The key's state, if it has left the pristine one.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&S> {
        self.states.get(key.index())?.as_deref()
    }

    /// The key's state, to change it; `None` for a key that was given no number.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut S> {
        self.states.get_mut(key.index())?.as_deref_mut()
    }

    /// The key's state, made by `fresh` where there is none yet.
    pub fn entry(&mut self, key: Key, fresh: impl FnOnce() -> S) -> &mut S {
        self.place(key).get_or_insert_with(|| Box::new(fresh()))
    }

    fn place(&mut self, key: Key) -> &mut Option<Box<S>> {
        let index = key.index().min(KEYS);
        if self.states.len() <= index {
            self.grow(index);
        }
        &mut self.states[index]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize) {
        while self.states.len() <= index {
            if self.states.len() == self.states.capacity() {
                self.states.reserve_exact(GROWTH);
            }
            self.states.push(None);
        }
    }

    /// Back to the pristine state.
    pub fn forget(&mut self, key: Key) {
        if let Some(state) = self.states.get_mut(key.index()) {
            *state = None;
        }
    }

    /// All keys that have state, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &S)> {
        self.states.iter().enumerate().filter_map(|(index, state)| Some((Key(index as u16), state.as_deref()?)))
    }
}

/// How many keys have state of their own at most. Ours: a guard's state of all stays under a mebibyte.
pub const MAX_KEYS: u16 = 1_024;
const RESERVED: u16 = 2;
/// All keys there may be, reserved ones among them.
pub(crate) const KEYS: usize = (MAX_KEYS + RESERVED) as usize;
/// How many states are made room for at a time. Doubling would make room for twice as many as there can be.
const GROWTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn number(interned: Interned) -> u16 {
        match interned {
            Interned::Fresh(key) | Interned::Reused(key) => key.0,
            Interned::Overflow => Key::OVERFLOW.0,
        }
    }

    fn full() -> Keys {
        let mut keys = Keys::new();
        for expected in RESERVED..MAX_KEYS + RESERVED {
            assert_eq!(number(keys.intern(9, |_| false)), expected);
        }
        keys
    }

    #[test]
    fn the_least_recently_used_idle_key_goes_first() {
        let mut keys = full();
        keys.begin(Key(2));
        keys.end(Key(2));
        keys.begin(Key(3));
        assert_eq!(number(keys.intern(9, |_| false)), 4);
        assert_eq!(number(keys.intern(9, |key| key.0 == 5)), 6);
    }

    #[test]
    fn busy_keys_and_keys_in_flight_never_go() {
        let mut keys = full();
        assert!(matches!(keys.intern(9, |_| true), Interned::Overflow));
        for key in RESERVED..MAX_KEYS + RESERVED {
            keys.begin(Key(key));
        }
        assert!(matches!(keys.intern(9, |_| false), Interned::Overflow));
        keys.end(Key(700));
        assert_eq!(number(keys.intern(9, |_| false)), 700);
    }

    #[test]
    fn where_all_are_busy_a_newcomer_looks_at_a_few_and_the_next_one_at_others() {
        let mut keys = full();
        let looked_at = core::cell::RefCell::new(Vec::new());
        let busy = |key: Key| {
            looked_at.borrow_mut().push(key.0);
            key.0 != 30
        };
        assert!(!keys.has_room(9, busy));
        assert!(matches!(keys.intern(9, busy), Interned::Overflow));
        assert_eq!(looked_at.take(), (2..20).collect::<Vec<u16>>());
        assert!(!keys.has_room(9, busy));
        assert_eq!((keys.has_room(9, busy), looked_at.take().len()), (true, 11));
        assert_eq!(number(keys.intern(9, busy)), 30);
        // Whoever was busy counts as used: those that nobody has looked at yet come first.
        assert_eq!(number(keys.intern(1, |_| false)), 31);
    }

    #[test]
    fn idle_state_goes_key_by_key_in_the_order_of_their_last_uses() {
        let mut keys = Keys::new();
        (0..4).for_each(|_| _ = keys.intern(1, |_| false));
        keys.begin(Key(2));
        keys.begin(Key(3));
        keys.end(Key(2));
        let order: Vec<u16> = (0..6).filter_map(|_| keys.next_to_sweep()).map(|key| key.0).collect();
        assert_eq!(order, [4, 5, 2, 4, 5, 2], "none with a call in flight, and all others in turn");
        keys.touch(Key(4));
        assert_eq!(keys.next_to_sweep(), Some(Key(5)));
    }

    #[test]
    fn reserved_and_foreign_keys_are_harmless() {
        let mut keys = full();
        for key in [Key::WHOLE, Key::OVERFLOW, Key::NEW, Key(60_000)] {
            keys.begin(key);
            keys.end(key);
        }
        assert!(keys.knows(Key::WHOLE) && !keys.knows(Key::NEW) && !keys.knows(Key(60_000)));
        assert_eq!(number(keys.intern(9, |_| false)), RESERVED);
    }

    #[test]
    fn state_is_made_on_first_write_and_forgotten_whole() {
        let mut states: Keyed<u32> = Keyed::default();
        assert!(states.get(Key(9)).is_none());
        *states.entry(Key(9), || 7) += 1;
        assert_eq!(states.get(Key(9)), Some(&8));
        assert_eq!(states.iter().count(), 1);
        states.forget(Key(9));
        states.forget(Key(500));
        assert!(states.get(Key(9)).is_none());
    }
}
