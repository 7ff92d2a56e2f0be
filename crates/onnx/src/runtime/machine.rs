//! Libraries and devices of this machine for models, as `doctor` and the workbench show them.

use std::path::{Path, PathBuf};

use super::{Candidate, RuntimeParams, candidates, cuda_lacks};

use inkstone_base::language::Message;

/// Command that installs the library where there is none.
pub const MEND: &str = "inkstone doctor --fix";
/// Command that installs the library that works with NVIDIA devices.
pub const MEND_CUDA: &str = "inkstone doctor --fix --cuda";

/// Folder in which the driver keeps a folder for each device.
const DRIVER: &str = "/proc/driver/nvidia/gpus";

/// The library that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    pub file: PathBuf,
    pub version: String,
}

/// Libraries and devices that were found.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cores: usize,
    /// The library, or why there is none.
    pub library: Result<Library, Message>,
    /// All places that hold one, in the order in which they are tried.
    pub places: Vec<Candidate>,
    /// Things that the library in use lacks for CUDA; none where there is no library.
    pub cuda_lacks: Option<Vec<Message>>,
    /// Names of the NVIDIA devices, by number.
    pub devices: Vec<String>,
}

impl Machine {
    /// Looks; loads the library, which stays so. `base` is the folder of the configuration.
    pub fn look(place: &RuntimeParams, base: &Path) -> Machine {
        let loaded = place.load(base);
        let library = place.library.as_ref().map(|library| base.join(library));
        Machine {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            places: candidates(library.as_deref()),
            cuda_lacks: loaded.as_ref().ok().map(|runtime| cuda_lacks(&runtime.library)),
            library: match loaded {
                Ok(runtime) => Ok(Library { file: runtime.library.clone(), version: runtime.version() }),
                Err(error) => Err(Message::of_error(&error)),
            },
            devices: devices(Path::new(DRIVER)),
        }
    }

    /// The command that brings what is missing: the library, where none is named that would be tried all the same; or that for CUDA,
    /// where there are devices.
    pub fn mend(&self) -> Option<&'static str> {
        match &self.cuda_lacks {
            None => (!self.places.iter().any(|place| place.named)).then_some(MEND),
            Some(lacks) => (!lacks.is_empty() && !self.devices.is_empty()).then_some(MEND_CUDA),
        }
    }
}

/// The names of the devices, read from the driver without its library.
fn devices(driver: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(driver).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // They are called by their places on the bus, in whose order CUDA numbers them unless told otherwise.
    folders.sort();
    let name = |folder: PathBuf| {
        let information = std::fs::read_to_string(folder.join("information")).ok()?;
        let model = information.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(model.trim().to_owned())
    };
    folders.into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::language::Word;

    #[test]
    fn devices_are_named_in_the_order_of_the_bus() {
        let folder = tempfile::tempdir().unwrap();
        assert!(devices(&folder.path().join("no driver")).is_empty());
        for (place, name) in [("0000:c1:00.0", "NVIDIA L4"), ("0000:18:00.0", "NVIDIA H100 80GB HBM3")] {
            std::fs::create_dir(folder.path().join(place)).unwrap();
            let message = format!("Model: \t\t {name}\nIRQ:   \t\t 221\nGPU UUID: \t GPU-0\n");
            std::fs::write(folder.path().join(place).join("information"), message).unwrap();
        }
        std::fs::create_dir(folder.path().join("0000:ff:00.0")).unwrap();
        assert_eq!(devices(folder.path()), ["NVIDIA H100 80GB HBM3", "NVIDIA L4"]);
    }

    #[test]
    fn what_is_missing_is_told_with_what_mends_it() {
        let there = Library { file: "libonnxruntime.so".into(), version: "1.31.1".into() };
        let machine = |library, cuda_lacks, devices: &[&str]| Machine {
            cores: 2,
            library,
            places: Vec::new(),
            cuda_lacks,
            devices: devices.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(machine(Err(Message::same("none")), None, &[]).mend(), Some(MEND));
        let place = Candidate {
            file: "/a/libonnxruntime.so".into(),
            from: Word("[onnx] library", "[onnx] library"),
            named: true,
        };
        let named = Machine { places: vec![place], ..machine(Err(Message::same("it cannot be loaded")), None, &[]) };
        assert_eq!(named.mend(), None, "it would be tried all the same");
        let lacks = Some(vec![Message::same("libcudnn.so.9")]);
        assert_eq!(machine(Ok(there.clone()), lacks.clone(), &["NVIDIA L4"]).mend(), Some(MEND_CUDA));
        assert_eq!(machine(Ok(there.clone()), lacks, &[]).mend(), None);
        assert_eq!(machine(Ok(there), Some(Vec::new()), &["NVIDIA L4"]).mend(), None);
    }
}
