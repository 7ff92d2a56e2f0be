//! The order of the table: by a column, up or down; equal documents stay in the order of the corpus.
//!
//! Each column is turned once into ranks, a number a document, equal where the documents are. Whatever is listed is then sorted as
//! plain numbers: the rank above, the number of the document below.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::slice::ParallelSliceMut;
use rustc_hash::{FxHashMap, FxHashSet};

use super::catalogue::Catalogue;
use super::facts::TextFact;
use inkstone_base::stats;

/// Runs of equal beginnings up to this length are compared as whole texts.
const SHORT: usize = 48;

/// The rank of what is missing, which comes last whichever way the rest is sorted.
const MISSING: u32 = u32::MAX;

/// Prefix of the id of a column that holds the scores of a feature.
const FEATURE: &str = "feature:";

/// A column of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// The order of the files.
    #[default]
    Corpus,
    Time,
    Code,
    Kind,
    /// Repeats behind the others.
    Repeats,
    /// The characters of the title.
    Title,
    Text(TextFact),
    /// Characters of the body.
    Length,
    /// The number of codes.
    Codes,
    Note,
    /// The value in a column of a feature.
    Score(Arc<str>),
}

impl By {
    /// All columns but the scores of features, in the order in which a table has them at first.
    pub(super) const PLAIN: [By; 13] = [
        By::Time,
        By::Code,
        By::Kind,
        By::Repeats,
        By::Title,
        By::Text(TextFact::Org),
        By::Text(TextFact::Author),
        By::Text(TextFact::Source),
        By::Text(TextFact::Rating),
        By::Length,
        By::Codes,
        By::Note,
        By::Corpus,
    ];

    /// The name of the column in a session.
    pub(super) fn id(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            By::Corpus => "corpus",
            By::Time => "time",
            By::Code => "code",
            By::Kind => "kind",
            By::Repeats => "repeats",
            By::Title => "title",
            By::Text(fact) => fact.id(),
            By::Length => "length",
            By::Codes => "codes",
            By::Note => "note",
            By::Score(name) => return Cow::Owned(format!("{FEATURE}{name}")),
        })
    }

    pub(super) fn named(id: &str) -> Option<By> {
        match id.strip_prefix(FEATURE) {
            Some(name) => Some(By::Score(name.into())),
            None => By::PLAIN.into_iter().find(|by| by.id() == id),
        }
    }

    /// True if it is read from the bodies and what is beside them, after the table.
    pub(super) fn is_detail(&self) -> bool {
        matches!(self, By::Text(_) | By::Length)
    }

    /// True if it changes with the facts of the catalogue.
    pub(super) fn is_fact(&self) -> bool {
        self.is_detail() || matches!(self, By::Note | By::Score(_))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SortOrder {
    pub by: By,
    pub descending: bool,
}

type RanksOfColumn = Arc<OnceLock<Vec<u32>>>;

/// Ranks and first mentions of one state of the catalogue, each computed when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// By column, with the version of the facts that they were made from.
    columns: Mutex<FxHashMap<By, (u64, RanksOfColumn)>>,
    first_mentions: OnceLock<FxHashMap<u32, u32>>,
}

impl Ranks {
    /// For each document that repeats another one: the first mention.
    pub(super) fn first_mentions(&self, catalogue: &Catalogue) -> &FxHashMap<u32, u32> {
        self.first_mentions.get_or_init(|| catalogue.first_mentions())
    }

    /// Computes the ranks that take long, before they are asked for.
    pub(crate) fn prepare(&self, catalogue: &Catalogue) {
        for by in [By::Time, By::Code, By::Title] {
            self.ranks(&by, catalogue);
        }
    }

    fn ranks(&self, by: &By, catalogue: &Catalogue) -> RanksOfColumn {
        let version = if by.is_fact() { catalogue.facts.version } else { 0 };
        let column = {
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = columns.entry(by.clone()).or_default();
            if entry.0 != version {
                *entry = (version, RanksOfColumn::default());
            }
            entry.1.clone()
        };
        column.get_or_init(|| ranks(by, catalogue));
        column
    }

