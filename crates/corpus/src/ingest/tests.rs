//! The stage as a whole, on small files made here.

mod appended;
mod clock;
mod events;
mod relations;
mod vendors;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::demo;
use inkstone_base::data::{Document, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_market as market;
use inkstone_tables::corpus;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

const NEWS: &str = "id,title,body,code,time\n\
    1,业绩预告,公司预计上半年净利润增长，主要因为产品价格上涨。,600000,2024-03-01 15:00:00\n\
    2,对外投资,\"董事会同意投资,建设新的产线\",609,2024/3/4 9:05\n\
    3,人事变动,总经理因个人原因辞职。,SZ000001、600000.XSHG,20240305\n";

/// A folder with source files and a project.
pub(super) struct Desk {
    pub(super) dir: TempDir,
    pub(super) params: Params,
    threads: usize,
}

impl Desk {
    pub(super) fn new() -> Desk {
        let latest = "2025-01-01T00:00:00".parse().ok();
        Desk { dir: tempfile::tempdir().unwrap(), params: Params { latest, ..Params::default() }, threads: 2 }
    }

    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn project(&self) -> Project {
        Project::new(self.dir.path().join("project"))
    }

    pub(super) fn try_run(&self, sources: &[Source]) -> anyhow::Result<Report> {
        run(sources, &self.params, self.dir.path(), &self.project(), &Ctx::new(self.threads, 1).unwrap())
    }

    pub(super) fn run(&self, sources: &[Source]) -> Report {
        let report = self.try_run(sources).unwrap();
        assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
        report
    }

    pub(super) fn error(&self, sources: &[Source]) -> String {
        format!("{:#}", self.try_run(sources).unwrap_err())
    }

    pub(super) fn documents(&self) -> Vec<Document> {
        let parts = self.project().documents().files().unwrap();
        let read = |p: &PathBuf| corpus::documents_from_frame(&frames::read_parquet(p, None).unwrap()).unwrap();
        parts.iter().flat_map(read).collect()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.documents().into_iter().map(|d| d.doc_id).collect()
    }

    pub(super) fn rejects(&self) -> Vec<Reject> {
        let text = fs::read_to_string(self.project().rejects()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every artefact but the log, by name.
    pub(super) fn bytes(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for entry in walkdir::WalkDir::new(self.project().dir()).sort_by_file_name() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(self.project().dir()).unwrap().display().to_string();
            // How the corpus came about is no part of the corpus.
            if entry.file_type().is_file() && !["ingest.json", "revisions.parquet"].contains(&name.as_str()) {
                all.push((name, fs::read(entry.path()).unwrap()));
            }
        }
        all
    }

    pub(super) fn log(&self) -> IngestLog {
        disk::read_json(&self.project().ingest_log()).unwrap()
    }
}

pub(super) fn source(name: &str, path: &str) -> Source {
    Source { name: name.into(), path: path.into(), ..Source::default() }
}

fn codes(document: &Document) -> String {
    corpus::join_codes(&document.codes)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_csv_in_any_encoding_gives_the_same_documents() {
    let big5 =
        NEWS.replace("预", "預").replace("业绩", "業績").replace("净", "淨").replace("长", "長").replace("产", "產");
    let big5 = big5.replace("价", "價").replace("涨", "漲").replace("对", "對").replace("资", "資").replace("会", "會");
    let big5 =
        big5.replace("线", "線").replace("变动", "變動").replace("总", "總").replace("经", "經").replace("个", "個");
    let big5 =
        big5.replace("辞职", "辭職").replace("为", "為").replace("计", "計").replace("设", "設").replace("报", "報");
    let texts = [
        ("utf-8", NEWS.as_bytes().to_vec(), "UTF-8"),
        ("bom", format!("\u{feff}{NEWS}").into_bytes(), "UTF-8"),
        ("gbk", encoding_rs::GBK.encode(NEWS).0.into_owned(), "gb18030"),
        ("utf-16", utf16(&format!("\u{feff}{NEWS}")), "UTF-16LE"),
        ("utf-16-bare", utf16(NEWS), "UTF-16LE"),
        ("crlf", NEWS.replace('\n', "\r\n").into_bytes(), "UTF-8"),
        ("big5", encoding_rs::BIG5.encode(&big5).0.into_owned(), "Big5"),
    ];
    for (name, bytes, encoding) in texts {
        let desk = Desk::new();
        desk.put("news.csv", bytes);
        let report = desk.run(&[source("news", "news.csv")]);
        let docs = desk.documents();
        assert_eq!((report.rows_in, docs.len()), (3, 3), "{name}");
        assert_eq!(report.facts["encodings"], json!({ encoding: 1 }), "{name}");
        assert_eq!(docs[0].doc_id, "news/1");
        assert_eq!(docs.iter().map(codes).collect::<Vec<_>>(), ["600000.SH", "000609.SZ", "000001.SZ,600000.SH"]);
        assert_eq!(docs[1].published_at.to_string(), "2024-03-04 09:05:00");
        assert_eq!(docs[2].published_at.to_string(), "2024-03-05 23:59:59");
        if encoding != "Big5" {
            assert_eq!(docs[1].body, "董事会同意投资,建设新的产线", "{name}");
        }
    }
}

#[test]
fn every_format_gives_the_same_documents() {
    let rows = [
        json!({"id": "1", "title": "业绩预告", "content": "净利润增长", "codes": ["600000", "609"], "date": "2024-03-01 15:00:00"}),
        json!({"id": "2", "title": "对外投资", "content": "建设“新”产线\n第二段", "codes": [], "date": 20240304}),
    ];
    let lines: String = rows.iter().map(|r| format!("{r}\n")).collect();
    let mut frame = polars_core::df!(
        "id" => ["1", "2"], "title" => ["业绩预告", "对外投资"], "content" => ["净利润增长", "建设“新”产线\n第二段"],
        "codes" => ["600000;609", ""], "date" => ["2024-03-01 15:00:00", "20240304"]
    )
    .unwrap();
    let tsv = "id\ttitle\tcontent\tcodes\tdate\n1\t业绩预告\t净利润增长\t600000;609\t2024-03-01 15:00:00\n\
        2\t对外投资\t\"建设“新”产线\n第二段\"\t\t20240304\n";
    let desk = Desk::new();
    desk.put("a.jsonl", &lines);
    desk.put("a.json", Value::Array(rows.to_vec()).to_string());
    desk.put("lines.json", &lines);
    desk.put("a.tsv", tsv);
    desk.put("semicolon.csv", tsv.replace(';', "、").replace('\t', ";"));
    frames::write_parquet(&desk.dir.path().join("a.parquet"), &mut frame).unwrap();
    desk.put("texts/1.txt", "标题：业绩预告\n代码：600000;609\n时间：2024-03-01 15:00:00\n\n净利润增长\n");
    desk.put("texts/2.txt", "标题：对外投资\n日期：20240304\n建设“新”产线\n第二段");
    let mut expected: Option<Vec<Document>> = None;
    for path in ["a.jsonl", "a.json", "lines.json", "a.tsv", "semicolon.csv", "a.parquet", "texts"] {
        desk.run(&[source("s", path)]);
        let docs = desk.documents();
        assert_eq!(docs.len(), 2, "{path}");
        assert_eq!(codes(&docs[0]), "600000.SH,000609.SZ", "{path}");
        assert_eq!(docs[1].body, "建设“新”产线\n第二段", "{path}");
        assert_eq!(expected.get_or_insert(docs.clone()), &docs, "{path}");
    }
}

#[test]
fn folders_and_patterns_find_their_files_and_nothing_else() {
    let desk = Desk::new();
    for (i, file) in ["in [1]/b.csv", "in [1]/sub/a.csv", "in [1]/.hidden/c.csv", "in [1]/.d.csv"].iter().enumerate() {
        desk.put(file, format!("id,title,date\n{i},标题,2024-03-01\n"));
    }
    desk.put("in [1]/readme.md", "#");
    let report = desk.run(&[source("s", "in [1]")]);
    assert_eq!(desk.ids(), ["s/0", "s/1"]);
    assert_eq!(report.facts["files_passed_over_first"], json!(["in [1]/readme.md"]));
    let base = desk.dir.path().join("in [1]");
    run(&[source("s", "sub/*.csv")], &desk.params, &base, &desk.project(), &Ctx::new(1, 1).unwrap()).unwrap();
    assert_eq!(desk.ids(), ["s/1"]);
    let log = desk.log();
    let file = &log.files[0];
    assert_eq!((file.path.as_str(), file.rows_in, file.parts), ("sub/a.csv", 1, 1));
}

#[test]
fn arrays_are_mapped_by_position_and_may_have_no_times() {
    let desk = Desk::new();
    desk.put("a.json", r#"[["净利润增长", "利好 公司"], ["股价下跌", "利空"]]"#);
    let columns = [("body", "0"), ("label", "1")].map(|(f, c)| (f.to_owned(), Column::Name(c.into())));
    let mut arrays = Source { columns: columns.into_iter().collect(), ..source("a", "a.json") };
    let error = desk.error(std::slice::from_ref(&arrays));
    assert!(error.contains("published_at_default"), "{error}");
    arrays.published_at_default = Some("2020-01-01".into());
    let report = desk.run(&[arrays]);
    let docs = desk.documents();
    assert_eq!((docs[0].doc_id.as_str(), docs[0].label.as_deref()), ("a/a.json#1", Some("利好 公司")));
    assert_eq!(report.facts["time_formats"], json!({ "published_at_default": 2 }));
}

#[test]
fn bad_rows_are_set_aside_with_their_bytes_and_the_rest_goes_on() {
    let desk = Desk { params: Params { max_loss: 0.9, ..Desk::new().params }, ..Desk::new() };
    let good = encoding_rs::GBK.encode(NEWS).0.into_owned();
    let broken = [b"4,".as_slice(), &encoding_rs::GBK.encode("标题").0, b",\xff\xff,600000,2024-03-06\n"].concat();
    let more = "1,重复,编号重复,600000,2024-03-01 15:00:00\n5,无此日,正文,,2024-02-30\n6,将来,正文,,2030-01-01\n7,,,,2024-03-06\n\
        8,缺列\n9,代码不明,正文,某公司,2024-03-06\n10,无时间,正文,,\n";
    desk.put("news.csv", [good, broken.clone(), encoding_rs::GBK.encode(more).0.into_owned()].concat());
    let report = desk.run(&[source("news", "news.csv")]);
    assert_eq!(desk.ids(), ["news/1", "news/2", "news/3", "news/9"]);
    let found: Vec<(u64, String, String)> = desk.rejects().into_iter().map(|r| (r.row, r.column, r.reason)).collect();
    let expected = [
        (4, "body", "bytes that are not gb18030"),
        (5, "doc_id", "duplicate id"),
        (6, "time", "no such date or time"),
        (7, "time", "time in the future"),
        (8, "body", "empty title and body"),
        (9, "", "wrong number of fields"),
        (11, "time", "no time"),
    ];
    assert_eq!(found, expected.map(|(n, c, r)| (n, c.to_owned(), r.to_owned())));
    assert_eq!(STANDARD.decode(&desk.rejects()[0].raw).unwrap(), broken);
    assert_eq!(report.facts["left_out"], json!({ "code: not readable": 1 }));
}

/// The demo market is read by the demo's own configuration: each planted row costs one reject, in the words of the truth.
#[test]
fn the_demo_market_costs_the_planted_rows_reason_by_reason() {
    let desk = Desk::new();
    let ctx = Ctx::new(2, 1).unwrap();
    let params = demo::Params { scale: 0.5, seed: 3 };
    let (truth, _) = demo::generate(&desk.dir.path().join("data"), &params, &ctx).unwrap();
    let config: toml::Value = toml::from_str(include_str!("../../../../assets/demo.toml")).unwrap();
    let sources: Vec<Source> = config["source"].clone().try_into().unwrap();
    let report = desk.run(&sources);
    let mut found: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for reject in desk.rejects() {
        *found.entry(reject.source).or_default().entry(reject.reason).or_default() += 1;
    }
    for (name, source) in &truth.sources {
        assert_eq!(found.remove(name).unwrap_or_default(), source.rejects, "{name}");
    }
    assert!(found.is_empty(), "{found:?}");
    let reasons: BTreeSet<&String> = truth.sources.values().flat_map(|s| s.rejects.keys()).collect();
    assert!(reasons.len() == 8 && truth.rejects > 40, "{reasons:?}");
    assert_eq!((report.dropped_rows(), desk.documents().len() as u64), (truth.rejects, truth.documents));
}

#[test]
fn a_loss_over_the_limit_names_the_reasons_and_changes_nothing() {
    let desk = Desk::new();
    desk.put("news.csv", NEWS);
    desk.run(&[source("news", "news.csv")]);
    let before = desk.project().documents().files().unwrap();
    desk.put("bad.csv", "title,date\n甲,昨天\n乙,今天\n丙,2024-03-01\n");
    let error = desk.error(&[source("news", "news.csv"), source("bad", "bad.csv")]);
    assert!(error.contains("ingest of source \"bad\" lost 2 of 3 rows") && error.contains("2 × not a time"), "{error}");
    assert!(error.contains("[ingest] max_loss") && error.contains("rejects.jsonl"), "{error}");
    assert_eq!(desk.rejects().len(), 2);
    assert_eq!(desk.project().documents().files().unwrap(), before);
    assert_eq!(desk.log().files.len(), 1);
    // With the limit raised the same files are taken.
    let raised = Desk { params: Params { max_loss: 0.7, ..desk.params.clone() }, ..desk };
    raised.run(&[source("news", "news.csv"), source("bad", "bad.csv")]);
    assert_eq!(raised.ids(), ["news/1", "news/2", "news/3", "bad/bad.csv#3"]);
}

/// `n` rows numbered from `first`.
fn rows(first: usize, n: usize) -> String {
    (first..first + n).map(|i| format!("{i},第{i}条,净利润增长,600000,2024-03-01 10:00:00\n")).collect()
}

#[test]
fn a_corpus_grown_step_by_step_equals_one_read_at_once() {
    let header = "id,title,body,code,time\n";
    let sources = [source("a", "in"), source("b", "b/*.csv")];
    let desk = Desk::new();
    desk.put("in/1.csv", format!("{header}{}", rows(0, 5000)));
    desk.put("in/3.csv", format!("{header}{}", rows(20_000, 10)));
    desk.put("b/x.csv", format!("{header}{}x,无时间,正文,,\n", rows(0, 3)));
    desk.run(&sources);
    assert!(desk.run(&sources).unchanged);
    let untouched = fs::metadata(desk.project().documents().path(0)).unwrap().modified().unwrap();
    // One file grows by a bad row and good ones, one is new in the middle, one is rewritten.
    desk.put("in/1.csv", format!("{header}{}bad,无时间,正文,,\n{}", rows(0, 5000), rows(5000, 4000)));
    desk.put("in/2.csv", format!("{header}{}", rows(10_000, 20)));
    desk.put("b/x.csv", format!("{header}{}", rows(7, 2)));
    let report = desk.run(&sources);
    assert_eq!((&report.facts["files_grown"], &report.facts["files_read"]), (&json!(1), &json!(2)));
    assert_eq!(report.rows_out, 9032);
    let fresh = Desk { threads: 1, ..Desk::new() };
    for file in ["in/1.csv", "in/2.csv", "in/3.csv", "b/x.csv"] {
        fresh.put(file, fs::read(desk.dir.path().join(file)).unwrap());
    }
    fresh.run(&sources);
    assert_eq!(desk.bytes(), fresh.bytes());
    assert_eq!(fs::metadata(desk.project().documents().path(0)).unwrap().modified().unwrap(), untouched);
    // A removed file takes its documents along.
    for desk in [&desk, &fresh] {
        fs::remove_file(desk.dir.path().join("in/2.csv")).unwrap();
    }
    desk.run(&sources);
    fs::remove_dir_all(fresh.project().dir()).unwrap();
    fresh.run(&sources);
    assert_eq!(desk.bytes(), fresh.bytes());
    assert_eq!(desk.documents().len(), 9012);
}

#[test]
fn lines_in_utf16_are_read_on_from_their_old_end() {
    let line = |i: usize| format!("{{\"id\": {i}, \"title\": \"第{i}条😀\", \"date\": \"2024-03-01\"}}\n");
    let text = |n: usize| (0..n).map(line).collect::<String>();
    let desk = Desk::new();
    desk.put("a.jsonl", utf16(&text(5)));
    desk.run(&[source("s", "a.jsonl")]);
    desk.put("a.jsonl", utf16(&text(9)));
    let report = desk.run(&[source("s", "a.jsonl")]);
    assert_eq!((&report.facts["files_grown"], report.rows_in), (&json!(1), 9));
    assert_eq!(desk.ids(), (0..9).map(|i| format!("s/{i}")).collect::<Vec<_>>());
    // A rewritten beginning is noticed although the file is longer.
    desk.put("a.jsonl", utf16(&(20..32).map(line).collect::<String>()));
    let report = desk.run(&[source("s", "a.jsonl")]);
    assert_eq!((&report.facts["files_grown"], &report.facts["files_read"]), (&json!(0), &json!(1)));
    assert_eq!(desk.ids()[0], "s/20");
}

#[test]
fn dates_that_pose_as_midnight_are_warned_of_and_can_be_read_as_dates() {
    let desk = Desk::new();
    desk.put("a.csv", "title,date\n甲公司公告,2024-03-01 00:00:00\n乙公司公告,2024-03-04 00:00:00\n");
    let mut dates = source("s", "a.csv");
    let report = desk.run(std::slice::from_ref(&dates));
    assert!(report.facts["warning_midnight"]["en"].as_str().unwrap().contains("2 documents"));
    dates.time_format = Some("%Y-%m-%d 00:00:00".into());
    let report = desk.run(&[dates]);
    assert!(!report.facts.contains_key("warning_midnight"));
    assert_eq!(desk.documents()[0].published_at.to_string(), "2024-03-01 23:59:59");
}

#[test]
fn ids_that_a_removed_file_sets_free_are_taken_again() {
    let desk = Desk { params: Params { max_loss: 1.0, ..Desk::new().params }, ..Desk::new() };
    desk.put("in/1.csv", NEWS);
    desk.put("in/2.csv", NEWS.replace("净利润", "营业收入"));
    let report = desk.run(&[source("s", "in")]);
    assert_eq!(report.dropped["duplicate id"], 3);
    fs::remove_file(desk.dir.path().join("in/1.csv")).unwrap();
    desk.run(&[source("s", "in")]);
    assert_eq!(desk.documents().len(), 3);
    assert!(desk.documents()[0].body.contains("营业收入"));
}

#[test]
fn a_run_that_was_killed_while_it_committed_is_finished() {
    let desk = Desk::new();
    let header = "id,title,body,code,time\n";
    desk.put("in/2.csv", format!("{header}{}", rows(0, 5)));
    desk.put("in/3.csv", format!("{header}{}", rows(50, 5)));
    desk.run(&[source("s", "in")]);
    let old = desk.bytes();
    let old_log = fs::read(desk.project().ingest_log()).unwrap();
    desk.put("in/1.csv", format!("{header}{}", rows(90, 5)));
    desk.run(&[source("s", "in")]);
    let new = desk.bytes();
    // Back to the old state, with the plan of the new one: as if killed right after the plan was written.
    let project = desk.project();
    let staging = commit::Staging::new(&project);
    let part_1 = new.iter().find(|(name, _)| name.contains("part-00000")).unwrap().1.clone();
    let rejects = new.iter().find(|(name, _)| name.contains("rejects")).unwrap().1.clone();
    let new_log = desk.log();
    for steps in 0..3 {
        fs::remove_dir_all(project.dir()).unwrap();
        for (name, bytes) in &old {
            desk.put(&format!("project/{name}"), bytes);
        }
        fs::write(project.ingest_log(), &old_log).unwrap();
        let staged = desk.put("project/ingest-staging/units/x/part-00000.parquet", &part_1);
        let staged_rejects = desk.put("project/ingest-staging/rejects.jsonl", &rejects);
        let pieces = vec![commit::PartSource::Staged(staged), commit::PartSource::Kept(0), commit::PartSource::Kept(1)];
        let files = vec![(staged_rejects, project.rejects())];
        let plan = commit::CommitPlan::new(&project, pieces, files, Vec::new(), new_log.clone()).unwrap();
        disk::write_json(&staging.file("plan.json"), &plan).unwrap();
        if steps > 0 {
            // The first moves were made before the kill.
            fs::create_dir_all(staging.file("aside")).unwrap();
            fs::rename(project.documents().path(0), staging.file("aside").join("part-00001.parquet")).unwrap();
        }
        if steps > 1 {
            fs::rename(project.documents().path(1), staging.file("aside").join("part-00002.parquet")).unwrap();
        }
        let report = desk.run(&[source("s", "in")]);
        assert!(report.unchanged, "{steps}");
        assert_eq!(desk.bytes(), new, "{steps}");
    }
    // Killed while the folder of the staged files was removed: its plan is gone already.
    desk.put("project/ingest-staging/units/x/staged.json", "{}");
    assert!(desk.run(&[source("s", "in")]).unchanged && desk.bytes() == new);
}

#[test]
fn a_plan_that_leads_out_of_the_project_is_not_carried_out() {
    let desk = Desk::new();
    desk.put("in/1.csv", NEWS);
    desk.run(&[source("s", "in")]);
    let (project, theirs) = (desk.project(), desk.put("thesis.txt", "mine"));
    let staging = commit::Staging::new(&project);
    let plan = |gone: &str| {
        let plan =
            commit::CommitPlan::new(&project, Vec::new(), Vec::new(), vec![project.prices()], desk.log()).unwrap();
        let mut text = serde_json::to_value(&plan).unwrap();
        text["gone"] = serde_json::json!([gone]);
        disk::write_json(&staging.file("plan.json"), &text).unwrap();
    };
    for gone in [theirs.to_str().unwrap(), "../thesis.txt", "documents/../../thesis.txt"] {
        plan(gone);
        let error = desk.error(&[source("s", "in")]);
        assert!(error.contains("is not in the project's folder") && error.contains("remove the plan"), "{error}");
        assert_eq!(fs::read(&theirs).unwrap(), b"mine");
        assert!(!desk.documents().is_empty());
    }
    assert!(commit::CommitPlan::new(&project, Vec::new(), Vec::new(), vec![theirs], desk.log()).is_err());
}

#[test]
fn a_cancelled_run_keeps_what_it_has_read() {
    let desk = Desk::new();
    desk.put("in/1.csv", NEWS);
    desk.put("in/2.csv", NEWS.replace("\n1,", "\n11,").replace("\n2,", "\n12,").replace("\n3,", "\n13,"));
    desk.put("in/3.csv", "nothing,that,fits\n1,2,3\n");
    // The third file has no columns of use: the run ends there, with two files staged.
    desk.error(&[source("s", "in")]);
    assert!(desk.project().documents().files().unwrap().is_empty());
    let staged = walkdir::WalkDir::new(desk.project().dir()).into_iter().filter_map(Result::ok);
    let staged: Vec<_> = staged.filter(|e| e.file_name() == "staged.json").map(walkdir::DirEntry::into_path).collect();
    assert_eq!(staged.len(), 2);
    let times: Vec<_> = staged.iter().map(|p| fs::metadata(p).unwrap().modified().unwrap()).collect();
    desk.put("in/3.csv", "title,date\n标题,2024-03-01\n");
    let ctx = Ctx::new(1, 1).unwrap();
    ctx.cancel();
    let error = run(&[source("s", "in")], &desk.params, desk.dir.path(), &desk.project(), &ctx).unwrap_err();
    assert!(error.is::<inkstone_base::job::Cancelled>());
    assert_eq!(staged.iter().map(|p| fs::metadata(p).unwrap().modified().unwrap()).collect::<Vec<_>>(), times);
    desk.run(&[source("s", "in")]);
    assert_eq!(desk.ids(), ["s/1", "s/2", "s/3", "s/11", "s/12", "s/13", "s/in/3.csv#1"]);
    assert!(!desk.project().dir().join("ingest-staging").exists());
}

#[test]
fn prices_are_typed_checked_and_sorted() {
    let desk = Desk { params: Params { max_loss: 0.9, ..Desk::new().params }, ..Desk::new() };
    desk.put(
        "prices.csv",
        "日期,股票代码,开盘价,最高价,最低价,收盘价,成交量(手),备注\n\
         2024-03-04,609,4.0,4.2,3.9,4.1,12,\n\
         2024-03-01,sh600000,\"1,007.5\",8,7,7.9,100,\n\
         2024-03-04,600000,7.5,8,7,7.9,100,\n\
         2024-03-04,600000,7.6,8,7,7.9,100,\n\
         2024-03-05,600000,0,0,0,7.9,0,停牌\n\
         2024-03-05,000609,4,3,5,4,1,\n\
         2024-03-06,000609,-4,5,3,4,1,\n\
         2024-03-06,某公司,4,5,3,4,1,\n\
         2024-03-06,600000,abc,5,3,4,1,\n",
    );
    desk.put("news.csv", NEWS);
    let prices = Source { table: Table::Prices, ..source("prices", "prices.csv") };
    let report = desk.run(&[prices.clone(), source("news", "news.csv")]);
    let frame = frames::read_parquet(&desk.project().prices(), None).unwrap();
    assert_eq!(frame.get_column_names().iter().map(|n| n.as_str()).collect::<Vec<_>>(), market::PRICE_COLUMNS);
    let text = |name: &str| -> Vec<String> {
        let column = frame.column(name).unwrap().as_materialized_series().clone();
        column.iter().map(|v| v.to_string().trim_matches('"').to_owned()).collect()
    };
    assert_eq!(text("code"), ["600000.SH", "000609.SZ", "600000.SH", "600000.SH"]);
    assert_eq!(text("date"), ["2024-03-01", "2024-03-04", "2024-03-04", "2024-03-05"]);
    assert_eq!(text("open"), ["1007.5", "4.0", "7.5", "null"]);
    assert_eq!(text("volume"), ["10000.0", "1200.0", "10000.0", "0.0"]);
    let reasons: Vec<String> = desk.rejects().into_iter().map(|r| format!("{} {}", r.row, r.reason)).collect();
    let expected = [
        "4 duplicate date and code",
        "6 high below low",
        "7 price below zero",
        "8 not a security code",
        "9 not a number",
    ];
    assert_eq!(reasons, expected);
    assert_eq!(report.facts["calendar"]["documents_outside_the_price_dates"], json!(0));
    assert!(report.facts["warning_additive"]["en"].as_str().unwrap().starts_with("1 rows of prices lie below 0"));
    // A change in one file of a table reads the whole table again; without sources the table goes.
    desk.put("prices.csv", "date,code,close\n2024-03-01,600000,7\n");
    desk.run(&[prices, source("news", "news.csv")]);
    assert_eq!(frames::read_parquet(&desk.project().prices(), None).unwrap().height(), 1);
    desk.run(&[source("news", "news.csv")]);
    assert!(!desk.project().prices().exists());
}

#[test]
fn securities_are_dated_and_marked() {
    let desk = Desk::new();
    desk.put(
        "names.csv",
        "代码,简称,起始日期,结束日期,行业,上市日期,曾用名\n\
         600001,*ST远山,2023-05-01,2024-05-06,电力设备,2001-01-02,远山股份|远山科技\n\
         600001,远山新能,2024-05-06,,电力设备,2001-01-02,\n\
         2,近水置业,,,房地产,19910129,\n",
    );
    desk.run(&[Source { table: Table::Securities, ..source("names", "names.csv") }]);
    let frame = frames::read_parquet(&desk.project().securities(), None).unwrap();
    let rows = market::securities_from_frame(&frame).unwrap();
    let shown: Vec<String> = rows.iter().map(|r| format!("{} {} {}", r.code, r.name, r.st)).collect();
    assert_eq!(shown, ["000002.SZ 近水置业 false", "600001.SH *ST远山 true", "600001.SH 远山新能 false"]);
    assert_eq!(rows[1].aliases, ["远山股份", "远山科技"]);
    assert_eq!(rows[1].to, rows[2].from);
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_way_out() {
    let desk = Desk::new();
    let error = |path: &str, content: &[u8], change: &dyn Fn(&mut Source)| {
        desk.put(path, content);
        let mut source = source("s", path);
        change(&mut source);
        desk.error(&[source])
    };
    let gbk = encoding_rs::GBK.encode(NEWS).0.into_owned();
    let as_is = |_: &mut Source| {};
    let message = error("empty.csv", b"", &as_is);
    assert!(message.contains("empty.csv: the file is empty"), "{message}");
    let message = error("gbk.csv", NEWS.as_bytes(), &|s| s.encoding = Some("gbk".into()));
    assert!(message.contains("gbk.csv: declared gb18030, but the content looks like UTF-8"), "{message}");
    let message = error("utf8.csv", &gbk, &|s| s.encoding = Some("utf-8".into()));
    assert!(message.contains("utf8.csv: declared UTF-8, but the content looks like gb18030"), "{message}");
    let message = error("none.xlsx", b"PK and nothing", &as_is);
    assert!(message.contains("none.xlsx: no Excel workbook"), "{message}");
    let message = error("folder/readme.md", b"#", &|s| s.path = "folder".into());
    assert!(message.contains("no file to read at \"folder\""), "{message}");
    let message = error("x.csv", b"a\n", &|s| s.path = "absent-*.csv".into());
    assert!(message.contains("no file to read at \"absent-*.csv\""), "{message}");
    let message = error("x.csv", b"a\n", &|s| s.path = "absent.csv".into());
    assert!(message.contains("there is no such file or folder"), "{message}");
    let message = error("columns.csv", b"a,b\n1,2\n", &as_is);
    assert!(message.contains("columns.csv: columns are missing: title or body, published_at"), "{message}");
    let message = error("object.json", b"[1, 2", &|s| s.published_at_default = Some("2024-01-01".into()));
    assert!(message.contains("columns are missing: title or body"), "{message}");
    let mut frame = polars_core::df!("title" => ["甲"; 100], "date" => ["2024-03-01"; 100]).unwrap();
    let complete = desk.dir.path().join("whole.parquet");
    frames::write_parquet(&complete, &mut frame).unwrap();
    let bytes = fs::read(&complete).unwrap();
    let message = error("half.parquet", &bytes[..bytes.len() / 2], &as_is);
    assert!(message.contains("half.parquet is not a whole Parquet file"), "{message}");
    let message = desk.error(&[
        Source { delimiter: Some("，".into()), ..source("a", "x.csv") },
        Source { encoding: Some("latin-9".into()), time_format: Some("%Q".into()), ..source("a", "") },
    ]);
    for part in ["delimiter", "encoding", "time_format", "path", "another source has this name"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}
