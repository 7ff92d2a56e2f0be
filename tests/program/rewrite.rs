//! Texts that a model writes of documents: a factor of them, what a kill costs, and bad settings.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use inkstone_base::data::Kind;
use inkstone_corpus::clean::clean_of_part;
use inkstone_market::dates_of;
use inkstone_tables::corpus::times_of;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use tempfile::TempDir;

use crate::onnx::graph;
use crate::{assert_nothing_half_written, assert_says, computed, demo, files_below, has_library, inkstone, run, stage};

/// Documents of which the model writes a text each.
const DOCUMENTS: usize = 600;
const REWRITE: [&str; 2] = ["rewrite", "--headless"];

#[test]
fn a_factor_of_written_texts_is_known_with_the_model_and_traced_to_them() {
    if !has_library() {
        return;
    }
    let copy = demo::small().copy();
    let folder = copy.path();
    let config = fs::read_to_string(folder.join("workbench.toml")).unwrap();
    let sources = config.split("\n[[feature]]").next().unwrap();
    let of_corpus = dates(folder, "tone");
    let middle = of_corpus[of_corpus.len() / 2];
    let settings = format!(
        "\n[[rewrite]]\nname = \"summary\"\nmodel = \"{}\"\nfitted_until = \"{middle}\"\nkinds = [\"report\"]\n\
         prompt = \"概括：{{text}}\"\ntruncate = \"head:30\"\nmin_new_tokens = 4\nmax_new_tokens = 8\n\n\
         [[feature]]\nname = \"short\"\ntext = \"summary\"\n\n\
         [[feature]]\nname = \"learned\"\nmodel = \"ridge\"\ntext = \"summary\"\nmask_names = true\n\
         walk_forward = {{ train_days = 120, test_days = 60, min_train_rows = 20 }}\n\n\
         [[factor]]\nname = \"length\"\nexpression = \"short.tokens\"\nwinsorise = \"none\"\nstandardise = \"none\"\nmin_names = 1\n",
        graph("bart")
    );
    fs::write(folder.join("workbench.toml"), format!("{sources}\n{settings}")).unwrap();
    let json = run(folder, &["factor", "--headless"]).finished();

    let project = Project::new(folder.join(".inkstone"));
    let documents: Vec<_> =
        project.rewritten("summary").files().unwrap().iter().flat_map(|file| clean_of_part(file).unwrap()).collect();
    let reports = documents.iter().filter(|document| document.document.kind == Kind::Report).count() as u64;
    let written = documents.iter().filter(|document| !document.document.body.is_empty()).count() as u64;
    let report = stage(&json, "rewrite summary");
    assert!(reports > 50 && written == reports, "{written} of {reports}");
    assert_eq!((&report["rows_in"], &report["rows_out"]), (&documents.len().into(), &written.into()));
    assert_eq!(stage(&json, "extract short")["dropped"]["without a rewritten text"], documents.len() as u64 - written);

    // Texts of the time before the model's end are known with the model, and so is every value that is made of them.
    let signals = frames::read_parquet(&project.signals("length"), None).unwrap();
    let end = middle.and_hms_opt(23, 59, 59).unwrap();
    let known: Vec<_> = times_of(&signals, "known_at").unwrap().into_iter().flatten().collect();
    assert!(known.iter().all(|known| *known >= end) && known.contains(&end) && known.iter().any(|known| *known > end));
    let table = frames::read_parquet(&project.factor("length"), None).unwrap();
    let known = times_of(&table, "known_at").unwrap();
    assert!(known.iter().flatten().count() > 0 && known.iter().flatten().all(|known| *known >= end));
    let days = dates(folder, "length");

    // The trace shows the text that the model wrote.
    let date = days.last().unwrap().to_string();
    let names = run(folder, &["trace", "length", "--date", &date]).finished();
    let code = names["date"]["names"][0]["code"].as_str().unwrap().to_owned();
    let cell = run(folder, &["trace", "length", "--date", &date, "--code", &code]).finished();
    let id = cell["readings"][0]["documents"][0]["doc_id"].as_str().unwrap().to_owned();
    let traced = run(folder, &["trace", "length", "--date", &date, "--code", &code, "--document", &id]);
    let body = &documents.iter().find(|document| document.document.doc_id == id).unwrap().document.body;
    assert_says(&traced.text(), &[body]);

    // Nothing is written or computed again, under another name neither.
    assert!(computed(&run(folder, &["factor", "--headless"]).finished()).is_empty());
    let renamed = settings.replace("\"summary\"", "\"short_form\"");
    fs::write(folder.join("workbench.toml"), format!("{sources}\n{renamed}")).unwrap();
    let json = run(folder, &["factor", "--headless"]).finished();
    assert_eq!(computed(&json), ["rewrite short_form"]);
    assert_eq!(stage(&json, "rewrite short_form")["facts"]["newly_written"], 0);
    assert_eq!(run(folder, &["store", "verify"]).code, Some(0));
}

