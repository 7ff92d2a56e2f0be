//! A graph with its tokenizer: windows of text in, outputs of the graph out.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::family::{Config, Family};
use super::files::Files;
use super::graph::{Role, roles};
use super::runtime::{Device, Runtime};
use super::session::{Feed, Given, Outputs, Session};
use super::windows::{OpenWordCutter, Tokenizer, Windows};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use inkstone_text::subword::Subword;

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
        let mut session = Session::open(&files.model, files.wanted, opening.runtime, opening.device, opening.threads)?;
        session.ran_mut().file = files.shown();
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
            Tokenizer::Pieces(Subword::open_cased(&files.tokenizer, files.lower_case)?)
        };
        if let (Some(subword), Some(size)) = (tokenizer.subword(), config.vocab_size) {
            ensure!(
                subword.size() <= size,
                "分词器 {} 认识 {} 个词元，而 {} 有 {size} 个向量：它们不属于同一模型",
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
            let numbers = |window: usize, token: usize| i64::from(windows.number_seen(&windows.windows[window], token));
            Ok(match role {
                Role::Ids => Feed::Integers(shape.to_vec(), filled(self.family.pad, &numbers)),
                Role::Mask => Feed::Integers(shape.to_vec(), filled(0, &|_, _| 1)),
                Role::Types => {
                    let types = |window: usize, token: usize| i64::from(windows.types(&windows.windows[window])[token]);
                    Feed::Integers(shape.to_vec(), filled(self.family.pad_type, &types))
                }
                Role::Tasks => Feed::Integers(shape.to_vec(), vec![0; rows * width]),
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
                Role::LastTokens => Feed::Integers(vec![1; port.rank()], vec![width as i64]),
                Role::EncoderStates | Role::EncoderMask => bail!("解码器不能编码", "a decoder cannot encode"),
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
