//! Forms as text, and what they leave in the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::bench as form_bench;
use crate::config::Config;
use inkstone_tables::project::Project;
use inkstone_tui::testing::{Bench, LARGE, Page, SMALL, empty};
use inkstone_tui::{Language, Workspace};

const TEXT: &str = "# 我的项目 \u{20bb7}\n[project]\nname = \"砚台样例\"   # 名称\n\n[clean]\nwindow_days = 30 # 天\nmarkup = true\n\n\
    [[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n\n[[factor]]\nname = \"tone\"\nexpression = \"tone\"  # 语调\n";

fn project(text: &str) -> (Arc<TempDir>, PathBuf) {
    let dir = empty();
    let file = dir.path().join("workbench.toml");
    fs::write(&file, text).unwrap();
    (dir, file)
}

fn open(dir: &Arc<TempDir>, file: &Path) -> Bench {
    Bench::open(dir, |w| w.forms = Some(form_bench(file)))
}

/// Opens the settings on this section.
fn on(section: &str) -> String {
    let before = [
        "project",
        "source",
        "ingest",
        "vault",
        "clean",
        "link",
        "structure",
        "tokenizer",
        "market",
        "rewrite",
        "event",
        "feature",
        "tone",
        "factor",
    ];
    let down = before.iter().position(|name| *name == section).unwrap();
    format!(",{}", "j".repeat(down))
}

/// The same, among its keys.
fn at(section: &str) -> String {
    format!("{}<enter>", on(section))
}

/// The text with everything masked that differs between machines and days.
fn scrubbed(picture: &str, dir: &Path) -> String {
    let times = regex::Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d( ?│)").unwrap();
    let path = dir.display().to_string();
    let begun: String = path.chars().take(30).collect();
    let line = |line: &str| {
        let line = if line.contains(&begun) { "│…".to_owned() } else { line.to_owned() };
        times.replace_all(&line, "2024-03-01 12:00$1").into_owned() + "\n"
    };
    picture.lines().map(line).collect()
}

fn gbk(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), encoding_rs::GB18030.encode(text).0).unwrap();
}

const NEWS: &str = "编号,标题,正文,发布时间,证券代码,机构\n\
    1,瑞禾电气业绩预增,公司预计一季度净利润同比增长120%至150%。,2024-03-01 18:00:00,600517.SH,证券日报\n\
    2,启澜生物拟回购股份,公司拟以自有资金回购股份。,2024-03-04 20:31:00,300731.SZ,证券日报\n\
    3,,,2024-03-05,600517.SH,证券日报\n\
    4,时间不存在,正文。,2024-02-31 10:00:00,600517.SH,财经网\n";

#[test]
fn settings_list_every_key_with_what_it_is() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    insta::assert_snapshot!("settings", bench.screen(SMALL, ","));
    insta::assert_snapshot!("settings_keys", bench.screen(SMALL, "jjj<enter>jjj"));
    insta::assert_snapshot!("settings_large_english", bench.screen(LARGE, "<esc>LGkkkkkkkk<enter>jj"));
    insta::assert_snapshot!("settings_typing_english", bench.screen(SMALL, "e<end>x("));
}

#[test]
fn settings_that_cannot_be_read_say_why_and_can_be_left() {
    let (dir, file) = project("");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let mut bench = open(&dir, &file);
    let picture = bench.screen(SMALL, ",");
    assert!(picture.contains("无法读取配置"), "{picture}");
    assert!(!bench.screen(SMALL, "<esc>").contains("无法读取"));
    bench.press_at_once(",");
    // Read anew; on a busy machine the answer may come before the picture.
    let picture = bench.picture(SMALL);
    assert!(picture.contains("读取中") || picture.contains("无法读取"), "{picture}");
}

#[test]
fn a_changed_value_is_saved_and_every_other_byte_stays() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    bench.press(&format!("{}jjje<backspace><backspace>7<enter>", at("clean")));
    assert!(bench.screen(SMALL, "").contains("未保存"));
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT, "nothing is written before it is asked for");
    assert!(bench.screen(SMALL, "s").contains("已保存"));
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT.replace("30 #", "7 #"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no other file is left behind");
    // markup is toggled, and undone.
    bench.press("<home><enter>s");
    assert!(fs::read_to_string(&file).unwrap().contains("markup = false\n"));
    bench.press("us");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT.replace("30 #", "7 #"));
}

