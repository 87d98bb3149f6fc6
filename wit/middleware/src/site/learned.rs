//! What this instance has learned, and what others have: the site's part in it.

use alloc::vec::Vec;

use crate::clock::{now, wall_now_ms};
use crate::site::Site;
use crate::stored;

impl Site {
    /// Takes over what another instance has written.
    pub fn restore(&mut self, bytes: &[u8]) {
        stored::restore(bytes, &mut self.engine, self.stack, &mut self.names, (now(), wall_now_ms()));
    }

    /// What this one has learned, as bytes.
    pub fn learned(&self) -> Vec<u8> {
        stored::take(&self.engine, self.stack, &self.names, (now(), wall_now_ms()))
    }

    /// Whether no call is in flight.
    pub fn is_idle(&self) -> bool {
        self.engine.in_flight() == 0
    }
}
