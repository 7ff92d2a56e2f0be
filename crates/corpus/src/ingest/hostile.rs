//! Files that were made to do harm, or look as if: each costs itself alone, is named, and ends.

use std::fs;
use std::path::Path;

use super::files;
use super::tests::{Desk, source};
use super::{Source, preview, reason};
use inkstone_base::job::Ctx;
use inkstone_base::limits;

const ROW: &str = "{\"id\":\"1\",\"title\":\"增长\",\"date\":\"2024-03-01\"}\n";

/// The one reason for which a file's second row of three is set aside.
fn set_aside(name: &str, first: &str, bad: &str, last: &str) -> (String, String) {
    let mut desk = Desk::new();
    desk.params.max_loss = 0.5;
    desk.put(name, [first, bad, last].concat());
    let report = desk.run(&[source("s", name)]);
    assert_eq!((report.rows_in, report.rows_out), (3, 2), "{report:?}");
    let rejects = desk.rejects();
    assert_eq!((rejects.len(), rejects[0].row), (1, 2));
    let kept = rejects[0].raw.len() <= limits::RECORD_KEPT * 4 / 3 + 4;
    assert!(kept || rejects[0].reason != reason::RECORD_TOO_LONG);
    (rejects[0].reason.clone(), rejects[0].value.clone())
}

#[test]
fn a_row_that_is_too_long_or_too_deep_costs_itself_alone() {
    let last = ROW.replace("\"1\"", "\"3\"");
    let long = format!("{{\"id\":\"2\",\"title\":\"{}\"}}\n", "x".repeat(limits::RECORD));
    let (why, value) = set_aside("a.jsonl", ROW, &long, &last);
    assert_eq!((why.as_str(), &value[..20]), (reason::RECORD_TOO_LONG, "{\"id\":\"2\",\"title\":\"x"));
    let deep = |n: usize| {
        format!("{{\"id\":\"2\",\"title\":\"x\",\"date\":\"2024-03-01\",\"a\":{}{}}}\n", "[".repeat(n), "]".repeat(n))
    };
    assert_eq!(set_aside("a.jsonl", ROW, &deep(limits::JSON_DEPTH), &last).0, reason::JSON_TOO_DEEP);
    assert_eq!(set_aside("a.jsonl", ROW, &format!("{}\n", "[".repeat(1 << 20)), &last).0, reason::JSON_TOO_DEEP);
    let desk = Desk::new();
    desk.put("a.jsonl", deep(limits::JSON_DEPTH - 1));
    assert_eq!(desk.run(&[source("s", "a.jsonl")]).rows_out, 1, "the limit itself is within");

    let head = "id,title,date\n1,增长,2024-03-01\n";
    let field = format!("2,\"{}\",2024-03-01\n", "x".repeat(limits::RECORD));
    assert_eq!(set_aside("a.csv", head, &field, "3,x,2024-03-01\n").0, reason::RECORD_TOO_LONG);
    assert_eq!(set_aside("a.csv", head, "2,\"never,2024-03-01\n", "3,x,2024-03-01\n").0, "quote never closes");
    let fields = format!("2,x,2024-03-01{}\n", ",x".repeat(3_000_000));
    let (why, value) = set_aside("a.csv", head, &fields, "3,x,2024-03-01\n");
    assert_eq!((why.as_str(), &value[..12]), (reason::FIELD_COUNT, "10001 for 3:"));
}

#[test]
fn a_table_of_a_million_columns_is_refused_at_once() {
    let desk = Desk::new();
    let names: Vec<String> = (0..1_000_000).map(|i| format!("c{i}")).collect();
    desk.put("a.csv", format!("{}\n1\n", names.join(",")));
    assert!(desk.error(&[source("s", "a.csv")]).contains("a.csv: more than 10000 columns"));
    desk.put(
        "a.jsonl",
        format!("{{{}}}\n", names.iter().take(400_000).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(",")),
    );
    assert!(desk.error(&[source("s", "a.jsonl")]).contains("a.jsonl: more than 10000 columns"));
    let long = "k".repeat(1 << 20);
    desk.put("a.jsonl", format!("{{\"title\":\"x\",\"date\":\"2024-03-01\",\"{long}\":{{\"a\":1}},\"{long}2\":1}}\n"));
    assert_eq!(desk.run(&[source("s", "a.jsonl")]).rows_out, 1, "names that no column has are passed over");
    desk.put("a.csv", format!("{}\n1\n", names[..limits::COLUMNS].join(",")));
    let missing = desk.error(&[source("s", "a.csv")]);
    assert!(missing.contains("\"c59\", and 9940 more") && missing.len() < 2000, "{missing}");
}

