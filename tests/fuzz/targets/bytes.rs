//! The bytes that drive a target, read as numbers. Where they end, everything is zero.

pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// So many bytes, or as many as there are.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    pub fn u8(&mut self) -> u8 {
        self.word(1) as u8
    }

    pub fn u16(&mut self) -> u16 {
        self.word(2) as u16
    }

    pub fn u64(&mut self) -> u64 {
        self.word(8)
    }

    fn word(&mut self, count: usize) -> u64 {
        self.take(count).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    /// From 0 to `end` − 1, and `end` is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.u8()) % end
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number that somebody forgot to think of.
    pub fn any(&mut self) -> u64 {
        let edge = self.pick(&EDGES);
        match self.u8() % 4 {
            0 => edge.wrapping_sub(self.u8().into()),
            1 => edge.wrapping_add(self.u8().into()),
            2 => u64::from(self.u16()) * 1_000_000,
            _ => self.u64(),
        }
    }
}

const EDGES: [u64; 9] = [0, 1, 1 << 20, 1 << 32, 1 << 53, 1 << 62, 1 << 63, u64::MAX, 100_000_000_000_000];
