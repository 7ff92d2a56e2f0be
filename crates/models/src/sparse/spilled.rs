//! Matrices of a whole corpus: their columns and values lie in scratch files that are mapped, so that memory is that of an
//! offset a row.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use bytemuck::Pod;
use memmap2::Mmap;

use super::Csr;
use inkstone_base::disk::{self, Scratch};

/// Numbers in memory, or in a file that is mapped.
#[derive(Clone, Debug)]
pub(crate) enum Numbers<T> {
    Held(Vec<T>),
    /// None where there are no numbers.
    Mapped(Option<Arc<Mmap>>),
}

impl<T: Pod> Numbers<T> {
    /// To be added to; what is mapped comes into memory.
    pub(super) fn held(&mut self) -> &mut Vec<T> {
        if let Numbers::Mapped(_) = self {
            *self = Numbers::Held(self.to_vec());
        }
        match self {
            Numbers::Held(numbers) => numbers,
            Numbers::Mapped(_) => unreachable!("it has just been brought into memory"),
        }
    }
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Numbers::Held(numbers) => numbers,
            Numbers::Mapped(map) => disk::numbers(map.as_deref()),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Numbers<T> {
    fn eq(&self, other: &Numbers<T>) -> bool {
        **self == **other
    }
}

/// Builds a [`Csr`] whose columns and values, eight bytes a stored value, are not held in memory.
pub struct SpilledCsr {
    indptr: Vec<usize>,
    indices: Scratch,
    values: Scratch,
    cols: usize,
}

impl SpilledCsr {
    /// A matrix without rows; its scratch files are made in `folder`.
    pub fn within(folder: &Path) -> Result<SpilledCsr> {
        Ok(SpilledCsr { indptr: vec![0], indices: Scratch::within(folder)?, values: Scratch::within(folder)?, cols: 0 })
    }

    /// Adds a row; its columns must ascend strictly.
    pub fn push_row(&mut self, entries: impl IntoIterator<Item = (u32, f32)>) -> Result<()> {
        let mut row = Csr::default();
        row.push_row(entries);
        self.push(&row)
    }

    /// Adds a row that counts these token ids, which it sorts.
    pub fn push_counts(&mut self, ids: &mut [u32]) -> Result<()> {
        let mut row = Csr::default();
        row.push_counts(ids);
        self.push(&row)
    }

    /// Adds a matrix of one row.
    fn push(&mut self, row: &Csr) -> Result<()> {
        self.indices.write(bytemuck::cast_slice(row.indices()))?;
        self.values.write(bytemuck::cast_slice(row.values()))?;
        self.indptr.push(self.indptr[self.indptr.len() - 1] + row.indices().len());
        self.cols = self.cols.max(row.cols());
        Ok(())
    }

    /// The matrix. Its files go when it is dropped.
    pub fn finish(self) -> Result<Csr> {
        let mapped = |scratch: Scratch| Ok::<_, anyhow::Error>(scratch.map()?.map(Arc::new));
        let (indices, values) = (Numbers::Mapped(mapped(self.indices)?), Numbers::Mapped(mapped(self.values)?));
        Ok(Csr { indptr: self.indptr, indices, values, cols: self.cols })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spilled_matrix_is_the_one_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let (mut held, mut spilled) = (Csr::default(), SpilledCsr::within(dir.path()).unwrap());
        assert_eq!(SpilledCsr::within(dir.path()).unwrap().finish().unwrap(), held);
        for row in [&[5, 2, 5, 5][..], &[], &[9, 0]] {
            held.push_counts(&mut row.to_vec());
            spilled.push_counts(&mut row.to_vec()).unwrap();
        }
        let mut spilled = spilled.finish().unwrap();
        assert_eq!(spilled, held);
        assert_eq!(spilled.transpose(), held.transpose());
        [&mut held, &mut spilled].into_iter().for_each(|m| m.push_counts(&mut [7]));
        assert_eq!((spilled.rows(), spilled.row(3).indices), (4, &[7][..]));
        assert_eq!(spilled, held);
        drop(spilled);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
