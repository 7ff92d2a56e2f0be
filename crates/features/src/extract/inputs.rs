//! Inputs of a model: the words of the text, and the rows of other features.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use super::set::SetMeta;
use super::times::ModelTimes;
use super::{Feature, Inputs};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_models::{Csr, DenseRows, SpilledCsr, SpilledDense};
use inkstone_store::{RowKind, Rows, Set, Values};

/// The input that stands for the words of the text.
const WORDS: &str = "words";

/// A feature, or a column of one, whose rows another feature learns on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputFeature<'a> {
    pub feature: &'a str,
    /// None: all columns.
    pub column: Option<&'a str>,
}

impl Feature {
    /// True if the model learns on the words of the text.
    pub fn learns_on_words(&self) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|input| input == WORDS)
    }

    /// The features that the model learns on, in the order of the setting.
    pub fn input_features(&self) -> impl Iterator<Item = InputFeature<'_>> {
        self.inputs.iter().filter(|input| *input != WORDS).map(|input| match input.split_once('.') {
            Some((feature, column)) => InputFeature { feature, column: Some(column) },
            None => InputFeature { feature: input, column: None },
        })
    }
}

impl Feature {
    /// The features whose rows the condition of the feature reads.
    pub fn condition_features(&self) -> impl Iterator<Item = InputFeature<'_>> {
        self.only.features().into_iter().map(|(feature, column)| InputFeature { feature, column })
    }

    /// The features whose rows must be there first: those that the model learns on, and those of the condition.
    pub fn needed_features(&self) -> impl Iterator<Item = InputFeature<'_>> {
        self.input_features().chain(self.condition_features())
    }
}

/// The features of a configuration in an order in which each comes after its inputs, otherwise in their own.
pub fn in_order_of_inputs(features: &[Feature]) -> Result<Vec<&Feature>> {
    let mut order = Vec::with_capacity(features.len());
    for feature in features {
        add_after_inputs(feature, features, &mut Vec::new(), &mut order)?;
    }
    Ok(order)
}

/// A feature and all features that it needs, through any number of others, each after its own; the feature itself is the last.
pub fn with_inputs<'a>(feature: &'a Feature, features: &'a [Feature]) -> Result<Vec<&'a Feature>> {
    let mut order = Vec::new();
    add_after_inputs(feature, features, &mut Vec::new(), &mut order)?;
    Ok(order)
}

/// Adds a feature behind its inputs; `path` leads from the first feature to this one.
fn add_after_inputs<'a>(
    feature: &'a Feature,
    features: &'a [Feature],
    path: &mut Vec<&'a str>,
    order: &mut Vec<&'a Feature>,
) -> Result<()> {
    if order.iter().any(|there| there.name == feature.name) {
        return Ok(());
    }
    path.push(&feature.name);
    ensure!(
        path.iter().filter(|name| **name == feature.name).count() == 1,
        "特征相互依赖成环：{}；请从 inputs 或 only 中去掉一个",
        "features need each other in a circle: {}; take one out of inputs or of only",
        path.join(" → ")
    );
    ensure!(
        !feature.inputs.iter().any(|input| input == WORDS) || features.iter().all(|other| other.name != WORDS),
        "特征 {:?} 学习 {WORDS}（文本的词），而又有特征同名：请给后者改名",
        "feature {:?} learns on {WORDS}, the words of the text, and a feature has this name too: give that one another",
        feature.name
    );
    for input in feature.needed_features() {
        let Some(read) = features.iter().find(|other| other.name == input.feature) else {
            let others: Vec<&str> = features.iter().map(|f| f.name.as_str()).filter(|n| *n != feature.name).collect();
            bail!(
                "特征 {:?}：没有特征 {:?}（inputs、only）；现有：{WORDS}、{}",
                "feature {:?}: there is no feature {:?} (inputs, only); there are: {WORDS}, {}",
                feature.name,
                input.feature,
                others.join(", ")
            );
        };
        ensure!(
            input.column.is_none_or(|column| read.has_column(column)),
            "特征 {:?}：输入 {:?} 没有列 {:?}；它有 {}",
            "feature {:?}: the input {:?} has no column {:?}; it has {}",
            feature.name,
            input.feature,
            input.column.unwrap_or_default(),
            read.columns().join(", ")
        );
        add_after_inputs(read, features, path, order)?;
    }
    path.pop();
    order.push(feature);
    Ok(())
}

