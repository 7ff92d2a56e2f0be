//! Encoders of one's own: trained on the corpus of a project until a day, trained on for labels, and read as any contextual model.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inkstone_store::Store;
use inkstone_tables::project::Project;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{assert_says, copy_folder, demo, files_below, has_library, run, run_on, stage, with_library};

pub(crate) const UNTIL: &str = "2024-06-30";

/// Texts that say good or bad news in their words' order, one a day.
fn lines(from: usize, count: usize) -> String {
    let line = |i: usize| {
        let (label, text) = [
            ("好", "公司净利润大幅增长，订单充足。"),
            ("差", "公司净利润大幅下滑，订单减少。"),
            ("好", "毛利率明显改善，同比增长。"),
            ("差", "毛利率明显恶化，同比下滑。"),
        ][i * 7 % 4];
        let day = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::Days::new(i as u64);
        let value = if label == "好" { 0.02 } else { -0.01 };
        json!({"id": i.to_string(), "text": format!("{text}编号{}。", i % 13), "label": label, "value": value, "time": day.to_string()}).to_string()
    };
    (from..from + count).map(|i| line(i) + "\n").collect()
}

pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.jsonl"), lines(0, 300)).unwrap();
    folder
}

const SMALL: [&str; 16] = [
    "--layers",
    "1",
    "--hidden",
    "16",
    "--heads",
    "2",
    "--vocabulary",
    "200",
    "--min-count",
    "1",
    "--epochs",
    "2",
    "--lr",
    "0.003",
    "--batch",
    "8",
];

fn pretrain(folder: &Path, output: &str, more: &[&str]) -> Value {
    let fixed = ["train", "bert", "--input", "news.jsonl", "--until", UNTIL, "--output", output];
    run(folder, &[&fixed, &SMALL[..], more].concat()).finished()
}

const TUNED: [&str; 8] = ["--input", "news.jsonl", "--epochs", "20", "--lr", "0.005", "--learn", "label"];

pub(crate) fn finetune(folder: &Path, base: &str, output: &str, more: &[&str]) -> Value {
    run(folder, &[&["train", "finetune", "--base", base, "--output", output], &TUNED[..], more].concat()).finished()
}

pub(crate) fn model_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    files_below(folder)
}

#[test]
fn an_encoder_knows_nothing_of_later_text_and_is_the_same_on_any_number_of_threads() {
    let folder = folder();
    let json = pretrain(folder.path(), "pit", &["--threads", "1"]);
    assert_eq!((&json["model"], &json["documents"]), (&"bert".into(), &182.into()), "{json:#}");
    assert_eq!(json["fitted_until"], "2024-06-30T23:59:59", "{json:#}");
    assert!(json["perplexity"].as_f64().unwrap() > 1.0, "{json:#}");
    let first = model_files(&folder.path().join("pit"));
    assert!(first.contains_key("model.safetensors") && first.contains_key("tokenizer.json"), "{:?}", first.keys());
    for threads in ["2", "8"] {
        pretrain(folder.path(), "again", &["--threads", threads]);
        assert!(model_files(&folder.path().join("again")) == first, "{threads} threads");
    }
    // The future is written anew: not a byte of the past changes.
    let other = lines(0, 182) + &lines(182, 118).replace("公司", "海外").replace("增长", "停产");
    fs::write(folder.path().join("news.jsonl"), other).unwrap();
    pretrain(folder.path(), "other", &[]);
    assert!(model_files(&folder.path().join("other")) == first);
    assert!(
        fs::read_dir(folder.path()).unwrap().flatten().all(|e| !e.file_name().to_string_lossy().contains("checkpoint"))
    );
}

