//! The last words of a process that gets no more memory.
//!
//! Rust ends such a process with "memory allocation of 16777216 bytes failed" and a core dump, and leaves the terminal as it is. Here it
//! is told what the process held, which limit it met and what can be done, the terminal is given back, and the process ends with
//! exit code 137, as one that the system itself kills for want of memory. What is on disk is as after any kill.
//!
//! Nothing on this way allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// As of a process that was killed for want of memory.
#[cfg(unix)]
const CODE: u8 = 137;

/// The system's allocator, which ends the process with its last words where it has no more.
///
/// A library that asks for memory and could do without it ends the process too. None asks for more than it needs for the file at hand.
pub struct Memory;

// The functions are the system's own, called with the very arguments they were given, so its promises are kept; what is added only
// looks whether the answer is null.
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
    if block.is_null() {
        refused(bytes);
    }
    block
}

/// What is done before the last words.
static FIRST: OnceLock<fn()> = OnceLock::new();

/// Has the terminal given back before the last words. `first` must not allocate, and must be harmless where nothing is to be given back.
pub fn before_last_words(first: fn()) {
    // Whoever takes a terminal a second time gives it back in the same way.
    let _ = FIRST.set(first);
}

#[cold]
fn refused(bytes: usize) {
    static SPEAKING: AtomicBool = AtomicBool::new(false);
    thread_local! {
        static SPEAKS: Cell<bool> = const { Cell::new(false) };
    }
    if SPEAKS.get() {
        // Against all intent the last words have asked for memory: Rust ends the process.
        return;
    }
    while SPEAKING.swap(true, Ordering::AcqRel) {
        std::thread::sleep(Duration::from_secs(1));
    }
    SPEAKS.set(true);
    if let Some(first) = FIRST.get() {
        first();
    }
    let mut text = Text::default();
    let _ = last_words(&mut text, bytes);
    end(&text.bytes[..text.len]);
}

fn last_words(text: &mut impl Write, bytes: usize) -> fmt::Result {
    write!(text, "error: out of memory: the system refused {} more", Bytes(bytes as u64))?;
    let mut buffer = [0; 4096];
    if let Some(held) = figure(read("/proc/self/status", &mut buffer), "VmRSS:") {
        write!(text, " to a process that holds {}", Bytes(held * 1024))?;
    }
    if let Some(limit) = figure(read("/proc/self/limits", &mut buffer), "Max address space") {
        write!(text, ", whose limit of address space is {} (ulimit -v)", Bytes(limit))?;
    }
    writeln!(
        text,
        ". What was finished is kept, and the same command goes on from there: give it more memory, take fewer --threads, or \
         smaller settings (dim, vocabulary, batch)"
    )
}

/// The first number after a word at the beginning of a line.
fn figure(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word))?.split_whitespace().next()?.parse().ok()
}

#[cfg(unix)]
fn read<'b>(path: &str, buffer: &'b mut [u8]) -> &'b str {
    use rustix::fs::{Mode, OFlags, open};
    let read = open(path, OFlags::RDONLY, Mode::empty()).and_then(|file| rustix::io::read(file, &mut *buffer));
    std::str::from_utf8(&buffer[..read.unwrap_or(0)]).unwrap_or_default()
}

#[cfg(not(unix))]
fn read<'b>(_: &str, _: &'b mut [u8]) -> &'b str {
    ""
}

#[cfg(unix)]
fn end(text: &[u8]) {
    // Past std's stderr, whose lock this very thread may hold.
    let _ = rustix::io::write(rustix::stdio::stderr(), text);
    crate::signals::exit_at_once(CODE);
}

#[cfg(not(unix))]
fn end(_: &[u8]) {
    // Rust says what happened, and ends the process.
}

/// Text of fixed room; what does not fit is left out.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; 1024], len: 0 }
    }
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let n = more.len().min(room.len());
        room[..n].copy_from_slice(&more.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Bytes as people say them.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ 0..10_000 => write!(f, "{bytes} B"),
            bytes @ 10_000..10_000_000 => write!(f, "{} kB", bytes / 1_000),
            bytes @ 10_000_000..10_000_000_000 => write!(f, "{} MB", bytes / 1_000_000),
            bytes => write!(f, "{} GB", bytes / 1_000_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_what_was_asked_for_and_what_can_be_done() {
        let mut text = Text::default();
        last_words(&mut text, 64 << 20).unwrap();
        let said = std::str::from_utf8(&text.bytes[..text.len]).unwrap();
        assert!(said.contains("refused 67 MB more") && said.contains("--threads") && said.ends_with('\n'), "{said}");
        if cfg!(target_os = "linux") {
            assert!(said.contains("to a process that holds "), "{said}");
        }
    }

    #[test]
    fn figures_are_read_from_what_the_system_writes() {
        let limits =
            "Limit     Soft Limit  Hard Limit  Units\nMax address space         524288000   unlimited   bytes\n";
        assert_eq!(figure(limits, "Max address space"), Some(524_288_000));
        assert_eq!(figure("Max address space  unlimited  unlimited  bytes", "Max address space"), None);
        assert_eq!(figure("", "VmRSS:"), None);
    }

    #[test]
    fn words_that_do_not_fit_are_left_out() {
        let mut text = Text::default();
        for _ in 0..400 {
            write!(text, "{}", Bytes(12_345)).unwrap();
        }
        assert_eq!(text.len, 1024);
        assert!(text.bytes.starts_with(b"12 kB12 kB"));
    }
}
