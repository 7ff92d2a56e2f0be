//! Which column of a file feeds which field of a table: as the configuration says, else by the names that vendors use.
//!
//! Names are compared without case, spaces, `_` and `-`, and without a unit in brackets; the unit counts as a factor
//! (`成交量(手)` is multiplied by 100). A column feeds one field at the most unless the configuration says otherwise.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use regex::Regex;

use crate::ingest::source::{Column, Source, Table};
use inkstone_base::language::{Message, Word};
use inkstone_base::limits;
use inkstone_base::{bail, message};

/// Fields of documents, with the usual names of their columns, best first.
const DOCUMENTS: &[(&str, &[&str])] = &[
    (
        "doc_id",
        &[
            "docid",
            "id",
            "newsid",
            "articleid",
            "reportid",
            "infocode",
            "uid",
            "编号",
            "文档编号",
            "新闻编号",
            "报告编号",
        ],
    ),
    (
        "title",
        &[
            "title",
            "newstitle",
            "headline",
            "reporttitle",
            "标题",
            "新闻标题",
            "公告标题",
            "报告标题",
            "研报标题",
            "题目",
        ],
    ),
    (
        "body",
        &[
            "body",
            "content",
            "text",
            "newscontent",
            "article",
            "fulltext",
            "正文",
            "内容",
            "新闻内容",
            "公告内容",
            "正文内容",
            "全文",
            "文本",
            "texta",
            "摘要",
            "abstract",
            "summary",
            "digest",
        ],
    ),
    (
        "codes",
        &[
            "codes",
            "code",
            "tscode",
            "stockcode",
            "stockcodes",
            "secucode",
            "securitycode",
            "symbol",
            "symbols",
            "ticker",
            "tickers",
            "windcode",
            "ordercode",
            "证券代码",
            "股票代码",
            "代码",
            "相关代码",
            "相关股票",
            "公司代码",
        ],
    ),
    (
        "published_at",
        &[
            "publishedat",
            "publishtime",
            "publishedtime",
            "pubtime",
            "publishdate",
            "pubdate",
            "datetime",
            "releasetime",
            "anndate",
            "showtime",
            "发布时间",
            "发布日期",
            "发表时间",
            "发表日期",
            "公告时间",
            "公告日期",
            "报告日期",
            "研报日期",
            "新闻时间",
            "日期时间",
            "date",
            "time",
            "日期",
            "时间",
            "ctime",
            "createdat",
            "createtime",
        ],
    ),
    ("event_at", &["eventat", "eventtime", "eventdate", "事件时间", "事件日期", "发生日期"]),
    (
        "ingested_at",
        &["ingestedat", "receivedat", "inserttime", "updatetime", "入库时间", "采集时间", "抓取时间", "更新时间"],
    ),
    ("author", &["author", "authors", "analyst", "researcher", "作者", "研究员", "分析师"]),
    (
        "org",
        &[
            "org",
            "orgname",
            "orgsname",
            "institution",
            "broker",
            "media",
            "机构",
            "机构名称",
            "研究机构",
            "评级机构",
            "媒体",
            "媒体名称",
            "券商",
        ],
    ),
    ("rating", &["rating", "emratingname", "评级", "投资评级", "最新评级", "评级名称"]),
    ("label", &["label", "labels", "category", "class", "sentiment", "标签", "类别", "情感"]),
    // Vendors mark revisions in many ways: a column is read only if the configuration names it.
    ("revised", &[]),
];

const PRICES: &[(&str, &[&str])] = &[
    ("date", &["date", "tradedate", "tradingday", "tradeday", "datetime", "日期", "交易日期", "交易日", "时间"]),
    (
        "code",
        &[
            "code",
            "tscode",
            "symbol",
            "ticker",
            "instrument",
            "stockcode",
            "secucode",
            "windcode",
            "代码",
            "证券代码",
            "股票代码",
        ],
    ),
    ("open", &["open", "openprice", "开盘", "开盘价"]),
    ("high", &["high", "highprice", "最高", "最高价"]),
    ("low", &["low", "lowprice", "最低", "最低价"]),
    ("close", &["close", "closeprice", "收盘", "收盘价"]),
    ("vwap", &["vwap", "avgprice", "均价", "成交均价"]),
    ("volume", &["volume", "vol", "turnovervol", "成交量"]),
    ("amount", &["amount", "turnover", "turnovervalue", "money", "成交额", "成交金额"]),
    ("market_cap", &["marketcap", "totalmv", "mktcap", "circmv", "floatmv", "总市值", "流通市值", "市值"]),
    ("up_limit", &["uplimit", "highlimit", "limitup", "涨停", "涨停价"]),
    ("down_limit", &["downlimit", "lowlimit", "limitdown", "跌停", "跌停价"]),
];

