//! The table of events.

use super::{Desk, source};
use crate::ingest::{Source, Table};
use inkstone_market as market;
use inkstone_tables::frames;

#[test]
fn events_keep_their_numbers_and_rows_that_say_too_little_are_set_aside() {
    let mut desk = Desk::new();
    desk.params.max_loss = 1.0;
    desk.put(
        "events.csv",
        "代码,事件类型,公告日期,金额(万元),占比(%),股数(万股),事件日期\n\
         600001,回购,2023-04-20,30000,2,,2023-05-01\n\
         600001,回购,2023-04-20,20000,1,,2023-05-01\n\
         600001,回购,2023-04-20,30000,2,,2023-05-01\n\
         600001,减持,2023-04-20 10:30:00,,,150,\n\
         600002,,2023-04-20,1,,,\n\
         600002,回购,,1,,,\n\
         600002,回购,2099-01-01,1,,,\n\
         600002,回购,2023-04-20,-1,,,\n\
         600002,回购,2023-04-20,约一亿,,,\n\
         海外公司,回购,2023-04-20,1,,,\n",
    );
    let events = Source { table: Table::Events, ..source("events", "events.csv") };
    let report = desk.run(std::slice::from_ref(&events));
    assert_eq!((report.rows_in, report.rows_out, &report.facts["events"]), (10, 3, &3.into()));
    let reasons = [
        "event that an earlier row has",
        "no kind",
        "no time",
        "not a number",
        "not a security code",
        "number below zero",
        "time in the future",
    ];
    assert_eq!(report.dropped.keys().map(String::as_str).collect::<Vec<_>>(), reasons);
    let read = || {
        let frame = frames::read_parquet(&desk.project().company_events(), None).unwrap();
        market::events_from_frame(&frame).unwrap()
    };
    let rows = read();
    let shown: Vec<String> = rows.iter().map(|r| format!("{} {} {}", r.code, r.kind, r.known_at)).collect();
    let purchase = "600001.SH 回购 2023-04-20 23:59:59";
    assert_eq!(shown, ["600001.SH 减持 2023-04-20 10:30:00", purchase, purchase], "only the same row twice is one");
    let (sale, smaller, purchase) = (rows[0].arguments, rows[1].arguments, rows[2].arguments);
    assert_eq!(smaller.amount, Some(2e8));
    assert_eq!((sale.amount, sale.shares), (None, Some(1.5e6)));
    assert_eq!((purchase.amount, purchase.percent, purchase.date), (Some(3e8), Some(0.02), "2023-05-01".parse().ok()));
    // A file that grows is read anew, and a table whose source is gone goes.
    desk.put("events.csv", "code,kind,known_at\n600001,回购,2023-04-20\n");
    desk.run(std::slice::from_ref(&events));
    desk.put("events.csv", "code,kind,known_at\n600001,回购,2023-04-20\n600001,回购,2023-04-21\n");
    desk.run(std::slice::from_ref(&events));
    assert_eq!(read().len(), 2);
    desk.put("news.csv", "id,title,published_at\n1,标题,2024-03-01\n");
    desk.run(&[source("news", "news.csv")]);
    assert!(!desk.project().company_events().exists());
}
