//! Plain text, read in chunks of whole lines.

use std::io::{self, BufRead, Read};

use inkstone_base::limits;

/// Reason for a line that cannot be read.
const NOT_UTF8: &str = "not UTF-8";
/// A line that is longer than [`limits::LINE`]; nothing of it is kept.
const TOO_LONG: &str = "line over 64 MB";

/// Whole lines read at once.
#[derive(Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    /// End of each line with its line break; none of a line that is too long.
    ends: Vec<Option<usize>>,
    /// Bytes read, those of lines that are too long included.
    read: usize,
    /// True once the start of the input was read.
    begun: bool,
}

impl Chunk {
    /// Reads the next lines, at least one and then until `size` bytes are read; false at the end of the input. A mark of the byte
    /// order at the start is dropped.
    pub fn fill(&mut self, input: &mut impl BufRead, size: usize) -> io::Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        self.read = 0;
        while self.read < size {
            let start = self.bytes.len();
            let length = input.by_ref().take(limits::LINE as u64 + 1).read_until(b'\n', &mut self.bytes)?;
            if length == 0 {
                break;
            }
            self.read += length;
            if length > limits::LINE {
                if !self.bytes.ends_with(b"\n") {
                    self.read += input.skip_until(b'\n')?;
                }
                self.bytes.truncate(start);
                self.ends.push(None);
            } else {
                if !self.begun && self.bytes.starts_with(b"\xef\xbb\xbf") {
                    self.bytes.drain(..3);
                }
                // A mark and nothing after it is no line.
                if !self.bytes.is_empty() {
                    self.ends.push(Some(self.bytes.len()));
                }
            }
            self.begun = true;
        }
        Ok(!self.ends.is_empty())
    }

    /// Bytes read, line breaks included.
    pub fn bytes_read(&self) -> usize {
        self.read
    }

    /// The lines without their breaks, or why one cannot be read: `NOT_UTF8` or `TOO_LONG`.
    pub fn lines(&self) -> Vec<Result<&str, &'static str>> {
        let mut start = 0;
        let lines = self.ends.iter().map(|end| {
            let line = &self.bytes[start..end.ok_or(TOO_LONG)?];
            start += line.len();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            simdutf8::basic::from_utf8(line).map_err(|_| NOT_UTF8)
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_line_without_measure_costs_itself_alone_and_no_memory() {
        let long = io::repeat(b'x').take(8 * limits::LINE as u64);
        let text = b"\xef\xbb\xbfa\r\n".chain(long).chain(&b"\n\xff\nb\n"[..]);
        let longest = [vec![b'y'; limits::LINE - 1], b"\nc".to_vec()].concat();
        let mut input = BufReader::new(text.chain(&longest[..]));
        let (mut chunk, mut lines, mut read) = (Chunk::default(), Vec::new(), 0);
        while chunk.fill(&mut input, 1 << 20).unwrap() {
            lines.extend(chunk.lines().into_iter().map(|line| line.map(|line| (line.len(), line.chars().next()))));
            read += chunk.bytes_read();
            assert!(chunk.bytes.capacity() <= 3 * limits::LINE);
        }
        let [a, b, c] = ['a', 'b', 'c'].map(|line| Ok((1, Some(line))));
        assert_eq!(lines, [a, Err(TOO_LONG), Err(NOT_UTF8), b, Ok((limits::LINE - 1, Some('y'))), c]);
        assert_eq!(read, 3 + 3 + 9 * limits::LINE + 1 + 2 + 2 + 1);
        assert_eq!(TOO_LONG, format!("line over {} MB", limits::LINE >> 20));
    }
}
