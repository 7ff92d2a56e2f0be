//! The sizes that a Parquet file claims, checked before a reader takes the memory for them.
//!
//! Its footer and the headers of its pages are structures of Thrift's compact protocol. They are walked through: a list, a text
//! or a page of more bytes than there are left, more structures than a footer of its length has, a negative number where there is
//! none, and a field of another type than the format's end the file: readers take each field for the format's type. What pages unpack to is kept, so that rows can be read as many at a time as the memory holds.
//! The numbers of the fields are those of the format's parquet.thrift.

use std::ops::Range;

use anyhow::{Context, Result};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Structures inside one another.
const DEPTH: usize = 16;
/// Structures of a footer however short it is, and bytes that each further one takes at the least, on average.
const STRUCTURES: usize = 20_000;
const STRUCTURE: usize = 8;
/// Bytes of a value in memory, at the least: a view of a text, a number.
const VALUE: u64 = 16;
/// The encoding in which a text begins as the one before it: its page may be a small part of the texts in it.
const DELTA_TEXTS: i64 = 7;
const MAGIC: &[u8; 4] = b"PAR1";

/// Types of the fields of a structure in the order of their numbers: `i` a whole number, `b` true or false, `t` bytes or text,
/// `s` a structure; `n` a list of whole numbers, `w` of texts, `l` of structures.
type FieldTypes = &'static str;

const STATISTICS: FieldTypes = "ttiittbb";

/// Types of the fields of a structure in a footer, by the fields that lead there.
fn footer_types(path: &[i16]) -> FieldTypes {
    match path {
        [] => "ililltlst",
        [2] => "iiitiiiiis",
        [4] => "liiliii",
        [4, 1] => "tisiiiist",
        [4, 1, 3] => "inwiiiiliiisliiss",
        [4, 1, 3, 8] | [5] => "tt",
        [4, 1, 3, 12] => STATISTICS,
        [4, 1, 3, 13] => "iii",
        [4, 4] => "ibb",
        _ => "",
    }
}

/// Types of the fields of a structure in the header of a page.
fn page_types(path: &[i16]) -> FieldTypes {
    match path {
        [] => "iiiissss",
        [5] => "iiiis",
        [7] => "iib",
        [8] => "iiiiiibs",
        [5, 5] | [8, 8] => STATISTICS,
        _ => "",
    }
}

/// The claims of a Parquet file: its groups of rows.
#[derive(Debug, Default)]
pub struct Claims {
    groups: Vec<RowGroup>,
    /// Bytes of a value of fixed length at the most.
    width: u64,
}

#[derive(Debug, Default)]
struct RowGroup {
    rows: u64,
    chunks: Vec<Chunk>,
}

/// The values of a column in a group of rows.
#[derive(Debug, Default)]
struct Chunk {
    /// Name of its column, the outermost one where columns are nested.
    column: Vec<u8>,
    values: i64,
    length: i64,
    data: i64,
    dictionary: Option<i64>,
    /// Bytes that its dictionary unpacks to.
    entries: u64,
    pages: Vec<ParquetPage>,
}

/// A page of values.
#[derive(Clone, Copy, Debug)]
struct ParquetPage {
    values: u64,
    /// Bytes that it unpacks to.
    bytes: u64,
    /// True if each text may be as long as the page.
    delta: bool,
}

impl Claims {
    /// Reads the claims of a Parquet file; fails where they are impossible.
    pub(super) fn read(file: &[u8]) -> Result<Claims> {
        let (file, end) = file.split_last_chunk::<8>().context(Word("它太短", "it is too short"))?;
        ensure!(end.ends_with(MAGIC), "它的结尾不是 Parquet 的样子", "it does not end as Parquet does");
        let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
        let start = file
            .len()
            .checked_sub(length)
            .context(Word("它的文件尾比文件还长", "its footer is longer than the file"))?;
        let (pages, footer) = file.split_at(start);
        let mut claims = claims(footer).context(Word("它的文件尾已损坏", "its footer is damaged"))?;
        for chunk in claims.groups.iter_mut().flat_map(|group| &mut group.chunks) {
            let start = chunk.start();
            chunk.find_pages(pages).with_context(|| {
                message!("它在第 {start} 字节的值列已损坏", "its column of values at byte {start} is damaged")
            })?;
        }
        Ok(claims)
    }

