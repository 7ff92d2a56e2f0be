//! n-gram models of plain files: training.

use anyhow::{Result, bail};
use rayon::prelude::*;

use super::{Block, Cutter, LineFormat, Lines, Refused};
use crate::data::Report;
use crate::job::{Cancelled, Ctx};
use crate::model::ngram::{Coded, Counter, Counts, Ngram, NgramParams, Room, Smoothing, kneser_ney};

/// Bytes of a block.
const BLOCK: usize = 1 << 20;
/// Blocks read, for each thread, while as many are coded.
const BLOCKS_A_THREAD: usize = 2;
/// Documents that a thread codes before it counts them as done and looks whether the run was cancelled.
const BATCH: usize = 64;

/// Trains a model on the tokens of a file as they are written.
///
/// The report says what was read, how many n-grams of each length there are and how they were smoothed.
pub fn train_ngram(
    lines: Lines,
    cutter: &Cutter,
    params: &NgramParams,
    room: &Room,
    ctx: &Ctx,
) -> Result<(Ngram, Report)> {
    let mut model = None;
    let report = ctx.stage("train", "lines", None, || {
        // Settings that cannot work are told before hours of counting.
        params.check()?;
        let (counts, mut report) = count(lines, cutter, params.order, room, ctx)?;
        report.fact("smoothing", params.smoothing);
        let made = match params.smoothing {
            Smoothing::KneserNey => {
                let (made, discounts) = kneser_ney(counts, &params.prune, ctx)?;
                report.fact("discounts", discounts.iter().map(|d| d.by_count).collect::<Vec<_>>());
                let fallback = (1..).zip(&discounts).filter(|(_, d)| d.fallback).map(|(n, _)| n).collect::<Vec<u32>>();
                report.fact("discount_fallback_orders", fallback);
                made
            }
            other => bail!("smoothing {other:?} is not known here"),
        };
        report.fact("ngrams", made.sizes());
        model = Some(made);
        Ok(report)
    })?;
    Ok((model.expect("the stage ended well, so it made a model"), report))
}

/// Counts the n-grams of a file.
fn count(mut lines: Lines, cutter: &Cutter, order: usize, room: &Room, ctx: &Ctx) -> Result<(Counts, Report)> {
    let mut counter = Counter::new(order, room)?;
    let blocks = || -> Vec<Block> { (0..BLOCKS_A_THREAD * ctx.threads()).map(|_| Block::default()).collect() };
    let (mut full, mut free) = (blocks(), blocks());
    let mut held = read(&mut lines, &mut full)?;
    while held > 0 {
        let (read, coded) = ctx.install(|| {
            let blocks = full[..held].par_iter();
            let code = || blocks.map(|block| code(block, cutter, &counter, ctx)).collect::<Result<Vec<_>, _>>();
            rayon::join(|| read(&mut lines, &mut free), code)
        });
        for (coded, refused) in coded? {
            lines.refuse(refused);
            counter.take(&coded, ctx)?;
        }
        held = read?;
        std::mem::swap(&mut full, &mut free);
    }
    let tally = counter.tally();
    let counts = counter.finish(ctx)?;
    let mut report = lines.report();
    report.stage = "train".to_owned();
    report.fact("documents", tally.documents);
    report.fact("empty_documents", tally.empty);
    report.fact("tokens", tally.tokens);
    report.fact("words", counts.words().len());
    report.fact("marks_left_out", tally.marks);
    Ok((counts, report))
}

fn read(lines: &mut Lines, blocks: &mut [Block]) -> Result<usize> {
    for (held, block) in blocks.iter_mut().enumerate() {
        if !lines.next_block(block, BLOCK)? {
            return Ok(held);
        }
    }
    Ok(blocks.len())
}

fn code(block: &Block, cutter: &Cutter, counter: &Counter, ctx: &Ctx) -> Result<(Coded, Vec<Refused>), Cancelled> {
    let (mut coder, mut refused) = (counter.coder(), Vec::new());
    for batch in block.lines().chunks(BATCH) {
        for line in batch {
            match line {
                Ok(line) if cutter.spec().format == LineFormat::Tokens => {
                    coder.document(line.text.split_ascii_whitespace(), line.time);
                }
                Ok(line) => coder.document(cutter.tokens(&line.whole()), line.time),
                Err(why) => refused.push(*why),
            }
        }
        ctx.advance(batch.len() as u64)?;
    }
    Ok((coder.finish(), refused))
}
