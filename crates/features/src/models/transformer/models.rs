//! The models of a pre-training: an encoder, a discriminator with its generator, or an encoder with its decoder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::Value;

use super::base::OpenedBase;
use super::pretrain::{BesideWords, LanguageModel, NewEncoder, Objective, PretrainParams};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::EpochFigures;
use inkstone_models::transformer::{
    BlockActivation, BlockKind, BlockShape, EncoderFolder, EncoderShape, HeadForm, HeadForms, ModelFolder, Noising,
    NormPlace, Seq2Seq, Seq2SeqFolder, Seq2SeqShape, TrainingTexts, Transformer, train_electra,
};
use inkstone_text::subword::Subword;

/// The folder of a generator within that of its discriminator.
const GENERATOR: &str = "generator";

/// Models with their folders.
pub(super) enum PretrainedModels {
    /// The first is the encoder that is used; a generator only helps to train it.
    Encoders(Vec<(EncoderFolder, Transformer)>),
    Seq2Seq(Box<(Seq2SeqFolder, Seq2Seq)>),
}

impl BesideWords {
    fn heads(self, folder: &EncoderFolder) -> Result<HeadForms> {
        match self {
            BesideWords::Sentences(task) => folder.words_and_order(task.relations()),
            BesideWords::Names => folder.words_and_names(),
        }
    }
}

impl PretrainedModels {
    /// Models of random weights. `counts` are the occurrences of each token.
    pub(super) fn random(
        params: &PretrainParams,
        subword: &Subword,
        counts: &[u64],
        output: &Path,
        seed: u64,
    ) -> Result<PretrainedModels> {
        let NewEncoder { layers, width, heads, between, .. } = params.new;
        let objective = params.objective;
        let causal = matches!(objective, Objective::Next(_));
        let block = BlockShape {
            kind: BlockKind::Transformer,
            width,
            heads,
            between,
            place: if causal { NormPlace::Before } else { NormPlace::After },
            causal,
            activation: if causal { BlockActivation::GeluTanh } else { BlockActivation::Gelu },
            epsilon: if causal { 1e-5 } else { 1e-12 },
        };
        let shape = EncoderShape {
            vocabulary: subword.size(),
            places: params.max_tokens,
            first_place: 0,
            segments: if causal { 0 } else { 2 },
            factor: None,
            layers,
            blocks: layers,
            block,
        };
        let special = |name: &str| subword.id(name).unwrap_or_default();
        let specials = ["[PAD]", "[CLS]", "[SEP]"].map(special);
        let begin = |model_type: &str, shape: &EncoderShape, words: bool| -> Result<(EncoderFolder, Transformer)> {
            let folder = EncoderFolder::create(output, model_type, shape, specials)?;
            let heads = match objective {
                Objective::Masked { beside: Some(beside), .. } => beside.heads(&folder)?,
                _ if words => folder.words_of_new().into(),
                _ => HeadForm::Replaced.into(),
            };
            let model = Transformer::random(*shape, heads, Some(counts), seed)?;
            Ok((folder, model))
        };
        Ok(match objective {
            Objective::Masked { .. } => PretrainedModels::Encoders(vec![begin("bert", &shape, true)?]),
            Objective::Next(LanguageModel::Gpt) => PretrainedModels::Encoders(vec![begin("gpt2", &shape, true)?]),
            Objective::Next(kind) => {
                let block = BlockShape::lstm(width, kind == LanguageModel::Elmo);
                let shape = EncoderShape { block, ..shape };
                let folder = EncoderFolder::create(output, "lstm", &shape, specials)?;
                let model = Transformer::random(shape, folder.words_of_text()?, Some(counts), seed)?;
                PretrainedModels::Encoders(vec![(folder, model)])
            }
            Objective::Replaced { .. } => {
                ensure!(
                    width.is_multiple_of(heads),
                    "宽度 {width} 不能由 {heads} 个头均分：请给出倍数",
                    "a width of {width} cannot be shared by {heads} heads: give a multiple"
                );
                // A quarter of the heads, of the same size, in as many layers (Clark and others 2020, section 3.2).
                let heads = (heads / 4).max(1);
                let narrow = heads * (width / params.new.heads);
                let block = BlockShape { width: narrow, heads, between: 4 * narrow, ..block };
                let generator = EncoderShape { factor: (narrow != width).then_some(width), block, ..shape };
                PretrainedModels::Encoders(vec![begin("electra", &shape, false)?, begin("electra", &generator, true)?])
            }
            Objective::Restored { .. } => {
                // A decoder begins with the token that ends a text, and has as many layers as its encoder.
                let shape = Seq2SeqShape::bart(subword.size(), params.max_tokens, layers, block, specials[2]);
                let folder = Seq2SeqFolder::create(output, &shape, specials)?;
                PretrainedModels::Seq2Seq(Box::new((folder, Seq2Seq::random(shape, seed)?)))
            }
        })
    }

