//! Sparse matrices as `.npz`, the archive that SciPy's `load_npz` reads.
//!
//! Members: `indptr`, `indices` (int32; int64 where the number of values needs it), `data` (float32), `shape` (int64), `format`
//! (`csr`), each a NumPy array of version 1.0. Beside them, which SciPy passes over: `ids.json`, the name of each row,
//! and `columns.json`, the name of each column; `json.loads(numpy.load(path)["columns.json"])` reads them. Members are stored
//! without compression, so that writing is as fast as the disk. Times of members are fixed: the same matrix gives the same
//! bytes.

use std::io::{Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::sparse::Csr;
use inkstone_base::disk::{Pending, Scratch};
use inkstone_base::{ensure, message};

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
    /// A matrix of `cols` columns, without rows.
    pub fn create(path: &Path, cols: usize) -> Result<NpzWriter> {
        ensure!(
            i32::try_from(cols).is_ok(),
            "{cols} 列超过 int32 列号的 npz 所能有",
            "{cols} columns are more than an npz of int32 columns can have"
        );
        Ok(NpzWriter {
            pending: Pending::create(path)?,
            cols,
            indptr: vec![0],
            indices: Scratch::beside(path)?,
            values: Scratch::beside(path)?,
            ids: Scratch::beside(path)?,
        })
    }

    pub fn push<'a>(&mut self, rows: &Csr, ids: impl IntoIterator<Item = &'a str>) -> Result<()> {
        ensure!(
            rows.cols() <= self.cols,
            "行有 {} 列，矩阵有 {} 列",
            "a row has {} columns, the matrix {}",
            rows.cols(),
            self.cols
        );
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
        write().with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
        pending.finish()
    }
}

fn bytes(map: &Option<Mmap>) -> &[u8] {
    map.as_deref().unwrap_or_default()
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

/// Reads a matrix of [`NpzWriter`] with fewer than 2^31 values.
pub fn read_npz(path: &Path) -> Result<Csr> {
    use std::io::Read;
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path)?)?;
    let mut array = |name: &str| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        zip.by_name(name)?.read_to_end(&mut bytes)?;
        Ok(bytes.split_off(NPY_HEADER))
    };
    let shape: Vec<i64> = bytemuck::pod_collect_to_vec(&array("shape.npy")?);
    let indptr: Vec<i32> = bytemuck::pod_collect_to_vec(&array("indptr.npy")?);
    let indices: Vec<u32> = bytemuck::pod_collect_to_vec(&array("indices.npy")?);
    let values: Vec<f32> = bytemuck::pod_collect_to_vec(&array("data.npy")?);
    let mut matrix = Csr::new(shape[1] as usize);
    for row in indptr.windows(2).map(|ends| ends[0] as usize..ends[1] as usize) {
        matrix.push_row(indices[row.clone()].iter().copied().zip(values[row].iter().copied()));
    }
    Ok(matrix)
}

/// A matrix and the names of its rows, as [`NpzWriter`] writes both. Fails where it is anything else.
pub fn read_named_npz(path: &Path) -> Result<(Csr, Vec<String>)> {
    let foreign = || {
        message!(
            "{} 不是 inkstone 写的、行有名称的矩阵（train ppmi --counts）",
            "{} is no matrix of inkstone whose rows have names (train ppmi --counts)",
            path.display()
        )
    };
    let file = std::fs::File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let mut zip = zip::ZipArchive::new(file).with_context(foreign)?;
    let mut member = |name: &str, header: usize| -> Result<Vec<u8>> {
        use std::io::Read;
        let mut bytes = Vec::new();
        zip.by_name(name).with_context(foreign)?.read_to_end(&mut bytes).with_context(foreign)?;
        bytes.drain(..header.min(bytes.len()));
        Ok(bytes)
    };
    let shape: Vec<i64> = bytemuck::pod_collect_to_vec(&member("shape.npy", NPY_HEADER)?);
    let names: Vec<String> = serde_json::from_slice(&member("ids.json", 0)?).with_context(foreign)?;
    let indptr = member("indptr.npy", NPY_HEADER)?;
    let ends: Vec<usize> = match indptr.len() == 8 * (names.len() + 1) {
        true => bytemuck::pod_collect_to_vec::<u8, u64>(&indptr).into_iter().map(|end| end as usize).collect(),
        false => bytemuck::pod_collect_to_vec::<u8, u32>(&indptr).into_iter().map(|end| end as usize).collect(),
    };
    let indices: Vec<u32> = bytemuck::pod_collect_to_vec(&member("indices.npy", NPY_HEADER)?);
    let values: Vec<f32> = bytemuck::pod_collect_to_vec(&member("data.npy", NPY_HEADER)?);
    let cols = shape.get(1).and_then(|&cols| usize::try_from(cols).ok()).unwrap_or_default();
    let fits = ends.len() == names.len() + 1
        && ends.first() == Some(&0)
        && ends.windows(2).all(|pair| pair[0] <= pair[1])
        && ends.last() == Some(&indices.len())
        && indices.len() == values.len()
        && indices.iter().all(|&column| (column as usize) < cols);
    ensure!(fits, foreign());
    let mut matrix = Csr::new(cols);
    for row in ends.windows(2).map(|pair| pair[0]..pair[1]) {
        matrix.push_row(indices[row.clone()].iter().copied().zip(values[row].iter().copied()));
    }
    Ok((matrix, names))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matrix() -> Csr {
        let mut m = Csr::new(4);
        m.push_row([(1, 1.5), (3, -2.0)]);
        m.push_row([]);
        m.push_row([(0, 0.25), (2, 3.0)]);
        m
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
        let mut zip = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
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
            let mut writer = NpzWriter::create(&path, m.cols()).unwrap();
            writer.push(&m, []).unwrap();
            writer.finish(None::<std::iter::Empty<&str>>).unwrap();
            prop_assert_eq!(read_npz(&path).unwrap(), m);
        }
    }
}
