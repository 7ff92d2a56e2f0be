//! The memory of a check, counted: an allocator that knows what is held now, what was held at the most, and what was asked for in all.

#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{ALL, Taken};

/// Bytes held at the most: a small file that claims a large table ends the process here, on any machine.
const LIMIT: usize = 1 << 30;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static BEFORE: AtomicUsize = AtomicUsize::new(0);
/// The number of the target that is checked.
static TARGET: AtomicUsize = AtomicUsize::new(ALL.len());

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts from here, for the target of this number.
pub(crate) fn begin(target: usize) {
    TARGET.store(target, Relaxed);
    let now = NOW.load(Relaxed);
    BEFORE.store(now, Relaxed);
    PEAK.store(now, Relaxed);
    TOTAL.store(0, Relaxed);
}

/// The memory taken since [`begin`].
pub(crate) fn taken() -> Taken {
    Taken { peak: PEAK.load(Relaxed).saturating_sub(BEFORE.load(Relaxed)), total: TOTAL.load(Relaxed) }
}

/// True if so many more bytes may be held.
fn grows(bytes: usize) -> bool {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
    TOTAL.fetch_add(bytes, Relaxed);
    let within = now <= LIMIT;
    if !within {
        // Nothing here allocates.
        let name = ALL.get(TARGET.load(Relaxed)).map_or("a test", |target| target.name);
        for text in [name, " holds more than a gigabyte\n"] {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        NOW.fetch_sub(bytes, Relaxed);
    }
    within
}

// The functions are the system's own, called with the very arguments they were given; what is added only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if grows(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if grows(layout.size()) { unsafe { System.alloc_zeroed(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && !grows(size - layout.size()) {
            return std::ptr::null_mut();
        }
        NOW.fetch_sub(layout.size().saturating_sub(size), Relaxed);
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}
