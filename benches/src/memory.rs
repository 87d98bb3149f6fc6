//! What the engine asks of the allocator: how often, and how much it keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// The system's allocator, with a counter that is off while time is measured, so that the neighbours, who allocate, do not
/// pay for it.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(allocations: u64, bytes: i64) {
    if ON.load(Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Relaxed);
        BYTES.fetch_add(bytes, Relaxed);
    }
}

/// What was asked of the allocator meanwhile.
pub struct Use {
    pub allocations: u64,
    /// What is still held at the end.
    pub bytes: i64,
}

/// Counts while `work` runs; what it returns is dropped uncounted.
pub fn used_by<T>(work: impl FnOnce() -> T) -> (Use, T) {
    ALLOCATIONS.store(0, Relaxed);
    BYTES.store(0, Relaxed);
    ON.store(true, Relaxed);
    let result = work();
    ON.store(false, Relaxed);
    (Use { allocations: ALLOCATIONS.load(Relaxed), bytes: BYTES.load(Relaxed) }, result)
}
