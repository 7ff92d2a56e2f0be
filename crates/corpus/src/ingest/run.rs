//! One run of ingest: compare the files with the log, read new content, check the losses, commit.

mod facts;

pub use facts::{CrawledField, crawled_fields};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{NaiveDateTime, Utc};

use crate::ingest::Params;
use crate::ingest::commit::{self, CommitPlan, PartSource, Staging};
use crate::ingest::disagreement::PricesTwice;
use crate::ingest::documents::Ids;
use crate::ingest::events::Events;
use crate::ingest::files::{self, Content, ReadUnit, UnitFiles};
use crate::ingest::log::{FileEntry, IngestLog, NEWEST, VERSION};
use crate::ingest::papers::Kept;
use crate::ingest::price_scan::PriceFindings;
use crate::ingest::prices::{PastPrice, Prices};
use crate::ingest::read::{self, ReadSetting, Staged};
use crate::ingest::reason;
use crate::ingest::rejects::RejectLines;
use crate::ingest::relations::Relations;
use crate::ingest::revisions::Revisions;
use crate::ingest::securities::Securities;
use crate::ingest::source::{Source, Table};
use crate::ingest::standing::Standing;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{LINES, Message};
use inkstone_base::{bail, ensure, message};
use inkstone_tables::corpus;
use inkstone_tables::project::Project;

/// Reads new content of the sources into the project's tables.
///
/// Paths in `sources` are relative to `base`. The report speaks of the whole corpus, not only of what this run read; it is
/// `unchanged` when every file was as the last run left it.
pub fn run(sources: &[Source], params: &Params, base: &Path, project: &Project, ctx: &Ctx) -> Result<Report> {
    let latest = params.latest.unwrap_or_else(|| (Utc::now() + chrono::Duration::hours(8)).naive_utc());
    run_at(latest, sources, params, base, project, ctx)
}

/// The same at a moment; rows after it are of the future.
pub(super) fn run_at(
    latest: NaiveDateTime,
    sources: &[Source],
    params: &Params,
    base: &Path,
    project: &Project,
    ctx: &Ctx,
) -> Result<Report> {
    Source::check_all(sources)?;
    let problems = params.precedence_problems(sources);
    if !problems.is_empty() {
        bail!("[ingest] precedence：{}", "[ingest] precedence: {}", Message::joined(&problems, LINES));
    }
    ensure!(
        (0.0..=1.0).contains(&params.max_loss),
        "[ingest] max_loss = {} 不是 0 到 1 之间的比例",
        "[ingest] max_loss = {} is not a share between 0 and 1",
        params.max_loss
    );
    project.own()?;
    commit::finish_interrupted(project)?;
    project.sweep()?;
    let standing = Standing::read(project, ctx)?;
    let (mut units, passed_over) = files::find(sources, base)?;
    let place = |unit: &ReadUnit<'_>| match unit.source.table {
        Table::Prices => params.precedence.iter().position(|name| *name == unit.source.name),
        Table::Documents | Table::Securities | Table::Relations | Table::Events => None,
    };
    units.sort_by_key(|unit| place(unit).unwrap_or(usize::MAX));
    let there = units.iter().map(|unit| (unit.source.name.as_str(), unit.path.as_str())).collect();
    standing.check_sources(sources, &there, project)?;
    ensure!(
        (0.0..=1.0).contains(&params.max_garbled),
        "[ingest] max_garbled = {} 不是 0 到 1 之间的比例",
        "[ingest] max_garbled = {} is not a share between 0 and 1",
        params.max_garbled
    );
    let run = IngestRun {
        kept: Kept::new(&project.extracted()),
        params,
        base,
        project,
        ctx,
        latest,
        staging: Staging::new(project),
        log: standing.log,
        again: standing.again,
    };
    let mut tasks = run.compare(units)?;
    let removed = run.log.files.len() - tasks.iter().filter(|t| t.known.is_some()).count();
    let in_order = tasks.iter().filter_map(|t| t.known).is_sorted();
    if standing.damaged.is_empty() && removed == 0 && in_order && tasks.iter().all(|t| t.state == FileWork::Kept) {
        // A kill may have come when all was in place and what is of no more use was about to go.
        run.staging.clear()?;
        run.prune_kept(&tasks)?;
        let mut report = run.log.report("ingest", |_| true);
        report.facts = run.log.facts.clone();
        report.unchanged = true;
        return Ok(report);
    }
    let mut report = match run.read_and_commit(&tasks, removed, &passed_over) {
        Err(error) if error.is::<PastPrice>() => {
            read_all(&mut tasks, Table::Prices);
            run.read_and_commit(&tasks, removed, &passed_over)?
        }
        report => report?,
    };
    report.name_damage(standing.damaged.iter().map(|damage| damage.within(project.dir())));
    Ok(report)
}

