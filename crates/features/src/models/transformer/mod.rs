//! Encoders of one's own on plain files: pre-trained on the user's text, or fine-tuned on labels; folders that `model = "onnx"` and
//! transformers read.

mod alignment;
mod answers;
mod base;
mod corpus;
mod entities;
mod finetune;
mod forgotten;
mod models;
mod params;
mod pretrain;
pub(crate) mod project;
mod student;
mod summaries;
mod texts;
mod tuning;
mod vintages;

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

pub use alignment::{Aligner, Alignment};
pub use answers::train_answers;
pub use corpus::SentenceTask;
pub use entities::train_entities;
pub use finetune::{FinetuneParams, finetune};
pub use params::FinetuneSettings;
pub use pretrain::{BesideWords, LanguageModel, MaskedUnit, NewEncoder, Objective, PretrainParams, pretrain};
pub use student::{StudentParams, student};
pub use summaries::{NewWriter, WriterParams, train_writer};
pub use vintages::pretrain_vintages;

use inkstone_base::disk::{self, Room};
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_models::transformer::{EncoderFolder, HeadForms, Masking, ModelFolder, TextGoal, WordsBeside};
use inkstone_text::subword::Subword;

/// Share of the tokens that are masked in texts whose words are predicted beside something else.
const MASKED: f64 = 0.15;

/// The tokenizer of a base, whose table of tokens has so many rows. Fails where it has more tokens.
fn tokenizer_of(base: &ModelFolder, rows: usize) -> Result<Subword> {
    let subword = Subword::open(base.path())?;
    let tokens = subword.size();
    ensure!(
        tokens <= rows,
        "{} 中的分词器有 {tokens} 个词元，而模型有 {rows} 个向量（vocab_size）：该文件夹混有两个模型",
        "the tokenizer in {} has {tokens} tokens, and the model has vectors of {rows} (vocab_size): the folder mixes two models",
        base.path().display()
    );
    Ok(subword)
}

/// The rule by which words of a base's texts are masked; none for a base that predicts next words. Fails where the tokenizer has no mask.
fn masking_of(base: &EncoderFolder, subword: &Subword) -> Result<Option<Masking>> {
    if base.predicts_next() {
        return Ok(None);
    }
    let mask = subword
        .mask_id()
        .context(Word("基础模型的分词器没有掩码词元（[MASK]）", "the base's tokenizer has no mask token ([MASK])"))?;
    Ok(Some(Masking {
        share: MASKED,
        mask,
        vocabulary: subword.size() as u32,
        separator: None,
        spans: false,
        shuffled: 0.0,
    }))
}

/// The texts' own words, learned beside their targets with a weight; none with a weight of 0.
fn words_beside(base: &EncoderFolder, subword: &Subword, weight: f64) -> Result<Option<WordsBeside>> {
    let learned = || Ok(WordsBeside { weight, masking: masking_of(base, subword)? });
    (weight > 0.0).then(learned).transpose()
}

/// The heads that predict the target of a text, and its words where they are learned beside it.
fn heads_of(base: &EncoderFolder, goal: TextGoal, words: Option<WordsBeside>) -> Result<HeadForms> {
    if words.is_some() { base.texts_and_words(goal) } else { Ok(base.of_texts(goal).into()) }
}

/// Takes a folder for a new encoder. It is none of an encoder until its settings are written, last of all.
fn begin_folder(output: &Path) -> Result<()> {
    disk::own_folder(output, Room::Converted)?;
    disk::remove_if_there(&output.join("config.json"))
}

/// The last time of the text that a new encoder was trained on, text of its base included. `stated` is the last day of lines without a time; none
/// where the lines have no time and no day is stated.
fn seen_by_new(
    base: Option<NaiveDateTime>,
    lines: Option<NaiveDateTime>,
    stated: Option<NaiveDateTime>,
) -> Option<NaiveDateTime> {
    lines.max(stated).map(|lines| base.map_or(lines, |base| base.max(lines)))
}

/// The last time of the text that a base was trained on: as its folder says it, or as stated.
fn seen_by(base: &ModelFolder, stated: Option<NaiveDateTime>) -> Result<NaiveDateTime> {
    let own = base.fitted_until()?;
    own.max(stated).with_context(|| {
        message!("{} 没有说明训练文本截至何时，而在其上继续训练的模型也知道那些文本：请用 --fitted-until 给出最后一天", "{} does not say how far the text reaches that it was trained on, and a model that is trained on from it knows that text too: give its last day with --fitted-until", base.path().display())
    })
}
