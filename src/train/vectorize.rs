//! `train tfidf` and the other vectorizers, and `train lsa`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Files, open, trained};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::bail;
use inkstone_base::job::Ctx;
use inkstone_features::models::lsa;
use inkstone_features::models::lsa::LsaParams;
use inkstone_features::models::tfidf;
use inkstone_models::{Formula, Norm, Preset, SvdParams, Unit, VectorizerParams};
use inkstone_text::DfLimit;

/// Flags of a vectorizer. Flags that are not given follow from the model's name.
#[derive(Debug, Args)]
pub struct Vectorize {
    #[command(flatten)]
    pub files: Files,
    /// Also write the rows of the input: .npz, .npy, .parquet or .csv.
    ///
    /// 另写输入的各行：.npz、.npy、.parquet 或 .csv。
    #[arg(long, value_name = "FILE")]
    pub transform: Option<PathBuf>,
    #[command(flatten)]
    pub terms: Terms,
}

/// Flags of `train lsa`: those of `train tfidf`, whose rows are decomposed, and the decomposition's own.
#[derive(Debug, Args)]
#[command(mut_arg("dim", |arg| arg.visible_alias("n-components")))]
pub struct Lsa {
    #[command(flatten)]
    pub vectorize: Vectorize,
    #[command(flatten)]
    pub svd: SvdParams,
}

/// Terms of a text, terms that become columns, and weight of a count. Flags that are not given have the default of the model; for
/// classifiers, that of TF-IDF.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Terms")]
pub struct Terms {
    /// Units of n-grams: word or char (all characters of the text, marks and spaces included).
    ///
    /// n 元组的单位：word（词）或 char（文本的全部字，含标点与空格）。
    #[arg(long)]
    pub analyzer: Option<Unit>,
    /// Shortest and longest n-gram, as 1,2.
    ///
    /// 最短与最长的 n 元组，如 1,2。
    #[arg(long, value_name = "MIN,MAX", value_delimiter = ',', num_args = 1, value_parser = flag::<usize>("feature.tfidf.ngram_range"))]
    pub ngram_range: Option<Vec<usize>>,
    /// Only words of these parts of speech, as n,v,a (jieba's tags).
    ///
    /// 只计这些词性的词，如 n,v,a（jieba 的词性）。
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    pub pos: Option<Vec<String>>,
    /// Columns for the words of titles apart from bodies, the most frequent so many; 0: a word is one column wherever it
    /// stands.
    ///
    /// 标题的词单独成列的个数，取最常见者；0 为不分标题正文。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("feature.tfidf.title_features"))]
    pub title_features: Option<usize>,
    /// Hash terms into so many columns, without a vocabulary; 0 does not hash.
    ///
    /// 词项哈希到这么多列，不用词表；0 为不哈希。
    #[arg(long, value_name = "N", visible_alias = "n-features", value_parser = flag::<usize>("feature.tfidf.buckets"))]
    pub buckets: Option<usize>,
    /// Hashed terms all count upwards.
    ///
    /// 哈希的词项都按正数计。
    #[arg(long)]
    pub no_alternate_sign: bool,
    /// How a count becomes a weight: sklearn, textbook, bm25, log-count, count or binary.
    ///
    /// 计数如何变为权重：sklearn、textbook、bm25、log-count、count 或 binary。
    #[arg(long)]
    pub formula: Option<Formula>,
    /// idf is ln(n / df) + 1.
    ///
    /// idf 取 ln(n / df) + 1。
    #[arg(long)]
    pub no_smooth_idf: bool,
    /// Leave out terms in fewer documents: a count, or a share with a point. Default: 2.
    ///
    /// 舍弃文档数更少的词项：整数为篇数，小数为占比。默认：2。
    #[arg(long, value_name = "N")]
    pub min_df: Option<DfLimit>,
    /// Leave out terms in more documents: a share with a point, or a count. Default: 1.0.
    ///
    /// 舍弃文档数更多的词项：小数为占比，整数为篇数。默认：1.0。
    #[arg(long, value_name = "N")]
    pub max_df: Option<DfLimit>,
    /// Keep at the most this many terms, the most frequent; 0 keeps all.
    ///
    /// 最多保留这么多词项，取最常见者；0 为全部。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("feature.tfidf.max_features"))]
    pub max_features: Option<usize>,
    /// A count enters as 1 + ln(count).
    ///
    /// 计数取 1 + ln(计数)。
    #[arg(long)]
    pub sublinear_tf: bool,
    /// Norm that a row is divided by: formula (its own), l2, l1 or none.
    ///
    /// 行除以的范数：formula（公式自带）、l2、l1 或 none。
    #[arg(long)]
    pub norm: Option<Norm>,
    /// BM25: how soon further occurrences add nothing. Default: 1.2.
    ///
    /// BM25：词频饱和的快慢。默认：1.2。
    #[arg(long, value_parser = flag::<f64>("feature.tfidf.k1"))]
    pub k1: Option<f64>,
    /// BM25: how much length is held against a document, 0 to 1. Default: 0.75.
    ///
    /// BM25：对文档长度的惩罚，0 到 1。默认：0.75。
    #[arg(long, value_parser = flag::<f64>("feature.tfidf.b"))]
    pub b: Option<f64>,
}

