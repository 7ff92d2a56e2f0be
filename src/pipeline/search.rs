//! Searches the corpus of a project.

use std::path::Path;

use anyhow::{Context, Result};

use super::stock::{Kept, kept};
use super::texts::CorpusParts;
use super::{feature_set, project};
use crate::config::Config;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_features::extract::{Feature, vector_of_text};
use inkstone_features::search::{DenseQuery, IndexState, RankedBy, SearchAnswer, SearchIndex, SearchQuery};
use inkstone_store::Reader;

/// The answer to a query, with the state of the index and the feature whose vectors were used.
pub struct Searched {
    pub answer: SearchAnswer,
    pub index: IndexState,
    pub feature: Option<String>,
}

/// Answers a query on the clean corpus of a configuration, whose paths are relative to `base`. `feature` names the feature whose vectors
/// rank documents, where vectors are used.
pub fn search(
    config: &Config,
    base: &Path,
    query: &SearchQuery<'_>,
    feature: Option<&str>,
    ctx: &Ctx,
) -> Result<Searched> {
    let project = project(config, base);
    ensure!(
        feature.is_none() || query.by != RankedBy::Bm25,
        "--feature 给出排序用的向量，只有 --by dense 与 --by both 使用",
        "--feature names the vectors that rank documents, which only --by dense and --by both use"
    );
    let feature = if query.by == RankedBy::Bm25 { None } else { Some(vector_feature(config, feature)?) };
    let index = open_index(config, base, ctx)?;
    let state = index.state;
    let Some(feature) = feature else {
        let answer = index.search(&project, query, None, ctx)?;
        return Ok(Searched { answer, index: state, feature: None });
    };
    let not_there = || {
        message!(
            "特征 {0:?} 的向量不在特征库中：请运行 inkstone extract",
            "the vectors of feature {0:?} are not in the store: run inkstone extract",
            feature.name
        )
    };
    let id = feature_set(&project, &feature.name).with_context(not_there)?;
    let store = Reader::open(&project.store())?;
    let set = store.set(&id)?.with_context(not_there)?;
    let fitted_until = set.header().spec.fitted_until;
    if let Some((fitted, until)) = fitted_until.zip(query.until).filter(|(fitted, until)| fitted > until) {
        bail!(
            "特征 {:?} 的模型学自 {fitted} 之前的文档，晚于 --until {until}：其向量含有未来信息；请在特征中设 fit_until，或用 --by bm25",
            "the model of feature {:?} was fitted on documents until {fitted}, after --until {until}: its vectors would look ahead; set fit_until in the feature, or use --by bm25",
            feature.name
        );
    }
    let parts = CorpusParts::new(config, base, &project);
    let vector = vector_of_text(feature, &parts.inputs(config, base), query.text, ctx)?;
    let answer = index.search(&project, query, Some(&DenseQuery { set: &set, vector }), ctx)?;
    Ok(Searched { answer, index: state, feature: Some(feature.name.clone()) })
}

/// The index of a project, which is opened again when the corpus has changed.
#[derive(Default)]
pub struct KeptIndex(Kept<SearchIndex>);

impl KeptIndex {
    /// The numbers of the documents that have a word of a query, the best first.
    pub fn ranked(&self, config: &Config, base: &Path, words: &str, ctx: &Ctx) -> Result<Vec<u32>> {
        let index = kept(&self.0, project(config, base).clean().files()?, || open_index(config, base, ctx))?;
        let ranked = index.by_terms(words, None, usize::MAX, ctx)?;
        Ok(ranked.best.into_iter().map(|document| document.number).collect())
    }
}

/// Opens the index of a project, and brings it up to date.
fn open_index(config: &Config, base: &Path, ctx: &Ctx) -> Result<SearchIndex> {
    let project = project(config, base);
    let mut opened = None;
    ctx.stage("index", "docs", None, || {
        let index = SearchIndex::open(&project, &config.tokenizer, base, ctx)?;
        let mut report = Report::new("index");
        (report.rows_in, report.rows_out) = (index.state.documents, index.state.documents);
        report.fact("parts_made", index.state.parts_made);
        report.fact("parts_damaged", index.state.parts_damaged);
        opened = Some(index);
        Ok(report)
    })?;
    Ok(opened.expect("a stage that ended well has opened the index"))
}

fn vector_feature<'c>(config: &'c Config, named: Option<&str>) -> Result<&'c Feature> {
    let with_vectors: Vec<&Feature> = config.feature.iter().filter(|f| f.model.has_vectors()).collect();
    let names: Vec<&str> = with_vectors.iter().map(|feature| feature.name.as_str()).collect();
    let names = names.join(", ");
    if let Some(named) = named {
        let found = with_vectors.iter().find(|feature| feature.name == named);
        return found.copied().with_context(|| {
            message!(
                "没有名为 {named:?}、且全部文档的向量在同一空间的特征；这样的特征有：{names}",
                "no feature {named:?} has vectors of all documents in one space; those that have: {names}"
            )
        });
    }
    match with_vectors[..] {
        [only] => Ok(only),
        [] => bail!(
            "没有向量特征：请在配置中添加 model = \"lsa\"、\"file\" 或 \"onnx\" 的 [[feature]]，并运行 inkstone extract",
            "there is no feature of vectors: add a [[feature]] with model = \"lsa\", \"file\" or \"onnx\", and run inkstone extract"
        ),
        _ => bail!(
            "有多个向量特征：请用 --feature 指定其一：{names}",
            "several features have vectors: name one with --feature: {names}"
        ),
    }
}
