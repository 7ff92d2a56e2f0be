//! The user's word lists: files of one side or of both, checked against each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::Serialize;

use super::shapes::{self, Shaped};
use super::{Kind, Role};
use inkstone_base::encoding::decode_whole;
use inkstone_base::{bail, ensure, message};

/// Refused lines that a report names at the most.
const NAMED: usize = 20;

/// The report on a word list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListReport {
    pub file: PathBuf,
    pub encoding: &'static str,
    /// Shape of the list, in words.
    pub shape: &'static str,
    pub words: usize,
    /// Lines set aside, by reason.
    pub refused: BTreeMap<&'static str, usize>,
    /// The first of these, with their numbers.
    pub refused_lines: Vec<(usize, &'static str)>,
    /// The last time of the data that the list was learned from, if it says so.
    pub fitted_until: Option<NaiveDateTime>,
}

/// The sides that a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Positive,
    Negative,
    Both,
}

/// Words gathered from the user's lists.
#[derive(Default)]
pub(super) struct UserLists {
    words: BTreeMap<String, Word>,
    pub(super) reports: Vec<ListReport>,
}

struct Word {
    /// Above 0 for a good word.
    weight: f32,
    /// True if it is one word, not a phrase.
    one: bool,
    /// Number of the file, number of the line.
    at: (usize, usize),
}

impl UserLists {
    pub(super) fn read(&mut self, path: &Path, side: Side) -> Result<()> {
        let name = path.display();
        let bytes =
            std::fs::read(path).with_context(|| message!("无法读取词表 {name}", "cannot read the word list {name}"))?;
        ensure!(
            !bytes.starts_with(b"PK\x03\x04"),
            "词表 {name} 是电子表格或压缩包；请存为 CSV 或文本",
            "the word list {name} is a spreadsheet or an archive; save it as CSV or text"
        );
        let (text, encoding) = decode_whole(&bytes).with_context(|| message!("词表 {name}", "the word list {name}"))?;
        let mut shaped = shapes::read(&text).with_context(|| message!("词表 {name}", "the word list {name}"))?;
        self.check_side(path, side, &shaped)?;
        let lines = std::mem::take(&mut shaped.lines);
        let (file, total) = (self.reports.len(), lines.len() + shaped.refused.len());
        let mut words = 0;
        for line in lines {
            let (number, weight) = (line.number, line.weight);
            let weight = match side {
                // Some lists of negative words carry their weights below 0: the list decides the sign.
                Side::Positive => weight.unwrap_or(1.0).abs(),
                Side::Negative => -weight.unwrap_or(1.0).abs(),
                Side::Both => match weight {
                    Some(weight) => weight,
                    None => {
                        shaped.refused.push((number, "no weight that tells its side"));
                        continue;
                    }
                },
            };
            if weight == 0.0 {
                shaped.refused.push((number, "the weight is 0"));
                continue;
            }
            let joined: String = line.word.split_whitespace().collect();
            let one = joined.len() == line.word.len();
            match self.words.get(&joined) {
                Some(old) if (old.weight > 0.0) != (weight > 0.0) => {
                    bail!(
                        "{:?} 在 {} 是正面词，在 {} 是负面词：请从其一去掉",
                        "{:?} is a positive word at {} and a negative one at {}: remove it from one of them",
                        joined,
                        self.place(if old.weight > 0.0 { old.at } else { (file, number) }, path),
                        self.place(if old.weight > 0.0 { (file, number) } else { old.at }, path)
                    );
                }
                Some(old) if old.weight != weight => shaped.refused.push((number, "stands before with another weight")),
                Some(_) => shaped.refused.push((number, "stands before")),
                None => {
                    words += 1;
                    self.words.insert(joined, Word { weight, one, at: (file, number) });
                }
            }
        }
        let mut refused = BTreeMap::new();
        shaped.refused.sort_unstable();
        shaped.refused.iter().for_each(|(_, reason)| *refused.entry(*reason).or_default() += 1);
        shaped.refused.truncate(NAMED);
        let broken: usize = refused.iter().filter(|(reason, _)| !reason.starts_with("stands")).map(|(_, n)| n).sum();
        if total > 0 && 2 * broken > total {
            let (number, reason) = shaped.refused[0];
            bail!(
                "词表 {name} 的 {total} 行中有 {broken} 行无法使用，首先是第 {number} 行：{reason}；每行一个词，或以制表符、逗号、空格隔开的词与权重；表格须有表头（word、weight、polarity）",
                "{broken} of the {total} lines of the word list {name} cannot be used, the first at line {number}: {reason}; a line is a word, or word and weight apart by a tab, a comma or a blank; tables have a header (word, weight, polarity)"
            );
        }
        self.reports.push(ListReport {
            file: path.to_owned(),
            encoding,
            shape: shaped.shape,
            words,
            refused,
            refused_lines: shaped.refused,
            fitted_until: shaped.fitted_until,
        });
        Ok(())
    }

