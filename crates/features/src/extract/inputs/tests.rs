use std::collections::BTreeMap;

use chrono::{Days, NaiveDate, NaiveDateTime};

use super::*;
use crate::extract::tests::Corpus;
use crate::extract::{Model, Target, VintageParams};
use inkstone_base::data::Kind;
use inkstone_market::{LazyMarket, Market};
use inkstone_models::{FoldReport, LabelForm, Measure, Search, SvdParams, WalkForward, Word2vecParams, WordLimits};
use inkstone_onnx::OnnxParams;
use inkstone_onnx::testing::{graph, has_library};
use inkstone_text::DfLimit;

fn feature(name: &str, inputs: &[&str]) -> Feature {
    let model = if inputs.is_empty() { Model::Lexicon } else { Model::Ridge };
    let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
    Feature { name: name.into(), model, inputs, ..Feature::default() }
}

#[test]
fn a_feature_comes_after_its_inputs_and_a_circle_is_named() {
    let features = [
        feature("all", &["words", "head", "tone.positive"]),
        feature("tone", &[]),
        feature("head", &["tone"]),
        feature("other", &[]),
    ];
    let order = in_order_of_inputs(&features).unwrap();
    let names: Vec<&str> = order.iter().map(|feature| feature.name.as_str()).collect();
    assert_eq!(names, ["tone", "head", "all", "other"]);
    assert!(features[0].learns_on_words() && !features[2].learns_on_words() && features[3].learns_on_words());

    let circle = [feature("a", &["b"]), feature("b", &["words", "c"]), feature("c", &["a"])];
    let error = in_order_of_inputs(&circle).unwrap_err().to_string();
    assert!(error.contains("a → b → c → a"), "{error}");
    let error = in_order_of_inputs(&[feature("a", &["a"])]).unwrap_err().to_string();
    assert!(error.contains("a → a"), "{error}");
    let error = in_order_of_inputs(&[feature("a", &["lsa"]), feature("tone", &[])]).unwrap_err().to_string();
    assert!(error.contains("no feature \"lsa\"") && error.contains("words, tone"), "{error}");
    let error = in_order_of_inputs(&[feature("a", &["tone.mood"]), feature("tone", &[])]).unwrap_err().to_string();
    assert!(error.contains("no column \"mood\"; it has tone, positive, negative, tokens"), "{error}");
}

const DAYS: u64 = 90;
const BODIES: [&str; 2] = ["公司中标，业绩大幅增长。", "业绩大幅下滑，亏损扩大。"];

fn day(t: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t)
}

/// True if the text of a day is good news.
fn is_good(t: u64) -> bool {
    (t * 7 + t / 5).is_multiple_of(3)
}

/// A corpus of one text a day, whose news comes true two days later; from day `torn` on texts and prices are others.
fn corpus(torn: u64) -> Corpus {
    let mut corpus = Corpus::new(0);
    let text = |t: u64| {
        let body =
            if t < torn { BODIES[usize::from(!is_good(t))] } else { "海外火灾停产，保险赔付核定。" };
        (day(t).and_hms_opt(10, 0, 0).unwrap(), Kind::News, "远山", body)
    };
    let texts: Vec<(NaiveDateTime, Kind, &str, &str)> = (0..DAYS).map(text).collect();
    corpus.put(&texts, 20);
    let mut prices = "date,code,open,close,vwap\n".to_owned();
    let mut price = 100.0;
    for t in 0..DAYS {
        let is_up = t >= 2 && if t < torn { is_good(t - 2) } else { t.is_multiple_of(2) };
        price *= if is_up { 1.02 } else { 0.98 } + 0.0001 * (t % 7) as f64;
        for (code, price) in [("600001.SH", price), ("000001.SZ", 10.0)] {
            prices += &format!("{},{code},{price},{price},{price}\n", day(t));
        }
    }
    corpus.market = Some(LazyMarket::given(Market::of_text(&prices, &[]).unwrap()));
    corpus
}

