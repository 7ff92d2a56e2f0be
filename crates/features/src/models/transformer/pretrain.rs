//! An encoder trained to predict masked words (Devlin and others 2019): from nothing, with a vocabulary learned from the same text, or on from
//! the weights of a base (Gururangan and others 2020).

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::texts::{TextWriter, TokenizedTexts, inputs, room};
use super::{begin_folder, seen_by, seen_by_new};
use crate::lines::{Cutter, Lines};
use crate::stage_result;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::transformer::{
    BlockActivation, BlockShape, CONTINUES, EncoderFolder, EncoderShape, Goals, Masking, NormPlace, TokenTexts,
    TrainingTexts, Transformer, TransformerParams,
};
use inkstone_text::subword::{Subword, WordCounts};

/// Documents that a thread takes at once.
const CHUNK: usize = 64;

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

/// Settings of `train bert`.
#[derive(Clone, Debug)]
pub struct PretrainParams {
    pub new: NewEncoder,
    /// Tokens of an input at most, special tokens included; 0: as many as the base has places.
    pub max_tokens: usize,
    /// Share of the tokens that are masked.
    pub mask_share: f64,
    /// True if all tokens of a word are masked together.
    pub whole_words: bool,
    /// The last time of the base's text, where its folder does not say it, and of lines without a time.
    pub fitted_until: Option<NaiveDateTime>,
    pub training: TransformerParams,
}

/// The inputs of a corpus, and its figures.
struct Corpus {
    texts: TokenizedTexts,
    /// Occurrences of each token.
    counts: Vec<u64>,
    documents: u64,
    last_time: Option<NaiveDateTime>,
}

/// Trains an encoder on all lines, which are read twice without a base, and writes its folder. An interrupted training leaves a checkpoint
/// beside the folder, from which the same training goes on. The report has `documents`, `inputs`, `tokens`, `vocabulary`, `parameters`,
/// `fitted_until`, `epochs`, and the `perplexity` of the masked words of held-out inputs.
pub fn pretrain(
    open: &dyn Fn() -> Result<Lines>,
    cutter: &Cutter,
    base: Option<&Path>,
    params: &PretrainParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    let share = params.mask_share;
    ensure!(share > 0.0 && share < 1.0, "--mask-share {share} must lie between 0 and 1");
    disk::is_ours(output, Room::Converted)?;
    let base = base.map(EncoderFolder::open).transpose()?;
    let seen = base.as_ref().map(|base| seen_by(base, params.fitted_until)).transpose()?;
    let (subword, definition) = match &base {
        Some(base) => (Subword::open(base.path())?, None),
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
    let mask = subword.mask_id().context("the base's tokenizer has no mask token ([MASK])")?;
    let places = base.as_ref().map_or(params.max_tokens, EncoderFolder::most_tokens);
    let room = room(&subword, params.max_tokens, places)?;
    let mut lines = open()?;
    let words = params.whole_words.then_some(cutter);
    let corpus = Corpus::read(&mut lines, &subword, room, words, output, ctx)?;
    let mut report = lines.finish()?;
    ensure!(!corpus.texts.places.is_empty(), "no document has text that can be trained on");

    let new = &params.new;
    let folder = match base {
        Some(base) => base,
        None => {
            let block = BlockShape {
                width: new.width,
                heads: new.heads,
                between: new.between,
                place: NormPlace::After,
                activation: BlockActivation::Gelu,
                epsilon: 1e-12,
            };
            let shape = EncoderShape {
                vocabulary: subword.size(),
                places: params.max_tokens,
                first_place: 0,
                segments: 2,
                layers: new.layers,
                block,
            };
            EncoderFolder::create(output, shape, subword.pad_id().unwrap_or_default())?
        }
    };
    let form = folder.words()?;
    let begun = match seen {
        Some(_) => folder.read(form, ctx.seed())?,
        None => Transformer::random(folder.shape, form, Some(&corpus.counts), ctx.seed())?,
    };
    let masking = Masking { share, mask, vocabulary: folder.shape.vocabulary as u32 };
    let tokens = corpus.texts.tokens();
    let texts = TokenTexts { tokens, frozen: None };
    let texts = TrainingTexts { texts, places: &corpus.texts.places, goals: Goals::Words(masking) };
    let what = json!({
        "training": params.training, "mask_share": share, "seed": ctx.seed(), "room": room,
        "text": Key::of(bytemuck::cast_slice(tokens)),
        "weights": begun.values().into_iter().map(|values| Key::of(bytemuck::cast_slice(values))).collect::<Vec<Key>>(),
    });
    let checkpoint = Checkpoint::new(output, &what)?;
    let trained = begun.train(&texts, &params.training, Some(&checkpoint), ctx)?;
    let fitted_until = seen_by_new(seen, corpus.last_time, params.fitted_until);
    let training =
        json!({"documents": corpus.documents, "epochs": trained.epochs(), "program": env!("CARGO_PKG_VERSION")});
    // An earlier model of this folder stays whole until here.
    begin_folder(output)?;
    match &definition {
        Some(definition) => write_tokenizer(definition, params.max_tokens, output)?,
        None => folder.copy_tokenizer(output)?,
    }
    folder.write(output, &trained, &[], fitted_until, &training)?;
    checkpoint.remove()?;
    report.fact("documents", corpus.documents);
    report.fact("inputs", texts.places.len());
    report.fact("tokens", tokens.len());
    report.fact("vocabulary", folder.shape.vocabulary);
    report.fact("parameters", trained.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("fitted_until", fitted_until);
    report.fact("epochs", trained.epochs());
    let best = trained.epochs().iter().filter_map(|epoch| epoch.held_out).min_by(f64::total_cmp);
    report.fact("perplexity", best.map(f64::exp));
    Ok(report)
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

impl Corpus {
    /// Reads lines; `words` cuts the words that are hidden as a whole.
    fn read(
        lines: &mut Lines,
        subword: &Subword,
        room: usize,
        words: Option<&Cutter>,
        output: &Path,
        ctx: &Ctx,
    ) -> Result<Corpus> {
        let mut writer = TextWriter::new(output)?;
        let (mut counts, mut documents, mut last_time) = (vec![0; subword.size()], 0, None);
        stage_result(ctx, "cut", "docs", None, || {
            lines.for_each_chunk(
                CHUNK,
                ctx,
                |lines| {
                    ctx.advance(lines.len() as u64)?;
                    let cut = lines.iter().map(|line| inputs(subword, &line.whole(), room, words));
                    let last = lines.iter().filter_map(|line| line.time).max();
                    Ok((cut.collect::<Result<Vec<Vec<Vec<u32>>>>>()?, last))
                },
                |(cut, last)| {
                    documents += cut.len() as u64;
                    last_time = last_time.max(last);
                    for tokens in cut.iter().flatten() {
                        tokens.iter().for_each(|token| counts[(token & !CONTINUES) as usize] += 1);
                        writer.push(tokens)?;
                    }
                    Ok(())
                },
            )?;
            Ok(((), Report::new("cut")))
        })?;
        Ok(Corpus { texts: writer.finish()?, counts, documents, last_time })
    }
}
