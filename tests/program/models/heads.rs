//! Heads on encoders: fitted as scikit-learn fits them, kept in one file that names the encoder, and used by every command and project.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{corpus, folder};
use crate::desk::Desk;
use crate::onnx::graph;
use crate::{Ran, assert_says, edit, has_library, run, stage};

/// Documents with their goals, and the scores of scikit-learn.
fn reference(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/sklearn/heads.json");
    serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()[name].take()
}

/// Writes the documents of a reference; `binary` has the classes up and rest.
fn write_lines(folder: &Path, reference: &Value, binary: bool) {
    let list = |name: &str| reference[name].as_array().unwrap();
    let lines = list("texts").iter().zip(list("labels")).zip(list("values")).map(|((text, label), value)| {
        let label = if binary && label != "up" { &json!("rest") } else { label };
        format!("{}\n", json!({"text": text, "label": label, "value": value}))
    });
    fs::write(folder.join("labelled.jsonl"), lines.collect::<String>()).unwrap();
}

/// The rows of a table that `embed` wrote, and the names of their columns; texts are NaN.
fn table(path: &Path) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').skip(1).map(str::to_owned).collect::<Vec<String>>();
    let mut lines = text.lines();
    let names = cells(lines.next().unwrap());
    (names, lines.map(|line| cells(line).iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()).collect())
}

fn train(folder: &Path, method: &str, encoder: &[&str], more: &[&str]) -> Ran {
    let fixed = ["train", method, "--input", "labelled.jsonl", "--output", "tone.model"];
    run(folder, &[&fixed, encoder, more].concat())
}

fn embed(folder: &Path, more: &[&str]) -> Ran {
    let fixed = ["embed", "--model", "tone.model", "--input", "labelled.jsonl", "--output", "scores.csv"];
    run(folder, &[&fixed, more].concat())
}

/// Log-odds of each class against the others, of the scores that share a softmax.
fn against_the_rest(scores: &[f64]) -> Vec<f64> {
    let rest = |c: usize| scores.iter().enumerate().filter(move |(l, _)| *l != c).map(|(_, z)| z.exp()).sum::<f64>();
    (0..scores.len()).map(|c| scores[c] - rest(c).ln()).collect()
}

/// Compares the heads on an encoder with those of scikit-learn.
fn compare(folder: &Path, reference: &Value, encoder: &[&str], tolerance: f64) {
    let exact = ["--tol", "1e-11", "--max-iter", "100000"];
    let all = ["ridge", "logistic", "logistic", "svm"].into_iter().zip(["ridge", "classes", "binary", "svm"]);
    let settings = [["--alpha", "3"], ["--C", "0.5"], ["--C", "0.5"], ["--C", "0.25"]];
    for ((method, name), setting) in all.zip(settings) {
        write_lines(folder, reference, name == "binary" || name == "svm");
        let learn: &[&str] = if method == "ridge" { &["--learn", "value"] } else { &["--learn", "label"] };
        let exact: &[&str] = if method == "svm" { &["--tol", "1e-9", "--max-iter", "100000"] } else { &exact };
        let json = train(folder, method, encoder, &[learn, exact, &setting].concat()).finished();
        assert_eq!(json["model"], method, "{json:#}");
        embed(folder, &[]).finished();
        let (names, rows) = table(&folder.join("scores.csv"));
        let column = match name {
            "ridge" => "value",
            "svm" => "margin:up",
            _ => "log_odds:up",
        };
        let place = names.iter().position(|name| name == column).unwrap();
        let expected = reference["scores"][name].as_array().unwrap();
        assert_eq!(rows.len(), expected.len());
        let worst = rows.iter().zip(expected).map(|(row, expected)| {
            let expected = match expected.as_array() {
                Some(scores) => against_the_rest(&scores.iter().map(|z| z.as_f64().unwrap()).collect::<Vec<_>>())[2],
                None => expected.as_f64().unwrap(),
            };
            (row[place] - expected).abs()
        });
        let worst = worst.fold(0.0, f64::max);
        // LIBLINEAR ends earlier than the others.
        let tolerance = if method == "svm" { 1e-3 } else { tolerance };
        assert!(worst < tolerance, "{name}: {worst}");
    }
}

