use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::standalone::{CutSpec, LineFormat, Lines};
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_models::Idf;
use inkstone_text::TokenizerParams;

const TEXTS: [&str; 4] = [
    "公司拟回购股份。本次回购的股份将用于股权激励，公司董事会已审议通过回购方案。今日天气晴好。",
    "公司订单大幅增加，订单来自海外客户。海外订单的毛利率高于国内订单。",
    "公司发布业绩预告，净利润同比增长。业绩增长来自新能源业务。",
    "了的和，。",
];

struct Case {
    dir: tempfile::TempDir,
    format: LineFormat,
    params: KeywordParams,
    formulas: Formulas,
    text: String,
    threads: usize,
}

impl Case {
    fn new(params: KeywordParams) -> Case {
        let text = TEXTS.join("\n") + "\n";
        let dir = tempfile::tempdir().unwrap();
        Case { dir, format: LineFormat::Text, params, formulas: Formulas::Keep, text, threads: 2 }
    }

    fn run(&self, name: &str) -> anyhow::Result<(String, inkstone_base::data::Report)> {
        let cut = CutSpec::new(self.format, TokenizerParams::default());
        let ctx = Ctx::new(self.threads, 1)?;
        let mut extractor = Extractor::new(&cut, self.params.clone(), None, Path::new(""))?;
        let open = || Lines::new(std::io::Cursor::new(self.text.clone()), self.format);
        if extractor.wants_counts() {
            extractor.count(&mut open(), &ctx)?;
        }
        let path: PathBuf = self.dir.path().join(name);
        let report = run(&mut open(), &extractor, &path, self.formulas, &ctx)?;
        Ok((std::fs::read_to_string(path)?, report))
    }

    fn error(&self, name: &str) -> String {
        let error = format!("{:#}", self.run(name).unwrap_err());
        assert_eq!(std::fs::read_dir(self.dir.path()).unwrap().count(), 0, "nothing is half there");
        error
    }
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(record: &Value) -> Vec<&str> {
    record["keywords"].as_array().unwrap().iter().map(|k| k["word"].as_str().unwrap()).collect()
}

#[test]
fn each_line_has_its_keywords_and_key_sentences() {
    let case = Case::new(KeywordParams { top: 3, sentences: 2, ..KeywordParams::default() });
    let (text, report) = case.run("k.jsonl").unwrap();
    let found = records(&text);
    assert_eq!(words(&found[0])[0], "回购");
    assert_eq!(words(&found[1])[0], "订单");
    assert_eq!(found[3]["keywords"], serde_json::json!([]));
    let quoted = found[0]["sentences"].as_array().unwrap();
    assert_eq!(quoted.len(), 2, "the one on the weather shares no word");
    for sentence in quoted {
        let place = |name: &str| sentence[name].as_u64().unwrap() as usize;
        assert_eq!(&TEXTS[0][place("start")..place("end")], sentence["text"].as_str().unwrap());
        assert!(!sentence["text"].as_str().unwrap().contains("天气"));
    }
    assert_eq!((&report.facts["documents"], &report.facts["without_keywords"]), (&4.into(), &1.into()));
    assert_eq!(report.facts["sentences"], 7);
}

#[test]
fn tfidf_counts_rarity_in_the_file_itself() {
    let case = Case::new(KeywordParams { method: Method::Tfidf, top: 50, explain: true, ..KeywordParams::default() });
    let found = records(&case.run("k.jsonl").unwrap().0);
    let score = |record: &Value, word: &str| {
        let keywords = record["keywords"].as_array().unwrap();
        keywords.iter().find(|k| k["word"] == word).unwrap()["score"].as_f64().unwrap()
    };
    // In document 2, 公司 (in 3 of 4) and 客户 (in 1 of 4) both occur once.
    let ratio = score(&found[1], "客户") / score(&found[1], "公司");
    assert!((ratio - ((5.0f64 / 2.0).ln() + 1.0) / ((5.0f64 / 4.0).ln() + 1.0)).abs() < 1e-12);
    let explanation = &found[1]["keywords"][0]["explanation"];
    assert_eq!(explanation["score"], found[1]["keywords"][0]["score"]);
    assert!(explanation["formula"].as_str().unwrap().contains("count / candidates x idf"));
}

#[test]
fn a_table_has_a_row_a_keyword_and_a_row_a_sentence() {
    let case = Case::new(KeywordParams { top: 1, sentences: 1, ..KeywordParams::default() });
    let (text, _) = case.run("k.csv").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "id,kind,rank,text,tag,count,score,start,end");
    assert!(lines[1].starts_with("1,keyword,1,回购,v,3,"), "{}", lines[1]);
    assert!(lines[2].starts_with("1,sentence,1,"), "{}", lines[2]);
    assert_eq!(lines.len(), 1 + 3 + 4);
    let mut formula = Case::new(KeywordParams { top: 0, sentences: 1, ..KeywordParams::default() });
    formula.text = "=SUM(A1) 公司拟回购股份。\n".to_owned();
    assert!(formula.run("k.csv").unwrap().0.contains("\n1,sentence,1,=SUM"));
    formula.formulas = Formulas::Quote;
    assert!(formula.run("k.csv").unwrap().0.contains("\n1,sentence,1,'=SUM"));
    let error = Case::new(KeywordParams { explain: true, ..KeywordParams::default() }).error("k.csv");
    assert!(error.contains("write .jsonl"), "{error}");
    assert!(case.run("k.xml").unwrap_err().to_string().contains(".jsonl or .csv"));
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    for method in [Method::Textrank, Method::Tfidf] {
        let params = KeywordParams { method, sentences: 2, explain: true, ..KeywordParams::default() };
        let mut case = Case::new(params);
        case.text = (0..400).map(|i| format!("第{i}号。{}{}\n", TEXTS[i % 3], TEXTS[(i * i) % 4])).collect();
        let mut written = [1, 2, 8].map(|threads| {
            case.threads = threads;
            case.run("k.jsonl").unwrap().0
        });
        written.sort_unstable();
        assert_eq!(written[0], written[2]);
    }
}

