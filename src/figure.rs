//! Figures: what there is to read of a policy about a key, as numbers with names, for hosts that see only numbers.

use crate::event::FieldKind;

/// One figure.
#[derive(Debug)]
pub struct FigureSpec {
    /// The name users read.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How to read its number.
    pub kind: FieldKind,
}

/// Where figures are written, one after the other, in the order of [`Kind::figures`](crate::Kind::figures). What finds no room is left out.
#[derive(Debug)]
pub struct Figures<'a>(core::slice::IterMut<'a, f64>);

impl<'a> Figures<'a> {
    /// Writes into these.
    pub fn new(room: &'a mut [f64]) -> Self {
        Self(room.iter_mut())
    }

    /// The next figure.
    // One copy, or each figure carries one of its own into the artifact.
    #[inline(never)]
    pub fn push(&mut self, number: f64) {
        if let Some(place) = self.0.next() {
            *place = number;
        }
    }
}

/// Lists the figures of a reading, in their order: `/// what it is`, `"name": Type = value;`.
macro_rules! figures {
    ($Reading:ident as $it:ident at $now:ident { $($(#[doc = $about:literal])+ $name:literal: $Type:ty = $value:expr;)+ }) => {
        impl $Reading {
            /// Its figures, for hosts that see only numbers.
            pub const FIGURES: &'static [$crate::figure::FigureSpec] = &[$($crate::figure::FigureSpec {
                name: $name,
                about: concat!($($about),+),
                kind: <$Type as $crate::event::EventValue>::KIND,
            }),+];

            /// Writes them, as they are at the instant of the reading.
            pub(crate) fn write(&self, $now: $crate::time::Instant, out: &mut $crate::figure::Figures<'_>) {
                let ($it, _) = (self, $now);
                $(out.push(<$Type as $crate::event::EventValue>::to_number($value));)+
            }
        }
    };
}
