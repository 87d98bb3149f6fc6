//! What a note of the breaker's says.

use crate::policy::Note;

/// A note, read: the state it was taken in, and which of its permits it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticket {
    /// The key is not judged.
    Unjudged,
    /// A call through a closed circuit.
    Call { generation: u32 },
    /// A probe of a half-open circuit, and its place among the probes.
    Probe { generation: u32, place: usize },
    /// It has been told, or its permit was given back.
    Spent,
}

impl Ticket {
    /// The generations that fit, as a mask. They wrap: a note would have to outlive 33 million transitions, and be
    /// settled after exactly so many, to be taken for a newer one.
    pub const GENERATIONS: u32 = u32::MAX >> GENERATION_AT;

    pub const fn read(note: Note) -> Self {
        let generation = note.0 >> GENERATION_AT;
        match note.0 & KIND {
            UNJUDGED => Self::Unjudged,
            CALL => Self::Call { generation },
            PROBE => Self::Probe { generation, place: (note.0 >> PLACE_AT & PLACE) as usize },
            _ => Self::Spent,
        }
    }

    pub const fn note(self) -> Note {
        Note(match self {
            Self::Unjudged => UNJUDGED,
            Self::Call { generation } => generation << GENERATION_AT | CALL,
            Self::Probe { generation, place } => {
                generation << GENERATION_AT | (place as u32 & PLACE) << PLACE_AT | PROBE
            }
            Self::Spent => SPENT,
        })
    }
}

/// An attempt's note before a gate has written it, too.
const UNJUDGED: u32 = 0;
const CALL: u32 = 1;
const PROBE: u32 = 2;
const SPENT: u32 = 3;
const KIND: u32 = 3;
const PLACE_AT: u32 = 2;
/// Room for 32 probes, the most that can be configured.
const PLACE: u32 = 31;
const GENERATION_AT: u32 = 7;