    /// The models of a base.
    pub(super) fn of_base(base: OpenedBase, objective: Objective, seed: u64) -> Result<PretrainedModels> {
        let base = match base {
            OpenedBase::Encoder(folder) => folder,
            OpenedBase::Seq2Seq(folder) => {
                let model = folder.read()?;
                return Ok(PretrainedModels::Seq2Seq(Box::new((folder, model))));
            }
            OpenedBase::Rnn(folder) => bail!(
                "{} 须用 train writer 继续训练",
                "{} is trained on by: train writer",
                folder.files.path().display()
            ),
        };
        if !matches!(objective, Objective::Replaced { .. }) {
            let heads = match objective {
                Objective::Masked { beside: Some(beside), .. } => beside.heads(&base)?,
                _ => base.words_of_text()?,
            };
            let model = base.read(heads, seed)?;
            return Ok(PretrainedModels::Encoders(vec![(base, model)]));
        }
        let path = base.path().join(GENERATOR);
        let generator = EncoderFolder::open(&path).with_context(|| {
            message!(
                "判别器须与其生成器一起继续训练：请把生成器的文件夹放到 {}",
                "a discriminator is trained on with its generator: put the generator's folder into {}",
                path.display()
            )
        })?;
        let words = generator.read(generator.words()?, seed)?;
        let discriminator = base.read(HeadForm::Replaced, seed)?;
        Ok(PretrainedModels::Encoders(vec![(base, discriminator), (generator, words)]))
    }

    /// Trains the models on texts; an encoder with its decoder on texts that `noising` damages.
    pub(super) fn train(
        self,
        texts: &TrainingTexts<'_>,
        noising: Option<&Noising>,
        params: &PretrainParams,
        checkpoint: &Checkpoint,
        ctx: &Ctx,
    ) -> Result<PretrainedModels> {
        let (training, checkpoint) = (&params.training, Some(checkpoint));
        Ok(match self {
            PretrainedModels::Seq2Seq(begun) => {
                let (folder, model) = *begun;
                let trained = model.train(texts.texts, texts.places, noising, training, checkpoint, ctx)?;
                PretrainedModels::Seq2Seq(Box::new((folder, trained)))
            }
            PretrainedModels::Encoders(begun) => {
                let (folders, models): (Vec<EncoderFolder>, Vec<Transformer>) = begun.into_iter().unzip();
                let models = match <[Transformer; 2]>::try_from(models) {
                    Ok(pair) => train_electra(pair, texts, training, checkpoint, ctx)?.into(),
                    Err(one) => {
                        let trained = one.into_iter().map(|model| model.train(texts, training, checkpoint, ctx));
                        trained.collect::<Result<Vec<Transformer>>>()?
                    }
                };
                PretrainedModels::Encoders(folders.into_iter().zip(models).collect())
            }
        })
    }

    /// The values of each weight of the model that is used.
    fn used(&self) -> Vec<&[f32]> {
        match self {
            PretrainedModels::Encoders(models) => models[0].1.values(),
            PretrainedModels::Seq2Seq(model) => model.1.values(),
        }
    }

    /// Number of weights of the model that is used.
    pub(super) fn parameters(&self) -> usize {
        self.used().iter().map(|values| values.len()).sum()
    }

    /// The content of all weights.
    pub(super) fn keys(&self) -> Vec<Key> {
        let all = match self {
            PretrainedModels::Encoders(models) => models.iter().flat_map(|(_, model)| model.values()).collect(),
            PretrainedModels::Seq2Seq(..) => self.used(),
        };
        all.into_iter().map(|values| Key::of(bytemuck::cast_slice(values))).collect()
    }

    pub(super) fn epochs(&self) -> &[EpochFigures] {
        match self {
            PretrainedModels::Encoders(models) => models[0].1.epochs(),
            PretrainedModels::Seq2Seq(model) => model.1.epochs(),
        }
    }

    /// The encoder that is used, under the head that was trained beside its words.
    pub(super) fn with_beside(&self) -> Result<Option<Transformer>> {
        match self {
            PretrainedModels::Encoders(models) => models[0].1.with_beside().transpose(),
            PretrainedModels::Seq2Seq(..) => Ok(None),
        }
    }

    /// Writes the folders; `tokenizer` writes the files of a new tokenizer, where they are not those of the base. The settings of the model that is
    /// used are written last.
    pub(super) fn write(
        &self,
        output: &Path,
        tokenizer: Option<&dyn Fn(&Path) -> Result<()>>,
        fitted_until: Option<NaiveDateTime>,
        training: &Value,
    ) -> Result<()> {
        let put_tokenizer = |files: &ModelFolder, output: &PathBuf| {
            disk::make_dir(output)?;
            tokenizer.map_or_else(|| files.copy_tokenizer(output), |write| write(output))
        };
        match self {
            PretrainedModels::Encoders(models) => {
                for (place, (folder, model)) in models.iter().enumerate().rev() {
                    let output = &if place == 0 { output.to_owned() } else { output.join(GENERATOR) };
                    put_tokenizer(&folder.files, output)?;
                    folder.write(output, model, &[], fitted_until, training)?;
                }
                Ok(())
            }
            PretrainedModels::Seq2Seq(model) => {
                let (folder, model) = &**model;
                put_tokenizer(&folder.files, &output.to_owned())?;
                folder.write(output, model, fitted_until, training)
            }
        }
    }
}
