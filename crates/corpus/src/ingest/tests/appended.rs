//! Price tables to which rows are appended.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Desk, NEWS, source};
use crate::ingest::{Params, Source, Table};
use inkstone_tables::project::Project;

#[test]
fn prices_that_are_appended_are_read_alone_and_change_nothing_else() {
    let day = |date: &str, close: f64| format!("{date},600000,{close}\n{date},000609,{}\n", close + 1.0);
    let bad = "2024-03-04,某公司,1\n";
    let desk = || Desk { params: Params { max_loss: 0.9, ..Desk::new().params }, ..Desk::new() };
    let (desk, at_once) = (desk(), desk());
    let sources = [Source { table: Table::Prices, ..source("prices", "prices/*.csv") }, source("news", "news.csv")];
    let run = |desk: &Desk, files: &[(&str, &str)]| {
        desk.put("news.csv", NEWS);
        files.iter().for_each(|(name, rows)| drop(desk.put(name, format!("date,code,close\n{rows}"))));
        let report = desk.try_run(&sources).unwrap();
        assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
        report
    };
    let first = format!("{}{bad}{}", day("2024-03-01", 7.0), day("2024-03-04", 8.0));
    let grown = format!("{first}{}", day("2024-03-05", 9.0));
    let other = day("2024-03-06", 10.0);
    run(&desk, &[("prices/1.csv", &first)]);
    let report = run(&desk, &[("prices/1.csv", &grown), ("prices/2.csv", &other)]);
    assert_eq!(report.facts["files_grown"], json!(1));
    let expected = run(&at_once, &[("prices/1.csv", &grown), ("prices/2.csv", &other)]);
    assert_eq!((report.rows_in, &report.dropped), (expected.rows_in, &expected.dropped));
    let same = |name: fn(&Project) -> PathBuf| {
        assert!(fs::read(name(&desk.project())).unwrap() == fs::read(name(&at_once.project())).unwrap());
    };
    same(Project::prices);
    same(Project::rejects);
    // A row of a day that is there already has all read anew.
    let corrected = format!("{grown}2024-03-01,000001,5\n");
    let report = run(&desk, &[("prices/1.csv", &corrected)]);
    assert_eq!(report.facts["files_read"], json!(2));
    assert_eq!(report.rows_out, run(&at_once, &[("prices/1.csv", &corrected)]).rows_out);
    same(Project::prices);
}
