//! Fitted models on disk: one file, whole or absent, with the kind of its model and the end of the data that trained it.
//!
//! Layout: the magic bytes `INKSTONE`, the version of this layout (u32), the length of the header (u32), the header as JSON,
//! then sections of plain bytes, each beginning at a multiple of 64. All numbers are little-endian. The header names the kind of the model,
//! the kind's own version, the last time of the data it was fitted on, its parameters, and each section's place, length and BLAKE3
//! key. The same model gives the same bytes.
//!
//! A section is read, and checked against its key, when it is first asked for. The file is not mapped: another program may change it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use bytemuck::Pod;
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Key;
use crate::disk;
use crate::language::Word;
use crate::{ensure, message};

#[cfg(target_endian = "big")]
compile_error!("the numbers of model files are little-endian");

const MAGIC: &[u8; 8] = b"INKSTONE";
const LAYOUT: u32 = 1;
const ALIGN: usize = 64;
/// Bytes before the header.
const PREFIX: usize = 16;

/// The header of a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// The kind of model: `ngram`, `tfidf`, `lsa`, ...
    pub kind: String,
    /// Version of this kind's sections.
    pub version: u32,
    /// The last time of the data it was fitted on; none when the data had no times.
    pub fitted_until: Option<NaiveDateTime>,
    /// Documents that it was fitted on.
    pub documents: u64,
    /// The parameters of the fit, the cutting of text included.
    pub params: Value,
}

#[derive(Serialize, Deserialize)]
struct StoredHeader {
    #[serde(flatten)]
    header: ModelHeader,
    sections: Vec<FileSection>,
}

#[derive(Serialize, Deserialize)]
struct FileSection {
    name: String,
    /// From the first section's beginning.
    offset: usize,
    length: usize,
    key: Key,
}

/// Writes a model: its header and named sections of bytes (`bytemuck::cast_slice` makes them of numbers).
pub fn write_model(path: &Path, header: &ModelHeader, sections: &[(&str, &[u8])]) -> Result<()> {
    let mut offset = 0;
    let places = sections.iter().map(|(name, bytes)| {
        let section = FileSection { name: (*name).to_owned(), offset, length: bytes.len(), key: Key::of(bytes) };
        offset = (offset + bytes.len()).next_multiple_of(ALIGN);
        section
    });
    let stored = StoredHeader { header: header.clone(), sections: places.collect() };
    let text = serde_json::to_vec(&stored)?;
    disk::write_atomic(path, |out| {
        out.write_all(MAGIC)?;
        out.write_all(&LAYOUT.to_le_bytes())?;
        out.write_all(
            &u32::try_from(text.len())
                .context(Word("模型的头部过长", "the header of a model is too long"))?
                .to_le_bytes(),
        )?;
        out.write_all(&text)?;
        pad(out, PREFIX + text.len())?;
        for (_, bytes) in sections {
            out.write_all(bytes)?;
            pad(out, bytes.len())?;
        }
        Ok(())
    })
}

fn pad(out: &mut impl Write, length: usize) -> Result<()> {
    Ok(out.write_all(&[0; ALIGN][..length.next_multiple_of(ALIGN) - length])?)
}

/// An open model file.
pub struct ModelFile {
    path: PathBuf,
    file: Mutex<File>,
    stored: StoredHeader,
    /// Offset of the first section.
    base: usize,
    /// The sections that were read, in the order of the header. As `u64` they are aligned for all numbers of up to 8 bytes.
    read: Vec<OnceLock<Vec<u64>>>,
}

impl ModelFile {
    /// Opens a model of any kind and reads its header; its sections must lie within the file.
    pub fn open(path: &Path) -> Result<ModelFile> {
        let cannot = || message!("无法读取 {}", "cannot read {}", path.display());
        let mut file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        let size = file.metadata().with_context(cannot)?.len() as usize;
        let broken =
            || message!("{} 不完整或已损坏；请重新训练", "{} is cut short or damaged; train it again", path.display());
        let mut prefix = Vec::new();
        (&file).take(PREFIX as u64).read_to_end(&mut prefix).with_context(cannot)?;
        ensure!(prefix.starts_with(MAGIC), "{} 不是本程序的模型", "{} is not a model of this program", path.display());
        let number = |at: usize| Some(u32::from_le_bytes(prefix.get(at..at + 4)?.try_into().ok()?));
        let layout = number(8).with_context(broken)?;
        ensure!(
            layout == LAYOUT,
            "{} 的布局为 {layout}，本版本读取布局 {LAYOUT}；请重新训练",
            "{} has layout {layout}, this version of the program reads layout {LAYOUT}; train it again",
            path.display()
        );
        let length = number(12).with_context(broken)? as usize;
        ensure!(length <= size, broken());
        let mut text = vec![0; length];
        file.read_exact(&mut text).with_context(broken)?;
        let stored: StoredHeader = serde_json::from_slice(&text).with_context(broken)?;
        let base = (PREFIX + length).next_multiple_of(ALIGN);
        for section in &stored.sections {
            let end = section.offset.checked_add(section.length).and_then(|end| end.checked_add(base));
            ensure!(end.is_some_and(|end| end <= size), broken());
        }
        let read = stored.sections.iter().map(|_| OnceLock::new()).collect();
        Ok(ModelFile { path: path.to_owned(), file: Mutex::new(file), stored, base, read })
    }

