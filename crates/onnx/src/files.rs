//! Files of a model: the graph, the folder that describes it, the tokenizer.
//!
//! Hubs publish graphs in the folder `onnx` below config.json and the tokenizer, in several forms: `model.onnx`, and the same in fewer bits
//! (`model_fp16.onnx`, `model_quantized.onnx`, ...). Of a folder that holds several, `model.onnx` is read, else the most exact form, on
//! every device: a device never changes which weights are read. A form is chosen by naming its file. For a folder with weights and no
//! graph, the graph is written ([`architecture`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::architecture::{self, Wanted};
use super::header::Header;
use super::params::OnnxParams;
use super::published;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::{bail, ensure};

/// The folder of graphs within a published folder.
const GRAPHS: &str = "onnx";
/// Ends of the names of graphs in fewer bits, the most exact first.
const FORMS: [&str; 7] = ["_fp16", "_quantized", "_int8", "_uint8", "_q4", "_q4f16", "_bnb4"];
/// Files named in an error at the most.
const NAMED: usize = 12;

#[derive(Clone)]
pub(crate) struct Files {
    /// The graph.
    pub model: PathBuf,
    /// The folder of config.json.
    pub folder: PathBuf,
    pub tokenizer: PathBuf,
    /// Text is read in lower case, whatever the tokenizer does.
    pub lower_case: bool,
    /// The outputs of a graph that is written from weights.
    pub wanted: Wanted,
}

/// True for the name of a file that is opened as a model: a graph (.onnx), or published weights (model.safetensors or its index).
pub fn is_model_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx")) || architecture::is_weights(path)
}

impl Files {
    /// The files that settings name, relative to `base`.
    pub(crate) fn new(params: &OnnxParams, base: &Path, names: &[&str]) -> Result<Files> {
        let model = base.join(&params.model);
        let file = match model.is_dir() {
            true => match Files::in_folder(&model, names) {
                Err(error) if !has_graphs(&model) => architecture::weights_in(&model)?.ok_or(error)?,
                found => found?,
            },
            false => {
                let shown = model.display();
                ensure!(
                    model.exists(),
                    "没有模型 {shown}：请指定导出模型的文件夹，或其 .onnx 文件",
                    "there is no model {shown}: name the folder of an export, or its file .onnx"
                );
                model.clone()
            }
        };
        let folder = if model.is_dir() { model } else { folder_of_graph(&file) };
        let tokenizer =
            if params.tokenizer.as_os_str().is_empty() { folder.clone() } else { base.join(&params.tokenizer) };
        let lower_case = published::lower_case(&folder)?;
        Ok(Files { model: file, folder, tokenizer, lower_case, wanted: Wanted::Vectors })
    }

    /// The name of the graph, from the folder of config.json where it lies below it.
    pub(crate) fn shown(&self) -> String {
        let below = self.model.strip_prefix(&self.folder).unwrap_or(&self.model);
        below.display().to_string().replace(std::path::MAIN_SEPARATOR, "/")
    }

    /// Hash of all that rows of the model depend on, by content: the graph and all files of weights that it names; the tokenizer,
    /// config.json and every other JSON, text or SentencePiece file beside either; the modules of sentence-transformers. Folders may be
    /// moved.
    pub(crate) fn key(&self) -> Result<Key> {
        let of_graph = disk::folder_of(&self.model);
        let beside = Header::read(&self.model)?.beside;
        let apart = beside.into_iter().filter(|name| of_graph.join(name) != self.model);
        let weights = apart.map(|name| (format!("weights {}", name.display()), of_graph.join(name)));
        let mut files: BTreeMap<String, PathBuf> = weights.collect();
        files.insert("graph".into(), self.model.clone());
        let written = architecture::is_weights(&self.model).then_some(architecture::VERSION);
        if self.tokenizer.is_file() {
            files.insert("tokenizer".into(), self.tokenizer.clone());
        }
        let of_tokenizer = if self.tokenizer.is_dir() { &self.tokenizer } else { disk::folder_of(&self.tokenizer) };
        for (part, folder) in [("model", self.folder.as_path()), ("tokenizer", of_tokenizer)] {
            for extension in ["json", "txt", "model"] {
                for file in disk::files_in(folder, extension)?.into_iter().filter(|file| file.is_file()) {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    files.insert(format!("{part} {name}"), file);
                }
            }
        }
        for path in published::module_folders(&self.folder)? {
            for extension in ["json", "safetensors"] {
                for file in
                    disk::files_in(&self.folder.join(&path), extension)?.into_iter().filter(|file| file.is_file())
                {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    files.insert(format!("module {path}/{name}"), file);
                }
            }
        }
        let keys = files.into_iter().map(|(name, file)| Ok((name, disk::hash_file(&file)?)));
        let keys = keys.collect::<Result<Vec<(String, Key)>>>()?;
        Ok(written.map_or_else(|| Key::of_json(&keys), |version| Key::of_json(&(&keys, version))))
    }

