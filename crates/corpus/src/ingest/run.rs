//! One run of ingest: compare the files with the log, read new content, check the losses, commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use chrono::{NaiveDate, NaiveDateTime, Utc};

use crate::ingest::Params;
use crate::ingest::commit::{self, CommitPlan, PartSource, Staging};
use crate::ingest::disagreement::PricesTwice;
use crate::ingest::documents::Ids;
use crate::ingest::files::{self, Content, ReadUnit, UnitFiles};
use crate::ingest::gaps::{self, Gap};
use crate::ingest::log::{FileEntry, IngestLog, VERSION};
use crate::ingest::papers::Kept;
use crate::ingest::price_scan::{self, PriceFindings};
use crate::ingest::prices::{self, PastPrice, Prices};
use crate::ingest::read::{self, ReadSetting, Staged};
use crate::ingest::reason;
use crate::ingest::rejects::RejectLines;
use crate::ingest::securities::Securities;
use crate::ingest::source::{Source, Table};
use crate::ingest::standing::Standing;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_tables::corpus;
use inkstone_tables::frames;
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
    ensure!(problems.is_empty(), "[ingest] precedence: {}", problems.join("\n"));
    ensure!(
        (0.0..=1.0).contains(&params.max_loss),
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
        Table::Documents | Table::Securities => None,
    };
    units.sort_by_key(|unit| place(unit).unwrap_or(usize::MAX));
    let there = units.iter().map(|unit| (unit.source.name.as_str(), unit.path.as_str())).collect();
    standing.check_sources(sources, &there, project)?;
    ensure!(
        (0.0..=1.0).contains(&params.max_garbled),
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
                Some(entry) if content.grown && entry.table != Table::Securities => FileWork::Grown,
                _ => FileWork::Fresh,
            };
            tasks.push(FileTask { unit, content, settings, known, state });
        }
        // Prices and securities are one table each: when one of their files changes, all are read. But rows that are appended to the prices,
        // in files that were read or in others, are read alone.
        for table in [Table::Prices, Table::Securities] {
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
        let (mut prices, mut securities) = (Prices::new(staged(Table::Prices), earlier)?, Securities::default());
        let mut files_of: BTreeMap<&str, usize> = BTreeMap::new();
        tasks.iter().for_each(|t| *files_of.entry(&t.unit.source.name).or_default() += 1);
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(match (task.state, task.known) {
                (FileWork::Kept, Some(i)) => self.kept(i),
                _ if task.content.size == 0 && files_of[task.unit.source.name.as_str()] > 1 => self.empty(task),
                _ => self.read(task, &mut ids, &mut prices, &mut securities)?,
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
        let (tables, price_codes) = (self.log.tables.clone(), self.log.price_codes);
        let prices_twice = self.log.prices_twice.clone();
        let mut log = IngestLog { version: VERSION, files, tables, price_codes, prices_twice, ..IngestLog::default() };
        if let Err(error) = self.check_losses(&log) {
            // The rejects say why; nothing else of this run is kept, and what was read waits for the next one.
            std::fs::rename(&rejects, self.project.rejects())?;
            return Err(error.context(format!("the rows set aside are in {}", self.project.rejects().display())));
        }
        log.rejects = disk::hash_file(&rejects)?;
        let mut files = vec![(rejects, self.project.rejects())];
        let mut gone = Vec::new();
        for (table, place) in [(Table::Prices, self.project.prices()), (Table::Securities, self.project.securities())] {
            let mut mine = tasks.iter().filter(|t| t.unit.source.table == table).peekable();
            let staged = staged(table);
            if mine.peek().is_none() {
                log.tables.remove(table.name());
                if table == Table::Prices {
                    (log.price_codes, log.prices_twice) = Default::default();
                }
                gone.push(place);
            } else if mine.any(|t| t.state != FileWork::Kept) {
                match table {
                    Table::Prices => {
                        let (codes, twice) = prices.write()?;
                        let earlier =
                            if is_appended { std::mem::take(&mut log.prices_twice) } else { PricesTwice::default() };
                        (log.price_codes, log.prices_twice) = (codes, earlier.and(twice));
                    }
                    _ => std::mem::take(&mut securities).write(&staged)?,
                }
                log.tables.insert(table.name().to_owned(), disk::key_of(&staged)?);
                files.push((staged, place));
            }
        }
        match log.is_as(&self.log) {
            // The damaged file has been read again, and the corpus is what it was.
            true => (log.facts, log.gaps) = (self.log.facts.clone(), self.log.gaps.clone()),
            false => self.note_facts(&mut log, tasks, &pieces, &files, removed, passed_over)?,
        }
        let mut report = log.report("ingest", |_| true);
        report.facts = log.facts.clone();
        CommitPlan::new(self.project, pieces, files, gone, log)?.commit(self.project, &self.staging)?;
        self.prune_kept(tasks)?;
        Ok(report)
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

    /// An empty file among others has no rows; alone, it is an error.
    fn empty(&self, task: &FileTask<'_>) -> IngestedFile {
        let unit = &task.unit;
        let entry =
            FileEntry::empty(&unit.source.name, &unit.path, unit.source.table, task.content.hash, task.settings);
        IngestedFile { entry, pieces: Vec::new(), kept_rejects: 0, new_rejects: None }
    }

    fn read(
        &self,
        task: &FileTask<'_>,
        ids: &mut Ids,
        prices: &mut Prices,
        securities: &mut Securities,
    ) -> Result<IngestedFile> {
        let unit = &task.unit;
        let setting = ReadSetting {
            base: self.base,
            latest: self.latest,
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
            Table::Prices => Some(read::read_prices(unit, &task.content, known, prices, &rejects, &setting)?),
            Table::Securities => Some(read::read_securities(unit, &task.content, securities, &rejects, &setting)?),
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

    fn note_facts(
        &self,
        log: &mut IngestLog,
        tasks: &[FileTask<'_>],
        pieces: &[PartSource],
        files: &[(PathBuf, PathBuf)],
        removed: usize,
        passed_over: &[String],
    ) -> Result<()> {
        let state = |state: FileWork| tasks.iter().filter(|t| t.state == state).count();
        let mut facts = Report::default();
        facts.fact("files", tasks.len());
        facts.fact("files_read", state(FileWork::Fresh));
        facts.fact("files_grown", state(FileWork::Grown));
        facts.fact("files_removed_or_changed", removed);
        let rows = |table: Table| log.report("", |f| f.table == table).rows_out;
        for table in [Table::Documents, Table::Prices, Table::Securities] {
            facts.fact(table.name(), rows(table));
        }
        facts.fact("parts", pieces.len());
        facts.fact("encodings", log.total(|f| &f.encodings));
        facts.fact("time_formats", log.total(|f| &f.times));
        let dates = log.total(|f| &f.dates);
        if !dates.is_empty() {
            facts.fact("dates_from", dates);
        }
        facts.fact("left_out", log.total(|f| &f.left_out));
        let empty: Vec<&str> = log.files.iter().filter(|f| f.rows_in == 0).map(|f| f.path.as_str()).collect();
        for (name, paths) in
            [("files_without_rows", empty), ("files_passed_over", passed_over.iter().map(String::as_str).collect())]
        {
            if !paths.is_empty() {
                facts.fact(name, paths.len());
                facts.fact(&format!("{name}_first"), &paths[..paths.len().min(5)]);
            }
        }
        let midnight: u64 = log.files.iter().map(|f| f.midnight).sum();
        if 2 * midnight > rows(Table::Documents) {
            facts.fact(
                "warning_midnight",
                format!(
                    "{midnight} documents were published at 00:00:00 sharp: if these are dates whose time was lost, they count as known \
                     a day too early; set time_format = \"%Y-%m-%d 00:00:00\" (or the like) to read them as dates"
                ),
            );
        }
        let below_zero: u64 = log.files.iter().filter_map(|file| file.dropped.get(prices::BELOW_ZERO)).sum();
        if below_zero > 0 {
            facts.fact(
                "warning_additive",
                format!(
                    "{below_zero} rows of prices lie below 0, so the series is adjusted by differences: its returns are no returns, also \
                     where it is above 0, the more wrong the longer ago. Give prices that are adjusted by factors, or unadjusted ones"
                ),
            );
        }
        let reused: BTreeMap<&str, u64> = IngestRun::reused_by_source(log);
        if !reused.is_empty() {
            facts.fact("ids_reused", &reused);
            facts.fact(
                "warning_ids_reused",
                format!(
                    "{} documents have the id of another document of their source, with other text and another time: each was kept, with its \
                     time behind the id (ID@TIME)",
                    reused.values().sum::<u64>()
                ),
            );
        }
        let documents = self.documents_by_day(log, pieces)?;
        let mut trading = BTreeSet::new();
        if !log.prices_twice.is_empty() {
            facts.fact("prices_of_several_sources", log.prices_twice.facts());
        }
        if rows(Table::Prices) > 0 {
            let found = PriceFindings::of_table(&self.prices_among(files), self.ctx)?;
            if let Some((date, factor)) = found.volume_breaks.first() {
                facts.fact(
                    "warning_volume_unit",
                    format!(
                        "from {date} on volumes are {factor:.3} times those before, at the median of all names: lots of 100 on one side and \
                         shares on the other. Give both parts in shares; capacity and traded value are wrong until then"
                    ),
                );
            }
            if let Some((signs, warning)) = found.adjustment_facts().zip(found.warning()) {
                facts.fact("adjustment", signs);
                facts.fact("warning_adjustment", warning);
            }
            if rows(Table::Documents) > 0 {
                facts.fact("calendar", price_scan::calendar_facts(&found.by_date, &days_of_all(&documents)));
            }
            trading = found.by_date.into_keys().collect();
        }
        log.gaps = documents.iter().flat_map(|(source, days)| gaps::gaps_of(source, days, &trading)).collect();
        if !log.gaps.is_empty() {
            let days: u64 = log.gaps.iter().map(Gap::days).sum();
            let told = |gap: &Gap| format!("{} {} to {}", gap.source, gap.first, gap.last);
            let first: Vec<String> = log.gaps.iter().take(5).map(told).collect();
            facts.fact("gap_days", days);
            facts.fact("gaps_first", &first);
            facts.fact(
                "warning_gaps",
                format!(
                    "on {days} days a source that has documents on such days has none ({}): these are holes of the archive and no silence. \
                     Factors tell how many of their values lie over them; gaps = \"drop\" of a [[factor]] takes these out",
                    first[0]
                ),
            );
        }
        log.facts = facts.facts;
        Ok(())
    }

    /// The price table as it will be: among the files that wait, or in its place.
    fn prices_among(&self, files: &[(PathBuf, PathBuf)]) -> PathBuf {
        let place = self.project.prices();
        files.iter().find(|(_, to)| *to == place).map_or(place.clone(), |(from, _)| from.clone())
    }

    fn reused_by_source(log: &IngestLog) -> BTreeMap<&str, u64> {
        let mut by_source = BTreeMap::new();
        for file in log.files.iter().filter(|file| file.reused > 0) {
            *by_source.entry(file.source.as_str()).or_default() += file.reused;
        }
        by_source
    }

    /// Documents of each day, by source.
    fn documents_by_day(
        &self,
        log: &IngestLog,
        pieces: &[PartSource],
    ) -> Result<BTreeMap<String, BTreeMap<NaiveDate, u64>>> {
        let mut by_day: BTreeMap<String, BTreeMap<NaiveDate, u64>> = BTreeMap::new();
        for file in log.files.iter().filter(|file| file.parts > 0) {
            let days = by_day.entry(file.source.clone()).or_default();
            for piece in &pieces[file.first_part..file.first_part + file.parts] {
                self.ctx.check()?;
                let path = match piece {
                    PartSource::Kept(i) => self.project.documents().path(*i),
                    PartSource::Staged(path) => path.clone(),
                };
                let times = corpus::times_of(&frames::read_parquet(&path, Some(&["published_at"]))?, "published_at")?;
                times.into_iter().flatten().for_each(|time| *days.entry(time.date()).or_default() += 1);
            }
        }
        Ok(by_day)
    }
}

/// Documents of each day of all sources.
fn days_of_all(by_source: &BTreeMap<String, BTreeMap<NaiveDate, u64>>) -> BTreeMap<NaiveDate, u64> {
    let mut all = BTreeMap::new();
    by_source.values().flatten().for_each(|(day, n)| *all.entry(*day).or_default() += n);
    all
}
