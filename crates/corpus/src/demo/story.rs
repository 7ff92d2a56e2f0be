//! A document before a vendor formats it, and the world of all writers: the vocabularies and the draw of companies.

use std::cell::{Cell, RefCell};

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::calendar::Calendar;
use super::chain::{self, SupplyTie};
use super::companies::{self, Company, NameVocabulary};
use super::grammar::{Draft, Grammar};
use super::rng::pick;
use super::scene::Surroundings;
use inkstone_base::data::Kind;

/// The vocabulary files; their text is part of the generator's hash.
pub(super) const FILES: [(&str, &str); 4] = [
    ("news.txt", include_str!("../../../../datasets/demo/news.txt")),
    ("reports.txt", include_str!("../../../../datasets/demo/reports.txt")),
    ("names.txt", include_str!("../../../../datasets/demo/names.txt")),
    ("placebo.txt", include_str!("../../../../datasets/demo/placebo.txt")),
];

/// A document as written, without the marks of a vendor's format.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) time: NaiveDateTime,
    pub(super) title: String,
    pub(super) paragraphs: Vec<String>,
    /// Companies, by number.
    pub(super) about: Vec<usize>,
    pub(super) medium: String,
    pub(super) author: Option<String>,
    pub(super) rating: Option<&'static str>,
    pub(super) tone: f64,
    /// Log return that the event adds at once.
    pub(super) shock: f64,
    /// Placebo words in it.
    pub(super) placebo: u32,
    /// News: the event. Reports: the place of the conclusion.
    pub(super) style: String,
    pub(super) repost_of: Option<String>,
}

/// The world that stories are told of.
pub(super) struct World {
    pub(super) grammar: Grammar,
    pub(super) names: NameVocabulary,
    pub(super) placebo: Vec<&'static str>,
    pub(super) calendar: Calendar,
    pub(super) companies: Vec<Company>,
    /// Running sums of the companies' attention.
    attention: Vec<f64>,
    pub(super) supply_ties: Vec<SupplyTie>,
    pub(super) seed: u64,
}

impl World {
    pub(super) fn new(scale: f64, seed: u64) -> Result<World> {
        let grammar = Grammar::parse(&FILES[..2])?;
        let names = NameVocabulary::parse(FILES[2].1)?;
        let placebo = FILES[3].1.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
        let calendar = Calendar::new();
        let companies = companies::found(&names, &calendar, scale, seed);
        let running = companies.iter().scan(0.0, |sum, c| {
            *sum += c.attention;
            Some(*sum)
        });
        let attention = running.collect();
        let supply_ties = chain::supply_ties(companies.len(), seed);
        Ok(World { grammar, names, placebo, calendar, companies, attention, supply_ties, seed })
    }

    /// The trading day whose names are in use on `date`: that day or the last before it.
    pub(super) fn naming_day(&self, date: NaiveDate) -> usize {
        self.calendar.days().partition_point(|d| *d <= date).saturating_sub(1)
    }

    /// A company that is listed on `day`, by attention; another than `not`.
    pub(super) fn company(&self, day: usize, not: Option<usize>, rng: &mut ChaCha8Rng) -> usize {
        let total = self.attention.last().copied().unwrap_or(1.0);
        loop {
            let x = rng.random_range(0.0..total);
            let i = self.attention.partition_point(|a| *a <= x).min(self.companies.len() - 1);
            let c = &self.companies[i];
            if (c.listed..c.delisted).contains(&day) && Some(i) != not {
                return i;
            }
        }
    }

    /// The setting of a document.
    pub(super) fn setting<'a>(
        &'a self,
        about: Option<usize>,
        partner: Option<usize>,
        time: NaiveDateTime,
        medium: &'a str,
        rng: &mut ChaCha8Rng,
    ) -> Surroundings<'a> {
        let company = about.map(|i| &self.companies[i]);
        let product = company.map_or("", |c| pick(rng, &self.names.industries[c.industry].products).as_str());
        Surroundings {
            names: &self.names,
            placebo: &self.placebo,
            company,
            partner: partner.map(|i| &self.companies[i]),
            day: self.naming_day(time.date()),
            time,
            medium,
            product,
            repeated: RefCell::default(),
            in_title: Cell::new(true),
        }
    }

    /// Number of placebo words in a text.
    pub(super) fn placebo_words(&self, paragraphs: &[String]) -> u32 {
        let count = |p: &String| self.placebo.iter().map(|w| p.matches(w).count()).sum::<usize>();
        paragraphs.iter().map(count).sum::<usize>() as u32
    }

    /// Writes up to `n` different alternatives of `rule` one after the other, each through `put`.
    pub(super) fn several(
        &self,
        rule: &str,
        n: usize,
        setting: &Surroundings<'_>,
        rng: &mut ChaCha8Rng,
        draft: &mut Draft,
        mut put: impl FnMut(&mut Draft),
    ) -> Result<()> {
        let mut order: Vec<usize> = (0..self.grammar.alternatives(rule)).collect();
        order.shuffle(rng);
        for i in order.into_iter().take(n) {
            self.grammar.write_alternative(rule, i, setting, rng, draft)?;
            put(draft);
        }
        Ok(())
    }
}

/// Numbers of things on each step, in proportion to `weights`; they sum to `total`.
pub(super) fn spread(total: f64, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let mut running = 0.0;
    let mut given = 0;
    let step = |w: &f64| {
        running += w;
        let until = (total * running / sum).round() as usize;
        let n = until - given;
        given = until;
        n
    };
    weights.iter().map(step).collect()
}
