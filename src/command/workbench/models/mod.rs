//! The functions of the page of models: the model files of a project, their answers, and training as `inkstone train` does it.

mod answers;
mod cards;
#[cfg(test)]
mod tests;
mod training;

use std::path::Path;
use std::sync::Arc;

pub(in crate::command) use training::train;

use crate::command::opened::OpenProject;
use inkstone_tui::ModelBench;

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject) -> Option<ModelBench> {
    let project = opened.project();
    let base = opened.base.clone();
    let dictionaries = &opened.config.tokenizer.dictionaries;
    let cutting = dictionaries.iter().flat_map(|path| ["--dict".to_owned(), shown(&opened.base.join(path))]);
    let kept = project.dir().to_owned();
    Some(ModelBench {
        corpus: shown(project.clean().folder()),
        cutting: cutting.collect(),
        folder: shown(&base.join("models")),
        list: Arc::new(move |ctx| cards::list(&base, &kept, ctx)),
        open: Arc::new(answers::open),
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
