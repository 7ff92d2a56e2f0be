//! Tone by a lexicon. A document's row depends on its own words alone, so finished parts are never computed again.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::extract::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use crate::extract::part_model::{PartModel, RowsOfPart};
use crate::extract::reading::{CorpusReader, MASKED, ReadDocument, dense_rows, join, masked_text};
use crate::extract::set::{SetMeta, SetParams};
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Document, Key, Report};
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::{Pick, Strategy};
use inkstone_models::Lexicon;
use inkstone_store::{RowKind, Rows, Store, Values};
use inkstone_text::{DictionaryEntry, Segmenter, TokenizerParams};

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Fixed(&["tone", "positive", "negative", "tokens"]),
    explained_by: Explainer::ToneWords,
    opened: RowModel::Files(row_model),
    part_model: Some(part_model),
    combines_windows: true,
    settings: &["lexicon"],
    ..ModelEntry::of_texts(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    part_model(feature, inputs, ctx)?.run(store)
}

fn part_model<'a>(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<PartModel<'a>> {
    let (lexicon, segmenter) = open(feature, inputs.tokenizer, inputs.base)?;
    let reader = CorpusReader::with_segmenter(feature, inputs, segmenter, ctx)?;
    let columns = feature.columns();
    let params = SetParams::of_words(&reader).with("lexicon", lexicon.key());
    let spec = params.spec(feature, RowKind::Dense { dim: columns.len() }, lexicon.fitted_until());
    let mut facts = vec![("lexicon_words", json!(lexicon.size()))];
    if !lexicon.lists().is_empty() {
        facts.push(("lists", json!(lexicon.lists())));
    }
    Ok(PartModel { reader, spec, meta: SetMeta::of_columns(columns), facts, limit: None, rows: Box::new(lexicon) })
}

impl RowsOfPart for Lexicon {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows> {
        let tone = |text: &str, row: &mut [f32]| tone_row(self, text, &reader.segmenter, row);
        Ok(dense_rows(reader, documents, reader.feature.columns().len(), tone))
    }
}

/// Sets the row of a text.
pub(crate) fn tone_row(lexicon: &Lexicon, text: &str, segmenter: &Segmenter, row: &mut [f32]) {
    let tone = lexicon.tone(&Lexicon::tokens(text, segmenter));
    row.copy_from_slice(&[tone.tone, tone.positive, tone.negative, tone.tokens as f32]);
}

/// The lexicon of a feature, and the segmenter that knows its words.
pub(crate) fn open(feature: &Feature, tokenizer: &TokenizerParams, base: &Path) -> Result<(Lexicon, Segmenter)> {
    let lexicon = Lexicon::new(&feature.lexicon, base)?;
    // A tone word that the dictionary lacks would be cut in two and never found.
    let words: Vec<DictionaryEntry> = lexicon.words().map(DictionaryEntry::word).collect();
    let segmenter = Segmenter::with_words(tokenizer, base, &words)?;
    Ok((lexicon, segmenter))
}

/// The lexicon of a feature as a model of rows.
fn row_model(feature: &Feature, inputs: &Inputs<'_>, _: &Ctx) -> Result<(Box<dyn TextRows>, Segmenter)> {
    let (lexicon, segmenter) = open(feature, inputs.tokenizer, inputs.base)?;
    Ok((Box::new(lexicon), segmenter))
}

impl TextRows for Lexicon {
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        Ok(match self.rows(documents, reader)?.values {
            Values::Dense { data, .. } => data,
            Values::Sparse { .. } => Vec::new(),
        })
    }
}

/// Finds the words that gave a document its tone.
pub struct ToneWords {
    feature: Feature,
    lexicon: Lexicon,
    segmenter: Segmenter,
}

impl ToneWords {
    /// For a feature whose model is `lexicon`; relative paths are taken from `base`.
    pub fn new(feature: &Feature, tokenizer: &TokenizerParams, base: &Path) -> Result<ToneWords> {
        let (lexicon, segmenter) = open(feature, tokenizer, base)?;
        Ok(ToneWords { feature: feature.clone(), lexicon, segmenter })
    }

