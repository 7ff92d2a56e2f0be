//! Factors, backtest tables and a manifest as files that other tools read: pandas, polars, alphalens, Qlib, Excel.
//!
//! An export is one folder. It is written beside its place and swapped in as a whole, so a reader sees the previous
//! export or the new one, and a failure leaves the previous one as it was. No time of writing enters unless the caller
//! gives one: the same content makes the same bytes.
//!
//! | path | columns |
//! |---|---|
//! | `long/factors.*` | `date, code`, a column per factor; a row where any factor has a value |
//! | `wide/FACTOR.*` | `date`, a column per code |
//! | `alphalens/FACTOR.*` | `date, asset, factor`; rows with a value only |
//! | `qlib/factors.*` | `datetime, instrument` (`SH600000`), a column per factor |
//! | `qlib_bin/` | Qlib's provider folder: `calendars/day.txt`, `instruments/all.txt`, `features/*/*.day.bin` |
//! | `backtest/FACTOR/*` | `ic decay layers spread wealth long_short by_year portfolios portfolio_figures benchmark samples stability coverage summary`, each as Parquet and CSV |
//! | `manifest.json` | parameters, hashes, seed, versions, the known-at rule, rows and BLAKE3 hash of every file |
//!
//! `*` is parquet, arrow or csv. Rows are sorted by date, then code; no value is null (an empty field in CSV). `long` and
//! `wide` carry dates, `alphalens` and `qlib` times at midnight, because these tools index by time; in Parquet and Arrow
//! these two say to pandas that time and security are the index. `tests/reference/export/check.py` reads every shape with
//! the tools it is for.

mod arrow;
mod codes;
mod csv;
mod difference;
mod folder;
mod manifest;
mod qlib_bin;
mod shapes;
mod tables;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::backtest::Outcome;
use folder::Folder;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use inkstone_market::Panel;
use manifest::BacktestNote;
use shapes::ExportGrid;

pub use codes::CodeStyle;
pub use difference::{Change, Difference, Parting, StageDifference, difference};
pub use folder::remove_stale_lock;
pub use manifest::{FileEntry, Manifest, Provenance, StageNote};

/// A file format for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Parquet, zstd.
    Parquet,
    /// Arrow's file format (IPC, also called Feather 2), uncompressed, so that it can be mapped.
    Arrow,
    /// Comma-separated, UTF-8.
    Csv,
}

/// A way to lay out a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Shape {
    /// One table of all factors by date and code.
    Long,
    /// A date x code table per factor.
    Wide,
    /// A table per factor as alphalens takes it: `get_clean_factor_and_forward_returns(read_parquet(path)["factor"], ...)`.
    Alphalens,
    /// One table as Qlib takes it: `StaticDataLoader(path)`.
    Qlib,
    /// Qlib's binary provider folder.
    QlibBin,
}

/// Parameters of an export (`[export]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Formats of the factor tables (default: parquet). Backtest tables are small and always come in both.
    pub formats: Vec<Format>,
    /// Shapes of the factor tables (default: long, wide, alphalens, qlib).
    pub shapes: Vec<Shape>,
    /// Begin CSV files with a byte-order mark, without which Excel misreads Chinese (default: no).
    pub bom: bool,
    /// Treatment of texts in CSV files that a spreadsheet would compute (default: keep; quote puts an apostrophe in front).
    pub csv_formulas: Formulas,
    /// Style of codes in `long`, `wide` and `alphalens` (default: canonical). Qlib shapes always use Qlib's.
    pub code_style: CodeStyle,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            formats: vec![Format::Parquet],
            shapes: vec![Shape::Long, Shape::Wide, Shape::Alphalens, Shape::Qlib],
            bom: false,
            csv_formulas: Formulas::Keep,
            code_style: CodeStyle::Canonical,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ExportFactor<'a> {
    /// Name, used as a column and a file name.
    pub name: &'a str,
    /// Factors of one export may have different dates and codes.
    pub values: &'a Panel,
}

