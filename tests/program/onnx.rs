//! Contextual models through the program, on the reference graphs: rows, figures, explanations, summaries, and runs that are stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Ran, assert_says, edit, has_library, inkstone, run, run_on};
use inkstone_testing::not_tried;

const LINES: &str = "净利润同比增长\n公司拟回购股份，金额不超过3亿元。\nAI芯片Q3订单约12.5亿元，ROE升至8%！\n";

/// The folder of a reference graph.
pub(super) fn graph(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/onnx").join(name).display().to_string()
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&fs::read(PathBuf::from(graph(name)).join("expected.json")).unwrap()).unwrap()
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.txt"), LINES).unwrap();
    folder
}

/// The rows that `embed` writes with these flags.
fn rows(folder: &Path, model: &str, flags: &[&str]) -> Vec<Vec<f64>> {
    let fixed = ["embed", "--model", &graph(model), "--input", "news.txt", "--output", "rows.csv", "--device", "cpu"];
    let json = run(folder, &[&fixed, flags].concat()).finished();
    assert_eq!((&json["model"], &json["ran"]["device"]), (&"onnx".into(), &"cpu".into()), "{json:#}");
    let table = fs::read_to_string(folder.join("rows.csv")).unwrap();
    let numbers = |line: &str| line.split(',').skip(1).map(|value| value.parse().unwrap()).collect();
    table.lines().skip(1).map(numbers).collect()
}

fn near(found: &[f64], wanted: &Value) {
    let wanted: Vec<f64> = serde_json::from_value(wanted.clone()).unwrap();
    assert_eq!(found.len(), wanted.len());
    assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?} {wanted:?}");
}

/// Copies a folder that sentence-transformers has saved, with the graph of the reference `bert` in `onnx/`, to `models/bge` in `folder`.
fn publish(case: &str, folder: &Path) {
    let expected_file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/sentence-transformers/cases").join(case);
    let to = folder.join("models/bge");
    for inner in ["onnx", "1_Pooling", "2_Normalize"] {
        fs::create_dir_all(to.join(inner)).unwrap();
    }
    for file in
        ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"]
    {
        fs::copy(expected_file.join(file), to.join(file)).unwrap();
    }
    for (file, place) in
        [("config.json", "."), ("tokenizer.json", "."), ("model.onnx", "onnx"), ("model_int8.onnx", "onnx")]
    {
        fs::copy(PathBuf::from(graph("bert")).join(file), to.join(place).join(file)).unwrap();
    }
}

#[test]
fn a_published_folder_is_read_as_it_says_and_flags_go_first() {
    if !has_library() {
        return;
    }
    let folder = folder();
    publish("prompts", folder.path());
    let embed = |model: &str, flags: &[&str]| {
        let fixed = ["embed", "--model", model, "--input", "news.txt", "--output", "rows.csv", "--device", "cpu"];
        let json = run(folder.path(), &[&fixed, flags].concat()).finished();
        let table = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
        let numbers = |line: &str| line.split(',').skip(1).map(|value| value.parse().unwrap()).collect::<Vec<f64>>();
        (json["ran"].clone(), numbers(table.lines().nth(1).unwrap()))
    };
    let length = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>().sqrt();
    let (ran, row) = embed("models/bge", &[]);
    assert_eq!(ran["file"], "onnx/model.onnx");
    assert_eq!(
        ran["used"],
        json!([
            "pooling = mean: 1_Pooling/config.json",
            "normalise = true: modules.json (2_Normalize)",
            "max_tokens = 40: sentence_bert_config.json",
        ])
    );
    assert!((length(&row) - 1.0).abs() < 1e-5, "{row:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/sentence-transformers/expected.json");
    let expected: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let uses = expected["prompts"]["uses"].as_array().unwrap();
    near(&row, &uses[0]["vectors"][0]);
    near(&embed("models/bge", &["--prompt", "query"]).1, &uses[1]["vectors"][0]);
    let (ran, row) = embed("models/bge/onnx/model_int8.onnx", &["--pooling", "cls", "--normalise=false", "--dim", "4"]);
    assert_eq!((ran["file"].as_str(), row.len()), (Some("onnx/model_int8.onnx"), 4));
    let used_device = ran["used"].to_string();
    assert_says(
        &used_device,
        &["pooling = cls, where 1_Pooling/config.json says mean", "(2_Normalize) says true", "dim = 4"],
    );
    let fixed = ["embed", "--model", "models/bge", "--input", "news.txt", "--output", "rows.csv", "--prompt", "title"];
    assert_says(&run(folder.path(), &fixed).refusal(), &["no prompt \"title\"", "document, passage, query"]);
}

