//! A model as a folder of ONNX that stands alone: as it is, in half precision, or with its large weights in whole numbers of 8 bits.
//!
//! The folder has the graphs, and all files beside them that say how text is read and what the outputs mean, so that the result is used as
//! the first was. Graphs are written last: a folder without them is no model.

mod fields;
mod graph;
mod half;
mod int8;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use self::graph::{GraphNode, HALF, ModelGraph, Numbers};
use self::write::{NewGraph, NewWeight};
use super::architecture::Wanted;
use super::encoder::ENCODERS;
use super::files::Files;
use super::generator::{DECODERS, LATER};
use super::params::OnnxParams;
use super::{architecture, published};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

/// Bytes of a graph in one file: readers of protocol buffers take no more than 2 GB.
const ONE_FILE: u64 = i32::MAX as u64;

/// Numbers in which the weights of a converted model are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Half precision: half the size, and faster on a CUDA device.
    Fp16,
    /// Whole numbers of 8 bits: a quarter of the size, and faster on a processor.
    Int8,
}

/// A graph that was converted.
#[derive(Debug, Serialize)]
pub struct ConvertedGraph {
    /// The file that was read.
    pub read: PathBuf,
    /// The file within the folder.
    pub file: String,
    /// Bytes of its weights before and after.
    pub bytes: [u64; 2],
    #[serde(flatten)]
    counted: Counted,
    /// Numbers beyond the range of half precision, which became its largest number.
    clamped: u64,
}

/// Operations by name.
#[derive(Debug, Default, Serialize)]
struct Counted {
    /// Those that work in the smaller precision.
    converted: BTreeMap<String, u64>,
    /// Those that read matrices of weights, or values in half precision, and stay in single precision.
    left: BTreeMap<String, u64>,
}

/// Names of values that are new in a graph.
struct Names(HashSet<String>);

impl Names {
    fn new(graph: &ModelGraph) -> Names {
        Names(graph.names())
    }

    /// This name, or one that begins with it, which no value has yet.
    fn fresh(&mut self, name: &str) -> String {
        let mut fresh = name.to_owned();
        while !self.0.insert(fresh.clone()) {
            fresh.push('_');
        }
        fresh
    }
}

/// A graph without operations and weights that nothing reads.
fn without_unused(old: &ModelGraph, mut nodes: Vec<GraphNode>, mut weights: Vec<NewWeight>) -> NewGraph {
    let mut used: HashSet<&str> = old.outputs.iter().map(String::as_str).collect();
    let mut keep = vec![false; nodes.len()];
    for (node, keep) in nodes.iter().zip(&mut keep).rev() {
        *keep = node.outputs.iter().any(|output| used.contains(output.as_str()));
        if *keep {
            used.extend(node.reads().map(String::as_str));
        }
    }
    weights.retain(|weight| used.contains(weight.name.as_str()));
    let mut keep = keep.into_iter();
    nodes.retain(|_| keep.next() == Some(true));
    NewGraph { nodes, weights }
}

/// Writes the model of `model`, a folder or a file as [`OnnxParams::model`], to a folder that is ours, new or empty. With `words`, the graph that is
/// written for weights also has logits over the vocabulary. Progress is counted in bytes of weights.
pub fn convert(
    model: &Path,
    precision: Option<Precision>,
    words: bool,
    output: &Path,
    ctx: &Ctx,
) -> Result<(Vec<ConvertedGraph>, Report)> {
    convert_within(model, precision, words, output, ONE_FILE, ctx)
}

fn convert_within(
    model: &Path,
    precision: Option<Precision>,
    words: bool,
    output: &Path,
    one_file: u64,
    ctx: &Ctx,
) -> Result<(Vec<ConvertedGraph>, Report)> {
    let params = OnnxParams { model: model.to_owned(), ..OnnxParams::default() };
    let files = Files::new(&params, Path::new(""), &ENCODERS)?;
    apart(&files, output)?;
    let mut graphs = Vec::new();
    for (file, name, wanted) in graphs_of(&files, words)? {
        let old = ModelGraph::read(&file, wanted)?;
        let shown = || file.display().to_string();
        ensure!(
            precision.is_none() || !int8::is_quantised(&old),
            "{} 已经量化：请指定单精度的图",
            "{} is quantised already: name a graph in single precision",
            shown()
        );
        let (new, counted) = smaller(&old, precision, ctx).with_context(shown)?;
        graphs.push((file, name, old, new, counted));
    }
    // Nothing was written so far. A folder of ours holds what an earlier conversion wrote.
    disk::own_folder(output, Room::Converted)?;
    empty(output)?;
    let copied = copy_settings(&files, output)?;
    let total = graphs.iter().map(|(_, _, _, new, _)| write::total(new)).sum();
    ctx.stage("convert", "bytes", Some(total), || {
        let mut converted = Vec::new();
        for (read, file, old, new, counted) in graphs {
            let written = write::write(&old, &new, &output.join(&file), one_file, ctx)?;
            let before = old.initializers.iter().map(|weight| match weight.numbers {
                Numbers::Plain(range) | Numbers::Message(range) => range.length,
            });
            let bytes = [before.sum(), write::total(&new)];
            converted.push(ConvertedGraph { read, file, bytes, counted, clamped: written.clamped });
        }
        let mut report = Report::new("convert");
        (report.rows_in, report.rows_out) = (converted.len() as u64, converted.len() as u64);
        report.fact("files", copied);
        Ok((converted, report))
    })
}

