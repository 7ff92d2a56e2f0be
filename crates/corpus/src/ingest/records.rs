//! Cuts a stream of bytes into records without decoding it: rows of a CSV, lines, or the elements of a JSON array.
//!
//! Quoting is RFC 4180's: a quote opens at the beginning of a field only, `""` within quotes is a quote, and what follows a
//! closing quote belongs to the field. Rows end with LF or CRLF; empty rows are passed over. A well-formed row is one record
//! with all of its lines, whatever the number of its fields.
//!
//! A bad quote costs its own row only, as one fault. A quote is bad when it does not close within [`RecordStream::limit`] bytes, when
//! something follows the closing one and the row then spans lines or lacks fields, or when the row has not the header's number of
//! fields and one of its further lines has it. The fault then is the line that the row began on, with the lines
//! behind it that have too few fields to be rows of their own (the rest of a text whose quoting went wrong).

use std::io::{self, Read};

use crate::ingest::fields::{WalkState, Walked, ends_in_quotes, line_end, plain_row, split_row, step, walk};
use crate::ingest::reason;
use inkstone_base::encoding::Charset;
use inkstone_base::limits;

/// Bytes asked of the file at a time.
const CHUNK: usize = 1 << 18;
/// Bytes of a row with a bad quote at the most; lines behind them are judged for themselves.
const TORN_LIMIT: usize = 1 << 16;

/// Layout of the records of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordLayout {
    /// Rows of fields, the delimiter between them.
    Rows(u8),
    Lines,
    /// Elements of one JSON array.
    Elements,
}

/// Why a piece of the stream is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A quote opened on this line and did not close where its row can end.
    OpenQuote,
    /// Something other than a delimiter follows a closing quote, and fields are missing.
    StrayQuote,
    /// A line or element longer than the limit.
    TooLong,
    /// The array ended in the middle of an element, or without its bracket.
    CutShort,
    /// The file goes on after the end of the array, or something other than a comma stands between elements.
    NotAnArray,
}

impl Broken {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Broken::OpenQuote => "quote never closes",
            Broken::StrayQuote => "text behind a closing quote",
            Broken::TooLong => reason::RECORD_TOO_LONG,
            Broken::CutShort => "file ends in the middle of the array",
            Broken::NotAnArray => "not one JSON array",
        }
    }
}

/// One record: its bytes with the line end, and its fault.
#[derive(Debug)]
pub(super) struct RawRecord {
    pub(super) bytes: Vec<u8>,
    pub(super) broken: Option<Broken>,
}

/// The records of a stream.
pub(super) struct RecordStream<R> {
    input: R,
    cut: RecordLayout,
    charset: Charset,
    limit: usize,
    buffer: Vec<u8>,
    start: usize,
    eof: bool,
    /// Fields of a row, once the header is read.
    width: Option<usize>,
    /// For arrays: whether the opening bracket was read, and whether the closing one was.
    opened: bool,
    closed: bool,
    /// Byte of the file behind the last record.
    pub(super) offset: u64,
    complete: bool,
}

enum Scan {
    /// A record of this many bytes.
    End(usize),
    /// More bytes are needed.
    More,
}

impl<R: Read> RecordStream<R> {
    /// Cuts `input`, which begins at byte `offset` of its file.
    pub(super) fn new(input: R, cut: RecordLayout, charset: Charset, offset: u64) -> RecordStream<R> {
        RecordStream {
            input,
            cut,
            charset,
            limit: limits::RECORD,
            buffer: Vec::new(),
            start: 0,
            eof: false,
            width: None,
            opened: false,
            closed: false,
            offset,
            complete: true,
        }
    }

    /// Tells how many fields a row has.
    pub(super) fn expect_width(&mut self, width: usize) {
        self.width = Some(width);
    }

