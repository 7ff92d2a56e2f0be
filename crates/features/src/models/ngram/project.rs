//! Surprise: how improbable a document is to a language model of the documents before it.
//!
//! Windows and steps are those of [`crate::extract::steps`].
//!
//! Columns: `surprise`, mean -log10 probability of a token, the end of the document among them (10^surprise is the perplexity);
//! `oov`, the share of tokens that the window does not have; `tokens`. Memory holds a window, the vocabulary, and some bytes
//! a document.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::params::{SurpriseParams, Unit};
use crate::extract::documents::{DocumentPlace, NumberedCorpus};
use crate::extract::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use crate::extract::fits::{Fit, FitResult};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish};
use crate::extract::steps::{Step, StepReport, Steps};
use crate::extract::text_rows::{NOWHERE, TextRows};
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::ngram::{Counter, LanguageModel, NgramParams, Room, Score, Smoothing, smooth};
use inkstone_models::{Fields, Part};
use inkstone_store::{RowKind, SetSpec, Store};
use inkstone_text::{Cut, Mode, Segmenter};

/// Documents that one thread codes or scores at once.
const CHUNK: usize = 64;
/// For `jelinek-mercer`, one document in so many is held out for its weights, the first of a window among them.
const HELD_OUT: usize = 20;

impl SurpriseParams {
    fn steps(&self) -> Steps {
        let SurpriseParams { window_days, refit_days, min_train_documents, .. } = *self;
        Steps { window_days, refit_days, min_train_documents }
    }

    /// The segmenter that cuts text into the unit.
    pub(crate) fn segmenter(&self, segmenter: Segmenter) -> Segmenter {
        match self.unit {
            Unit::Words => segmenter,
            Unit::Characters => segmenter.recut(Mode::Char, Cut::Precise),
        }
    }

