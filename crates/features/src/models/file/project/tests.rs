//! Models of files on a corpus of a few lines: their rows are those of plain files, what they have seen is known, and their words explain
//! them.

use chrono::{NaiveDate, NaiveDateTime};

use super::*;
use crate::extract::Model;
use crate::extract::explain::{ExplainedBy, ExplainedText, KeptRow, explain};
use crate::extract::tests::Corpus;
use crate::fitted::Rows as ModelRows;
use crate::lines::Lines;
use crate::lines::{CutSpec, Cutter, LineFormat};
use crate::models::estimators::ClassifyParams;
use crate::models::open_model;
use crate::models::{estimators, tfidf};
use inkstone_base::data::Kind;
use inkstone_models::{EstimatorParams, Method, Training, VectorFormat, VectorizerParams, WordVectors};
use inkstone_store::Values;
use inkstone_text::{DfLimit, Mode, TokenizerParams};

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

const TEXTS: [(Kind, &str, &str); 5] = [
    (Kind::News, "远山点评", "远山公司订单增长。订单饱满，业绩提升。"),
    (Kind::News, "远山公告", "远山公司缴纳罚款，业绩下滑。"),
    (Kind::Post, "", "今日天气晴朗。"),
    (Kind::Report, "深度报告", "首段平平。业绩下滑，订单增长，缴纳罚款。"),
    (Kind::News, "", ""),
];

fn corpus() -> Corpus {
    let corpus = Corpus::new(0);
    let at = |i: usize| day(1 + i as u32).and_hms_opt(10, 0, 0).unwrap();
    let texts: Vec<Text> =
        TEXTS.iter().enumerate().map(|(i, &(kind, title, body))| (at(i), kind, title, body)).collect();
    corpus.put(&texts, 2);
    corpus
}

fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 3, day).unwrap()
}

fn feature(path: &str) -> Feature {
    let file = FileParams { path: path.into(), ..FileParams::default() };
    Feature { name: "read".into(), model: Model::File, file, ..Feature::default() }
}

fn cut(tokenizer: TokenizerParams) -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Jsonl, tokenizer), Path::new("")).unwrap()
}

fn characters() -> TokenizerParams {
    TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() }
}

/// Vectors of two words that were trained until a time.
fn vectors(fitted_until: Option<NaiveDateTime>) -> WordVectors {
    let words = ["订单", "罚款"].map(Box::from).to_vec();
    let training = Training { method: "word2vec".into(), fitted_until, ..Training::default() };
    WordVectors::new(words, vec![2, 1], 2, vec![1.0, 0.5, -1.0, 0.0], training).unwrap()
}

fn labelled() -> Lines {
    let line = |i: usize| {
        let (label, text) = [("up", "订单增长，业绩提升"), ("down", "缴纳罚款，业绩下滑")][i % 2];
        format!("{{\"text\":\"{text}，第{i}季。\",\"label\":\"{label}\",\"time\":\"2023-12-{:02}\"}}\n", 1 + i)
    };
    Lines::new(std::io::Cursor::new((0..20).map(line).collect::<String>()), LineFormat::Jsonl)
}

/// A classifier of texts that are cut like this, known from the last of its labels on.
fn classifier(corpus: &Corpus, tokenizer: TokenizerParams, label_days: u32) {
    let estimator = EstimatorParams { method: Method::Logistic, ..EstimatorParams::default() };
    let vectorizer = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let params = ClassifyParams { estimator, vectorizer, label_days, ..ClassifyParams::default() };
    let cutter = cut(tokenizer);
    let (model, _) = estimators::plain::train(&mut labelled(), &cutter, &params, &corpus.ctx).unwrap();
    model.save(&corpus.dir.path().join("tone.model"), cutter.spec()).unwrap();
}

