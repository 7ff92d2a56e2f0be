//! `train`: fits a model on a plain file and saves it. Most flags are the parameters of the models themselves; their names are those of the
//! usual tools.

mod classify;
mod clusters;
mod crf;
mod distil;
mod fasttext;
mod glove;
mod lexicon;
mod mix;
mod neural;
mod ngram;
mod pooling;
mod ppmi;
mod sentences;
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
pub use clusters::Clusters;
pub use crf::Crf;
pub use distil::Static;
pub use fasttext::{FastText, FastTextSupervised};
pub use glove::Glove;
pub use lexicon::{Lexicon, Sestm, Tone};
pub use mix::Mix;
pub use neural::{Cw, Lbl, Nnlm, Rnnlm, TextCnn, TextRnn};
pub use ngram::{Newwords, Ngram};
pub use pooling::Pooling;
pub use ppmi::Ppmi;
pub use sentences::Sentences;
pub use transformer::{Answers, Bart, Bert, Electra, Entities, Finetune, Gpt, Lstm, Student, Writer};
pub use vectorize::{Lsa, Terms, Vectorize};
pub use word2vec::{Doc2vec, Vintages, Word2vec};

/// Documents that a model is fitted on, and the file of the model.
#[derive(Clone, Debug, Args)]
pub struct Files {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    ///
    /// 模型文件。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Documents that word vectors are trained on, and the files of the vectors.
#[derive(Clone, Debug, Args)]
pub struct VectorFiles {
    #[command(flatten)]
    pub files: Files,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    ///
    /// 另存向量供其他工具使用：名称以 .bin 结尾时为 word2vec 的二进制格式，否则为文本格式。
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
}

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// An n-gram language model, as KenLM's lmplz.
    ///
    /// n 元语言模型，同 KenLM 的 lmplz。
    Ngram(Ngram),
    /// TF-IDF weights of words or n-grams, as scikit-learn's TfidfVectorizer.
    ///
    /// 词或 n 元组的 TF-IDF 权重，同 scikit-learn 的 TfidfVectorizer。
    Tfidf(Vectorize),
    /// Counts of words or n-grams, as scikit-learn's CountVectorizer.
    ///
    /// 词或 n 元组的计数，同 scikit-learn 的 CountVectorizer。
    Bow(Vectorize),
    /// 1 for each word that occurs.
    ///
    /// 出现过的词记 1。
    Onehot(Vectorize),
    /// BM25 weights.
    ///
    /// BM25 权重。
    Bm25(Vectorize),
    /// Signed counts hashed into 2^20 columns, as scikit-learn's HashingVectorizer.
    ///
    /// 带符号的计数哈希到 2^20 列，同 scikit-learn 的 HashingVectorizer。
    Hashing(Vectorize),
    /// Sets of five characters in a row, hashed: for what is nearly the same text.
    ///
    /// 连续五字的集合，经哈希：用于找近乎相同的文本。
    Shingles(Vectorize),
    /// ln(1 + count) of the most frequent nouns, verbs and adjectives, those of titles apart: Huatai's event factors.
    ///
    /// 最常见名词、动词、形容词的 ln(1 + 计数)，标题另计：华泰事件因子的做法。
    EventWords(Vectorize),
    /// Latent semantic analysis: documents and words as points of few dimensions, as scikit-learn's TruncatedSVD.
    ///
    /// 潜在语义分析：文档与词为低维的点，同 scikit-learn 的 TruncatedSVD。
    Lsa(Lsa),
    /// Clusters of documents by the rows of another model, with the words that name them: k-means, or by merging.
    ///
    /// 按另一模型的行给文档聚类，并以词命名各类：k 均值，或逐次合并。
    Clusters(Clusters),
    /// Weights of a contextual model's layers for a task, as ELMo learns them: a setting for --layers.
    ///
    /// 为一项任务学习上下文模型各层的权重，同 ELMo：供 --layers 使用。
    Mix(Mix),
    /// A static encoder, in the form of model2vec, from a contextual model: vectors of tokens whose mean is near the model's vector of a text.
    ///
    /// 由上下文模型得到静态编码器（model2vec 形式）：词元向量的均值接近模型对文本的向量。
    Static(Static),
    /// A labeller of characters that cuts words or finds names: a conditional random field (Lafferty, McCallum and Pereira 2001).
    ///
    /// 给每个字标签的标注器，切词或找名称：条件随机场（Lafferty、McCallum、Pereira 2001）。
    Crf(Crf),
    /// Word vectors from co-occurrence: positive pointwise mutual information and its decomposition.
    ///
    /// 由共现得到词向量：正逐点互信息（PPMI）及其分解。
    Ppmi(Ppmi),
    /// Word vectors by the ranking of windows (Collobert and Weston 2008).
    ///
    /// 由窗口排序得到词向量（Collobert 与 Weston 2008）。
    Cw(Cw),
    /// A neural language model (Bengio and others 2003): a hidden layer over the vectors of the words before.
    ///
    /// 神经语言模型（Bengio 等 2003）：前几个词的向量上加一个隐藏层。
    Nnlm(Nnlm),
    /// The log-bilinear language model (Mnih and Hinton 2007).
    ///
    /// 对数双线性语言模型（Mnih 与 Hinton 2007）。
    Lbl(Lbl),
    /// A recurrent language model (Mikolov and others 2010).
    ///
    /// 循环语言模型（Mikolov 等 2010）。
    Rnnlm(Rnnlm),
    /// Word vectors that predict their neighbours: word2vec, CBOW or skip-gram.
    ///
    /// 预测邻词的词向量：word2vec 的 CBOW 或 skip-gram。
    Word2vec(Word2vec),
    /// Vectors of documents that predict their words: doc2vec, distributed memory or bag of words.
    ///
    /// 预测其词的文档向量：doc2vec，分布式记忆或词袋。
    Doc2vec(Doc2vec),
    /// Word vectors of one window of time after the other, in one space: for how meanings move.
    ///
    /// 按时间窗口逐个训练、同处一个空间的词向量：用于看词义如何变迁。
    Vintages(Vintages),
    /// GloVe word vectors, as the authors' program.
    ///
    /// GloVe 词向量，同作者的程序。
    Glove(Glove),
    /// Documents from word vectors: mean, maximum, TF-IDF-weighted mean, or SIF with the common part taken off.
    ///
    /// 由词向量得到文档向量：均值、最大值、TF-IDF 加权均值，或去掉公共部分的 SIF。
    Pooling(Pooling),
    /// An encoder of sentences that learns from neighbours or labelled pairs: quick-thoughts, skip-thoughts or InferSent.
    ///
    /// 句子编码器，由相邻句或带标签的句对学习：quick-thoughts、skip-thoughts 或 InferSent。
    Sentences(Sentences),
    /// Word vectors that know the characters of words, as fastText: skip-gram or CBOW. Words never met have vectors too.
    ///
    /// 含字信息的词向量，同 fastText：skip-gram 或 CBOW。没见过的词也有向量。
    Fasttext(FastText),
    /// A classifier of texts, as fastText's: lines with __label__x, or JSON lines with "label" or "labels".
    ///
    /// 文本分类器，同 fastText：带 __label__x 的行，或带 "label"、"labels" 的 JSON 行。
    FasttextSupervised(FastTextSupervised),
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    ///
    /// 由收益学习文本的语气（Ke、Kelly、Xiu：Predicting Returns with Text Data）。
    Sestm(Sestm),
    /// A list of tone words, from the returns that go with texts or from seed words; as lists of a lexicon feature.
    ///
    /// 由文本的收益或种子词得到情感词表；可作词典特征的词表。
    Lexicon(Lexicon),
    /// A lexicon of word lists, formal or informal, made ready to give tones; nothing is fitted.
    ///
    /// 由正式或自拟的词表做成词典，用于计算语气；不作拟合。
    Tone(Tone),
    /// Logistic regression on the texts' terms, with L2 penalty or elastic net, as scikit-learn's LogisticRegression.
    ///
    /// 文本词项上的逻辑回归，L2 或弹性网惩罚，同 scikit-learn 的 LogisticRegression。
    Logistic(Logistic),
    /// Naive Bayes on the texts' terms, multinomial or complement.
    ///
    /// 文本词项上的朴素贝叶斯，多项式或补集。
    #[command(visible_alias = "nb")]
    Bayes(Bayes),
    /// A linear support vector machine on the texts' terms, as LIBLINEAR.
    ///
    /// 文本词项上的线性支持向量机，同 LIBLINEAR。
    Svm(Svm),
    /// Gradient-boosted trees on the texts' terms, of classes or of a value.
    ///
    /// 文本词项上的梯度提升树，用于类别或数值。
    #[command(visible_alias = "gbdt")]
    Boosted(Boosted),
    /// A multi-layer perceptron on the texts' terms, of classes, label sets or a value.
    ///
    /// 文本词项上的多层感知机，用于类别、标签集合或数值。
    Mlp(Mlp),
    /// Filters over windows of words that tell classes apart (Kim 2014).
    ///
    /// 对词窗口卷积以分类（Kim 2014）。
    #[command(name = "textcnn")]
    TextCnn(TextCnn),
    /// An LSTM or GRU, in one or both directions, that tells classes apart.
    ///
    /// 单向或双向的 LSTM 或 GRU，用于分类。
    #[command(name = "textrnn")]
    TextRnn(TextRnn),
    /// An encoder that is trained to predict masked words (Devlin and others 2019), from nothing or from a base: for model = "onnx".
    ///
    /// 预测掩码词的编码器（Devlin 等 2019），从头或从基础模型训练：供 model = "onnx" 使用。
    Bert(Bert),
    /// A language model that is trained to predict each next token (Radford and others 2018), from nothing or from a base: GPT-2's architecture.
    ///
    /// 预测下一个词元的语言模型（Radford 等 2018），从头或从基础模型训练：GPT-2 结构。
    Gpt(Gpt),
    /// A language model of LSTM layers (AWD-LSTM and ULMFiT: Merity and others 2018, Howard and Ruder 2018), from nothing or from a base.
    ///
    /// LSTM 语言模型（AWD-LSTM 与 ULMFiT：Merity 等 2018，Howard 与 Ruder 2018），从头或从基础模型训练。
    Lstm(Lstm),
    /// Two language models of LSTM layers, one of each direction (ELMo: Peters and others 2018), whose vectors stand side by side.
    ///
    /// 两个方向各一的 LSTM 语言模型（ELMo：Peters 等 2018），向量并列。
    Elmo(Lstm),
    /// An encoder with a decoder that restores damaged texts (BART, Lewis and others 2020), from nothing or from a base: for train writer.
    ///
    /// 还原受损文本的编码器加解码器（BART：Lewis 等 2020），从头或从基础模型训练：供 train writer 使用。
    Bart(Bart),
    /// An encoder that is trained to predict which tokens a small generator has replaced (Clark and others 2020).
    ///
    /// 判断哪些词元被小生成器替换的编码器（Clark 等 2020）。
    Electra(Electra),
    /// An encoder trained on from a base to tell classes, labels or a value of a text.
    ///
    /// 在基础模型上继续训练的编码器，用于判断文本的类别、标签或数值。
    Finetune(Finetune),
    /// An encoder trained on from a base to find names in text, such as companies and persons.
    ///
    /// 在基础模型上继续训练的编码器，用于在文本中找公司、人名等名称。
    Entities(Entities),
    /// An encoder that is trained on from a base to find the answer to a question in a text.
    ///
    /// 在基础模型上继续训练的编码器，用于在文本中找问题的答案。
    Answers(Answers),
    /// A model that is trained to write summaries or titles of texts, on from a base or as a recurrent encoder and decoder from nothing: for generate and for
    /// rewrites of documents.
    ///
    /// 学习写摘要或标题的模型，在基础模型上继续训练，或从头训练循环编码器与解码器：供 generate 与改写使用。
    Writer(Writer),
    /// A small encoder that learns the scores of a large model on text without labels (Hinton, Vinyals and Dean 2015).
    ///
    /// 小编码器学习大模型在无标签文本上的分数（Hinton、Vinyals、Dean 2015）。
    Student(Student),
    /// Ridge regression of a value on the texts' terms.
    ///
    /// 文本词项上对数值的岭回归。
    Ridge(Ridge),
    /// New words of raw text, as a dictionary for jieba: cohesion and branching entropy.
    ///
    /// 从原始文本发现新词，作为 jieba 词典：凝固度与左右熵。
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
        Train::Clusters(args) => clusters::run(args, ctx),
        Train::Mix(args) => mix::run(args, ctx),
        Train::Static(args) => distil::run(args, ctx),
        Train::Pooling(args) => pooling::pooling(args, ctx),
        Train::Sentences(args) => sentences::run(args, ctx),
        Train::Crf(args) => crf::run(args, ctx),
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
