//! Folders of others: nothing is written, swept or removed in them. Folders that the program made may hold files of the user, which stay.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use inkstone_base::disk::{self, MARKER};
use serde_json::Value;

use crate::desk::{CODES, Desk};
use crate::{Ran, assert_says, edit, files_below, inkstone, run};

/// Files of a user under names that the program gives as well, and others.
const MINE: [&str; 9] = [
    ".tmp-mine",
    "clean/part-00000.parquet",
    "data/prices.csv",
    "data/reports/txt/R000001.txt",
    "documents/mine.parquet",
    "package.json",
    "prices.parquet",
    "securities.parquet",
    "state.json",
];

/// Puts the user's files into a folder, and gives them.
fn put_mine(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    for path in MINE.map(|path| folder.join(path)) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    files_below(folder)
}

fn set(desk: &Desk, line: &str) {
    edit(&desk.folder().join("workbench.toml"), "name = \"desk\"", &format!("name = \"desk\"\n{line}"));
}

#[test]
fn no_command_touches_a_project_folder_of_others() {
    let desk = Desk::new();
    let mine = put_mine(&desk.folder().join("mine"));
    set(&desk, "dir = \"mine\"");
    let stages = [
        "run",
        "ingest",
        "clean",
        "link",
        "structure",
        "rewrite",
        "extract",
        "factor",
        "backtest",
        "lint",
        "export",
        "report",
    ];
    let refused: [&[&str]; 5] = [
        &["experiment"],
        &["store", "repair"],
        &["store", "import", "x.parquet"],
        &["demo", "--dir", "mine", "--scale", "0.05"],
        &["backtest", "--factor", "prices.csv", "--prices", "prices.csv", "--out", "mine"],
    ];
    desk.write("x.parquet", "");
    let add_experiment = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap() + EXPERIMENT;
    desk.write("workbench.toml", add_experiment);
    for args in stages.iter().map(std::slice::from_ref).chain(refused) {
        let ran = run(desk.folder(), &[args, &["--headless"]].concat());
        assert_eq!(files_below(&desk.folder().join("mine")), mine, "{args:?}");
        assert_says(
            &ran.refusal(),
            &["mine holds", ".tmp-mine", "and 5 more", "Inkstone did not make that folder", MARKER],
        );
    }
    // A folder that is the program's own by the user's word.
    edit(&desk.folder().join("workbench.toml"), "dir = \"mine\"", "dir = \"own\"");
    fs::create_dir(desk.folder().join("own")).unwrap();
    desk.write("own/notes.txt", "mine");
    assert_says(&desk.run().refusal(), &["own holds \"notes.txt\"", "name a new or empty folder in [project] dir"]);
    desk.write(&format!("own/{MARKER}"), "");
    desk.run().finished();
    assert_eq!(fs::read(desk.folder().join("own/notes.txt")).unwrap(), b"mine");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_of_others_is_no_way_around() {
    let desk = Desk::new();
    let mine = put_mine(&desk.folder().join("mine"));
    std::os::unix::fs::symlink("mine", desk.folder().join(".inkstone")).unwrap();
    assert_says(&desk.run().refusal(), &[".inkstone holds", "Inkstone did not make that folder"]);
    assert_eq!(files_below(&desk.folder().join("mine")), mine);
}

#[test]
fn exports_and_reports_of_others_are_refused_before_anything_is_computed() {
    for (line, last) in [("exports = \"mine\"", "export"), ("\n[report]\ndir = \"mine\"", "report")] {
        let desk = Desk::new();
        let mine = put_mine(&desk.folder().join("mine"));
        set(&desk, line);
        let ran = run(desk.folder(), &[last, "--headless"]);
        assert_says(&ran.refusal(), &["mine holds", "and 5 more", "nothing in it was touched"]);
        assert!(!desk.folder().join(".inkstone/ingest.json").exists(), "nothing was read yet");
        assert_eq!(files_below(&desk.folder().join("mine")), mine);
        run(desk.folder(), &["lint", "--headless"]).finished();
    }
    let desk = Desk::new();
    set(&desk, "exports = \"work\"\n\n[report]\ndir = \"work/pages\"");
    desk.run().finished();
    let pages = files_below(&desk.folder().join("work/pages"));
    run(desk.folder(), &["export", "--headless"]).finished();
    edit(&desk.folder().join("workbench.toml"), "horizons = [1]", "horizons = [1, 2]");
    run(desk.folder(), &["export", "--headless"]).finished();
    assert_eq!(files_below(&desk.folder().join("work/pages")), pages, "an export keeps what lies below it");
}

#[test]
fn files_of_the_user_in_folders_of_the_program_stay() {
    let desk = Desk::new();
    desk.run().finished();
    let theirs = [
        ".inkstone/notes.json",
        ".inkstone/documents/mine.parquet",
        ".inkstone/.tmp-mine",
        ".inkstone/lint/mine.json",
        "exports/.DS_Store",
        "exports/~$factors.xlsx",
        "exports/research.ipynb",
        "exports/long/notes.txt",
        "reports/tone/notes.txt",
        "reports/mine.html",
    ];
    theirs.iter().for_each(|path| desk.write(path, "mine"));
    let all_there = || theirs.iter().all(|path| fs::read(desk.folder().join(path)).is_ok_and(|bytes| bytes == b"mine"));
    let verify = |when: &str| {
        let json = run(desk.folder(), &["store", "verify"]).finished();
        assert_eq!(json["problems"], serde_json::json!([]), "{when}");
    };
    verify("after the first run");
    for horizons in ["[1, 2]", "[1]", "[2]"] {
        let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
        let (before, rest) = config.split_once("horizons = ").unwrap();
        let (_, after) = rest.split_once('\n').unwrap();
        desk.write("workbench.toml", format!("{before}horizons = {horizons}\n{after}"));
        desk.run().finished();
        assert!(all_there(), "after a run with {horizons}");
    }
    run(desk.folder(), &["store", "repair"]).finished();
    desk.write("news.csv", crate::desk::news().lines().take(20).collect::<Vec<_>>().join("\n"));
    desk.run().finished();
    assert!(all_there(), "after a repair and another corpus");
    verify("after the last run");
}

#[test]
fn a_demo_goes_into_its_own_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mine = put_mine(&folder.path().join("mine"));
    let demo = |dir: &str| run(folder.path(), &["demo", "--headless", "--scale", "0.05", "--dir", dir]);
    assert_says(&demo("mine").refusal(), &["mine holds", "Inkstone did not make that folder", "with --dir"]);
    assert_eq!(files_below(&folder.path().join("mine")), mine);
    assert_eq!(demo(".").code, Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    demo("own").finished();
    fs::write(folder.path().join("own/notes.txt"), "mine").unwrap();
    demo("own").finished();
    assert_eq!(fs::read(folder.path().join("own/notes.txt")).unwrap(), b"mine");
}

#[test]
fn folders_named_by_flags_are_new_empty_or_of_the_program() {
    let desk = Desk::new();
    desk.run().finished();
    desk.write("paper.txt", "标题：年报点评\n发布时间：2024-03-01\n\n公司净利润大幅增长。\n");
    let mine = put_mine(&desk.folder().join("mine"));
    for args in
        [["read", "paper.txt", "--output", "FOLDER"].as_slice(), &["store", "export", "--all", "--out", "FOLDER"]]
    {
        let ran = |folder: &str| {
            let args: Vec<&str> = args.iter().map(|word| if *word == "FOLDER" { folder } else { word }).collect();
            run(desk.folder(), &args)
        };
        assert_says(&ran("mine").refusal(), &["mine holds", "name a new or empty folder with --"]);
        assert_eq!(files_below(&desk.folder().join("mine")), mine);
        let new = format!("{}-new", args[0]);
        ran(&new).finished();
        ran(&new).finished();
    }
}

const EXPERIMENT: &str = "\n[[experiment]]\nname = \"heads\"\ntarget = \"factor\"\nfeatures = [\"tone\"]\nunit = \"characters\"\n\
    vary = { truncate = [\"head\"] }\nlengths = [16, 64]\nhorizon = 1\n";

/// A project with an experiment, which needs more days than the other tests.
fn laboratory() -> Desk {
    let desk = Desk::new();
    // 2024-01-01 was a Monday.
    let weekdays = (1..=59).filter(|day| !matches!(day % 7, 6 | 0));
    let days: Vec<String> =
        weekdays.map(|day| format!("2024-{:02}-{:02}", 1 + (day - 1) / 31, 1 + (day - 1) % 31)).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let mut news = String::from("id,title,body,codes,published_at\n");
    for (d, day) in days[..36].iter().enumerate() {
        for (c, code) in CODES.iter().enumerate() {
            let tone = if (d + c) % 2 == 0 {
                "大幅增长，盈利能力显著改善"
            } else {
                "大幅下滑，存在退市风险"
            };
            let body = format!("第{d}日第{c}家：净利润{tone}。");
            let _ = writeln!(news, "{d}-{c},净利润{tone},{body},{code},{day} 10:00:00");
        }
    }
    desk.write("news.csv", news);
    desk.write("prices.csv", crate::desk::prices(&days));
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write("workbench.toml", config + EXPERIMENT);
    desk
}

/// Every order of some things.
fn orders<'a>(things: &[&'a str]) -> Vec<Vec<&'a str>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let first = |i: usize| {
        let rest = [&things[..i], &things[i + 1..]].concat();
        orders(&rest).into_iter().map(move |order| [vec![things[i]], order].concat())
    };
    (0..things.len()).flat_map(first).collect()
}

