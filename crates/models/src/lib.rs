//! Models of text that are trained natively: counts and TF-IDF, lexicons, linear models, boosted trees, perceptrons, SESTM, topics, n-grams, word
//! vectors, keywords, small neural networks, and walk-forward fits of them.
//!
//! Takes tokens (`&[&str]`) or rows of token counts ([`Csr`]); gives rows, scores or words.
//! Every fitted model carries `fitted_until`, the last moment of the data it saw. Not for: cutting text (that is
//! `inkstone-text`), or turning documents into a factor by date and code (that is `inkstone-lab`).
//!
//! ```
//! use inkstone_models::{Analyzer, Fields, TermCounts, Vectorizer, VectorizerParams};
//! use inkstone_text::DfLimit;
//!
//! let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
//! // These texts are cut already. To cut others, give the analyzer a segmenter of inkstone-text.
//! let analyzer = Analyzer::new(&params, None)?;
//! let mut counts = TermCounts::new(&params);
//! for text in ["净利润 大幅 增长", "净利润 下滑"] {
//!     counts.add(&analyzer, Fields::body(text), None)?;
//! }
//! let model = Vectorizer::fit(&counts, &params)?;
//! let row: Vec<(u32, f32)> = model.transform(&analyzer, Fields::body("净利润 增长"));
//! assert_eq!(row.len(), 2);
//! # Ok::<(), anyhow::Error>(())
//! ```

#[macro_use]
mod params;

mod alias;
mod bayes;
mod boost;
mod calibration;
pub mod checkpoint;
mod clusters;
mod cooccurrence;
mod crf;
mod design;
mod estimate;
mod explain;
mod fasttext;
mod glove;
mod goal;
mod induce;
mod keywords;
mod learner;
mod lexicon;
mod linear;
mod lsa;
mod metrics;
mod mlp;
mod nearest;
pub mod neural;
mod newwords;
pub mod ngram;
mod npz;
mod pooling;
mod projection;
mod random;
#[cfg(test)]
mod reference;
pub mod sentences;
mod sestm;
mod sparse;
mod stacked;
mod static_encoder;
mod svd;
mod tensors;
pub mod textnet;
pub mod transformer;
mod validation;
mod vectorize;
mod vectors;
mod walk_forward;
mod word2vec;
mod words;

pub(crate) use inkstone_base::model_file::pack_strings;
pub use inkstone_base::model_file::{ModelFile, ModelHeader, write_model};

pub use bayes::{BayesForm, BayesParams, naive_bayes};
pub use boost::BoostParams;
pub use calibration::CalibrationForm;
pub use clusters::{
    Centres, ClusterParams, ClusterRows, Clustering, Linkage, Merge, ThemeWords, cluster, cut, linkage,
};
pub use cooccurrence::{Cooccurrence, CooccurrenceParams, PairCounter, PairWeighting, Ppmi, PpmiParams};
pub use crf::{CrfParams, LabelledText, TrainedCrf, train_crf};
pub use design::{DenseRows, Design, DesignRow, FoldFeatures, Scaling, SpilledDense};
pub use estimate::{
    Estimator, Guess, Judgement, Measure, ProbabilityParts, Search, SearchPoint, Task, TrainingRows, calibrate,
    choose_point, fit_estimator, out_of_fold, search,
};
pub use explain::{Explanation, Part};
pub use fasttext::{
    Dictionary, END_OF_LINE, FastText, FastTextParams, Form, Loss, QuantiseParams, Samples, is_fasttext,
    train_supervised, train_words,
};
pub use glove::{GloveParams, Pairs};
pub use goal::{Goal, GoalKind};
pub use induce::{
    InduceParams, InduceWalk, InducedFold, InducedLexicon, InducedTone, InducedWord, SeedParams, Seeds, Statistic,
    induce, induce_walk,
};
pub use keywords::{Candidates, Idf, Keyword, Ranking, Rule, TextRankParams, rank_sentences, textrank};
pub use learner::{ClassWeight, Contributions, EstimatorParams, Link, Method};
pub use lexicon::{Hit, Lexicon, LexiconParams, ListReport, TONE_VERSION, Tone, ToneScale};
pub use linear::{Convergence, Linear, LinearMap, LinearParams, SvmLoss, logistic, ridge, softmax, svm};
pub use lsa::{Lsa, component_names};
pub use metrics::{
    AnswerMatch, Average, Bin, Bleu, ClassFigures, ClassReport, Entities, EntityReport, LabelReport, ProbabilityReport,
    Rouge, ValueReport, area_under_curve, character_tokens, chinese_tokens, cmrc_match, corpus_bleu, largest,
    mean_rouge, rouge, sentence_bleu, squad_match, textbook_bleu,
};
pub use mlp::MlpParams;
pub use nearest::{Nearest, Neighbour, cosine, sparse_cosine, unit};
pub use newwords::{GramCounter, Grams, NewWord, NewWordParams, Places, Selection, select};
pub use npz::{NpzWriter, npy_header, read_named_npz, read_npz};
pub use pooling::{PooledText, Pooling, PoolingForm, PoolingParams};
pub use projection::{Tsne, neighbours_kept, pca, tsne};
pub use sestm::{
    Returns, Sestm, SestmFit, SestmFold, SestmParams, SestmScore, SestmTrial, SestmWalk, SestmWord, Topics, Tune,
    sestm_walk,
};
pub use sparse::{Csr, Row, SpilledCsr};
pub use stacked::{InputColumn, StackedRows};
pub use static_encoder::{CountedTokens, Distilled, DistilledFigures, LEAST_DOCUMENTS, StaticEncoder, Teacher, distil};
pub(crate) use svd::SparseRows;
pub use svd::{RowsWriter, SvdParams};
pub use tensors::TensorFile;
pub use validation::{FoldParams, FoldRows, FoldsBy, Split, draw_folds};
pub use vectorize::{
    Analyzer, Fields, FoldCounts, Formula, Norm, Preset, TITLE_TEXT, TermCounts, Unit, Vectorizer, VectorizerParams,
    Weighting,
};
pub use vectors::{Training, VectorFormat, WordVectors, is_vectors, read_vectors};
pub use walk_forward::{
    ChosenSettings, ClassParams, Fold, FoldNetworks, FoldReport, LabelForm, NetFold, NetWalk, NetWalkInput,
    Predictions, Sample, TestFold, TestedFold, TextModel, TextRegression, UntestedFold, WalkForward, WalkedParts,
    fit_fold, fit_predict, lead, net_of_fold, net_walk,
};
pub use word2vec::{Architecture, Corpus, DOCUMENT, Doc2vec, END, Objective, Word2vec, Word2vecParams};
pub use words::WordLimits;
