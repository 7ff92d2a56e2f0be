//! Planted frauds, each named by its own check, and the same results without the fraud, which pass; and the kinds of results that are read.

mod made;

use std::fs;
use std::path::Path;

use serde_json::Value;

use self::made::{CHECKS, MadeResult};
use crate::{assert_says, run};

const SEED: u64 = 1;

/// The audit of `result.csv` with more arguments.
fn audit(folder: &Path, more: &[&str]) -> Value {
    run(folder, &[&["audit", "result.csv", "--prices", "prices.csv"], more].concat()).finished()
}

/// Names of the checks that named a fraud.
fn frauds(json: &Value) -> Vec<&str> {
    json["frauds"].as_array().expect("an audit lists frauds").iter().filter_map(Value::as_str).collect()
}

/// The claims with the figures of an audit without them.
fn claims(template: &str, audit: &Value) -> String {
    let lags = audit["lags"].as_array().unwrap();
    let same_day = &lags.iter().find(|lag| lag["days"] == 0).unwrap()["rank_ic"];
    let figure = |of: &str, name: &str| format!("{:.4}", audit[of][name].as_f64().unwrap_or(f64::NAN));
    template
        .replace("{same_day}", &format!("{:.4}", same_day.as_f64().unwrap()))
        .replace("{honest}", &figure("honest", "rank_ic"))
        .replace("{gross}", &figure("aligned", "sharpe"))
        .replace("{net}", &figure("honest", "sharpe"))
        .replace("{plain_t}", &figure("aligned", "t"))
        .replace("{honest_t}", &figure("honest", "t"))
}

/// Audits a made result with its claims.
fn audit_made(folder: &Path, made: &MadeResult) -> Value {
    fs::write(folder.join("result.csv"), &made.table).unwrap();
    let mut more: Vec<&str> = Vec::new();
    if let Some(documents) = &made.documents {
        fs::write(folder.join("documents.csv"), documents).unwrap();
        more.extend(["--documents", "documents.csv"]);
    }
    let first = made.first.map_or(more.clone(), |claim| [&more[..], &["--claim", claim]].concat());
    let json = audit(folder, &first);
    let Some(template) = made.claim else { return json };
    audit(folder, &[&more[..], &["--claim", &claims(template, &json)]].concat())
}

#[test]
fn each_fraud_is_named_by_its_own_check_and_its_clean_twin_passes() {
    let folder = tempfile::tempdir().unwrap();
    let market = made::market(SEED);
    fs::write(folder.path().join("prices.csv"), &market.prices).unwrap();
    for check in CHECKS {
        let json = audit_made(folder.path(), &made::result(&market, check, true, SEED));
        assert_eq!(frauds(&json), [check], "{check}: {:#}", json["verdicts"]);
        let clean = audit_made(folder.path(), &made::result(&market, check, false, SEED));
        assert!(frauds(&clean).is_empty(), "{check} without fraud: {:?}\n{:#}", frauds(&clean), clean["verdicts"]);
        let verdicts = clean["verdicts"].as_array().unwrap();
        let own = verdicts.iter().find(|verdict| verdict["check"] == check).unwrap();
        assert_ne!(own["standing"], "skipped", "{check} was not tested on its twin");
        for verdict in json["verdicts"].as_array().unwrap().iter().chain(verdicts) {
            for sentences in verdict["finding"].as_array().unwrap() {
                let text = sentences.as_str().unwrap();
                assert!(!text.is_empty() && !text.contains(['{', '}']) && !text.contains("NaN"), "{text}");
            }
        }
    }
}