    /// Bytes in memory while some rows are read of the columns for which `used` holds.
    pub fn bytes_of(&self, rows: Range<usize>, used: impl Fn(&str) -> bool) -> u64 {
        let (wanted, mut first, mut sum) = (rows.start as u64..rows.end as u64, 0, 0u64);
        for group in &self.groups {
            let within = wanted.start.clamp(first, first + group.rows) - first
                ..wanted.end.clamp(first, first + group.rows) - first;
            first += group.rows;
            if within.is_empty() {
                continue;
            }
            let chunks = group.chunks.iter().filter(|chunk| used(&String::from_utf8_lossy(&chunk.column)));
            sum = chunks.map(|chunk| chunk.bytes_of(&within, group.rows, self.width)).fold(sum, u64::saturating_add);
        }
        sum
    }
}

/// The claims of a footer, without the pages.
fn claims(footer: &[u8]) -> Result<Claims> {
    let (mut claims, mut group, mut chunk) = (Claims::default(), RowGroup::default(), Chunk::default());
    let mut structures = 0;
    let mut walk = Walk { bytes: footer, at: 0, types: footer_types };
    walk.structure(&mut Vec::new(), &mut |path, event| {
        // Groups of rows, their columns, the metadata of these, whose fields may come in any order.
        match (path, &event) {
            ([2, 2], ThriftEvent::Number(number)) => claims.width = claims.width.max(u64::try_from(*number)?),
            ([4, 3], ThriftEvent::Number(number)) => group.rows = u64::try_from(*number)?,
            ([4, 1, 3, 3], ThriftEvent::Text(name)) if chunk.column.is_empty() => chunk.column = name.to_vec(),
            ([4, 1, 3, 5], ThriftEvent::Number(number)) => chunk.values = *number,
            ([4, 1, 3, 7], ThriftEvent::Number(number)) => chunk.length = *number,
            ([4, 1, 3, 9], ThriftEvent::Number(number)) => chunk.data = *number,
            ([4, 1, 3, 11], ThriftEvent::Number(number)) => chunk.dictionary = Some(*number),
            ([4, 1, 3], ThriftEvent::End) => group.chunks.push(std::mem::take(&mut chunk)),
            ([4], ThriftEvent::End) => claims.groups.push(std::mem::take(&mut group)),
            _ => {}
        }
        structures += usize::from(matches!(event, ThriftEvent::End));
        ensure!(
            structures <= STRUCTURES + footer.len() / STRUCTURE,
            "结构超过 {structures} 个",
            "more than {structures} structures"
        );
        Ok(())
    })?;
    Ok(claims)
}

impl Chunk {
    fn start(&self) -> i64 {
        self.dictionary.unwrap_or(self.data)
    }

