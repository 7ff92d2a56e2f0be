//! Tone by a lexicon on plain files: word lists in, a model that `eval`, `embed` and `explain` use.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::fitted::{Opened, figures};
use crate::lines::{CutSpec, Cutter, Line, LineFormat, Lines};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, spearman};
use inkstone_models::{Explanation, Lexicon, LexiconParams, ModelHeader, Tone};
use inkstone_text::{DictionaryEntry, TokenizerParams};

pub(crate) const KIND: &str = Lexicon::KIND;

/// Reads the lists of a lexicon, relative to `base`, and the cutter that knows its words. The report counts lines of the lists, has
/// `vocabulary` and `fitted_until`, and tells list by list what was read and refused.
pub fn gather(params: &LexiconParams, tokenizer: TokenizerParams, base: &Path) -> Result<(Lexicon, Cutter, Report)> {
    let lexicon = Lexicon::new(params, base)?;
    let cutter = Cutter::with_words(CutSpec::new(LineFormat::Text, tokenizer), base, &words(&lexicon))?;
    let mut report = Report::new("lists");
    for list in lexicon.lists() {
        report.rows_out += list.words as u64;
        for (reason, &n) in &list.refused {
            report.drop_rows(reason, n as u64);
        }
    }
    report.rows_in = report.rows_out + report.dropped_rows();
    report.fact("vocabulary", lexicon.size());
    report.fact("fitted_until", lexicon.fitted_until());
    report.fact("lists", lexicon.lists());
    Ok((lexicon, cutter, report))
}

/// A tone word that the dictionary lacks would be cut in two and never found.
pub(crate) fn words(lexicon: &Lexicon) -> Vec<DictionaryEntry> {
    lexicon.words().map(DictionaryEntry::word).collect()
}

impl Opened<Lexicon> {
    /// Gives `work` the tokens of a document. The ends of lines are tokens: they end sentences.
    fn with_tokens<T>(&self, line: &Line<'_>, work: impl FnOnce(&[&str]) -> T) -> T {
        let text = line.whole();
        let mut tokens = Vec::with_capacity(text.len() / 4);
        for line in text.lines() {
            tokens.extend(self.cutter.tokens(line));
            tokens.push("\n");
        }
        work(&tokens)
    }

    fn tone(&self, line: &Line<'_>) -> Tone {
        self.with_tokens(line, |tokens| self.model.tone(tokens))
    }
}

impl Fitted for Opened<Lexicon> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn name(&self) -> &str {
        "tone"
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Table { text: None, numbers: ["tone", "positive", "negative", "tokens"].map(str::to_owned).into() })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let row = |line: &Line<'_>| {
            let Tone { tone, positive, negative, tokens } = self.tone(line);
            [f64::from(tone), f64::from(positive), f64::from(negative), f64::from(tokens)]
        };
        Ok(Rows::Table { texts: Vec::new(), numbers: lines.iter().flat_map(row).collect() })
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        Ok(self.with_tokens(line, |tokens| self.model.explanation(tokens)))
    }

    /// Numbers of documents by tone, and `rank_correlation` of tone and value over the documents that have both.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(self.name())?;
        let (mut tones, mut values, mut all) = (Vec::new(), Vec::new(), Vec::new());
        let (mut tokens, mut good, mut bad, mut silent) = (0u64, 0u64, 0u64, 0u64);
        let score = |line: &Line<'_>| (self.tone(line), line.value);
        lines.for_each_document(ctx, score, |(tone, value)| {
            tokens += u64::from(tone.tokens);
            good += u64::from(tone.tone > 0.0);
            bad += u64::from(tone.tone < 0.0);
            silent += u64::from(tone.positive + tone.negative == 0.0);
            all.push(f64::from(tone.tone));
            if let Some(value) = value.filter(|value| value.is_finite()) {
                tones.push(f64::from(tone.tone));
                values.push(value);
            }
            Ok(())
        })?;
        // Without two values that differ this has no meaning: null, not 0.
        let known = |figure: f64| (!figure.is_nan()).then_some(figure);
        let figures = figures(json!({
            "documents": all.len(), "tokens": tokens, "positive": good, "negative": bad, "without_tone_words": silent,
            "mean_tone": known(mean(all.iter().copied())),
            "with_value": values.len(), "rank_correlation": known(spearman(&tones, &values)),
        }));
        Ok((figures, lines.report()))
    }
}
