//! `train word2vec`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::Word2vec;
use crate::command::staged;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::model::{Architecture, Objective, VectorFormat, Word2vecParams};
use crate::plain::PhraseParams;
use crate::plain::word2vec::{self, Checkpoint, WordParams};

pub(super) fn run(args: &Word2vec, ctx: &Ctx) -> Result<Summary> {
    let phrases = PhraseParams { passes: args.phrases, threshold: args.phrase_threshold, ..PhraseParams::default() };
    let words = WordParams { min_count: args.min_count, max_words: args.max_words, phrases };
    let params = Word2vecParams {
        architecture: if args.sg { Architecture::SkipGram } else { Architecture::Cbow },
        objective: if args.hs { Objective::Hierarchical } else { Objective::Negative },
        dim: args.dim,
        window: args.window,
        negative: args.negative,
        sample: args.sample,
        epochs: args.epochs,
        lr: args.lr,
        min_lr: args.min_lr,
    };
    let checkpoint = args.checkpoint.clone().map(|path| Checkpoint { path, resume: args.resume });
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || word2vec::train(&mut lines, &cutter, &words, &params, checkpoint.as_ref(), &args.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&args.output, cutter.spec())?;
    if let Some(path) = &args.vectors {
        model.export(path, VectorFormat::by_name(path))?;
    }
    let facts = report.facts.clone();
    let mut summary = trained(word2vec::METHOD, &args.output, report);
    for name in ["dim", "phrases", "resumed", "passes"] {
        summary.set(name, &facts[name]);
    }
    if let Some(path) = &args.vectors {
        summary.set("vectors", path.display().to_string());
    }
    Ok(summary)
}
