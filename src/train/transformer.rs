//! `train bert` and `train finetune`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use clap::{Args, ValueEnum};

use super::{lines, open, trained, trained_with_figures};
use crate::cli::Corpus;
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::estimators::Learn;
use inkstone_features::models::transformer::{self, FinetuneParams, NewEncoder, PretrainParams};
use inkstone_models::transformer::TransformerParams;

/// The unit that is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mask {
    /// All tokens of a word.
    #[default]
    Words,
    /// Each token for itself.
    Tokens,
}

/// Flags of `train bert`.
#[derive(Debug, Args)]
#[command(mut_arg("batch", |arg| arg.default_value("32")), mut_arg("lr", |arg| arg.default_value("0.0005")), mut_arg("epochs", |arg| arg.default_value("10")), mut_arg("held_out_share", |arg| arg.default_value("0.05")))]
pub struct Bert {
    #[command(flatten)]
    pub corpus: Corpus,
    /// Folder of the new encoder. It must be new, empty, or of an earlier training.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Encoder to train on from: a folder with config.json, model.safetensors and a tokenizer. Without it an encoder and its vocabulary are
    /// trained from nothing.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["layers", "hidden", "heads", "between", "vocabulary", "min_count"])]
    pub base: Option<PathBuf>,
    /// Last day of the text that the base was trained on, where its folder does not say it, and of lines without a time.
    #[arg(long, value_name = "DATE")]
    pub fitted_until: Option<NaiveDate>,
    /// Layers, each of attention and a feed-forward layer.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--count"))]
    pub layers: usize,
    /// Values of the vector of a token.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Heads of attention; they share the values of a vector.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--count"))]
    pub heads: usize,
    /// Units of the feed-forward layers. Default: four times the values of a vector.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--dim"))]
    pub between: Option<usize>,
    /// Tokens of the vocabulary at most: characters, and pieces of words of other scripts.
    #[arg(long, value_name = "N", default_value_t = 8000, value_parser = flag::<usize>("--count"))]
    pub vocabulary: usize,
    /// Fewest times that a character or a piece of a word occurs.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("--count"))]
    pub min_count: u64,
    /// Tokens of an input at most; longer documents are several inputs. Default: 128, of a base as many as it has places.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub max_tokens: Option<usize>,
    /// Share of the tokens that are masked.
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = flag::<f64>("--share"))]
    pub mask_share: f64,
    /// Units that are masked: words (all tokens of a word) or tokens (each for itself).
    #[arg(long, value_enum, default_value_t)]
    pub mask: Mask,
    #[command(flatten)]
    pub training: TransformerParams,
}

/// Flags of `train finetune`, which takes JSON lines with "label", "labels" or "value".
#[derive(Debug, Args)]
pub struct Finetune {
    /// Encoder to train on from: a folder with config.json, model.safetensors and a tokenizer.
    #[arg(long, value_name = "FOLDER")]
    pub base: PathBuf,
    #[command(flatten)]
    pub corpus: Corpus,
    /// Folder of the new model. It must be new, empty, or of an earlier training.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Target: label (one class), labels (any number) or value (a number).
    /// Default: the first of labels, label and value that a line has.
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    /// Days after a document until its label is known: the model is known from then on.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub label_days: u32,
    /// Last day of the text that the base was trained on, where its folder does not say it, and of lines without a time.
    #[arg(long, value_name = "DATE")]
    pub fitted_until: Option<NaiveDate>,
    /// Tokens that are read of a text at most, the first ones. Default: as many as the base has places.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--count"))]
    pub max_tokens: Option<usize>,
    #[command(flatten)]
    pub training: TransformerParams,
}

fn last_second(day: Option<NaiveDate>) -> Option<NaiveDateTime> {
    day.and_then(|day| day.and_hms_opt(23, 59, 59))
}

pub(super) fn bert(args: &Bert, ctx: &Ctx) -> Result<Summary> {
    ensure!(
        args.corpus.input.as_os_str() != "-" || args.base.is_some(),
        "the lines are read twice, first for the vocabulary: name a file with --input"
    );
    let new = NewEncoder {
        layers: args.layers,
        width: args.hidden,
        heads: args.heads,
        between: args.between.unwrap_or(4 * args.hidden),
        vocabulary: args.vocabulary,
        min_count: args.min_count,
    };
    let params = PretrainParams {
        new,
        max_tokens: args.max_tokens.unwrap_or(if args.base.is_some() { 0 } else { 128 }),
        mask_share: args.mask_share,
        whole_words: args.mask == Mask::Words,
        fitted_until: last_second(args.fitted_until),
        training: args.training.clone(),
    };
    let (_, cutter) = open(&args.corpus)?;
    let open = || lines(&args.corpus.input, &args.corpus);
    let train = || {
        transformer::pretrain(&open, &cutter, args.base.as_deref(), &params, &args.output, ctx)
            .map(|report| ((), report))
    };
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained("bert", &args.output, report, &["inputs", "parameters", "epochs", "perplexity"]))
}

pub(super) fn finetune(args: &Finetune, ctx: &Ctx) -> Result<Summary> {
    let params = FinetuneParams {
        base: args.base.clone(),
        learn: args.learn,
        max_tokens: args.max_tokens.unwrap_or(0),
        label_days: args.label_days,
        fitted_until: last_second(args.fitted_until),
        training: args.training.clone(),
    };
    let (mut lines, _) = open(&args.corpus)?;
    let train = || transformer::finetune(&mut lines, &params, &args.output, ctx).map(|report| ((), report));
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained_with_figures("finetune", &args.output, report))
}
