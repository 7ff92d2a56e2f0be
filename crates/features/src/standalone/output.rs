//! Rows to a file of the format that its name says, whole or not at all, written as they come.
//!
//! | extension | sparse rows | dense rows | figures after a text |
//! |---|---|---|---|
//! | `.npz` | CSR as SciPy reads it, see [`NpzWriter`] | | |
//! | `.npy` | float32 `[documents, columns]`, zeros written out | float32 `[documents, columns]` | |
//! | `.parquet` | `id`, `column`, `value`: a row for each value | `id` and a float32 column a name | `id`, text, float64 columns |
//! | `.csv` | the same | the same | the same |
//! | `.jsonl` | | an object a document: `id`, and a field a column | the same |
//!
//! A number that is missing is NaN in `.npy`, null in Parquet and in JSON lines, and an empty field in CSV.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result};
use polars_core::prelude::{Column, IntoColumn, NamedFrom, Series};
use polars_io::parquet::write::BatchedWriter;
use polars_io::prelude::ParquetWriter;

use super::{Columns, Rows};
use inkstone_base::disk::{self, Formulas};
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};
use inkstone_models::{NpzWriter, npy_header};
use inkstone_tables::frames;

/// Columns of sparse rows that `.npy` takes at the most: 256 KB a document.
const WIDEST: usize = 1 << 16;

/// A file that takes rows.
pub(crate) trait Sink {
    /// Writes some documents' rows under their ids.
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()>;
}

/// Writes the rows that `fill` pushes; `formulas` is the treatment of texts in CSV that a spreadsheet would compute.
pub(crate) fn write_rows<T>(
    path: &Path,
    columns: &Columns,
    formulas: Formulas,
    fill: impl FnOnce(&mut dyn Sink) -> Result<T>,
) -> Result<T> {
    let mut filled = None;
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => {
            let Columns::Sparse { names, width } = columns else {
                bail!(
                    "{}：.npz 存稀疏的行，而这些不是；请写成 .npy、.parquet 或 .csv",
                    "{}: .npz holds sparse rows, and these are not; write .npy, .parquet or .csv",
                    path.display()
                )
            };
            let mut sink = NpzWriter::create(path, *width)?;
            filled = Some(fill(&mut sink)?);
            sink.finish((!names.is_empty()).then(|| names.iter().map(String::as_str)))?;
        }
        Some("npy") => {
            let width = npy_width(path, columns)?;
            disk::write_atomic(path, |out| {
                let mut sink = NpySink { out, rows: 0, row: vec![0.0; width] };
                sink.out.write_all(&npy_header("<f4", &[0, width as u64]))?;
                filled = Some(fill(&mut sink)?);
                // The first bytes once more, now that the number of rows is known.
                sink.out.seek(SeekFrom::Start(0))?;
                Ok(sink.out.write_all(&npy_header("<f4", &[sink.rows, width as u64]))?)
            })?;
        }
        Some("parquet") => disk::write_atomic(path, |out| {
            let mut sink = ParquetSink { out, columns, writer: None };
            filled = Some(fill(&mut sink)?);
            sink.finish()
        })?,
        Some("csv") => disk::write_atomic(path, |out| {
            let mut sink = CsvSink::new(out, columns, formulas)?;
            filled = Some(fill(&mut sink)?);
            Ok(sink.rows.flush()?)
        })?,
        Some("jsonl") => {
            ensure!(
                !matches!(columns, Columns::Sparse { .. }),
                "{}：.jsonl 适合少量列，而这些行是稀疏的；请写成 .npz、.parquet 或 .csv",
                "{}: .jsonl holds few columns, and these rows are sparse; write .npz, .parquet or .csv",
                path.display()
            );
            disk::write_atomic(path, |out| {
                filled = Some(fill(&mut JsonSink { out, columns })?);
                Ok(())
            })?;
        }
        _ => bail!(
            "{}：输出文件名决定格式；请写成 .npz、.npy、.parquet、.csv 或 .jsonl",
            "{}: the name of the output says its format; write .npz, .npy, .parquet, .csv or .jsonl",
            path.display()
        ),
    }
    filled.context(Word("已完成的输出应已填入", "a finished output was filled"))
}