    /// Byte of the file at which reading may go on when more is appended: behind the last record, if a line end followed it.
    pub(super) fn resume_at(&self) -> Option<u64> {
        (self.complete && self.cut != RecordLayout::Elements).then_some(self.offset)
    }

    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<RawRecord>> {
        if self.cut == RecordLayout::Elements {
            return self.next_element();
        }
        loop {
            let rest = &self.buffer[self.start..];
            let wide = self.charset.is_wide();
            let (scan, strict) = match (self.cut, plain_row(rest).filter(|_| !wide)) {
                (RecordLayout::Rows(_), Some(end)) => (Scan::End(end), true),
                (RecordLayout::Rows(delimiter), None) => {
                    let Walked { end, strict, .. } = walk(rest, delimiter, wide, |_| {});
                    (end.map_or(Scan::More, Scan::End), strict)
                }
                _ => (scan_line(rest), true),
            };
            match scan {
                Scan::End(length) if length <= self.limit => {
                    if let Some(broken) = self.bad_quote(&rest[..length], strict) {
                        return self.faulty_line(broken).map(Some);
                    }
                    let record = self.take(length, None);
                    if record.bytes.iter().any(|b| !matches!(b, b'\r' | b'\n')) {
                        return Ok(Some(record));
                    }
                }
                Scan::More if !self.eof && rest.len() <= self.limit => self.read_more()?,
                Scan::More if rest.is_empty() => return Ok(None),
                Scan::More if rest.len() <= self.limit && !self.quote_is_open() => {
                    return match self.bad_quote(rest, strict) {
                        Some(broken) => self.faulty_line(broken).map(Some),
                        None => Ok(Some(self.take(self.buffer.len() - self.start, None))),
                    };
                }
                _ if matches!(self.cut, RecordLayout::Rows(_)) => return self.faulty_line(Broken::OpenQuote).map(Some),
                _ => return self.faulty_line(Broken::TooLong).map(Some),
            }
        }
    }

    /// Fault of the quotes of a row, if there is one; `strict` as in [`Walked`].
    fn bad_quote(&self, row: &[u8], strict: bool) -> Option<Broken> {
        let RecordLayout::Rows(delimiter) = self.cut else { return None };
        let wide = self.charset.is_wide();
        let first = line_end(row);
        let lines = first < row.len();
        match self.width {
            _ if lines && !strict => Some(Broken::OpenQuote),
            None => None,
            Some(_) if !lines && strict => None,
            Some(width) => {
                let fields = split_row(row, delimiter, wide);
                if !strict {
                    return (fields.len() < width).then_some(Broken::StrayQuote);
                }
                let fits = fields.len() >= width && fields[width..].iter().all(|field| field.is_empty());
                let swallowed = || row[first..].split_inclusive(|b| *b == b'\n').any(|l| self.is_row(l, width));
                (!fits && swallowed()).then_some(Broken::OpenQuote)
            }
        }
    }

    /// True if a line by itself is a row with the header's number of fields, so that it cannot belong to a text.
    fn is_row(&self, line: &[u8], width: usize) -> bool {
        let RecordLayout::Rows(delimiter) = self.cut else { return false };
        let wide = self.charset.is_wide();
        let Walked { at, strict, bare_quote, .. } = walk(line, delimiter, wide, |_| {});
        let sound = strict && !bare_quote && at != WalkState::Quoted;
        width > 1 && sound && split_row(line, delimiter, wide).len() == width
    }

    /// The array's next element.
    fn next_element(&mut self) -> io::Result<Option<RawRecord>> {
        loop {
            let rest = &self.buffer[self.start..];
            let blank = rest.iter().take_while(|b| b.is_ascii_whitespace() || (**b == b',' && self.opened)).count();
            self.start += blank;
            let rest = &self.buffer[self.start..];
            let Some(first) = rest.first() else {
                if !self.eof {
                    self.read_more()?;
                    continue;
                }
                let broken = (!self.closed).then_some(Broken::CutShort);
                (self.opened, self.closed) = (true, true);
                return Ok(broken.map(|broken| RawRecord { bytes: Vec::new(), broken: Some(broken) }));
            };
            match first {
                b'[' if !self.opened => {
                    self.opened = true;
                    self.start += 1;
                    continue;
                }
                b']' if self.opened && !self.closed => {
                    self.closed = true;
                    self.start += 1;
                    continue;
                }
                _ if !self.opened || self.closed => return self.stop(Broken::NotAnArray),
                _ => {}
            }
            match Element::default().scan(rest, self.charset.is_wide()) {
                Scan::End(length) if length <= self.limit => return Ok(Some(self.take(length, None))),
                Scan::More if !self.eof && rest.len() <= self.limit => self.read_more()?,
                Scan::More if self.eof => return self.stop(Broken::CutShort),
                _ => return self.long_element().map(Some),
            }
        }
    }

