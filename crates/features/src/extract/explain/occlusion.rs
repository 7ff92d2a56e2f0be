//! A value of a model that reads a text as a whole, taken apart: its loss without each sentence, and without each word of the sentence
//! that moves it most.

use std::ops::Range;

use anyhow::Result;

use super::{ExplainedBy, ExplainedText, ExplainedWord, SplitText, without};
use crate::extract::reading::ReadDocument;
use inkstone_base::language::Word;
use inkstone_text::Segmenter;

/// Sentences that are left out at the most, the first ones: each costs a reading of the whole text.
const MOST: usize = 64;

/// Different words of the strongest sentence that are left out at the most, the first ones.
const MOST_WORDS: usize = 64;

/// The values of documents by the column that is taken apart.
pub(crate) type DocumentScores<'s> = &'s mut dyn FnMut(&[ReadDocument]) -> Result<Vec<f64>>;

/// Scores the text, the text without each of its first sentences, and without each word of the strongest sentence. `model` names the model
/// in Chinese and English.
pub(crate) fn run(
    document: &ReadDocument,
    texts: &SplitText<'_>,
    segmenter: &Segmenter,
    model: (&str, &str),
    score: DocumentScores<'_>,
    explained: &mut ExplainedText,
) -> Result<()> {
    let uncut = ReadDocument { windows: Vec::new(), ..document.clone() };
    let variants: Vec<ReadDocument> = std::iter::once(uncut.clone())
        .chain(texts.ranges.iter().take(MOST).map(|range| without(document, range)))
        .collect();
    fill(&score(&variants)?, texts, model, explained);
    note_windows(document, explained);

    let sizes = explained.sentences.iter().map(|sentence| sentence.value.abs());
    let moving = sizes.enumerate().filter(|(_, size)| *size > 0.0);
    let Some((strongest, _)) = moving.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else { return Ok(()) };
    let range = &texts.ranges[strongest];
    let words = words_of(&texts.text[range.clone()], segmenter);
    if words.is_empty() {
        return Ok(());
    }
    let without_word = |(_, places): &(String, Vec<Range<usize>>)| {
        // From the last to the first: what is cut out moves what follows.
        let cut = |left: ReadDocument, place: &Range<usize>| {
            without(&left, &(range.start + place.start..range.start + place.end))
        };
        places.iter().rev().fold(uncut.clone(), cut)
    };
    let scores = score(&words.iter().map(without_word).collect::<Vec<_>>())?;
    let found = words.into_iter().zip(scores).map(|((word, places), score)| ExplainedWord {
        word,
        value: explained.score - score,
        places,
        negated: false,
        degree: 1.0,
    });
    let mut found: Vec<ExplainedWord> = found.filter(|word| word.value.is_finite() && word.value != 0.0).collect();
    found.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    explained.sentences[strongest].words = found;
    Ok(())
}

/// The first different words of a sentence with their places; marks are no words.
fn words_of(sentence: &str, segmenter: &Segmenter) -> Vec<(String, Vec<Range<usize>>)> {
    let mut words: Vec<(String, Vec<Range<usize>>)> = Vec::new();
    for token in segmenter.tokens(sentence).iter().filter(|token| token.text.chars().any(char::is_alphanumeric)) {
        let place = token.start..token.end;
        match words.iter().position(|(word, _)| *word == token.text) {
            Some(known) => words[known].1.push(place),
            None if words.len() < MOST_WORDS => words.push((token.text.to_owned(), vec![place])),
            None => {}
        }
    }
    words
}

/// Notes that a score is of the whole text where the document was scored in windows.
fn note_windows(document: &ReadDocument, explained: &mut ExplainedText) {
    if !document.windows.is_empty() {
        explained.kept = f64::NAN;
        explained.note.0 += "该文档按多个窗口打分后合并：这里拆解的是全文的得分，不是保存的值。";
        explained.note.1 += " The document was scored in several windows that were put together: what is taken apart here is the \
                             score of the whole text, not the value that is kept.";
    }
}

/// Sets the values of the sentences from the score of the text and those without each sentence.
fn fill(scores: &[f64], texts: &SplitText<'_>, model: (&str, &str), explained: &mut ExplainedText) {
    explained.score = scores[0];
    for (sentence, score) in explained.sentences.iter_mut().zip(&scores[1..]) {
        sentence.value = explained.score - score;
    }
    explained.by = ExplainedBy::Omission;
    explained.formula = Word(
        "句或词的值 = 全文得分 - 去掉它后的得分",
        "value of a sentence or word = score of the text - score of the text without it",
    )
    .into();
    explained.note = (
        format!(
            "{}：逐句删去后重新打分，影响最大的一句再逐词删去，所示为得分的变化；各句之和、各词之和都不等于得分。",
            model.0
        ),
        format!(
            "{}: each sentence is left out and the rest scored again, then each word of the sentence that moves most; shown is what \
             the score loses. Neither sentences nor words sum to the score.",
            model.1
        ),
    );
    let (asked, all) = (scores.len() - 1, texts.ranges.len());
    if asked < all {
        explained.note.0 += &format!("只算了前 {asked} 句，共 {all} 句。");
        explained.note.1 += &format!(" Only the first {asked} of {all} sentences were left out.");
    }
}