/// The rows that the model of a file gives plain lines.
fn plain(corpus: &Corpus, path: &str, texts: &[(&str, &str)]) -> Vec<f32> {
    let (model, _) =
        open_model(&corpus.dir.path().join(path), Some(LineFormat::Jsonl), None, corpus.dir.path(), &corpus.ctx)
            .unwrap();
    let lines = texts.iter().map(|&(title, text)| Line { title: title.into(), text: text.into(), ..Line::default() });
    numbers(model.rows(&lines.collect::<Vec<_>>()).unwrap()).unwrap()
}

fn bits(rows: &[f32]) -> Vec<u32> {
    rows.iter().map(|value| value.to_bits()).collect()
}

fn error_of(corpus: &Corpus, feature: &Feature) -> String {
    format!("{:#}", corpus.try_run(feature).unwrap_err())
}

fn until(corpus: &Corpus, set: Key) -> String {
    corpus.store.set(&set).unwrap().unwrap().header().spec.fitted_until.unwrap().to_string()
}

#[test]
fn a_file_must_say_what_its_model_has_seen() {
    let corpus = corpus();
    vectors(None).export(&corpus.dir.path().join("v.vec"), VectorFormat::Text).unwrap();
    let mut feature = feature("v.vec");
    let error = error_of(&corpus, &feature);
    assert!(error.contains("v.vec does not say how far") && error.contains("set file.fitted_until"), "{error}");
    feature.file.fitted_until = Some(day(3));
    let (set, report) = corpus.run(&feature);
    assert_eq!(until(&corpus, set), "2024-03-03 23:59:59");
    assert_eq!((report.rows_in, report.rows_out), (5, 5));
    assert_eq!(report.facts["cut_by"], "[tokenizer]");
    let expected = [[1.0, 0.5], [-1.0, 0.0], [0.0, 0.0], [0.0, 0.25], [0.0, 0.0]];
    assert_eq!(corpus.rows(set), expected.map(|row| row.to_vec()));

    let seen = day(4).and_hms_opt(9, 30, 0).unwrap();
    let own = cut(TokenizerParams::default());
    vectors(Some(seen)).save(&corpus.dir.path().join("v.vec"), &serde_json::to_value(own.spec()).unwrap()).unwrap();
    let error = error_of(&corpus, &feature);
    assert!(error.contains("was trained on text until 2024-03-04 09:30:00: leave it out"), "{error}");
    for (stated, expected) in [(None, "2024-03-04 09:30:00"), (Some(day(4)), "2024-03-04 23:59:59")] {
        feature.file.fitted_until = stated;
        let (set, report) = corpus.run(&feature);
        assert_eq!(until(&corpus, set), expected);
        assert_eq!(report.facts["cut_by"], "the model's own tokenizer");
    }
    feature.file.path = "nothing.model".into();
    assert!(error_of(&corpus, &feature).contains("nothing.model"));
    std::fs::write(corpus.dir.path().join("nothing.model"), "no model").unwrap();
    assert!(error_of(&corpus, &feature).contains("nothing.model is not a model of this program"));
}

#[test]
fn labels_that_came_later_were_seen() {
    let corpus = corpus();
    for (label_days, expected) in [(0, "2023-12-20 23:59:59"), (5, "2023-12-25 23:59:59")] {
        classifier(&corpus, TokenizerParams::default(), label_days);
        assert_eq!(until(&corpus, corpus.run(&feature("tone.model")).0), expected);
    }
}

