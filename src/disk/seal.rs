//! Seals: what a Parquet file of ours carries between its pages and its footer, so that damage is seen before anything is served.
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

use anyhow::{Context, Result, ensure};

use super::flaw::Flaw;
use crate::data::Key;
use crate::project::FORMAT;

/// Bytes of a seal.
pub(super) const LENGTH: usize = 64;
const MAGIC: &[u8; 8] = b"INKSEAL\0";
/// The bytes by which a Parquet file begins and ends.
const PARQUET: &[u8; 4] = b"PAR1";

/// What a seal says of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    format: u32,
    footer_length: u32,
    pages_length: u64,
    footer: Key,
    /// All of the file but the seal.
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
        if seal.format > FORMAT { Err(Flaw::Newer(seal.format)) } else { Ok(seal) }
    }
}

/// Takes the digest of all that passes through.
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

/// Lets `write` write a Parquet file, which is all that `out` holds, and seals it.
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
    ensure!(end[4..] == *PARQUET, "what was written is no Parquet file");
    let footer_length =
        u32::from_le_bytes(std::array::from_fn(|i| end[i])).checked_add(8).context("a footer of 4 GiB")?;
    let pages_length = length.checked_sub(footer_length.into()).context("a footer that is longer than its file")?;
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use polars::prelude::{DataFrame, IntoColumn, NamedFrom, ParquetReader, SerReader, Series};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::disk::{self, Damage};

    fn frame(rows: usize, draw: &mut ChaCha8Rng) -> DataFrame {
        let texts: Vec<Option<String>> = (0..rows)
            .map(|i| {
                (i % 7 != 3).then(|| (0..draw.random_range(0..40)).map(|_| draw.random_range('一'..'龥')).collect())
            })
            .collect();
        let numbers: Vec<f64> = (0..rows).map(|_| draw.random()).collect();
        disk::frame(vec![
            Series::new("正文".into(), texts).into_column(),
            Series::new("value".into(), numbers).into_column(),
        ])
        .unwrap()
    }

    fn plain(path: &Path) -> DataFrame {
        ParquetReader::new(File::open(path).unwrap()).finish().unwrap()
    }

    #[test]
    fn others_read_a_sealed_table_as_if_it_had_no_seal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        // The last has several row groups.
        for rows in [0, 1, 2, 100, 4096, 150_000] {
            let mut frame = frame(rows, &mut draw);
            disk::write_parquet(&path, &mut frame).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(plain(&path).equals_missing(&frame), "{rows}");
            assert!(disk::read_parquet(&path, None).unwrap().equals_missing(&frame), "{rows}");
            assert_eq!(disk::rows_of_parquet(&path).unwrap(), rows);
            assert_eq!(disk::check(&path).unwrap(), disk::key_of(&path).unwrap());
            disk::write_parquet(&path, &mut frame).unwrap();
            assert!(fs::read(&path).unwrap() == bytes, "the same frame makes the same bytes");
        }
    }

    #[test]
    fn a_table_that_is_cut_short_zeroed_or_altered_is_never_served() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        let mut draw = ChaCha8Rng::seed_from_u64(2);
        disk::write_parquet(&path, &mut frame(4096, &mut draw)).unwrap();
        let whole = fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| check(bytes).expect_err("damage is seen");
        for i in 0..200 {
            let length = if i < 100 { i } else { whole.len() * (i - 100) / 100 };
            assert!(matches!(refused(&whole[..length]), Flaw::CutShort | Flaw::Altered), "{length}");
            assert!(matches!(refused(&whole[..whole.len() - 1 - i]), Flaw::CutShort | Flaw::Altered), "{i} less");
        }
        for page in (0..whole.len()).step_by(4096) {
            let mut zeroed = whole.clone();
            zeroed[page..(page + 4096).min(whole.len())].fill(0);
            assert!(matches!(refused(&zeroed), Flaw::Altered | Flaw::Unsealed), "page at {page}");
        }
        let seal_at = whole.windows(8).position(|bytes| bytes == MAGIC).unwrap();
        let anywhere: Vec<usize> = (0..2000).map(|_| draw.random_range(0..whole.len())).collect();
        for at in anywhere.into_iter().chain(seal_at..whole.len()) {
            let mut altered = whole.clone();
            altered[at] ^= 1 << draw.random_range(0..8);
            assert!(matches!(refused(&altered), Flaw::Altered | Flaw::Unsealed | Flaw::CutShort), "byte {at}");
        }
        // And by way of the file, which is named with the way out.
        let mut altered = whole.clone();
        altered[seal_at / 2] ^= 1;
        fs::write(&path, &altered).unwrap();
        for error in [disk::read_parquet(&path, None).err(), disk::read_foreign_parquet(&path, None).err()] {
            let error = error.expect("damage is seen");
            assert_eq!(error.downcast_ref(), Some(&Damage::new(&path, Flaw::Altered)));
            assert!(error.to_string().contains("inkstone run makes it again"), "{error}");
        }
        assert_eq!(disk::rows_of_parquet(&path).unwrap(), 4096, "the footer is whole");
        fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert!(disk::rows_of_parquet(&path).is_err());
        fs::remove_file(&path).unwrap();
        assert_eq!(disk::damage_of(&path, None).unwrap(), Some(Damage::new(&path, Flaw::Missing)));
    }

    #[test]
    fn tables_of_other_formats_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        let mut table = frame(10, &mut ChaCha8Rng::seed_from_u64(3));
        let mut bytes = Vec::new();
        disk::parquet_writer(&mut bytes).finish(&mut table).unwrap();
        fs::write(&path, &bytes).unwrap();
        let error = disk::read_parquet(&path, None).unwrap_err().to_string();
        assert!(error.contains("has no seal: an older version wrote it"), "{error}");
        assert!(disk::read_foreign_parquet(&path, None).unwrap().equals_missing(&table));

        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        put(&mut file, Key::of(&bytes), FORMAT + 1).unwrap();
        let error = disk::read_parquet(&path, None).unwrap_err().to_string();
        assert!(
            error.contains(&format!("newer version (format {}; this one reads up to {FORMAT})", FORMAT + 1)),
            "{error}"
        );
        assert!(disk::read_foreign_parquet(&path, None).unwrap().equals_missing(&table));
    }

    #[test]
    fn a_whole_file_in_the_place_of_another_is_noticed_by_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let mut draw = ChaCha8Rng::seed_from_u64(4);
        let paths = ["a.parquet", "b.parquet"].map(|name| dir.path().join(name));
        for path in &paths {
            disk::write_parquet(path, &mut frame(5, &mut draw)).unwrap();
        }
        let key = disk::key_of(&paths[0]).unwrap();
        assert_eq!(disk::damage_of(&paths[0], Some(key)).unwrap(), None);
        let exchanged = disk::damage_of(&paths[1], Some(key)).unwrap();
        assert_eq!(exchanged, Some(Damage::new(&paths[1], Flaw::Exchanged)));
    }
}