#[test]
fn heads_on_word_vectors_are_those_of_scikit_learn() {
    let folder = tempfile::tempdir().unwrap();
    let reference = reference("words");
    let vectors = reference["vectors"].as_object().unwrap();
    let mut text = format!("{} 4\n", vectors.len());
    for (word, vector) in vectors {
        let numbers: Vec<String> = vector.as_array().unwrap().iter().map(Value::to_string).collect();
        text += &format!("{word} {}\n", numbers.join(" "));
    }
    fs::write(folder.path().join("words.vec"), text).unwrap();
    compare(folder.path(), &reference, &["--model", "words.vec"], 1e-9);
    // The vectors are those that `embed` writes.
    let flags = ["embed", "--model", "words.vec", "--input", "labelled.jsonl", "--output", "rows.csv"];
    run(folder.path(), &flags).finished();
    let rows: Vec<Vec<f64>> = serde_json::from_value(reference["rows"].clone()).unwrap();
    let (_, found) = table(&folder.path().join("rows.csv"));
    assert!(rows.iter().flatten().zip(found.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-6));
    // Nobody says what the vectors have seen, so nobody knows what the head has.
    let json = train(folder.path(), "logistic", &["--model", "words.vec"], &[]).finished();
    assert_eq!((&json["encoder"], &json["dim"], &json["fitted_until"]), (&"words.vec".into(), &4.into(), &Value::Null));
}

#[test]
fn heads_on_a_contextual_model_are_those_of_scikit_learn() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bert = graph("bert");
    // The last digits of the vectors, which are of single precision, differ between processors with and without AVX-512.
    compare(folder.path(), &reference("bert"), &["--model", &bert, "--pooling", "cls"], 1e-5);
}

/// A folder with labelled documents and a contextual model in `models/bert`.
fn with_bert() -> TempDir {
    let folder = folder();
    let models = folder.path().join("models/bert");
    fs::create_dir_all(&models).unwrap();
    for file in ["model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(Path::new(&graph("bert")).join(file), models.join(file)).unwrap();
    }
    fs::rename(folder.path().join("news.jsonl"), folder.path().join("labelled.jsonl")).unwrap();
    folder
}

const BERT: [&str; 4] = ["--model", "models/bert", "--pooling", "cls"];

