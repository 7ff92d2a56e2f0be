//! A model in the runtime: its graph, the device that it runs on, and one run after the other.
//!
//! A session is used from one thread at a time, as the library asks; it has its own threads within. A cancelled run ends within a
//! twentieth of a second, inside the library too.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use half::slice::HalfFloatSliceExt;
use ort::ep::ArenaExtendStrategy;
use ort::logging::LogLevel;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::builder::SessionBuilder;
use ort::session::{RunOptions, SessionOutputs};
use ort::value::{Tensor, TensorElementType, ValueType};
use serde::Serialize;

use super::architecture::{self, Wanted, WrittenGraph};
use super::header::Header;
use super::kept::{DeviceRows, Kept, device_memory};
use super::runtime::{Device, Placement, Runtime, cuda_lacks};
use super::settled::Settled;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, error, message};

/// The setting of ONNX Runtime for the folder of weights of a graph that is in memory.
const WEIGHTS_FOLDER: &str = "session.model_external_initializers_file_folder_path";
/// Time for which a run may go on after it was cancelled.
const WATCH: Duration = Duration::from_millis(50);

/// Device and nodes of a model, as reports and manifests say it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ran {
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// Why it is the processor, where `auto` looked for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Message>,
    pub placement: Placement,
    pub version: String,
    /// The file of the graph, from the folder of config.json.
    pub file: String,
    /// Settings that the folder states, and settings of the user beside or against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<Settled>,
}

/// The element type of a tensor that models take or give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    I64,
    I32,
    Bool,
    F32,
    F16,
    Other,
}

/// An input or output of a graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Port {
    pub name: String,
    pub element: Element,
    /// Sizes; -1 where the graph leaves them open.
    pub shape: Vec<i64>,
}

impl Port {
    fn new(name: &str, kind: &ValueType) -> Port {
        let (element, shape) = match kind {
            ValueType::Tensor { ty, shape, .. } => {
                let element = match ty {
                    TensorElementType::Int64 => Element::I64,
                    TensorElementType::Int32 => Element::I32,
                    TensorElementType::Bool => Element::Bool,
                    TensorElementType::Float32 => Element::F32,
                    TensorElementType::Float16 => Element::F16,
                    _ => Element::Other,
                };
                (element, shape.to_vec())
            }
            _ => (Element::Other, Vec::new()),
        };
        Port { name: name.to_owned(), element, shape }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self.element, Element::F32 | Element::F16)
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.element, Element::I64 | Element::I32)
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes: Vec<String> =
            self.shape.iter().map(|size| if *size < 0 { "?".into() } else { size.to_string() }).collect();
        write!(f, "{} {:?}[{}]", self.name, self.element, sizes.join(", "))
    }
}

/// Values for one input: integers or floats, and their sizes, or an output of an earlier run.
pub(crate) enum Feed {
    Integers(Vec<usize>, Vec<i64>),
    Floats(Vec<usize>, Vec<f32>),
    Kept(Kept),
}

/// One output: sizes and values in single precision.
pub(crate) struct Given<'o> {
    pub shape: Vec<usize>,
    pub values: Cow<'o, [f32]>,
}

impl Given<'_> {
    /// The same, kept beyond the run.
    pub(crate) fn kept(self) -> Given<'static> {
        Given { shape: self.shape, values: Cow::Owned(self.values.into_owned()) }
    }
}

/// A model ready to run.
pub(crate) struct Session {
    inner: ort::session::Session,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    ran: Ran,
    path: PathBuf,
    runtime: &'static Runtime,
    /// The number of its CUDA device; none on the processor.
    cuda: Option<u32>,
    /// Picks rows on the device, in single and in half precision; made where they are first picked.
    device_rows: [Option<DeviceRows>; 2],
    watcher: Watcher,
}

