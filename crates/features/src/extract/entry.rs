//! The entry of a model in the registry: the function that computes its feature, its columns, its settings, and the explanation of its
//! values.

use anyhow::Result;

use super::fits::WalkFits;
use super::part_model::OpenPartModel;
use super::reading::CorpusReader;
use super::text_rows::TextRows;
use super::vintages::WordVectorTrainer;
use super::{Feature, Inputs, Model};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{GoalKind, Method, component_names};
use inkstone_store::Store;
use inkstone_text::Segmenter;

/// Computes a feature for the whole corpus, and gives the id of its set.
pub(crate) type Run = fn(&Feature, &Inputs<'_>, &Store, &Ctx) -> Result<(Key, Report)>;

/// The entry of one model; `models::registry` has those of all models.
#[derive(Clone, Copy)]
pub(crate) struct ModelEntry {
    pub(crate) run: Run,
    pub(crate) columns: ColumnNames,
    pub(crate) explained_by: Explainer,
    pub(crate) opened: RowModel,
    /// For a model whose rows of a part depend on that part alone.
    pub(crate) part_model: Option<OpenPartModel>,
    /// For a model whose fits do not depend on one another.
    pub(crate) walk_fits: Option<WalkFits>,
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
    pub(crate) settings: &'static [&'static str],
    /// Fails where the settings of the feature do not suit the model.
    pub(crate) check: fn(&Feature) -> Result<()>,
}

/// The settings of a feature that determine the rows of every model.
pub(crate) const EVERY_MODEL: [&str; 7] = ["model", "text", "kinds", "truncate", "mask_names", "within", "only"];

/// Head of experiments on labels, for models whose rows do not depend on it.
pub(crate) const EXPERIMENT_HEAD: [&str; 2] = ["linear", "class_weight"];

/// The columns of a model's rows.
#[derive(Clone, Copy)]
pub(crate) enum ColumnNames {
    Sparse,
    Fixed(&'static [&'static str]),
    /// `c1`, `c2`, ... of so many components.
    Components(fn(&Feature) -> usize),
    /// As the settings of the feature say.
    Named(fn(&Feature) -> Vec<String>),
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
    /// A model whose rows depend on no target; sparse, unless the model says otherwise.
    pub(crate) const fn of_texts(run: Run) -> ModelEntry {
        ModelEntry {
            run,
            columns: ColumnNames::Sparse,
            explained_by: Explainer::None,
            opened: RowModel::None,
            part_model: None,
            walk_fits: None,
            trainer: None,
            learns_from_returns: false,
            masks_names: false,
            combines_windows: false,
            method: None,
            settings: &[],
            check: |_| Ok(()),
        }
    }

    /// A model that is walked forward on a target: column `score`.
    pub(crate) const fn of_target(run: Run) -> ModelEntry {
        ModelEntry { columns: ColumnNames::Fixed(&["score"]), learns_from_returns: true, ..ModelEntry::of_texts(run) }
    }

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

    /// True if rows are vectors of texts that lie in one space, such as those of a search.
    pub fn has_vectors(self) -> bool {
        let ModelEntry { columns, opened, learns_from_returns, .. } = self.entry();
        let vectors = matches!(columns, ColumnNames::Components(_) | ColumnNames::InFile(_));
        vectors && !learns_from_returns && !matches!(opened, RowModel::None)
    }

    /// True if the model is a network that reads words in their order.
    pub fn is_network(self) -> bool {
        matches!(self, Model::TextCnn | Model::TextRnn | Model::Finetune)
    }

    /// True if the model weighs words.
    pub fn weighs_words(self) -> bool {
        self.method().is_some() || matches!(self.entry().columns, ColumnNames::Sparse)
    }
}

/// Columns of documents among vectors of so many values.
pub(crate) fn place_columns(dim: usize) -> Vec<String> {
    let mut columns = component_names(dim);
    columns.push("words".to_owned());
    columns
}
