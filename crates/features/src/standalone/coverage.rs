//! Figures and names that models of words share when they are measured.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use anyhow::{Context, Result};
use serde::Serialize;

use super::{Figures, Line, Lines};
use crate::fitted::figures;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::component_names;

/// The tokens of a document, and those that the vocabulary of a model has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownTokens {
    pub(crate) tokens: usize,
    pub(crate) known: usize,
    /// True if the model has no value for the document.
    pub(crate) empty: bool,
}

impl KnownTokens {
    /// A document without a known token is empty.
    pub(crate) fn new(tokens: usize, known: usize) -> KnownTokens {
        KnownTokens { tokens, known, empty: known == 0 }
    }
}

/// Coverage of some documents by a vocabulary.
#[derive(Clone, Copy, Default, Serialize)]
struct Coverage {
    documents: u64,
    characters: u64,
    tokens: u64,
    /// Tokens that the vocabulary does not have.
    oov: u64,
    /// Documents for which the model has no value.
    empty_documents: u64,
}

impl AddAssign for Coverage {
    fn add_assign(&mut self, other: Coverage) {
        self.documents += other.documents;
        self.characters += other.characters;
        self.tokens += other.tokens;
        self.oov += other.oov;
        self.empty_documents += other.empty_documents;
    }
}

#[derive(Serialize)]
struct CoverageFigures {
    #[serde(flatten)]
    all: Coverage,
    /// Share of the tokens that the vocabulary does not have; null without tokens.
    oov_share: f64,
    tokens_per_character: f64,
    /// The documents that have a time, by month (`2026-03`): a rising share of unknown tokens means that the language moves away from the model.
    by_month: BTreeMap<String, Coverage>,
}

/// Coverage of documents by a vocabulary, in all and by month. `count` counts the tokens of a document.
pub(crate) fn coverage(
    lines: &mut Lines,
    ctx: &Ctx,
    count: impl Fn(&Line<'_>) -> Result<KnownTokens> + Sync,
) -> Result<(Figures, Report)> {
    let measure = |line: &Line<'_>| -> Result<(Option<String>, Coverage)> {
        let KnownTokens { tokens, known, empty } = count(line)?;
        let document = Coverage {
            documents: 1,
            characters: (line.title.chars().count() + line.text.chars().count()) as u64,
            tokens: tokens as u64,
            oov: (tokens - known) as u64,
            empty_documents: u64::from(empty),
        };
        Ok((line.time.map(|time| time.format("%Y-%m").to_string()), document))
    };
    let (mut all, mut by_month) = (Coverage::default(), BTreeMap::<String, Coverage>::new());
    lines.for_each_document(ctx, measure, |measured| {
        let (month, document) = measured?;
        all += document;
        if let Some(month) = month {
            *by_month.entry(month).or_default() += document;
        }
        Ok(())
    })?;
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    let found = CoverageFigures {
        all,
        oov_share: share(all.oov, all.tokens),
        tokens_per_character: share(all.tokens, all.characters),
        by_month,
    };
    Ok((figures(serde_json::to_value(found)?), lines.finish()?))
}

/// The number of the component with this name.
pub(crate) fn component(name: Option<&str>, dim: usize) -> Result<Option<usize>> {
    let place = |name: &str| {
        let place = component_names(dim).iter().position(|known| known == name);
        place.with_context(|| {
            message!(
                "模型没有分量 {name}；有 c1 到 c{dim}",
                "the model has no component {name}; there are c1 to c{dim}"
            )
        })
    };
    name.map(place).transpose()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::fitted::EvalParams;
    use crate::lines::LineFormat;
    use crate::models::open_model;
    use inkstone_base::disk::Formulas;
    use serde_json::{Value, json};

    #[test]
    fn unknown_tokens_are_counted_by_month() {
        let dir = tempfile::tempdir().unwrap();
        let (model, input) = (dir.path().join("m.vec"), dir.path().join("news.jsonl"));
        std::fs::write(&model, "2 2\n银行 1 0\n股票 0 1\n").unwrap();
        // Vectors without a note of how text was cut are of words between spaces.
        let line = |time: &str, text: &str| json!({"time": time, "text": text}).to_string();
        let lines = [
            line("2026-01-05 09:00:00", "银行 股票"),
            line("2026-01-31 23:59:59", "股票"),
            line("2026-02-01 00:00:00", "人工智能"),
            json!({"text": "银行"}).to_string(),
        ];
        std::fs::write(&input, lines.join("\n")).unwrap();
        let ctx = Ctx::new(2, 1).unwrap();
        let (fitted, _) = open_model(&model, None, None, Path::new(""), &ctx).unwrap();
        let mut lines = Lines::open(&input, LineFormat::Jsonl).unwrap();
        let params = EvalParams { table: None, csv_formulas: Formulas::default() };
        let (found, report) = fitted.evaluate(&mut lines, &params, &ctx).unwrap();
        assert_eq!((report.rows_out, &found["documents"], &found["empty_documents"]), (4, &json!(4), &json!(1)));
        let months = found["by_month"].as_object().unwrap();
        assert_eq!(months.keys().collect::<Vec<_>>(), ["2026-01", "2026-02"]);
        let counts =
            |month: &Value| ["documents", "characters", "tokens", "oov"].map(|name| month[name].as_u64().unwrap());
        assert_eq!(counts(&months["2026-01"]), [2, 7, 3, 0]);
        let [documents, characters, tokens, oov] = counts(&months["2026-02"]);
        assert_eq!((documents, characters, oov), (1, 4, tokens), "the model knows nothing of February");
        let share = |name: &str| found[name].as_f64().unwrap();
        assert!((share("oov_share") - tokens as f64 / (4 + tokens) as f64).abs() < 1e-12);
        assert!((share("tokens_per_character") - (4 + tokens) as f64 / 13.0).abs() < 1e-12);
    }
}