#[test]
fn rows_are_those_of_pytorch_in_every_form() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let expected = &expected("bert")["pooled"];
    let mut all_rows = Vec::new();
    for pooling in ["mean", "cls"] {
        let found = rows(folder.path(), "bert", &["--pooling", pooling]);
        found.iter().zip(0..).for_each(|(row, i)| near(row, &expected[pooling][i]));
        assert_eq!(found.len(), 3);
        all_rows = found;
    }
    let layers = rows(folder.path(), "bert", &["--layers", "last:2:concat"]);
    near(&layers[1], &expected["last-2-concat"][1]);
    let small = rows(folder.path(), "bert/model_int8.onnx", &["--pooling", "cls"]);
    assert!(small != all_rows && small.iter().flatten().all(|value| value.is_finite()));
    // The first window is what a limit leaves of the text.
    let head = rows(folder.path(), "bert", &["--truncation", "head:10"]);
    let windows = |over| rows(folder.path(), "bert", &["--max-len", "10", "--stride", "4", "--over-windows", over]);
    let first = windows("first");
    assert!(first.iter().flatten().zip(head.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-5));
    assert!(windows("mean") != first);
    let unit = &rows(folder.path(), "bert", &["--normalise"])[0];
    assert!((unit.iter().map(|value| value * value).sum::<f64>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_model_is_looked_at_before_a_long_run() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let eval = |model: &str, input: &str, flags: &[&str]| {
        fs::write(folder.path().join("in.txt"), input).unwrap();
        let model = graph(model);
        run(folder.path(), &[&["eval", "onnx", "--model", &model, "--input", "in.txt"], flags].concat())
    };
    let masked = &expected("bert-mlm")["masked"];
    let json = eval("bert-mlm", masked["text"].as_str().unwrap(), &["--task", "fill-mask"]).finished();
    let guesses = json["filled"][0]["masks"][0].as_array().unwrap();
    let tokens: Vec<&Value> = guesses.iter().map(|guess| &guess["token"]).collect();
    let wanted: Vec<&Value> = masked["top"].as_array().unwrap().iter().map(|guess| &guess["token"]).collect();
    assert_eq!(tokens, wanted);
    assert_eq!(json["ran"]["device"], "cpu", "{json:#}");

    let pairs = "订单增长\t订单增长\t5\n订单增长\t现金流为负\t1\n净利润\t净利润下滑\t3\n";
    let json = eval("bert", pairs, &[]).finished();
    assert!((json["cosines"][0].as_f64().unwrap() - 1.0).abs() < 1e-5, "{json:#}");
    assert!(json["spearman"].is_number() && json["pairs"] == 3);
    assert_says(&eval("bert", "没有制表符\n", &[]).refusal(), &["line 1 is no pair"]);

    let labelled = "{\"text\":\"净利润增长\",\"label\":\"positive\"}\n{\"text\":\"订单下滑\",\"label\":\"negative\"}\n";
    let json = eval("bert-classifier", labelled, &["--format", "jsonl", "--task", "labels"]).finished();
    assert!(json["accuracy"].is_number(), "{json:#}");
    let other = labelled.replace("negative", "worse");
    let error = eval("bert-classifier", &other, &["--format", "jsonl", "--task", "labels"]).refusal();
    assert_says(&error, &["line 2", "\"worse\"", "negative, neutral, positive"]);

    let json = eval("gpt2", "净利润同比增长\n", &["--task", "perplexity"]).finished();
    let surprise: Vec<f64> = serde_json::from_value(expected("gpt2")["surprise"][0].clone()).unwrap();
    let mean = surprise.iter().sum::<f64>() / surprise.len() as f64;
    assert!((json["perplexity"].as_f64().unwrap() / 10f64.powf(mean) - 1.0).abs() < 1e-3, "{json:#}");

    let json = eval("bert", LINES, &["--against", &graph("bert/model_int8.onnx")]).finished();
    assert!(json["mean_cosine"].as_f64().unwrap() > 0.98 && json["documents"] == 3, "{json:#}");
    assert!(json["most_difference"].as_f64().unwrap() > 0.0);

    let json = eval("bert-tokens", LINES, &["--task", "entities"]).finished();
    for (document, wanted) in
        json["documents"].as_array().unwrap().iter().zip(expected("bert-tokens")["entities"].as_array().unwrap())
    {
        let shown = |e: &Value, kind: &str| json!([e[kind], e["text"], e["start"], e["end"]]);
        let found: Vec<Value> = document["entities"].as_array().unwrap().iter().map(|e| shown(e, "kind")).collect();
        let wanted: Vec<Value> = wanted.as_array().unwrap().iter().map(|e| shown(e, "type")).collect();
        assert_eq!(found, wanted);
    }
    assert!(json["kinds"]["ORG"].as_u64().unwrap() > 5, "{json:#}");
}

#[test]
fn a_converted_model_is_used_without_a_flag() {
    if !has_library() {
        return;
    }
    let folder = folder();
    publish("prompts", folder.path());
    let convert = |model: &str, output: &str, flags: &[&str]| {
        run(folder.path(), &[&["convert", "--model", model, "--output", output], flags].concat())
    };
    let embed = |model: &str| {
        let fixed = ["embed", "--model", model, "--input", "news.txt", "--output", "rows.csv", "--device", "cpu"];
        run(folder.path(), &fixed).finished()["ran"]["used"].clone()
    };
    let used = embed("models/bge");
    for (precision, least) in [("fp16", 0.99999), ("int8", 0.98)] {
        let json = convert("models/bge", precision, &["--precision", precision]).finished();
        let graph = &json["graphs"][0];
        assert_eq!((&graph["file"], &graph["left"]), (&"model.onnx".into(), &json!({})), "{json:#}");
        assert!(graph["bytes"][1].as_u64() < graph["bytes"][0].as_u64(), "{json:#}");
        assert_eq!(embed(precision), used);
        let fixed = ["eval", "onnx", "--model", "models/bge", "--input", "news.txt", "--against", precision];
        let json = run(folder.path(), &[&fixed[..], &["--device", "cpu"]].concat()).finished();
        assert!(json["mean_cosine"].as_f64().unwrap() > least && json["documents"] == 3, "{json:#}");
        assert!(json["most_difference"].as_f64().unwrap() > 0.0, "{json:#}");
    }
    // Weights become a graph as they are.
    let weights =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/architectures/bert").display().to_string();
    let json = convert(&weights, "graph", &[]).finished();
    assert_eq!(json["graphs"][0]["bytes"][0], json["graphs"][0]["bytes"][1]);
    assert!(folder.path().join("graph/model.onnx").is_file());
    assert_says(&convert("int8", "smaller", &["--precision", "int8"]).refusal(), &["is quantised already"]);
    assert_says(&convert("models/bge", ".", &[]).refusal(), &["Inkstone did not make that folder", "--output"]);
}

#[test]
fn scores_are_explained_and_like_texts_found() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let text = "净利润同比增长。订单下滑！";
    for (unit, parts) in [("sentence", 2), ("token", 13)] {
        let flags = ["explain", "--model", &graph("bert-classifier"), "--read", "scores", "--unit", unit, "--top", "0"];
        let json = run(folder.path(), &[&flags[..], &["--text", text]].concat()).finished();
        let explanation = &json["explanations"][0];
        let terms = explanation["terms"].as_array().unwrap();
        assert_eq!((terms.len(), &explanation["of"]), (parts, &"tone".into()), "{explanation:#}");
        let score = explanation["score"].as_f64().unwrap();
        for part in terms {
            let sum = part["value"].as_f64().unwrap() + part["detail"]["without"].as_f64().unwrap();
            assert!((sum - score).abs() < 1e-6, "{part}");
        }
    }
    let vector = run(folder.path(), &["explain", "--model", &graph("bert"), "--text", text]).refusal();
    assert_says(&vector, &["a vector is no score", "--read scores"]);
    let flags = ["nearest", "--model", &graph("bert"), "--input", "news.txt", "--text", "净利润同比增长", "--k", "2"];
    let json = run(folder.path(), &flags).finished();
    let found = json["nearest"].to_string();
    assert!(found.contains("\"1\"") && json["documents"] == 3, "{json:#}");
}

