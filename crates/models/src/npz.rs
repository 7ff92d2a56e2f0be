//! Sparse matrices as `.npz`, the archive that SciPy's `save_npz` writes and `load_npz` reads.
//!
//! Members: `indptr`, `indices` (int32; int64 where the number of values needs it), `data` (float32), `shape` (int64), `format`
//! (`csr`), each a NumPy array of version 1.0. Beside them, which SciPy passes over: `ids.json`, the name of each row,
//! and `columns.json`, the name of each column; `json.loads(numpy.load(path)["columns.json"])` reads them. Members are stored
//! without compression, so that writing is as fast as the disk; reading takes deflated ones too. Times of members are fixed:
//! the same matrix gives the same bytes.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bytemuck::Pod;
use memmap2::Mmap;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::sparse::Csr;
use inkstone_base::disk::{Pending, Scratch};

/// Bytes of every header that [`npy_header`] makes.
const NPY_HEADER: usize = 128;

/// The header of a NumPy array in C order, as long for every shape, so that it can be written again when the number of rows
/// is known.
pub fn npy_header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|n| format!("{n},")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(((NPY_HEADER - 10) as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    assert!(header.len() < NPY_HEADER, "two 20-digit sizes fit");
    header.resize(NPY_HEADER - 1, b' ');
    header.push(b'\n');
    header
}

/// Writes a matrix as its rows come. What is written waits in scratch files beside the archive, for each member is one
/// piece of it; memory holds where each row begins.
pub struct NpzWriter {
    pending: Pending,
    cols: usize,
    indptr: Vec<i64>,
    indices: Scratch,
    values: Scratch,
    ids: Scratch,
}

impl NpzWriter {
    /// Begins a matrix of `cols` columns.
    pub fn create(path: &Path, cols: usize) -> Result<NpzWriter> {
        ensure!(i32::try_from(cols).is_ok(), "{cols} columns are more than an npz of int32 columns can have");
        Ok(NpzWriter {
            pending: Pending::create(path)?,
            cols,
            indptr: vec![0],
            indices: Scratch::beside(path)?,
            values: Scratch::beside(path)?,
            ids: Scratch::beside(path)?,
        })
    }

    /// Adds rows.
    pub fn push<'a>(&mut self, rows: &Csr, ids: impl IntoIterator<Item = &'a str>) -> Result<()> {
        ensure!(rows.cols() <= self.cols, "a row has {} columns, the matrix {}", rows.cols(), self.cols);
        let before = self.indptr.last().copied().unwrap_or(0);
        self.indptr.extend(rows.indptr()[1..].iter().map(|&end| before + end as i64));
        self.indices.write(bytemuck::cast_slice(rows.indices()))?;
        self.values.write(bytemuck::cast_slice(rows.values()))?;
        for id in ids {
            self.ids.write(if self.ids.written() == 0 { b"[" } else { b"," })?;
            self.ids.write(&serde_json::to_vec(id)?)?;
        }
        Ok(())
    }

    /// Puts the archive together; `columns` names the columns, if they have names.
    pub fn finish<'a>(self, columns: Option<impl Iterator<Item = &'a str>>) -> Result<()> {
        let NpzWriter { mut pending, cols, indptr, indices, values, ids } = self;
        let (indices, values, ids) = (indices.map()?, values.map()?, ids.map()?);
        let path = pending.path().to_owned();
        let write = || -> Result<()> {
            let mut archive = Archive { zip: ZipWriter::new(pending.out()) };
            let stored = indptr.last().copied().unwrap_or(0);
            archive.array("indices", "<i4", &[stored as u64], bytes(&indices))?;
            match i32::try_from(stored) {
                Ok(_) => {
                    let short: Vec<i32> = indptr.iter().map(|&at| at as i32).collect();
                    archive.array("indptr", "<i4", &[short.len() as u64], bytemuck::cast_slice(&short))?;
                }
                Err(_) => archive.array("indptr", "<i8", &[indptr.len() as u64], bytemuck::cast_slice(&indptr))?,
            }
            archive.array("format", "|S3", &[], b"csr")?;
            let shape = [indptr.len() as i64 - 1, cols as i64];
            archive.array("shape", "<i8", &[2], bytemuck::cast_slice(&shape))?;
            archive.array("data", "<f4", &[stored as u64], bytes(&values))?;
            archive.member("ids.json", &[if ids.is_some() { bytes(&ids) } else { b"[" }, b"]"])?;
            if let Some(columns) = columns {
                archive.member("columns.json", &[&serde_json::to_vec(&columns.collect::<Vec<_>>())?])?;
            }
            archive.zip.finish()?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        pending.finish()
    }
}

fn bytes(map: &Option<Mmap>) -> &[u8] {
    map.as_deref().unwrap_or_default()
}

/// Writes a matrix that is at hand.
pub fn write_npz(path: &Path, matrix: &Csr) -> Result<()> {
    let mut writer = NpzWriter::create(path, matrix.cols())?;
    writer.push(matrix, [])?;
    writer.finish(None::<std::iter::Empty<&str>>)
}

