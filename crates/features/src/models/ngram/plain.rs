//! n-gram models of plain files: training.

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use crate::lines::{Block, Cutter, Line, LineFormat, Lines, Refused};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_models::ngram::{Coded, Counter, Counts, Ngram, NgramParams, Room, Smoothing, smooth};

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 20;
/// Blocks read, for each thread, while as many are coded.
const BLOCKS_A_THREAD: usize = 2;
/// Documents that a thread codes before it counts them as done and checks for cancellation.
const BATCH: usize = 64;

/// Held-out documents, for smoothings that need them.
#[derive(Default)]
pub enum HeldOut {
    /// A share of the documents, as the parameters say.
    #[default]
    Share,
    /// Documents of their own.
    Lines(Lines),
}

/// Trains a model on the tokens of a file as they are written.
///
/// The report has the lines read, the number of n-grams of each length, and the smoothing.
pub fn train_ngram(
    lines: &mut Lines,
    held_out: HeldOut,
    cutter: &Cutter,
    params: &NgramParams,
    room: &Room,
    ctx: &Ctx,
) -> Result<(Ngram, Report)> {
    // Settings that cannot work are told before hours of counting.
    params.check()?;
    let needed = params.smoothing == Smoothing::JelinekMercer;
    ensure!(
        needed || matches!(held_out, HeldOut::Share),
        "只有 --smoothing jelinek-mercer 读取留出文本",
        "only --smoothing jelinek-mercer reads held-out text"
    );
    let mut held = Held::default();
    if let HeldOut::Lines(mut lines) = held_out {
        held.read_all(&mut lines, cutter, ctx)?;
    } else if needed {
        held.every = (1.0 / params.held_out_share).round() as u64;
    }
    let (mut counts, mut report) = count(lines, &mut held, cutter, params.order, room, ctx)?;
    counts.fitted_until = counts.fitted_until.max(held.last_time);
    let model = smooth(counts, params, &held.documents, &mut report, ctx)?;
    Ok((model, report))
}

#[derive(Default)]
struct Held {
    /// Every document whose number is a multiple of this is held out; 0: none.
    every: u64,
    /// Their tokens, with spaces between them.
    documents: Vec<String>,
    last_time: Option<NaiveDateTime>,
}

impl Held {
    fn holds(&self, line: &Line<'_>) -> bool {
        self.every > 0 && line.number.is_multiple_of(self.every)
    }

    fn push(&mut self, (document, time): (String, Option<NaiveDateTime>)) {
        self.documents.push(document);
        self.last_time = self.last_time.max(time);
    }

    fn read_all(&mut self, lines: &mut Lines, cutter: &Cutter, ctx: &Ctx) -> Result<()> {
        lines.for_each_block(BLOCK, |read| {
            ctx.check()?;
            let cut: Vec<_> = ctx.install(|| read.par_iter().map(|line| (joined(line, cutter), line.time)).collect());
            cut.into_iter().for_each(|document| self.push(document));
            Ok(())
        })
    }
}

fn joined(line: &Line<'_>, cutter: &Cutter) -> String {
    cutter.tokens(&line.whole()).join(" ")
}