#[test]
fn members_of_a_list_are_chosen_among_those_that_it_may_have() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    bench.press(&at("tone"));
    let steps = (0..60).take_while(|_| !bench.screen(SMALL, "j").contains("feature[0].kinds")).count();
    assert!(steps < 60, "{}", bench.screen(SMALL, ""));
    let picture = bench.screen(SMALL, "<enter><right><space>");
    assert!(picture.contains("[ ] report  [x] news  [ ] announcement  [ ] post"), "{picture}");
    // The last one is taken away again, then one is chosen that stands before the first.
    bench.screen(SMALL, "<space><left><space><enter>s");
    let saved = fs::read_to_string(&file).unwrap();
    assert!(saved.contains("kinds = [\"report\"]"), "{saved}");
}

#[test]
fn settings_of_a_project_that_another_workbench_has_are_shown_and_not_changed() {
    let (dir, file) = project(TEXT);
    let home = |w: &mut Workspace| {
        w.forms = Some(form_bench(&file));
        w.project = Project::new(dir.path().join(".inkstone"));
    };
    let first = Bench::come_back(&dir, home);
    let mut second = Bench::come_back(&dir, home);
    let picture = second.screen(SMALL, &at("clean"));
    assert!(picture.contains("workbench.toml · clean · 只读") && !picture.contains("s 保存"), "{picture}");
    for keys in ["e", "<enter>", " ", "d", "<delete>", "s", "u", "<esc>a", "D"] {
        let picture = second.screen(SMALL, keys);
        assert!(picture.contains("这里只能看"), "{keys}: {picture}");
    }
    let picture = second.screen(LARGE, "Ls");
    assert!(picture.contains("· read-only") && picture.contains("settings can be seen here but not"), "{picture}");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
    // The form that is opened when the other has ended can be used.
    first.leave();
    second.press(&format!("L<esc>{}jjje<ctrl-u>7<enter>s", at("clean")));
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT.replace("30 #", "7 #"));
}

#[test]
fn values_that_cannot_be_are_refused_with_their_reason() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    insta::assert_snapshot!(
        "settings_refused",
        bench.screen(SMALL, &format!("{}jjje<ctrl-u>thirty<enter>", at("clean")))
    );
    let picture = bench.screen(SMALL, "<ctrl-u>-1<enter>");
    assert!(picture.contains("没有采用"), "{picture}");
    bench.press("<esc>s");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
    // An expression with a feature that does not exist.
    bench.press(&format!("<esc><esc>{}j<enter>je<ctrl-u>tfidf<enter>", on("factor")));
    assert!(bench.screen(LARGE, "").contains("没有特征"));
}

#[test]
fn a_faulty_file_shows_all_its_faults_beside_their_keys_and_is_not_saved() {
    let text = TEXT
        .replace("markup = true", "markup = 3\nthreshhold = 1")
        .replace("expression = \"tone\"", "expression = \"heat\"");
    let (dir, file) = project(&text);
    let mut bench = open(&dir, &file);
    let picture = bench.screen(LARGE, &at("clean"));
    assert!(picture.contains("✗ 3 个问题") && picture.contains("✗clean 清洗"), "{picture}");
    assert!(picture.contains("✗ markup") && picture.contains("✗ threshhold"), "{picture}");
    assert!(picture.contains("类型不符：整数 `3`；应为 true 或 false"), "{picture}");
    assert!(bench.screen(LARGE, "<end>").contains("是不是 \"threshold\"？"));
    assert!(bench.screen(LARGE, "s").contains("先改正标 ✗ 的键"));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let (dir, file) = project("[clean\nx");
    let mut bench = open(&dir, &file);
    assert!(bench.screen(LARGE, ",").contains("✗ 1:"), "errors of syntax have their line");
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    bench.press(&format!("{}<enter>", at("clean")));
    let theirs = TEXT.replace("window_days = 30", "window_days = 60");
    fs::write(&file, &theirs).unwrap();
    let picture = bench.screen(LARGE, "s");
    assert!(picture.contains("在读取之后被另一程序改动"), "{picture}");
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    assert!(bench.screen(LARGE, "<esc><esc>").contains("再按一次 Esc 放弃"));
    bench.press("R<enter><home><enter>s");
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs.replace("markup = true", "markup = false"));
}

