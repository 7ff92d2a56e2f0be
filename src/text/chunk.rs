//! Plain text read some whole lines at a time.

use std::io::BufRead;

/// Whole lines read at once.
#[derive(Default)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    /// Where each line ends, its line break included.
    ends: Vec<usize>,
    /// Whether the start of the input is behind.
    begun: bool,
}

impl Chunk {
    /// Reads the next lines, at least one and then until `size` bytes are full; false at the end of the input. A mark of the byte
    /// order at the start is dropped.
    pub(crate) fn fill(&mut self, input: &mut impl BufRead, size: usize) -> std::io::Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        while self.bytes.len() < size && input.read_until(b'\n', &mut self.bytes)? > 0 {
            if !self.begun && self.bytes.starts_with(b"\xef\xbb\xbf") {
                self.bytes.drain(..3);
            }
            self.begun = true;
            // A mark and nothing after it is no line.
            if !self.bytes.is_empty() {
                self.ends.push(self.bytes.len());
            }
        }
        Ok(!self.ends.is_empty())
    }

    /// Bytes read, line breaks included.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The lines without their breaks.
    pub(crate) fn lines(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lines = starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]);
        let bare = lines.map(|line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line)
        });
        bare.collect()
    }
}
