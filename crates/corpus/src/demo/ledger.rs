//! The ledger of the documents: each tone goes to `truth_tone.parquet`, each effect to the prices; and counts.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use chrono::{NaiveDateTime, NaiveTime};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};
use polars_io::parquet::write::BatchedWriter;
use polars_io::prelude::ParquetWriter;

use super::calendar::clock;
use super::chain::SupplyTie;
use super::prices::Planting;
use super::rank::DailySums;
use super::story::{Story, World};
use super::truth::{Effect, Truth};
use inkstone_tables::corpus::times_column;
use inkstone_tables::frames;

use inkstone_base::language::Word;

/// Rows of the truth table that are held before they are written.
const BATCH: usize = 1 << 15;

type Out<'f> = &'f mut BufWriter<File>;

/// Counts and signals of the documents written so far.
pub(super) struct TruthLedger<'w, 'f> {
    world: &'w World,
    /// The ties of each company to its suppliers.
    suppliers: Vec<Vec<&'w SupplyTie>>,
    effect: Effect,
    pub(super) planting: Planting,
    pub(super) tones: DailySums,
    pub(super) placebo: DailySums,
    pub(super) documents: u64,
    pub(super) reposts: u64,
    pub(super) about_two: u64,
    pub(super) market_wide: u64,
    pub(super) shocks: u64,
    rows: Vec<TruthRow>,
    writer: Option<BatchedWriter<Out<'f>>>,
    out: Option<Out<'f>>,
}

struct TruthRow {
    doc_id: String,
    code: Option<String>,
    published_at: NaiveDateTime,
    tone: f64,
    placebo: u32,
    kind: &'static str,
    style: String,
    repost_of: Option<String>,
}

impl<'w, 'f> TruthLedger<'w, 'f> {
    /// A ledger whose table of tones goes to `out`.
    pub(super) fn new(world: &'w World, effect: Effect, out: Out<'f>) -> TruthLedger<'w, 'f> {
        let (days, width) = (world.calendar.len(), world.companies.len());
        let mut suppliers = vec![Vec::new(); width];
        world.supply_ties.iter().for_each(|tie| suppliers[tie.customer].push(tie));
        TruthLedger {
            world,
            suppliers,
            effect,
            planting: Planting::new(days, width),
            tones: DailySums::new(days, width),
            placebo: DailySums::new(days, width),
            documents: 0,
            reposts: 0,
            about_two: 0,
            market_wide: 0,
            shocks: 0,
            rows: Vec::new(),
            writer: None,
            out: Some(out),
        }
    }

    /// Enters a document that source `source` delivers.
    pub(super) fn enter(&mut self, story: &Story, source: &str) -> Result<()> {
        self.documents += 1;
        self.reposts += u64::from(story.repost_of.is_some());
        self.about_two += u64::from(story.about.len() > 1);
        self.market_wide += u64::from(story.about.is_empty());
        self.shocks += u64::from(story.shock != 0.0);
        if story.repost_of.is_none()
            && let Some(day) = self.world.calendar.trade_date(story.time)
        {
            let date = self.world.calendar.days()[day];
            let overnight = story.time.date() != date || story.time.time() < opening();
            for &i in &story.about {
                self.planting.add(&self.effect, i, day, overnight, story.tone, story.shock);
                self.tones.add(day, i, story.tone);
                self.placebo.add(day, i, f64::from(story.placebo));
                for tie in self.suppliers[i].iter().filter(|tie| tie.known_on(day)) {
                    self.planting.spill_over(&self.effect, tie.supplier, day, story.tone);
                }
            }
        }
        let row = |code: Option<String>| TruthRow {
            doc_id: format!("{source}/{}", story.id),
            code,
            published_at: story.time,
            tone: story.tone,
            placebo: story.placebo,
            kind: story.kind.name(),
            style: story.style.clone(),
            repost_of: story.repost_of.clone(),
        };
        if story.about.is_empty() {
            self.rows.push(row(None));
        }
        self.rows.extend(story.about.iter().map(|&i| row(Some(self.world.companies[i].code.to_string()))));
        if self.rows.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining rows of the table.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        let writer = self
            .writer
            .as_ref()
            .context(Word("演示没有文档；请提高规模", "the demo has no documents; raise the scale"))?;
        writer.finish()?;
        Ok(())
    }

    /// Puts the counts into the truth.
    pub(super) fn count(&self, truth: &mut Truth) {
        truth.documents = self.documents;
        truth.reposts = self.reposts;
        truth.about_two = self.about_two;
        truth.market_wide = self.market_wide;
        truth.shocks = self.shocks;
    }

    fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let frame = frame(&self.rows)?;
        self.rows.clear();
        if let Some(out) = self.out.take() {
            self.writer = Some(ParquetWriter::new(out).set_parallel(false).batched(frame.schema())?);
        }
        if let Some(writer) = &mut self.writer {
            writer.write_batch(&frame)?;
        }
        Ok(())
    }
}

fn opening() -> NaiveTime {
    clock(9, 30)
}

fn frame(rows: &[TruthRow]) -> Result<DataFrame> {
    let text = |name: &str, get: &dyn Fn(&TruthRow) -> Option<&str>| -> Column {
        Series::new(name.into(), rows.iter().map(get).collect::<Vec<_>>()).into_column()
    };
    frames::frame(vec![
        text("doc_id", &|r| Some(&r.doc_id)),
        text("code", &|r| r.code.as_deref()),
        times_column("published_at", rows.iter().map(|r| Some(r.published_at)))?,
        Series::new("tone".into(), rows.iter().map(|r| r.tone).collect::<Vec<_>>()).into_column(),
        Series::new("placebo".into(), rows.iter().map(|r| r.placebo).collect::<Vec<_>>()).into_column(),
        text("kind", &|r| Some(r.kind)),
        text("style", &|r| Some(&r.style)),
        text("repost_of", &|r| r.repost_of.as_deref()),
    ])
}
