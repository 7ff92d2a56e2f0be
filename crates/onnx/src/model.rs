//! A graph with its tokenizer: windows of text in, outputs of the graph out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};

use super::family::{Config, Family};
use super::graph::{Role, roles};
use super::header::Header;
use super::params::OnnxParams;
use super::runtime::{Device, Runtime};
use super::session::{Feed, Given, Outputs, Session};
use super::windows::{OpenWordCutter, Tokenizer, Windows};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_text::subword::Subword;

pub(crate) struct Files {
    pub model: PathBuf,
    pub folder: PathBuf,
    pub tokenizer: PathBuf,
}

impl Files {
    /// Those that settings name, relative to `base`.
    pub(crate) fn new(params: &OnnxParams, base: &Path, names: &[&str]) -> Result<Files> {
        let tokenizer = match params.tokenizer.as_os_str().is_empty() {
            true => PathBuf::new(),
            false => base.join(&params.tokenizer),
        };
        Files::find(&base.join(&params.model), &tokenizer, names)
    }

    /// Finds the file of the graph, called one of `names` in a folder, and the tokenizer.
    fn find(model: &Path, tokenizer: &Path, names: &[&str]) -> Result<Files> {
        let (file, folder) = match model.is_dir() {
            true => (Files::in_folder(model, names)?, model.to_owned()),
            false => {
                let shown = model.display();
                ensure!(model.exists(), "there is no model {shown}: name the folder of an export, or its file .onnx");
                (model.to_owned(), model.parent().map(Path::to_owned).unwrap_or_default())
            }
        };
        let tokenizer = if tokenizer.as_os_str().is_empty() { folder.clone() } else { tokenizer.to_owned() };
        Ok(Files { model: file, folder, tokenizer })
    }

    /// Hash of all that rows of the model depend on, by content: the graph and all files of weights that it names; the tokenizer,
    /// config.json and every other JSON, text or SentencePiece file beside either. Folders may be moved.
    pub(crate) fn key(&self) -> Result<Key> {
        let beside = Header::read(&self.model)?.beside;
        let weights = beside.into_iter().map(|name| (format!("weights {}", name.display()), self.folder.join(name)));
        let mut files: BTreeMap<String, PathBuf> = weights.collect();
        files.insert("graph".into(), self.model.clone());
        if self.tokenizer.is_file() {
            files.insert("tokenizer".into(), self.tokenizer.clone());
        }
        let of_tokenizer = if self.tokenizer.is_dir() { &self.tokenizer } else { disk::folder_of(&self.tokenizer) };
        for (part, folder) in [("model", disk::folder_of(&self.model)), ("tokenizer", of_tokenizer)] {
            for extension in ["json", "txt", "model"] {
                for file in disk::files_in(folder, extension)?.into_iter().filter(|file| file.is_file()) {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    files.insert(format!("{part} {name}"), file);
                }
            }
        }
        let keys = files.into_iter().map(|(name, file)| Ok((name, disk::hash_file(&file)?)));
        Ok(Key::of_json(&keys.collect::<Result<Vec<(String, Key)>>>()?))
    }

    /// The graph of a folder: one of these names, or the only one that there is.
    pub(crate) fn in_folder(folder: &Path, names: &[&str]) -> Result<PathBuf> {
        let named = names.iter().map(|name| folder.join(name)).find(|file| file.exists());
        let only = || {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut files = files.filter(|file| file.extension().is_some_and(|end| end == "onnx"));
            files.next().filter(|_| files.next().is_none())
        };
        named.or_else(only).with_context(|| format!("the folder {} holds no {}", folder.display(), names.join(" or ")))
    }
}

/// Library, device and folder with which a model is opened.
pub struct Opening<'a> {
    pub runtime: &'static Runtime,
    pub device: Device,
    pub threads: usize,
    /// Folder that relative paths are relative to.
    pub base: &'a Path,
}

/// A graph with its tokenizer, family and configuration.
pub(crate) struct Model {
    pub session: Session,
    pub tokenizer: Arc<Tokenizer>,
    pub family: Family,
    pub config: Config,
    pub roles: Vec<Role>,
    key: Key,
}