#[test]
fn an_earlier_version_shows_values_that_change_and_other_results_deflate_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let market = made::market(SEED);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("prices.csv", &market.prices);
    let clean = made::result(&market, "reproduced", false, SEED).table;
    write("result.csv", &clean);
    let half: Vec<&str> = clean.lines().take(9_000).collect();
    write("earlier.csv", &half.join("\n"));
    assert!(frauds(&audit(folder.path(), &["--earlier", "earlier.csv"])).is_empty());
    // Every fiftieth value was another one.
    let changed: Vec<String> = half
        .iter()
        .enumerate()
        .map(|(n, line)| if n % 50 == 7 { format!("{line}9") } else { (*line).to_owned() })
        .collect();
    write("earlier.csv", &changed.join("\n").replace("9\n", "1\n"));
    let json = audit(folder.path(), &["--earlier", "earlier.csv"]);
    assert_eq!(frauds(&json), ["cut-future"], "{:#}", json["verdicts"]);

    // The best of noise, told by the number of trials and by the other tables.
    let noise = made::result(&market, "selected", true, SEED).table;
    let column = |k: usize| -> String {
        let field = |line: &str| line.split(',').nth(2 + k).unwrap().to_owned();
        let rows = noise.lines().enumerate().map(|(n, line)| {
            let cell: Vec<&str> = line.split(',').take(2).collect();
            format!("{},{}\n", cell.join(","), if n == 0 { "value".to_owned() } else { field(line) })
        });
        rows.collect()
    };
    write("result.csv", &noise);
    let best = audit(folder.path(), &[])["column"].as_str().unwrap().to_owned();
    let best: usize = best.trim_start_matches("model_").parse().unwrap();
    write("result.csv", &column(best));
    assert!(frauds(&audit(folder.path(), &[])).is_empty(), "nobody knows of the others");
    assert_eq!(frauds(&audit(folder.path(), &["--tried", "1000"])), ["selected"]);
    fs::create_dir(folder.path().join("others")).unwrap();
    (0..12).filter(|k| *k != best).for_each(|k| write(&format!("others/m{k}.csv"), &column(k)));
    let json = audit(folder.path(), &["--tried", "others"]);
    let verdict = json["verdicts"].as_array().unwrap().iter().find(|verdict| verdict["check"] == "selected").unwrap();
    assert!(verdict["figures"]["tried"].as_u64().unwrap() >= 12 && verdict["figures"]["better"] == 0, "{verdict:#}");
}

#[test]
fn wide_tables_and_recorders_are_read_and_the_page_speaks_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    let market = made::market(SEED);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("prices.csv"), &market.prices).unwrap();
    let mut wide = format!("date,{}\n", (0..made::NAMES).map(made::code).collect::<Vec<_>>().join(","));
    for t in 0..made::DATES {
        let cell = |i: usize| if t <= made::end(i) { format!("{:.6}", market.alpha[t][i]) } else { String::new() };
        wide += &format!("{},{}\n", market.dates[t], (0..made::NAMES).map(cell).collect::<Vec<_>>().join(","));
    }
    fs::write(path("result.csv"), wide).unwrap();
    let of_wide = audit(folder.path(), &["--out", "page"]);
    fs::write(path("result.csv"), made::result(&market, "reproduced", false, SEED).table).unwrap();
    let of_long = audit(folder.path(), &[]);
    assert_eq!((&of_wide["honest"], &of_wide["values"]), (&of_long["honest"], &of_long["values"]));
    assert_eq!(run(folder.path(), &["audit", "result.csv", "--prices", "prices.csv", "--headless"]).code, Some(0));
    let page = fs::read_to_string(path("page/audit.html")).unwrap();
    assert_says(&page, &["lang=\"zh-CN\"", "lang=\"en\"", "宣称与诚实", "Claimed and honest", "survivors alone"]);
    assert!(!page.contains("<script") && !page.contains("NaN"));
    let kept: Value = serde_json::from_slice(&fs::read(path("page/audit.json")).unwrap()).unwrap();
    assert_eq!(kept["verdicts"], of_wide["verdicts"]);

    // A recorder: predictions and labels beside each other, and files of metrics that claim what nobody finds.
    for name in ["run/artifacts", "run/metrics"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    let table = made::result(&market, "reproduced", false, SEED).table;
    fs::write(path("run/artifacts/pred.csv"), table.replacen("date,code,value", "datetime,instrument,score", 1))
        .unwrap();
    let mut labels = "datetime,instrument,LABEL0\n".to_owned();
    for t in 0..made::DATES - 2 {
        for i in (0..made::NAMES).filter(|i| t + 2 <= made::end(*i)) {
            let label = market.close[t + 2][i] / market.close[t + 1][i] - 1.0;
            labels += &format!("{},{},{label:.8}\n", market.dates[t], made::code(i));
        }
    }
    fs::write(path("run/artifacts/label.csv"), labels).unwrap();
    fs::write(path("run/metrics/Rank IC"), "1700000000000 0.4 0\n").unwrap();
    let ran = run(folder.path(), &["audit", "run", "--prices", "prices.csv"]);
    let json = ran.json();
    assert_eq!((ran.code, &json["shape"], &json["claim"]["rank_ic"]), (Some(1), &"qlib-recorder".into(), &0.4.into()));
    assert_eq!(json["aligned_trade"], "close t+1 → close t+2");
    assert_eq!(frauds(&json), ["reproduced"], "{:#}", json["verdicts"]);
}

