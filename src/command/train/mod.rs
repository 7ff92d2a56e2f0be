//! `train`: a file a model turns its flags into parameters, fits, and saves.

mod classify;
mod fasttext;
mod glove;
mod lexicon;
mod lsa;
mod mix;
mod neural;
mod newwords;
mod ngram;
mod pooling;
mod ppmi;
mod sestm;
mod textnet;
mod tone;
mod vectorize;
mod word2vec;

use std::path::Path;

use anyhow::Result;

use crate::cli::{Corpus, Train};
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{CutSpec, Cutter, LATER, LineFormat, Lines};
use inkstone_models::{Preset, VectorFormat, WordVectors};

/// Fits the model that the flags ask for.
pub(super) fn run(args: &Train, ctx: &Ctx) -> Result<Summary> {
    match args {
        Train::Ngram(args) => ngram::run(args, ctx),
        Train::Tfidf(args) => vectorize::run(Preset::Tfidf, args, ctx),
        Train::Bow(args) => vectorize::run(Preset::Bow, args, ctx),
        Train::Onehot(args) => vectorize::run(Preset::Onehot, args, ctx),
        Train::Bm25(args) => vectorize::run(Preset::Bm25, args, ctx),
        Train::Hashing(args) => vectorize::run(Preset::Hashing, args, ctx),
        Train::Shingles(args) => vectorize::run(Preset::Shingles, args, ctx),
        Train::EventWords(args) => vectorize::run(Preset::EventWords, args, ctx),
        Train::Sestm(args) => sestm::run(args, ctx),
        Train::Lexicon(args) => lexicon::run(args, ctx),
        Train::Tone(args) => tone::run(args, ctx),
        Train::Lsa(args) => lsa::run(args, ctx),
        Train::Mix(args) => mix::run(args, ctx),
        Train::Pooling(args) => pooling::run(args, ctx),
        Train::Ppmi(args) => ppmi::run(args, ctx),
        Train::Cw(args) => neural::cw(args, ctx),
        Train::Nnlm(args) => neural::nnlm(args, ctx),
        Train::Lbl(args) => neural::lbl(args, ctx),
        Train::Rnnlm(args) => neural::rnnlm(args, ctx),
        Train::TextCnn(args) => textnet::cnn(args, ctx),
        Train::TextRnn(args) => textnet::rnn(args, ctx),
        Train::Word2vec(args) => word2vec::words(args, ctx),
        Train::Doc2vec(args) => word2vec::documents(args, ctx),
        Train::Vintages(args) => word2vec::vintages(args, ctx),
        Train::Glove(args) => glove::run(args, ctx),
        Train::Fasttext(args) => fasttext::words(args, ctx),
        Train::FasttextSupervised(args) => fasttext::supervised(args, ctx),
        Train::Logistic(args) => classify::logistic(args, ctx),
        Train::Bayes(args) => classify::bayes(args, ctx),
        Train::Svm(args) => classify::svm(args, ctx),
        Train::Boosted(args) => classify::boosted(args, ctx),
        Train::Ridge(args) => classify::ridge(args, ctx),
        Train::Newwords(args) => newwords::run(args, ctx),
    }
}

/// The lines of a corpus and what cuts them.
fn open(corpus: &Corpus) -> Result<(Lines, Cutter)> {
    let format = corpus.format.or_else(|| LineFormat::by_name(&corpus.input)).unwrap_or_default();
    let params = super::files::tokenizer(&corpus.tokenizer, "builtin");
    let cutter = Cutter::new(CutSpec::new(format, params), Path::new(""))?;
    Ok((Lines::open(&corpus.input, format)?.until(corpus.until)?, cutter))
}

/// The lines of another file of documents written like those of the corpus.
fn lines(path: &Path, corpus: &Corpus) -> Result<Lines> {
    let format = corpus.format.or_else(|| LineFormat::by_name(path)).unwrap_or_default();
    Lines::open(path, format)?.until(corpus.until)
}

/// What `train` says at its end: facts of the report (`documents`, `tokens`, `vocabulary`, `fitted_until`, and those named, as far
/// as it has them) beside kind and file.
fn trained(kind: &str, output: &Path, report: Report, facts: &[&str]) -> Summary {
    // What was left out as it was asked for is no failure.
    let asked = report.dropped.get(LATER).copied().unwrap_or(0);
    let mut summary = Summary { partial: report.dropped_rows() > asked, ..Summary::default() };
    summary.set("model", kind);
    summary.set("output", output.display().to_string());
    for name in ["documents", "tokens", "vocabulary", "fitted_until"].iter().chain(facts) {
        if let Some(value) = report.facts.get(*name) {
            summary.set(name, value);
        }
    }
    summary.set("stages", [report]);
    summary
}

/// Writes word vectors for other tools, if that is wanted, and says so.
fn exported(vectors: &WordVectors, path: Option<&Path>, summary: &mut Summary) -> Result<()> {
    if let Some(path) = path {
        vectors.export(path, VectorFormat::by_name(path))?;
        summary.set("vectors", path.display().to_string());
    }
    Ok(())
}
