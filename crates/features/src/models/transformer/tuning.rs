//! The training of a base for a target, and the folder that it becomes.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::begin_folder;
use super::texts::TokenizedTexts;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::transformer::{
    EncoderFolder, FrozenStates, Goals, HeadForms, TokenTexts, TrainingTexts, Transformer, TransformerParams,
};

/// A base, the texts that it is trained on, and the folder of the result.
pub(super) struct Tuning<'a> {
    pub(super) base: &'a EncoderFolder,
    pub(super) heads: HeadForms,
    /// In their order of time.
    pub(super) texts: &'a TokenizedTexts,
    pub(super) params: &'a TransformerParams,
    pub(super) output: &'a Path,
}

/// A base that was trained on.
pub(super) struct TunedModel {
    pub(super) model: Transformer,
    frozen: Option<FrozenStates>,
    checkpoint: Checkpoint,
}

impl Tuning<'_> {
    /// Trains the base. A training that was interrupted goes on from its checkpoint, if base, texts, settings and `known_by` are the same; `known_by`
    /// stands for the targets.
    pub(super) fn train(&self, goals: Goals, known_by: &Value, ctx: &Ctx) -> Result<TunedModel> {
        let begun = self.base.read(self.heads, ctx.seed())?;
        let (tokens, places) = (self.texts.tokens(), &self.texts.places);
        let folder = disk::folder_of(self.output);
        let frozen = match &goals {
            Goals::TextsAndWords(_, words) if words.masking.is_some() => None,
            _ => FrozenStates::compute(&begun, self.params, tokens, places, folder, ctx)?,
        };
        let weights = begun.values().into_iter().map(|values| Key::of(bytemuck::cast_slice(values)));
        let what = json!({
            "training": self.params, "seed": ctx.seed(), "text": Key::of(bytemuck::cast_slice(tokens)), "targets": known_by,
            "weights": weights.collect::<Vec<Key>>(),
        });
        let checkpoint = Checkpoint::new(self.output, &what)?;
        let texts = TrainingTexts { texts: TokenTexts { tokens, frozen: frozen.as_ref() }, places, goals };
        let model = begun.train(&texts, self.params, Some(&checkpoint), ctx)?;
        Ok(TunedModel { model, frozen, checkpoint })
    }

    /// The number of the first text that is held out; the number of texts where none is.
    pub(super) fn first_held_out(&self) -> usize {
        self.params.first_held_out(self.texts.places.len())
    }

    /// The scores of held-out texts, as [`Transformer::scores`] gives them.
    pub(super) fn held_out_scores(&self, tuned: &TunedModel, ctx: &Ctx) -> Result<Vec<f32>> {
        let texts = TokenTexts { tokens: self.texts.tokens(), frozen: tuned.frozen.as_ref() };
        tuned.model.scores(texts, &self.texts.places[self.first_held_out()..], ctx)
    }

    /// Writes the folder; an earlier model in it stays whole until then. `names` are the names of the outputs, and config.json keeps `training`.
    pub(super) fn write(
        &self,
        tuned: &TunedModel,
        names: &[String],
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        begin_folder(self.output)?;
        self.base.files.copy_tokenizer(self.output)?;
        self.base.write(self.output, &tuned.model, names, fitted_until, training)?;
        tuned.checkpoint.remove()
    }
}
