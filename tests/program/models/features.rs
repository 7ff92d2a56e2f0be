//! Models of files as features of a project: their rows are those of `embed`, and they become factors that know their time.

use std::fs;
use std::path::Path;

use inkstone_store::{Header, Store, Values};
use inkstone_tables::project::Project;
use serde_json::Value;
use tempfile::TempDir;

use super::{CASES, Case, case, corpus, folder};
use crate::desk::Desk;
use crate::{assert_says, computed, edit, run, stage};

/// Files in the formats of other tools: the flag of the training that writes each, and its name.
const FOREIGN: [(Case, &str, &str); 4] = [
    (case("ngram", &[], ""), "--output", "lm.arpa"),
    (case("word2vec", &["--dim", "5", "--min-count", "2"], ""), "--vectors", "w2v.bin"),
    (case("fasttext", &["--dim", "5", "--min-count", "2"], ""), "--bin", "ft.bin"),
    (case("fasttext-supervised", &["--dim", "5"], ""), "--bin", "classes.bin"),
];

fn train(folder: &Path, case: &Case, outputs: &[&str]) -> Value {
    run(folder, &[&["train", case.name, "--input", "news.jsonl"], case.flags, outputs].concat()).finished()
}

/// A project of the documents that all models are trained on, with a feature for each file.
fn project(files: &[String]) -> TempDir {
    let folder = folder();
    for (i, case) in CASES.iter().enumerate() {
        train(folder.path(), case, &["--output", &format!("m{i}")]);
    }
    for (case, flag, name) in &FOREIGN {
        let own: &[&str] = if *flag == "--output" { &[] } else { &["--output", "unused"] };
        train(folder.path(), case, &[own, &[flag, name]].concat());
    }
    let mut config =
        "[[source]]\nname = \"news\"\npath = \"news.jsonl\"\n[source.columns]\ndoc_id = \"id\"\ntitle = \"title\"\n\
                      body = \"text\"\npublished_at = \"time\"\n"
            .to_owned();
    for (i, file) in files.iter().enumerate() {
        config += &format!(
            "\n[[feature]]\nname = \"f{i}\"\nmodel = \"file\"\nfile = {{ path = \"{file}\", fitted_until = \"2024-12-31\" }}\n"
        );
    }
    fs::write(folder.path().join("workbench.toml"), config).unwrap();
    folder
}

/// The rows that `embed` writes of the project's documents, a list of columns and numbers each. `ids` are those of the documents; the
/// first model, which gives each a row, finds them.
fn embedded(folder: &Path, model: &str, ids: &mut Vec<String>) -> Vec<Vec<(String, f32)>> {
    run(folder, &["embed", "--model", model, "--input", ".inkstone/clean", "--output", "rows.csv"]).finished();
    let mut table = csv::Reader::from_path(folder.join("rows.csv")).unwrap();
    let names: Vec<String> = table.headers().unwrap().iter().skip(1).map(str::to_owned).collect();
    let records: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    if ids.is_empty() {
        ids.extend(records.iter().map(|record| record[0].to_owned()));
    }
    let mut rows = vec![Vec::new(); ids.len()];
    for record in records {
        let row = &mut rows[ids.iter().position(|id| *id == record[0]).unwrap()];
        if names == ["column", "value"] {
            row.push((record[1].to_owned(), record[2].parse().unwrap()));
            continue;
        }
        for (name, field) in names.iter().zip(record.iter().skip(1)).filter(|(name, _)| *name != "label") {
            // Of a table of text the numbers are doubles.
            row.push((name.clone(), if field.is_empty() { f32::NAN } else { field.parse::<f64>().unwrap() as f32 }));
        }
    }
    rows
}

/// The rows of a feature in the same form.
fn kept(store: &Store, header: &Header) -> Vec<Vec<(String, f32)>> {
    let set = store.set(&header.id()).unwrap().unwrap();
    let list = |name: &str| -> Vec<String> {
        header.meta[name]
            .as_array()
            .map(|names| names.iter().map(|n| n.as_str().unwrap().to_owned()).collect())
            .unwrap_or_default()
    };
    let (columns, words) = (list("columns"), list("vocabulary"));
    let mut rows = Vec::new();
    for batch in set.batches() {
        match batch.unwrap().values {
            Values::Dense { dim, data } => {
                rows.extend(data.chunks(dim).map(|row| columns.iter().cloned().zip(row.iter().copied()).collect()));
            }
            Values::Sparse { indptr, indices, values } => {
                let name = |column: u32| words.get(column as usize).cloned().unwrap_or_else(|| column.to_string());
                for range in indptr.windows(2).map(|pair| pair[0]..pair[1]) {
                    rows.push(
                        indices[range.clone()].iter().map(|&c| name(c)).zip(values[range].iter().copied()).collect(),
                    );
                }
            }
        }
    }
    rows
}

fn bits(rows: &[Vec<(String, f32)>]) -> Vec<Vec<(&str, u32)>> {
    rows.iter().map(|row| row.iter().map(|(name, value)| (name.as_str(), value.to_bits())).collect()).collect()
}

