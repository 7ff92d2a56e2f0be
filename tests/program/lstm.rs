//! Language models of LSTM layers of one's own: they are trained on text, then on labels, names and titles, and read as all other encoders.

use std::fs;

use serde_json::{Value, json};

use crate::encoders::{UNTIL, finetune, folder, lines_with_names, model_files};
use crate::{assert_says, has_library, run, with_library};

const SMALL: [&str; 12] =
    ["--layers", "2", "--hidden", "16", "--vocabulary", "200", "--min-count", "1", "--epochs", "3", "--batch", "8"];

#[test]
fn lstms_of_one_and_of_both_directions_are_folders_as_all_others() {
    let folder = folder();
    let path = folder.path();
    let train = |method: &str, output: &str, more: &[&str]| {
        let fixed = ["train", method, "--input", "news.jsonl", "--until", UNTIL, "--output", output, "--lr", "0.005"];
        run(path, &[&fixed, &SMALL[..], more].concat()).finished()
    };
    let config = |folder: &str| -> Value {
        serde_json::from_slice(&fs::read(path.join(folder).join("config.json")).unwrap()).unwrap()
    };
    for (method, class) in [("lstm", "LstmLMHeadModel"), ("elmo", "LstmForPreTraining")] {
        let json = train(method, method, &["--threads", "1"]);
        assert_eq!((&json["model"], &json["documents"]), (&method.into(), &182.into()), "{json:#}");
        let perplexity = json["perplexity"].as_f64().unwrap();
        assert!((1.0..60.0).contains(&perplexity), "{method}: {json:#}");
        assert_eq!(config(method)["architectures"], json!([class]));
        assert_eq!(config(method)["fitted_until"], "2024-06-30T23:59:59");
        train(method, "again", &["--threads", "2"]);
        assert!(model_files(&path.join("again")) == model_files(&path.join(method)), "{method}");
        fs::remove_dir_all(path.join("again")).unwrap();
        // It is trained on by the command that began it, and by ULMFiT's way for labels.
        let fixed = ["train", method, "--base", method, "--input", "news.jsonl", "--epochs", "1", "--output", "on"];
        let on = run(path, &[&fixed[..], &["--batch", "8", "--base-text", "news.jsonl"]].concat()).finished();
        assert!(on["perplexity"].as_f64().unwrap() < perplexity, "{method}: {on:#}");
        let [before, after] = ["before", "after"].map(|when| on["base_perplexity"][when].as_f64().unwrap());
        assert!(after < before, "{on:#}");
        fs::remove_dir_all(path.join("on")).unwrap();
        let ulmfit = ["--gradual", "--discriminative", "1.3", "--schedule", "stlr", "--words", "0.1"];
        let json = finetune(path, method, &format!("tone-{method}"), &ulmfit);
        assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{method}: {json:#}");
    }
    fs::write(path.join("names.jsonl"), lines_with_names()).unwrap();
    let fixed = ["train", "entities", "--base", "elmo", "--input", "names.jsonl", "--lr", "0.02", "--epochs", "20"];
    let json = run(path, &[&fixed[..], &["--batch", "8", "--output", "names"]].concat()).finished();
    assert!(json["held_out"]["micro"]["f1"].as_f64().unwrap() > 0.95, "{json:#}");
    let vintages = train("elmo", "pit", &["--vintages", "quarter"]);
    let windows = vintages["vintages"].as_array().unwrap();
    assert_eq!(windows.len(), 2, "{vintages:#}");
    assert_eq!(config("pit/2024Q1")["fitted_until"], "2024-03-31T23:59:59");

    let refused =
        |args: &[&str]| run(path, &[&["train"], args, &["--input", "news.jsonl", "--output", "x"]].concat()).refusal();
    assert_says(&refused(&["gpt", "--base", "lstm"]), &["lstm is trained on by: train lstm"]);
    assert_says(&refused(&["lstm", "--base", "elmo"]), &["elmo is trained on by: train elmo"]);
    assert_says(&refused(&["finetune", "--base", "lstm", "--train", "lora:4"]), &["an LSTM has no queries", "top:N"]);
    assert_says(&refused(&["elmo", "--hidden", "15"]), &["15 cannot be shared by two directions", "even number"]);
    assert_says(&refused(&["answers", "--base", "lstm"]), &["lstm reads from left to right"]);
    assert_says(&refused(&["writer", "--base", "elmo"]), &["elmo reads in both directions and writes nothing"]);
    if !has_library() {
        return;
    }
    for method in ["lstm", "elmo"] {
        let model = format!("tone-{method}");
        let args = ["eval", "onnx", "--model", &model, "--read", "scores", "--input", "news.jsonl"];
        let json = with_library(path, &args).finished();
        assert!(json["accuracy"].as_f64().unwrap() > 0.95, "{json:#}");
    }
    let args = ["embed", "--model", "lstm", "--input", "news.jsonl", "--read", "surprise", "--output", "s.csv"];
    with_library(path, &args).finished();
    assert_eq!(fs::read_to_string(path.join("s.csv")).unwrap().lines().count(), 301);
    // Layers of both directions are mixed, as ELMo's are.
    let args =
        ["embed", "--model", "elmo", "--input", "news.jsonl", "--layers", "mix:0.2,0.3,0.5", "--output", "e.csv"];
    with_library(path, &args).finished();
    let header = fs::read_to_string(path.join("e.csv")).unwrap();
    assert_eq!(header.lines().next().unwrap().split(',').count(), 17);
    let args = ["eval", "onnx", "--model", "names", "--input", "names.jsonl", "--task", "entities"];
    let json = with_library(path, &args).finished();
    assert!(json["against"]["micro"]["f1"].as_f64().unwrap() > 0.95, "{json:#}");
    let generate = ["generate", "--model", "lstm", "--input", "news.jsonl", "--output", "w.jsonl"];
    with_library(path, &[&generate[..], &["--max-new-tokens", "3", "--num-beams", "1"]].concat()).finished();
    assert_eq!(fs::read_to_string(path.join("w.jsonl")).unwrap().lines().count(), 300);
    with_library(path, &["convert", "--model", "tone-elmo", "--precision", "int8", "--output", "small"]).finished();
    let args = ["eval", "onnx", "--model", "small", "--read", "scores", "--input", "news.jsonl"];
    let json = with_library(path, &args).finished();
    assert!(json["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");
}
