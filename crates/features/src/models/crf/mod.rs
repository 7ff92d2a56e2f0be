//! Labellers of characters on plain files: words and names, learned by a conditional random field.
//!
//! Words are learned on lines of words with blanks between them (tokens, or the text of JSON lines), names on JSON lines with `entities` (kind,
//! start and end in bytes). Both may stand in columns, in a file .conll.

mod corpus;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;

use crate::fitted::{Columns, END_OF_DAY, EvalParams, Figures, Fitted, Opened, Rows, figures};
use crate::lines::{CutSpec, Line, LineFormat, Lines};
use crate::models::onnx::{ListedNames, NamedPart, evaluate_names, list_names};
use corpus::CrfCorpus;
use inkstone_base::bail;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_corpus::link::EntityFinder;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::{CrfParams, EntityReport, Explanation, ModelHeader, train_crf};
use inkstone_text::labeller::{Templates, WordList};
use inkstone_text::{DictionaryEntry, Labeller, Mode, TokenizerParams, read_dictionary};

/// Name of the method in `train`.
pub const METHOD: &str = Labeller::KIND;

/// The unit that the labels of characters mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LabelledUnit {
    /// Words of text with blanks between them: a tokenizer.
    #[default]
    Words,
    /// Names in the field entities (kind, start and end in bytes).
    Entities,
}

/// The labels of the characters of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NameLabels {
    /// Begin, inside, outside, end, single.
    #[default]
    Bioes,
    /// Begin, inside, outside.
    Bio,
}

/// Parameters of a labeller and its training.
#[derive(Clone, Debug, Default)]
pub struct LabellerParams {
    pub learn: LabelledUnit,
    pub labels: NameLabels,
    /// Templates of features; `None` stands for the usual templates.
    pub templates: Option<Templates>,
    /// A dictionary whose words templates look for.
    pub words: Option<std::path::PathBuf>,
    /// Last day of the text, where lines have no times.
    pub fitted_until: Option<NaiveDate>,
    pub training: CrfParams,
}

/// Trains a labeller and writes it to `output`. An interrupted training leaves a checkpoint beside it, from which the same training goes on. The
/// report has `documents`, `characters`, `labels`, `features`, `parameters`, `fitted_until`, `losses`, `settled`, `resumed` and
/// `characters_per_second` (of one pass over the text).
pub fn train(lines: &mut Lines, params: &LabellerParams, output: &Path, ctx: &Ctx) -> Result<Report> {
    params.training.check()?;
    let corpus = CrfCorpus::read(lines, params, ctx)?;
    let words = match &params.words {
        Some(path) => Some(dictionary(&read_dictionary(path)?.0)?),
        None => None,
    };
    let templates = match &params.templates {
        Some(templates) => templates.clone(),
        None => Templates::usual(words.is_some()),
    };
    let words = match (templates.see_words(), words) {
        (false, Some(_)) => bail!(
            "没有模板看词典的词（b、e、i）：请加上，如 b0,e0,i0，或去掉 --words",
            "no template looks at words of the dictionary (b, e, i): add some, as b0,e0,i0, or leave --words out"
        ),
        (true, None) => bail!(
            "模板看词典的词（b、e、i），而没有词典：请用 --words 指定",
            "templates look at words of a dictionary (b, e, i), and there is none: name it with --words"
        ),
        (_, words) => words,
    };
    let stated = params.fitted_until.map(|day| day.and_time(END_OF_DAY));
    let fitted_until: Option<NaiveDateTime> = corpus.last_time().max(stated);
    let all: Vec<&[u8]> =
        corpus.texts.iter().flat_map(|text| [text.text.as_bytes(), &[0], &text.labels, &[255]]).collect();
    let settings = json!({
        "learn": params.learn, "labels": params.labels, "training": params.training,
        "dictionary": words.as_ref().map(|words| Key::of_parts(words.words().iter().map(|word| word.as_bytes()))),
    });
    let what = json!({
        "settings": settings, "templates": templates.to_string(), "names": corpus.labels, "text": Key::of_parts(all),
    });
    let checkpoint = Checkpoint::new(output, &what)?;
    let characters = corpus.texts.iter().map(|text| text.labels.len()).sum::<usize>();
    let began = Instant::now();
    let mut trained = None;
    ctx.stage(METHOD, "passes", Some(params.training.epochs as u64), || {
        let (texts, labels) = (&corpus.texts, corpus.labels.clone());
        let found = train_crf(texts, labels, templates, words, fitted_until, &params.training, Some(&checkpoint), ctx)?;
        trained = Some(found);
        Ok(Report::new(METHOD))
    })?;
    let Some(trained) = trained else {
        bail!("正常结束的阶段应训练出结果", "a stage that ended well has trained")
    };
    let seconds = began.elapsed().as_secs_f64();
    let cut = match params.learn {
        LabelledUnit::Words => CutSpec::new(LineFormat::Tokens, TokenizerParams::default()),
        LabelledUnit::Entities => {
            CutSpec::new(LineFormat::Jsonl, TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() })
        }
    };
    let mut saved = settings;
    saved["cut"] = json!(cut);
    saved["seed"] = json!(ctx.seed());
    saved["losses"] = json!(trained.losses);
    trained.labeller.save(output, corpus.texts.len() as u64, saved)?;
    checkpoint.remove()?;
    let mut report = lines.report();
    let features = trained.labeller.features().len();
    report.fact("documents", corpus.texts.len());
    report.fact("characters", characters);
    report.fact("tokens", corpus.spans);
    report.fact("fitted_until", fitted_until);
    report.fact("labels", trained.labeller.labels());
    report.fact("features", features);
    report.fact("parameters", (features + corpus.labels.len()) * corpus.labels.len());
    report.fact("epochs", trained.losses.len());
    report.fact("loss", trained.losses.last());
    report.fact("settled", trained.settled);
    report.fact("resumed", trained.resumed);
    report.fact("characters_per_second", (characters * trained.losses.len()) as f64 / seconds.max(1e-9));
    Ok(report)
}

