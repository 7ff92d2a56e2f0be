//! Checks all files of a project: the seals of tables and JSON files, the keys that the stages noted, and that the parts of all tables
//! are of the same documents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use walkdir::WalkDir;

use super::output::Output;
use super::stage::StageId;
use super::state::State;
use super::{PipelineRun, project, structure_params};
use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, message};
use inkstone_corpus::ingest;
use inkstone_tables::corpus::{Parts, column};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// The damaged files of a project, its exports and its reports, sorted by path. Every byte is read. The feature store and the
/// ledger have checks of their own ([`inkstone_store`]).
pub fn check(config: &Config, base: &Path, ctx: &Ctx) -> Result<Vec<Damage>> {
    let project = project(config, base);
    let mut damaged = ingest::check(&project, ctx)?;
    damaged.extend(seals(config, &project, ctx)?);
    // This version cannot judge what a newer one has noted.
    if damaged.iter().any(|damage| matches!(damage.flaw, Flaw::Newer(_))) {
        return Ok(sorted(damaged));
    }
    let state = State::read(&project)?;
    for (stage, made) in state.made_files() {
        damaged.extend(Output::new(stage, config, base, &project).damage(made, ctx)?);
    }
    if !ingest::is_interrupted(&project)? {
        let found: BTreeSet<PathBuf> = damaged.iter().map(|damage| damage.path.clone()).collect();
        damaged.extend(rows(config, base, &found, ctx)?);
    }
    Ok(sorted(damaged))
}

/// Removes the damaged files of a project, so that the next run makes them again, and returns the list. Exports and reports lie
/// outside the project and are left to that run; a project of a newer version is left alone.
pub fn repair(config: &Config, base: &Path, ctx: &Ctx) -> Result<Vec<Damage>> {
    let project = project(config, base);
    let damaged = check(config, base, ctx)?;
    if let Some(newer) = damaged.iter().find(|damage| matches!(damage.flaw, Flaw::Newer(_))) {
        bail!(newer.clone());
    }
    for damage in damaged.iter().filter(|damage| damage.path.starts_with(project.dir())) {
        disk::remove_if_there(&damage.path)?;
    }
    Ok(damaged)
}

/// Each file once, with the first flaw that was found in it.
fn sorted(mut damaged: Vec<Damage>) -> Vec<Damage> {
    damaged.sort_by(|a, b| a.path.cmp(&b.path));
    damaged.dedup_by(|a, b| a.path == b.path);
    damaged
}

/// Files of the project whose seals do not hold.
fn seals(config: &Config, project: &Project, ctx: &Ctx) -> Result<Vec<Damage>> {
    let files = sealed(config, project)?;
    let check_seal = |path: &PathBuf| {
        ctx.check()?;
        disk::damage_of(path, None)
    };
    let found: Vec<Option<Damage>> = ctx.install(|| files.par_iter().map(check_seal).collect::<Result<_>>())?;
    Ok(found.into_iter().flatten().collect())
}

/// The tables and JSON files of a project, by the names that this program gives. Other files in its folders are the user's.
fn sealed(config: &Config, project: &Project) -> Result<Vec<PathBuf>> {
    let tables = [project.prices(), project.securities(), project.relations(), project.company_events()];
    let mut files = [tables.to_vec(), vec![project.ingest_log(), project.state()]].concat();
    for parts in [project.documents(), project.clean(), project.links(), project.structure()] {
        files.extend(parts.numbered("parquet")?);
        files.extend(parts.numbered("json")?);
    }
    for rewrite in &config.rewrite {
        for parts in [project.rewritten(&rewrite.name), project.rewritten_links(&rewrite.name)] {
            files.extend(parts.numbered("parquet")?);
            files.extend(parts.numbered("json")?);
        }
    }
    // A state that cannot be read is among the files; the factors of the configuration are known without it.
    let state = State::read(project).ok();
    let built = state.iter().flat_map(State::made_files).filter_map(|(stage, _)| match stage {
        StageId::Factor(name) => Some(name.as_str()),
        _ => None,
    });
    for name in config.factor.iter().map(|factor| factor.name.as_str()).chain(built).collect::<BTreeSet<_>>() {
        let [factor, signals] = [project.factor(name), project.signals(name)];
        files.extend([factor, signals, project.events(name), project.lint(name), project.backtest(name)]);
    }
    for params in &config.experiment {
        let folder = project.experiment(&params.name);
        files.extend(["findings.json", "audits.json", "grid.json"].map(|name| folder.join(name)));
        files.extend(keyed(&folder)?);
    }
    files.extend(keyed(&project.extracted())?);
    files.extend(keyed(&project.written())?);
    files.retain(|path| path.exists());
    Ok(files)
}