#[test]
fn rows_of_every_model_are_those_of_embed() {
    let encoder = format!("{}/tests/reference/static-encoders/unit", env!("CARGO_MANIFEST_DIR"));
    let files = (0..CASES.len()).map(|i| format!("m{i}")).chain(FOREIGN.map(|f| f.2.to_owned()));
    let files: Vec<String> = files.chain([encoder.clone()]).collect();
    let folder = project(&files);
    let extracted = run(folder.path(), &["extract", "--headless"]).finished();
    let mut ids = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let facts = &stage(&extracted, &format!("extract f{i}"))["facts"];
        let cut_by = if i < CASES.len() || *file == encoder { "the model's own tokenizer" } else { "[tokenizer]" };
        assert_eq!(facts["cut_by"], cut_by, "{file}");
        let rows = embedded(folder.path(), file, &mut ids);
        assert_eq!(rows.len(), 96, "{file}");
        let store = Store::open(&Project::new(folder.path().join(".inkstone")).store()).unwrap();
        let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == format!("f{i}")).unwrap();
        assert_eq!(header.spec.fitted_until.unwrap().to_string(), "2024-12-31 23:59:59");
        let kept = kept(&store, &header);
        assert!(bits(&kept) == bits(&rows), "{file}: {:?} {:?}", kept.first(), rows.first());
    }
}

const CNN: &str = r#"
[[feature]]
name = "cnn_tone"
model = "file"
file = { path = "tone.model" }

[[factor]]
name = "cnn"
expression = 'cnn_tone."p:up"'
min_names = 2
"#;

/// Trains a classifier on labelled lines of other texts, whose times begin with this year and month.
fn classifier(desk: &Desk, until: &str, more: &[&str]) {
    desk.write("labelled.jsonl", corpus::jsonl(84).replace("\"2024-", &format!("\"{until}-")));
    let fixed = ["train", "textcnn", "--input", "labelled.jsonl", "--output", "tone.model", "--min-count", "1"];
    let net = ["--dim", "8", "--maps", "8", "--epochs", "30", "--lr", "0.01"];
    run(desk.folder(), &[&fixed, &net[..], more].concat()).finished();
}

fn desk() -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write("workbench.toml", config + CNN);
    desk
}

#[test]
fn a_classifier_that_was_trained_on_labels_becomes_a_factor() {
    let desk = desk();
    assert_says(&desk.run().left_out(), &["cnn_tone", "tone.model"]);
    classifier(&desk, "2023", &[]);
    let json = desk.run().finished();
    let report = stage(&json, "extract cnn_tone");
    assert_eq!((&report["rows_out"], &report["facts"]["model"]), (&32.into(), &"textcnn".into()));
    assert_eq!(report["facts"]["fitted_until"], "2023-03-28T14:30:00");
    let factors = json["factors"].as_array().unwrap();
    let cnn = factors.iter().find(|factor| factor["name"] == "cnn").unwrap();
    assert_eq!(cnn["lookahead"], false);

    // Good news has the higher value, and its words say so.
    let trace = |flags: &[&str]| run(desk.folder(), &[&["trace", "cnn", "--date", "2024-03-08"], flags].concat());
    let explained = |code: &str, document: &str| {
        let json = trace(&["--code", code, "--document", document]).finished();
        json["sentences"][0].clone()
    };
    let (good, bad) = (explained("600101.SH", "news/0-0"), explained("600101.SH", "news/1-0"));
    for (text, said) in [(&good, "增长"), (&bad, "下滑")] {
        assert_eq!((&text["by"], &text["column"], &text["model"]), (&"words".into(), &"p:up".into(), &"file".into()));
        let sentences = text["sentences"].as_array().unwrap();
        let words = sentences.iter().flat_map(|sentence| sentence["words"].as_array().unwrap());
        assert!(words.into_iter().any(|word| word["word"] == said && word["value"] != 0.0), "{text:#}");
        assert_says(text["note"][1].as_str().unwrap(), &["another score of up over down"]);
    }
    assert!(good["score"].as_f64() > bad["score"].as_f64(), "{good:#} {bad:#}");

    // The same file is not read again; another one is.
    assert!(!computed(&desk.run().finished()).contains(&"extract cnn_tone"));
    classifier(&desk, "2023", &["--seed", "9"]);
    assert!(computed(&desk.run().finished()).contains(&"extract cnn_tone"));

    // A column that the file does not have is told before anything is computed of it.
    edit(&desk.folder().join("workbench.toml"), "\"p:up\"", "\"p:flat\"");
    classifier(&desk, "2023", &[]);
    assert_says(&desk.run().left_out(), &["has no column \"p:flat\"; tone.model has p:down, p:up"]);
}

#[test]
fn a_value_of_a_model_that_saw_later_text_is_refused() {
    let desk = desk();
    // Fitted on texts of January to March 2024, the last of them later than the news.
    classifier(&desk, "2024", &[]);
    assert_says(&desk.run().left_out(), &["were not known before", "was known at 2024-03-28 14:30:00"]);
    // A day that is stated cannot be earlier than what the file says.
    edit(&desk.folder().join("workbench.toml"), "\"tone.model\"", "\"tone.model\", fitted_until = \"2023-12-31\"");
    assert_says(&desk.run().left_out(), &["was trained on text until 2024-03-28 14:30:00", "leave it out"]);
    // Lines without times say nothing of what was seen.
    edit(&desk.folder().join("workbench.toml"), ", fitted_until = \"2023-12-31\"", "");
    let timeless = corpus::jsonl(84).replace("\"time\":", "\"when\":");
    desk.write("labelled.jsonl", timeless);
    let flags = ["train", "logistic", "--input", "labelled.jsonl", "--output", "tone.model"];
    run(desk.folder(), &flags).finished();
    assert_says(&desk.run().left_out(), &["tone.model does not say how far", "set file.fitted_until"]);
    edit(&desk.folder().join("workbench.toml"), "\"tone.model\"", "\"tone.model\", fitted_until = \"2023-12-31\"");
    let json = desk.run().finished();
    assert_eq!(stage(&json, "extract cnn_tone")["facts"]["fitted_until"], "2023-12-31T23:59:59");
}
