//! A contextual model's value taken apart: its loss without each sentence.

use anyhow::{Context, Result};

use super::{ExplainedBy, ExplainedText, SplitText, without};
use crate::extract::onnx::open;
use crate::extract::pieces::pieces;
use crate::extract::reading::{CorpusReader, ReadDocument};

/// Sentences that are left out at the most, the first ones: each costs a reading of the whole text.
const MOST: usize = 64;

/// Scores the text, and the text without each sentence.
pub(super) fn run(
    reader: &CorpusReader<'_>,
    document: &ReadDocument,
    texts: &SplitText<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let CorpusReader { feature, ctx, .. } = reader;
    let mut encoder = open(reader)?;
    let columns = encoder.columns();
    if explained.column.is_empty() {
        // Only its file says what columns a model has.
        explained.column = columns.first().cloned().unwrap_or_default();
    }
    let place = columns.iter().position(|name| *name == explained.column);
    let place = place.with_context(|| format!("feature {:?} has no column {:?}", feature.name, explained.column))?;
    let asked = texts.ranges.len().min(MOST);
    let variants: Vec<ReadDocument> = texts.ranges[..asked].iter().map(|range| without(document, range)).collect();
    let cut = pieces(std::iter::once(document).chain(&variants), feature, &encoder, &reader.segmenter, ctx)?;
    let (rows, _) = encoder.rows(&cut.texts(), ctx, |_| Ok(ctx.check()?))?;
    let score = |document: usize| {
        let mut row = vec![f32::NAN; columns.len()];
        cut.compose(document, &rows, feature.truncate.over().unwrap_or_default(), &mut row);
        f64::from(row[place])
    };
    explained.score = score(0);
    for (number, sentence) in explained.sentences.iter_mut().take(asked).enumerate() {
        sentence.value = explained.score - score(number + 1);
    }
    explained.by = ExplainedBy::Omission;
    explained.formula = "value of a sentence = score of the text - score of the text without it".to_owned();
    explained.note = (
        "上下文模型：逐句删去后重新打分，所示为得分的变化；各句之和不等于得分，没有逐词解释。".into(),
        "Contextual model: each sentence is left out and the rest scored again; shown is what the score loses. The sentences do \
         not sum to the score, and there is no explanation by words."
            .into(),
    );
    if asked < texts.ranges.len() {
        explained.note.0 += &format!("只算了前 {asked} 句，共 {} 句。", texts.ranges.len());
        explained.note.1 += &format!(" Only the first {asked} of {} sentences were left out.", texts.ranges.len());
    }
    Ok(())
}
