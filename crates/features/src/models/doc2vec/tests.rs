//! From lines to vectors of documents.

use std::io::Cursor;

use super::*;
use crate::lines::{Block, CutSpec, LineFormat};
use crate::models::open_model;
use inkstone_models::{Architecture, Objective};
use inkstone_text::TokenizerParams;

/// Documents of two subjects in turn.
fn text(documents: usize) -> String {
    let subjects =
        [["净利润", "增长", "订单", "营收", "毛利", "预告"], ["股东", "减持", "股份", "公告", "质押", "比例"]];
    let line =
        |i: usize| (0..24).map(|j| subjects[i % 2][(i / 2 * 5 + j * j + j / 3) % 6]).collect::<Vec<_>>().join(" ");
    (0..documents).map(|i| line(i) + "\n").collect()
}

fn fit(text: &str, params: &Word2vecParams, output: &Path) -> Result<Report> {
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let mut lines = Lines::new(Cursor::new(text.to_owned()), LineFormat::Tokens);
    train(&mut lines, &cutter, &WordParams::default(), params, output, &Ctx::new(2, 1)?)
}

fn rows(path: &Path, text: &str) -> Vec<Vec<f32>> {
    let (model, format) = open_model(path, None, None, Path::new(""), &Ctx::new(1, 1).unwrap()).unwrap();
    let mut lines = Lines::new(Cursor::new(text.to_owned()), format);
    let mut block = Block::default();
    lines.next_block(&mut block, 1 << 20).unwrap();
    let Rows::Dense(values) = model.rows(&lines.documents(&block)).unwrap() else { panic!("rows are dense") };
    values.chunks(16).map(<[f32]>::to_vec).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn texts_of_a_subject_are_near_each_other_and_a_text_has_one_vector() {
    let dir = tempfile::tempdir().unwrap();
    for (architecture, objective) in [
        (Architecture::Dm, Objective::Negative),
        (Architecture::Dbow, Objective::Negative),
        (Architecture::Dbow, Objective::Hierarchical),
    ] {
        let defaults = Word2vecParams::default();
        let params = Word2vecParams { architecture, objective, dim: 16, epochs: 20, sample: 0.0, ..defaults };
        let path = dir.path().join("d.model");
        let report = fit(&text(200), &params, &path).unwrap();
        assert_eq!((report.facts["documents"].as_u64(), report.facts["vocabulary"].as_u64()), (Some(200), Some(12)));
        assert!(!dir.path().join("d.model.checkpoint").exists());
        let found = rows(&path, &(text(8) + "股东 净利润 无人知道\n无人知道\n" + &text(1)));
        let mean = |odd: usize| {
            let pairs = (0..8).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| (i + j) % 2 == odd);
            let near: Vec<f32> = pairs.map(|(i, j)| cosine(&found[i], &found[j])).collect();
            near.iter().sum::<f32>() / near.len() as f32
        };
        // With distributed memory the words around say all that there is to say of so plain a text.
        let are_nearer = architecture == Architecture::Dm || mean(0) > mean(1) + 0.3;
        assert!(are_nearer, "{architecture:?}: {} in a subject, {} across", mean(0), mean(1));
        assert_eq!(found[9], [0.0; 16]);
        assert_eq!(found[10], found[0]);
    }
}

#[test]
fn words_have_neighbours_where_they_take_part_and_tokens_say_what_they_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.model");
    for (architecture, words) in [(Architecture::Dm, true), (Architecture::Dbow, false)] {
        let params = Word2vecParams { architecture, dim: 16, epochs: 5, sample: 0.0, ..Word2vecParams::default() };
        fit(&text(100), &params, &path).unwrap();
        let (model, format) = open_model(&path, None, None, dir.path(), &Ctx::new(1, 1).unwrap()).unwrap();
        assert_eq!(model.words().is_some(), words);
        let mut lines = Lines::new(Cursor::new("股东 减持 新词"), format);
        let mut block = Block::default();
        lines.next_block(&mut block, 1 << 20).unwrap();
        let explained = model.explain(&lines.documents(&block)[0], Some("c3")).unwrap();
        assert_eq!((explained.of.as_deref(), explained.terms.len()), (Some("c3"), 2));
        assert!(model.explain(&lines.documents(&block)[0], Some("c17")).is_err());
    }
}

#[test]
fn forms_of_words_and_damaged_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.model");
    let error = fit(&text(9), &Word2vecParams::default(), &path).unwrap_err().to_string();
    assert!(error.contains("dm and dbow"), "{error}");
    let params = Word2vecParams { architecture: Architecture::Dm, dim: 4, epochs: 1, ..Word2vecParams::default() };
    fit(&text(40), &params, &path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 70;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(open_model(&path, None, None, dir.path(), &Ctx::new(1, 1).unwrap()).is_err());
}
