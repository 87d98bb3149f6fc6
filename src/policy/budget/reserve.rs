//! The reserve: a few repeats a window for keys whose traffic is too thin to earn one.

use alloc::vec::Vec;

use crate::key::Key;
use crate::snapshot::{Damaged, Reader, Writer};
use crate::time::{Duration, Instant};

/// The draws of the last window, each with its instant: they are few, so the window slides exactly.
#[derive(Debug)]
pub(super) struct Reserve {
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
    pub fn new(size: u32, window: Duration) -> Self {
        Self { size, window, draws: Vec::new() }
    }

    /// Takes one, unless all are out, or the key would have more than half of them while another has some.
    pub fn draw(&mut self, key: Key, now: Instant) -> bool {
        let window = self.window;
        self.draws.retain(|draw| now.since(draw.at) < window);
        let drawn = self.draws.len() as u64;
        let own = u64::from(self.drawn_by(key, now));
        let size = u64::from(self.size);
        if drawn >= size || own < drawn && 2 * (own + 1) > size {
            return false;
        }
        self.draws.push(Draw { at: now, key });
        true
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