#[test]
fn characters_that_are_none_cost_their_row_and_odd_ones_stay() {
    let last = ROW.replace("\"1\"", "\"3\"");
    assert_eq!(set_aside("a.jsonl", ROW, &ROW.replace("增长", "\\ud800"), &last).0, reason::JSON_SYNTAX);
    let odd = "a\u{0}b\u{2028}c\u{202e}d\u{200b}e\u{1b}[2Jf\u{feff}g";
    let marks = format!("e{}", "\u{301}".repeat(10_000));
    let desk = Desk::new();
    let text = format!("\u{feff}id,title,body,date\r\n1,{odd},x,2024-03-01\n2,\"一\r二\n三\",{marks},2024-03-01\r\n");
    desk.put("a.csv", &text);
    desk.run(&[source("s", "a.csv")]);
    let documents = desk.documents();
    assert_eq!((documents[0].title.as_str(), documents[1].title.as_str()), (odd, "一\r二\n三"));
    assert_eq!(documents[1].body, marks);
    // UTF-16 without a mark, in which half of the bytes are zero.
    let text = "id,title,date\r\n1,a\u{0}b\u{2028}c\u{202e}d,2024-03-01\r\n";
    desk.put("a.csv", text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    desk.run(&[source("s", "a.csv")]);
    assert_eq!(desk.documents()[0].title, "a\u{0}b\u{2028}c\u{202e}d");
}

#[test]
fn ids_are_told_apart_by_each_of_their_digits() {
    let row = |id: &str| format!("{{\"id\":{id},\"title\":\"增长\",\"date\":\"2024-03-01\"}}\n");
    let ids = [
        "1234567890123456789012345",
        "1234567890123456789012346",
        "18446744073709551616",
        "18446744073709551617",
        "-9223372036854775809",
        "9007199254740993",
        "1e3",
        "1.0",
        "1.00",
        "0.1234567890123456789",
        "[1.50,\"a\",null]",
        "\"1e3 \\u002d\"",
    ];
    let desk = Desk::new();
    desk.put("a.jsonl", ids.map(row).concat());
    desk.put("b.json", format!("[{}]", ids.map(row).join(",")));
    let mut nested = source("n", "c.jsonl");
    nested.columns.insert("doc_id".into(), super::Column::Name("key.id".into()));
    let within = |id: &str| row(id).replace("\"id\":", "\"key\":{\"id\":").replace(",\"title", "},\"title");
    desk.put("c.jsonl", ids.map(within).concat());
    let report = desk.run(&[source("a", "a.jsonl"), source("b", "b.json"), nested]);
    assert!(report.dropped.is_empty(), "{report:?}");
    let plain = |id: &str| match id {
        "[1.50,\"a\",null]" => "1.50,a".to_owned(),
        id => id.trim_matches('"').replace("\\u002d", "-"),
    };
    let expected: Vec<String> =
        ["a", "b", "n"].iter().flat_map(|name| ids.map(|id| format!("{name}/{}", plain(id)))).collect();
    let found: std::collections::BTreeSet<String> = desk.ids().into_iter().collect();
    assert_eq!(found, expected.into_iter().collect());

    // Texts keep their zeros, and the rows of a workbook the fifteen digits that it has.
    desk.put("a.csv", "id,title,date\n007,x,2024-03-01\n7,x,2024-03-01\n1e3,x,2024-03-01\n1000,x,2024-03-01\n");
    desk.run(&[source("s", "a.csv")]);
    let mut ids = desk.ids();
    ids.sort();
    assert_eq!(ids, ["s/007", "s/1000", "s/1e3", "s/7"]);
}

#[test]
fn an_empty_file_and_a_file_of_zeros_are_refused() {
    let desk = Desk::new();
    for name in ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.xlsx"] {
        let path = desk.put(name, "");
        assert!(desk.error(&[source("s", name)]).contains(name));
        let zeros = fs::File::create(&path).unwrap();
        zeros.set_len(1 << 26).unwrap();
        assert!(desk.error(&[source("s", name)]).contains(name));
        fs::remove_file(path).unwrap();
    }
    for name in ["a.txt", "a.html", "a.docx", "a.pdf"] {
        let path = desk.put(name, "");
        assert!(desk.error(&[source("s", name)]).contains("lost 1 of 1 rows"));
        fs::File::create(&path).unwrap().set_len(limits::FILE + 1).unwrap();
        let error = desk.error(&[source("s", name)]);
        assert!(error.contains(reason::FILE_TOO_LARGE), "{error}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_folder_with_the_name_of_a_file_is_a_folder() {
    let desk = Desk::new();
    desk.put("in/a.csv/b.jsonl", ROW);
    desk.run(&[source("s", "in")]);
    assert_eq!(desk.ids(), ["s/1"]);
    desk.run(&[source("s", "in/a.csv")]);
    assert_eq!(desk.ids(), ["s/1"]);
}

#[test]
fn a_table_that_is_rewritten_while_it_is_read_is_not_kept() {
    let desk = Desk::new();
    let path = desk.put("a.jsonl", ROW);
    let sources = [source("s", "a.jsonl")];
    let (units, _) = files::find(&sources, desk.dir.path()).unwrap();
    let ctx = Ctx::new(1, 1).unwrap();
    let content = units[0].content(None, &ctx).unwrap();
    units[0].check_unchanged(&content, &ctx).unwrap();
    let later = || fs::File::open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    fs::write(&path, [ROW, ROW].concat()).unwrap();
    later();
    units[0].check_unchanged(&content, &ctx).unwrap();
    for other in [ROW.replace("增长", "下降"), String::new()] {
        fs::write(&path, other).unwrap();
        later();
        let error = units[0].check_unchanged(&content, &ctx).unwrap_err().to_string();
        assert!(error.contains("a.jsonl was changed while it was read") && error.contains("run again"), "{error}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn links_are_followed_but_never_in_a_circle() {
        let desk = Desk::new();
        desk.put("in/a.jsonl", ROW);
        let outside = desk.put("outside/b.jsonl", ROW.replace("\"1\"", "\"2\""));
        let into = desk.dir.path().join("in");
        symlink(&into, into.join("circle")).unwrap();
        symlink(into.join("nowhere"), into.join("broken.jsonl")).unwrap();
        symlink(into.join("self"), into.join("self")).unwrap();
        symlink(outside.parent().unwrap(), into.join("folder")).unwrap();
        let report = desk.run(&[source("s", "in")]);
        assert_eq!(desk.ids(), ["s/1", "s/2"]);
        let passed_over = ["in/broken.jsonl", "in/circle", "in/self"];
        assert_eq!(report.facts["files_passed_over_first"], serde_json::json!(passed_over));
        // A hard link is a file like any other; what it repeats is refused by its ids.
        fs::hard_link(into.join("a.jsonl"), into.join("hard.jsonl")).unwrap();
        assert_eq!(desk.run(&[Source { path: "in".into(), ..source("s", "") }]).dropped[reason::DUPLICATE_ID], 1);
        let alone = desk.error(&[source("s", "in/broken.jsonl")]);
        assert!(alone.contains("there is no such file"), "{alone}");
    }

    #[test]
    fn a_pipe_a_socket_and_a_device_are_no_sources() {
        let desk = Desk::new();
        desk.put("in/a.jsonl", ROW);
        let socket = desk.dir.path().join("in/s.csv");
        let _listening = UnixListener::bind(&socket).unwrap();
        let pipe = desk.dir.path().join("in/pipe.txt");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let report = desk.run(&[source("s", "in")]);
        assert_eq!(report.facts["files_passed_over_first"], serde_json::json!(["in/pipe.txt", "in/s.csv"]));
        let paths = ["in/s.csv", "in/pipe.txt", "/dev/zero"];
        for path in paths {
            let named = Source { format: super::super::Format::Csv, ..source("s", path) };
            let error = desk.error(std::slice::from_ref(&named));
            assert!(error.contains(path) && error.contains("is a pipe, a socket or a device"), "{error}");
            let ctx = Ctx::new(1, 1).unwrap();
            assert!(preview(&named, &desk.params, desk.dir.path(), &ctx).is_err());
        }
        let limits = desk.params.limits();
        let read = |path: &Path| {
            super::super::papers::read_file(path, &limits, None, &Ctx::new(1, 1).unwrap()).unwrap().unwrap_err()
        };
        assert!(read(&pipe).reason.starts_with("no regular file"));
    }
}

#[test]
fn reasons_state_the_limits_that_hold() {
    assert_eq!(reason::RECORD_TOO_LONG, format!("record over {} MB", limits::RECORD >> 20));
    assert_eq!(reason::FILE_TOO_LARGE, format!("file over {} MB", limits::FILE >> 20));
    assert_eq!(
        reason::UNPACKS_TOO_LARGE,
        format!("unpacks to more than {} MB beyond its own size", limits::UNPACKED >> 20)
    );
    assert_eq!(reason::JSON_TOO_DEEP, format!("not JSON: nested more than {} deep", limits::JSON_DEPTH));
    assert_eq!(reason::XML_TOO_DEEP, format!("nested more than {} deep", limits::XML_DEPTH));
}
