//! One `[[feature]]`: its model, what it reads, and the parameters of all models, each as its model has them.

use anyhow::{Result, ensure};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::embeddings::EmbeddingParams;
use super::models::{ColumnNames, place_columns};
use super::samples::Label;
use super::surprise::SurpriseParams;
use super::vintages::{Trainer, VectorsParams, VintageParams, WindowFastText, WindowGlove};
use inkstone_base::data::Kind;
use inkstone_corpus::truncate::{Needs, Strategy};
use inkstone_models::textnet::TextNetParams;
use inkstone_models::{
    BayesParams, BoostParams, ClassParams, ClassWeight, EstimatorParams, InduceParams, LabelForm, LexiconParams,
    LinearParams, PoolingParams, SestmParams, SvdParams, SvmLoss, VectorizerParams, WalkForward, Word2vecParams,
    WordLimits, component_names,
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
    /// Walk-forward ridge regression of the label on TF-IDF: column `score`, in units of the label.
    Ridge,
    /// Walk-forward logistic regression, upper against lower labels: column `score`, log-odds.
    Logistic,
    /// Walk-forward naive Bayes, likewise.
    Bayes,
    /// A walk-forward linear support vector machine, likewise; without calibration the score is a margin.
    Svm,
    /// Walk-forward gradient-boosted trees, likewise.
    Boosted,
    /// Walk-forward SESTM: columns `score` (p - 1/2; 0 without screened words) and `words` (screened words in the document; 0 flags
    /// that nothing is known of it).
    Sestm,
    /// Tone by a lexicon induced from the returns of past windows: columns `tone`, `positive`, `negative`, `words`.
    Induced,
    /// Improbability of a document under a language model of the documents before it: columns `surprise` (mean -log10
    /// probability of a token), `oov` (share of tokens that are new), `tokens`.
    Surprise,
    /// Walk-forward word2vec: columns `c1`, `c2`, ..., the document's place among the vectors of the documents before it, and
    /// `words`, how many of its words are known (0 flags that nothing is).
    Word2vec,
    /// Walk-forward GloVe, likewise.
    Glove,
    /// Walk-forward fastText, likewise; a word's vector is made of its characters' too.
    FastText,
    /// The same columns by the word vectors of a file.
    Vectors,
    /// A contextual model in the ONNX format: columns as its output has them, `c1`, `c2`, ... of a vector, or the labels of its head.
    Onnx,
    /// A walk-forward convolutional network on the words in their order, upper against lower labels: column `score`, log-odds.
    TextCnn,
    /// A walk-forward recurrent network, likewise.
    TextRnn,
}

/// One `[[feature]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// Name by which factors refer to the feature.
    pub name: String,
    /// `lexicon`, `tfidf`, `lsa`, `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `sestm`, `induced`, `surprise`, `word2vec`, `glove`,
    /// `fasttext`, `vectors`, `onnx`, `textcnn` or `textrnn`.
    pub model: Model,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// The part of title and body that the model reads: `none`, `head:512`, `tail:512 -boilerplate`, `sections:256c@rating,summary` ([`Strategy`]);
    /// in tokens of the segmenter, for `onnx` in its own, or in characters.
    pub truncate: Strategy,
    /// True if company names and codes are hidden from the model, so that it cannot learn who did well. Absent: hidden
    /// from `sestm` and `induced`, which would list them among their words; shown to the others.
    pub mask_names: Option<bool>,
    pub lexicon: LexiconParams,
    /// For `tfidf`, `lsa` and all models that learn from returns but networks.
    pub tfidf: VectorizerParams,
    /// For `tfidf` and `lsa`: the last day of the documents that vocabulary, weights and components come from; none: all. A
    /// factor refuses the values of earlier days. For `vectors` the last day of those that `pooling` is fitted on; none: as far as the
    /// vectors' own text.
    pub fit_until: Option<NaiveDate>,
    /// For models that learn from returns ([`Feature::learns`]): windows of training and test.
    pub walk_forward: WalkForward,
    /// For `lsa`: dimensions and precision.
    pub lsa: SvdParams,
    /// For models that learn from returns: the label. The paper of `sestm` takes the return about the text, from the close
    /// two days before it to the close of the day after: delay -2, price close, horizon 3.
    pub label: Label,
    /// For `ridge` and `induced`: the form of the label, `raw`, `winsorised` or `ranked`.
    pub label_form: LabelForm,
    /// For `ridge`, `logistic` and `svm`: penalty and solver.
    pub linear: LinearParams,
    /// For `logistic`, `bayes`, `svm`, `boosted`, `textcnn` and `textrnn`: which labels are up and down; for all but networks
    /// calibration.
    pub classes: ClassParams,
    /// For `logistic`, `bayes`, `svm` and `boosted`: `none`, or `balanced` to let each class count alike.
    pub class_weight: ClassWeight,
    /// For `svm`: the loss of a row on the wrong side, `squared-hinge` or `hinge`.
    pub svm_loss: SvmLoss,
    pub bayes: BayesParams,
    pub boosted: BoostParams,
    /// For `sestm`: screening and penalty.
    pub sestm: SestmParams,
    /// For `induced`: which words enter the lexicon.
    pub induce: InduceParams,
    /// For `surprise`: windows and model.
    pub surprise: SurpriseParams,
    /// For `word2vec`, `glove`, `fasttext`, `textcnn` and `textrnn`: which words of a window are known.
    pub words: WordLimits,
    /// For `word2vec`, `glove` and `fasttext`: windows of training.
    pub vintages: VintageParams,
    pub word2vec: Word2vecParams,
    pub glove: WindowGlove,
    pub fasttext: WindowFastText,
    /// For `vectors`: the file, and how far its text reaches.
    pub vectors: VectorsParams,
    /// For `onnx`: the model and its output.
    pub onnx: OnnxParams,
    /// For `word2vec`, `glove`, `fasttext` and `vectors`: how vectors of words become one of a document.
    pub pooling: PoolingParams,
    /// For `textcnn` and `textrnn`: word vectors that the networks begin with.
    pub embeddings: EmbeddingParams,
    /// For `textcnn` and `textrnn`: the network and its training. Its `kind` is the model's.
    pub textnet: TextNetParams,
}

