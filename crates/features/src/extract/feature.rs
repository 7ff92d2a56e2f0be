//! One `[[feature]]`: its model, what it reads, and the parameters of all models, each as its model has them.

use anyhow::{Result, anyhow, ensure};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::embeddings::EmbeddingParams;
use super::file::FileParams;
use super::models::{ColumnNames, EVERY_MODEL, EXPERIMENT_HEAD, place_columns};
use super::surprise::SurpriseParams;
use super::target::Target;
use super::vintages::{VintageParams, WindowFastText, WindowGlove, WordVectorTrainer};
use inkstone_base::bounds::bound_of;
use inkstone_base::data::Kind;
use inkstone_corpus::truncate::{Needs, Strategy};
use inkstone_lab::factor::{Expression, Within};
use inkstone_models::textnet::TextNetParams;
use inkstone_models::{
    BayesParams, BoostParams, ClassParams, ClassWeight, EstimatorParams, GoalKind, InduceParams, LexiconParams,
    LinearParams, MlpParams, PoolingParams, Search, SestmParams, SvdParams, SvmLoss, VectorizerParams, WalkForward,
    Word2vecParams, WordLimits, component_names,
};
use inkstone_onnx::{OnnxParams, Output};

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
}

/// One `[[feature]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// Name by which factors refer to the feature.
    pub name: String,
    /// `lexicon`, `tfidf`, `lsa`, `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `mlp`, `sestm`, `induced`, `surprise`, `word2vec`,
    /// `glove`, `fasttext`, `file`, `onnx`, `textcnn` or `textrnn`.
    pub model: Model,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// If given, documents are read only near an event of one of their securities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Condition of fields of a document, as `document.revised`: documents for which it is above 0 are read; empty: all.
    #[serde(skip_serializing_if = "Expression::is_empty")]
    pub only: Expression,
    /// The part of title and body that the model reads: `none`, `head:512`, `tail:512 -boilerplate`, `sections:256c@rating,summary` ([`Strategy`]);
    /// in tokens of the segmenter, for `onnx` in its own, or in characters.
    pub truncate: Strategy,
    /// True if company names and codes are hidden from the model, so that it cannot learn who did well. Absent: hidden
    /// from `sestm` and `induced`, which would list them among their words; shown to the others.
    pub mask_names: Option<bool>,
    /// For `ridge`, `logistic`, `bayes`, `svm`, `boosted` and `mlp`: the rows that the model learns on, side by side. `words` are the words of
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
    /// For `logistic`, `bayes`, `svm`, `boosted`, `mlp`, `textcnn` and `textrnn`: which targets make which class; for all but `textcnn` and
    /// `textrnn` calibration.
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
}

impl Feature {
    /// The columns of a dense row, in order; none for the sparse rows of `tfidf`, nor for `file` and `onnx`, whose files say them.
    pub fn columns(&self) -> Vec<String> {
        match self.model.entry().columns {
            ColumnNames::Sparse | ColumnNames::InFile(_) => Vec::new(),
            ColumnNames::Fixed(names) => {
                let labels = if self.learns() { self.classes.with_probabilities() } else { &[] };
                names.iter().map(|name| name.to_string()).chain(labels.iter().cloned()).collect()
            }
            ColumnNames::Components(dim) => component_names(dim(self)),
            ColumnNames::Vectors => self.trainer().map_or_else(Vec::new, |trainer| place_columns(trainer.dim())),
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
            "truncate = {:?}: rows of windows are put together for lexicon, file and onnx alone; other models read all of a text as it is",
            self.truncate.to_string()
        );
        if self.learns() {
            self.classes.check().map_err(|error| name_keys("classes", &error))?;
            self.target.check(self)?;
        }
        if let Some(estimator) = self.estimator() {
            self.check_search(&estimator).map_err(|error| anyhow!("search: {error:#}"))?;
        }
        (self.model.entry().check)(self)
    }

    /// Fails where the search has a setting or a value that the model cannot have, or a measure of another target.
    fn check_search(&self, estimator: &EstimatorParams) -> Result<()> {
        let search = &self.search;
        ensure!(
            !search.is_off() || *search == Search::default(),
            "grid is empty, so nothing is searched; write the values to choose among, as grid = {{ {} }}, or leave the search out",
            estimator.method.example_grid()
        );
        search.check(estimator, !estimator.method.learns(GoalKind::Classes) || self.target.form.is_some())?;
        let table = estimator.method.tables()[0];
        for (name, values) in &search.grid {
            let Some(bound) = bound_of(&format!("feature.{table}.{name}")) else { continue };
            let refused = values.iter().find_map(|value| bound.refuses(*value, &value.to_string()));
            ensure!(refused.is_none(), "grid.{name}: {}", refused.unwrap_or_default());
        }
        Ok(())
    }

