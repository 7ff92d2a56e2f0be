//! Models of one's own that write the title or the summary of a text.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{assert_says, has_library, run, with_library};

/// Texts whose titles follow from them, one a day.
fn lines(field: &str, count: usize) -> String {
    let line = |i: usize| {
        let (title, text) =
            [("业绩增长", "净利润大幅增加，订单充足。"), ("业绩下滑", "净利润大幅减少，订单不足。")][i * 7 % 2];
        let day = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::Days::new(i as u64);
        let text = format!("公司发布公告，编号{}。{text}", i % 13);
        json!({"id": i.to_string(), "text": text, field: title, "time": day.to_string()}).to_string()
    };
    (0..count).map(|i| line(i) + "\n").collect()
}

#[test]
fn titles_are_learned_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("news.jsonl"), lines("title", 300)).unwrap();
    fs::write(path.join("summaries.jsonl"), lines("summary", 300)).unwrap();
    let small =
        ["--layers", "1", "--hidden", "32", "--heads", "2", "--vocabulary", "200", "--min-count", "1", "--lr", "0.003"];
    let base = [
        "train",
        "gpt",
        "--input",
        "news.jsonl",
        "--output",
        "gpt",
        "--epochs",
        "5",
        "--batch",
        "8",
        "--max-tokens",
        "64",
    ];
    run(path, &[&base[..], &small].concat()).finished();
    let train = |input: &str, output: &str, more: &[&str]| {
        let fixed = ["train", "writer", "--base", "gpt", "--input", input, "--output", output, "--epochs", "12"];
        run(path, &[&fixed[..], &["--lr", "0.003", "--batch", "8"], more].concat())
    };
    let json = train("news.jsonl", "titles", &["--threads", "1"]).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"writer".into(), &300.into()), "{json:#}");
    assert_eq!(json["fitted_until"], "2024-10-26T23:59:59", "{json:#}");
    // Each token of a title but those in which the two titles differ is certain.
    assert!(json["perplexity"].as_f64().unwrap() < 1.2, "{json:#}");
    let config: Value = serde_json::from_slice(&fs::read(path.join("titles/config.json")).unwrap()).unwrap();
    assert_eq!(config["architectures"], json!(["GPT2LMHeadModel"]));
    // A summary stands behind the title and the text, a title behind the text alone: the same tokens here.
    train("summaries.jsonl", "summaries", &["--threads", "2"]).finished();
    let weights = |model: &str| fs::read(path.join(model).join("model.safetensors")).unwrap();
    assert!(weights("titles") == weights("summaries"));

    fs::write(path.join("bare.jsonl"), "{\"text\":\"只有正文，没有标题。\"}\n").unwrap();
    assert_says(&train("bare.jsonl", "x", &[]).refusal(), &["no line has a text and what is to be written", "summary"]);
    assert_says(&train("news.jsonl", "x", &["--max-tokens", "9"]).refusal(), &["leaves no room for two texts"]);
    let bert = ["train", "bert", "--input", "news.jsonl", "--output", "bert", "--epochs", "1", "--batch", "8"];
    run(path, &[&bert[..], &small].concat()).finished();
    let error = run(path, &["train", "writer", "--base", "bert", "--input", "news.jsonl", "--output", "x"]).refusal();
    assert_says(&error, &["bert reads in both directions and writes nothing"]);

    if has_library() {
        writes_all_titles(path, "titles");
    }
}

/// Asserts that a model writes the titles of 40 texts.
fn writes_all_titles(path: &Path, model: &str) {
    let texts: String = lines("title", 40).replace("\"title\"", "\"summary\"");
    fs::write(path.join("texts.jsonl"), texts).unwrap();
    let args = ["generate", "--model", model, "--input", "texts.jsonl", "--output", "written.jsonl"];
    with_library(path, &[&args[..], &["--num-beams", "1", "--max-new-tokens", "8"]].concat()).finished();
    let written = fs::read_to_string(path.join("written.jsonl")).unwrap();
    let wanted = lines("title", 40);
    let right = written.lines().zip(wanted.lines()).filter(|(written, line)| {
        let [written, line] = [written, line].map(|json| serde_json::from_str::<Value>(json).unwrap());
        written["text"] == line["title"]
    });
    assert_eq!(right.count(), 40, "{written}");
}

