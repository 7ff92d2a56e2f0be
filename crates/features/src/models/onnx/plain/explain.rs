//! Explanation of a score by occlusion: its loss when a sentence or a token is taken out (Zeiler & Fergus 2014).
//!
//! A part is measured by running the model again without it, so it says what the model does, not where it looks: attention is not
//! an explanation. Parts need not add up to the score, as sentences work together.

use std::ops::Range;

use anyhow::{Context, Result};
use serde::Serialize;

use super::FittedOnnx;
use crate::fitted::Fitted;
use inkstone_models::{Explanation, Part};
use inkstone_onnx::Output;

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// The unit that is taken out of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum ExplainUnit {
    /// Sentence by sentence.
    #[default]
    Sentence,
    /// Token by token of the model. It runs once for every token that it reads.
    Token,
}

pub(crate) fn explain(model: &FittedOnnx, text: &str, of: Option<&str>) -> Result<Explanation> {
    let names = &model.columns;
    ensure!(
        model.using.params.output != Output::Embedding,
        "向量不是可解释的得分：分类器请用 --read scores，或用 --read surprise",
        "a vector is no score that could be explained: take --read scores with a classifier, or --read surprise"
    );
    let known = || names.join(", ");
    // A part that the model does not read has no share in the score, but would be read in place of a part taken out.
    let text = &text[model.range_read(text)?];
    let full = model.values(&[text], &model.ctx)?;
    // An answer need not hold a number.
    let checked = if model.using.params.output == Output::Answer { &full[..1] } else { &full[..] };
    ensure!(
        checked.iter().all(|value| value.is_finite()),
        "模型没有给出这篇文档的得分；它是空的吗？",
        "the model gives no score of this document; is it empty?"
    );
    let column = match of {
        Some(of) => names
            .iter()
            .position(|name| name == of)
            .with_context(|| message!("没有得分 {of:?}；现有 {}", "there is no score {of:?}; there are {}", known()))?,
        None if names[0] == "tone" || model.using.params.output != Output::Scores => 0,
        None => {
            let called = model.called(&full);
            names.iter().position(|name| *name == called).unwrap_or(0)
        }
    };
    let parts = model.units(text)?;
    let without: Vec<String> = parts.iter().map(|part| [&text[..part.start], &text[part.end..]].concat()).collect();
    let without: Vec<&str> = without.iter().map(String::as_str).collect();
    let values = model.values(&without, &model.ctx)?;
    let score = f64::from(full[column]);
    let terms = parts.iter().zip(values.chunks(names.len())).map(|(part, row): (&Range<usize>, _)| {
        // A text of one sentence has nothing left without it, and its score is all that sentence's.
        let left = if row[column].is_finite() { f64::from(row[column]) } else { 0.0 };
        Part { token: text[part.clone()].trim().to_owned(), value: score - left, detail: vec![("without", left)] }
    });
    let unit = match model.using.unit == ExplainUnit::Sentence {
        true => Word("句", "sentence"),
        false => Word("词元", "token"),
    };
    Ok(Explanation {
        of: Some(names[column].clone()),
        formula: message!(
            "每部分 = {0} - 去掉该{unit}后的 {0}；各部分之和不必等于得分",
            "a part = {0} - {0} of what is read without the {unit}; parts need not add up",
            names[column]
        ),
        score,
        terms: terms.collect(),
        ..Explanation::default()
    })
}
