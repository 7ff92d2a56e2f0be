//! The models of a project: a description of each from its files, without the library, and the features that use it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use walkdir::WalkDir;

use super::architecture;
use super::embedding::finished_vector;
use super::encoder::ENCODERS;
use super::family::{Config, Family};
use super::files::{Files, has_graphs};
use super::graph::{Hidden, output};
use super::header::Header;
use super::heads;
use super::masked::LOGITS;
use super::params::OnnxParams;
use super::published::Published;
use super::session::Port;
use super::settled::{Settled, VectorRules};
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_text::subword::Subword;

/// Folders of models are looked into so far.
const DEPTH: usize = 4;
/// Files found at the most; more are no models of one project.
const MOST: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// Vectors of tokens.
    Vectors {
        /// Values of a vector, where the graph says it.
        size: Option<usize>,
        /// Layers that there are vectors of, the embeddings among them.
        layers: usize,
    },
    /// Probabilities of so many classes of a text.
    Classes(Option<usize>),
    /// Labels of tokens: names in a text.
    Labels,
    /// Tokens behind masks.
    Masks,
    /// Probability of a token after those before it.
    Next,
    /// It reads the vectors of an encoder and writes text.
    Writes,
}

/// Tokenizer of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// Tokens.
    pub size: usize,
    /// The token that hides another, where there is one.
    pub mask: Option<String>,
    /// The number of the token that fills rows up.
    pub pad: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Description {
    pub header: Header,
    /// Bytes on disk, weights beside it included.
    pub bytes: u64,
    pub heads: Vec<Head>,
    /// `model_type` of config.json; empty where it does not say it.
    pub family: String,
    /// Tokens of a window at most, special ones included.
    pub limit: Option<usize>,
    pub labels: Vec<String>,
    /// How the folder says that vectors are made, or the reason why that cannot be read; empty where it says nothing.
    pub published: Result<Vec<Settled>, Message>,
    /// Tokenizer, or the reason why there is none; none for models of characters.
    pub vocabulary: Option<Result<Vocabulary, Message>>,
}

impl Description {
    /// The length of its vectors.
    pub fn hidden(&self) -> Option<usize> {
        let size = |head: &Head| if let Head::Vectors { size, .. } = head { *size } else { None };
        self.heads.iter().find_map(size)
    }

    /// Layers that it gives, the embeddings among them.
    pub fn layers(&self) -> Option<usize> {
        let layers = |head: &Head| if let Head::Vectors { layers, .. } = head { Some(*layers) } else { None };
        self.heads.iter().find_map(layers)
    }

    /// The token that hides another, where the model has one.
    pub fn mask(&self) -> Option<&str> {
        self.vocabulary.as_ref()?.as_ref().ok()?.mask.as_deref()
    }
}

/// A model of a project.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The file; where a feature names a model that is not there, that name.
    pub file: PathBuf,
    /// The same as it is shown: relative to the configuration where it lies below it.
    pub shown: String,
    /// Features that use it, and how; paths are from the working folder, not from the configuration's.
    pub uses: Vec<(String, OnnxParams)>,
    /// Description, or the error in words.
    pub found: Result<Description, Message>,
}

impl Listed {
    /// Parameters to open it with: of the first feature that reads vectors of it, else of the first feature, else the defaults.
    pub fn params(&self) -> OnnxParams {
        let vectors = self.uses.iter().find(|(_, params)| params.output == super::Output::Embedding);
        let params = vectors.or(self.uses.first()).map(|(_, params)| params.clone()).unwrap_or_default();
        OnnxParams { model: self.file.clone(), ..params }
    }
}

/// The models that features use, and those in the folder `base` itself and in folders `model*` of it.
pub fn models(base: &Path, features: &[(String, OnnxParams)], ctx: &Ctx) -> Result<Vec<Listed>> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut known = BTreeMap::new();
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    };
    let shown = |file: &Path| file.strip_prefix(base).unwrap_or(file).display().to_string();
    for (name, params) in features {
        ctx.check()?;
        let from_base = |path: &Path| if path.as_os_str().is_empty() { PathBuf::new() } else { base.join(path) };
        let (model, tokenizer) = (from_base(&params.model), from_base(&params.tokenizer));
        let params = OnnxParams { model, tokenizer, ..params.clone() };
        let found = Files::new(&params, Path::new(""), &ENCODERS);
        let file = found.as_ref().map_or_else(|_| params.model.clone(), |files| files.model.clone());
        match listed.iter_mut().find(|listed| same(&listed.file, &file)) {
            Some(listed) => listed.uses.push((name.clone(), params)),
            None => {
                let found =
                    found.and_then(|files| describe(&files, &mut known)).map_err(|error| Message::of_error(&error));
                let uses = vec![(name.clone(), params)];
                listed.push(Listed { shown: shown(&file), file, uses, found });
            }
        }
    }
    for file in files(base) {
        ctx.check()?;
        if listed.iter().any(|listed| same(&listed.file, &file)) {
            continue;
        }
        let params = OnnxParams { model: file.clone(), ..OnnxParams::default() };
        let files = Files::new(&params, Path::new(""), &ENCODERS);
        let found = files.and_then(|files| describe(&files, &mut known)).map_err(|error| Message::of_error(&error));
        listed.push(Listed { shown: shown(&file), file, uses: Vec::new(), found });
    }
    Ok(listed)
}

