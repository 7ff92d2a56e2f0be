//! An encoder trained to predict masked words (Devlin and others 2019), each next token (Radford and others 2018) or which tokens were replaced (Clark
//! and others 2020): from nothing, with a vocabulary learned from the same text, or on from the weights of a base (Gururangan and others 2020).

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use chrono::NaiveDateTime;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::corpus::{CHUNK, InputForm, PretrainCorpus, SentenceTask};
use super::forgotten::BaseText;
use super::texts::{LEAST, room};
use super::{begin_folder, seen_by, seen_by_new, tokenizer_of};
use crate::lines::{Cutter, Lines};
use crate::stage_result;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_corpus::link::{self, Companies};
use inkstone_market::securities_from_frame;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::EpochFigures;
use inkstone_models::transformer::{
    BlockActivation, BlockShape, EncoderFolder, EncoderShape, Goals, HeadForm, HeadForms, Masking, NAMED, NormPlace,
    REPLACED, TokenTexts, TrainingTexts, Transformer, TransformerParams, UNTAGGED, train_electra,
};
use inkstone_tables::frames;
use inkstone_text::subword::{Subword, WordCounts};

/// The folder of a generator within that of its discriminator.
const GENERATOR: &str = "generator";

/// Sizes of an encoder that is trained from nothing.
#[derive(Clone, Copy, Debug)]
pub struct NewEncoder {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub between: usize,
    /// Tokens of the vocabulary at most.
    pub vocabulary: usize,
    /// Occurrences of a character or a merge at least.
    pub min_count: u64,
}

/// The words that an encoder is trained to predict.
#[derive(Clone, Copy, Debug)]
pub enum Objective {
    /// Masked words: a share of the tokens; and something beside them.
    Masked { share: f64, unit: MaskedUnit, beside: Option<BesideWords> },
    /// The token behind each token.
    Next,
    /// Which tokens a generator has replaced, that fills masked words (Clark and others 2020).
    Replaced { share: f64, unit: MaskedUnit },
}

/// A goal beside masked words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BesideWords {
    /// A relation of two halves of a text.
    Sentences(SentenceTask),
    /// The names of companies that took the place of others.
    Names,
}

/// The unit that is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MaskedUnit {
    /// All tokens of a word.
    #[default]
    Words,
    /// Each token for itself.
    Tokens,
    /// Up to ten words in a row (SpanBERT).
    Spans,
}

impl BesideWords {
    fn heads(self, folder: &EncoderFolder) -> Result<HeadForms> {
        match self {
            BesideWords::Sentences(_) => folder.words_and_order(),
            BesideWords::Names => folder.words_and_names(),
        }
    }
}

/// Settings of `train bert`, `train gpt` and `train electra`.
#[derive(Clone, Debug)]
pub struct PretrainParams {
    pub new: NewEncoder,
    /// Tokens of an input at most, special tokens included; 0: as many as the base has places.
    pub max_tokens: usize,
    pub objective: Objective,
    /// The table of securities whose names are replaced.
    pub securities: Option<PathBuf>,
    /// The last time of the base's text, where its folder does not say it, and of lines without a time.
    pub fitted_until: Option<NaiveDateTime>,
    pub training: TransformerParams,
}

/// Trains an encoder on all lines, which are read twice without a base, and writes its folder. An interrupted training leaves a checkpoint
/// beside the folder, from which the same training goes on. The report has `documents`, `inputs`, `tokens`, `vocabulary`, `parameters`,
/// `fitted_until`, `epochs`, the `loss` of held-out inputs, where words are predicted their `perplexity`, and of lines of the base's own text the
/// `base_perplexity` before and after.
pub fn pretrain(
    open: &dyn Fn() -> Result<Lines>,
    cutter: &Cutter,
    base: Option<&Path>,
    base_text: Option<Lines>,
    params: &PretrainParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    let read = match (base, base_text) {
        (Some(base), Some(mut lines)) => Some(BaseText::read(&mut lines, &EncoderFolder::open(base)?, output, ctx)?),
        _ => None,
    };
    let mut report = pretrain_once(open, cutter, base, params, output, false, ctx)?;
    if let Some(text) = read {
        let folder = EncoderFolder::open(output)?;
        report.fact("base_perplexity", text.forgotten(&folder.read(folder.words()?, ctx.seed())?, ctx)?);
    }
    Ok(report)
}

