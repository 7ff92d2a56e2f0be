//! Deflate read as leniently as the PDF interpreter reads it, but to a limit: faults of checksums, lengths and codes end a block
//! or are passed over, and what came before them counts.

use super::unpack::UnpackedTooMuch;

/// Base length and extra bits of the length codes from 257 on.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
/// The order in which the lengths of the code lengths' codes are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Unpacks at most `limit` bytes.
pub(super) fn inflate(data: &[u8], limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    let headed = matches!(data, [cmf, flg, ..]
        if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)).is_multiple_of(31) && flg & 0x20 == 0);
    let mut bits = Bits { data: if headed { &data[2..] } else { data }, at: 0, held: 0, count: 0 };
    let mut out = Vec::new();
    while bits.at < bits.data.len() {
        match block(&mut bits, &mut out, limit)? {
            Some(true) => {}
            _ => break,
        }
    }
    Ok(out)
}

/// Reads a block; `Some(true)` when another one follows, `None` when the data end or make no sense.
fn block(bits: &mut Bits<'_>, out: &mut Vec<u8>, limit: usize) -> Result<Option<bool>, UnpackedTooMuch> {
    let Some(head) = bits.take(3) else { return Ok(None) };
    let more = head & 1 == 0;
    let (literals, distances) = match head >> 1 {
        0 => return Ok(stored(bits, out, limit)?.map(|()| more)),
        1 => (Codes::new(&fixed()), Codes::new(&[5; 30])),
        2 => match dynamic(bits) {
            Some(codes) => codes,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    loop {
        let Some(symbol) = bits.symbol(&literals) else { return Ok(None) };
        if symbol < 256 {
            if out.len() == limit {
                return Err(UnpackedTooMuch);
            }
            out.push(symbol as u8);
            continue;
        }
        if symbol == 256 {
            return Ok(Some(more));
        }
        let Some((length, distance)) = bits.copy(symbol, &distances) else { return Ok(None) };
        if distance > out.len() {
            continue;
        }
        if limit - out.len() < length {
            return Err(UnpackedTooMuch);
        }
        for _ in 0..length {
            out.push(out[out.len() - distance]);
        }
    }
}

fn stored(bits: &mut Bits<'_>, out: &mut Vec<u8>, limit: usize) -> Result<Option<()>, UnpackedTooMuch> {
    (bits.held, bits.count) = (0, 0);
    let Some(&[low, high, _, _]) = bits.data.get(bits.at..bits.at + 4) else { return Ok(None) };
    bits.at += 4;
    let length = usize::from(u16::from_le_bytes([low, high]));
    let end = (bits.at + length).min(bits.data.len());
    let piece = &bits.data[bits.at..end];
    if limit - out.len() < piece.len() {
        return Err(UnpackedTooMuch);
    }
    out.extend_from_slice(piece);
    bits.at = end;
    Ok((piece.len() == length).then_some(()))
}

fn fixed() -> [u8; 288] {
    let mut lengths = [8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    lengths
}

fn dynamic(bits: &mut Bits<'_>) -> Option<(Codes, Codes)> {
    let literals = bits.take(5)? as usize + 257;
    let all = literals + bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    let mut lengths = [0; 19];
    for place in &ORDER[..count] {
        lengths[*place] = bits.take(3)? as u8;
    }
    let codes = Codes::new(&lengths);
    let mut lengths = Vec::with_capacity(all);
    while lengths.len() < all {
        let (length, times) = match bits.symbol(&codes)? {
            length @ 0..=15 => (length as u8, 1),
            16 => (lengths.last().copied().unwrap_or(0), bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            _ => (0, bits.take(7)? + 11),
        };
        let times = (times as usize).min(all - lengths.len());
        lengths.extend(std::iter::repeat_n(length, times));
    }
    Some((Codes::new(&lengths[..literals]), Codes::new(&lengths[literals..])))
}

/// Huffman codes as a table over all bits that may come: a symbol and the length of its code, 0 where no code begins so.
struct Codes {
    table: Vec<(u16, u8)>,
    longest: u8,
}

impl Codes {
    fn new(lengths: &[u8]) -> Codes {
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let mut table = vec![(0, 0); 1 << longest];
        let mut code = 0u32;
        for length in 1..=longest {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| **l == length) {
                let first = (code.reverse_bits() >> (32 - u32::from(length))) as usize;
                for place in (first..table.len()).step_by(1 << length) {
                    table[place] = (symbol as u16, length);
                }
                code += 1;
            }
            code <<= 1;
        }
        Codes { table, longest }
    }
}

struct Bits<'d> {
    data: &'d [u8],
    at: usize,
    held: u32,
    count: u8,
}

impl Bits<'_> {
    /// Holds `count` bits, or all that are left.
    fn fill(&mut self, count: u8) {
        while self.count < count && self.at < self.data.len() {
            self.held |= u32::from(self.data[self.at]) << self.count;
            self.count += 8;
            self.at += 1;
        }
    }

    fn take(&mut self, count: u8) -> Option<u32> {
        self.fill(count);
        (self.count >= count).then(|| self.drop(count))
    }

    fn drop(&mut self, count: u8) -> u32 {
        let bits = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        bits
    }

    fn symbol(&mut self, codes: &Codes) -> Option<u16> {
        self.fill(codes.longest);
        let (symbol, length) = codes.table[(self.held & ((1 << codes.longest) - 1)) as usize];
        if length == 0 || length > self.count {
            return None;
        }
        self.drop(length);
        Some(symbol)
    }

    /// Length and distance of a copy.
    fn copy(&mut self, symbol: u16, distances: &Codes) -> Option<(usize, usize)> {
        let (base, extra) = LENGTHS.get(usize::from(symbol - 257)).copied().unwrap_or((0, 0));
        let length = u32::from(base) + self.take(extra)?;
        let symbol = u32::from(self.symbol(distances)?);
        let (base, extra) = match symbol {
            0..4 => (symbol + 1, 0),
            4..30 => (((2 + symbol % 2) << (symbol / 2 - 1)) + 1, symbol / 2 - 1),
            _ => return None,
        };
        Some((length as usize, (base + self.take(extra as u8)?) as usize))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn packed(data: &[u8], level: u32) -> Vec<u8> {
        let mut out = DeflateEncoder::new(Vec::new(), Compression::new(level));
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(pieces in prop::collection::vec("[a-e涨跌]{0,40}", 0..60), level in 0u32..10) {
            let data = pieces.concat().into_bytes();
            let bytes = packed(&data, level);
            prop_assert_eq!(inflate(&bytes, data.len()).ok(), Some(data.clone()));
            prop_assert_eq!(inflate(&bytes, data.len().saturating_sub(1)).is_err(), !data.is_empty());
            let mut zlib = ZlibEncoder::new(Vec::new(), Compression::new(level));
            zlib.write_all(&data).unwrap();
            prop_assert_eq!(inflate(&zlib.finish().unwrap(), 1 << 20).ok(), Some(data));
        }
    }

    #[test]
    fn what_stands_before_a_fault_counts() {
        let data = b"0123456789".repeat(1000);
        let bytes = packed(&data, 6);
        let part = inflate(&bytes[..bytes.len() / 2], data.len()).ok().unwrap();
        assert!(data.starts_with(&part) && !part.is_empty());
        // A stored block whose second length contradicts the first, and behind it what a strict reader never sees.
        let odd = [&[0, 3, 0, 9, 9], b"abc".as_slice(), &bytes].concat();
        assert_eq!(inflate(&odd, 1 << 20).ok().unwrap(), [b"abc", data.as_slice()].concat());
        assert!(inflate(&odd, 1000).is_err());
    }
}