fn dictionary(entries: &[DictionaryEntry]) -> Result<WordList> {
    WordList::new(entries.iter().filter(|entry| entry.frequency != Some(0)).map(|entry| entry.word.as_str().into()))
}

/// The names that a labeller finds, and the probability of each.
fn names_in(labeller: &Labeller, texts: &[&str], ctx: &Ctx) -> Result<Vec<Vec<NamedPart>>> {
    let of_text = |text: &&str| {
        ctx.check()?;
        let names = labeller.names(text).into_iter().map(|name| NamedPart {
            kind: name.kind.to_owned(),
            range: name.range,
            score: name.probability as f32,
        });
        Ok(names.collect())
    };
    ctx.install(|| texts.par_iter().map(of_text).collect())
}

/// Writes the names that a labeller finds, a row each.
pub fn list(
    labeller: &Labeller,
    lines: &mut Lines,
    names: Option<&EntityFinder>,
    output: &Path,
    formulas: Formulas,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    finds_names(labeller)?;
    list_names(&mut |texts| names_in(labeller, texts, ctx), lines, &ListedNames { names, output, formulas }, ctx)
}

fn finds_names(labeller: &Labeller) -> Result<()> {
    if labeller.cuts_words() {
        bail!(
            "该标注器切词，不找名称：请用 inkstone tokenize --labeller 或 [tokenizer] labeller；名称用 train crf --learn entities",
            "the labeller cuts words and finds no names: use it with inkstone tokenize --labeller or [tokenizer] labeller; names are learned by train crf --learn entities"
        );
    }
    Ok(())
}

impl Fitted for Opened<Labeller> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        finds_names(&self.model)?;
        Ok(Columns::Table { text: None, numbers: self.model.kinds().to_vec() })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let kinds = self.model.kinds();
        let count = |line: &Line<'_>| -> Vec<f64> {
            let text = line.whole();
            let names = self.model.names(&text);
            kinds.iter().map(|kind| names.iter().filter(|name| name.kind == kind).count() as f64).collect()
        };
        Ok(Rows::Table { texts: Vec::new(), numbers: lines.iter().flat_map(count).collect() })
    }

    fn explain(&self, _line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        bail!(
            "标注器给每个字一个标签，没有可分解的得分；embed --list 写出各名称及其概率",
            "a labeller gives each character a label and has no score to take apart; embed --list writes the names with their probabilities"
        )
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(&self.header.kind)?;
        let found = match self.model.cuts_words() {
            true => words_against(&self.model, lines, ctx)?,
            false => evaluate_names(&mut |texts| names_in(&self.model, texts, ctx), lines, ctx)?,
        };
        Ok((found, lines.finish()?))
    }
}

/// Precision, recall and F1 of words: one is right where both its ends are.
fn words_against(labeller: &Labeller, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let (mut right, mut found, mut characters) = (Vec::new(), Vec::new(), 0_u64);
    let cut = |line: &Line<'_>| {
        let text = line.whole();
        let words: Vec<&str> = text.split_whitespace().collect();
        let ranges = |ends: &mut dyn Iterator<Item = usize>| {
            let mut start = 0;
            ends.map(|end| (String::new(), std::mem::replace(&mut start, end)..end)).collect::<Vec<_>>()
        };
        let mut at = 0;
        let wanted = ranges(&mut words.iter().map(|word| {
            at += word.len();
            at
        }));
        let joined = words.concat();
        let cut = labeller.words(&joined);
        (wanted, ranges(&mut cut.into_iter().map(|range| range.end)), joined.chars().count() as u64)
    };
    lines.for_each_document(ctx, cut, |(wanted, cut, count)| {
        right.push(wanted);
        found.push(cut);
        characters += count;
        Ok(())
    })?;
    let report = EntityReport::new(&right, &found);
    Ok(figures(json!({
        "words": right.iter().map(Vec::len).sum::<usize>(), "characters": characters,
        "precision": report.micro_average.precision, "recall": report.micro_average.recall, "f1": report.micro_average.f1,
    })))
}