    /// The graph of a folder, or of the folder `onnx` in it: one of these names, the only one that there is, or the most exact form of
    /// one of these names.
    pub(crate) fn in_folder(folder: &Path, names: &[&str]) -> Result<PathBuf> {
        let mut seen = Vec::new();
        for folder in [folder.to_owned(), folder.join(GRAPHS)] {
            let graphs = graphs_in(&folder);
            let named = names.iter().map(|name| folder.join(name)).find(|file| file.exists());
            let only = || graphs.first().filter(|_| graphs.len() == 1).cloned();
            let forms = FORMS.iter().flat_map(|form| names.iter().map(move |name| (name, form)));
            let mut forms = forms.map(|(name, form)| folder.join(name.replace(".onnx", &format!("{form}.onnx"))));
            let form = forms.find(|file| file.exists());
            if let Some(file) = named.or_else(only).or(form) {
                return Ok(file);
            }
            seen.extend(graphs);
        }
        let (shown, names) = (folder.display(), names.join(" or "));
        if seen.is_empty() {
            bail!(
                "文件夹 {shown} 没有 {names}，其中的 {GRAPHS} 文件夹也没有，且没有 model.safetensors",
                "the folder {shown} holds no {names}, nor does a folder {GRAPHS} in it, and there is no model.safetensors"
            );
        }
        seen.truncate(NAMED);
        let seen: Vec<String> = seen.iter().map(|file| file.display().to_string()).collect();
        bail!(
            "文件夹 {shown} 没有 {names}；请指定要读的文件，可选 {}",
            "the folder {shown} holds no {names}; name the file to be read, one of {}",
            seen.join(", ")
        )
    }
}

/// True if there is a graph in a folder, or in the folder `onnx` in it.
pub(crate) fn has_graphs(folder: &Path) -> bool {
    [folder.to_owned(), folder.join(GRAPHS)].iter().any(|folder| !graphs_in(folder).is_empty())
}

/// The files .onnx of a folder, by name.
fn graphs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|file| file.extension().is_some_and(|end| end == "onnx")).collect();
    files.sort();
    files
}

