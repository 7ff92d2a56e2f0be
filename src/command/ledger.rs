//! `ledger`: lists every backtest that ran, with statistics corrected for the number of trials; deletes entries, which still count.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use chrono::Utc;
use serde::Serialize;
use serde_json::{Value, json};

use super::{batch, is_batch, or_explain};
use crate::cli::{Global, Ledger as Args, LedgerAction};
use crate::config::Config;
use crate::headless::Summary;
use crate::pipeline;
use inkstone_base::figures::{count, number, signed};
use inkstone_base::language::{Language, Word};
use inkstone_base::width::{left, right, shown as shown_text};
use inkstone_base::{ensure, message};
use inkstone_lab::ledger::{Book, BookTrial, Entry, Ledger, Looks, TrialTally};
use inkstone_tables::project::Project;

/// Cells of the names in the table.
const NAME: usize = 28;

/// A trial in the list.
#[derive(Serialize)]
struct TrialRow {
    id: u64,
    when: String,
    kind: inkstone_lab::ledger::EntryKind,
    /// None where it was deleted.
    factor: Option<String>,
    lookahead: bool,
    runs: u64,
    group: u64,
    sharpe: f64,
    deflated_sharpe: f64,
    p: f64,
    q: f64,
    /// Reason of the deletion, of a deleted trial.
    deleted: Option<String>,
}

/// The trials in the order in which they first ran, and the statistics of all of them.
struct TrialList {
    rows: Vec<TrialRow>,
    totals: Looks,
}

/// Looks into the ledger, or deletes from it: a JSON object, or a table on a terminal.
pub(super) fn run(args: &Args, global: &Global) -> ExitCode {
    let action = args.action.clone().unwrap_or(LedgerAction::List);
    if !is_batch(global) && matches!(action, LedgerAction::List) && std::io::stdout().is_terminal() {
        return or_explain(open(args).and_then(|ledger| {
            let mut out = std::io::stdout().lock();
            table(&list(&ledger)?).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            for opening in ledger.openings() {
                let (when, from) = (opening.when.format("%Y-%m-%d %H:%M"), opening.from);
                writeln!(out, "{when} sealed period from {from} opened 封存期已打开: {}", shown_text(&opening.reason))?;
            }
            for problem in ledger.problems() {
                writeln!(out, "!! {}", shown_text(&problem.to_string()))?;
            }
            Ok(ExitCode::from(u8::from(!ledger.problems().is_empty())))
        }));
    }
    batch("ledger", global, |_| act(&action, &mut open(args)?))
}

/// The folder of the ledger that the flags name.
fn folder(args: &Args) -> Result<PathBuf> {
    if let Some(ledger) = &args.ledger {
        return Ok(ledger.clone());
    }
    let usual = Path::new("workbench.toml");
    match args.config.as_deref().or_else(|| usual.exists().then_some(usual)) {
        Some(config) => {
            let base = config.parent().unwrap_or(Path::new(""));
            Ok(pipeline::project(&Config::read(config)?, base).ledger())
        }
        None => Ok(Project::standalone().ledger()),
    }
}

fn open(args: &Args) -> Result<Ledger> {
    let folder = folder(args)?;
    ensure!(
        Ledger::is_in(&folder),
        "{} 中没有台账：那里没有记录过回测；请用 -c 指定另一项目，或用 --ledger 指定另一文件夹",
        "there is no ledger in {}: no backtest has been recorded there; name another project with -c, or another folder with --ledger",
        folder.display()
    );
    match args.action {
        Some(LedgerAction::Delete { .. }) => Ledger::open(&folder),
        None | Some(LedgerAction::List | LedgerAction::Show { .. } | LedgerAction::Verify) => Ledger::read(&folder),
    }
}