    /// Opens a model that must be of this kind and version.
    pub fn open_kind(path: &Path, kind: &str, version: u32) -> Result<ModelFile> {
        let file = ModelFile::open(path)?;
        file.expect(kind, version)?;
        Ok(file)
    }

    /// Fails when it is not of this kind and version.
    pub fn expect(&self, kind: &str, version: u32) -> Result<()> {
        let (header, path) = (self.header(), self.path.display());
        ensure!(
            header.kind == kind,
            "{path} 是 {} 类模型，不是 {kind}",
            "{path} is a model of kind {}, not {kind}",
            header.kind
        );
        ensure!(
            header.version == version,
            "{path} 是版本 {} 的 {kind} 模型，本版本读取版本 {version}；请重新训练",
            "{path} is a {kind} model of version {}, this version of the program reads version {version}; train it again",
            header.version
        );
        Ok(())
    }

    pub fn header(&self) -> &ModelHeader {
        &self.stored.header
    }

    /// Parameters of the model, read as `T`.
    pub fn params<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(self.header().params.clone()).with_context(|| {
            message!("{}：参数不是本版本的", "{}: the parameters are not those of this version", self.path.display())
        })
    }

    /// One of its parameters, read as `T`.
    pub fn param<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_value(self.header().params[name].clone()).with_context(|| {
            message!(
                "{}：参数 {name} 不是本版本的",
                "{}: the parameter {name} is not that of this version",
                self.path.display()
            )
        })
    }

    /// The bytes of a section. Fails if they are not those that were written.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        let found = self.stored.sections.iter().position(|section| section.name == name);
        let number = found.with_context(|| {
            message!("{} 没有 {name} 一节；请重新训练", "{} has no section {name}; train it again", self.path.display())
        })?;
        let length = self.stored.sections[number].length;
        let words = match self.read[number].get() {
            Some(words) => words,
            None => {
                let words = self.read_section(number)?;
                self.read[number].get_or_init(|| words)
            }
        };
        Ok(&bytemuck::cast_slice(words)[..length])
    }

    fn read_section(&self, number: usize) -> Result<Vec<u64>> {
        let section = &self.stored.sections[number];
        let mut words = vec![0_u64; section.length.div_ceil(8)];
        let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..section.length];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start((self.base + section.offset) as u64))
            .and_then(|_| file.read_exact(bytes))
            .with_context(|| message!("无法读取 {}", "cannot read {}", self.path.display()))?;
        ensure!(
            Key::of(bytes) == section.key,
            "{}：{} 一节已损坏；请重新训练",
            "{}: section {} is damaged; train it again",
            self.path.display(),
            section.name
        );
        Ok(words)
    }

    /// A section as numbers, in place.
    pub fn numbers<T: Pod>(&self, name: &str) -> Result<&[T]> {
        bytemuck::try_cast_slice(self.bytes(name)?).map_err(|error| {
            crate::error!(
                "{}：{name} 一节已损坏：“{error}”",
                "{}: section {name} is damaged: {error}",
                self.path.display()
            )
        })
    }

    /// A section of counts, whose sum fits in 64 bits.
    pub fn counts(&self, name: &str) -> Result<Vec<u64>> {
        let counts = self.numbers::<u64>(name)?;
        let sum = counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count));
        ensure!(
            sum.is_some(),
            "{}：{name} 一节已损坏；请重新训练",
            "{}: section {name} is damaged; train it again",
            self.path.display()
        );
        Ok(counts.to_vec())
    }

    /// A section that `pack_strings` made.
    pub fn strings(&self, name: &str) -> Result<Vec<&str>> {
        unpack_strings(self.bytes(name)?).with_context(|| {
            message!(
                "{}：{name} 一节已损坏；请重新训练",
                "{}: section {name} is damaged; train it again",
                self.path.display()
            )
        })
    }

    /// Reads every section, which checks it against its key.
    pub fn verify(&self) -> Result<()> {
        self.stored.sections.iter().try_for_each(|section| self.bytes(&section.name).map(drop))
    }
}