#[test]
fn rows_are_those_of_plain_files_cut_as_in_training() {
    let corpus = corpus();
    for tokenizer in [TokenizerParams::default(), characters()] {
        classifier(&corpus, tokenizer, 0);
        let (set, report) = corpus.run(&feature("tone.model"));
        assert_eq!(report.facts["model"], "logistic");
        let texts: Vec<(&str, &str)> = TEXTS.iter().map(|&(_, title, body)| (title, body)).collect();
        assert_eq!(bits(&corpus.rows(set).concat()), bits(&plain(&corpus, "tone.model", &texts)));
        let columns = corpus.store.set(&set).unwrap().unwrap().header().meta["columns"].clone();
        assert_eq!(columns, serde_json::json!(["log_odds:down", "log_odds:up", "p:down", "p:up"]));
    }
    // Part of a document, other kinds, and hidden names.
    let rows = |change: fn(&mut Feature)| {
        let mut feature = feature("tone.model");
        change(&mut feature);
        corpus.rows(corpus.run(&feature).0)
    };
    let news = rows(|feature| feature.kinds = vec![Kind::News]);
    assert_eq!([0, 1, 2, 3].map(|i: usize| news[i][0].is_nan()), [false, false, true, true]);
    let masked = rows(|feature| feature.mask_names = Some(true));
    let hidden = TEXTS[0].2.replace("远山", "\u{25cc}");
    assert_eq!(bits(&masked[0]), bits(&plain(&corpus, "tone.model", &[("\u{25cc}点评", &hidden)])));
    let head = rows(|feature| feature.truncate = "head:8c".parse().unwrap());
    assert_eq!(bits(&head[3]), bits(&plain(&corpus, "tone.model", &[("深度报告", "首段平平")])));
}

#[test]
fn rows_of_windows_become_one() {
    let corpus = corpus();
    corpus.structure(&[]);
    classifier(&corpus, characters(), 0);
    let rows = |strategy: &str| {
        let feature = Feature { truncate: strategy.parse().unwrap(), ..feature("tone.model") };
        corpus.rows(corpus.run(&feature).0)[1].clone()
    };
    // 远山公告 and the body's fourteen signs, nine by nine.
    let windows = plain(&corpus, "tone.model", &[("", "远山公告\n远山公司缴"), ("", "纳罚款，业绩下滑。")]);
    let (first, second) = windows.split_at(4);
    assert_eq!(bits(&rows("windows:9/9c@first")), bits(first));
    let most: Vec<f32> = first.iter().zip(second).map(|(a, b)| a.max(*b)).collect();
    assert_eq!(bits(&rows("windows:9/9c@max")), bits(&most));
    for (mean, (a, b)) in rows("windows:9/9c@mean").iter().zip(first.iter().zip(second)) {
        assert!((mean - (a + b) / 2.0).abs() < 1e-6);
    }
}

#[test]
fn sparse_rows_are_kept_as_they_are() {
    let corpus = corpus();
    let cutter = cut(TokenizerParams::default());
    let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let (model, _) = tfidf::plain::train(&mut labelled(), &cutter, &params, &corpus.ctx).unwrap();
    model.save(&corpus.dir.path().join("words.model"), cutter.spec()).unwrap();
    let mut feature = feature("words.model");
    feature.kinds = vec![Kind::News, Kind::Post];
    let (set, _) = corpus.run(&feature);
    let set = corpus.store.set(&set).unwrap().unwrap();
    let (opened, _) =
        open_model(&corpus.dir.path().join("words.model"), Some(LineFormat::Jsonl), None, Path::new(""), &corpus.ctx)
            .unwrap();
    let mut texts = TEXTS.iter();
    for rows in set.batches() {
        let Values::Sparse { indptr, indices, values } = rows.unwrap().values else { panic!("sparse rows") };
        for range in indptr.windows(2).map(|pair| pair[0]..pair[1]) {
            let (kind, title, body) = texts.next().unwrap();
            let line = Line { title: (*title).into(), text: (*body).into(), ..Line::default() };
            let ModelRows::Sparse(row) = opened.rows(&[line]).unwrap() else { panic!("sparse rows") };
            let expected =
                if *kind == Kind::Report { (&[][..], &[][..]) } else { (row.row(0).indices, row.row(0).values) };
            assert_eq!((&indices[range.clone()], &values[range]), expected);
        }
    }
    assert_eq!(set.header().meta["vocabulary"].as_array().unwrap().len(), model.width());
    feature.truncate = "windows:9".parse().unwrap();
    assert!(error_of(&corpus, &feature).contains("words.model gives sparse rows"));
    let wanted = ["p:up".to_owned()];
    let checked = |feature: &Feature| {
        let error = corpus.with(None, |inputs| check_file_columns(feature, &wanted, inputs, &corpus.ctx)).err();
        error.map(|error| format!("{error:#}")).unwrap_or_default()
    };
    assert!(checked(&feature).contains("feature \"read\" has sparse rows, as words.model gives them"));
    classifier(&corpus, TokenizerParams::default(), 0);
    feature.file.path = "tone.model".into();
    assert_eq!(checked(&feature), "");
    vectors(None).export(&corpus.dir.path().join("v.vec"), VectorFormat::Text).unwrap();
    feature.file.path = "v.vec".into();
    assert!(checked(&feature).contains("has no column \"p:up\"; v.vec has c1, c2"));
}