    /// The tone words in the body of a cleaned document, as the feature reads it: bytes of the body, and the weight that each
    /// adds, negation and degree included. `names` are the name spans of title and body.
    pub fn in_body(&self, document: &Document, names: [&[Range<usize>]; 2]) -> Vec<(Range<usize>, f32)> {
        if !self.feature.reads(document.kind) {
            return Vec::new();
        }
        let text = masked_text(document, names, &self.feature);
        // The sentences are not known here: a strategy that is not by place keeps the whole text.
        let by_place = self.feature.truncate.place().unwrap_or_default();
        let strategy = Strategy { pick: Pick::Place(by_place), ..Strategy::default() };
        let kept: Vec<_> = strategy.keep(&text, &self.segmenter, &[], 0).into_iter().flat_map(|k| k.bytes).collect();
        let read = join(&text, &kept);
        let tokens = self.segmenter.tokens(&read);
        let texts: Vec<&str> = tokens.iter().map(|t| t.text).collect();
        // The body begins after the title and its line break.
        let title = text.len() - self.body_length(document, names[1]);
        let place = |at: usize| Some(self.unmasked(before_cut(at, &kept)?.checked_sub(title)?, names[1]));
        let found = self.lexicon.explain(&texts).into_iter().filter_map(|hit| {
            let (first, last) = (tokens[hit.token], tokens[hit.token + hit.tokens - 1]);
            Some((place(first.start)?..place(last.end)?, hit.weight))
        });
        found.collect()
    }

    fn body_length(&self, document: &Document, names: &[Range<usize>]) -> usize {
        let masked = if self.feature.masks_names() { names } else { &[] };
        masked.iter().fold(document.body.len(), |length, name| length + MASKED.len() - name.len())
    }

    /// The byte of the body that stands at `at` in the masked body.
    fn unmasked(&self, at: usize, names: &[Range<usize>]) -> usize {
        let mut place = at;
        for name in names.iter().filter(|_| self.feature.masks_names()) {
            if place <= name.start {
                break;
            }
            place = place + name.len() - MASKED.len();
        }
        place
    }
}

/// The byte of the whole text that stands at `at` in its kept parts, which are joined by line breaks.
fn before_cut(at: usize, kept: &[Range<usize>]) -> Option<usize> {
    let mut before = 0;
    for part in kept {
        if at <= before + part.len() {
            return Some(part.start + at - before);
        }
        before += part.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::data::Kind;

    const BODY: &str = "瑞禾电气净利润大幅增长。瑞禾电气未出现亏损，但毛利率下滑。";
    const NAME: &str = "瑞禾电气";

    fn words(feature: Feature) -> Vec<(&'static str, bool)> {
        let document = Document { title: "瑞禾电气增长".into(), body: BODY.into(), ..Document::default() };
        let spans = |text: &str| text.match_indices(NAME).map(|(at, _)| at..at + NAME.len()).collect::<Vec<_>>();
        let names = [spans(&document.title), spans(&document.body)];
        let words = ToneWords::new(&feature, &TokenizerParams::default(), Path::new("")).unwrap();
        let found = words.in_body(&document, [&names[0], &names[1]]);
        found.into_iter().map(|(range, weight)| (&BODY[range], weight > 0.0)).collect()
    }

    #[test]
    fn tone_words_are_found_in_the_body_whatever_was_masked_before_them() {
        let expected = [("增长", true), ("亏损", true), ("下滑", false)];
        assert_eq!(words(Feature::default()), expected);
        assert_eq!(words(Feature { mask_names: Some(true), ..Feature::default() }), expected);
    }

    #[test]
    fn only_what_the_feature_reads_has_tone_words() {
        let truncate = "head+tail:1+3".parse().unwrap();
        assert_eq!(words(Feature { truncate, mask_names: Some(true), ..Feature::default() }), [("下滑", false)]);
        assert_eq!(words(Feature { kinds: vec![Kind::Report], ..Feature::default() }), []);
    }
}