/// The same. With `keep`, an encoder that the same training wrote into the folder stays as it is.
pub(super) fn pretrain_once(
    open: &dyn Fn() -> Result<Lines>,
    cutter: &Cutter,
    base: Option<&Path>,
    params: &PretrainParams,
    output: &Path,
    keep: bool,
    ctx: &Ctx,
) -> Result<Report> {
    if let Objective::Masked { share, .. } | Objective::Replaced { share, .. } = params.objective {
        ensure!(share > 0.0 && share < 1.0, "--mask-share {share} must lie between 0 and 1");
    }
    disk::is_ours(output, Room::Converted)?;
    let base = base.map(EncoderFolder::open).transpose()?;
    if let Some(base) = &base {
        let method = match params.objective {
            Objective::Masked { .. } => "bert",
            Objective::Next => "gpt",
            Objective::Replaced { .. } => "electra",
        };
        ensure!(base.method() == method, "{} is trained on by: train {}", base.path().display(), base.method());
    }
    let seen = base.as_ref().map(|base| seen_by(base, params.fitted_until)).transpose()?;
    let (subword, definition) = match &base {
        Some(base) => (tokenizer_of(base)?, None),
        None => {
            let counted = stage_result(ctx, "count words", "docs", None, || {
                let mut lines = open()?;
                let counted = count_words(&mut lines, ctx)?;
                Ok((counted, lines.finish()?))
            })?;
            let definition = counted.word_pieces(params.new.vocabulary, params.new.min_count)?;
            (Subword::of_definition(definition.clone())?, Some(definition))
        }
    };
    let places = base.as_ref().map_or(params.max_tokens, EncoderFolder::most_tokens);
    let room = room(&subword, params.max_tokens, places)?;
    let (unit, beside) = match params.objective {
        Objective::Masked { unit, beside, .. } => (unit, beside),
        Objective::Replaced { unit, .. } => (unit, None),
        Objective::Next => (MaskedUnit::Tokens, None),
    };
    let sentences = if let Some(BesideWords::Sentences(task)) = beside { Some(task) } else { None };
    let companies = params.securities.as_deref().map(read_companies).transpose()?;
    // A pair has a special token more between its halves.
    let room = if sentences.is_some() { room.saturating_sub(1).max(2 * LEAST) } else { room };
    let words = (unit != MaskedUnit::Tokens).then_some(cutter);
    let mut lines = open()?;
    let input_form = InputForm { subword: &subword, room, words, sentences, companies: companies.as_ref() };
    let corpus = PretrainCorpus::read(&mut lines, &input_form, output, ctx)?;
    let mut report = lines.finish()?;
    if corpus.texts.places.is_empty() {
        bail!(TooLittle("no document has text that can be trained on".to_owned()));
    }
    if let Some(securities) = params.securities.as_ref().filter(|_| corpus.named == 0) {
        let table = securities.display();
        bail!(TooLittle(format!(
            "no document with a time names a company of {table} that has others of its industry on that day"
        )));
    }

    let begun = match base {
        Some(base) => begin_from(base, params.objective, ctx.seed())?,
        None => begin_new(params, &subword, &corpus.counts, output, ctx.seed())?,
    };
    let masking = |share: f64| {
        let mask = subword.mask_id().context("the base's tokenizer has no mask token ([MASK])")?;
        let (vocabulary, separator) = (subword.size() as u32, sentences.and(subword.id("[SEP]")));
        Ok::<_, anyhow::Error>(Masking { share, mask, vocabulary, separator, spans: unit == MaskedUnit::Spans })
    };
    let goals = match params.objective {
        Objective::Masked { share, beside: Some(BesideWords::Sentences(_)), .. } => {
            Goals::WordsAndOrder(masking(share)?, corpus.orders.clone())
        }
        Objective::Masked { share, beside: Some(BesideWords::Names), .. } => Goals::WordsAndNames(masking(share)?),
        Objective::Masked { share, .. } | Objective::Replaced { share, .. } => Goals::Words(masking(share)?),
        Objective::Next => Goals::Next,
    };
    let tokens = corpus.texts.tokens();
    let texts = TokenTexts { tokens, frozen: None };
    let texts = TrainingTexts { texts, places: &corpus.texts.places, goals };
    let what = json!({
        "training": params.training, "objective": format!("{:?}", params.objective), "seed": ctx.seed(), "room": room,
        "text": Key::of(bytemuck::cast_slice(tokens)), "orders": Key::of(bytemuck::cast_slice(&corpus.orders)),
        "weights": begun.iter().flat_map(|(_, model)| model.values()).map(|values| Key::of(bytemuck::cast_slice(values))).collect::<Vec<Key>>(),
    });
    let fitted_until = seen_by_new(seen, corpus.last_time, params.fitted_until);
    let key = Key::of_json(&json!([what, fitted_until, env!("CARGO_PKG_VERSION")]));
    // The first model is the encoder that is used; a generator only helps to train it.
    let parameters = begun[0].1.values().iter().map(|values| values.len()).sum::<usize>();
    let earlier = if keep { EncoderFolder::open(output).ok() } else { None };
    let kept = earlier.and_then(|folder| folder.training_with(key)).map(|training| training["epochs"].clone());
    let epochs: Vec<EpochFigures> = match kept {
        Some(epochs) => serde_json::from_value(epochs).context("the epochs of an earlier training")?,
        None => {
            let checkpoint = Checkpoint::new(output, &what)?;
            let (folders, models): (Vec<EncoderFolder>, Vec<Transformer>) = begun.into_iter().unzip();
            let models = train(models, &texts, params, &checkpoint, ctx)?;
            let epochs = models[0].epochs().to_vec();
            match (models[0].with_beside().transpose()?, beside) {
                (Some(order), Some(BesideWords::Sentences(_))) => {
                    report.fact("order_accuracy", order_accuracy(&order, &texts, &corpus.orders, params, ctx)?);
                }
                (Some(names), _) => report.fact("name_accuracy", name_accuracy(&names, &texts, params, ctx)?),
                _ => {}
            }
            let training = json!({
                "documents": corpus.documents, "epochs": epochs, "program": env!("CARGO_PKG_VERSION"), "key": key,
            });
            // An earlier model of this folder stays whole until here.
            begin_folder(output)?;
            // The settings of the model itself are written last.
            for (place, (folder, model)) in folders.iter().zip(&models).enumerate().rev() {
                let output = &if place == 0 { output.to_owned() } else { output.join(GENERATOR) };
                disk::make_dir(output)?;
                match &definition {
                    Some(definition) => write_tokenizer(definition, params.max_tokens, output)?,
                    None => folder.copy_tokenizer(output)?,
                }
                folder.write(output, model, &[], fitted_until, &training)?;
            }
            checkpoint.remove()?;
            epochs
        }
    };
    report.fact("documents", corpus.documents);
    report.fact("inputs", texts.places.len());
    report.fact("tokens", tokens.len());
    report.fact("vocabulary", subword.size());
    report.fact("parameters", parameters);
    report.fact("fitted_until", fitted_until);
    report.fact("epochs", &epochs);
    report.fact("loss", epochs.last().map(|epoch| epoch.held_out.unwrap_or(epoch.loss)));
    let best = epochs.iter().filter_map(|epoch| epoch.held_out).min_by(f64::total_cmp);
    if !matches!(params.objective, Objective::Replaced { .. }) {
        report.fact("perplexity", best.map(f64::exp));
    }
    Ok(report)
}

