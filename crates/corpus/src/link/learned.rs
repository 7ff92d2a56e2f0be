//! Names that the corpus itself teaches: a document that writes `岚石股份（600002.SH）` says which company the name means.
//!
//! A pair holds from the publication of the first document that showed it, for documents published then or later, so nothing of the future
//! is known. Where a name was shown with several codes, it means the one that two thirds of the showings so far have, and nothing while none
//! has them. Showings are kept part by part, and each part of the links depends only on the pairs known at its last document: a corpus grown day
//! by day equals one that was linked at once.
//!
//! Learned are shares of the mainland exchanges. What looks like an index, a fund or a bond, and words that stand before any company's code
//! (`公司（600002）`), teach nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::clean::clean_of_part;
use inkstone_base::code::Code;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_tables::corpus::Parts;

/// Changes whenever the same text would teach other names.
const VERSION: u32 = 1;
/// Columns of the list of names.
const HEADER: &str = "name,code,known_since,until,showings";
/// Time of the list.
const TIME: &str = "%Y-%m-%d %H:%M:%S";
/// Columns of a short name at the most, as the exchanges cut it (a Chinese character takes two), marks and tails apart.
const NAME_COLUMNS: usize = 8;
/// Bytes between the brackets at the most.
const BRACKET_BYTES: usize = 60;

/// Words that lead to a name in running text and are no part of it, longest first.
const LEADS: [&str; 30] = [
    "控股子公司",
    "全资子公司",
    "控股股东",
    "建议关注",
    "相关标的",
    "上市公司",
    "重点关注",
    "重点推荐",
    "龙头企业",
    "关联方",
    "子公司",
    "龙头股",
    "母公司",
    "上调",
    "下调",
    "包括",
    "其中",
    "公司",
    "股东",
    "关注",
    "推荐",
    "看好",
    "龙头",
    "持有",
    "参股",
    "收购",
    "以及",
    "例如",
    "比如",
    "旗下",
];
/// Words that stand before codes of many companies.
const GENERIC: [&str; 34] = [
    "公司",
    "本公司",
    "该公司",
    "上市公司",
    "子公司",
    "母公司",
    "股份公司",
    "有限公司",
    "股份有限公司",
    "集团",
    "集团公司",
    "该股",
    "股票",
    "本股票",
    "公司股票",
    "个股",
    "证券",
    "本证券",
    "银行",
    "科技",
    "股份",
    "控股",
    "标的",
    "标的股票",
    "标的公司",
    "目标公司",
    "代码",
    "股票代码",
    "证券代码",
    "简称",
    "证券简称",
    "股票简称",
    "发行人",
    "正股",
];
/// Ends of what is listed and is no company.
const NO_COMPANY: [&str; 20] = [
    "指数",
    "综指",
    "成指",
    "ETF",
    "LOF",
    "REIT",
    "REITs",
    "基金",
    "转债",
    "债",
    "权证",
    "板块",
    "概念",
    "行业",
    "联接",
    "优先股",
    "定转",
    "退市",
    "打新",
    "申购",
];

/// When the names that the corpus teaches are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LearnNames {
    /// Where there is no table of securities.
    #[default]
    Auto,
    /// Beside a table of securities, too, whose names go before.
    Always,
    Never,
}

impl LearnNames {
    /// True if names are learned in a project with or without a table of securities.
    pub fn learns(self, has_table: bool) -> bool {
        match self {
            LearnNames::Auto => !has_table,
            LearnNames::Always => true,
            LearnNames::Never => false,
        }
    }
}

/// A name that the corpus taught.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LearnedName {
    pub name: String,
    pub code: Code,
    /// Publication of the document from which on the name means the code.
    pub known_since: NaiveDateTime,
    /// Publication of the document from which on it no longer does.
    pub until: Option<NaiveDateTime>,
    /// Documents that showed name and code together.
    pub showings: u64,
}

/// Times at which the documents of a part showed a name with a code, and the last publication of the part.
#[derive(Default, Serialize, Deserialize)]
struct Showings {
    /// Everything that the showings depend on.
    inputs: Key,
    last: Option<NaiveDateTime>,
    /// Name, code, times; in the order of the names.
    times: Vec<(String, Code, Vec<NaiveDateTime>)>,
}

