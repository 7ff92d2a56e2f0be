//! Preview of a source from the first rows of its first file; nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use chrono::Utc;

use crate::ingest::documents::{self, Origin};
use crate::ingest::files::{self, UnitFiles};
use crate::ingest::mapped_row::{MappedRow, RowRules};
use crate::ingest::mapping::{self, Mapping};
use crate::ingest::papers::{Kept, PaperSettings};
use crate::ingest::reader::OpenFile;
use crate::ingest::row::{RowFault, SourceRow};
use crate::ingest::source::{Format, Source, Table};
use crate::ingest::times::{self, TimeFormat};
use crate::ingest::{Encoded, Params, events, prices, reason, relations, securities};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Rows that are tried, and of these such as are shown.
const TRIED: usize = 200;
const SHOWN: usize = 20;
/// Characters of a cell that are kept.
const CELL: usize = 400;
/// Refused rows that are kept.
const EXAMPLES: usize = 8;

/// A field of the source's table, and what feeds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPreview {
    pub name: &'static str,
    /// The column, as the log of ingest describes it; none where nothing feeds it.
    pub column: Option<String>,
}

/// Result of reading the first rows.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The file that was looked at, relative to the configuration's folder.
    pub file: String,
    /// Files (of documents that are files: lists of them) that the source has.
    pub files: usize,
    /// Layout, by the settings or the name.
    pub format: Format,
    /// The encoding and its evidence; none of Parquet, Excel and documents that are files.
    pub encoding: Option<Encoded>,
    /// Character between cells, in text formats.
    pub delimiter: Option<char>,
    pub columns: Vec<String>,
    /// The first rows, a cell for each column; none where there is no value. Of long cells the beginning.
    pub rows: Vec<Vec<Option<String>>>,
    /// All fields of the table.
    pub fields: Vec<FieldPreview>,
    /// Fields that are missing for any row to be read; empty when the rows were tried.
    pub missing: Vec<Message>,
    pub tried: usize,
    pub accepted: usize,
    /// Rows that would be set aside, by reason.
    pub rejected: BTreeMap<String, usize>,
    /// The first of them: number of the row, column, reason, value.
    pub examples: Vec<(u64, String, String, String)>,
    /// Forms of the times of publication, counted.
    pub times: BTreeMap<String, usize>,
}

/// Looks at the first file of a source; its path is relative to `base`.
pub fn preview(source: &Source, params: &Params, base: &Path, ctx: &Ctx) -> Result<Preview> {
    let sources = std::slice::from_ref(source);
    let (units, _) = files::find(sources, base)?;
    let unit =
        units.first().with_context(|| message!("{:?} 处没有可读的文件", "no file to read at {:?}", source.path))?;
    // The real run keeps the text of documents that are files; the preview drops it.
    let scratch = tempfile::tempdir().context(Word("无法创建临时文件夹", "cannot make a temporary folder"))?;
    let first: Vec<_> = match &unit.content {
        UnitFiles::Papers(files) => files.iter().take(SHOWN).cloned().collect(),
        UnitFiles::Table(_) => Vec::new(),
    };
    let mut opened = match &unit.content {
        UnitFiles::Papers(_) => {
            let (declared, time_format) = (source.declared_charset(), source.time_format.as_deref());
            let kept = Kept::new(scratch.path());
            OpenFile::papers(&first, PaperSettings { declared, time_format, limits: params.limits(), kept, ctx })
        }
        UnitFiles::Table(path) => OpenFile::open(path, source, None)?,
    };
    let (mapping, missing) = Mapping::settle(source, &opened.columns)?;
    let described = mapping.describe();
    let field = |name| FieldPreview { name, column: described.get(name).cloned() };
    let mut rows = ctx.install(|| opened.next_batch(&vec![true; opened.columns.len()]))?;
    ctx.check()?;
    rows.truncate(TRIED);
    let cell = |text: &str| text.chars().take(CELL).collect();
    let cells = |row: &SourceRow| row.cells.as_ref().ok().map(|cells| cells.iter().map(|c| c.map(cell)).collect());
    let mut seen = Preview {
        file: if let Some(file) = first.first() { files::shown(&file.path, base) } else { unit.path.clone() },
        files: units.len(),
        format: opened.format,
        encoding: opened.encoded.clone(),
        delimiter: opened.delimiter(),
        columns: opened.columns.clone(),
        rows: rows.iter().filter_map(cells).take(SHOWN).collect(),
        fields: mapping::fields(source.table).into_iter().map(field).collect(),
        missing,
        ..Preview::default()
    };
    if seen.missing.is_empty() {
        try_rows(&rows, &mapping, source, params, &mut seen)?;
    }
    Ok(seen)
}

fn try_rows(rows: &[SourceRow], mapping: &Mapping, source: &Source, params: &Params, seen: &mut Preview) -> Result<()> {
    let time_format = TimeFormat::from_setting(source.time_format.as_deref())?;
    let latest = params.latest.unwrap_or_else(|| (Utc::now() + chrono::Duration::hours(8)).naive_utc());
    let rules = RowRules { mapping, time_format: &time_format, latest, sealed_from: None };
    let default_time = source.published_at_default.as_deref().and_then(|t| times::parse(t).ok()).map(|m| m.time);
    let (mut ids, used) = (BTreeSet::new(), mapping.used());
    for row in rows {
        let file = seen.file.clone();
        let origin = Origin { source, file: &file, default_time };
        seen.tried += 1;
        let result = match &row.cells {
            Ok(cells) => {
                // As in the real run, cells that no field needs are not read.
                let cells = cells.iter().zip(&used).map(|(cell, used)| cell.filter(|_| *used)).collect();
                convert(&rules.row(&cells), row.number, &origin, &mut ids, seen)
            }
            Err(fault) => Err(fault.clone()),
        };
        match result {
            Ok(()) => seen.accepted += 1,
            Err(fault) => {
                *seen.rejected.entry(fault.reason.clone()).or_default() += 1;
                if seen.examples.len() < EXAMPLES {
                    seen.examples.push((row.number, fault.column, fault.reason, fault.value));
                }
            }
        }
    }
    Ok(())
}

