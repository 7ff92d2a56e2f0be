//! Rows to a file of the format that its name says, whole or not at all.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{Columns, Rows};
use crate::disk;

/// Where rows go.
pub trait Sink {
    /// Writes some documents' rows under their ids.
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()>;
}

/// Writes what `fill` pushes: `.csv` has `id` and a column a value; sparse rows are long there (`id,column,value`).
pub fn write_rows<T>(path: &Path, columns: &Columns, fill: impl FnOnce(&mut dyn Sink) -> Result<T>) -> Result<T> {
    let mut filled = None;
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => disk::write_atomic(path, |out| {
            let mut sink = CsvSink::new(out, columns)?;
            filled = Some(fill(&mut sink)?);
            Ok(sink.rows.flush()?)
        })?,
        _ => bail!("{}: the name of the output says its format; write .csv", path.display()),
    }
    filled.context("a finished output was filled")
}

struct CsvSink<'c, W: Write> {
    rows: csv::Writer<W>,
    columns: &'c Columns,
}

impl<'c, W: Write> CsvSink<'c, W> {
    fn new(out: W, columns: &'c Columns) -> Result<CsvSink<'c, W>> {
        let mut rows = csv::Writer::from_writer(out);
        match columns {
            Columns::Sparse { .. } => rows.write_record(["id", "column", "value"])?,
            Columns::Dense(names) => {
                rows.write_record(std::iter::once("id").chain(names.iter().map(String::as_str)))?
            }
            Columns::Table { text, numbers } => {
                let names = text.iter().chain(numbers).map(String::as_str);
                rows.write_record(std::iter::once("id").chain(names))?;
            }
        }
        Ok(CsvSink { rows, columns })
    }
}

impl<W: Write> Sink for CsvSink<'_, W> {
    fn push(&mut self, ids: &[Cow<'_, str>], rows: &Rows) -> Result<()> {
        let out = &mut self.rows;
        match (self.columns, rows) {
            (Columns::Sparse { names, .. }, Rows::Sparse(matrix)) => {
                for (i, id) in ids.iter().enumerate() {
                    for (j, value) in matrix.row(i).iter() {
                        let name = names.get(j as usize).map_or_else(|| j.to_string().into(), Cow::from);
                        out.write_record([id.as_ref(), &name, &value.to_string()])?;
                    }
                }
            }
            (Columns::Dense(names), Rows::Dense(values)) => {
                for (id, row) in ids.iter().zip(values.chunks(names.len().max(1))) {
                    out.write_field(id.as_ref())?;
                    row.iter().try_for_each(|value| out.write_field(value.to_string()))?;
                    out.write_record(None::<&[u8]>)?;
                }
            }
            (Columns::Table { text, numbers: names }, Rows::Table { texts, numbers }) => {
                for (i, (id, row)) in ids.iter().zip(numbers.chunks(names.len().max(1))).enumerate() {
                    out.write_field(id.as_ref())?;
                    if text.is_some() {
                        out.write_field(&texts[i])?;
                    }
                    for value in row {
                        // No value is an empty field.
                        out.write_field(if value.is_nan() { String::new() } else { value.to_string() })?;
                    }
                    out.write_record(None::<&[u8]>)?;
                }
            }
            _ => bail!("rows of another kind than their columns"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Csr;

    fn written(columns: &Columns, ids: &[&str], rows: &Rows) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.csv");
        let ids: Vec<Cow<'_, str>> = ids.iter().map(|&id| id.into()).collect();
        write_rows(&path, columns, |sink| sink.push(&ids, rows)).unwrap();
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
    fn an_unknown_format_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.xyz");
        let error = write_rows(&path, &Columns::Dense(Vec::new()), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("rows.xyz") && error.contains(".csv"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
