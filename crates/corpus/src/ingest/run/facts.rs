//! The facts of a run: what the report and the workbench tell of all files together.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::NaiveDate;
use serde_json::json;

use super::{FileTask, FileWork, IngestRun};
use crate::ingest::clocks::Clocks;
use crate::ingest::commit::PartSource;
use crate::ingest::gaps::{self, Gap};
use crate::ingest::log::{FileEntry, IngestLog, NEWEST};
use crate::ingest::price_scan;
use crate::ingest::prices;
use crate::ingest::source::{Source, Table};
use inkstone_base::data::Report;
use inkstone_base::language::Message;
use inkstone_base::message;
use inkstone_tables::project::Project;

impl IngestRun<'_> {
    pub(super) fn note_facts(
        &self,
        log: &mut IngestLog,
        tasks: &[FileTask<'_>],
        pieces: &[PartSource],
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
        for table in [Table::Relations, Table::Events] {
            if log.files.iter().any(|f| f.table == table) {
                facts.fact(table.name(), rows(table));
            }
        }
        facts.fact("parts", pieces.len());
        if let Some(from) = self.params.sealed_from {
            let rows = |table: Table| log.files.iter().filter(|f| f.table == table).map(|f| f.sealed).sum::<u64>();
            facts.fact(
                "sealed",
                json!({"from": from, "documents": rows(Table::Documents), "prices": rows(Table::Prices)}),
            );
        }
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
                message!("{midnight} 篇文档恰好发布于 00:00:00：若是丢了时刻的日期，则它们会早一天算作已知；请设 time_format = \"%Y-%m-%d 00:00:00\"（或类似写法）按日期读取", "{midnight} documents were published at 00:00:00 sharp: if these are dates whose time was lost, they count as known a day too early; set time_format = \"%Y-%m-%d 00:00:00\" (or the like) to read them as dates"
                ),
            );
        }
        let below_zero: u64 = log.files.iter().filter_map(|file| file.dropped.get(prices::BELOW_ZERO)).sum();
        if below_zero > 0 {
            facts.fact(
                "warning_additive",
                message!("{below_zero} 行价格小于 0，说明序列按差值复权：其收益不是真实收益，大于 0 处也不是，越早偏差越大。请给出按因子复权或未复权的价格", "{below_zero} rows of prices lie below 0, so the series is adjusted by differences: its returns are no returns, also where it is above 0, the more wrong the longer ago. Give prices that are adjusted by factors, or unadjusted ones"
                ),
            );
        }
        let reused: BTreeMap<&str, u64> = IngestRun::reused_by_source(log);
        if !reused.is_empty() {
            facts.fact("ids_reused", &reused);
            facts.fact(
                "warning_ids_reused",
                message!("{} 篇文档与同一来源的另一篇编号相同，而文本与时间不同：都已保留，编号后加时间（编号@时间）", "{} documents have the id of another document of their source, with other text and another time: each was kept, with its time behind the id (ID@TIME)",
                    reused.values().sum::<u64>()
                ),
            );
        }
        let mut clocks = self.clocks(pieces)?;
        facts.fact(NEWEST, &clocks.newest);
        if let Some(lateness) = clocks.lateness() {
            facts.fact("lateness", lateness);
        }
        let sources: BTreeMap<&str, &Source> =
            tasks.iter().map(|task| (task.unit.source.name.as_str(), task.unit.source)).collect();
        if let Some(warning) = clocks.warning(&sources.into_values().collect::<Vec<_>>()) {
            facts.fact("warning_late", warning);
        }
        if let Some(warning) = warning_crawl_end(&log.files) {
            facts.fact("warning_crawl_end", warning);
        }
        let documents = clocks.by_day;
        let mut trading = BTreeSet::new();
        if !log.prices_twice.is_empty() {
            facts.fact("prices_of_several_sources", log.prices_twice.facts());
        }
        if rows(Table::Prices) > 0 {
            let found = &log.price_findings;
            if let Some((date, factor)) = found.volume_breaks.first() {
                facts.fact(
                    "warning_volume_unit",
                    message!("自 {date} 起成交量为此前的 {factor:.3} 倍（全部个股的中位数）：一边以手、一边以股计。请统一为股；否则容量与成交额不准", "from {date} on volumes are {factor:.3} times those before, at the median of all names: lots of 100 on one side and shares on the other. Give both parts in shares; capacity and traded value are wrong until then"
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
            trading = found.by_date.keys().copied().collect();
        }
        log.gaps = documents.iter().flat_map(|(source, days)| gaps::gaps_of(source, days, &trading)).collect();
        if !log.gaps.is_empty() {
            let days: u64 = log.gaps.iter().map(Gap::days).sum();
            let days_of = |gap: &Gap| format!("{} {} to {}", gap.source, gap.first, gap.last);
            let first: Vec<String> = log.gaps.iter().take(5).map(days_of).collect();
            facts.fact("gap_days", days);
            facts.fact("gaps_first", &first);
            facts.fact(
                "warning_gaps",
                message!("有 {days} 天，某来源平日有文档而当天没有（{}）：是档案缺日，而不是没有消息。因子会说明有多少值跨过它们；[[factor]] 的 gaps = \"drop\" 会去掉这些值", "on {days} days a source that has documents on such days has none ({}): these are holes of the archive and no silence. Factors tell how many of their values lie over them; gaps = \"drop\" of a [[factor]] takes these out",
                    first[0]
                ),
            );
        }
        log.facts = facts.facts;
        Ok(())
    }

    fn reused_by_source(log: &IngestLog) -> BTreeMap<&str, u64> {
        let mut by_source = BTreeMap::new();
        for file in log.files.iter().filter(|file| file.reused > 0) {
            *by_source.entry(file.source.as_str()).or_default() += file.reused;
        }
        by_source
    }

    fn clocks(&self, pieces: &[PartSource]) -> Result<Clocks> {
        let mut clocks = Clocks::default();
        for piece in pieces {
            self.ctx.check()?;
            match piece {
                PartSource::Kept(part) => clocks.add_part(&self.project.documents().path(*part))?,
                PartSource::Staged(path) => clocks.add_part(path)?,
            }
        }
        Ok(clocks)
    }
}

/// A field of documents whose column holds what was known when the page was crawled, not when it was published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrawledField {
    /// `label`, `rating` or `revised`.
    pub field: String,
    pub source: String,
    /// Name of the column.
    pub column: String,
}

