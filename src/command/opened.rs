//! A project as a command opened it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};

use crate::cli::Global;
use crate::config::{Config, LanguageSetting};
use crate::pipeline::{self, NOTIFY, Stage, StageId};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Language, Word};
use inkstone_base::lock::Lock;
use inkstone_base::message;
use inkstone_base::shell::quoted;
use inkstone_corpus::ingest::fetch::{self, FETCH};
use inkstone_tables::project::Project;

/// Puts flags of the command line over a configuration.
type Flags = Arc<dyn Fn(&mut Config) -> Result<()> + Send + Sync>;

/// The part of a run that the user asks for by flags alone.
#[derive(Clone, Default)]
pub(super) struct RunFlags {
    /// Run the commands of the configuration.
    pub(super) commands: bool,
    /// Read the sealed period, for this reason.
    pub(super) open_vault: Option<String>,
}

/// A configuration that was read, with the flags of the command line put over it.
#[derive(Clone)]
pub(super) struct OpenProject {
    pub(super) config: Config,
    /// The configuration's file.
    pub(super) path: PathBuf,
    /// Folder of the configuration: paths in it are relative to this.
    pub(super) base: PathBuf,
    /// The command line that runs the same as a batch.
    pub(super) command: String,
    flags: Flags,
}

impl OpenProject {
    pub(super) fn read(path: &Path, command: &str, global: &Global) -> Result<OpenProject> {
        let (threads, seed, trust) = (global.threads, global.seed, global.trust);
        let flags: Flags = Arc::new(move |config| {
            config.project.threads = threads.unwrap_or(config.project.threads);
            config.project.seed = seed.unwrap_or(config.project.seed);
            config.onnx.trusted = trust;
            Ok(())
        });
        let mut config = Config::read(path)?;
        flags(&mut config)?;
        language(config.ui.language, global.lang.as_deref())?.use_for_messages();
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let trusted = if trust { " --trust" } else { "" };
        let command = format!("inkstone {command} -c {} --headless{trusted}", quoted(&path.display().to_string()));
        Ok(OpenProject { config, path: path.to_owned(), base: base.to_owned(), command, flags })
    }

    /// A configuration that is in no file.
    #[cfg(test)]
    pub(super) fn from_config(config: Config, base: &Path) -> OpenProject {
        let flags: Flags = Arc::new(|_| Ok(()));
        OpenProject { config, path: base.join("workbench.toml"), base: base.to_owned(), command: String::new(), flags }
    }

    /// The flags that name the configuration on the command line.
    pub(super) fn config_flags(&self) -> String {
        format!("-c {}", quoted(&self.path.display().to_string()))
    }

    /// Puts further flags over the configuration, now and whenever it is read again.
    pub(super) fn with(
        mut self,
        further: impl Fn(&mut Config) -> Result<()> + Send + Sync + 'static,
    ) -> Result<OpenProject> {
        further(&mut self.config)?;
        let flags = self.flags.clone();
        self.flags = Arc::new(move |config| {
            flags(config)?;
            further(config)
        });
        Ok(self)
    }

    /// Reads the file again, which an editor may have changed since, and puts the flags over it.
    pub(super) fn again(&self) -> Result<OpenProject> {
        let mut config = Config::read(&self.path)?;
        (self.flags)(&mut config)?;
        Ok(OpenProject { config, ..self.clone() })
    }

    pub(super) fn project(&self) -> Project {
        pipeline::project(&self.config, &self.base)
    }

    /// Runs the stages up to `last`; with commands, the programs of the sources before them and those of `[[on]]` after them.
    pub(super) fn run(&self, last: Stage, flags: &RunFlags, ctx: &Ctx) -> Result<Vec<Report>> {
        let (mut config, base, commands) = (self.config.clone(), &self.base, flags.commands);
        if let Some(reason) = &flags.open_vault {
            pipeline::open_vault(&mut config, base, reason)?;
        }
        let config = &config;
        let mut reports = Vec::new();
        if commands && config.source.iter().any(|source| !source.command.is_empty()) {
            let work = || fetch::run(&config.source, base, &self.project(), ctx);
            reports.push(ctx.stage(FETCH, "rows", None, work)?);
        }
        reports.extend(pipeline::run(config, base, last, ctx)?);
        if commands && !config.on.is_empty() {
            let left_out: Vec<String> = pipeline::left_out(&reports)
                .into_iter()
                .filter_map(|(stage, _)| match stage {
                    StageId::Factor(name) => Some(name),
                    _ => None,
                })
                .collect();
            let work = || pipeline::notify(config, base, &left_out, ctx);
            reports.push(ctx.stage(NOTIFY, "events", None, work)?);
        }
        Ok(reports)
    }

    /// Reads the configuration file again and runs the stages up to `last`.
    pub(super) fn run_again(&self, last: Stage, flags: &RunFlags, ctx: &Ctx) -> Result<Vec<Report>> {
        self.again()?.run(last, flags, ctx)
    }

    /// Holds the lock of the project for as long as this command writes.
    pub(super) fn writing(&self, command: &str) -> Result<Lock> {
        self.project().lock_for(command)
    }

    /// Fails where a folder that the stages up to `last` write into cannot be written: now, and not after hours of work.
    pub(super) fn ensure_writable(&self, last: Stage) -> Result<()> {
        let project = self.project();
        let mut folders = vec![project.dir().to_owned()];
        if last >= Stage::Extract {
            folders.push(project.store());
        }
        if last >= Stage::Backtest {
            folders.push(project.ledger());
        }
        if last >= Stage::Export {
            // A new folder of exports is made beside the old one.
            folders.extend(self.base.join(&self.config.project.exports).parent().map(Path::to_owned));
        }
        if last >= Stage::Report {
            folders.push(self.base.join(&self.config.report.dir));
        }
        folders.iter().try_for_each(|folder| ensure_writable(folder))
    }

    pub(super) fn ctx(&self) -> Result<Ctx> {
        Ctx::new(self.config.project.threads, self.config.project.seed)
    }
}

/// Fails where nothing can be written in a folder, or where it cannot be made.
fn ensure_writable(folder: &Path) -> Result<()> {
    let is_named = |folder: &Path| !folder.as_os_str().is_empty();
    let nearest = folder.ancestors().find(|folder| is_named(folder) && folder.exists()).unwrap_or(Path::new("."));
    // A file without a name: nothing is left of it.
    tempfile::tempfile_in(nearest).map(drop).with_context(|| {
        message!("无法写入 {}：什么也没有运行", "cannot write in {}: nothing was run", folder.display())
    })
}

/// The language that the flag, else the configuration, else the environment asks for.
pub(super) fn language(configured: LanguageSetting, flag: Option<&str>) -> Result<Language> {
    match (flag, configured) {
        (Some("zh"), _) | (None, LanguageSetting::Zh) => Ok(Language::Zh),
        (Some("en"), _) | (None, LanguageSetting::En) => Ok(Language::En),
        (Some(other), _) => Err(anyhow!("{other:?}")).context(Word("--lang 为 zh 或 en", "--lang is zh or en")),
        (None, LanguageSetting::Auto) => Ok(Language::of_environment()),
    }
}