fn act(action: &LedgerAction, ledger: &mut Ledger) -> Result<Summary> {
    let mut summary = Summary::default();
    match action {
        LedgerAction::List => {
            let list = list(ledger)?;
            summary.set("trials", list.rows);
            summary.set("totals", totals(&list.totals));
            if !ledger.openings().is_empty() {
                summary.set("openings", ledger.openings());
            }
        }
        LedgerAction::Show { id } => {
            let entry = ledger.entry(*id)?;
            summary.set("entry", shown(entry)?);
            summary.set("looks", TrialTally::new(ledger).looks(entry.trial));
        }
        LedgerAction::Delete { id, reason } => {
            summary.set("deletion", ledger.delete(id, reason, Utc::now())?);
            summary.set("totals", totals(&list(ledger)?.totals));
        }
        LedgerAction::Verify => {
            let (last, seal) = ledger.last()?;
            summary.set("lines", last);
            summary.set("seal", seal);
        }
    }
    summary.partial = !ledger.problems().is_empty();
    summary.set("problems", ledger.problems());
    Ok(summary)
}

fn list(ledger: &Ledger) -> Result<TrialList> {
    let book = Book::new(ledger)?;
    let row = |trial: BookTrial| {
        let BookTrial { entry, runs, looks, .. } = trial;
        let details = entry.details.as_ref();
        TrialRow {
            id: entry.number,
            when: entry.when.format("%Y-%m-%d %H:%M").to_string(),
            kind: entry.kind,
            factor: details.map(|details| details.factor.clone()),
            lookahead: details.is_some_and(|details| details.figures.lookahead),
            runs,
            group: entry.group,
            sharpe: looks.sharpe,
            deflated_sharpe: looks.deflated_sharpe,
            p: looks.p,
            q: looks.q,
            deleted: entry.deleted.as_ref().map(|deletion| deletion.reason.clone()),
        }
    };
    Ok(TrialList { rows: book.trials.into_iter().map(row).collect(), totals: book.totals })
}

fn totals(looks: &Looks) -> Value {
    json!({
        "trials": looks.trials, "independent": looks.independent, "runs": looks.runs, "deleted": looks.deleted, "missing": looks.missing,
        "expected_best": looks.expected_best, "overfitting": looks.overfitting, "overfitting_trials": looks.overfitting_trials,
        "overfitting_slope": looks.overfitting_slope, "overfitting_loss": looks.overfitting_loss,
    })
}

/// An entry without its returns, but with their number of days and first and last date.
fn shown(entry: &Entry) -> Result<Value> {
    let mut shown = serde_json::to_value(entry)?;
    let returns = entry.details.as_ref().and_then(|details| details.returns.as_ref());
    if let Some(returns) = returns {
        let days = json!({"days": returns.dates.len(), "first": returns.dates.first(), "last": returns.dates.last()});
        shown["details"]
            .as_object_mut()
            .context(Word("详情应为对象", "details are an object"))?
            .insert("returns".into(), days);
    }
    Ok(shown)
}