#[test]
fn a_base_is_trained_on_for_text_and_for_labels() {
    let folder = folder();
    pretrain(folder.path(), "pit", &[]);
    let fixed = ["train", "bert", "--base", "pit", "--input", "news.jsonl", "--epochs", "1", "--output", "on"];
    let json = run(folder.path(), &[&fixed[..], &["--base-text", "news.jsonl"]].concat()).finished();
    let figure = |json: &Value, name: &str| json["base_perplexity"][name].as_f64().unwrap();
    assert!(figure(&json, "after") < figure(&json, "before"), "{json:#}");
    assert_eq!(json["fitted_until"], "2024-10-26T23:59:59", "{json:#}");
    for part in ["all", "top:1", "head", "lora:4"] {
        let json = finetune(folder.path(), "pit", "tone", &["--train", part, "--threads", "2"]);
        assert_eq!(json["classes"], json!({"好": 150, "差": 150}), "{json:#}");
        assert_eq!(json["held_out"]["documents"], 30, "{json:#}");
        let accuracy = json["held_out"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > if part == "head" { 0.55 } else { 0.9 }, "{part}: {json:#}");
        let config: Value = serde_json::from_slice(&fs::read(folder.path().join("tone/config.json")).unwrap()).unwrap();
        assert_eq!(config["id2label"], json!({"0": "好", "1": "差"}));
        assert_eq!(config["fitted_until"], "2024-10-26T23:59:59");
        assert_eq!(config["architectures"], json!(["BertForSequenceClassification"]));
        let written = model_files(&folder.path().join("tone"));
        finetune(folder.path(), "pit", "tone", &["--train", part, "--threads", "1"]);
        assert!(model_files(&folder.path().join("tone")) == written, "{part}");
    }
    // An encoder that is trained for labels alone forgets the words.
    let json = finetune(folder.path(), "pit", "tone", &["--base-text", "news.jsonl"]);
    let forgotten = figure(&json, "after");
    assert!(forgotten > 1.2 * figure(&json, "before"), "{json:#}");
    let json = finetune(folder.path(), "pit", "both", &["--base-text", "news.jsonl", "--words", "1"]);
    assert!(figure(&json, "after") < figure(&json, "before") && figure(&json, "after") < forgotten, "{json:#}");
    assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");
    let gradual = ["--discriminative", "2.6", "--gradual", "--schedule", "stlr"];
    let json = finetune(folder.path(), "pit", "ulmfit", &gradual);
    assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");
    let value = [
        "train",
        "finetune",
        "--base",
        "pit",
        "--input",
        "news.jsonl",
        "--learn",
        "value",
        "--epochs",
        "20",
        "--lr",
        "0.005",
    ];
    let json = run(folder.path(), &[&value[..], &["--label-days", "3", "--output", "value"]].concat()).finished();
    assert!(json["held_out"]["pearson"].as_f64().unwrap() > 0.8, "{json:#}");
    assert_eq!(json["fitted_until"], "2024-10-29T23:59:59", "{json:#}");
    // Of lines without a time it is not known how far they reach, whatever the base says.
    let timeless = lines(0, 300).replace("\"time\"", "\"day\"");
    fs::write(folder.path().join("timeless.jsonl"), timeless).unwrap();
    let untimed =
        ["train", "finetune", "--base", "pit", "--input", "timeless.jsonl", "--epochs", "1", "--output", "untimed"];
    assert_eq!(run(folder.path(), &untimed).finished()["fitted_until"], Value::Null);
    let stated = run(folder.path(), &[&untimed[..], &["--fitted-until", "2024-12-31"]].concat()).finished();
    assert_eq!(stated["fitted_until"], "2024-12-31T23:59:59");
    let fixed = ["train", "bert", "--base", "pit", "--input", "timeless.jsonl", "--epochs", "1", "--output", "untimed"];
    assert_eq!(run(folder.path(), &fixed).finished()["fitted_until"], Value::Null);

    if !has_library() {
        return;
    }
    // The folders are contextual models as all others.
    let args = ["embed", "--model", "tone", "--input", "news.jsonl", "--read", "scores", "--output", "scores.csv"];
    with_library(folder.path(), &args).finished();
    let scores = fs::read_to_string(folder.path().join("scores.csv")).unwrap();
    let header = scores.lines().next().unwrap();
    assert!(header.contains("好") && header.contains("差"), "{header}");
    assert_eq!(scores.lines().count(), 301);
    // One that also learned words fills masks.
    let args = ["embed", "--model", "both", "--input", "news.jsonl", "--read", "scores", "--output", "scores.csv"];
    with_library(folder.path(), &args).finished();
    fs::write(folder.path().join("masked.txt"), "公司净利[MASK]大幅增长，订单充足。\n").unwrap();
    let args = ["eval", "onnx", "--model", "both", "--input", "masked.txt", "--task", "fill-mask"];
    let json = with_library(folder.path(), &args).finished();
    assert_eq!(json["filled"][0]["masks"][0][0]["token"], "润", "{json:#}");
    let tone = [&args[..3], &["tone"], &args[4..]].concat();
    assert_says(&with_library(folder.path(), &tone).refusal(), &["gives no logits over the vocabulary"]);

    // A student learns the scores of a teacher on text without labels.
    let unlabelled = lines(0, 300).replace("\"label\"", "\"mark\"").replace("\"value\"", "\"number\"");
    fs::write(folder.path().join("unlabelled.jsonl"), unlabelled).unwrap();
    let args = ["train", "student", "--model", "tone", "--base", "pit", "--input", "unlabelled.jsonl"];
    let student = [&args[..], &["--epochs", "20", "--lr", "0.005", "--output", "student"]].concat();
    let json = with_library(folder.path(), &student).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"student".into(), &300.into()), "{json:#}");
    assert!(json["agreement"].as_f64().unwrap() > 0.9, "{json:#}");
    assert_eq!((&json["classes"], &json["fitted_until"]), (&json!(["好", "差"]), &"2024-10-26T23:59:59".into()));
    // Labels that do not exclude each other have no probabilities that sum to 1.
    let config = fs::read_to_string(folder.path().join("tone/config.json")).unwrap();
    let several = config.replace("single_label_classification", "multi_label_classification");
    fs::write(folder.path().join("tone/config.json"), several).unwrap();
    let error = with_library(folder.path(), &[&args[..], &["--output", "other"]].concat()).refusal();
    assert_says(&error, &["2 scores that do not exclude each other"]);
    fs::write(folder.path().join("tone/config.json"), config).unwrap();
    let flags = ["--temperature", "0", "--output", "other"];
    let error = with_library(folder.path(), &[&args[..], &flags].concat()).refusal();
    assert_says(&error, &["--temperature 0 must lie above 0"]);
}

