//! The libraries that CUDA needs: loaded beforehand from NVIDIA's packages on PyPI, so that no path has to be set, and named when
//! they are missing.

use std::path::{Path, PathBuf};

use ort::ep::cuda::{CUDA_DYLIBS, CUDNN_DYLIBS};

use inkstone_base::language::Message;
use inkstone_base::message;

/// The part of ONNX Runtime that speaks to CUDA.
const PROVIDER: &str = "libonnxruntime_providers_cuda.so";
/// The driver's own library; no package brings it.
const DRIVER: &str = "libcuda.so.1";

/// Things that a CUDA device lacks on this machine, in words; none if all libraries are loaded. They stay loaded.
pub fn cuda_lacks(library: &Path) -> Vec<Message> {
    let beside = library.parent().map(Path::to_owned).unwrap_or_default();
    if !beside.join(PROVIDER).exists() {
        return vec![message!(
            "{PROVIDER}（该代码库只支持 CPU）",
            "{PROVIDER} (the library is the one for processors alone)"
        )];
    }
    let mut missing = Vec::new();
    let driver = ort::util::preload_dylib(DRIVER).is_ok();
    if !driver {
        missing.push(message!("{DRIVER}（NVIDIA 驱动）", "{DRIVER} (the NVIDIA driver)"));
    }
    let folders = package_folders(&beside);
    // Libraries of cuDNN load one another, so those of CUDA come first.
    for name in CUDA_DYLIBS.iter().chain(CUDNN_DYLIBS) {
        match folders.iter().map(|folder| folder.join(name)).find(|file| file.exists()) {
            // Some that are there need the driver, whose lack is told already.
            Some(file) => {
                if ort::util::preload_dylib(file).is_err() && driver {
                    missing.push(message!("{name}（文件存在，但加载失败）", "{name} (it is there, but does not load)"));
                }
            }
            None => {
                if ort::util::preload_dylib(*name).is_err() {
                    missing.push(Message::same((*name).to_owned()));
                }
            }
        }
    }
    missing
}

/// The folders of libraries in NVIDIA's packages beside the package of ONNX Runtime.
fn package_folders(beside: &Path) -> Vec<PathBuf> {
    let Some(packages) = beside.parent().and_then(Path::parent) else { return Vec::new() };
    let entries = std::fs::read_dir(packages.join("nvidia")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path().join("lib")).filter(|folder| folder.is_dir()).collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_for_processors_is_told_apart_and_what_is_missing_named() {
        let folder = tempfile::tempdir().unwrap();
        let capi = folder.path().join("onnxruntime/capi");
        std::fs::create_dir_all(folder.path().join("nvidia/cudnn/lib")).unwrap();
        std::fs::create_dir_all(&capi).unwrap();
        let missing = cuda_lacks(&capi.join("libonnxruntime.so.1.31.1"));
        assert!(missing.len() == 1 && missing[0].contains(PROVIDER), "{missing:?}");
        assert_eq!(package_folders(&capi), [folder.path().join("nvidia/cudnn/lib")]);
        std::fs::write(capi.join(PROVIDER), "").unwrap();
        let missing = cuda_lacks(&capi.join("libonnxruntime.so.1.31.1"));
        assert!(!missing[0].contains(PROVIDER), "{missing:?}");
        // A package that is there is not missing; where there is a driver, it must load, too.
        std::fs::write(folder.path().join("nvidia/cudnn/lib/libcudnn.so.9"), "no library").unwrap();
        let missing = cuda_lacks(&capi.join("libonnxruntime.so.1.31.1"));
        assert!(!missing.iter().any(|name| name == "libcudnn.so.9"), "{missing:?}");
    }
}