/// The names that the corpus teaches, and how many of them each part may know.
#[derive(Default)]
pub(super) struct Lessons {
    pub(super) names: Vec<LearnedName>,
    /// Last publication of each part.
    last_of_part: Vec<Option<NaiveDateTime>>,
    /// Names with several codes: the showings of each, most first.
    conflicts: Vec<(String, Vec<(Code, u64)>)>,
}

impl Lessons {
    /// Reads the documents of `clean`; what was read of a part before, of the same text, is kept beside the parts of `out`.
    pub(super) fn read(clean: &Parts, out: &Parts, ctx: &Ctx) -> Result<Lessons> {
        let mut times: BTreeMap<String, Vec<(NaiveDateTime, Code)>> = BTreeMap::new();
        let mut lessons = Lessons::default();
        let files = clean.files()?;
        for (part, file) in files.iter().enumerate() {
            ctx.check()?;
            let inputs = Key::of_json(&(VERSION, disk::hash_file(file)?));
            let place = showings_of(out, part);
            let kept = disk::read_json::<Showings>(&place).ok().filter(|kept| kept.inputs == inputs);
            let showings = match kept {
                Some(kept) => kept,
                None => {
                    let showings = Showings { inputs, ..showings_in(file, ctx)? };
                    disk::write_json(&place, &showings)?;
                    showings
                }
            };
            lessons.last_of_part.push(showings.last);
            for (name, code, shown) in showings.times {
                times.entry(name).or_default().extend(shown.into_iter().map(|time| (time, code.clone())));
            }
        }
        forget(out, files.len())?;
        for (name, mut shown) in times {
            shown.sort();
            let several = shown.iter().any(|(_, code)| *code != shown[0].1);
            if several {
                let mut counts: BTreeMap<&Code, u64> = BTreeMap::new();
                shown.iter().for_each(|(_, code)| *counts.entry(code).or_default() += 1);
                let mut counts: Vec<(Code, u64)> = counts.into_iter().map(|(code, n)| (code.clone(), n)).collect();
                counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
                lessons.conflicts.push((name.clone(), counts));
            }
            lessons.names.extend(meanings(&name, &shown));
        }
        Ok(lessons)
    }

    /// For each part, the key of the names that a document of it may know.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut changes: BTreeSet<(NaiveDateTime, &str, &str, bool)> = BTreeSet::new();
        for learned in &self.names {
            changes.insert((learned.known_since, &learned.name, learned.code.as_str(), true));
            changes.extend(learned.until.map(|until| (until, learned.name.as_str(), learned.code.as_str(), false)));
        }
        let mut keys = vec![Key::default()];
        let mut at = Vec::with_capacity(changes.len());
        for change in changes {
            keys.push(Key::of_json(&(keys[keys.len() - 1], change)));
            at.push(change.0);
        }
        let known = |last: &Option<NaiveDateTime>| last.map_or(0, |last| at.partition_point(|time| *time <= last));
        self.last_of_part.iter().map(|last| keys[known(last)]).collect()
    }

    pub(super) fn tell(&self, report: &mut Report) {
        let in_force = || self.names.iter().filter(|learned| learned.until.is_none());
        report.fact("names_learned", in_force().count());
        report.fact("codes_learned", in_force().map(|learned| &learned.code).collect::<BTreeSet<_>>().len());
        report.fact("names_shown_with_several_codes", self.conflicts.len());
        let held = |name: &str| in_force().any(|learned| learned.name == name);
        let mut worst: Vec<&(String, Vec<(Code, u64)>)> = self.conflicts.iter().collect();
        worst.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().map(|(_, n)| n).sum::<u64>()));
        let shown = |(name, counts): &&(String, Vec<(Code, u64)>)| {
            let codes: Vec<String> = counts.iter().take(3).map(|(code, n)| format!("{code} {n}")).collect();
            let verdict = if held(name) { "the first is taken" } else { "dropped" };
            format!("{name}: {} ({verdict})", codes.join(", "))
        };
        if !worst.is_empty() {
            report.fact(
                "names_shown_with_several_codes_first",
                worst.iter().take(10).map(shown).collect::<Vec<String>>(),
            );
        }
    }
}