#[test]
fn language_models_and_discriminators_are_folders_as_all_others() {
    let folder = folder();
    let path = folder.path();
    let train = |method: &str, output: &str, more: &[&str]| {
        let fixed = ["train", method, "--input", "news.jsonl", "--until", UNTIL, "--output", output];
        run(path, &[&fixed, &SMALL[..], more].concat()).finished()
    };
    let json = train("gpt", "gpt", &["--threads", "1"]);
    assert_eq!((&json["model"], &json["documents"]), (&"gpt".into(), &182.into()), "{json:#}");
    assert!(json["perplexity"].as_f64().unwrap() > 1.0, "{json:#}");
    let json = train("electra", "electra", &["--mask", "spans", "--threads", "1"]);
    assert!(json["loss"].as_f64().unwrap() > 0.0 && json["perplexity"].is_null(), "{json:#}");
    for (method, more) in [("gpt", &[][..]), ("electra", &["--mask", "spans"])] {
        train(method, "again", &[more, &["--threads", "2"]].concat());
        assert!(model_files(&path.join("again")) == model_files(&path.join(method)), "{method}");
        fs::remove_dir_all(path.join("again")).unwrap();
    }
    let class = |folder: &str| {
        let config: Value = serde_json::from_slice(&fs::read(path.join(folder).join("config.json")).unwrap()).unwrap();
        assert_eq!(config["fitted_until"], "2024-06-30T23:59:59", "{folder}");
        config["architectures"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(class("gpt"), "GPT2LMHeadModel");
    assert_eq!([class("electra"), class("electra/generator")], ["ElectraForPreTraining", "ElectraForMaskedLM"]);
    // Both are trained on for text, by the command that began them, and for labels.
    for base in ["gpt", "electra"] {
        let fixed =
            ["train", base, "--base", base, "--input", "news.jsonl", "--epochs", "1", "--output", "on", "--batch", "8"];
        assert_eq!(run(path, &fixed).finished()["fitted_until"], "2024-10-26T23:59:59");
        fs::remove_dir_all(path.join("on")).unwrap();
        let json = finetune(path, base, "tone", &[]);
        assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{base}: {json:#}");
    }
    let json = finetune(path, "gpt", "tone", &["--words", "0.5"]);
    assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");
    let refused =
        |args: &[&str]| run(path, &[&["train"], args, &["--input", "news.jsonl", "--output", "x"]].concat()).refusal();
    assert_says(&refused(&["bert", "--base", "gpt"]), &["gpt is trained on by: train gpt"]);
    assert_says(
        &refused(&["finetune", "--base", "electra", "--words", "1"]),
        &["is a discriminator, which has no head"],
    );
    fs::remove_dir_all(path.join("electra/generator")).unwrap();
    assert_says(&refused(&["electra", "--base", "electra"]), &["put the generator's folder into electra/generator"]);

    if !has_library() {
        return;
    }
    let args = ["eval", "onnx", "--model", "tone", "--read", "scores", "--input", "news.jsonl"];
    let json = with_library(path, &args).finished();
    assert!(json["accuracy"].as_f64().unwrap() > 0.95, "{json:#}");
    for model in ["gpt", "electra"] {
        let args = ["embed", "--model", model, "--input", "news.jsonl", "--read", "surprise", "--output", "s.csv"];
        with_library(path, &args).finished();
        assert_eq!(fs::read_to_string(path.join("s.csv")).unwrap().lines().count(), 301, "{model}");
    }
}

#[test]
fn names_that_took_the_place_of_others_are_learned_from_a_projects_table() {
    let copy = demo::third().copy();
    let path = copy.path();
    let table = ".inkstone/securities.parquet";
    let train = |output: &str, more: &[&str]| {
        let fixed = ["train", "bert", "--input", ".inkstone/clean", "--output", output, "--until", "2023-06-30"];
        run(path, &[&fixed, &SMALL[..], more].concat())
    };
    let json = train("named", &["--replace-names", table, "--threads", "1"]).finished();
    assert!((0.0..=1.0).contains(&json["name_accuracy"].as_f64().unwrap()), "{json:#}");
    assert_eq!(json["order_accuracy"], Value::Null);
    let written = model_files(&path.join("named"));
    train("named", &["--replace-names", table, "--threads", "2"]).finished();
    assert!(model_files(&path.join("named")) == written);
    let config: Value = serde_json::from_slice(&written["config.json"]).unwrap();
    assert_eq!(config["architectures"], json!(["BertForMaskedLM"]));
    fs::write(path.join("news.jsonl"), "{\"text\":\"今日天气晴朗，宜出行。\",\"time\":\"2024-01-02\"}\n".repeat(20))
        .unwrap();
    let fixed = ["train", "bert", "--input", "news.jsonl", "--output", "x", "--replace-names", table];
    let none = run(path, &[&fixed, &SMALL[..]].concat()).refusal();
    assert_says(&none, &["no document with a time names a company of", "securities.parquet"]);
}

#[test]
fn the_order_of_sentences_is_learned_beside_the_words() {
    let folder = folder();
    let path = folder.path();
    // A second sentence that always stands behind the first.
    let text = |i: usize| json!({"text": format!("公司发布公告{}。净利润同比增长。", i % 13), "time": "2024-01-02"});
    let written: String = (0..400).map(|i| text(i).to_string() + "\n").collect();
    fs::write(path.join("news.jsonl"), written).unwrap();
    let train = |task: &str, epochs: &str, threads: &str| {
        let fixed = ["train", "bert", "--input", "news.jsonl", "--sentences", task, "--output", task];
        let more = ["--epochs", epochs, "--threads", threads, "--lr", "0.003", "--batch", "8"];
        // All sizes, but not the training of other tests.
        run(path, &[&fixed, &SMALL[..10], &more].concat()).finished()
    };
    let json = train("order", "15", "1");
    assert!(json["order_accuracy"].as_f64().unwrap() > 0.95, "{json:#}");
    let written = model_files(&path.join("order"));
    train("order", "15", "2");
    assert!(model_files(&path.join("order")) == written);
    // All second halves are alike here, so the task cannot be learned.
    let json = train("next", "2", "2");
    assert!(json["order_accuracy"].as_f64().unwrap() < 0.9, "{json:#}");
    let config = fs::read_to_string(path.join("order/config.json")).unwrap();
    assert!(config.contains("BertForPreTraining"), "{config}");
    // Swapped halves are found among three relations, and tokens in another order are learned beside them.
    let fixed = ["train", "bert", "--base", "order", "--sentences", "three", "--shuffle-share", "0.05"];
    let more = ["--input", "news.jsonl", "--epochs", "15", "--lr", "0.003", "--batch", "8", "--output", "three"];
    let json = run(path, &[&fixed[..], &more].concat()).finished();
    // All second halves are alike, so that those of other texts are found by chance.
    assert!((0.5..0.9).contains(&json["order_accuracy"].as_f64().unwrap()), "{json:#}");
    // Such an encoder is a base as all others.
    let fixed = ["train", "bert", "--base", "order", "--sentences", "order", "--input", "news.jsonl", "--output", "on"];
    let json = run(path, &[&fixed[..], &["--epochs", "1", "--lr", "0.0001"]].concat()).finished();
    assert!(json["order_accuracy"].as_f64().unwrap() > 0.95, "{json:#}");
    fs::write(path.join("labelled.jsonl"), lines(0, 100)).unwrap();
    let tuned =
        ["train", "finetune", "--base", "order", "--input", "labelled.jsonl", "--epochs", "1", "--output", "tone"];
    run(path, &tuned).finished();
}

#[test]
fn vintages_know_their_own_past_alone() {
    let folder = folder();
    let path = folder.path();
    let fixed = ["train", "bert", "--vintages", "quarter", "--input", "news.jsonl", "--output", "pit"];
    let train = || run(path, &[&fixed, &SMALL[..]].concat()).finished();
    let json = train();
    let vintages = json["vintages"].as_array().unwrap();
    let figures: Vec<(&str, u64, &str)> = vintages
        .iter()
        .map(|v| (v["window"].as_str().unwrap(), v["documents"].as_u64().unwrap(), v["fitted_until"].as_str().unwrap()))
        .collect();
    assert_eq!(figures[0], ("2024Q1", 91, "2024-03-31T23:59:59"));
    assert_eq!(figures[3], ("2024Q4", 26, "2024-10-26T23:59:59"));
    let files = |window: &str| model_files(&path.join("pit").join(window));
    let before: Vec<_> = figures.iter().map(|(window, ..)| files(window)).collect();
    let written =
        |window: &str| fs::metadata(path.join("pit").join(window).join("config.json")).unwrap().modified().unwrap();
    let times = ["2024Q1", "2024Q2", "2024Q3"].map(written);
    // The future is written anew and goes on: the encoders of the past are the same, and stay where they are.
    let other = lines(0, 274) + &lines(274, 60).replace("公司", "海外").replace("增长", "停产");
    fs::write(path.join("news.jsonl"), other).unwrap();
    let json = train();
    assert_eq!(json["vintages"][3]["documents"], 60, "{json:#}");
    assert_eq!(["2024Q1", "2024Q2", "2024Q3"].map(written), times);
    for (place, window) in ["2024Q1", "2024Q2", "2024Q3", "2024Q4"].into_iter().enumerate() {
        assert_eq!(files(window) == before[place], place < 3, "{window}");
    }
    // Trained anew in another folder they have the same bytes.
    run(path, &[&fixed[..6], &["--output", "anew"], &SMALL[..]].concat()).finished();
    assert!(model_files(&path.join("anew/2024Q2")) == before[1]);
}

/// 120 texts with the places of their names, in bytes.
pub(crate) fn lines_with_names() -> String {
    let companies = ["贵州茅台", "宁德时代", "招商银行"];
    let people = ["张伟", "王芳"];
    let named = |i: usize| {
        let (company, person) = (companies[i % 3], people[i / 3 % 2]);
        let text = format!("公司公告：{company}净利润增长，{person}任董事长。");
        let place = |name: &str| text.find(name).map(|start| (start, start + name.len())).unwrap();
        let [(a, b), (c, d)] = [place(company), place(person)];
        let entities = json!([{"kind": "公司", "start": a, "end": b}, {"kind": "人", "start": c, "end": d}]);
        json!({"text": text, "entities": entities, "time": "2024-05-01"})
    };
    (0..120).map(|i| named(i).to_string() + "\n").collect()
}

#[test]
fn pairs_and_names_are_learned() {
    let folder = folder();
    let path = folder.path();
    pretrain(path, "pit", &[]);
    // Whether the second text says the same as the first one.
    let texts = ["公司净利润大幅增长。", "公司净利润大幅下滑。"];
    let pair = |i: usize| {
        let (first, second) = (i % 2, i / 2 % 2);
        json!({"text": texts[first], "pair": texts[second], "label": if first == second { "同" } else { "异" }})
    };
    let written: String = (0..240).map(|i| pair(i).to_string() + "\n").collect();
    fs::write(path.join("pairs.jsonl"), written).unwrap();
    let fixed = [
        "train",
        "finetune",
        "--base",
        "pit",
        "--input",
        "pairs.jsonl",
        "--lr",
        "0.01",
        "--fitted-until",
        "2024-12-31",
    ];
    let json = run(path, &[&fixed[..], &["--epochs", "60", "--dropout", "0", "--output", "same"]].concat()).finished();
    assert!(json["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");

    fs::write(path.join("names.jsonl"), lines_with_names()).unwrap();
    let fixed = ["train", "entities", "--base", "pit", "--input", "names.jsonl", "--lr", "0.01", "--epochs", "20"];
    let json = run(path, &[&fixed[..], &["--output", "names"]].concat()).finished();
    assert_eq!((&json["kinds"], &json["documents"]), (&json!({"人": 120, "公司": 120}), &120.into()), "{json:#}");
    assert!(json["held_out"]["micro"]["f1"].as_f64().unwrap() > 0.95, "{json:#}");
    // A line whose entities are not in its text is set aside.
    let bad = json!({"text": "公司", "entities": [{"kind": "公司", "start": 1, "end": 90}]}).to_string();
    let written = fs::read_to_string(path.join("names.jsonl")).unwrap() + &bad;
    fs::write(path.join("bad.jsonl"), written).unwrap();
    let args = ["train", "entities", "--base", "pit", "--input", "bad.jsonl", "--epochs", "1", "--output", "bad"];
    let json = run(path, &args).json();
    assert_eq!((&json["status"], &json["documents"]), (&"partial".into(), &120.into()), "{json:#}");
    assert!(json.to_string().contains("with entities that are not kind, start and end"), "{json:#}");
    let error = run(path, &["train", "entities", "--base", "pit", "--input", "news.jsonl", "--output", "x"]).refusal();
    assert_says(&error, &["no line has a name to learn", "entities"]);

    if !has_library() {
        return;
    }
    let eval = |model: &str, input: &str, task: &str| {
        with_library(path, &["eval", "onnx", "--model", model, "--input", input, "--task", task]).finished()
    };
    let json = eval("same", "pairs.jsonl", "pairs");
    assert!(json["accuracy"].as_f64().unwrap() > 0.9, "{json:#}");
    let json = eval("names", "names.jsonl", "entities");
    assert!(json["against"]["micro"]["f1"].as_f64().unwrap() > 0.95, "{json:#}");
}

#[test]
fn what_cannot_be_trained_is_refused_with_the_way_out() {
    let folder = folder();
    let path = folder.path();
    pretrain(path, "pit", &[]);
    let refused = |args: &[&str]| run(path, &[&["train"], args].concat()).refusal();
    let tune = |more: &[&str]| refused(&[&["finetune", "--input", "news.jsonl", "--output", "tone"], more].concat());
    assert_says(&tune(&["--base", "nothing"]), &["no folder of a model with config.json and model.safetensors"]);
    assert_says(&tune(&["--base", "pit", "--train", "top:9"]), &["the last 9 of 1 layers", "give 1 to 1"]);
    assert_says(&tune(&["--base", "pit", "--train", "lora:99"]), &["a rank of 99 does not suit a width of 16"]);
    assert_says(
        &tune(&["--base", "pit", "--max-tokens", "500"]),
        &["--max-tokens 500 is more than the model's 128 places"],
    );
    assert!(!path.join("tone").exists());
    // A training that fails leaves the model that was there.
    let there = model_files(&path.join("pit"));
    assert_says(
        &refused(&["bert", "--input", "news.jsonl", "--output", "pit", "--hidden", "15"]),
        &["15 cannot be shared by 4 heads"],
    );
    assert!(model_files(&path.join("pit")) == there);
    let config = fs::read_to_string(path.join("pit/config.json")).unwrap();
    fs::create_dir(path.join("unsaid")).unwrap();
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(path.join("pit").join(file), path.join("unsaid").join(file)).unwrap();
    }
    fs::write(path.join("unsaid/config.json"), config.replace("fitted_until", "written")).unwrap();
    assert_says(&tune(&["--base", "unsaid"]), &["does not say how far the text reaches", "--fitted-until"]);
    let vocabulary = serde_json::from_str::<Value>(&config).unwrap()["vocab_size"].to_string();
    let fewer = config.replace(&format!("\"vocab_size\": {vocabulary}"), "\"vocab_size\": 9");
    fs::write(path.join("unsaid/config.json"), fewer).unwrap();
    assert_says(&tune(&["--base", "unsaid"]), &["the tokenizer in unsaid has", "vectors of 9 (vocab_size)"]);
    assert_says(&refused(&["bert", "--input", "-", "--output", "m"]), &["read twice", "--input"]);
    assert_says(
        &refused(&["bert", "--input", "news.jsonl", "--output", "m", "--hidden", "15"]),
        &["15 cannot be shared by 4 heads"],
    );
    // A folder of the user's is not touched.
    fs::create_dir(path.join("theirs")).unwrap();
    fs::write(path.join("theirs/notes.txt"), "mine").unwrap();
    let before = model_files(&path.join("theirs"));
    assert_says(&refused(&["bert", "--input", "news.jsonl", "--output", "theirs"]), &["theirs"]);
    assert!(model_files(&path.join("theirs")) == before);
    let unlabelled = lines(0, 40).replace("label", "mark").replace("\"value\"", "\"number\"");
    let error = run_on(
        path,
        &["train", "finetune", "--base", "pit", "--input", "-", "--format", "jsonl", "--output", "t"],
        unlabelled.as_bytes(),
    );
    assert_says(&error.refusal(), &["no line has what is to be learned"]);
}

/// A feature whose folds train an encoder on from one of the project's own text.
const FEATURE: &str = r#"
[[feature]]
name = "own"
model = "finetune"
finetune = { base = "pit", max_tokens = 48, training = { train = "top:1", epochs = 2, lr = 0.003 } }
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }
classes = { tail = 0.4 }
"#;

#[test]
fn each_fold_of_a_feature_trains_a_base_on_and_workers_share_the_folds() {
    let copy = demo::small().copy();
    let folder = copy.path();
    let config = folder.join("workbench.toml");
    let sources = fs::read_to_string(&config).unwrap().split("\n[[feature]]").next().unwrap().to_owned();
    fs::write(&config, format!("{sources}\n{FEATURE}")).unwrap();
    let fixed = [
        "train",
        "bert",
        "--input",
        ".inkstone/clean",
        "--until",
        "2023-06-30",
        "--output",
        "pit",
        "--max-tokens",
        "48",
    ];
    let json = run(folder, &[&fixed[..], &SMALL[..]].concat()).finished();
    let seen = json["fitted_until"].as_str().unwrap().to_owned();
    assert!(seen.starts_with("2023-06"), "{json:#}");

    let other = tempfile::tempdir().unwrap();
    copy_folder(folder, other.path());
    let json = run(other.path(), &["extract", "--headless"]).finished();
    let facts = &stage(&json, "extract own")["facts"];
    let fitted: Vec<&Value> =
        facts["folds"].as_array().unwrap().iter().filter(|fold| !fold["fitted_until"].is_null()).collect();
    assert!(fitted.len() > 3 && fitted.iter().all(|fold| fold["in_sample"].as_f64() > Some(0.0)), "{facts:#}");
    let project = Project::new(other.path().join(".inkstone"));
    let store = Store::open(&project.store()).unwrap();
    let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == "own").unwrap();
    assert_eq!(json!(header.spec.fitted_until), Value::from(seen.as_str()));
    assert_eq!(header.meta["networks"].as_array().unwrap().len(), facts["folds"].as_array().unwrap().len());
    drop(store);

    // Half of the folds by workers: the bytes of one machine.
    run(folder, &["plan", "--feature", "own", "--tasks", "2", "--out", "own.plan", "--headless"]).finished();
    run(folder, &["work", "own.plan", "--task", "1", "--threads", "1"]).finished();
    let json = run(folder, &["extract", "--headless"]).finished();
    assert!(stage(&json, "extract own")["facts"]["taken_parts"].as_u64().unwrap() > 0, "{json:#}");
    let rows = |folder: &Path| files_below(&Project::new(folder.join(".inkstone")).store().join("rows"));
    assert!(rows(folder) == rows(other.path()));

    // Another base makes another set; a base that is not there leaves the feature out, and says why.
    let weights = folder.join("pit/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, bytes).unwrap();
    let json = run(folder, &["extract", "--headless"]).finished();
    assert!(crate::computed(&json).contains(&"extract own"), "{json:#}");
    fs::remove_file(folder.join("pit/config.json")).unwrap();
    assert_says(&run(folder, &["extract", "--headless"]).refusal(), &["pit", "config.json"]);
}

#[test]
fn folds_take_the_last_vintage_that_knows_no_later_text() {
    let copy = demo::small().copy();
    let folder = copy.path();
    let config = folder.join("workbench.toml");
    let sources = fs::read_to_string(&config).unwrap().split("\n[[feature]]").next().unwrap().to_owned();
    fs::write(&config, format!("{sources}\n{FEATURE}")).unwrap();
    let fixed = ["train", "bert", "--input", ".inkstone/clean", "--vintages", "half", "--output", "pit"];
    let json = run(folder, &[&fixed[..], &["--max-tokens", "48"], &SMALL[..]].concat()).finished();
    let ends: Vec<&str> =
        json["vintages"].as_array().unwrap().iter().map(|v| v["fitted_until"].as_str().unwrap()).collect();
    assert!(ends.len() > 2 && ends.is_sorted(), "{json:#}");
    let json = run(folder, &["extract", "--headless"]).finished();
    let folds = stage(&json, "extract own")["facts"]["folds"].as_array().unwrap().clone();
    let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
    let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == "own").unwrap();
    assert_eq!(json!(header.spec.fitted_until), Value::from(ends[0]));
    let networks = header.meta["networks"].as_array().unwrap();
    let mut taken = Vec::new();
    for (fold, network) in folds.iter().zip(networks).filter(|(_, network)| !network.is_null()) {
        let seen = network["vectors_until"].as_str().unwrap();
        let begins = fold["test"][0].as_str().unwrap();
        assert!(seen[..10] < *begins, "{seen} {begins}");
        // A later vintage would have been taken if its text ended before the last training documents, whose labels take some days.
        let day = |text: &str| text[..10].parse::<chrono::NaiveDate>().unwrap();
        let last = day(fold["train"][1].as_str().unwrap()) - chrono::Days::new(10);
        assert!(ends.iter().find(|end| **end > seen).is_none_or(|end| day(end) >= last), "{fold:#} {seen}");
        taken.push(seen.to_owned());
    }
    taken.dedup();
    assert!(taken.len() > 1, "{taken:?}");
    drop(store);
    // Vintages that do not cut text alike are refused.
    let tokenizer = folder.join("pit").join("2023H2").join("tokenizer.json");
    let written = fs::read_to_string(&tokenizer).unwrap();
    fs::write(&tokenizer, written.replacen("BertNormalizer", "Lowercase", 1)).unwrap();
    assert_says(&run(folder, &["extract", "--headless"]).refusal(), &["2023H2", "cuts text otherwise than"]);
}
