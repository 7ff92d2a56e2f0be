//! Places where the library may be.
//!
//! Only absolute folders are looked into: an empty or relative one is the current folder, which may be anybody's.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::program::program;

use inkstone_base::language::Word;

/// A library that may be the one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file, with every link followed where it is there.
    pub file: PathBuf,
    /// Place where it was found, for people.
    pub from: Word,
    /// True if the user named it, so that nothing else will do.
    pub named: bool,
}

/// The variable that names a library, as for all programs that use the crate `ort`.
const VARIABLE: &str = "ORT_DYLIB_PATH";
/// Name of the library that a flag or the configuration gives; it is tried before that of a variable.
const NAMED: Word = Word("--library 或 [onnx] library", "--library or [onnx] library");

/// All libraries in the order in which they are tried. Python is asked only when nothing else has one.
pub fn candidates(library: Option<&Path>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    if let Some(path) = library {
        found.push(Candidate { file: named_file(path), from: NAMED, named: true });
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) {
        // A relative one is kept as it is, and refused when it is to be loaded.
        let file = if path.is_absolute() { named_file(&path) } else { path };
        found.push(Candidate { file, from: Word(VARIABLE, VARIABLE), named: true });
    }
    let mut look = |folder: PathBuf, from| {
        if let Some(file) = Some(folder).filter(|folder| folder.is_absolute()).as_deref().and_then(within) {
            let file = file.canonicalize().unwrap_or(file);
            if found.iter().all(|other| other.file != file) {
                found.push(Candidate { file, from, named: false });
            }
        }
    };
    if let Some(folder) = runtime_folder() {
        look(folder, Word("运行库文件夹", "the runtime folder"));
    }
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(environment) = absolute(variable) {
            let lib = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
            let mut pythons: Vec<PathBuf> = lib.map(|python| python.path().join("site-packages")).collect();
            pythons.sort();
            pythons
                .into_iter()
                .for_each(|packages| look(packages, Word("当前 Python 环境", "the active Python environment")));
        }
    }
    let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    std::env::split_paths(&listed).for_each(|folder| look(folder, Word("LD_LIBRARY_PATH", "LD_LIBRARY_PATH")));
    for folder in [
        "/usr/local/lib",
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/opt/homebrew/lib",
    ] {
        look(folder.into(), Word("系统库", "the system's libraries"));
    }
    if found.is_empty() {
        let file = of_python().map(|file| file.canonicalize().unwrap_or(file));
        found.extend(file.map(|file| Candidate {
            file,
            from: Word("PATH 中的 python3", "the python3 on the path"),
            named: false,
        }));
    }
    found
}

/// The file that somebody names: in a folder, the library that it holds. One that is not there is given all the same, for the message.
pub(super) fn named_file(path: &Path) -> PathBuf {
    let file = Some(path).filter(|path| path.is_dir()).and_then(within).unwrap_or_else(|| path.to_owned());
    file.canonicalize().or_else(|_| std::path::absolute(&file)).unwrap_or(file)
}

/// The folder of the user where libraries are installed; none where the environment names no home.
pub fn runtime_folder() -> Option<PathBuf> {
    Some(own_folder("XDG_DATA_HOME", ".local/share")?.join("runtime"))
}

/// The folder of this program among the user's own: below what a variable names, else below this folder of the home.
pub(super) fn own_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let home = || std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(in_home));
    Some(absolute(variable).or_else(home)?.join("inkstone"))
}

/// The path that a variable names, if it is absolute.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
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

/// The package of the Python that would run: asked without importing it. Python is isolated (`-I`), or it would look into the
/// current folder and what `PYTHONPATH` names first; the user's own packages, which that leaves out, are put back behind the others.
fn of_python() -> Option<PathBuf> {
    let ask = "import importlib.util as u, site, sys; sys.path.append(site.getusersitepackages()); \
               s = u.find_spec('onnxruntime'); print(s.origin or '' if s else '')";
    let output = program("python3")?.args(["-I", "-c", ask]).stderr(Stdio::null()).output().ok()?;
    let origin = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    within(Some(origin).filter(|origin| origin.is_absolute())?.parent()?.parent()?)
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