impl Model {
    /// Opens the graph of these files; `words` says how models of words have their text cut.
    pub(crate) fn open(files: &Files, words: OpenWordCutter<'_>, opening: &Opening<'_>) -> Result<Model> {
        let config = Config::read(&files.folder)?;
        let session = Session::open(&files.model, opening.runtime, opening.device, opening.threads)?;
        let roles = roles(&files.model, session.inputs())?;
        let tokenizer = if roles.contains(&Role::Characters) {
            Tokenizer::Characters(words()?)
        } else if config.model_type == "elmo" {
            let list = &files.tokenizer;
            Tokenizer::Words(
                Subword::words(&if list.is_dir() { list.join("vocab.txt") } else { list.clone() })?,
                words()?,
            )
        } else {
            Tokenizer::Pieces(Subword::open(&files.tokenizer)?)
        };
        if let (Some(subword), Some(size)) = (tokenizer.subword(), config.vocab_size) {
            ensure!(
                subword.size() <= size,
                "the tokenizer {} knows {} tokens, and {} has vectors for {size}: they are not of the same model",
                files.tokenizer.display(),
                subword.size(),
                files.model.display()
            );
        }
        let family = Family::new(&config, tokenizer.subword().and_then(Subword::pad_id));
        Ok(Model { session, tokenizer: Arc::new(tokenizer), family, config, roles, key: files.key()? })
    }

    /// True if it goes on from what a decoder is given.
    pub(crate) fn decodes(&self) -> bool {
        self.roles.iter().any(|role| matches!(role, Role::EncoderStates | Role::EncoderMask))
    }

    /// The size that the graph fixes for an axis of its tokens, where it does.
    pub(crate) fn fixed(&self, axis: usize) -> Option<usize> {
        let mut inputs = self.roles.iter().zip(self.session.inputs());
        let tokens = inputs.find(|(role, _)| matches!(role, Role::Ids | Role::Characters))?;
        usize::try_from(tokens.1.shape[axis]).ok()
    }

