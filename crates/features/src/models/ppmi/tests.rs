//! Pairs, matrix and vectors against SciPy; the model file; nearest words.

use std::io::Cursor;

use serde::Deserialize;

use super::*;
use crate::lines::{CutSpec, LineFormat};
use crate::models::open_model;
use crate::standalone::Sought;
use crate::standalone::{cooccurrence_ratios, nearest_documents, nearest_words, words_by_distance};
use inkstone_models::{ModelFile, PairWeighting, SvdParams, VectorFormat, read_npz};
use inkstone_text::TokenizerParams;

#[derive(Deserialize)]
struct Reference {
    docs: Vec<String>,
    words: Vec<String>,
    counts: std::collections::BTreeMap<String, Vec<Vec<f64>>>,
    ppmi: Vec<Vec<f64>>,
    singular_values: Vec<f64>,
    products: Vec<Vec<f64>>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../../tests/reference/scipy/ppmi.json")).unwrap()
}

fn cutter() -> Cutter {
    Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new("")).unwrap()
}

fn lines(docs: &[String]) -> Lines {
    Lines::new(Cursor::new(docs.join("\n")), LineFormat::Tokens)
}

fn counting() -> CooccurrenceParams {
    CooccurrenceParams { window: 2, min_count: 1, ..CooccurrenceParams::default() }
}

fn params() -> PpmiParams {
    PpmiParams { neg: 1.5, svd: SvdParams { dim: 4 }, ..PpmiParams::default() }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-5
}

#[test]
fn pairs_matrix_and_vectors_are_those_of_scipy() {
    let reference = reference();
    let dir = tempfile::tempdir().unwrap();
    let beside = dir.path().join("m");
    let ctx = Ctx::new(2, 1).unwrap();
    for (name, weighting) in [("uniform", PairWeighting::Uniform), ("harmonic", PairWeighting::Harmonic)] {
        let counting = CooccurrenceParams { weighting, ..counting() };
        let (words, counts, _) = count(&mut lines(&reference.docs), &cutter(), &counting, &beside, &ctx).unwrap();
        assert_eq!(words.words.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), reference.words);
        let expected: f64 = reference.counts[name].iter().flatten().sum();
        assert!(near(counts.total(), expected), "{name}: {}, {expected}", counts.total());
    }
    let npz = dir.path().join("m.npz");
    let (model, report) = train(
        &mut lines(&reference.docs),
        &cutter(),
        &counting(),
        &params(),
        &beside,
        Matrices { counts: None, ppmi: Some(&npz) },
        &ctx,
    )
    .unwrap();
    let matrix = read_npz(&npz).unwrap();
    for (i, row) in reference.ppmi.iter().enumerate() {
        let mut dense = vec![0.0; row.len()];
        matrix.row(i).iter().for_each(|(j, value)| dense[j as usize] = f64::from(value));
        assert!(row.iter().zip(&dense).all(|(a, b)| near(*a, *b)), "{}: {dense:?}, {row:?}", reference.words[i]);
    }
    assert!(
        report.facts["singular_values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_f64().unwrap())
            .zip(&reference.singular_values)
            .all(|(a, b)| near(a, *b))
    );
    let vectors: Vec<&[f32]> = model.values().chunks(4).collect();
    for (a, row) in vectors.iter().zip(&reference.products) {
        for (b, expected) in vectors.iter().zip(row) {
            let product: f32 = a.iter().zip(*b).map(|(x, y)| x * y).sum();
            assert!((f64::from(product) - expected).abs() < 1e-4, "{product}, {expected}");
        }
    }
    assert_eq!((report.facts["documents"].as_u64(), report.facts["vocabulary"].as_u64()), (Some(6), Some(15)));
}