#[test]
fn sections_are_added_from_examples_and_removed() {
    let (dir, file) = project(TEXT);
    let mut bench = open(&dir, &file);
    bench.press(&format!("{}as", on("feature")));
    let config = Config::read(&file).unwrap();
    assert_eq!(config.feature.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["tone", "tone_2"]);
    assert!(fs::read_to_string(&file).unwrap().contains("expression = \"tone\"  # 语调"));
    // The new one is marked; its model goes on to the next.
    bench.press("<enter>j<enter>s");
    assert_ne!(Config::read(&file).unwrap().feature[1].model, config.feature[1].model);
    bench.press("<esc>Ds");
    assert_eq!(Config::read(&file).unwrap(), Config::parse("w", TEXT).unwrap());
}

/// A workspace as the configuration has it now, which can be opened anew.
fn reopened(file: &Path, before: Workspace) -> anyhow::Result<Workspace> {
    let title = Config::read(file)?.project.name;
    anyhow::ensure!(title != "坏", "no words for this");
    let (again, then) = (file.to_owned(), before.clone());
    let reopen: inkstone_tui::Reopen = Arc::new(move || reopened(&again, then.clone()));
    Ok(Workspace { title, forms: Some(form_bench(file)), reopen: Some(reopen), language: Language::Zh, ..before })
}

#[test]
fn the_workbench_goes_on_with_what_was_saved() {
    let (dir, file) = project(TEXT);
    let mut bench = Bench::open(&dir, |w| *w = reopened(&file, w.clone()).unwrap());
    bench.press("8L");
    bench.press(&format!("{}e<ctrl-u>new name<enter>s<esc><esc>", at("project")));
    let picture = bench.screen(LARGE, "");
    assert!(picture.contains("new name · en"), "{picture}");
    assert_eq!(bench.app.page, Page::Ledger);
    bench.press(&format!("{}e<ctrl-u>坏<enter>s", at("project")));
    let picture = bench.screen(LARGE, "");
    assert!(picture.contains("cannot be used") && picture.contains("no words for this"), "{picture}");
    assert!(bench.screen(LARGE, "<esc><esc>").contains("new name · en"), "the former one goes on");
}

#[test]
fn a_configuration_changed_by_an_editor_is_taken_up_after_the_next_run() {
    let (dir, file) = project(TEXT);
    let ran = file.clone();
    let mut bench = Bench::open(&dir, |w| {
        *w = reopened(&file, w.clone()).unwrap();
        w.project = Project::new(dir.path().join(".inkstone"));
        w.run = Arc::new(move |_| Config::read(&ran).map(|_| Vec::new()));
    });
    fs::write(&file, TEXT.replace("markup = true", "markup = 3\nmarkdown = true")).unwrap();
    bench.press("9r");
    bench.finish();
    let picture = bench.screen(LARGE, "");
    assert!(picture.contains("有 2 个问题") && picture.contains("clean.markup：类型不符"), "{picture}");
    assert!(picture.contains("clean.markdown：未知的键"), "{picture}");
    fs::write(&file, TEXT.replace("砚台样例", "改过的")).unwrap();
    bench.press("r");
    bench.finish();
    assert!(bench.screen(LARGE, "").contains("改过的 · zh"));
}

