use std::collections::BTreeMap;

use chrono::{Days, NaiveDate, NaiveDateTime};

use super::*;
use crate::extract::tests::Corpus;
use crate::extract::{Model, Target, VintageParams};
use crate::models::ngram::SurpriseParams;
use inkstone_base::data::{Key, Kind};
use inkstone_market::{LazyMarket, Market};
use inkstone_models::{
    InduceParams, Search, SestmParams, SvdParams, VectorizerParams, WalkForward, Word2vecParams, WordLimits,
};
use inkstone_onnx::OnnxParams;
use inkstone_onnx::testing::{graph, has_library};
use inkstone_text::DfLimit;

mod columns;

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

const DAYS: u64 = 60;
const BODIES: [&str; 2] = ["公司中标，订单增长。股东大会召开。", "公司亏损，业绩下滑。股东大会召开。"];

fn day(t: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t)
}

/// Texts whose good and bad news come true, in parts of 20.
fn learned(model: Model) -> (Corpus, Feature, Key) {
    let news = |t: u64| (t * t / 3 % 2) as usize;
    let mut prices = "date,code,open,close,vwap\n".to_owned();
    let mut price = 100.0;
    for t in 0..DAYS {
        price *= if t >= 2 && news(t - 2) == 0 { 1.02 } else { 0.98 } + 0.0001 * (t % 7) as f64;
        for (code, price) in [("600001.SH", price), ("000001.SZ", 10.0)] {
            prices += &format!("{},{code},{price},{price},{price}\n", day(t));
        }
    }
    let texts: Vec<Text> =
        (0..DAYS).map(|t| (day(t).and_hms_opt(10, 0, 0).unwrap(), Kind::News, "远山", BODIES[news(t)])).collect();
    let mut corpus = Corpus::new(0);
    corpus.market = Some(LazyMarket::given(Market::of_text(&prices, &[]).unwrap()));
    corpus.put(&texts, 20);
    let feature = Feature {
        name: "read".into(),
        model,
        target: Target { horizon: 1, ..Target::default() },
        walk_forward: WalkForward { train_days: 30, test_days: 10, min_train_rows: 10, ..WalkForward::default() },
        sestm: SestmParams { words: 4, kappa: DfLimit::Count(2), ..SestmParams::default() },
        induce: InduceParams { min_df: DfLimit::Count(2), ..InduceParams::default() },
        ..Feature::default()
    };
    let set = corpus.run(&feature).0;
    (corpus, feature, set)
}

fn explained(
    corpus: &Corpus,
    feature: &Feature,
    set: Key,
    column: Option<&str>,
    place: (usize, usize),
) -> ExplainedText {
    let kept = KeptRow::read(&corpus.store.set(&set).unwrap().unwrap(), place).unwrap();
    corpus
        .with(None, |inputs| explain(feature, column, inputs, Some(&kept), place, &corpus.ctx))
        .unwrap()
        .swap_remove(0)
}

#[test]
fn a_fold_that_searched_is_fitted_again_with_what_it_chose() {
    let (corpus, feature, _) = learned(Model::Logistic);
    let grid = BTreeMap::from([("C".to_owned(), vec![1e-3, 0.1])]);
    let search = Search { grid, folds: 3, ..Search::default() };
    let feature = Feature { search: search.clone(), ..feature };
    let set = corpus.run(&feature).0;
    let found = explained(&corpus, &feature, set, None, (2, 5));
    assert!((found.score - found.kept).abs() < 1e-5 && found.rest.abs() < 1e-6, "{found:?}");
    // A window cannot be cut into so many folds: it is not searched again.
    let other = Feature { search: Search { folds: 900, ..search }, ..feature };
    assert_eq!(explained(&corpus, &other, set, None, (2, 5)).score, found.score);
}

