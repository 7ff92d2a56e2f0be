//! The truncation laboratory on the demo: what was planted is found, a stopped grid goes on, and bad asks are refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::demo::{third, whole};
use crate::{assert_says, edit, run};

fn cell<'j>(found: &'j Value, strategy: &str) -> &'j Value {
    let cells = found["cells"].as_array().expect("findings have cells");
    cells.iter().find(|cell| cell["strategy"] == strategy).unwrap_or_else(|| panic!("no {strategy} in {found:#}"))
}

fn figure(found: &Value, strategy: &str) -> f64 {
    cell(found, strategy)["figure"].as_f64().expect("a cell has a figure")
}

fn experiment(folder: &Path, name: &str) -> Value {
    let json = run(folder, &["experiment", "--headless", "--name", name]).finished();
    json["experiments"][0].clone()
}

#[test]
fn strategies_rank_as_planted_and_chance_is_told_apart() {
    let copy = whole().copy();
    let found = experiment(copy.path(), "rating");
    assert_eq!((found["measure"].as_str(), found["cells"].as_array().unwrap().len()), (Some("macro_f1"), 24));
    // Conclusions stand first, last or in the middle between boilerplate: a short head misses most of them.
    assert!(figure(&found, "head:512c -boilerplate -title") > figure(&found, "head:512c -title"), "{found:#}");
    assert!(
        figure(&found, "sections:512c@title,rating,summary,forecast,body -title") > figure(&found, "head:128c -title"),
        "{found:#}"
    );
    let worst = &cell(&found, "head:128c -title")["against"];
    assert!(
        worst["interval"]["high"].as_f64().unwrap() < 0.0 && worst["p_adjusted"].as_f64().unwrap() < 0.05,
        "{worst}"
    );
    let page = fs::read_to_string(copy.path().join("exports/experiments/rating.html")).unwrap();
    assert_says(&page, &["<svg", "合成", "head:512c -boilerplate -title"]);
    // What is known of sentences is shown to whoever looks at the audit.
    let kept = cell(&found, "head:512c -boilerplate -title")["kept"].as_array().unwrap();
    let legal = kept.iter().find(|share| share["section"] == "disclaimer").expect("reports end in disclaimers");
    assert!(legal["tokens"].as_u64() > Some(0) && legal["kept"] == 0, "{legal}");
}

#[test]
fn a_stopped_grid_goes_on_with_the_cells_that_it_lacks() {
    let copy = third().copy();
    let first = experiment(copy.path(), "rating");
    let cells = copy.path().join(".inkstone/experiments/rating/cells");
    let kept: Vec<_> = fs::read_dir(&cells).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 24);
    let grid = fs::read_to_string(copy.path().join(".inkstone/experiments/rating/grid.json")).unwrap();
    let grid: Value = serde_json::from_str(&grid).unwrap();
    let done = grid["cells"].as_array().unwrap().iter().filter(|cell| cell["state"]["done"].is_number());
    assert_eq!(done.count(), 24, "the grid tells of every cell: {grid:#}");
    kept[..5].iter().for_each(|path| fs::remove_file(path).unwrap());
    let json = run(copy.path(), &["experiment", "--headless", "--name", "rating", "--threads", "1"]).finished();
    let read =
        json["stages"].as_array().unwrap().iter().filter(|s| s["stage"].as_str().unwrap().starts_with("words · "));
    assert_eq!(read.count(), 5, "only what is missing is read again");
    let again = &json["experiments"][0];
    for (a, b) in first["cells"].as_array().unwrap().iter().zip(again["cells"].as_array().unwrap()) {
        assert_eq!((&a["strategy"], &a["figure"], &a["against"]), (&b["strategy"], &b["figure"], &b["against"]));
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() {
    let copy = third().copy();
    let refusal = |args: &[&str]| run(copy.path(), &[&["experiment", "--headless"], args].concat()).refusal();
    assert_says(&refusal(&["--name", "ratings"]), &["no experiment \"ratings\"", "rating, factor"]);
    let config = copy.path().join("workbench.toml");
    edit(
        &config,
        "name = \"rating\"\ntarget = \"rating\"\npositive = [\"买入\", \"增持\"]",
        "name = \"rating\"\ntarget = \"rating\"\npositive = [\"强烈推荐\"]",
    );
    assert_says(&refusal(&["--name", "rating"]), &["all", "rating \"other\"", "at least two classes"]);
    edit(&config, "features = [\"words\"]", "features = [\"learned\", \"placebo\", \"wrods\"]");
    assert_says(&refusal(&[]), &["no feature \"wrods\"", "words"]);
}