#[test]
fn what_cannot_be_audited_is_refused_with_the_reason_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("prices.csv", "date,code,close\n2024-01-02,600001.SH,1\n2024-01-03,600001.SH,2\n");
    let refusal = |table: &str, more: &[&str]| {
        write("result.csv", table);
        run(folder.path(), &[&["audit", "result.csv", "--prices", "prices.csv"], more].concat()).refusal()
    };
    let good = "date,code,value\n2024-01-02,600001.SH,1\n";
    assert_says(&refusal("date,code,value\n2024-01-02,600009.SH,1\n", &[]), &["600009.SH", "600001.SH", "same names"]);
    assert_says(&refusal("date,code,group\n2024-01-02,600001.SH,a\n", &[]), &["no column holds values", "\"value\""]);
    assert_says(&refusal("date,code,value\n2024-01-02,600001.SH,x\n", &[]), &["row 1 of column value"]);
    assert_says(&refusal("date,open,value\n2024-01-02,1,1\n", &[]), &["no column is named code"]);
    assert_says(&refusal("date,code,value\n", &[]), &["no rows"]);
    assert_says(&refusal(good, &["--score", "other"]), &["--score", "\"other\"", "value"]);
    assert_says(&refusal(good, &["--claim", "sharp=2"]), &["unknown field `sharp`", "sharpe"]);
    assert_says(&refusal(good, &["--claim", "ic"]), &["ic=0.05"]);
    assert_says(&refusal(good, &["--tried", "0"]), &["at least 1"]);
    assert_says(&refusal(good, &["--tried", "nowhere"]), &["neither a number nor a folder"]);
    // One value can be read, but says nothing.
    write("result.csv", good);
    let json = audit(folder.path(), &[]);
    let passed = json["verdicts"].as_array().unwrap().iter().filter(|verdict| verdict["standing"] == "passed");
    let passed: Vec<&str> = passed.map(|verdict| verdict["check"].as_str().unwrap()).collect();
    assert_eq!(passed, ["overlapping-returns", "duplicates"], "{json:#}");
    let split = "date,code,value,split\n2024-01-02,600001.SH,1,maybe\n";
    assert_says(&refusal(split, &[]), &["row 1 of column split", "neither train, valid nor test"]);
    fs::create_dir(folder.path().join("run")).unwrap();
    let empty = run(folder.path(), &["audit", "run", "--prices", "prices.csv"]).refusal();
    assert_says(&empty, &["pred.pkl", "name a file"]);
    fs::write(folder.path().join("run/pred.pkl"), b"cos\nsystem\n(S'true'\ntR.").unwrap();
    let harmful = run(folder.path(), &["audit", "run", "--prices", "prices.csv"]).refusal();
    assert_says(&harmful, &["names os.system", "not run", "to_parquet"]);
    fs::create_dir(folder.path().join("mine")).unwrap();
    write("mine/notes.txt", "mine");
    let ours = refusal(good, &["--out", "mine"]);
    assert_says(&ours, &["mine"]);
}