#[test]
fn words_of_every_model_that_learns_sum_to_the_score_that_is_kept() {
    for model in [
        Model::Ridge,
        Model::Logistic,
        Model::Bayes,
        Model::Svm,
        Model::Boosted,
        Model::Mlp,
        Model::Induced,
        Model::Sestm,
    ] {
        let (corpus, feature, set) = learned(model);
        // Part 2, row 5 is day 45, of the second fold.
        let found = explained(&corpus, &feature, set, None, (2, 5));
        assert_eq!(found.by, ExplainedBy::Words, "{model:?} {found:?}");
        assert!((found.score - found.kept).abs() < 1e-5 && !found.note.1.contains("Note:"), "{model:?} {found:?}");
        // Trees ask for words that the text lacks, too.
        let near = if model == Model::Mlp { 1e-5 } else { 1e-6 };
        assert!(found.rest.abs() < near || model == Model::Boosted, "{model:?}: {}", found.rest);
        let moved = found.sentences.iter().any(|s| s.value != 0.0 && s.words.iter().all(|w| !w.places.is_empty()));
        assert!(moved, "{model:?} {found:?}");
        assert!(found.sentences[0].title && found.sentences[1].text.starts_with("公司"));
        // Nothing scored the first days, and nothing is made up of them.
        let before = explained(&corpus, &feature, set, None, (0, 3));
        assert_eq!(before.by, ExplainedBy::Nothing);
        assert!(before.note.1.contains("No fold scored this document"), "{before:?}");
        assert!(before.sentences.iter().all(|s| s.value.is_nan() && s.words.is_empty()));
    }
}

/// A head on these features, which are computed with it, and all texts that day 45 is explained by.
fn head_on(model: Model, inputs: &[Feature]) -> Vec<ExplainedText> {
    let (mut corpus, feature, _) = learned(model);
    for input in inputs {
        let (set, _) = corpus.run(input);
        corpus.sets.insert(input.name.clone(), set);
    }
    corpus.features = inputs.to_vec();
    let feature = Feature { inputs: inputs.iter().map(|input| input.name.clone()).collect(), ..feature };
    let set = corpus.run(&feature).0;
    let kept = KeptRow::read(&corpus.store.set(&set).unwrap().unwrap(), (2, 5)).unwrap();
    corpus.with(None, |inputs| explain(&feature, None, inputs, Some(&kept), (2, 5), &corpus.ctx)).unwrap()
}

/// Features of each kind that a head learns on.
fn input(model: Model) -> Feature {
    let feature = Feature { name: format!("{model:?}").to_lowercase(), model, ..Feature::default() };
    let tfidf = VectorizerParams { min_df: DfLimit::Count(2), ..VectorizerParams::default() };
    let fit_until = Some(day(25));
    match model {
        Model::Tfidf => Feature { tfidf, fit_until, ..feature },
        Model::Lsa => Feature { tfidf, fit_until, lsa: SvdParams { dim: 2 }, ..feature },
        Model::Word2vec => Feature {
            vintages: VintageParams { refit_days: 14, min_train_documents: 10, ..VintageParams::default() },
            words: WordLimits { min_count: 1, ..WordLimits::default() },
            word2vec: Word2vecParams { dim: 4, ..Word2vecParams::default() },
            ..feature
        },
        _ => feature,
    }
}

#[test]
fn a_head_is_followed_to_the_words_of_inputs_that_are_sums_over_words() {
    for model in [Model::Tfidf, Model::Lsa, Model::Word2vec] {
        let texts = head_on(Model::Ridge, &[input(model)]);
        let [head, below] = &texts[..] else { panic!("{model:?}: {texts:?}") };
        assert_eq!((below.of.as_str(), &below.feature), ("read.score", &input(model).name));
        assert_eq!((below.by, below.score, below.kept), (ExplainedBy::Words, head.score, head.kept), "{below:?}");
        assert!(below.rest.abs() < 1e-6, "{model:?} {}", below.rest);
        let words: Vec<&ExplainedWord> = below.sentences.iter().flat_map(|sentence| &sentence.words).collect();
        assert!(words.iter().any(|word| word.value != 0.0) && words.iter().all(|word| !word.places.is_empty()));
        let given: f64 = words.iter().map(|word| word.value).sum();
        assert!((below.intercept + given - head.score).abs() < 1e-5, "{model:?} {below:?}");
        // The words of sparse rows are the parts that the head shows of them.
        let parts: f64 = head.inputs.iter().map(|input| input.value).sum();
        assert!(model != Model::Tfidf || (given - parts).abs() < 1e-9, "{given} {parts}");
    }
}

