//! Finished sets as files that people and other tools read, and that come back to the bit.
//!
//! A Parquet file of a row for each text: `key` (32 hexadecimal digits), `values` (list of f32), and of sparse sets `columns` (list of u32)
//! before it. Batches stand one after the other in the order of the corpus. The file's notes have `inkstone.set` (JSON: the format, and the
//! header of the set with the digest of each batch) and `inkstone.digest`, its hash: whatever was changed in a file is noticed before
//! anything of it is kept. With pandas: `numpy.stack(frame["values"])`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use polars_core::prelude::{
    Column, DataFrame, DataType, Float32Type, IntoColumn, ListBuilderTrait, ListChunked, ListPrimitiveChunkedBuilder,
    NamedFrom, PolarsNumericType, Schema, Series, UInt32Type,
};
use polars_io::parquet::read::FileMetadata;
use polars_io::prelude::{KeyValueMetadata, SerReader};
use serde::{Deserialize, Serialize};

use super::layout::{BatchEntry, BatchRecord, Header};
use super::{Reader, RowKind, Rows, Store, Values, block};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_tables::frames::{self, ForeignParquet};

/// The format of the files that this version writes.
const FORMAT: u32 = 1;
const SET_NOTE: &str = "inkstone.set";
const DIGEST_NOTE: &str = "inkstone.digest";

#[derive(Serialize, Deserialize)]
struct Note {
    format: u32,
    header: Header,
}

/// A set that was exported to a file or imported from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetFile {
    pub name: String,
    pub id: Key,
    pub rows: u64,
    pub file: PathBuf,
    /// True if the store had the set already, so that nothing was imported.
    pub known: bool,
}

/// Writes a finished set to a file, a batch in memory at a time. Advances by one for each batch.
pub fn export(store: &Reader, id: &Key, path: &Path, ctx: &Ctx) -> Result<SetFile> {
    let set = store
        .set(id)?
        .with_context(|| message!("特征库没有已完成的特征集 {id}", "the store has no finished set {id}"))?;
    let header = set.header();
    let note = serde_json::to_string(&Note { format: FORMAT, header: header.clone() })?;
    let digest = Key::of(note.as_bytes()).hex();
    let notes = [(SET_NOTE, note), (DIGEST_NOTE, digest)].map(|(key, value)| (key.to_owned(), value));
    disk::write_atomic(path, |out| {
        disk::seal_parquet(out, |out| {
            let writer = frames::parquet_writer(out)
                .with_key_value_metadata(Some(KeyValueMetadata::from_static(notes.into_iter().collect())));
            let mut writer = writer.batched(&schema(header.spec.kind))?;
            for rows in set.batches() {
                let rows = rows?;
                if !rows.is_empty() {
                    writer.write_batch(&to_frame(&rows)?)?;
                }
                ctx.advance(1)?;
            }
            writer.finish()?;
            Ok(())
        })
    })?;
    Ok(set_file(header, path, false))
}

/// Brings a set from a file into the store. A file that is damaged, of another format, or of a set that the store has with other rows is
/// refused before anything is kept; a set that was stopped on its way is no set, and the same import goes on with it. Advances by one for
/// each batch, twice.
pub fn import(store: &Store, path: &Path, ctx: &Ctx) -> Result<SetFile> {
    let (file, header) = Portable::open(path)?;
    let known = store.set(&header.id())?;
    if let Some(known) = &known {
        ensure!(
            (&known.header().batches, &known.header().spec) == (&header.batches, &header.spec),
            "特征库中的特征集 {:?}（{}）与 {} 来自不同的文本；请导入另一项目",
            "the store has the set {:?} ({}) of other texts than {}; import it into another project",
            header.spec.name,
            header.id(),
            path.display()
        );
        return Ok(set_file(&header, path, true));
    }
    let writer = store.writer(&header.spec)?;
    for (entry, place) in places(&header) {
        if let Some(there) = writer.record(entry.key)? {
            ensure!(
                there == entry.record,
                "特征库中特征集 {1:?} 的第 {0} 批与 {2} 的行不同；请导入另一项目",
                "the store has other rows of batch {} of the set {:?} than {}; import it into another project",
                entry.key,
                header.spec.name,
                path.display()
            );
        }
        file.batch(&header, entry, place)?;
        ctx.advance(1)?;
    }
    for (entry, place) in places(&header) {
        writer.put(entry.key, &file.batch(&header, entry, place)?)?;
        ctx.advance(1)?;
    }
    let order: Vec<Key> = header.batches.iter().map(|batch| batch.key).collect();
    writer.finish(&order, header.meta.clone())?;
    Ok(set_file(&header, path, false))
}