    /// The hash of all content that the outputs depend on.
    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// Runs windows in so many rows of `width` tokens; `memory` is the memory of the segment before.
    #[expect(clippy::too_many_arguments, reason = "a shape, a memory and what is read are one call of a graph")]
    pub(crate) fn run<T>(
        &mut self,
        windows: &Windows,
        batch: &[usize],
        [rows, width]: [usize; 2],
        memory: &[Given<'static>],
        wanted: &[&str],
        ctx: &Ctx,
        read: impl FnOnce(&Outputs<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let shape = [rows, width];
        let feeds = self.roles.iter().zip(self.session.inputs()).map(|(role, port)| {
            let filled = |fill: i64, value: &dyn Fn(usize, usize) -> i64| {
                let mut values = vec![fill; rows * width];
                self.each_token(windows, batch, width, |row, place, window, token| {
                    values[row * width + place] = value(window, token);
                });
                values
            };
            let numbers = |window: usize, token: usize| i64::from(windows.numbers(&windows.windows[window])[token]);
            Ok(match role {
                Role::Ids => Feed::Integers(shape.to_vec(), filled(self.family.pad, &numbers)),
                Role::Mask => Feed::Integers(shape.to_vec(), filled(0, &|_, _| 1)),
                Role::Types => {
                    let types = |window: usize, token: usize| i64::from(windows.types(&windows.windows[window])[token]);
                    Feed::Integers(shape.to_vec(), filled(self.family.pad_type, &types))
                }
                Role::Positions => Feed::Integers(shape.to_vec(), filled(0, &|_, token| token as i64)),
                Role::PairMask => {
                    let mask = filled(0, &|_, _| 1);
                    let mut pairs = Vec::with_capacity(rows * width * width);
                    for row in mask.chunks(width) {
                        row.iter().for_each(|from| pairs.extend(row.iter().map(|to| from * to)));
                    }
                    let mut shape = vec![rows, width, width];
                    if port.rank() == 4 {
                        shape.insert(1, 1);
                    }
                    Feed::Integers(shape, pairs)
                }
                Role::Characters => {
                    let size = self.tokenizer.width();
                    let mut values = vec![0; rows * width * size];
                    self.each_token(windows, batch, width, |row, place, window, token| {
                        let numbers = &windows.numbers(&windows.windows[window])[token * size..(token + 1) * size];
                        let at = (row * width + place) * size;
                        values[at..at + size]
                            .iter_mut()
                            .zip(numbers)
                            .for_each(|(value, &number)| *value = i64::from(number));
                    });
                    Feed::Integers(vec![rows, width, size], values)
                }
                Role::Memory(layer) => match memory.get(*layer) {
                    Some(given) => Feed::Floats(given.shape.clone(), given.values.to_vec()),
                    None => {
                        let hidden = port.shape.last().and_then(|&size| usize::try_from(size).ok()).unwrap_or(0);
                        Feed::Floats(vec![0, rows, hidden], Vec::new())
                    }
                },
                Role::Past => {
                    let size = |axis: usize| usize::try_from(port.shape[axis]).unwrap_or(0);
                    Feed::Floats(vec![rows, size(1), 0, size(3)], Vec::new())
                }
                Role::UsePast => Feed::Integers(vec![1], vec![0]),
                Role::EncoderStates | Role::EncoderMask => bail!("a decoder cannot encode"),
            })
        });
        let feeds = feeds.collect::<Result<Vec<Feed>>>()?;
        self.session.run(feeds, wanted, ctx, read)
    }

    /// Calls `each` with the row, the place in it, the window and its token, for all tokens of a batch.
    fn each_token(
        &self,
        windows: &Windows,
        batch: &[usize],
        width: usize,
        mut each: impl FnMut(usize, usize, usize, usize),
    ) {
        for (row, &window) in batch.iter().enumerate() {
            let len = windows.windows[window].len();
            let begin = if self.family.left { width - len } else { 0 };
            (0..len).for_each(|token| each(row, begin + token, window, token));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{params, with_weights_in_files};
    use super::*;

    #[test]
    fn the_key_is_of_all_files_that_are_read_and_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(with_weights_in_files(folder.path()) > 10);
        std::fs::create_dir(at("words")).unwrap();
        for (name, text) in
            [("README.md", "a model"), ("words/vocab.txt", "a\nb\n"), ("words/special_tokens_map.json", "{}")]
        {
            std::fs::write(at(name), text).unwrap();
        }
        let key = |tokenizer: &str| {
            let tokenizer = if tokenizer.is_empty() { PathBuf::new() } else { at(tokenizer) };
            let params = OnnxParams { model: folder.path().to_owned(), tokenizer, ..params("bert") };
            params.files_key(Path::new("")).unwrap()
        };
        let append = |name: &str| {
            let mut bytes = std::fs::read(at(name)).unwrap();
            bytes.push(b' ');
            std::fs::write(at(name), bytes).unwrap();
        };
        for (tokenizer, of_it) in [
            ("", &["tokenizer.json"][..]),
            ("words", &["words/vocab.txt", "words/special_tokens_map.json"]),
            ("words/vocab.txt", &["words/vocab.txt", "words/special_tokens_map.json"]),
        ] {
            for name in ["weights/0", "weights/7", "config.json"].iter().chain(of_it) {
                let before = key(tokenizer);
                append(name);
                assert_ne!(key(tokenizer), before, "{name} with the tokenizer {tokenizer:?}");
            }
            let before = key(tokenizer);
            append("README.md");
            assert_eq!(key(tokenizer), before);
        }
        let before = key("");
        std::fs::rename(at("weights/0"), at("weights/other")).unwrap();
        std::fs::rename(at("weights/7"), at("weights/0")).unwrap();
        std::fs::rename(at("weights/other"), at("weights/7")).unwrap();
        assert_ne!(key(""), before, "weights that change places");
        std::fs::remove_file(at("weights/0")).unwrap();
        let params = OnnxParams { model: folder.path().to_owned(), ..params("bert") };
        let error = format!("{:#}", params.files_key(Path::new("")).unwrap_err());
        assert!(error.contains("weights/0"), "{error}");
    }
}