/// Removes the showings of all parts from `first` on.
pub(super) fn forget(out: &Parts, first: usize) -> Result<()> {
    let place = showings_of(out, first);
    let files = disk::files_in(out.folder(), "json")?;
    let is_later = |path: &PathBuf| path.file_name().is_some_and(is_showings) && *path >= place;
    files.into_iter().filter(is_later).try_for_each(|path| disk::remove_if_there(&path))
}

fn is_showings(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("showings-"))
}

fn showings_of(out: &Parts, part: usize) -> PathBuf {
    out.folder().join(format!("showings-{part:05}.json"))
}

/// The codes that a name means, from when to when; `shown` is sorted.
fn meanings(name: &str, shown: &[(NaiveDateTime, Code)]) -> Vec<LearnedName> {
    let mut counts: BTreeMap<&Code, u64> = BTreeMap::new();
    let mut meanings: Vec<LearnedName> = Vec::new();
    let mut all = 0;
    for group in shown.chunk_by(|a, b| a.0 == b.0) {
        for (_, code) in group {
            *counts.entry(code).or_default() += 1;
            all += 1;
        }
        let time = group[0].0;
        let meant = counts.iter().find(|(_, n)| 3 * **n >= 2 * all).map(|(code, _)| *code);
        let open = meanings.last_mut().filter(|last| last.until.is_none());
        if open.as_ref().map(|last| &last.code) == meant {
            continue;
        }
        if let Some(last) = open {
            last.until = Some(time);
        }
        meanings.extend(meant.map(|code| LearnedName {
            name: name.to_owned(),
            code: code.clone(),
            known_since: time,
            until: None,
            showings: 0,
        }));
    }
    meanings.iter_mut().for_each(|learned| learned.showings = counts[&learned.code]);
    meanings
}

fn showings_in(file: &Path, ctx: &Ctx) -> Result<Showings> {
    let docs = clean_of_part(file)?;
    let pairs_of = |doc: &crate::clean::CleanDocument| -> Result<Vec<(String, Code)>> {
        ctx.check()?;
        let fields = [&doc.document.title, &doc.document.body];
        let pairs: BTreeSet<(String, Code)> = fields.into_iter().flat_map(|text| pairs(text)).collect();
        Ok(pairs.into_iter().collect())
    };
    let found: Vec<Vec<(String, Code)>> = ctx.install(|| docs.par_iter().map(pairs_of).collect::<Result<_>>())?;
    let mut times: BTreeMap<(String, Code), Vec<NaiveDateTime>> = BTreeMap::new();
    for (doc, pairs) in docs.iter().zip(found) {
        for pair in pairs {
            times.entry(pair).or_default().push(doc.document.published_at);
        }
    }
    let times = times.into_iter().map(|((name, code), times)| (name, code, times)).collect();
    let last = docs.iter().map(|doc| doc.document.published_at).max();
    Ok(Showings { inputs: Key::default(), last, times })
}

/// The pairs of a name and the code in the bracket behind it.
fn pairs(text: &str) -> Vec<(String, Code)> {
    let mut found = Vec::new();
    for (at, open) in text.char_indices().filter(|(_, c)| matches!(c, '(' | '（' | '[' | '【')) {
        let inner = &text[at + open.len_utf8()..];
        let Some(end) = inner.find([')', '）', ']', '】']).filter(|end| *end <= BRACKET_BYTES) else { continue };
        if let Some(code) = code_in(&inner[..end])
            && let Some(name) = name_before(&text[..at])
        {
            found.push((name.to_owned(), code));
        }
    }
    found
}

/// The share that the words between brackets are the code of.
fn code_in(inner: &str) -> Option<Code> {
    let mut shares = BTreeSet::new();
    for piece in inner.split([',', '，', '、', ';', '；', '/', '|']) {
        let piece = piece.trim();
        // 股票代码：600002
        let code = piece.trim_start_matches(|c: char| !c.is_ascii()).trim_start_matches([':', ' ']);
        let digits: String = code.chars().filter(char::is_ascii_digit).collect();
        if digits.len() == 6 && code.contains(&digits) {
            shares.extend(Code::parse(code).filter(is_share));
        }
    }
    let first = shares.pop_first()?;
    shares.is_empty().then_some(first)
}

