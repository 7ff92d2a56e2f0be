//! Labellers of characters: trained on words and on names, used as a tokenizer, in a project, and to find names.

use std::fmt::Write;
use std::fs;

use inkstone_store::Store;
use inkstone_tables::project::Project;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::Desk;
use crate::{assert_says, run, run_on};

const SUBJECTS: [&str; 5] = ["公司", "云启智联", "北向资金", "券商", "远航能源"];
const VERBS: [&str; 4] = ["拟", "大幅", "减持", "回购"];
const OBJECTS: [&str; 4] = ["股份", "净利润", "3亿元", "债"];

/// Lines of made words with spaces between them.
fn words() -> String {
    let mut text = String::new();
    for i in 0..80 {
        let _ = writeln!(text, "{} {} {} {} 。", SUBJECTS[i % 5], VERBS[i / 5 % 4], VERBS[i % 3], OBJECTS[i / 3 % 4]);
    }
    text
}

/// JSON lines, each with a company's name and a person's.
fn names(first: usize) -> String {
    let (companies, persons) = (["云启智联", "远航能源", "新宁重工", "海川"], ["王建国", "李晓", "陈一鸣"]);
    let mut text = String::new();
    for i in first..first + 60 {
        let (company, person) = (companies[i % 4], persons[i % 3]);
        let before = ["", "今日", "据悉，"][i / 4 % 3];
        let line = format!("{before}{company}董事{person}{}股份。", ["减持", "增持"][i % 2]);
        let start = before.len();
        let person_at = start + company.len() + "董事".len();
        let entities = json!([
            {"kind": "ORG", "start": start, "end": start + company.len()},
            {"kind": "PER", "start": person_at, "end": person_at + person.len()},
        ]);
        let time = format!("2024-01-{:02} 09:00:00", 1 + i % 28);
        let _ = writeln!(text, "{}", json!({"id": format!("n{i}"), "text": line, "entities": entities, "time": time}));
    }
    text
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("words.txt"), words()).unwrap();
    fs::write(folder.path().join("names.jsonl"), names(0)).unwrap();
    fs::write(folder.path().join("later.jsonl"), names(61)).unwrap();
    folder
}

#[test]
fn a_labeller_learns_words_and_cuts_text_into_them() {
    let folder = folder();
    let path = folder.path();
    let mut first: Option<Vec<u8>> = None;
    for threads in ["1", "2", "8"] {
        let flags = [
            "train",
            "crf",
            "-i",
            "words.txt",
            "-o",
            "words.crf",
            "--fitted-until",
            "2023-12-31",
            "--threads",
            threads,
        ];
        let json = run(path, &flags).finished();
        assert_eq!((&json["model"], &json["documents"], &json["settled"]), (&"crf".into(), &80.into(), &true.into()));
        assert_eq!(json["fitted_until"], "2023-12-31T23:59:59", "{json:#}");
        let bytes = fs::read(path.join("words.crf")).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "other bytes with {threads} threads");
    }
    let figures = run(path, &["eval", "crf", "-m", "words.crf", "-i", "words.txt"]).finished();
    assert_eq!((figures["f1"].as_f64(), figures["words"].as_u64()), (Some(1.0), Some(400)), "{figures:#}");
    let text = "远航能源拟回购净利润。 云启智联\n";
    let cut = run_on(path, &["tokenize", "--labeller", "words.crf"], text.as_bytes());
    assert_eq!(cut.text(), "远航能源 拟 回购 净利润 。 云启智联\n");
    let counted = ["train", "bow", "--labeller", "words.crf", "-i", "text.txt", "-o", "bow.model", "--min-df", "1"];
    fs::write(path.join("text.txt"), text).unwrap();
    assert_eq!(run(path, &counted).finished()["vocabulary"], 5);
    let refused = run(path, &["embed", "-m", "words.crf", "-i", "words.txt", "-o", "rows.csv"]).refusal();
    assert_says(&refused, &["cuts words and finds no names", "tokenize --labeller"]);
}

