//! `train`: fits a model on a plain file and saves it. Most flags are the parameters of the models themselves; their names are those of the
//! usual tools.

mod classify;
mod distil;
mod fasttext;
mod glove;
mod lexicon;
mod mix;
mod neural;
mod ngram;
mod pooling;
mod ppmi;
mod transformer;
mod vectorize;
mod word2vec;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::Corpus;
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{CutSpec, Cutter, LATER, LineFormat, Lines};
use inkstone_models::{Preset, VectorFormat, WordVectors};

pub use classify::{Bayes, Boosted, Logistic, Mlp, Ridge, Svm};
pub use distil::Static;
pub use fasttext::{FastText, FastTextSupervised};
pub use glove::Glove;
pub use lexicon::{Lexicon, Sestm, Tone};
pub use mix::Mix;
pub use neural::{Cw, Lbl, Nnlm, Rnnlm, TextCnn, TextRnn};
pub use ngram::{Newwords, Ngram};
pub use pooling::Pooling;
pub use ppmi::Ppmi;
pub use transformer::{Answers, Bart, Bert, Electra, Entities, Finetune, Gpt, Lstm, Student, Writer};
pub use vectorize::{Lsa, Terms, Vectorize};
pub use word2vec::{Doc2vec, Vintages, Word2vec};

/// Documents that a model is fitted on, and the file of the model.
#[derive(Clone, Debug, Args)]
pub struct Files {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Documents that word vectors are trained on, and the files of the vectors.
#[derive(Clone, Debug, Args)]
pub struct VectorFiles {
    #[command(flatten)]
    pub files: Files,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
}

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// An n-gram language model, as KenLM's lmplz.
    Ngram(Ngram),
    /// TF-IDF weights of words or n-grams, as scikit-learn's TfidfVectorizer.
    Tfidf(Vectorize),
    /// Counts of words or n-grams, as scikit-learn's CountVectorizer.
    Bow(Vectorize),
    /// 1 for each word that occurs.
    Onehot(Vectorize),
    /// BM25 weights.
    Bm25(Vectorize),
    /// Signed counts hashed into 2^20 columns, as scikit-learn's HashingVectorizer.
    Hashing(Vectorize),
    /// Sets of five characters in a row, hashed: for what is nearly the same text.
    Shingles(Vectorize),
    /// ln(1 + count) of the most frequent nouns, verbs and adjectives, those of titles apart: Huatai's event factors.
    EventWords(Vectorize),
    /// Latent semantic analysis: documents and words as points of few dimensions, as scikit-learn's TruncatedSVD.
    Lsa(Lsa),
    /// Weights of a contextual model's layers for a task, as ELMo learns them: a setting for --layers.
    Mix(Mix),
    /// A static encoder, in the form of model2vec, from a contextual model: vectors of tokens whose mean is near the model's vector of a text.
    Static(Static),
    /// Word vectors from co-occurrence: positive pointwise mutual information and its decomposition.
    Ppmi(Ppmi),
    /// Word vectors by the ranking of windows (Collobert and Weston 2008).
    Cw(Cw),
    /// A neural language model (Bengio and others 2003): a hidden layer over the vectors of the words before.
    Nnlm(Nnlm),
    /// The log-bilinear language model (Mnih and Hinton 2007).
    Lbl(Lbl),
    /// A recurrent language model (Mikolov and others 2010).
    Rnnlm(Rnnlm),
    /// Word vectors that predict their neighbours: word2vec, CBOW or skip-gram.
    Word2vec(Word2vec),
    /// Vectors of documents that predict their words: doc2vec, distributed memory or bag of words.
    Doc2vec(Doc2vec),
    /// Word vectors of one window of time after the other, in one space: for how meanings move.
    Vintages(Vintages),
    /// GloVe word vectors, as the authors' program.
    Glove(Glove),
    /// Documents from word vectors: mean, maximum, TF-IDF-weighted mean, or SIF with the common part taken off.
    Pooling(Pooling),
    /// Word vectors that know the characters of words, as fastText: skip-gram or CBOW. Words never met have vectors too.
    Fasttext(FastText),
    /// A classifier of texts, as fastText's: lines with __label__x, or JSON lines with "label" or "labels".
    FasttextSupervised(FastTextSupervised),
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    Sestm(Sestm),
    /// A list of tone words, from the returns that go with texts or from seed words; as lists of a lexicon feature.
    Lexicon(Lexicon),
    /// A lexicon of word lists, formal or informal, made ready to give tones; nothing is fitted.
    Tone(Tone),
    /// Logistic regression on the texts' terms, with L2 penalty or elastic net, as scikit-learn's LogisticRegression.
    Logistic(Logistic),
    /// Naive Bayes on the texts' terms, multinomial or complement.
    #[command(visible_alias = "nb")]
    Bayes(Bayes),
    /// A linear support vector machine on the texts' terms, as LIBLINEAR.
    Svm(Svm),
    /// Gradient-boosted trees on the texts' terms, of classes or of a value.
    #[command(visible_alias = "gbdt")]
    Boosted(Boosted),
    /// A multi-layer perceptron on the texts' terms, of classes, label sets or a value.
    Mlp(Mlp),
    /// Filters over windows of words that tell classes apart (Kim 2014).
    #[command(name = "textcnn")]
    TextCnn(TextCnn),
    /// An LSTM or GRU, in one or both directions, that tells classes apart.
    #[command(name = "textrnn")]
    TextRnn(TextRnn),
    /// An encoder that is trained to predict masked words (Devlin and others 2019), from nothing or from a base: for model = "onnx".
    Bert(Bert),
    /// A language model that is trained to predict each next token (Radford and others 2018), from nothing or from a base: GPT-2's architecture.
    Gpt(Gpt),
    /// A language model of LSTM layers (AWD-LSTM and ULMFiT: Merity and others 2018, Howard and Ruder 2018), from nothing or from a base.
    Lstm(Lstm),
    /// Two language models of LSTM layers, one of each direction (ELMo: Peters and others 2018), whose vectors stand side by side.
    Elmo(Lstm),
    /// An encoder with a decoder that restores damaged texts (BART, Lewis and others 2020), from nothing or from a base: for train writer.
    Bart(Bart),
    /// An encoder that is trained to predict which tokens a small generator has replaced (Clark and others 2020).
    Electra(Electra),
    /// An encoder trained on from a base to tell classes, labels or a value of a text.
    Finetune(Finetune),
    /// An encoder trained on from a base to find names in text, such as companies and persons.
    Entities(Entities),
    /// An encoder that is trained on from a base to find the answer to a question in a text.
    Answers(Answers),
    /// A language model that is trained on from a base to write summaries or titles of texts: for generate and for rewrites of documents.
    Writer(Writer),
    /// A small encoder that learns the scores of a large model on text without labels (Hinton, Vinyals and Dean 2015).
    Student(Student),
    /// Ridge regression of a value on the texts' terms.
    Ridge(Ridge),
    /// New words of raw text, as a dictionary for jieba: cohesion and branching entropy.
    Newwords(Newwords),
}