#[test]
fn runs_experiments_exports_and_reports_get_along_in_every_order() {
    let desk = laboratory();
    let page = desk.folder().join("exports/experiments/heads.html");
    for (n, order) in orders(&["run", "experiment", "export", "report"]).into_iter().enumerate() {
        // Half of the orders begin with nothing, the others with what the one before left.
        if n % 2 == 0 {
            for folder in [".inkstone", "exports", "reports"].map(|name| desk.folder().join(name)) {
                let _ = fs::remove_dir_all(folder);
            }
        }
        // Without this nothing would be exported again.
        let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
        let bom = config.contains("bom = true");
        let config = config.split("\n[export]").next().unwrap();
        desk.write("workbench.toml", format!("{config}\n[export]\nbom = {}\n", !bom));
        let mut tried = false;
        for command in order.iter().flat_map(|command| [command, command]) {
            let ran = run(desk.folder(), &[command, "--headless"]);
            assert!(matches!(ran.code, Some(0 | 1)), "{command} in {order:?}: {}", ran.stderr);
            tried |= *command == "experiment";
            assert!(!tried || page.exists(), "{command} in {order:?} lost the page of the experiment");
        }
        assert!(desk.folder().join("exports/manifest.json").exists() && desk.folder().join("reports/tone").exists());
    }
}

