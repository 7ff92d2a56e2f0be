//! The filters of PDF streams, undone to a limit: how many bytes the interpreter will hold when it unpacks a stream.
//!
//! The interpreter unpacks without measure, so each filter is read here the way that it reads it, and what it would hold is
//! counted while it comes into being. Predictors change bytes and add none.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use hayro_interpret::hayro_syntax::Filter;

use super::inflate::inflate;

/// More bytes than the limit.
#[derive(Debug)]
pub(super) struct UnpackedTooMuch;

/// The largest code of LZW, and one more.
const LZW_CODES: usize = 4096;

/// Unpacks a stream by `filters`, the first one first; also gives the bytes that all steps hold together.
pub(super) fn unpack(data: &[u8], filters: &[Filter], limit: usize) -> Result<(Vec<u8>, usize), UnpackedTooMuch> {
    let Some((filter, rest)) = filters.split_first() else { return Ok((Vec::new(), 0)) };
    let mut most = (Vec::new(), 0);
    for out in undone(*filter, data, limit)? {
        let held = out.len();
        let found = match rest {
            [] => (out, held),
            _ => {
                let (last, more) = unpack(&out, rest, limit - held)?;
                (last, held + more)
            }
        };
        if found.1 >= most.1 {
            most = found;
        }
    }
    Ok(most)
}