#[test]
fn two_texts_are_read_in_one_input() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/pairs");
    let expected: Value = serde_json::from_slice(&fs::read(pairs.join("expected.json")).unwrap()).unwrap();
    let model = |name: &str| pairs.join(name).display().to_string();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let lines: Vec<String> =
        (0..3).map(|i| json!({"id": i.to_string(), "text": expected["texts"][i]}).to_string()).collect();
    fs::write(folder.path().join("news.jsonl"), lines.join("\n")).unwrap();

    // Labels that no model was trained for.
    let hypotheses = ["good", "bad", "none"].map(|label| format!("{label}={}", text(&expected["labels"][label])));
    let model_of_entailment = model("inference");
    let mut call = vec!["embed", "--model", &model_of_entailment, "--input", "news.jsonl", "--output", "zero.jsonl"];
    call.extend(["--read", "scores"]);
    hypotheses.iter().for_each(|hypothesis| call.extend(["--hypothesis", hypothesis]));
    run(folder.path(), &call).finished();
    let written = fs::read_to_string(folder.path().join("zero.jsonl")).unwrap();
    for (line, wanted) in written.lines().zip(expected["inference"]["one"].as_array().unwrap()) {
        let row: Value = serde_json::from_str(line).unwrap();
        for (label, wanted) in ["good", "bad", "none"].iter().zip(wanted.as_array().unwrap()) {
            assert!((row[label].as_f64().unwrap() - wanted.as_f64().unwrap()).abs() < 1e-5, "{row} {wanted}");
        }
    }
    assert_eq!(written.lines().count(), 3);

    let answers: Value = serde_json::from_slice(&fs::read(pairs.join("answers.json")).unwrap()).unwrap();
    let gold = |case: &Value| json!({"text": case["context"], "answers": [case["answer"]]}).to_string();
    let lines: Vec<String> = answers["cases"].as_array().unwrap().iter().map(gold).collect();
    fs::write(folder.path().join("asked.jsonl"), lines.join("\n")).unwrap();
    let (of_answers, question) = (model("answers"), text(&answers["question"]));
    let call = [
        "eval",
        "onnx",
        "--model",
        &of_answers,
        "--input",
        "asked.jsonl",
        "--task",
        "answers",
        "--question",
        &question,
    ];
    let json = run(folder.path(), &[&call[..], &["--stride", "15", "--max-answer", "8"]].concat()).finished();
    assert_eq!((&json["squad"]["exact_match"], &json["cmrc"]["f1"]), (&json!(1.0), &json!(1.0)), "{json:#}");

    let sought = text(&expected["texts"][0]);
    let (bert, reranker) = (graph("bert"), model("reranker"));
    let call = ["nearest", "--model", &bert, "--input", "news.txt", "--text", &sought, "-k", "2"];
    let json = run(folder.path(), &[&call[..], &["--rerank", &reranker]].concat()).finished();
    let score = |place: usize| json["nearest"][0]["neighbours"][place]["score"].as_f64().unwrap();
    assert!(score(0) >= score(1) && json["reranked"]["file"] == "model.safetensors", "{json:#}");

    let entities = graph("bert-tokens");
    let call =
        ["embed", "--model", &entities, "--input", "news.txt", "--read", "entities", "--list", "--output", "names.csv"];
    let json = run(folder.path(), &call).finished();
    let table = fs::read_to_string(folder.path().join("names.csv")).unwrap();
    assert_eq!(json["entities"].as_u64().unwrap() as usize + 1, table.lines().count(), "{table}");
    assert!(table.starts_with("id,kind,text,start,end,score"), "{table}");
}

