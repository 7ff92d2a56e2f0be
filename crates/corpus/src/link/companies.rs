//! The companies of a security table in any text: their names, and other companies of their industries.

use std::ops::Range;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use rustc_hash::FxHashMap;

use super::finder::Finder;
use super::{Link, Params, Via};
use inkstone_base::code::Code;
use inkstone_base::data::Document;
use inkstone_market::Security;

/// The companies of a security table.
pub struct Companies {
    finder: Finder,
    /// Rows with a name and an industry.
    table: Vec<Security>,
    /// Rows of a code.
    of_code: FxHashMap<Code, Vec<usize>>,
    /// Rows of an industry.
    of_industry: FxHashMap<String, Vec<usize>>,
}

/// A text in which some companies bear the names of others.
#[derive(Debug, PartialEq)]
pub struct RenamedText {
    pub text: String,
    /// Places of names in it, and whether another name stood there.
    pub names: Vec<(Range<usize>, bool)>,
}

impl Companies {
    pub fn new(securities: &[Security], params: &Params) -> Result<Companies> {
        let known = securities.iter().filter(|row| !row.name.is_empty() && row.industry.is_some());
        let table: Vec<Security> = known.cloned().collect();
        let (mut of_code, mut of_industry) =
            (FxHashMap::<_, Vec<usize>>::default(), FxHashMap::<_, Vec<usize>>::default());
        for (number, row) in table.iter().enumerate() {
            of_code.entry(row.code.clone()).or_default().push(number);
            of_industry.entry(row.industry.clone().unwrap_or_default()).or_default().push(number);
        }
        Ok(Companies { finder: Finder::new(securities, &[], params)?, table, of_code, of_industry })
    }

    /// The text, published at a time, in which half of the companies bear the name and the code of another company that was listed in the same
    /// industry on that day (Xiong and others 2020, WKLM). A company that was the only one of its industry stays as it is and is not among the
    /// names.
    pub fn renamed(&self, text: &str, time: NaiveDateTime, rng: &mut impl Rng) -> RenamedText {
        let document = Document { body: text.to_owned(), published_at: time, ..Document::default() };
        let links: Vec<Link> =
            self.finder.find(0, &document).links.into_iter().filter(|link| !link.ambiguous).collect();
        let mut others: Vec<(&Code, Option<&Security>)> = Vec::new();
        for link in &links {
            if others.iter().all(|(code, _)| *code != &link.code) {
                let named = |code: &Code| links.iter().any(|link| link.code == *code);
                let other = self.other(&link.code, time.date(), &named, rng);
                if let Some(other) = other {
                    others.push((&link.code, Some(other).filter(|_| rng.random_range(0..2) == 1)));
                }
            }
        }
        let mut renamed = RenamedText { text: String::with_capacity(text.len()), names: Vec::new() };
        let mut done = 0;
        for link in &links {
            let (start, end) = (link.start as usize, link.end as usize);
            let Some((_, other)) = others.iter().find(|(code, _)| **code == link.code) else { continue };
            if start < done {
                continue;
            }
            renamed.text += &text[done..start];
            let begin = renamed.text.len();
            match other {
                Some(other) if link.via == Via::Code => {
                    renamed.text += &code_like(&text[start..end], &link.code, &other.code)
                }
                Some(other) => renamed.text += &other.name,
                None => renamed.text += &text[start..end],
            }
            if link.via != Via::Code {
                renamed.names.push((begin..renamed.text.len(), other.is_some()));
            }
            done = end;
        }
        renamed.text += &text[done..];
        renamed
    }

    /// A company of the industry that a company had on a day, listed then, which the text does not name.
    fn other(
        &self,
        code: &Code,
        day: NaiveDate,
        named: &dyn Fn(&Code) -> bool,
        rng: &mut impl Rng,
    ) -> Option<&Security> {
        let row = self.of_code.get(code)?.iter().map(|row| &self.table[*row]).find(|row| row.holds_on(day))?;
        let is_listed = |row: &Security| {
            row.listed.is_none_or(|listed| listed <= day) && row.delisted.is_none_or(|delisted| day < delisted)
        };
        let alike = self.of_industry.get(row.industry.as_deref()?)?.iter().map(|row| &self.table[*row]);
        let others: Vec<&Security> =
            alike.filter(|row| row.holds_on(day) && is_listed(row) && !named(&row.code)).collect();
        others.choose(rng).copied()
    }
}

/// The code of another company in the form in which a code stands in a text: with or without its exchange.
fn code_like(written: &str, own: &Code, other: &Code) -> String {
    if written.eq_ignore_ascii_case(own.as_str()) {
        return other.as_str().to_owned();
    }
    other.as_str().split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn company(code: &str, name: &str, industry: &str, listed: u32) -> Security {
        Security {
            name: name.into(),
            industry: Some(industry.into()),
            listed: NaiveDate::from_ymd_opt(2020, 1, listed),
            ..Security::unnamed(Code::canonical(code))
        }
    }

    #[test]
    fn half_of_the_companies_bear_names_of_their_industry_that_day() {
        let table = [
            company("600001.SH", "远山电力", "电力", 1),
            company("600002.SH", "近水电力", "电力", 1),
            company("600003.SH", "新生电力", "电力", 20),
            company("600004.SH", "高地煤业", "煤炭", 1),
        ];
        let companies = Companies::new(&table, &Params::default()).unwrap();
        let day = |day| NaiveDate::from_ymd_opt(2020, 1, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
        let text = "远山电力（600001.SH）向高地煤业买煤，远山电力盈利。";
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let all: Vec<RenamedText> = (0..400).map(|_| companies.renamed(text, day(10), &mut rng)).collect();
        let changed = all.iter().filter(|renamed| renamed.text != text).count();
        assert!((160..240).contains(&changed), "{changed}");
        for RenamedText { text: renamed, names } in &all {
            // The only coal company keeps its name, and one that was listed later takes no place.
            let is_other = renamed != text;
            let other = "近水电力（600002.SH）向高地煤业买煤，近水电力盈利。";
            assert_eq!(renamed, if is_other { other } else { text });
            let places = names.iter().map(|(range, replaced)| (&renamed[range.clone()], *replaced));
            let name = if is_other { "近水电力" } else { "远山电力" };
            assert_eq!(places.collect::<Vec<_>>(), [(name, is_other); 2]);
        }
        let later: Vec<RenamedText> = (0..100).map(|_| companies.renamed(text, day(25), &mut rng)).collect();
        assert!(later.iter().any(|renamed| renamed.text.contains("新生电力（600003.SH）")));
        // Companies of one text do not take each other's names.
        let both = "远山电力与近水电力重组。";
        assert_eq!(companies.renamed(both, day(10), &mut rng), RenamedText { text: both.into(), names: Vec::new() });
    }
}
