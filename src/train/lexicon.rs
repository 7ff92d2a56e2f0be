//! `train lexicon`, `tone` and `sestm`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::{Files, open, trained};
use crate::cli::{Corpus, Tokenizer};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::{induced, lexicon, sestm};
use inkstone_models::{InduceParams, LabelForm, LexiconParams, SeedParams, SestmParams, Statistic, Tune};
use inkstone_text::DfLimit;

/// Where the words of a lexicon come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LexiconMethod {
    /// Words whose documents have other returns than the rest ("value" of JSON lines).
    Returns,
    /// Words near good seeds rather than near bad ones (SO-PMI).
    Seeds,
}

/// Flags of `train lexicon`.
#[derive(Debug, Args)]
pub struct Lexicon {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The words: a file is a table of both sides with signed weights, a name without an extension a folder of positive.txt and
    /// negative.txt.
    ///
    /// 词表：文件为正负合一、带符号权重的表；没有扩展名的名称为含 positive.txt 与 negative.txt 的文件夹。
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: PathBuf,
    /// Where the words come from.
    ///
    /// 词的来源。
    #[arg(long, default_value = "returns")]
    pub method: LexiconMethod,
    /// Share of the words that may be there by chance (Benjamini and Hochberg); 1 keeps all.
    ///
    /// 可能出于偶然的词的占比（Benjamini-Hochberg）；1 为全部保留。
    #[arg(long, value_name = "Q", default_value_t = InduceParams::default().fdr, value_parser = flag::<f64>("feature.induce.fdr"))]
    pub fdr: f64,
    /// Words kept on each side at the most; 0 keeps all that pass.
    ///
    /// 每边最多保留的词；0 为全部通过者。
    #[arg(long, value_name = "N", default_value_t = InduceParams::default().max_words, value_parser = flag::<usize>("feature.induce.max_words"))]
    pub max_words: usize,
    /// From returns: what is compared, mean or odds.
    ///
    /// 按收益：比较均值（mean）或优势比（odds）。
    #[arg(long, value_enum, default_value_t)]
    pub statistic: Statistic,
    /// From returns: raw, winsorised or ranked.
    ///
    /// 按收益：原值（raw）、缩尾（winsorised）或排名（ranked）。
    #[arg(long, value_enum, default_value_t)]
    pub label_form: LabelForm,
    /// From returns: documents that a word must be in, a count, or a share with a point.
    ///
    /// 按收益：词至少出现的文档，整数为篇数，小数为占比。
    #[arg(long, value_name = "N", default_value_t = InduceParams::default().min_df)]
    pub min_df: DfLimit,
    /// From seeds: good words.
    ///
    /// 按种子词：正面词。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', required_if_eq("method", "seeds"))]
    pub positive: Vec<String>,
    /// From seeds: bad words.
    ///
    /// 按种子词：负面词。
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', required_if_eq("method", "seeds"))]
    pub negative: Vec<String>,
    /// From seeds: terms to each side that are near.
    ///
    /// 按种子词：每侧多少词项算相邻。
    #[arg(long, value_name = "N", default_value_t = SeedParams::default().window, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// From seeds: times that a word must stand near one.
    ///
    /// 按种子词：词至少与种子词相邻的次数。
    #[arg(long, value_name = "N", default_value_t = SeedParams::default().min_count, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
}

/// Flags of `train tone`. Lists may be in any usual shape and encoding: a word a line, word and weight, or a table with a header.
#[derive(Debug, Args)]
pub struct Tone {
    /// The model file.
    ///
    /// 模型文件。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub params: LexiconParams,
    #[command(flatten)]
    pub tokenizer: Tokenizer,
}

