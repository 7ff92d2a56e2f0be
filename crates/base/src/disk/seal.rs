//! Seals of Parquet files: 64 bytes between pages and footer, by which damage is seen before anything is served.
//!
//! Parquet has no checksum that polars would write. Its readers find the footer by the length in the file's last eight bytes, and the
//! pages by their offsets from its beginning: what stands between the two is seen by none of them. There lie, in little endian,
//!
//! | bytes | |
//! |---|---|
//! | 8 | `INKSEAL` and a zero |
//! | 4 | format ([`FORMAT`]) |
//! | 4 | length of the footer, with the eight bytes that end the file |
//! | 8 | length of the pages |
//! | 16 | BLAKE3 of the footer, so that rows can be counted without reading the pages |
//! | 16 | BLAKE3 of all of the file but the seal |
//! | 8 | BLAKE3 of the 56 bytes before |
//!
//! Magic, format and the last eight bytes keep their places in every format to come.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result};

use super::FORMAT;
use super::flaw::{Flaw, check_format};
use crate::data::Key;
use crate::ensure;
use crate::language::Word;

pub(super) const LENGTH: usize = 64;
const MAGIC: &[u8; 8] = b"INKSEAL\0";
/// The bytes by which a Parquet file begins and ends.
const PARQUET: &[u8; 4] = b"PAR1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    format: u32,
    footer_length: u32,
    pages_length: u64,
    footer: Key,
    /// BLAKE3 of all of the file but the seal.
    pub(super) content: Key,
}

impl Seal {
    fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0u8; LENGTH];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&self.format.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.footer_length.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.pages_length.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.footer.0);
        bytes[40..56].copy_from_slice(&self.content.0);
        let own = Key::of(&bytes[..56]);
        bytes[56..].copy_from_slice(&own.0[..8]);
        bytes
    }

    fn from_bytes(bytes: &[u8; LENGTH]) -> Result<Seal, Flaw> {
        if &bytes[..8] != MAGIC {
            return Err(Flaw::Unsealed);
        }
        if Key::of(&bytes[..56]).0[..8] != bytes[56..] {
            return Err(Flaw::Altered);
        }
        let key = |at: usize| Key(std::array::from_fn(|i| bytes[at + i]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let seal = Seal {
            format: short(8),
            footer_length: short(12),
            pages_length: u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i])),
            footer: key(24),
            content: key(40),
        };
        check_format(seal.format).map(|()| seal)
    }
}

/// Hashes all that is written through it.
struct Hashing<'a> {
    out: &'a mut BufWriter<File>,
    hasher: blake3::Hasher,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Seals the Parquet file that `write` writes, which is all that `out` holds.
pub(super) fn seal(out: &mut BufWriter<File>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut hashing = Hashing { out, hasher: blake3::Hasher::new() };
    write(&mut hashing)?;
    hashing.flush()?;
    let content = Key::cut(hashing.hasher.finalize());
    put(out.get_mut(), content, FORMAT)
}

/// Moves the footer and puts a seal before it.
fn put(file: &mut File, content: Key, format: u32) -> Result<()> {
    let mut end = [0u8; 8];
    let length = file.seek(SeekFrom::End(-8))? + 8;
    file.read_exact(&mut end)?;
    ensure!(end[4..] == *PARQUET, "写出的不是 Parquet 文件", "what was written is no Parquet file");
    let footer_length = u32::from_le_bytes(std::array::from_fn(|i| end[i]))
        .checked_add(8)
        .context(Word("文件尾达 4 GiB", "a footer of 4 GiB"))?;
    let pages_length = length
        .checked_sub(footer_length.into())
        .context(Word("文件尾比文件还长", "a footer that is longer than its file"))?;
    let mut footer = vec![0u8; footer_length as usize];
    file.seek(SeekFrom::Start(pages_length))?;
    file.read_exact(&mut footer)?;
    file.seek(SeekFrom::Start(pages_length))?;
    let seal = Seal { format, footer_length, pages_length, footer: Key::of(&footer), content };
    file.write_all(&seal.to_bytes())?;
    file.write_all(&footer)?;
    Ok(())
}

/// The seal of a file; the footer is as it was written, and so is the length. Of the pages nothing is read.
pub(super) fn find(file: &[u8]) -> Result<Seal, Flaw> {
    let Some((rest, end)) = file.split_last_chunk::<8>() else { return Err(Flaw::CutShort) };
    if end[4..] != *PARQUET {
        // Pages that were lost with the power read as zeros.
        return Err(if end[4..] == [0; 4] { Flaw::Altered } else { Flaw::CutShort });
    }
    let thrift = u32::from_le_bytes(std::array::from_fn(|i| end[i])) as usize;
    let Some(before) = rest.len().checked_sub(thrift).map(|at| &rest[..at]) else { return Err(Flaw::Altered) };
    let Some((pages, bytes)) = before.split_last_chunk::<LENGTH>() else { return Err(Flaw::Unsealed) };
    let seal = Seal::from_bytes(bytes)?;
    let footer = &file[before.len()..];
    let as_written = seal.pages_length == pages.len() as u64
        && seal.footer_length as usize == footer.len()
        && seal.footer == Key::of(footer);
    if as_written { Ok(seal) } else { Err(Flaw::Altered) }
}

/// The seal of a file, all of whose bytes are as they were written.
pub(super) fn check(file: &[u8]) -> Result<Seal, Flaw> {
    let seal = find(file)?;
    let pages = seal.pages_length as usize;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&file[..pages]).update(&file[pages + LENGTH..]);
    if Key::cut(hasher.finalize()) == seal.content { Ok(seal) } else { Err(Flaw::Altered) }
}
