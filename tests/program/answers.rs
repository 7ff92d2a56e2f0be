//! An encoder of one's own that finds answers in texts.

use std::fs;

use serde_json::{Value, json};

use crate::{assert_says, has_library, run, with_library};

/// Texts with a question whose answer stands behind the word that is asked for, one a day; of every fifth text it does not stand there.
fn lines(count: usize) -> String {
    let line = |i: usize| {
        let day = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::Days::new(i as u64);
        let [sales, profit] = [format!("{}亿", 10 + i * 7 % 83), format!("{}万", 10 + i * 11 % 79)];
        let (question, answer) =
            if i.is_multiple_of(2) { ("营收多少？", &sales) } else { ("利润多少？", &profit) };
        let known = !i.is_multiple_of(5);
        let text = if known {
            format!("公司营收{sales}元，利润{profit}元。")
        } else {
            "公司召开股东大会，未披露数字。".to_owned()
        };
        let answers = if known { vec![answer] } else { Vec::new() };
        json!({"id": i.to_string(), "text": text, "question": question, "answers": answers, "time": day.to_string()})
    };
    (0..count).map(|i| line(i).to_string() + "\n").collect()
}

#[test]
fn answers_are_learned_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("asked.jsonl"), lines(400) + "{\"text\":\"没有问题的一行。\",\"time\":\"2025-06-01\"}\n")
        .unwrap();
    let small =
        ["--layers", "2", "--hidden", "32", "--heads", "4", "--vocabulary", "200", "--min-count", "1", "--batch", "8"];
    let base = [
        "train",
        "bert",
        "--input",
        "asked.jsonl",
        "--output",
        "bert",
        "--epochs",
        "5",
        "--lr",
        "0.003",
        "--max-tokens",
        "64",
    ];
    run(path, &[&base[..], &small].concat()).finished();
    let train = |output: &str, more: &[&str]| {
        let fixed =
            ["train", "answers", "--base", "bert", "--input", "asked.jsonl", "--output", output, "--lr", "0.003"];
        run(path, &[&fixed[..], &["--batch", "8"], more].concat())
    };
    let json = train("qa", &["--epochs", "25", "--threads", "1"]).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"answers".into(), &400.into()), "{json:#}");
    assert_eq!(json["stages"][0]["dropped"]["without a question and a list of answers"], 1, "{json:#}");
    assert!(json["held_out"]["exact"].as_f64().unwrap() > 0.9, "{json:#}");
    let weights = |model: &str| fs::read(path.join(model).join("model.safetensors")).unwrap();
    train("again", &["--epochs", "25", "--threads", "2"]).finished();
    assert!(weights("qa") == weights("again"));
    // A text that is longer than the input has windows that overlap by half.
    let json = train("windows", &["--epochs", "1", "--max-tokens", "18"]).finished();
    assert!(json["inputs"].as_u64() > json["documents"].as_u64(), "{json:#}");
    assert_says(
        &train("x", &["--max-tokens", "100"]).refusal(),
        &["--max-tokens 100 is more than the model's 64 places"],
    );
    fs::write(
        path.join("wrong.jsonl"),
        json!({"text": "公司营收3亿元。", "question": "营收？", "answers": ["5亿"]}).to_string(),
    )
    .unwrap();
    let error = run(path, &["train", "answers", "--base", "bert", "--input", "wrong.jsonl", "--output", "x"]).refusal();
    assert_says(&error, &["no line has an answer to learn"]);

    if !has_library() {
        return;
    }
    fs::write(path.join("asked.jsonl"), lines(40)).unwrap();
    let args = ["eval", "onnx", "--model", "qa", "--input", "asked.jsonl", "--task", "answers"];
    let json = with_library(path, &args).finished();
    let known =
        json["answers"].as_array().unwrap().iter().zip(lines(40).lines().map(str::to_owned).collect::<Vec<_>>());
    let right = known.filter(|(found, line)| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["answers"].get(0).is_some_and(|answer| found["answer"] == *answer)
    });
    assert!(right.count() >= 30, "{json:#}");
}
