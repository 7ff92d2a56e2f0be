//! The functions of the page of contextual models.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::opened::OpenProject;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_features::extract::Model;
use inkstone_onnx::runtime::{Agreement, Machine, NamedLibrary};
use inkstone_onnx::{OnnxParams, Opening, Probe, Sample, WordCutter, meter, models};
use inkstone_tables::corpus::column;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use inkstone_text::{Segmenter, TokenizerParams};
use inkstone_tui::{OnnxBench, UnknownLibrary};

/// Longest time of a measurement; the batch that runs at its end is finished.
const LIMIT: Duration = Duration::from_secs(20);
/// Number of documents of the corpus in a measurement.
const DOCUMENTS: usize = 256;

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject) -> Option<OnnxBench> {
    let (config, base) = (&opened.config, opened.base.clone());
    let features = config.feature.iter().filter(|feature| feature.model == Model::Onnx);
    let features: Vec<(String, OnnxParams)> = features.map(|f| (f.name.clone(), f.onnx.clone())).collect();
    let running = ModelRuntime { tokenizer: config.tokenizer.clone(), opened: opened.clone() };
    let (asking, measuring, probe) = (running.clone(), running, Arc::new(Probe::default()));
    let project = opened.project();
    let (place, beside) = (config.onnx.clone(), base.clone());
    Some(OnnxBench {
        machine: Arc::new(move || Machine::look(&place, &beside)),
        models: Arc::new(move |ctx| models(&base, &features, ctx)),
        hash: Arc::new(disk::hash_file_in_full),
        ask: Arc::new(move |listed, question, ctx| {
            probe.ask(listed, question, &|| asking.words(), &asking.opening(ctx)?, ctx)
        }),
        measure: Arc::new(move |listed, length, ctx, each| {
            let sample =
                length.map_or_else(|| texts(&project).map(Sample::Texts), |tokens| Ok(Sample::Tokens(tokens)))?;
            let how = (&|| measuring.words()) as &dyn Fn() -> Result<WordCutter>;
            meter(listed, &sample, LIMIT, (how, &measuring.opening(ctx)?), ctx, each)
        }),
        place: config.onnx.clone(),
    })
}

/// The library that the configuration names, where the user has not agreed to it.
pub(super) fn unknown_library(opened: &OpenProject) -> Result<Option<UnknownLibrary>> {
    let Some(library) = opened.config.onnx.library.as_ref().filter(|_| !opened.config.onnx.trusted) else {
        return Ok(None);
    };
    let Some(named) = NamedLibrary::find(&opened.base.join(library), &opened.base)? else { return Ok(None) };
    let changed = match named.agreement()? {
        Agreement::Given => return Ok(None),
        agreement => agreement == Agreement::Changed,
    };
    Ok(Some(UnknownLibrary { file: named.file().to_owned(), changed, agree: Arc::new(move || named.agree()) }))
}

/// The project that models run for.
#[derive(Clone)]
struct ModelRuntime {
    tokenizer: TokenizerParams,
    opened: OpenProject,
}

impl ModelRuntime {
    fn opening(&self, ctx: &Ctx) -> Result<Opening<'static>> {
        let place = &self.opened.config.onnx;
        let runtime = place.load(&self.opened.base)?;
        Ok(Opening { runtime, device: place.device, threads: ctx.threads(), base: Path::new("") })
    }

    /// Models of words have their text cut as the project cuts it.
    fn words(&self) -> Result<WordCutter> {
        Ok(WordCutter::Segmenter(Box::new(Segmenter::new(&self.tokenizer, &self.opened.base)?)))
    }
}

/// Documents of the corpus, title and body, spread over its first part.
fn texts(project: &Project) -> Result<Vec<String>> {
    let [clean, documents] = [project.clean().files()?, project.documents().files()?];
    let file = clean.first().or(documents.first());
    let file = file.context(Word(
        "还没有可用来测速的语料：请运行流水线，或按 t 用生成的文本",
        "there is no corpus yet to measure with: run the pipeline, or press t for generated text",
    ))?;
    let frame = frames::read_parquet(file, Some(&["title", "body"]))?;
    let [titles, bodies] = [column(&frame, "title")?.str()?, column(&frame, "body")?.str()?];
    let step = frame.height().div_ceil(DOCUMENTS).max(1);
    let text = |row: usize| [titles.get(row), bodies.get(row)].map(Option::unwrap_or_default).join("\n");
    let texts: Vec<String> = (0..frame.height()).step_by(step).map(text).collect();
    ensure!(!texts.is_empty(), "{} 没有文档", "{} holds no documents", file.display());
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::Global;
    use inkstone_base::data::Document;
    use inkstone_onnx::testing::{has_library, section};
    use inkstone_onnx::{Question, Reply};
    use inkstone_tables::corpus::documents_to_frame;

    /// A project with the demonstration model as a feature, and no documents.
    fn project() -> (tempfile::TempDir, OpenProject) {
        let folder = tempfile::tempdir().unwrap();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/model");
        fs::create_dir(folder.path().join("model")).unwrap();
        for file in ["model.onnx", "config.json", "tokenizer.json"] {
            fs::copy(model.join(file), folder.path().join("model").join(file)).unwrap();
        }
        let library = section().library.unwrap();
        let written = format!(
            "[project]\nname = \"one\"\n[onnx]\ndevice = \"cpu\"\nlibrary = {library:?}\n[[feature]]\nname = \"tone\"\nmodel = \"onnx\"\n\
             onnx = {{ model = \"model\", fitted_until = \"2022-12-31\", output = \"scores\" }}\n"
        );
        let file = folder.path().join("workbench.toml");
        fs::write(&file, written).unwrap();
        let global = Global { headless: true, threads: Some(1), seed: None, lang: None, trust: false };
        let opened = OpenProject::read(&file, "run", &global).unwrap();
        (folder, opened)
    }

    #[test]
    fn the_models_of_a_configuration_are_listed_asked_and_measured() {
        if !has_library() {
            return;
        }
        let (_folder, opened) = project();
        let bench = bench(&opened).unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        assert!((bench.machine)().library.is_ok());
        let models = (bench.models)(&ctx).unwrap();
        assert_eq!(
            (models.len(), models[0].shown.as_str(), models[0].uses[0].0.as_str()),
            (1, "model/model.onnx", "tone")
        );
        assert_eq!((bench.hash)(&models[0].file).unwrap().len(), 64);
        let answered = (bench.ask)(&models[0], &Question::Fill("公司净利[MASK]同比增[MASK]。".into()), &ctx).unwrap();
        let Reply::Fill(masks) = answered.reply else { panic!("masks were asked for") };
        assert_eq!((masks[0][0].token.as_str(), answered.ran.device.as_str()), ("润", "cpu"));

        let error = (bench.measure)(&models[0], None, &ctx, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("there is no corpus yet") && error.contains("press t"), "{error}");
        let documents: Vec<Document> = (0..3)
            .map(|i| Document { doc_id: format!("news/{i}"), body: "订单充足。".repeat(i), ..Document::default() })
            .collect();
        let project = opened.project();
        project.documents().write(0, &mut documents_to_frame(&documents).unwrap()).unwrap();
        assert_eq!(texts(&project).unwrap()[2], "\n订单充足。订单充足。");
        let mut sizes = Vec::new();
        let metered = (bench.measure)(&models[0], None, &ctx, &mut |round| sizes.push(round.batch)).unwrap();
        assert_eq!((sizes, metered.rounds.len()), (vec![1, 2], 2), "one document has no text to read");
    }
}
