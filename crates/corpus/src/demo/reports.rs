//! The brokers' desks: long reports whose conclusion stands first, last or in the middle of much that says little.

use std::fmt::Write;

use anyhow::Result;
use chrono::{Datelike, NaiveDate, Weekday};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::grammar::Draft;
use super::news::between;
use super::rng::{Stream, pick, rng};
use super::scene::Surroundings;
use super::story::{Story, World, spread};
use inkstone_base::data::Kind;

/// Reports at scale 1.
const REPORTS: f64 = 1500.0;
/// Length in characters.
const SHORTEST: usize = 800;
const LONGEST: usize = 2400;

/// All brokers, asked for one calendar day after the other.
pub(super) struct Desks<'w> {
    world: &'w World,
    plan: Vec<usize>,
    first: NaiveDate,
    written: u64,
}

impl<'w> Desks<'w> {
    pub(super) fn new(world: &'w World, dates: &[NaiveDate], scale: f64) -> Desks<'w> {
        // Reports come on working days and on the evening before them, most of all when results are out.
        let weight = |d: &NaiveDate| {
            let season = if matches!(d.month(), 4 | 8 | 10) { 2.0 } else { 1.0 };
            season
                * if world.calendar.is_trading(*d) {
                    1.0
                } else if d.weekday() == Weekday::Sun {
                    0.7
                } else {
                    0.1
                }
        };
        let weights: Vec<f64> = dates.iter().map(weight).collect();
        Desks { world, plan: spread(REPORTS * scale, &weights), first: dates[0], written: 0 }
    }

    /// The reports of a calendar day, in order of time. Days are asked for in order.
    pub(super) fn day(&mut self, date: NaiveDate) -> Result<Vec<Story>> {
        let number = date.signed_duration_since(self.first).num_days() as usize;
        let mut rng = rng(self.world.seed, Stream::Reports, number as u64);
        let mut stories = Vec::new();
        for _ in 0..self.plan[number] {
            stories.push(self.report(date, &mut rng)?);
        }
        stories.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| a.id.cmp(&b.id)));
        Ok(stories)
    }

    fn report(&mut self, date: NaiveDate, rng: &mut ChaCha8Rng) -> Result<Story> {
        self.written += 1;
        let world = self.world;
        let time = match rng.random_range(0..10) {
            _ if !world.calendar.is_trading(date) => between(17, 24, rng),
            0 => between(9, 15, rng),
            1..3 => between(7, 9, rng),
            _ => between(18, 24, rng),
        };
        let (broker, style) = pick(rng, &world.names.brokers);
        let sign = *pick(rng, &['+', '+', '+', '+', '-', '-', '0', '0']);
        let about = world.company(world.naming_day(date), None, rng);
        let setting = world.setting(Some(about), None, date.and_time(time), broker, rng);
        let mut draft = Draft::default();
        world.grammar.write(&format!("研报{sign}题"), &setting, rng, &mut draft)?;
        let title = std::mem::take(&mut draft.text);
        setting.in_title.set(false);
        let opinion = self.opinion(sign, &setting, rng, &mut draft)?;
        let length = |ps: &[String]| ps.iter().map(|p| p.chars().count()).sum::<usize>();
        let closing = self.closing(&setting, rng, &mut draft)?;
        let used = length(&opinion) + length(&closing);
        let goal = rng.random_range(SHORTEST..LONGEST).saturating_sub(used);
        let mut filling = self.filling(goal, &setting, rng, &mut draft)?;
        if rng.random_bool(0.35) {
            world.grammar.write("花絮", &setting, rng, &mut draft)?;
            let at = rng.random_range(0..=filling.len());
            filling.insert(at, std::mem::take(&mut draft.text));
        }
        let place = match style.as_str() {
            "首" => 0,
            "末" => filling.len(),
            _ => filling.len() / 2,
        };
        filling.splice(place..place, opinion);
        filling.extend(closing);
        if style == "末" {
            // Houses that end with the conclusion begin with their promises.
            world.grammar.write("免责", &setting, rng, &mut draft)?;
            filling.insert(0, std::mem::take(&mut draft.text));
        }
        let author = format!("{}{}", pick(rng, &world.names.surnames), pick(rng, &world.names.given));
        Ok(Story {
            id: format!("R{:06}", self.written),
            kind: Kind::Report,
            time: date.and_time(time),
            title,
            placebo: world.placebo_words(&filling),
            paragraphs: filling,
            about: vec![about],
            medium: broker.clone(),
            author: Some(author),
            rating: Some(match sign {
                '+' => *pick(rng, &["买入", "增持"]),
                '-' => *pick(rng, &["减持", "中性"]),
                _ => "中性",
            }),
            tone: draft.tone(),
            style: style.clone(),
            ..Story::default()
        })
    }

    fn opinion(
        &self,
        sign: char,
        setting: &Surroundings<'_>,
        rng: &mut ChaCha8Rng,
        draft: &mut Draft,
    ) -> Result<Vec<String>> {
        let world = self.world;
        let mut paragraphs = Vec::new();
        if rng.random_bool(0.5) {
            paragraphs.push(pick(rng, &["核心观点", "投资要点", "[Table_Summary]"]).to_string());
        }
        let mut put = |draft: &mut Draft| paragraphs.push(std::mem::take(&mut draft.text));
        world.several(&format!("观点{sign}"), rng.random_range(2..5), setting, rng, draft, &mut put)?;
        if rng.random_bool(0.3) {
            let other = match sign {
                '+' => "观点-",
                '-' => "观点+",
                _ => *pick(rng, &["观点+", "观点-"]),
            };
            world.grammar.write("转折", setting, rng, draft)?;
            world.several(other, 1, setting, rng, draft, &mut put)?;
        }
        world.several(&format!("建议{sign}"), 1, setting, rng, draft, &mut put)?;
        Ok(paragraphs)
    }

    /// Paragraphs without a view, until they have `goal` characters.
    fn filling(
        &self,
        goal: usize,
        setting: &Surroundings<'_>,
        rng: &mut ChaCha8Rng,
        draft: &mut Draft,
    ) -> Result<Vec<String>> {
        let rules = ["回顾", "行业段", "公司段", "经营段"];
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (r, rule) in rules.iter().enumerate() {
            order.extend((0..self.world.grammar.alternatives(rule)).map(|i| (r, i)));
        }
        order.shuffle(rng);
        let mut paragraphs: Vec<(usize, String)> = Vec::new();
        let mut length = 0;
        for (r, i) in order {
            if length >= goal {
                break;
            }
            self.world.grammar.write_alternative(rules[r], i, setting, rng, draft)?;
            length += draft.text.chars().count();
            paragraphs.push((r, std::mem::take(&mut draft.text)));
        }
        paragraphs.sort_by_key(|p| p.0);
        Ok(paragraphs.into_iter().map(|p| p.1).collect())
    }

    /// Forecast, table, risks and disclaimers: words of every report, bad words among them, that say nothing.
    fn closing(&self, setting: &Surroundings<'_>, rng: &mut ChaCha8Rng, draft: &mut Draft) -> Result<Vec<String>> {
        let grammar = &self.world.grammar;
        let mut paragraphs = Vec::new();
        grammar.write("预测", setting, rng, draft)?;
        paragraphs.push(std::mem::take(&mut draft.text));
        if rng.random_bool(0.6) {
            paragraphs.push(table(setting, rng));
        }
        grammar.write("风险", setting, rng, draft)?;
        paragraphs.push(std::mem::take(&mut draft.text));
        let mut put = |draft: &mut Draft| paragraphs.push(std::mem::take(&mut draft.text));
        self.world.several("免责", rng.random_range(1..3), setting, rng, draft, &mut put)?;
        Ok(paragraphs)
    }
}

/// A table as it looks once a PDF was turned into text.
fn table(setting: &Surroundings<'_>, rng: &mut ChaCha8Rng) -> String {
    let year = setting.time.year();
    let mut text = format!("单位：百万元 {}A {}E {}E {}E", year - 1, year, year + 1, year + 2);
    let mut revenue = setting.company.map_or(2.0e9, |c| c.revenue) / 1.0e6;
    for row in ["营业收入", "营业成本", "归母净利润"] {
        let mut value = revenue;
        let _ = write!(text, "\n{row}");
        for _ in 0..4 {
            let _ = write!(text, " {value:.0}");
            value *= rng.random_range(0.92..1.2);
        }
        revenue *= rng.random_range(0.3..0.8);
    }
    text
}
