//! Graphs of known architectures, written natively for folders that hold weights (`model.safetensors`) and no graph.
//!
//! The graph names the weights where they lie, and ONNX Runtime reads them from there: nothing is converted, copied or kept, and no
//! Python runs. The architectures follow the classes of transformers (`transformers/models/*/modeling_*.py`).

mod attention;
mod bart;
mod bert;
mod cache;
mod decoder;
mod graph;
mod lstm;
mod modernbert;
pub(crate) mod proto;
mod rnn;
mod settings;
#[cfg(test)]
mod tests;
mod weights;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::graph::{Axis, GraphWriter, Value};
use self::settings::Settings;
use self::weights::Weights;
use super::published;
use inkstone_base::disk;
use inkstone_base::{bail, message};

/// Files of weights: one, or an index of several.
const WEIGHTS: [&str; 2] = ["model.safetensors", "model.safetensors.index.json"];
/// Weights as a program for Python's pickle.
const PICKLE: &str = "pytorch_model.bin";

/// The `model_type` of models with an encoder and a decoder: attention alone, and recurrent ones that this program trains.
const BART: &str = "bart";
const RNN: &str = "rnn-seq2seq";

/// Changes where a graph gives other numbers for the same weights.
pub(crate) const VERSION: u32 = 2;

/// The scores of a graph's head.
const LOGITS: &str = "logits";

/// Outputs of a graph. Logits over a vocabulary cost as much as many layers, so they are left out where vectors are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Vectors of tokens, and the scores of the heads that read them: classes, answers, next sentence.
    Vectors,
    /// Logits over the vocabulary.
    Words,
    /// Logits over the vocabulary behind the last tokens, with keys and values of the tokens before. Of a model with an encoder and a decoder, the
    /// encoder's vectors of tokens.
    Writing,
    /// Of a model with an encoder and a decoder, the decoder's logits in the first step. The graph takes the encoder's vectors of the source, and gives the
    /// keys and values of the source and of the first tokens.
    FirstStep,
    /// Of a model with an encoder and a decoder, the decoder's logits in a later step. The graph takes the keys and values of the source and of the tokens
    /// before.
    LaterStep,
    /// All, to be described.
    All,
}

impl Wanted {
    fn vectors(self) -> bool {
        matches!(self, Wanted::Vectors | Wanted::All)
    }

    fn words(self) -> bool {
        self != Wanted::Vectors
    }
}

/// True for a file that holds weights, or an index of such files.
pub(crate) fn is_weights(path: &Path) -> bool {
    path.file_name().is_some_and(|name| WEIGHTS.iter().any(|weights| name == *weights))
}

/// The weights of a folder whose config.json names an architecture; none where it has neither.
pub(crate) fn weights_in(folder: &Path) -> Result<Option<PathBuf>> {
    let found = WEIGHTS.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let pickled = folder.join(PICKLE);
    if found.is_none() && pickled.is_file() {
        bail!(
            "{} 是以 Python 程序（pickle）保存的权重，可能运行任何代码，不予打开。若信任该文件，请写成 safetensors：python3 -c \"from transformers import AutoModel; AutoModel.from_pretrained('FOLDER').save_pretrained('FOLDER', safe_serialization=True)\"",
            "{} holds weights as a Python program (pickle), which could run anything and is not opened. Write them as safetensors where you trust the file: python3 -c \"from transformers import AutoModel; AutoModel.from_pretrained('FOLDER').save_pretrained('FOLDER', safe_serialization=True)\"",
            pickled.display()
        );
    }
    Ok(found)
}

/// True for weights of an encoder with a decoder, for which three graphs are written.
pub(crate) fn has_decoder(path: &Path) -> Result<bool> {
    Ok(is_weights(path) && matches!(Settings::read(disk::folder_of(path))?.text("model_type"), Some(BART | RNN)))
}

/// A graph that was written for weights.
pub(crate) struct WrittenGraph {
    /// A model in the format of ONNX, which names the files of the weights.
    pub(crate) bytes: Vec<u8>,
    /// Names of these files in the folder of the model.
    pub(crate) files: BTreeSet<PathBuf>,
    /// The folder where they lie, under these names or, behind links, under others.
    pub(crate) folder: PathBuf,
}

