//! The model file of a neural language model.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;

use super::{LanguageKind, LanguageParams, LanguageWords, NeuralLanguage, WordTree};
use crate::neural::file::{Saved, read_settings, read_weights};
use crate::{ModelFile, pack_strings};

use inkstone_base::{bail, ensure};

impl LanguageKind {
    /// The network that files of this kind hold.
    pub fn of_file(kind: &str) -> Option<LanguageKind> {
        LanguageKind::ALL.into_iter().find(|known| known.name() == kind)
    }
}

impl NeuralLanguage {
    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Result<()> {
        let NeuralLanguage { params, weights, epochs, .. } = self;
        let words = pack_strings(self.words.words.iter().map(AsRef::as_ref));
        let tree = self.tree.as_ref().map(|tree| ("tree", bytemuck::cast_slice(tree.order())));
        let sections = [("words", &words[..]), ("counts", bytemuck::cast_slice(&self.words.counts))];
        let sections: Vec<(&str, &[u8])> = sections.into_iter().chain(tree).collect();
        Saved { kind: params.kind.name(), params, weights, epochs }.write(path, cut, documents, fitted_until, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<NeuralLanguage> {
        let Some(kind) = LanguageKind::of_file(&file.header().kind) else {
            bail!(
                "类型为 {} 的模型不是神经语言模型",
                "a model of kind {} is no neural language model",
                file.header().kind
            )
        };
        let (params, epochs): (LanguageParams, _) = read_settings(file, kind.name())?;
        params.check()?;
        let words = file.strings("words")?.into_iter().map(Box::from).collect();
        let words = LanguageWords::new(words, file.counts("counts")?)?;
        let weights = read_weights(file, params.shapes(words.classes()))?;
        let tree = params.tree.then(|| WordTree::new(file.numbers::<u32>("tree")?.to_vec())).transpose()?;
        ensure!(
            tree.as_ref().is_none_or(|tree| tree.order().len() == words.classes()),
            "词树与词表不符；请重新训练",
            "the tree of words does not fit the vocabulary; train the model again"
        );
        Ok(NeuralLanguage { params, words, tree, weights, epochs })
    }
}
