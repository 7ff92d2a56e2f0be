//! The first run: a folder without a configuration, and what can be made of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;

use super::demo;
use super::opened::{OpenProject, language};
use super::workbench::{forms, workspace};
use crate::cli::{DEMO_FOLDER, Demo, Global};
use crate::config::LanguageSetting;
use inkstone_tui as tui;
use inkstone_tui::{Change, MendingBench, Reopen, Start, Template, WelcomeBench};

use inkstone_base::{bail, ensure};

/// Projects that the first screen offers at the most.
const MOST_PROJECTS: usize = 3;

/// Shows the settings of a configuration that cannot be read at the first fault, and then the workbench.
pub(super) fn mend(path: &Path, global: &Global) -> Result<ExitCode> {
    let (file, flags) = (path.to_owned(), global.clone());
    tui::mend(MendingBench {
        forms: forms::bench(path),
        open: Arc::new(move || workspace(&OpenProject::read(&file, "run", &flags)?, Start::Browse, &flags, None)),
        language: language(LanguageSetting::Auto, global.lang.as_deref())?,
        threads: global.threads.unwrap_or(0),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the first screen, and then the workbench on what was chosen.
pub(super) fn run(path: &Path, global: &Global) -> Result<ExitCode> {
    let forms = forms::bench(path);
    let (to_begin, file, flags, flags_of_demo) = (forms.clone(), path.to_owned(), global.clone(), global.clone());
    tui::welcome(WelcomeBench {
        demo: Arc::new(move || {
            demo::workspace(&Demo { scale: 1.0, full: true, dir: DEMO_FOLDER.into() }, &flags_of_demo)
        }),
        projects: projects_within(path, global),
        begin: Arc::new(move |sources, with_tone| {
            let mut sheet = (to_begin.read)()?;
            ensure!(
                sheet.stood.is_none(),
                "另一程序在此期间创建了 {}；什么也没有写",
                "another program has created {} in the meantime; nothing was written",
                file.display()
            );
            for source in sources {
                sheet = (to_begin.change)(&sheet, &Change::Source(Box::new(source.clone())))?;
            }
            let further = if with_tone { Template::Tone.changes(&sheet) } else { Vec::new() };
            for change in further {
                sheet = (to_begin.change)(&sheet, &change)?;
            }
            if let Some(fault) = sheet.faults.first() {
                bail!("{}：{}", "{}: {}", fault.path, fault.message);
            }
            (to_begin.save)(&sheet)?;
            let start = if with_tone { Start::FirstRun } else { Start::Browse };
            workspace(&OpenProject::read(&file, "run", &flags)?, start, &flags, None)
        }),
        forms,
        language: language(LanguageSetting::Auto, global.lang.as_deref())?,
        threads: global.threads.unwrap_or(0),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The projects in the folders beside `path`, a configuration that does not exist yet; the newest first.
fn projects_within(path: &Path, global: &Global) -> Vec<(String, Reopen)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let file = entry.path().join(path.file_name()?);
            Some((std::fs::metadata(&file).ok()?.modified().ok()?, file))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    let offer = |file: PathBuf| -> Option<(String, Reopen)> {
        let name = file.parent()?.file_name()?.to_string_lossy().into_owned();
        let flags = global.clone();
        let open = move || workspace(&OpenProject::read(&file, "run", &flags)?, Start::Browse, &flags, None);
        Some((name, Arc::new(open)))
    };
    found.into_iter().take(MOST_PROJECTS).filter_map(|(_, file)| offer(file)).collect()
}
