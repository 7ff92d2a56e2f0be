//! A head as `eval`, `embed` and `explain` use it.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};

use super::encoder::is_there;
use super::{Encoder, Head};
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, place_of_class};
use crate::lines::{Line, Lines};
use crate::models::estimators::plain::corpus::LabelledCorpus;
use crate::models::estimators::plain::fitted::{columns, figures, table};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, message};
use inkstone_models::{Explanation, ModelFile, ModelHeader, Part, Task};

/// A head of a file, and its encoder.
pub(crate) struct FittedHead {
    header: ModelHeader,
    head: Head,
    encoder: Encoder,
    ctx: Ctx,
}

impl FittedHead {
    /// The head of a file at `path`, on the encoder that it names.
    pub(crate) fn open(file: &ModelFile, path: &Path, encoder: Encoder, ctx: &Ctx) -> Result<FittedHead> {
        let (head, mut header) = (Head::read(file)?, file.header().clone());
        if head.scaling.dim() != encoder.dim() {
            bail!(
                "{} 读取 {} 维向量，而 {} 给出 {} 维；请重新训练分类头",
                "{} reads vectors of {} values, and {} gives {}; train the head again",
                path.display(),
                head.scaling.dim(),
                encoder.shown(),
                encoder.dim()
            );
        }
        if let (Some(params), Some(ran)) = (header.params.as_object_mut(), encoder.ran()) {
            params.insert("ran".to_owned(), ran.clone());
        }
        Ok(FittedHead { header, head, encoder, ctx: ctx.clone() })
    }

    fn names(&self) -> &[String] {
        self.head.estimator.task.names()
    }

    /// The table of vectors `[documents, dim]`, empty for a document without one.
    fn table(&self, vectors: Vec<f32>) -> Result<Rows> {
        let missing: Vec<usize> =
            (0..).zip(vectors.chunks(self.encoder.dim())).filter(|(_, v)| !is_there(v)).map(|(i, _)| i).collect();
        let design = self.head.design(vectors)?;
        let mut rows = table(&self.head.estimator, self.ctx.install(|| self.head.estimator.guess(&design)));
        if let (Rows::Table { texts, numbers }, Columns::Table { numbers: names, .. }) = (&mut rows, self.columns()?) {
            for document in missing {
                numbers[document * names.len()..][..names.len()].fill(f64::NAN);
                texts.get_mut(document).into_iter().for_each(String::clear);
            }
        }
        Ok(rows)
    }

    /// The place of the class to explain; none: the one that scores highest.
    fn class(&self, scores: &[f64], of: Option<&str>) -> Result<usize> {
        match of {
            None => Ok((0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)),
            Some(name) => place_of_class(self.names(), name),
        }
    }
}

impl Fitted for FittedHead {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(columns(&self.head.estimator))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        self.table(self.encoder.vectors_here(lines)?)
    }

    fn many(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<Vec<(usize, Rows)>> {
        Ok(vec![(lines.len(), self.table(self.encoder.vectors(lines, ctx)?)?)])
    }

    /// Loss of the log-odds, margin or value without each sentence (Zeiler & Fergus 2014). Where no sentence is left, the encoder's mean
    /// vector over the training documents is.
    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let whole = line.whole();
        // A part that the model does not read has no share in the score, but would be read in place of a part taken out.
        let read = self.encoder.model().range_read(&whole)?;
        let line = without(&without(line, &(read.end..whole.len())), &(0..read.start));
        let text = line.whole();
        let units = self.encoder.model().units(&text)?;
        let texts: Vec<Line<'_>> =
            std::iter::once(line.clone()).chain(units.iter().map(|unit| without(&line, unit))).collect();
        let vectors = self.encoder.vectors_here(&texts)?;
        if !is_there(&vectors[..self.encoder.dim()]) {
            bail!(
                "编码器 {} 没有给出这篇文档的向量；它是空的吗？",
                "the encoder {} gives no vector of this document; is it empty?",
                self.encoder.shown()
            );
        }
        let design = self.head.design(vectors)?;
        let guess = self.ctx.install(|| self.head.estimator.guess(&design));
        let class = self.class(&guess.log_odds[..guess.columns], of)?;
        let scores: Vec<f64> = guess.log_odds.chunks(guess.columns).map(|row| row[class]).collect();
        let Columns::Table { numbers: names, .. } = self.columns()? else {
            bail!("分类头应给出表", "a head gives a table")
        };
        let part = |(unit, left): (&Range<usize>, &f64)| Part {
            token: text[unit.clone()].trim().to_owned(),
            value: scores[0] - left,
            detail: vec![("without", *left)],
        };
        Ok(Explanation {
            of: match self.head.estimator.task {
                Task::Values => None,
                _ => Some(self.names()[class].clone()),
            },
            formula: message!(
                "每部分 = {0} - 去掉它后的 {0}；各部分之和不必等于得分",
                "a part = {0} - {0} of what is read without it; parts need not add up",
                names[class]
            ),
            score: scores[0],
            terms: units.iter().zip(&scores[1..]).map(part).collect(),
            ..Explanation::default()
        })
    }

    fn explains_by_omission(&self) -> bool {
        true
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(&self.header.kind)?;
        let (learn, mut scores) = (self.head.learn, Vec::new());
        let mut encode = |lines: &[Line<'_>]| {
            let (vectors, has_row) = self.encoder.vectors_that_are_there(lines, ctx)?;
            let design = self.head.design(vectors)?;
            scores.extend(ctx.install(|| self.head.estimator.scores(&design)));
            Ok(has_row)
        };
        let corpus =
            LabelledCorpus::read_for(lines, learn, self.names(), Some(&mut encode), ctx).with_context(|| {
                message!("该模型须在带 {} 的行上评估", "the model is measured on lines with a {}", learn.name())
            })?;
        Ok((figures(&self.head.estimator.guess_from(&scores), &corpus)?, lines.finish()?))
    }
}

/// A document without some bytes of its text, counted in [`Line::whole`].
fn without<'l>(line: &Line<'_>, range: &Range<usize>) -> Line<'l> {
    let cut = |text: &str, first: usize| {
        let place = |at: usize| at.saturating_sub(first).min(text.len());
        [&text[..place(range.start)], &text[place(range.end)..]].concat()
    };
    let body = if line.title.is_empty() { 0 } else { line.title.len() + 1 };
    Line { title: cut(&line.title, 0).into(), text: cut(&line.text, body).into(), ..Line::default() }
}
