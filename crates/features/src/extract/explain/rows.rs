//! A value of a model whose rows can be made again for other texts: word by word where a row is a sum over words, else by omission.

use anyhow::{Context, Result};

use super::words::{no_count, placed};
use super::{ExplainedBy, ExplainedText, SAME, SplitText, occlusion};
use crate::extract::Model;
use crate::extract::entry::RowModel;
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::text_rows::{NOWHERE, TextRows};
use inkstone_models::Part;

use inkstone_base::language::Word;
use inkstone_base::message;

/// Takes a column of the document in this part and row apart.
pub(crate) fn run(
    reader: &CorpusReader<'_>,
    place: (usize, usize),
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let feature = reader.feature;
    let counts = match feature.model {
        Model::Surprise => "tokens",
        _ if feature.has_vintages() => "words",
        _ => "",
    };
    if !counts.is_empty() && explained.column == counts {
        explained.note = no_count();
        return Ok(());
    }
    let model = match feature.model.entry().opened {
        RowModel::Refit(fit) => fit(reader, place)?,
        RowModel::Files(_) | RowModel::None => None,
    };
    let Some(mut model) = model else {
        explained.note = (
            "没有模型为这篇文档打分：此前的语料太少，或在首个检验期之前。".into(),
            "No model scored this document: too little text is before it, or it lies before the first test window."
                .into(),
        );
        return Ok(());
    };
    let columns = model.column_names(feature);
    if explained.column.is_empty() {
        // Only its file says what columns a model has.
        explained.column = columns.first().cloned().unwrap_or_default();
    }
    let at = columns.iter().position(|name| *name == explained.column);
    let at = at.with_context(|| {
        message!("特征 {:?} 没有列 {:?}", "feature {:?} has no column {:?}", feature.name, explained.column)
    })?;
    if words(&mut *model, at, columns.len(), reader, document, texts, explained)? {
        return Ok(());
    }
    let mut score = |documents: &[ReadDocument]| -> Result<Vec<f64>> {
        let rows = model.document_rows(documents, reader)?;
        Ok(rows.chunks(columns.len()).map(|row| f64::from(row[at])).collect())
    };
    let name = match feature.model {
        Model::TextCnn | Model::TextRnn | Model::Finetune => {
            ("该折重新训练的网络", "Network of the fold, trained once more")
        }
        Model::Onnx => ("上下文模型", "Contextual model"),
        _ => ("模型", "Model"),
    };
    occlusion::run(document, texts, &reader.segmenter, name, &mut score, explained)
}

/// Sets the part of each word in the column at place `at`; false where the row is no sum over words.
fn words(
    model: &mut dyn TextRows,
    at: usize,
    columns: usize,
    reader: &CorpusReader<'_>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<bool> {
    let parts = if document.windows.is_empty() { model.document_parts(document, reader) } else { None };
    let Some(parts) = parts else { return Ok(false) };
    let rows = model.document_rows(std::slice::from_ref(document), reader)?;
    let value = rows.chunks(columns).next().map_or(f64::NAN, |row| f64::from(row[at]));
    let sum: f64 = parts.iter().map(|(_, part)| f64::from(part[at])).sum();
    if (sum - value).abs() > SAME * value.abs().max(1.0) {
        return Ok(false);
    }
    let part = |(token, part): (String, Vec<f32>)| Part { token, value: f64::from(part[at]), detail: Vec::new() };
    let (nowhere, parts): (Vec<Part>, Vec<Part>) = parts.into_iter().map(part).partition(|part| part.token == NOWHERE);
    explained.score = value;
    explained.intercept = nowhere.iter().map(|part| part.value).sum();
    explained.by = ExplainedBy::Words;
    explained.formula = match (reader.feature.model, explained.column.as_str()) {
        (Model::Surprise, "surprise") => {
            Word(
                "surprise = 对各词求和：-log10 p(词) / (词数 + 1) + 文末的同一项（截距）",
                "surprise = sum over tokens of -log10 p(token) / (tokens + 1) + that of the end of the document, the intercept",
            )
        }
        (Model::Surprise, _) => {
            Word("oov = 窗口中没有的各词 1 / 词数 之和", "oov = sum over tokens that the window lacks of 1 / tokens")
        }
        _ => Word("值 = 各词的部分之和", "value = sum of the part of each word"),
    }
    .into();
    explained.note = (
        "用此前语料重新拟合一次的模型；这一列是各词的加和，逐词拆解是精确的。".into(),
        "The model was fitted once more on the earlier text; the column is a sum over words, and each has its exact part.".into(),
    );
    texts.fill(placed(&parts, texts, &reader.segmenter), explained);
    Ok(true)
}
