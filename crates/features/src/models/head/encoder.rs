//! The encoder of a head: opened, named in the head's file, and found again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fitted::{Columns, Fitted, Rows};
use crate::lines::{Line, LineFormat};
use crate::models::onnx::{Contextual, is_onnx};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_models::StaticEncoder;
use inkstone_onnx::OnnxParams;
use inkstone_text::Truncation;

/// The encoder of a head as the file of the head names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EncoderRecord {
    /// File or folder of the encoder, with / between names: from the folder of the head's file where both have a folder in common, else from the root.
    path: String,
    /// The hash of all files that its vectors depend on.
    key: Key,
    /// Format of the lines that the head was trained on.
    pub(crate) format: LineFormat,
    /// Use of a contextual model; none for a model of another kind.
    contextual: Option<ContextualUse>,
}

/// How the vectors of a contextual model are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ContextualUse {
    /// The path of the model is empty: it is the path of the encoder. The path of the tokenizer is relative to the head's folder or
    /// absolute, as the encoder's path is.
    params: OnnxParams,
    truncation: Truncation,
}

impl EncoderRecord {
    /// The record of the encoder at `path` for the head's file `head`. The encoder is a contextual model, used as `using` says, or a model
    /// file.
    pub(crate) fn new(path: &Path, using: &Contextual, format: LineFormat, head: &Path) -> Result<EncoderRecord> {
        let folder = disk::folder_of(head);
        let folder = folder
            .canonicalize()
            .with_context(|| message!("没有文件夹 {}", "there is no folder {}", folder.display()))?;
        let contextual = if is_onnx(path) {
            let mut params = OnnxParams { model: PathBuf::new(), ..using.params.clone() };
            if !params.tokenizer.as_os_str().is_empty() {
                params.tokenizer = named_from(&folder, &params.tokenizer)?.into();
            }
            Some(ContextualUse { params, truncation: using.truncation })
        } else {
            None
        };
        Ok(EncoderRecord { path: named_from(&folder, path)?, key: model_key(path, &using.params)?, format, contextual })
    }

    /// Where the encoder of the head at `head` is: at the place given, else where the file says.
    fn find(&self, head: &Path, given: Option<&Path>) -> Result<PathBuf> {
        let path = given.map_or_else(|| disk::folder_of(head).join(&self.path), Path::to_owned);
        // No device and no pipe is read because a file names it.
        ensure!(
            path.is_dir() || path.is_file(),
            "{} 是 {} 的向量上的分类头，而后者不在：请放回编码器，或指明位置（--encoder；项目中为 file.encoder）",
            "{} is a head on the vectors of {}, which is not there: put the encoder back, or give its place (--encoder; in a project file.encoder)",
            head.display(),
            path.display()
        );
        Ok(path)
    }

    /// The same use of a contextual model, at the place where it is now.
    fn contextual(&self, head: &Path, using: &Contextual) -> Contextual {
        let Some(ContextualUse { params, truncation }) = &self.contextual else { return using.clone() };
        let mut params = params.clone();
        if !params.tokenizer.as_os_str().is_empty() {
            params.tokenizer = disk::folder_of(head).join(&params.tokenizer);
        }
        Contextual { params, truncation: *truncation, ..using.clone() }
    }

    /// The hash of the encoder's files as they are now. Fails where they are not there, or not those that the head was fitted on.
    pub(crate) fn check(&self, head: &Path, given: Option<&Path>) -> Result<Key> {
        let path = self.find(head, given)?;
        let params = self.contextual(head, &Contextual::default()).params;
        let key = model_key(&path, &params)?;
        ensure!(
            key == self.key,
            "{} 在 {} 的向量上拟合，而后者的文件已不同：请恢复原来的、指明拟合时所用编码器的位置（--encoder；项目中为 file.encoder），或重新训练分类头",
            "{} was fitted on the vectors of {}, whose files are not the same any more: bring the old ones back, give the place of the encoder that it was fitted on (--encoder; in a project file.encoder), or train the head again",
            head.display(),
            path.display()
        );
        Ok(key)
    }

    /// The path of the encoder's model file, none for a contextual model. Fails if the file has changed since the head was trained.
    pub(crate) fn find_file(&self, head: &Path, given: Option<&Path>) -> Result<Option<PathBuf>> {
        let path = self.find(head, given)?;
        if is_onnx(&path) {
            return Ok(None);
        }
        // A file that named itself as its encoder would be followed without end.
        self.check(head, given)?;
        Ok(Some(path))
    }

    /// The file or folder of the encoder, with the content that it had in training, and its use.
    pub(crate) fn find_unchanged(&self, head: &Path, using: &Contextual) -> Result<(PathBuf, Contextual)> {
        self.check(head, using.encoder.as_deref())?;
        Ok((self.find(head, using.encoder.as_deref())?, self.contextual(head, using)))
    }
}

