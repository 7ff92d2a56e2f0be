//! `train crf`.

use std::path::PathBuf;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use clap::Args;

use super::trained;
use crate::cli::time;
use crate::command::staged::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::crf;
use inkstone_features::models::crf::{LabelledUnit, LabellerParams, NameLabels};
use inkstone_features::standalone::{LineFormat, Lines};
use inkstone_models::CrfParams;
use inkstone_text::labeller::Templates;

/// Flags of `train crf`.
#[derive(Debug, Args)]
pub struct Crf {
    /// The documents, one per line; - reads standard input. A file .conll has a character and its label a line, and an empty line behind each
    /// sentence.
    ///
    /// 文档，每行一篇；- 为标准输入。.conll 文件每行为一字及其标签，句后空一行。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: tokens (words separated by spaces) or jsonl (the same in "text"; for entities also "entities": kind, start and end
    /// in bytes). Default: jsonl for a file with that ending, else tokens.
    ///
    /// 行的格式：tokens（词以空格分隔）或 jsonl（"text" 同此；实体另有 "entities"：类别、起、止，文本字节）。默认：该扩展名的文件为 jsonl，否则为 tokens。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// Read only the documents known at this time (2023-12-31, or with a time of day). It needs lines with times.
    ///
    /// 只读此时（2023-12-31，或带时刻）已知的文档。须有带时间的行。
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<NaiveDateTime>,
    /// The model file.
    ///
    /// 模型文件。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The unit to learn: words of text with spaces between them, for --mode crf; or names, for eval --task entities and embed --list.
    ///
    /// 学什么：词（以空格分隔的文本），供 --mode crf；或名称，供 eval --task entities 与 embed --list。
    #[arg(long, value_name = "UNIT", default_value = "words")]
    pub learn: LabelledUnit,
    /// Labels of names: bioes (begin, inside, outside, end, single) or bio.
    ///
    /// 名称的标签：bioes（首、中、外、尾、单字）或 bio。
    #[arg(long, value_name = "SCHEME", default_value = "bioes")]
    pub labels: NameLabels,
    /// Templates of features, as c-1c0,t0: c a character, t its type, b, e and i the length of the dictionary word that begins, ends or goes on
    /// there, each with a distance; up to three together. Default: characters two around, pairs of them, types; with --words also b, e and i.
    ///
    /// 标签所见，写如 c-1c0,t0：c 为字，t 为其类型，b、e、i 为在该处开始、结束、经过的词典词的长度，各带距离，最多三项相连。默认：前后各两字、相邻字对、类型；有 --words 时另加 b、e、i。
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub templates: Option<Templates>,
    /// A dictionary whose words the templates look for: word, optional frequency, optional tag. The model file keeps them.
    ///
    /// 模板所查的词典：词，可带频率与词性。模型文件会保存这些词。
    #[arg(long, value_name = "FILE")]
    pub words: Option<PathBuf>,
    /// Last day of the text, where lines have no times: the model is known from then on. A project takes no labeller that does not say it.
    ///
    /// 文本的最后一天，用于没有时间的行：模型自那之后才算已知。项目不接受没有说明的标注器。
    #[arg(long, value_name = "DATE")]
    pub fitted_until: Option<NaiveDate>,
    #[command(flatten)]
    pub params: CrfParams,
}

pub(super) fn run(args: &Crf, ctx: &Ctx) -> Result<Summary> {
    let format = args.format.or_else(|| LineFormat::by_name(&args.input)).unwrap_or(LineFormat::Tokens);
    let mut lines = Lines::open(&args.input, format)?.until(args.until)?;
    let params = LabellerParams {
        learn: args.learn,
        labels: args.labels,
        templates: args.templates.clone(),
        words: args.words.clone(),
        fitted_until: args.fitted_until,
        training: args.params.clone(),
    };
    let train = || Ok(((), crf::train(&mut lines, &params, &args.output, ctx)?));
    let ((), report) = staged(ctx, "train", train)?;
    let facts = ["characters", "labels", "features", "parameters", "epochs", "loss", "settled", "resumed"];
    Ok(trained(crf::METHOD, &args.output, report, &[&facts[..], &["characters_per_second"]].concat()))
}