#[test]
fn a_head_is_used_by_every_command_with_the_settings_of_its_training() {
    if !has_library() {
        return;
    }
    let folder = with_bert();
    let here = folder.path();
    for (method, column) in [("logistic", "log_odds:up"), ("boosted", "log_odds:up"), ("ridge", "value")] {
        let flags: &[&str] = if method == "boosted" { &["--trees", "10"] } else { &[] };
        let json = train(here, method, &BERT, &[flags, &["--cv", "4", "--cv-by", "time"]].concat()).finished();
        assert_eq!((&json["documents"], &json["dim"], &json["ran"]["device"]), (&96.into(), &16.into(), &"cpu".into()));
        assert_eq!(json["labelled_until"], "2024-04-12T14:30:00");
        assert!(json["cross_validation"].is_object() && json["stages"][0]["rows_out"] == 96, "{json:#}");
        let json = embed(here, &[]).finished();
        assert_eq!((&json["model"], &json["documents"]), (&method.into(), &96.into()));
        let bytes = fs::read(here.join("scores.csv")).unwrap();
        // Flags of other vectors change nothing: the file says which are read.
        embed(here, &["--pooling", "max", "--threads", "1"]).finished();
        assert!(bytes == fs::read(here.join("scores.csv")).unwrap());
        let (names, rows) = table(&here.join("scores.csv"));
        let place = names.iter().position(|name| name == column).unwrap();

        let json = run(here, &["eval", method, "--model", "tone.model", "--input", "labelled.jsonl"]).finished();
        if method != "ridge" {
            let up = |row: &[f64]| row[place] > 0.0;
            let text = fs::read_to_string(here.join("labelled.jsonl")).unwrap();
            let right = rows.iter().zip(text.lines()).filter(|(row, line)| up(row) == line.contains("\"up\"")).count();
            let accuracy = json["accuracy"].as_f64().unwrap();
            assert!((accuracy - right as f64 / 96.0).abs() < 1e-9 && accuracy > 0.6, "{json:#}");
        } else {
            assert!(json["r2"].as_f64().is_some_and(|r2| r2 > 0.1), "{json:#}");
        }

        // What a sentence gives is what the score loses without it.
        let score = |text: &str| {
            fs::write(here.join("one.jsonl"), format!("{}\n", json!({"text": text}))).unwrap();
            run(here, &["embed", "-m", "tone.model", "-i", "one.jsonl", "-o", "one.csv"]).finished();
            table(&here.join("one.csv")).1[0][place]
        };
        let class: &[&str] = if method == "ridge" { &[] } else { &["--of", "up"] };
        let text = "净利润同比增长。股东计划减持股份。";
        let json = run(here, &[&["explain", "--model", "tone.model", "--text", text], class].concat()).finished();
        let explained = &json["explanations"][0];
        let full = score(text);
        assert!((explained["score"].as_f64().unwrap() - full).abs() < 1e-3, "{explained:#}");
        let terms = explained["terms"].as_array().unwrap();
        for (term, left) in terms.iter().zip(["股东计划减持股份。", "净利润同比增长。"]) {
            assert!((term["value"].as_f64().unwrap() - (full - score(left))).abs() < 1e-3, "{explained:#}");
        }
        assert_eq!((terms.len(), &terms[0]["token"]), (2, &"净利润同比增长。".into()));
        let tokens = run(here, &["explain", "--model", "tone.model", "--unit", "token", "--text", text]).finished();
        assert!(tokens["explanations"][0]["terms"].as_array().unwrap().len() > 10);
    }
    let error = run(here, &["explain", "--model", "tone.model", "--of", "up", "--text", "增长"]).refusal();
    assert_says(&error, &["there is no class to name with --of"]);
}

#[test]
fn an_encoder_is_found_where_the_file_says_and_refused_when_it_has_changed() {
    if !has_library() {
        return;
    }
    let folder = with_bert();
    let here = folder.path();
    let mut first = None;
    for threads in ["1", "3"] {
        train(here, "logistic", &BERT, &["--threads", threads]).finished();
        let bytes = fs::read(here.join("tone.model")).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "another head with {threads} threads");
    }
    embed(here, &[]).finished();
    let scores = fs::read(here.join("scores.csv")).unwrap();

    // Another working folder, and both in another place: the same file, and the same rows.
    fs::create_dir(here.join("moved")).unwrap();
    for name in ["models", "tone.model"] {
        fs::rename(here.join(name), here.join("moved").join(name)).unwrap();
    }
    let flags = ["embed", "-m", "moved/tone.model", "-i", "labelled.jsonl", "-o", "scores.csv"];
    run(here, &flags).finished();
    assert!(scores == fs::read(here.join("scores.csv")).unwrap());

    // The encoder alone in another place.
    fs::rename(here.join("moved/models/bert"), here.join("bert")).unwrap();
    let error = run(here, &flags).refusal();
    assert_says(&error, &["moved/tone.model", "models/bert, which is not there", "--encoder"]);
    run(here, &[&flags[..], &["--encoder", "bert"]].concat()).finished();
    assert!(scores == fs::read(here.join("scores.csv")).unwrap());
    for command in ["eval", "explain"] {
        run(here, &[command, "-m", "moved/tone.model", "-i", "labelled.jsonl", "--encoder", "bert"]).finished();
    }

    // What its vectors depend on has changed.
    fs::write(here.join("bert/special_tokens_map.json"), "{}").unwrap();
    let error = run(here, &[&flags[..], &["--encoder", "bert"]].concat()).refusal();
    assert_says(
        &error,
        &["moved/tone.model was fitted on the vectors of bert", "not the same any more", "train the head again"],
    );
    fs::remove_file(here.join("bert/special_tokens_map.json")).unwrap();
    let error = run(here, &[&flags[..], &["--encoder", "none"]].concat()).refusal();
    assert_says(&error, &["none, which is not there"]);
}

