//! The formats of the C tool word2vec, which gensim, fastText and most others read and write.
//!
//! Both begin with a line of the number of words and of dimensions; text of the authors' GloVe has none. Text has a line a word: the
//! word, then its values, with spaces between. Binary has the word, a space, its values as little-endian f32, and often a line feed. Words hold no
//! space; one that would break the format is refused by its name.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Training, WordVectors};
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

/// Bytes of a word at the most; more is a sign of damage.
const LONGEST: usize = 1 << 16;
/// Bytes of a line at the most.
const LINE: u64 = limits::LINE as u64;

/// A format of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum VectorFormat {
    /// Text, a line a word (.vec, .txt).
    Text,
    /// Binary values after each word (.bin).
    Binary,
}

impl VectorFormat {
    /// The format by a file's name: binary for `.bin`, else text.
    pub fn by_name(path: &Path) -> VectorFormat {
        if path.extension().is_some_and(|e| e == "bin") { VectorFormat::Binary } else { VectorFormat::Text }
    }
}

impl WordVectors {
    /// Writes the vectors for other tools.
    pub fn export(&self, path: &Path, format: VectorFormat) -> Result<()> {
        if let Some(word) = self.words().iter().find(|word| word.is_empty() || word.contains([' ', '\t', '\n'])) {
            bail!(
                "词 {word:?} 不能写入 {}：该格式以空格分隔词",
                "the word {word:?} cannot be written to {}: the format parts words by blanks",
                path.display()
            );
        }
        disk::write_atomic(path, |out| {
            writeln!(out, "{} {}", self.words().len(), self.dim())?;
            for (word, vector) in self.words().iter().zip(self.values().chunks(self.dim())) {
                out.write_all(word.as_bytes())?;
                match format {
                    VectorFormat::Text => vector.iter().try_for_each(|value| write!(out, " {value}"))?,
                    VectorFormat::Binary => {
                        out.write_all(b" ")?;
                        out.write_all(bytemuck::cast_slice(vector))?;
                    }
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        })
    }
}

/// Bytes that tell what a file is.
const BEGINNING: usize = 256;

/// True if a file begins as these formats do: a line of two whole numbers, or a word and several numbers.
pub fn is_vectors(path: &Path) -> Result<bool> {
    let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let mut line = Vec::new();
    BufReader::new(file.take(BEGINNING as u64)).read_until(b'\n', &mut line)?;
    Ok(sizes(&line).is_some() || values(&line).is_some_and(|values| values > 1))
}

/// Numbers after the word of a line, which may be cut short within the last.
fn values(line: &[u8]) -> Option<usize> {
    let complete = line.ends_with(b"\n");
    let end = if complete { line.len() } else { line.iter().rposition(|&b| b == b' ')? };
    let mut fields = std::str::from_utf8(&line[..end]).ok()?.split_ascii_whitespace().skip(1);
    fields.try_fold(0, |n, field| field.parse::<f32>().ok().map(|_| n + 1))
}

fn sizes(line: &[u8]) -> Option<(usize, usize)> {
    let mut numbers = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?.split_ascii_whitespace();
    let sizes = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    numbers.next().is_none().then_some(sizes)
}

/// Reads vectors in either format, found out by its first vector.
pub fn read_vectors(path: &Path) -> Result<WordVectors> {
    let shown = path.display();
    let file = File::open(path).with_context(|| message!("无法打开 {shown}", "cannot open {shown}"))?;
    let bytes = file.metadata()?.len();
    let mut input = BufReader::with_capacity(1 << 20, file);
    let mut line = Vec::new();
    input
        .by_ref()
        .take(LINE)
        .read_until(b'\n', &mut line)
        .with_context(|| message!("无法读取 {shown}", "cannot read {shown}"))?;
    let (count, dim) = match sizes(&line) {
        Some((count, dim)) => (Some(count), dim),
        None => (None, values(&line).filter(|&dim| dim > 1).unwrap_or(0)),
    };
    ensure!(
        count.is_some() || dim > 0,
        "{shown} 第 1 行：应为 word2vec 格式的词数与维数，或一个词及其值",
        "{shown}, line 1: expected the number of words and of dimensions of word2vec's formats, or a word and its values"
    );
    ensure!(
        count != Some(0) && dim > 0,
        "{shown} 说有 {} 个 {dim} 维的词",
        "{shown} says that it has {} words of {dim} dimensions",
        count.unwrap_or(0)
    );
    // At the least a byte and a space for the word, and a digit and a space for a value.
    let least = (dim as u64).saturating_mul(2).saturating_add(2).saturating_mul(count.unwrap_or(1) as u64);
    ensure!(
        least <= bytes.saturating_mul(2),
        "{shown} 说有 {} 个 {dim} 维的词，但提前结束",
        "{shown} says that it has {} words of {dim} dimensions, but ends before",
        count.unwrap_or(1)
    );
    // Without sizes the first line is a vector itself.
    let mut input = Cursor::new(if count.is_none() { line } else { Vec::new() }).chain(input);
    let format = if count.is_some() { look(input.fill_buf()?, dim) } else { VectorFormat::Text };
    let mut words: Vec<Box<str>> = Vec::with_capacity(count.unwrap_or(0));
    let mut values: Vec<f32> = Vec::with_capacity(count.unwrap_or(0) * dim);
    loop {
        let i = words.len();
        if count == Some(i) || (count.is_none() && input.fill_buf()?.is_empty()) {
            break;
        }
        let of_total = count.map_or(String::new(), |count| format!(" of {count}"));
        let place = || {
            message!(
                "{shown} 第 {} 个词{of_total}（{format:?} 格式）",
                "{shown}, word {}{of_total} ({format:?} format)",
                i + 1
            )
        };
        let word = match format {
            VectorFormat::Text => text_row(&mut input, dim, &mut values),
            VectorFormat::Binary => binary_row(&mut input, dim, &mut values),
        };
        words.push(word.with_context(place)?);
        let row = &values[i * dim..];
        ensure!(
            row.iter().all(|v| v.is_finite()),
            "{}：{:?} 有值不是数",
            "{}: {:?} has a value that is no number",
            place(),
            words[i]
        );
    }
    let training = Training { params: serde_json::json!({"file": shown.to_string()}), ..Training::default() };
    WordVectors::new(words, Vec::new(), dim, values, training).with_context(|| shown.to_string())
}

/// Text when the first line has a word and `dim` numbers.
fn look(bytes: &[u8], dim: usize) -> VectorFormat {
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let complete = line.len() < bytes.len();
    let Ok(line) = std::str::from_utf8(line) else { return VectorFormat::Binary };
    let line = line.trim_end_matches('\r');
    let numbers: Vec<&str> = line.split([' ', '\t']).skip(1).filter(|field| !field.is_empty()).collect();
    let fits = numbers.len() == dim || (!complete && numbers.len() <= dim);
    // The last of a line that was cut short may be cut too.
    let read = if complete { &numbers[..] } else { &numbers[..numbers.len().saturating_sub(1)] };
    if fits && read.iter().all(|field| field.parse::<f32>().is_ok()) {
        VectorFormat::Text
    } else {
        VectorFormat::Binary
    }
}

fn text_row(input: &mut impl BufRead, dim: usize, values: &mut Vec<f32>) -> Result<Box<str>> {
    let mut line = String::new();
    input.by_ref().take(LINE).read_line(&mut line).context(Word("它不是 UTF-8", "it is not UTF-8"))?;
    ensure!(!line.is_empty(), "文件在它之前结束", "the file ends before it");
    let mut fields = line.trim_end_matches(['\r', '\n']).split([' ', '\t']);
    let word = fields.next().unwrap_or_default();
    let start = values.len();
    for field in fields.filter(|field| !field.is_empty()) {
        values.push(field.parse().ok().with_context(|| message!("{field:?} 不是数字", "{field:?} is not a number"))?);
    }
    let found = values.len() - start;
    ensure!(found == dim, "{word:?} 有 {found} 个值，而不是 {dim} 个", "{word:?} has {found} values, not {dim}");
    Ok(word.into())
}

fn binary_row(input: &mut impl BufRead, dim: usize, values: &mut Vec<f32>) -> Result<Box<str>> {
    let mut word = Vec::new();
    // A line feed after the last vector belongs to no word.
    while input.fill_buf()?.first() == Some(&b'\n') {
        input.consume(1);
    }
    input.by_ref().take(LONGEST as u64).read_until(b' ', &mut word)?;
    ensure!(word.pop() == Some(b' '), "文件在它之前结束，或已损坏", "the file ends before it, or it is damaged");
    let word = String::from_utf8(word)
        .ok()
        .context(Word("词不是 UTF-8，或文件已损坏", "the word is not UTF-8, or the file is damaged"))?;
    let start = values.len();
    values.resize(start + dim, 0.0);
    input
        .read_exact(bytemuck::cast_slice_mut(&mut values[start..]))
        .context(Word("文件在它的值中间结束", "the file ends within its values"))?;
    Ok(word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors() -> WordVectors {
        let words = ["增长", "a", "减持"].map(Box::from).to_vec();
        let values = vec![0.1, -2.5e-8, 3.0, 0.0, 1.0 / 3.0, 7e20];
        WordVectors::new(words, vec![5, 4, 3], 2, values, Training::default()).unwrap()
    }

    #[test]
    fn both_formats_give_back_the_same_bits() {
        let dir = tempfile::tempdir().unwrap();
        for (name, format) in [("m.vec", VectorFormat::Text), ("m.bin", VectorFormat::Binary)] {
            let path = dir.path().join(name);
            assert_eq!(VectorFormat::by_name(&path), format);
            vectors().export(&path, format).unwrap();
            assert!(is_vectors(&path).unwrap());
            let read = read_vectors(&path).unwrap();
            assert_eq!((read.words(), read.values()), (vectors().words(), vectors().values()), "{name}");
        }
        // gensim's binary files have no line feed after a vector.
        let path = dir.path().join("g.bin");
        let mut bytes = b"2 1\n".to_vec();
        for (word, value) in [("增", 0.5f32), ("减", f32::from_bits(0x0a0a_0a0a))] {
            bytes.extend(word.as_bytes());
            bytes.push(b' ');
            bytes.extend(value.to_le_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read_vectors(&path).unwrap().values(), [0.5, f32::from_bits(0x0a0a_0a0a)]);
    }

    #[test]
    fn text_without_sizes_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("glove.txt");
        let long: String = (0..300).map(|i| format!(" {}", f64::from(i) - 0.5)).collect();
        for (text, dim, words) in
            [("增长 0.1 -2.5e-8\n减持 3 0\n<unk> 1 2".to_owned(), 2, 3), (format!("增长{long}\n减持{long}\n"), 300, 2)]
        {
            std::fs::write(&path, &text).unwrap();
            assert!(is_vectors(&path).unwrap());
            let read = read_vectors(&path).unwrap();
            assert_eq!((read.dim(), read.words().len()), (dim, words));
            assert_eq!(&*read.words()[1], "减持");
        }
        std::fs::write(&path, "增长 1 2\n减持 1\n").unwrap();
        let error = format!("{:#}", read_vectors(&path).unwrap_err());
        assert!(error.contains("word 2 (Text format)") && error.contains("1 values, not 2"), "{error}");
        for other in ["公司 增长\n", "公司 2024\n", "\\data\\\nngram 1=2\n"] {
            std::fs::write(&path, other).unwrap();
            assert!(!is_vectors(&path).unwrap(), "{other}");
        }
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let error_of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            format!("{:#}", read_vectors(&path).unwrap_err())
        };
        assert!(error_of(b"x y\n").contains("line 1"));
        assert!(error_of(b"0 4\n").contains("0 words"));
        assert!(error_of(b"9999999 300\nw 1\n").contains("ends before"));
        let short = error_of("2 2\n增长 1 2\n减持 1\n".as_bytes());
        assert!(short.contains("word 2 of 2") && short.contains("1 values, not 2"), "{short}");
        assert!(error_of("2 2\n增长 1 2\n减持 1 x\n".as_bytes()).contains("\"x\" is not a number"));
        assert!(error_of("2 1\n增长 1\n增长 1\n".as_bytes()).contains("more than one vector"));
        assert!(error_of("1 1\n增长 NaN\n".as_bytes()).contains("no number"));
        vectors().export(&path, VectorFormat::Binary).unwrap();
        let intact = std::fs::read(&path).unwrap();
        let cut = error_of(&intact[..intact.len() - 5]);
        assert!(cut.contains("word 3 of 3") && cut.contains("ends within"), "{cut}");
        let mut spaced = vectors();
        spaced.words[1] = "a b".into();
        assert!(spaced.export(&path, VectorFormat::Text).unwrap_err().to_string().contains("a b"));
    }
}
