//! An encoder trained to predict masked words (Devlin and others 2019), each next token (Radford and others 2018, Merity and others 2018, Peters and others 2018) or which tokens were replaced (Clark
//! and others 2020), or trained with a decoder that restores damaged texts (Lewis and others 2020): from nothing, with a vocabulary learned from the same text, or on from the weights of a base (Gururangan and others 2020).

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::base::OpenedBase;
use super::corpus::{CHUNK, InputForm, PretrainCorpus, SentenceTask};
use super::forgotten::BaseText;
use super::models::PretrainedModels;
use super::texts::{LEAST, room};
use super::{begin_folder, seen_by, seen_by_new, tokenizer_of};
use crate::lines::{Cutter, Line, Lines};
use crate::stage_result;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::link::{self, Companies};
use inkstone_market::securities_from_frame;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::EpochFigures;
use inkstone_models::transformer::{
    EncoderFolder, Goals, Masking, ModelFolder, NAMED, Noise, Noising, REPLACED, TokenTexts, TrainingTexts,
    Transformer, TransformerParams, UNTAGGED,
};
use inkstone_tables::frames;
use inkstone_text::subword::{Subword, WordCounts};

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
    /// Masked words: a share of the tokens, and another one that stands in another order; and something beside them.
    Masked { share: f64, shuffled: f64, unit: MaskedUnit, beside: Option<BesideWords> },
    /// The token behind each token; of an ELMo the one before, too.
    Next(LanguageModel),
    /// Which tokens a generator has replaced, that fills masked words (Clark and others 2020).
    Replaced { share: f64, unit: MaskedUnit },
    /// All tokens of a text, which an encoder reads damaged (Lewis and others 2020).
    Restored { share: f64, unit: MaskedUnit },
}

impl Objective {
    /// The method of `inkstone train`.
    pub(super) fn method(self) -> &'static str {
        match self {
            Objective::Masked { .. } => "bert",
            Objective::Next(LanguageModel::Gpt) => "gpt",
            Objective::Next(LanguageModel::Lstm) => "lstm",
            Objective::Next(LanguageModel::Elmo) => "elmo",
            Objective::Replaced { .. } => "electra",
            Objective::Restored { .. } => "bart",
        }
    }
}

/// A model that predicts the words that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanguageModel {
    /// A transformer (GPT-2).
    Gpt,
    /// An LSTM (ULMFiT).
    Lstm,
    /// Two LSTMs, one of each direction (ELMo).
    Elmo,
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

/// Settings of `train bert`, `gpt`, `lstm`, `elmo`, `electra` and `bart`.
#[derive(Clone, Debug)]
pub struct PretrainParams {
    pub new: NewEncoder,
    /// Tokens of an input at most, special tokens included; 0: as many as the base has places.
    pub max_tokens: usize,
    pub objective: Objective,
    /// The ways in which texts are damaged that are restored.
    pub noises: Vec<Noise>,
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
    if let Objective::Masked { share, .. } | Objective::Replaced { share, .. } | Objective::Restored { share, .. } =
        params.objective
    {
        ensure!(
            share > 0.0 && share < 1.0,
            "--mask-share {share} 须在 0 到 1 之间",
            "--mask-share {share} must lie between 0 and 1"
        );
    }
    if let Objective::Masked { share, shuffled, .. } = params.objective {
        ensure!(
            (0.0..=1.0 - share).contains(&shuffled),
            "--shuffle-share {shuffled} 须在 0 到 {}（--mask-share 所余）之间",
            "--shuffle-share {shuffled} must lie between 0 and {}, what --mask-share leaves",
            1.0 - share
        );
    }
    disk::is_ours(output, Room::Converted)?;
    let base = base.map(OpenedBase::open).transpose()?;
    if let Some(base) = &base {
        let method = base.method();
        ensure!(
            method == params.objective.method(),
            "{} 须用 train {method} 继续训练",
            "{} is trained on by: train {method}",
            base.files().path().display()
        );
    }
    let seen = base.as_ref().map(|base| seen_by(base.files(), params.fitted_until)).transpose()?;
    let (subword, definition) = match &base {
        Some(base) => (tokenizer_of(base.files(), base.vocabulary())?, None),
        None => {
            let counted = stage_result(ctx, "count words", "docs", None, || {
                let mut lines = open()?;
                let counted = count_words(&mut lines, &|line| line.whole().into_owned(), ctx)?;
                Ok((counted, lines.finish()?))
            })?;
            let definition = counted.word_pieces(params.new.vocabulary, params.new.min_count)?;
            (Subword::of_definition(definition.clone())?, Some(definition))
        }
    };
    let places = base.as_ref().map_or(params.max_tokens, OpenedBase::most_tokens);
    let room = room(&subword, params.max_tokens, places)?;
    let (unit, beside) = match params.objective {
        Objective::Masked { unit, beside, .. } => (unit, beside),
        Objective::Replaced { unit, .. } | Objective::Restored { unit, .. } => (unit, None),
        Objective::Next(_) => (MaskedUnit::Tokens, None),
    };
    let sentences = if let Some(BesideWords::Sentences(task)) = beside { Some(task) } else { None };
    let companies = params.securities.as_deref().map(read_companies).transpose()?;
    // A pair has a special token more between its halves.
    let room = if sentences.is_some() { room.saturating_sub(1).max(2 * LEAST) } else { room };
    let words = (unit != MaskedUnit::Tokens).then_some(cutter);
    let mut lines = open()?;
    let input_form = InputForm {
        subword: &subword,
        room,
        words,
        sentences,
        sentence_begins: params.noises.contains(&Noise::Sentences),
        companies: companies.as_ref(),
    };
    let corpus = PretrainCorpus::read(&mut lines, &input_form, output, ctx)?;
    let mut report = lines.finish()?;
    if corpus.texts.places.is_empty() {
        bail!(TooLittle(message!("没有文档有可训练的文本", "no document has text that can be trained on")));
    }
    if let Some(securities) = params.securities.as_ref().filter(|_| corpus.named == 0) {
        let table = securities.display();
        bail!(TooLittle(message!(
            "没有带时间的文档提到 {table} 中当日同业另有公司的公司",
            "no document with a time names a company of {table} that has others of its industry on that day"
        )));
    }

