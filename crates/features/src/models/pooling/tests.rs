//! Rows by hand, SIF against its formulas, threads and the model file.

use std::io::Cursor;

use super::*;
use crate::lines::{CutSpec, LineFormat};
use crate::models::open_model;
use inkstone_models::{PoolingForm, Training};
use inkstone_text::TokenizerParams;

const TEXT: &str = "增长 盈利 增长\n减持 处罚\n增长 减持 未知\n\n盈利 盈利\n";

fn vectors() -> WordVectors {
    let words = ["增长", "盈利", "减持", "处罚"].map(Box::from).to_vec();
    let values = vec![1.0, 0.0, 0.5, 1.0, -1.0, 0.5, -2.0, 0.0];
    WordVectors::new(words, Vec::new(), 2, values, Training::default()).unwrap()
}

fn cutter() -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap()
}

fn fitted(form: PoolingForm, components: usize, threads: usize) -> Pooling {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = Lines::new(Cursor::new(TEXT), LineFormat::Tokens);
    let params = PoolingParams { form, components, a: 0.1 };
    let ctx = Ctx::new(threads, 1).unwrap();
    train(&mut lines, &cutter(), vectors(), &params, &dir.path().join("m"), &ctx).unwrap().0
}

fn near(row: &[f32], expected: [f64; 2]) {
    assert!(row.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6), "{row:?}, {expected:?}");
}

#[test]
fn each_form_is_what_its_formula_says() {
    let tokens = ["增长", "减持", "增长", "未知"];
    near(&fitted(PoolingForm::Mean, 1, 1).row(&tokens), [1.0 / 3.0, 0.5 / 3.0]);
    near(&fitted(PoolingForm::Max, 1, 1).row(&tokens), [1.0, 0.5]);
    // 增长 and 减持 are in two of five documents each.
    near(&fitted(PoolingForm::Tfidf, 1, 1).row(&tokens), [1.0 / 3.0, 0.5 / 3.0]);
    let idf = |with: f64| (6.0f64 / (1.0 + with)).ln() + 1.0;
    let total = idf(2.0) + idf(1.0);
    near(&fitted(PoolingForm::Tfidf, 1, 1).row(&["增长", "处罚"]), [(idf(2.0) - 2.0 * idf(1.0)) / total, 0.0]);
    // Of ten words three are 增长, two 减持; nothing is taken off.
    let (grow, sell) = (0.1 / (0.1 + 0.3), 0.1 / (0.1 + 0.2));
    near(&fitted(PoolingForm::Sif, 0, 1).row(&tokens), [(2.0 * grow - sell) / 3.0, 0.5 * sell / 3.0]);
    assert_eq!(fitted(PoolingForm::Sif, 1, 1).row(&["未知"]), [0.0, 0.0]);
}

#[test]
fn sif_takes_off_the_direction_that_documents_share() {
    let (plain, less) = (fitted(PoolingForm::Sif, 0, 1), fitted(PoolingForm::Sif, 1, 1));
    let rows = TEXT.lines().map(|line| plain.row(&line.split_whitespace().collect::<Vec<_>>()));
    let products = rows.fold([0.0f64; 3], |[aa, ab, bb], row| {
        let (a, b) = (f64::from(row[0]), f64::from(row[1]));
        [aa + a * a, ab + a * b, bb + b * b]
    });
    // The leading eigenvector of a symmetric 2 x 2 matrix.
    let [aa, ab, bb] = products;
    let largest = 0.5 * (aa + bb) + (0.25 * (aa - bb).powi(2) + ab * ab).sqrt();
    let (x, y) = (ab, largest - aa);
    let length = (x * x + y * y).sqrt();
    let (x, y) = (x / length, y / length);
    let tokens = ["增长", "处罚"];
    let row = plain.row(&tokens);
    let along = f64::from(row[0]) * x + f64::from(row[1]) * y;
    near(&less.row(&tokens), [f64::from(row[0]) - along * x, f64::from(row[1]) - along * y]);
    let explained = less.explain(&tokens, Some(0));
    let sum = explained.terms.iter().map(|part| part.value).sum::<f64>() + explained.intercept;
    assert!((sum - f64::from(less.row(&tokens)[0])).abs() < 1e-6);
}

#[test]
fn parts_of_words_sum_to_the_row() {
    let tokens = ["增长", "处罚", "增长", "未知"];
    for form in [PoolingForm::Mean, PoolingForm::Tfidf, PoolingForm::Sif] {
        let pooling = fitted(form, 1, 1);
        let parts = pooling.parts(&tokens).unwrap();
        assert_eq!(parts.iter().map(|(word, _)| *word).collect::<Vec<_>>(), ["增长", "处罚"], "{form:?}");
        let row = pooling.row(&tokens);
        near(&row, [0, 1].map(|i| parts.iter().map(|(_, part)| f64::from(part[i])).sum()));
    }
    assert_eq!(fitted(PoolingForm::Max, 1, 1).parts(&tokens), None);
    let means = vectors();
    near(&means.mean(&tokens), [0, 1].map(|i| means.parts(&tokens).iter().map(|(_, part)| f64::from(part[i])).sum()));
}

#[test]
fn the_file_is_read_back_and_threads_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = [1, 2, 8].map(|threads| {
        let path = dir.path().join(threads.to_string());
        fitted(PoolingForm::Sif, 1, threads).save(&path, cutter().spec()).unwrap();
        std::fs::read(path).unwrap()
    });
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    let ctx = Ctx::new(1, 1).unwrap();
    let (model, _) = open_model(&dir.path().join("1"), None, None, Path::new(""), &ctx).unwrap();
    let line = Line { number: 1, text: "增长 处罚".into(), ..Line::default() };
    let Rows::Dense(row) = model.rows(&[line]).unwrap() else { panic!("dense rows") };
    assert_eq!(row, fitted(PoolingForm::Sif, 1, 2).row(&["增长", "处罚"]));
    // The vectors do not say what they have seen, so the pooling cannot either.
    assert_eq!(model.header().fitted_until, None);
}

#[test]
fn parameters_without_sense_are_refused() {
    let refusal = |params: PoolingParams| {
        let dir = tempfile::tempdir().unwrap();
        let mut lines = Lines::new(Cursor::new(TEXT), LineFormat::Tokens);
        let ctx = Ctx::new(1, 1).unwrap();
        let trained = train(&mut lines, &cutter(), vectors(), &params, &dir.path().join("m"), &ctx);
        trained.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refusal(PoolingParams { a: 0.0, ..PoolingParams::default() }).contains("--a"));
    assert!(refusal(PoolingParams { components: 2, ..PoolingParams::default() }).contains("--components below 2"));
}
