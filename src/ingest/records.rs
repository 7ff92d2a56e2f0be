//! Cuts a stream of bytes into records without decoding it: rows of a CSV, lines, or the elements of a JSON array.
//!
//! A record is bounded: one that does not end within [`Records::limit`] bytes (a quote that never closes) is given as a
//! fault, and cutting goes on at the line after the one it began on. Quoting is RFC 4180's: a quote opens at the
//! beginning of a field only, `""` within quotes is a quote, and what follows a closing quote belongs to the field. Rows end with
//! LF or CRLF; empty rows are passed over. A row of several lines is taken for a stray quote in the same way when something
//! follows a closing quote in it, or when it has not the header's number of fields: a bad quote costs its own row only.

use std::io::{self, Read};

use crate::ingest::encoding::Charset;

/// Bytes of a record at the most.
pub(super) const RECORD_LIMIT: usize = 8 << 20;
/// Bytes asked of the file at a time.
const CHUNK: usize = 1 << 18;

/// What the records of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Rows of fields, the delimiter between them.
    Rows(u8),
    /// Lines.
    Lines,
    /// Elements of one JSON array.
    Elements,
}

/// Why a piece of the stream is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A quote opened on this line and did not close within the limit or the file.
    OpenQuote,
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
            Broken::TooLong => "record over 8 MB",
            Broken::CutShort => "file ends in the middle of the array",
            Broken::NotAnArray => "not one JSON array",
        }
    }
}

/// One record: its bytes with the line end, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) bytes: Vec<u8>,
    pub(super) broken: Option<Broken>,
}

/// The records of a stream.
pub(super) struct Records<R> {
    input: R,
    cut: Cut,
    charset: Charset,
    limit: usize,
    buffer: Vec<u8>,
    start: usize,
    eof: bool,
    /// Fields of a row, once the header told.
    width: Option<usize>,
    /// For arrays: whether the opening bracket was read, and whether the closing one was.
    opened: bool,
    closed: bool,
    offset: u64,
    whole: bool,
}

enum Scan {
    /// A record of this many bytes.
    End(usize),
    /// More bytes are needed.
    More,
}

impl<R: Read> Records<R> {
    /// Cuts `input`, which begins at byte `offset` of its file.
    pub(super) fn new(input: R, cut: Cut, charset: Charset, offset: u64) -> Records<R> {
        Records {
            input,
            cut,
            charset,
            limit: RECORD_LIMIT,
            buffer: Vec::new(),
            start: 0,
            eof: false,
            width: None,
            opened: false,
            closed: false,
            offset,
            whole: true,
        }
    }

    /// Tells how many fields a row has.
    pub(super) fn expect_width(&mut self, width: usize) {
        self.width = Some(width);
    }

    /// Where in the file reading may go on when more is appended: behind the last record, if a line end followed it.
    pub(super) fn resume_at(&self) -> Option<u64> {
        (self.whole && self.cut != Cut::Elements).then_some(self.offset)
    }

    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Record>> {
        if self.cut == Cut::Elements {
            return self.next_element();
        }
        loop {
            let rest = &self.buffer[self.start..];
            let scan = match self.cut {
                Cut::Rows(delimiter) => scan_row(rest, delimiter, self.charset.is_wide()),
                _ => scan_line(rest),
            };
            match scan {
                Scan::End(length) if length <= self.limit && self.fits(&rest[..length]) => {
                    let record = self.take(length, None);
                    if record.bytes.iter().any(|b| !matches!(b, b'\r' | b'\n')) {
                        return Ok(Some(record));
                    }
                }
                Scan::More if !self.eof && rest.len() <= self.limit => self.read_more()?,
                Scan::More if rest.is_empty() => return Ok(None),
                Scan::More if rest.len() <= self.limit && !self.quote_is_open() => {
                    return Ok(Some(self.take(self.buffer.len() - self.start, None)));
                }
                _ => return self.faulty_line().map(Some),
            }
        }
    }

    /// Whether a row of several lines is well-formed and has the header's number of fields; a single line always fits.
    fn fits(&self, row: &[u8]) -> bool {
        let Cut::Rows(delimiter) = self.cut else { return true };
        if !row[..row.len() - 1].contains(&b'\n') {
            return true;
        }
        if !walk(row, delimiter, self.charset.is_wide(), |_| {}).strict {
            return false;
        }
        let Some(width) = self.width else { return true };
        let fields = split_row(row, delimiter, self.charset.is_wide());
        fields.len() >= width && fields[width..].iter().all(Vec::is_empty)
    }