#[test]
fn a_labeller_learns_names_and_finds_them_in_later_text() {
    let folder = folder();
    let path = folder.path();
    let train = ["train", "crf", "--learn", "entities", "-i", "names.jsonl", "-o", "names.crf"];
    let json = run(path, &train).finished();
    assert_eq!((&json["tokens"], &json["fitted_until"]), (&120.into(), &"2024-01-28T09:00:00".into()), "{json:#}");
    let eval = ["eval", "-m", "names.crf", "-i", "later.jsonl", "--task", "entities"];
    let figures = run(path, &eval).finished();
    assert_eq!(figures["kinds"], json!({"ORG": 60, "PER": 60}));
    assert_eq!(figures["against"]["micro"]["f1"], 1.0, "{figures:#}");
    let found = &figures["documents"][0]["entities"][0];
    assert!(found["kind"] == "ORG" && found["score"].as_f64().unwrap() > 0.8, "{found:#}");

    let list = ["embed", "-m", "names.crf", "-i", "later.jsonl", "-o", "list.jsonl", "--list"];
    assert_eq!(run(path, &list).finished()["entities"], 120);
    let listed = fs::read_to_string(path.join("list.jsonl")).unwrap();
    let row: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!((&row["id"], &row["text"]), (&"n61".into(), &"远航能源".into()));
    run(path, &["embed", "-m", "names.crf", "-i", "later.jsonl", "-o", "rows.csv"]).finished();
    assert!(fs::read_to_string(path.join("rows.csv")).unwrap().contains("ORG"));

    // Names as tokens of their own: the senses of a word by the kind of a name.
    let text = "据悉，海川董事陈一鸣增持股份。\n";
    let cut = run_on(path, &["tokenize", "--names", "names.crf"], text.as_bytes());
    assert_eq!(cut.text(), "据悉 ， 海川|ORG 董事 陈一鸣|PER 增持 股份 。\n");
    fs::write(path.join("text.tok"), cut.text().repeat(30)).unwrap();
    let vectors = [
        "train",
        "word2vec",
        "-i",
        "text.tok",
        "--format",
        "tokens",
        "-o",
        "w.model",
        "--dim",
        "4",
        "--min-count",
        "1",
    ];
    run(path, &vectors).finished();
    let near = run(path, &["nearest", "-m", "w.model", "--words", "海川", "--senses", "-k", "2"]).finished();
    assert_eq!(near["nearest"][0]["of"], "海川|ORG");
    assert_eq!(near["nearest"][0]["neighbours"].as_array().unwrap().len(), 2);
    let counted = ["train", "ppmi", "-i", "text.tok", "--format", "tokens", "-o", "p.model", "--counts", "c.npz"];
    run(path, &[&counted[..], &["--dim", "2", "--window", "1"]].concat()).finished();
    let ratio = ["nearest", "-m", "c.npz", "--ratio", "董事,增持", "--words", "陈一鸣|PER"];
    assert_eq!(run(path, &ratio).finished()["words"][0]["ratio"], 1.0);
    let refused = run(path, &["nearest", "-m", "w.model", "--words", "股份", "--senses"]).refusal();
    assert_says(&refused, &["no senses of \"股份\"", "--names"]);
}

#[test]
fn columns_are_read_and_bad_sentences_are_set_aside() {
    let folder = folder();
    let path = folder.path();
    let mut text = String::new();
    for line in names(0).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let all = line["text"].as_str().unwrap();
        for (at, c) in all.char_indices() {
            let inside =
                |name: &Value| (name["start"].as_u64().unwrap()..name["end"].as_u64().unwrap()).contains(&(at as u64));
            let label = line["entities"].as_array().unwrap().iter().find(|name| inside(name)).map(|name| {
                let place = if name["start"].as_u64() == Some(at as u64) { "B" } else { "I" };
                format!("{place}-{}", name["kind"].as_str().unwrap())
            });
            let _ = writeln!(text, "{c}\t{}", label.unwrap_or_else(|| "O".to_owned()));
        }
        text.push('\n');
    }
    text += "坏\n行 B-ORG\n\n坏 X\n";
    fs::write(path.join("names.conll"), text).unwrap();
    let train = ["train", "crf", "--learn", "entities", "--labels", "bio", "-i", "names.conll", "-o", "names.crf"];
    let json = run(path, &train).json();
    assert_eq!((&json["status"], json["stages"][0]["rows_in"].as_u64()), (&"partial".into(), Some(62)), "{json:#}");
    assert_eq!((&json["documents"], &json["labels"]), (&60.into(), &json!(["O", "B-ORG", "I-ORG", "B-PER", "I-PER"])));
    let dropped = &json["stages"][0]["dropped"];
    assert_eq!(dropped["a line of the sentence has no label behind its character"], 1, "{json:#}");
    let figures = run(path, &["eval", "-m", "names.crf", "-i", "later.jsonl"]).finished();
    assert_eq!(figures["against"]["micro"]["f1"], 1.0);
}