#[test]
fn a_file_is_chosen_among_those_that_can_be_read() {
    let (dir, file) = project(TEXT);
    gbk(dir.path(), "新闻.csv", NEWS);
    fs::write(dir.path().join("a\u{1b}[31m.bin"), "x").unwrap();
    fs::create_dir_all(dir.path().join("reports/old")).unwrap();
    fs::write(dir.path().join("reports/一.pdf"), "x").unwrap();
    fs::write(dir.path().join("reports/二.txt"), "x").unwrap();
    let mut bench = open(&dir, &file);
    let shown = bench.screen(SMALL, &format!("{}a", on("source")));
    insta::assert_snapshot!("picker", scrubbed(&shown, dir.path()));
    let english = bench.screen(LARGE, "<esc>Laj");
    insta::assert_snapshot!("picker_large_english", scrubbed(&english, dir.path()));
    assert!(bench.screen(SMALL, "新").contains("1 / 1"), "letters filter");
    assert!(bench.screen(SMALL, "x").contains("No name matches"));
    assert!(bench.screen(SMALL, "<esc><home><enter>").contains("old/"));
    let up = bench.screen(SMALL, "h");
    assert!(up.contains("reports/") && up.contains("1 / 4"), "back on the folder that was left: {up}");
    let typed = bench.screen(SMALL, "<tab>rep<tab>");
    assert!(typed.contains("reports/"), "{typed}");
    assert!(bench.screen(SMALL, "<enter>").contains("old/"));
    assert!(bench.screen(SMALL, "<tab>nowhere<enter>").contains("cannot read the folder"));
}

