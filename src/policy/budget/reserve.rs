//! The reserve: a few repeats a window for keys whose traffic is too thin to earn one.

use alloc::vec::Vec;

use super::{Config, Counting};
use crate::key::Key;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

/// The draws of the last window, each with its instant: they are few, so the window slides exactly.
#[derive(Debug)]
pub(super) struct Reserve {
    kind: Counting,
    size: u32,
    window: Duration,
    /// Oldest first.
    draws: Vec<Draw>,
}

#[derive(Clone, Copy, Debug)]
struct Draw {
    at: Instant,
    /// [`Key::NEW`] once the key has been given to somebody else.
    key: Key,
}

impl Reserve {
    pub fn new(config: &Config) -> Self {
        let Config { kind, window, reserve: size, .. } = *config;
        Self { kind, size, window, draws: Vec::new() }
    }

    /// One like it of which nothing is drawn.
    pub fn whole(&self) -> Self {
        Self { draws: Vec::new(), ..*self }
    }

    /// Kind, window and size, for a fingerprint.
    pub fn numbers(&self) -> [u64; 3] {
        [u64::from(self.kind.code()), self.window.as_nanos(), u64::from(self.size)]
    }

    /// Takes one, unless all are out, or the key would have more than half of them while another has some, which is fine
    /// for a wallet.
    pub fn draw(&mut self, key: Key, now: Instant) -> bool {
        let window = self.window;
        self.draws.retain(|draw| now.since(draw.at) < window);
        if !self.affords(key, now) {
            return false;
        }
        self.draws.push(Draw { at: now, key });
        true
    }

    /// Whether it would give the key one.
    pub fn affords(&self, key: Key, now: Instant) -> bool {
        let drawn = self.draws.iter().filter(|draw| self.counts(draw, now)).count() as u64;
        self.has_one(drawn, u64::from(self.drawn_by(key, now)))
    }

    /// Whether there is one for a key that has drawn `own` of those that are out.
    fn has_one(&self, drawn: u64, own: u64) -> bool {
        let size = u64::from(self.size);
        drawn < size && (self.kind != Counting::Ratio || own >= drawn || 2 * (own + 1) <= size)
    }

    /// When draws have come back that keep the key from one.
    pub fn retry_at(&self, key: Key, now: Instant) -> Option<Instant> {
        let live = || self.draws.iter().filter(|draw| self.counts(draw, now));
        let (mut drawn, mut own) = (live().count() as u64, u64::from(self.drawn_by(key, now)));
        live().find_map(|draw| {
            drawn -= 1;
            own -= u64::from(draw.key == key);
            self.has_one(drawn, own).then_some(draw.at + self.window)
        })
    }

    pub fn put_back(&mut self, key: Key, at: Instant) {
        // One of them: those of one key and instant are alike.
        let mut found = false;
        self.draws.retain(|draw| {
            found || {
                found = draw.at == at && draw.key == key;
                !found
            }
        });
    }

    pub fn drawn_by(&self, key: Key, now: Instant) -> u32 {
        self.draws.iter().filter(|draw| draw.key == key && self.counts(draw, now)).count() as u32
    }

    /// What a wallet has left. The reserve behind a ratio is no purse: a key may not draw all of it.
    pub fn left(&self, now: Instant) -> Option<u32> {
        let live = || self.draws.iter().filter(|draw| self.counts(draw, now)).count() as u32;
        (self.kind == Counting::Wallet).then(|| self.size.saturating_sub(live()))
    }

    /// What the key drew stays drawn, but is no longer its own.
    pub fn forget(&mut self, key: Key) {
        for draw in self.draws.iter_mut().filter(|draw| draw.key == key) {
            draw.key = Key::NEW;
        }
    }

    pub fn save(&self, now: Instant, out: &mut Writer) {
        let live = self.draws.iter().filter(|draw| self.counts(draw, now));
        out.list(live, |out, draw| {
            out.age(draw.at, now);
            out.key(draw.key);
        });
    }

    /// Reads what [`save`](Self::save) wrote, into a reserve that is still whole.
    pub fn restore(&mut self, now: Instant, input: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut last = Instant::PAST;
        for _ in 0..input.u16()? {
            let draw = Draw { at: input.age(now)?, key: input.key()? };
            if self.draws.len() >= self.size as usize || !self.counts(&draw, now) || draw.at < last {
                return Err(Damaged);
            }
            last = draw.at;
            self.draws.push(draw);
        }
        Ok(())
    }

    fn counts(&self, draw: &Draw, now: Instant) -> bool {
        now.since(draw.at) < self.window
    }
}
