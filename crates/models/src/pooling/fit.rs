//! Fitting a pooling on a text: how often its words occur, and what its documents have in common.

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::{Pooling, PoolingParams, WordCounts, WordVectors};
use inkstone_base::job::Ctx;

/// Documents whose products one task adds up; the same for any number of threads.
const TASK: usize = 4096;
/// Tasks between two sums.
const TASKS: usize = 16;

/// A text as numbers of words.
pub struct PooledText<'a, P> {
    /// All numbers in order.
    pub numbers: &'a [u32],
    /// Stands after each document.
    pub end: u32,
    /// The place among the vectors of what a number stands for; none for marks and words without a vector.
    pub place: P,
    /// Occurrences of all words, those without a vector included.
    pub tokens: u64,
    pub documents: u64,
}

impl<'a, P: Fn(u32) -> Option<u32> + Sync> PooledText<'a, P> {
    fn documents(&self) -> impl Iterator<Item = &'a [u32]> {
        self.numbers.split(|&number| number == self.end)
    }

    fn known(&self, document: &'a [u32]) -> impl Iterator<Item = u32> {
        document.iter().filter_map(|&number| (self.place)(number))
    }

    fn count(&self, words: usize, ctx: &Ctx) -> Result<WordCounts> {
        let (mut counts, mut documents_with) = (vec![0; words], vec![0; words]);
        let mut last = vec![u64::MAX; words];
        for (number, document) in (0..).zip(self.documents()) {
            if number % TASK as u64 == 0 {
                ctx.check()?;
            }
            for place in self.known(document) {
                counts[place as usize] += 1;
                if std::mem::replace(&mut last[place as usize], number) != number {
                    documents_with[place as usize] += 1;
                }
            }
        }
        Ok(WordCounts { counts, documents_with, tokens: self.tokens, documents: self.documents })
    }

    /// The sum over all documents of the product of their row with itself, `[dim, dim]`.
    fn products(&self, model: &Pooling, ctx: &Ctx) -> Result<Vec<f64>> {
        let dim = model.vectors().dim();
        let mut sums = vec![0.0; dim * dim];
        let mut rest = self.documents().peekable();
        while rest.peek().is_some() {
            ctx.check()?;
            let round: Vec<&[u32]> = rest.by_ref().take(TASK * TASKS).collect();
            let task = |documents: &[&'a [u32]]| {
                let mut sums = vec![0.0f64; dim * dim];
                for document in documents {
                    let row = model.row_of(self.known(document));
                    for (sums, &a) in sums.chunks_mut(dim).zip(&row) {
                        sums.iter_mut().zip(&row).for_each(|(sum, &b)| *sum += f64::from(a) * f64::from(b));
                    }
                }
                sums
            };
            let parts: Vec<Vec<f64>> = ctx.install(|| round.par_chunks(TASK).map(task).collect());
            parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v));
        }
        Ok(sums)
    }
}

impl Pooling {
    /// Fits a pooling of these vectors on a text; `fitted_until` is the last time of both.
    pub fn fit<P: Fn(u32) -> Option<u32> + Sync>(
        vectors: WordVectors,
        text: &PooledText<'_, P>,
        fitted_until: Option<NaiveDateTime>,
        params: &PoolingParams,
        ctx: &Ctx,
    ) -> Result<Pooling> {
        let counts = text.count(vectors.words().len(), ctx)?;
        let mut model = Pooling::new(vectors, &counts, fitted_until, params)?;
        if model.has_common() {
            let products = text.products(&model, ctx)?;
            model.learn_common(&products);
        }
        Ok(model)
    }
}