/// Models of random weights: an encoder, or a discriminator and its generator.
fn begin_new(
    params: &PretrainParams,
    subword: &Subword,
    counts: &[u64],
    output: &Path,
    seed: u64,
) -> Result<Vec<(EncoderFolder, Transformer)>> {
    let NewEncoder { layers, width, heads, between, .. } = params.new;
    let causal = matches!(params.objective, Objective::Next);
    let block = BlockShape {
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
        let heads = match params.objective {
            Objective::Masked { beside: Some(beside), .. } => beside.heads(&folder)?,
            _ if words => folder.words_of_new().into(),
            _ => HeadForm::Replaced.into(),
        };
        let model = Transformer::random(*shape, heads, Some(counts), seed)?;
        Ok((folder, model))
    };
    Ok(match params.objective {
        Objective::Masked { .. } => vec![begin("bert", &shape, true)?],
        Objective::Next => vec![begin("gpt2", &shape, true)?],
        Objective::Replaced { .. } => {
            ensure!(
                width.is_multiple_of(heads),
                "a width of {width} cannot be shared by {heads} heads: give a multiple"
            );
            // A quarter of the heads, of the same size, in as many layers (Clark and others 2020, section 3.2).
            let heads = (heads / 4).max(1);
            let narrow = heads * (width / params.new.heads);
            let block = BlockShape { width: narrow, heads, between: 4 * narrow, ..block };
            let generator = EncoderShape { factor: (narrow != width).then_some(width), block, ..shape };
            vec![begin("electra", &shape, false)?, begin("electra", &generator, true)?]
        }
    })
}

