//! A value of a model that reads a text as a whole, taken apart: its loss without each sentence.

use anyhow::{Context, Result};

use super::{ExplainedBy, ExplainedText, SplitText, without};
use crate::extract::file::text_rows;
use crate::extract::models::TextRows;
use crate::extract::onnx::open;
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::fitted::Fitted;

/// Sentences that are left out at the most, the first ones: each costs a reading of the whole text.
const MOST: usize = 64;

/// The document as a whole, and without each of its first sentences.
pub(super) fn variants(document: &ReadDocument, texts: &SplitText<'_>) -> Vec<ReadDocument> {
    let whole = ReadDocument { windows: Vec::new(), ..document.clone() };
    std::iter::once(whole).chain(texts.ranges.iter().take(MOST).map(|range| without(document, range))).collect()
}

/// Scores the text, and the text without each sentence.
pub(super) fn run(
    reader: &CorpusReader<'_>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let mut encoder = open(reader)?;
    let columns = encoder.columns();
    if explained.column.is_empty() {
        // Only its file says what columns a model has.
        explained.column = columns.first().cloned().unwrap_or_default();
    }
    let place = columns.iter().position(|name| *name == explained.column);
    let place =
        place.with_context(|| format!("feature {:?} has no column {:?}", reader.feature.name, explained.column))?;
    let rows = encoder.document_rows(&variants(document, texts), reader)?;
    let scores: Vec<f64> = rows.chunks(columns.len()).map(|row| f64::from(row[place])).collect();
    fill(&scores, texts, ("上下文模型", "Contextual model"), explained);
    Ok(())
}

/// The same for a column of the model of a file, at this place among its numbers.
pub(super) fn run_file(
    document: &ReadDocument,
    texts: &SplitText<'_>,
    model: &dyn Fitted,
    place: usize,
    explained: &mut ExplainedText,
) -> Result<()> {
    let documents = variants(document, texts);
    let rows = text_rows(model, &documents)?;
    let scores: Vec<f64> = rows.chunks(rows.len() / documents.len()).map(|row| f64::from(row[place])).collect();
    fill(&scores, texts, ("编码器上的模型", "Model on an encoder"), explained);
    note_windows(document, explained);
    Ok(())
}

/// Notes that a score is of the whole text where the document was scored in windows.
pub(super) fn note_windows(document: &ReadDocument, explained: &mut ExplainedText) {
    if !document.windows.is_empty() {
        explained.kept = f64::NAN;
        explained.note.0 += "该文档按多个窗口打分后合并：这里拆解的是全文的得分，不是保存的值。";
        explained.note.1 += " The document was scored in several windows that were put together: what is taken apart here is the \
                             score of the whole text, not the value that is kept.";
    }
}

/// Sets the values of the sentences from the score of the text and those without each sentence.
pub(super) fn fill(scores: &[f64], texts: &SplitText<'_>, model: (&str, &str), explained: &mut ExplainedText) {
    explained.score = scores[0];
    for (sentence, score) in explained.sentences.iter_mut().zip(&scores[1..]) {
        sentence.value = explained.score - score;
    }
    explained.by = ExplainedBy::Omission;
    explained.formula = "value of a sentence = score of the text - score of the text without it".to_owned();
    explained.note = (
        format!("{}：逐句删去后重新打分，所示为得分的变化；各句之和不等于得分，没有逐词解释。", model.0),
        format!(
            "{}: each sentence is left out and the rest scored again; shown is what the score loses. The sentences do not sum to the \
             score, and there is no explanation by words.",
            model.1
        ),
    );
    let (asked, all) = (scores.len() - 1, texts.ranges.len());
    if asked < all {
        explained.note.0 += &format!("只算了前 {asked} 句，共 {all} 句。");
        explained.note.1 += &format!(" Only the first {asked} of {all} sentences were left out.");
    }
}
