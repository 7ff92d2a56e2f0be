//! Layout of a project's folder: one path for each artefact.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::corpus::Parts;
use inkstone_base::disk::{self, Room};
use inkstone_base::lock::{self, Lock};
use inkstone_base::message;

/// The folders within a project's folder, but for those of the store, the ledger and the log.
pub(crate) const FOLDERS: [&str; 13] = [
    "documents",
    "clean",
    "links",
    "structure",
    "written",
    "plans",
    "factors",
    "events",
    "lint",
    "backtests",
    "experiments",
    "extracted",
    "ingest-staging",
];

/// The layout of a project's artefact folder (`[project] dir`, by default `.inkstone`).
#[derive(Clone, Debug)]
pub struct Project {
    dir: PathBuf,
}

impl Project {
    /// The project whose artefacts are kept in `dir`, which need not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Project {
        Project { dir: dir.into() }
    }

    /// The project of tables that are tested without a configuration: `.inkstone` in the current folder.
    pub fn standalone() -> Project {
        Project::new(".inkstone")
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the folder this program's own. Fails, and changes nothing, where the folder is somebody else's.
    pub fn own(&self) -> Result<()> {
        disk::own_folder(&self.dir, Room::Project)
    }

    /// Makes the folder this program's own and takes the lock of those who write artefacts. Fails where another run holds the lock for
    /// more than a moment, and says which run that is.
    pub fn lock_for(&self, work: &str) -> Result<Lock> {
        self.own()?;
        lock::writing(&self.lock(), &message!("项目 {}", "the project {}", self.dir.display()).to_string(), work)
    }

    /// Removes leftovers of interrupted runs from the project's folder, from `FOLDERS` and from those of rewrites. Store and ledger sweep their own folders.
    pub fn sweep(&self) -> Result<()> {
        disk::sweep_top(&self.dir)?;
        let rewrites = std::fs::read_dir(self.dir.join("rewritten")).into_iter().flatten().flatten();
        let of_rewrites = rewrites.flat_map(|rewrite| ["clean", "links"].map(|name| rewrite.path().join(name)));
        FOLDERS.iter().map(|name| self.dir.join(name)).chain(of_rewrites).try_for_each(|folder| disk::sweep(&folder))
    }

    /// The folder in which ingest prepares its output.
    pub fn staging(&self) -> PathBuf {
        self.dir.join("ingest-staging")
    }

    pub fn documents(&self) -> Parts {
        Parts::new(self.dir.join("documents"))
    }

    /// Documents cleaned, duplicates marked; part by part as [`Project::documents`].
    pub fn clean(&self) -> Parts {
        Parts::new(self.dir.join("clean"))
    }

    /// Codes and name spans per document; part by part as [`Project::clean`].
    pub fn links(&self) -> Parts {
        Parts::new(self.dir.join("links"))
    }

    /// The names that the corpus taught, with the time from which on each is known, as CSV.
    pub fn names(&self) -> PathBuf {
        names_of(&self.links())
    }

    /// Sentences, their sections and what is boilerplate; part by part as [`Project::clean`].
    pub fn structure(&self) -> Parts {
        Parts::new(self.dir.join("structure"))
    }

    /// The documents with the texts that a rewrite wrote in place of their own; part by part as [`Project::clean`].
    pub fn rewritten(&self, name: &str) -> Parts {
        Parts::new(self.dir.join("rewritten").join(name).join("clean"))
    }

    /// Codes and name spans of the texts of a rewrite; part by part as [`Project::rewritten`].
    pub fn rewritten_links(&self, name: &str) -> Parts {
        Parts::new(self.dir.join("rewritten").join(name).join("links"))
    }

    /// The folder of the texts that models wrote, by content.
    pub fn written(&self) -> PathBuf {
        self.dir.join("written")
    }

    /// The boilerplate that the corpus taught, one JSON object a line.
    pub fn boilerplate(&self) -> PathBuf {
        boilerplate_of(&self.structure())
    }

    /// Daily prices, one row per date and code (`inkstone_market::PRICE_COLUMNS`).
    pub fn prices(&self) -> PathBuf {
        self.dir.join("prices.parquet")
    }

    /// The dated table of securities (`inkstone_market::Security`).
    pub fn securities(&self) -> PathBuf {
        self.dir.join("securities.parquet")
    }

    /// The dated relations between securities (`inkstone_market::Relation`).
    pub fn relations(&self) -> PathBuf {
        self.dir.join("relations.parquet")
    }

    /// The events of vendors (`inkstone_market::CompanyEvent`).
    pub fn company_events(&self) -> PathBuf {
        self.dir.join("events.parquet")
    }

    /// The log of ingest: files, encodings, hashes, counts.
    pub fn ingest_log(&self) -> PathBuf {
        self.dir.join("ingest.json")
    }

    /// Rows set aside by ingest, one JSON object a line.
    pub fn rejects(&self) -> PathBuf {
        self.dir.join("rejects.jsonl")
    }

    /// The user's notes on documents, one JSON object a line.
    pub fn notes(&self) -> PathBuf {
        self.dir.join("notes.jsonl")
    }

    /// Earlier values of documents and prices that a later delivery changed.
    pub fn revisions(&self) -> PathBuf {
        self.dir.join("revisions.parquet")
    }

    /// Text of PDF and DOCX files, named by the hash of their content, so that each is read once.
    pub fn extracted(&self) -> PathBuf {
        self.dir.join("extracted")
    }

    /// The folder of the inverted index of the clean corpus.
    pub fn search(&self) -> PathBuf {
        self.dir.join("search")
    }

    pub fn store(&self) -> PathBuf {
        self.dir.join("features.sled")
    }

    /// The folder of the plans of features.
    pub fn plans(&self) -> PathBuf {
        self.dir.join("plans")
    }

    /// The plan of a feature whose rows workers compute.
    pub fn plan(&self, feature: &str) -> PathBuf {
        self.plans().join(format!("{feature}.json"))
    }

    /// The table of a factor.
    pub fn factor(&self, name: &str) -> PathBuf {
        self.dir.join("factors").join(format!("{name}.parquet"))
    }

    /// The signals of the documents that a factor was built from.
    pub fn signals(&self, name: &str) -> PathBuf {
        self.dir.join("factors").join(format!("{name}.signals.parquet"))
    }

    /// The runs that made the table of a factor.
    pub fn history(&self, name: &str) -> PathBuf {
        self.dir.join("factors").join(format!("{name}.history.json"))
    }

    /// The values of a factor that later runs changed.
    pub fn revised_values(&self, name: &str) -> PathBuf {
        self.dir.join("factors").join(format!("{name}.revisions.parquet"))
    }

    /// The event study of a factor's documents.
    pub fn events(&self, name: &str) -> PathBuf {
        self.dir.join("events").join(format!("{name}.json"))
    }

    /// The linter's verdicts on a factor.
    pub fn lint(&self, name: &str) -> PathBuf {
        self.dir.join("lint").join(format!("{name}.json"))
    }

    /// The backtest of a factor.
    pub fn backtest(&self, name: &str) -> PathBuf {
        self.dir.join("backtests").join(format!("{name}.json"))
    }

    /// The names of all dates of a backtest, with quantiles and returns.
    pub fn backtest_names(&self, name: &str) -> PathBuf {
        self.dir.join("backtests").join(format!("{name}.names.parquet"))
    }

    /// Days, codes and lives of the market that a backtest ran on.
    pub fn backtest_axes(&self, name: &str) -> PathBuf {
        self.dir.join("backtests").join(format!("{name}.axes.json"))
    }

    /// The research ledger: every backtest that ran.
    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger")
    }

    /// The folder of an experiment: its findings and the results of its cells.
    pub fn experiment(&self, name: &str) -> PathBuf {
        self.dir.join("experiments").join(name)
    }

    /// The last event of which each program of `[[on]]` was told.
    pub fn notified(&self) -> PathBuf {
        self.dir.join("told.json")
    }

    /// Lock of the process that writes the project's artefacts.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// Lock of the workbench that remembers its session here.
    pub fn desk_lock(&self) -> PathBuf {
        self.dir.join("desk.lock")
    }

    /// The session of the workbench.
    pub fn session(&self) -> PathBuf {
        self.dir.join("session.json")
    }

    /// The folder of the workbench's log.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// The finished stages, so that an unchanged stage can be skipped.
    pub fn state(&self) -> PathBuf {
        self.dir.join("state.json")
    }
}

/// The list of learned names that stands beside the parts of the links.
pub fn names_of(links: &Parts) -> PathBuf {
    links.folder().join("names.csv")
}

/// The list of boilerplate that stands beside the parts of the structure.
pub fn boilerplate_of(structure: &Parts) -> PathBuf {
    structure.folder().join("boilerplate.jsonl")
}