fn learned(model: Model, inputs: &[&str]) -> Feature {
    Feature {
        model,
        target: Target { horizon: 1, ..Target::default() },
        walk_forward: WalkForward { train_days: 40, test_days: 10, min_train_rows: 20, ..WalkForward::default() },
        ..feature("head", inputs)
    }
}

/// Computes the features in their order; the scores of the last, and its set.
fn scores(corpus: &mut Corpus, features: &[Feature]) -> (Vec<f32>, Key) {
    let mut made = Key::default();
    for feature in in_order_of_inputs(features).unwrap() {
        made = corpus.run(feature).0;
        corpus.sets.insert(feature.name.clone(), made);
    }
    (corpus.rows(made).into_iter().map(|row| row[0]).collect(), made)
}

#[test]
fn a_head_learns_on_the_rows_of_other_features() {
    let word_counts = Feature { model: Model::Tfidf, fit_until: Some(day(30)), ..feature("counts", &[]) };
    let features = |model, inputs: &[&str]| [feature("tone", &[]), word_counts.clone(), learned(model, inputs)];
    for model in [Model::Ridge, Model::Logistic, Model::Svm, Model::Boosted] {
        for inputs in [&["tone"][..], &["tone.tone"], &["counts"], &["words", "tone", "counts"]] {
            let (intact, _) = scores(&mut corpus(DAYS), &features(model, inputs));
            assert!(intact[..40].iter().all(|score| score.is_nan()), "the first window has nothing before it");
            let mean = intact[40..].iter().sum::<f32>() / 50.0;
            let right = (40..DAYS).filter(|&t| (intact[t as usize] > mean) == is_good(t)).count();
            assert!(right >= 48, "{model:?} on {inputs:?}: {right} of 50, {intact:?}");
            // Later texts and prices change no score.
            let (torn, _) = scores(&mut corpus(60), &features(model, inputs));
            let bits = |scores: &[f32]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&torn[..60]), bits(&intact[..60]), "{model:?} on {inputs:?}");
            assert_ne!(bits(&torn[60..]), bits(&intact[60..]));
        }
    }
}

#[test]
fn later_days_change_no_score_of_a_head_on_an_encoder() {
    let onnx = OnnxParams { model: graph("bert"), fitted_until: Some(day(0)), ..OnnxParams::default() };
    let bert = Feature { model: Model::Onnx, onnx, ..feature("bert", &[]) };
    let lsa = Feature { model: Model::Lsa, fit_until: Some(day(30)), lsa: SvdParams { dim: 2 }, ..feature("lsa", &[]) };
    let word2vec = Feature {
        model: Model::Word2vec,
        vintages: VintageParams { refit_days: 14, min_train_documents: 20, ..VintageParams::default() },
        words: WordLimits { min_count: 1, ..WordLimits::default() },
        word2vec: Word2vecParams { dim: 4, ..Word2vecParams::default() },
        ..feature("word2vec", &[])
    };
    let bits = |scores: &[f32]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
    for encoder in [lsa, word2vec].into_iter().chain(has_library().then_some(bert)) {
        for model in [Model::Ridge, Model::Boosted] {
            let features = [encoder.clone(), learned(model, &[&encoder.name])];
            let (intact, _) = scores(&mut corpus(DAYS), &features);
            let (torn, _) = scores(&mut corpus(70), &features);
            assert!(intact[60..].iter().all(|score| score.is_finite()), "{} {intact:?}", encoder.name);
            assert_eq!(bits(&torn[..70]), bits(&intact[..70]), "{model:?} on {}", encoder.name);
            assert_ne!(bits(&torn[70..]), bits(&intact[70..]));
        }
    }
}

/// A search of each method on other features and words, among values that differ much.
fn searched(model: Model) -> Feature {
    let (setting, values) = match model {
        Model::Ridge => ("alpha", vec![0.1, 10.0, 1e6]),
        Model::Boosted => ("trees", vec![2.0, 20.0]),
        Model::Bayes => ("smoothing", vec![0.01, 100.0]),
        _ => ("C", vec![1e-4, 0.1, 10.0]),
    };
    let inputs = if model == Model::Bayes { &["words"][..] } else { &["words", "tone"] };
    let search = Search { grid: BTreeMap::from([(setting.to_owned(), values)]), folds: 3, ..Search::default() };
    Feature { search, ..learned(model, inputs) }
}

