//! What a Parquet file of others claims of itself, looked over before a reader believes it and asks for the memory.
//!
//! Its footer and the headers of its pages are structures of Thrift's compact protocol. They are walked through and not kept: a
//! list, a text or a page of more bytes than there are left, a page that unpacks to more than any writer makes, and a negative
//! number where there is none end the file. The numbers of the fields are those of the format's parquet.thrift.

use anyhow::{Context, Result, bail, ensure};

/// Bytes that a page of a Parquet file may unpack to. Writers end pages at about a megabyte, and after the text that goes beyond.
pub const PAGE: i64 = 1 << 30;
/// Structures inside one another.
const DEPTH: usize = 16;
const MAGIC: &[u8; 4] = b"PAR1";

/// Fails where a Parquet file, all of its bytes, cannot be what it claims.
pub(super) fn check(file: &[u8]) -> Result<()> {
    let (file, end) = file.split_last_chunk::<8>().context("it is too short")?;
    ensure!(end.ends_with(MAGIC), "it does not end as Parquet does");
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
    let (pages, footer) = file.split_at(file.len().checked_sub(length).context("its footer is longer than the file")?);
    for chunk in chunks(footer).context("its footer is damaged")? {
        chunk.check(pages).with_context(|| format!("its column of values at byte {} is damaged", chunk.start()))?;
    }
    Ok(())
}

/// The values of a column in a group of rows.
#[derive(Default)]
struct Chunk {
    values: i64,
    length: i64,
    data: i64,
    dictionary: Option<i64>,
}

