//! Files of one document, alone and as a source.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::ingest::source::{Column, Table};
use crate::ingest::tests::{Desk, source};

const LIMITS: Limits = Limits { max_pages: 1000, max_garbled: 0.1 };

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/documents").join(name)
}

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

fn paper(name: &str) -> Paper {
    read_file(&fixture(name), &LIMITS, None, &ctx()).unwrap().unwrap_or_else(|refused| panic!("{name}: {refused:?}"))
}

fn refused(name: &str) -> Refused {
    read_file(&fixture(name), &LIMITS, None, &ctx()).unwrap().expect_err(name)
}

/// A PDF of so many pages, each with the text given.
fn pdf(pages: usize, text: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..pages).map(|i| format!("{} 0 R", i + 5)).collect();
    let stream = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {pages} /Kids [{}] >>", kids.join(" ")),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
    ];
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>";
    objects.extend((0..pages).map(|_| page.to_owned()));
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        places.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", i + 1).bytes());
    }
    let start = bytes.len();
    bytes.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    places.iter().for_each(|at| bytes.extend(format!("{at:010} 00000 n \n").bytes()));
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    bytes.extend(trailer.bytes());
    bytes
}

fn read_pdf(bytes: Vec<u8>, limits: &Limits) -> Result<Paper, Refused> {
    read(bytes, Format::Pdf, "a", None, limits, &|| false).expect("nobody cancels")
}

#[test]
fn two_columns_are_read_one_after_the_other() {
    let paper = paper("columns.pdf");
    assert_eq!(paper.title(), "星河材料：订单回暖，拐点已现");
    let lines: Vec<&str> = paper.body.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[0], "2024 年 03 月 15 日");
    assert!(lines[1].starts_with("公司第三季度新增订单") && lines[1].ends_with("毛利率的拐点已经出现。"));
    assert!(lines[2].starts_with("行业层面，下游补库意愿回升，价格连续两个月企稳。"));
    let dated = paper.published_at.unwrap();
    assert_eq!((dated.time.to_string().as_str(), dated.origin), ("2024-03-15 23:59:59", Origin::Text));
}

#[test]
fn a_report_keeps_its_text_and_loses_what_stands_around_it() {
    let paper = paper("report_20240402.pdf");
    assert_eq!((paper.title(), paper.pages), ("订单充足，产能释放可期", 3));
    for gone in ["请务必阅读", "动态点评", "Table_", "模板"] {
        assert!(!paper.body.contains(gone), "{gone} in {}", paper.body);
    }
    let lines: Vec<&str> = paper.body.lines().collect();
    let at =
        |text: &str| lines.iter().position(|l| l.contains(text)).unwrap_or_else(|| panic!("{text} not in {lines:#?}"));
    assert_eq!(lines[at("【事项】")], "【事项】");
    assert!(lines[at("◆ 公司第三季度")].ends_with("已经出现。"));
    assert!(at("◆ 行业层面") < at("买入（维持）") && at("证书编号") < at("项目/年度"));
    assert_eq!(lines[at("营业收入")], "营业收入（百万元） 4496.89 8510.22 11788.41");
    assert_eq!(lines[lines.len() - 3..], ["【风险提示】", "◆ 下游需求恢复不及预期；", "◆ 新产线爬坡慢于预期。"]);
    assert!(!lines.iter().any(|l| ["1", "2", "3"].contains(l)));
    // The name says a day more than the first page does; the later counts.
    let dated = paper.published_at.unwrap();
    assert_eq!((dated.time.to_string().as_str(), dated.origin), ("2024-04-02 23:59:59", Origin::FileName));
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let reasons = |name: &str| (refused(name).reason, refused(name).value);
    assert_eq!(reasons("scan.pdf"), (reason::NEEDS_OCR.into(), "0 characters and 1 pictures on 1 pages".into()));
    assert_eq!(reasons("encrypted.pdf").0, reason::ENCRYPTED);
    assert_eq!(reasons("garbled.pdf").0, reason::too_garbled(0.1));
    assert_eq!(reasons("unmapped.pdf"), (reason::too_garbled(0.1), "100.0 % unmapped, 0.0 % garbled".into()));
    assert!(paper("no_copying.pdf").body.starts_with("星河材料"));
    let figures = refused("garbled.pdf").quality.unwrap();
    assert!(figures.garbled > 0.5 && figures.unmapped == 0.0, "{figures:?}");
    assert_eq!(read_pdf(b"%PDF-1.4 and then nothing".to_vec(), &LIMITS).unwrap_err().reason, reason::DAMAGED_PDF);
    assert_eq!(read_pdf(Vec::new(), &LIMITS).unwrap_err().reason, reason::DAMAGED_PDF);
}