#[test]
fn another_file_is_another_set_and_the_same_one_is_kept() {
    let corpus = corpus();
    classifier(&corpus, TokenizerParams::default(), 0);
    let feature = feature("tone.model");
    let (first, report) = corpus.run(&feature);
    assert_eq!(report.facts["kept_from_before"], 0);
    classifier(&corpus, TokenizerParams::default(), 0);
    let (again, report) = corpus.run(&feature);
    assert_eq!((again, &report.facts["kept_from_before"]), (first, &5.into()));
    classifier(&corpus, characters(), 0);
    assert_ne!(corpus.run(&feature).0, first);
    // A dictionary of the model's own counts as a file of the feature.
    let dictionary = corpus.dir.path().join("own.txt");
    std::fs::write(&dictionary, "业绩提升\n").unwrap();
    classifier(&corpus, TokenizerParams { dictionaries: vec![dictionary.clone()], ..TokenizerParams::default() }, 0);
    let before = feature.file.files_key(corpus.dir.path()).unwrap();
    std::fs::write(&dictionary, "业绩下滑\n").unwrap();
    assert_ne!(feature.file.files_key(corpus.dir.path()).unwrap(), before);
    let error = error_of(&corpus, &feature);
    assert!(error.contains("text is no longer cut as when the model was fitted"), "{error}");
}

fn explained(corpus: &Corpus, feature: &Feature, column: &str) -> ExplainedText {
    let set = corpus.store.set(&corpus.run(feature).0).unwrap().unwrap();
    let kept = KeptRow::read(&set, (0, 0)).unwrap();
    corpus
        .with(None, |inputs| explain(feature, Some(column), inputs, Some(&kept), (0, 0), &corpus.ctx))
        .unwrap()
        .swap_remove(0)
}

#[test]
fn words_of_a_value_stand_in_their_sentences() {
    let corpus = corpus();
    classifier(&corpus, TokenizerParams::default(), 0);
    let odds = explained(&corpus, &feature("tone.model"), "log_odds:up");
    assert_eq!((odds.by, odds.model.as_str()), (ExplainedBy::Words, "file"));
    assert!((odds.score - odds.kept).abs() < 1e-5 && odds.rest.abs() < 1e-9, "{odds:?}");
    assert!(odds.sentences[0].title && odds.sentences[0].words.is_empty(), "{odds:?}");
    let words: Vec<(&str, usize)> =
        odds.sentences[1].words.iter().map(|word| (word.word.as_str(), word.places.len())).collect();
    assert!(words.contains(&("订单", 1)) && words.contains(&("增长", 1)), "{words:?}");
    // The probability itself is no sum of words.
    let share = explained(&corpus, &feature("tone.model"), "p:up");
    assert!(share.kept.is_nan() && share.note.1.contains("another score of up"), "{share:?}");
    assert_eq!(share.score, odds.score);
    vectors(None).export(&corpus.dir.path().join("v.vec"), VectorFormat::Text).unwrap();
    let mut feature = feature("v.vec");
    feature.file.fitted_until = Some(day(1));
    let place = explained(&corpus, &feature, "c2");
    assert!((place.score - 0.5).abs() < 1e-6 && place.rest.abs() < 1e-9, "{place:?}");
    let given: Vec<f64> = place.sentences.iter().map(|sentence| sentence.value).collect();
    assert_eq!(given, [0.0, 0.25, 0.25], "a word that stands in two sentences gave both");
}
