//! The table of the models of features. A new model is one more arm of [`Model::entry`].

use anyhow::Result;

use crate::extract::reading::CorpusReader;
use crate::extract::text_rows::TextRows;
use crate::extract::vintages;
use crate::extract::vintages::WordVectorTrainer;
use crate::extract::{Feature, Inputs, Model};
use crate::models::estimators::project as regression;
use crate::models::file::project as file;
use crate::models::induced::project as induced;
use crate::models::lexicon::project as lexicon;
use crate::models::lsa::project as lsa;
use crate::models::ngram::project as surprise;
use crate::models::onnx::project as onnx;
use crate::models::sestm::project as sestm;
use crate::models::textnet::project as textnet;
use crate::models::tfidf::project as tfidf;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{GoalKind, Method, component_names};
use inkstone_onnx::Output;
use inkstone_store::Store;
use inkstone_text::Segmenter;

/// One row of the table of models.
#[derive(Clone, Copy)]
pub(crate) struct ModelEntry {
    /// Computes a feature for the whole corpus.
    pub(crate) run: fn(&Feature, &Inputs<'_>, &Store, &Ctx) -> Result<(Key, Report)>,
    pub(crate) columns: ColumnNames,
    pub(crate) explained_by: Explainer,
    pub(crate) opened: RowModel,
    /// The trainer of a model that has vintages of word vectors.
    pub(crate) trainer: Option<fn(&Feature) -> Box<dyn WordVectorTrainer>>,
    pub(crate) learns_from_returns: bool,
    /// True if company names are masked unless the configuration says otherwise.
    pub(crate) masks_names: bool,
    /// True if rows of several windows of a text can be combined.
    pub(crate) combines_windows: bool,
    /// The method of a model that is an estimator on word counts.
    pub(crate) method: Option<Method>,
    /// The settings of [`ModelEntry::settings`] but those of the method.
    settings: &'static [&'static str],
    /// Fails where the settings of the feature do not suit the model.
    pub(crate) check: fn(&Feature) -> Result<()>,
}

/// The settings of a feature that determine the rows of every model.
pub(crate) const EVERY_MODEL: [&str; 6] = ["model", "kinds", "truncate", "mask_names", "within", "only"];

/// Head of experiments on labels, for models whose rows do not depend on it.
pub(crate) const EXPERIMENT_HEAD: [&str; 2] = ["linear", "class_weight"];

/// The columns of a model's rows.
#[derive(Clone, Copy)]
pub(crate) enum ColumnNames {
    Sparse,
    Fixed(&'static [&'static str]),
    /// `c1`, `c2`, ... of so many components.
    Components(fn(&Feature) -> usize),
    /// `c1`, `c2`, ... of the trainer's vectors, and `words`.
    Vectors,
    /// Known once the feature's file is read; the function says which names are possible.
    InFile(fn(&Feature, &str) -> bool),
}

/// How a value is taken apart.
#[derive(Clone, Copy)]
pub(crate) enum Explainer {
    /// By the tone words of the lexicon.
    ToneWords,
    /// By the words of the fold, which the set keeps.
    FoldWords,
    /// By fitting the fold once more.
    RefittedFold,
    /// By the model of the file, word by word.
    WordsOfFile,
    /// By the model of the rows: word by word where a row is a sum over words, else by leaving out sentences and words.
    Rows,
    None,
}

