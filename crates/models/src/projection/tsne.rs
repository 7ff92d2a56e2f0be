//! t-SNE: points of the plane whose neighbourhoods are those of the rows, by gradient descent.
//!
//! Van der Maaten and Hinton (2008), Visualizing Data using t-SNE; van der Maaten (2014), Accelerating t-SNE using Tree-Based
//! Algorithms, as the crate bhtsne has it. Settings are scikit-learn's: theta 0.5, exaggeration 12 for 250 epochs, and a start at
//! the principal components with a deviation of 1e-4, so that nothing is drawn at random. The rate is rows / 6, but at
//! least 200: twice what scikit-learn's comes to (a quarter, for gradients that are four times as large), because the crate lets
//! gains grow to 2 only. Distances are those of the rows at length 1.
//!
//! The neighbours are sought by all threads, and exactly; the descent goes on one, because the crate adds up floats in the order in
//! which threads end. On one thread its points are the same bytes in every run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use anyhow::{Context, Result};
use bhtsne::{Neighbor, tSNE};
use rayon::prelude::*;

use super::neighbours;
use crate::Nearest;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_base::language::Word;

/// The coarseness with which far points are taken together (Barnes-Hut theta).
const THETA: f32 = 0.5;
/// Neighbours that are looked at, times the perplexity.
const REACH: f32 = 3.0;
/// Rows for each unit of the rate of the descent, and the least rate.
const RATE_ROWS: f32 = 6.0;
const RATE: f32 = 200.0;
/// The deviation of the first coordinates.
const START: f64 = 1e-4;

#[derive(Clone, Copy, Debug)]
pub struct Tsne {
    /// Effective number of neighbours (perplexity).
    pub perplexity: f32,
    /// Steps of the descent.
    pub epochs: usize,
}

impl Tsne {
    /// The greatest perplexity for so many rows.
    pub fn most(rows: usize) -> f32 {
        (rows.saturating_sub(1) as f32 / REACH).floor()
    }
}

/// The points of rows that begin at `start`, which must not be flat.
pub fn tsne(nearest: &Nearest<'_>, start: &[[f64; 2]], params: Tsne, ctx: &Ctx) -> Result<Vec<[f64; 2]>> {
    let reach = (REACH * params.perplexity) as usize;
    let neighbour = |row: usize| -> Result<Vec<Neighbor<f32>>> {
        ctx.check()?;
        Ok(neighbours(nearest, row, reach).map(|(index, distance)| Neighbor { index, distance }).collect())
    };
    let among = ctx.install(|| (0..start.len()).into_par_iter().map(neighbour).collect::<Result<Vec<_>>>())?;
    let deviation = (start.iter().map(|point| point[0] * point[0]).sum::<f64>() / start.len() as f64).sqrt();
    let start: Vec<f32> = start.iter().flatten().map(|v| (v / deviation * START) as f32).collect();
    let mut found = Vec::new();
    ctx.stage("t-sne", "epochs", Some(params.epochs as u64), || {
        found = descended(&among, &start, params, ctx)?;
        Ok(Report::new("t-sne"))
    })?;
    ensure!(
        found.iter().all(|v| v.is_finite()),
        "t-SNE 在困惑度 {} 下发散：请换一个 --perplexity，或用 --method pca",
        "t-SNE diverged at a perplexity of {}: take another --perplexity, or --method pca",
        params.perplexity
    );
    Ok(found.as_chunks::<2>().0.iter().map(|point| point.map(f64::from)).collect())
}

fn descended(among: &[Vec<Neighbor<f32>>], start: &[f32], params: Tsne, ctx: &Ctx) -> Result<Vec<f32>> {
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .context(Word("无法启动线程", "cannot start a thread"))?;
    let descent = || {
        let rows = vec![(); among.len()];
        let mut tsne: tSNE<'_, f32, ()> = tSNE::new(&rows);
        tsne.perplexity(params.perplexity).epochs(params.epochs).initial_embedding(start);
        tsne.learning_rate((among.len() as f32 / RATE_ROWS).max(RATE));
        // The loop of the crate ends early in no other way than by unwinding.
        tsne.epoch_callback(|_, _| {
            if let Err(cancelled) = ctx.advance(1) {
                resume_unwind(Box::new(cancelled));
            }
        });
        tsne.barnes_hut_with_neighbors(THETA, among);
        tsne.embedding()
    };
    catch_unwind(AssertUnwindSafe(|| alone.install(descent))).or_else(|end| match end.downcast::<Cancelled>() {
        Ok(cancelled) => Err((*cancelled).into()),
        Err(panic) => resume_unwind(panic),
    })
}