impl Session {
    /// Opens a graph's file on a device, or weights, for which a graph with the outputs that are wanted is written; `threads` work within
    /// an operator.
    pub(crate) fn open(
        path: &Path,
        wanted: Wanted,
        runtime: &'static Runtime,
        device: Device,
        threads: usize,
    ) -> Result<Session> {
        ensure!(path.is_file(), "没有文件 {}", "there is no file {}", path.display());
        let written = if architecture::is_weights(path) { Some(architecture::graph(path, wanted)?) } else { None };
        let build = |cuda, why| Session::build(path, wanted, written.as_ref(), runtime, cuda, threads, why);
        let (number, why) = match device {
            Device::Cpu => (None, None),
            Device::Cuda(number) => {
                let missing = cuda_lacks(&runtime.library);
                ensure!(
                    missing.is_empty(),
                    "设备 {device} 无法使用，缺少：{}。`inkstone doctor --fix --cuda` 可安装带 CUDA 与 cuDNN 的代码库（驱动随机器而来）；device = \"cpu\" 则不需要",
                    "device {device} cannot be used, as this is missing: {}. `inkstone doctor --fix --cuda` installs the library with CUDA and cuDNN (the driver comes with the machine); device = \"cpu\" runs without",
                    Message::joined(&missing, Word("、", ", "))
                );
                (Some(number), None)
            }
            Device::Auto => match cuda_lacks(&runtime.library) {
                missing if missing.is_empty() => (Some(0), None),
                missing => (
                    None,
                    Some(message!(
                        "没有 CUDA：缺少 {}",
                        "no CUDA: {} missing",
                        Message::joined(&missing, Word("、", ", "))
                    )),
                ),
            },
        };
        match number {
            None => build(None, why),
            Some(number) => match build(Some(number), None) {
                Err(error) if device == Device::Auto => {
                    let why =
                        message!("cuda:{number} 拒绝该模型：{}", "cuda:{number} refused the model: {}", short(&error));
                    build(None, Some(why))
                }
                built => built,
            },
        }
    }

    fn build(
        path: &Path,
        wanted: Wanted,
        written: Option<&WrittenGraph>,
        runtime: &'static Runtime,
        cuda: Option<u32>,
        threads: usize,
        why: Option<Message>,
    ) -> Result<Session> {
        let linked = if written.is_none() { linked_weights(path)? } else { Vec::new() };
        // The log of a session's creation is read for the placements, so sessions are made one at a time.
        let _one = runtime.one_session();
        runtime.log().take();
        let committed = builder(runtime, cuda, threads, wanted).and_then(|mut builder| match written {
            None => {
                for (name, bytes) in linked {
                    builder = builder.with_external_initializer_file_in_memory(name, bytes)?;
                }
                builder.commit_from_file(path)
            }
            Some(graph) => {
                let folder = graph.folder.display().to_string();
                builder.with_config_entry(WEIGHTS_FOLDER, folder)?.commit_from_memory(&graph.bytes)
            }
        });
        let messages = runtime.log().take();
        let inner = committed.map_err(|error| {
            let message = error.to_string();
            cuda.and_then(|number| no_device(number, &message)).unwrap_or_else(|| unreadable(path, &message))
        })?;
        let placement = Placement::new(messages.iter().map(String::as_str));
        let inputs = inner.inputs().iter().map(|port| Port::new(port.name(), port.dtype())).collect();
        let outputs = inner.outputs().iter().map(|port| Port::new(port.name(), port.dtype())).collect();
        let ran = Ran {
            device: cuda.map_or(Device::Cpu, Device::Cuda).to_string(),
            why,
            placement,
            version: runtime.version(),
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            used: Vec::new(),
        };
        Ok(Session {
            inner,
            inputs,
            outputs,
            ran,
            path: path.to_owned(),
            runtime,
            cuda,
            device_rows: [None, None],
            watcher: Watcher::begin()?,
        })
    }

    pub(crate) fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    pub(crate) fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    pub(crate) fn ran(&self) -> &Ran {
        &self.ran
    }

    pub(crate) fn ran_mut(&mut self) -> &mut Ran {
        &mut self.ran
    }

