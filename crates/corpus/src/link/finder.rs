//! Finds the mentions in one document and decides which of them count.
//!
//! 1. Codes count when they stand as codes: with an exchange (`600000.SH`, `SH600000`, `sh.600000`, `600000.XSHG`, `SSE:600000`,
//!    `600000 CH`), in brackets (`（600000）`, `（600000，前进股份）`), or after a word that announces them (`股票代码：600000`). An exchange
//!    that is not the security's own speaks of something else (`000001.SH` is an index).
//! 2. Names count when the table says so for the day of `published_at`, the longest first. A Latin letter or digit next to
//!    a Latin end is part of another word, and `业` or (behind a bank) `间` makes a trade of a name: 中国银行业.
//! 3. Who speaks is not spoken of: neither the broker whose report it is, nor a broker that the text quotes anywhere
//!    (`远山证券指出`, `远山证券研报`), unless the source gave its code.
//! 4. A name that is also a common word (two characters, or listed) counts only with evidence in the document: the source
//!    gave the code, the code or another name of the company stands in the text, or the name is used as a company's
//!    somewhere (`远山股份`, `远山：一季度...`, `【远山】`, `远山披露三季报`, `远山2.98亿股`). Otherwise it is refused and counted.
//! 5. Words that mean several securities on that day mean the one that the rest of the document speaks of, if it is one;
//!    else every one of them, ambiguous.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use anyhow::{Context, Result};
use chrono::NaiveDateTime;

use inkstone_base::code::{self, Code};
use inkstone_base::data::{Document, Kind};
use inkstone_base::language::Word;
use inkstone_market::Security;

use super::learned::LearnedName;
use super::names::{NameTable, Pattern, PatternKind, Rank};
use super::{Link, Params, TextField, Via};

/// Words which, right behind a name, show that a company is meant.
const COMPANY_WORDS: [&str; 12] = [
    "股份",
    "集团",
    "控股",
    "股价",
    "公告",
    "发布公告",
    "披露公告",
    "晚间公告",
    "早间公告",
    "盘后公告",
    "复牌",
    "停牌",
];
/// Words which show it only where the name begins a sentence.
const COMPANY_ACTS: [&str; 6] = ["：", ":", "发布", "披露", "持股", "收到"];
/// Listed brokers whose names do not end with 证券.
const BROKERS: [&str; 5] = ["中信建投", "中金公司", "国泰君安", "申万宏源", "国联民生"];
/// Words which, right behind a broker's name, show that the broker speaks.
const SAYING: [&str; 14] = [
    "指出",
    "认为",
    "研报",
    "发布研报",
    "研究报告",
    "研究所",
    "研究部",
    "研究院",
    "分析师",
    "首席",
    "策略",
    "宏观",
    "统计",
    "团队",
];
/// Words that announce a code, with what may stand between.
const CODE_WORDS: [&str; 4] = ["代码", "A股", "B股", "股票"];

/// The links of a document and what stayed open.
#[derive(Default)]
pub(super) struct FoundLinks {
    /// In the order of field and place.
    pub(super) links: Vec<Link>,
    /// Words that mean several securities, once per mention.
    pub(super) ambiguous: Vec<String>,
    /// Names refused as common words, once per mention.
    pub(super) refused: Vec<String>,
    /// Mentions of a broker that speaks.
    pub(super) sources: u64,
}

/// Finds mentions of the table's securities.
pub(super) struct Finder {
    names: NameTable,
    automaton: AhoCorasick,
}

/// A match that the text around it and the day allow.
struct Hit<'a> {
    field: TextField,
    start: usize,
    end: usize,
    codes: Vec<u32>,
    via: Via,
    /// The name, when it is a common word as well and is not used as a company's here.
    doubtful: bool,
    /// The name of a broker that speaks here.
    speaks: bool,
    text: &'a str,
}