struct Archive<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> Archive<W> {
    fn array(&mut self, name: &str, descr: &str, shape: &[u64], bytes: &[u8]) -> Result<()> {
        self.member(&format!("{name}.npy"), &[&npy_header(descr, shape), bytes])
    }

    fn member(&mut self, name: &str, pieces: &[&[u8]]) -> Result<()> {
        let large = pieces.iter().map(|piece| piece.len() as u64).sum::<u64>() >= u64::from(u32::MAX);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .large_file(large);
        self.zip.start_file(name, options)?;
        for piece in pieces {
            self.zip.write_all(piece)?;
        }
        Ok(())
    }
}

/// Reads a sparse matrix that this program or SciPy wrote. Values of float64 are rounded to float32.
pub fn read_npz(path: &Path) -> Result<Csr> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let read = || {
        let mut zip = ZipArchive::new(BufReader::new(file)).context("it is not an npz archive, or it is cut short")?;
        read_csr(&mut zip)
    };
    read().with_context(|| format!("cannot read {} as a sparse matrix", path.display()))
}

fn read_csr(zip: &mut ZipArchive<impl Read + Seek>) -> Result<Csr> {
    let format = Array::read(zip, "format")?;
    // SciPy writes bytes; a text, four bytes a character, is what older versions wrote.
    let name: String = format.bytes.iter().filter(|&&b| b != 0).map(|&b| char::from(b)).collect();
    ensure!(
        name == "csr",
        "it has the format {name}, and csr is read: write it again with scipy.sparse.save_npz(path, matrix.tocsr())"
    );
    let shape = Array::read(zip, "shape")?.whole_numbers()?;
    let &[rows, cols] = &shape[..] else { bail!("its shape has {} numbers, not 2", shape.len()) };
    let indptr = Array::read(zip, "indptr")?.whole_numbers()?;
    ensure!(indptr.len() == rows + 1, "it has {rows} rows, but indptr tells of {}", indptr.len().saturating_sub(1));
    let indices = Array::read(zip, "indices")?.whole_numbers()?;
    let indices = indices.into_iter().map(u32::try_from).collect::<Result<Vec<u32>, _>>();
    let values = Array::read(zip, "data")?.values()?;
    if let Some(at) = values.iter().position(|v| !v.is_finite()) {
        let row = indptr.partition_point(|&end| end <= at).saturating_sub(1);
        bail!("row {row} (from 0) has the value {}; models need finite numbers", values[at]);
    }
    Csr::from_parts(indptr, indices.context("it has more columns than fit 32 bits")?, values, cols)
}

/// Bytes of a header at the most, as NumPy itself has it.
const LONGEST_HEADER: usize = 10_000;
/// Times its size that a member may have unpacked; more is no matrix, but meant to fill the memory. Small ones may.
const UNPACKED: u64 = 200;
const SMALL: u64 = 1 << 26;

/// A NumPy array as it lies in the archive.
struct Array {
    name: &'static str,
    descr: String,
    bytes: Vec<u8>,
}

/// What the header of an array says.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Takes the header, `{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }` and what says its length, off an array.
    fn take(bytes: &mut Vec<u8>) -> Option<Header> {
        let (head, rest) = bytes.split_at_checked(8)?;
        let (length, rest) = match *head.strip_prefix(b"\x93NUMPY")? {
            [1, _] => {
                rest.split_at_checked(2).map(|(two, rest)| (u16::from_le_bytes([two[0], two[1]]).into(), rest))?
            }
            [2 | 3, _] => rest.split_first_chunk().map(|(four, rest)| (u32::from_le_bytes(*four) as usize, rest))?,
            _ => return None,
        };
        let (text, values) = rest.split_at_checked(length).filter(|_| length <= LONGEST_HEADER)?;
        let text = std::str::from_utf8(text).ok()?;
        let value = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, value)| value.trim_start());
        let descr = value("descr")?.strip_prefix('\'')?.split_once('\'')?.0.to_owned();
        let sizes = value("shape")?.strip_prefix('(')?.split_once(')')?.0.split(',').map(str::trim);
        let shape = sizes.filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect::<Option<_>>()?;
        let fortran = value("fortran_order")?.starts_with("True");
        bytes.drain(..bytes.len() - values.len());
        Some(Header { descr, fortran, shape })
    }

    /// Values in all; none where they cannot be counted.
    fn len(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |len, &size| len.checked_mul(size))
    }
}

