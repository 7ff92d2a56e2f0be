//! SESTM on plain files: JSON lines with the return that goes with each text in, a model of two topics out.

use anyhow::Result;
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::fitted::{Opened, figures};
use crate::lines::{Cutter, Line, Lines};
use crate::standalone::returns::read_returns;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, mean, spearman};
use inkstone_models::{Explanation, ModelHeader, Returns, Sestm, SestmParams, SestmScore, SestmWord};

/// Words of each side that a report shows.
const SHOWN: usize = 20;

/// Fits SESTM on the lines that have a `value`. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, what the
/// estimation saw, and the words that lean most to either side.
pub fn train(lines: &mut Lines, cutter: &Cutter, params: &SestmParams, ctx: &Ctx) -> Result<(Sestm, Report)> {
    params.check()?;
    let (read, mut report) = read_returns(lines, cutter, ctx)?;
    let data = Returns {
        counts: &read.counts,
        words: &read.words,
        labels: &read.labels,
        times: &read.times,
        groups: &read.groups,
    };
    let (model, trials) = Sestm::fit(&data, params, ctx)?;
    let words = model.words();
    let shown = |words: &mut dyn Iterator<Item = &SestmWord>| -> Vec<(Box<str>, f64)> {
        words.take(SHOWN).map(|word| (word.word.clone(), word.tone)).collect()
    };
    report.fact("vocabulary", words.len());
    report.fact("fitted_until", model.fitted_until());
    report.fact("fit", model.report());
    report.fact("params", model.params());
    report.fact("positive", shown(&mut words.iter().filter(|word| word.tone > 0.0)));
    report.fact("negative", shown(&mut words.iter().rev().filter(|word| word.tone < 0.0)));
    if !trials.is_empty() {
        report.fact("trials", trials);
    }
    Ok((model, report))
}

impl Opened<Sestm> {
    fn score(&self, line: &Line<'_>) -> SestmScore {
        let text = line.whole();
        self.model.score(&self.cutter.terms(&text))
    }
}

impl Fitted for Opened<Sestm> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Table { text: None, numbers: ["score", "p", "words"].map(str::to_owned).into() })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let row = |line: &Line<'_>| {
            let score = self.score(line);
            [score.score(), score.p, score.words]
        };
        Ok(Rows::Table { texts: Vec::new(), numbers: lines.iter().flat_map(row).collect() })
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        let text = line.whole();
        Ok(self.model.explain(&self.cutter.terms(&text)))
    }

    /// `rank_correlation` of score and value, and the paper's `loss`, the mean of `|p - rank / n|`, over the documents that have
    /// a value.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(Sestm::KIND)?;
        let (mut scores, mut values, mut documents, mut unknown) = (Vec::new(), Vec::new(), 0u64, 0u64);
        let score = |line: &Line<'_>| (self.score(line), line.value.filter(|value| value.is_finite()));
        lines.for_each_document(ctx, score, |(score, value)| {
            documents += 1;
            unknown += u64::from(score.words == 0.0);
            if let Some(value) = value {
                scores.push(score.p);
                values.push(value);
            }
            Ok(())
        })?;
        let n = values.len() as f64;
        let ranks = average_ranks(&values);
        // Without two values that differ these have no meaning: null, not 0.
        let known = |figure: f64| (!figure.is_nan()).then_some(figure);
        let figures = figures(json!({
            "documents": documents, "with_value": values.len(), "without_words": unknown,
            "rank_correlation": known(spearman(&scores, &values)),
            "loss": known(mean(scores.iter().zip(&ranks).map(|(p, rank)| (p - rank / n).abs()))),
            "mean_p": known(mean(scores.iter().copied())),
        }));
        Ok((figures, lines.finish()?))
    }
}