impl Finder {
    /// A finder of the names of a table of securities, and of those that the corpus taught.
    pub(super) fn new(securities: &[Security], learned: &[LearnedName], params: &Params) -> Result<Finder> {
        let names = NameTable::new(securities, learned, params);
        let automaton = AhoCorasick::builder()
            // Standard: a longer match may turn out not to hold on the day, and the shorter one then counts.
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(names.patterns.iter().map(|p| &p.text))
            .context(Word(
                "证券表的名称过多，无法一次搜索",
                "the names of the security table are too many for one search",
            ))?;
        Ok(Finder { names, automaton })
    }

    /// Number of names and codes that are looked for.
    pub(super) fn patterns(&self) -> usize {
        self.names.patterns.len()
    }

    /// The links of the document in `row` of its part.
    pub(super) fn find(&self, row: u32, document: &Document) -> FoundLinks {
        let mut hits = self.hits(TextField::Title, &document.title, document);
        hits.extend(self.hits(TextField::Body, &document.body, document));
        let given: BTreeSet<u32> = document.codes.iter().filter_map(|c| self.names.number_of.get(c).copied()).collect();
        let speakers: BTreeSet<u32> = hits.iter().filter(|h| h.speaks).flat_map(|h| h.codes.iter().copied()).collect();
        let named = hits.len();
        hits.retain(|h| h.via == Via::Code || h.codes.iter().any(|c| given.contains(c) || !speakers.contains(c)));
        let sources = (named - hits.len()) as u64;
        // Securities that the document speaks of without doubt.
        let certain = hits.iter().filter(|h| !h.doubtful && h.codes.len() == 1).map(|h| h.codes[0]);
        let sure: BTreeSet<u32> = given.iter().copied().chain(certain).collect();
        let link = |code: &Code, field: TextField, start: usize, end: usize, via: Via, ambiguous: bool| Link {
            row,
            code: code.clone(),
            field,
            start: start as u32,
            end: end as u32,
            via,
            ambiguous,
        };
        let mut found = FoundLinks { sources, ..FoundLinks::default() };
        found.links.extend(document.codes.iter().map(|code| link(code, TextField::Title, 0, 0, Via::Given, false)));
        for hit in hits {
            let known: Vec<u32> = hit.codes.iter().copied().filter(|c| sure.contains(c)).collect();
            let meant = if known.len() == 1 { &known } else { &hit.codes };
            if hit.doubtful && known.is_empty() {
                found.refused.push(hit.text.to_owned());
                continue;
            }
            let ambiguous = meant.len() > 1;
            if ambiguous {
                found.ambiguous.push(hit.text.to_owned());
            }
            let codes = meant.iter().map(|&c| &self.names.codes[c as usize]);
            found.links.extend(codes.map(|c| link(c, hit.field, hit.start, hit.end, hit.via, ambiguous)));
        }
        found
    }

    /// The allowed matches of a field: leftmost, then longest, none inside another.
    fn hits<'a>(&self, field: TextField, text: &'a str, document: &Document) -> Vec<Hit<'a>> {
        let time = document.published_at;
        let matches = self.automaton.find_overlapping_iter(text);
        let mut allowed: Vec<Hit<'a>> = matches
            .filter_map(|m| {
                let pattern = &self.names.patterns[m.pattern().as_usize()];
                let place = Mention { text, start: m.start(), end: m.end() };
                match pattern.form {
                    PatternKind::Code => self.code_hit(field, place, pattern, time),
                    PatternKind::Name { needs_evidence } => {
                        let (rank, codes) =
                            place.stands_alone().then(|| self.names.meaning(pattern, time)).flatten()?;
                        if place.is_trade() {
                            return None;
                        }
                        let speaks = place.is_source() || is_author(document, place.inside());
                        let via = match rank {
                            Rank::Name => Via::Name,
                            Rank::Learned => Via::Learned,
                            Rank::Alias | Rank::Former => Via::Alias,
                        };
                        let doubtful = needs_evidence && !place.is_company();
                        let (start, end, text) = (place.start, place.end, place.inside());
                        Some(Hit { field, start, end, codes, via, doubtful, speaks, text })
                    }
                }
            })
            .collect();
        allowed.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
        let mut end = 0;
        allowed.retain(|hit| {
            let free = hit.start >= end;
            if free {
                end = hit.end;
            }
            free
        });
        allowed
    }

    fn code_hit<'a>(
        &self,
        field: TextField,
        place: Mention<'a>,
        pattern: &Pattern,
        time: NaiveDateTime,
    ) -> Option<Hit<'a>> {
        let (place, exchange) = place.as_code()?;
        let (_, mut codes) = self.names.meaning(pattern, time)?;
        if let Some(exchange) = exchange {
            codes.retain(|&c| self.names.codes[c as usize].as_str().ends_with(exchange));
        } else if codes.len() > 1 {
            // The same digits at two exchanges: without an exchange they are the stock, not the index.
            let usual = usual_exchange(pattern.text.as_bytes()[0]);
            codes.retain(|&c| self.names.codes[c as usize].as_str().ends_with(usual));
        }
        let (start, end, text) = (place.start, place.end, place.inside());
        (!codes.is_empty()).then_some(Hit {
            field,
            start,
            end,
            codes,
            via: Via::Code,
            doubtful: false,
            speaks: false,
            text,
        })
    }
}