#[test]
fn a_labeller_without_sense_is_refused_with_the_way_out() {
    let folder = folder();
    let path = folder.path();
    let train = |more: &[&str]| {
        let ran = run(path, &[&["train", "crf", "-o", "x.crf"], more].concat()).refusal();
        assert!(!path.join("x.crf").exists());
        ran
    };
    fs::write(path.join("dict.txt"), "公司\n净利润\n").unwrap();
    let templates = ["train", "crf", "-i", "words.txt", "-o", "x.crf", "--templates", "c0,x1"];
    assert_says(&run(path, &templates).stderr, &["none of c"]);
    assert_says(&train(&["-i", "words.txt", "--templates", "c0,b0"]), &["--words"]);
    assert_says(
        &train(&["-i", "words.txt", "--words", "dict.txt", "--templates", "c0"]),
        &["no template looks at words"],
    );
    fs::write(path.join("few.jsonl"), "{\"text\":\"公司\",\"entities\":[]}\n").unwrap();
    assert_says(&train(&["-i", "few.jsonl", "--learn", "entities"]), &["no line has a word or a name to learn"]);
    let overlap = json!({"text": "公司", "entities": [
        {"kind": "a", "start": 0, "end": 6}, {"kind": "b", "start": 3, "end": 6}]});
    fs::write(path.join("few.jsonl"), format!("{overlap}\n")).unwrap();
    assert_says(&train(&["-i", "few.jsonl", "--learn", "entities"]), &["no line has a word or a name"]);
    run(path, &["train", "crf", "--learn", "entities", "-i", "names.jsonl", "-o", "names.crf"]).finished();
    let refused = run_on(path, &["tokenize", "--labeller", "names.crf"], "公司\n".as_bytes());
    assert_says(&refused.stderr, &["finds names and does not cut words", "--learn words"]);
    let refused = run_on(path, &["tokenize", "--mode", "crf"], "公司\n".as_bytes());
    assert_says(&refused.stderr, &["--labeller"]);
}

#[test]
fn a_project_cuts_by_a_labeller_and_knows_nothing_of_it_before_its_time() {
    let desk = Desk::new();
    let folder = desk.folder();
    let config = fs::read_to_string(folder.join("workbench.toml")).unwrap();
    let tokenizer = "\n[tokenizer]\nmode = \"crf\"\nlabeller = \"words.crf\"\n";
    desk.write("workbench.toml", format!("{config}{tokenizer}"));
    desk.write("words.txt", "公司 公告 ， 净利润 大幅 增长\n净利润 大幅 下滑 ， 由 盈 转 亏\n".repeat(20));
    run(folder, &["train", "crf", "-i", "words.txt", "-o", "words.crf"]).finished();
    assert_says(&desk.run().refusal(), &["[tokenizer] labeller does not say", "--fitted-until"]);
    run(folder, &["train", "crf", "-i", "words.txt", "-o", "words.crf", "--fitted-until", "2024-03-08"]).finished();
    desk.run().finished();
    let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
    let set = store.sets().unwrap().into_iter().find(|set| set.spec.name == "tone").unwrap();
    assert_eq!(set.spec.fitted_until.unwrap().to_string(), "2024-03-08 23:59:59");
}