/// Default name of a file: letters and digits of the set's name, and the first eight digits of its id.
pub fn file_name(header: &Header) -> String {
    let name = header.spec.name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' });
    format!("{}-{}.parquet", name.collect::<String>(), &header.id().hex()[..8])
}

fn set_file(header: &Header, path: &Path, known: bool) -> SetFile {
    SetFile { name: header.spec.name.clone(), id: header.id(), rows: header.rows, file: path.to_owned(), known }
}

/// The different batches of a set, each with its rows in a file.
fn places(header: &Header) -> Vec<(&BatchEntry, Range<usize>)> {
    let (mut seen, mut from) = (BTreeSet::new(), 0);
    let mut places = Vec::new();
    for entry in &header.batches {
        let to = from + entry.record.rows as usize;
        if seen.insert(entry.key) {
            places.push((entry, from..to));
        }
        from = to;
    }
    places
}

fn schema(kind: RowKind) -> Schema {
    let list = |inner| DataType::List(Box::new(inner));
    let columns = matches!(kind, RowKind::Sparse).then(|| ("columns".into(), list(DataType::UInt32)));
    let columns = [("key".into(), DataType::String)].into_iter().chain(columns);
    columns.chain([("values".into(), list(DataType::Float32))]).collect()
}

fn to_frame(rows: &Rows) -> Result<DataFrame> {
    let keys: Vec<String> = rows.keys.iter().map(Key::hex).collect();
    let mut columns: Vec<Column> = vec![Series::new("key".into(), keys).into_column()];
    match &rows.values {
        Values::Dense { dim, data } => columns.push(lists::<Float32Type>("values", data.chunks_exact(*dim))),
        Values::Sparse { indptr, indices, values } => {
            let row = |pair: &[usize]| pair[0]..pair[1];
            columns.push(lists::<UInt32Type>("columns", indptr.windows(2).map(|pair| &indices[row(pair)])));
            columns.push(lists::<Float32Type>("values", indptr.windows(2).map(|pair| &values[row(pair)])));
        }
    }
    frames::frame(columns)
}

fn lists<'a, T: PolarsNumericType>(name: &str, rows: impl Iterator<Item = &'a [T::Native]>) -> Column {
    let mut builder = ListPrimitiveChunkedBuilder::<T>::new(name.into(), rows.size_hint().0, 0, T::get_static_dtype());
    rows.for_each(|row| builder.append_slice(row));
    builder.finish().into_column()
}

/// A file that a set was exported to.
struct Portable {
    file: ForeignParquet,
    notes: std::sync::Arc<FileMetadata>,
}