const OTHER_KIND: &str = "rows of another kind than their columns";

impl Sink for NpzWriter {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        let Rows::Sparse(matrix) = rows else { bail!(OTHER_KIND) };
        self.push(matrix, ids.iter().map(AsRef::as_ref))
    }
}

fn npy_width(path: &Path, columns: &Columns) -> Result<usize> {
    match columns {
        Columns::Dense(names) => Ok(names.len()),
        Columns::Sparse { width, .. } => {
            ensure!(
                *width <= WIDEST,
                "{}：连同全部零，每行要占 {} KB；请写成 .npz、.parquet 或 .csv，或用 --max-features 训练",
                "{}: with all its zeros a row would take {} KB; write .npz, .parquet or .csv, or train with --max-features",
                path.display(),
                width / 256
            );
            Ok(*width)
        }
        Columns::Table { .. } => bail!(
            "{}：.npy 只存没有名称的数值；请写成 .parquet 或 .csv",
            "{}: .npy holds numbers without names; write .parquet or .csv",
            path.display()
        ),
    }
}

struct NpySink<'o> {
    out: &'o mut BufWriter<File>,
    rows: u64,
    /// One row with its zeros.
    row: Vec<f32>,
}

impl Sink for NpySink<'_> {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        match rows {
            Rows::Dense(values) => self.out.write_all(bytemuck::cast_slice(values))?,
            Rows::Sparse(matrix) => {
                for i in 0..matrix.rows() {
                    self.row.fill(0.0);
                    matrix.row(i).iter().for_each(|(j, value)| self.row[j as usize] = value);
                    self.out.write_all(bytemuck::cast_slice(&self.row))?;
                }
            }
            Rows::Table { .. } => bail!(OTHER_KIND),
        }
        self.rows += ids.len() as u64;
        Ok(())
    }
}

struct ParquetSink<'o, 'c> {
    out: &'o mut BufWriter<File>,
    columns: &'c Columns,
    /// None before the first rows.
    writer: Option<BatchedWriter<BufWriter<File>>>,
}

impl ParquetSink<'_, '_> {
    /// Writes the columns as the next row group.
    fn write(&mut self, columns: Vec<Column>) -> Result<()> {
        let frame = frames::frame(columns)?;
        if self.writer.is_none() {
            // The writer keeps its file to itself, so it gets a handle of its own.
            let out = BufWriter::new(self.out.get_ref().try_clone()?);
            self.writer = Some(ParquetWriter::new(out).set_parallel(false).batched(frame.schema())?);
        }
        let writer = self.writer.as_mut().context(Word("写入器应刚创建", "a writer was just begun"))?;
        writer.write_batch(&frame).context(Word("无法写入 Parquet", "cannot write Parquet"))
    }

    fn finish(mut self) -> Result<()> {
        if self.writer.is_none() {
            let none = match self.columns {
                Columns::Sparse { width, .. } => Rows::Sparse(inkstone_models::Csr::new(*width)),
                Columns::Dense(_) => Rows::Dense(Vec::new()),
                Columns::Table { .. } => Rows::Table { texts: Vec::new(), numbers: Vec::new() },
            };
            self.push(&[], &none)?;
        }
        self.writer
            .context(Word("写入器应刚创建", "a writer was just begun"))?
            .finish()
            .context(Word("无法完成 Parquet 文件", "cannot end the Parquet file"))?;
        Ok(())
    }
}