/// A file that goes into an export as it is.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Path below the export's folder, with `/`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Writes an export of factors and their backtests to the folder `out`, in place of the export that is there.
///
/// A folder that holds anything but an export is not touched. Advances by one for each file.
pub fn run(
    factors: &[ExportFactor<'_>],
    outcomes: &[Outcome],
    extras: &[Extra],
    out: &Path,
    params: &Params,
    provenance: &Provenance,
    ctx: &Ctx,
) -> Result<(Manifest, Report)> {
    check_names(factors.iter().map(|f| f.name))?;
    check_names(outcomes.iter().map(|o| o.factor.as_str()))?;
    ensure!(
        !params.formats.is_empty() || params.shapes.iter().all(|&s| s == Shape::QlibBin),
        "[export] formats 为空，[export] shapes 的表无法写出：请写 parquet、arrow 或 csv",
        "[export] formats is empty, so the tables of [export] shapes cannot be written: name parquet, arrow or csv"
    );
    let mut folder = Folder::begin(out, params.bom, params.csv_formulas)?;
    let grid = ExportGrid::new(factors);
    let formats = distinct(&params.formats);
    for shape in distinct(&params.shapes) {
        write_shape(&mut folder, &grid, (shape, params.code_style), &formats, ctx)?;
    }
    for outcome in outcomes {
        for (name, mut table) in tables::backtest_tables(outcome)? {
            for format in [Format::Parquet, Format::Csv] {
                folder.table(&format!("backtest/{}/{name}", outcome.factor), format, &mut table, 0)?;
                ctx.advance(1)?;
            }
        }
    }
    for extra in extras {
        folder.file(&extra.path, 1, |out| Ok(out.write_all(&extra.bytes)?))?;
        ctx.advance(1)?;
    }
    let mut manifest = Manifest::new(provenance, params);
    manifest.factors = factors.iter().map(|f| f.name.to_owned()).collect();
    manifest.backtests = outcomes.iter().map(BacktestNote::new).collect();
    let manifest = folder.finish(manifest)?;

    let mut report = Report::new("export");
    report.rows_in = grid.count_values();
    report.rows_out = report.rows_in;
    report.fact("folder", out.display().to_string());
    report.fact("files", manifest.files.len());
    report.fact("bytes", manifest.files.iter().map(|f| f.bytes).sum::<u64>());
    report.fact("factors", &manifest.factors);
    report.fact("dates", grid.dates().len());
    report.fact("codes", grid.codes().len());
    Ok((manifest, report))
}

fn write_shape(
    folder: &mut Folder,
    grid: &ExportGrid<'_>,
    (shape, style): (Shape, CodeStyle),
    formats: &[Format],
    ctx: &Ctx,
) -> Result<()> {
    let index = match shape {
        Shape::Alphalens | Shape::Qlib => 2,
        Shape::Long | Shape::Wide | Shape::QlibBin => 0,
    };
    let mut write = |path: &str, mut table| -> Result<()> {
        for &format in formats {
            folder.table(path, format, &mut table, index)?;
            ctx.advance(1)?;
        }
        Ok(())
    };
    match shape {
        Shape::Long => write("long/factors", grid.long(style, ctx)?)?,
        Shape::Wide => {
            for f in 0..grid.names().len() {
                write(&format!("wide/{}", grid.names()[f]), grid.wide(f, style, ctx)?)?;
            }
        }
        Shape::Alphalens => {
            for f in 0..grid.names().len() {
                write(&format!("alphalens/{}", grid.names()[f]), grid.alphalens(f, style, ctx)?)?;
            }
        }
        Shape::Qlib => write("qlib/factors", grid.qlib(ctx)?)?,
        Shape::QlibBin => qlib_bin::write(folder, grid, ctx)?,
    }
    Ok(())
}

/// The items of a list from a configuration file, each once.
fn distinct<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(item) {
            seen.push(*item);
        }
    }
    seen
}

/// Names become columns and files, on file systems and in Qlib without regard to case.
fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if let Some(why) = disk::no_file_name(name) {
            bail!(
                "因子不能以名称 {name:?} 导出：它要用作文件名，而{why}；请在 [[factor]] 中改名",
                "a factor cannot be exported under the name {name:?}: it would be a file name, and {why}; rename it in [[factor]]"
            );
        }
        if ["date", "code", "asset", "datetime", "instrument"].contains(&name.to_lowercase().as_str()) {
            bail!(
                "因子不能以名称 {name:?} 导出：各表以此作另一列的名称",
                "a factor cannot be exported under the name {name:?}: tables use it for another column"
            );
        }
        ensure!(
            seen.insert(name.to_lowercase()),
            "两个因子都要以名称 {name:?} 导出（不分大小写）；请在 [[factor]] 中给一个改名",
            "two factors would be exported under the name {name:?} (case does not count); rename one in [[factor]]"
        );
    }
    Ok(())
}