    /// Fails where a setting is given that the model does not read. Cells of experiments may have some: those of the model that they vary.
    pub fn check_settings(&self) -> Result<()> {
        let entry = self.model.entry();
        ensure!(
            self.inputs.is_empty() || entry.method.is_some(),
            "inputs are for ridge, logistic, bayes, svm, boosted and mlp; leave them out of a feature of model = {}",
            json!(self.model)
        );
        let (given, defaults) = (json!(self), json!(Feature::default()));
        let read = self.read_settings();
        let settings = given.as_object().into_iter().flatten();
        for (setting, _) in settings.filter(|(setting, value)| **value != defaults[*setting]) {
            ensure!(
                read.contains(&setting.as_str()),
                "{setting} is not for model = {}, which reads {}: leave it out, or choose a model that reads it",
                json!(self.model),
                entry.settings().join(", ")
            );
        }
        Ok(())
    }

    /// The feature without the settings that its model does not read.
    pub fn with_read_settings(&self) -> Result<Feature> {
        let mut settings = json!(self);
        let read = self.read_settings();
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|setting, _| read.contains(&setting.as_str()));
        }
        Ok(serde_json::from_value(settings)?)
    }

    /// The settings that the model, or the head of an experiment on its rows, reads.
    fn read_settings(&self) -> Vec<&'static str> {
        let entry = self.model.entry();
        let mut read = vec!["name", "inputs"];
        read.extend(EVERY_MODEL);
        read.extend(entry.settings());
        if !entry.learns_from_returns {
            read.extend(EXPERIMENT_HEAD);
        }
        read
    }

    /// The settings that determine the rows, of which the identity of the feature's set is made. A new name changes nothing of it, nor
    /// does a setting of another model. The sets of `inputs` are added where they are known.
    pub fn identity(&self) -> Value {
        let mut settings = json!(self);
        let read = self.model.entry().settings();
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|setting, _| EVERY_MODEL.contains(&setting.as_str()) || read.contains(&setting.as_str()));
            settings["mask_names"] = json!(self.masks_names());
            // The set's `embeddings` hold what the feature of the word vectors reads, so its name is left out.
            if let Some(name) = settings.get_mut("embeddings").and_then(|embeddings| embeddings.get_mut("feature")) {
                *name = json!("");
            }
            // These came later: sets that were made without them keep their identity.
            if self.search.is_off() {
                settings.remove("search");
            }
            if let Some(onnx) = settings.get_mut("onnx").and_then(Value::as_object_mut) {
                // The settings that a model's folder states are part of the model's key.
                for (setting, before) in [("pooling", json!("mean")), ("normalise", json!(false))] {
                    let value = onnx.entry(setting).or_insert(Value::Null);
                    if value.is_null() {
                        *value = before;
                    }
                }
                let question_is_null = onnx.get("question").is_none_or(Value::is_null);
                onnx.retain(|setting, value| match setting.as_str() {
                    "prompt" => !value.is_null(),
                    "pair" | "question" | "no_answer" => !value.is_null(),
                    "pair_first" => *value != json!(false),
                    "labels" => *value != json!({}),
                    "max_answer" => !question_is_null,
                    "dim" => *value != json!(0),
                    _ => true,
                });
            }
            if let Some(target) = settings.get_mut("target").and_then(Value::as_object_mut)
                && !self.target.ranked_by_day
            {
                target.remove("ranked_by_day");
            }
        }
        settings
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
    pub(crate) fn has_vintages(&self) -> bool {
        self.trainer().is_some()
    }

    /// The trainer of a model that has vintages of word vectors.
    pub(super) fn trainer(&self) -> Option<Box<dyn WordVectorTrainer>> {
        self.model.entry().trainer.map(|make| make(self))
    }

    /// True if rows are vectors, whose values have a sign.
    pub fn gives_vectors(&self) -> bool {
        let embedding = self.model == Model::Onnx && self.onnx.output == Output::Embedding;
        embedding || matches!(self.model.entry().columns, ColumnNames::Components(_) | ColumnNames::Vectors)
    }

    /// True if the model is walked forward on a target.
    pub fn learns(&self) -> bool {
        self.model.entry().learns_from_returns
    }

    /// True if company names and codes are hidden from the model.
    pub fn masks_names(&self) -> bool {
        self.mask_names.unwrap_or(self.model.entry().masks_names)
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
    anyhow!("{section}: {}", message.split("--").enumerate().map(key).collect::<String>())
}