const SECURITIES: &[(&str, &[&str])] = &[
    (
        "code",
        &[
            "code",
            "tscode",
            "orderbookid",
            "windcode",
            "sinfowindcode",
            "symbol",
            "ticker",
            "stockcode",
            "stkcd",
            "secucode",
            "securitycode",
            "instrument",
            "代码",
            "证券代码",
            "股票代码",
            "公司代码",
            "a股代码",
        ],
    ),
    (
        "name",
        &[
            // JoinQuant's `name` is an abbreviation in letters beside it.
            "displayname",
            "name",
            "shortname",
            "secname",
            "secshortname",
            "secuabbr",
            "chinameabbr",
            "abbr",
            "stockname",
            "stocknm",
            "codename",
            "stknme",
            "sinfoname",
            "securityname",
            "securitynameabbr",
            "简称",
            "公司简称",
            "中文简称",
            "a股简称",
            "证券简称",
            "股票简称",
            "名称",
            "证券名称",
            "股票名称",
            // RiceQuant's `symbol` is the name.
            "symbol",
        ],
    ),
    ("from", &["from", "startdate", "validfrom", "begindate", "knownsince", "开始日期", "起始日期", "生效日期"]),
    ("to", &["to", "enddate", "validto", "until", "结束日期", "截止日期", "失效日期"]),
    ("industry", &["industry", "industryname", "sector", "行业", "所属行业", "行业名称"]),
    ("board", &["board", "板块", "上市板块"]),
    ("listed", &["listed", "listdate", "ipodate", "listeddate", "listdt", "sinfolistdate", "上市日期", "上市日"]),
    ("delisted", &["delisted", "delistdate", "outdate", "sinfodelistdate", "退市日期", "摘牌日期"]),
    ("st", &["st", "isst", "是否st"]),
    ("aliases", &["aliases", "alias", "formernames", "曾用名", "曾用简称", "别名", "全称", "公司全称"]),
];

const RELATIONS: &[(&str, &[&str])] = &[
    ("from", &["from", "fromcode", "supplier", "code", "tscode", "证券代码", "股票代码", "公司代码", "代码"]),
    ("to", &["to", "tocode", "customer", "relatedcode", "peercode", "关联代码", "关联方代码", "客户代码", "对方代码"]),
    ("kind", &["kind", "relation", "relationtype", "type", "关系", "关系类型", "类型"]),
    ("weight", &["weight", "share", "ratio", "权重", "占比", "比例"]),
    ("valid_from", &["validfrom", "startdate", "begindate", "开始日期", "起始日期", "生效日期"]),
    ("valid_to", &["validto", "enddate", "结束日期", "截止日期", "失效日期"]),
    ("known_at", &["knownat", "publishedat", "anndate", "publishdate", "公告日期", "公告时间", "披露日期", "发布日期"]),
];

const EVENTS: &[(&str, &[&str])] = &[
    ("code", &["code", "tscode", "symbol", "stockcode", "证券代码", "股票代码", "公司代码", "代码"]),
    ("kind", &["kind", "event", "eventtype", "type", "事件", "事件类型", "类型"]),
    (
        "known_at",
        &[
            "knownat",
            "publishedat",
            "anndate",
            "publishdate",
            "公告日期",
            "公告时间",
            "披露日期",
            "发布日期",
            "发布时间",
        ],
    ),
    ("amount", &["amount", "money", "金额", "涉及金额", "总金额", "交易金额"]),
    ("price", &["price", "价格", "单价", "每股价格"]),
    ("percent", &["percent", "ratio", "比例", "占比", "占总股本比例"]),
    ("shares", &["shares", "volume", "股数", "数量", "股份数量"]),
    ("date", &["date", "eventdate", "事件日期", "发生日期"]),
];