#[test]
fn what_gives_no_vectors_is_no_encoder() {
    let folder = folder();
    let here = folder.path();
    fs::rename(here.join("news.jsonl"), here.join("labelled.jsonl")).unwrap();
    run(here, &["train", "tfidf", "-i", "labelled.jsonl", "-o", "tfidf.model"]).finished();
    run(here, &["train", "lsa", "-i", "labelled.jsonl", "-o", "lsa.model", "--dim", "5"]).finished();
    let refused = |flags: &[&str]| train(here, "logistic", flags, &[]).refusal();
    assert_says(&refused(&["--model", "tfidf.model"]), &["tfidf.model gives sparse rows", "without --model"]);
    // LSA knows the times of its documents, so the head on it knows what it has seen.
    let json = train(here, "logistic", &["--model", "lsa.model"], &[]).finished();
    assert_eq!(json["fitted_until"], "2024-04-12T14:30:00");
    fs::rename(here.join("tone.model"), here.join("head.model")).unwrap();
    assert_says(&refused(&["--model", "head.model"]), &["head.model gives scores, and a head reads vectors"]);
    assert_says(&refused(&["--model", "none"]), &["there is no model none"]);
    assert!(!here.join("tone.model").exists());
    for (method, flags) in [
        ("bayes", &["--model", "lsa.model"][..]),
        ("logistic", &["--model", "lsa.model", "--min-df", "3"]),
        ("logistic", &["--model", "lsa.model", "--no-hmm"]),
        ("svm", &["--model", "lsa.model", "--mode", "char"]),
        ("boosted", &["--model", "lsa.model", "--ngram-range", "1,2"]),
        // Without a model there is nothing that the flags of contextual models could change.
        ("logistic", &["--pooling", "cls"]),
        ("svm", &["--layers", "last:4"]),
        ("boosted", &["--normalise"]),
        ("mlp", &["--truncation", "head:64"]),
        ("ridge", &["--device", "cpu"]),
    ] {
        let ran = train(here, method, flags, &[]);
        assert_eq!(ran.code, Some(2), "{method} {flags:?}: {}", ran.stderr);
        assert_says(&ran.stderr, &["--model"]);
    }
}

#[test]
fn the_classifier_of_a_mix_of_layers_is_kept() {
    if !has_library() {
        return;
    }
    let folder = with_bert();
    let here = folder.path();
    let flags = ["train", "mix", "--input", "labelled.jsonl", "--output", "mix.model", "--epochs", "200"];
    let mixed = |pooling: &str| run(here, &[&flags[..], &["--model", "models/bert", "--pooling", pooling]].concat());
    assert_says(&mixed("mean+max").refusal(), &["--output needs a pooling without max"]);
    let json = mixed("mean+cls").finished();
    assert_eq!(json["output"], "mix.model");
    let learned = &json["learned"];
    let eval = run(here, &["eval", "--model", "mix.model", "--input", "labelled.jsonl"]).finished();
    assert_eq!(eval["model"], "logistic");
    // The last step comes after the last figures.
    let near = |a: &Value, b: &Value, most: f64| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < most;
    assert!(near(&learned["accuracy"], &eval["accuracy"], 0.03), "{learned:#} {eval:#}");
    assert!(near(&learned["loss"], &eval["probabilities"]["log_loss"], 5e-3), "{learned:#} {eval:#}");
    let json = run(here, &["explain", "--model", "mix.model", "--text", "净利润增长。股份减持。"]).finished();
    assert_eq!(json["explanations"][0]["terms"].as_array().unwrap().len(), 2);
}

