//! Clocks that go wrong: contents decide, and what was of the future comes back.

use super::*;

#[test]
fn contents_decide_whatever_the_clock_said_when_a_file_was_written() {
    let desk = Desk::new();
    let sources = [source("news", "news.csv")];
    let path = desk.put("news.csv", NEWS);
    desk.run(&sources);
    let written = |year: u64| {
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(year * 31_557_600);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    for year in [0, 130] {
        written(year);
        assert!(desk.run(&sources).unchanged);
    }
    fs::write(&path, NEWS.replace("上涨", "下跌")).unwrap();
    written(130);
    assert!(!desk.run(&sources).unchanged);
    assert!(desk.documents()[0].body.contains("下跌"));
}

#[test]
fn a_clock_that_was_set_back_costs_no_row() {
    let desk = Desk { params: Params { max_loss: 0.9, latest: None, ..Desk::new().params }, ..Desk::new() };
    let sources = [source("news", "*.csv")];
    let (first, second) = NEWS.split_at(NEWS.find("3,").unwrap());
    desk.put("a.csv", format!("{first}4,日报,只有日期。,,2024-03-05\n"));
    desk.put("b.csv", format!("id,title,body,code,time\n{second}"));
    let run = |latest: &str| {
        let ctx = Ctx::new(1, 1).unwrap();
        let report = crate::ingest::run::run_at(
            latest.parse().unwrap(),
            &sources,
            &desk.params,
            desk.dir.path(),
            &desk.project(),
            &ctx,
        );
        let report = report.unwrap();
        (report.unchanged, report.rows_out, report.facts["files_read"].as_u64().unwrap())
    };
    assert_eq!(run("2024-03-04T10:00:00"), (false, 2, 2));
    assert_eq!(desk.rejects().iter().map(|reject| reject.row).collect::<Vec<_>>(), [3, 1]);
    assert!(run("2024-03-04T23:00:00").0, "nothing has come to pass yet");
    assert_eq!(run("2024-03-05T09:00:00"), (false, 4, 2), "the clock goes right again");
    assert!(desk.rejects().is_empty());
    assert!(run("1970-01-01T00:00:00").0, "what was read stays");
}