/// All chunks that a footer tells of.
fn chunks(footer: &[u8]) -> Result<Vec<Chunk>> {
    let mut chunks = Vec::new();
    let mut walk = Walk { bytes: footer, at: 0 };
    let mut chunk = Chunk::default();
    walk.structure(&mut Vec::new(), &mut |path, told| {
        // Groups of rows, their columns, the metadata of these, whose fields may come in any order.
        match (path, told) {
            ([4, 1, 3, 5], Told::Number(number)) => chunk.values = number,
            ([4, 1, 3, 7], Told::Number(number)) => chunk.length = number,
            ([4, 1, 3, 9], Told::Number(number)) => chunk.data = number,
            ([4, 1, 3, 11], Told::Number(number)) => chunk.dictionary = Some(number),
            ([4, 1, 3], Told::End) => chunks.push(std::mem::take(&mut chunk)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(chunks)
}

impl Chunk {
    fn start(&self) -> i64 {
        self.dictionary.unwrap_or(self.data)
    }

    /// Walks over the headers of its pages.
    fn check(&self, file: &[u8]) -> Result<()> {
        let range = usize::try_from(self.start())?..usize::try_from(self.start().saturating_add(self.length))?;
        let mut walk = Walk { bytes: file.get(range).context("it lies behind the end of the file")?, at: 0 };
        let mut left = self.values;
        // Some writers leave room behind the last page.
        while left > 0 && walk.at < walk.bytes.len() {
            let (mut packed, mut unpacked, mut values, mut entries) = (0, 0, 0, 0);
            walk.structure(&mut Vec::new(), &mut |path, told| {
                let Told::Number(number) = told else { return Ok(()) };
                let claim = match path {
                    [2] => &mut unpacked,
                    [3] => &mut packed,
                    [5 | 8, 1] => &mut values,
                    [7, 1] => &mut entries,
                    // Kinds, checksums, statistics.
                    _ => return Ok(()),
                };
                *claim = number;
                ensure!(number >= 0, "a page claims a negative number, {number}");
                Ok(())
            })?;
            ensure!(unpacked <= PAGE, "a page claims to unpack to {unpacked} bytes; {PAGE} are the most");
            ensure!(entries <= unpacked, "a dictionary claims {entries} values in {unpacked} bytes");
            ensure!(values <= left, "a page claims {values} values where {left} are left");
            walk.skip(packed as u64)?;
            left -= values;
        }
        Ok(())
    }
}

/// What is told on the way through a structure.
enum Told {
    /// A whole number.
    Number(i64),
    /// The end of a structure.
    End,
}

/// A place in bytes of Thrift's compact protocol.
struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).context("it ends too early")?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let left = self.bytes.len() - self.at;
        ensure!(bytes <= left as u64, "{bytes} bytes are claimed where {left} are left");
        self.at += bytes as usize;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        bail!("a number does not end")
    }

    fn integer(&mut self) -> Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Walks to the end of a structure; `told` gets each whole number in it, and each end of a structure, with the numbers of the
    /// fields that lead there.
    fn structure(&mut self, path: &mut Vec<i16>, told: &mut impl FnMut(&[i16], Told) -> Result<()>) -> Result<()> {
        ensure!(path.len() < DEPTH, "structures are nested more than {DEPTH} deep");
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return told(path, Told::End);
            }
            field = match i16::from(head >> 4) {
                0 => i16::try_from(self.integer()?)?,
                more => field.checked_add(more).context("a field has no number")?,
            };
            path.push(field);
            match head & 0xf {
                // Truth is in the head.
                1 | 2 => {}
                kind => self.value(kind, path, told)?,
            }
            path.pop();
        }
    }

    fn value(
        &mut self,
        kind: u8,
        path: &mut Vec<i16>,
        told: &mut impl FnMut(&[i16], Told) -> Result<()>,
    ) -> Result<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let number = self.integer()?;
                told(path, Told::Number(number))
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let left = self.bytes.len() - self.at;
                ensure!(size <= left as u64, "a list claims {size} entries where {left} bytes are left");
                (0..size).try_for_each(|_| match head & 0xf {
                    9 | 10 => bail!("a list of lists, which Parquet has not"),
                    kind => self.value(kind, path, told),
                })
            }
            12 => self.structure(path, told),
            _ => bail!("a field is of type {kind}, which Parquet has not"),
        }
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::disk;

    fn file() -> Vec<u8> {
        let texts: Vec<Option<String>> = (0..3000).map(|i| (i % 7 > 0).then(|| format!("涨{}", i % 50))).collect();
        let numbers: Vec<i64> = (0..3000).map(|i| i * i).collect();
        let columns =
            vec![Series::new("text".into(), texts).into_column(), Series::new("number".into(), numbers).into_column()];
        let mut frame: DataFrame = disk::frame(columns).unwrap();
        let mut bytes = Vec::new();
        disk::parquet_writer(&mut bytes).with_row_group_size(Some(1000)).finish(&mut frame).unwrap();
        bytes
    }

    #[test]
    fn what_writers_write_is_what_it_claims() {
        let bytes = file();
        check(&bytes).unwrap();
        let footer = &bytes[..bytes.len() - 8];
        let length = u32::from_le_bytes(bytes[footer.len()..][..4].try_into().unwrap()) as usize;
        let chunks = chunks(&footer[footer.len() - length..]).unwrap();
        assert_eq!(chunks.iter().map(|chunk| chunk.values).collect::<Vec<_>>(), [1000; 6]);
    }

    #[test]
    fn a_file_that_is_cut_short_or_longer_than_it_says_is_refused() {
        let bytes = file();
        for length in (0..bytes.len()).step_by(11) {
            assert!(check(&bytes[..length]).is_err(), "{length}");
        }
        let said = |bytes: &[u8]| format!("{:#}", check(bytes).unwrap_err());
        assert!(said(b"PAR1\xff\xff\xff\xffPAR1").contains("longer than the file"));
        // A list of a thousand million structures.
        let footer = [0x29, 0xfc, 0x80, 0x94, 0xeb, 0xdc, 0x03, 0x00];
        let claimed = [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), MAGIC].concat();
        assert!(
            said(&claimed).contains("a list claims 1000000000 entries where 1 bytes are left"),
            "{}",
            said(&claimed)
        );
    }

    #[test]
    fn fields_are_found_in_any_order() {
        // Groups of rows [{ columns [{ metadata { length 7, values 5 } }, the same with values first] }]
        let (backwards, forwards) = ([0x05, 14, 18, 0x05, 10, 10, 0], [0x55, 10, 0x25, 18, 0, 0, 0]);
        let columns = [&[0x3c], &backwards[..], &[0, 0x3c], &forwards[..5], &[0]].concat();
        let footer = [&[0x49, 0x1c, 0x19, 0x2c], &columns[..], &[0, 0]].concat();
        let found: Vec<(i64, i64)> =
            chunks(&footer).unwrap().iter().map(|chunk| (chunk.values, chunk.length)).collect();
        assert_eq!(found, [(5, 9), (5, 9)]);
    }

    #[test]
    fn pages_do_not_claim_what_they_cannot_have() {
        // type, unpacked, packed, data page { values }.
        let page = |unpacked: i64, values: i64| {
            let zigzag = |n: i64| {
                let (mut n, mut bytes) = (((n << 1) ^ (n >> 63)) as u64, Vec::new());
                while n >= 0x80 {
                    bytes.push(n as u8 | 0x80);
                    n >>= 7;
                }
                bytes.push(n as u8);
                bytes
            };
            [&[0x15, 0][..], &[0x15], &zigzag(unpacked), &[0x15, 2, 0x2c, 0x15], &zigzag(values), &[0, 0, b'x']]
                .concat()
        };
        let checked = |page: Vec<u8>| {
            Chunk { values: 9, length: page.len() as i64, ..Chunk::default() }.check(&page).map_err(|e| e.to_string())
        };
        assert_eq!(checked(page(1, 9)), Ok(()));
        assert!(checked(page(1, 10)).unwrap_err().contains("10 values where 9 are left"));
        assert!(checked(page(1, -1)).unwrap_err().contains("negative"));
        assert!(checked(page(2 << 30, 9)).unwrap_err().contains("unpack to 2147483648 bytes"));
        let behind = Chunk { values: 1, length: 5, data: 1, dictionary: None };
        assert!(behind.check(b"12345").is_err());
    }
}