impl Sink for ParquetSink<'_, '_> {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        let id = || texts("id", ids.iter().map(AsRef::as_ref));
        let columns = match (self.columns, rows) {
            (Columns::Sparse { names, .. }, Rows::Sparse(matrix)) => {
                let cells = (0..matrix.rows()).flat_map(|i| matrix.row(i).iter().map(move |(j, _)| (i, j)));
                let (of, named): (Vec<&str>, Vec<Cow<'_, str>>) =
                    cells.map(|(i, j)| (ids[i].as_ref(), column_name(names, j))).unzip();
                vec![
                    texts("id", of.into_iter()),
                    texts("column", named.iter().map(AsRef::as_ref)),
                    Series::new("value".into(), matrix.values()).into_column(),
                ]
            }
            (Columns::Dense(names), Rows::Dense(values)) => {
                let column = |(j, name): (usize, &String)| {
                    let values: Vec<f32> = values.iter().skip(j).step_by(names.len()).copied().collect();
                    Series::new(name.as_str().into(), values).into_column()
                };
                std::iter::once(id()).chain(names.iter().enumerate().map(column)).collect()
            }
            (Columns::Table { text, numbers: names }, Rows::Table { texts: named, numbers }) => {
                let column = |(j, name): (usize, &String)| {
                    let values = numbers.iter().skip(j).step_by(names.len());
                    let values: Vec<Option<f64>> = values.map(|v| Some(*v).filter(|v| !v.is_nan())).collect();
                    Series::new(name.as_str().into(), values).into_column()
                };
                let text = text.iter().map(|name| texts(name, named.iter().map(String::as_str)));
                std::iter::once(id()).chain(text).chain(names.iter().enumerate().map(column)).collect()
            }
            _ => bail!(OTHER_KIND),
        };
        self.write(columns)
    }
}

fn texts<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    Series::new(name.into(), values.collect::<Vec<_>>()).into_column()
}

/// The name of a column; its number where columns have none.
fn column_name(names: &[String], j: u32) -> Cow<'_, str> {
    names.get(j as usize).map_or_else(|| j.to_string().into(), Cow::from)
}

struct JsonSink<'o, 'c> {
    out: &'o mut BufWriter<File>,
    columns: &'c Columns,
}

impl JsonSink<'_, '_> {
    fn line(&mut self, id: &str, text: Option<(&str, &str)>, numbers: &[(&String, String)]) -> Result<()> {
        write!(self.out, "{{\"id\":{}", serde_json::to_string(id)?)?;
        if let Some((name, text)) = text {
            write!(self.out, ",{}:{}", serde_json::to_string(name)?, serde_json::to_string(text)?)?;
        }
        for (name, number) in numbers {
            let number = if number.is_empty() { "null" } else { number };
            write!(self.out, ",{}:{number}", serde_json::to_string(name)?)?;
        }
        Ok(writeln!(self.out, "}}")?)
    }
}

impl Sink for JsonSink<'_, '_> {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        match (self.columns, rows) {
            (Columns::Dense(names), Rows::Dense(values)) => {
                for (id, row) in ids.iter().zip(values.chunks(names.len().max(1))) {
                    let shown = |value: &f32| if value.is_finite() { value.to_string() } else { String::new() };
                    let numbers: Vec<_> = names.iter().zip(row.iter().map(shown)).collect();
                    self.line(id, None, &numbers)?;
                }
            }
            (Columns::Table { text, numbers: names }, Rows::Table { texts, numbers }) => {
                for (i, (id, row)) in ids.iter().zip(numbers.chunks(names.len().max(1))).enumerate() {
                    let shown = |value: &f64| if value.is_finite() { value.to_string() } else { String::new() };
                    let numbers: Vec<_> = names.iter().zip(row.iter().map(shown)).collect();
                    let text = text.as_deref().zip(texts.get(i).map(String::as_str));
                    self.line(id, text, &numbers)?;
                }
            }
            _ => bail!(OTHER_KIND),
        }
        Ok(())
    }
}

struct CsvSink<'c, W: Write> {
    rows: csv::Writer<W>,
    columns: &'c Columns,
    formulas: Formulas,
}