impl Portable {
    fn open(path: &Path) -> Result<(Portable, Header)> {
        let file = ForeignParquet::open(path)?;
        let notes = file.read(|mut reader| reader.get_metadata().cloned())?;
        let note = |key: &str| {
            let all = notes.key_value_metadata().as_ref()?;
            all.iter().find(|note| note.key == key)?.value.clone()
        };
        let foreign = || {
            message!(
                "{} 不是 `inkstone store export` 写的特征集",
                "{} is no feature set that `inkstone store export` wrote",
                path.display()
            )
        };
        let (set, digest) = (note(SET_NOTE).with_context(foreign)?, note(DIGEST_NOTE).with_context(foreign)?);
        let format = serde_json::from_str::<serde_json::Value>(&set).ok().and_then(|set| set.get("format")?.as_u64());
        if let Some(format) = format.filter(|format| *format != u64::from(FORMAT)) {
            bail!(
                "{} 的格式为 {format}，本版本读取格式 {FORMAT}：请用写它的 inkstone 版本，或重新导出该特征集",
                "{} is of format {format}, and this version reads format {FORMAT}: use the version of inkstone that wrote it, or export the set again",
                path.display()
            );
        }
        let changed = || {
            message!(
                "{} 已损坏：对特征集的说明被改动过",
                "{} is damaged: what it says of its set was changed",
                path.display()
            )
        };
        ensure!(Key::of(set.as_bytes()).hex() == digest, changed());
        let note: Note = serde_json::from_str(&set).with_context(changed)?;
        let rows = note.header.batches.iter().map(|batch| batch.record.rows).sum::<u64>();
        ensure!(rows == note.header.rows && rows == notes.num_rows as u64, changed());
        Ok((Portable { file, notes }, note.header))
    }

    /// The rows of a batch, which must be those that the header says.
    fn batch(&self, header: &Header, entry: &BatchEntry, place: Range<usize>) -> Result<Rows> {
        let damaged = || {
            let path = self.file.path().display();
            message!(
                "{path} 已损坏：第 {} 到 {} 行与导出时不同",
                "{path} is damaged: the rows {} to {} are not those that were exported",
                place.start + 1,
                place.end
            )
        };
        let rows = self.read(header.spec.kind, &place).with_context(damaged)?;
        rows.check().with_context(damaged)?;
        let blocks = block::pack(&rows).with_context(damaged)?;
        ensure!(BatchRecord::new(&rows, &blocks) == entry.record, damaged());
        Ok(rows)
    }

    fn read(&self, kind: RowKind, place: &Range<usize>) -> Result<Rows> {
        if place.is_empty() {
            return Ok(Rows::empty(kind));
        }
        let frame = self.file.read_frame(|mut reader| {
            reader.set_metadata(self.notes.clone());
            reader.with_slice(Some((place.start, place.len()))).finish()
        })?;
        let keys = frame.column("key")?.str()?.iter().map(|key| Key::from_hex(key?));
        let keys = keys
            .collect::<Option<Vec<_>>>()
            .context(Word("有键不是 32 位十六进制数", "a key is not of 32 hexadecimal digits"))?;
        let (ends, values) = flat::<Float32Type>(frame.column("values")?.list()?)?;
        Ok(match kind {
            RowKind::Dense { dim } => Rows::dense(keys, dim, values),
            RowKind::Sparse => {
                let (also, columns) = flat::<UInt32Type>(frame.column("columns")?.list()?)?;
                ensure!(also == ends, "列与值的长度不同", "columns and values differ in length");
                Rows::sparse(keys, ends, columns, values)
            }
        })
    }
}

