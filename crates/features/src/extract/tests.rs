//! A corpus of a few lines, and what each model makes of it.

use std::sync::Mutex;

use chrono::{NaiveDate, NaiveDateTime};
use serde_json::json;

use super::times::ModelTimes;
use super::*;
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Kind};
use inkstone_corpus::clean::{CleanDocument, clean_to_frame};
use inkstone_corpus::event::EventFinder;
use inkstone_corpus::link::{Link, TextField, Via, links_to_frame};
use inkstone_corpus::structure::{self, Measure};
use inkstone_lab::factor::{Params, Plan, Within};
use inkstone_models::{Preset, SvdParams, VectorizerParams};
use inkstone_store::Values;
use inkstone_text::DfLimit;

/// A corpus in a folder of its own, with a store beside it.
pub(crate) struct Corpus {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) ctx: Ctx,
    pub(crate) tokenizer: TokenizerParams,
    pub(crate) market: Option<LazyMarket>,
    /// The sets that features may learn on.
    pub(crate) sets: BTreeMap<String, Key>,
    /// Features that others are made with.
    pub(crate) features: Vec<Feature>,
    pub(crate) rewritten: BTreeMap<String, RewrittenCorpus>,
}

const TEXTS: [(&str, Kind, &str); 4] = [
    ("远山中标大单", Kind::News, "远山公司中标，订单大幅增长。"),
    ("远山被立案", Kind::News, "远山公司因违规被立案调查。"),
    ("天气晴", Kind::Post, "今日天气晴朗。"),
    ("远山点评", Kind::Report, "首段平平。业绩大幅下滑，亏损扩大。"),
];

impl Corpus {
    /// The first `n` texts, two to a part.
    pub(crate) fn new(n: usize) -> Corpus {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let (ctx, tokenizer) = (Ctx::new(2, 1).unwrap(), TokenizerParams::default());
        let (market, sets, features) = (None, BTreeMap::new(), Vec::new());
        let rewritten = BTreeMap::new();
        let corpus = Corpus { dir, store, ctx, tokenizer, market, sets, features, rewritten };
        corpus.write(n);
        corpus
    }

    pub(crate) fn parts(&self, name: &str) -> Parts {
        Parts::new(self.dir.path().join(name))
    }

    fn write(&self, n: usize) {
        let day = |i: usize| NaiveDate::from_ymd_opt(2024, 3, 1 + i as u32).unwrap().and_hms_opt(10, 0, 0).unwrap();
        let texts = TEXTS[..n].iter().enumerate().map(|(i, &(title, kind, body))| (day(i), kind, title, body));
        self.put(&texts.collect::<Vec<_>>(), 2);
    }

    /// Writes texts with their times, so many to a part.
    pub(crate) fn put(&self, texts: &[(NaiveDateTime, Kind, &str, &str)], to_a_part: usize) {
        self.put_labelled(texts, &[], to_a_part);
    }

    /// The same; the first texts have these labels.
    pub(crate) fn put_labelled(
        &self,
        texts: &[(NaiveDateTime, Kind, &str, &str)],
        labels: &[Option<String>],
        to_a_part: usize,
    ) {
        for (part, texts) in texts.chunks(to_a_part).enumerate() {
            let mut links = Vec::new();
            let mut docs = Vec::new();
            for (row, &(published_at, kind, title, body)) in texts.iter().enumerate() {
                let document = Document {
                    doc_id: format!("t/{}", to_a_part * part + row),
                    kind,
                    source: kind.name().into(),
                    title: title.into(),
                    body: body.into(),
                    published_at,
                    label: labels.get(to_a_part * part + row).cloned().flatten(),
                    ..Document::default()
                };
                for (field, text) in [(TextField::Title, title), (TextField::Body, body)] {
                    if let Some(start) = text.find("远山") {
                        let (start, end) = (start as u32, (start + "远山".len()) as u32);
                        let code = Code::canonical("600001.SH");
                        links.push(Link { row: row as u32, code, field, start, end, via: Via::Name, ambiguous: false });
                    }
                }
                let first_mention = document.doc_id.clone();
                docs.push(CleanDocument { text: Key::of(body.as_bytes()), document, first_mention, similarity: 0.0 });
            }
            self.parts("clean").write(part, &mut clean_to_frame(&docs).unwrap()).unwrap();
            self.parts("links").write(part, &mut links_to_frame(&links).unwrap()).unwrap();
        }
    }

    pub(crate) fn run(&self, feature: &Feature) -> (Key, Report) {
        self.try_run(feature).unwrap()
    }