    /// Walks over the headers of its pages.
    fn find_pages(&mut self, file: &[u8]) -> Result<()> {
        let range = usize::try_from(self.start())?..usize::try_from(self.start().saturating_add(self.length))?;
        let bytes = file.get(range).context(Word("它位于文件末尾之后", "it lies behind the end of the file"))?;
        let mut walk = Walk { bytes, at: 0, types: page_types };
        let mut left = self.values;
        // Some writers leave room behind the last page.
        while left > 0 && walk.at < walk.bytes.len() {
            let (mut packed, mut unpacked, mut values, mut entries, mut encoding) = (0, 0, 0, 0, 0);
            walk.structure(&mut Vec::new(), &mut |path, event| {
                let ThriftEvent::Number(number) = event else { return Ok(()) };
                let claim = match path {
                    [2] => &mut unpacked,
                    [3] => &mut packed,
                    [5 | 8, 1] => &mut values,
                    [5, 2] | [8, 4] => &mut encoding,
                    [7, 1] => &mut entries,
                    // Kinds, checksums, statistics.
                    _ => return Ok(()),
                };
                *claim = number;
                // Numbers of a page have 32 bits: readers take greater ones for negative ones.
                ensure!(
                    i32::try_from(number).is_ok_and(|number| number >= 0),
                    "有一页声称数字 {number}",
                    "a page claims the number {number}"
                );
                Ok(())
            })?;
            ensure!(
                entries <= unpacked,
                "有字典声称 {unpacked} 字节中有 {entries} 个值",
                "a dictionary claims {entries} values in {unpacked} bytes"
            );
            ensure!(
                values <= left,
                "有一页声称 {values} 个值，而只剩 {left} 个",
                "a page claims {values} values where {left} are left"
            );
            walk.skip(packed as u64)?;
            left -= values;
            match values {
                0 => self.entries = self.entries.saturating_add(unpacked as u64 + VALUE * entries as u64),
                _ => {
                    let delta = encoding == DELTA_TEXTS;
                    self.pages.push(ParquetPage { values: values as u64, bytes: unpacked as u64, delta });
                }
            }
        }
        Ok(())
    }

    /// Bytes in memory while some of the `all` rows of its group are read; `width` is that of values of fixed length.
    fn bytes_of(&self, rows: &Range<u64>, all: u64, width: u64) -> u64 {
        // Lists have more values than rows, and only their pages tell which row one belongs to.
        let flat = self.values as u64 == all;
        let (mut first, mut sum) = (0, self.entries);
        for page in &self.pages {
            let values = match flat {
                true => rows.end.clamp(first, first + page.values) - rows.start.clamp(first, first + page.values),
                false => page.values,
            };
            first += page.values;
            if values > 0 {
                // A page is read with a bit for each of its values, however few are wanted.
                sum = sum.saturating_add(page.values / 8);
                let texts = if page.delta { values.saturating_mul(page.bytes) } else { page.bytes };
                sum = sum.saturating_add(texts).saturating_add(values.saturating_mul(VALUE.max(width)));
            }
        }
        sum
    }
}

/// A value or an end, met on the way through structures of Thrift.
enum ThriftEvent<'b> {
    Number(i64),
    /// Bytes, most of them a text.
    Text(&'b [u8]),
    /// The end of a structure.
    End,
}

/// A place in bytes of Thrift's compact protocol.
struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Types of the fields of a structure, by the fields that lead there.
    types: fn(&[i16]) -> FieldTypes,
}