/// True if the name belongs to the broker who wrote the report.
fn is_author(document: &Document, name: &str) -> bool {
    document.kind == Kind::Report && document.org.as_deref().is_some_and(|org| org.starts_with(name))
}

/// The exchange where stocks have codes with this first digit.
fn usual_exchange(first: u8) -> &'static str {
    match first {
        b'5' | b'6' => ".SH",
        b'4' | b'8' | b'9' => ".BJ",
        _ => ".SZ",
    }
}

/// The end of the codes of the mainland exchange that a mark names (`XSHG`, `sz`).
fn mainland(mark: &str) -> Option<&'static str> {
    match code::exchange_named(&mark.to_ascii_uppercase())? {
        "SH" => Some(".SH"),
        "SZ" => Some(".SZ"),
        "BJ" => Some(".BJ"),
        _ => None,
    }
}

/// A range of a text, and what stands around it.
#[derive(Clone, Copy)]
struct Mention<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Mention<'a> {
    fn inside(self) -> &'a str {
        &self.text[self.start..self.end]
    }

    fn before(self) -> &'a str {
        &self.text[..self.start]
    }

    fn after(self) -> &'a str {
        &self.text[self.end..]
    }

    /// True if no Latin letter or digit goes on at a Latin end.
    fn stands_alone(self) -> bool {
        let latin = |c: char| c.is_ascii_alphanumeric();
        let cut_left = self.inside().starts_with(latin) && self.before().ends_with(latin);
        let cut_right = self.inside().ends_with(latin) && self.after().starts_with(latin);
        !cut_left && !cut_right
    }

    /// True if what follows makes the name a trade's (中国银行业, 银行间市场), and not the company's results or business.
    fn is_trade(self) -> bool {
        match self.after().strip_prefix('业') {
            Some(rest) => !rest.starts_with(['绩', '务', '主', '态']),
            None => self.inside().ends_with("银行") && self.after().starts_with('间'),
        }
    }

    /// True if the name is a broker's that speaks.
    fn is_source(self) -> bool {
        let broker = self.inside().ends_with("证券") || BROKERS.contains(&self.inside());
        broker && SAYING.iter().any(|word| self.after().starts_with(word))
    }

    /// True if the name is used as a company's in this place.
    fn is_company(self) -> bool {
        let (before, after) = (self.before(), self.after());
        let follows = |words: &[&str]| words.iter().any(|word| after.starts_with(word));
        let begins = before.is_empty() || before.ends_with(['\n', '】', '。']);
        let wrapped = before.ends_with('【') && after.starts_with('】');
        // 远山2.98亿股
        let unit = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
        let counted = unit.len() < after.len() && ["股", "万股", "亿股"].iter().any(|u| unit.starts_with(u));
        follows(&COMPANY_WORDS) || wrapped || counted || (begins && follows(&COMPANY_ACTS))
    }

    /// The place of the whole code with its exchange, when these digits (or this ticker) stand as a code.
    fn as_code(self) -> Option<(Mention<'a>, Option<&'static str>)> {
        let (before, after) = (self.before(), self.after());
        if self.inside().ends_with(".HK") {
            // Five digits with a leading zero are the same security.
            let longer = Mention { start: before.strip_suffix('0').map_or(self.start, str::len), ..self };
            return longer.stands_alone().then_some((longer, None));
        }
        let letters = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        if let Some(rest) = after.strip_prefix('.') {
            let mark = letters(rest);
            if let Some(exchange) = mainland(&rest[..mark]) {
                let longer = Mention { end: self.end + 1 + mark, ..self };
                return longer.stands_alone().then_some((longer, Some(exchange)));
            }
        }
        if !before.ends_with(|c: char| c.is_ascii_digit()) {
            let bare = before.strip_suffix(['.', ':', '：', '_', ' ']).unwrap_or(before);
            let start = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
            let mark = &bare[start..];
            // Without a point between, the word in front has two letters.
            let exchange = mainland(mark).filter(|_| mark.len() == 2 || bare.len() < before.len());
            if let Some(exchange) = exchange {
                let longer = Mention { start, ..self };
                return longer.stands_alone().then_some((longer, Some(exchange)));
            }
        }
        // Bloomberg: 600000 CH
        if let Some(longer) = after.strip_prefix(" CH").map(|_| Mention { end: self.end + 3, ..self })
            && longer.stands_alone()
            && self.stands_alone()
        {
            return Some((longer, None));
        }
        if !self.stands_alone() {
            return None;
        }
        let opened = before.ends_with(['(', '（', '[', '【']);
        let closed = after.starts_with([')', '）', ']', '】']);
        let next_before = before.trim_end().ends_with([',', '，', '、', ';', '；', '/', '：', ':']);
        let next_after = after.trim_start().starts_with([',', '，', '、', ';', '；', '/']);
        let bracketed = (opened && (closed || next_after)) || (closed && next_before);
        let announcement = before.trim_end_matches([':', '：', '为', '是', ' ']);
        let announced = CODE_WORDS.iter().any(|word| announcement.ends_with(word));
        // A ticker with its class (`BRK.B`) tells by itself what it is.
        let ticker = self.inside().contains('.');
        (bracketed || announced || ticker).then_some((self, None))
    }
}

