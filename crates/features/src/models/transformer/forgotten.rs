//! Forgetting: the perplexity of text of the kind that a base was trained on, before it is trained on and after.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::texts::{TextWriter, TokenizedTexts, inputs, room};
use super::{masking_of, tokenizer_of};
use crate::lines::{BLOCK, Lines};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::transformer::{EncoderFolder, Goals, Masking, TokenTexts, TrainingTexts, Transformer};

/// Text of the kind that a base was trained on.
pub(super) struct BaseText {
    texts: TokenizedTexts,
    masking: Option<Masking>,
    /// The base with the head that predicts its words.
    base: Transformer,
}

impl BaseText {
    /// Reads lines. The scratch file of their tokens is made in the folder of `output`.
    pub(super) fn read(lines: &mut Lines, base: &EncoderFolder, output: &Path, ctx: &Ctx) -> Result<BaseText> {
        let subword = tokenizer_of(&base.files, base.shape.vocabulary)?;
        let room = room(&subword, 0, base.most_tokens())?;
        let mut writer = TextWriter::new(output)?;
        lines.for_each_block(BLOCK, |read| {
            for line in read {
                ctx.check()?;
                inputs(&subword, &line.whole(), room, None)?.iter().try_for_each(|tokens| writer.push(tokens))?;
            }
            Ok(())
        })?;
        lines.finish()?;
        let texts = writer.finish()?;
        ensure!(!texts.places.is_empty(), "--base-text 没有文本", "--base-text has no text");
        let words = base.read(base.words()?, ctx.seed())?;
        Ok(BaseText { texts, masking: masking_of(base, &subword)?, base: words })
    }

    fn perplexity(&self, model: &Transformer, ctx: &Ctx) -> Result<f64> {
        let goals = self.masking.map_or(Goals::Next, Goals::Words);
        let texts = TokenTexts { tokens: self.texts.tokens(), frozen: None };
        let loss = model.loss(&TrainingTexts { texts, places: &self.texts.places, goals }, ctx)?;
        Ok(loss.exp())
    }

    /// The perplexity of predicted tokens by the base, and by an encoder that was trained on from it under the base's own head; the same words are
    /// masked.
    pub(super) fn forgotten(&self, trained: &Transformer, ctx: &Ctx) -> Result<Value> {
        let after = self.base.with_encoder_of(trained)?;
        Ok(json!({"before": self.perplexity(&self.base, ctx)?, "after": self.perplexity(&after, ctx)?}))
    }
}