    /// The documents in this order. Call it inside the threads that it may use.
    pub(super) fn sort(&self, rows: Vec<u32>, order: &SortOrder, catalogue: &Catalogue) -> Vec<u32> {
        if *order == SortOrder::default() {
            return rows;
        }
        let ranks = (order.by != By::Corpus).then(|| self.ranks(&order.by, catalogue));
        let ranks = ranks.as_ref().and_then(|ranks| ranks.get());
        let key = |row: u32| {
            let rank = ranks.map_or(row, |ranks| ranks[row as usize]);
            let rank = if order.descending && rank != MISSING { MISSING - 1 - rank } else { rank };
            u64::from(rank) << 32 | u64::from(row)
        };
        let mut keys: Vec<u64> = rows.iter().map(|row| key(*row)).collect();
        keys.par_sort_unstable();
        // The lower half is the number of the document.
        keys.into_iter().map(|key| key as u32).collect()
    }
}

fn ranks(by: &By, catalogue: &Catalogue) -> Vec<u32> {
    match by {
        By::Corpus => Vec::new(),
        By::Time => times(catalogue),
        By::Code => codes(catalogue),
        By::Kind => kinds(catalogue),
        By::Repeats => repeats(catalogue),
        By::Title => titles(catalogue),
        By::Text(fact) => texts(catalogue, |place, _| catalogue.facts.text(place, *fact)),
        By::Note => texts(catalogue, |_, id| catalogue.facts.notes.get(&id).map_or("", String::as_str)),
        By::Length => of_places(catalogue, |place, _| catalogue.facts.length(place).unwrap_or(MISSING)),
        By::Codes => ranks_of(catalogue, |part, give| {
            (0..part.len()).for_each(|row| give(count_of_codes(part.codes_of(row)) as u32));
        }),
        By::Score(name) => scores(catalogue, name),
    }
}

/// The number of codes in a text that joins them by commas.
pub(super) fn count_of_codes(codes: &str) -> usize {
    codes.split(',').filter(|code| !code.is_empty()).count()
}

/// A rank for each document, made of its part and row and of the hash of its id.
fn of_places(catalogue: &Catalogue, rank: impl Fn((usize, usize), u64) -> u32) -> Vec<u32> {
    let mut ranks = vec![MISSING; catalogue.len()];
    for (i, part) in catalogue.read_parts() {
        let start = catalogue.start(i) as usize;
        for (row, id) in part.ids().iter().enumerate() {
            ranks[start + row] = rank((i, row), *id);
        }
    }
    ranks
}

fn texts<'c>(catalogue: &'c Catalogue, text: impl Fn((usize, usize), u64) -> &'c str) -> Vec<u32> {
    let mut all: FxHashSet<&str> = FxHashSet::default();
    for (i, part) in catalogue.read_parts() {
        all.extend(part.ids().iter().enumerate().map(|(row, id)| text((i, row), *id)));
    }
    let mut all: Vec<&str> = all.into_iter().filter(|text| !text.is_empty()).collect();
    all.par_sort_unstable();
    let ranks: FxHashMap<&str, u32> = all.into_iter().zip(0..).collect();
    of_places(catalogue, |place, id| ranks.get(text(place, id)).copied().unwrap_or(MISSING))
}

fn scores(catalogue: &Catalogue, name: &str) -> Vec<u32> {
    let values = (0..catalogue.len()).map(|n| {
        let place = catalogue.place(n);
        place.map_or(f64::NAN, |place| catalogue.facts.score(place, name))
    });
    let values: Vec<f64> = values.collect();
    let mut ranks = vec![MISSING; values.len()];
    let (mut rank, mut last) = (0, f64::NAN);
    for at in stats::ascending(values.iter().copied()) {
        let value = values[at as usize];
        rank += u32::from(value > last);
        (ranks[at as usize], last) = (rank, value);
    }
    ranks
}

