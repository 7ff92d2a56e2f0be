//! The ONNX Runtime library: found, checked, loaded once a process.
//!
//! It is looked for where `--library` or `[onnx] library` says, in `ORT_DYLIB_PATH`, in the runtime folder that [`install()`] fills, beside the
//! `onnxruntime` package of the active Python environment, and where the system keeps libraries. What is named must work;
//! what is merely found is passed over when it does not, and remembered for the message. Nothing is looked for in the current folder,
//! and what a configuration names is loaded only after the user has agreed to it.

mod cuda;
mod find;
mod install;
mod machine;
mod place;
mod program;
mod trust;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context, Result};
use ort::environment::Environment;
use ort::logging::LogLevel;
use serde::{Deserialize, Serialize};

pub use cuda::cuda_lacks;
pub use find::{Candidate, candidates, runtime_folder};
pub use install::{PACKAGE_VERSION, install};
pub use machine::{Library, MEND, MEND_CUDA, Machine};
pub use place::Placement;
pub use program::program;
pub use trust::{Agreement, NamedLibrary};

use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, error, message};

/// The oldest version of ONNX Runtime whose interface this program was built for.
pub(crate) const OLDEST: u32 = ort::MINOR_VERSION;

/// The way to get a library, for every message that misses one.
pub const WAY_OUT: Word =
    Word("`inkstone doctor --fix` 可安装合适的", "`inkstone doctor --fix` installs one that fits");

/// `[onnx]`: where models run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeParams {
    /// The library, or a folder that holds it, relative to the configuration; none: it is looked for.
    pub library: Option<PathBuf>,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: Device,
    /// True if the user named the library or trusts the one that the configuration names.
    #[serde(skip)]
    pub trusted: bool,
}

impl RuntimeParams {
    /// The library of this process, loaded now if it was not before. `base` is the folder that [`RuntimeParams::library`] is relative to,
    /// that of the configuration. Fails where the configuration names one that the user has not agreed to.
    pub fn load(&self, base: &Path) -> Result<&'static Runtime> {
        let refused = |error: anyhow::Error| match error.is::<NoRuntime>() {
            true => error,
            false => LibraryRefused(format!("{error:#}")).into(),
        };
        self.load_named(base).map_err(refused)
    }

    fn load_named(&self, base: &Path) -> Result<&'static Runtime> {
        let library = self.library.as_ref().map(|library| base.join(library));
        if !self.trusted
            && Runtime::loaded().is_none()
            && let Some(named) =
                library.as_deref().map(|library| NamedLibrary::find(library, base)).transpose()?.flatten()
        {
            named.ensure_agreed()?;
        }
        Runtime::load(library.as_deref())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// The first CUDA device where everything is there for it, else the processor; the reports say which and why.
    #[default]
    Auto,
    Cpu,
    /// A CUDA device. Where it cannot be had, nothing runs.
    Cuda(u32),
}

impl std::str::FromStr for Device {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Device> {
        match text.trim() {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(0)),
            other => {
                let number = other.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                number.map(Device::Cuda).with_context(|| {
                    message!(
                        "{text:?} 不是设备：可用 auto、cpu 或 cuda:0",
                        "{text:?} is not a device: auto, cpu or cuda:0"
                    )
                })
            }
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

inkstone_base::as_text!(Device);

/// This machine has no library of ONNX Runtime. A feature that needs none can still be computed.
#[derive(Debug)]
pub struct NoRuntime(Message);

impl fmt::Display for NoRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoRuntime {}

/// The library that the user or the configuration names cannot be loaded, or the user has not agreed to it.
#[derive(Debug)]
pub struct LibraryRefused(String);

impl fmt::Display for LibraryRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LibraryRefused {}

pub struct Runtime {
    pub(super) environment: Environment,
    /// The file, with every link followed.
    pub library: PathBuf,
    log: Log,
    making: Mutex<()>,
}

/// Messages of the library on placements since they were last read. All its other messages are dropped.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Messages since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, message: &str) {
        if place::speaks_of_it(message) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
        }
    }
}

/// A process can load one library, and keeps it.
static LOADED: OnceLock<Runtime> = OnceLock::new();
/// Held while one is being loaded.
static LOADING: Mutex<()> = Mutex::new(());

