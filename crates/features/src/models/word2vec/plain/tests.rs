//! From lines to word vectors, and what is refused on the way.

use std::io::Cursor;

use super::*;
use crate::lines::{CutSpec, LineFormat};
use crate::models::open_model;
use inkstone_models::VectorFormat;
use inkstone_text::TokenizerParams;

const LINES: [&str; 4] =
    ["公司 净利润 增长 订单 增长", "股东 减持 股份 公告", "公司 净利润 下滑 订单 下滑", "股东 增持 股份 公告"];

fn small() -> Word2vecParams {
    Word2vecParams { dim: 8, sample: 0.0, epochs: 3, ..Word2vecParams::default() }
}

fn fit(text: &[u8], words: &WordParams) -> Result<(WordVectors, Report)> {
    let dir = tempfile::tempdir().unwrap();
    fit_to(&dir.path().join("m"), text, words)
}

fn fit_to(output: &Path, text: &[u8], words: &WordParams) -> Result<(WordVectors, Report)> {
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap();
    let mut lines = Lines::new(Cursor::new(text.to_vec()), LineFormat::Tokens);
    let ctx = Ctx::new(2, 1).unwrap();
    train(&mut lines, &cutter, words, &small(), output, &ctx)
}

fn text(times: usize) -> String {
    (0..times).map(|i| format!("{}\n", LINES[i % 4])).collect()
}

#[test]
fn the_model_and_the_files_for_other_tools_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (model, report) = fit(text(400).as_bytes(), &WordParams::default()).unwrap();
    assert_eq!(report.facts["passes"].as_array().unwrap().len(), 3);
    assert!(report.facts["passes"][2]["loss"].as_f64() < report.facts["passes"][0]["loss"].as_f64());
    assert_eq!((model.training().method.as_str(), model.training().documents), ("word2vec", 400));
    let ctx = Ctx::new(1, 1).unwrap();
    let path = dir.path().join("w.model");
    model.save(&path, &CutSpec::new(LineFormat::Tokens, TokenizerParams::default())).unwrap();
    let mut all = vec![path];
    for name in ["w.bin", "w.vec"] {
        all.push(dir.path().join(name));
        model.export(&all[all.len() - 1], VectorFormat::by_name(Path::new(name))).unwrap();
    }
    for path in all {
        let (read, _) = open_model(&path, None, None, dir.path(), &ctx).unwrap();
        let rows = read.words().unwrap();
        assert_eq!((rows.words, &*rows.vectors, rows.dim), (model.words(), model.values(), 8));
    }
}

#[test]
fn a_model_leaves_no_checkpoint_and_one_that_cannot_be_written_leaves_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let left = || {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    fit_to(&dir.path().join("m"), text(40).as_bytes(), &WordParams::default()).unwrap();
    assert_eq!(left(), ["m"]);
    std::fs::create_dir_all(dir.path().join("folder/with-something")).unwrap();
    let error = fit_to(&dir.path().join("folder"), text(40).as_bytes(), &WordParams::default()).unwrap_err();
    assert!(format!("{error:#}").contains("folder"), "{error:#}");
    assert_eq!(left(), ["folder", "m"]);
}

#[test]
fn words_below_the_least_count_or_one_word_alone_are_refused() {
    let error = fit("甲 甲 甲 甲 甲 甲".as_bytes(), &WordParams::default()).unwrap_err().to_string();
    assert!(error.contains("1 of 1 words") && error.contains("--min-count"), "{error}");
    let error = fit(text(4).as_bytes(), &WordParams::default()).unwrap_err().to_string();
    assert!(error.contains("0 of 10 words occur at least 5 times"), "{error}");
    assert!(fit(b"", &WordParams::default()).is_err());
}

#[test]
fn a_line_of_ten_megabytes_is_one_document_and_broken_lines_are_counted() {
    let sentences = text(40).replace('\n', " ");
    let mut bytes = sentences.repeat(10_000_000 / sentences.len() + 1).into_bytes();
    bytes.extend(b"\n\xff\xfe\xfa\n");
    bytes.extend(text(40).as_bytes());
    let words = WordParams { max_words: 8, ..WordParams::default() };
    let (model, report) = fit(&bytes, &words).unwrap();
    assert!(bytes.len() > 10_000_000 && model.words().len() == 8);
    assert_eq!((model.training().documents, report.dropped_rows()), (41, 1));
}

#[test]
fn phrases_are_words_like_others() {
    let phrases = PhraseParams { passes: 1, threshold: 1.5, discount: 5 };
    let words = WordParams { phrases, ..WordParams::default() };
    let (model, report) = fit(text(400).as_bytes(), &words).unwrap();
    assert!(model.number("公司_净利润").is_some() && model.number("公司").is_none(), "{:?}", model.words());
    assert!(report.facts["phrases"].as_u64() > Some(0));
}
