//! Faults of vendors: two sources disagree, ids are used twice, rows are appended without adjustment, and tables name their columns in
//! many ways.

use super::*;

fn prices(name: &str, path: &str) -> Source {
    Source { table: Table::Prices, ..source(name, path) }
}

fn closes(desk: &Desk) -> Vec<f64> {
    let frame = frames::read_parquet(&desk.project().prices(), None).unwrap();
    frame.column("close").unwrap().f64().unwrap().iter().flatten().collect()
}

#[test]
fn of_two_sources_of_prices_the_first_counts_and_the_differences_are_told() {
    let mut desk = Desk::new();
    desk.put("a.csv", "date,code,close\n2024-03-01,600000,7\n2024-03-04,600000,7.5\n");
    desk.put("b.csv", "date,code,close\n2024-03-01,600000,7.001\n2024-03-04,600000,9\n2024-03-05,600000,8\n");
    let both = [prices("a", "a.csv"), prices("b", "b.csv")];
    let report = desk.run(&both);
    assert_eq!(closes(&desk), [7.0, 7.5, 8.0]);
    assert_eq!((report.rows_in, report.rows_out), (5, 3), "what another source gave is no loss, and no reject");
    assert_eq!((report.dropped["price that a source before has"], desk.rejects().len()), (2, 0));
    let differences = &report.facts["prices_of_several_sources"];
    assert_eq!((&differences["rows"], &differences["rows_that_differ"]), (&json!(2), &json!(1)));
    assert_eq!(differences["largest"], json!("2024-03-04 600000.SH close: 7.5 (a), 9 (b)"));
    assert!(desk.run(&both).unchanged);
    // The order of the sources decides, and a setting before it.
    let turned = desk.run(&[both[1].clone(), both[0].clone()]);
    assert_eq!(closes(&desk), [7.001, 9.0, 8.0]);
    assert_eq!(
        turned.facts["prices_of_several_sources"]["first"],
        json!(["2024-03-04 600000.SH close: 9 (b), 7.5 (a)"])
    );
    desk.params.precedence = vec!["a".into()];
    desk.run(&[both[1].clone(), both[0].clone()]);
    assert_eq!(closes(&desk), [7.0, 7.5, 8.0]);
    // Days that both append are compared as well.
    desk.put("a.csv", "date,code,close\n2024-03-01,600000,7\n2024-03-04,600000,7.5\n2024-03-06,600000,8\n");
    desk.put(
        "b.csv",
        "date,code,close\n2024-03-01,600000,7.001\n2024-03-04,600000,9\n2024-03-05,600000,8\n2024-03-06,600000,88\n",
    );
    let grown = desk.run(&[both[1].clone(), both[0].clone()]);
    assert_eq!(closes(&desk), [7.0, 7.5, 8.0, 8.0]);
    let differences = &grown.facts["prices_of_several_sources"];
    assert_eq!((&differences["rows"], &differences["rows_that_differ"], grown.rows_in), (&json!(3), &json!(2), 7));
    assert_eq!(differences["largest"], json!("2024-03-06 600000.SH close: 8 (a), 88 (b)"));
    desk.params.precedence = vec!["c".into()];
    let error = desk.error(&both);
    assert!(error.contains("no source of prices \"c\"") && error.contains("a, b"), "{error}");
}

#[test]
fn an_id_of_another_text_and_time_is_kept_and_a_repeat_is_not() {
    let desk = || Desk { params: Params { max_loss: 0.9, ..Desk::new().params }, ..Desk::new() };
    let (grown, desk) = (desk(), desk());
    let head = "id,body,time\n";
    let old = "1,远山科技中标大单。,2020-03-01 10:00:00\n2,岚石股份预增。,2020-03-02 10:00:00\n";
    let new = "1,霁川电子停牌。,2024-03-01 09:00:00\n\
               1,霁川电子停牌。,2024-03-01 09:00:00\n\
               2,岚石股份预增。,2024-03-02 10:00:00\n\
               2,岚石股份大幅预增。,2020-03-02 10:00:00\n";
    desk.put("news.csv", [head, old, new].concat());
    let report = desk.run(&[source("news", "news.csv")]);
    let expected = ["news/1", "news/2", "news/1@2024-03-01T09:00:00"];
    assert_eq!(desk.ids(), expected);
    // The same again, the same text at another time, and another text at the same time are repeats.
    assert_eq!(report.dropped["duplicate id"], 3);
    assert_eq!(report.facts["ids_reused"], json!({"news": 1}));
    assert!(report.facts["warning_ids_reused"]["en"].as_str().unwrap().starts_with("1 documents"));
    // A file that grows, whose old texts are looked at then, ends the same.
    grown.put("news.csv", [head, old].concat());
    grown.run(&[source("news", "news.csv")]);
    grown.put("news.csv", [head, old, new].concat());
    let again = grown.run(&[source("news", "news.csv")]);
    assert_eq!((grown.ids(), &again.facts["ids_reused"]), (desk.ids(), &json!({"news": 1})));
    assert_eq!(grown.documents(), desk.documents());
}

#[test]
fn rows_appended_without_adjustment_are_told_with_their_date() {
    let desk = Desk::new();
    let mut table = String::from("date,code,open,high,low,close,volume\n");
    let first = "2023-01-02".parse::<chrono::NaiveDate>().unwrap();
    for (day, name) in (0..60).flat_map(|day| (0..30).map(move |name| (day, name))) {
        let traded = 10.0 + f64::from(day % 5) / 10.0;
        let price = if day < 40 { traded * 0.7137 } else { traded };
        let date = first + chrono::Days::new(day as u64);
        table += &format!("{date},{},{price},{price},{price},{price},1000\n", 600_100 + name);
    }
    desk.put("prices.csv", &table);
    let report = desk.run(&[prices("prices", "prices.csv")]);
    assert_eq!(report.facts["adjustment"]["unadjusted_since"], json!("2023-02-11"));
    let warning = report.facts["warning_adjustment"]["en"].as_str().unwrap();
    assert!(warning.contains("on 2023-02-11 30 of 30 names move beyond their daily limit at once"), "{warning}");
}

#[test]
fn names_are_found_in_the_tables_of_any_vendor() {
    for (head, row) in [
        ("order_book_id,symbol,listed_date", "600001.XSHG,远山科技,2001-01-02"),
        ("code,display_name,name,start_date", "600001.XSHG,远山科技,YSKJ,2001-01-02"),
        ("ts_code,symbol,name,list_date", "600001.SH,600001,远山科技,20010102"),
        ("Stkcd,Stknme,Listdt", "600001,远山科技,2001-01-02"),
        ("S_INFO_WINDCODE,S_INFO_NAME,S_INFO_LISTDATE", "600001.SH,远山科技,20010102"),
        ("SECURITY_CODE,SECURITY_NAME_ABBR", "600001,远山科技"),
        ("code,code_name,ipoDate,outDate", "sh.600001,远山科技,2001-01-02,"),
        ("\u{feff}name,code,known_since,until,showings", "远山科技,600001.SH,2001-01-02 09:30:00,,3"),
        ("A股代码,A股简称", "600001,远山科技"),
    ] {
        let desk = Desk::new();
        desk.put("names.csv", format!("{head}\n{row}\n"));
        desk.run(&[Source { table: Table::Securities, ..source("names", "names.csv") }]);
        let frame = frames::read_parquet(&desk.project().securities(), None).unwrap();
        let rows = market::securities_from_frame(&frame).unwrap();
        assert_eq!((rows[0].code.as_str(), rows[0].name.as_str()), ("600001.SH", "远山科技"), "{head}");
    }
}