const HEAD: &str = r#"
[[feature]]
name = "head_tone"
model = "file"
file = { path = "tone.model" }

[[factor]]
name = "head"
expression = 'head_tone."log_odds:up"'
min_names = 2
"#;

/// A desk whose factor is a head on an encoder; the head was trained on lines of an earlier year.
fn desk(encoder: &[&str]) -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write("workbench.toml", config + HEAD);
    desk.write("labelled.jsonl", corpus::jsonl(84).replace("\"2024-", "\"2023-"));
    if encoder[1] == "lsa.model" {
        run(desk.folder(), &["train", "lsa", "-i", "labelled.jsonl", "-o", "lsa.model", "--dim", "8"]).finished();
    }
    train(desk.folder(), "logistic", encoder, &[]).finished();
    desk
}

/// The report of `trace` on a document with good news.
fn traced(desk: &Desk) -> Value {
    let flags = ["trace", "head", "--date", "2024-03-08", "--code", "600101.SH", "--document", "news/0-0"];
    run(desk.folder(), &flags).finished()
}

#[test]
fn a_head_becomes_a_factor_whose_sentences_can_be_traced() {
    let desk = desk(&["--model", "lsa.model"]);
    let json = desk.run().finished();
    let report = stage(&json, "extract head_tone");
    assert_eq!((&report["rows_out"], &report["facts"]["model"]), (&32.into(), &"logistic".into()));
    assert_eq!(report["facts"]["fitted_until"], "2023-03-28T14:30:00");
    let json = traced(&desk);
    let text = &json["sentences"][0];
    assert_eq!(
        (&text["by"], &text["column"], &text["model"]),
        (&"omission".into(), &"log_odds:up".into(), &"file".into())
    );
    let values: Vec<f64> = text["sentences"].as_array().unwrap().iter().filter_map(|s| s["value"].as_f64()).collect();
    assert!(values.len() > 1 && values.iter().any(|value| *value != 0.0), "{text:#}");
    assert!((text["score"].as_f64().unwrap() - text["kept"].as_f64().unwrap()).abs() < 1e-4, "{text:#}");
    assert_says(text["note"][1].as_str().unwrap(), &["Model on an encoder: each sentence is left out"]);

    // An encoder that has moved can be named; one that has changed cannot be used.
    fs::create_dir(desk.folder().join("models")).unwrap();
    fs::rename(desk.folder().join("lsa.model"), desk.folder().join("models/lsa.model")).unwrap();
    assert_says(&desk.run().left_out(), &["head_tone", "lsa.model, which is not there", "file.encoder"]);
    let config = desk.folder().join("workbench.toml");
    edit(&config, "\"tone.model\"", "\"tone.model\", encoder = \"models/lsa.model\"");
    desk.run().finished();
    fs::copy(desk.folder().join("tone.model"), desk.folder().join("models/lsa.model")).unwrap();
    assert_says(&desk.run().left_out(), &["head_tone", "not the same any more"]);
}