#[cfg(test)]
mod tests {
    use super::super::codes_of;
    use super::*;
    use proptest::prelude::*;

    fn row(code: &str, name: &str, from: Option<&str>, to: Option<&str>, aliases: &[&str]) -> Security {
        Security {
            code: Code::canonical(code),
            name: name.into(),
            from: from.map(|d| d.parse().unwrap()),
            to: to.map(|d| d.parse().unwrap()),
            industry: None,
            board: None,
            listed: None,
            delisted: None,
            st: name.contains("ST"),
            aliases: aliases.iter().map(|&a| a.to_owned()).collect(),
        }
    }

    fn table() -> Vec<Security> {
        vec![
            row("600001.SH", "远山科技", None, Some("2024-03-01"), &["江北远山科技股份有限公司"]),
            row("600001.SH", "*ST远山科技", Some("2024-03-01"), None, &["江北远山科技股份有限公司"]),
            row("000001.SZ", "远山", None, None, &["岭南远山控股有限公司"]),
            row("600002.SH", "岚石银行", None, None, &[]),
            row("600003.SH", "岚石证券", None, None, &[]),
            row("000004.SZ", "前景", None, None, &[]),
            row("000005.SZ", "霁川A", None, None, &["霁川集团"]),
            row("200005.SZ", "霁川B", None, None, &["霁川集团"]),
            row("300006.SZ", "机器人", None, None, &[]),
            row("688007.SH", "KLM半导体", Some("2024-06-01"), None, &["KLM"]),
            row("688007.SH", "槿原半导体", None, Some("2024-06-01"), &[]),
        ]
    }

    fn document(title: &str, body: &str, on: &str) -> Document {
        Document {
            title: title.into(),
            body: body.into(),
            published_at: format!("{on}T10:00:00").parse().unwrap(),
            ..Document::default()
        }
    }

    fn found(document: &Document) -> FoundLinks {
        Finder::new(&table(), &[], &Params::default()).unwrap().find(3, document)
    }