#[test]
fn what_cannot_have_keywords_is_told_with_the_way_out() {
    let mut case = Case::new(KeywordParams { pos: vec!["vg".into()], ..KeywordParams::default() });
    let error = case.error("k.jsonl");
    assert!(error.contains("parts of speech vg") && error.contains("--pos all"), "{error}");
    case.text = String::new();
    assert!(case.error("k.jsonl").contains("the input is empty"));
    case.format = LineFormat::Tokens;
    assert!(case.error("k.jsonl").contains("--format text"));
    let mut case = Case::new(KeywordParams { method: Method::Tfidf, ..KeywordParams::default() });
    case.text = TEXTS[0].to_owned();
    assert!(case.error("k.jsonl").contains("one document says nothing"), "{}", case.error("k.jsonl"));
    case.text = String::new();
    assert!(case.error("k.jsonl").contains("the file has no candidates"));
}

#[test]
fn lines_of_tokens_need_no_parts_of_speech() {
    let params = KeywordParams { pos: Vec::new(), method: Method::Tfidf, top: 1, ..KeywordParams::default() };
    let mut case = Case::new(params.clone());
    case.format = LineFormat::Tokens;
    case.text = "订单 订单 增加\n回购 增加\n".into();
    let found = records(&case.run("k.jsonl").unwrap().0);
    assert_eq!((words(&found[0]), words(&found[1])), (vec!["订单"], vec!["回购"]));
    assert_eq!(found[0]["keywords"][0].get("tag"), None);
    let idf = Idf::of_table("增加 9\n", Path::new("idf.txt")).unwrap();
    let cut = CutSpec::new(LineFormat::Tokens, TokenizerParams::default());
    assert!(!Extractor::new(&cut, params, Some(idf), Path::new("")).unwrap().wants_counts());
}