/// The graph in a precision.
fn smaller(old: &ModelGraph, precision: Option<Precision>, ctx: &Ctx) -> Result<(NewGraph, Counted)> {
    let Some(precision) = precision else {
        let weights = old.initializers.iter().map(NewWeight::same).collect();
        return Ok((NewGraph { nodes: old.nodes.clone(), weights }, Counted::default()));
    };
    ensure!(
        old.opset >= 11,
        "它的算子版本为 {}，至少须为 11：请以 opset 17 或更高重新导出模型",
        "it has the operators of version {}, and those of version 11 are needed: export the model again with opset 17 or later",
        old.opset
    );
    let takes_halves = old.inputs.iter().any(|input| input.data_type == HALF);
    ensure!(
        !takes_halves,
        "它以半精度运算：请指定单精度的图",
        "it works in half precision: name a graph in single precision"
    );
    match precision {
        Precision::Fp16 => half::halve(old, ctx),
        Precision::Int8 => int8::quantise(old, ctx),
    }
}

/// Fails where the output is the folder of the model, or one lies in the other.
fn apart(files: &Files, output: &Path) -> Result<()> {
    disk::is_ours(output, Room::Converted)?;
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    for folder in [&files.folder, disk::folder_of(&files.model)] {
        let folder =
            folder.canonicalize().with_context(|| message!("无法查看 {}", "cannot look at {}", folder.display()))?;
        ensure!(
            !output.starts_with(&folder) && !folder.starts_with(&output),
            "{} 与模型文件夹 {} 相互包含：请用 --output 另指定文件夹",
            "{} and the folder of the model {} lie in each other: name another folder with --output",
            output.display(),
            folder.display()
        );
    }
    Ok(())
}

/// The graph of a model and those of its decoder, with their names in the folder that is written, and the outputs of those that are written for
/// weights.
fn graphs_of(files: &Files, words: bool) -> Result<Vec<(PathBuf, String, Wanted)>> {
    let name = files.model.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if architecture::has_decoder(&files.model)? {
        let graphs = [(ENCODERS[1], Wanted::Vectors), (DECODERS[1], Wanted::FirstStep), (LATER, Wanted::LaterStep)];
        return Ok(graphs.map(|(name, wanted)| (files.model.clone(), name.to_owned(), wanted)).into());
    }
    let wanted = if words { Wanted::All } else { Wanted::Vectors };
    if name != ENCODERS[1] {
        return Ok(vec![(files.model.clone(), ENCODERS[0].to_owned(), wanted)]);
    }
    let folder = disk::folder_of(&files.model);
    let names = std::iter::once(name).chain(DECODERS.iter().chain([&LATER]).map(|name| (*name).to_owned()));
    let graphs = names.map(|name| (folder.join(&name), name, wanted));
    Ok(graphs.filter(|(file, _, _)| file.is_file()).collect())
}

/// Removes what an earlier conversion wrote into a folder of ours, graphs first.
fn empty(folder: &Path) -> Result<()> {
    for graph in disk::files_in(folder, "onnx")? {
        disk::remove_if_there(&graph)?;
    }
    let cannot = || message!("无法清空 {}", "cannot empty {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if entry.file_name() == disk::MARKER {
            continue;
        }
        let is_folder = entry.file_type().with_context(cannot)?.is_dir();
        let removed =
            if is_folder { std::fs::remove_dir_all(entry.path()) } else { std::fs::remove_file(entry.path()) };
        removed.with_context(cannot)?;
    }
    Ok(())
}

/// Copies what says how text is read and what the outputs mean; gives the names.
fn copy_settings(files: &Files, output: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut folders = vec![(String::new(), &["json", "txt", "model", "jinja"][..])];
    let modules = published::module_folders(&files.folder)?;
    folders.extend(modules.into_iter().map(|path| (format!("{path}/"), &["json", "safetensors"][..])));
    for (below, extensions) in folders {
        for extension in extensions {
            for file in disk::files_in(&files.folder.join(&below), extension)? {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if file.is_file() && !architecture::is_weights(&file) {
                    let name = format!("{below}{name}");
                    let bytes = std::fs::read(&file)
                        .with_context(|| message!("无法读取 {}", "cannot read {}", file.display()))?;
                    disk::write_atomic(&output.join(&name), |out| Ok(std::io::Write::write_all(out, &bytes)?))?;
                    names.insert(name);
                }
            }
        }
    }
    Ok(names)
}
