//! Blocks: rows packed into pieces of about [`BLOCK_BYTES`], each with a checksum.
//!
//! Content, little-endian: `kind: u32` (0 dense, 1 sparse), `first: u32` (number of the first row within the batch),
//! `rows: u32`, `width: u32` (dense: dim; sparse: values in the block), `keys: [rows][16]`, then dense
//! `[rows][dim] f32`, or sparse `row lengths: [rows] u32`, `columns: [width] u32`, `values: [width] f32`.
//! A block has one row at least, so a row longer than a block makes a long block.

use anyhow::{Context, Result};

use super::{Rows, Values};
use inkstone_base::data::Key;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// Bytes of a block at the most, if a row fits. Digests of batches are of their blocks, so it is part of the format.
pub(super) const BLOCK_BYTES: usize = 32_000;

const HEAD: usize = 16;
const KEY: usize = 16;

/// Packs rows, which must have passed [`Rows::check`], into the contents of blocks.
pub fn pack(rows: &Rows) -> Result<Vec<Vec<u8>>> {
    ensure!(
        u32::try_from(rows.len()).is_ok(),
        "一批 {} 行超出一批的容量",
        "a batch of {} rows is more than a batch can hold",
        rows.len()
    );
    let mut blocks = Vec::new();
    let mut first = 0;
    while first < rows.len() {
        let mut end = first;
        let mut bytes = HEAD;
        while end < rows.len() && (end == first || bytes + row_bytes(rows, end) <= BLOCK_BYTES) {
            bytes += row_bytes(rows, end);
            end += 1;
        }
        blocks.push(pack_block(rows, first, end, bytes)?);
        first = end;
    }
    Ok(blocks)
}

fn row_bytes(rows: &Rows, i: usize) -> usize {
    KEY + match &rows.values {
        Values::Dense { dim, .. } => 4 * dim,
        Values::Sparse { indptr, .. } => 4 + 8 * (indptr[i + 1] - indptr[i]),
    }
}

fn pack_block(rows: &Rows, first: usize, end: usize, bytes: usize) -> Result<Vec<u8>> {
    let (kind, width) = match &rows.values {
        Values::Dense { dim, .. } => (0, *dim),
        Values::Sparse { indptr, .. } => (1, indptr[end] - indptr[first]),
    };
    let width = u32::try_from(width)
        .with_context(|| message!("{width} 个值超出一行的容量", "{width} values are more than a row can hold"))?;
    let mut block = Vec::with_capacity(bytes);
    for number in [kind, first as u32, (end - first) as u32, width] {
        block.extend_from_slice(&number.to_le_bytes());
    }
    block.extend(rows.keys[first..end].iter().flat_map(|k| k.0));
    match &rows.values {
        Values::Dense { dim, data } => {
            block.extend(data[first * dim..end * dim].iter().flat_map(|v| v.to_le_bytes()));
        }
        Values::Sparse { indptr, indices, values } => {
            let (from, to) = (indptr[first], indptr[end]);
            block.extend(indptr[first..=end].windows(2).flat_map(|w| ((w[1] - w[0]) as u32).to_le_bytes()));
            block.extend(indices[from..to].iter().flat_map(|c| c.to_le_bytes()));
            block.extend(values[from..to].iter().flat_map(|v| v.to_le_bytes()));
        }
    }
    Ok(block)
}

/// Unpacks a block's content: the number of its first row, and its rows.
pub fn unpack(block: &[u8]) -> Result<(usize, Rows)> {
    let (head, body) = block.split_at_checked(HEAD).context(Word("比其头部还短", "is shorter than its head"))?;
    let head: Vec<u32> = words(head).map(u32::from_le_bytes).collect();
    let (kind, first, rows, width) = (head[0], head[1] as usize, head[2] as usize, head[3] as usize);
    // Both numbers may be anything below 2^32.
    let per_row = if kind == 0 { KEY as u128 + 4 * width as u128 } else { KEY as u128 + 4 };
    let expected = rows as u128 * per_row + if kind == 0 { 0 } else { 8 * width as u128 };
    ensure!(
        body.len() as u128 == expected,
        "有 {} 字节的行，头部说是 {expected} 字节",
        "has {} bytes of rows, its head says {expected}",
        body.len()
    );
    let (keys, body) = body.split_at(rows * KEY);
    let keys = keys.chunks_exact(KEY).map(|k| Key(k.try_into().expect("chunks are of the length of a key"))).collect();
    let rows = match kind {
        0 => Rows::dense(keys, width, words(body).map(f32::from_le_bytes).collect()),
        1 => {
            let (lengths, body) = body.split_at(4 * rows);
            let (columns, values) = body.split_at(4 * width);
            let mut indptr = vec![0];
            let mut end = 0;
            for length in words(lengths).map(u32::from_le_bytes) {
                end += length as usize;
                indptr.push(end);
            }
            let columns = words(columns).map(u32::from_le_bytes).collect();
            Rows::sparse(keys, indptr, columns, words(values).map(f32::from_le_bytes).collect())
        }
        other => inkstone_base::bail!("含有未知种类 {other} 的行", "holds rows of the unknown kind {other}"),
    };
    rows.check()?;
    Ok((first, rows))
}

/// The bytes as groups of four; a rest is left out.
fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.as_chunks::<4>().0.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n: usize) -> Vec<Key> {
        (0..n).map(|i| Key::of(&i.to_le_bytes())).collect()
    }

    fn unpack_all(rows: &Rows) -> (usize, Rows) {
        let blocks = pack(rows).unwrap();
        let mut all = Rows::empty(rows.kind());
        for block in &blocks {
            let (first, more) = unpack(block).unwrap();
            assert_eq!(first, all.len());
            all.append(more).unwrap();
        }
        (blocks.len(), all)
    }

    #[test]
    fn dense_rows_fill_blocks_of_the_right_size() {
        let data: Vec<f32> = (0..500 * 128).map(|i| i as f32 / 7.0).collect();
        let rows = Rows::dense(keys(500), 128, data);
        // A row is 16 + 4 * 128 = 528 bytes; (32000 - 16) / 528 = 60 rows a block; 500 / 60 = 8.3.
        let (blocks, read) = unpack_all(&rows);
        assert_eq!(blocks, 9);
        assert!(pack(&rows).unwrap().iter().all(|b| b.len() <= BLOCK_BYTES));
        assert!(read == rows);
    }

    #[test]
    fn odd_values_empty_rows_and_rows_longer_than_a_block_survive() {
        let odd = vec![f32::NAN, -0.0, f32::INFINITY, f32::from_bits(0x7fc0_0001), f32::MIN_POSITIVE / 2.0, 1.0];
        let rows = Rows::dense(keys(3), 2, odd);
        assert!(unpack_all(&rows).1 == rows);
        let long: Vec<u32> = (0..50_000).collect();
        let values = long.iter().map(|&c| c as f32).collect();
        let rows = Rows::sparse(keys(4), vec![0, 0, 50_000, 50_000, 50_000], long, values);
        let (blocks, read) = unpack_all(&rows);
        assert!(blocks >= 2 && read == rows);
        let none = Rows::dense(keys(3), 0, Vec::new());
        assert!(unpack_all(&none).1 == none);
    }

    #[test]
    fn a_head_that_does_not_fit_its_body_is_refused() {
        let mut block = pack(&Rows::dense(keys(2), 1, vec![1.0, 2.0])).unwrap().remove(0);
        block[8] = 3;
        assert!(unpack(&block).unwrap_err().to_string().contains("its head says 60"));
    }
}
