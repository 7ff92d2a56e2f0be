//! The scene of a document: which company, which day; it gives the grammar's variables their text.

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use chrono::{Datelike, NaiveDateTime};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::companies::{Company, NameVocabulary};
use super::grammar::Scene;
use super::rng::pick;

/// A document's surroundings. `company` is absent from news of the whole market.
pub(super) struct Surroundings<'a> {
    pub(super) names: &'a NameVocabulary,
    pub(super) placebo: &'a [&'a str],
    pub(super) company: Option<&'a Company>,
    pub(super) partner: Option<&'a Company>,
    /// The trading day whose names are in use.
    pub(super) day: usize,
    pub(super) time: NaiveDateTime,
    /// Author of the document: a wire or a broker.
    pub(super) medium: &'a str,
    /// The product that the document speaks of.
    pub(super) product: &'a str,
    /// Variables of the title with their texts, repeated where the body first needs the variable.
    pub(super) repeated: RefCell<Vec<(String, String)>>,
    /// True if the title is still being written.
    pub(super) in_title: Cell<bool>,
}

/// Variables whose value in the title the body repeats.
const REPEATED: [&str; 11] = ["金额", "小额", "比例", "大比例", "万股", "股价", "人名", "机构", "地区", "罚金", "每股"];

impl Surroundings<'_> {
    fn name(&self) -> &str {
        self.company.map_or("", |c| &c.span_at(self.day).name)
    }

    /// Money of about `share` of the company's revenue, in the unit a journalist would choose.
    fn money(&self, share: f64, rng: &mut ChaCha8Rng, out: &mut String) -> std::fmt::Result {
        let revenue = self.company.map_or(2.0e9, |c| c.revenue);
        let yuan = revenue * share * rng.random_range(0.4..1.8);
        if yuan >= 1.0e8 {
            write!(out, "{:.2}亿元", yuan / 1.0e8)
        } else {
            write!(out, "{:.0}万元", (yuan / 1.0e4).max(30.0))
        }
    }

    /// The last report period that could be known: annual until April, then by quarter.
    fn period(&self) -> String {
        let (year, month) = (self.time.year(), self.time.month());
        match month {
            1..=3 => format!("{}年度", year - 1),
            4..=6 => format!("{year}年一季度"),
            7..=9 => format!("{year}年上半年"),
            _ => format!("{year}年前三季度"),
        }
    }

    fn person(&self, rng: &mut ChaCha8Rng, out: &mut String) {
        out.push_str(pick(rng, &self.names.surnames).as_str());
        out.push_str(pick(rng, &self.names.given).as_str());
    }

    fn write(&self, variable: &str, rng: &mut ChaCha8Rng, out: &mut String) -> Result<bool, std::fmt::Error> {
        let industry = &self.names.industries
            [self.company.map_or_else(|| rng.random_range(0..self.names.industries.len()), |c| c.industry)];
        match variable {
            "公司" => out.push_str(self.name()),
            "公司代码" => {
                out.push_str(self.name());
                if let Some(company) = self.company {
                    match (rng.random_range(0..10), company.former_name(self.day)) {
                        (0, Some(former)) => write!(out, "（原“{former}”）")?,
                        (0..4, _) => write!(out, "（{}）", company.code)?,
                        (4, _) => write!(out, "（{}）", &company.code.as_str()[..6])?,
                        _ => {}
                    }
                }
            }
            "全称" => out.push_str(self.company.map_or("", |c| &c.full_name)),
            "代码" => out.push_str(self.company.map_or("", |c| c.code.as_str())),
            "伙伴" => out.push_str(self.partner.map_or("合作方", |c| &c.span_at(self.day).name)),
            "产品" if self.company.is_none() => out.push_str(pick(rng, &industry.products).as_str()),
            "产品" => out.push_str(self.product),
            "原料" => out.push_str(pick(rng, &industry.materials).as_str()),
            "行业" => out.push_str(&industry.name),
            "媒体" => out.push_str(self.medium),
            "机构" if self.names.brokers.iter().any(|b| b.0 == self.medium) => out.push_str(self.medium),
            "机构" => out.push_str(&pick(rng, &self.names.brokers).0),
            "人名" => self.person(rng, out),
            "地区" => out.push_str(pick(rng, &self.names.regions).as_str()),
            "天候" => out.push_str(pick::<&str>(rng, self.placebo)),
            "报告期" => out.push_str(&self.period()),
            "日间" => out.push_str(pick::<&str>(rng, &["今日", "近日", "日前", "当日"])),
            "月日" => write!(out, "{}月{}日", self.time.month(), self.time.day())?,
            "年" => write!(out, "{}", self.time.year() - rng.random_range(1..6))?,
            "几" => write!(out, "{}", rng.random_range(2..9))?,
            "季" => write!(out, "{}", rng.random_range(1..5))?,
            "天数" => write!(out, "{}", rng.random_range(2..37) * 5)?,
            "小比例" => write!(out, "{:.2}%", rng.random_range(0.3..4.9))?,
            "比例" => write!(out, "{:.2}%", rng.random_range(5.0..45.0))?,
            "高比例" => write!(out, "{:.1}%", rng.random_range(62.0..98.0))?,
            "大比例" => write!(out, "{:.1}%", rng.random_range(30.0..260.0))?,
            "金额" => self.money(0.5, rng, out)?,
            "小额" => self.money(0.06, rng, out)?,
            "大额" => self.money(8.0, rng, out)?,
            "罚金" => write!(out, "{}", rng.random_range(2..60) * 10)?,
            "万股" => write!(out, "{:.1}万股", rng.random_range(20.0..1800.0))?,
            "每股" => write!(out, "{:.2}", rng.random_range(0.05..3.2))?,
            "股价" => write!(out, "{:.2}", self.company.map_or(12.0, |c| c.price) * rng.random_range(0.8..1.6))?,
            "市盈率" => write!(out, "{:.1}", rng.random_range(8.0..42.0))?,
            "万人" => write!(out, "{}", rng.random_range(4..90) * 100)?,
            "万亿" => write!(out, "{:.2}", rng.random_range(0.62..1.35))?,
            "市场额" => write!(out, "{}", rng.random_range(12..200) * 10)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Scene for Surroundings<'_> {
    fn fill(&self, variable: &str, rng: &mut ChaCha8Rng, out: &mut String) -> bool {
        let mut repeated = self.repeated.borrow_mut();
        if !self.in_title.get()
            && let Some(i) = repeated.iter().position(|t| t.0 == variable)
        {
            out.push_str(&repeated.remove(i).1);
            return true;
        }
        let from = out.len();
        let known = self.write(variable, rng, out).expect("writing to a string succeeds");
        if self.in_title.get() && REPEATED.contains(&variable) {
            repeated.push((variable.to_owned(), out[from..].to_owned()));
        }
        known
    }
}