    /// The array's next element.
    fn next_element(&mut self) -> io::Result<Option<Record>> {
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
                return Ok(broken.map(|broken| Record { bytes: Vec::new(), broken: Some(broken) }));
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
            match scan_element(rest, self.charset.is_wide()) {
                Scan::End(length) if length <= self.limit => return Ok(Some(self.take(length, None))),
                Scan::More if !self.eof && rest.len() <= self.limit => self.read_more()?,
                Scan::More if self.eof && rest.len() <= self.limit => return self.stop(Broken::CutShort),
                _ => return self.stop(Broken::TooLong),
            }
        }
    }

    /// Gives what is left, as far as it is in memory, as a fault, and ends.
    fn stop(&mut self, broken: Broken) -> io::Result<Option<Record>> {
        let record = self.take(self.buffer.len() - self.start, Some(broken));
        (self.eof, self.opened, self.closed) = (true, true, true);
        Ok(Some(record))
    }

    /// Gives the line that a broken record began on, and goes on behind it.
    fn faulty_line(&mut self) -> io::Result<Record> {
        let rest = &self.buffer[self.start..];
        match rest.iter().position(|b| *b == b'\n') {
            Some(end) => {
                let broken = if matches!(self.cut, Cut::Rows(_)) { Broken::OpenQuote } else { Broken::TooLong };
                Ok(self.take(end + 1, Some(broken)))
            }
            None if self.eof => Ok(self.take(self.buffer.len() - self.start, Some(Broken::OpenQuote))),
            None => {
                // The line itself is too long: its beginning is given, the rest passed over.
                let mut record = self.take(self.limit.min(self.buffer.len() - self.start), Some(Broken::TooLong));
                loop {
                    let rest = &self.buffer[self.start..];
                    let end = rest.iter().position(|b| *b == b'\n');
                    self.offset += self.charset.original_len(&rest[..end.map_or(rest.len(), |end| end + 1)]);
                    self.start += end.map_or(rest.len(), |end| end + 1);
                    self.whole = end.is_some();
                    if end.is_some() || self.eof {
                        break;
                    }
                    self.read_more()?;
                }
                record.bytes.truncate(1 << 16);
                Ok(record)
            }
        }
    }

    /// Whether the bytes left end inside quotes.
    fn quote_is_open(&self) -> bool {
        match self.cut {
            Cut::Rows(delimiter) => ends_in_quotes(&self.buffer[self.start..], delimiter, self.charset.is_wide()),
            _ => false,
        }
    }

    fn take(&mut self, length: usize, broken: Option<Broken>) -> Record {
        let bytes = self.buffer[self.start..self.start + length].to_vec();
        self.start += length;
        self.offset += self.charset.original_len(&bytes);
        self.whole = bytes.ends_with(b"\n");
        Record { bytes, broken }
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

/// Where the reading of a row stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    FieldStart,
    Bare,
    Quoted,
    /// Behind a quote inside quotes: the closing one, or the first half of a doubled one.
    Quote,
}

/// What a walk over a row found.
struct Walked {
    at: At,
    /// Whether nothing followed a closing quote but a delimiter or the line's end.
    strict: bool,
    scan: Scan,
}

/// Bytes that a character takes here: two when its second byte may look like ASCII.
fn step(bytes: &[u8], i: usize, wide: bool) -> usize {
    let leads = wide && (0x81..=0xfe).contains(&bytes[i]);
    if leads && bytes.get(i + 1).is_some_and(|b| *b >= 0x30) { 2 } else { 1 }
}

/// Walks over a row; `field` is called with each byte that belongs to a field and at each delimiter (`None`).
fn walk(bytes: &[u8], delimiter: u8, wide: bool, mut field: impl FnMut(Option<&[u8]>)) -> Walked {
    let (mut at, mut strict) = (At::FieldStart, true);
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        let n = step(bytes, i, wide).min(bytes.len() - i);
        match (at, b) {
            (At::Quoted, b'"') => at = At::Quote,
            (At::Quoted, _) => field(Some(&bytes[i..i + n])),
            (At::Quote, b'"') => {
                field(Some(b"\""));
                at = At::Quoted;
            }
            (At::FieldStart, b'"') => at = At::Quoted,
            (_, b'\n') => return Walked { at, strict, scan: Scan::End(i + 1) },
            (_, b) if b == delimiter => {
                field(None);
                at = At::FieldStart;
            }
            _ => {
                strict &= at != At::Quote || b == b'\r';
                field(Some(&bytes[i..i + n]));
                at = At::Bare;
            }
        }
        i += n;
    }
    Walked { at, strict, scan: Scan::More }
}

fn scan_row(bytes: &[u8], delimiter: u8, wide: bool) -> Scan {
    walk(bytes, delimiter, wide, |_| {}).scan
}

fn ends_in_quotes(bytes: &[u8], delimiter: u8, wide: bool) -> bool {
    walk(bytes, delimiter, wide, |_| {}).at == At::Quoted
}

