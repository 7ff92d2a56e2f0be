//! Keys of the stages of the corpus and of features: parameters, versions and what a stage reads.

use anyhow::{Context, Result};

use super::clocks::known_at_ingestion;
use super::{PipelineRun, hash_if_there, version};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::message;
use inkstone_corpus::structure;
use inkstone_features::extract::{Feature, InputFeature, Model, in_order_of_inputs};
use inkstone_text::TokenizerParams;

impl PipelineRun<'_> {
    /// Key of the cleaned corpus; `self.corpus` is the key of the ingested one.
    pub(super) fn clean_key(&self) -> Key {
        Key::of_json(&(version::CLEAN, "clean", &self.config.clean, known_at_ingestion(self.config), self.corpus))
    }

    /// Key of the linked corpus; `self.corpus` is the key of the cleaned one.
    pub(super) fn link_key(&self) -> Result<Key> {
        // Without a table of securities, texts are linked to the codes that have prices.
        let names = match self.project.securities().exists() {
            true => disk::hash_file(&self.project.securities())?,
            false => self.price_codes,
        };
        Ok(Key::of_json(&(version::LINK, "link", &self.config.link, self.corpus, names)))
    }

    /// Key of the sentences of the linked corpus.
    pub(super) fn structure_key(&self, params: &structure::Params) -> Result<Key> {
        let (config, base) = (self.config, self.base);
        let decisions = params.decisions.as_ref().map(|file| hash_if_there(&base.join(file))).transpose()?;
        let mut tokenizer = None;
        if params.cuts_words() {
            tokenizer = Some((inkstone_text::CODE_VERSION, &config.tokenizer, config.tokenizer.file_keys(base)?));
        }
        Ok(Key::of_json(&(version::STRUCTURE, "structure", params, self.corpus, decisions, tokenizer)))
    }

    /// Key of a feature of the linked corpus.
    pub(super) fn extract_key(&self, feature: &Feature) -> Result<Key> {
        self.extract_key_among(feature, &self.config.feature, &self.config.tokenizer)
    }

    /// Key of a feature whose inputs are among these features, with this tokenizer.
    pub(super) fn extract_key_among(
        &self,
        feature: &Feature,
        features: &[Feature],
        tokenizer: &TokenizerParams,
    ) -> Result<Key> {
        let learns = feature.learns().then_some((self.prices, &self.config.market));
        Ok(Key::of_json(&(
            version::EXTRACT,
            "extract",
            feature.identity(),
            self.input_keys(feature, features, tokenizer)?,
            tokenizer,
            self.corpus_of(feature)?,
            feature.needs().sentences.then_some(self.structure),
            learns,
            self.files_named_in(feature, features, tokenizer)?,
            self.ctx.seed(),
        )))
    }

    /// Keys of the features that a feature learns on and of those that its condition reads, each with the column, and whether it learns on words;
    /// none for words alone.
    pub(super) fn input_keys(
        &self,
        feature: &Feature,
        features: &[Feature],
        tokenizer: &TokenizerParams,
    ) -> Result<Option<(bool, Vec<(Key, Option<String>)>)>> {
        if feature.needed_features().next().is_none() {
            return Ok(None);
        }
        // A circle has no keys.
        in_order_of_inputs(features)?;
        let key = |input: InputFeature<'_>| {
            let read = features.iter().find(|other| other.name == input.feature);
            let read = read.with_context(|| message!("没有特征 {:?}", "there is no feature {:?}", input.feature))?;
            Ok((self.extract_key_among(read, features, tokenizer)?, input.column.map(str::to_owned)))
        };
        let keys = feature.needed_features().map(key).collect::<Result<_>>()?;
        Ok(Some((feature.learns_on_words(), keys)))
    }

    /// Keys of what a feature reads beside the corpus: dictionaries, word lists, models, the one of `features` that trains its word vectors.
    pub(super) fn files_named_in(
        &self,
        feature: &Feature,
        features: &[Feature],
        tokenizer: &TokenizerParams,
    ) -> Result<Vec<Key>> {
        let mut keys = tokenizer.file_keys(self.base)?;
        for file in feature.lexicon.files() {
            keys.push(disk::hash_file(&self.base.join(file))?);
        }
        if feature.model == Model::Onnx {
            keys.push(feature.onnx.files_key(self.base)?);
        }
        if feature.model == Model::Finetune {
            keys.push(
                feature
                    .finetune
                    .files_key(self.base)
                    .with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?,
            );
        }
        if feature.model == Model::File {
            let files = feature.file.files_key(self.base);
            keys.push(files.with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?);
        }
        // The cells of an experiment list their inputs alone: their word vectors are those of a configured feature.
        let is_listed = features.iter().any(|other| other.name == feature.embeddings.feature);
        let features = if is_listed { features } else { &self.config.feature };
        let embeddings = feature.embeddings.key(features, self.base);
        let embeddings = embeddings.with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
        if !embeddings.is_null() {
            keys.push(Key::of_json(&embeddings));
        }
        Ok(keys)
    }
}