fn convert(
    fields: &MappedRow<'_>,
    number: u64,
    origin: &Origin<'_>,
    ids: &mut BTreeSet<String>,
    seen: &mut Preview,
) -> Result<(), RowFault> {
    match origin.source.table {
        Table::Documents => {
            let (document, notes) = documents::document(fields, number, origin)?;
            let form = notes.time.map_or("published_at_default".to_owned(), |moment| moment.shape.to_string());
            if !ids.insert(document.doc_id.clone()) {
                return Err(RowFault::new("doc_id", reason::DUPLICATE_ID, &document.doc_id));
            }
            *seen.times.entry(form).or_default() += 1;
        }
        Table::Prices => drop(prices::price(fields)?),
        Table::Securities => drop(securities::security(fields)?),
        Table::Relations => drop(relations::relation(fields)?),
        Table::Events => drop(events::event(fields)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ingest::Column;

    fn look(name: &str, bytes: &[u8], change: impl FnOnce(&mut Source)) -> Result<Preview> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(name), bytes).unwrap();
        let mut source = Source { name: "s".into(), path: name.into(), ..Source::default() };
        change(&mut source);
        preview(&source, &Params::default(), dir.path(), &Ctx::new(1, 1).unwrap())
    }

    #[test]
    fn a_gbk_file_is_told_and_its_rows_are_tried() {
        let text = "编号,标题,正文,发布时间\n1,瑞禾电气业绩预增,公司预计净利润同比增长。,2024-03-01 18:00:00\n2,,,2024-03-02\n3,启澜生物回购,拟回购股份。,2024-02-31\n1,重复,编号相同。,2024-03-03\n";
        let (bytes, _, _) = encoding_rs::GB18030.encode(text);
        let seen = look("a.csv", &bytes, |_| ()).unwrap();
        assert!(seen.encoding.as_ref().is_some_and(|e| e.name == "gb18030"), "{:?}", seen.encoding);
        assert_eq!((seen.columns.len(), seen.rows.len(), seen.tried, seen.accepted), (4, 4, 4, 1));
        assert_eq!(seen.delimiter, Some(','));
        assert_eq!(seen.rows[0][1].as_deref(), Some("瑞禾电气业绩预增"));
        assert_eq!(
            seen.rejected.keys().map(String::as_str).collect::<Vec<_>>(),
            [reason::DUPLICATE_ID, reason::EMPTY_TEXT, reason::NO_SUCH_TIME]
        );
        let column = |name: &str| seen.fields.iter().find(|f| f.name == name).and_then(|f| f.column.as_deref());
        assert_eq!((column("title"), column("published_at"), column("org")), (Some("标题"), Some("发布时间"), None));
    }

    #[test]
    fn what_is_missing_is_said_beside_the_rows() {
        let seen = look("a.csv", "headline2,when\n瑞禾电气,2024-03-01\n".as_bytes(), |_| ()).unwrap();
        assert_eq!((seen.tried, seen.rows.len()), (0, 1));
        assert!(seen.missing.iter().any(|m| m.en.contains("title or body")), "{:?}", seen.missing);
        let mapped = |s: &mut Source| {
            s.columns.insert("title".into(), Column::Name("headline2".into()));
            s.columns.insert("published_at".into(), Column::Name("when".into()));
        };
        let seen = look("a.csv", "headline2,when\n瑞禾电气,2024-03-01\n".as_bytes(), mapped).unwrap();
        assert_eq!((seen.tried, seen.accepted), (1, 1));
    }

    #[test]
    fn long_cells_are_cut_and_odd_files_are_errors_that_say_why() {
        let long = format!("title,date\n{},2024-03-01\n", "长".repeat(400_000));
        let seen = look("a.csv", long.as_bytes(), |_| ()).unwrap();
        assert_eq!((seen.rows[0][0].as_deref().map(|c| c.chars().count()), seen.accepted), (Some(CELL), 1));
        let none = look("a.csv", b"title,date\n", |_| ()).unwrap();
        assert_eq!((none.tried, none.rows.len()), (0, 0));
        assert!(format!("{:#}", look("a.csv", b"", |_| ()).unwrap_err()).contains("empty"));
        assert!(format!("{:#}", look("a.gz", b"x", |_| ()).unwrap_err()).contains("compressed"));
    }

    #[test]
    fn text_files_and_prices_are_tried_as_what_they_are() {
        let seen = look("2024-03-01 瑞禾电气.txt", "公司拟回购股份。".as_bytes(), |_| ()).unwrap();
        assert_eq!((seen.tried, seen.format, seen.encoding.is_none()), (1, Format::Txt, true));
        let prices = "date,code,close\n2024-03-01,600517.SH,-3\n2024-03-01,600517,12.5\n";
        let seen = look("p.csv", prices.as_bytes(), |s| s.table = Table::Prices).unwrap();
        assert_eq!((seen.accepted, seen.rejected.len()), (1, 1));
        assert_eq!(seen.examples[0].2, "price below zero");
    }
}