/// The JSON files below a folder that are named by a key.
fn keyed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).into_iter().filter(|_| folder.exists()) {
        let path = entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?.into_path();
        let is_keyed = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(Key::is_hex);
        if is_keyed && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Parts whose rows are not those of the documents in the same part of the corpus. Parts of stages that have not run on the corpus as it
/// is now are not checked, and neither are the files of `damaged`.
fn rows(config: &Config, base: &Path, damaged: &BTreeSet<PathBuf>, ctx: &Ctx) -> Result<Vec<Damage>> {
    let mut run = PipelineRun::new(config, base, ctx)?;
    if !run.project.ingest_log().exists() || damaged.contains(&run.project.ingest_log()) {
        return Ok(Vec::new());
    }
    let (documents, mut tables) = (run.project.documents(), Vec::new());
    run.read_ingest_keys()?;
    run.corpus = run.clean_key();
    if is_current(&run, &StageId::Clean, run.corpus) {
        tables.push((run.project.clean(), None));
    }
    run.corpus = run.link_key()?;
    if is_current(&run, &StageId::Link, run.corpus) {
        tables.push((run.project.links(), Some(false)));
    }
    let structure_key = run.structure_key(&structure_params(config));
    if structure_key.is_ok_and(|key| is_current(&run, &StageId::Structure, key)) {
        tables.push((run.project.structure(), Some(true)));
    }
    for rewrite in &config.rewrite {
        let id = StageId::Rewrite(rewrite.name.clone());
        if let Ok(texts) = run.rewritten_by(rewrite)
            && is_current(&run, &id, texts.corpus)
        {
            tables.extend([(texts.clean, None), (texts.links, Some(false))]);
        }
    }
    let mut found = Vec::new();
    for (part, path) in documents.files()?.iter().enumerate().filter(|(_, path)| !damaged.contains(*path)) {
        ctx.check()?;
        let count = frames::rows_of_parquet(path)?;
        for (table, by_row) in &tables {
            let path = table.path(part);
            if !damaged.contains(&path) && !agrees(table, part, *by_row, count)? {
                found.push(Damage { path, flaw: Flaw::OtherRows });
            }
        }
    }
    Ok(found)
}

fn is_current(run: &PipelineRun<'_>, stage: &StageId, key: Key) -> bool {
    run.state.key_of(stage).is_some_and(|(noted, _)| noted == key)
}

/// True if a part is of `count` documents: it has a row for each (`None`), or a column `row` with their numbers, of which all must be
/// there (`Some(true)`) or any may be (`Some(false)`).
fn agrees(table: &Parts, part: usize, by_row: Option<bool>, count: usize) -> Result<bool> {
    let path = table.path(part);
    let Some(all) = by_row else { return Ok(frames::rows_of_parquet(&path)? == count) };
    let frame = frames::read_parquet(&path, Some(&["row"]))?;
    let last = column(&frame, "row")?.u32()?.iter().flatten().max().map_or(0, |row| row as usize + 1);
    Ok(if all { last == count } else { last <= count })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pipeline::{self, Stage};

    fn ran() -> (tempfile::TempDir, Config, Ctx) {
        let dir = tempfile::tempdir().unwrap();
        let news = "doc_id,published_at,title,body\n\
            1,2024-03-01 09:00:00,瑞禾电气业绩预增,净利润同比增长。\n\
            2,2024-03-02 09:00:00,启澜生物减持,股东拟减持。\n";
        fs::write(dir.path().join("news.csv"), news).unwrap();
        let toml = "[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n[structure]\nenabled = true\n";
        fs::write(dir.path().join("workbench.toml"), toml).unwrap();
        let config = Config::read(&dir.path().join("workbench.toml")).unwrap();
        let ctx = Ctx::new(1, config.project.seed).unwrap();
        pipeline::run(&config, dir.path(), Stage::Structure, &ctx).unwrap();
        (dir, config, ctx)
    }

    #[test]
    fn every_damaged_file_is_found_removed_and_made_again() {
        let (dir, config, ctx) = ran();
        let project = project(&config, dir.path());
        let found = || check(&config, dir.path(), &ctx).unwrap();
        assert_eq!(found(), []);
        let files = [
            project.boilerplate(),
            project.clean().path(0),
            project.documents().path(0),
            project.ingest_log(),
            project.links().path(0),
            project.rejects(),
            project.state(),
            project.structure().path(0),
        ];
        let intact: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
        for (path, intact) in files.iter().zip(&intact) {
            fs::write(path, [intact.as_slice(), b"more"].concat()).unwrap();
            assert_eq!(found().iter().map(|damage| &damage.path).collect::<Vec<_>>(), [path]);
            fs::write(path, intact).unwrap();
        }
        for path in &files[1..4] {
            fs::write(path, "").unwrap();
        }
        let repaired = repair(&config, dir.path(), &ctx).unwrap();
        assert_eq!(
            repaired.iter().map(|damage| &damage.path).collect::<Vec<_>>(),
            files[1..4].iter().collect::<Vec<_>>()
        );
        assert!(files[1..4].iter().all(|path| !path.exists()));
        pipeline::run(&config, dir.path(), Stage::Structure, &ctx).unwrap();
        assert_eq!(found(), []);
        for (path, intact) in files.iter().zip(&intact).filter(|(path, _)| **path != project.state()) {
            assert!(fs::read(path).unwrap() == *intact, "{}", path.display());
        }
    }

    #[test]
    fn files_of_the_user_in_a_project_are_neither_damaged_nor_removed() {
        let (dir, config, ctx) = ran();
        let at = |path: &str| dir.path().join(".inkstone").join(path);
        let theirs = [
            "notes.json",
            "mine.parquet",
            ".tmp-mine",
            "documents/mine.parquet",
            "documents/.tmp-mine",
            "clean/part-1.parquet",
            "clean/mine.json",
            "factors/mine.parquet",
            "lint/mine.json",
            "experiments/mine/notes.json",
            "extracted/readme.json",
            "extracted/ab/readme.txt",
        ];
        for path in theirs.map(at) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "mine").unwrap();
        }
        fs::write(at(".tmp-0123456789abcdef0123456789abcdef"), "ours").unwrap();
        assert_eq!(check(&config, dir.path(), &ctx).unwrap(), []);
        assert_eq!(repair(&config, dir.path(), &ctx).unwrap(), []);
        // A corpus that changes takes away parts and entries of its own.
        let more = "doc_id,published_at,title,body\n3,2024-03-03 09:00:00,明岳股份中标,公司中标。\n";
        fs::write(dir.path().join("news.csv"), more).unwrap();
        pipeline::run(&config, dir.path(), Stage::Structure, &ctx).unwrap();
        for path in theirs.map(at) {
            assert_eq!(fs::read(&path).unwrap(), b"mine", "{}", path.display());
        }
        assert!(!at(".tmp-0123456789abcdef0123456789abcdef").exists());
    }

    #[test]
    fn a_newer_project_is_not_repaired() {
        let (dir, config, ctx) = ran();
        let project = project(&config, dir.path());
        disk::write_json_of(&project.state(), &serde_json::json!([]), inkstone_base::disk::FORMAT + 1).unwrap();
        fs::write(project.clean().path(0), "").unwrap();
        let flaws: Vec<Flaw> = check(&config, dir.path(), &ctx).unwrap().iter().map(|damage| damage.flaw).collect();
        assert_eq!(flaws, [Flaw::CutShort, Flaw::Newer(inkstone_base::disk::FORMAT + 1)]);
        assert!(repair(&config, dir.path(), &ctx).is_err() && project.clean().path(0).exists());
    }

    #[test]
    fn parts_of_other_documents_are_told_apart() {
        let (dir, config, _) = ran();
        let project = project(&config, dir.path());
        for (table, by_row, fewer) in [
            (project.clean(), None, false),
            (project.links(), Some(false), true),
            (project.structure(), Some(true), false),
        ] {
            assert!(agrees(&table, 0, by_row, 2).unwrap());
            assert_eq!(agrees(&table, 0, by_row, 3).unwrap(), fewer, "a table of links may be silent on a document");
        }
        assert!(!agrees(&project.structure(), 0, Some(true), 1).unwrap());
    }
}