/// Flags of `train sestm`, which takes JSON lines with "value", the return around the text; "time" and "group" if there are. Where
/// several values are given, the best is chosen on the latest documents.
#[derive(Debug, Args)]
pub struct Sestm {
    #[command(flatten)]
    pub files: Files,
    /// Words that each side keeps, those farthest from the base rate; 0: by --alpha-plus and --alpha-minus.
    ///
    /// 每边保留的词数，取离基准最远者；0 为按 --alpha-plus 与 --alpha-minus。
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [SestmParams::default().words], value_parser = flag::<usize>("feature.sestm.words"))]
    pub words: Vec<usize>,
    /// With --words 0: how far above the base rate the share of positive returns of a word must be.
    ///
    /// --words 0 时：词的正收益占比须高出基准多少。
    #[arg(long, value_name = "A", default_value_t = SestmParams::default().alpha_plus, value_parser = flag::<f64>("feature.sestm.alpha_plus"))]
    pub alpha_plus: f64,
    /// With --words 0: how far below.
    ///
    /// --words 0 时：须低多少。
    #[arg(long, value_name = "A", default_value_t = SestmParams::default().alpha_minus, value_parser = flag::<f64>("feature.sestm.alpha_minus"))]
    pub alpha_minus: f64,
    /// Documents that a word must be in: a count, or a share with a point.
    ///
    /// 词至少出现的文档：整数为篇数，小数为占比。
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [SestmParams::default().kappa])]
    pub kappa: Vec<DfLimit>,
    /// Strength of the penalty that draws a score to the middle, above 0.
    ///
    /// 使得分靠近中间的惩罚，大于 0。
    #[arg(long, value_name = "L,L", value_delimiter = ',', default_values_t = [SestmParams::default().lambda], value_parser = flag::<f64>("feature.sestm.lambda"))]
    pub lambda: Vec<f64>,
    /// Share of the documents, the latest, on which the best of several values is chosen.
    ///
    /// 用最近的多大比例文档来选取最优值。
    #[arg(long, value_name = "S", default_value_t = Tune::default().validation, value_parser = flag::<f64>("feature.sestm.tune.validation"))]
    pub validation: f64,
}

pub(super) fn lexicon(args: &Lexicon, ctx: &Ctx) -> Result<Summary> {
    let (mut lines, cutter) = open(&args.corpus)?;
    let (fdr, max_words) = (args.fdr, args.max_words);
    let (found, report) = staged(ctx, "train", || match args.method {
        LexiconMethod::Returns => {
            let params = InduceParams { statistic: args.statistic, min_df: args.min_df, fdr, max_words };
            induced::from_returns(&mut lines, &cutter, args.label_form, &params, ctx)
        }
        LexiconMethod::Seeds => {
            let (positive, negative) = (args.positive.clone(), args.negative.clone());
            let (window, min_count) = (args.window, args.min_count);
            let params = SeedParams { positive, negative, window, min_count, fdr, max_words };
            induced::from_seeds(&mut lines, &cutter, &params, ctx)
        }
    })?;
    found.save(&args.output)?;
    Ok(trained("lexicon", &args.output, report, &[]))
}

pub(super) fn tone(args: &Tone, ctx: &Ctx) -> Result<Summary> {
    let tokenizer = args.tokenizer.params("builtin");
    let ((lexicon, cutter), report) = staged(ctx, "train", || {
        let (lexicon, cutter, report) = lexicon::gather(&args.params, tokenizer, Path::new(""))?;
        Ok(((lexicon, cutter), report))
    })?;
    lexicon.save(&args.output, cutter.spec())?;
    Ok(trained("tone", &args.output, report, &[]))
}

pub(super) fn sestm(args: &Sestm, ctx: &Ctx) -> Result<Summary> {
    let params = sestm_params(args);
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (model, report) = staged(ctx, "train", || sestm::train(&mut lines, &cutter, &params, ctx))?;
    model.save(&args.files.output, cutter.spec())?;
    Ok(trained("sestm", &args.files.output, report, &[]))
}

/// One value is the value; several are to be chosen from.
fn sestm_params(args: &Sestm) -> SestmParams {
    fn one<T: Copy>(values: &[T], default: T) -> (T, Vec<T>) {
        match values {
            [] => (default, Vec::new()),
            [value] => (*value, Vec::new()),
            [first, ..] => (*first, values.to_vec()),
        }
    }
    let defaults = SestmParams::default();
    let (words, words_list) = one(&args.words, defaults.words);
    let (kappa, kappa_list) = one(&args.kappa, defaults.kappa);
    let (lambda, lambda_list) = one(&args.lambda, defaults.lambda);
    let validation = args.validation;
    let tune = Tune { words: words_list, kappa: kappa_list, lambda: lambda_list, validation, ..Tune::default() };
    SestmParams { words, alpha_plus: args.alpha_plus, alpha_minus: args.alpha_minus, kappa, lambda, tune }
}
