//! Checks of a contextual model before a long run: filled masks, similarity of like texts, labels, perplexity, and the distance of a smaller
//! form of the model.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::write::{NameFinder, NamedPart};
use super::{BLOCK, tasks};
use super::{Contextual, FittedOnnx};
use crate::fitted::Figures;
use crate::fitted::figures;
use crate::lines::{Line, Lines};
use crate::standalone::coverage::{KnownTokens, coverage};
use crate::standalone::retrieval;
use crate::standalone::similarity::similarity;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_models::{ClassReport, EntityReport};
use inkstone_onnx::{Drift, MaskedModel, OnnxParams, Output};

/// Tokens shown for each mask.
const BEST: usize = 5;

/// Measurement that `eval` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[value(rename_all = "kebab-case")]
pub enum Examination {
    /// The likeliest tokens behind each mask token of the lines.
    FillMask,
    /// The cosine of two texts by their vectors or their weights of terms: two texts with a tab between them, or fields text and pair. If
    /// pairs have a score (behind a second tab, or in the field value), also the correlation of cosines and scores.
    Similarity,
    /// Rank of a title's own text among the texts of all lines (fields title and text), by cosine: mean reciprocal rank.
    Retrieval,
    /// Labels of the lines against those that the model calls.
    Labels,
    /// How improbable the lines are to a language model, one that reads from left to right or one that fills masks.
    Perplexity,
    /// The names in the lines, with kind, place and score; by kind against the right ones where the lines have a field entities.
    Entities,
    /// Pairs of texts (fields text and pair) by their label or their value.
    Pairs,
    /// Answers (fields text, question and answers): exact match and F1 in the forms of SQuAD and CMRC.
    Answers,
    /// Which of several texts fits (fields text, choices and label, the number of the right one from 0).
    Choice,
    /// Share of the tokens that the tokenizer does not know, and tokens per character, in all and by month.
    Coverage,
    /// Next-sentence prediction: does the field `pair` follow the text? Labels: next or random (0 or 1).
    Nsp,
}

impl Examination {
    /// The output of the model that it needs; none where any will do.
    pub(crate) fn output(self) -> Option<Output> {
        match self {
            Examination::FillMask | Examination::Similarity | Examination::Retrieval | Examination::Coverage => None,
            Examination::Labels | Examination::Pairs | Examination::Choice | Examination::Nsp => Some(Output::Scores),
            Examination::Answers => Some(Output::Answer),
            Examination::Perplexity => Some(Output::Surprise),
            Examination::Entities => Some(Output::Entities),
        }
    }
}

pub(crate) fn evaluate(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
    let fitting = match model.using.params.output {
        Output::Embedding | Output::Weights => Examination::Similarity,
        Output::Scores => Examination::Labels,
        Output::Surprise => Examination::Perplexity,
        Output::Entities => Examination::Entities,
        Output::Answer => Examination::Answers,
    };
    let mut figures = match (&model.using.against, model.using.examination.unwrap_or(fitting)) {
        (Some(_), _) => drift(model, lines, ctx)?,
        (None, Examination::FillMask) => bail!("填空模型没有行", "a model that fills in masks has no rows"),
        (None, Examination::Similarity) => {
            let measured = similarity(model, lines, ctx);
            let compared = || {
                message!(
                    "这里比较的是模型给两段文本的向量；评测分类模型用 --task labels",
                    "the model's vectors of two texts are compared; --task labels measures a classifier"
                )
            };
            measured.with_context(compared)?.0
        }
        (None, Examination::Retrieval) => retrieval(model, lines, ctx)?.0,
        (None, Examination::Labels) => labels(model, lines, ctx)?,
        (None, Examination::Perplexity) => perplexity(model, lines, ctx)?,
        (None, Examination::Entities) => {
            let mut find = |texts: &[&str]| {
                let found = model.encoder().entities(texts, ctx)?;
                Ok(found.into_iter().map(|names| names.into_iter().map(NamedPart::from).collect()).collect())
            };
            evaluate_names(&mut find, lines, ctx)?
        }
        (None, Examination::Answers) => tasks::answers(model, lines, ctx)?,
        (None, Examination::Pairs | Examination::Nsp) => {
            tasks::check(model)?;
            tasks::pairs(model, lines, ctx)?
        }
        (None, Examination::Coverage) => {
            let encoder = model.encoder();
            return coverage(lines, ctx, |line| {
                let (tokens, known) = encoder.coverage(&line.whole())?;
                Ok(KnownTokens::new(tokens, known))
            });
        }
        (None, Examination::Choice) => {
            tasks::check(model)?;
            tasks::choices(model, lines, ctx)?
        }
    };
    figures.insert("ran".into(), serde_json::to_value(model.encoder().ran())?);
    Ok((figures, lines.finish()?))
}

/// Fills in the masks of lines by the model at `path`, which gives probabilities of its vocabulary and need give no rows.
pub fn fill_masks(path: &Path, using: &Contextual, lines: &mut Lines, ctx: &Ctx) -> Result<(Figures, Report)> {
    let params = OnnxParams { model: path.to_owned(), ..using.params.clone() };
    let mut masked = MaskedModel::open(&params, &using.opening(ctx)?)?;
    let mut filled = Vec::new();
    lines.for_each_block(BLOCK, |documents| {
        for line in &documents {
            ctx.advance(1)?;
            let guesses =
                masked.fill(&line.whole(), BEST, ctx).with_context(|| message!("第 {} 行", "line {}", line.number))?;
            filled.push(json!({"id": line.name(), "masks": guesses}));
        }
        Ok(())
    })?;
    Ok((figures(json!({"filled": filled, "ran": masked.ran()})), lines.finish()?))
}

