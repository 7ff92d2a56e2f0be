//! Libraries that a project's configuration names: native code, which runs with the rights of the user as soon as it is loaded.
//!
//! A project may come from anywhere, so its library is loaded only after the user has agreed to it. What was agreed to is kept in
//! `libraries.json` in the user's own configuration folder: the project, the library, and the BLAKE3 of each of its files.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::find::{named_file, own_folder};
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::{bail, message};

/// A library that the configuration of a project names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLibrary {
    /// The folder of the configuration.
    project: PathBuf,
    /// The file, with every link followed.
    library: PathBuf,
    /// BLAKE3 of the file and of the other files of ONNX Runtime in its folder, which it loads itself.
    blake3: BTreeMap<String, String>,
}

/// The user's answer on a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Yes, to these very files.
    Given,
    Missing,
    /// Yes, but to other content.
    Changed,
}

impl NamedLibrary {
    /// Reads the library that the configuration in `project` names; none where it is not there.
    pub fn find(library: &Path, project: &Path) -> Result<Option<NamedLibrary>> {
        let library = named_file(library);
        if !library.is_file() {
            return Ok(None);
        }
        let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
        let project = project
            .canonicalize()
            .with_context(|| message!("没有文件夹 {}", "there is no folder {}", project.display()))?;
        let folder = disk::folder_of(&library);
        let entries =
            std::fs::read_dir(folder).with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?;
        let mut blake3 = BTreeMap::new();
        for path in entries.flatten().map(|entry| entry.path()).chain([library.clone()]) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && (path == library || name.contains("onnxruntime")) {
                blake3.insert(name, disk::hash_file_in_full(&path)?);
            }
        }
        Ok(Some(NamedLibrary { project, library, blake3 }))
    }

    pub fn file(&self) -> &Path {
        &self.library
    }

    /// Looks up whether the user has agreed to it.
    pub fn agreement(&self) -> Result<Agreement> {
        self.agreement_in(&book()?)
    }

    /// Notes that the user has agreed to it, in the place of what was agreed to of this library before.
    pub fn agree(&self) -> Result<()> {
        self.agree_in(&book()?)
    }

    /// Fails where the user has not agreed to it, and says the way out.
    pub(super) fn ensure_agreed(&self) -> Result<()> {
        let why = match self.agreement()? {
            Agreement::Given => return Ok(()),
            Agreement::Missing => Word("尚无人同意加载它", "and nobody has agreed to it"),
            Agreement::Changed => Word("而它在获得同意之后被改动过", "which has changed since it was agreed to"),
        };
        bail!(
            "{} 的配置指定了本机代码库 {}（[onnx] library），{why}：没有加载，因为加载即以你的权限运行其中的代码。若信任它，请在本次运行加 --trust，或在工作台打开项目，会询问一次；若不信任，请从配置中删除该行：inkstone doctor 会说明那时用哪个代码库",
            "the configuration in {} names a library of native code, {} ([onnx] library), {why}: it was not loaded, for loading it runs its code with your rights. If you trust it, add --trust for this run, or open the project in the workbench, which asks once. If not, take the line out of the configuration: inkstone doctor says which library is used then",
            self.project.display(),
            self.library.display()
        )
    }

    fn agreement_in(&self, book: &Path) -> Result<Agreement> {
        let known = read(book)?.into_iter().find(|known| self.is_at_place_of(known));
        Ok(match known {
            Some(known) if known.blake3 == self.blake3 => Agreement::Given,
            Some(_) => Agreement::Changed,
            None => Agreement::Missing,
        })
    }

    fn agree_in(&self, book: &Path) -> Result<()> {
        let mut known = read(book)?;
        known.retain(|known| !self.is_at_place_of(known));
        known.push(self.clone());
        let text = serde_json::to_string_pretty(&known)?;
        disk::write_atomic(book, |out| Ok(writeln!(out, "{text}")?))
    }

    fn is_at_place_of(&self, other: &NamedLibrary) -> bool {
        self.project == other.project && self.library == other.library
    }
}

/// The file that keeps what was agreed to.
fn book() -> Result<PathBuf> {
    let folder = own_folder("XDG_CONFIG_HOME", ".config");
    let folder = folder.context(Word(
        "XDG_CONFIG_HOME 与 HOME 都不是以完整路径给出的文件夹",
        "neither XDG_CONFIG_HOME nor HOME names a folder by its whole path",
    ))?;
    Ok(folder.join("libraries.json"))
}

fn read(book: &Path) -> Result<Vec<NamedLibrary>> {
    if !book.exists() {
        return Ok(Vec::new());
    }
    let text =
        std::fs::read_to_string(book).with_context(|| message!("无法读取 {}", "cannot read {}", book.display()))?;
    serde_json::from_str(&text).with_context(|| {
        message!("{} 已损坏：请删除后重新同意", "{} is damaged: remove it, and agree anew", book.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_is_to_one_library_of_one_project_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (book, project) = (folder.path().join("own/libraries.json"), folder.path().join("project"));
        let capi = project.join("lib/onnxruntime/capi");
        std::fs::create_dir_all(&capi).unwrap();
        assert_eq!(NamedLibrary::find(&project.join("lib"), &project).unwrap(), None, "nothing is there");
        std::fs::write(capi.join("libonnxruntime.so.1.31.1"), "one").unwrap();
        std::fs::write(capi.join("notes.txt"), "anything").unwrap();
        let find = || NamedLibrary::find(&project.join("lib"), &project).unwrap().unwrap();
        let first = find();
        assert_eq!(first.file(), capi.join("libonnxruntime.so.1.31.1").canonicalize().unwrap());
        assert_eq!(first.agreement_in(&book).unwrap(), Agreement::Missing);
        first.agree_in(&book).unwrap();
        assert_eq!(find().agreement_in(&book).unwrap(), Agreement::Given);

        let other = NamedLibrary::find(&project.join("lib"), folder.path()).unwrap().unwrap();
        assert_eq!(other.agreement_in(&book).unwrap(), Agreement::Missing, "another project names it");
        std::fs::write(capi.join("notes.txt"), "something else").unwrap();
        assert_eq!(find().agreement_in(&book).unwrap(), Agreement::Given);
        for changed in ["libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so"] {
            std::fs::write(capi.join(changed), "two").unwrap();
            assert_eq!(find().agreement_in(&book).unwrap(), Agreement::Changed, "{changed}");
            find().agree_in(&book).unwrap();
            assert_eq!(find().agreement_in(&book).unwrap(), Agreement::Given, "{changed}");
        }
        assert_eq!(read(&book).unwrap().len(), 1, "the old content is forgotten");
        std::fs::write(&book, "[{").unwrap();
        let error = find().agreement_in(&book).unwrap_err().to_string();
        assert!(error.contains("libraries.json is damaged: remove it"), "{error}");
    }
}