/// Source of a model that computes the row of any text, so that a row can be explained by parts of its text.
#[derive(Clone, Copy)]
pub(crate) enum RowModel {
    /// Read from files, with the segmenter of its text.
    Files(fn(&Feature, &Inputs<'_>, &Ctx) -> Result<(Box<dyn TextRows>, Segmenter)>),
    /// Fitted once more, for the document in this part and row; none where the document has no row.
    Refit(fn(&CorpusReader<'_>, (usize, usize)) -> Result<Option<Box<dyn TextRows>>>),
    /// Rows depend on more than a text.
    None,
}

impl ModelEntry {
    /// The settings of a feature that determine the model's rows, beside [`EVERY_MODEL`].
    pub(crate) fn settings(&self) -> Vec<&'static str> {
        let mut settings = self.settings.to_vec();
        if let Some(method) = self.method {
            if method.learns(GoalKind::Classes) {
                settings.extend(["classes", "class_weight"]);
            }
            settings.extend(method.tables());
            settings.push("search");
        }
        settings
    }
}

impl Model {
    /// The method, if the model is an estimator on words and on the rows of other features.
    pub fn method(self) -> Option<Method> {
        self.entry().method
    }

    /// True if rows are dense and depend on no target.
    pub fn has_dense_rows(self) -> bool {
        let ModelEntry { columns, learns_from_returns, .. } = self.entry();
        !learns_from_returns && !matches!(columns, ColumnNames::Sparse)
    }

    /// True if the model is a network that reads words in their order.
    pub fn is_network(self) -> bool {
        matches!(self, Model::TextCnn | Model::TextRnn)
    }

    /// True if the model weighs words.
    pub fn weighs_words(self) -> bool {
        self.method().is_some() || matches!(self.entry().columns, ColumnNames::Sparse)
    }

    pub(crate) fn entry(self) -> ModelEntry {
        let network = ModelEntry {
            run: textnet::run,
            columns: ColumnNames::Fixed(&["score"]),
            explained_by: Explainer::Rows,
            opened: RowModel::Refit(textnet::open),
            trainer: None,
            learns_from_returns: true,
            masks_names: false,
            combines_windows: false,
            method: None,
            settings: &["words", "walk_forward", "target", "classes", "textnet", "embeddings"],
            check: textnet::check,
        };
        let estimator = |method| ModelEntry {
            run: regression::run,
            explained_by: Explainer::RefittedFold,
            opened: RowModel::None,
            method: Some(method),
            settings: &["tfidf", "walk_forward", "target"],
            check: |_| Ok(()),
            ..network
        };
        let fold_words = ModelEntry {
            run: sestm::run,
            columns: ColumnNames::Fixed(&["score", "words"]),
            explained_by: Explainer::FoldWords,
            opened: RowModel::None,
            masks_names: true,
            settings: &["tfidf", "walk_forward", "target", "sestm"],
            check: |_| Ok(()),
            ..network
        };
        let of_texts = ModelEntry {
            run: tfidf::run,
            columns: ColumnNames::Sparse,
            explained_by: Explainer::None,
            opened: RowModel::None,
            learns_from_returns: false,
            settings: &["tfidf", "fit_until"],
            check: |_| Ok(()),
            ..network
        };
        let vintages = |trainer, settings| ModelEntry {
            run: vintages::run,
            columns: ColumnNames::Vectors,
            explained_by: Explainer::Rows,
            opened: RowModel::Refit(vintages::open),
            trainer: Some(trainer),
            settings,
            ..of_texts
        };
        match self {
            Model::Lexicon => ModelEntry {
                run: lexicon::run,
                columns: ColumnNames::Fixed(&["tone", "positive", "negative", "tokens"]),
                explained_by: Explainer::ToneWords,
                opened: RowModel::Files(lexicon::row_model),
                combines_windows: true,
                settings: &["lexicon"],
                ..of_texts
            },
            Model::Tfidf => of_texts,
            Model::Lsa => ModelEntry {
                run: lsa::run,
                columns: ColumnNames::Components(|feature| feature.lsa.dim),
                explained_by: Explainer::Rows,
                opened: RowModel::Refit(|reader, _| Ok(Some(Box::new(lsa::open(reader)?)))),
                settings: &["tfidf", "fit_until", "lsa"],
                ..of_texts
            },
            Model::Ridge => estimator(Method::Ridge),
            Model::Logistic => estimator(Method::Logistic),
            Model::Bayes => estimator(Method::Bayes),
            Model::Svm => estimator(Method::Svm),
            Model::Boosted => estimator(Method::Boosted),
            Model::Mlp => estimator(Method::Mlp),
            Model::Sestm => fold_words,
            Model::Induced => ModelEntry {
                run: induced::run,
                columns: ColumnNames::Fixed(&["tone", "positive", "negative", "words"]),
                settings: &["tfidf", "walk_forward", "target", "induce"],
                ..fold_words
            },
            Model::Surprise => ModelEntry {
                run: surprise::run,
                columns: ColumnNames::Fixed(&["surprise", "oov", "tokens"]),
                explained_by: Explainer::Rows,
                opened: RowModel::Refit(surprise::open),
                settings: &["surprise"],
                check: |feature| feature.surprise.check(),
                ..of_texts
            },
            Model::Word2vec => {
                vintages(|feature| Box::new(feature.word2vec.clone()), &["words", "vintages", "pooling", "word2vec"])
            }
            Model::Glove => {
                vintages(|feature| Box::new(feature.glove.clone()), &["words", "vintages", "pooling", "glove"])
            }
            Model::FastText => {
                vintages(|feature| Box::new(feature.fasttext.clone()), &["words", "vintages", "pooling", "fasttext"])
            }
            Model::File => ModelEntry {
                run: file::run,
                columns: ColumnNames::InFile(|_, _| true),
                explained_by: Explainer::WordsOfFile,
                opened: RowModel::Files(file::row_model),
                combines_windows: true,
                settings: &["file"],
                check: |feature| feature.file.check(),
                ..of_texts
            },
            Model::Onnx => ModelEntry {
                run: onnx::run,
                columns: ColumnNames::InFile(|feature, name| {
                    feature.onnx.output != Output::Embedding || is_component(name)
                }),
                explained_by: Explainer::Rows,
                opened: RowModel::Refit(|reader, _| Ok(Some(Box::new(onnx::open(reader)?)))),
                combines_windows: true,
                settings: &["onnx"],
                check: onnx::check,
                ..of_texts
            },
            Model::TextCnn | Model::TextRnn => network,
        }
    }
}

fn is_component(name: &str) -> bool {
    let number = || name.strip_prefix('c')?.parse::<usize>().ok();
    number().is_some_and(|number| number > 0)
}

/// Columns of documents among vectors of so many values.
pub(crate) fn place_columns(dim: usize) -> Vec<String> {
    let mut columns = component_names(dim);
    columns.push("words".to_owned());
    columns
}
