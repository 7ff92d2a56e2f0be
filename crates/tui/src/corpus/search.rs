//! The search through titles, codes and bodies: what to look for, and the thread that looks, some parts at a time.
//!
//! `回购` looks for the text, in capitals or not; `re:净利润.{0,6}下降` for a regular expression; `~回购 减持` for documents with any of the
//! words, ranked by BM25.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use anyhow::{Context, Result};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use regex::{Regex, RegexBuilder};

use super::CorpusPage;
use super::catalogue::{Catalogue, PartSlot};
use super::filter::Filter;
use super::load::CorpusIndex;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::Sorting;
use crate::reading::chain;
use inkstone_tables::corpus;
use inkstone_tables::frames;

use inkstone_base::language::Message;
use inkstone_base::message;

/// The prefix of a regular expression.
const EXPRESSION: &str = "re:";

/// The prefix of words that rank documents.
const RANKED: &str = "~";

/// Parts that are in memory at once; one of long reports takes tens of megabytes.
const AT_ONCE: usize = 4;

/// Passages of a document that are marked; more of them say nothing new.
const MARKED: usize = 10_000;

/// A text or an expression to look for.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Reads what was typed; none where nothing was. The fault of an expression names the character where it is.
    pub(super) fn parse(text: &str) -> Result<Option<Pattern>, (usize, String)> {
        let words =
            text.strip_prefix(RANKED).map(|words| words.split_whitespace().map(regex::escape).collect::<Vec<_>>());
        let (source, before) = match text.strip_prefix(EXPRESSION) {
            Some(expression) => (expression.to_owned(), EXPRESSION.len()),
            None if words.is_some() => (words.unwrap_or_default().join("|"), RANKED.len()),
            None => (regex::escape(text), 0),
        };
        if source.is_empty() {
            return Ok(None);
        }
        let built = RegexBuilder::new(&source).case_insensitive(true).multi_line(true).build();
        let regex = built.map_err(|error| {
            let (at, fault) = place_of(&error);
            (before + at, fault)
        })?;
        Ok(Some(Pattern { text: text.to_owned(), regex }))
    }

    /// Ranges of the query in a text, at most [`MARKED`].
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.regex.find_iter(text).map(|found| found.range());
        found.filter(|range| !range.is_empty()).take(MARKED).collect()
    }

    /// The words that rank documents; none for a pattern that is looked for.
    fn ranking_words(&self) -> Option<&str> {
        self.text.strip_prefix(RANKED)
    }

    fn is_in(&self, text: Option<&str>) -> bool {
        text.is_some_and(|text| self.regex.is_match(text))
    }
}

/// The character of a fault in an expression, from 1, and what is wrong. The library tells it as a drawing over several lines.
fn place_of(error: &regex::Error) -> (usize, String) {
    let drawing = error.to_string();
    let at = drawing.lines().find(|line| line.trim_start().starts_with('^'));
    let at = at.map_or(1, |line| line.chars().take_while(|c| *c != '^').count().saturating_sub(3).max(1));
    let fault = drawing.lines().find_map(|line| line.strip_prefix("error: "));
    (at, fault.map_or_else(|| drawing.split_whitespace().collect::<Vec<_>>().join(" "), str::to_owned))
}

/// The hits in one part.
struct PartHits {
    hits: Vec<u32>,
    /// The documents of a ranking, the best first; `None` for a search that looks for a pattern.
    ranked: Option<Vec<u32>>,
    fault: Option<Message>,
}

/// A search under way, or ended.
pub(super) struct CorpusSearch {
    pub pattern: Pattern,
    /// Documents found so far, ascending.
    pub hits: Arc<Vec<u32>>,
    /// Documents of a ranking, the best first, once it is there.
    ranked: Option<Arc<Vec<u32>>>,
    /// The order of the table when the search began.
    sort: Option<Sorting>,
    /// Parts looked through, and parts in all.
    pub done: usize,
    pub parts: usize,
    /// The first fault: a part that could not be read.
    pub fault: Option<Message>,
    pieces: Receiver<PartHits>,
    errand: Errand<()>,
}