/// Fits the model that the flags ask for.
pub(crate) fn run(args: &Train, ctx: &Ctx) -> Result<Summary> {
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
        Train::Static(args) => distil::run(args, ctx),
        Train::Pooling(args) => pooling::pooling(args, ctx),
        Train::Ppmi(args) => ppmi::ppmi(args, ctx),
        Train::Cw(args) => neural::cw(args, ctx),
        Train::Nnlm(args) => neural::nnlm(args, ctx),
        Train::Lbl(args) => neural::lbl(args, ctx),
        Train::Rnnlm(args) => neural::rnnlm(args, ctx),
        Train::TextCnn(args) => neural::textcnn(args, ctx),
        Train::TextRnn(args) => neural::textrnn(args, ctx),
        Train::Bert(args) => transformer::bert(args, ctx),
        Train::Electra(args) => transformer::electra(args, ctx),
        Train::Gpt(args) => transformer::gpt(args, ctx),
        Train::Lstm(args) => transformer::lstm(args, ctx),
        Train::Elmo(args) => transformer::elmo(args, ctx),
        Train::Bart(args) => transformer::bart(args, ctx),
        Train::Entities(args) => transformer::entities(args, ctx),
        Train::Answers(args) => transformer::answers(args, ctx),
        Train::Writer(args) => transformer::writer(args, ctx),
        Train::Student(args) => transformer::student(args, ctx),
        Train::Finetune(args) => transformer::finetune(args, ctx),
        Train::Word2vec(args) => word2vec::word2vec(args, ctx),
        Train::Doc2vec(args) => word2vec::doc2vec(args, ctx),
        Train::Vintages(args) => word2vec::vintages(args, ctx),
        Train::Glove(args) => glove::glove(args, ctx),
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
    let params = corpus.tokenizer.params("builtin");
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