/// The fields of a row, unquoted.
pub(super) fn split_row(bytes: &[u8], delimiter: u8, wide: bool) -> Vec<Vec<u8>> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let mut fields = vec![Vec::new()];
    walk(bytes, delimiter, wide, |piece| match piece {
        None => fields.push(Vec::new()),
        Some(piece) => fields.last_mut().into_iter().for_each(|f| f.extend_from_slice(piece)),
    });
    fields
}

fn scan_line(bytes: &[u8]) -> Scan {
    bytes.iter().position(|b| *b == b'\n').map_or(Scan::More, |i| Scan::End(i + 1))
}

/// One JSON value that begins at the first byte, up to the comma or bracket behind it.
fn scan_element(bytes: &[u8], wide: bool) -> Scan {
    let (mut depth, mut quoted, mut i) = (0usize, false, 0);
    while i < bytes.len() {
        let n = step(bytes, i, wide);
        match bytes[i] {
            b'\\' if quoted => {
                i += 2;
                continue;
            }
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Scan::End(i + 1);
                }
            }
            b',' | b']' if depth == 0 => return Scan::End(i),
            _ => {}
        }
        i += n;
    }
    Scan::More
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(bytes: &[u8], cut: Cut, charset: Charset, limit: usize) -> Vec<(String, Option<Broken>)> {
        let mut records = Records::new(bytes, cut, charset, 0);
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
        let found = cut("a,b\r\n\n1,\"x\ny\"\"z\"\n2,w".as_bytes(), Cut::Rows(b','), Charset::Utf8, 100);
        assert_eq!(texts(&found), ["a,b\r\n", "1,\"x\ny\"\"z\"\n", "2,w"]);
        assert_eq!(split_row(found[1].0.as_bytes(), b',', false), [b"1".to_vec(), b"x\ny\"z".to_vec()]);
    }

    #[test]
    fn a_quote_that_never_closes_costs_its_line_only() {
        let text = "1,a\n2,\"b\n3,c\n4,d\n";
        for limit in [12, 1000] {
            let found = cut(text.as_bytes(), Cut::Rows(b','), Charset::Utf8, limit);
            assert_eq!(texts(&found), ["1,a\n", "2,\"b\n", "3,c\n", "4,d\n"], "limit {limit}");
            assert_eq!(found[1].1, Some(Broken::OpenQuote));
            assert_eq!(found.iter().filter(|f| f.1.is_some()).count(), 1);
        }
    }

    #[test]
    fn a_stray_quote_that_a_later_one_closes_costs_its_line_only() {
        let mut records =
            Records::new("1,\"a,x\n2,b,y\n3,\"c\",z\n4,d,w\n".as_bytes(), Cut::Rows(b','), Charset::Utf8, 0);
        records.expect_width(3);
        let mut good = Vec::new();
        while let Some(record) = records.next().unwrap() {
            if record.broken.is_none() {
                good.push(String::from_utf8(record.bytes).unwrap());
            }
        }
        assert_eq!(good, ["2,b,y\n", "3,\"c\",z\n", "4,d,w\n"]);
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
            let found = cut(&json, Cut::Elements, Charset::Gb18030, 100);
            assert_eq!(texts(&found), [format!("\"{c}\""), "2".to_owned()], "{c}");
        }
    }

    #[test]
    fn elements_of_an_array_come_one_by_one() {
        let found = cut(br#" [ {"a": "]},\"["}, ["x", 1] , 3 ]"#, Cut::Elements, Charset::Utf8, 100);
        assert_eq!(texts(&found), [r#"{"a": "]},\"["}"#, r#"["x", 1]"#, "3 "]);
        let found = cut(br#"[{"a": 1}, {"a": "#, Cut::Elements, Charset::Utf8, 100);
        assert_eq!(found[1].1, Some(Broken::CutShort));
        let found = cut(br#"{"a": 1}"#, Cut::Elements, Charset::Utf8, 100);
        assert_eq!(found[0].1, Some(Broken::NotAnArray));
    }

    #[test]
    fn reading_resumes_only_behind_a_line_end() {
        let resume = |bytes: &[u8], charset| {
            let input: Box<dyn Read> = match charset {
                Charset::Utf16Le => Box::new(crate::ingest::encoding::Utf16Reader::new(bytes, charset)),
                _ => Box::new(bytes),
            };
            let mut records = Records::new(input, Cut::Lines, charset, 2);
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
            let mut records = Records::new(bytes.as_slice(), Cut::Rows(b','), Charset::Utf8, 0);
            let mut read = Vec::new();
            while let Some(record) = records.next().unwrap() {
                prop_assert_eq!(record.broken, None);
                let fields = split_row(&record.bytes, b',', false);
                read.push(fields.into_iter().map(|f| String::from_utf8(f).unwrap()).collect::<Vec<_>>());
            }
            prop_assert_eq!(read, rows);
        }
    }
}
