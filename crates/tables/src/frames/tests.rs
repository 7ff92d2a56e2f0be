use std::fs::{self, File};
use std::path::Path;

use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use polars_io::prelude::{ParquetReader, SerReader};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ParquetColumns, parquet_writer, read_foreign_parquet, read_parquet, rows_of_parquet, write_parquet};
use inkstone_base::disk::{self, Damage, FORMAT, Flaw};

/// The bytes by which a seal begins.
const MAGIC: &[u8] = b"INKSEAL\0";

fn frame(rows: usize, draw: &mut ChaCha8Rng) -> DataFrame {
    let texts: Vec<Option<String>> = (0..rows)
        .map(|i| (i % 7 != 3).then(|| (0..draw.random_range(0..40)).map(|_| draw.random_range('一'..'龥')).collect()))
        .collect();
    let numbers: Vec<f64> = (0..rows).map(|_| draw.random()).collect();
    super::frame(vec![
        Series::new("正文".into(), texts).into_column(),
        Series::new("value".into(), numbers).into_column(),
    ])
    .unwrap()
}

fn plain(path: &Path) -> DataFrame {
    ParquetReader::new(File::open(path).unwrap()).finish().unwrap()
}

#[test]
fn others_read_a_sealed_table_as_if_it_had_no_seal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    // The last has several row groups.
    for rows in [0, 1, 2, 100, 4096, 150_000] {
        let mut frame = frame(rows, &mut draw);
        write_parquet(&path, &mut frame).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(plain(&path).equals_missing(&frame), "{rows}");
        assert!(read_parquet(&path, None).unwrap().equals_missing(&frame), "{rows}");
        assert_eq!(rows_of_parquet(&path).unwrap(), rows);
        assert_eq!(disk::check(&path).unwrap(), disk::key_of(&path).unwrap());
        write_parquet(&path, &mut frame).unwrap();
        assert!(fs::read(&path).unwrap() == bytes, "the same frame makes the same bytes");
    }
}

#[test]
fn a_table_that_is_cut_short_zeroed_or_altered_is_never_served() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    let mut draw = ChaCha8Rng::seed_from_u64(2);
    write_parquet(&path, &mut frame(4096, &mut draw)).unwrap();
    let intact = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        disk::damage_of(&path, None).unwrap().expect("damage is seen").flaw
    };
    for i in 0..200 {
        let length = if i < 100 { i } else { intact.len() * (i - 100) / 100 };
        assert!(matches!(refused(&intact[..length]), Flaw::CutShort | Flaw::Altered), "{length}");
        assert!(matches!(refused(&intact[..intact.len() - 1 - i]), Flaw::CutShort | Flaw::Altered), "{i} less");
    }
    for page in (0..intact.len()).step_by(4096) {
        let mut zeroed = intact.clone();
        zeroed[page..(page + 4096).min(intact.len())].fill(0);
        assert!(matches!(refused(&zeroed), Flaw::Altered | Flaw::Unsealed), "page at {page}");
    }
    let seal_at = intact.windows(8).position(|bytes| bytes == MAGIC).unwrap();
    let anywhere: Vec<usize> = (0..2000).map(|_| draw.random_range(0..intact.len())).collect();
    for at in anywhere.into_iter().chain(seal_at..intact.len()) {
        let mut altered = intact.clone();
        altered[at] ^= 1 << draw.random_range(0..8);
        assert!(matches!(refused(&altered), Flaw::Altered | Flaw::Unsealed | Flaw::CutShort), "byte {at}");
    }
    // The error names the file and the way out.
    let mut altered = intact.clone();
    altered[seal_at / 2] ^= 1;
    fs::write(&path, &altered).unwrap();
    for error in [read_parquet(&path, None).err(), read_foreign_parquet(&path, None).err()] {
        let error = error.expect("damage is seen");
        assert_eq!(error.downcast_ref(), Some(&Damage::new(&path, Flaw::Altered)));
        assert!(error.to_string().contains("inkstone run makes it again"), "{error}");
    }
    assert_eq!(rows_of_parquet(&path).unwrap(), 4096, "the footer is whole");
    fs::write(&path, &intact[..intact.len() - 9]).unwrap();
    assert!(rows_of_parquet(&path).is_err());
    fs::remove_file(&path).unwrap();
    assert_eq!(disk::damage_of(&path, None).unwrap(), Some(Damage::new(&path, Flaw::Missing)));
}

#[test]
fn the_pieces_of_a_column_are_its_rows_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    let numbers: Vec<u32> = (0..600_000).map(|i| i * 79 % 100_003).collect();
    let mut table = super::frame(vec![Series::new("number".into(), &numbers).into_column()]).unwrap();
    write_parquet(&path, &mut table).unwrap();
    for columns in [ParquetColumns::ours(&path).unwrap(), ParquetColumns::foreign(&path).unwrap()] {
        let pieces = columns.pieces().unwrap();
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= 1 << 18), "{pieces:?}");
        let mut read = Vec::new();
        for piece in pieces {
            assert_eq!(piece.start, read.len());
            read.extend(columns.rows_of_column("number", piece).unwrap().u32().unwrap().into_no_null_iter());
        }
        assert_eq!(read, numbers);
    }
    write_parquet(&path, &mut table.head(Some(0))).unwrap();
    assert!(ParquetColumns::ours(&path).unwrap().pieces().unwrap().is_empty());
}

#[test]
fn tables_of_other_formats_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.parquet");
    let mut table = frame(10, &mut ChaCha8Rng::seed_from_u64(3));
    let mut bytes = Vec::new();
    parquet_writer(&mut bytes).finish(&mut table).unwrap();
    fs::write(&path, &bytes).unwrap();
    let error = read_parquet(&path, None).unwrap_err().to_string();
    assert!(error.contains("has no seal: it is damaged, or another program wrote it"), "{error}");
    assert!(read_foreign_parquet(&path, None).unwrap().equals_missing(&table));

    write_parquet(&path, &mut table).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let seal = bytes.windows(8).position(|bytes| bytes == MAGIC).unwrap();
    for (format, age) in [(FORMAT - 1, "older"), (FORMAT + 1, "newer")] {
        bytes[seal + 8..seal + 12].copy_from_slice(&format.to_le_bytes());
        let sum = blake3::hash(&bytes[seal..seal + 56]);
        bytes[seal + 56..seal + 64].copy_from_slice(&sum.as_bytes()[..8]);
        fs::write(&path, &bytes).unwrap();
        let error = read_parquet(&path, None).unwrap_err().to_string();
        let named = format!("{age} version (format {format}; this one reads format {FORMAT})");
        assert!(error.contains(&named), "{error}");
        assert!(read_foreign_parquet(&path, None).unwrap().equals_missing(&table));
    }
}

#[test]
fn a_whole_file_in_the_place_of_another_is_noticed_by_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let mut draw = ChaCha8Rng::seed_from_u64(4);
    let paths = ["a.parquet", "b.parquet"].map(|name| dir.path().join(name));
    for path in &paths {
        write_parquet(path, &mut frame(5, &mut draw)).unwrap();
    }
    let key = disk::key_of(&paths[0]).unwrap();
    assert_eq!(disk::damage_of(&paths[0], Some(key)).unwrap(), None);
    let exchanged = disk::damage_of(&paths[1], Some(key)).unwrap();
    assert_eq!(exchanged, Some(Damage::new(&paths[1], Flaw::Exchanged)));
}