/// The graph for a file of weights.
pub(crate) fn graph(path: &Path, wanted: Wanted) -> Result<WrittenGraph> {
    let folder = disk::folder_of(path);
    let settings = Settings::read(folder)?;
    let weights = Weights::read(path)?;
    let family = settings.text("model_type").with_context(|| {
        message!(
            "{} 没有 model_type，因此不知道 {} 的结构",
            "{} has no model_type, so the architecture of {} is not known",
            settings.file(),
            path.display()
        )
    })?;
    let mut graph = GraphWriter::new(&weights);
    // The head of a language model is of no use to one that gives vectors of texts.
    let wanted = if published::is_published(folder) && wanted == Wanted::All { Wanted::Vectors } else { wanted };
    let write = match family {
        "bert" | "roberta" | "xlm-roberta" | "camembert" | "ernie" | "electra" | "albert" | "distilbert" => bert::write,
        "gpt2" => decoder::write_gpt2,
        BART => bart::write,
        RNN => rnn::write,
        "lstm" => lstm::write,
        "qwen2" | "qwen3" => decoder::write_qwen,
        "modernbert" => modernbert::write,
        _ => bail!(
            "{} 属于 {family:?} 系列，这里不能为它写图（支持 bert、roberta、xlm-roberta、camembert、ernie、electra、albert、distilbert、gpt2、lstm、bart、rnn-seq2seq、qwen2、qwen3、modernbert）。请导出：optimum-cli export onnx --model {} FOLDER",
            "{} is of the family {family:?}, for which no graph is written here (bert, roberta, xlm-roberta, camembert, ernie, electra, albert, distilbert, gpt2, lstm, bart, rnn-seq2seq, qwen2, qwen3, modernbert are). Export it: optimum-cli export onnx --model {} FOLDER",
            path.display(),
            folder.display()
        ),
    };
    write(&mut graph, &weights, &settings, wanted)
        .with_context(|| message!("无法为 {} 写图", "no graph is written for {}", path.display()))?;
    Ok(WrittenGraph { bytes: graph.finish(), files: weights.files, folder: weights.folder })
}

/// The prefix of the names of the body's weights; empty where the body was saved alone.
fn body<'p>(weights: &Weights, prefix: &'p str) -> &'p str {
    if weights.any_begins(prefix) { prefix } else { "" }
}

/// Gives out the vectors of the tokens after each layer, from the embeddings on, `[batch, sequence, hidden]`; before them those of the last,
/// as other programs read the first output of a graph.
fn give_layers(graph: &mut GraphWriter<'_>, layers: &[Value], hidden: usize) {
    let shape = || [Axis::Named("batch"), Axis::Named("sequence"), Axis::Size(hidden)];
    if let Some(last) = layers.last() {
        graph.output("last_hidden_state", *last, &shape());
    }
    for (number, layer) in layers.iter().enumerate() {
        graph.output(&format!("hidden_states.{number}"), *layer, &shape());
    }
}

/// Gives out logits of texts `[batch, classes]`.
fn give_classes(graph: &mut GraphWriter<'_>, logits: Value, classes: usize) {
    graph.output(LOGITS, logits, &[Axis::Named("batch"), Axis::Size(classes)]);
}

/// Gives out logits of tokens `[batch, sequence, size]`.
fn give_logits(graph: &mut GraphWriter<'_>, logits: Value, size: usize) {
    give_tokens(graph, LOGITS, logits, size);
}

/// Gives out logits of tokens `[batch, sequence, size]` under this name.
fn give_tokens(graph: &mut GraphWriter<'_>, name: &str, logits: Value, size: usize) {
    graph.output(name, logits, &[Axis::Named("batch"), Axis::Named("sequence"), Axis::Size(size)]);
}

/// Gives out the logits of a head that reads each token: tags `[batch, sequence, tags]`, or the first and the last token of an answer
/// `[batch, sequence]` each. False where the class has no such head.
fn give_token_head(graph: &mut GraphWriter<'_>, settings: &Settings, x: Value, hidden: usize) -> Result<bool> {
    let class = settings.class();
    if class.ends_with("ForTokenClassification") {
        let tags = settings.labels()?;
        let logits = graph.linear(x, "classifier", hidden, tags)?;
        give_logits(graph, logits, tags);
        return Ok(true);
    }
    if !class.ends_with("ForQuestionAnswering") {
        return Ok(false);
    }
    let both = graph.linear(x, "qa_outputs", hidden, 2)?;
    for (number, name) in ["start_logits", "end_logits"].into_iter().enumerate() {
        let number = graph.int(number as i64);
        let logits = graph.gather(both, number, 2);
        graph.output(name, logits, &[Axis::Named("batch"), Axis::Named("sequence")]);
    }
    Ok(true)
}

/// The vector of the first token, `[batch, hidden]`.
fn first_token(graph: &mut GraphWriter<'_>, x: Value) -> Value {
    let zero = graph.int(0);
    graph.gather(x, zero, 1)
}

/// Logits over the vocabulary by a decoder that has weights of its own, or the vectors of the tokens where it shares them.
fn words(graph: &mut GraphWriter<'_>, x: Value, own: &str, shared: &str, [width, size]: [usize; 2]) -> Result<Value> {
    let name = if graph.has(own) { own } else { shared };
    let weights = graph.weight(name, &[size, width])?;
    let weights = graph.transpose(weights, &[1, 0]);
    Ok(graph.matmul(x, weights))
}
