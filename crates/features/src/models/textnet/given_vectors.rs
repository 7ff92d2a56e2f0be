//! Word vectors that the networks of a feature begin with (Kim 2014): those of a file, or of a feature of the project.
//!
//! Vectors of a file have seen its text: all values are known from the last time of that text on. Vectors of a feature are those of the
//! vintage that values the documents of the fold's last training day: no document of that day or later trained them, so a value is known
//! with its document. A fold before which there is too little text for a vintage has no network.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde_json::{Value, json};

use super::EmbeddingParams;
use crate::extract::vintages::EarlierVintages;
use crate::extract::{Feature, Inputs};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_models::textnet::GivenVectors;
use inkstone_models::{ModelFile, WordVectors, is_fasttext, is_vectors};
use inkstone_text::Segmenter;

/// The last second of a day, at which a date without a time is known.
const LAST: NaiveTime = NaiveTime::from_hms_opt(23, 59, 59).expect("23:59:59 is a time of day");

impl EmbeddingParams {
    /// The feature of the project whose vectors are taken; none where none is named.
    pub fn feature_among<'f>(&self, features: &'f [Feature]) -> Result<Option<&'f Feature>> {
        if self.feature.is_empty() {
            return Ok(None);
        }
        let known = || {
            let known: Vec<&str> =
                features.iter().filter(|feature| feature.has_vintages()).map(|feature| feature.name.as_str()).collect();
            if known.is_empty() {
                Word("现在没有", "there is none").into()
            } else {
                message!("现有：{}", "there are: {}", known.join(", "))
            }
        };
        let found = features.iter().find(|feature| feature.name == self.feature);
        let found = found.filter(|feature| feature.has_vintages()).with_context(|| {
            message!(
                "embeddings.feature = {:?} 不是 model = word2vec、glove 或 fasttext 的特征；{}",
                "embeddings.feature = {:?} names no feature with model = word2vec, glove or fasttext; {}",
                self.feature,
                known()
            )
        })?;
        Ok(Some(found))
    }

    /// Key of the source of the vectors, as JSON; null where no vectors are given.
    pub fn key(&self, features: &[Feature], base: &Path) -> Result<Value> {
        let file = self.has_file().then(|| disk::hash_file(&base.join(&self.file))).transpose()?;
        Ok(match (file, self.feature_among(features)?) {
            (None, None) => Value::Null,
            (file, feature) => json!({ "file": file, "feature": feature.map(Feature::identity) }),
        })
    }

    /// The vectors of the file, and the last time of their training text.
    fn read(&self, segmenter: &Segmenter, base: &Path) -> Result<GivenVectors> {
        let path = &base.join(&self.file);
        let shown = path.display();
        if !is_vectors(path)? && !is_fasttext(path)? {
            let file = ModelFile::open(path)?;
            let cut: Option<Key> = serde_json::from_value(file.header().params["cut"]["key"].clone())?;
            ensure!(
                cut.is_none_or(|cut| cut == segmenter.key()),
                "{shown} 训练时的切词方式与 [tokenizer] 不同：请把 [tokenizer] 设成训练时的样子，或按现在的设置重新训练",
                "{shown} was trained on words cut otherwise than [tokenizer] cuts them: set [tokenizer] as it was trained, or train it again with these settings"
            );
        }
        let vectors = WordVectors::open(path)?;
        let trained_until = vectors.training().fitted_until;
        let stated = self.fitted_until.map(|day| day.and_time(LAST));
        match (trained_until, stated) {
            (None, None) => bail!(
                "{shown} 没有说明其向量的训练文本截至何时；以将来的词开始的网络，其值会显得过早已知：请把 embeddings.fitted_until 设为该文本的最后一天",
                "{shown} does not say how far the text reaches that its vectors were trained on, and a value of a network that begins with words of the future would be known before its time: set embeddings.fitted_until to the last day of that text"
            ),
            (Some(trained), Some(stated)) if stated < trained => {
                bail!(
                    "embeddings.fitted_until 写的是 {stated}，但 {shown} 的训练文本截至 {trained}：请去掉该设置",
                    "embeddings.fitted_until says {stated}, but {shown} was trained on text until {trained}: leave it out"
                )
            }
            _ => {}
        }
        let seen_until = trained_until.max(stated).unwrap_or_default();
        Ok(GivenVectors { vectors: Arc::new(vectors), seen_until })
    }
}

/// The vectors that the networks of a feature begin with.
pub(crate) enum Embeddings<'a> {
    /// None: the networks begin by chance.
    None,
    /// Vectors of a file, the same for all folds.
    File(GivenVectors),
    /// Vectors of a feature, by fold.
    Vintages(Box<EarlierVintages<'a>>),
}

impl<'a> Embeddings<'a> {
    pub(crate) fn new(
        feature: &Feature,
        inputs: &'a Inputs<'a>,
        segmenter: &Segmenter,
        ctx: &'a Ctx,
    ) -> Result<Embeddings<'a>> {
        let params = &feature.embeddings;
        Ok(match params.feature_among(inputs.features)? {
            Some(other) => Embeddings::Vintages(Box::new(EarlierVintages::new(other, inputs, ctx)?)),
            None if params.are_given() => Embeddings::File(params.read(segmenter, inputs.base)?),
            None => Embeddings::None,
        })
    }

    /// Values of a vector.
    pub(crate) fn dim(&self) -> Option<usize> {
        match self {
            Embeddings::None => None,
            Embeddings::File(given) => Some(given.vectors.dim()),
            Embeddings::Vintages(vintages) => Some(vintages.dim()),
        }
    }

    /// Last time of the text of the vectors of all folds.
    pub(crate) fn seen_until(&self) -> Option<NaiveDateTime> {
        match self {
            Embeddings::File(given) => Some(given.seen_until),
            Embeddings::None | Embeddings::Vintages(_) => None,
        }
    }

    /// The vectors of the fold with this last training day.
    pub(crate) fn of_fold(&self, last_training_day: NaiveDate) -> Result<Option<GivenVectors>> {
        match self {
            Embeddings::None => Ok(None),
            Embeddings::File(given) => Ok(Some(given.clone())),
            Embeddings::Vintages(vintages) => vintages.before(last_training_day),
        }
    }
}