/// The names that `find` finds in each document, and their figures where the right ones are known; places are bytes of its text, behind its title and a line break where it has one.
pub(crate) fn evaluate_names(find: &mut NameFinder<'_>, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let (mut documents, mut kinds) = (Vec::new(), BTreeMap::<String, u64>::new());
    let (mut right, mut found_there) = (Vec::new(), Vec::new());
    each_block(lines, |lines, texts| {
        let found = find(texts)?;
        ctx.advance(texts.len() as u64)?;
        for ((line, text), found) in lines.iter().zip(texts).zip(found) {
            if let Some(entities) = tasks::right_entities(line, text)? {
                right.push(entities);
                found_there.push(found.iter().map(|entity| (entity.kind.clone(), entity.range.clone())).collect());
            }
            let shown: Vec<Value> = found
                .into_iter()
                .map(|entity| {
                    *kinds.entry(entity.kind.clone()).or_default() += 1;
                    let (start, end) = (entity.range.start, entity.range.end);
                    json!({"kind": entity.kind, "text": &text[entity.range], "start": start, "end": end, "score": entity.score})
                })
                .collect();
            documents.push(json!({"id": line.name(), "entities": shown}));
        }
        Ok(())
    })?;
    let mut figures = figures(json!({"kinds": kinds, "documents": documents}));
    if !right.is_empty() {
        figures.insert("against".into(), serde_json::to_value(EntityReport::new(&right, &found_there))?);
    }
    Ok(figures)
}

fn labels(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let names: Vec<String> = model.columns.iter().filter(|name| *name != "tone").cloned().collect();
    let number = |label: &str| names.iter().position(|name| name == label).map(|number| number as u32);
    let (mut truth, mut called) = (Vec::new(), Vec::new());
    each_block(lines, |documents, texts| {
        let rows = model.values(texts, ctx)?;
        for (line, row) in documents.iter().zip(rows.chunks(model.columns.len())) {
            let label = line
                .label
                .as_deref()
                .with_context(|| message!("第 {} 行没有标签", "line {} has no label", line.number))?;
            let label = number(label).with_context(|| {
                message!(
                    "第 {} 行的标签为 {label:?}，而模型认识 {}",
                    "line {} has the label {label:?}, and the model knows {}",
                    line.number,
                    names.join(", ")
                )
            })?;
            if let Some(guess) = number(&model.called(row)) {
                truth.push(label);
                called.push(guess);
            }
        }
        Ok(())
    })?;
    ensure!(
        !truth.is_empty(),
        "没有既有标签又有文本的文档；输入是空的吗？",
        "there are no documents with a label and text; is the input empty?"
    );
    Ok(figures(serde_json::to_value(ClassReport::new(&truth, &called, &names))?))
}

fn perplexity(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    ensure!(
        !model.encoder().discriminates(),
        "该模型判断哪些词元被替换，不给出词的概率：没有困惑度",
        "this model says which tokens took the place of others and gives no probability of words: it has no perplexity"
    );
    let (mut sum, mut tokens, mut documents) = (0.0f64, 0.0f64, 0u64);
    each_block(lines, |_, texts| {
        for row in model.values(texts, ctx)?.chunks(2) {
            if row[0].is_finite() {
                sum += f64::from(row[0]) * f64::from(row[1]);
                tokens += f64::from(row[1]);
                documents += 1;
            }
        }
        Ok(())
    })?;
    let mean = if tokens > 0.0 { sum / tokens } else { f64::NAN };
    Ok(figures(json!({"documents": documents, "tokens": tokens, "surprise": mean, "perplexity": 10f64.powf(mean)})))
}

/// Distance of the rows of another form of the model from its own.
fn drift(model: &FittedOnnx, lines: &mut Lines, ctx: &Ctx) -> Result<Figures> {
    let other =
        model.using.against.as_deref().context(Word("漂移须对照一个模型衡量", "drift is measured against a model"))?;
    let mut other = model.using.encoder(other, model.format, ctx)?;
    ensure!(
        other.columns() == model.columns,
        "两个模型的列不同：{} 与 {}",
        "the models have different columns: {} and {}",
        model.columns.len(),
        other.columns().len()
    );
    let dim = model.columns.len();
    let mut seen = Drift::new(dim);
    each_block(lines, |_, texts| {
        let own = model.values(texts, ctx)?;
        let (others, _) = other.rows(texts, ctx, |_| Ok(()))?;
        own.chunks(dim).zip(others.chunks(dim)).for_each(|(a, b)| seen.add(a, b));
        Ok(())
    })?;
    let mut found = figures(serde_json::to_value(seen.figures(&model.columns))?);
    found.insert("against".into(), serde_json::to_value(other.ran())?);
    Ok(found)
}

/// Gives `work` the documents and their texts, block by block.
pub(crate) fn each_block(lines: &mut Lines, mut work: impl FnMut(&[Line<'_>], &[&str]) -> Result<()>) -> Result<()> {
    lines.for_each_block(BLOCK, |documents| {
        let texts: Vec<_> = documents.iter().map(Line::whole).collect();
        work(&documents, &texts.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    })
}