    /// `code via words`, ambiguous ones with a question mark.
    fn mentions(body: &str, on: &str) -> Vec<String> {
        let document = document("", body, on);
        let written = |l: &Link| {
            let mark = if l.ambiguous { "?" } else { "" };
            format!("{} {} {}{mark}", l.code, l.via.name(), &body[l.start as usize..l.end as usize])
        };
        found(&document).links.iter().map(written).collect()
    }

    #[test]
    fn codes_count_only_where_they_stand_as_codes() {
        for body in [
            "600002.SH涨",
            "见sh600002",
            "SH.600002",
            "600002.XSHG",
            "600002.ss",
            "600002.SSE",
            "SHSE.600002",
            "XSHG:600002",
            "（SH：600002）",
            "$岚石(SH600002)$",
            "（600002.SH）",
            "（600002.SH，0700.HK）",
            "SH 600002",
            "600002 CH，买入",
            "（600002）",
            "（600002，诊股）",
        ] {
            assert_eq!(mentions(body, "2024-01-02").iter().filter(|m| m.contains("code")).count(), 1, "{body}");
        }
        assert_eq!(mentions("股票代码：600002", "2024-01-02"), ["600002.SH code 600002"]);
        assert_eq!(mentions("（600002、600003）", "2024-01-02"), ["600002.SH code 600002", "600003.SH code 600003"]);
        // An amount, a longer number, an index, an unknown code, part of a word.
        for body in [
            "收入600002元",
            "电话6000021",
            "指数000001.SH报收",
            "（601234）",
            "XSH600002",
            "1600002.SH",
            "600002.SHX",
            "PUSH 600002元",
            "600002 CHF",
            "600002.SZ",
        ] {
            assert_eq!(mentions(body, "2024-01-02"), Vec::<String>::new(), "{body}");
        }
        assert_eq!(mentions("（000001）", "2024-01-02"), ["000001.SZ code 000001"]);
    }

    #[test]
    fn the_longest_name_of_the_day_wins() {
        assert_eq!(mentions("远山科技大涨", "2024-01-02"), ["600001.SH name 远山科技"]);
        assert_eq!(mentions("*ST远山科技大跌", "2024-03-01"), ["600001.SH name *ST远山科技"]);
        assert_eq!(mentions("江北远山科技股份有限公司", "2024-03-01"), ["600001.SH alias 江北远山科技股份有限公司"]);
        // The bare name of a marked company, and its name on the day of a dividend.
        assert_eq!(
            mentions("远山科技，XD远山科除息", "2024-03-01"),
            ["600001.SH alias 远山科技", "600001.SH alias XD远山科"]
        );
    }

    #[test]
    fn a_new_name_is_unknown_before_its_day_and_an_old_one_known_for_a_while() {
        assert_eq!(mentions("KLM半导体增产", "2024-05-31"), Vec::<String>::new());
        assert_eq!(mentions("KLM半导体增产", "2024-06-01"), ["688007.SH name KLM半导体"]);
        assert_eq!(mentions("槿原半导体增产", "2024-06-01"), ["688007.SH alias 槿原半导体"]);
        assert_eq!(mentions("槿原半导体增产", "2026-06-01"), Vec::<String>::new());
    }

    #[test]
    fn parts_of_words_and_trades_are_no_names() {
        assert_eq!(mentions("AKLM与klm2", "2024-06-02"), Vec::<String>::new());
        assert_eq!(mentions("岚石银行业协会与岚石银行间市场", "2024-01-02"), Vec::<String>::new());
        assert_eq!(mentions("岚石银行业绩增长", "2024-01-02"), ["600002.SH name 岚石银行"]);
    }