#[test]
fn a_head_on_a_contextual_model_says_how_far_its_encoder_has_read() {
    if !has_library() {
        return;
    }
    let bert = graph("bert");
    let desk = desk(&["--model", &bert, "--pooling", "cls"]);
    assert_says(&desk.run().left_out(), &["tone.model does not say how far", "set file.fitted_until"]);
    // The labels are known until March 2023, so no earlier day can be stated.
    let config = desk.folder().join("workbench.toml");
    edit(&config, "\"tone.model\"", "\"tone.model\", fitted_until = \"2022-12-31\"");
    assert_says(&desk.run().left_out(), &["was trained on text until 2023-03-28 14:30:00"]);
    edit(&config, "2022-12-31", "2023-03-31");
    let json = desk.run().finished();
    let facts = &stage(&json, "extract head_tone")["facts"];
    assert_eq!((&facts["fitted_until"], &facts["ran"]["device"]), (&"2023-03-31T23:59:59".into(), &"cpu".into()));
    // The rows are those of `embed`.
    let flags = ["embed", "-m", "tone.model", "-i", ".inkstone/clean", "-o", "rows.csv"];
    run(desk.folder(), &flags).finished();
    let json = traced(&desk);
    let kept = json["sentences"][0]["kept"].as_f64().unwrap();
    let (names, rows) = table(&desk.folder().join("rows.csv"));
    let place = names.iter().position(|name| name == "log_odds:up").unwrap();
    assert!(rows.iter().any(|row| (row[place] - kept).abs() < 1e-3), "{kept} {rows:?}");
}

#[test]
fn a_distilled_encoder_stands_where_its_teacher_stood() {
    if !has_library() {
        return;
    }
    let folder = with_bert();
    let here = folder.path();
    fs::write(here.join("news.jsonl"), corpus::jsonl(96)).unwrap();
    let flags = ["train", "static", "--model", "models/bert", "--input", "news.jsonl", "--fitted-until", "2023-12-31"];
    let small = ["--components", "8", "--words", "40", "--min-count", "2", "--output"];
    let distilled = |more: &[&str]| run(here, &[&flags[..], &small, more].concat());
    let json = distilled(&["bert-static"]).finished();
    assert_eq!(
        (&json["model"], &json["documents"], &json["documents_taught"]),
        (&"static".into(), &96.into(), &96.into())
    );
    assert_eq!(json["fitted_until"], "2024-04-12T14:30:00", "that of the lines is later");
    assert!(json["words_added"].as_u64().unwrap() > 0, "{json:#}");
    let figure = |name: &str| json["distilled"][name].as_f64().unwrap();
    assert!(figure("cosine") >= figure("cosine_before") && figure("cosine") > 0.5, "{json:#}");

    // The same bytes again, over what was there.
    let files = || crate::files_below(&here.join("bert-static"));
    let before = files();
    distilled(&["bert-static", "--threads", "1"]).finished();
    assert!(files() == before);
    let rows = ["embed", "--model", "bert-static", "--input", "news.jsonl", "--output", "rows.csv"];
    assert_eq!(run(here, &rows).finished()["documents"], 96);
    let head = ["train", "logistic", "--model", "bert-static", "--input", "labelled.jsonl", "--output", "tone.model"];
    assert_eq!(run(here, &head).finished()["fitted_until"], "2024-04-12T14:30:00");
    let explained = run(here, &["explain", "--model", "bert-static", "--text", "净利润同比增长。"]).finished();
    assert!(explained["explanations"][0]["terms"].as_array().unwrap().len() > 1);

    // Bad input is refused before the teacher works, and nothing is written.
    fs::create_dir(here.join("mine")).unwrap();
    fs::write(here.join("mine/notes.txt"), "of the user").unwrap();
    assert_says(&distilled(&["mine"]).refusal(), &["mine", "notes.txt", "--output"]);
    fs::write(here.join("few.jsonl"), corpus::jsonl(12)).unwrap();
    let few = ["train", "static", "--model", "models/bert", "--input", "few.jsonl", "--fitted-until", "2023-12-31"];
    assert_says(&run(here, &[&few[..], &["--output", "none"]].concat()).refusal(), &["too few", "at least 20"]);
    assert_says(&distilled(&["none", "--documents", "0"]).refusal(), &["--documents 0", "at least 20"]);
    assert!(!here.join("none").exists());
    let stdin =
        ["train", "static", "--model", "models/bert", "--input", "-", "--fitted-until", "2023-12-31", "-o", "none"];
    assert_says(&run(here, &stdin).refusal(), &["read twice"]);
    assert_says(&run(here, &flags).stderr, &["--output"]);
}
