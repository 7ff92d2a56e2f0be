//! Vectors of different trainings in one space: orthogonal Procrustes (Schoenemann 1966), as Hamilton, Leskovec and Jurafsky
//! (2016) align embeddings of different times.

use anyhow::Result;
use nalgebra::DMatrix;

use super::WordVectors;
use inkstone_base::data::TooLittle;
use inkstone_base::{ensure, message};

impl WordVectors {
    /// Rotates these vectors to lie as near as a rotation or reflection can bring them to those of `to`, over the words that both
    /// have, each at length 1. Angles and lengths among them stay as they are.
    pub fn aligned(&self, to: &WordVectors) -> Result<WordVectors> {
        let dim = self.dim;
        ensure!(
            dim == to.dim,
            "{dim} 维向量不能与 {} 维向量对齐",
            "vectors of {dim} values cannot be aligned to vectors of {}",
            to.dim
        );
        let mut products = DMatrix::<f64>::zeros(dim, dim);
        let mut shared = 0;
        for (number, word) in (0..).zip(&self.words) {
            let Some(there) = to.vector(word) else { continue };
            let (ours, theirs) = (unit(self.row(number)), unit(there));
            for (i, a) in ours.iter().enumerate() {
                for (j, b) in theirs.iter().enumerate() {
                    products[(i, j)] += a * b;
                }
            }
            shared += 1;
        }
        if shared < dim {
            return Err(TooLittle(message!("共有的词为 {shared} 个，太少，不能对齐 {dim} 维：请用更多文本，或更低的 --min-count 或 --dim 训练", "{shared} words are shared, too few to align {dim} dimensions: train on more text, or with a lower --min-count or --dim"))
            .into());
        }
        let svd = products.svd(true, true);
        let (Some(u), Some(v)) = (svd.u, svd.v_t) else {
            inkstone_base::bail!("向量中有值不是数", "the vectors hold values that are no numbers")
        };
        let rotation = u * v;
        let rotated = |row: &[f32]| -> Vec<f32> {
            let component =
                |j: usize| row.iter().enumerate().map(|(i, &x)| f64::from(x) * rotation[(i, j)]).sum::<f64>() as f32;
            (0..dim).map(component).collect()
        };
        let values = self.values.chunks(dim).flat_map(rotated).collect();
        Ok(WordVectors { values, ..self.clone() })
    }
}

fn unit(row: &[f32]) -> Vec<f64> {
    let length = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    row.iter().map(|&v| scale * f64::from(v)).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::Training;

    fn vectors(words: usize, dim: usize) -> WordVectors {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let values = (0..words * dim).map(|_| random.random::<f32>() - 0.5).collect();
        let words = (0..words).map(|i| format!("词{i}").into()).collect();
        WordVectors::new(words, Vec::new(), dim, values, Training::default()).unwrap()
    }

    #[test]
    fn a_turned_space_is_turned_back() {
        let there = vectors(30, 3);
        // A rotation about an axis, and a reflection; and words that the other has not.
        let turn = |row: &[f32]| [-row[1], row[0], -row[2]];
        let words: Vec<Box<str>> = (5..35).map(|i| format!("词{i}").into()).collect();
        let values = (5..35u32).flat_map(|i| if i < 30 { turn(there.row(i)) } else { [1.0, 2.0, 3.0] }).collect();
        let here = WordVectors::new(words, Vec::new(), 3, values, Training::default()).unwrap();
        let aligned = here.aligned(&there).unwrap();
        for word in (5..30).map(|i| format!("词{i}")) {
            let pairs = aligned.vector(&word).unwrap().iter().zip(there.vector(&word).unwrap());
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{word}"));
        }
        let length = |row: &[f32]| row.iter().map(|v| v * v).sum::<f32>();
        assert!((length(aligned.vector("词33").unwrap()) - 14.0).abs() < 1e-4);
    }

    #[test]
    fn spaces_that_cannot_be_aligned_say_why() {
        let error = vectors(9, 3).aligned(&vectors(9, 4)).unwrap_err().to_string();
        assert!(error.contains("3 values") && error.contains("of 4"), "{error}");
        let error = vectors(2, 3).aligned(&vectors(9, 3)).unwrap_err().to_string();
        assert!(error.contains("2 words are shared") && error.contains("--min-count"), "{error}");
    }
}