/// All that a filter may make of some bytes: LZW has two ways, of which the file's settings choose one.
fn undone(filter: Filter, data: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, UnpackedTooMuch> {
    Ok(match filter {
        Filter::FlateDecode => vec![flate(data, limit)?],
        Filter::LzwDecode => vec![lzw(data, 0, limit)?, lzw(data, 1, limit)?],
        Filter::RunLengthDecode => vec![run_length(data, limit)?],
        Filter::Ascii85Decode => vec![ascii_85(data, limit)?],
        Filter::AsciiHexDecode => vec![ascii_hex(data, limit)?],
        // Pictures are not unpacked, and decryption makes nothing longer.
        _ => Vec::new(),
    })
}

/// Zlib, else deflate without its head, else as much as a lenient reader makes of it.
fn flate(data: &[u8], limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    if let Some(out) = strictly(ZlibDecoder::new(data), limit)? {
        return Ok(out);
    }
    match strictly(DeflateDecoder::new(data), limit)? {
        Some(out) => Ok(out),
        None => inflate(data, limit),
    }
}

/// All that a reader gives, or nothing where it fails.
fn strictly(from: impl Read, limit: usize) -> Result<Option<Vec<u8>>, UnpackedTooMuch> {
    let mut out = Vec::new();
    let read = from.take(limit as u64 + 1).read_to_end(&mut out);
    if out.len() > limit {
        return Err(UnpackedTooMuch);
    }
    Ok(read.ok().map(|_| out))
}

/// `early` is 1 where codes grow by a bit one code early.
fn lzw(data: &[u8], early: usize, limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    // Entries of the table as pieces of what has been written: where one begins, and its length.
    let (mut table, mut out) = (Vec::<(usize, usize)>::new(), Vec::<u8>::new());
    let (mut held, mut count, mut last) = (0u32, 0u32, None::<(usize, usize)>);
    let mut bytes = data.iter();
    loop {
        let width = match table.len() + 258 + early {
            2048.. => 12,
            1024.. => 11,
            512.. => 10,
            _ => 9,
        };
        while count < width {
            let Some(byte) = bytes.next() else { return Ok(out) };
            (held, count) = (held << 8 | u32::from(*byte), count + 8);
        }
        count -= width;
        let code = (held >> count & ((1 << width) - 1)) as usize;
        held &= (1 << count) - 1;
        let start = out.len();
        match code {
            256 => {
                table.clear();
                last = None;
                continue;
            }
            257 => return Ok(out),
            ..256 if limit > start => out.push(code as u8),
            ..256 => return Err(UnpackedTooMuch),
            _ => {
                let (from, length) = match (table.get(code - 258), last) {
                    (Some(entry), _) => *entry,
                    (None, Some((from, length))) if code - 258 == table.len() && code < LZW_CODES => (from, length + 1),
                    _ => return Ok(out),
                };
                if limit - start < length {
                    return Err(UnpackedTooMuch);
                }
                (0..length).for_each(|i| out.push(out[from + i]));
            }
        }
        // The last piece and the first byte of this one, which follows it.
        if let Some((from, length)) = last
            && table.len() + 258 < LZW_CODES
        {
            table.push((from, length + 1));
        }
        last = Some((start, out.len() - start));
    }
}

fn run_length(data: &[u8], limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    let (mut out, mut rest) = (Vec::new(), data);
    while let [length, tail @ ..] = rest
        && *length != 128
    {
        let (piece, times) = match usize::from(*length) {
            short @ ..128 => (short + 1, 1),
            long => (1, 257 - long),
        };
        if tail.len() < piece {
            break;
        }
        if limit - out.len() < piece * times {
            return Err(UnpackedTooMuch);
        }
        (0..times).for_each(|_| out.extend_from_slice(&tail[..piece]));
        rest = &tail[piece..];
    }
    Ok(out)
}

fn ascii_85(data: &[u8], limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    // Four bytes of five digits, and one less than the digits of a group that breaks off.
    let flush = |group: &mut Vec<u32>, out: &mut Vec<u8>| {
        let digits = (0..5).map(|i| group.get(i).copied().unwrap_or(84));
        let value = digits.fold(0u32, |value, digit| value.wrapping_mul(85).wrapping_add(digit));
        out.extend_from_slice(&value.to_be_bytes()[..group.len().saturating_sub(1)]);
        group.clear();
    };
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    for byte in data.iter().filter(|byte| !is_blank(**byte)) {
        match byte {
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            b'z' => {
                flush(&mut group, &mut out);
                out.extend([0; 4]);
            }
            _ => break,
        }
        if group.len() == 5 {
            flush(&mut group, &mut out);
        }
        if out.len() > limit {
            return Err(UnpackedTooMuch);
        }
    }
    flush(&mut group, &mut out);
    if out.len() > limit { Err(UnpackedTooMuch) } else { Ok(out) }
}

fn ascii_hex(data: &[u8], limit: usize) -> Result<Vec<u8>, UnpackedTooMuch> {
    let digits = data.iter().filter(|byte| !is_blank(**byte)).map_while(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut high) = (Vec::new(), None);
    for digit in digits.map(|digit| digit as u8) {
        match high.take() {
            Some(high) => out.push(high << 4 | digit),
            None => high = Some(digit),
        }
        if out.len() > limit {
            return Err(UnpackedTooMuch);
        }
    }
    out.extend(high.map(|high| high << 4));
    if out.len() > limit { Err(UnpackedTooMuch) } else { Ok(out) }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};
    use hayro_interpret::hayro_syntax::object::{FromBytes, Stream};

    use super::*;

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    fn deflate(data: &[u8]) -> Vec<u8> {
        let mut out = DeflateEncoder::new(Vec::new(), Compression::best());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    /// Pieces that grow by a byte each, and the table begun anew when it is full.
    fn lzw_of(byte: u8, tables: usize) -> Vec<u8> {
        let (mut bits, mut out) = (Vec::new(), Vec::new());
        let mut put = |code: usize, width: u32| bits.extend((0..width).rev().map(|i| code >> i & 1 == 1));
        for table in 0..tables {
            put(256, if table == 0 { 9 } else { 12 });
            put(usize::from(byte), 9);
            for code in 258..LZW_CODES - 1 {
                let width = [512, 1024, 2048].iter().filter(|limit| code >= **limit - 1).count() as u32 + 9;
                put(code, width);
            }
        }
        bits.chunks(8).for_each(|c| {
            out.push(c.iter().enumerate().fold(0u8, |byte, (i, bit)| byte | u8::from(*bit) << (7 - i)));
        });
        out
    }

    /// The bytes to which the interpreter unpacks a stream.
    fn theirs(filters: &str, data: &[u8]) -> Vec<u8> {
        let head = format!("<</Filter[{filters}]/Length {}>>stream\n", data.len());
        let bytes = [head.as_bytes(), data, b"\nendstream"].concat();
        Stream::from_bytes(&bytes).unwrap().decoded_data().unwrap().into_owned()
    }

    #[test]
    fn streams_unpack_as_they_do_in_the_interpreter() {
        use Filter::{Ascii85Decode, AsciiHexDecode, FlateDecode, LzwDecode, RunLengthDecode};
        let text = "涨停".repeat(500).into_bytes();
        let broken = {
            let mut z = zlib(&text);
            z.truncate(z.len() - 3);
            z
        };
        let lzw = [0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01].to_vec();
        let run = [4, 10, 11, 12, 13, 14, 253, 3, 128].to_vec();
        for (names, filters, data) in [
            ("/FlateDecode", vec![FlateDecode], zlib(&text)),
            ("/Fl", vec![FlateDecode], deflate(&text)),
            ("/FlateDecode", vec![FlateDecode], broken),
            ("/FlateDecode/FlateDecode", vec![FlateDecode; 2], zlib(&deflate(&text))),
            ("/LZWDecode", vec![LzwDecode], lzw),
            ("/LZW", vec![LzwDecode], lzw_of(b'x', 2)),
            ("/RL", vec![RunLengthDecode], run),
            ("/A85", vec![Ascii85Decode], b"9jqo^Blbz D-~>".to_vec()),
            ("/AHx/Fl", vec![AsciiHexDecode, FlateDecode], {
                zlib(&text).iter().map(|b| format!("{b:02x} ")).collect::<String>().into_bytes()
            }),
        ] {
            let (ours, held) = unpack(&data, &filters, 1 << 24).unwrap();
            let theirs = theirs(names, &data);
            assert!(ours == theirs, "{names}: {} and {}", ours.len(), theirs.len());
            assert!(held >= ours.len());
            assert!(unpack(&data, &filters, held.saturating_sub(1)).is_err() || held == 0, "{names}");
        }
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let zeros = vec![0; 64 << 20];
        let bombs = [
            (zlib(&zeros), vec![Filter::FlateDecode]),
            (deflate(&zeros), vec![Filter::FlateDecode]),
            (zlib(&zlib(&zeros)), vec![Filter::FlateDecode; 2]),
            ([129, 0].repeat(1 << 19), vec![Filter::RunLengthDecode]),
            (lzw_of(0, 8), vec![Filter::LzwDecode]),
        ];
        for (bomb, filters) in bombs {
            assert!(bomb.len() < 2 << 20);
            assert!(unpack(&bomb, &filters, 16 << 20).is_err(), "{filters:?}");
        }
    }
}
