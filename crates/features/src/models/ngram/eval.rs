//! n-gram models of plain files in use: `eval`, `embed` and `explain`.
//!
//! A line is a document, `<s> words </s>`. A row of a document: `surprise` (mean -log10 probability of a token), `log10_prob`,
//! `perplexity`, `perplexity_no_oov`, `oov`, `tokens`; of a token: `token`, `log10_prob`, and the `order` of the n-gram that
//! gave it.

use std::borrow::Cow;

use anyhow::Result;
use serde_json::json;

use crate::fitted::figures;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Per, Rows};
use crate::lines::{Cutter, Line, LineFormat, Lines};
use crate::standalone::write_rows;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::ngram::{END, Following, GeneratedText, LanguageModel, MARKS, SampleParams, Score, Scores};
use inkstone_models::{Explanation, ModelHeader};

/// Documents that a thread takes at once.
const CHUNK: usize = 256;

/// log10 of a probability of 0, as models write it; a little above, for rounding.
const IMPOSSIBLE: f32 = -98.9;

pub(crate) const DOCUMENT: [&str; 6] = ["surprise", "log10_prob", "perplexity", "perplexity_no_oov", "oov", "tokens"];
const TOKEN: [&str; 2] = ["log10_prob", "order"];

/// A language model and the cutter that its documents are read with.
pub(crate) struct FittedNgram {
    pub(crate) model: LanguageModel,
    pub(crate) cutter: Cutter,
}

/// The scores of a chunk of documents.
struct Measured {
    scores: Vec<Score>,
    /// Rows for the table, if one is wanted: ids and rows.
    rows: Option<(Vec<String>, Rows)>,
    /// Tokens that the model holds impossible.
    impossible: u64,
}