/// The graphs of a project's folder and of the folders `model*` in it, and weights that no graph lies beside, in order.
fn files(base: &Path) -> Vec<PathBuf> {
    let walk = WalkDir::new(base).follow_links(true).max_depth(DEPTH).sort_by_file_name().into_iter();
    let looked_into = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() != 1 || !entry.file_type().is_dir() || name.to_lowercase().starts_with("model")
    };
    let is_model = |entry: &walkdir::DirEntry| {
        let path = entry.path();
        entry.file_type().is_file()
            && (path.extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx")) || is_weights_alone(path))
    };
    let found = walk.filter_entry(looked_into).flatten().filter(is_model);
    found.take(MOST).map(walkdir::DirEntry::into_path).collect()
}

/// True for weights for which a graph is written, as their folder holds none.
fn is_weights_alone(path: &Path) -> bool {
    let folder = disk::folder_of(path);
    architecture::is_weights(path)
        && !has_graphs(folder)
        && Config::read(folder).is_ok_and(|config| !config.model_type.is_empty())
}

type Known = BTreeMap<(PathBuf, bool), Result<Vocabulary, Message>>;

/// Describes a model by its file and the files beside it; tokenizers are read once.
fn describe(files: &Files, known: &mut Known) -> Result<Description> {
    let header = Header::read(&files.model)?;
    let of_graph = disk::folder_of(&files.model);
    let weights = |name: &PathBuf| std::fs::metadata(of_graph.join(name)).map_or(0, |meta| meta.len());
    let beside = header.beside.iter().filter(|name| of_graph.join(name) != files.model);
    let bytes = beside.map(weights).fold(std::fs::metadata(&files.model)?.len(), u64::saturating_add);
    let config = Config::read(&files.folder)?;
    let ports = |infos: &[super::TensorInfo]| infos.iter().map(super::TensorInfo::port).collect::<Vec<Port>>();
    let (inputs, outputs) = (ports(&header.inputs), ports(&header.outputs));
    let of_characters = inputs.iter().any(|port| port.is_integer() && port.rank() == 3);
    let of_words = config.model_type == "elmo";
    let vocabulary = (!of_characters).then(|| {
        let read = || vocabulary(&files.tokenizer, of_words).map_err(|error| Message::of_error(&error));
        known.entry((files.tokenizer.clone(), of_words)).or_insert_with(read).clone()
    });
    let read = vocabulary.as_ref().and_then(|known| known.as_ref().ok());
    let size = read.map(|known| known.size).or(config.vocab_size);
    let family = Family::new(&config, read.and_then(|known| known.pad));
    let fixed = inputs.iter().find(|port| port.is_integer() && port.rank() == 2).and_then(|port| port.shape.get(1));
    let fixed = fixed.and_then(|&size| usize::try_from(size).ok());
    let limit = family.limit.into_iter().chain(fixed).min();
    let heads = heads_of(&inputs, &outputs, &config, family.causal, size);
    let classes = |head: &Head| if let Head::Classes(count) = head { Some(*count) } else { None };
    let classes = heads.iter().find_map(classes);
    let labels = classes.map_or_else(|| Ok(Vec::new()), |count| config.labels(count))?;
    let own = finished_vector(&outputs, None);
    let published = Published::read(&files.folder)
        .and_then(|published| VectorRules::new(&OnnxParams::default(), published, own))
        .map_err(|error| Message::of_error(&error));
    let stated = published.as_ref().map_or(0, |rules| rules.max_tokens);
    let limit = limit.into_iter().chain((stated > 0).then_some(stated)).min();
    let published = published.map(|rules| rules.settled);
    Ok(Description { header, bytes, heads, family: family.name, limit, labels, published, vocabulary })
}

fn vocabulary(tokenizer: &Path, of_words: bool) -> Result<Vocabulary> {
    let subword = match of_words {
        true if tokenizer.is_dir() => Subword::words(&tokenizer.join("vocab.txt"))?,
        true => Subword::words(tokenizer)?,
        false => Subword::open(tokenizer)?,
    };
    ensure!(subword.size() > 0, "分词器 {} 不认识任何词元", "the tokenizer {} knows no token", tokenizer.display());
    let mask = subword.mask_id().and_then(|mask| subword.token(mask));
    Ok(Vocabulary { size: subword.size(), mask, pad: subword.pad_id() })
}

