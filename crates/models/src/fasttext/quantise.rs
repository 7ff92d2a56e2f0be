//! Quantisation of a classifier: fewer features, and codes in place of their vectors (Joulin and others 2016, FastText.zip).

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::dictionary::{Buckets, END_OF_LINE};
use super::matrix::Matrix;
use super::quantiser::Quantiser;
use super::{Dictionary, FastText};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

params! {
    /// Parameters of quantisation.
    #[cfg_attr(feature = "clap", command(next_help_heading = "Quantisation"))]
    pub struct QuantiseParams {
        /// Words and n-grams that are kept, those of the longest vectors; 0 keeps all.
        ///
        /// 保留向量最长的这么多词与字串；0 为全部。
        cutoff: usize = 0, number("N", "--count", requires = "quantize");
        /// Values that one code stands for.
        ///
        /// 一个编码代表的数值个数。
        dsub: usize = 2, number("N", "--dim", requires = "quantize");
        /// Give the lengths of vectors codes of their own.
        ///
        /// 向量的长度单独编码。
        qnorm: bool = false, arg(long, requires = "quantize");
        /// Quantise the labels' vectors too.
        ///
        /// 同时量化标签的向量。
        qout: bool = false, arg(long, requires = "quantize");
    }
}

impl FastText {
    /// The model with its least important features left out and codes for the vectors of the others. Buckets that
    /// training never met are left out in any case.
    pub fn quantised(&self, params: &QuantiseParams, ctx: &Ctx) -> Result<FastText> {
        ensure!(
            self.is_supervised(),
            "只有监督模型可量化；--quantize 只用于有标签时",
            "only supervised models are quantised; give --quantize with labels alone"
        );
        ensure!(!self.is_quantised(), "模型已经量化", "the model is quantised already");
        let rows = self.kept(params.cutoff);
        let dictionary = self.pruned(&rows)?;
        let values: Vec<f32> = rows.iter().flat_map(|&row| self.input.row(row)).collect();
        let input = quantise(values, self.params.dim, params.dsub, params.qnorm, ctx)?;
        let output = if params.qout {
            let values = (0..self.output.rows() as u32).flat_map(|row| self.output.row(row)).collect();
            quantise(values, self.params.dim, 2, params.qnorm, ctx)?
        } else {
            self.output.clone()
        };
        FastText::from_parts(self.params.clone(), dictionary, input, output)
    }

    /// The rows that stay, in order: the end of the line, and those of the longest vectors.
    fn kept(&self, cutoff: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.dictionary.trained_rows() as u32).collect();
        if cutoff > 0 && cutoff < rows.len() {
            let end = self.dictionary.word(END_OF_LINE);
            let norm = |row: u32| {
                if Some(row) == end { f32::INFINITY } else { self.input.row(row).iter().map(|v| v * v).sum() }
            };
            let norms: Vec<f32> = rows.iter().map(|&row| norm(row)).collect();
            rows.sort_by(|&a, &b| norms[b as usize].total_cmp(&norms[a as usize]));
            rows.truncate(cutoff);
            rows.sort_unstable();
        }
        rows
    }

    /// The dictionary of some rows, which are in order.
    fn pruned(&self, rows: &[u32]) -> Result<Dictionary> {
        let d = &self.dictionary;
        let words = rows.partition_point(|&row| (row as usize) < d.words().len());
        let mut names: Vec<Box<str>> = rows[..words].iter().map(|&row| d.words()[row as usize].clone()).collect();
        let mut counts: Vec<u64> = rows[..words].iter().map(|&row| d.word_counts()[row as usize]).collect();
        names.extend(d.labels().iter().cloned());
        counts.extend(d.label_counts());
        let places: FxHashMap<u32, u32> =
            rows[words..].iter().map(|&row| row - d.words().len() as u32).zip(0..).collect();
        let buckets = match &d.buckets {
            Buckets::All => Buckets::Pruned(places),
            Buckets::Seen(map) | Buckets::Pruned(map) => {
                Buckets::Pruned(map.iter().filter_map(|(&bucket, row)| Some((bucket, *places.get(row)?))).collect())
            }
        };
        Dictionary::from_parts(names, counts, words, d.tokens, buckets, &self.params)
    }
}

/// Codes for vectors `[rows, dim]`.
fn quantise(mut values: Vec<f32>, dim: usize, width: usize, lengths: bool, ctx: &Ctx) -> Result<Matrix> {
    let rows = values.len() / dim;
    let norms = if lengths {
        let mut norms = Vec::with_capacity(rows);
        for row in values.chunks_exact_mut(dim) {
            let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            if norm > 0.0 {
                row.iter_mut().for_each(|v| *v /= norm);
            }
            norms.push(norm);
        }
        let (quantiser, codes) = Quantiser::learn(&norms, 1, 1, ctx.seed(), ctx)?;
        Some((codes, quantiser))
    } else {
        None
    };
    let (quantiser, codes) = Quantiser::learn(&values, dim, width, ctx.seed() ^ 1, ctx)?;
    Ok(Matrix::Quantised { rows, codes, quantiser, norms })
}