impl FittedNgram {
    fn score(&self, lines: &[Line<'_>]) -> Scores<'_> {
        let mut scores = self.model.scores();
        for line in lines {
            if self.cutter.spec().format == LineFormat::Tokens {
                scores.push(line.text.split_ascii_whitespace());
            } else {
                scores.push(self.cutter.tokens(&line.whole()));
            }
        }
        scores.score();
        scores
    }

    fn measure(&self, lines: &[Line<'_>], per: Option<Per>) -> Result<Measured> {
        let scored = self.score(lines);
        let scores: Vec<Score> = scored.totals().collect();
        let rows = match per {
            None => None,
            Some(Per::Document) => Some((lines.iter().map(|line| line.name().into_owned()).collect(), rows(&scores))),
            Some(Per::Token) => Some(self.token_rows(lines, &scored)),
        };
        let impossible = scored.documents().flat_map(|(_, scored)| scored).filter(|s| s.log10 <= IMPOSSIBLE);
        Ok(Measured { impossible: impossible.count() as u64, scores, rows })
    }

    fn token_rows(&self, lines: &[Line<'_>], scored: &Scores<'_>) -> (Vec<String>, Rows) {
        let (mut ids, mut texts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (line, (_, scored)) in lines.iter().zip(scored.documents()) {
            let text = line.whole();
            let tokens = self.cutter.tokens(&text);
            let written = tokens.into_iter().chain([MARKS[END as usize]]);
            for (token, scored) in written.zip(scored) {
                ids.push(line.name().into_owned());
                texts.push(token.to_owned());
                numbers.extend([f64::from(scored.log10), f64::from(scored.order)]);
            }
        }
        (ids, Rows::Table { texts, numbers })
    }
}

/// A row a document.
pub(crate) fn rows(scores: &[Score]) -> Rows {
    let row = |score: &Score| {
        let surprise = -score.log10() / score.tokens as f64;
        let counts = [score.oov as f64, score.tokens as f64];
        [surprise, score.log10(), score.perplexity(), score.perplexity_no_oov(), counts[0], counts[1]]
    };
    Rows::Table { texts: Vec::new(), numbers: scores.iter().flat_map(row).collect() }
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Scores documents by `score`, which gives ids and rows of the table that `params` ask for, and writes them.
pub(crate) fn write_table(
    params: &EvalParams,
    token_columns: &[&str],
    score: impl FnOnce(&mut dyn FnMut(Vec<String>, Rows) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let Some((per, path)) = &params.table else { return score(&mut |_, _| Ok(())) };
    let columns = match per {
        Per::Document => Columns::Table { text: None, numbers: names(&DOCUMENT) },
        Per::Token => Columns::Table { text: Some("token".to_owned()), numbers: names(token_columns) },
    };
    write_rows(path, &columns, params.csv_formulas, |sink| {
        score(&mut |ids, rows| sink.push(&ids.into_iter().map(Cow::Owned).collect::<Vec<Cow<'_, str>>>(), &rows))
    })
}

impl Fitted for FittedNgram {
    fn header(&self) -> &ModelHeader {
        self.model.header()
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Table { text: None, numbers: names(&DOCUMENT) })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        Ok(rows(&self.score(lines).totals().collect::<Vec<Score>>()))
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        Ok(self.model.explain(&self.cutter.tokens(&line.whole())))
    }

    fn following(&self, text: &str, k: usize, ctx: &Ctx) -> Option<Result<Following>> {
        let tokens = self.cutter.tokens(text);
        Some(ctx.install(|| self.model.following(&tokens, k)))
    }

    fn sample(&self, params: &SampleParams, ctx: &Ctx) -> Option<Result<Vec<GeneratedText>>> {
        Some(self.model.sample(params, ctx))
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        let (mut total, mut documents, mut impossible) = (Score::default(), 0u64, 0);
        let per = params.table.as_ref().map(|table| table.0);
        let each_chunk = |push: &mut dyn FnMut(Vec<String>, Rows) -> Result<()>| {
            let measure = |chunk: &[Line<'_>]| {
                ctx.advance(chunk.len() as u64)?;
                self.measure(chunk, per)
            };
            lines.for_each_chunk(CHUNK, ctx, measure, |chunk| {
                documents += chunk.scores.len() as u64;
                impossible += chunk.impossible;
                chunk.scores.iter().for_each(|score| total.add(score));
                chunk.rows.map_or(Ok(()), |(ids, rows)| push(ids, rows))
            })
        };
        write_table(params, &TOKEN, each_chunk)?;
        let figures = figures(json!({
            "documents": documents, "perplexity": total.perplexity(), "perplexity_no_oov": total.perplexity_no_oov(),
            "oov": total.oov, "tokens": total.tokens, "log10_prob": total.log10(), "impossible_tokens": impossible,
        }));
        Ok((figures, lines.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use serde::Deserialize;

    use super::*;
    use crate::models::open_model;

    /// Scores of KenLM for documents by model: log10 probability, order and whether the word is unknown, token by token.
    #[derive(Deserialize)]
    struct Reference {
        documents: Vec<String>,
        models: BTreeMap<String, Vec<Vec<(f64, f64, bool)>>>,
    }

    fn reference() -> (String, Vec<Vec<(f64, f64, bool)>>) {
        let text = include_str!("../../../../../tests/reference/kenlm/query.json");
        let mut reference: Reference = serde_json::from_str(text).unwrap();
        (reference.documents.join("\n") + "\n", reference.models.remove("order3").unwrap())
    }

    fn model(ctx: &Ctx) -> Box<dyn Fitted> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/kenlm/order3.arpa");
        let (model, format) = open_model(&path, None, None, Path::new(""), ctx).unwrap();
        assert_eq!(format, LineFormat::Tokens, "an ARPA file says nothing of how text was cut");
        model
    }

    fn lines(text: &str) -> Lines {
        Lines::new(std::io::Cursor::new(text.to_owned()), LineFormat::Tokens)
    }

    #[test]
    fn figures_are_those_of_kenlms_query() {
        let (text, expected) = reference();
        for threads in [1, 2, 8] {
            let ctx = Ctx::new(threads, 1).unwrap();
            let (figures, _) = model(&ctx).evaluate(&mut lines(&text), &EvalParams::default(), &ctx).unwrap();
            let tokens: Vec<(f64, f64, bool)> = expected.concat();
            let sum = |oov: bool| tokens.iter().filter(|t| t.2 <= oov).map(|t| t.0).sum::<f64>();
            let number = |name: &str| figures[name].as_f64().unwrap();
            let oov = tokens.iter().filter(|t| t.2).count() as f64;
            let n = tokens.len() as f64;
            assert_eq!((number("tokens"), number("oov"), number("documents")), (n, oov, expected.len() as f64));
            assert!((number("log10_prob") - sum(true)).abs() < 1e-4);
            assert!((number("perplexity") / 10f64.powf(-sum(true) / n) - 1.0).abs() < 1e-5);
            assert!((number("perplexity_no_oov") / 10f64.powf(-sum(false) / (n - oov)) - 1.0).abs() < 1e-5);
            assert_eq!(number("impossible_tokens"), 0.0);
        }
    }

    #[test]
    fn tables_have_a_row_a_document_or_a_token() {
        let (text, expected) = reference();
        let ctx = Ctx::new(2, 1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let table = |per, name: &str| {
            let path = dir.path().join(name);
            let params = EvalParams { table: Some((per, path.clone())), ..EvalParams::default() };
            model(&ctx).evaluate(&mut lines(&text), &params, &ctx).unwrap();
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect::<Vec<Vec<String>>>()
        };
        let documents = table(Per::Document, "d.csv");
        assert_eq!(documents[0].join(","), "id,surprise,log10_prob,perplexity,perplexity_no_oov,oov,tokens");
        assert_eq!(documents.len(), 1 + expected.len());
        for (row, tokens) in documents[1..].iter().zip(&expected) {
            let log10: f64 = tokens.iter().map(|t| t.0).sum();
            let number = |i: usize| row[i].parse::<f64>().unwrap();
            assert!((number(2) - log10).abs() < 1e-4 && (number(1) + log10 / tokens.len() as f64).abs() < 1e-4);
            assert_eq!(number(6), tokens.len() as f64);
        }
        let tokens = table(Per::Token, "t.csv");
        assert_eq!(tokens[0].join(","), "id,token,log10_prob,order");
        let flat: Vec<(f64, f64, bool)> = expected.concat();
        assert_eq!(tokens.len(), 1 + flat.len());
        assert_eq!((tokens[1][0].as_str(), tokens[1][1].as_str()), ("1", "公司"));
        let ends = tokens.iter().filter(|row| row[1] == "</s>").count();
        assert_eq!(ends, expected.len());
        assert!(tokens[1..].iter().zip(&flat).all(|(row, token)| row[3].parse::<f64>().unwrap() == token.1));
    }
}