impl<'c, W: Write> CsvSink<'c, W> {
    fn new(out: W, columns: &'c Columns, formulas: Formulas) -> Result<CsvSink<'c, W>> {
        let mut rows = csv::Writer::from_writer(out);
        match columns {
            Columns::Sparse { .. } => rows.write_record(["id", "column", "value"])?,
            Columns::Dense(names) => {
                rows.write_field("id")?;
                names.iter().try_for_each(|name| rows.write_field(&*formulas.field(name)))?;
                rows.write_record(None::<&[u8]>)?;
            }
            Columns::Table { text, numbers } => {
                rows.write_field("id")?;
                text.iter().chain(numbers).try_for_each(|name| rows.write_field(&*formulas.field(name)))?;
                rows.write_record(None::<&[u8]>)?;
            }
        }
        Ok(CsvSink { rows, columns, formulas })
    }
}

impl<W: Write> Sink for CsvSink<'_, W> {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        let (out, formulas) = (&mut self.rows, self.formulas);
        match (self.columns, rows) {
            (Columns::Sparse { names, .. }, Rows::Sparse(matrix)) => {
                for (i, id) in ids.iter().enumerate() {
                    for (j, value) in matrix.row(i).iter() {
                        out.write_record([
                            &*formulas.field(id),
                            &*formulas.field(&column_name(names, j)),
                            &value.to_string(),
                        ])?;
                    }
                }
            }
            (Columns::Dense(names), Rows::Dense(values)) => {
                for (id, row) in ids.iter().zip(values.chunks(names.len().max(1))) {
                    out.write_field(&*formulas.field(id))?;
                    row.iter().try_for_each(|&value| out.write_field(field(value)))?;
                    out.write_record(None::<&[u8]>)?;
                }
            }
            (Columns::Table { text, numbers: names }, Rows::Table { texts, numbers }) => {
                for (i, (id, row)) in ids.iter().zip(numbers.chunks(names.len().max(1))).enumerate() {
                    out.write_field(&*formulas.field(id))?;
                    if text.is_some() {
                        out.write_field(&*formulas.field(&texts[i]))?;
                    }
                    row.iter().try_for_each(|&value| out.write_field(field(value)))?;
                    out.write_record(None::<&[u8]>)?;
                }
            }
            _ => bail!(OTHER_KIND),
        }
        Ok(())
    }
}

