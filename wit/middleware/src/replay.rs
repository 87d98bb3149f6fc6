//! A request's body, kept while it is sent so that it can be sent again: the recorder writes at the end, every attempt plays
//! from the beginning. Nobody waits for the whole of it.
//!
//! A body that outgrows the limit is forgotten from its beginning on, and goes through as it comes: it can no longer be sent
//! again. Recording is over when nobody listens any more, however much of the body there still is.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::task::{Context, Poll, Waker};

/// What was recorded, and what came at the end of it.
pub struct ReplayBuffer<End> {
    state: RefCell<State<End>>,
}

struct State<End> {
    kept: Vec<u8>,
    /// How many bytes came before what is kept.
    gone: u64,
    /// How many bytes are kept at most.
    limit: usize,
    end: Option<End>,
    listeners: Vec<u32>,
    listened: u32,
    waiting: Vec<Waker>,
}

/// Keeps the recording going; to drop it is to stop listening.
pub struct Listener<End> {
    replay: Rc<ReplayBuffer<End>>,
    number: u32,
}

/// Where an attempt is in the recording.
pub struct Player<End> {
    replay: Rc<ReplayBuffer<End>>,
    listener: u32,
    at: u64,
}

/// What comes next in the recording.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<End> {
    Bytes(Vec<u8>),
    End(End),
    /// Nobody listens, or what comes next is no longer kept.
    Nothing,
}

impl<End: Clone> ReplayBuffer<End> {
    /// Nothing has come yet.
    pub fn new(limit: usize) -> Rc<Self> {
        let (kept, listeners, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Rc::new(Self {
            state: RefCell::new(State { kept, gone: 0, limit, end: None, listeners, listened: 0, waiting }),
        })
    }

    /// Somebody wants to hear it.
    pub fn listen(self: &Rc<Self>) -> Listener<End> {
        let mut state = self.state.borrow_mut();
        let number = state.listened;
        state.listened += 1;
        state.listeners.push(number);
        Listener { replay: self.clone(), number }
    }

    /// For the recorder: how many bytes there is room for; `None` once nobody listens.
    pub fn poll_room(&self, context: &Context<'_>) -> Poll<Option<usize>> {
        let mut state = self.state.borrow_mut();
        if state.listeners.is_empty() {
            return Poll::Ready(None);
        }
        match state.room() {
            0 => state.wait(context),
            room => Poll::Ready(Some(room)),
        }
    }

    /// For the recorder, while it waits for more: ready once nobody listens.
    pub fn poll_abandoned(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.listeners.is_empty() { Poll::Ready(()) } else { state.wait(context) }
    }

    /// More has come.
    pub fn record(&self, bytes: &[u8]) {
        let mut state = self.state.borrow_mut();
        state.kept.extend_from_slice(bytes);
        state.wake();
    }

    /// Nothing more comes.
    pub fn end(&self, end: End) {
        let mut state = self.state.borrow_mut();
        state.end = Some(end);
        state.wake();
    }
}

impl<End> State<End> {
    /// One byte more than the limit shows that the body is longer. From then on only what was played makes room.
    fn room(&self) -> usize {
        match self.gone {
            0 => (self.limit + 1).saturating_sub(self.kept.len()),
            _ if self.kept.is_empty() => usize::MAX,
            _ => 0,
        }
    }

    fn came(&self) -> u64 {
        self.gone + self.kept.len() as u64
    }

    fn is_too_long(&self) -> bool {
        self.gone > 0 || self.kept.len() > self.limit
    }

    /// What was kept is gone, and from this place on it is the caller's.
    fn forget(&mut self, from: usize) -> Vec<u8> {
        self.gone = self.came();
        let mut kept = core::mem::take(&mut self.kept);
        self.wake();
        kept.drain(..from);
        kept
    }

    fn wait<T>(&mut self, context: &Context<'_>) -> Poll<T> {
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl<End: Clone> Listener<End> {
    /// Somebody else listens too.
    pub fn another(&self) -> Self {
        self.replay.listen()
    }

    /// Whether everything since the beginning is still there.
    pub fn is_whole(&self) -> bool {
        self.replay.state.borrow().gone == 0
    }

    /// How many bytes came, and how it ended, once that is known.
    pub fn heard(&self) -> (u64, Option<End>) {
        let state = self.replay.state.borrow();
        (state.came(), state.end.clone())
    }

    /// Whether more is to come, and there is room for it: whoever records it is what is waited for.
    pub fn waits_for_more(&self) -> bool {
        let state = self.replay.state.borrow();
        state.end.is_none() && state.room() > 0
    }

    /// Whether nothing at all came before its end.
    pub fn poll_is_empty(&self, context: &Context<'_>) -> Poll<bool> {
        let mut state = self.replay.state.borrow_mut();
        match (state.came(), &state.end) {
            (0, None) => state.wait(context),
            (came, _) => Poll::Ready(came == 0),
        }
    }

    /// Plays from the beginning, as long as this listener is there.
    pub fn play(&self) -> Player<End> {
        Player { replay: self.replay.clone(), listener: self.number, at: 0 }
    }
}

impl<End> Drop for Listener<End> {
    fn drop(&mut self) {
        let mut state = self.replay.state.borrow_mut();
        state.listeners.retain(|number| *number != self.number);
        state.wake();
    }
}

impl<End: Clone> Player<End> {
    /// The next piece, once there is one.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Piece<End>> {
        let mut state = self.replay.state.borrow_mut();
        let Some(from) = self.at.checked_sub(state.gone).filter(|_| state.listeners.contains(&self.listener)) else {
            return Poll::Ready(Piece::Nothing);
        };
        let from = from as usize;
        if from < state.kept.len() {
            self.at = state.came();
            let piece = if state.is_too_long() { state.forget(from) } else { state.kept[from..].to_vec() };
            return Poll::Ready(Piece::Bytes(piece));
        }
        if let Some(end) = &state.end {
            return Poll::Ready(Piece::End(end.clone()));
        }
        state.wait(context)
    }
}

#[cfg(test)]
mod tests;