#[test]
fn a_head_loses_what_is_left_out_of_its_inputs() {
    for (model, inputs) in [
        (Model::Boosted, &[Model::Lexicon][..]),
        (Model::Ridge, &[Model::Lexicon, Model::Lsa]),
        (Model::Mlp, &[Model::Lsa, Model::Word2vec, Model::Lexicon]),
    ] {
        let inputs: Vec<Feature> = inputs.iter().copied().map(input).collect();
        let texts = head_on(model, &inputs);
        assert_eq!(texts.len(), 1 + inputs.len());
        for below in &texts[1..] {
            let is_exact = model == Model::Ridge && below.model == "lsa";
            assert_eq!(below.by == ExplainedBy::Words, is_exact, "{below:?}");
            assert!((below.score - texts[0].score).abs() < 1e-6, "the row that is kept was made again: {below:?}");
            let lost = |number: usize| below.sentences[number].value;
            assert!(below.sentences.len() == 3 && (0..3).all(|number| lost(number).is_finite()), "{below:?}");
            // Trees may take no news for bad news, and vectors of words change with their number.
            let is_clear = model != Model::Boosted && below.model == "lexicon";
            assert!(!is_clear || lost(1).abs() > lost(2).abs(), "news moves the score more than a meeting: {below:?}");
        }
    }
    let surprise = SurpriseParams { window_days: 20, min_train_documents: 5, ..SurpriseParams::default() };
    let texts = head_on(Model::Ridge, &[Feature { surprise, ..input(Model::Surprise) }]);
    let below = &texts[1];
    assert!(below.by == ExplainedBy::Words && below.rest.abs() < 1e-6, "surprise is a sum over tokens: {below:?}");
}

#[test]
fn a_head_on_a_contextual_model_loses_what_its_encoder_does_not_read() {
    if !has_library() {
        return;
    }
    let onnx = OnnxParams {
        model: graph("bert"),
        batch_tokens: 64,
        fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31),
        ..OnnxParams::default()
    };
    for model in [Model::Ridge, Model::Boosted] {
        let texts = head_on(model, &[Feature { onnx: onnx.clone(), ..input(Model::Onnx) }, input(Model::Lexicon)]);
        let below = &texts[1];
        assert_eq!((below.by, below.of.as_str()), (ExplainedBy::Omission, "read.score"));
        assert!((below.score - below.kept).abs() < 1e-4 && !below.note.1.contains("Note:"), "{below:?}");
        assert!(below.note.1.contains("The input onnx") && below.note.0.contains("输入特征 onnx"), "{:?}", below.note);
        assert!(below.sentences.iter().all(|s| s.value.is_finite()), "{below:?}");
        let strongest = below.sentences.iter().max_by(|a, b| a.value.abs().total_cmp(&b.value.abs())).unwrap();
        assert!(model == Model::Boosted || !strongest.words.is_empty(), "{below:?}");
        assert!(strongest.words.iter().all(|word| !word.places.is_empty()), "{below:?}");
    }
}