    fn check_side(&self, path: &Path, side: Side, shaped: &Shaped) -> Result<()> {
        let name = path.display();
        if let (Some(column), Side::Positive | Side::Negative) = (&shaped.polarity, side) {
            bail!(
                "词表 {name} 以 {column:?} 列区分正负：请写在 signed 下",
                "the word list {name} tells good from bad by its column {column:?}: name it under signed"
            );
        }
        let weights = || shaped.lines.iter().filter_map(|line| line.weight);
        ensure!(
            side != Side::Both || shaped.polarity.is_some() || weights().any(|w| w < 0.0),
            "词表 {name} 没有负权重，也没有极性列，只含一边：请写在 positive 或 negative 下",
            "the word list {name} has no weight below 0 and no column of polarities, so it holds one side: name it under positive or negative"
        );
        Ok(())
    }

    fn place(&self, (file, line): (usize, usize), current: &Path) -> String {
        let path = self.reports.get(file).map_or(current, |report| &report.file);
        format!("{}:{line}", path.display())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The last time of the data that any of the lists was learned from.
    pub(super) fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.reports.iter().filter_map(|report| report.fitted_until).max()
    }

    /// The words with their roles; the flag tells whether an entry is one word.
    pub(super) fn roles(self) -> impl Iterator<Item = (String, (Role, bool))> {
        let role = |weight| Role::Tone { weight, kind: Kind::Plain };
        self.words.into_iter().map(move |(text, word)| (text, (role(word.weight), word.one)))
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, GBK};

    use super::*;
    use crate::lexicon::{Lexicon, LexiconParams};

    /// A lexicon of these files alone: name, content, and the setting that names it.
    fn lexicon(files: &[(&str, &[u8], &str)]) -> Result<Lexicon> {
        let dir = tempfile::tempdir().unwrap();
        let mut params = LexiconParams { builtin: false, ..LexiconParams::default() };
        for (name, content, setting) in files {
            std::fs::write(dir.path().join(name), content).unwrap();
            match *setting {
                "positive" => params.positive.push(name.into()),
                "negative" => params.negative.push(name.into()),
                _ => params.signed.push(name.into()),
            }
        }
        Lexicon::new(&params, dir.path())
    }

    fn error_of(files: &[(&str, &[u8], &str)]) -> String {
        format!("{:#}", lexicon(files).unwrap_err())
    }

    fn weight(lexicon: &Lexicon, word: &str) -> Option<f32> {
        lexicon.explain(&[word]).first().map(|hit| hit.weight)
    }