/// A rank for each document of the catalogue, given for the documents that have been read.
fn ranks_of<'c>(
    catalogue: &'c Catalogue,
    of_part: impl Fn(&'c super::catalogue::CataloguePart, &mut dyn FnMut(u32)),
) -> Vec<u32> {
    let mut ranks = vec![0; catalogue.len()];
    for (i, part) in catalogue.read_parts() {
        let mut at = catalogue.start(i) as usize;
        of_part(part, &mut |rank| {
            ranks[at] = rank;
            at += 1;
        });
    }
    ranks
}

fn kinds(catalogue: &Catalogue) -> Vec<u32> {
    ranks_of(catalogue, |part, give| part.kinds().iter().for_each(|kind| give(*kind as u32)))
}

fn repeats(catalogue: &Catalogue) -> Vec<u32> {
    ranks_of(catalogue, |part, give| {
        let mut repeating = part.repeating().peekable();
        (0..part.len()).for_each(|row| give(u32::from(repeating.next_if_eq(&row).is_some())));
    })
}

fn codes(catalogue: &Catalogue) -> Vec<u32> {
    let all: FxHashSet<&str> =
        catalogue.read_parts().flat_map(|(_, part)| part.codes().0).map(|code| &**code).collect();
    let mut all: Vec<&str> = all.into_iter().collect();
    all.par_sort_unstable();
    let ranks: FxHashMap<&str, u32> = all.into_iter().zip(0..).collect();
    ranks_of(catalogue, |part, give| {
        let (names, codes) = part.codes();
        let ranks: Vec<u32> = names.iter().map(|name| ranks[&**name]).collect();
        codes.iter().for_each(|code| give(ranks[*code as usize]));
    })
}

fn times(catalogue: &Catalogue) -> Vec<u32> {
    let mut keys: Vec<(i64, u32)> = Vec::with_capacity(catalogue.len());
    for (i, part) in catalogue.read_parts() {
        keys.extend(part.times().iter().copied().zip(catalogue.start(i)..));
    }
    keys.par_sort_unstable();
    let mut ranks = vec![0; catalogue.len()];
    let mut rank = 0;
    for (i, (time, row)) in keys.iter().enumerate() {
        rank += u32::from(i > 0 && keys[i - 1].0 != *time);
        ranks[*row as usize] = rank;
    }
    ranks
}

/// Titles by their bytes, which is the order of their characters in Unicode.
///
/// Eight bytes at a time are kept beside the number, so that a comparison seldom looks at a title; runs that are equal so far go on with
/// the next eight.
fn titles(catalogue: &Catalogue) -> Vec<u32> {
    let mut texts: Vec<&[u8]> = vec![b""; catalogue.len()];
    let mut keys: Vec<(u64, u32)> = Vec::with_capacity(catalogue.len());
    for (i, part) in catalogue.read_parts() {
        for (row, number) in (0..part.len()).zip(catalogue.start(i)..) {
            let text = &part.titles().as_bytes()[part.title(row)];
            texts[number as usize] = text;
            keys.push((eight(text, 0), number));
        }
    }
    keys.par_sort_unstable();
    let text = |row: u32| texts[row as usize];
    // Whether a place has the same title as the one before.
    let mut same = vec![false; keys.len()];
    let mut open = runs(&keys, 0).map(|run| (run, 8)).collect::<Vec<_>>();
    while let Some((run, depth)) = open.pop() {
        let keys = &mut keys[run.clone()];
        let tail = |row: u32| &text(row)[depth.min(text(row).len())..];
        if keys.iter().all(|(_, row)| tail(*row).is_empty()) {
            same[run.start + 1..run.end].fill(true);
        } else if keys.len() <= SHORT {
            keys.sort_unstable_by(|a, b| tail(a.1).cmp(tail(b.1)));
            for i in 1..keys.len() {
                same[run.start + i] = tail(keys[i].1) == tail(keys[i - 1].1);
            }
        } else {
            keys.iter_mut().for_each(|(key, row)| *key = eight(text(*row), depth));
            keys.par_sort_unstable();
            open.extend(runs(keys, run.start).map(|run| (run, depth + 8)));
        }
    }
    let mut ranks = vec![0; catalogue.len()];
    let mut rank = 0;
    for (i, (_, row)) in keys.iter().enumerate() {
        rank += u32::from(i > 0 && !same[i]);
        ranks[*row as usize] = rank;
    }
    ranks
}