impl Feature {
    /// The columns of a dense row, in order; none for the sparse rows of `tfidf`, nor for `vectors` and `onnx`, whose files say them.
    pub fn columns(&self) -> Vec<String> {
        match self.model.entry().columns {
            ColumnNames::Sparse | ColumnNames::InFile(_) => Vec::new(),
            ColumnNames::Fixed(names) => names.iter().map(|name| name.to_string()).collect(),
            ColumnNames::Components(dim) => component_names(dim(self)),
            ColumnNames::Vectors(dim) => place_columns(dim(self)),
        }
    }

    /// Fails where the parameters do not suit the feature's model; the message begins with their section.
    pub fn check(&self) -> Result<()> {
        if let Some(trainer) = self.trainer() {
            self.vintages.check()?;
            trainer.check().map_err(|error| name_keys(trainer.name(), &error))?;
            self.pooling.check(trainer.dim()).map_err(|error| name_keys("pooling", &error))?;
        }
        ensure!(
            self.truncate.over().is_none() || self.model.entry().combines_windows,
            "truncate = {:?}: rows of windows are put together for lexicon and onnx alone; other models read all of a text as it is",
            self.truncate.to_string()
        );
        (self.model.entry().check)(self)
    }

    /// Inputs of the feature besides the text of a document.
    pub fn needs(&self) -> Needs {
        let composed = Needs { sentences: self.model == Model::Onnx && self.onnx.compose > 0, ..Needs::default() };
        self.truncate.needs().and(composed)
    }

    /// True if a row has this column, as far as that can be said without the files that the feature reads.
    pub fn has_column(&self, name: &str) -> bool {
        match self.model.entry().columns {
            ColumnNames::InFile(possible) => possible(self, name),
            _ => self.columns().iter().any(|column| column == name),
        }
    }

    /// True if the model trains vintages of word vectors, which networks can begin with.
    pub fn has_vintages(&self) -> bool {
        self.trainer().is_some()
    }

    /// The trainer of a model that has vintages of word vectors.
    pub(super) fn trainer(&self) -> Option<Trainer> {
        match self.model {
            Model::Word2vec => Some(Trainer::Word2vec(self.word2vec.clone())),
            Model::Glove => Some(Trainer::glove(&self.glove)),
            Model::FastText => Some(Trainer::fasttext(&self.fasttext)),
            _ => None,
        }
    }

    /// True if the model learns from returns.
    pub fn learns(&self) -> bool {
        self.model.entry().learns_from_returns
    }

    /// True if company names and codes are hidden from the model.
    pub fn masks_names(&self) -> bool {
        self.mask_names.unwrap_or(self.model.entry().masks_names)
    }

    /// The estimator, for models on word counts that learn from returns.
    pub fn estimator(&self) -> Option<EstimatorParams> {
        let method = self.model.entry().method?;
        Some(EstimatorParams {
            method,
            linear: self.linear.clone(),
            svm_loss: self.svm_loss,
            bayes: self.bayes.clone(),
            boosted: self.boosted.clone(),
            class_weight: self.class_weight,
        })
    }

    pub(super) fn reads(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// Names the keys of a section in an error that names flags.
pub(super) fn name_keys(section: &str, error: &anyhow::Error) -> anyhow::Error {
    let message = format!("{error:#}");
    let key = |(i, part): (usize, &str)| {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (flag, rest) = part.split_at(if i == 0 { 0 } else { end });
        flag.replace('-', "_") + rest
    };
    anyhow::anyhow!("{section}: {}", message.split("--").enumerate().map(key).collect::<String>())
}
