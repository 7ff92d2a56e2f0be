//! Where a library may be.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A library that may be the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub file: PathBuf,
    /// Where it was found, for people.
    pub from: &'static str,
    /// Whether the user named it, so that nothing else will do.
    pub named: bool,
}

/// The variable that names a library, as for all programs that use the crate `ort`.
const VARIABLE: &str = "ORT_DYLIB_PATH";
/// What a flag or the configuration names; nearer than a variable, it is tried first.
const NAMED: &str = "--library or [onnx] library";

/// All libraries in the order in which they are tried. Python is asked only when nothing else has one.
pub fn candidates(library: Option<&Path>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut named = |path: PathBuf, from| {
        // A folder may hold it; what is not there is tried all the same, for the message.
        let file = if path.is_dir() { within(&path).unwrap_or(path) } else { path };
        found.push(Candidate { file, from, named: true });
    };
    if let Some(path) = library {
        named(path.to_owned(), NAMED);
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        named(path.into(), VARIABLE);
    }
    let mut look = |folder: PathBuf, from| {
        found.extend(within(&folder).map(|file| Candidate { file, from, named: false }));
    };
    look(runtime_folder(), "the runtime folder");
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(environment) = std::env::var_os(variable) {
            let lib = PathBuf::from(environment).join("lib");
            let pythons = std::fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut pythons: Vec<PathBuf> = pythons.map(|python| python.join("site-packages")).collect();
            pythons.sort();
            pythons.into_iter().for_each(|packages| look(packages, "the active Python environment"));
        }
    }
    let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    std::env::split_paths(&listed).for_each(|folder| look(folder, "LD_LIBRARY_PATH"));
    for folder in [
        "/usr/local/lib",
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/opt/homebrew/lib",
    ] {
        look(folder.into(), "the system's libraries");
    }
    if found.is_empty() {
        found.extend(of_python().map(|file| Candidate { file, from: "the python3 on the path", named: false }));
    }
    found
}

/// The folder of the user where libraries are installed.
pub fn runtime_folder() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".local/share");
    let data = std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()).map_or_else(home, PathBuf::from);
    data.join("inkstone").join("runtime")
}

/// The library in a folder, or in the Python package below it.
pub(super) fn within(folder: &Path) -> Option<PathBuf> {
    let packaged = folder.join("onnxruntime").join("capi");
    [folder, packaged.as_path()].into_iter().find_map(library_in)
}

fn library_in(folder: &Path) -> Option<PathBuf> {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let is_library = |path: &PathBuf| {
        name(path).is_some_and(|name| {
            name.starts_with("libonnxruntime.so")
                || (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"))
                || name == "onnxruntime.dll"
        })
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(is_library).collect();
    files.sort();
    files.pop()
}

/// The package of the Python that would run: asked without importing it.
fn of_python() -> Option<PathBuf> {
    let ask = "import importlib.util as u; s = u.find_spec('onnxruntime'); print(s.origin if s else '')";
    let output = Command::new("python3").args(["-c", ask]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let origin = String::from_utf8(output.stdout).ok()?;
    within(Path::new(origin.trim()).parent()?.parent()?)
}

/// The version in a library's name, or in that of the package beside it.
pub(super) fn version_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let version = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.') && text.contains('.');
    if let Some(version) = name.strip_prefix("libonnxruntime.so.").filter(|text| version(text)) {
        return Some(version.to_owned());
    }
    let packages = file.parent()?.parent()?.parent()?;
    let named = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let version =
            name.strip_suffix(".dist-info")?.split_once('-').filter(|(name, _)| name.starts_with("onnxruntime"))?.1;
        Some(version.to_owned())
    };
    std::fs::read_dir(packages).ok()?.flatten().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_in_a_folder_and_in_a_package() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(within(folder.path()), None);
        let capi = folder.path().join("onnxruntime/capi");
        std::fs::create_dir_all(&capi).unwrap();
        for name in ["libonnxruntime_providers_shared.so", "onnxruntime_pybind11_state.so", "libonnxruntime.so.1.31.1"]
        {
            std::fs::write(capi.join(name), "").unwrap();
        }
        let found = within(folder.path()).unwrap();
        assert_eq!(found, capi.join("libonnxruntime.so.1.31.1"));
        assert_eq!(version_of(&found).as_deref(), Some("1.31.1"));
    }

    #[test]
    fn what_the_user_names_comes_first_and_alone_will_do() {
        let found = candidates(Some(Path::new("/nowhere/libonnxruntime.so")));
        assert!(found[0].named && found[0].from == NAMED, "{found:?}");
    }
}
