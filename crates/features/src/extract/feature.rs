//! One `[[feature]]`: its model, what it reads, and the parameters of all models, each as its model has them.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::target::Target;
use super::vintages::VintageParams;
use crate::models::clusters::ClusterSettings;
use crate::models::fasttext::WindowFastText;
use crate::models::file::FileParams;
use crate::models::glove::WindowGlove;
use crate::models::ngram::SurpriseParams;
use crate::models::textnet::EmbeddingParams;
use crate::models::transformer::FinetuneSettings;
use inkstone_base::data::Kind;
use inkstone_base::error;
use inkstone_corpus::truncate::{Needs, Strategy};
use inkstone_lab::factor::{Expression, Within};
use inkstone_models::textnet::TextNetParams;
use inkstone_models::{
    BayesParams, BoostParams, ClassParams, ClassWeight, EstimatorParams, InduceParams, LexiconParams, LinearParams,
    MlpParams, PoolingParams, Search, SestmParams, SvdParams, SvmLoss, VectorizerParams, WalkForward, Word2vecParams,
    WordLimits,
};
use inkstone_onnx::OnnxParams;

/// The model of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Tone by a lexicon: columns `tone`, `positive`, `negative`, `tokens`.
    #[default]
    Lexicon,
    /// TF-IDF: a sparse row over the vocabulary.
    Tfidf,
    /// Latent semantic analysis of TF-IDF rows: columns `c1`, `c2`, ..., the document's place on each component.
    Lsa,
    /// Walk-forward ridge regression of the target on TF-IDF: column `score`, in units of the target.
    Ridge,
    /// Walk-forward logistic regression, upper against lower targets: column `score`, log-odds; with more than two labels a column of
    /// the probability of each.
    Logistic,
    /// Walk-forward naive Bayes, likewise.
    Bayes,
    /// A walk-forward linear support vector machine, likewise; without calibration the score is a margin.
    Svm,
    /// Walk-forward gradient-boosted trees, likewise.
    Boosted,
    /// A walk-forward multi-layer perceptron, likewise.
    Mlp,
    /// Walk-forward SESTM: columns `score` (p - 1/2; 0 without screened words) and `words` (screened words in the document; 0 flags
    /// that nothing is known of it).
    Sestm,
    /// Tone by a lexicon induced from the returns of past windows: columns `tone`, `positive`, `negative`, `words`.
    Induced,
    /// Improbability of a document under a language model of the documents before it: columns `surprise` (mean -log10
    /// probability of a token), `oov` (share of tokens that are new), `tokens`.
    Surprise,
    /// Clusters of the rows of other features, fitted on the documents before: columns `t1`, `t2`, ..., the membership in each theme,
    /// `distance` to the nearest centre, `share` of the theme in the days before.
    Clusters,
    /// Walk-forward word2vec: columns `c1`, `c2`, ..., the document's place among the vectors of the documents before it, and
    /// `words`, how many of its words are known (0 flags that nothing is).
    Word2vec,
    /// Walk-forward GloVe, likewise.
    Glove,
    /// Walk-forward fastText, likewise; a word's vector is made of its characters' too.
    FastText,
    /// The model of a file, of any kind: columns as the file has them.
    File,
    /// A contextual model in the ONNX format: columns as its output has them, `c1`, `c2`, ... of a vector, or the labels of its head.
    Onnx,
    /// A walk-forward convolutional network on the words in their order, upper against lower targets: likewise.
    TextCnn,
    /// A walk-forward recurrent network, likewise.
    TextRnn,
    /// An encoder that each fold trains on from a base, likewise.
    Finetune,
}