impl<'b> Walk<'b> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).context(Word("它结束得太早", "it ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let left = self.bytes.len() - self.at;
        ensure!(
            bytes <= left as u64,
            "声称 {bytes} 字节，而只剩 {left} 字节",
            "{bytes} bytes are claimed where {left} are left"
        );
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
        bail!("有数字没有结尾", "a number does not end")
    }

    fn integer(&mut self) -> Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Walks to the end of a structure; `visit` is called with each whole number in it, and each end of a structure, with the numbers of the
    /// fields that lead there.
    fn structure(
        &mut self,
        path: &mut Vec<i16>,
        visit: &mut impl FnMut(&[i16], ThriftEvent<'b>) -> Result<()>,
    ) -> Result<()> {
        ensure!(path.len() < DEPTH, "结构嵌套超过 {DEPTH} 层", "structures are nested more than {DEPTH} deep");
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return visit(path, ThriftEvent::End);
            }
            field = match i16::from(head >> 4) {
                0 => i16::try_from(self.integer()?)?,
                more => field.checked_add(more).context(Word("有字段没有编号", "a field has no number"))?,
            };
            self.check_type(field, head & 0xf, path)?;
            path.push(field);
            match head & 0xf {
                // Truth is in the head.
                1 | 2 => {}
                kind => self.value(kind, path, visit)?,
            }
            path.pop();
        }
    }

    /// Refuses a field whose type differs from the format.
    fn check_type(&self, field: i16, kind: u8, path: &[i16]) -> Result<()> {
        let types = (self.types)(path).as_bytes();
        let Some(&wanted) = usize::try_from(field - 1).ok().and_then(|at| types.get(at)) else { return Ok(()) };
        // The head of a list: the number of its entries, or 15 for more, and their type.
        let (entries, entry) = self.bytes.get(self.at).map_or((0, 0), |head| (head >> 4, head & 0xf));
        let matches = match wanted {
            b'i' => (3..=6).contains(&kind),
            b'b' => (1..=2).contains(&kind),
            b't' => kind == 8,
            b's' => kind == 12,
            b'n' => kind == 9 && (entries == 0 || (3..=6).contains(&entry)),
            b'w' => kind == 9 && (entries == 0 || entry == 8),
            _ => kind == 9 && (entries == 0 || entry == 12),
        };
        ensure!(
            matches,
            "字段 {path:?} 之后的字段 {field} 类型为 {kind}，与格式不符",
            "field {field} behind the fields {path:?} is of type {kind}, which is not that of the format"
        );
        Ok(())
    }

    fn value(
        &mut self,
        kind: u8,
        path: &mut Vec<i16>,
        visit: &mut impl FnMut(&[i16], ThriftEvent<'b>) -> Result<()>,
    ) -> Result<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let number = self.integer()?;
                visit(path, ThriftEvent::Number(number))
            }
            7 => self.skip(8),
            8 => {
                let (length, start) = (self.varint()?, self.at);
                self.skip(length)?;
                visit(path, ThriftEvent::Text(&self.bytes[start..self.at]))
            }
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let left = self.bytes.len() - self.at;
                ensure!(
                    size <= left as u64,
                    "有列表声称 {size} 项，而只剩 {left} 字节",
                    "a list claims {size} entries where {left} bytes are left"
                );
                (0..size).try_for_each(|_| match head & 0xf {
                    9 | 10 => bail!("有列表的列表，而 Parquet 没有", "a list of lists, which Parquet has not"),
                    kind => self.value(kind, path, visit),
                })
            }
            12 => self.structure(path, visit),
            _ => bail!("有字段类型为 {kind}，而 Parquet 没有", "a field is of type {kind}, which Parquet has not"),
        }
    }
}

#[cfg(test)]
mod tests {
    use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::frames;

    fn file() -> Vec<u8> {
        let texts: Vec<Option<String>> = (0..3000).map(|i| (i % 7 > 0).then(|| format!("涨{}", i % 50))).collect();
        let numbers: Vec<i64> = (0..3000).map(|i| i * i).collect();
        let columns =
            vec![Series::new("text".into(), texts).into_column(), Series::new("number".into(), numbers).into_column()];
        let mut frame: DataFrame = frames::frame(columns).unwrap();
        let mut bytes = Vec::new();
        frames::parquet_writer(&mut bytes).with_row_group_size(Some(1000)).finish(&mut frame).unwrap();
        bytes
    }

    #[test]
    fn what_writers_write_is_what_it_claims() {
        let bytes = file();
        let claims = Claims::read(&bytes).unwrap();
        let chunks = || claims.groups.iter().flat_map(|group| &group.chunks);
        assert_eq!(claims.groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [1000; 3]);
        assert_eq!(chunks().map(|chunk| chunk.values).collect::<Vec<_>>(), [1000; 6]);
        assert!(chunks().map(|chunk| chunk.column.as_slice()).eq([b"text".as_slice(), b"number"].repeat(3)));
        assert!(chunks().all(|chunk| chunk.pages.iter().map(|page| page.values).sum::<u64>() == 1000));
        // Numbers of eight bytes in pages, and as many values of sixteen.
        let numbers = claims.bytes_of(1000..2000, |name| name == "number");
        assert!((24_000..25_000).contains(&numbers), "{numbers}");
        assert!(claims.bytes_of(0..3000, |_| true) > 3 * numbers);
        assert_eq!(claims.bytes_of(3000..9000, |_| true), 0);
    }