fn table(table: Table) -> &'static [(&'static str, &'static [&'static str])] {
    match table {
        Table::Documents => DOCUMENTS,
        Table::Prices => PRICES,
        Table::Securities => SECURITIES,
        Table::Relations => RELATIONS,
        Table::Events => EVENTS,
    }
}

/// The fields of a table.
pub(super) fn fields(of: Table) -> Vec<&'static str> {
    table(of).iter().map(|(field, _)| *field).collect()
}

/// Rule that gives one field from the cells of a row.
#[derive(Clone, Debug)]
pub(super) enum FieldRule {
    Absent,
    /// A cell as it is; numbers times the factor.
    Cell(usize, f64),
    /// A date and a time of day.
    Two(usize, usize),
    /// The match of the expression in a cell.
    Found(Regex, usize),
    Constant(String),
}

impl FieldRule {
    /// Cells that are needed.
    fn cells(&self) -> Vec<usize> {
        match self {
            FieldRule::Cell(i, _) | FieldRule::Found(_, i) => vec![*i],
            FieldRule::Two(i, j) => vec![*i, *j],
            FieldRule::Absent | FieldRule::Constant(_) => Vec::new(),
        }
    }
}

/// The picks of all fields of a table, in the order of [`fields`].
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    fields: Vec<&'static str>,
    picks: Vec<FieldRule>,
    columns: Vec<String>,
}

impl Mapping {
    /// Maps the columns of a file; fails with everything that is missing at once.
    pub(super) fn resolve(source: &Source, columns: &[String]) -> Result<Mapping> {
        let (mapping, missing) = Mapping::settle(source, columns)?;
        if !missing.is_empty() {
            bail!(
                "缺少列：{}；现有列：{}；请在 [[source]] {:?} 的 `columns` 中指定",
                "columns are missing: {}; the columns are: {}; map them in `columns` of [[source]] {:?}",
                Message::joined(&missing, Word("、", ", ")),
                listed(columns),
                source.name
            );
        }
        Ok(mapping)
    }

