//! User dictionaries for jieba: `word [frequency] [tag]`, a word a line.
//!
//! Fields stand apart by spaces or tabs. A line that begins with `#` is a comment; a byte order mark, CRLF and blank lines
//! do no harm. Files in another encoding than UTF-8 (GB18030 and GBK, Big5, UTF-16 with its mark) are recognised, and
//! the report names what was read. A word without a frequency gets the one that just makes it a word of its own; a word of
//! frequency 0 is none any more and is cut apart, as in Python's jieba.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;
use serde::Serialize;

use super::characters::in_dictionary_block;

use inkstone_base::{bail, message};

/// A word for the segmenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryEntry {
    pub word: String,
    /// Frequency on the scale of jieba's dictionary (60 million words in all); `None` = just enough to be cut whole,
    /// 0 = to be cut apart.
    pub frequency: Option<usize>,
    /// Part of speech in jieba's tags (`n`, `vn`, `nz`); may be empty.
    pub tag: String,
}

impl DictionaryEntry {
    /// A word that is to be cut whole.
    pub fn word(word: &str) -> DictionaryEntry {
        DictionaryEntry { word: word.to_owned(), frequency: None, tag: String::new() }
    }
}

/// Report on a user dictionary that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DictionaryReport {
    /// The file, or the name of a built-in list.
    pub file: PathBuf,
    pub encoding: &'static str,
    pub words: usize,
    pub without_frequency: usize,
    /// Words that can never be found, with their lines: jieba cuts at the mark that they contain (`·`, `(`, `、`).
    pub unreachable: Vec<(usize, String)>,
}

/// Reads the dictionary in a file; `setting` names where the path was given.
pub(super) fn read(path: &Path, setting: &str) -> Result<(Vec<DictionaryEntry>, DictionaryReport)> {
    let (text, encoding) = read_text(path, setting)?;
    parse(&text, path, encoding)
}

/// Reads the dictionary in a file.
pub fn read_dictionary(path: &Path) -> Result<(Vec<DictionaryEntry>, DictionaryReport)> {
    read(path, "[tokenizer] dictionaries")
}

/// Parses a dictionary that came from `file`.
pub(super) fn parse(
    text: &str,
    file: &Path,
    encoding: &'static str,
) -> Result<(Vec<DictionaryEntry>, DictionaryReport)> {
    let mut entries = Vec::new();
    let mut unreachable = Vec::new();
    for (number, line) in lines(text) {
        let entry = parse_line(line)
            .with_context(|| message!("{}:{number}：{line:?}", "{}:{number}: {line:?}", file.display()))?;
        if !entry.word.chars().all(in_dictionary_block) {
            unreachable.push((number, entry.word.clone()));
        }
        entries.push(entry);
    }
    let report = DictionaryReport {
        file: file.to_owned(),
        encoding,
        words: entries.len(),
        without_frequency: entries.iter().filter(|e| e.frequency.is_none()).count(),
        unreachable,
    };
    Ok((entries, report))
}

/// The lines of a list that say something, trimmed, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn parse_line(line: &str) -> Result<DictionaryEntry> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (word, frequency, tag) = match fields[..] {
        [word] => (word, None, ""),
        [word, number] if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => (word, Some(number), ""),
        [word, tag] => (word, None, tag),
        [word, number, tag] => (word, Some(number), tag),
        _ => bail!(
            "应为 `词 [频率] [词性]`；词不能含空格，文本总在空格处切开",
            "expected `word [frequency] [tag]`; a word cannot contain spaces, text is always cut at them"
        ),
    };
    if !tag.chars().all(|c| c.is_ascii_alphanumeric()) {
        bail!(
            "{tag:?} 既不是频率（整数），也不是词性（拉丁字母，如 n 或 vn）",
            "{tag:?} is neither a frequency (a whole number) nor a tag (Latin letters, as n or vn)"
        );
    }
    let frequency = match frequency.map(|number| (number, number.parse::<usize>())) {
        None => None,
        Some((_, Ok(frequency))) if frequency <= 1_000_000_000 => Some(frequency),
        Some((number, _)) => bail!(
            "{number:?} 不是频率：请写整数，或不写由程序选定",
            "{number:?} is no frequency: a whole number, or nothing to have one chosen"
        ),
    };
    if frequency == Some(0) && word.chars().nth(1).is_none() {
        bail!("单个字不能再切开（频率 0）", "a single character cannot be cut apart (frequency 0)");
    }
    Ok(DictionaryEntry { word: word.to_owned(), frequency, tag: tag.to_owned() })
}