    #[test]
    fn a_file_that_is_cut_short_or_longer_than_it_says_is_refused() {
        let bytes = file();
        for length in (0..bytes.len()).step_by(11) {
            assert!(Claims::read(&bytes[..length]).is_err(), "{length}");
        }
        let error_of = |bytes: &[u8]| format!("{:#}", Claims::read(bytes).unwrap_err());
        assert!(error_of(b"PAR1\xff\xff\xff\xffPAR1").contains("longer than the file"));
        // A list of a thousand million structures.
        let footer = [0x29, 0xfc, 0x80, 0x94, 0xeb, 0xdc, 0x03, 0x00];
        let claimed = [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), MAGIC].concat();
        assert!(
            error_of(&claimed).contains("a list claims 1000000000 entries where 1 bytes are left"),
            "{}",
            error_of(&claimed)
        );
    }

    #[test]
    fn fields_are_found_in_any_order() {
        // Groups of rows [{ columns [{ metadata { length 7, values 5 } }, the same with values first] }]
        let (backwards, forwards) = ([0x05, 14, 18, 0x05, 10, 10, 0], [0x55, 10, 0x25, 18, 0, 0, 0]);
        let columns = [&[0x3c], &backwards[..], &[0, 0x3c], &forwards[..5], &[0]].concat();
        let footer = [&[0x49, 0x1c, 0x19, 0x2c], &columns[..], &[0, 0]].concat();
        let claims = claims(&footer).unwrap();
        let found: Vec<(i64, i64)> = claims.groups[0].chunks.iter().map(|chunk| (chunk.values, chunk.length)).collect();
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
            let mut chunk = Chunk { values: 9, length: page.len() as i64, ..Chunk::default() };
            chunk.find_pages(&page).map(|()| chunk.bytes_of(&(0..9), 9, 0)).map_err(|e| e.to_string())
        };
        // A byte for the bits of nine values.
        assert_eq!(checked(page(1, 9)), Ok(1 + 1 + 9 * VALUE));
        assert_eq!(checked(page(1 << 30, 9)), Ok((1 << 30) + 1 + 9 * VALUE));
        assert!(checked(page(1, 10)).unwrap_err().contains("10 values where 9 are left"));
        assert!(checked(page(1, -1)).unwrap_err().contains("claims the number -1"));
        assert!(checked(page(1, 1 << 32)).unwrap_err().contains("claims the number 4294967296"));
        let mut behind = Chunk { values: 1, length: 5, data: 1, ..Chunk::default() };
        assert!(behind.find_pages(b"12345").is_err());
    }

    #[test]
    fn a_field_of_another_type_than_the_formats_is_refused() {
        // The schema as a number, as a list of numbers, and a text as the number of rows.
        for footer in [&[0x25, 2, 0][..], &[0x29, 0x15, 2, 0], &[0x38, 1, b'x', 0]] {
            assert!(format!("{:#}", claims(footer).unwrap_err()).contains("not that of the format"), "{footer:?}");
        }
    }

    #[test]
    fn a_footer_of_more_structures_than_its_bytes_can_tell_is_refused() {
        // The schema as a list of empty structures.
        let footer = [&[0x29, 0xfc, 0x80, 0x80, 0x80, 0x02][..], &[0; 4 << 20], &[0]].concat();
        assert!(format!("{:#}", claims(&footer).unwrap_err()).contains("structures"));
    }

    #[test]
    fn texts_that_begin_as_others_do_may_each_be_as_long_as_their_page() {
        let page = ParquetPage { values: 1000, bytes: 1 << 20, delta: true };
        let chunk = Chunk { values: 1000, pages: vec![page], ..Chunk::default() };
        assert_eq!(chunk.bytes_of(&(10..20), 1000, 0), 1000 / 8 + 10 * ((1 << 20) + VALUE));
        assert_eq!(Chunk { values: 1001, ..chunk }.bytes_of(&(10..20), 1000, 64) >> 20, 1000, "a list, all of it");
    }
}
