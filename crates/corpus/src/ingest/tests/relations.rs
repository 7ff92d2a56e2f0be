//! The table of relations.

use super::{Desk, source};
use crate::ingest::{Source, Table};
use inkstone_market as market;
use inkstone_tables::frames;

#[test]
fn relations_keep_their_days_and_those_that_cannot_be_dated_are_set_aside() {
    let mut desk = Desk::new();
    desk.params.max_loss = 1.0;
    desk.put(
        "chain.csv",
        "代码,关联代码,关系类型,占比(%),开始日期,结束日期,公告日期\n\
         600001,000002,供应,35,2023-01-01,2099-12-31,2023-04-20\n\
         600001,000002,供应,35,2023-01-01,2099-12-31,2023-04-20\n\
         600001,600001,供应,35,,,2023-04-20\n\
         600001,000003,供应,0,,,2023-04-20\n\
         600001,000003,供应,,,,2023-04-20 10:30:00\n\
         600001,000004,供应,1,2023-05-01,2023-05-01,2023-04-20\n\
         600001,000005,供应,1,,,\n\
         600001,000006,供应,1,,,2099-01-01\n\
         海外客户,000006,供应,1,,,2023-04-20\n",
    );
    let relations = Source { table: Table::Relations, ..source("chain", "chain.csv") };
    let report = desk.run(std::slice::from_ref(&relations));
    assert_eq!((report.rows_in, report.rows_out, &report.facts["relations"]), (9, 2, &2.into()));
    let reasons = [
        "ends before it begins",
        "no time",
        "not a security code",
        "relation of a security to itself",
        "relation that an earlier row has",
        "time in the future",
        "weight that is not above 0",
    ];
    assert_eq!(report.dropped.keys().map(String::as_str).collect::<Vec<_>>(), reasons);
    let read = || {
        let frame = frames::read_parquet(&desk.project().relations(), None).unwrap();
        market::relations_from_frame(&frame).unwrap()
    };
    let rows = read();
    let shown: Vec<String> = rows.iter().map(|r| format!("{} {} {} {}", r.from, r.to, r.kind, r.known_at)).collect();
    let expected = ["600001.SH 000002.SZ 供应 2023-04-20 23:59:59", "600001.SH 000003.SZ 供应 2023-04-20 10:30:00"];
    assert_eq!(shown, expected);
    assert_eq!((rows[0].valid_to, rows[1].weight), ("2099-12-31".parse().ok(), 1.0));
    // A file that grows is read anew, and a table whose source is gone goes.
    desk.put("chain.csv", "from,to,known_at\n600001,000002,2023-04-20\n600001,000003,2023-04-21\n");
    desk.run(std::slice::from_ref(&relations));
    assert_eq!(read().len(), 2);
    desk.put("chain.csv", "from,to,known_at\n600001,000002,2023-04-20\n600001,000003,2023-04-21\n2,3,2023-04-22\n");
    desk.run(std::slice::from_ref(&relations));
    assert_eq!(read().len(), 3);
    desk.put("news.csv", "id,title,published_at\n1,标题,2024-03-01\n");
    desk.run(&[source("news", "news.csv")]);
    assert!(!desk.project().relations().exists());
}