    /// Gives the beginning of an element that is too long, and goes on behind it.
    fn long_element(&mut self) -> io::Result<RawRecord> {
        let rest = &self.buffer[self.start..];
        let record =
            RawRecord { bytes: rest[..rest.len().min(limits::RECORD_KEPT)].to_vec(), broken: Some(Broken::TooLong) };
        let mut element = Element::default();
        loop {
            let rest = &self.buffer[self.start..];
            let scan = element.scan(rest, self.charset.is_wide());
            if let Scan::End(length) = scan {
                self.start += length;
                return Ok(record);
            }
            self.start = self.buffer.len();
            if self.eof {
                return Ok(record);
            }
            self.read_more()?;
        }
    }

    /// Gives the beginning of the rest of the file, as far as it is in memory, as a fault, and ends.
    fn stop(&mut self, broken: Broken) -> io::Result<Option<RawRecord>> {
        let mut record = self.take(self.buffer.len() - self.start, Some(broken));
        record.bytes.truncate(limits::RECORD_KEPT);
        (self.eof, self.opened, self.closed) = (true, true, true);
        Ok(Some(record))
    }

    /// Gives the line on which a broken record began, with the bytes that were torn off it, and goes on behind it.
    fn faulty_line(&mut self, broken: Broken) -> io::Result<RawRecord> {
        let rest = &self.buffer[self.start..];
        match rest.iter().position(|b| *b == b'\n') {
            Some(end) => {
                if end >= self.limit {
                    // Whatever its quotes are, the line alone is too long.
                    let mut record = self.take(end + 1, Some(Broken::TooLong));
                    record.bytes.truncate(limits::RECORD_KEPT);
                    return Ok(record);
                }
                let length = self.torn(end + 1)?;
                Ok(self.take(length, Some(broken)))
            }
            None if self.eof => Ok(self.take(self.buffer.len() - self.start, Some(broken))),
            None => {
                // The line itself is too long: its beginning is given, the rest passed over.
                let mut record = self.take(self.limit.min(self.buffer.len() - self.start), Some(Broken::TooLong));
                loop {
                    let rest = &self.buffer[self.start..];
                    let end = rest.iter().position(|b| *b == b'\n');
                    self.offset += self.charset.original_len(&rest[..end.map_or(rest.len(), |end| end + 1)]);
                    self.start += end.map_or(rest.len(), |end| end + 1);
                    self.complete = end.is_some();
                    if end.is_some() || self.eof {
                        break;
                    }
                    self.read_more()?;
                }
                record.bytes.truncate(limits::RECORD_KEPT);
                Ok(record)
            }
        }
    }

    /// The length of a row with a bad quote whose first line has `length` bytes: the lines behind it belong to it while they
    /// begin nothing that has enough fields for a row.
    fn torn(&mut self, mut length: usize) -> io::Result<usize> {
        let (RecordLayout::Rows(delimiter), Some(width)) = (self.cut, self.width) else { return Ok(length) };
        let wide = self.charset.is_wide();
        loop {
            let rest = &self.buffer[self.start + length..];
            let Walked { at, strict, end, .. } = walk(rest, delimiter, wide, |_| {});
            if end.is_none() && !self.eof && rest.len() <= self.limit {
                self.read_more()?;
                continue;
            }
            let row = &rest[..end.unwrap_or(rest.len())];
            let line = line_end(row);
            // A row whose own quotes are bad is known by its first line.
            let next = if strict && at != WalkState::Quoted { row } else { &row[..line] };
            if row.is_empty() || length + line > TORN_LIMIT || split_row(next, delimiter, wide).len() >= width {
                return Ok(length);
            }
            length += line;
        }
    }