#[test]
fn a_search_is_noted_in_each_fold_and_no_later_day_changes_its_choice() {
    for model in [Model::Ridge, Model::Logistic, Model::Svm, Model::Bayes, Model::Boosted] {
        let features = [feature("tone", &[]), searched(model)];
        let read = |torn: u64| {
            let mut corpus = corpus(torn);
            let (scores, set) = scores(&mut corpus, &features);
            let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
            let bits = scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            (bits, SetMeta::read(&header).unwrap().folds.unwrap())
        };
        let ((intact, folds), (torn, later)) = (read(DAYS), read(60));
        assert_eq!(folds.len(), 5);
        let tried: usize = features[1].search.grid.values().map(Vec::len).product();
        for fold in &folds {
            let search = fold.search.as_ref().unwrap();
            assert!(search.tried == tried && search.mean.is_finite(), "{model:?} {search:?}");
        }
        // The folds that test days 40 to 49, 50 to 59 and 60 to 69 are trained on days before 60.
        let chosen = |folds: &[FoldReport]| folds[..3].iter().map(|fold| fold.search.clone()).collect::<Vec<_>>();
        assert_eq!(chosen(&folds), chosen(&later), "{model:?}");
        assert_eq!(intact[..60], torn[..60], "{model:?}");
        assert_ne!(folds[4].search, later[4].search, "{model:?}: the last window holds other days");
    }
}

#[test]
fn the_name_of_the_feature_of_word_vectors_is_no_part_of_the_identity() {
    let net = |vectors: &str| {
        let mut net = Feature { model: Model::TextCnn, ..feature("net", &[]) };
        net.embeddings.feature = vectors.into();
        net
    };
    assert_eq!(net("w2v").identity(), net("vectors").identity());
    let vectors = |name: &str, dim| {
        let mut vectors = Feature { model: Model::Word2vec, ..feature(name, &[]) };
        vectors.word2vec.dim = dim;
        vectors
    };
    let key = |name, dim| net(name).embeddings.key(&[vectors(name, dim)], std::path::Path::new("")).unwrap();
    assert_eq!(key("w2v", 8), key("vectors", 8));
    assert_ne!(key("w2v", 8), key("w2v", 9), "what the vectors are is told by their own key");
}

#[test]
fn a_feature_stands_behind_all_that_it_learns_on() {
    let features = [
        feature("top", &["head.score"]),
        feature("head", &["words", "tone"]),
        feature("tone", &[]),
        feature("lsa", &[]),
    ];
    let names = |of: &Feature| -> Vec<String> {
        with_inputs(of, &features).unwrap().into_iter().map(|feature| feature.name.clone()).collect()
    };
    assert_eq!(names(&features[0]), ["tone", "head", "top"]);
    assert_eq!(names(&features[3]), ["lsa"]);
}