/// Counts the n-grams of a file, without the held-out documents.
fn count(
    lines: &mut Lines,
    held: &mut Held,
    cutter: &Cutter,
    order: usize,
    room: &Room,
    ctx: &Ctx,
) -> Result<(Counts, Report)> {
    let mut counter = Counter::new(order, room)?;
    let blocks = || -> Vec<Block> { (0..BLOCKS_A_THREAD * ctx.threads()).map(|_| Block::default()).collect() };
    let (mut full, mut free) = (blocks(), blocks());
    let mut filled = read(lines, &mut full)?;
    while filled > 0 {
        let (read, coded) = ctx.install(|| {
            let blocks = full[..filled].par_iter();
            let held = &*held;
            let code = || blocks.map(|block| code(block, cutter, &counter, held, ctx)).collect::<Result<Vec<_>, _>>();
            rayon::join(|| read(lines, &mut free), code)
        });
        for block in coded? {
            lines.refuse(block.refused);
            counter.take(&block.coded, ctx)?;
            block.held.into_iter().for_each(|document| held.push(document));
        }
        filled = read?;
        std::mem::swap(&mut full, &mut free);
    }
    let tally = counter.tally();
    let mut report = lines.finish()?;
    let runs = counter.runs();
    let counts = counter.finish(ctx)?;
    report.stage = "train".to_owned();
    report.fact("documents", tally.documents);
    report.fact("empty_documents", tally.empty);
    report.fact("tokens", tally.tokens);
    report.fact("vocabulary", counts.words.len());
    report.fact("marks_left_out", tally.marks);
    report.fact("runs_on_disk", runs);
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

/// The n-gram codes of a block of lines.
struct CodedBlock {
    coded: Coded,
    refused: Vec<Refused>,
    held: Vec<(String, Option<NaiveDateTime>)>,
}

fn code(block: &Block, cutter: &Cutter, counter: &Counter, held: &Held, ctx: &Ctx) -> Result<CodedBlock, Cancelled> {
    let (mut coder, mut refused, mut held_out) = (counter.coder(), Vec::new(), Vec::new());
    for batch in block.lines().chunks(BATCH) {
        for line in batch {
            match line {
                Ok(line) if held.holds(line) => held_out.push((joined(line, cutter), line.time)),
                Ok(line) if cutter.spec().format == LineFormat::Tokens => {
                    coder.document(line.text.split_ascii_whitespace(), line.time);
                }
                Ok(line) => coder.document(cutter.tokens(&line.whole()), line.time),
                Err(why) => refused.push(*why),
            }
        }
        ctx.advance(batch.len() as u64)?;
    }
    Ok(CodedBlock { coded: coder.finish(), refused, held: held_out })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lines::CutSpec;
    use inkstone_models::ngram::{LanguageModel, Pruning};
    use inkstone_text::TokenizerParams;

    const TEXT: &str = include_str!("../../../../../tests/reference/kenlm/text.txt");

    fn lines(text: &str) -> Lines {
        Lines::new(std::io::Cursor::new(text.to_owned()), LineFormat::Tokens)
    }

    fn trained(text: &str, held_out: HeldOut, params: &NgramParams, threads: usize) -> Result<(Ngram, Report)> {
        let spec = CutSpec::new(LineFormat::Tokens, TokenizerParams::default());
        let room = Room::in_folder(&std::env::temp_dir());
        let ctx = Ctx::new(threads, 1).unwrap();
        train_ngram(&mut lines(text), held_out, &Cutter::new(spec, Path::new("")).unwrap(), params, &room, &ctx)
    }

    #[test]
    fn every_smoothing_gives_the_same_bytes_whatever_the_threads() {
        let all = [Smoothing::KneserNey, Smoothing::Katz, Smoothing::JelinekMercer, Smoothing::AddK, Smoothing::Mle];
        let dir = tempfile::tempdir().unwrap();
        for smoothing in all {
            let params = NgramParams { smoothing, prune: Pruning(vec![0, 0, 1]), ..NgramParams::default() };
            let bytes = [1, 2, 8].map(|threads| {
                let (model, report) = trained(TEXT, HeldOut::Share, &params, threads).unwrap();
                assert_eq!(report.facts["smoothing"], serde_json::to_value(smoothing).unwrap());
                let path = dir.path().join("m");
                let ready = LanguageModel::new(&model, &Ctx::new(threads, 1).unwrap()).unwrap();
                ready.save(&path, &"tokens", &params).unwrap();
                std::fs::read(path).unwrap()
            });
            assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2], "{smoothing:?}");
        }
    }

    #[test]
    fn what_is_held_out_is_not_counted() {
        let share = NgramParams { smoothing: Smoothing::JelinekMercer, held_out_share: 0.1, ..NgramParams::default() };
        let documents = TEXT.lines().count() as u64;
        let (_, report) = trained(TEXT, HeldOut::Share, &share, 2).unwrap();
        assert_eq!(report.facts["held_out_documents"], documents / 10);
        assert_eq!(report.facts["documents"], documents - documents / 10);
        // The same documents as two files.
        let numbered = || TEXT.lines().zip(1u64..);
        let text = |held: bool| -> String {
            numbered().filter(|(_, n)| (n % 10 == 0) == held).map(|(line, _)| format!("{line}\n")).collect()
        };
        let (by_share, _) = trained(TEXT, HeldOut::Share, &share, 2).unwrap();
        let (by_file, report) = trained(&text(false), HeldOut::Lines(lines(&text(true))), &share, 2).unwrap();
        assert!(by_share == by_file);
        assert!(report.facts["weights"]["perplexity"].as_f64().unwrap() > 1.0);
    }

    #[test]
    fn settings_that_cannot_work_are_told_before_anything_is_read() {
        let refused = |held_out, params: NgramParams| trained(TEXT, held_out, &params, 1).err().unwrap().to_string();
        let params = |smoothing| NgramParams { smoothing, ..NgramParams::default() };
        let error = refused(HeldOut::Lines(lines("")), params(Smoothing::Katz));
        assert!(error.contains("only --smoothing jelinek-mercer"), "{error}");
        let error = refused(HeldOut::Lines(lines("")), params(Smoothing::JelinekMercer));
        assert!(error.contains("no held-out document"), "{error}");
        let error = refused(HeldOut::Share, NgramParams { k: 0.0, ..params(Smoothing::AddK) });
        assert!(error.contains("--k 0"), "{error}");
        let error = refused(HeldOut::Share, NgramParams { held_out_share: 0.9, ..params(Smoothing::JelinekMercer) });
        assert!(error.contains("--held-out-share 0.9"), "{error}");
    }
}