#[test]
fn an_lstm_writes_titles_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("news.jsonl"), lines("title", 300)).unwrap();
    let small = ["--layers", "1", "--hidden", "32", "--vocabulary", "200", "--min-count", "1", "--epochs", "5"];
    run(path, &[&["train", "lstm", "--input", "news.jsonl", "--output", "lstm"], &small[..]].concat()).finished();
    let args = ["train", "writer", "--base", "lstm", "--input", "news.jsonl", "--output", "titles", "--epochs", "12"];
    let json = run(path, &[&args[..], &["--lr", "0.01", "--batch", "8"]].concat()).finished();
    assert!(json["perplexity"].as_f64().unwrap() < 1.2, "{json:#}");
    if has_library() {
        writes_all_titles(path, "titles");
    }
}

#[test]
fn an_encoder_and_its_decoder_restore_texts_and_write_titles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("news.jsonl"), lines("title", 300)).unwrap();
    let train = |output: &str, more: &[&str]| {
        let fixed = ["train", "bart", "--input", "news.jsonl", "--output", output, "--epochs", "8", "--batch", "8"];
        run(path, &[&fixed[..], more].concat())
    };
    let small = ["--layers", "1", "--hidden", "32", "--heads", "2", "--vocabulary", "200", "--min-count", "1"];
    let small = [&small[..], &["--lr", "0.003", "--max-tokens", "64"]].concat();
    let json = train("bart", &[&small[..], &["--threads", "1"]].concat()).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"bart".into(), &300.into()), "{json:#}");
    assert_eq!(json["fitted_until"], "2024-10-26T23:59:59", "{json:#}");
    let perplexity = json["perplexity"].as_f64().unwrap();
    assert!(perplexity < 2.0, "{json:#}");
    train("twice", &[&small[..], &["--threads", "2"]].concat()).finished();
    let weights = |model: &str| fs::read(path.join(model).join("model.safetensors")).unwrap();
    assert!(weights("bart") == weights("twice"), "the bytes depend on the threads");
    // It is trained on from its folder, too, on other damages.
    let json = train("on", &["--base", "bart", "--noise", "deletion,rotation", "--mask", "tokens"]).finished();
    assert!(json["perplexity"].as_f64().unwrap() < perplexity + 1.0, "{json:#}");

    let write = |base: &str, output: &str, more: &[&str]| {
        let fixed = ["train", "writer", "--base", base, "--input", "news.jsonl", "--output", output, "--epochs", "12"];
        run(path, &[&fixed[..], &["--lr", "0.003", "--batch", "8"], more].concat())
    };
    let json = write("bart", "titles", &[]).finished();
    assert!(json["perplexity"].as_f64().unwrap() < 1.2, "{json:#}");
    let config: Value = serde_json::from_slice(&fs::read(path.join("titles/config.json")).unwrap()).unwrap();
    assert_eq!(config["architectures"], json!(["BartForConditionalGeneration"]));

    assert_says(&write("bart", "x", &["--train", "top:1"]).refusal(), &["trained as a whole", "leave --train"]);
    assert_says(&train("x", &["--base", "bart", "--mask", "spans"]).refusal(), &["--mask words or tokens"]);
    let error = run(path, &["train", "bert", "--base", "bart", "--input", "news.jsonl", "--output", "x"]).refusal();
    assert_says(&error, &["bart is trained on by: train bart"]);
    let finetune = ["train", "finetune", "--base", "bart", "--input", "news.jsonl", "--output", "x"];
    assert_says(&run(path, &finetune).refusal(), &["model_type is \"bart\"", "train writer"]);
    if has_library() {
        writes_all_titles(path, "titles");
        with_library(path, &["convert", "--model", "titles", "--output", "graphs"]).finished();
        writes_all_titles(path, "graphs");
    }
}