/// True for A shares, by their digits.
fn is_share(code: &Code) -> bool {
    let starts = |fronts: &[&str]| fronts.iter().any(|front| code.as_str().starts_with(front));
    match code.as_str().split_once('.') {
        Some((_, "SH")) => starts(&["600", "601", "603", "605", "688", "689"]),
        Some((_, "SZ")) => starts(&["000", "001", "002", "003", "300", "301", "302"]),
        // 88 and four digits are indices of data vendors.
        Some((_, "BJ")) => starts(&["43", "83", "87", "92"]),
        _ => false,
    }
}

/// The company's name at the end of a text.
fn name_before(text: &str) -> Option<&str> {
    let text = text.trim_end_matches([' ', '”', '"', '」', '』', '】', '》']);
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '-') || ('\u{4e00}'..='\u{9fff}').contains(&c);
    let start = text.char_indices().rev().take(24).take_while(|(_, c)| is_part(*c)).last()?.0;
    let mut name = text[start..].trim_start_matches('-');
    let without_lead = |name: &'_ str| LEADS.iter().find(|lead| name.starts_with(**lead)).map(|lead| lead.len());
    while let Some(lead) = without_lead(name).filter(|lead| name[*lead..].chars().count() >= 3) {
        name = &name[lead..];
    }
    if !fits(name) {
        let joined = || {
            name.match_indices(['和', '与', '及', '是', '为', '向', '对']).map(|(at, word)| &name[at + word.len()..])
        };
        if !fits(name) {
            name = joined().find(|rest| fits(rest) && rest.chars().count() > 2)?;
        }
    }
    is_name(name).then_some(name)
}

/// True if a short name of the exchange may be as long.
fn fits(name: &str) -> bool {
    let bare = ["S*ST", "SST", "*ST", "ST", "XD", "XR", "DR"].iter().find_map(|mark| name.strip_prefix(mark));
    let bare = bare.unwrap_or(name);
    let bare = ["-UW", "-WD", "-U", "-W", "-D"].iter().find_map(|tail| bare.strip_suffix(tail)).unwrap_or(bare);
    bare.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>() <= NAME_COLUMNS
}

