//! The demo: a synthetic market of Chinese companies, news and reports whose truth is known, written as vendors deliver.
//!
//! Nothing in it is real but the calendar. Each document has a *tone* in [-1, 1], (P - N) / (P + N) over the positive
//! and negative phrases that were written into it (after negation); the tones move the prices, and [`Truth`] records
//! how. So a reader of the text can be held to account: the RankIC that it finds is known beforehand.
//!
//! Documents are made day by day and written at once; memory holds a day of news or a month of reports, and the
//! date x code panels of at most 4,000 companies (200 MB at scale 20). Equal [`Params`] give equal bytes, whatever the thread count.

mod calendar;
mod chain;
mod companies;
mod desk;
mod grammar;
mod ledger;
mod news;
mod prices;
mod rank;
mod reports;
mod rng;
#[cfg(test)]
mod samples;
mod scene;
mod story;
#[cfg(test)]
mod tests;
mod truth;
mod vendor;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use desk::Delivery;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_market::Security;
use ledger::TruthLedger;
use news::Wires;
use reports::Desks;
use story::World;
pub use truth::{Effect, Phrases, Planted, SecurityCounts, SourceTruth, Truth};
use vendor::{SHAPES, Wire};

/// Counts up when the same parameters give other files for a reason outside the vocabulary files.
const VERSION: u32 = 4;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Size: 1 is 200 securities, 8,000 news items and 1,500 reports over two years; each of the three grows with it
    /// (securities from 8 to 4,000). From 0.05.
    pub scale: f64,
    /// Seed of everything drawn.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { scale: 1.0, seed: 1 }
    }
}

/// Hash of the vocabulary and the version of the generator.
pub fn generator() -> Key {
    let files = story::FILES.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
    Key::of_parts(files.chain([VERSION.to_le_bytes().as_slice()]))
}

/// Writes a market below `dir`: `news/`, `reports/`, `prices.csv`, `securities.csv`, `relations.csv`, `truth_tone.parquet` and, when all of
/// that is there, `truth.json`. The report counts documents; rows that a reader must refuse are in the truth.
pub fn generate(dir: &Path, params: &Params, ctx: &Ctx) -> Result<(Truth, Report)> {
    let Params { scale, seed } = *params;
    ensure!(
        scale.is_finite() && scale >= 0.05,
        "演示规模为 {scale}，须不小于 0.05（1 约为 9,500 篇文档）",
        "the demo's scale is {scale}; it must be 0.05 or more (1 is 9,500 documents)"
    );
    let truth_path = dir.join("truth.json");
    if truth_path.exists() {
        std::fs::remove_file(&truth_path)
            .with_context(|| message!("无法替换 {}", "cannot replace {}", truth_path.display()))?;
    }
    let world = World::new(scale, seed)?;
    let days = world.calendar.days();
    let mut truth = Truth {
        notice: "Synthetic data: companies, texts and prices are invented; only the trading calendar is real."
            .to_owned(),
        generator: generator().hex(),
        scale,
        seed,
        calendar: (days[0], days[days.len() - 1], days.len()),
        phrases: Phrases {
            positive: world.grammar.marked(true).into_iter().collect(),
            negative: world.grammar.marked(false).into_iter().collect(),
        },
        effect: effect(),
        factor: format!(
            "mean written tone of the first mentions that can be traded on T-{}..T (15:00 rule), each weighted {}^age in \
             trading days; no value without documents; RankIC = Spearman with average ranks on days with at least {} names",
            rank::LOOKBACK - 1,
            rank::DECAY,
            rank::FEWEST
        ),
        interval_method: format!(
            "tones held fixed, return noise redrawn {} times through the same price process (limits and suspensions \
             included): mean and mean -+ 1.96 standard deviations of the mean RankIC; realised = the noise that was written",
            rank::redraws(world.companies.len())
        ),
        placebo: "number of words of datasets/demo/placebo.txt in a document's body; they are strewn at random"
            .to_owned(),
        ..Truth::default()
    };
    let mut measured = None;
    disk::write_atomic(&dir.join("truth_tone.parquet"), |out| {
        let mut ledger = TruthLedger::new(&world, effect(), out);
        truth.sources = documents(dir, &world, scale, &mut ledger, ctx)?;
        ledger.finish()?;
        ledger.count(&mut truth);
        let limits = prices::limits(&world.companies, &world.calendar);
        let walk = prices::walk(&world.companies, &limits, &ledger.planting, seed, 0);
        let path = dir.join("prices.csv");
        truth.securities = prices::write(&path, &world.companies, &world.calendar, &limits, &walk, seed, ctx)?;
        drop(walk);
        let TruthLedger { planting, tones, placebo, .. } = &ledger;
        measured = Some(rank::planted(&world, &limits, planting, tones, placebo, ctx)?);
        Ok(())
    })?;
    [truth.rank_ic_1, truth.rank_ic_5, truth.rank_ic_same_day, truth.placebo_rank_ic_1, truth.customers_rank_ic_1] =
        measured.unwrap_or_default();
    let rows = companies::securities(&world.companies, &world.names, &world.calendar);
    truth.securities.rows = rows.len();
    write_securities(&dir.join("securities.csv"), &rows)?;
    chain::write(&dir.join("relations.csv"), &world.supply_ties, &world.companies, &world.calendar)?;
    truth.rejects = truth.sources.values().flat_map(|s| s.rejects.values()).sum();
    disk::write_json(&truth_path, &truth)?;

    let mut report = Report::new("generate");
    report.rows_in = truth.documents;
    report.rows_out = truth.documents;
    report.fact("synthetic", true);
    report.fact("scale", scale);
    report.fact("seed", seed);
    report.fact("securities", truth.securities.securities);
    report.fact("price rows", truth.securities.prices);
    report.fact("bad rows", truth.rejects);
    report.fact("reposts", truth.reposts);
    Ok((truth, report))
}