#[test]
fn a_file_with_too_many_pages_is_refused_unread() {
    let began = std::time::Instant::now();
    let refused = read_pdf(pdf(2000, "page"), &LIMITS).unwrap_err();
    assert_eq!(refused.reason, "more than 1000 pages ([ingest] max_pages)");
    assert_eq!((refused.value.as_str(), refused.pages), ("2000 pages", 2000));
    assert!(began.elapsed().as_secs() < 10);
    let wide = Limits { max_pages: 2000, ..LIMITS };
    assert_eq!(read_pdf(pdf(2000, "net profit"), &wide).unwrap().pages, 2000);
}

#[test]
fn a_file_that_unpacks_without_measure_is_refused() {
    // Spaces between the operators of a page, packed: half a megabyte holds 512 of them.
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let blank = vec![b' '; 1 << 20];
    (0..512).for_each(|_| std::io::Write::write_all(&mut packed, &blank).unwrap());
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    let mut bytes = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n".to_vec();
    bytes.extend(b"2 0 obj\n<< /Type /Pages /Count 1 /Kids [3 0 R] >>\nendobj\n");
    bytes.extend(b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>\nendobj\n");
    bytes.extend(format!("4 0 obj\n<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len()).bytes());
    bytes.extend(packed);
    bytes.extend(b"\nendstream\nendobj\ntrailer\n<< /Size 5 /Root 1 0 R >>\n%%EOF\n");
    assert_eq!(read_pdf(bytes, &LIMITS).unwrap_err().reason, reason::UNPACKS_TOO_LARGE);
}

#[test]
fn reading_stops_between_pages_when_it_is_cancelled() {
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    assert_eq!(read(pdf(50, "page"), Format::Pdf, "a", None, &LIMITS, &stop), Err(Stopped));
    assert!(asked.get() < 10);
}

#[test]
fn the_same_file_gives_the_same_document() {
    let read = || paper("report_20240402.pdf");
    assert_eq!(read(), read());
}

#[test]
fn a_word_document_and_a_page_are_read() {
    let document = paper("report.docx");
    assert_eq!(document.title(), "订单充足，产能释放可期");
    assert_eq!(
        document.body,
        "公司第三季度新增订单同比增长两成，海外渠道贡献了其中的大半。\n项目 2022A 2023A\n营业收入（百万元） 4496.89 8510.22"
    );
    assert_eq!(document.author.as_deref(), Some("甲某某"));
    assert_eq!(document.published_at.unwrap().time.to_string(), "2024-04-03 09:30:00");
    let page = paper("page.html");
    assert_eq!((page.title(), page.encoding.as_deref()), ("星河材料：订单回暖", Some("gb18030")));
    assert!(
        page.body.starts_with("公司第三季度新增订单同比增长两成，海外渠道贡献了其中的大半。\n市盈率<15倍"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("首页") && !page.body.contains("版权"));
    assert_eq!(page.published_at.unwrap().time.to_string(), "2024-04-03 09:30:00");
}

/// A folder of documents in every format, two of which cannot be read.
fn mixed(desk: &Desk) {
    for name in ["columns.pdf", "report_20240402.pdf", "scan.pdf", "encrypted.pdf", "report.docx", "page.html"] {
        desk.put(&format!("in/{name}"), fs::read(fixture(name)).unwrap());
    }
    desk.put("in/点评20240405.txt", "标题：现金流改善\n\n经营现金流转正。");
    desk.put("in/~$report.docx", "lock");
    desk.put("in/readme.md", "no document");
}

#[test]
fn a_folder_of_every_format_is_one_source() {
    let desk = Desk::new();
    mixed(&desk);
    let report = desk.run(&[source("s", "in")]);
    assert_eq!((report.rows_in, report.rows_out), (7, 5));
    let shown: Vec<String> =
        desk.documents().iter().map(|d| format!("{} {} {}", d.doc_id, d.title, d.published_at)).collect();
    assert_eq!(
        shown,
        [
            "s/columns.pdf 星河材料：订单回暖，拐点已现 2024-03-15 23:59:59",
            "s/page.html 星河材料：订单回暖 2024-04-03 09:30:00",
            "s/report.docx 订单充足，产能释放可期 2024-04-03 09:30:00",
            "s/report_20240402.pdf 订单充足，产能释放可期 2024-04-02 23:59:59",
            "s/点评20240405 现金流改善 2024-04-05 23:59:59",
        ]
    );
    let rejects: Vec<String> = desk.rejects().iter().map(|r| format!("{} {} {}", r.file, r.row, r.reason)).collect();
    assert_eq!(
        rejects,
        [format!("in/encrypted.pdf 2 {}", reason::ENCRYPTED), format!("in/scan.pdf 6 {}", reason::NEEDS_OCR)]
    );
    assert!(desk.rejects().iter().all(|r| r.raw.is_empty()));
    assert_eq!(report.facts["dates_from"], serde_json::json!({"file_name": 2, "metadata": 2, "text": 1}));
    assert_eq!(report.facts["files_passed_over"], 2);
}

#[test]
fn a_folder_that_grows_reads_only_what_is_new() {
    // Three of seven files cannot be read.
    let mut desk = Desk::new();
    desk.params.max_loss = 0.5;
    mixed(&desk);
    let sources = [source("s", "in")];
    desk.run(&sources);
    assert!(desk.run(&sources).unchanged);
    let entries = || {
        walkdir::WalkDir::new(desk.project().extracted())
            .into_iter()
            .flatten()
            .filter(|e| e.file_type().is_file())
            .count()
    };
    assert_eq!(entries(), 5);
    // Ingest takes the text of an entry; a changed entry shows that ingest did not read the file again.
    for entry in
        walkdir::WalkDir::new(desk.project().extracted()).into_iter().flatten().filter(|e| e.file_type().is_file())
    {
        let kept: serde_json::Value = inkstone_base::disk::read_json(entry.path()).unwrap();
        let other = kept.to_string().replace("星河材料：订单回暖，拐点已现", "KEPT");
        inkstone_base::disk::write_json(entry.path(), &serde_json::from_str::<serde_json::Value>(&other).unwrap())
            .unwrap();
    }
    desk.put("in/new.pdf", pdf(1, "Orders rose and margins recovered in the third quarter."));
    fs::remove_file(desk.dir.path().join("in/report.docx")).unwrap();
    // The new file states no date.
    let report = desk.run(&sources);
    assert_eq!(report.dropped["no time"], 1);
    assert_eq!(desk.documents()[0].title, "KEPT");
    assert_eq!(entries(), 5, "of a file that is gone nothing is kept");
    let mut once = Desk::new();
    once.params.max_loss = 0.5;
    mixed(&once);
    once.put("in/new.pdf", pdf(1, "Orders rose and margins recovered in the third quarter."));
    fs::remove_file(once.dir.path().join("in/report.docx")).unwrap();
    once.run(&sources);
    assert_eq!(once.ids(), desk.ids());
}

#[test]
fn fields_come_from_names_and_texts_and_a_mapping_wins() {
    let desk = Desk::new();
    mixed(&desk);
    let pattern = |pattern: &str, place: &str| Column::Pattern { pattern: pattern.into(), r#in: place.into() };
    let mut only = source("s", "in/report_20240402.pdf");
    only.columns.insert("published_at".into(), pattern(r"\d{4}年\d{2}月\d{2}日", "body"));
    only.columns.insert("label".into(), pattern(r"^(report)_", "file"));
    only.columns.insert("rating".into(), pattern("买入|增持", "body"));
    let report = desk.run(&[only]);
    let document = &desk.documents()[0];
    assert_eq!(document.published_at.to_string(), "2024-04-01 23:59:59");
    assert_eq!((document.label.as_deref(), document.rating.as_deref()), (Some("report"), Some("买入")));
    assert!(!report.facts.contains_key("dates_from"));
    let mut formatted = source("s", "in/page.html");
    formatted.time_format = Some("%d.%m.%Y %H:%M".into());
    desk.run(&[formatted]);
    assert_eq!(desk.documents()[0].published_at.to_string(), "2024-04-03 09:30:00");
}

#[test]
fn a_workbook_is_a_table_whose_rejects_have_their_row() {
    for name in ["prices.xlsx", "prices.xls"] {
        let desk = Desk::new();
        desk.put(name, fs::read(fixture(name)).unwrap());
        let prices = crate::ingest::Source { table: Table::Prices, ..source("p", name) };
        let sheet = crate::ingest::Source { sheet: Some("日线".into()), ..prices.clone() };
        let report = desk.run(std::slice::from_ref(&sheet));
        assert_eq!((report.rows_in, report.rows_out), (3, 2), "{name}");
        let reject = &desk.rejects()[0];
        // The empty row is passed over, and the bad one stands four rows below the header.
        assert_eq!((reject.row, reject.column.as_str(), reject.value.as_str()), (4, "收盘价", "-1"));
        let frame = inkstone_tables::frames::read_parquet(&desk.project().prices(), None).unwrap();
        assert_eq!(frame.height(), 2);
        let missing = desk.error(&[crate::ingest::Source { sheet: Some("周线".into()), ..prices.clone() }]);
        assert!(missing.contains("no sheet \"周线\"") && missing.contains("日线"), "{missing}");
        if name == "prices.xlsx" {
            let first = desk.error(&[prices]);
            assert!(first.contains("columns are missing"), "{first}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is broken in a file, it is read or refused, and nothing else ends.
    #[test]
    fn damage_never_ends_the_program(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
        for name in ["report_20240402.pdf", "report.docx", "page.html"] {
            let mut bytes = fs::read(fixture(name)).unwrap();
            for (place, byte) in &places {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(bytes.len() / 2 + cut.index(bytes.len() / 2 + 1));
            let format = match name.rsplit('.').next() {
                Some("pdf") => Format::Pdf,
                Some("docx") => Format::Docx,
                _ => Format::Html,
            };
            prop_assert!(read(bytes, format, "a", None, &LIMITS, &|| false).is_ok());
        }
    }
}