/// An input as the metadata of the set keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputMeta {
    /// The entry of `inputs`.
    pub name: String,
    pub set: Key,
    /// Number of columns; none of sparse rows.
    pub columns: Option<usize>,
    /// When its values were known.
    pub(crate) times: ModelTimes,
}

/// The set of a feature that was computed before, and its notes.
pub(super) fn open_set<'a>(inputs: &Inputs<'a>, feature: &str) -> Result<(Set<'a>, SetMeta)> {
    let sets = inputs.sets.context(Word(
        "此处没有它的行：请用 `inkstone extract` 计算",
        "its rows are not at hand here: compute it with `inkstone extract`",
    ))?;
    let id = sets.ids.get(feature).context(Word("它尚未计算", "it was not computed"))?;
    let set = sets
        .store
        .set(id)?
        .context(Word("它的行已不在特征库中：请重新计算", "its rows are gone from the store: compute it again"))?;
    let meta = SetMeta::read(set.header())?;
    Ok((set, meta))
}

/// The place of a column in dense rows.
pub(super) fn place_of(column: &str, meta: &SetMeta) -> Result<usize> {
    let place = meta.columns.iter().position(|name| name == column);
    place.with_context(|| {
        message!("它没有列 {column:?}；它有 {}", "it has no column {column:?}; it has {}", meta.columns.join(", "))
    })
}

/// The rows of a feature's inputs, a row a document, in scratch files.
#[derive(Default)]
pub(crate) struct InputRows {
    pub(crate) inputs: Vec<InputMeta>,
    /// `feature.column` of each dense column.
    pub(crate) columns: Vec<String>,
    /// For each input, the places of its columns among those of its feature; none for sparse rows, which are taken as they are.
    pub(crate) places: Vec<Option<Vec<usize>>>,
    pub(crate) dense: Option<DenseRows>,
    /// Sparse inputs with the numbers of their features in `inputs`.
    pub(crate) sparse: Vec<(usize, Csr)>,
}

impl InputRows {
    /// Reads the rows of documents at these parts and rows of the corpus, ascending; if `drops_empty`, documents without any value are passed
    /// over. The result says which documents have a row.
    pub(crate) fn read(
        feature: &Feature,
        inputs: &Inputs<'_>,
        places: &[(usize, usize)],
        drops_empty: bool,
        ctx: &Ctx,
    ) -> Result<(InputRows, Vec<bool>)> {
        let mut found = InputRows::default();
        let mut open = Vec::new();
        for (entry, input) in feature.inputs.iter().filter(|input| *input != WORDS).zip(feature.input_features()) {
            let read = || message!("特征 {:?} 学习 {entry:?}", "feature {:?} learns on {entry:?}", feature.name);
            let (set, meta) = open_set(inputs, input.feature).with_context(read)?;
            let columns = match (set.header().spec.kind, input.column) {
                (RowKind::Sparse, None) => None,
                (RowKind::Sparse, Some(column)) => {
                    bail!(
                        "{}：其行是稀疏的；请整体使用，不带 .{column}",
                        "{}: its rows are sparse; take all of it, without .{column}",
                        read()
                    )
                }
                (RowKind::Dense { dim }, None) => Some((0..dim).collect()),
                (RowKind::Dense { .. }, Some(column)) => Some(vec![place_of(column, &meta).with_context(read)?]),
            };
            let name = |&place: &usize| {
                let unnamed = || format!("c{}", place + 1);
                format!("{}.{}", input.feature, meta.columns.get(place).cloned().unwrap_or_else(unnamed))
            };
            found.columns.extend(columns.iter().flatten().map(name));
            found.inputs.push(InputMeta {
                name: entry.clone(),
                set: set.header().id(),
                columns: columns.as_ref().map(Vec::len),
                times: ModelTimes::read(set.header())?,
            });
            found.places.push(columns);
            open.push(set);
        }
        let has_row = found.take_rows(&open, drops_empty, inputs, places, ctx)?;
        Ok((found, has_row))
    }