/// Uses of a graph with these inputs and outputs, and a vocabulary of so many tokens.
fn heads_of(inputs: &[Port], outputs: &[Port], config: &Config, causal: bool, vocabulary: Option<usize>) -> Vec<Head> {
    if inputs.iter().any(|port| port.name == "encoder_hidden_states") {
        return vec![Head::Writes];
    }
    let of_axis = |port: &Port, axis: usize| port.shape.get(axis).and_then(|&size| usize::try_from(size).ok());
    let mut found = Vec::new();
    if let Some(name) = finished_vector(outputs, None) {
        let port = outputs.iter().find(|port| port.name == name);
        let size = port.and_then(|port| of_axis(port, 1)).or(config.hidden());
        found.push(Head::Vectors { size, layers: 1 });
    }
    if let Some(hidden) = Hidden::new(outputs) {
        let last = match &hidden {
            Hidden::Each(names) => names.first(),
            Hidden::Stacked(name, _) | Hidden::Last(name) => Some(name),
        };
        let port = last.and_then(|name| outputs.iter().find(|port| port.name == *name));
        let size = port.and_then(|port| of_axis(port, port.rank() - 1)).or(config.hidden());
        found.push(Head::Vectors { size, layers: hidden.layers() });
    }
    if let Some(port) = output(outputs, &["logits", "output", "scores"], 2) {
        found.push(Head::Classes(of_axis(port, 1)));
    }
    if let Some(port) = output(outputs, &LOGITS, 3) {
        let names = config.id2label.values().any(|label| heads::kind_of(label).is_some());
        let of_tokens = match (of_axis(port, 2), vocabulary) {
            (Some(size), Some(vocabulary)) => size >= vocabulary,
            _ => !names,
        };
        found.push(match (of_tokens, causal) {
            (false, _) => Head::Labels,
            (true, true) => Head::Next,
            (true, false) => Head::Masks,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{graph, params};
    use super::*;

    fn ctx() -> Ctx {
        Ctx::new(1, 1).unwrap()
    }

    fn described(name: &str) -> Description {
        let listed = models(Path::new(""), &[("one".to_owned(), params(name))], &ctx()).unwrap();
        listed.into_iter().next().unwrap().found.unwrap()
    }

    #[test]
    fn what_can_be_done_with_a_model_is_read_off_its_outputs() {
        let vectors = |size, layers| Head::Vectors { size: Some(size), layers };
        for (name, heads) in [
            ("bert-mlm", vec![Head::Masks]),
            ("bert-classifier", vec![Head::Classes(Some(3))]),
            ("bert-tokens", vec![Head::Labels]),
        ] {
            assert_eq!(described(name).heads, heads, "{name}");
        }
        assert!(described("gpt2").heads.contains(&Head::Next), "{:?}", described("gpt2").heads);
        let bert = described("bert");
        assert_eq!((bert.family.as_str(), bert.hidden()), ("bert", Some(16)), "{:?}", bert.heads);
        let demo = OnnxParams {
            model: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/model"),
            ..OnnxParams::default()
        };
        let demo = models(Path::new(""), &[("tone".to_owned(), demo)], &ctx()).unwrap().remove(0).found.unwrap();
        assert_eq!(demo.heads, [vectors(128, 3), Head::Classes(Some(3)), Head::Masks]);
        assert_eq!(
            (demo.limit, demo.mask(), demo.labels.join(" ").as_str()),
            (Some(512), Some("[MASK]"), "negative neutral positive")
        );
        assert_eq!(demo.vocabulary.unwrap().unwrap().size, 1400);
    }

    #[test]
    fn models_of_features_come_first_and_each_file_once() {
        let base = tempfile::tempdir().unwrap();
        let put = |from: &str, to: &str| {
            let to = base.path().join(to);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(graph(from), to).unwrap();
        };
        put("bert/model.onnx", "models/bert/model.onnx");
        put("bert/tokenizer.json", "models/bert/tokenizer.json");
        put("bert/config.json", "models/bert/config.json");
        put("bert/model_fp16.onnx", "Models.old/half.onnx");
        put("bert/model.onnx", "exports/model.onnx");
        put("broken/not_onnx.onnx", "broken.onnx");
        let params = |model: &str| OnnxParams { model: model.into(), ..OnnxParams::default() };
        let features = [
            ("gone".to_owned(), params("nowhere")),
            ("tone".to_owned(), params("models/bert")),
            ("tail".to_owned(), params("models/bert/model.onnx")),
        ];
        let listed = models(base.path(), &features, &ctx()).unwrap();
        let shown: Vec<&str> = listed.iter().map(|listed| listed.shown.as_str()).collect();
        assert_eq!(shown, ["nowhere", "models/bert/model.onnx", "Models.old/half.onnx", "broken.onnx"]);
        assert!(listed[0].found.as_ref().unwrap_err().contains("there is no model"), "{:?}", listed[0].found);
        let names: Vec<&str> = listed[1].uses.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["tone", "tail"]);
        assert!(listed[1].found.is_ok(), "{:?}", listed[1].found);
        let half = listed[2].found.as_ref().unwrap();
        assert!(half.vocabulary.as_ref().unwrap().as_ref().unwrap_err().contains("no tokenizer"), "{half:?}");
        assert!(listed[3].found.as_ref().unwrap_err().contains("is not an ONNX model"));
    }
}
