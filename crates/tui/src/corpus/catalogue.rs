//! The columns of the table, and the documents that repeat others.
//!
//! A million titles of 60 bytes take about 90 MB. Rows are numbered through all parts in order, from 0; a part that has not been read
//! yet has its numbers already. Copies share the parts, so a thread gets one for the price of a list.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::Facts;
use inkstone_base::data::Kind;
use inkstone_base::language::Message;
use inkstone_base::message;

/// The columns of one part.
#[derive(Debug, Default)]
pub(crate) struct CataloguePart {
    /// Microseconds since 1970 of when each became public, Shanghai time.
    times: Vec<i64>,
    kinds: Vec<Kind>,
    /// Numbers into `code_names`.
    codes: Vec<u32>,
    /// The codes of a document joined by commas; each text once.
    code_names: Vec<Box<str>>,
    /// All titles, each with a line break after it.
    titles: String,
    /// The end of each title in `titles`.
    ends: Vec<u32>,
    ids: Vec<u64>,
    /// Rows that repeat another document, ascending, with the hash of its id.
    repeats: Vec<(u32, u64)>,
}

/// A document as the table shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CatalogueRow<'a> {
    /// When it became public: microseconds since 1970, Shanghai time.
    pub time: i64,
    /// Codes of the document, joined by commas.
    pub codes: &'a str,
    /// News, report, announcement or post.
    pub kind: Kind,
    pub title: &'a str,
    /// True if an earlier document said the same.
    pub repeats: bool,
}

/// A part while it is gathered.
#[derive(Default)]
pub(crate) struct Gathering {
    part: CataloguePart,
    known: FxHashMap<Box<str>, u32>,
}

impl Gathering {
    /// Adds a document; `id` and `first` are the hashes of its id and of the id of its first mention, where that is another document.
    /// False where the titles of a part exceed 4 GiB.
    #[must_use]
    pub(super) fn push(&mut self, row: CatalogueRow<'_>, id: u64, first: Option<u64>) -> bool {
        let part = &mut self.part;
        let (Ok(number), Ok(end)) =
            (u32::try_from(part.times.len()), u32::try_from(part.titles.len() + row.title.len()))
        else {
            return false;
        };
        let code = match self.known.get(row.codes) {
            Some(code) => *code,
            None => {
                let code = part.code_names.len() as u32;
                part.code_names.push(row.codes.into());
                self.known.insert(row.codes.into(), code);
                code
            }
        };
        part.times.push(row.time);
        part.kinds.push(row.kind);
        part.codes.push(code);
        part.titles.push_str(row.title);
        part.titles.push('\n');
        part.ends.push(end);
        part.ids.push(id);
        part.repeats.extend(first.map(|first| (number, first)));
        true
    }

    /// The part, without room to spare.
    pub(super) fn end(self) -> CataloguePart {
        let mut part = self.part;
        part.times.shrink_to_fit();
        part.kinds.shrink_to_fit();
        part.codes.shrink_to_fit();
        part.code_names.shrink_to_fit();
        part.titles.shrink_to_fit();
        part.ends.shrink_to_fit();
        part.ids.shrink_to_fit();
        part.repeats.shrink_to_fit();
        part
    }
}

impl CataloguePart {
    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn row(&self, i: usize) -> CatalogueRow<'_> {
        CatalogueRow {
            time: self.times[i],
            codes: self.codes_of(i),
            kind: self.kinds[i],
            title: &self.titles[self.title(i)],
            repeats: self.repeats(i),
        }
    }

    pub(crate) fn times(&self) -> &[i64] {
        &self.times
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    pub(crate) fn codes_of(&self, i: usize) -> &str {
        &self.code_names[self.codes[i] as usize]
    }

    /// The codes of the part, each once, and for each document the number of its own.
    pub(crate) fn codes(&self) -> (&[Box<str>], &[u32]) {
        (&self.code_names, &self.codes)
    }

    /// All titles, each with a line break after it.
    pub(crate) fn titles(&self) -> &str {
        &self.titles
    }

    /// The bytes of a title in [`CataloguePart::titles`].
    pub(crate) fn title(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize + 1 };
        start..self.ends[i] as usize
    }

    /// The document whose title stands at this byte of [`CataloguePart::titles`].
    pub(crate) fn row_at(&self, byte: usize) -> usize {
        self.ends.partition_point(|end| (*end as usize) < byte)
    }

    /// Hashes of the ids of the documents.
    pub(crate) fn ids(&self) -> &[u64] {
        &self.ids
    }

    fn repeats(&self, i: usize) -> bool {
        self.repeats.binary_search_by_key(&i, |(row, _)| *row as usize).is_ok()
    }

    /// The rows that repeat others, ascending.
    pub(crate) fn repeating(&self) -> impl Iterator<Item = usize> {
        self.repeats.iter().map(|(row, _)| *row as usize)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) enum PartSlot {
    #[default]
    Unread,
    Read(Arc<CataloguePart>),
    /// The reason why it cannot be read.
    Damaged(Arc<Message>),
}

