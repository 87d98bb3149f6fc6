//! What this instance has learned, and what others have: the site's part in it.

use alloc::vec::Vec;

use crate::clock::{now, wall_now_ms};
use crate::parcel;
use crate::site::Site;

impl Site {
    /// Takes over what another instance has written.
    pub fn restore(&mut self, bytes: &[u8]) {
        parcel::restore(bytes, &mut self.engine, self.stack, &mut self.names, (now(), wall_now_ms()));
    }

    /// What this one has learned, as bytes.
    pub fn learned(&self) -> Vec<u8> {
        parcel::take(&self.engine, self.stack, &self.names, (now(), wall_now_ms()))
    }

    /// Whether no call is in flight.
    pub fn is_idle(&self) -> bool {
        self.engine.in_flight() == 0
    }
}