#[test]
fn a_recurrent_writer_is_trained_written_with_and_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("news.jsonl"), lines("title", 300)).unwrap();
    let train = |output: &str, more: &[&str]| {
        let fixed = ["train", "writer", "--input", "news.jsonl", "--output", output, "--epochs", "10", "--batch", "16"];
        run(path, &[&fixed[..], more].concat())
    };
    let small = ["--net", "gru", "--hidden", "32", "--vocabulary", "200", "--min-count", "1", "--lr", "0.01"];
    let json = train("titles", &[&small[..], &["--threads", "1"]].concat()).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"writer".into(), &300.into()), "{json:#}");
    assert_eq!(json["fitted_until"], "2024-10-26T23:59:59", "{json:#}");
    assert!(json["perplexity"].as_f64().unwrap() < 1.2, "{json:#}");
    let config: Value = serde_json::from_slice(&fs::read(path.join("titles/config.json")).unwrap()).unwrap();
    assert_eq!((&config["cell"], &config["attention"]), (&json!("gru"), &json!("additive")));
    train("twice", &[&small[..], &["--threads", "2"]].concat()).finished();
    let weights = |model: &str| fs::read(path.join(model).join("model.safetensors")).unwrap();
    assert!(weights("titles") == weights("twice"), "the bytes depend on the threads");
    // The folder is trained on from, too, with tokens of its own in the place of some right ones.
    let json = train("on", &["--base", "titles", "--lr", "0.001", "--teacher-forcing", "0.5"]).finished();
    assert!(json["perplexity"].as_f64().unwrap() < 1.2, "{json:#}");
    let lstm = ["--net", "lstm", "--attention", "general", "--teacher-forcing", "0.8"];
    train("lstm", &[&lstm[..], &small[2..]].concat()).finished();

    let text = "公司发布公告，编号3。净利润大幅减少，订单不足。";
    let explain = |more: &[&str]| run(path, &[&["explain", "--alignment", "--text", text], more].concat());
    let json = explain(&["--model", "titles"]).finished();
    let alignment = &json["alignments"][0];
    assert!(json["note"].as_str().unwrap().contains("not why it wrote"), "{json:#}");
    assert_eq!(
        (&alignment["target"], &alignment["written"]),
        (&json!(["业", "绩", "下", "滑", "[SEP]"]), &true.into())
    );
    let shares: Vec<Vec<f64>> = serde_json::from_value(alignment["shares"].clone()).unwrap();
    let source: Vec<String> = serde_json::from_value(alignment["source"].clone()).unwrap();
    assert_eq!((shares.len(), source.len()), (5, text.chars().count() + 2));
    assert!(shares.iter().all(|row| row.len() == source.len() && (row.iter().sum::<f64>() - 1.0).abs() < 1e-4));
    let json = explain(&["--model", "titles", "--target", "业绩增长"]).finished();
    let alignment = &json["alignments"][0];
    assert_eq!((&alignment["target"][2], &alignment["written"]), (&json!("增"), &false.into()));

    train("blind", &[&["--attention", "none"], &small[..]].concat()).finished();
    assert_says(&explain(&["--model", "blind"]).refusal(), &["no attention", "--attention none"]);
    assert_says(&explain(&["--model", "."]).refusal(), &["no folder that train writer --net wrote"]);
    assert_says(&train("x", &[]).refusal(), &["--base", "--net"]);
    assert_says(&train("x", &["--net", "gru", "--hidden", "33"]).refusal(), &["even number (--hidden)"]);
    assert_says(&train("x", &["--net", "gru", "--teacher-forcing", "2"]).stderr, &["--teacher-forcing", "from 0 to 1"]);
    let bart = ["train", "bart", "--base", "titles", "--input", "news.jsonl", "--output", "x"];
    assert_says(&run(path, &bart).refusal(), &["titles is trained on by: train writer"]);
    if has_library() {
        for model in ["titles", "on", "lstm"] {
            writes_all_titles(path, model);
        }
        with_library(path, &["convert", "--model", "lstm", "--output", "graphs"]).finished();
        writes_all_titles(path, "graphs");
    }
}
