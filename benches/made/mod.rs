//! Made documents of tokens, for benches that are given no file.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Documents about a few of many subjects each, whose words are as unequal as those of a language.
pub(crate) fn documents(dir: &Path, documents: usize) -> Result<PathBuf> {
    let path = dir.join("documents.txt");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
    for _ in 0..documents {
        let subjects: [u32; 2] = [random.random_range(0..300), random.random_range(0..300)];
        for _ in 0..random.random_range(20..80) {
            let rank = (random.random::<f64>().powi(4) * 400.0) as u32;
            let word = if random.random_bool(0.4) { rank } else { 1000 + subjects[rank as usize % 2] * 100 + rank / 4 };
            write!(out, "词{word} ")?;
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(path)
}
