//! Closed vocabularies: enums whose variants have a code and a word.

/// Declares an enum whose variants carry the word that users read; its code is its position.
macro_rules! words {
    ($(#[$about:meta])* $vis:vis enum $Name:ident { $($(#[$doc:meta])* $Variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        $vis enum $Name { $($(#[$doc])* $Variant,)+ }

        impl $Name {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// All words, in the order of their codes.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word users read.
            #[must_use]
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The number that stands for it where only numbers cross.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }
        }
    };
}