fn is_name(name: &str) -> bool {
    let chinese = name.chars().filter(|c| !c.is_ascii()).count();
    let is_index = name.ends_with(|c: char| c.is_ascii_digit()) || NO_COMPANY.iter().any(|end| name.ends_with(end));
    let is_generic = GENERIC.contains(&name) || name.starts_with(['该', '本', '其', '某']);
    chinese >= 2 && !is_index && !is_generic && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Writes the list for people; it also serves as a `[[source]]` with `table = "securities"`.
pub(super) fn write_names(path: &Path, names: &[LearnedName]) -> Result<()> {
    let mut names: Vec<&LearnedName> = names.iter().collect();
    names.sort();
    disk::write_atomic(path, |out| {
        writeln!(out, "\u{feff}{HEADER}")?;
        for LearnedName { name, code, known_since, until, showings } in names {
            let until = until.map(|until| until.format(TIME).to_string()).unwrap_or_default();
            writeln!(out, "{name},{code},{},{until},{showings}", known_since.format(TIME))?;
        }
        Ok(())
    })
}

/// Reads the list of names; none where there is no list.
pub fn read_names(path: &Path) -> Result<Vec<LearnedName>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text =
        std::fs::read_to_string(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let again = || {
        message!(
            "{} 与写入时不同：请删除后重新运行",
            "{} is not as it was written: delete it and run again",
            path.display()
        )
    };
    ensure!(lines.next() == Some(HEADER), again());
    let time = |text: &str| NaiveDateTime::parse_from_str(text, TIME).ok();
    let name_in = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, code, since, until, showings] = fields[..] else { return None };
        Some(LearnedName {
            name: name.to_owned(),
            code: Code::canonical(code),
            known_since: time(since)?,
            until: if until.is_empty() { None } else { Some(time(until)?) },
            showings: showings.parse().ok()?,
        })
    };
    lines.map(|line| name_in(line).with_context(again)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        pairs(text).into_iter().map(|(name, code)| format!("{name} {code}")).collect()
    }

    #[test]
    fn a_name_before_a_code_in_brackets_is_a_pair() {
        for (text, pair) in [
            ("1月2日电，岚石股份(600002.SH)公告称", "岚石股份 600002.SH"),
            ("【岚石股份（SH600002）：中标】", "岚石股份 600002.SH"),
            ("*ST霁川（000005）公告", "*ST霁川 000005.SZ"),
            ("TCL岚石(股票代码：600002)", "TCL岚石 600002.SH"),
            ("“岚石股份”（600002.XSHG，0700.HK）", "岚石股份 600002.SH"),
            ("$岚石股份(SH600002)$", "岚石股份 600002.SH"),
            ("控股子公司岚石股份（600002）", "岚石股份 600002.SH"),
            ("重点推荐远山和岚石股份（600002）", "岚石股份 600002.SH"),
            ("霁川半导-UW（688007.SH）", "霁川半导-UW 688007.SH"),
        ] {
            assert_eq!(found(text), [pair], "{text}");
        }
        assert_eq!(found("远山（600001）、岚石股份（600002）"), ["远山 600001.SH", "岚石股份 600002.SH"]);
    }

    #[test]
    fn indices_funds_amounts_and_words_of_any_company_teach_nothing() {
        for text in [
            "公司（600002）",
            "沪深300（000300）",
            "上证指数（000001）",
            "岚石ETF（510300）",
            "岚石转债（110002）",
            "石油基金LOF(160416)",
            "岚石（600002元）",
            "稀土（884215）",
            "岚石（0700.HK）",
            "远山、岚石（600001、600002）",
            "共（600002）",
            "20240102（600002）",
            "这是一个长得不像名称的句子的结尾（600002）",
            "岚石（600002",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_name_means_what_two_thirds_of_its_showings_so_far_say() {
        let time = |day: u32| format!("2024-01-{day:02}T10:00:00").parse::<NaiveDateTime>().unwrap();
        let (a, b) = (Code::canonical("600001.SH"), Code::canonical("600002.SH"));
        let shown = |days: &[(u32, &Code)]| days.iter().map(|(d, c)| (time(*d), (*c).clone())).collect::<Vec<_>>();
        let spans = |days: &[(u32, &Code)]| -> Vec<(Code, NaiveDateTime, Option<NaiveDateTime>)> {
            let learned = meanings("岚石", &shown(days));
            learned.into_iter().map(|l| (l.code, l.known_since, l.until)).collect()
        };
        assert_eq!(spans(&[(1, &a), (2, &a)]), [(a.clone(), time(1), None)]);
        // One against one decides nothing, two against one does; what was known before is not changed by it.
        let several = spans(&[(1, &a), (2, &b), (3, &b), (4, &a)]);
        assert_eq!(several, [(a.clone(), time(1), Some(time(2))), (b.clone(), time(3), Some(time(4)))]);
        // At one moment both codes are as old as each other.
        assert_eq!(spans(&[(1, &a), (1, &b)]), []);
        assert_eq!(spans(&[(1, &a), (2, &a), (3, &b)]), [(a.clone(), time(1), None)]);
    }

    #[test]
    fn the_list_of_names_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names.csv");
        assert_eq!(read_names(&path).unwrap(), []);
        let time = |text: &str| text.parse::<NaiveDateTime>().unwrap();
        let name = |name: &str, until: Option<&str>| LearnedName {
            name: name.into(),
            code: Code::canonical("600002.SH"),
            known_since: time("2024-01-02T09:30:01"),
            until: until.map(time),
            showings: 3,
        };
        let names = [name("*ST岚石", Some("2024-02-01T00:00:00")), name("岚石", None)];
        write_names(&path, &names).unwrap();
        assert_eq!(read_names(&path).unwrap(), names);
        std::fs::write(&path, "name\n岚石\n").unwrap();
        let error = read_names(&path).unwrap_err().to_string();
        assert!(error.contains("names.csv") && error.contains("delete it and run again"), "{error}");
    }
}
