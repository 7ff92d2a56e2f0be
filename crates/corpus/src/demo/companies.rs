//! The fictional companies: codes that no exchange has given out, names that change, ST marks, listings and delistings.
//!
//! Codes keep the shape of each board but lie in ranges that were unused at the end of 2024 (606-609 and 602/604 in
//! Shanghai, 004-009 in Shenzhen, 303-309 on ChiNext, 686-687 on STAR, 925-929 in Beijing), so no row speaks of a
//! real company.

use anyhow::{Context, Result};
use chrono::{Days, NaiveDate};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rustc_hash::FxHashSet;

use super::calendar::Calendar;
use super::rng::{Stream, pick, rng};
use inkstone_base::code::Code;
use inkstone_base::message;
use inkstone_market::Security;

/// Securities at scale 1, and the most that the unused code ranges and names serve.
const SECURITIES: f64 = 200.0;
const MOST: usize = 4000;

/// First three digits of the codes of each board.
const MAIN_SH: [u32; 6] = [606, 607, 608, 609, 602, 604];
const MAIN_SZ: [u32; 6] = [4, 5, 6, 7, 8, 9];
const CHINEXT: [u32; 7] = [306, 307, 308, 309, 305, 304, 303];
const STAR: [u32; 2] = [687, 686];
const BEIJING: [u32; 5] = [928, 927, 926, 925, 929];

/// A board, with its daily limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Board {
    Main,
    ChiNext,
    Star,
    Beijing,
}

impl Board {
    pub(super) fn name(self) -> &'static str {
        match self {
            Board::Main => "main",
            Board::ChiNext => "chinext",
            Board::Star => "star",
            Board::Beijing => "bse",
        }
    }

    /// Largest daily move as a share of the last close.
    pub(super) fn limit(self, st: bool) -> f64 {
        match self {
            Board::Main if st => 0.05,
            Board::Main => 0.10,
            Board::ChiNext | Board::Star => 0.20,
            Board::Beijing => 0.30,
        }
    }
}

/// An industry with the words of its business.
pub(super) struct Industry {
    pub(super) name: String,
    suffixes: Vec<String>,
    pub(super) products: Vec<String>,
    pub(super) materials: Vec<String>,
}

/// A span of days over which a company bore one name; day numbers are indices of trading days, half-open.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) name: String,
    pub(super) st: bool,
}

/// A company, from its listing to its delisting.
pub(super) struct Company {
    pub(super) code: Code,
    pub(super) board: Board,
    pub(super) industry: usize,
    pub(super) full_name: String,
    /// Names in order; the first begins with the listing.
    pub(super) spans: Vec<Span>,
    /// First trading day inside the calendar on which it trades, and the first on which it no longer does.
    pub(super) listed: usize,
    pub(super) delisted: usize,
    listed_on: NaiveDate,
    /// Runs of trading days without trading, half-open.
    pub(super) suspended: Vec<(usize, usize)>,
    /// Relative chance that a document is about it.
    pub(super) attention: f64,
    /// Exposure to the market's return, and the daily standard deviation of the rest (log return).
    pub(super) beta: f64,
    pub(super) sigma: f64,
    /// First price in CNY and shares outstanding.
    pub(super) price: f64,
    pub(super) shares: f64,
    /// Annual revenue in CNY, the size of the numbers in its news.
    pub(super) revenue: f64,
}

impl Company {
    /// The name on a trading day.
    pub(super) fn span_at(&self, day: usize) -> &Span {
        let i = self.spans.partition_point(|s| s.from <= day);
        &self.spans[i.saturating_sub(1)]
    }

    /// The name before the one of that day, if it had another.
    pub(super) fn former_name(&self, day: usize) -> Option<&str> {
        let i = self.spans.partition_point(|s| s.from <= day);
        (i >= 2).then(|| self.spans[i - 2].name.as_str())
    }

    pub(super) fn trades_on(&self, day: usize) -> bool {
        (self.listed..self.delisted).contains(&day) && !self.suspended.iter().any(|s| (s.0..s.1).contains(&day))
    }

    /// True if it was listed inside the calendar and `day` is one of its first five, which have no limit.
    pub(super) fn is_new(&self, day: usize) -> bool {
        self.listed > 0 && day < self.listed + 5
    }
}

/// Vocabulary that names companies and people.
pub(super) struct NameVocabulary {
    halves: Vec<String>,
    common: Vec<String>,
    pub(super) industries: Vec<Industry>,
    pub(super) regions: Vec<String>,
    pub(super) surnames: Vec<String>,
    pub(super) given: Vec<String>,
    pub(super) media: Vec<String>,
    /// Brokers with the place of their conclusion: `首`, `末`, `中`.
    pub(super) brokers: Vec<(String, String)>,
}