    pub(crate) fn try_run(&self, feature: &Feature) -> Result<(Key, Report)> {
        self.run_sharing(feature, None)
    }

    /// Finds the sentences of all parts.
    pub(crate) fn structure(&self, measures: &[Measure]) {
        let params = structure::Params { salience: measures.to_vec(), ..structure::Params::default() };
        let (clean, out) = (self.parts("clean"), self.parts("structure"));
        structure::run(&clean, &out, &params, &self.tokenizer, self.dir.path(), &self.ctx).unwrap();
    }

    pub(crate) fn run_sharing(&self, feature: &Feature, shared: Option<&Mutex<Vec<Key>>>) -> Result<(Key, Report)> {
        self.with(shared, |inputs| run(feature, inputs, &self.store, &self.ctx))
    }

    /// Does something with what features are computed from.
    pub(crate) fn with<T>(&self, shared: Option<&Mutex<Vec<Key>>>, work: impl FnOnce(&Inputs<'_>) -> T) -> T {
        let (clean, links) = (self.parts("clean"), self.parts("links"));
        work(&Inputs {
            clean: &clean,
            links: &links,
            sentences: &self.parts("structure"),
            corpus: Key::of(clean.files().unwrap().len().to_string().as_bytes()),
            market: self.market.as_ref(),
            prices: Key::default(),
            cutoff: Cutoff::Close,
            tokenizer: &self.tokenizer,
            onnx: &inkstone_onnx::testing::section(),
            base: self.dir.path(),
            sets: Some(FeatureSets { store: &self.store, ids: &self.sets }),
            rewritten: &self.rewritten,
            rewrite: None,
            features: &self.features,
            fits: Fits::here(),
            shared,
        })
    }

    pub(crate) fn rows(&self, set: Key) -> Vec<Vec<f32>> {
        let set = self.store.set(&set).unwrap().unwrap();
        set.batches()
            .flat_map(|rows| match rows.unwrap().values {
                Values::Dense { dim, data } => data.chunks(dim).map(<[f32]>::to_vec).collect::<Vec<_>>(),
                Values::Sparse { .. } => panic!("the set is sparse"),
            })
            .collect()
    }

    /// The first column of each dense row.
    fn column(&self, set: Key) -> Vec<f32> {
        self.rows(set).into_iter().map(|row| row[0]).collect()
    }
}

fn tone() -> Feature {
    Feature { name: "tone".into(), ..Feature::default() }
}

#[test]
fn a_native_model_reads_what_any_strategy_keeps() {
    let corpus = Corpus::new(4);
    corpus.structure(&[Measure::Tfidf]);
    // Of the windows of nine the last, 扩大。, is good news by itself.
    let tone_of = |strategy: &str| {
        let feature = Feature { truncate: strategy.parse().unwrap(), ..tone() };
        corpus.column(corpus.run(&feature).0)[3]
    };
    for (strategy, expected) in [
        ("head:8c", 0.0),
        ("tail:5c", -1.0),
        ("tail:5c +title", 0.0),
        ("middle:4c", 0.0),
        ("windows:9/9c@max", 1.0),
        ("windows:9/9c@first", 0.0),
        ("windows:9/9c@mean", 0.0),
        ("sentences:12c@mean", -0.5),
        ("tfidf:12c", -1.0),
    ] {
        assert_eq!(tone_of(strategy), expected, "{strategy}");
    }
    let windows = Feature { truncate: "windows:9".parse().unwrap(), model: Model::Ridge, ..tone() };
    assert!(windows.check().unwrap_err().to_string().contains("lexicon, file and onnx alone"));
}

#[test]
fn tone_reads_title_and_body_of_the_kinds_it_is_told_to() {
    let corpus = Corpus::new(4);
    let tones = corpus.column(corpus.run(&tone()).0);
    assert_eq!((tones[0], tones[1], tones[2], tones[3]), (1.0, -1.0, 0.0, -1.0));
    let news = corpus.column(corpus.run(&Feature { kinds: vec![Kind::News], ..tone() }).0);
    assert_eq!(news.iter().map(|t| t.is_nan()).collect::<Vec<_>>(), [false, false, true, true]);
}

/// Near the news of the two days before.
fn after_news() -> Feature {
    let within = Some(Within { source: "news".into(), days: 2 });
    Feature { within, ..tone() }
}

#[test]
fn what_is_far_from_events_is_counted_and_has_no_row() {
    let corpus = Corpus::new(4);
    let (set, report) = corpus.run(&after_news());
    // The first news comes after no other, and the third text is of no security.
    let tones = corpus.column(set);
    assert_eq!(tones.iter().map(|t| t.is_nan()).collect::<Vec<_>>(), [true, false, true, false]);
    assert_eq!((report.rows_in, report.rows_out), (4, 2));
    assert_eq!(report.dropped["not near an event of its security (within)"], 2);
    let day_before = Feature { within: Some(Within { source: "news".into(), days: 1 }), ..tone() };
    assert!(corpus.column(corpus.run(&day_before).0)[3].is_nan());
    // What is not read is counted once, and teaches nothing.
    let news = Feature { kinds: vec![Kind::Post, Kind::Report], model: Model::Surprise, ..after_news() };
    let (_, report) = corpus.run(&news);
    assert_eq!(report.dropped["of a kind that is not read"], 2);
    assert_eq!(report.dropped["not near an event of its security (within)"], 1);
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let words = Feature { model: Model::Tfidf, tfidf, ..after_news() };
    let header = corpus.store.set(&corpus.run(&words).0).unwrap().unwrap().header().clone();
    let words = header.meta["vocabulary"].to_string();
    assert!(words.contains("立案") && !words.contains("天气") && !words.contains("中标"), "{words}");
    let found = corpus
        .with(None, |inputs| explain(&after_news(), None, inputs, None, (0, 0), &corpus.ctx))
        .unwrap()
        .swap_remove(0);
    assert!(
        found.note.1.contains("source news has no event") && found.note.0.contains("来源 news"),
        "{:?}",
        found.note
    );
}

#[test]
fn an_event_that_was_delivered_late_computes_the_rows_that_it_admits() {
    let corpus = Corpus::new(4);
    let day = |day: u32| NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
    let mut texts = [
        (day(1), Kind::Post, "", "远山公司开会。"),
        (day(9), Kind::News, "", "远山公司开会。"),
        (day(2), Kind::Report, "", "远山公司业绩下滑。"),
        (day(2), Kind::Report, "", ""),
        (day(10), Kind::Report, "", "远山公司业绩下滑。"),
    ];
    corpus.put(&texts, 2);
    let (before, _) = corpus.run(&after_news());
    assert_eq!(corpus.column(before).iter().map(|t| t.is_nan()).collect::<Vec<_>>(), [true, true, true, true, false]);
    // The first text turns out to be news: the report behind it, whose own text is what it was, is read now.
    texts[0].1 = Kind::News;
    corpus.put(&texts, 2);
    let (after, report) = corpus.run(&after_news());
    assert_eq!(corpus.column(after).iter().map(|t| t.is_nan()).collect::<Vec<_>>(), [true, true, false, true, false]);
    assert_eq!((before, &report.facts["kept_from_before"]), (after, &3.into()), "two parts had the same rows");
}

#[test]
fn a_part_that_is_as_it_was_is_not_read_again() {
    let corpus = Corpus::new(2);
    corpus.run(&tone());
    // Whoever reads the part fails: its pages are damaged, and its footer is sound.
    let part = corpus.parts("clean").path(0);
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[40] ^= 1;
    let damage = || std::fs::write(&part, &bytes).unwrap();
    corpus.write(4);
    damage();
    let (set, report) = corpus.run(&tone());
    assert_eq!((report.rows_out, &report.facts["kept_from_before"]), (4, &2.into()));
    assert_eq!(corpus.column(set), [1.0, -1.0, 0.0, -1.0]);
    // A feature that reads something else of the part reads it.
    let masked = Feature { mask_names: Some(true), ..tone() };
    assert!(corpus.try_run(&masked).is_err());
    corpus.write(4);
    let (set, _) = corpus.run(&masked);
    assert_eq!(corpus.column(set), [1.0, -1.0, 0.0, -1.0]);
}

#[test]
fn a_condition_reads_other_features_whose_models_make_the_rows_known() {
    let mut corpus = Corpus::new(2);
    let compute = |corpus: &mut Corpus, feature: &Feature| {
        let (set, _) = corpus.run(feature);
        corpus.sets.insert(feature.name.clone(), set);
    };
    compute(&mut corpus, &tone());
    let uncertain = |only: &str| Feature { name: "large".into(), only: only.parse().unwrap(), ..tone() };
    let read = |corpus: &Corpus, only: &str| {
        let (set, report) = corpus.run(&uncertain(only));
        let read: Vec<bool> = corpus.column(set).iter().map(|tone| !tone.is_nan()).collect();
        (set, read, report)
    };
    // The tones are 1, -1, 0 and -1. Later documents leave the rows as they are.
    let (set, rows, report) = read(&corpus, "0.5 - abs(tone)");
    assert_eq!(rows, [false, false]);
    assert_eq!(report.dropped["without what the condition asks for (only)"], 2);
    corpus.write(4);
    compute(&mut corpus, &tone());
    let (after, rows, report) = read(&corpus, "0.5 - abs(tone)");
    assert_eq!((after, &rows[..]), (set, &[false, false, true, false][..]));
    assert_eq!(report.facts["kept_from_before"], 2);
    assert_eq!(read(&corpus, "tone.tone + (document.length - 5) / 1000").1, [true, false, true, false]);

    let until = NaiveDate::from_ymd_opt(2024, 3, 2).unwrap();
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let fitted = Feature {
        name: "topics".into(),
        model: Model::Lsa,
        fit_until: Some(until),
        lsa: SvdParams { dim: 1 },
        tfidf,
        ..Feature::default()
    };
    compute(&mut corpus, &fitted);
    let (set, _, _) = read(&corpus, "abs(topics)");
    let times = ModelTimes::read(corpus.store.set(&set).unwrap().unwrap().header()).unwrap();
    assert_eq!(times.fitted_until().unwrap().date(), until);

    for (only, words) in
        [("missing - 1", "it was not computed"), ("tone.mood", "it has no column \"mood\"; it has tone")]
    {
        let error = format!("{:#}", corpus.try_run(&uncertain(only)).unwrap_err());
        assert!(error.contains("feature \"large\": in only") && error.contains(words), "{error}");
    }
    let circle = [Feature { only: "large".parse().unwrap(), ..tone() }, uncertain("tone")];
    let error = in_order_of_inputs(&circle).unwrap_err().to_string();
    assert!(error.contains("need each other in a circle: tone → large → tone"), "{error}");
}

#[test]
fn a_factor_counts_the_documents_that_a_feature_with_the_same_gate_reads() {
    let corpus = Corpus::new(0);
    let day = |i: usize| NaiveDate::from_ymd_opt(2024, 3, 1 + i as u32).unwrap().and_hms_opt(10, 0, 0).unwrap();
    let kinds = [Kind::News, Kind::Report, Kind::Report, Kind::Report, Kind::Post, Kind::News, Kind::Report];
    let texts: Vec<_> =
        kinds.iter().cycle().take(28).enumerate().map(|(i, kind)| (day(i), *kind, "远山", "订单增长。")).collect();
    corpus.put(&texts, 3);
    let mut prices = "date,code,close\n".to_owned();
    (0..28).for_each(|i| prices += &format!("{},600001.SH,1\n", day(i).date()));
    let market = Market::of_text(&prices, &[]).unwrap();
    let documents = |feature: &Feature, params: &Params| {
        let plan = Plan::new(params).unwrap();
        let set = corpus.store.set(&corpus.run(feature).0).unwrap().unwrap();
        let (clean, links) = (corpus.parts("clean"), corpus.parts("links"));
        let gate = Gate::open(params.within.as_ref(), &params.only, &clean, &links, &corpus.ctx).unwrap();
        let sources = SignalSources {
            sets: &[set],
            clean: &clean,
            links: &links,
            gate: &gate,
            events: &EventFinder::default(),
            cutoff: Cutoff::Close,
            source_weights: &params.source_weights,
        };
        let (signals, report) = signals(&plan, &sources, &market, &corpus.ctx).unwrap();
        (signals.iter().map(|signal| signal.document).collect::<Vec<_>>(), report)
    };
    let plain = Params { expression: "tone".parse().unwrap(), ..Params::default() };
    let only = "document.length - 6".parse().unwrap();
    let gated = Params { within: after_news().within, only, ..plain.clone() };
    let (by_feature, _) = documents(&Feature { only: gated.only.clone(), ..after_news() }, &plain);
    let (by_factor, report) = documents(&tone(), &gated);
    assert_eq!(by_feature, by_factor);
    assert!((8..28).contains(&by_factor.len()), "{by_factor:?}");
    assert_eq!((report.rows_in, report.rows_out), (28, by_factor.len() as u64));
    assert_eq!(report.facts["events"], 8);
}

#[test]
fn truncation_decides_what_is_read() {
    let corpus = Corpus::new(4);
    let head = Feature { truncate: "head:4".parse().unwrap(), ..tone() };
    assert_eq!(corpus.column(corpus.run(&head).0)[3], 0.0, "the bad news of the last text stands at its end");
    let tail = Feature { truncate: "tail:6".parse().unwrap(), ..tone() };
    assert_eq!(corpus.column(corpus.run(&tail).0)[3], -1.0);
}

#[test]
fn a_grown_corpus_computes_only_its_new_parts() {
    let corpus = Corpus::new(2);
    let (before, _) = corpus.run(&tone());
    corpus.write(4);
    let (after, report) = corpus.run(&tone());
    assert_eq!(before, after, "the rows depend on the texts alone");
    assert_eq!((report.rows_out, &report.facts["kept_from_before"]), (4, &2.into()));
    assert_eq!(corpus.column(after).len(), 4);
}

#[test]
fn names_are_hidden_from_a_model_that_must_not_know_them() {
    let corpus = Corpus::new(4);
    let words = |mask_names| {
        let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
        let feature = Feature {
            name: "w".into(),
            model: Model::Tfidf,
            mask_names: Some(mask_names),
            tfidf,
            ..Feature::default()
        };
        let (set, report) = corpus.run(&feature);
        assert_eq!(report.facts["fitted_until"], "2024-03-04T10:00:00");
        let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
        header.meta["vocabulary"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(words(false).iter().any(|w| w.contains("远山")));
    assert!(!words(true).iter().any(|w| w.contains("远山")));
}

#[test]
fn a_fit_that_ends_early_knows_nothing_of_later_texts() {
    let corpus = Corpus::new(4);
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let fit_until = NaiveDate::from_ymd_opt(2024, 3, 2);
    let feature = Feature { name: "w".into(), model: Model::Tfidf, fit_until, tfidf, ..Feature::default() };
    let header = corpus.store.set(&corpus.run(&feature).0).unwrap().unwrap().header().clone();
    assert_eq!(header.spec.fitted_until.unwrap().to_string(), "2024-03-02 10:00:00");
    let words = header.meta["vocabulary"].to_string();
    assert!(words.contains("中标") && !words.contains("天气"), "{words}");
}

#[test]
fn lsa_places_every_document_by_what_was_known_when_it_was_fitted() {
    let corpus = Corpus::new(4);
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let lsa = SvdParams { dim: 2 };
    let fit_until = NaiveDate::from_ymd_opt(2024, 3, 2);
    let feature = Feature { name: "l".into(), model: Model::Lsa, fit_until, tfidf, lsa, ..Feature::default() };
    let (id, report) = corpus.run(&feature);
    assert_eq!(report.facts["fitted_until"], "2024-03-02T10:00:00");
    let set = corpus.store.set(&id).unwrap().unwrap();
    assert_eq!(set.header().spec.fitted_until.unwrap().to_string(), "2024-03-02 10:00:00");
    assert_eq!(set.header().meta["columns"], json!(["c1", "c2"]));
    let first = corpus.column(id);
    // The third text has no word of the first two; the fourth names the company.
    assert_eq!((first.len(), first[2]), (4, 0.0));
    assert!(first[0] != 0.0 && first[3] != 0.0);
    let kinds = vec![Kind::News];
    let news = corpus.column(corpus.run(&Feature { kinds, ..feature.clone() }).0);
    assert_eq!(news.iter().map(|v| v.is_nan()).collect::<Vec<_>>(), [false, false, true, true]);
    let lsa = SvdParams { dim: 3 };
    let error = corpus.try_run(&Feature { lsa, ..feature }).unwrap_err().to_string();
    assert!(error.contains("3 dimensions") && error.contains("2 documents"), "{error}");
}

#[test]
fn event_words_keep_titles_apart_and_hashed_words_need_no_corpus() {
    let corpus = Corpus::new(4);
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::preset(Preset::EventWords) };
    let feature = Feature { name: "e".into(), model: Model::Tfidf, tfidf, ..Feature::default() };
    let header = corpus.store.set(&corpus.run(&feature).0).unwrap().unwrap().header().clone();
    let words = header.meta["vocabulary"].to_string();
    assert!(words.contains("\"title:中标\"") && words.contains("\"亏损\"") && !words.contains("因"), "{words}");

    let tfidf = VectorizerParams::preset(Preset::Shingles);
    let feature = Feature { name: "s".into(), model: Model::Tfidf, tfidf, ..Feature::default() };
    let corpus = Corpus::new(2);
    let (before, report) = corpus.run(&feature);
    assert_eq!((&report.facts["vocabulary"], &report.facts["fitted_until"]), (&(1 << 20).into(), &().into()));
    corpus.write(4);
    assert_eq!(corpus.run(&feature).0, before, "the rows depend on the texts alone");
}