    /// True if the document of this number in its window, from 1, is held out.
    fn holds(&self, number: usize) -> bool {
        self.smoothing == Smoothing::JelinekMercer && number % HELD_OUT == 1
    }
}

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Fixed(&["surprise", "oov", "tokens"]),
    explained_by: Explainer::Rows,
    opened: RowModel::Refit(open),
    walk_fits: Some(walk_fits),
    settings: &["surprise"],
    check: |feature| feature.surprise.check(),
    ..ModelEntry::of_texts(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let params = &feature.surprise;
    params.check().with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let mut report = Report::new(&feature.name);
    let mut reader = CorpusReader::new(feature, inputs, ctx)?;
    reader.segmenter = params.segmenter(reader.segmenter);
    let corpus = NumberedCorpus::read(&reader, cut_by(&reader.segmenter), &mut report)?;
    let dim = feature.columns().len();
    let spec = spec_of(&reader);
    let mut rows = corpus.batches.empty_rows(dim);
    let windows = walk(&corpus, &spec, &reader, |step, values| {
        for (place, row) in step.iter().zip(values.chunks(dim)) {
            rows[place.part][dim * place.row..][..dim].copy_from_slice(row);
        }
    })?;
    let scored: usize = windows.iter().map(|window| window.scored).sum();
    let without_history = corpus.places.len() - scored;

    let writer = store.writer(&spec)?;
    let order = corpus.batches.write(&writer, dim, |part| std::mem::take(&mut rows[part]), ctx)?;
    report.rows_out = (corpus.places.len() - without_history) as u64;
    report.drop_rows(
        "with too few documents in the window before (surprise.min_train_documents)",
        without_history as u64,
    );
    report.fact("models", windows.iter().filter(|window| window.scored > 0).count());
    report.fact("words", corpus.words.len());
    let windows = Some(windows);
    finish(writer, &order, &SetMeta { windows, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// The set of a feature's rows.
fn spec_of(reader: &CorpusReader<'_>) -> SetSpec {
    let dim = reader.feature.columns().len();
    SetParams::of_corpus(reader).spec(reader.feature, RowKind::Dense { dim }, None)
}

/// Fits a model a step and gives the documents of each step, with the rows that it makes of them, to `value`.
fn walk(
    corpus: &NumberedCorpus,
    spec: &SetSpec,
    reader: &CorpusReader<'_>,
    mut value: impl FnMut(&[DocumentPlace], &[f32]),
) -> Result<Vec<StepReport>> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let (params, steps) = (&feature.surprise, feature.surprise.steps());
    let mut windows = Vec::new();
    for Step { begin, window, documents: step } in steps.over(&corpus.places) {
        let mut found = StepReport { from: begin, fitted_until: None, train_documents: window.len(), scored: 0 };
        let some = window.iter().zip(1..).any(|(place, number)| !params.holds(number) && !place.tokens.is_empty());
        if some && steps.suffice(window.len()) {
            let tokens = window.iter().map(|place| place.tokens.len() as u64).sum();
            let fit = Fit::new(spec, begin, feature.columns().len(), (window.len() as u64, tokens));
            let result = inputs.fits.result(&fit, || {
                let model = train(corpus, window, params, ctx)?;
                let values = score(corpus, step, &model, ctx).into_iter().flat_map(row_of).collect();
                Ok(FitResult { values, note: () })
            })?;
            if let Some(FitResult { values, .. }) = result {
                value(step, &values);
                found.fitted_until = window.last().map(|place| place.time);
                found.scored = step.len();
            }
        }
        windows.push(found);
        ctx.advance(step.len() as u64 / 2)?;
    }
    Ok(windows)
}

/// Walks over the models of a feature without making rows of the corpus.
fn walk_fits(
    feature: &Feature,
    inputs: &Inputs<'_>,
    ctx: &Ctx,
    check: &mut dyn FnMut(&[Key], &SetSpec) -> Result<()>,
) -> Result<()> {
    feature.surprise.check().with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let mut reader = CorpusReader::new(feature, inputs, ctx)?;
    reader.segmenter = feature.surprise.segmenter(reader.segmenter);
    let corpus = NumberedCorpus::read(&reader, cut_by(&reader.segmenter), &mut Report::new(&feature.name))?;
    let spec = spec_of(&reader);
    check(&corpus.batches.keys(), &spec)?;
    walk(&corpus, &spec, &reader, |_, _| ())?;
    Ok(())
}

/// Cuts a text into tokens, which are taken for those of a body.
fn cut_by(segmenter: &Segmenter) -> impl Fn(&str, Fields<'_>) -> [Vec<String>; 2] + Sync + '_ {
    |text, _| [Vec::new(), segmenter.tokens(text).into_iter().map(|token| token.text.to_owned()).collect()]
}

/// The columns of a document with this score.
fn row_of(score: Score) -> [f32; 3] {
    let tokens = (score.tokens - 1) as f64;
    [-score.log10() / score.tokens as f64, score.oov as f64 / tokens.max(1.0), tokens].map(|value| value as f32)
}

/// The model that scored the document in this part and row, trained once more; none where the window before it has too little text. The
/// reader cuts text as the feature does. Reads the corpus once.
fn open(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Box<dyn TextRows>>> {
    let CorpusReader { feature, ctx, .. } = reader;
    let (params, steps) = (&feature.surprise, feature.surprise.steps());
    let corpus = NumberedCorpus::read(reader, cut_by(&reader.segmenter), &mut Report::new(&feature.name))?;
    let found = corpus.places.iter().find(|document| (document.part, document.row) == place);
    let Some(time) = found.map(|document| document.time) else { return Ok(None) };
    let (_, window) = steps.window_before(&corpus.places, time);
    let some = window.iter().zip(1..).any(|(place, number)| !params.holds(number) && !place.tokens.is_empty());
    if !some || !steps.suffice(window.len()) {
        return Ok(None);
    }
    Ok(Some(Box::new(WindowModel { model: train(&corpus, window, params, ctx)? })))
}

/// The language model of a window as a model of rows.
struct WindowModel {
    model: LanguageModel,
}

impl TextRows for WindowModel {
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let mut scores = self.model.scores();
        for document in documents {
            let text = document.text.as_deref().unwrap_or_default();
            scores.push(reader.segmenter.tokens(text).iter().map(|token| token.text));
        }
        scores.score();
        Ok(scores.totals().flat_map(row_of).collect())
    }

    /// Each token in its order, and the end of the document, which stands nowhere in the text.
    fn document_parts(&self, document: &ReadDocument, reader: &CorpusReader<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        let tokens = reader.segmenter.tokens(document.text.as_deref()?);
        let tokens: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let found = self.model.explain(&tokens).terms;
        let (all, count) = (found.len() as f64, tokens.len().max(1) as f64);
        let part = |(number, part): (usize, Part)| {
            let oov = part.detail.iter().find(|(name, _)| *name == "oov").map_or(0.0, |(_, oov)| *oov);
            let row = match number < tokens.len() {
                true => [-part.value / all, oov / count, 1.0],
                false => [-part.value / all, 0.0, 0.0],
            };
            let token = if number < tokens.len() { part.token } else { NOWHERE.to_owned() };
            (token, row.map(|value| value as f32).to_vec())
        };
        Some(found.into_iter().enumerate().map(part).collect())
    }
}

fn train(
    corpus: &NumberedCorpus,
    window: &[DocumentPlace],
    params: &SurpriseParams,
    ctx: &Ctx,
) -> Result<LanguageModel> {
    // A window of very short documents has no longer n-grams than these, their marks included.
    let counted = (1..).zip(window).filter(|(number, _)| !params.holds(*number));
    let longest = counted.map(|(_, place)| place.tokens.len() + 2).max().unwrap_or_default();
    let ngram = NgramParams { order: params.order.min(longest), smoothing: params.smoothing, ..NgramParams::default() };
    let mut counter = Counter::new(ngram.order, &Room::in_folder(&std::env::temp_dir()))?;
    let mut held_out = Vec::new();
    for (chunk, documents) in window.chunks(CHUNK).enumerate() {
        let mut coder = counter.coder();
        for (number, place) in (1 + chunk * CHUNK..).zip(documents) {
            match params.holds(number) {
                true => held_out.push(corpus.tokens(place).collect::<Vec<&str>>().join(" ")),
                false => coder.document(corpus.tokens(place), Some(place.time)),
            }
        }
        let coded = coder.finish();
        counter.take(&coded, ctx)?;
        ctx.check()?;
    }
    let model = smooth(counter.finish(ctx)?, &ngram, &held_out, &mut Report::default(), ctx)?;
    LanguageModel::new(&model, ctx)
}

fn score(corpus: &NumberedCorpus, documents: &[DocumentPlace], model: &LanguageModel, ctx: &Ctx) -> Vec<Score> {
    let chunk = |chunk: &[DocumentPlace]| -> Vec<Score> {
        let mut scores = model.scores();
        chunk.iter().for_each(|place| scores.push(corpus.tokens(place)));
        scores.score();
        scores.totals().collect()
    };
    ctx.install(|| documents.par_chunks(CHUNK).flat_map_iter(chunk).collect())
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDate, NaiveDateTime};

    use super::*;
    use crate::extract::Model;
    use crate::extract::tests::Corpus;
    use inkstone_base::data::Kind;
    use inkstone_store::Values;

    type Text = (NaiveDateTime, Kind, &'static str, &'static str);

    /// Four texts a day for three weeks from a Monday, in no order of time; on the 22nd day one that was there before and one that was not.
    fn texts() -> Vec<Text> {
        const BODIES: [&str; 4] =
            ["公司订单大幅增长。", "公司净利润同比下降。", "控股股东拟回购股份。", "公司收到交易所问询函。"];
        let at = |day: u64, hour| {
            NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().and_hms_opt(hour, 0, 0).unwrap() + chrono::Days::new(day)
        };
        let mut texts: Vec<Text> = (0..21)
            .flat_map(|day| BODIES.iter().zip(9..).map(move |(body, hour)| (at(day, hour), Kind::News, "", *body)))
            .collect();
        texts.reverse();
        texts.extend([(at(21, 0), Kind::News, "", BODIES[0]), (at(21, 10), Kind::News, "", "海外子公司火灾停产。")]);
        texts
    }

    fn feature() -> Feature {
        let surprise = SurpriseParams { window_days: 14, min_train_documents: 20, ..SurpriseParams::default() };
        Feature { name: "surprise".into(), model: Model::Surprise, surprise, ..Feature::default() }
    }

    /// The rows `[documents, 3]` of the texts.
    fn rows(corpus: &Corpus, texts: &[Text], feature: &Feature) -> (Vec<[f32; 3]>, Report) {
        corpus.put(texts, 10);
        let (set, report) = corpus.run(feature);
        let set = corpus.store.set(&set).unwrap().unwrap();
        let rows = set.batches().flat_map(|rows| match rows.unwrap().values {
            Values::Dense { dim, data } => data.chunks(dim).map(|row| [row[0], row[1], row[2]]).collect::<Vec<_>>(),
            Values::Sparse { .. } => panic!("the set is sparse"),
        });
        (rows.collect(), report)
    }

    #[test]
    fn what_was_said_before_is_less_surprising_than_what_was_not() {
        let texts = texts();
        let (rows, report) = rows(&Corpus::new(0), &texts, &feature());
        let [repeated, new] = [rows[84], rows[85]];
        assert!(repeated[0] < 0.5 * new[0], "{repeated:?} {new:?}");
        assert_eq!(repeated[1], 0.0);
        assert!(new[1] > 0.5 && new[2] >= 4.0, "{new:?}");
        // The first week has nothing before it; the others are scored by a model each.
        let scored = |week: i64| {
            texts
                .iter()
                .zip(&rows)
                .filter(|(t, r)| (t.0.date() - texts[83].0.date()).num_days() / 7 == week && !r[0].is_nan())
                .count()
        };
        assert_eq!([0, 1, 2, 3].map(scored), [0, 28, 28, 2]);
        assert_eq!((report.rows_in, report.rows_out, &report.facts["models"]), (86, 58, &3.into()));
        let reason = "with too few documents in the window before (surprise.min_train_documents)";
        assert_eq!(report.dropped[reason], 28);
    }

    #[test]
    fn later_texts_and_threads_change_no_value() {
        let texts = texts();
        for smoothing in [Smoothing::KneserNey, Smoothing::JelinekMercer] {
            let mut feature = feature();
            feature.surprise.smoothing = smoothing;
            let all_rows = rows(&Corpus::new(0), &texts, &feature).0;
            for threads in [1, 8] {
                let mut corpus = Corpus::new(0);
                corpus.ctx = Ctx::new(threads, 1).unwrap();
                assert_eq!(bits(&rows(&corpus, &texts, &feature).0), bits(&all_rows));
            }
            // Without everything after some moment, what came before is the same.
            for kept in [30, 60, 85] {
                let mut early = texts.clone();
                early.sort_by_key(|text| text.0);
                let all = rows(&Corpus::new(0), &early, &feature).0;
                let some = rows(&Corpus::new(0), &early[..kept], &feature).0;
                assert_eq!(bits(&some), bits(&all[..kept]));
            }
        }
    }

    fn bits(rows: &[[f32; 3]]) -> Vec<[u32; 3]> {
        rows.iter().map(|row| row.map(f32::to_bits)).collect()
    }

    #[test]
    fn the_documents_of_a_step_do_not_train_the_model_that_scores_them() {
        let texts = texts();
        let mut other = texts.clone();
        // The last step's first text: the second one's value stays.
        other[84].3 = "海外子公司火灾停产。";
        let [a, b] = [texts, other].map(|texts| rows(&Corpus::new(0), &texts, &feature()).0);
        assert_eq!(a[85], b[85]);
        assert_eq!(b[84], b[85], "the same text has the same surprise, said first or second");
    }

    #[test]
    fn characters_and_kinds_are_as_asked() {
        let texts = texts();
        let mut feature = feature();
        feature.surprise.unit = Unit::Characters;
        let characters = rows(&Corpus::new(0), &texts, &feature).0;
        assert_eq!(characters[84][2], 9.0);
        feature.kinds = vec![Kind::Report];
        let (none, report) = rows(&Corpus::new(0), &texts, &feature);
        assert!(none.iter().all(|row| row[0].is_nan()));
        assert_eq!(report.dropped["of a kind that is not read"], 86);
    }

    #[test]
    fn settings_that_make_no_sense_name_themselves() {
        let refused = |params: SurpriseParams| params.check().unwrap_err().to_string();
        let default = SurpriseParams::default;
        assert!(
            refused(SurpriseParams { window_days: 0, ..default() })
                .contains("feature.surprise.window_days: 0 is out of bounds")
        );
        assert!(refused(SurpriseParams { refit_days: 0, ..default() }).contains("feature.surprise.refit_days: 0"));
        assert!(refused(SurpriseParams { order: 7, ..default() }).contains("feature.surprise.order: 7"));
        assert!(refused(SurpriseParams { min_train_documents: 0, ..default() }).contains("min_train_documents: 0"));
    }
}