#[test]
fn tone_words_stand_where_they_are() {
    let corpus = Corpus::new(4);
    let feature = Feature { name: "tone".into(), ..Feature::default() };
    let set = corpus.run(&feature).0;
    let explain = |column, place| explained(&corpus, &feature, set, column, place);
    let found = explain(None, (1, 1));
    assert_eq!((found.column.as_str(), found.by, found.sentences.len()), ("tone", ExplainedBy::Words, 3));
    let last = &found.sentences[2];
    let words: Vec<(&str, f32)> = last.words.iter().map(|w| (&last.text[w.places[0].clone()], w.degree)).collect();
    assert!(words.contains(&("下滑", 1.5)) && words.iter().any(|w| w.0 == "亏损"), "{words:?}");
    assert!(last.value < 0.0 && found.sentences[1].value == 0.0 && found.rest.abs() < 1e-6);
    assert!((found.score - found.kept).abs() < 1e-6);
    let positive = explain(Some("positive"), (0, 0));
    assert!(positive.score > 0.0 && positive.rest.abs() < 1e-6 && positive.kept == positive.score, "{positive:?}");
    assert_eq!(explain(Some("tokens"), (0, 0)).by, ExplainedBy::Nothing);
    // A kind that is not read has nothing to explain.
    let reports = Feature { kinds: vec![Kind::Report], ..feature.clone() };
    let nothing = explained(&corpus, &reports, set, None, (0, 0));
    assert!(nothing.sentences.is_empty() && nothing.note.1.contains("does not read documents of this kind"));
}

#[test]
fn a_contextual_model_loses_what_is_left_out() {
    if !has_library() {
        return;
    }
    let corpus = Corpus::new(4);
    let onnx = OnnxParams {
        model: graph("bert"),
        batch_tokens: 64,
        fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31),
        ..OnnxParams::default()
    };
    let feature = Feature { name: "bert".into(), model: Model::Onnx, onnx, ..Feature::default() };
    let set = corpus.run(&feature).0;
    let found = explained(&corpus, &feature, set, Some("c3"), (1, 1));
    assert_eq!(found.by, ExplainedBy::Omission);
    assert!((found.score - found.kept).abs() < 1e-4, "{found:?}");
    assert!(found.sentences.len() == 3 && found.sentences.iter().all(|s| s.value.is_finite()));
    assert!(found.sentences.iter().any(|s| s.value != 0.0));
}

#[test]
fn a_sentence_that_is_left_out_takes_its_bytes_with_it() {
    use inkstone_corpus::structure::{Salience, Section, Sentence};
    let sentence = |range| Sentence { range, section: Section::Body, boilerplate: false, salience: Salience::NONE };
    let text = "题目\n一。二二。三。";
    let reading = ReadDocument {
        key: Key::default(),
        text: Some(text.into()),
        shut_out: None,
        title: 6,
        windows: Vec::new(),
        sentences: vec![sentence(0..6), sentence(7..13), sentence(13..22), sentence(22..28)],
        draw: 0,
        published_at: NaiveDateTime::default(),
        first_mention: String::new(),
        doc_id: String::new(),
        codes: Vec::new(),
        target: None,
    };
    let cut = without(&reading, &(13..22));
    assert_eq!((cut.text.as_deref(), cut.title), (Some("题目\n一。三。"), 6));
    assert_eq!(cut.sentences.iter().map(|s| s.range.clone()).collect::<Vec<_>>(), [0..6, 7..13, 13..19]);
    let cut = without(&reading, &(0..6));
    assert_eq!((cut.text.as_deref(), cut.title), (Some("\n一。二二。三。"), 0));
}

#[test]
fn what_cannot_be_explained_says_so() {
    let corpus = Corpus::new(4);
    let feature = Feature { name: "near".into(), model: Model::Surprise, ..Feature::default() };
    let found =
        corpus.with(None, |inputs| explain(&feature, None, inputs, None, (0, 0), &corpus.ctx)).unwrap().swap_remove(0);
    assert_eq!((found.by, found.sentences.len()), (ExplainedBy::Nothing, 2));
    assert!(found.note.1.contains("No model scored this document"), "{:?}", found.note);
}