    /// True if the bytes left end inside quotes.
    fn quote_is_open(&self) -> bool {
        match self.cut {
            RecordLayout::Rows(delimiter) => {
                ends_in_quotes(&self.buffer[self.start..], delimiter, self.charset.is_wide())
            }
            _ => false,
        }
    }

    fn take(&mut self, length: usize, broken: Option<Broken>) -> RawRecord {
        let bytes = self.buffer[self.start..self.start + length].to_vec();
        self.start += length;
        self.offset += self.charset.original_len(&bytes);
        self.complete = bytes.ends_with(b"\n");
        RawRecord { bytes, broken }
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        // Doubling keeps the work for a long record in proportion to its length.
        let kept = self.buffer.len();
        let wanted = kept.max(CHUNK);
        self.buffer.resize(kept + wanted, 0);
        let mut got = 0;
        while got < wanted {
            match self.input.read(&mut self.buffer[kept + got..]) {
                Ok(0) => {
                    self.eof = true;
                    break;
                }
                Ok(n) => got += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffer.truncate(kept + got);
        Ok(())
    }
}

fn scan_line(bytes: &[u8]) -> Scan {
    bytes.iter().position(|b| *b == b'\n').map_or(Scan::More, |i| Scan::End(i + 1))
}

/// One JSON value from its first byte up to the comma or bracket behind it, looked at piece by piece.
#[derive(Default)]
struct Element {
    depth: usize,
    quoted: bool,
    /// Bytes of the next piece that belong to a character or an escape that began in the last.
    passed: usize,
}

impl Element {
    fn scan(&mut self, bytes: &[u8], wide: bool) -> Scan {
        let mut i = self.passed;
        while i < bytes.len() {
            let n = step(bytes, i, wide);
            match bytes[i] {
                b'\\' if self.quoted => {
                    i += 2;
                    continue;
                }
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Scan::End(i + 1);
                    }
                }
                b',' | b']' if self.depth == 0 => return Scan::End(i),
                _ => {}
            }
            i += n;
        }
        self.passed = i - bytes.len();
        Scan::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(bytes: &[u8], cut: RecordLayout, charset: Charset, limit: usize) -> Vec<(String, Option<Broken>)> {
        let mut records = RecordStream::new(bytes, cut, charset, 0);
        records.limit = limit;
        let mut all = Vec::new();
        while let Some(record) = records.next().unwrap() {
            all.push((charset.decode_lossy(&record.bytes), record.broken));
        }
        all
    }

    fn texts(found: &[(String, Option<Broken>)]) -> Vec<&str> {
        found.iter().map(|(text, _)| text.as_str()).collect()
    }

    #[test]
    fn rows_keep_line_ends_inside_quotes() {
        let found = cut("a,b\r\n\n1,\"x\ny\"\"z\"\n2,w".as_bytes(), RecordLayout::Rows(b','), Charset::Utf8, 100);
        assert_eq!(texts(&found), ["a,b\r\n", "1,\"x\ny\"\"z\"\n", "2,w"]);
        assert_eq!(split_row(found[1].0.as_bytes(), b',', false), [b"1".to_vec(), b"x\ny\"z".to_vec()]);
    }

    #[test]
    fn a_quote_that_never_closes_costs_its_line_only() {
        let text = "1,a\n2,\"b\n3,c\n4,d\n";
        for limit in [12, 1000] {
            let found = cut(text.as_bytes(), RecordLayout::Rows(b','), Charset::Utf8, limit);
            assert_eq!(texts(&found), ["1,a\n", "2,\"b\n", "3,c\n", "4,d\n"], "limit {limit}");
            assert_eq!(found[1].1, Some(Broken::OpenQuote));
            assert_eq!(found.iter().filter(|f| f.1.is_some()).count(), 1);
        }
    }

    #[test]
    fn a_stray_quote_that_a_later_one_closes_costs_its_line_only() {
        let mut records = RecordStream::new(
            "1,\"a,x\n2,b,y\n3,\"c\",z\n4,d,w\n".as_bytes(),
            RecordLayout::Rows(b','),
            Charset::Utf8,
            0,
        );
        records.expect_width(3);
        let mut good = Vec::new();
        while let Some(record) = records.next().unwrap() {
            if record.broken.is_none() {
                good.push(String::from_utf8(record.bytes).unwrap());
            }
        }
        assert_eq!(good, ["2,b,y\n", "3,\"c\",z\n", "4,d,w\n"]);
    }

    /// The rows of a file with the header's `width`: their text, and their fault.
    fn rows(text: &str, width: usize) -> Vec<(String, Option<Broken>)> {
        let mut records = RecordStream::new(text.as_bytes(), RecordLayout::Rows(b','), Charset::Utf8, 0);
        records.expect_width(width);
        let mut all = Vec::new();
        while let Some(record) = records.next().unwrap() {
            all.push((String::from_utf8(record.bytes).unwrap(), record.broken));
        }
        assert_eq!(all.iter().map(|r| r.0.as_str()).collect::<String>(), text, "no byte is lost");
        all
    }

    #[test]
    fn a_well_formed_row_of_several_lines_is_one_record_whatever_its_number_of_fields() {
        for bad in ["2,\"甲\n乙\n丙\",x,多\n", "2,\"甲\n乙，丙\"\n", "2,x,\"甲\n\n乙\"\"丙\"\"\",\"丁\n戊\"\n"]
        {
            let found = rows(&format!("1,a,x\n{bad}3,\"b\nc\",z\n"), 3);
            assert_eq!(texts(&found), ["1,a,x\n", bad, "3,\"b\nc\",z\n"]);
            assert!(found.iter().all(|r| r.1.is_none()));
        }
    }

    #[test]
    fn a_bad_quote_costs_one_fault_with_all_of_its_text() {
        for (bad, broken) in [
            // Never closes; closes in the next row's quote; is not doubled, on one line and on several.
            ("2,\"甲\n乙，丙\n丁,x\n", Broken::OpenQuote),
            ("2,甲,\"乙\n", Broken::OpenQuote),
            ("2,\"甲\"乙\"\n丙\",x\n", Broken::StrayQuote),
            ("2,\"甲\n说\"乙\"。\n丙\",x\n", Broken::OpenQuote),
        ] {
            for after in ["3,\"b\nc\",z\n4,d,w\n", "3,b,z\n4,\"d\",w"] {
                let found = rows(&format!("1,a,x\n{bad}{after}"), 3);
                let (head, tail) = after.split_at(after.find("4,").unwrap());
                assert_eq!(texts(&found), ["1,a,x\n", bad, head, tail]);
                assert_eq!(found.iter().map(|r| r.1).collect::<Vec<_>>(), [None, Some(broken), None, None]);
            }
        }
    }

    #[test]
    fn a_quote_that_swallowed_a_row_gives_it_back() {
        // The stray quote of row 1 is closed by the opening one of the last row, as if all were one row of too few fields.
        let found = rows("1,\"a,x\n2,b,y\n3,c,\"\n", 3);
        assert_eq!(texts(&found), ["1,\"a,x\n", "2,b,y\n", "3,c,\"\n"]);
        assert_eq!(found[1].1, None);
    }

    #[test]
    fn second_bytes_that_look_like_ascii_are_not_taken_for_it() {
        // In GBK the second byte of 鎨 is `|`, of 漒 `\`, of 評 `[`... the cutter has to pass over all of them.
        let row = "1|鎨漒評賊|x\n";
        let gbk = encoding_rs::GBK.encode(row).0.into_owned();
        assert!(gbk.iter().filter(|b| **b == b'|').count() >= 2);
        let fields = split_row(&gbk, b'|', true);
        assert_eq!(fields.len(), 3);
        assert_eq!(Charset::Gb18030.decode(&fields[1]).unwrap(), "鎨漒評賊");
        for c in '一'..='龥' {
            let text = c.to_string();
            let bytes = encoding_rs::GB18030.encode(&text).0;
            let json = [b"[\"".as_slice(), &bytes, b"\", 2]"].concat();
            let found = cut(&json, RecordLayout::Elements, Charset::Gb18030, 100);
            assert_eq!(texts(&found), [format!("\"{c}\""), "2".to_owned()], "{c}");
        }
    }

    #[test]
    fn elements_of_an_array_come_one_by_one() {
        let found = cut(br#" [ {"a": "]},\"["}, ["x", 1] , 3 ]"#, RecordLayout::Elements, Charset::Utf8, 100);
        assert_eq!(texts(&found), [r#"{"a": "]},\"["}"#, r#"["x", 1]"#, "3 "]);
        let found = cut(br#"[{"a": 1}, {"a": "#, RecordLayout::Elements, Charset::Utf8, 100);
        assert_eq!(found[1].1, Some(Broken::CutShort));
        let found = cut(br#"{"a": 1}"#, RecordLayout::Elements, Charset::Utf8, 100);
        assert_eq!(found[0].1, Some(Broken::NotAnArray));
    }

    #[test]
    fn an_element_that_is_too_long_costs_itself_alone() {
        let long = format!(r#"{{"a": "{}"}}"#, r#"x]\"},"#.repeat(CHUNK / 3));
        let found = cut(format!("[1, {long}, [2]]").as_bytes(), RecordLayout::Elements, Charset::Utf8, 1000);
        assert_eq!((found.len(), found[0].0.as_str(), found[2].0.as_str()), (3, "1", "[2]"));
        assert_eq!((found[1].1, &found[1].0[..9]), (Some(Broken::TooLong), r#"{"a": "x]"#));
        let found = cut(format!("[1, {long}").as_bytes(), RecordLayout::Elements, Charset::Utf8, 1000);
        assert_eq!((found[1].1, found[2].1), (Some(Broken::TooLong), Some(Broken::CutShort)));
    }

    #[test]
    fn a_line_of_any_length_is_passed_over_in_bounded_memory() {
        for kind in [RecordLayout::Lines, RecordLayout::Rows(b','), RecordLayout::Elements] {
            let (first, last): (&[u8], &[u8]) =
                if kind == RecordLayout::Elements { (b"[1,\"", b"\",2]") } else { (b"1\n", b"\n2") };
            let length = 32 * limits::RECORD as u64;
            let stream = first.chain(io::repeat(b'x').take(length)).chain(last);
            let mut records = RecordStream::new(stream, kind, Charset::Utf8, 0);
            let mut lengths = Vec::new();
            while let Some(record) = records.next().unwrap() {
                lengths.push((record.bytes.len(), record.broken));
                assert!(records.buffer.capacity() <= 4 * limits::RECORD);
            }
            let one = if kind == RecordLayout::Elements { 1 } else { 2 };
            assert_eq!(lengths, [(one, None), (limits::RECORD_KEPT, Some(Broken::TooLong)), (1, None)], "{kind:?}");
        }
    }

    #[test]
    fn reading_resumes_only_behind_a_line_end() {
        let resume = |bytes: &[u8], charset| {
            let input: Box<dyn Read> = match charset {
                Charset::Utf16Le => Box::new(inkstone_base::encoding::Utf16Reader::new(bytes, charset)),
                _ => Box::new(bytes),
            };
            let mut records = RecordStream::new(input, RecordLayout::Lines, charset, 2);
            while records.next().unwrap().is_some() {}
            records.resume_at()
        };
        assert_eq!(resume("甲\n\n乙\n".as_bytes(), Charset::Utf8), Some(11));
        assert_eq!(resume("甲\n乙".as_bytes(), Charset::Utf8), None);
        let utf16: Vec<u8> = "甲\n😀\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(resume(&utf16, Charset::Utf16Le), Some(2 + utf16.len() as u64));
    }

    proptest! {
        #[test]
        fn rows_equal_those_of_the_csv_crate(rows in prop::collection::vec(prop::collection::vec("[a净,\"\n ;]{0,6}", 3), 1..6)) {
            let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let bytes = writer.into_inner().unwrap();
            let mut records = RecordStream::new(bytes.as_slice(), RecordLayout::Rows(b','), Charset::Utf8, 0);
            let mut read = Vec::new();
            while let Some(record) = records.next().unwrap() {
                prop_assert_eq!(record.broken, None);
                let fields = split_row(&record.bytes, b',', false);
                read.push(fields.into_iter().map(|f| String::from_utf8(f.into_owned()).unwrap()).collect::<Vec<_>>());
            }
            prop_assert_eq!(read, rows);
        }
    }
}