impl NameVocabulary {
    /// Reads `names.txt`.
    pub(super) fn parse(text: &str) -> Result<NameVocabulary> {
        let section = |name: &str| -> Result<Vec<&str>> {
            let head = format!(":: {name}");
            let mut lines = text.lines().map(str::trim).skip_while(|l| *l != head).skip(1).peekable();
            lines
                .peek()
                .with_context(|| message!("names.txt 没有 {name:?} 一节", "names.txt has no section {name:?}"))?;
            let body = lines.take_while(|l| !l.starts_with("::")).filter(|l| !l.is_empty() && !l.starts_with('#'));
            Ok(body.collect())
        };
        let words = |name: &str| -> Result<Vec<String>> { Ok(section(name)?.iter().flat_map(|l| split(l)).collect()) };
        let industry = |line: &&str| -> Result<Industry> {
            let parts: Vec<&str> = line.split('|').collect();
            let [name, suffixes, products, materials] = parts[..] else {
                inkstone_base::bail!(
                    "names.txt：行业须有四部分：{line}",
                    "names.txt: an industry has four parts: {line}"
                );
            };
            let (suffixes, products, materials) = (split(suffixes), split(products), split(materials));
            Ok(Industry { name: name.to_owned(), suffixes, products, materials })
        };
        let broker = |line: &&str| -> Result<(String, String)> {
            let (name, style) = line.split_once('|').with_context(|| {
                message!("names.txt：券商缺少文风：{line}", "names.txt: a broker without style: {line}")
            })?;
            Ok((name.to_owned(), style.to_owned()))
        };
        Ok(NameVocabulary {
            halves: words("字号")?,
            common: words("通称")?,
            industries: section("行业")?.iter().map(industry).collect::<Result<_>>()?,
            regions: words("省市")?,
            surnames: words("姓")?,
            given: words("名")?,
            media: words("媒体")?,
            brokers: section("券商")?.iter().map(broker).collect::<Result<_>>()?,
        })
    }
}

fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// All companies of a market, sorted by code.
pub(super) fn found(names: &NameVocabulary, calendar: &Calendar, scale: f64, seed: u64) -> Vec<Company> {
    let n = ((SECURITIES * scale).round() as usize).clamp(8, MOST);
    let mut rng = rng(seed, Stream::Companies, 0);
    let mut halves = names.halves.clone();
    halves.shuffle(&mut rng);
    let mut common = names.common.clone();
    common.shuffle(&mut rng);
    let mut taken = FxHashSet::default();
    let mut counts = [0u32; 5];
    let mut companies = Vec::with_capacity(n);
    for i in 0..n {
        let board = i * 100 / n;
        let (ranges, suffix, board, slot): (&[u32], _, _, _) = match board {
            0..36 => (&MAIN_SH, "SH", Board::Main, 0),
            36..62 => (&MAIN_SZ, "SZ", Board::Main, 1),
            62..84 => (&CHINEXT, "SZ", Board::ChiNext, 2),
            84..95 => (&STAR, "SH", Board::Star, 3),
            _ => (&BEIJING, "BJ", Board::Beijing, 4),
        };
        counts[slot] += 1;
        let number = (counts[slot] - 1) as usize;
        let digits = ranges[number % ranges.len()] * 1000 + (number / ranges.len()) as u32 * 3 % 1000 + 1;
        let code = Code::canonical(&format!("{digits:06}.{suffix}"));
        let industry = rng.random_range(0..names.industries.len());
        let half = &halves[i % halves.len()];
        let mut pair = || loop {
            let name = format!("{half}{}", pick(&mut rng, &names.industries[industry].suffixes));
            if taken.insert(name.clone()) {
                break name;
            }
            // The suffixes of this pair of words may be used up in a large market: another first half mends that.
            let other = format!("{}{}", pick(&mut rng, &halves), pick(&mut rng, &names.industries[industry].suffixes));
            if taken.insert(other.clone()) {
                break other;
            }
        };
        let regular = pair();
        let name = match i % 25 {
            // A common word as a name.
            7 if i / 25 < common.len() => common[i / 25].clone(),
            // A name that is contained in another company's.
            18 if taken.insert(half.clone()) => half.clone(),
            _ => regular,
        };
        let region = pick(&mut rng, &names.regions);
        let form = pick(&mut rng, &["股份有限公司", "集团股份有限公司"]);
        let full_name = format!("{region}{name}{form}");
        let mut new = company(i, code, board, industry, name, calendar, &mut rng);
        new.full_name = full_name;
        rename(&mut new, i, names, &halves, &mut taken, calendar, &mut rng);
        companies.push(new);
    }
    companies.sort_by(|a, b| a.code.cmp(&b.code));
    companies
}

