//! Alignment of a recurrent writer: the weights of attention over the source for each token that it wrote.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::texts::room;
use super::tokenizer_of;
use inkstone_base::{ensure, message};
use inkstone_models::transformer::{Aligned, RnnFolder, RnnSeq2Seq};
use inkstone_text::subword::Subword;

use anyhow::Context;

/// Tokens that are written at most where no target is given.
const MOST: usize = 64;

/// A text and what is written behind it, token by token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alignment {
    /// Tokens that were read, special tokens among them.
    pub source: Vec<String>,
    /// Tokens that were written.
    pub target: Vec<String>,
    /// True if the model wrote the target; false if it was given.
    pub written: bool,
    /// For each token of the target the shares of the tokens of the source, which sum to 1.
    pub shares: Vec<Vec<f32>>,
}

/// A recurrent encoder with its decoder, ready to be looked at.
pub struct Aligner {
    folder: RnnFolder,
    model: RnnSeq2Seq,
    subword: Subword,
}

impl Aligner {
    /// Opens a folder that `train writer --net` wrote. Fails for other models, and for one without attention.
    pub fn open(folder: &Path) -> Result<Aligner> {
        ensure!(
            RnnFolder::is_one(folder),
            "{} 不是 train writer --net 写出的模型文件夹：只有这种模型按词元显示对齐",
            "{} is no folder that train writer --net wrote: only such models show an alignment of tokens",
            folder.display()
        );
        let folder = RnnFolder::open(folder)?;
        let model = folder.read()?;
        model.check_attention()?;
        let subword = tokenizer_of(&folder.files, folder.shape.vocabulary)?;
        Ok(Aligner { folder, model, subword })
    }

    /// The alignment of a text with `target`, or with what the model writes by greedy search. Of a text that is too long the first tokens are read.
    pub fn align(&self, text: &str, target: Option<&str>) -> Result<Alignment> {
        let (subword, end) = (&self.subword, self.folder.shape.ends[1]);
        let room = room(subword, 0, self.folder.shape.places)?;
        let ids = subword.encode(text)?.ids;
        ensure!(!ids.is_empty(), "文本没有词元", "the text has no tokens");
        let source = subword.wrap(&ids[..ids.len().min(room)]).ids;
        let Aligned { target: ids, shares } = match target {
            None => self.model.write(&source, MOST),
            Some(target) => {
                let ids = subword.encode(target)?.ids;
                ensure!(!ids.is_empty(), "--target 没有词元", "--target has no tokens");
                self.model.align(&source, &[ids.as_slice(), &[end]].concat())?
            }
        };
        let names = |ids: &[u32]| {
            let name =
                |id: &u32| subword.token(*id).with_context(|| message!("没有词元 {id}", "there is no token {id}"));
            ids.iter().map(name).collect::<Result<Vec<String>>>()
        };
        Ok(Alignment { source: names(&source)?, target: names(&ids)?, written: target.is_none(), shares })
    }

    pub fn fitted_until(&self) -> Result<Option<chrono::NaiveDateTime>> {
        self.folder.files.fitted_until()
    }
}