#[test]
fn the_same_bytes_for_any_threads_and_a_file_that_is_read_back() {
    let docs = reference().docs;
    let dir = tempfile::tempdir().unwrap();
    let bytes = [1, 2, 8].map(|threads| {
        let path = dir.path().join(threads.to_string());
        let ctx = Ctx::new(threads, 1).unwrap();
        let (model, _) =
            train(&mut lines(&docs), &cutter(), &counting(), &params(), &path, Matrices::default(), &ctx).unwrap();
        model.save(&path, cutter().spec()).unwrap();
        std::fs::read(path).unwrap()
    });
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    let model = WordVectors::read(&ModelFile::open(&dir.path().join("1")).unwrap()).unwrap();
    let vec = dir.path().join("m.vec");
    model.export(&vec, VectorFormat::Text).unwrap();
    let text = std::fs::read_to_string(vec).unwrap();
    let mut rows = text.lines();
    assert_eq!(rows.next(), Some("15 4"));
    let first: Vec<&str> = rows.next().unwrap().split(' ').collect();
    assert_eq!((first[0], first.len()), (model.words()[0].as_ref(), 5));
    assert_eq!(first[1].parse::<f32>().unwrap(), model.values()[0]);
    // A document is the mean of its known words; what each gave adds up to it.
    let tokens = ["净利润", "增长", "未见", "增长"];
    let mean = model.mean(&tokens);
    let explained = model.explain(&tokens, Some(2));
    assert!((explained.score - f64::from(mean[2])).abs() < 1e-6);
    assert_eq!(explained.terms.iter().map(|part| part.detail[0].1).sum::<f64>(), 3.0);
    assert_eq!(model.mean(&["未见"]), [0.0; 4]);
}