/// Strings as one section: their number, where each ends (u64), and their bytes.
pub fn pack_strings<'a>(strings: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let (mut ends, mut text) = (Vec::new(), Vec::new());
    for string in strings {
        text.extend_from_slice(string.as_bytes());
        ends.push(text.len() as u64);
    }
    let mut bytes = (ends.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(bytemuck::cast_slice(&ends));
    bytes.extend_from_slice(&text);
    bytes
}

fn unpack_strings(mut bytes: &[u8]) -> Option<Vec<&str>> {
    let mut number = || {
        let mut eight = [0; 8];
        bytes.read_exact(&mut eight).ok()?;
        Some(u64::from_le_bytes(eight) as usize)
    };
    let count = number()?;
    let ends: Vec<usize> = (0..count).map(|_| number()).collect::<Option<_>>()?;
    let text = std::str::from_utf8(bytes).ok()?;
    let mut start = 0;
    let strings = ends.into_iter().map(|end| text.get(std::mem::replace(&mut start, end)..end));
    strings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ModelHeader {
        ModelHeader {
            kind: "tfidf".into(),
            version: 3,
            fitted_until: None,
            documents: 2,
            params: serde_json::json!({"min_df": 1}),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.bin");
        let idf = [1.5f64, -2.0];
        let words = pack_strings(["增长", "", "减持"]);
        write_model(&path, &header(), &[("words", &words), ("idf", bytemuck::cast_slice(&idf))]).unwrap();
        let file = ModelFile::open_kind(&path, "tfidf", 3).unwrap();
        file.verify().unwrap();
        assert_eq!(file.header(), &header());
        assert_eq!(file.numbers::<f64>("idf").unwrap(), idf);
        assert_eq!(file.strings("words").unwrap(), ["增长", "", "减持"]);
        assert!(file.bytes("weights").unwrap_err().to_string().contains("no section weights"));
        assert!(file.numbers::<[u8; 7]>("idf").is_err());
    }

    #[test]
    fn a_file_that_another_program_writes_over_or_cuts_short_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.bin");
        let numbers: Vec<u64> = (0..100_000).collect();
        let sections: [(&str, &[u8]); 2] =
            [("a", bytemuck::cast_slice(&numbers)), ("b", bytemuck::cast_slice(&numbers))];
        let open = || {
            write_model(&path, &header(), &sections).unwrap();
            let file = ModelFile::open(&path).unwrap();
            assert_eq!(file.numbers::<u64>("a").unwrap(), numbers);
            file
        };
        let error_of = |file: &ModelFile| {
            assert_eq!(file.numbers::<u64>("a").unwrap(), numbers);
            format!("{:#}", file.bytes("b").unwrap_err())
        };
        let file = open();
        File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
        assert!(error_of(&file).contains("cannot read"));
        let file = open();
        let length = std::fs::metadata(&path).unwrap().len() as usize;
        std::fs::write(&path, vec![7; length]).unwrap();
        assert!(error_of(&file).contains("section b is damaged"));
    }

    #[test]
    fn other_kinds_other_versions_and_damage_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.bin");
        write_model(&path, &header(), &[("idf", &[7; 100])]).unwrap();
        let error_of = |kind, version| match ModelFile::open_kind(&path, kind, version) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(error_of("ngram", 3).contains("of kind tfidf, not ngram"));
        assert!(error_of("tfidf", 2).contains("version 3, this version of the program reads version 2"));
        let intact = std::fs::read(&path).unwrap();
        let mut damaged = intact.clone();
        let last = damaged.len() - 64;
        damaged[last] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let error = ModelFile::open(&path).unwrap().verify().unwrap_err().to_string();
        assert!(error.contains("section idf is damaged"), "{error}");
        for cut in [4, 14, 40, intact.len() - 100] {
            std::fs::write(&path, &intact[..cut]).unwrap();
            assert!(ModelFile::open(&path).is_err(), "{cut}");
        }
    }
}