/// Row pointers and values of a column of lists, as in [`Values::Sparse`].
fn flat<T: PolarsNumericType>(lists: &ListChunked) -> Result<(Vec<usize>, Vec<T::Native>)> {
    let (mut ends, mut values) = (vec![0], Vec::new());
    for row in 0..lists.len() {
        let list = lists.get_as_series(row).context(Word("缺少一行", "a row is missing"))?;
        let numbers = list.unpack::<T>()?;
        ensure!(numbers.null_count() == 0, "缺少一个值", "a value is missing");
        values.extend(numbers.into_no_null_iter());
        ends.push(values.len());
    }
    Ok((ends, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SetSpec;
    use crate::tests::{ctx, finished, key, read_all, spec};

    fn stores() -> (tempfile::TempDir, Store, Store) {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| Store::open(&dir.path().join(name)).unwrap());
        (dir, from, to)
    }

    /// A sparse set whose second batch is empty, and whose first comes twice.
    fn sparse(store: &Store) -> SetSpec {
        let spec = spec("稀疏/../x", RowKind::Sparse);
        let keys = (0..3).map(|i| key("text", i)).collect();
        let odd = vec![f32::from_bits(0x7fc0_0001), -0.0, f32::NEG_INFINITY];
        let rows = Rows::sparse(keys, vec![0, 2, 2, 3], vec![u32::MAX, 0, 7], odd);
        let writer = store.writer(&spec).unwrap();
        writer.put(key("batch", 0), &rows).unwrap();
        writer.put(key("batch", 1), &Rows::empty(RowKind::Sparse)).unwrap();
        let order = [key("batch", 0), key("batch", 1), key("batch", 0)];
        writer.finish(&order, serde_json::json!({"列": ["a"]})).unwrap();
        spec
    }

    #[test]
    fn sets_come_back_to_the_bit_with_their_ids_and_a_second_time_change_nothing() {
        let (dir, from, to) = stores();
        for spec in [finished(&from).0, sparse(&from)] {
            let header = from.find(&spec.name).unwrap();
            let file = dir.path().join(file_name(&header));
            assert_eq!(file.parent(), Some(dir.path()), "a name is no path");
            let exported = export(&from, &spec.id(), &file, &ctx()).unwrap();
            let imported = import(&to, &file, &ctx()).unwrap();
            assert_eq!(exported, imported);
            assert_eq!(to.find(&spec.id().hex()).unwrap(), header);
            assert!(read_all(&to, &spec.id()) == read_all(&from, &spec.id()));
            assert!(import(&to, &file, &ctx()).unwrap().known);
            let frame = frames::read_parquet(&file, None).unwrap();
            assert_eq!(frame.height() as u64, header.rows, "rows stand as often as in the corpus");
        }
        assert_eq!(to.verify(&ctx()).unwrap(), []);
    }

    #[test]
    fn what_is_damaged_of_another_format_foreign_or_there_with_other_rows_is_refused_and_nothing_of_it_kept() {
        let (dir, from, to) = stores();
        let (spec, order) = finished(&from);
        let file = dir.path().join("sum.parquet");
        export(&from, &spec.id(), &file, &ctx()).unwrap();
        let intact = std::fs::read(&file).unwrap();
        let refused = |store: &Store, bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            format!("{:#}", import(store, &file, &ctx()).unwrap_err())
        };
        let step = intact.len() / 60;
        for at in (0..intact.len()).step_by(step) {
            let mut torn = intact.clone();
            torn[at] ^= 0x20;
            std::fs::write(&file, &torn).unwrap();
            // A flip may lie where nothing is read: then the set is whole.
            if import(&to, &file, &ctx()).is_ok() {
                assert!(read_all(&to, &spec.id()) == read_all(&from, &spec.id()), "a flip at {at}");
                to.remove(&spec.id()).unwrap();
            }
            assert_eq!(to.stats().unwrap().other_bytes, 0, "a flip at {at} left something");
            refused(&to, &intact[..at]);
        }
        let place = |what: &[u8]| intact.windows(what.len()).position(|window| window == what).unwrap();
        for format in [b'0', b'2'] {
            let mut other = intact.clone();
            other[place(br#"{"format":1"#) + 10] = format;
            let error = refused(&to, &other);
            let format = char::from(format);
            assert!(error.contains(&format!("is of format {format}, and this version reads format 1")), "{error}");
        }
        let foreign = dir.path().join("foreign.parquet");
        let mut frame = frames::frame(vec![Series::new("key".into(), ["a"]).into_column()]).unwrap();
        frames::write_parquet(&foreign, &mut frame).unwrap();
        let error = import(&to, &foreign, &ctx()).unwrap_err().to_string();
        assert!(error.contains("is no feature set that `inkstone store export` wrote"), "{error}");
        assert!(to.sets().unwrap().is_empty());

        let writer = to.writer(&spec).unwrap();
        writer.put(order[0], &crate::tests::dense_rows(7, 100, 300)).unwrap();
        assert!(refused(&to, &intact).contains("other rows of batch"));
        writer.finish(&order[..1], serde_json::Value::Null).unwrap();
        assert!(refused(&to, &intact).contains("of other texts"));
        assert!(from.find("none").unwrap_err().to_string().contains("there are: sum"));
    }
}