pub(super) fn run(preset: Preset, args: &Vectorize, ctx: &Ctx) -> Result<Summary> {
    let params = params(preset, &args.terms)?;
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (model, report) = staged(ctx, "train", || {
        let Some(path) = &args.transform else {
            return tfidf::train(&mut lines, &cutter, &params, ctx);
        };
        let (model, rows, report) = tfidf::train_rows(&mut lines, &cutter, &params, path, ctx)?;
        rows.write(&model, path, ctx)?;
        Ok((model, report))
    })?;
    model.save(&args.files.output, cutter.spec())?;
    let mut summary = trained(params.name(), &args.files.output, report, &[]);
    if let Some(path) = &args.transform {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}

pub(super) fn lsa(args: &Lsa, ctx: &Ctx) -> Result<Summary> {
    let Vectorize { files, transform, terms } = &args.vectorize;
    let params = LsaParams { vectorizer: params(Preset::Tfidf, terms)?, svd: args.svd.clone() };
    let (mut lines, cutter) = open(&files.corpus)?;
    let points = transform.as_deref();
    let train = || lsa::train(&mut lines, &cutter, &params, &files.output, points, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&files.output, cutter.spec())?;
    let mut summary = trained(lsa::KIND, &files.output, report, &["dim", "explained_variance", "singular_value_error"]);
    if let Some(path) = points {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}

/// The parameters of the preset with the flags over them.
pub(super) fn params(preset: Preset, args: &Terms) -> Result<VectorizerParams> {
    let preset = VectorizerParams::preset(preset);
    let ngram_range = match args.ngram_range.as_deref() {
        None => preset.ngram_range,
        Some(&[both]) => (both, both),
        Some(&[shortest, longest]) => (shortest, longest),
        Some(more) => bail!(
            "--ngram-range 有 {} 个数；请写最短与最长，如 1,2",
            "--ngram-range has {} numbers; write the shortest and the longest, as 1,2",
            more.len()
        ),
    };
    Ok(VectorizerParams {
        analyzer: args.analyzer.unwrap_or(preset.analyzer),
        ngram_range,
        pos: args.pos.clone().unwrap_or(preset.pos),
        title_features: args.title_features.unwrap_or(preset.title_features),
        buckets: args.buckets.unwrap_or(preset.buckets),
        alternate_sign: preset.alternate_sign && !args.no_alternate_sign,
        formula: args.formula.unwrap_or(preset.formula),
        smooth_idf: preset.smooth_idf && !args.no_smooth_idf,
        min_df: args.min_df.unwrap_or(preset.min_df),
        max_df: args.max_df.unwrap_or(preset.max_df),
        max_features: args.max_features.unwrap_or(preset.max_features),
        sublinear_tf: preset.sublinear_tf || args.sublinear_tf,
        norm: args.norm.unwrap_or(preset.norm),
        k1: args.k1.unwrap_or(preset.k1),
        b: args.b.unwrap_or(preset.b),
    })
}
