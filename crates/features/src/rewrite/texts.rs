//! Texts that models wrote, kept by content, so that a run that was killed, or whose corpus grew, writes only those that are new.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;

/// A text that a model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WrittenText {
    /// Key of the document, the model and its settings.
    pub(super) source: Key,
    pub(super) text: String,
}

/// The texts in a folder: sealed files of some texts each, named by the keys of their texts.
pub(super) struct WrittenTexts {
    folder: PathBuf,
    files: Vec<PathBuf>,
    /// The file of each text, by the key of its source.
    places: FxHashMap<Key, u32>,
}

impl WrittenTexts {
    /// Reads the keys of all kept texts. Damaged files are removed: their texts are written again.
    pub(super) fn open(folder: &Path) -> Result<WrittenTexts> {
        let mut texts = WrittenTexts { folder: folder.to_owned(), files: Vec::new(), places: FxHashMap::default() };
        for file in disk::files_in(folder, "json")? {
            if !file.file_stem().and_then(|stem| stem.to_str()).is_some_and(Key::is_hex) {
                continue;
            }
            match disk::read_json_if_whole::<Vec<WrittenText>>(&file)? {
                Some(written) => texts.add(file, &written),
                None => disk::remove_if_there(&file)?,
            }
        }
        Ok(texts)
    }

    fn add(&mut self, file: PathBuf, written: &[WrittenText]) {
        let number = self.files.len() as u32;
        self.files.push(file);
        self.places.extend(written.iter().map(|text| (text.source, number)));
    }

    pub(super) fn has(&self, source: Key) -> bool {
        self.places.contains_key(&source)
    }

    /// Keeps some texts, all or none of them.
    pub(super) fn write(&mut self, written: &[WrittenText]) -> Result<()> {
        let name = Key::of_parts(written.iter().map(|text| text.source.0.as_slice()));
        let file = self.folder.join(format!("{}.json", name.hex()));
        disk::make_dir(&self.folder)?;
        disk::write_json(&file, &written)?;
        self.add(file, written);
        Ok(())
    }

    /// The texts of these sources, by source; all must be there.
    pub(super) fn read(&self, sources: impl IntoIterator<Item = Key>) -> Result<BTreeMap<Key, String>> {
        let mut by_file: BTreeMap<u32, Vec<Key>> = BTreeMap::new();
        for source in sources {
            let file = self
                .places
                .get(&source)
                .context(Word("写出的文本已不再保留", "a text that was written is no longer kept"))?;
            by_file.entry(*file).or_default().push(source);
        }
        let mut found = BTreeMap::new();
        for (file, mut sources) in by_file {
            sources.sort_unstable();
            let written: Vec<WrittenText> = disk::read_json(&self.files[file as usize])?;
            let wanted = written.into_iter().filter(|text| sources.binary_search(&text.source).is_ok());
            found.extend(wanted.map(|text| (text.source, text.text)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_again_and_damaged_files_are_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("written");
        let text = |name: &str| WrittenText { source: Key::of(name.as_bytes()), text: format!("摘要{name}") };
        let mut texts = WrittenTexts::open(&folder).unwrap();
        texts.write(&[text("a"), text("b")]).unwrap();
        texts.write(&[text("c")]).unwrap();
        std::fs::write(folder.join("notes.json"), "of the user").unwrap();
        let texts = WrittenTexts::open(&folder).unwrap();
        let read = texts.read([text("c").source, text("a").source]).unwrap();
        assert_eq!(read, [text("a"), text("c")].map(|text| (text.source, text.text)).into());
        let file = texts.files[texts.places[&text("a").source] as usize].clone();
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 4]).unwrap();
        let texts = WrittenTexts::open(&folder).unwrap();
        assert_eq!([text("a"), text("b"), text("c")].map(|text| texts.has(text.source)), [false, false, true]);
        assert!(!file.exists() && folder.join("notes.json").exists());
        assert!(texts.read([text("b").source]).is_err());
    }
}