#[test]
fn a_search_is_part_of_the_identity_and_must_suit_the_model() {
    let plain = learned(Model::Ridge, &["tone"]);
    let identity = plain.identity();
    assert!(identity.get("search").is_none() && identity["target"].get("ranked_by_day").is_none(), "{identity}");
    let ranked = Target { ranked_by_day: true, ..plain.target };
    let identity = Feature { target: ranked, ..searched(Model::Ridge) }.identity();
    assert_eq!(identity["search"]["folds"], 3);
    assert_eq!(identity["target"]["ranked_by_day"], true);

    let with = |model: Model, setting: &str, value: f64| Feature {
        search: Search { grid: BTreeMap::from([(setting.to_owned(), vec![value])]), ..Search::default() },
        ..learned(model, &[])
    };
    let of_values = Target { form: Some(LabelForm::Raw), ..Target::default() };
    let measured = |model: Model, measure: Measure| {
        let feature = searched(model);
        Feature { search: Search { measure: Some(measure), ..feature.search }, ..feature }
    };
    for (feature, words) in [
        (with(Model::Ridge, "C", 1.0), "search: ridge has no setting \"C\" to search among; it has alpha"),
        (with(Model::Boosted, "depth", 3.0), "boosted has no setting \"depth\""),
        (
            with(Model::Boosted, "max_depth", 31.0),
            "search: grid.max_depth: 31 is out of bounds; write one from 1 to 30",
        ),
        (with(Model::Boosted, "trees", 1.5), "trees = 1.5 must be a whole number"),
        (with(Model::Logistic, "l1_ratio", 1.5), "grid.l1_ratio: 1.5 is out of bounds"),
        (measured(Model::Ridge, Measure::Auc), "auc does not suit the goal; choose r2, rank_ic, mse"),
        (measured(Model::Logistic, Measure::Mse), "mse does not suit the goal; choose auc"),
        (measured(Model::Svm, Measure::LogLoss), "a support vector machine has none"),
        (Feature { target: of_values.clone(), ..measured(Model::Boosted, Measure::F1) }, "f1 does not suit the goal"),
        (
            Feature { search: Search { folds: 3, ..Search::default() }, ..learned(Model::Svm, &[]) },
            "search: grid is empty, so nothing is searched; write the values to choose among, as grid = { C =",
        ),
    ] {
        let error = format!("{:#}", feature.check().unwrap_err());
        assert!(error.contains(words), "{error}");
    }
    Feature { target: of_values, ..measured(Model::Boosted, Measure::RankIc) }.check().unwrap();
    let lexicon = Feature { search: searched(Model::Ridge).search, ..feature("tone", &[]) };
    let error = lexicon.check_settings().unwrap_err().to_string();
    assert!(error.contains("search is not for model = \"lexicon\""), "{error}");
}

#[test]
fn values_are_known_when_all_their_models_are() {
    let mut corpus = corpus(DAYS);
    let counts = Feature { model: Model::Tfidf, fit_until: Some(day(70)), ..feature("counts", &[]) };
    let (_, set) = scores(&mut corpus, &[counts, learned(Model::Ridge, &["counts"])]);
    let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
    assert_eq!(header.spec.fitted_until, Some(day(70).and_hms_opt(10, 0, 0).unwrap()));
    let times = ModelTimes::read(&header).unwrap();
    assert_eq!(times.known_at(day(50).and_hms_opt(10, 0, 0).unwrap(), day(50)).date(), day(70));
}

#[test]
fn new_names_and_settings_of_other_models_change_no_set() {
    let mut corpus = corpus(DAYS);
    let (_, set) = scores(&mut corpus, &[feature("tone", &[]), learned(Model::Ridge, &["tone"])]);
    let renamed = Feature { name: "mood".into(), ..feature("", &[]) };
    let head = Feature { name: "other".into(), inputs: vec!["mood".into()], ..learned(Model::Ridge, &[]) };
    assert_eq!(scores(&mut corpus, &[renamed.clone(), head.clone()]).1, set);
    let column = Feature { inputs: vec!["mood.tone".into()], ..head.clone() };
    assert_ne!(scores(&mut corpus, &[renamed.clone(), column]).1, set);
    let with_words = Feature { inputs: vec!["mood".into(), "words".into()], ..head };
    assert_ne!(scores(&mut corpus, &[renamed, with_words]).1, set);

    let mut other = feature("tone", &[]);
    other.tfidf.min_df = DfLimit::Count(7);
    assert_eq!(other.identity(), feature("tone", &[]).identity());
    let error = other.check_settings().unwrap_err().to_string();
    assert!(error.contains("tfidf is not for model = \"lexicon\"") && error.contains("reads lexicon"), "{error}");
    let error =
        Feature { inputs: vec!["tone".into()], ..feature("tone", &[]) }.check_settings().unwrap_err().to_string();
    assert!(error.contains("inputs are for ridge, logistic, bayes, svm, boosted, mlp and clusters"), "{error}");
}