    /// True if it runs on a CUDA device, where shapes are better kept few.
    pub(crate) fn on_cuda(&self) -> bool {
        self.cuda.is_some()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs the graph on these inputs, in the order of [`Session::inputs`], and gives the outputs asked for to `read`, which may copy
    /// what it needs.
    pub(crate) fn run<T>(
        &mut self,
        feeds: Vec<Feed>,
        wanted: &[&str],
        ctx: &Ctx,
        read: impl FnOnce(&Outputs<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        Ok(self.run_keeping(feeds, wanted, &[], ctx, read)?.0)
    }

    /// As [`Session::run`], and gives further outputs as they are, to be inputs of a later run.
    pub(crate) fn run_keeping<T>(
        &mut self,
        feeds: Vec<Feed>,
        wanted: &[&str],
        kept: &[&str],
        ctx: &Ctx,
        read: impl FnOnce(&Outputs<'_, '_>) -> Result<T>,
    ) -> Result<(T, Vec<Kept>)> {
        ctx.check()?;
        let values = feeds.into_iter().zip(&self.inputs).map(|(feed, port)| feed.into_kept(port.element));
        let values = values.collect::<ort::Result<Vec<Kept>>>()?;
        let shown = self.path.display().to_string();
        let failed = |error: ort::Error| match ctx.check() {
            Err(cancelled) => anyhow::Error::from(cancelled),
            Ok(()) if ["out of data bounds", "broadcast an axis"].iter().any(|sign| error.message().contains(sign)) => {
                error!(
                    "{shown} 没有所给词元或位置的向量：分词器属于另一模型，或窗口长于模型的位置数（onnx.max_tokens）（“{error}”）",
                    "{shown} has no vector for a token or a place that it was given: the tokenizer is that of another model, or windows are longer than the model has places (onnx.max_tokens) ({error})"
                )
            }
            Ok(()) => error!("{shown} 运行时失败：“{error}”", "{shown} failed while it ran: {error}"),
        };
        // On a device, values that are kept stay in its memory; those that are read come back, into memory that it can write to.
        let mut binding = self.inner.create_binding()?;
        for (value, port) in values.iter().zip(&self.inputs) {
            binding.bind_input(&port.name, value.value())?;
        }
        let cpu = || MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default);
        let (read_memory, kept_memory) = match self.cuda {
            Some(number) => {
                let pinned = AllocationDevice::CUDA_PINNED;
                let pinned = MemoryInfo::new(pinned, 0, AllocatorType::Device, MemoryType::CPUOutput)?;
                (pinned, device_memory(number)?)
            }
            None => (cpu()?, cpu()?),
        };
        for name in wanted {
            binding.bind_output_to_device(*name, &read_memory)?;
        }
        for name in kept {
            binding.bind_output_to_device(*name, &kept_memory)?;
        }
        let mut options = RunOptions::new()?;
        // The creation of a session logs everything, its runs warnings alone.
        options.set_log_level(LogLevel::Warning)?;
        let options = Arc::new(options);
        self.watcher.watch(Some(Running { ctx: ctx.clone(), options: options.clone() }));
        let outputs = self.inner.run_binding_with_options(&binding, &options);
        self.watcher.watch(None);
        let mut outputs = outputs.map_err(failed)?;
        let kept = kept.iter().map(|name| {
            let value =
                outputs.remove(name).with_context(|| message!("模型没有给出 {name}", "the model gave no {name}"))?;
            Ok(Kept::new(value))
        });
        let kept = kept.collect::<Result<Vec<Kept>>>()?;
        Ok((read(&Outputs(&outputs))?, kept))
    }

    /// These rows of the first axis, in this order, where this session reads its inputs.
    pub(crate) fn rows(&mut self, kept: &Kept, rows: &[usize]) -> Result<Kept> {
        let Some(number) = self.cuda else { return kept.rows(rows) };
        let half = kept.is_half();
        let picker = match &mut self.device_rows[usize::from(half)] {
            Some(picker) => picker,
            none => {
                let _one = self.runtime.one_session();
                let builder = builder(self.runtime, self.cuda, 1, Wanted::Writing)?;
                none.insert(DeviceRows::open(builder, device_memory(number)?, half)?)
            }
        };
        picker.pick(kept, rows)
    }
}

/// A run that may be cancelled.
struct Running {
    ctx: Ctx,
    options: Arc<RunOptions>,
}

/// A thread beside a session, which ends a run that was cancelled.
struct Watcher {
    running: Arc<Mutex<Option<Running>>>,
    thread: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl Watcher {
    fn begin() -> Result<Watcher> {
        let (running, over): (Arc<Mutex<Option<Running>>>, Arc<AtomicBool>) = Default::default();
        let (seen, end) = (running.clone(), over.clone());
        let look = move || {
            while !end.load(Ordering::Relaxed) {
                std::thread::park_timeout(WATCH);
                let running = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(running) = running.as_ref().filter(|running| running.ctx.is_cancelled()) {
                    // The run says itself that it was ended, or that it was done before.
                    let _ = running.options.terminate();
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("inkstone-watch".into())
            .spawn(look)
            .context(Word("无法启动线程", "cannot start a thread"))?;
        Ok(Watcher { running, thread: Some(thread), over })
    }

    fn watch(&self, running: Option<Running>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It holds nothing that its end could lose.
            let _ = thread.join();
        }
    }
}

pub(crate) struct Outputs<'a, 'r>(&'a SessionOutputs<'r>);

impl Outputs<'_, '_> {
    /// Sizes and values of an output, in single precision; they are copied only where the model works in half.
    pub(crate) fn get(&self, name: &str) -> Result<Given<'_>> {
        let value = self.0.get(name).with_context(|| message!("模型没有给出 {name}", "the model gave no {name}"))?;
        let sizes = |shape: &ort::value::Shape| shape.iter().map(|&size| size as usize).collect();
        match value.dtype() {
            ValueType::Tensor { ty: TensorElementType::Float16, .. } => {
                let (shape, values) = value.try_extract_tensor::<half::f16>()?;
                Ok(Given { shape: sizes(shape), values: values.to_f32_vec().into() })
            }
            _ => {
                let (shape, values) = value.try_extract_tensor::<f32>()?;
                Ok(Given { shape: sizes(shape), values: Cow::Borrowed(values) })
            }
        }
    }
}

impl Feed {
    /// The values as a tensor of this type.
    pub(crate) fn into_kept(self, element: Element) -> ort::Result<Kept> {
        let value = match (self, element) {
            (Feed::Kept(kept), _) => return Ok(kept),
            (Feed::Integers(shape, values), Element::I32) => {
                let values: Vec<i32> = values.into_iter().map(|value| value as i32).collect();
                Tensor::from_array((shape, values))?.into_dyn()
            }
            (Feed::Integers(shape, values), Element::F32) => {
                let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
                Tensor::from_array((shape, values))?.into_dyn()
            }
            (Feed::Integers(shape, values), Element::F16) => {
                let values: Vec<half::f16> =
                    values.into_iter().map(|value| half::f16::from_f32(value as f32)).collect();
                Tensor::from_array((shape, values))?.into_dyn()
            }
            (Feed::Integers(shape, values), Element::Bool) => {
                let values: Vec<bool> = values.into_iter().map(|value| value != 0).collect();
                Tensor::from_array((shape, values))?.into_dyn()
            }
            (Feed::Integers(shape, values), _) => Tensor::from_array((shape, values))?.into_dyn(),
            (Feed::Floats(shape, values), Element::F16) => {
                let values: Vec<half::f16> = values.into_iter().map(half::f16::from_f32).collect();
                Tensor::from_array((shape, values))?.into_dyn()
            }
            (Feed::Floats(shape, values), _) => Tensor::from_array((shape, values))?.into_dyn(),
        };
        Ok(Kept::new(value))
    }
}

/// A builder of sessions. Lengths differ from batch to batch, so a plan of memory for one shape is of no use to the next.
fn builder(runtime: &Runtime, cuda: Option<u32>, threads: usize, wanted: Wanted) -> ort::Result<SessionBuilder> {
    let mut builder = ort::session::Session::builder(&runtime.environment)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_memory_pattern(false)?
        .with_log_level(LogLevel::Verbose)?;
    if let Some(number) = cuda {
        // The longest batch of texts comes first, and the memory that it asks for serves the others. Keys and values grow with each
        // token that is written, and none fits where those of the token before lay.
        let extend = match wanted {
            Wanted::Writing | Wanted::FirstStep | Wanted::LaterStep => ArenaExtendStrategy::NextPowerOfTwo,
            Wanted::Vectors | Wanted::Words | Wanted::All => ArenaExtendStrategy::SameAsRequested,
        };
        let device = ort::ep::CUDA::default().with_device_id(number as i32).with_arena_extend_strategy(extend);
        builder = builder.with_execution_providers([device.build().error_on_failure()])?;
    }
    Ok(builder)
}

/// The error of a CUDA device that the machine does not have, if the library's message is of one.
fn no_device(number: u32, message: &str) -> Option<anyhow::Error> {
    let reasons = ["Invalid device ID", "no CUDA-capable device"];
    let reason = reasons.iter().find_map(|reason| Some(&message[message.find(reason)?..]))?;
    let reason = reason.split([';', '\n']).next().unwrap_or_default().trim_end_matches(['.', ' ']);
    Some(error!(
        "没有设备 cuda:{number}（{reason}）：`inkstone doctor` 列出本机设备，变量 CUDA_VISIBLE_DEVICES 可能隐藏了一些",
        "there is no device cuda:{number} ({reason}): `inkstone doctor` lists the devices of this machine, and the variable CUDA_VISIBLE_DEVICES may hide some"
    ))
}

/// Files of weights of a graph that are links, as caches of model hubs hold them, with their content: the library reads nothing behind a
/// link.
fn linked_weights(path: &Path) -> Result<Vec<(PathBuf, Arc<[u8]>)>> {
    // The library says why a file is no graph.
    let beside = Header::read(path).map(|header| header.beside).unwrap_or_default();
    let files = beside.into_iter().map(|name| (disk::folder_of(path).join(&name), name));
    let linked = files.filter(|(file, _)| file.is_symlink());
    let read = |(file, name): (PathBuf, PathBuf)| {
        let bytes = std::fs::read(&file).with_context(|| message!("无法读取 {}", "cannot read {}", file.display()))?;
        Ok((name, bytes.into()))
    };
    linked.map(read).collect()
}

/// Why a file is no model that runs, and the way out.
fn unreadable(path: &Path, said: &str) -> anyhow::Error {
    let shown = path.display();
    let has = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if has(&["opset", "Opset", "ir_version", "IR version"]) {
        error!(
            "{shown} 导出所用的 ONNX 版本，此代码库不认识（{said}）：请以 opset 17 到 20 重新导出，或用更新的代码库",
            "{shown} was exported with a version of ONNX that this library does not know ({said}): export it again with opset 17 to 20, or take a later library"
        )
    } else if has(&["xternal data", "external_data", "External initializer"]) {
        error!(
            "{shown} 的权重在单独的文件中，而它不在应在的位置（{said}）：请把导出的全部文件复制到同一文件夹",
            "{shown} keeps its weights in a file of their own, which is not where it should be ({said}): copy all files of the export into one folder"
        )
    } else if has(&["Protobuf parsing failed", "INVALID_PROTOBUF", "ModelProto does not have a graph"]) {
        error!(
            "{shown} 不是 ONNX 模型，或已损坏：请重新导出模型（`inkstone doctor` 说明做法）",
            "{shown} is not an ONNX model, or a damaged one: export the model again (`inkstone doctor` shows how)"
        )
    } else {
        error!("{shown} 无法准备运行：{said}", "{shown} cannot be made ready to run: {said}")
    }
}

fn short(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

/// Fails with the outputs that there are.
pub(crate) fn no_output(session: &Session, wanted: Word) -> anyhow::Error {
    let given: Vec<String> = session.outputs().iter().map(Port::to_string).collect();
    error!(
        "{} 不给出 {wanted}；它给出 {}",
        "{} gives no {wanted}; it gives {}",
        session.path().display(),
        given.join(", ")
    )
}

/// Fails with the inputs that there are.
pub(crate) fn unknown_input(path: &Path, port: &Port, known: Word) -> Result<()> {
    bail!(
        "{} 有输入 {port}，本程序不知道给它什么；认识的有 {known}",
        "{} takes an input {port}, and this program does not know what to feed it; it knows {known}",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_named_with_the_reason() {
        let begin = "cuda_execution_provider_info.cc:63 FromProviderOptions [ONNXRuntimeError] : 1 : FAIL : Failed to parse provider option \
                     \"device_id\":";
        let few =
            format!("{begin} operator() Invalid device ID: 7, must be between 0 (inclusive) and 1 (exclusive).\n");
        let error = no_device(7, &few).unwrap().to_string();
        assert!(error.starts_with("there is no device cuda:7 (Invalid device ID: 7, must be between"), "{error}");
        assert!(error.contains("(exclusive)): `inkstone doctor`"), "{error}");
        let none = format!("{begin} CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; hostname=vm\n");
        let error = no_device(0, &none).unwrap().to_string();
        assert!(error.starts_with("there is no device cuda:0 (no CUDA-capable device is detected):"), "{error}");
        assert!(no_device(0, "Protobuf parsing failed").is_none());
    }
}