    #[test]
    fn lists_in_the_encodings_of_china_weigh_the_tone() {
        let simplified = "业绩向好\t2\n订单激增\n产销两旺\n".to_owned();
        let traditional = "營收創新高\n獲利攀升\n訂單滿載\n".to_owned();
        let utf16: Vec<u8> = "\u{feff}债务爆雷 -3\n资金链断裂 -2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let found = lexicon(&[
            ("a.txt", &GBK.encode(&simplified).0, "positive"),
            ("b.txt", &BIG5.encode(&traditional).0, "positive"),
            ("c.txt", &utf16, "signed"),
        ])
        .unwrap();
        let weights = ["业绩向好", "营收创新高", "獲利攀升", "资金链断裂"].map(|word| weight(&found, word));
        assert_eq!(weights, [Some(2.0), None, Some(1.0), Some(-2.0)]);
        let encodings: Vec<&str> = found.lists().iter().map(|list| list.encoding).collect();
        assert_eq!(encodings, ["gb18030", "Big5", "UTF-16LE"]);
        // (2 x 1 - 3) / (2 + 3): weights enter the tone.
        let tone = found.tone(&["业绩向好", "，", "债务爆雷"]);
        assert!((tone.tone + 0.2).abs() < 1e-6, "{tone:?}");
    }

    #[test]
    fn a_list_of_both_sides_is_told_by_signs_or_polarities() {
        let table = "词语,强度,极性\n走强,3,正面\n走弱,2,负面\n";
        let found =
            lexicon(&[("t.csv", table.as_bytes(), "signed"), ("b.txt", "暴雷 -4.5\n爆发 1.5\n".as_bytes(), "signed")])
                .unwrap();
        let weights = ["走强", "走弱", "暴雷", "爆发"].map(|word| weight(&found, word));
        assert_eq!(weights, [Some(3.0), Some(-2.0), Some(-4.5), Some(1.5)]);
        assert!(error_of(&[("t.csv", table.as_bytes(), "positive")]).contains("\"极性\": name it under signed"));
        assert!(error_of(&[("p.txt", "走强 1\n".as_bytes(), "signed")]).contains("holds one side"));
    }

    #[test]
    fn what_was_refused_is_told_by_line() {
        let text = "走强\n走弱\t高\n走强\n走强\t2\n回暖\t0\n攀升\n跃升\n新高\n";
        let found = lexicon(&[("p.txt", text.as_bytes(), "positive")]).unwrap();
        let list = &found.lists()[0];
        let refused = [
            (2, "the weight is not a number"),
            (3, "stands before"),
            (4, "stands before with another weight"),
            (5, "the weight is 0"),
        ];
        assert_eq!((list.words, list.refused_lines.as_slice()), (4, &refused[..]));
        assert_eq!(list.refused["stands before"], 1);
        let broken = error_of(&[("p.txt", "走强\n走弱\t高\n回暖\t低\n".as_bytes(), "positive")]);
        assert!(broken.contains("2 of the 3 lines") && broken.contains("line 2"), "{broken}");
    }

    #[test]
    fn a_word_on_both_sides_is_named_with_its_places() {
        let error = error_of(&[
            ("good.txt", "走强\n爆发\n".as_bytes(), "positive"),
            ("bad.txt", "爆发\n".as_bytes(), "negative"),
        ]);
        assert!(error.contains("\"爆发\" is a positive word at") && error.contains("good.txt:2"), "{error}");
        assert!(error.contains("bad.txt:1") && error.contains("remove it from one"), "{error}");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(error_of(&[("x.xlsx", b"PK\x03\x04...", "positive")]).contains("save it as CSV"));
        assert!(
            error_of(&[("x.bin", b"\x81\x20\xff\xff\x80\x80\xff\xfe\x81", "positive")]).contains("save it as UTF-8")
        );
        assert!(
            error_of(&[(
                "half.txt",
                "\u{feff}走强\n".as_bytes().iter().chain(b"\xff\n").copied().collect::<Vec<u8>>().as_slice(),
                "positive"
            )])
            .contains("line 2 is not UTF-8")
        );
        assert!(error_of(&[("empty.txt", b"# \n", "positive")]).contains("hold none"));
    }

    #[test]
    fn a_learned_list_tells_the_lexicon_until_when() {
        let learned = "# fitted_until: 2024-03-01 15:00:00\n走强\n";
        let found =
            lexicon(&[("p.txt", learned.as_bytes(), "positive"), ("n.txt", "走弱\n".as_bytes(), "negative")]).unwrap();
        assert_eq!(found.fitted_until().unwrap().to_string(), "2024-03-01 15:00:00");
    }
}