/// Work to be done for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileWork {
    /// As long as the log says, and the same.
    Kept,
    /// Longer than the log says, and the same up to there.
    Grown,
    /// New, or not as the log says, or with damaged parts.
    Fresh,
}

/// A file with the work to be done for it.
struct FileTask<'a> {
    unit: ReadUnit<'a>,
    content: Content,
    settings: Key,
    /// Number of its entry in the old log.
    known: Option<usize>,
    state: FileWork,
}

/// A file whose rows are in the new corpus, and where its parts are.
struct IngestedFile {
    entry: FileEntry,
    pieces: Vec<PartSource>,
    /// Rejects: number of lines of the old file that stay, and path of a new file.
    kept_rejects: u64,
    new_rejects: Option<PathBuf>,
}

/// True if ingest reads only the new rows of a file of this table that has grown.
fn is_appended_to(table: Table) -> bool {
    matches!(table, Table::Documents | Table::Prices)
}

/// The tables that ingest writes as one file each.
struct DailyAndDatedTables {
    prices: Prices,
    securities: Securities,
    relations: Relations,
    events: Events,
}

/// Has all files of a table read from their beginnings.
fn read_all(tasks: &mut [FileTask<'_>], table: Table) {
    tasks.iter_mut().filter(|task| task.unit.source.table == table).for_each(|task| task.state = FileWork::Fresh);
}

struct IngestRun<'a> {
    params: &'a Params,
    base: &'a Path,
    project: &'a Project,
    ctx: &'a Ctx,
    latest: NaiveDateTime,
    staging: Staging,
    kept: Kept,
    log: IngestLog,
    /// Numbers of the log's files that are damaged.
    again: BTreeSet<usize>,
}