fn company(
    i: usize,
    code: Code,
    board: Board,
    industry: usize,
    name: String,
    calendar: &Calendar,
    rng: &mut ChaCha8Rng,
) -> Company {
    let days = calendar.len();
    // Registration-based listing, without limits in the first five days, holds on every board from 10 April 2023.
    let listed = if i % 20 == 9 { rng.random_range(70..days - 80) } else { 0 };
    let age = Days::new(rng.random_range(400..7000));
    let listed_on = if listed > 0 {
        calendar.days()[listed]
    } else {
        calendar.days()[0].checked_sub_days(age).expect("a past date")
    };
    let delisted = if i % 50 == 23 { rng.random_range(300..days - 20) } else { days };
    let mut suspended = Vec::new();
    if i % 8 == 3 {
        let from = rng.random_range(listed + 10..delisted - 15);
        suspended.push((from, from + rng.random_range(2..11)));
    }
    let size: f64 = rng.sample::<f64, _>(StandardNormal);
    let price = (2.6 + 0.6 * rng.sample::<f64, _>(StandardNormal)).exp().clamp(3.0, 120.0);
    let cap = 8.0e9 * (0.9 * size).exp();
    Company {
        code,
        board,
        industry,
        full_name: String::new(),
        spans: vec![Span { from: 0, name, st: false }],
        listed,
        delisted,
        listed_on,
        suspended,
        attention: rng.random_range(0.6..1.6),
        beta: rng.random_range(0.7..1.3),
        sigma: rng.random_range(0.012..0.022),
        price,
        shares: (cap / price / 1e4).round() * 1e4,
        revenue: cap * rng.random_range(0.2..0.8),
    }
}

/// Gives a share of the companies a new name, an ST mark, or both on the way out.
fn rename(
    company: &mut Company,
    i: usize,
    names: &NameVocabulary,
    halves: &[String],
    taken: &mut FxHashSet<String>,
    calendar: &Calendar,
    rng: &mut ChaCha8Rng,
) {
    let days = calendar.len();
    let first = company.spans[0].name.clone();
    let short: String = first.chars().take(2).collect();
    if company.delisted < days {
        let from = company.delisted - rng.random_range(90..200);
        company.spans.push(Span { from, name: st_name("*ST", &short, taken), st: true });
    } else if i % 33 == 14 && company.listed == 0 {
        let from = rng.random_range(60..days - 200);
        company.spans.push(Span { from, name: st_name("ST", &short, taken), st: true });
        if i.is_multiple_of(2) {
            company.spans.push(Span { from: from + rng.random_range(100..180), name: first, st: false });
        }
    } else if i % 17 == 5 && company.listed == 0 {
        for _ in 0..40 {
            let suffix = pick(rng, &names.industries[company.industry].suffixes);
            let name = format!("{}{suffix}", pick(rng, halves));
            if taken.insert(name.clone()) {
                company.spans.push(Span { from: rng.random_range(60..days - 60), name, st: false });
                break;
            }
        }
    }
}

fn st_name(mark: &str, short: &str, taken: &mut FxHashSet<String>) -> String {
    let mut name = format!("{mark}{short}");
    for tail in ['甲', '乙', '丙', '丁'] {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{mark}{}{tail}", short.chars().next().unwrap_or('某'));
    }
    name
}

/// The companies as the dated table of securities.
pub(super) fn securities(companies: &[Company], names: &NameVocabulary, calendar: &Calendar) -> Vec<Security> {
    let day = |t: usize| calendar.days().get(t).copied();
    let mut rows = Vec::new();
    for company in companies {
        for (k, span) in company.spans.iter().enumerate() {
            let mut aliases = vec![company.full_name.clone()];
            if let Some(former) = k.checked_sub(1).map(|k| &company.spans[k].name) {
                aliases.push(former.clone());
            }
            rows.push(Security {
                code: company.code.clone(),
                name: span.name.clone(),
                from: if k == 0 { Some(company.listed_on) } else { day(span.from) },
                to: match company.spans.get(k + 1) {
                    Some(next) => day(next.from),
                    None => day(company.delisted),
                },
                industry: Some(names.industries[company.industry].name.clone()),
                board: Some(company.board.name().to_owned()),
                listed: Some(company.listed_on),
                delisted: day(company.delisted),
                st: span.st,
                aliases,
            });
        }
    }
    rows
}