/// Eight bytes of a text from a place on as a number that sorts as they do; what is missing counts as 0.
fn eight(text: &[u8], from: usize) -> u64 {
    let rest = text.get(from..).unwrap_or_default();
    let mut bytes = [0; 8];
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes)
}

/// Runs of two and more equal keys, as places counted from `start`.
fn runs(keys: &[(u64, u32)], start: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = start;
    let lengths: Vec<usize> = keys.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect();
    lengths.into_iter().filter_map(move |length| {
        let run = at..at + length;
        at += length;
        (length > 1).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::tests::catalogue;
    use super::*;
    use inkstone_base::data::Kind;

    /// Rows made by a small generator, many of them alike: `n` in parts of a thousand.
    fn many(n: usize) -> Catalogue {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let kinds = [Kind::News, Kind::Report, Kind::Announcement, Kind::Post];
        let rows: Vec<(i64, String, Kind, String)> = (0..n)
            .map(|_| {
                let title = format!("瑞禾电气：关于回购股份的第{}次公告", next(300)).repeat(next(3) as usize);
                let code = if next(5) == 0 { String::new() } else { format!("{:06}.SH,300731.SZ", next(50)) };
                (next(1000) as i64 - 500, code, kinds[next(4) as usize], title)
            })
            .collect();
        let rows: Vec<(i64, &str, Kind, &str, Option<u64>)> = rows
            .iter()
            .enumerate()
            .map(|(i, row)| (row.0, row.1.as_str(), row.2, row.3.as_str(), (i % 7 == 3).then_some(0)))
            .collect();
        catalogue(&rows.chunks(1000).collect::<Vec<_>>())
    }

    #[test]
    fn fifty_thousand_rows_are_sorted_as_a_stable_sort_would() {
        let catalogue = many(50_000);
        let ranks = Ranks::default();
        let all: Vec<u32> = (0..50_000).collect();
        for by in [By::Corpus, By::Time, By::Code, By::Kind, By::Repeats, By::Title] {
            for descending in [false, true] {
                let order = SortOrder { by: by.clone(), descending };
                let sorted = ranks.sort(all.clone(), &order, &catalogue);
                let mut expected = all.clone();
                expected.sort_by(|a, b| {
                    let rows = [a, b].map(|n| catalogue.row(*n as usize).unwrap());
                    let [a, b] = match by {
                        By::Corpus => [a, b].map(|n| (i64::from(*n), "", 0)),
                        By::Time => rows.map(|row| (row.time, "", 0)),
                        By::Code => rows.map(|row| (0, row.codes, 0)),
                        By::Kind => rows.map(|row| (0, "", row.kind as u8)),
                        By::Repeats => rows.map(|row| (0, "", u8::from(row.repeats))),
                        _ => rows.map(|row| (0, row.title, 0)),
                    };
                    if descending { b.cmp(&a) } else { a.cmp(&b) }
                });
                assert_eq!(sorted, expected, "{by:?} {descending}");
            }
        }
    }

    #[test]
    fn titles_that_begin_alike_for_long_are_told_apart() {
        let long = "回购".repeat(20_000);
        let texts: Vec<String> = (0..60).map(|i| format!("{long}{}", i % 3)).collect();
        let rows: Vec<_> = texts.iter().map(|title| (0, "", Kind::News, title.as_str(), None)).collect();
        let sorted = Ranks::default().sort(
            (0..60).collect(),
            &SortOrder { by: By::Title, descending: false },
            &catalogue(&[&rows]),
        );
        assert_eq!(sorted, (0..3).flat_map(|r| (0..20).map(move |i| i * 3 + r)).collect::<Vec<u32>>());
    }
}
