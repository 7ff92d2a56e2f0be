//! Flags of `train`. Most are the parameters of the models themselves; their names are those of the usual tools.

mod classify;
mod fasttext;
mod lexicon;
mod mix;
mod neural;
mod ngram;
mod vectorize;
mod vectors;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Corpus;

pub use classify::{Bayes, Boosted, Learner, Logistic, Mlp, OnEncoder, Ridge, Svm};
pub use fasttext::{FastText, FastTextFiles, FastTextSupervised};
pub use lexicon::{Lexicon, LexiconMethod, Sestm, Tone};
pub use mix::Mix;
pub use neural::{Cw, Language, Lbl, NetClasses, Nnlm, Rnnlm, TextCnn, TextRnn};
pub use ngram::{Newwords, Ngram};
pub use vectorize::{Lsa, Terms, Vectorize};
pub use vectors::{Doc2vec, Glove, Pooling, Ppmi, Prediction, Vintages, Word2vec, WordForm};

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
    /// Ridge regression of a value on the texts' terms.
    Ridge(Ridge),
    /// New words of raw text, as a dictionary for jieba: cohesion and branching entropy.
    Newwords(Newwords),
}