    /// Maps all fields that it can, and gives the names of the missing ones.
    pub(super) fn settle(source: &Source, columns: &[String]) -> Result<(Mapping, Vec<Message>)> {
        let table = table(source.table);
        let mut missing = Vec::new();
        let mut picks = vec![FieldRule::Absent; table.len()];
        let mut taken = vec![false; columns.len()];
        let mut look_up = |field: &str, name: &str| -> Option<usize> {
            let found = position(columns, name);
            match found {
                Some(i) => taken[i] = true,
                None => {
                    let near = nearest(name, columns.iter().map(String::as_str));
                    let near = near.map_or(Message::default(), |n| message!("（最接近：{n:?}）", " (nearest: {n:?})"));
                    missing.push(message!("{field} = {name:?}{near}", "{field} = {name:?}{near}"));
                }
            }
            found
        };
        let number_of = |field: &str| table.iter().position(|(f, _)| *f == field);
        let mut patterns = Vec::new();
        for (field, column) in &source.columns {
            let number = number_of(field)
                .with_context(|| message!("columns 没有字段 {field:?}", "columns has no field {field:?}"))?;
            let pick = match column {
                Column::Name(name) => look_up(field, name).map(|i| FieldRule::Cell(i, unit_of(&columns[i]).1)),
                Column::Scaled { column, times } => look_up(field, column).map(|i| FieldRule::Cell(i, *times)),
                Column::DateTime { date, time } => {
                    let (date, time) = (look_up(field, date), look_up(field, time));
                    date.zip(time).map(|(date, time)| FieldRule::Two(date, time))
                }
                Column::Value { value } => Some(FieldRule::Constant(value.clone())),
                Column::Pattern { .. } => {
                    patterns.push((number, field, column));
                    None
                }
            };
            picks[number] = pick.unwrap_or(FieldRule::Absent);
        }
        let explicit = |field: &str| source.columns.contains_key(field);
        for (number, (field, names)) in table.iter().enumerate() {
            if !explicit(field)
                && let Some(i) = usual(columns, names, &taken)
            {
                taken[i] = true;
                picks[number] = FieldRule::Cell(i, unit_of(&columns[i]).1);
            }
        }
        if let Some(two) = two_columns(source, columns)
            && let Some(number) = number_of("published_at")
        {
            picks[number] = two;
        }
        for (number, field, column) in patterns {
            let Column::Pattern { pattern, r#in } = column else { continue };
            let by_field = number_of(r#in).and_then(|n| picks[n].cells().first().copied());
            let Some(cell) = position(columns, r#in).or(by_field) else {
                missing.push(Message::same(format!("{field} = {{ in = {:?} }}", r#in)));
                continue;
            };
            let pattern = limits::pattern(pattern).with_context(|| format!("columns.{field}"))?;
            picks[number] = FieldRule::Found(pattern, cell);
        }
        let mapping = Mapping { fields: fields(source.table), picks, columns: columns.to_vec() };
        missing.extend(mapping.lacking(source));
        Ok((mapping, missing))
    }

    /// Fields without which a row of this table is of no use, and that nothing feeds.
    fn lacking(&self, source: &Source) -> Vec<Message> {
        let absent = |field: &str| matches!(self.pick(field), FieldRule::Absent) && !source.columns.contains_key(field);
        let mut lacking = Vec::new();
        match source.table {
            Table::Documents => {
                if absent("title") && absent("body") {
                    lacking.push(Word("title 或 body", "title or body").into());
                }
                if absent("published_at") && source.published_at_default.is_none() {
                    lacking.push(
                        Word(
                            "published_at（没有时间的语料可设 published_at_default）",
                            "published_at (or set published_at_default for a corpus without times)",
                        )
                        .into(),
                    );
                }
            }
            Table::Prices => {
                lacking.extend(["date", "code", "close"].into_iter().filter(|f| absent(f)).map(Message::same))
            }
            Table::Securities => lacking.extend(["code", "name"].into_iter().filter(|f| absent(f)).map(Message::same)),
            Table::Events => {
                lacking.extend(["code", "kind", "known_at"].into_iter().filter(|f| absent(f)).map(Message::same))
            }
            Table::Relations => {
                lacking.extend(["from", "to", "known_at"].into_iter().filter(|f| absent(f)).map(Message::same))
            }
        }
        lacking
    }

    /// The rule of a field.
    pub(super) fn pick(&self, field: &str) -> &FieldRule {
        self.fields.iter().position(|f| *f == field).map_or(&FieldRule::Absent, |i| &self.picks[i])
    }

    /// Name of the column that feeds a field, for rejects.
    pub(super) fn column_of(&self, field: &str) -> String {
        let cells = self.pick(field).cells();
        cells.first().map_or(field.to_owned(), |i| self.columns[*i].clone())
    }

    /// Which cells any field needs.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.columns.len()];
        self.picks.iter().flat_map(FieldRule::cells).for_each(|i| used[i] = true);
        used
    }

    /// Field and column by name, for the log.
    pub(super) fn describe(&self) -> BTreeMap<String, String> {
        let describe = |pick: &FieldRule| match pick {
            FieldRule::Absent => None,
            FieldRule::Cell(i, 1.0) => Some(self.columns[*i].clone()),
            FieldRule::Cell(i, times) => Some(format!("{} × {times}", self.columns[*i])),
            FieldRule::Two(i, j) => Some(format!("{} + {}", self.columns[*i], self.columns[*j])),
            FieldRule::Found(pattern, i) => Some(format!("/{pattern}/ in {}", self.columns[*i])),
            FieldRule::Constant(text) => Some(format!("{text:?} for every row")),
        };
        self.fields.iter().zip(&self.picks).filter_map(|(f, p)| Some(((*f).to_owned(), describe(p)?))).collect()
    }
}

/// The first columns by name, and how many there are beside these.
fn listed(columns: &[String]) -> String {
    let cut = |name: &String| format!("{:?}", name.chars().take(60).collect::<String>());
    let mut listed: Vec<String> = columns.iter().take(60).map(cut).collect();
    if columns.len() > 60 {
        listed.push(message!("等 {} 个", "and {} more", columns.len() - 60).to_string());
    }
    listed.join(", ")
}

/// A date column beside a column with the time of day, when neither was mapped by hand.
fn two_columns(source: &Source, columns: &[String]) -> Option<FieldRule> {
    if source.table != Table::Documents || source.columns.contains_key("published_at") {
        return None;
    }
    let (_, names) = DOCUMENTS.iter().find(|(field, _)| *field == "published_at")?;
    let better = |c: &String| names.iter().take_while(|name| **name != "date").any(|name| plain(c) == *name);
    let find = |names: [&str; 2]| columns.iter().position(|c| names.contains(&plain(c).as_str()));
    let (date, time) = (find(["date", "日期"])?, find(["time", "时间"])?);
    (!columns.iter().any(better)).then_some(FieldRule::Two(date, time))
}

fn usual(columns: &[String], names: &[&str], taken: &[bool]) -> Option<usize> {
    let plain: Vec<String> = columns.iter().map(|c| plain(c)).collect();
    names.iter().find_map(|name| (0..columns.len()).find(|&i| !taken[i] && plain[i] == *name))
}

/// The column of this name, exactly or else by its plain form.
fn position(columns: &[String], name: &str) -> Option<usize> {
    let exact = columns.iter().position(|c| c == name);
    exact.or_else(|| columns.iter().position(|c| c.trim() == name.trim() || plain(c) == plain(name)))
}

/// A name without case, spaces, `_`, `-` and unit.
fn plain(name: &str) -> String {
    let (name, _) = unit_of(name);
    name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// A name without the unit in brackets, and the factor that the unit stands for.
fn unit_of(name: &str) -> (&str, f64) {
    let name = name.trim();
    let Some((front, unit)) = name.split_once(['(', '（']) else { return (name, 1.0) };
    let factor = match unit.trim_end_matches([')', '）']).trim() {
        "手" => 100.0,
        "千元" => 1e3,
        "万元" | "万股" => 1e4,
        "百万元" => 1e6,
        "亿元" | "亿股" => 1e8,
        "%" | "％" => 0.01,
        _ => 1.0,
    };
    (front, factor)
}

/// The name most like this one, when any is like it at all.
pub(super) fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &str| strsim::normalized_damerau_levenshtein(&plain(name), &plain(other));
    let best = among.map(|other| (likeness(other), other)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.4).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(source: &Source, columns: &[&str]) -> Result<BTreeMap<String, String>> {
        let columns: Vec<String> = columns.iter().map(|c| (*c).to_owned()).collect();
        Mapping::resolve(source, &columns).map(|m| m.describe())
    }

    fn shown(map: &BTreeMap<String, String>) -> String {
        map.iter().map(|(f, c)| format!("{f}={c}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn usual_names_in_both_languages_are_known() {
        let documents = Source { name: "s".into(), ..Source::default() };
        let map = resolve(&documents, &["证券代码", "新闻标题", "正文", "发布时间", "阅读数"]).unwrap();
        assert_eq!(shown(&map), "body=正文 codes=证券代码 published_at=发布时间 title=新闻标题");
        let map = resolve(&documents, &["ts_code", "日期", "时间", "Title", "content"]).unwrap();
        assert_eq!(shown(&map), "body=content codes=ts_code published_at=日期 + 时间 title=Title");
        let prices = Source { table: Table::Prices, ..documents };
        let map = resolve(&prices, &["交易日期", "股票代码", "收盘价(元)", "成交量(手)", "成交额(千元)"]).unwrap();
        assert_eq!(
            shown(&map),
            "amount=成交额(千元) × 1000 close=收盘价(元) code=股票代码 date=交易日期 volume=成交量(手) × 100"
        );
    }

    #[test]
    fn all_missing_columns_are_named_at_once() {
        let name = |n: &str| Column::Name(n.into());
        let columns = [("title", name("標題")), ("body", name("contents"))];
        let columns = columns.into_iter().map(|(f, c)| (f.to_owned(), c)).collect();
        let source = Source { name: "news".into(), columns, ..Source::default() };
        let error = resolve(&source, &["id", "content", "text"]).unwrap_err().to_string();
        for part in [
            "body = \"contents\" (nearest: \"content\")",
            "title = \"標題\"",
            "published_at",
            "\"id\", \"content\", \"text\"",
            "\"news\"",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn a_pattern_may_search_a_column_or_a_field() {
        let pattern = Column::Pattern { pattern: r"\d{4}-\d{2}-\d{2}".into(), r#in: "body".into() };
        let columns = [("published_at".to_owned(), pattern)].into_iter().collect();
        let source = Source { name: "r".into(), columns, ..Source::default() };
        let map = resolve(&source, &["id", "text"]).unwrap();
        assert_eq!(map["published_at"], r"/\d{4}-\d{2}-\d{2}/ in text");
    }
}