    #[test]
    fn common_words_need_evidence() {
        for body in ["行业前景向好", "工业机器人销量增长", "翻过远山"] {
            let found = found(&document("", body, "2024-01-02"));
            assert_eq!((found.links.len(), found.refused.len()), (0, 1), "{body}");
        }
        assert_eq!(mentions("前景股份中标", "2024-01-02"), ["000004.SZ name 前景"]);
        assert_eq!(mentions("机器人：一季度预增", "2024-01-02"), ["300006.SZ name 机器人"]);
        assert_eq!(mentions("机器人披露年报", "2024-01-02"), ["300006.SZ name 机器人"]);
        assert_eq!(mentions("转让所持机器人1,200.5万股", "2024-01-02"), ["300006.SZ name 机器人"]);
        assert_eq!(mentions("展会上机器人披露新品，机器人200台", "2024-01-02"), Vec::<String>::new());
        // One use as a company's name vouches for the others, and so does a code or a full name.
        assert_eq!(mentions("【前景】预增。前景称", "2024-01-02").len(), 2);
        assert_eq!(mentions("前景（000004）预增", "2024-01-02").len(), 2);
        assert_eq!(mentions("岭南远山控股有限公司（下称远山）", "2024-01-02").len(), 2);
        let given = Document { codes: vec![Code::canonical("000004.SZ")], ..document("前景", "", "2024-01-02") };
        let links = found(&given).links;
        assert_eq!(links.iter().map(|l| l.via).collect::<Vec<_>>(), [Via::Given, Via::Name]);
        assert!(links.iter().all(|l| l.row == 3));
    }

    #[test]
    fn the_lists_of_the_user_overrule_the_built_in_one() {
        let params =
            Params {
                common_words: vec!["岚石证券".into()], plain_names: vec!["前景".into()], ..Params::default()
            };
        let finder = Finder::new(&table(), &[], &params).unwrap();
        let found = finder.find(0, &document("", "岚石证券预计前景改善", "2024-01-02"));
        assert_eq!(found.refused, ["岚石证券"]);
        assert_eq!(found.links[0].code.as_str(), "000004.SZ");
    }

    #[test]
    fn words_for_several_securities_are_ambiguous_unless_the_document_decides() {
        assert_eq!(mentions("霁川集团公告", "2024-01-02"), ["000005.SZ alias 霁川集团?", "200005.SZ alias 霁川集团?"]);
        assert_eq!(mentions("霁川A涨，霁川集团称", "2024-01-02"), ["000005.SZ name 霁川A", "000005.SZ alias 霁川集团"]);
    }

    #[test]
    fn who_speaks_is_not_spoken_of() {
        let news =
            Document { org: Some("岚石证券研究所".into()), ..document("", "岚石证券增资", "2024-01-02") };
        assert_eq!(found(&news).links.len(), 1);
        let report = Document { kind: Kind::Report, ..news };
        assert_eq!(found(&report).links.len(), 0);
        // A quotation anywhere tells of the other mentions too.
        let quoted = document("岚石证券：看好远山科技", "岚石证券指出，远山科技（600001）订单充足。", "2024-01-02");
        let quoting = found(&quoted);
        assert_eq!(codes_of(&quoting.links, 3), [Code::canonical("600001.SH")]);
        assert_eq!(quoting.sources, 2);
        let given = Document { codes: vec![Code::canonical("600003.SH")], ..quoted };
        assert_eq!(codes_of(&found(&given).links, 3).len(), 2);
    }

    proptest! {
        #[test]
        fn spans_are_apart_and_on_character_boundaries(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("远山"), Just("科技"), Just("*ST"), Just("前景"), Just("KLM"), Just("半导体"), Just("600001"),
                    Just(".SH"), Just("sh"), Just("（"), Just("）"), Just("霁川"), Just("集团"), Just("A"), Just("é"), Just("机器人"),
                ],
                0..30,
            )
        ) {
            let body = pieces.concat();
            let links = found(&document("", &body, "2024-06-02")).links;
            for link in &links {
                prop_assert!(body.get(link.start as usize..link.end as usize).is_some_and(|s| !s.is_empty()));
            }
            let spans = super::super::name_spans(&links, 3, TextField::Body);
            prop_assert!(spans.windows(2).all(|w| w[0].end <= w[1].start));
            let masked = super::super::mask(&body, &spans, "[公司]");
            prop_assert_eq!(masked.matches("[公司]").count(), spans.len());
        }
    }
}
