//! Arrow and Parquet files that pandas opens with the index that alphalens and Qlib need.
//!
//! `pandas.read_parquet` puts a table's columns behind a plain row number unless the file's Arrow schema carries the note
//! "pandas" (pandas' developers' page on storing frames in Parquet). alphalens and Qlib want an index of time and security,
//! and Qlib's `StaticDataLoader(path)` leaves nobody the occasion to set one. Other readers see plain columns.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use polars_arrow::datatypes::Metadata;
use polars_arrow::io::ipc::write::{default_ipc_fields, schema_to_bytes};
use polars_core::prelude::{CompatLevel, DataFrame, DataType, SchemaExt};
use polars_io::prelude::{IpcWriter, KeyValueMetadata, SerWriter};
use serde_json::{Value, json};

use inkstone_tables::frames;

use inkstone_base::bail;

/// Text as all readers know it; the newest level keeps it as views.
const TEXT: CompatLevel = CompatLevel::oldest();

/// Writes Parquet; the first `index` columns are pandas' index.
pub(super) fn write_parquet(out: impl Write, table: &mut DataFrame, index: usize) -> Result<()> {
    let note = pandas(table, index)?;
    let mut notes = vec![("ARROW:schema".to_owned(), schema(table, note.as_ref()))];
    notes.extend(note.into_iter().flatten().map(|(name, note)| (name.to_string(), note.to_string())));
    frames::parquet_writer(out).with_key_value_metadata(Some(KeyValueMetadata::from_static(notes))).finish(table)?;
    Ok(())
}

/// Writes Arrow's file format; the first `index` columns are pandas' index.
pub(super) fn write_arrow(out: impl Write, table: &mut DataFrame, index: usize) -> Result<()> {
    let mut writer = IpcWriter::new(out).with_compat_level(TEXT);
    if let Some(note) = pandas(table, index)? {
        writer.set_custom_schema_metadata(Arc::new(note));
    }
    Ok(writer.finish(table)?)
}

/// The Arrow schema as Parquet files keep it: a message of the IPC format in base64. pyarrow looks for the note in it and
/// nowhere else; the one that polars writes has none.
fn schema(table: &DataFrame, note: Option<&Metadata>) -> String {
    let schema = table.schema().to_arrow(TEXT);
    let message = schema_to_bytes(&schema, &default_ipc_fields(schema.iter_values()), note);
    let length = (message.len() as u32).to_le_bytes();
    STANDARD.encode([&[0xff; 4], length.as_slice(), &message].concat())
}

/// pandas' note that the first `index` columns are the index; none where it has to count rows.
fn pandas(table: &DataFrame, index: usize) -> Result<Option<Metadata>> {
    if index == 0 {
        return Ok(None);
    }
    let columns = table.columns().iter().map(|column| {
        let (kind, numpy) = match column.dtype() {
            DataType::Float64 => ("float64", "float64"),
            DataType::String => ("unicode", "object"),
            DataType::Datetime(..) => ("datetime", "datetime64[us]"),
            other => {
                bail!("无法告诉 pandas 如何读取 {other} 类型的列", "pandas is not told how to read a column of {other}")
            }
        };
        let name = column.name().as_str();
        Ok(json!({"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": null}))
    });
    let columns: Vec<Value> = columns.collect::<Result<_>>()?;
    let names: Vec<&str> = table.columns()[..index].iter().map(|column| column.name().as_str()).collect();
    let unnamed =
        json!({"name": null, "field_name": null, "pandas_type": "unicode", "numpy_type": "object", "metadata": null});
    let note =
        json!({"index_columns": names, "column_indexes": [unnamed], "columns": columns, "pandas_version": "2.0.0"});
    Ok(Some(Metadata::from([("pandas".into(), note.to_string().into())])))
}