/// The models of a base.
fn begin_from(base: EncoderFolder, objective: Objective, seed: u64) -> Result<Vec<(EncoderFolder, Transformer)>> {
    if !matches!(objective, Objective::Replaced { .. }) {
        let heads = match objective {
            Objective::Masked { beside: Some(beside), .. } => beside.heads(&base)?,
            _ => base.words()?.into(),
        };
        let model = base.read(heads, seed)?;
        return Ok(vec![(base, model)]);
    }
    let path = base.path().join(GENERATOR);
    let generator = EncoderFolder::open(&path).with_context(|| {
        format!("a discriminator is trained on with its generator: put the generator's folder into {}", path.display())
    })?;
    let words = generator.read(generator.words()?, seed)?;
    let discriminator = base.read(HeadForm::Replaced, seed)?;
    Ok(vec![(base, discriminator), (generator, words)])
}

fn train(
    models: Vec<Transformer>,
    texts: &TrainingTexts<'_>,
    params: &PretrainParams,
    checkpoint: &Checkpoint,
    ctx: &Ctx,
) -> Result<Vec<Transformer>> {
    match <[Transformer; 2]>::try_from(models) {
        Ok(pair) => Ok(train_electra(pair, texts, &params.training, Some(checkpoint), ctx)?.into()),
        Err(one) => one.into_iter().map(|model| model.train(texts, &params.training, Some(checkpoint), ctx)).collect(),
    }
}

/// The share of held-out inputs of two segments whose relation is predicted rightly; none where there is no such input.
fn order_accuracy(
    order: &Transformer,
    texts: &TrainingTexts<'_>,
    orders: &[u32],
    params: &PretrainParams,
    ctx: &Ctx,
) -> Result<Option<f64>> {
    let count = texts.places.len();
    let held_out = params.training.first_held_out(count)..count;
    let paired: Vec<usize> = held_out.filter(|&input| orders[input] != UNTAGGED).collect();
    let places: Vec<Range<usize>> = paired.iter().map(|&input| texts.places[input].clone()).collect();
    let scores = order.scores(texts.texts, &places, ctx)?;
    let right =
        paired.iter().zip(scores.chunks(2)).filter(|(input, row)| u32::from(row[1] > row[0]) == orders[**input]);
    let right = right.count() as f64;
    Ok((!paired.is_empty()).then(|| right / paired.len() as f64))
}

/// The share of tokens of names in held-out inputs of which it is predicted rightly whether the name took the place of another; none where there is
/// no such token.
fn name_accuracy(
    names: &Transformer,
    texts: &TrainingTexts<'_>,
    params: &PretrainParams,
    ctx: &Ctx,
) -> Result<Option<f64>> {
    let places = &texts.places[params.training.first_held_out(texts.places.len())..];
    let scores = names.scores(texts.texts, places, ctx)?;
    let tokens = places.iter().flat_map(|place| &texts.texts.tokens[place.clone()]);
    let named = tokens.zip(scores.chunks(2)).filter(|(token, _)| **token & NAMED != 0);
    let right: Vec<bool> = named.map(|(token, row)| (row[1] > row[0]) == (token & REPLACED != 0)).collect();
    let count = right.iter().filter(|right| **right).count() as f64;
    Ok((!right.is_empty()).then(|| count / right.len() as f64))
}

/// Reads a table of securities, as a project keeps it.
fn read_companies(path: &Path) -> Result<Companies> {
    let table = securities_from_frame(&frames::read_parquet(path, None)?);
    Companies::new(&table.with_context(|| format!("in {}", path.display()))?, &link::Params::default())
}

/// Counts the words of all lines, as BERT cuts text.
fn count_words(lines: &mut Lines, ctx: &Ctx) -> Result<WordCounts> {
    let mut all = WordCounts::default();
    lines.for_each_chunk(
        CHUNK,
        ctx,
        |lines| {
            ctx.advance(lines.len() as u64)?;
            let mut counts = WordCounts::default();
            lines.iter().try_for_each(|line| counts.add(&line.whole()))?;
            Ok(counts)
        },
        |counts| {
            all.merge(counts);
            Ok(())
        },
    )?;
    Ok(all)
}

/// Writes the tokenizer of a new encoder.
fn write_tokenizer(definition: &Value, max_tokens: usize, output: &Path) -> Result<()> {
    let settings = json!({
        "tokenizer_class": "BertTokenizerFast", "do_lower_case": true, "model_max_length": max_tokens, "unk_token": "[UNK]",
        "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]",
    });
    let put = |name: &str, json: &Value| {
        disk::write_atomic(&output.join(name), |out| Ok(out.write_all(&serde_json::to_vec_pretty(json)?)?))
    };
    put("tokenizer.json", definition)?;
    put("tokenizer_config.json", &settings)
}
