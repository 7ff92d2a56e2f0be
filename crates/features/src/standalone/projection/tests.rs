//! Which words are shown, tables, the picture, and what cannot be shown.

use super::*;
use crate::models::open_model;
use inkstone_tables::frames;

/// Words around four directions of space, as a file of word2vec.
fn model(words: usize) -> (tempfile::TempDir, Box<dyn Fitted>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.vec");
    let row = |i: usize| {
        let wave = |step: usize| ((i * step) as f64).sin() * 0.2;
        let at = |axis: usize| wave(axis + 3) + if i % 4 == axis { 1.0 } else { 0.0 };
        format!("词{i} {:.4} {:.4} {:.4} {:.4}\n", at(0), at(1), at(2), at(3))
    };
    let rows: String = (0..words).map(row).collect();
    std::fs::write(&path, format!("{} 4\n{rows}空 0 0 0 0\n", words + 1)).unwrap();
    let (model, _) = open_model(&path, None, None, Path::new(""), &Ctx::new(1, 1).unwrap()).unwrap();
    (dir, model)
}

fn shown(model: &dyn Fitted, shown: Shown<'_>, params: &ProjectionParams) -> Result<(Projection, Report)> {
    project(model, shown, params, &Ctx::new(2, 1).unwrap())
}

#[test]
fn words_are_chosen_by_number_by_name_or_by_a_file() {
    let (dir, model) = model(40);
    let params = ProjectionParams::default();
    let (all, report) = shown(model.as_ref(), Shown::Top(0), &params).unwrap();
    assert_eq!((all.words.len(), report.rows_in, report.dropped_rows()), (40, 41, 1));
    assert_eq!(report.facts["explained"].as_array().unwrap().len(), 2);
    let (top, _) = shown(model.as_ref(), Shown::Top(5), &params).unwrap();
    assert_eq!(top.words.iter().map(|placed| &*placed.word).collect::<Vec<_>>(), ["词0", "词1", "词2", "词3", "词4"]);
    let named = ["词9", "词2", "词9", "词7", "词1"].map(str::to_owned);
    let (some, _) = shown(model.as_ref(), Shown::Words(&named), &params).unwrap();
    assert_eq!(some.words.len(), 4);
    let unknown = [&named[..], &["辞9".to_owned()]].concat();
    let error = shown(model.as_ref(), Shown::Words(&unknown), &params).unwrap_err().to_string();
    assert!(error.contains("knows no word \"辞9\"") && error.contains("词9"), "{error}");
    let path = dir.path().join("groups.txt");
    std::fs::write(&path, "\u{feff}词1\t 甲 类\n词2 乙\n词3\n\n没有 乙\n词5\t甲 类\n").unwrap();
    let (grouped, report) = shown(model.as_ref(), Shown::Groups(&path), &params).unwrap();
    let groups: Vec<(&str, &str)> = grouped.words.iter().map(|placed| (&*placed.word, &*placed.group)).collect();
    assert_eq!(groups, [("词1", "甲 类"), ("词2", "乙"), ("词3", ""), ("词5", "甲 类")]);
    assert_eq!(report.dropped_rows(), 1);
}

