//! A look at a packed workbook (.xlsx) before it is read: every part is unpacked once and forgotten, so that what its reader will
//! hold is known, whatever headers say.

use std::fs::File;
use std::io::{BufReader, Read};

use anyhow::{Context, Result};

use super::{CSV, Held};
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_base::limits;

/// Bytes that the reader takes for a tag: of the table of texts, and of styles and lists of parts.
const TEXT_TAG: u64 = 24;
const STYLE_TAG: u64 = 128;
/// The attribute by which the table of texts claims their number, for all of which the reader takes the memory at once.
const CLAIM: &[u8] = b"uniqueCount";

/// Counts in `held` the bytes that the reader keeps of all parts.
pub(super) fn check(file: &File, held: &mut Held) -> Result<()> {
    limits::check_archive(BufReader::new(file.try_clone()?))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file.try_clone()?))
        .context(Word("不是 Excel 工作簿", "no Excel workbook"))?;
    let (mut buffer, mut unpacked) = (vec![0; 1 << 16], 0);
    for i in 0..archive.len() {
        // A part that cannot be unpacked is the reader's to judge, which may not need it.
        let Ok(mut part) = archive.by_index(i) else { continue };
        let name = part.name().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        let tag = match () {
            () if name.ends_with("sharedstrings.xml") => TEXT_TAG,
            () if ["styles.xml", "workbook.xml", ".rels"].iter().any(|end| name.ends_with(end)) => STYLE_TAG,
            () => 0,
        };
        let xml = name.ends_with(".xml") || name.ends_with(".rels");
        let (mut pieces, mut claim) = (LongestPiece::default(), Claim::default());
        while let Ok(n @ 1..) = part.read(&mut buffer) {
            unpacked += n as u64;
            ensure!(
                unpacked <= limits::WORKBOOK,
                "解压后大于 {} MB；{CSV}",
                "it unpacks to more than {} MB; {CSV}",
                limits::WORKBOOK >> 20
            );
            if xml {
                pieces.add(&buffer[..n]);
                ensure!(
                    pieces.longest <= limits::RECORD,
                    "有文本大于 {} MB；{CSV}",
                    "a text of more than {} MB; {CSV}",
                    limits::RECORD >> 20
                );
            }
            if tag > 0 {
                held.take(n as u64 + tag * buffer[..n].iter().filter(|byte| **byte == b'<').count() as u64)?;
            }
            if tag == TEXT_TAG {
                claim.add(&buffer[..n]);
                held.check(claim.most.saturating_mul(TEXT_TAG))?;
            }
        }
    }
    Ok(())
}

/// The longest piece of XML between its marks, which the reader holds as one.
#[derive(Default)]
struct LongestPiece {
    longest: usize,
    length: usize,
    /// End of the piece; any `<` or `>` ends a tag or a text.
    end: Option<&'static [u8]>,
    /// The last eight bytes.
    last: u64,
}

impl LongestPiece {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.last = self.last << 8 | u64::from(*byte);
            self.length += 1;
            self.longest = self.longest.max(self.length);
            match (self.end, byte) {
                (Some(end), b'>') if self.follows(end) => (self.end, self.length) = (None, 0),
                (Some(_), _) => {}
                (None, b'<' | b'>') => self.length = 0,
                (None, b'-') if self.follows(b"<!--") => self.end = Some(b"-->"),
                (None, b'[') if self.follows(b"![CDATA[") => self.end = Some(b"]]>"),
                (None, b'?') if self.follows(b"<?") => self.end = Some(b"?>"),
                _ => {}
            }
        }
    }

    /// True if the last bytes (eight at most) are these.
    fn follows(&self, bytes: &[u8]) -> bool {
        let wanted = bytes.iter().fold(0, |wanted, byte| wanted << 8 | u64::from(*byte));
        self.last << (64 - 8 * bytes.len()) == wanted << (64 - 8 * bytes.len())
    }
}

/// The largest number of texts that a table claims.
#[derive(Default)]
struct Claim {
    most: u64,
    /// Letters of the attribute's name that were read, and then digits of its value.
    letters: usize,
    digits: Option<u64>,
}

impl Claim {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match &mut self.digits {
                Some(number) if byte.is_ascii_digit() => {
                    *number = number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
                    self.most = self.most.max(*number);
                }
                Some(_) if matches!(byte, b'=' | b'"' | b'\'' | b'+') || byte.is_ascii_whitespace() => {}
                digits => {
                    *digits = None;
                    self.letters = match CLAIM.get(self.letters) {
                        Some(letter) if letter == byte => self.letters + 1,
                        _ => usize::from(*byte == CLAIM[0]),
                    };
                    if self.letters == CLAIM.len() {
                        (self.letters, self.digits) = (0, Some(0));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_the_reader_ends_them() {
        let longest = |xml: &str| {
            let mut pieces = LongestPiece::default();
            xml.as_bytes().chunks(3).for_each(|chunk| pieces.add(chunk));
            pieces.longest
        };
        assert_eq!(longest("<a><b>12345</b></a>"), 6);
        assert_eq!(longest("<a><!--<b>]]>?></b>--></a>"), 18);
        assert_eq!(longest("<a><![CDATA[<b>--></b>]]></a>"), 21);
        assert_eq!(longest("<a><?x <b></b>?></a>"), 12);
    }

    #[test]
    fn claims_are_found_wherever_pieces_end() {
        for size in 1..20 {
            let mut claim = Claim::default();
            let xml = br#"<sst count="7" uuniqueCount = "123456789012" uniqueCount='12'>9</sst>"#;
            xml.chunks(size).for_each(|chunk| claim.add(chunk));
            assert_eq!(claim.most, 123_456_789_012);
        }
    }
}