/// The shortest text that reads back as the same number; no value is an empty field.
fn field<T: PartialEq + std::fmt::Display>(value: T) -> String {
    // Only NaN differs from itself.
    #[allow(clippy::eq_op, reason = "it is how NaN is told without naming the type")]
    if value != value { String::new() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_models::Csr;

    fn written(columns: &Columns, ids: &[&str], rows: &Rows) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.csv");
        let ids: Vec<Cow<'_, str>> = ids.iter().map(|&id| id.into()).collect();
        write_rows(&path, columns, Formulas::Keep, |sink| sink.push(&ids, rows)).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn each_kind_of_rows_has_its_table() {
        let mut matrix = Csr::new(2);
        matrix.push_row([(0, 0.5), (1, 1.0)]);
        matrix.push_row([]);
        matrix.push_row([(1, 0.25)]);
        let columns = Columns::Sparse { names: vec!["回购".into(), "增长".into()], width: 2 };
        let text = written(&columns, &["a", "b", "c"], &Rows::Sparse(matrix));
        assert_eq!(text, "id,column,value\na,回购,0.5\na,增长,1\nc,增长,0.25\n");
        let text = written(&Columns::Dense(vec!["0".into(), "1".into()]), &["1"], &Rows::Dense(vec![0.1, -2.0]));
        assert_eq!(text, "id,0,1\n1,0.1,-2\n");
        let columns = Columns::Table { text: Some("class".into()), numbers: vec!["p".into(), "log_odds".into()] };
        let rows = Rows::Table { texts: vec!["正".into()], numbers: vec![0.75, f64::NAN] };
        assert_eq!(written(&columns, &["甲,乙"], &rows), "id,class,p,log_odds\n\"甲,乙\",正,0.75,\n");
    }

    #[test]
    fn texts_that_a_spreadsheet_would_compute_are_quoted_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.csv");
        let mut matrix = Csr::new(1);
        matrix.push_row([(0, -0.5)]);
        let sparse = Columns::Sparse { names: vec!["+增长".into()], width: 1 };
        let dense = Columns::Dense(vec!["@v".into()]);
        let table = Columns::Table { text: Some("=class".into()), numbers: vec!["p".into()] };
        let rows = Rows::Table { texts: vec!["-正".into()], numbers: vec![-0.75] };
        for (columns, rows, expected) in [
            (sparse, Rows::Sparse(matrix), "id,column,value\n'=1+1,'+增长,-0.5\n"),
            (dense, Rows::Dense(vec![-1.0]), "id,'@v\n'=1+1,-1\n"),
            (table, rows, "id,'=class,p\n'=1+1,'-正,-0.75\n"),
        ] {
            write_rows(&path, &columns, Formulas::Quote, |sink| sink.push(&["=1+1".into()], &rows)).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
            assert_eq!(written(&columns, &["=1+1"], &rows), expected.replace('\'', ""));
        }
    }

    fn sparse() -> (Columns, Rows) {
        let mut matrix = Csr::new(2);
        matrix.push_row([(0, 0.5), (1, 1.0)]);
        matrix.push_row([]);
        (Columns::Sparse { names: vec!["回购".into(), "增长".into()], width: 2 }, Rows::Sparse(matrix))
    }

    #[test]
    fn arrays_have_their_shape_and_their_zeros() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.npy");
        let (columns, rows) = sparse();
        write_rows(&path, &columns, Formulas::Keep, |sink| {
            sink.push(&["a".into(), "b".into()], &rows)?;
            sink.push(&["c".into(), "d".into()], &rows)
        })
        .unwrap();
        let read = npyz::NpyFile::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(read.shape(), [4, 2]);
        assert_eq!(read.into_vec::<f32>().unwrap(), [0.5, 1.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0]);
        let wide = Columns::Sparse { names: Vec::new(), width: WIDEST + 1 };
        let error = write_rows(&path, &wide, Formulas::Keep, |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("256 KB") && error.contains("--max-features"), "{error}");
    }

    fn shape(frame: &polars_core::prelude::DataFrame) -> (usize, Vec<String>) {
        (frame.height(), frame.get_column_names().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn tables_come_back_from_parquet_and_none_is_a_table_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.parquet");
        let (columns, rows) = sparse();
        let ids: [Cow<'_, str>; 2] = ["a".into(), "b".into()];
        write_rows(&path, &columns, Formulas::Keep, |sink| sink.push(&ids, &rows)).unwrap();
        let frame = frames::read_foreign_parquet(&path, None).unwrap();
        assert_eq!(shape(&frame), (2, vec!["id".to_owned(), "column".into(), "value".into()]));
        assert_eq!(frame.column("column").unwrap().str().unwrap().get(1), Some("增长"));
        let dense = Columns::Dense(vec!["v0".into(), "v1".into()]);
        write_rows(&path, &dense, Formulas::Keep, |sink| sink.push(&ids, &Rows::Dense(vec![1.0, 2.0, 3.0, f32::NAN])))
            .unwrap();
        let frame = frames::read_foreign_parquet(&path, None).unwrap();
        assert_eq!(frame.column("v0").unwrap().f32().unwrap().get(1), Some(3.0));
        let table = Columns::Table { text: Some("class".into()), numbers: vec!["p".into()] };
        let rows = Rows::Table { texts: vec!["正".into(), "负".into()], numbers: vec![0.75, f64::NAN] };
        write_rows(&path, &table, Formulas::Keep, |sink| sink.push(&ids, &rows)).unwrap();
        let frame = frames::read_foreign_parquet(&path, None).unwrap();
        assert_eq!(frame.column("p").unwrap().f64().unwrap().get(1), None);
        write_rows(&path, &table, Formulas::Keep, |_| Ok(())).unwrap();
        let frame = frames::read_foreign_parquet(&path, None).unwrap();
        assert_eq!(shape(&frame), (0, vec!["id".to_owned(), "class".into(), "p".into()]));
    }

    #[test]
    fn only_sparse_rows_go_to_npz() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.npz");
        let (columns, rows) = sparse();
        write_rows(&path, &columns, Formulas::Keep, |sink| sink.push(&["a".into(), "b".into()], &rows)).unwrap();
        assert_eq!(Rows::Sparse(inkstone_models::read_npz(&path).unwrap()), rows);
        let error =
            write_rows(&path, &Columns::Dense(vec!["v0".into()]), Formulas::Keep, |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains(".npy, .parquet or .csv"), "{error}");
    }

    #[test]
    fn an_unknown_format_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.xyz");
        let error = write_rows(&path, &Columns::Dense(Vec::new()), Formulas::Keep, |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("rows.xyz") && error.contains(".csv"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