    /// Takes the rows of all documents, part by part; if `drops_empty`, not of those without a value.
    fn take_rows(
        &mut self,
        open: &[Set<'_>],
        drops_empty: bool,
        inputs: &Inputs<'_>,
        places: &[(usize, usize)],
        ctx: &Ctx,
    ) -> Result<Vec<bool>> {
        let mut has_row = vec![true; places.len()];
        if open.is_empty() {
            return Ok(has_row);
        }
        let folder = inputs.clean.folder();
        let mut dense = SpilledDense::within(folder)?;
        let sparse = self.places.iter().filter(|columns| columns.is_none());
        let mut sparse: Vec<SpilledCsr> = sparse.map(|_| SpilledCsr::within(folder)).collect::<Result<_>>()?;
        let mut batches: Vec<_> = open.iter().map(Set::batches).collect();
        let (mut document, mut row) = (0, Vec::with_capacity(self.columns.len()));
        for part in 0..inputs.clean.files()?.len() {
            ctx.check()?;
            let mut rows: Vec<Rows> = Vec::with_capacity(open.len());
            for (batch, input) in batches.iter_mut().zip(&self.inputs) {
                let ended = || {
                    message!(
                        "{:?} 的行比语料短：请重新计算",
                        "the rows of {:?} end before the corpus: compute it again",
                        input.name
                    )
                };
                rows.push(batch.next().with_context(ended)??);
            }
            while let Some(&(_, at)) = places.get(document).filter(|place| place.0 == part) {
                row.clear();
                let mut is_empty = true;
                for (columns, rows) in self.places.iter().zip(&rows) {
                    match (&rows.values, columns) {
                        (Values::Dense { dim, data }, Some(columns)) => {
                            row.extend(columns.iter().map(|column| data[at * dim + column]));
                        }
                        (Values::Sparse { .. }, None) => is_empty &= rows.sparse_row(at).next().is_none(),
                        _ => bail!(
                            "输入的行在读取期间有变：请重新运行",
                            "the rows of an input have changed while they were read: run again"
                        ),
                    }
                }
                is_empty &= row.iter().all(|value| !value.is_finite());
                has_row[document] = !(is_empty && drops_empty);
                if has_row[document] {
                    if !row.is_empty() {
                        dense.push_row(&row)?;
                    }
                    let blocks = self.places.iter().zip(&rows).filter(|(columns, _)| columns.is_none());
                    for ((_, rows), block) in blocks.zip(&mut sparse) {
                        block.push_row(rows.sparse_row(at))?;
                    }
                }
                document += 1;
            }
        }
        if !self.columns.is_empty() {
            self.dense = Some(dense.finish()?);
        }
        let numbers = (0..open.len()).filter(|&number| self.places[number].is_none());
        self.sparse =
            numbers.zip(sparse).map(|(number, block)| Ok((number, block.finish()?))).collect::<Result<_>>()?;
        Ok(has_row)
    }

    /// The last time of the data that a model of all rows of an input was fitted on.
    pub(crate) fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.inputs.iter().filter_map(|input| input.times.fitted_until()).max()
    }
}

/// The rows of input features, of some documents.
#[derive(Default)]
pub struct InputColumns {
    pub dense: Option<DenseRows>,
    /// One for each input with sparse rows.
    pub sparse: Vec<Csr>,
}

impl InputColumns {
    /// Reads the rows of a feature's inputs, of documents at these parts and rows of the corpus in any order.
    pub fn read(feature: &Feature, inputs: &Inputs<'_>, places: &[(usize, usize)], ctx: &Ctx) -> Result<InputColumns> {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&document| places[document]);
        let ascending: Vec<(usize, usize)> = order.iter().map(|&document| places[document]).collect();
        let (rows, _) = InputRows::read(feature, inputs, &ascending, false, ctx)?;
        let mut row_of = vec![0; places.len()];
        order.iter().enumerate().for_each(|(row, &document)| row_of[document] = row);
        let folder = inputs.clean.folder();
        let dense = |rows: &DenseRows| {
            let mut ordered = SpilledDense::within(folder)?;
            row_of.iter().try_for_each(|&row| ordered.push_row(rows.row(row)))?;
            ordered.finish()
        };
        let sparse = |rows: &Csr| {
            let mut ordered = SpilledCsr::within(folder)?;
            row_of.iter().try_for_each(|&row| ordered.push_row(rows.row(row).iter()))?;
            ordered.finish()
        };
        Ok(InputColumns {
            dense: rows.dense.as_ref().map(dense).transpose()?,
            sparse: rows.sparse.iter().map(|(_, rows)| sparse(rows)).collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