#[test]
fn words_without_a_group_are_grouped_by_clusters_of_their_vectors() {
    let (dir, model) = model(40);
    let params = ProjectionParams { clusters: 4, ..ProjectionParams::default() };
    let (found, _) = shown(model.as_ref(), Shown::Top(40), &params).unwrap();
    // The word of number i lies in direction i % 4.
    let cluster_of = |word: usize| found.groups().nth(word).unwrap();
    for word in 0..40 {
        assert_eq!(cluster_of(word), cluster_of(word % 4), "{word}");
    }
    let clusters: std::collections::BTreeSet<&str> = found.groups().collect();
    assert_eq!(clusters.into_iter().collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    let path = dir.path().join("groups.txt");
    std::fs::write(&path, "词1\t甲\n词2\n词3\n词5\n词6\n词7\n").unwrap();
    let (mixed, _) =
        shown(model.as_ref(), Shown::Groups(&path), &ProjectionParams { clusters: 2, ..params.clone() }).unwrap();
    assert_eq!(mixed.groups().next(), Some("甲"));
    assert!(mixed.groups().skip(1).all(|group| group == "1" || group == "2"));
    let error = shown(model.as_ref(), Shown::Top(40), &ProjectionParams { clusters: 41, ..params }).unwrap_err();
    assert!(error.to_string().contains("do not make 41 clusters"), "{error}");
}

#[test]
fn tables_have_a_row_a_word_and_methods_say_what_they_are() {
    let (dir, model) = model(40);
    for (method, fact) in [(ProjectionMethod::Pca, "explained"), (ProjectionMethod::Tsne, "perplexity")] {
        let params = ProjectionParams { method, ..ProjectionParams::default() };
        let (found, report) = shown(model.as_ref(), Shown::Top(40), &params).unwrap();
        assert!(report.facts.contains_key(fact), "{method:?}: {:?}", report.facts);
        assert!(report.facts["neighbours_kept"].as_f64().unwrap() > 0.5, "{method:?}: {:?}", report.facts);
        let (csv, parquet) = (dir.path().join("t.csv"), dir.path().join("t.parquet"));
        found.write(&csv, Formulas::Keep).unwrap();
        found.write(&parquet, Formulas::Keep).unwrap();
        let text = std::fs::read_to_string(csv).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
        assert_eq!((rows.len(), &rows[0][..]), (41, &["word", "group", "x", "y"][..]));
        assert_eq!(rows[8][2].parse::<f64>().unwrap(), found.words[7].point[0]);
        let frame = frames::read_parquet(&parquet, None).unwrap();
        assert_eq!(frame.column("y").unwrap().f64().unwrap().get(7), Some(found.words[7].point[1]));
    }
    let few = ProjectionParams { method: ProjectionMethod::Tsne, ..ProjectionParams::default() };
    let (_, report) = shown(model.as_ref(), Shown::Top(40), &few).unwrap();
    assert_eq!(report.facts["perplexity"], 13.0);
}

fn placed(words: &[(&str, &str, [f64; 2])]) -> Projection {
    let word =
        |&(word, group, point): &(&str, &str, [f64; 2])| PlacedWord { word: word.into(), group: group.into(), point };
    Projection { words: words.iter().map(word).collect(), caption: "甲 & 乙".to_owned() }
}

#[test]
fn a_word_that_a_spreadsheet_would_compute_is_quoted_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    let found = placed(&[("=1+2", "@组", [0.5, -1.0])]);
    for (formulas, row) in [(Formulas::Keep, "=1+2,@组,0.5,-1"), (Formulas::Quote, "'=1+2,'@组,0.5,-1")] {
        found.write(&path, formulas).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().nth(1), Some(row));
    }
}

fn drawn(projection: &Projection) -> String {
    let mut out = Vec::new();
    picture::draw(projection, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn names_do_not_cover_each_other_and_all_dots_are_there() {
    let svg = drawn(&placed(&[
        ("增长", "好", [0.0, 0.0]),
        ("减持<b>", "差", [10.0, 8.0]),
        ("远\u{7}", "", [10.0, 0.0]),
        // So near that the fifth name finds no room, on any side.
        ("一", "好", [0.0, 0.001]),
        ("二", "好", [0.001, 0.0]),
        ("三", "好", [0.001, 0.001]),
        ("四", "好", [0.0, 0.002]),
        ("五", "好", [0.002, 0.0]),
    ]));
    assert_eq!(svg.matches("<circle ").count(), 8 + 2, "{svg}");
    assert!(svg.contains("甲 &amp; 乙") && svg.contains("减持&lt;b&gt;</text>") && svg.contains("远\u{fffd}"), "{svg}");
    assert!(svg.contains(">增长</text>") && !svg.contains(">五</text>") && svg.contains("<title>五</title>"), "{svg}");
    assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("Noto Sans CJK SC"));
    // The corners of the plane are within the margin, and y goes up.
    assert!(svg.contains("cy=\"56.0\""), "{svg}");
    let one = drawn(&placed(&[("甲", "", [1.0, 1.0]), ("乙", "", [1.0, 1.0])]));
    assert!(one.contains("cx=\"600.0\" cy=\"450.0\""), "{one}");
}

#[test]
fn what_cannot_be_shown_is_told() {
    let (dir, model) = model(20);
    let refused =
        |which: Shown<'_>, params: &ProjectionParams| shown(model.as_ref(), which, params).unwrap_err().to_string();
    let base = ProjectionParams::default();
    let three = ["词1", "词2", "词3"].map(str::to_owned);
    let error = refused(Shown::Words(&three), &base);
    assert!(error.contains("3 words") && error.contains("--words"), "{error}");
    for perplexity in [0.5, 7.0, f32::NAN] {
        let params = ProjectionParams { method: ProjectionMethod::Tsne, perplexity: Some(perplexity), ..base.clone() };
        let error = refused(Shown::Top(20), &params);
        assert!(error.contains("--perplexity is from 1 to 6"), "{error}");
    }
    let params = ProjectionParams { method: ProjectionMethod::Tsne, epochs: 0, ..base.clone() };
    assert!(refused(Shown::Top(20), &params).contains("--epochs"));
    let path = dir.path().join("groups.txt");
    std::fs::write(&path, b"\xff\xfe\n").unwrap();
    assert!(refused(Shown::Groups(&path), &base).contains("not UTF-8"));
    let error = Projection::check_output(Path::new("plane.png")).unwrap_err().to_string();
    assert!(error.contains("plane.png") && error.contains(".svg"), "{error}");
}
