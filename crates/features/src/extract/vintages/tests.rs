//! Vintages on a small corpus of two themes: no value knows the future, columns keep their meaning, threads change no bit.

use chrono::{Days, NaiveDate, NaiveDateTime};
use serde_json::json;

use super::*;
use crate::extract::Model;
use crate::extract::tests::Corpus;
use crate::models::fasttext::WindowFastText;
use crate::models::glove::WindowGlove;
use inkstone_base::data::Kind;
use inkstone_models::textnet::TextNetKind;
use inkstone_models::{Architecture, PoolingForm, PoolingParams, Word2vecParams, WordLimits};

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

const BODIES: [&str; 8] = [
    "公司订单增长，盈利扩大，产能满负荷。",
    "公司盈利增长，订单饱满，产能扩大。",
    "订单和盈利扩大，公司产能增长。",
    "产能增长带来订单，公司盈利饱满。",
    "股东减持股份，法院立案，罚款缴纳。",
    "法院立案，股东缴纳罚款，股份冻结。",
    "股份冻结，股东减持，法院判决罚款。",
    "罚款判决公布，股东股份减持冻结。",
];

/// So many texts, four a day from a Monday in 2024.
fn texts(n: usize) -> Vec<Text> {
    let first = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
    // Steps through the bodies in an order that differs from week to week.
    let body = |i: usize| BODIES[(i * 5 + i / 28) % BODIES.len()];
    let at = |i: usize| (first + Days::new(i as u64 / 4)).and_hms_opt(9 + i as u32 % 4, 0, 0).unwrap();
    (0..n).map(|i| (at(i), Kind::News, "", body(i))).collect()
}

fn feature(model: Model) -> Feature {
    let word2vec = Word2vecParams { dim: 4, epochs: 20, sample: 0.0, ..Word2vecParams::default() };
    Feature {
        name: "places".into(),
        model,
        words: WordLimits { min_count: 2, max_words: 0 },
        vintages: VintageParams { window_days: 28, refit_days: 7, min_train_documents: 50 },
        word2vec,
        glove: WindowGlove { window: 5, dim: 4, epochs: 10, ..WindowGlove::default() },
        fasttext: WindowFastText { dim: 4, epochs: 3, bucket: 1000, sample: 1.0, ..WindowFastText::default() },
        ..Feature::default()
    }
}

fn rows(texts: &[Text], feature: &Feature, threads: usize) -> (Vec<Vec<f32>>, Report) {
    let mut corpus = Corpus::new(0);
    corpus.ctx = Ctx::new(threads, 1).unwrap();
    corpus.put(texts, 10);
    let (set, report) = corpus.run(feature);
    (corpus.rows(set), report)
}

fn bits(rows: &[Vec<f32>]) -> Vec<Vec<u32>> {
    rows.iter().map(|row| row.iter().map(|value| value.to_bits()).collect()).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn later_texts_and_threads_change_no_value() {
    let texts = texts(280);
    for model in [Model::Word2vec, Model::Glove, Model::FastText] {
        let feature = feature(model);
        let (whole, report) = rows(&texts, &feature, 2);
        assert_eq!(report.rows_out as usize, whole.iter().filter(|row| !row[0].is_nan()).count());
        assert!(report.rows_out > 200, "{report:?}");
        for threads in [1, 8] {
            assert_eq!(bits(&rows(&texts, &feature, threads).0), bits(&whole), "{model:?} on {threads} threads");
        }
        // A future of other words, and none at all; a step's own texts do not train its vectors either.
        for kept in [100, 150, 200] {
            let mut other = texts.clone();
            other[kept..].iter_mut().for_each(|text| text.3 = "海外子公司火灾停产，保险赔付核定。");
            assert_eq!(bits(&rows(&other, &feature, 2).0[..kept]), bits(&whole[..kept]), "{model:?}, {kept}");
            assert_eq!(bits(&rows(&texts[..kept], &feature, 2).0), bits(&whole[..kept]), "{model:?}, {kept}");
        }
    }
}

#[test]
fn the_order_of_the_files_is_not_the_order_of_time() {
    let texts = texts(140);
    let feature = feature(Model::Word2vec);
    let straight = rows(&texts, &feature, 2).0;
    let mut back = texts.clone();
    back.reverse();
    let mut turned = rows(&back, &feature, 2).0;
    turned.reverse();
    assert_eq!(bits(&turned), bits(&straight));
}

#[test]
fn columns_keep_their_meaning_from_vintage_to_vintage() {
    let texts = texts(280);
    let mut feature = feature(Model::Word2vec);
    feature.pooling = PoolingParams { form: PoolingForm::Mean, ..PoolingParams::default() };
    let rows = rows(&texts, &feature, 2).0;
    let (mut pairs, mut sum, mut least) = (0, 0.0, 1.0f64);
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| !row[0].is_nan()) {
        // The same text a step or more later, among other vectors.
        for j in (i + 28..rows.len()).filter(|&j| texts[j].3 == texts[i].3) {
            let alike = cosine(&row[..4], &rows[j][..4]);
            (pairs, sum, least) = (pairs + 1, sum + alike, least.min(alike));
        }
    }
    let mean = sum / f64::from(pairs);
    assert!(pairs > 1000 && mean > 0.85 && least > 0.5, "{pairs} pairs, alike {mean}, the least {least}");
}

