//! `train`: fits a model on a plain file and saves it.

mod classify;
mod fasttext;
mod lexicon;
mod mix;
mod neural;
mod ngram;
mod vectorize;
mod vectors;

use std::path::Path;

use anyhow::Result;

use crate::cli::{Corpus, Train, VectorFiles};
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{CutSpec, Cutter, LATER, LineFormat, Lines};
use inkstone_models::{Preset, VectorFormat, WordVectors};

/// Fits the model that the flags ask for.
pub(super) fn run(args: &Train, ctx: &Ctx) -> Result<Summary> {
    match args {
        Train::Ngram(args) => ngram::ngram(args, ctx),
        Train::Tfidf(args) => vectorize::run(Preset::Tfidf, args, ctx),
        Train::Bow(args) => vectorize::run(Preset::Bow, args, ctx),
        Train::Onehot(args) => vectorize::run(Preset::Onehot, args, ctx),
        Train::Bm25(args) => vectorize::run(Preset::Bm25, args, ctx),
        Train::Hashing(args) => vectorize::run(Preset::Hashing, args, ctx),
        Train::Shingles(args) => vectorize::run(Preset::Shingles, args, ctx),
        Train::EventWords(args) => vectorize::run(Preset::EventWords, args, ctx),
        Train::Sestm(args) => lexicon::sestm(args, ctx),
        Train::Lexicon(args) => lexicon::lexicon(args, ctx),
        Train::Tone(args) => lexicon::tone(args, ctx),
        Train::Lsa(args) => vectorize::lsa(args, ctx),
        Train::Mix(args) => mix::run(args, ctx),
        Train::Pooling(args) => vectors::pooling(args, ctx),
        Train::Ppmi(args) => vectors::ppmi(args, ctx),
        Train::Cw(args) => neural::cw(args, ctx),
        Train::Nnlm(args) => neural::nnlm(args, ctx),
        Train::Lbl(args) => neural::lbl(args, ctx),
        Train::Rnnlm(args) => neural::rnnlm(args, ctx),
        Train::TextCnn(args) => neural::textcnn(args, ctx),
        Train::TextRnn(args) => neural::textrnn(args, ctx),
        Train::Word2vec(args) => vectors::word2vec(args, ctx),
        Train::Doc2vec(args) => vectors::doc2vec(args, ctx),
        Train::Vintages(args) => vectors::vintages(args, ctx),
        Train::Glove(args) => vectors::glove(args, ctx),
        Train::Fasttext(args) => fasttext::words(args, ctx),
        Train::FasttextSupervised(args) => fasttext::supervised(args, ctx),
        Train::Logistic(args) => classify::logistic(args, ctx),
        Train::Bayes(args) => classify::bayes(args, ctx),
        Train::Svm(args) => classify::svm(args, ctx),
        Train::Boosted(args) => classify::boosted(args, ctx),
        Train::Mlp(args) => classify::mlp(args, ctx),
        Train::Ridge(args) => classify::ridge(args, ctx),
        Train::Newwords(args) => ngram::newwords(args, ctx),
    }
}

/// The lines of a corpus and what cuts them.
fn open(corpus: &Corpus) -> Result<(Lines, Cutter)> {
    let format = format(&corpus.input, corpus);
    let params = super::files::tokenizer(&corpus.tokenizer, "builtin");
    let cutter = Cutter::new(CutSpec::new(format, params), Path::new(""))?;
    Ok((Lines::open(&corpus.input, format)?.until(corpus.until)?, cutter))
}

/// The lines of another file of documents written like those of the corpus.
fn lines(path: &Path, corpus: &Corpus) -> Result<Lines> {
    Lines::open(path, format(path, corpus))?.until(corpus.until)
}

/// How the lines of a file are written: as the flag says, else as the name of the file says.
fn format(path: &Path, corpus: &Corpus) -> LineFormat {
    corpus.format.or_else(|| LineFormat::by_name(path)).unwrap_or_default()
}

/// The summary of a training: kind, file, and those facts of the report that it has of `documents`, `tokens`, `vocabulary`,
/// `fitted_until` and `facts`.
fn trained(kind: &str, output: &Path, report: Report, facts: &[&str]) -> Summary {
    // Lines that were left out on request are no failure.
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

/// The same with all facts of the report.
fn trained_with_figures(kind: &str, output: &Path, report: Report) -> Summary {
    let figures = report.facts.clone();
    let mut summary = trained(kind, output, report, &[]);
    for (name, value) in figures {
        summary.fields.entry(name).or_insert(value);
    }
    summary
}

/// Writes word vectors for other tools if a flag asks for them, and names the file in the summary.
fn exported(vectors: &WordVectors, files: &VectorFiles, summary: &mut Summary) -> Result<()> {
    if let Some(path) = &files.vectors {
        vectors.export(path, VectorFormat::by_name(path))?;
        summary.set("vectors", path.display().to_string());
    }
    Ok(())
}