#[test]
fn exports_into_one_folder_at_once_do_not_mix() {
    let desk = laboratory();
    run(desk.folder(), &["factor", "--headless"]).finished();
    let mut done = 0;
    for round in 0..5 {
        let start = |n: usize| {
            let (ledger, shapes) = (format!("ledger-{n}"), "qlib_bin,long,wide,alphalens,qlib");
            let args = [
                "backtest",
                "--headless",
                "--factor",
                ".inkstone/factors/tone.parquet",
                "--prices",
                "prices.csv",
                "--quantiles",
                "2",
                "--horizons",
                "1",
                "--max-loss",
                "1",
                "--out",
                "out",
                "--shapes",
                shapes,
                "--ledger",
                &ledger,
            ];
            let mut command = inkstone(desk.folder(), &args);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let ran: Vec<Ran> = children.into_iter().map(|child| Ran::of(child.wait_with_output().unwrap())).collect();
        for ran in &ran {
            match ran.code {
                Some(2) => {
                    assert_says(&ran.refusal(), &["another export is being written to", "out (process", "wait until"])
                }
                _ => drop(ran.finished()),
            }
        }
        done += ran.iter().filter(|ran| ran.code != Some(2)).count();
        assert!(ran.iter().any(|ran| ran.code != Some(2)), "round {round}: {}", ran[0].stderr);
        let manifest: Value = disk::read_json(&desk.folder().join("out/manifest.json")).unwrap();
        let listed: Vec<&str> =
            manifest["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        let mut there = files_below(&desk.folder().join("out"));
        assert!(there.remove("manifest.json").is_some() && there.remove(MARKER).is_some());
        assert!(there.keys().eq(&listed), "round {round}: {:?} and {listed:?}", there.keys());
        for file in manifest["files"].as_array().unwrap() {
            let path = desk.folder().join("out").join(file["path"].as_str().unwrap());
            assert_eq!(disk::hash_file_in_full(&path).unwrap(), file["blake3"].as_str().unwrap());
        }
        let beside: Vec<_> = fs::read_dir(desk.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!beside.iter().any(|name| name.to_string_lossy().starts_with(".out")), "{beside:?}");
    }
    assert!(done >= 5, "{done}");
}
