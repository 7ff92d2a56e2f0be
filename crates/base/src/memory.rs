//! The last words of a process that gets no more memory, as under `ulimit -v`.
//!
//! Rust would end such a process with a core dump and leave the terminal as it is. Here the terminal is given back, a message names the way
//! out, and the process ends with exit code 137, as one that the system kills for want of memory. Nothing on this way allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Exit code of a process that was killed for want of memory.
const CODE: u8 = 137;

/// The system's allocator, which ends the process with its last words where the system refuses memory.
pub struct Memory;

// SAFETY: each function is the system's own, called with the arguments that it was given; what is added only compares with null.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        checked(unsafe { System.realloc(block, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn checked(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() && cfg!(unix) {
        end(bytes);
    }
    block
}

/// Peak memory of the process in MB, if the system reports it (Linux).
pub fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// Megabytes of memory that programs can still take, as far as the system tells.
pub fn free_mb() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// Gives the terminal back.
static FIRST: OnceLock<fn()> = OnceLock::new();

/// Sets the function that gives the terminal back before the last words. It must not allocate, and must do nothing where no terminal was
/// taken.
pub fn before_last_words(first: fn()) {
    // Whoever takes a terminal a second time gives it back in the same way.
    let _ = FIRST.set(first);
}

#[cold]
fn end(bytes: usize) {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    if HAS_BEGUN.swap(true, Ordering::AcqRel) {
        // Another thread ends the process, or the last words asked for memory against all intent.
        std::thread::sleep(Duration::from_secs(1));
    } else {
        if let Some(first) = FIRST.get() {
            first();
        }
        let mut buffer = [0; 512];
        let length = last_words(&mut buffer, bytes);
        // Past std's stderr, whose lock this very thread may hold.
        #[cfg(unix)]
        let _ = rustix::io::write(rustix::stdio::stderr(), &buffer[..length]);
    }
    crate::signals::exit_at_once(CODE);
}

/// Writes the last words and gives their length in bytes.
fn last_words(mut buffer: &mut [u8], bytes: usize) -> usize {
    let room = buffer.len();
    let _ = writeln!(
        buffer,
        "error: out of memory: the system refused {} kB more. What was finished is kept, and the same command goes on from there: give \
         it more memory (ulimit -v), take fewer --threads, or smaller settings (dim, vocabulary, batch)",
        bytes.div_ceil(1000)
    );
    room - buffer.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_what_was_asked_for_and_what_can_be_done() {
        let mut buffer = [0; 512];
        for bytes in [64 << 20, usize::MAX] {
            let length = last_words(&mut buffer, bytes);
            let text = std::str::from_utf8(&buffer[..length]).unwrap();
            assert!(text.contains(&format!("refused {} kB more", bytes.div_ceil(1000))), "{text}");
            assert!(text.contains("--threads") && text.ends_with("batch)\n"), "{text}");
        }
    }
}