impl CorpusSearch {
    /// Looks through all parts; parts without a document that passes the filter are not read.
    pub(super) fn start(
        pattern: Pattern,
        filter: Filter,
        index: Arc<CorpusIndex>,
        catalogue: Catalogue,
        sort: Option<Sorting>,
        desk: &Desk<'_>,
    ) -> CorpusSearch {
        let (looking, parts) = (pattern.clone(), catalogue.parts());
        let ranker = desk.workspace.features.as_ref().map(|bench| bench.ranked.clone());
        let (pieces, errand) = desk.errand_in_pieces("search", move |tell, ctx| {
            if let Some(words) = looking.ranking_words() {
                // Another corpus than the clean one has no index.
                let ranker = ranker.filter(|_| index.cleaned).with_context(|| {
                    message!(
                        "还没有清洗后的语料：请先运行 inkstone clean",
                        "there is no clean corpus yet: run inkstone clean first"
                    )
                })?;
                let ranked = ranker(words, ctx)?;
                let mut hits = ranked.clone();
                hits.sort_unstable();
                tell(PartHits { hits, ranked: Some(ranked), fault: None });
                return Ok(());
            }
            let all: Vec<usize> = (0..catalogue.parts()).collect();
            for some in all.chunks(ctx.threads().clamp(1, AT_ONCE)) {
                ctx.check()?;
                let look = |part: &usize| look_through(*part, &looking, &filter, &index, &catalogue);
                let found: Vec<Result<Vec<u32>>> = ctx.install(|| some.par_iter().map(look).collect());
                for result in found {
                    let piece = match result {
                        Ok(hits) => PartHits { hits, ranked: None, fault: None },
                        Err(error) => PartHits { hits: Vec::new(), ranked: None, fault: Some(chain(error)) },
                    };
                    if !tell(piece) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        let (hits, ranked) = Default::default();
        CorpusSearch { pattern, hits, ranked, sort, done: 0, parts, fault: None, pieces, errand }
    }

    /// Takes in what has been found since.
    pub(super) fn look(&mut self) {
        self.errand.look();
        let mut new: Vec<PartHits> = self.pieces.try_iter().collect();
        self.ranked = self.ranked.take().or(new.iter_mut().find_map(|piece| piece.ranked.take()).map(Arc::new));
        self.done += new.len();
        if new.iter().any(|piece| !piece.hits.is_empty()) {
            let hits = Arc::make_mut(&mut self.hits);
            new.iter().for_each(|piece| hits.extend(&piece.hits));
        }
        let fault = new.into_iter().find_map(|piece| piece.fault);
        self.fault = self.fault.take().or(fault).or_else(|| self.errand.error().cloned());
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.errand.waiting()
    }
}

impl CorpusPage {
    /// The ranking of the search, unless the table was sorted since.
    pub(super) fn ranking(&self) -> Option<Arc<Vec<u32>>> {
        let search = self.search.as_ref().filter(|search| search.sort == self.table_head.layout.sort)?;
        search.ranked.clone()
    }
}

fn look_through(
    part: usize,
    pattern: &Pattern,
    filter: &Filter,
    index: &CorpusIndex,
    catalogue: &Catalogue,
) -> Result<Vec<u32>> {
    let passes = match catalogue.slot(part) {
        PartSlot::Damaged(fault) => anyhow::bail!("{fault}"),
        PartSlot::Read(read) if !filter.is_empty() => Some(filter.passing(catalogue, part, read)),
        PartSlot::Read(_) | PartSlot::Unread => None,
    };
    if passes.as_ref().is_some_and(|passes| !passes.contains(&true)) {
        return Ok(Vec::new());
    }
    let path = index.path(part)?;
    let frame = frames::read_parquet(path, Some(&["codes", "title", "body"]))?;
    let text =
        |name: &str| corpus::column(&frame, name)?.str().with_context(|| message!("在 {} 中", "in {}", path.display()));
    let [codes, titles, bodies] = [text("codes")?, text("title")?, text("body")?];
    let start = catalogue.start(part);
    let has = |row: usize| [titles, codes, bodies].iter().any(|column| pattern.is_in(column.get(row)));
    let wanted = |row: &usize| passes.as_ref().is_none_or(|passes| passes.get(*row) == Some(&true));
    let found = (0..frame.height()).filter(wanted).filter(|row| has(*row));
    Ok(found.map(|row| start + row as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pattern: &str, text: &str) -> Vec<Range<usize>> {
        Pattern::parse(pattern).unwrap().unwrap().places(text)
    }

    #[test]
    fn a_text_is_looked_for_as_it_is_and_an_expression_as_one() {
        assert_eq!(places("etf", "ETF与etf"), [0..3, 6..9]);
        assert_eq!(places("1.5", "115 1.5"), [4..7]);
        assert_eq!(places("re:1.5", "115 1.5"), [0..3, 4..7]);
        assert_eq!(places("re:^回购", "回购\n回购"), [0..6, 7..13]);
        assert!(places("re:x*", "回购").is_empty(), "a match of nothing is not shown");
        assert_eq!((Pattern::parse(""), Pattern::parse("re:"), Pattern::parse("~ ")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(places("~回购 1.5", "115 1.5 回购"), [4..7, 8..14]);
    }

    #[test]
    fn a_wrong_expression_is_told_with_its_place() {
        assert_eq!(Pattern::parse("re:回购(股"), Err((6, "unclosed group".to_owned())));
        assert_eq!(Pattern::parse("re:*"), Err((4, "repetition operator missing expression".to_owned())));
        let (_, fault) = Pattern::parse("re:(\\w{1000}){1000}").unwrap_err();
        assert!(fault.contains("size limit") && !fault.contains('\n'), "{fault}");
        assert!(Pattern::parse("(").unwrap().is_some(), "without the beginning it is a text");
    }
}