/// The days on which a factor has values.
fn dates(folder: &Path, factor: &str) -> Vec<chrono::NaiveDate> {
    let table = frames::read_parquet(&Project::new(folder.join(".inkstone")).factor(factor), None).unwrap();
    let mut dates: Vec<_> = dates_of(&table, "date").unwrap().into_iter().flatten().collect();
    dates.sort_unstable();
    dates.dedup();
    dates
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = ["营业收入", "净利润", "订单", "毛利率", "现金流", "费用", "份额", "产能"];
    let mut news = String::from("doc_id,published_at,title,body,codes\n");
    for i in 0..DOCUMENTS {
        let sentence = |j: usize| format!("公司{}同比增长{}%，", words[(i * 7 + j * 3) % 8], (i * 13 + j * 29) % 97);
        let body: String = (0..2 + i % 3).map(sentence).collect();
        news += &format!("d{i},2024-03-{:02} 10:00:00,第{i}号公告,\"{body}\",600001.SH\n", 1 + i % 28);
    }
    fs::write(folder.path().join("news.csv"), news).unwrap();
    let config = format!(
        "[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n\
         [[rewrite]]\nname = \"summary\"\nmodel = \"{}\"\nfitted_until = \"2023-12-31\"\nbeams = 4\nmin_new_tokens = 12\nmax_new_tokens = 16\n",
        graph("bart")
    );
    fs::write(folder.path().join("workbench.toml"), config).unwrap();
    folder
}

#[test]
fn a_killed_run_writes_no_text_twice_and_ends_with_the_same_bytes() {
    if !has_library() {
        return;
    }
    let uninterrupted = project();
    let json = run(uninterrupted.path(), &REWRITE).finished();
    let written = |json: &serde_json::Value| stage(json, "rewrite summary")["facts"]["newly_written"].as_u64().unwrap();
    assert_eq!(written(&json), DOCUMENTS as u64);

    let killed = project();
    let mut child = inkstone(killed.path(), &REWRITE).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !message.contains("\nlink ") {
        assert!(stderr.read_line(&mut message).unwrap() > 0, "it ended too soon:\n{message}");
    }
    let kept = Project::new(killed.path().join(".inkstone")).written();
    // A text is kept once its file has its name.
    let is_kept = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    let names = || fs::read_dir(&kept).into_iter().flatten().flatten().map(|entry| entry.file_name());
    while !names().any(|name| is_kept(&name.to_string_lossy())) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too soon");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let json = run(killed.path(), &REWRITE).finished();
    assert!(written(&json) < DOCUMENTS as u64 && written(&json) > 0, "{json:#}");
    let texts = |folder: &TempDir| files_below(&folder.path().join(".inkstone/rewritten"));
    assert!(texts(&uninterrupted) == texts(&killed));
    assert_nothing_half_written(killed.path());
    let again = run(killed.path(), &REWRITE).finished();
    assert_eq!(stage(&again, "rewrite summary")["unchanged"], true);

    // A model that cannot be opened leaves out what reads it, and nothing else.
    let config = fs::read_to_string(killed.path().join("workbench.toml")).unwrap();
    let features = "\n[[feature]]\nname = \"tone\"\n\n[[feature]]\nname = \"short\"\ntext = \"summary\"\n";
    let config = config.replace(&graph("bart"), "models/gone") + features;
    fs::write(killed.path().join("workbench.toml"), config).unwrap();
    let left_out = run(killed.path(), &["extract", "--headless"]).left_out();
    assert_says(&left_out, &["models/gone", "it reads \"summary\", which was left out"]);
}