#[test]
fn a_vintage_is_turned_and_nothing_else() {
    let texts = texts(280);
    let mut feature = feature(Model::Word2vec);
    // Four full weeks train; of the last texts alone only the last week has a vintage, with none before to be turned to.
    feature.vintages.min_train_documents = 112;
    feature.pooling = PoolingParams { form: PoolingForm::Mean, ..PoolingParams::default() };
    let (whole, last) = (rows(&texts, &feature, 2).0, rows(&texts[140..], &feature, 2).0);
    assert!(last[..112].iter().all(|row| row[0].is_nan()));
    let place = |row: &Vec<f32>| row[..4].to_vec();
    let turned: Vec<Vec<f32>> = whole[252..].iter().map(place).collect();
    let plain: Vec<Vec<f32>> = last[112..].iter().map(place).collect();
    for i in 0..28 {
        for j in 0..=i {
            let (a, b) = (dot(&turned[i], &turned[j]), dot(&plain[i], &plain[j]));
            assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{a} {b}");
        }
    }
    let before = |places: &[Vec<f32>]| {
        let alike = (0..28).flat_map(|i| {
            let same: Vec<usize> = (224..252).filter(|&j| texts[j].3 == texts[252 + i].3).collect();
            same.into_iter().map(|j| cosine(&places[i], &whole[j][..4])).collect::<Vec<f64>>()
        });
        let alike: Vec<f64> = alike.collect();
        alike.iter().sum::<f64>() / alike.len() as f64
    };
    let (turned, plain) = (before(&turned), before(&plain));
    assert!(turned > 0.95 && turned > plain + 0.01, "{turned}, without turning {plain}");
}

#[test]
fn texts_before_the_first_vintage_have_no_row_and_unknown_words_say_so() {
    let mut texts = texts(140);
    texts[139].3 = "海外火灾停产。";
    let (rows, report) = rows(&texts, &feature(Model::Word2vec), 2);
    // Two weeks have less than fifty texts before them: 0 and 28.
    let without = rows.iter().position(|row| !row[0].is_nan()).unwrap();
    assert_eq!(without, 56);
    assert_eq!(report.dropped["with too little text in the window before (vintages.min_train_documents)"], 56);
    assert_eq!(rows[139], [0.0; 5]);
    assert!(rows[138][4] >= 6.0 && rows[138].len() == 5);
    assert_eq!(report.facts["vintages"], 3);
}

#[test]
fn meta_says_what_each_vintage_has_seen() {
    let corpus = Corpus::new(0);
    corpus.put(&texts(140), 10);
    let (set, _) = corpus.run(&feature(Model::Word2vec));
    let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
    let windows = header.meta["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 5);
    assert_eq!(windows[1]["fitted_until"], json!(null));
    assert_eq!(
        (&windows[2]["from"], &windows[2]["fitted_until"]),
        (&json!("2024-01-15T00:00:00"), &json!("2024-01-14T12:00:00"))
    );
    assert_eq!(header.meta["columns"], json!(["c1", "c2", "c3", "c4", "words"]));
}

#[test]
fn text_that_cannot_be_learned_from_is_told() {
    let refused = |texts: &[Text], feature: &Feature| {
        let corpus = Corpus::new(0);
        corpus.put(texts, 10);
        format!("{:#}", corpus.try_run(feature).unwrap_err())
    };
    let error = refused(&texts(40), &feature(Model::Word2vec));
    assert!(error.contains("min_train_documents = 50") && error.contains("the fullest has 28"), "{error}");
    let mut rare = feature(Model::Glove);
    rare.words.min_count = 1000;
    assert!(refused(&texts(140), &rare).contains("words.min_count = 1000"));
    let check = |change: fn(&mut Feature)| {
        let mut feature = feature(Model::Word2vec);
        change(&mut feature);
        feature.check().unwrap_err().to_string()
    };
    assert!(check(|f| f.vintages.refit_days = 0).contains("feature.vintages.refit_days: 0 is out of bounds"));
    assert!(check(|f| f.word2vec.dim = 0).contains("word2vec: dim is 0"));
    assert!(check(|f| f.word2vec.architecture = Architecture::Dm).contains("word2vec: architecture dm and dbow"));
    assert!(check(|f| f.word2vec.min_lr = 0.0).contains("to min_lr 0"));
    assert!(check(|f| f.pooling.components = 4).contains("pooling: 4 common directions"));
    assert!(check(|f| (f.model, f.glove.window) = (Model::Glove, 0)).contains("glove: window is 0"));
    assert!(check(|f| (f.model, f.fasttext.dim) = (Model::FastText, 0)).contains("fasttext: "));
    assert!(check(|f| f.model = Model::File).contains("file.path is missing"));
    assert!(check(|f| (f.model, f.textnet.dropout) = (Model::TextCnn, 1.0)).contains("textnet: dropout 1"));
    let kind = check(|f| (f.model, f.textnet.kind) = (Model::TextCnn, TextNetKind::TextRnn));
    assert!(kind.contains("textnet.kind is textrnn"), "{kind}");
}