/// The hash of all files that the rows of a model depend on: of a contextual model used so, a static encoder, or a model file.
pub fn model_key(path: &Path, params: &OnnxParams) -> Result<Key> {
    if is_onnx(path) {
        OnnxParams { model: path.to_owned(), ..params.clone() }.files_key(Path::new(""))
    } else if StaticEncoder::is_at(path) {
        StaticEncoder::key(path)
    } else {
        disk::hash_file(path)
    }
}

/// A model whose dense rows a head reads.
pub struct Encoder {
    model: Box<dyn Fitted>,
    dim: usize,
    shown: String,
    record: EncoderRecord,
}

impl Encoder {
    /// The encoder of a record, whose model is opened.
    pub(crate) fn new(model: Box<dyn Fitted>, shown: String, record: EncoderRecord) -> Result<Encoder> {
        let dim = match model.columns()? {
            Columns::Dense(names) => names.len(),
            Columns::Sparse { .. } => {
                bail!(
                    "{shown} 给出稀疏的行，不是向量；不写 --model 时分类头自己计词",
                    "{shown} gives sparse rows and no vectors; without --model the head counts the terms itself"
                )
            }
            Columns::Table { .. } => {
                bail!(
                    "{shown} 给出分数，而分类头读取向量：请用给出向量的模型，并写 --read embedding",
                    "{shown} gives scores, and a head reads vectors: take a model of vectors, with --read embedding"
                )
            }
        };
        Ok(Encoder { model, dim, shown, record })
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Path of the encoder, as it was given.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The last time of the text that it was trained on, where that is known.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.model.header().fitted_until
    }

    /// Where a contextual model ran.
    pub fn ran(&self) -> Option<&Value> {
        self.model.header().params.get("ran")
    }

    pub(crate) fn record(&self) -> &EncoderRecord {
        &self.record
    }

    pub(crate) fn model(&self) -> &dyn Fitted {
        &*self.model
    }

    /// The vectors of lines `[lines, dim]`. Progress is counted in documents.
    pub(crate) fn vectors(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<Vec<f32>> {
        let mut vectors = Vec::with_capacity(lines.len() * self.dim);
        for (_, rows) in self.model.many(lines, ctx)? {
            vectors.extend(dense(rows)?);
        }
        Ok(vectors)
    }

    /// The same without progress, on the threads of the caller.
    pub(crate) fn vectors_here(&self, lines: &[Line<'_>]) -> Result<Vec<f32>> {
        dense(self.model.rows(lines)?)
    }

    /// The vectors of the lines that have one, and which these are.
    pub(crate) fn vectors_that_are_there(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<(Vec<f32>, Vec<bool>)> {
        let mut vectors = self.vectors(lines, ctx)?;
        let has_row: Vec<bool> = vectors.chunks(self.dim).map(is_there).collect();
        let mut kept = has_row.iter().flat_map(|has_row| std::iter::repeat_n(*has_row, self.dim));
        vectors.retain(|_| kept.next().unwrap_or(false));
        Ok((vectors, has_row))
    }
}

/// True if all values of a vector are numbers.
pub(crate) fn is_there(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}

fn dense(rows: Rows) -> Result<Vec<f32>> {
    if let Rows::Dense(values) = rows {
        Ok(values)
    } else {
        bail!("行的种类与列不符", "rows of another kind than their columns")
    }
}

/// A path as a file in `folder`, which is canonical, names it: relative where both have a folder in common besides the root.
fn named_from(folder: &Path, path: &Path) -> Result<String> {
    let path = path.canonicalize().with_context(|| message!("没有模型 {}", "there is no model {}", path.display()))?;
    let shared = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let relative = if shared > 1 {
        let up = folder.components().skip(shared).map(|_| Path::new(".."));
        up.chain(path.components().skip(shared).map(|name| Path::new(name.as_os_str()))).collect()
    } else {
        path.clone()
    };
    let named = relative.to_str().with_context(|| {
        message!(
            "{} 的名称不是 UTF-8，分类头文件无法记下它；请改名",
            "the name of {} is not UTF-8, and the file of the head could not name it; rename it",
            path.display()
        )
    })?;
    Ok(named.replace(std::path::MAIN_SEPARATOR, "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_is_named_from_the_folder_of_the_head() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["models/bert", "heads"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let named = |folder: &Path| named_from(folder, &root.join("models/bert")).unwrap();
        assert_eq!(named(&root), "models/bert");
        assert_eq!(named(&root.join("heads")), "../models/bert");
        assert_eq!(named(&root.join("models/bert")), "");
        assert_eq!(named(Path::new("/elsewhere")), root.join("models/bert").to_str().unwrap());
        assert!(named_from(&root, &root.join("none")).unwrap_err().to_string().contains("there is no model"));
    }
}
