//! The registry of the models of features: a new model is a folder here and an arm of [`Model::entry`].

use super::{
    clusters, estimators, fasttext, file, glove, induced, lexicon, lsa, ngram, onnx, sestm, textnet, tfidf,
    transformer, word2vec,
};
use crate::extract::Model;
use crate::extract::entry::ModelEntry;
use inkstone_models::Method;

impl Model {
    pub(crate) fn entry(self) -> ModelEntry {
        match self {
            Model::Lexicon => lexicon::project::ENTRY,
            Model::Tfidf => tfidf::project::ENTRY,
            Model::Lsa => lsa::project::ENTRY,
            Model::Ridge => estimators::project::entry(Method::Ridge),
            Model::Logistic => estimators::project::entry(Method::Logistic),
            Model::Bayes => estimators::project::entry(Method::Bayes),
            Model::Svm => estimators::project::entry(Method::Svm),
            Model::Boosted => estimators::project::entry(Method::Boosted),
            Model::Mlp => estimators::project::entry(Method::Mlp),
            Model::Sestm => sestm::project::ENTRY,
            Model::Induced => induced::project::ENTRY,
            Model::Clusters => clusters::project::ENTRY,
            Model::Surprise => ngram::project::ENTRY,
            Model::Word2vec => word2vec::project::ENTRY,
            Model::Glove => glove::project::ENTRY,
            Model::FastText => fasttext::project::ENTRY,
            Model::File => file::project::ENTRY,
            Model::Onnx => onnx::project::ENTRY,
            Model::Finetune => transformer::project::ENTRY,
            Model::TextCnn | Model::TextRnn => textnet::project::ENTRY,
        }
    }
}