/// Reads a text file of unknown encoding; gives the text and the encoding's name.
pub(super) fn read_text(path: &Path, setting: &str) -> Result<(String, &'static str)> {
    let bytes = std::fs::read(path)
        .with_context(|| message!("无法读取 {}（{setting}）", "cannot read {} ({setting})", path.display()))?;
    let encoding = match Encoding::for_bom(&bytes) {
        Some((encoding, _)) => encoding,
        None if std::str::from_utf8(&bytes).is_ok() => encoding_rs::UTF_8,
        None => {
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
            detector.feed(&bytes, true);
            detector.guess(None, Utf8Detection::Deny)
        }
    };
    let (text, used, broken) = encoding.decode(&bytes);
    if broken {
        let line = 1 + text.split('\u{fffd}').next().unwrap_or_default().matches('\n').count();
        bail!(
            "{}:{line}：不是 {} 文本，而文件看似是该编码；请存为 UTF-8（{setting}）",
            "{}:{line}: not {} text, which the file seemed to be; save it as UTF-8 ({setting})",
            path.display(),
            used.name()
        );
    }
    Ok((text.into_owned(), used.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, Option<usize>, String)> {
        let (entries, _) = parse(text, Path::new("d.txt"), "UTF-8").unwrap();
        entries.into_iter().map(|e| (e.word, e.frequency, e.tag)).collect()
    }

    fn error(text: &str) -> String {
        format!("{:#}", parse(text, Path::new("d.txt"), "UTF-8").unwrap_err())
    }

    #[test]
    fn every_usual_shape_of_a_line_is_read() {
        let text = "\u{feff}# 注释\r\n商誉减值 50 n\r\n\r\n北向资金\r\n定增\tvn\r\n两融\u{3000}12\r\n";
        let expected =
            [("商誉减值", Some(50), "n"), ("北向资金", None, ""), ("定增", None, "vn"), ("两融", Some(12), "")];
        assert_eq!(entries(text), expected.map(|(w, f, t)| (w.to_owned(), f, t.to_owned())));
    }

    #[test]
    fn a_bad_line_is_named_by_file_and_number() {
        let spaces = error("定增\n可 转 债 12 n\n");
        assert!(spaces.starts_with("d.txt:2: ") && spaces.contains("cannot contain spaces"), "{spaces}");
        assert!(error("增 0").contains("cannot be cut apart"));
        assert!(error("定增 1.5 n").contains("\"1.5\" is no frequency"));
        assert!(error("定增 名词").contains("neither a frequency"));
    }

    #[test]
    fn words_that_no_cut_can_find_are_reported() {
        let (_, report) = parse("约翰·史密斯\nA股\nS&P500 3\n", Path::new("d.txt"), "UTF-8").unwrap();
        assert_eq!(report.unreachable, [(1, "约翰·史密斯".to_owned())]);
        assert_eq!((report.words, report.without_frequency), (3, 2));
    }

    #[test]
    fn lists_in_the_encodings_of_china_are_recognised_and_broken_bytes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.txt");
        let simplified = "非公开发行股票 10 n\n业绩预告修正公告\n融资融券余额 8 n\n";
        let traditional = "非公開發行股票 10 n\n業績預告修正公告\n融資融券餘額 8 n\n";
        let utf16: Vec<u8> =
            "\u{feff}".encode_utf16().chain(simplified.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for (bytes, text, name) in [
            (encoding_rs::GBK.encode(simplified).0.into_owned(), simplified, "GBK"),
            (encoding_rs::GBK.encode("定增 n\n两融\n").0.into_owned(), "定增 n\n两融\n", "GBK"),
            (encoding_rs::BIG5.encode(traditional).0.into_owned(), traditional, "Big5"),
            (utf16, simplified, "UTF-16LE"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let (read, encoding) = read_text(&path, "[tokenizer] dictionaries").unwrap();
            assert_eq!((read.as_str(), encoding), (text, name));
        }
        std::fs::write(&path, b"\xef\xbb\xbfok\nno\xff\n").unwrap();
        let error = read_text(&path, "[tokenizer] dictionaries").unwrap_err().to_string();
        assert!(error.contains("list.txt:2: not UTF-8"), "{error}");
    }
}