fn table(list: &TrialList) -> Vec<String> {
    let line = |id: &str, when: &str, name: &str, numbers: [&str; 5]| {
        let numbers: String = numbers.iter().map(|text| right(text, 9)).collect();
        format!("{} {} {}{numbers}", right(id, 5), left(when, 16), left(name, NAME)).trim_end().to_owned()
    };
    let titles = [
        Word("编号", "id"),
        Word("时间（UTC）", "recorded (UTC)"),
        Word("因子", "factor"),
        Word("运行", "runs"),
        Word("夏普", "Sharpe"),
    ];
    let [id, when, name, runs, sharpe] = titles.map(|title| title.to(Language::of_messages()));
    let mut lines = vec![line(id, when, name, [runs, sharpe, "DSR", "p", "q"])];
    for row in &list.rows {
        let name = match (&row.factor, &row.deleted) {
            (Some(name), _) if row.lookahead => format!("{name} (LOOK-AHEAD)"),
            (Some(name), _) => name.clone(),
            (None, Some(reason)) => format!("(deleted: {reason})"),
            (None, None) => Word("（缺少详情）", "(details missing)").to_string(),
        };
        let numbers = [
            count(row.runs),
            signed(row.sharpe, 2),
            number(row.deflated_sharpe, 3),
            number(row.p, 4),
            number(row.q, 4),
        ];
        lines.push(line(&row.id.to_string(), &row.when, &name, numbers.each_ref().map(String::as_str)));
    }
    let totals = &list.totals;
    lines.push(String::new());
    let counted = message!(
        "{} 次试验（{} 个想法），运行 {} 次，删除 {}，缺失 {}",
        "{} looks ({} ideas), {} runs, {} deleted, {} missing",
        count(totals.trials),
        count(totals.independent),
        count(totals.runs),
        count(totals.deleted),
        count(totals.missing)
    );
    lines.push(counted.to_string());
    let luck = message!(
        "纯运气夏普上限 {}；过拟合概率 {}（{} 次试验）",
        "best Sharpe ratio expected by luck {}; probability of overfitting {} (of {} trials)",
        number(totals.expected_best, 2),
        number(totals.overfitting, 3),
        count(totals.overfitting_trials)
    );
    lines.push(luck.to_string());
    lines
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;
    use inkstone_lab::backtest::{IcSeries, IcSummary, LongShort, Outcome};
    use inkstone_lab::ledger::{Trial, record};

    fn tested(name: &str, drift: f64) -> Outcome {
        let dates: Vec<NaiveDate> =
            NaiveDate::from_ymd_opt(2023, 1, 2).into_iter().flat_map(|first| first.iter_days().take(300)).collect();
        let net = (0..300).map(|n| drift + f64::from(n * 7919 % 101 - 50) / 5000.0).collect();
        let summary = IcSummary { p: 0.04, ..IcSummary::default() };
        Outcome {
            factor: name.to_owned(),
            ic: vec![IcSeries { horizon: 1, rank_ic_summary: summary, ..IcSeries::default() }],
            long_short: LongShort { dates, net, ..LongShort::default() },
            days_per_year: 242,
            ..Outcome::default()
        }
    }

    #[test]
    fn trials_are_listed_shown_and_deleted_and_go_on_counting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        let args = |action| Args { action: Some(action), config: None, ledger: Some(path.clone()) };
        let run = |action: LedgerAction| act(&action, &mut open(&args(action.clone()))?).map(|summary| summary.fields);
        let refused = format!("{:#}", run(LedgerAction::List).unwrap_err());
        assert!(refused.contains("no backtest has been recorded") && !path.exists(), "{refused}");
        for (name, drift) in [("舆情", 0.001), ("tone", 0.0), ("tone", 0.0)] {
            let inputs = [("factor".to_owned(), inkstone_base::data::Key::of(name.as_bytes()))].into();
            record(&path, &Trial::backtest(&tested(name, drift), json!({"quantiles": 5}), inputs), Utc::now()).unwrap();
        }
        let listed = run(LedgerAction::List).unwrap();
        assert_eq!((&listed["trials"][0]["factor"], &listed["trials"][1]["runs"]), (&json!("舆情"), &json!(2)));
        assert_eq!((&listed["totals"]["trials"], &listed["totals"]["runs"]), (&json!(2), &json!(3)));
        assert_eq!(listed["problems"], json!([]));
        let entry = run(LedgerAction::Show { id: 1 }).unwrap();
        assert_eq!(entry["entry"]["details"]["returns"]["days"], 300);
        assert_eq!(
            (&entry["entry"]["details"]["parameters"]["quantiles"], &entry["looks"]["trials"]),
            (&json!(5), &json!(2))
        );
        let deletion = LedgerAction::Delete { id: vec![1], reason: "重复的想法".into() };
        assert_eq!(run(deletion).unwrap()["totals"]["trials"], 2);
        let lines = table(&list(&open(&args(LedgerAction::List)).unwrap()).unwrap());
        assert!(lines[1].contains("(deleted: 重复的想法)") && lines[1].contains("0.0400"), "{lines:?}");
        assert!(lines[4].starts_with("2 looks (1 ideas), 3 runs, 1 deleted, 0 missing"), "{lines:?}");
        assert_eq!(run(LedgerAction::Verify).unwrap()["lines"], 4);
        assert_eq!(run(LedgerAction::Show { id: 1 }).unwrap()["entry"]["details"], Value::Null);
    }
}