/// The planted effect of tones on prices.
fn effect() -> Effect {
    Effect {
        same_day: 0.026,
        drift: 0.008,
        spill_over: 0.008,
        drift_shares: vec![0.35, 0.25, 0.16, 0.11, 0.08, 0.05],
        intraday_share: 0.6,
        first_mentions_only: true,
    }
}

/// Writes all documents, day by day; gives what each source holds.
fn documents(
    dir: &Path,
    world: &World,
    scale: f64,
    ledger: &mut TruthLedger<'_, '_>,
    ctx: &Ctx,
) -> Result<BTreeMap<String, SourceTruth>> {
    let first = NaiveDate::from_ymd_opt(2023, 1, 1).context(Word("日历中应有的日期", "a date of the calendar"))?;
    let dates: Vec<NaiveDate> = first.iter_days().take_while(|d| d.year() < 2025).collect();
    let mut wires: Vec<Wire> = SHAPES.iter().map(|&shape| Wire::new(shape, world.seed)).collect();
    let mut news = Wires::new(world, &dates, scale)?;
    for (q, quarter) in dates.chunk_by(|a, b| quarter_of(*a) == quarter_of(*b)).enumerate() {
        let wire = &mut wires[q % SHAPES.len()];
        let (shape, source) = (wire.shape, wire.shape.source());
        let (year, number) = quarter_of(quarter[0]);
        let path = dir.join(format!("news/{source}/{year}Q{number}.{}", shape.extension()));
        disk::write_atomic(&path, |out| {
            wire.begin(out)?;
            for &date in quarter {
                let stories = news.day(date)?;
                ctx.advance(stories.len() as u64)?;
                for mut story in stories {
                    story.time = shape.printed(story.time);
                    ledger.enter(&story, source)?;
                    wire.deliver(&story, world, out)?;
                }
            }
            Ok(())
        })?;
    }
    let mut desks = Desks::new(world, &dates, scale);
    let mut delivery = Delivery::new(dir, scale)?;
    for month in dates.chunk_by(|a, b| a.month() == b.month()) {
        let mut stories = Vec::new();
        for &date in month {
            let today = desks.day(date)?;
            ctx.advance(today.len() as u64)?;
            stories.extend(today);
        }
        for story in &stories {
            ledger.enter(story, delivery.source(story))?;
        }
        delivery.month(month[0].year(), month[0].month(), &stories, world)?;
    }
    let mut sources: BTreeMap<String, SourceTruth> =
        wires.into_iter().map(|w| (w.shape.source().to_owned(), w.truth)).collect();
    let Delivery { parquet, json, txt, .. } = delivery;
    for (name, truth) in [(desk::PARQUET, parquet), (desk::JSON, json), (desk::TXT, txt)] {
        sources.insert(name.to_owned(), truth);
    }
    Ok(sources)
}

fn quarter_of(date: NaiveDate) -> (i32, u32) {
    (date.year(), date.month0() / 3 + 1)
}

/// Writes the dated table of securities; aliases are joined by `|`.
fn write_securities(path: &Path, rows: &[Security]) -> Result<()> {
    let day = |d: Option<NaiveDate>| d.map(|d| d.to_string()).unwrap_or_default();
    disk::write_atomic(path, |out| {
        writeln!(out, "code,name,from,to,industry,board,listed,delisted,st,aliases")?;
        for row in rows {
            let (industry, board) = (row.industry.as_deref().unwrap_or(""), row.board.as_deref().unwrap_or(""));
            writeln!(
                out,
                "{},{},{},{},{industry},{board},{},{},{},{}",
                row.code,
                row.name,
                day(row.from),
                day(row.to),
                day(row.listed),
                day(row.delisted),
                row.st,
                row.aliases.join("|")
            )?;
        }
        Ok(())
    })
}
