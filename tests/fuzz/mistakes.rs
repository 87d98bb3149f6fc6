//! Random byte strings, and good ones with a few mistakes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One string in four is noise; in the others, something is lost, added or changed.
pub fn bytes(good: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let noise = prop_oneof![noise(40), noise(400), noise(4_000)];
    let spoiled = (select(good.clone()), vec(mistake(good), 1..=6)).prop_map(|(bytes, mistakes)| {
        mistakes.into_iter().fold(bytes, |bytes, (at, mistake)| mistake.make(bytes, &at))
    });
    prop_oneof![1 => noise, 3 => spoiled]
}

#[derive(Clone, Debug)]
enum Mistake {
    Truncate,
    Insert(u8),
    Remove(usize),
    /// Another good string's end follows.
    Splice(Vec<u8>, Index),
    FlipBit(u8),
    Fill(u8),
    Replace(u8),
}

fn mistake(good: Vec<Vec<u8>>) -> impl Strategy<Value = (Index, Mistake)> {
    let mistake = prop_oneof![
        Just(Mistake::Truncate),
        any::<u8>().prop_map(Mistake::Insert),
        (1..=9_usize).prop_map(Mistake::Remove),
        (select(good), any::<Index>()).prop_map(|(other, from)| Mistake::Splice(other, from)),
        (0..8_u8).prop_map(Mistake::FlipBit),
        select(vec![0, 0xFF]).prop_map(Mistake::Fill),
        any::<u8>().prop_map(Mistake::Replace),
    ];
    (any::<Index>(), mistake)
}

impl Mistake {
    fn make(self, mut bytes: Vec<u8>, at: &Index) -> Vec<u8> {
        let at = at.index(bytes.len() + 1);
        match self {
            Self::Truncate => bytes.truncate(at),
            Self::Insert(byte) => bytes.insert(at, byte),
            Self::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + count))),
            Self::Splice(other, from) => {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from.index(other.len() + 1)..]);
            }
            Self::FlipBit(bit) => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit),
            Self::Fill(with) => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = with),
            Self::Replace(with) => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = with),
        }
        bytes
    }
}

fn noise(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=longest)
}