impl Runtime {
    /// The library of this process, loaded now if it was not before. `library` is what the user names; what a configuration names goes
    /// through [`RuntimeParams::load`].
    pub fn load(library: Option<&Path>) -> Result<&'static Runtime> {
        let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = LOADED.get() {
            return Ok(loaded);
        }
        let found = candidates(library);
        let mut failures = Vec::new();
        for candidate in found {
            match Runtime::open(&candidate.file) {
                Ok(runtime) => return Ok(LOADED.get_or_init(|| runtime)),
                Err(error) if candidate.named => {
                    return Err(error.context({
                        message!("{} 指定的代码库无法使用", "{} names a library that cannot be used", candidate.from)
                    }));
                }
                Err(error) => failures.push(Message::of_error(&error)),
            }
        }
        let failures = Message::joined(failures, Word("；", "; "));
        let failed =
            if failures.en.is_empty() { Message::default() } else { message!("（{failures}）", " ({failures})") };
        bail!(NoRuntime(message!(
            "本机没有版本 1.{OLDEST} 或更高的 ONNX Runtime 代码库{failed}：{WAY_OUT}",
            "there is no ONNX Runtime library of version 1.{OLDEST} or later on this machine{failed}: {WAY_OUT}"
        )))
    }

    /// The library of this process, if one was loaded.
    pub fn loaded() -> Option<&'static Runtime> {
        LOADED.get()
    }

    fn open(file: &Path) -> Result<Runtime> {
        let shown = file.display();
        ensure!(
            file.is_absolute(),
            "{shown} 不是完整路径，换个文件夹就会指向另一个代码库：请从根目录写起",
            "{shown} is no whole path, so each folder would have another library: write it from the root on"
        );
        // Asked first: once a process has a library, loading takes whatever it is given.
        if foreign(file) {
            return Err(unusable(file, &Word("它不是本机的代码库", "it is no library of this machine")));
        }
        let log = Log::default();
        let kept = log.clone();
        let builder = ort::init_from(file).map_err(|error| unusable(file, &error))?;
        let logger = move |_: LogLevel, _: &str, _: &str, _: &str, message: &str| kept.push(message);
        let built = builder.with_name("inkstone").with_telemetry(false).with_logger(Arc::new(logger)).build();
        let environment =
            built.map_err(|error| error!("{shown} 无法启动：“{error}”", "{shown} does not start: {error}"))?;
        Ok(Runtime { environment, library: file.to_owned(), log, making: Mutex::default() })
    }

    /// Held while a session is made.
    pub(super) fn one_session(&self) -> MutexGuard<'_, ()> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// The version, as the file's name or the package beside it says it.
    pub fn version(&self) -> String {
        find::version_of(&self.library).unwrap_or_else(|| "unknown".to_owned())
    }
}

/// Why a file cannot be loaded, in words that help.
fn unusable(file: &Path, error: &impl std::fmt::Display) -> anyhow::Error {
    let (shown, error) = (file.display(), error.to_string());
    if error.contains("is not compatible with") {
        let version = find::version_of(file).map_or(String::new(), |version| format!(" {version}"));
        error!(
            "{shown} 是 ONNX Runtime{version}，低于本程序所需的 1.{OLDEST}：{WAY_OUT}",
            "{shown} is ONNX Runtime{version}, older than 1.{OLDEST}, which this program needs: {WAY_OUT}"
        )
    } else if error.contains("OrtGetApiBase") {
        error!(
            "{shown} 是代码库，但不是 ONNX Runtime 的：{WAY_OUT}",
            "{shown} is a library, but not that of ONNX Runtime: {WAY_OUT}"
        )
    } else if foreign(file) {
        error!(
            "{shown} 不是本机（{}）的代码库：{WAY_OUT}",
            "{shown} is no library for this machine ({}): {WAY_OUT}",
            std::env::consts::ARCH
        )
    } else {
        error!("{shown} 无法加载：“{error}”", "{shown} cannot be loaded: {error}")
    }
}

/// True if a file is there and is no library for a processor as this one (told apart where libraries are ELF files).
fn foreign(file: &Path) -> bool {
    let machine: u16 = match std::env::consts::ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        _ => return false,
    };
    let mut head = [0; 20];
    let read = std::fs::File::open(file).map(|mut file| file.read(&mut head));
    let elf = head.starts_with(b"\x7fELF") && u16::from_le_bytes([head[18], head[19]]) == machine;
    cfg!(target_os = "linux") && read.is_ok() && !elf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_as_they_are_read() {
        for text in ["auto", "cpu", "cuda:0", "cuda:3"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        for text in ["gpu", "cuda:", "cuda:x", "cuda:-1"] {
            let error = text.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("auto, cpu or cuda:0"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_no_library_of_this_machine_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libonnxruntime.so");
        // Text, nothing, and a library for another processor.
        let mut other = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x08\0";
        for content in [&b"text, not a library"[..], b"", &other] {
            std::fs::write(&file, content).unwrap();
            let error = format!("{:#}", Runtime::open(&file).err().unwrap());
            assert!(error.contains("no library for this machine") && error.contains("doctor --fix"), "{error}");
        }
        other[18] = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        std::fs::write(&file, other).unwrap();
        assert!(!foreign(&file), "a library for this processor, if a damaged one");
        // A library of another kind, where no other test has loaded the right one.
        let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if LOADED.get().is_none()
            && let Some(other) = ["/lib/x86_64-linux-gnu/libz.so.1", "/lib/x86_64-linux-gnu/libm.so.6"]
                .iter()
                .find(|p| Path::new(p).exists())
        {
            let error = format!("{:#}", Runtime::open(Path::new(other)).err().unwrap());
            assert!(error.contains("not that of ONNX Runtime"), "{error}");
        }
    }

    #[test]
    fn an_old_version_is_told_with_the_one_that_is_needed() {
        let message = "ort 2 is not compatible with the ONNX Runtime binary found at `x`";
        let error = unusable(Path::new("lib/libonnxruntime.so.1.17.1"), &message).to_string();
        assert!(error.contains("ONNX Runtime 1.17.1, older than 1.24") && error.contains("doctor --fix"), "{error}");
    }
}
