//! What a wasm module needs that has no standard library: memory, and a way to die.

use core::panic::PanicInfo;

#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// No panic of ours is reachable; should one be, the instance traps and the host makes a fresh one.
#[panic_handler]
fn die(_info: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