/// All parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    slots: Vec<PartSlot>,
    /// Number of the first row of each part, and the number of all rows at the end.
    starts: Vec<u32>,
    read: usize,
    pub(super) facts: Facts,
}

impl Catalogue {
    /// A catalogue of parts of so many rows, none of them read. Rows past the four thousand millionth are left out.
    pub(crate) fn new(rows: impl Iterator<Item = usize>) -> Catalogue {
        let mut starts = vec![0u32];
        for rows in rows {
            let last = starts.last().copied().unwrap_or(0);
            starts.push(last.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX)));
        }
        Catalogue { slots: vec![PartSlot::Unread; starts.len() - 1], starts, read: 0, facts: Facts::default() }
    }

    /// Documents in all, read or not.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }

    pub(crate) fn documents_read(&self) -> usize {
        let rows = |part: usize| (self.starts[part + 1] - self.starts[part]) as usize;
        (0..self.slots.len()).filter(|part| !matches!(self.slots[*part], PartSlot::Unread)).map(rows).sum()
    }

    pub(crate) fn parts(&self) -> usize {
        self.slots.len()
    }

    /// Parts that have been read and are not damaged.
    pub(super) fn parts_there(&self) -> usize {
        self.read_parts().count()
    }

    /// Parts that have been read, or found to be damaged.
    pub(crate) fn parts_read(&self) -> usize {
        self.read
    }

    /// True if there is nothing left to read.
    pub(crate) fn is_complete(&self) -> bool {
        self.read == self.slots.len()
    }

    pub(crate) fn slot(&self, part: usize) -> &PartSlot {
        self.slots.get(part).unwrap_or(&PartSlot::Unread)
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = &Message> {
        self.slots.iter().filter_map(|slot| match slot {
            PartSlot::Damaged(fault) => Some(&**fault),
            _ => None,
        })
    }

    /// Takes in a part. One with another number of rows than its footer told is damaged.
    pub(crate) fn take(&mut self, part: usize, slot: PartSlot) {
        let rows = (self.starts[part + 1] - self.starts[part]) as usize;
        let slot = match slot {
            PartSlot::Read(read) if read.len() != rows => PartSlot::Damaged(
                message!(
                    "第 {part} 份：有 {} 行，而文件尾说有 {rows} 行",
                    "part {part}: {} rows where its footer says {rows}",
                    read.len()
                )
                .into(),
            ),
            slot => slot,
        };
        if matches!(self.slots[part], PartSlot::Unread) {
            self.read += 1;
        }
        self.slots[part] = slot;
    }

    /// Part and row of a document.
    pub(crate) fn place(&self, n: usize) -> Option<(usize, usize)> {
        let part = self.starts.partition_point(|start| *start as usize <= n).checked_sub(1)?;
        (part < self.slots.len()).then(|| (part, n - self.starts[part] as usize))
    }

    /// Number of the document at a part and row.
    pub(crate) fn number(&self, (part, row): (usize, usize)) -> Option<usize> {
        let start = *self.starts.get(part)? as usize;
        (start + row < *self.starts.get(part + 1)? as usize).then_some(start + row)
    }

    /// Number of the first document of a part.
    pub(crate) fn start(&self, part: usize) -> u32 {
        self.starts[part]
    }

    /// A document that has been read.
    pub(crate) fn row(&self, n: usize) -> Option<CatalogueRow<'_>> {
        let (part, row) = self.place(n)?;
        match &self.slots[part] {
            PartSlot::Read(part) => Some(part.row(row)),
            _ => None,
        }
    }

    /// The hash of the id of a document that has been read.
    pub(crate) fn id(&self, n: usize) -> Option<u64> {
        let (part, row) = self.place(n)?;
        match &self.slots[part] {
            PartSlot::Read(part) => part.ids().get(row).copied(),
            _ => None,
        }
    }

    /// Rows of each part.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = usize> {
        self.starts.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize)
    }

    pub(crate) fn read_parts(&self) -> impl Iterator<Item = (usize, &CataloguePart)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| match slot {
            PartSlot::Read(part) => Some((i, &**part)),
            _ => None,
        })
    }

    /// For each document that repeats another one that has been read: the first mention.
    pub(crate) fn first_mentions(&self) -> FxHashMap<u32, u32> {
        let wanted: FxHashSet<u64> =
            self.read_parts().flat_map(|(_, part)| part.repeats.iter().map(|(_, first)| *first)).collect();
        let mut found: FxHashMap<u64, u32> = FxHashMap::default();
        if !wanted.is_empty() {
            for (i, part) in self.read_parts() {
                for (row, id) in (self.starts[i]..).zip(part.ids()).filter(|(_, id)| wanted.contains(*id)) {
                    found.entry(*id).or_insert(row);
                }
            }
        }
        let repeats = self
            .read_parts()
            .flat_map(|(i, part)| part.repeats.iter().map(move |(row, first)| (self.starts[i] + row, *first)));
        repeats.filter_map(|(row, first)| Some((row, *found.get(&first)?))).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A catalogue of these parts; ids are numbers through all rows.
    pub(in crate::corpus) fn catalogue(parts: &[&[(i64, &str, Kind, &str, Option<u64>)]]) -> Catalogue {
        let mut catalogue = Catalogue::new(parts.iter().map(|part| part.len()));
        let mut id = 0;
        for (i, rows) in parts.iter().enumerate() {
            let mut part = Gathering::default();
            for &(time, codes, kind, title, first) in *rows {
                assert!(part.push(CatalogueRow { time, codes, kind, title, repeats: first.is_some() }, id, first));
                id += 1;
            }
            catalogue.take(i, PartSlot::Read(Arc::new(part.end())));
        }
        catalogue
    }

    #[test]
    fn rows_are_numbered_through_the_parts_and_read_as_they_were_pushed() {
        let catalogue = catalogue(&[
            &[(7, "600517.SH", Kind::News, "一", None), (8, "", Kind::Post, "", Some(0))],
            &[],
            &[(9, "600517.SH", Kind::Report, "two\nlines", None)],
        ]);
        assert_eq!((catalogue.len(), catalogue.parts(), catalogue.is_complete()), (3, 3, true));
        let row = |time, codes, kind, title, repeats| Some(CatalogueRow { time, codes, kind, title, repeats });
        assert_eq!(catalogue.row(0), row(7, "600517.SH", Kind::News, "一", false));
        assert_eq!(catalogue.row(1), row(8, "", Kind::Post, "", true));
        assert_eq!(catalogue.row(2), row(9, "600517.SH", Kind::Report, "two\nlines", false));
        assert_eq!(catalogue.row(3), None);
        assert_eq!(
            (catalogue.place(2), catalogue.number((2, 0)), catalogue.number((1, 0))),
            (Some((2, 0)), Some(2), None)
        );
        assert_eq!(catalogue.first_mentions().into_iter().collect::<Vec<_>>(), [(1, 0)]);
        let PartSlot::Read(part) = catalogue.slot(0) else { panic!("it was read") };
        assert_eq!([0, 3, 4].map(|byte| part.row_at(byte)), [0, 0, 1]);
    }

    #[test]
    fn parts_come_in_any_order_and_one_that_is_not_as_told_is_damaged() {
        let mut catalogue = Catalogue::new([2, 1].into_iter());
        assert_eq!((catalogue.row(2), catalogue.documents_read()), (None, 0));
        let mut part = Gathering::default();
        assert!(part.push(CatalogueRow { time: 0, codes: "", kind: Kind::News, title: "二", repeats: false }, 1, None));
        let part = Arc::new(part.end());
        catalogue.take(1, PartSlot::Read(part.clone()));
        assert_eq!((catalogue.row(2).map(|row| row.title), catalogue.documents_read()), (Some("二"), 1));
        catalogue.take(0, PartSlot::Read(part));
        assert_eq!(catalogue.row(0), None);
        assert_eq!(catalogue.faults().collect::<Vec<_>>(), ["part 0: 1 rows where its footer says 2"]);
        assert!(catalogue.is_complete());
        assert_eq!((Catalogue::default().len(), Catalogue::default().place(0)), (0, None));
    }
}