#[test]
fn nearest_words_and_documents_leave_out_what_was_asked_for() {
    let docs = reference().docs;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    let ctx = Ctx::new(2, 1).unwrap();
    let (model, _) =
        train(&mut lines(&docs), &cutter(), &counting(), &params(), &path, Matrices::default(), &ctx).unwrap();
    model.save(&path, cutter().spec()).unwrap();
    let (model, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
    let near = nearest_words(model.as_ref(), &["股份".into(), "增长".into()], 3, &ctx).unwrap();
    assert_eq!((near.len(), near[0].of.as_str(), near[0].neighbours.len()), (2, "股份", 3));
    assert!(near.iter().all(|near| near.neighbours.iter().all(|n| n.name != near.of)));
    assert!(["股东", "回购", "减持", "公告"].contains(&near[0].neighbours[0].name.as_str()), "{near:?}");
    let error = nearest_words(model.as_ref(), &["增涨".into()], 3, &ctx).unwrap_err().to_string();
    assert!(error.contains("增涨") && error.contains("did you mean 增长"), "{error}");
    let ids = ["3".to_owned()];
    let (near, _) = nearest_documents(model.as_ref(), &mut lines(&docs), &Sought::Ids(&ids), 1, None, &ctx).unwrap();
    assert_eq!(near[0].neighbours[0].name, "4", "the other one about shares");
    let (near, _) =
        nearest_documents(model.as_ref(), &mut lines(&docs), &Sought::Text(&docs[2]), 2, None, &ctx).unwrap();
    assert_eq!(near[0].neighbours.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["3", "4"]);
    let error = nearest_documents(model.as_ref(), &mut lines(&docs), &Sought::Ids(&["9".into()]), 1, None, &ctx);
    assert!(error.unwrap_err().to_string().contains("no document has the id 9"));
}

#[test]
fn what_cannot_be_counted_says_why_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let beside = dir.path().join("m");
    let ctx = Ctx::new(1, 1).unwrap();
    let refusal = |docs: &[&str], counting: &CooccurrenceParams, params: &PpmiParams| {
        let docs: Vec<String> = docs.iter().map(|doc| doc.to_string()).collect();
        train(&mut lines(&docs), &cutter(), counting, params, &beside, Matrices::default(), &ctx)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(refusal(&[], &counting(), &params()).contains("the input is empty"));
    let rare = refusal(&["增长 回购 减持"], &CooccurrenceParams::default(), &params());
    assert!(rare.contains("at least 5 times in 1 documents") && rare.contains("--min-count"), "{rare}");
    let few = refusal(&["增长 回购 减持"], &counting(), &params());
    assert!(few.contains("4 dimensions") && few.contains("3 words with 3 contexts"), "{few}");
    let apart = refusal(&["增长", "回购", "减持", "问询", "中标"], &counting(), &params());
    assert!(apart.contains("nothing but zeros"), "{apart}");
    for (wrong, name) in [
        (PpmiParams { neg: 0.5, ..params() }, "neg = 0.5"),
        (PpmiParams { cds: 0.0, ..params() }, "cds = 0"),
        (PpmiParams { eig: -1.0, ..params() }, "eig = -1"),
    ] {
        assert!(refusal(&["增长 回购 减持"], &counting(), &wrong).contains(name));
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn counts_are_written_and_ratios_tell_what_goes_with_which_word() {
    let dir = tempfile::tempdir().unwrap();
    let (path, counts) = (dir.path().join("m"), dir.path().join("counts.npz"));
    let ctx = Ctx::new(2, 1).unwrap();
    let docs: Vec<String> =
        ["冰 固体 水", "冰 固体", "冰 水", "蒸汽 气体 水", "蒸汽 气体", "蒸汽 固体"].map(str::to_owned).to_vec();
    let counting = CooccurrenceParams { window: 1, min_count: 1, ..CooccurrenceParams::default() };
    let params = PpmiParams { svd: SvdParams { dim: 2 }, ..PpmiParams::default() };
    let matrices = Matrices { counts: Some(&counts), ppmi: None };
    train(&mut lines(&docs), &cutter(), &counting, &params, &path, matrices, &ctx).unwrap();
    let ratios = |words: &[&str], k| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        cooccurrence_ratios(&counts, ["冰", "蒸汽"], &words, k).unwrap()
    };
    // 冰 stands twice beside 固体 and once beside 水, 蒸汽 once beside 固体 and twice beside 气体.
    let found = ratios(&["固体", "气体", "水"], 1);
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-6;
    assert!(near(found[0].first, 2.0 / 3.0) && near(found[0].second, 1.0 / 3.0) && near(found[0].ratio.unwrap(), 2.0));
    assert!(near(found[1].ratio.unwrap(), 0.0) && found[2].ratio.is_none() && near(found[2].first, 1.0 / 3.0));
    assert_eq!(ratios(&[], 5).iter().map(|ratio| &*ratio.word).collect::<Vec<_>>(), ["固体"]);
    let error = |path: &Path, pair| format!("{:#}", cooccurrence_ratios(path, pair, &[], 1).unwrap_err());
    assert!(error(&counts, ["冰", "火"]).contains("has no word \"火\""));
    std::fs::write(&path, b"no archive").unwrap();
    assert!(error(&path, ["冰", "蒸汽"]).contains("no matrix of inkstone"));
}

#[test]
fn the_nearest_words_by_euclidean_distance_are_those_of_least_difference() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("words.vec");
    std::fs::write(&path, "4 2\n甲 1 0\n乙 5 0\n丙 1 1\n丁 -1 0\n").unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let (model, _) = open_model(&path, None, None, Path::new(""), &ctx).unwrap();
    let names = |found: &[crate::standalone::Near]| -> Vec<String> {
        found[0].neighbours.iter().map(|near| near.name.clone()).collect()
    };
    let asked = ["甲".to_owned()];
    let found = words_by_distance(model.as_ref(), &asked, 3, &ctx).unwrap();
    assert_eq!(names(&found), ["丙", "丁", "乙"]);
    let distances: Vec<f32> = found[0].neighbours.iter().filter_map(|near| near.distance).collect();
    assert_eq!(distances, [1.0, 2.0, 4.0]);
    assert_eq!(names(&nearest_words(model.as_ref(), &asked, 3, &ctx).unwrap()), ["乙", "丙", "丁"]);
}