    let begun = match base {
        Some(base) => PretrainedModels::of_base(base, params.objective, ctx.seed())?,
        None => PretrainedModels::random(params, &subword, &corpus.counts, output, ctx.seed())?,
    };
    let mask = || {
        subword
            .mask_id()
            .context(Word("基础模型的分词器没有掩码词元（[MASK]）", "the base's tokenizer has no mask token ([MASK])"))
    };
    let shuffled = if let Objective::Masked { shuffled, .. } = params.objective { shuffled } else { 0.0 };
    let masking = |share: f64| {
        let mask = mask()?;
        let (vocabulary, separator) = (subword.size() as u32, sentences.and(subword.id("[SEP]")));
        Ok::<_, anyhow::Error>(Masking {
            share,
            mask,
            vocabulary,
            separator,
            spans: unit == MaskedUnit::Spans,
            shuffled,
        })
    };
    let goals = match params.objective {
        Objective::Masked { share, beside: Some(BesideWords::Sentences(_)), .. } => {
            Goals::WordsAndOrder(masking(share)?, corpus.orders.clone())
        }
        Objective::Masked { share, beside: Some(BesideWords::Names), .. } => Goals::WordsAndNames(masking(share)?),
        Objective::Masked { share, .. } | Objective::Replaced { share, .. } => Goals::Words(masking(share)?),
        Objective::Next(_) | Objective::Restored { .. } => Goals::Next,
    };
    let noising = match params.objective {
        Objective::Restored { share, .. } => Some(Noising { noises: params.noises.clone(), share, mask: mask()? }),
        _ => None,
    };
    let tokens = corpus.texts.tokens();
    let texts = TokenTexts { tokens, frozen: None };
    let texts = TrainingTexts { texts, places: &corpus.texts.places, goals };
    let what = json!({
        "training": params.training, "objective": format!("{:?}", params.objective), "noises": params.noises, "seed": ctx.seed(), "room": room,
        "text": Key::of(bytemuck::cast_slice(tokens)), "orders": Key::of(bytemuck::cast_slice(&corpus.orders)),
        "weights": begun.keys(),
    });
    let fitted_until = seen_by_new(seen, corpus.last_time, params.fitted_until);
    let key = Key::of_json(&json!([what, fitted_until, env!("CARGO_PKG_VERSION")]));
    let parameters = begun.parameters();
    let earlier = if keep { ModelFolder::open(output).ok() } else { None };
    let kept = earlier.and_then(|folder| folder.training_with(key)).map(|training| training["epochs"].clone());
    let epochs: Vec<EpochFigures> = match kept {
        Some(epochs) => {
            serde_json::from_value(epochs).context(Word("先前训练的轮次", "the epochs of an earlier training"))?
        }
        None => {
            let checkpoint = Checkpoint::new(output, &what)?;
            let models = begun.train(&texts, noising.as_ref(), params, &checkpoint, ctx)?;
            let epochs = models.epochs().to_vec();
            let heads = beside.map(|_| models.with_beside()).transpose()?.flatten();
            match (heads, beside) {
                (Some(order), Some(BesideWords::Sentences(_))) => {
                    report.fact("order_accuracy", order_accuracy(&order, &texts, &corpus.orders, params, ctx)?);
                }
                (Some(names), Some(BesideWords::Names)) => {
                    report.fact("name_accuracy", name_accuracy(&names, &texts, params, ctx)?)
                }
                _ => {}
            }
            let training = json!({
                "documents": corpus.documents, "epochs": epochs, "program": env!("CARGO_PKG_VERSION"), "key": key,
            });
            // An earlier model of this folder stays whole until here.
            begin_folder(output)?;
            let write = |output: &Path| {
                definition.as_ref().map_or(Ok(()), |definition| write_tokenizer(definition, params.max_tokens, output))
            };
            let tokenizer = definition.as_ref().map(|_| &write as &dyn Fn(&Path) -> Result<()>);
            models.write(output, tokenizer, fitted_until, &training)?;
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
    let relations = scores.len() / paired.len().max(1);
    let greatest =
        |row: &[f32]| (1..row.len()).fold(0, |best, place| if row[place] > row[best] { place } else { best });
    let rows = paired.iter().zip(scores.chunks(relations.max(1)));
    let right = rows.filter(|(input, row)| greatest(row) as u32 == orders[**input]).count() as f64;
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
    Companies::new(&table.with_context(|| message!("在 {} 中", "in {}", path.display()))?, &link::Params::default())
}

/// Counts the words of all lines, as BERT cuts text. `text` gives the text of a line.
pub(super) fn count_words(
    lines: &mut Lines,
    text: &(dyn Fn(&Line<'_>) -> String + Sync),
    ctx: &Ctx,
) -> Result<WordCounts> {
    let mut all = WordCounts::default();
    lines.for_each_chunk(
        CHUNK,
        ctx,
        |lines| {
            ctx.advance(lines.len() as u64)?;
            let mut counts = WordCounts::default();
            lines.iter().try_for_each(|line| counts.add(&text(line)))?;
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
pub(super) fn write_tokenizer(definition: &Value, max_tokens: usize, output: &Path) -> Result<()> {
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
