//! The functions of the page of models: the model files of a project, their answers, and training as `inkstone train` does it.

mod answers;
mod cards;
#[cfg(test)]
mod tests;
mod training;

use std::path::Path;
use std::sync::Arc;

pub(in crate::command) use training::train;

use super::lazy::Lazy;
use crate::command::opened::OpenProject;
use inkstone_features::extract::Model;
use inkstone_models::Lexicon;
use inkstone_tui::ModelBench;

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject) -> Option<ModelBench> {
    let project = opened.project();
    let base = opened.base.clone();
    let dictionaries = &opened.config.tokenizer.dictionaries;
    let cutting = dictionaries.iter().flat_map(|path| ["--dict".to_owned(), shown(&opened.base.join(path))]);
    let kept = project.dir().to_owned();
    let feature = opened.config.feature.iter().find(|feature| feature.model == Model::Lexicon);
    let lexicon = feature.map(|feature| feature.lexicon.clone()).unwrap_or_default();
    let (tones, words_from): (Lazy<Arc<Lexicon>>, _) = (Lazy::default(), opened.base.clone());
    Some(ModelBench {
        corpus: shown(project.clean().folder()),
        cutting: cutting.collect(),
        folder: shown(&base.join("models")),
        list: Arc::new(move |ctx| cards::list(&base, &kept, ctx)),
        open: Arc::new(move |path, ctx| {
            let tones = tones.get_or_load(|| Ok(Arc::new(Lexicon::new(&lexicon, &words_from)?)))?;
            answers::open(path, tones.clone(), ctx)
        }),
        check: Arc::new(training::check),
        train: Arc::new(training::train),
        kinds: training::kinds,
    })
}

/// A path as a command is given it.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    text.strip_prefix("./").map(str::to_owned).unwrap_or(text)
}