/// One `[[feature]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// Name by which factors refer to the feature.
    pub name: String,
    /// `lexicon`, `tfidf`, `lsa`, `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `mlp`, `sestm`, `induced`, `surprise`, `clusters`, `word2vec`,
    /// `glove`, `fasttext`, `file`, `onnx`, `textcnn`, `textrnn` or `finetune`.
    pub model: Model,
    /// Name of the `[[rewrite]]` whose texts are read; empty: title and body of each document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// If given, documents are read only near an event of one of their securities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Condition of fields of a document and of other features, as `document.revised` or `0.3 - abs(tone)`: documents for which it is above 0 are read;
    /// empty: all.
    #[serde(skip_serializing_if = "Expression::is_empty")]
    pub only: Expression,
    /// The part of title and body that the model reads: `none`, `head:512`, `tail:512 -boilerplate`, `sections:256c@rating,summary` ([`Strategy`]);
    /// in tokens of the segmenter, for `onnx` in its own, or in characters.
    pub truncate: Strategy,
    /// True if company names and codes are hidden from the model, so that it cannot learn who did well. Absent: hidden
    /// from `sestm` and `induced`, which would list them among their words; shown to the others.
    pub mask_names: Option<bool>,
    /// For `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `mlp` and `clusters`: the rows that the model learns on, side by side. `words` are the words of
    /// the text, weighed as `tfidf` says; every other entry is a feature, `name`, or one of its columns, `name.column`. Empty: words.
    pub inputs: Vec<String>,
    pub lexicon: LexiconParams,
    /// For `tfidf`, `lsa` and all models that are walked forward but networks.
    pub tfidf: VectorizerParams,
    /// For `tfidf` and `lsa`: the last day of the documents that vocabulary, weights and components come from; none: all. A
    /// factor refuses the values of earlier days.
    pub fit_until: Option<NaiveDate>,
    /// For models that are walked forward ([`Feature::learns`]): windows of training and test.
    pub walk_forward: WalkForward,
    /// For `lsa`: dimensions and precision.
    pub lsa: SvdParams,
    /// For models that are walked forward: what they learn. The paper of `sestm` takes the return about the text, from the close
    /// two days before it to the close of the day after: delay -2, price close, horizon 3.
    pub target: Target,
    /// For `ridge`, `logistic` and `svm`: penalty and solver.
    pub linear: LinearParams,
    /// For `logistic`, `bayes`, `svm`, `boosted`, `mlp`, `textcnn`, `textrnn` and `finetune`: which targets make which class; for the first five
    /// calibration.
    pub classes: ClassParams,
    /// For `logistic`, `bayes`, `svm`, `boosted` and `mlp`: `none`, or `balanced` to let each class count alike.
    pub class_weight: ClassWeight,
    /// For `svm`: the loss of a row on the wrong side, `squared-hinge` or `hinge`.
    pub svm_loss: SvmLoss,
    pub bayes: BayesParams,
    pub boosted: BoostParams,
    /// For `ridge`, `logistic`, `bayes`, `svm`, `boosted` and `mlp`: settings that each training window chooses for itself.
    pub search: Search,
    pub mlp: MlpParams,
    /// For `sestm`: screening and penalty.
    pub sestm: SestmParams,
    /// For `induced`: which words enter the lexicon.
    pub induce: InduceParams,
    /// For `surprise`: windows and model.
    pub surprise: SurpriseParams,
    /// For `clusters`: themes, windows and membership.
    pub clusters: ClusterSettings,
    /// For `word2vec`, `glove`, `fasttext`, `textcnn` and `textrnn`: which words of a window are known.
    pub words: WordLimits,
    /// For `word2vec`, `glove` and `fasttext`: windows of training.
    pub vintages: VintageParams,
    pub word2vec: Word2vecParams,
    pub glove: WindowGlove,
    pub fasttext: WindowFastText,
    /// For `file`: the model's file, and how far its text reaches.
    pub file: FileParams,
    /// For `onnx`: the model and its output.
    pub onnx: OnnxParams,
    /// For `word2vec`, `glove` and `fasttext`: how vectors of words become one of a document.
    pub pooling: PoolingParams,
    /// For `textcnn` and `textrnn`: word vectors that the networks begin with.
    pub embeddings: EmbeddingParams,
    /// For `textcnn` and `textrnn`: the network and its training. Its `kind` is the model's.
    pub textnet: TextNetParams,
    /// For `finetune`: the base and the training.
    pub finetune: FinetuneSettings,
}

impl Feature {
    /// Inputs of the feature besides the text of a document.
    pub fn needs(&self) -> Needs {
        let composed = Needs { sentences: self.model == Model::Onnx && self.onnx.compose > 0, ..Needs::default() };
        self.truncate.needs().and(composed)
    }

    /// The estimator, for models on word counts that are walked forward.
    pub fn estimator(&self) -> Option<EstimatorParams> {
        let method = self.model.method()?;
        Some(EstimatorParams {
            method,
            linear: self.linear.clone(),
            svm_loss: self.svm_loss,
            bayes: self.bayes.clone(),
            boosted: self.boosted.clone(),
            mlp: self.mlp.clone(),
            class_weight: self.class_weight,
        })
    }

    pub(crate) fn reads(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// Names the keys of a section in an error that names flags.
pub(crate) fn name_keys(section: &str, error: &anyhow::Error) -> anyhow::Error {
    let message = format!("{error:#}");
    let key = |(i, part): (usize, &str)| {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (flag, rest) = part.split_at(if i == 0 { 0 } else { end });
        flag.replace('-', "_") + rest
    };
    error!("{section}：{}", "{section}: {}", message.split("--").enumerate().map(key).collect::<String>())
}