/// Words in the names of columns whose values are counted when a page is crawled, or tell what the price has done by then.
const CRAWL_END: [&str; 22] = [
    "阅读",
    "浏览",
    "点击",
    "评论数",
    "评论量",
    "转发",
    "点赞",
    "收藏",
    "涨跌幅",
    "涨幅",
    "跌幅",
    "read_count",
    "readcount",
    "views",
    "view_count",
    "clicks",
    "comment_count",
    "likes",
    "like_count",
    "share_count",
    "pct_chg",
    "change_pct",
];

/// Fields of a project that features and factors may read and that only the end of a crawl knew.
pub fn crawled_fields(project: &Project) -> Result<BTreeSet<CrawledField>> {
    Ok(crawled_fields_of(&IngestLog::load(&project.ingest_log())?.files))
}

fn crawled_fields_of(files: &[FileEntry]) -> BTreeSet<CrawledField> {
    files
        .iter()
        .filter(|file| file.table == Table::Documents)
        .flat_map(|file| file.columns.iter().map(move |(field, column)| (&file.source, field, column)))
        .filter(|(_, field, column)| {
            let column = column.to_lowercase();
            ["label", "rating", "revised"].contains(&field.as_str())
                && CRAWL_END.iter().any(|word| column.contains(word))
        })
        .map(|(source, field, column)| CrawledField {
            field: field.clone(),
            source: source.clone(),
            column: column.clone(),
        })
        .collect()
}

fn warning_crawl_end(files: &[FileEntry]) -> Option<Message> {
    let CrawledField { field, source, column } = crawled_fields_of(files).pop_first()?;
    Some(message!(
        "来源 {source:?} 的 {field} 取自列 {column:?}：这类列记的是抓取网页时的情况（当时的阅读数、当日涨跌），而不是发布时的，用它的因子即用了未来信息；请去掉该字段，或给出发布时的值",
        "{field} of source {source:?} is column {column:?}: such a column holds what was known when the page was crawled (readers so far, the \
         price change of the day), not when it was published, so a factor that uses it looks ahead; leave the field out, or give the values of \
         the time of publication"
    ))
}

/// Documents of each day of all sources.
fn days_of_all(by_source: &BTreeMap<String, BTreeMap<NaiveDate, u64>>) -> BTreeMap<NaiveDate, u64> {
    let mut all = BTreeMap::new();
    by_source.values().flatten().for_each(|(day, n)| *all.entry(*day).or_default() += n);
    all
}