#[test]
fn a_gbk_file_is_mapped_tried_and_saved() {
    let (dir, file) = project(TEXT);
    gbk(dir.path(), "新闻.csv", NEWS);
    let mut bench = open(&dir, &file);
    bench.press(&format!("{}a新", on("source")));
    bench.press_at_once("<enter>");
    let picture = bench.picture(SMALL);
    assert!(picture.contains("读取中"), "{picture}");
    bench.settle();
    insta::assert_snapshot!("mapping", bench.screen(SMALL, ""));
    insta::assert_snapshot!("mapping_field", bench.screen(SMALL, &"j".repeat(10)));
    bench.press("<esc><esc><esc>L");
    insta::assert_snapshot!("mapping_large_english", bench.screen(LARGE, "a新<enter>"));
    // The marked field is the kind of documents: news becomes a report; the title comes from another column.
    let changed = bench.screen(LARGE, &format!("jjj<right>{}<right>", "j".repeat(7)));
    assert!(changed.contains("✓ kind          report") && changed.contains("✓ title         编号"), "{changed}");
    let refused = bench.screen(LARGE, "<enter><ctrl-u>nothing like this<enter>");
    assert!(refused.contains("\"nothing like this\": 编号, 标题"), "{refused}");
    bench.press("<ctrl-u>正<enter>sss");
    let config = Config::read(&file).unwrap();
    assert_eq!(config.source.len(), 1);
    assert_eq!((config.source[0].name.as_str(), config.source[0].path.as_str()), ("新闻", "新闻.csv"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("kind = \"report\"\n[source.columns]\ntitle = \"正文\"\n") && text.contains("# 天"),
        "{text}"
    );
}

#[test]
fn files_that_say_little_are_told_as_they_are() {
    let (dir, file) = project(TEXT);
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("empty.csv", "");
    write("head.csv", "title,date\n");
    write("long.csv", &format!("title,date\n{}😀\u{1b}[31m\u{20bb7},2024-03-01\n", "长".repeat(340_000)));
    write("odd.csv", "a,b\n1,2\n");
    write("px.csv", "date,code,close\n2024-03-01,600517.SH,12.5\n");
    let mut bench = open(&dir, &file);
    let mut look = |name: &str| bench.screen(LARGE, &format!("{}a/{name}<enter>", on("source")));
    assert!(look("empty").contains("文件为空"));
    let mut bench = open(&dir, &file);
    let mut look = |name: &str| bench.screen(LARGE, &format!("{}a/{name}<enter>", on("source")));
    assert!(look("head").contains("文件里没有数据行"));
    let mut bench = open(&dir, &file);
    let picture = bench.screen(SMALL, &format!("{}a/long<enter>", on("source")));
    assert!(picture.contains("✓ 接受 1") && picture.contains("长长长…"), "{picture}");
    let mut bench = open(&dir, &file);
    insta::assert_snapshot!("mapping_failed", bench.screen(SMALL, &format!("{}aodd<enter>s", on("source"))));
    let mut bench = open(&dir, &file);
    let picture = bench.screen(LARGE, &format!("{}apx<enter>", on("source")));
    assert!(picture.contains("✓ table         prices") || picture.contains("prices"), "{picture}");
    assert!(picture.contains("✓ 接受 1"), "{picture}");
}

#[test]
fn no_key_breaks_any_form_at_any_size() {
    let (dir, file) = project(TEXT);
    gbk(dir.path(), "新闻.csv", NEWS);
    let forms = ["", "<enter>", "j<enter>", "ja", "ja/新<enter>", "ja<tab>", "<enter>e"];
    for size in [(60, 16), (300, 90), (1, 1)] {
        for form in forms {
            let mut bench = open(&dir, &file);
            bench.screen(size, &format!(",{form}"));
            for key in [
                "<end>", "<down>", "<right>", "<left>", "<pgup>", "<enter>", "x", "<esc>", "G", "v", "D", "u", "<tab>",
                "?", "<home>",
            ] {
                bench.screen(size, key);
            }
        }
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
}

/// Every key of the settings is answered while the user waits: the whole text is read again at each letter that is typed.
#[test]
fn a_letter_typed_is_checked_at_once() {
    let text = format!("{}\n[[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n", crate::config::TEMPLATE);
    let (dir, file) = project(&text);
    let forms = form_bench(&file);
    let sheet = (forms.read)().unwrap();
    let change = inkstone_tui::Change::Set("clean.window_days".into(), "7".into());
    let begun = std::time::Instant::now();
    for _ in 0..10 {
        assert!((forms.change)(&sheet, &change).unwrap().faults.is_empty());
    }
    let each = begun.elapsed() / 10;
    assert!(each < std::time::Duration::from_secs(5), "{each:?} in {}", dir.path().display());
}

#[test]
fn a_key_adds_a_first_factor_where_there_is_none() {
    let (dir, file) =
        project("[project]\nname = \"x\"\n\n[[source]]\nname = \"p\"\npath = \"p.csv\"\ntable = \"prices\"\n");
    let again = file.clone();
    let mut bench = Bench::open(&dir, |w| {
        w.forms = Some(form_bench(&file));
        w.factors.clear();
        let fresh = w.clone();
        w.reopen = Some(Arc::new(move || {
            let (forms, factors) = (Some(form_bench(&again)), vec!["tone".to_owned()]);
            Ok(Workspace { forms, factors, ..fresh.clone() })
        }));
    });
    let bare = bench.screen(LARGE, "7");
    assert!(bare.contains("按 a 添加") && bare.contains("a 添加语气因子"), "{bare}");
    bench.press("a");
    bench.finish();
    assert_eq!(bench.app.jobs.list().len(), 1, "it runs");
    let config = Config::read(&file).unwrap();
    assert_eq!((config.feature[0].name.as_str(), config.factor[0].expression.to_string()), ("tone", "tone".to_owned()));
    assert!(!bench.screen(LARGE, "7").contains("添加语气因子"));
}

#[test]
fn a_first_factor_without_prices_asks_for_them() {
    let (dir, file) = project("[project]\nname = \"x\"\n");
    fs::write(dir.path().join("prices.csv"), "date,code,open,close\n2024-03-01,600001.SH,1,1\n").unwrap();
    let mut bench = Bench::open(&dir, |w| {
        w.forms = Some(form_bench(&file));
        w.factors.clear();
    });
    let screen = bench.screen(LARGE, "7a");
    assert!(screen.contains("选择数据文件") && screen.contains("prices.csv"), "{screen}");
    assert!(Config::read(&file).unwrap().factor.is_empty());
    // A path from the root on begins anew behind the folder that stands in the field.
    let path = dir.path().join("prices.csv").display().to_string();
    let screen = bench.screen(LARGE, &format!("<tab>{path}<enter>"));
    assert!(screen.contains("接受 1"), "{screen}");
}