/// The folder that describes a graph: its own, or the one above where the graph lies in a folder `onnx` without a config.json.
pub(crate) fn folder_of_graph(file: &Path) -> PathBuf {
    let own = disk::folder_of(file).to_owned();
    let above = own.parent().filter(|_| own.file_name().is_some_and(|name| name == GRAPHS));
    match above.filter(|above| !own.join("config.json").exists() && above.join("config.json").exists()) {
        Some(above) => above.to_owned(),
        None => own,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{graph, params, with_weights_in_files};
    use super::*;

    #[test]
    fn models_are_files_of_graphs_and_of_published_weights() {
        let is = |name: &str| is_model_file(Path::new(name));
        assert!(is("m/tone.ONNX") && is("m/model.safetensors") && is("m/model.safetensors.index.json"));
        assert!(!is("m/other.safetensors") && !is("m/tone.model") && !is("m/model.json"));
    }

    #[test]
    fn the_key_is_of_all_files_that_are_read_and_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(with_weights_in_files(folder.path()) > 10);
        std::fs::create_dir(at("words")).unwrap();
        for (name, text) in
            [("README.md", "a model"), ("words/vocab.txt", "a\nb\n"), ("words/special_tokens_map.json", "{}")]
        {
            std::fs::write(at(name), text).unwrap();
        }
        let key = |tokenizer: &str| {
            let tokenizer = if tokenizer.is_empty() { PathBuf::new() } else { at(tokenizer) };
            let params = OnnxParams { model: folder.path().to_owned(), tokenizer, ..params("bert") };
            params.files_key(Path::new("")).unwrap()
        };
        let append = |name: &str| {
            let mut bytes = std::fs::read(at(name)).unwrap();
            bytes.push(b' ');
            std::fs::write(at(name), bytes).unwrap();
        };
        for (tokenizer, of_it) in [
            ("", &["tokenizer.json"][..]),
            ("words", &["words/vocab.txt", "words/special_tokens_map.json"]),
            ("words/vocab.txt", &["words/vocab.txt", "words/special_tokens_map.json"]),
        ] {
            for name in ["weights/0", "weights/7", "config.json"].iter().chain(of_it) {
                let before = key(tokenizer);
                append(name);
                assert_ne!(key(tokenizer), before, "{name} with the tokenizer {tokenizer:?}");
            }
            let before = key(tokenizer);
            append("README.md");
            assert_eq!(key(tokenizer), before);
        }
        let before = key("");
        std::fs::rename(at("weights/0"), at("weights/other")).unwrap();
        std::fs::rename(at("weights/7"), at("weights/0")).unwrap();
        std::fs::rename(at("weights/other"), at("weights/7")).unwrap();
        assert_ne!(key(""), before, "weights that change places");
        std::fs::remove_file(at("weights/0")).unwrap();
        let params = OnnxParams { model: folder.path().to_owned(), ..params("bert") };
        let error = format!("{:#}", params.files_key(Path::new("")).unwrap_err());
        assert!(error.contains("weights/0"), "{error}");
    }

    #[test]
    fn a_graph_below_its_folder_is_found_in_the_most_exact_form() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir(root.join("onnx")).unwrap();
        for file in ["config.json", "tokenizer.json"] {
            std::fs::copy(graph("bert").join(file), root.join(file)).unwrap();
        }
        let find = |model: &Path| {
            let params = OnnxParams { model: model.to_owned(), ..OnnxParams::default() };
            Files::new(&params, Path::new(""), &["model.onnx", "encoder_model.onnx"])
        };
        let shown = || find(root).map(|files| files.shown());
        let error = shown().unwrap_err().to_string();
        assert!(error.contains("holds no model.onnx or encoder_model.onnx, nor does a folder onnx"), "{error}");
        let put = |name: &str| std::fs::copy(graph("bert/model.onnx"), root.join(name)).unwrap();
        for (name, chosen) in [
            ("onnx/odd.onnx", Some("onnx/odd.onnx")),
            ("onnx/strange.onnx", None),
            ("onnx/model_q4.onnx", Some("onnx/model_q4.onnx")),
            ("onnx/model_quantized.onnx", Some("onnx/model_quantized.onnx")),
            ("onnx/model_fp16.onnx", Some("onnx/model_fp16.onnx")),
            ("onnx/model.onnx", Some("onnx/model.onnx")),
            ("model.onnx", Some("model.onnx")),
        ] {
            put(name);
            match chosen {
                Some(chosen) => assert_eq!(shown().unwrap(), chosen),
                None => {
                    let error = shown().unwrap_err().to_string();
                    assert!(error.contains("name the file") && error.contains("onnx/odd.onnx"), "{error}");
                }
            }
        }
        let named = find(&root.join("onnx/model_q4.onnx")).unwrap();
        assert_eq!((named.shown().as_str(), named.folder.as_path()), ("onnx/model_q4.onnx", root));
        assert_eq!(named.tokenizer, root);
        let before = named.key().unwrap();
        std::fs::write(root.join("config.json"), "{}").unwrap();
        assert_ne!(named.key().unwrap(), before, "what stands one folder up");
        std::fs::write(root.join("onnx/config.json"), "{}").unwrap();
        assert_eq!(find(&root.join("onnx/model_q4.onnx")).unwrap().folder, root.join("onnx"));
    }
}