#[test]
fn texts_are_written_and_measured() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let generate = |beams: &str, output: &str| {
        let flags = ["generate", "--model", &graph("bart"), "--input", "news.txt", "--output", output];
        run(folder.path(), &[&flags[..], &["--num-beams", beams, "--max-new-tokens", "12"]].concat()).finished()
    };
    assert_eq!(generate("1", "greedy.jsonl")["documents"], 3);
    assert_eq!(generate("4", "beams.jsonl")["ran"]["device"], "cpu");
    let written = fs::read_to_string(folder.path().join("greedy.jsonl")).unwrap();
    let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() == 3 && lines[2]["id"] == "3" && lines[0]["score"].is_number(), "{written}");

    let eval = |written: &str, references: &str, more: &[&str]| {
        run(folder.path(), &[&["eval", "summaries", "-i", written, "--references", references], more].concat())
    };
    fs::write(folder.path().join("true.txt"), "净利润同比大幅增长\n公司拟回购股份\nAI芯片订单约12亿元\n").unwrap();
    for tokens in ["char", "jieba", "zh"] {
        let same = eval("true.txt", "true.txt", &["--tokens", tokens]).finished();
        assert!((same["bleu"]["score"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{same:#}");
        let json = eval("news.txt", "true.txt", &["--tokens", tokens]).finished();
        assert_eq!((&json["pairs"], &json["tokens"]), (&3.into(), &tokens.into()));
        for rouge in ["rouge1", "rouge2", "rouge_l"] {
            let f1 = json[rouge]["f1"].as_f64().unwrap();
            assert!(f1 > 0.1 && f1 < 1.0, "{json:#}");
        }
    }
    assert_eq!(eval("greedy.jsonl", "greedy.jsonl", &[]).finished()["paired_by"], "id");
    fs::write(folder.path().join("one.txt"), "净利润\n").unwrap();
    assert_says(&eval("news.txt", "one.txt", &[]).refusal(), &["3 texts were written", "1 references"]);
    assert_says(&run(folder.path(), &["eval", "summaries", "-i", "news.txt"]).refusal(), &["--references"]);
    assert_says(&run(folder.path(), &["eval", "-i", "news.txt"]).refusal(), &["--model", "eval summaries"]);
    let both = eval("news.txt", "true.txt", &["--model", "m"]);
    assert_says(&both.stderr, &["--references", "cannot be used with", "--model"]);
}

#[test]
fn texts_are_drawn_chosen_and_labelled() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/generation/gpt2").display().to_string();
    fs::write(
        folder.path().join("news.jsonl"),
        "{\"id\": \"a\", \"title\": \"公告\", \"text\": \"净利润同比增长\"}\n{\"id\": \"b\", \"text\": \"\"}\n{\"id\": \"c\", \"text\": \"公司\"}\n",
    )
    .unwrap();
    fs::write(folder.path().join("ask.txt"), "{title}：{body}\n利好还是利空？\n").unwrap();
    let generate = |flags: &[&str]| {
        let fixed =
            ["generate", "--model", &model, "--input", "news.jsonl", "--output", "out.jsonl", "--device", "cpu"];
        run(folder.path(), &[&fixed, flags].concat())
    };
    let lines = |flags: &[&str]| -> Vec<Value> {
        assert_eq!(generate(flags).finished()["documents"], 2);
        let written = fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let drawn = ["--samples", "3", "--temperature", "1.5", "--top-k", "20", "--top-p", "0.95", "--max-new-tokens", "8"];
    assert!(lines(&drawn).iter().all(|line| line["numbers_kept"].is_null() || line["numbers_kept"] == 0.0));
    let first = lines(&[&drawn[..], &["--seed", "7", "--threads", "1"]].concat());
    assert_eq!(first.iter().map(|line| line["sample"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    let ids = |lines: &[Value]| lines.iter().map(|line| line["text"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ids(&lines(&[&drawn[..], &["--seed", "7", "--threads", "2"]].concat())));
    assert_ne!(ids(&first), ids(&lines(&[&drawn[..], &["--seed", "8"]].concat())));

    let labelled = lines(&["--prompt-file", "ask.txt", "--labels", "利好,利空"]);
    for line in &labelled {
        let share = line["利好"].as_f64().unwrap() + line["利空"].as_f64().unwrap();
        assert!((share - 1.0).abs() < 1e-5 && line["利好.mean"].as_f64() > line["利好.sum"].as_f64(), "{line}");
        assert!(["利好", "利空"].contains(&line["answer"].as_str().unwrap()), "{line}");
    }
    assert_eq!((labelled.len(), &labelled[1]["id"]), (2, &"c".into()));
    for line in lines(&["--choices", "利好,利空,不变", "--num-beams", "2"]) {
        assert!(["利好", "利空", "不变"].contains(&line["text"].as_str().unwrap()), "{line}");
    }

    let schema = r#"{"type": "object", "properties": {"tone": {"enum": ["利好", "利空"]}, "why": {"type": "string", "maxLength": 4}}, "required": ["tone", "why"], "additionalProperties": false}"#;
    fs::write(folder.path().join("facts.json"), schema).unwrap();
    let written = ["--json-schema", "facts.json", "--num-beams", "1", "--max-new-tokens"];
    for line in lines(&[&written[..], &["50"]].concat()) {
        assert!(["利好", "利空"].contains(&line["json"]["tone"].as_str().unwrap()), "{line}");
        assert!(line["json"]["why"].as_str().unwrap().chars().count() <= 4, "{line}");
    }
    let cut = generate(&[&written[..], &["5"]].concat()).finished();
    assert_eq!(cut["stages"][0]["facts"]["unfinished_json"], 2, "{cut}");
    fs::write(folder.path().join("wrong.json"), r#"{"type": "colour"}"#).unwrap();
    assert_says(
        &generate(&["--json-schema", "wrong.json", "--max-new-tokens", "8"]).refusal(),
        &["wrong.json", "colour"],
    );
    assert_says(&generate(&["--json-schema", "facts.json", "--choices", "a"]).stderr, &["--choices"]);

    fs::write(folder.path().join("wrong.txt"), "{author}：{text}").unwrap();
    assert_says(
        &generate(&["--prompt-file", "wrong.txt", "--max-new-tokens", "8"]).refusal(),
        &["wrong.txt", "{author}", "{title}, {body}"],
    );
    assert_says(&generate(&["--chat", "--max-new-tokens", "8"]).refusal(), &["no template of a chat", "--prompt-file"]);
    assert_says(&generate(&["--top-k", "3"]).stderr, &["--samples"]);
    assert_says(
        &generate(&["--samples", "2", "--temperature", "0", "--max-new-tokens", "8"]).refusal(),
        &["temperature"],
    );
}

#[test]
fn lines_are_cut_as_a_model_reads_them() {
    let folder = folder();
    let tokenizer = graph("bert/vocab.txt");
    let cut = |flags: &[&str]| {
        run_on(
            folder.path(),
            &[&["tokenize", "--mode", "wordpiece"], flags].concat(),
            "公司AI芯片Q3订单\n\n".as_bytes(),
        )
    };
    assert_eq!(cut(&["--pieces", &tokenizer]).text(), "公 司 ai 芯 片 q ##3 订 单\n\n");
    assert_eq!(cut(&["--pieces", &tokenizer, "--truncate", "tail:5"]).text(), "##3 订 单\n\n");
    assert_says(&cut(&[]).stderr, &["--pieces"]);
    assert_says(&cut(&["--pieces", &tokenizer, "--no-hmm"]).stderr, &["--no-hmm", "are for words"]);
    let other = run_on(folder.path(), &["tokenize", "--pieces", &tokenizer, "--separator", "/"], "订单\n".as_bytes());
    assert_eq!(other.text(), "订/单\n", "a tokenizer makes the mode wordpiece");
}

#[test]
fn doctor_finds_and_says_what_is_missing() {
    if !has_library() {
        return;
    }
    let folder = folder();
    let found = run(folder.path(), &["doctor"]).finished();
    let finding = |json: &Value, what: &str| {
        json["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == what).unwrap().clone()
    };
    assert_eq!(
        (&found["status"], &finding(&found, "ONNX Runtime")["fine"]),
        (&"done".into(), &true.into()),
        "{found:#}"
    );
    assert_says(finding(&found, "libraries")["found"].as_str().unwrap(), &["onnxruntime", "ORT_DYLIB_PATH"]);

    fs::write(folder.path().join("libonnxruntime.so"), "text, not a library").unwrap();
    let ran = run(folder.path(), &["doctor", "--library", "libonnxruntime.so"]);
    let json = ran.json();
    assert_eq!((ran.code, &json["status"]), (Some(1), &"partial".into()), "{json:#}");
    let missing = finding(&json, "ONNX Runtime");
    assert_says(missing["found"].as_str().unwrap(), &["libonnxruntime.so", "no library"]);
    assert_eq!((&missing["fine"], &missing["mend"]), (&false.into(), &"inkstone doctor --fix".into()));
}

/// The program where no variable leads to a library.
fn without_library(folder: &Path, args: &[&str]) -> Command {
    let mut command = inkstone(folder, args);
    for name in ["ORT_DYLIB_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.env("XDG_DATA_HOME", folder).env("PATH", folder);
    command
}

#[test]
fn without_a_library_a_run_says_how_to_get_one() {
    let folder = folder();
    let args = ["embed", "--model", &graph("bert"), "-i", "news.txt", "-o", "rows.csv"];
    let ran = Ran::of(without_library(folder.path(), &args).output().unwrap());
    // Only the system's folders are left, which no variable can hide.
    if ran.code == Some(0) {
        return not_tried("the system keeps a library of ONNX Runtime where every program finds it");
    }
    assert_says(&ran.refusal(), &["there is no ONNX Runtime library", "inkstone doctor --fix"]);
    assert!(!folder.path().join("rows.csv").exists());
    // A project goes on without the features that need one.
    let demo = crate::demo::small().copy();
    fs::remove_dir_all(demo.path().join(".inkstone")).unwrap();
    let ran = Ran::of(without_library(demo.path(), &["run", "--headless"]).output().unwrap());
    let json = ran.json();
    assert_eq!((ran.code, &json["status"]), (Some(1), &"partial".into()), "{json:#}");
    let left_out = json["left_out"].as_array().unwrap();
    let stages: Vec<&str> = left_out.iter().map(|left_out| left_out["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["extract bert", "extract bert_tail", "extract bert_vector", "factor bert"]);
    assert_says(
        left_out[0]["reason"].as_str().unwrap(),
        &["there is no ONNX Runtime library", "inkstone doctor --fix"],
    );
    assert_eq!(json["factors"].as_array().unwrap().len(), 4);
    // Once the library is there, the export names the features that were left out before, though no factor reads them.
    if !has_library() {
        return;
    }
    let stages = |folder: &Path| -> Vec<String> {
        let manifest = fs::read(folder.join("exports/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        manifest["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].to_string()).collect()
    };
    let config = demo.path().join("workbench.toml");
    edit(&config, "expression = \"bert.tone\"", "expression = \"tone\"");
    Ran::of(without_library(demo.path(), &["export", "--headless"]).output().unwrap()).finished();
    assert!(!stages(demo.path()).contains(&"\"extract bert_tail\"".to_owned()));
    run(demo.path(), &["export", "--headless"]).finished();
    assert!(stages(demo.path()).contains(&"\"extract bert_tail\"".to_owned()), "{:?}", stages(demo.path()));
}
