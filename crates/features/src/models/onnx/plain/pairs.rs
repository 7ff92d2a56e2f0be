//! Documents with a second text in one input: fields `pair` and `question` of JSON lines, and cross-encoders that reorder what was found.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::{Contextual, FittedOnnx};
use crate::fitted::Rows;
use crate::lines::{Line, LineFormat};
use crate::lines::{fields, text_of};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, message};
use inkstone_models::Csr;
use inkstone_onnx::{Answer, Encoder, OnnxParams, Output, Ran, RuntimeParams};

/// Texts whose weights are computed between two reports of progress.
const SLICE: usize = 64;
/// Figures of an answer; `start` and `end` are bytes of the document's text.
pub(crate) const ANSWER_COLUMNS: [&str; 5] = ["score", "null", "number", "start", "end"];

/// The texts of a field of all lines; none where no line has it. Fails where some have it and others do not.
fn texts_of(lines: &[Line<'_>], name: &str) -> Result<Option<Vec<String>>> {
    let found = lines.iter().map(|line| Ok(text_of(&fields(line)?, name))).collect::<Result<Vec<Option<String>>>>()?;
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let text = |(line, text): (&Line<'_>, Option<String>)| {
        text.with_context(|| {
            message!(
                "第 {} 行没有其他行都有的字段 {name}",
                "line {} has no text in the field {name}, which other lines have",
                line.number
            )
        })
    };
    lines.iter().zip(found).map(text).collect::<Result<Vec<String>>>().map(Some)
}

/// Each text with the one beside it.
pub(crate) fn beside<'t>(texts: &[&'t str], others: &'t [String]) -> Vec<[&'t str; 2]> {
    texts.iter().zip(others).map(|(text, other)| [*text, other.as_str()]).collect()
}

impl FittedOnnx {
    /// The rows of lines, with the second text that they have; `each` hears how many were done.
    pub(crate) fn rows_of_lines(
        &self,
        lines: &[Line<'_>],
        ctx: &Ctx,
        mut each: impl FnMut(u64) -> Result<()>,
    ) -> Result<Rows> {
        let contents: Vec<_> = lines.iter().map(Line::whole).collect();
        let texts: Vec<&str> = contents.iter().map(AsRef::as_ref).collect();
        let params = &self.using.params;
        match params.output {
            Output::Answer => {
                let answers = self.answers(lines, &texts, ctx)?;
                each(lines.len() as u64)?;
                let mut numbers = Vec::with_capacity(answers.len() * ANSWER_COLUMNS.len());
                let mut spans = Vec::with_capacity(answers.len());
                for (answer, text) in answers.iter().zip(&texts) {
                    let Some(Answer { range, score, null, number, .. }) = answer else {
                        spans.push(String::new());
                        numbers.extend([f64::NAN; ANSWER_COLUMNS.len()]);
                        continue;
                    };
                    spans.push(text[range.clone()].to_owned());
                    let (start, end) = (range.start as f64, range.end as f64);
                    numbers.extend([f64::from(*score), f64::from(*null), number.unwrap_or(f64::NAN), start, end]);
                }
                Ok(Rows::Table { texts: spans, numbers })
            }
            Output::Scores if params.pair.is_none() && params.labels.is_empty() => {
                let values = match texts_of(lines, "pair")? {
                    Some(others) => self.encoder().pair_rows(&beside(&texts, &others), ctx, each)?.0,
                    None => self.encoder().rows(&texts, ctx, each)?.0,
                };
                Ok(self.named(values))
            }
            Output::Weights => {
                let mut rows = Csr::new(self.columns.len());
                for slice in texts.chunks(SLICE) {
                    self.encoder().weights(slice, ctx)?.into_iter().for_each(|weights| rows.push_row(weights));
                    each(slice.len() as u64)?;
                }
                Ok(Rows::Sparse(rows))
            }
            _ => {
                let values = self.encoder().rows(&texts, ctx, each)?.0;
                Ok(self.named(values))
            }
        }
    }

    /// The answer of each line to its question, or to that of the flags.
    pub(crate) fn answers(&self, lines: &[Line<'_>], texts: &[&str], ctx: &Ctx) -> Result<Vec<Option<Answer>>> {
        if self.using.params.question.is_some() {
            return self.encoder().answers(texts, ctx);
        }
        let questions = texts_of(lines, "question")?.context(Word(
            "没有问题：请设置 --question，或给每行一个 question 字段（jsonl）",
            "there is no question: set --question, or give each line a field question (jsonl)",
        ))?;
        self.encoder().answers_to(&beside(texts, &questions), ctx)
    }
}

/// A model that says how well two texts go together: a cross-encoder, or one that compares vectors of their tokens (late interaction).
pub struct Reranker {
    encoder: Mutex<Encoder>,
    /// The column of a cross-encoder's score.
    column: Option<usize>,
    ran: Ran,
}

impl Reranker {
    /// Opens the model at `path`, which gives one score, or probabilities of which one is entailment, or vectors of tokens (`colbert_vecs`).
    pub fn open(path: &Path, runtime: &RuntimeParams, ctx: &Ctx) -> Result<Reranker> {
        let open = |output| {
            let params = OnnxParams { output, ..OnnxParams::default() };
            let using = Contextual { params, runtime: runtime.clone(), ..Contextual::default() };
            using.encoder(path, LineFormat::Text, ctx).context(Word("重排模型", "the reranker"))
        };
        let late = open(Output::Embedding).ok().filter(Encoder::interacts_late);
        let (encoder, column) = match late {
            Some(encoder) => (encoder, None),
            None => {
                let encoder = open(Output::Scores)?;
                let column = score_column(&encoder.columns());
                (encoder, Some(column.with_context(|| message!("重排模型 {}", "the reranker {}", path.display()))?))
            }
        };
        Ok(Reranker { ran: encoder.ran().clone(), encoder: Mutex::new(encoder), column })
    }

    pub fn ran(&self) -> &Ran {
        &self.ran
    }

    /// The score of each pair; NaN where one of its first texts has no token.
    pub fn scores(&self, pairs: &[[&str; 2]], ctx: &Ctx) -> Result<Vec<f32>> {
        let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(column) = self.column else { return encoder.late_scores(pairs, ctx) };
        let columns = encoder.columns().len();
        let rows = encoder.pair_rows(pairs, ctx, |_| Ok(ctx.check()?))?.0;
        Ok(rows.chunks(columns).map(|row| row[column]).collect())
    }
}

/// The column that says how well two texts go together: the only one, or that of entailment or of a next sentence.
pub(crate) fn score_column(columns: &[String]) -> Result<usize> {
    let fits = |name: &String| {
        let name = name.to_lowercase();
        name.starts_with("entail") || ["next", "ordered", "蕴含", "蕴涵"].contains(&name.as_str())
    };
    match columns {
        [_] => Ok(0),
        _ => match columns.iter().position(fits) {
            Some(column) => Ok(column),
            None => bail!(
                "给两段文本打分的模型给出一个值，或类别 entailment；这个给出 {}",
                "a model that scores two texts gives one value, or a class entailment; this one gives {}",
                columns.join(", ")
            ),
        },
    }
}