impl Array {
    fn read(zip: &mut ZipArchive<impl Read + Seek>, name: &'static str) -> Result<Array> {
        let file = zip.by_name(&format!("{name}.npy"));
        let file = file.with_context(|| format!("it has no readable array {name:?}, as a sparse matrix has"))?;
        // What the archive says of sizes may be wrong: memory is taken for what there is.
        let most = SMALL.max(file.compressed_size().saturating_mul(UNPACKED));
        let mut bytes = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.with_context(|| format!("the array {name:?} is cut short or damaged"))?;
        ensure!(
            bytes.len() as u64 <= most,
            "the array {name:?} unpacks to over {most} bytes, more than {UNPACKED} times its size; save it without compression"
        );
        let header = Header::take(&mut bytes).with_context(|| format!("the header of {name:?} is damaged"))?;
        let len = header.len().with_context(|| format!("the header of {name:?} is damaged"))?;
        ensure!(!header.fortran || header.shape.len() < 2, "the array {name:?} is in Fortran order");
        let size = match header.descr.as_str() {
            "<i4" | "<f4" => 4,
            "<i8" | "<f8" => 8,
            _ => bytes.len() as u64 / len.max(1),
        };
        ensure!(
            Some(bytes.len() as u64) == len.checked_mul(size),
            "the array {name:?} is cut short: it has {} bytes for {len} numbers",
            bytes.len()
        );
        Ok(Array { name, descr: header.descr, bytes })
    }

    fn pods<T: Pod>(&self) -> Vec<T> {
        bytemuck::pod_collect_to_vec(&self.bytes)
    }

    fn whole_numbers(&self) -> Result<Vec<usize>> {
        let numbers: Result<Vec<usize>, _> = match self.descr.as_str() {
            "<i4" => self.pods::<i32>().into_iter().map(usize::try_from).collect(),
            "<i8" => self.pods::<i64>().into_iter().map(usize::try_from).collect(),
            other => bail!("the array {:?} has the type {other}; int32 and int64 are read", self.name),
        };
        numbers.with_context(|| format!("the array {:?} has a negative number", self.name))
    }

    fn values(&self) -> Result<Vec<f32>> {
        match self.descr.as_str() {
            "<f4" => Ok(self.pods()),
            "<f8" => Ok(self.pods::<f64>().into_iter().map(|v| v as f32).collect()),
            "<i4" => Ok(self.pods::<i32>().into_iter().map(|v| v as f32).collect()),
            "<i8" => Ok(self.pods::<i64>().into_iter().map(|v| v as f32).collect()),
            other => bail!("the values have the type {other}: write them with matrix.astype(\"float32\")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/scipy").join(name)
    }

    fn matrix() -> Csr {
        let mut m = Csr::new(4);
        m.push_row([(1, 1.5), (3, -2.0)]);
        m.push_row([]);
        m.push_row([(0, 0.25), (2, 3.0)]);
        m
    }

    #[test]
    fn what_scipy_writes_is_read() {
        assert_eq!(read_npz(&fixture("deflated_f64.npz")).unwrap(), matrix());
        assert_eq!(read_npz(&fixture("stored_f32_untidy.npz")).unwrap(), matrix());
    }

    #[test]
    fn what_cannot_be_used_is_told_with_the_way_out() {
        let said = |path: &Path| format!("{:#}", read_npz(path).unwrap_err());
        assert!(said(&fixture("csc.npz")).contains("matrix.tocsr()"), "{}", said(&fixture("csc.npz")));
        assert!(
            said(&fixture("nan.npz")).contains("row 2 (from 0) has the value NaN"),
            "{}",
            said(&fixture("nan.npz"))
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cut.npz");
        let whole = std::fs::read(fixture("deflated_f64.npz")).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(said(&path).contains("cut short"), "{}", said(&path));
        std::fs::write(&path, "id,value").unwrap();
        assert!(said(&path).contains("not an npz archive"), "{}", said(&path));
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("data.npy", SimpleFileOptions::default()).unwrap();
        zip.finish().unwrap();
        assert!(said(&path).contains("no readable array \"format\""), "{}", said(&path));
    }

    #[test]
    fn an_archive_that_is_not_finished_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = NpzWriter::create(&dir.path().join("x.npz"), 4).unwrap();
        writer.push(&matrix(), ["甲", "乙", "丙"]).unwrap();
        assert!(writer.push(&Csr::new(5), []).is_err());
        drop(writer);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_stand_beside_the_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npz");
        let mut writer = NpzWriter::create(&path, 4).unwrap();
        writer.push(&matrix(), ["甲", "\"乙\"", "丙"]).unwrap();
        writer.finish(Some(["a", "b", "c", "d\n"].into_iter())).unwrap();
        let mut zip = ZipArchive::new(File::open(&path).unwrap()).unwrap();
        let mut names = |member| -> Vec<String> { serde_json::from_reader(zip.by_name(member).unwrap()).unwrap() };
        assert_eq!(names("ids.json"), ["甲", "\"乙\"", "丙"]);
        assert_eq!(names("columns.json"), ["a", "b", "c", "d\n"]);
    }

    proptest! {
        #[test]
        fn a_matrix_comes_back_as_it_was(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..9, -9i8..9, 0..6), 0..8), more in 0usize..3
        ) {
            let mut m = Csr::new(9 + more);
            for row in &rows {
                m.push_row(row.iter().map(|(&j, &v)| (j, f32::from(v) / 8.0)));
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("m.npz");
            write_npz(&path, &m).unwrap();
            prop_assert_eq!(read_npz(&path).unwrap(), m);
        }
    }
}