impl<'a> IngestRun<'a> {
    /// Compares the files with the log.
    fn compare<'b>(&self, units: Vec<ReadUnit<'b>>) -> Result<Vec<FileTask<'b>>> {
        let number_of: BTreeMap<(&str, &str), usize> =
            self.log.files.iter().enumerate().map(|(i, f)| ((f.source.as_str(), f.path.as_str()), i)).collect();
        let mut tasks = Vec::new();
        for unit in units {
            let settings = self.params.settings_of(&unit);
            let known = number_of.get(&(unit.source.name.as_str(), unit.path.as_str())).copied();
            let stands = |entry: &FileEntry| entry.settings == settings && !entry.is_due(self.latest);
            let known = known.filter(|i| stands(&self.log.files[*i]));
            let entry = known.map(|i| &self.log.files[i]);
            let content = unit.content(entry, self.ctx)?;
            let damaged = known.is_some_and(|i| self.again.contains(&i));
            let state = match entry.filter(|_| !damaged) {
                Some(entry) if entry.size == content.size && entry.hash == content.hash => FileWork::Kept,
                Some(entry) if content.grown && is_appended_to(entry.table) => FileWork::Grown,
                _ => FileWork::Fresh,
            };
            tasks.push(FileTask { unit, content, settings, known, state });
        }
        // Prices, securities, relations and events are one table each: when one of their files changes, all are read. But rows that are appended to
        // the prices, in files that were read or in others, are read alone.
        for table in [Table::Prices, Table::Securities, Table::Relations, Table::Events] {
            let before = self.log.files.iter().filter(|f| f.table == table).count();
            let mine = || tasks.iter().filter(|t| t.unit.source.table == table);
            let known = mine().filter(|t| t.state != FileWork::Fresh).count();
            let in_order = mine().filter_map(|t| t.known).is_sorted();
            let is_whole = match table {
                // The first source of a date and code counts.
                Table::Prices => known == before && known > 0 && in_order,
                _ => known == before && mine().count() == before,
            };
            if !is_whole {
                read_all(&mut tasks, table);
            }
        }
        // A removed or rewritten file sets ids free that rows elsewhere were refused for.
        let known: BTreeSet<usize> =
            tasks.iter().filter(|t| t.state != FileWork::Fresh).filter_map(|t| t.known).collect();
        let freed =
            (0..self.log.files.len()).any(|i| self.log.files[i].table == Table::Documents && !known.contains(&i));
        if freed {
            for task in &mut tasks {
                let refused = |i: usize| {
                    let file = &self.log.files[i];
                    file.reused > 0 || file.dropped.contains_key(reason::DUPLICATE_ID)
                };
                if task.known.is_some_and(refused) {
                    task.state = FileWork::Fresh;
                }
            }
        }
        Ok(tasks)
    }

    /// Fails with [`PastPrice`] where prices that were to be appended are not later than those that are there.
    fn read_and_commit(&self, tasks: &[FileTask<'_>], removed: usize, passed_over: &[String]) -> Result<Report> {
        let mut ids = Ids::default();
        for task in tasks.iter().filter(|t| t.state != FileWork::Fresh) {
            for part in task.known.map(|i| self.parts_of(i)).into_iter().flatten() {
                self.ctx.check()?;
                ids.take_part(&self.project.documents().path(part), 0)?;
            }
        }
        let staged = |table: Table| self.staging.file(&format!("{}.parquet", table.name()));
        let of_prices = |state: &dyn Fn(FileWork) -> bool| {
            tasks.iter().any(|t| t.unit.source.table == Table::Prices && state(t.state))
        };
        let is_appended = of_prices(&|state| state != FileWork::Fresh) && of_prices(&|state| state != FileWork::Kept);
        let earlier = is_appended.then(|| self.project.prices());
        let mut read = DailyAndDatedTables {
            prices: Prices::new(staged(Table::Prices), earlier)?,
            securities: Securities::default(),
            relations: Relations::default(),
            events: Events::default(),
        };
        let mut files_of: BTreeMap<&str, usize> = BTreeMap::new();
        tasks.iter().for_each(|t| *files_of.entry(&t.unit.source.name).or_default() += 1);
        let may_be_empty = |task: &FileTask<'_>| {
            let source = task.unit.source;
            files_of[source.name.as_str()] > 1 || !source.command.is_empty()
        };
        self.ctx.expect_input(tasks.iter().filter(|t| t.state != FileWork::Kept).map(|t| t.content.size).sum());
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(match (task.state, task.known) {
                (FileWork::Kept, Some(i)) => self.kept(i),
                _ if task.content.size == 0 && may_be_empty(task) => self.empty(task),
                _ => self.read(task, &mut ids, &mut read)?,
            });
        }
        let mut pieces = Vec::new();
        for outcome in &mut outcomes {
            outcome.entry.first_part = pieces.len();
            pieces.extend(outcome.pieces.iter().cloned());
        }
        let kept: Vec<Option<usize>> = tasks.iter().map(|t| t.known).collect();
        let rejects = self.compose_rejects(&outcomes, &kept)?;
        let files = outcomes.into_iter().map(|o| o.entry).collect();
        let (tables, price_codes) = (self.log.tables.clone(), self.log.price_codes.clone());
        let (prices_twice, price_findings) = (self.log.prices_twice.clone(), self.log.price_findings.clone());
        let mut log = IngestLog {
            version: VERSION,
            files,
            tables,
            price_codes,
            price_findings,
            prices_twice,
            ..IngestLog::default()
        };
        if let Err(error) = self.check_losses(&log) {
            // The rejects say why; nothing else of this run is kept, and what was read waits for the next one.
            std::fs::rename(&rejects, self.project.rejects())?;
            return Err(error.context({
                message!("拒收的行见 {}", "the rows set aside are in {}", self.project.rejects().display())
            }));
        }
        log.rejects = disk::hash_file(&rejects)?;
        let mut files = vec![(rejects, self.project.rejects())];
        let mut gone = Vec::new();
        let DailyAndDatedTables { mut prices, securities, relations, events } = read;
        let (mut securities, mut relations, mut events) = (Some(securities), Some(relations), Some(events));
        for table in [Table::Prices, Table::Securities, Table::Relations, Table::Events] {
            let Some(place) = table.file(self.project) else { continue };
            let mut mine = tasks.iter().filter(|t| t.unit.source.table == table).peekable();
            let staged = staged(table);
            if mine.peek().is_none() {
                log.tables.remove(table.name());
                if table == Table::Prices {
                    (log.price_codes, log.prices_twice) = Default::default();
                    log.price_findings = PriceFindings::default();
                }
                gone.push(place);
            } else if mine.any(|t| t.state != FileWork::Kept) {
                match table {
                    Table::Prices => {
                        let written = prices.write(self.ctx)?;
                        let earlier =
                            if is_appended { std::mem::take(&mut log.prices_twice) } else { PricesTwice::default() };
                        let before = if is_appended { std::mem::take(&mut log.price_codes) } else { BTreeSet::new() };
                        log.price_codes = before.into_iter().chain(written.codes).collect();
                        log.prices_twice = earlier.and(written.twice);
                        log.price_findings = written.findings;
                    }
                    Table::Relations => relations.take().unwrap_or_default().write(&staged)?,
                    Table::Events => events.take().unwrap_or_default().write(&staged)?,
                    _ => securities.take().unwrap_or_default().write(&staged)?,
                }
                log.tables.insert(table.name().to_owned(), disk::key_of(&staged)?);
                files.push((staged, place));
            }
        }
        let revisions = self.revisions(tasks, &pieces, &files, is_appended)?;
        if !revisions.is_empty() {
            let staged = self.staging.file("revisions.parquet");
            revisions.write_behind(&self.project.revisions(), &staged, self.latest)?;
            files.push((staged, self.project.revisions()));
        }
        match log.is_as(&self.log) {
            // The damaged file has been read again, and the corpus is what it was.
            true => (log.facts, log.gaps) = (self.log.facts.clone(), self.log.gaps.clone()),
            false => self.note_facts(&mut log, tasks, &pieces, removed, passed_over)?,
        }
        if !revisions.is_empty() {
            log.facts.insert("revisions".into(), revisions.counts().into());
        }
        let mut report = log.report("ingest", |_| true);
        report.facts = log.facts.clone();
        CommitPlan::new(self.project, pieces, files, gone, log)?.commit(self.project, &self.staging)?;
        self.prune_kept(tasks)?;
        Ok(report)
    }

    /// The changes of documents and prices that were there before this run, in files that are read as they were then.
    fn revisions(
        &self,
        tasks: &[FileTask<'_>],
        pieces: &[PartSource],
        files: &[(PathBuf, PathBuf)],
        is_appended: bool,
    ) -> Result<Revisions> {
        let mut revisions = Revisions::default();
        let settings: BTreeSet<Key> = tasks.iter().map(|task| task.settings).collect();
        let is_comparable = |i: &usize| settings.contains(&self.log.files[*i].settings) && !self.again.contains(i);
        let newest = self.log.facts.get(NEWEST).cloned().map(serde_json::from_value).transpose()?.unwrap_or_default();
        let kept: BTreeSet<usize> = pieces
            .iter()
            .filter_map(|piece| match piece {
                PartSource::Kept(part) => Some(*part),
                PartSource::Staged(_) => None,
            })
            .collect();
        let replaced = (0..self.log.files.len()).filter(is_comparable).flat_map(|i| self.parts_of(i));
        let before: Vec<PathBuf> =
            replaced.filter(|part| !kept.contains(part)).map(|part| self.project.documents().path(part)).collect();
        let after: Vec<&PathBuf> = pieces
            .iter()
            .filter_map(|piece| match piece {
                PartSource::Staged(path) => Some(path),
                PartSource::Kept(_) => None,
            })
            .collect();
        // Documents of damaged files come anew, which is no news.
        if self.again.iter().all(|i| self.log.files[*i].table != Table::Documents) {
            revisions.add_documents(&before, &after, &newest)?;
        }
        let prices = self.project.prices();
        let mut were_prices =
            (0..self.log.files.len()).filter(|i| self.log.files[*i].table == Table::Prices).peekable();
        let were_whole = were_prices.peek().is_some() && were_prices.all(|i| is_comparable(&i));
        if let Some((staged, _)) = files.iter().find(|(_, to)| *to == prices)
            && were_whole
            && !is_appended
        {
            revisions.add_prices(&prices, staged)?;
        }
        Ok(revisions)
    }

    /// Forgets the rows of files that are gone.
    fn prune_kept(&self, tasks: &[FileTask<'_>]) -> Result<()> {
        let mut keys = BTreeSet::new();
        for task in tasks {
            let UnitFiles::Papers(files) = &task.unit.content else { continue };
            for (file, content) in files.iter().zip(&task.content.members) {
                let key = Kept::key(*content, file.format, &file.name(), &self.params.limits());
                keys.extend(key.map(|key| key.hex()));
            }
        }
        self.kept.prune(&keys)
    }

    fn parts_of(&self, known: usize) -> std::ops::Range<usize> {
        let entry = &self.log.files[known];
        entry.first_part..entry.first_part + entry.parts
    }

    fn kept(&self, known: usize) -> IngestedFile {
        let entry = self.log.files[known].clone();
        let pieces = self.parts_of(known).map(PartSource::Kept).collect();
        IngestedFile { kept_rejects: entry.rejects(), entry, pieces, new_rejects: None }
    }

    /// An empty file among others has no rows, nor has one that a program has not filled yet; alone, it is an error.
    fn empty(&self, task: &FileTask<'_>) -> IngestedFile {
        let unit = &task.unit;
        let entry =
            FileEntry::empty(&unit.source.name, &unit.path, unit.source.table, task.content.hash, task.settings);
        IngestedFile { entry, pieces: Vec::new(), kept_rejects: 0, new_rejects: None }
    }

    fn read(&self, task: &FileTask<'_>, ids: &mut Ids, into: &mut DailyAndDatedTables) -> Result<IngestedFile> {
        let unit = &task.unit;
        let setting = ReadSetting {
            base: self.base,
            latest: self.latest,
            sealed_from: self.params.sealed_from,
            settings: task.settings,
            limits: self.params.limits(),
            kept: &self.kept,
            ctx: self.ctx,
        };
        let folder = self.staging.unit(&unit.source.name, &unit.path);
        let rejects = Staged::rejects(&folder);
        let grown = task.known.filter(|_| task.state == FileWork::Grown);
        let known = grown.map(|i| &self.log.files[i]);
        let table_entry = match unit.source.table {
            Table::Documents => None,
            Table::Prices => Some(read::read_prices(unit, &task.content, known, &mut into.prices, &rejects, &setting)?),
            Table::Securities => {
                Some(read::read_securities(unit, &task.content, &mut into.securities, &rejects, &setting)?)
            }
            Table::Relations => {
                Some(read::read_relations(unit, &task.content, &mut into.relations, &rejects, &setting)?)
            }
            Table::Events => Some(read::read_events(unit, &task.content, &mut into.events, &rejects, &setting)?),
        };
        if let Some(entry) = table_entry {
            let kept_rejects = known.map_or(0, FileEntry::rejects);
            return Ok(IngestedFile { entry, pieces: Vec::new(), kept_rejects, new_rejects: Some(rejects) });
        }
        let staged = match self.staged_before(task, known, ids, &folder)? {
            Some(staged) => staged,
            None => read::read_documents(unit, &task.content, known, ids, &folder, self.project, &setting)?,
        };
        let stays = grown.map(|i| self.parts_of(i)).into_iter().flatten().take(staged.kept_parts).map(PartSource::Kept);
        let parts = corpus::Parts::new(&folder);
        let pieces = stays.chain((0..staged.parts).map(|i| PartSource::Staged(parts.path(i)))).collect();
        Ok(IngestedFile { entry: staged.entry, pieces, kept_rejects: staged.kept_rejects, new_rejects: Some(rejects) })
    }

    /// Staged rows of this file from an interrupted run, if they would be read the same way now.
    fn staged_before(
        &self,
        task: &FileTask<'_>,
        known: Option<&FileEntry>,
        ids: &mut Ids,
        folder: &Path,
    ) -> Result<Option<Staged>> {
        let Some(staged) = Staged::find(folder)? else { return Ok(None) };
        let entry = &staged.entry;
        let same = entry.hash == task.content.hash
            && entry.settings == task.settings
            && !entry.is_due(self.latest)
            && staged.grown_from == known.map(|k| k.hash)
            // Which rows are duplicates depends on the other files, which may have changed meanwhile.
            && entry.reused == 0
            && !entry.dropped.contains_key(reason::DUPLICATE_ID);
        if !same {
            return Ok(None);
        }
        let parts = corpus::Parts::new(folder);
        // The first staged part of a grown file repeats documents of the corpus, whose ids are taken already.
        let mut repeated = known.map_or(0, |k| (k.rows_out % corpus::PART_ROWS as u64) as usize);
        let mut with_staged = ids.clone();
        for i in 0..staged.parts {
            if !with_staged.take_part(&parts.path(i), std::mem::take(&mut repeated))? {
                return Ok(None);
            }
        }
        *ids = with_staged;
        self.ctx.advance(entry.rows_in)?;
        Ok(Some(staged))
    }

    /// Writes the rejects of all files, in the files' order.
    fn compose_rejects(&self, outcomes: &[IngestedFile], known: &[Option<usize>]) -> Result<PathBuf> {
        let mut starts = vec![0u64];
        self.log.files.iter().for_each(|f| starts.push(starts[starts.len() - 1] + f.rejects()));
        let path = self.staging.file("rejects.jsonl");
        disk::write_atomic(&path, |out| {
            let (mut old, mut at) = (RejectLines::open(&self.project.rejects())?, 0);
            for (outcome, known) in outcomes.iter().zip(known) {
                if let Some(i) = known.filter(|_| outcome.kept_rejects > 0) {
                    if starts[i] < at {
                        // The order of the files has changed: begin at the top again.
                        (old, at) = (RejectLines::open(&self.project.rejects())?, 0);
                    }
                    old.copy(starts[i] - at, outcome.kept_rejects, out)?;
                    at = starts[i] + outcome.kept_rejects;
                }
                if let Some(new) = &outcome.new_rejects {
                    std::io::copy(&mut std::fs::File::open(new)?, out)?;
                }
            }
            Ok(())
        })?;
        Ok(path)
    }

    /// Each source by itself, so that a large good one does not hide a small bad one.
    fn check_losses(&self, log: &IngestLog) -> Result<()> {
        let mut sources: Vec<&str> = log.files.iter().map(|f| f.source.as_str()).collect();
        sources.dedup();
        for source in sources {
            let report = log.losses(&format!("ingest of source {source:?}"), |f| f.source == source);
            report.check_loss(self.params.max_loss, "[ingest] max_loss")?;
        }
        Ok(())
    }
}
