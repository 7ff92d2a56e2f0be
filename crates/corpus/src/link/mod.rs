//! Linking: which securities a document speaks of, and where it names them.
//!
//! One Aho-Corasick pass over title and body finds every name, alias and code of the dated security table. A match
//! counts only if its row of the table holds on the document's date; the longest one wins; a name that is also a
//! common word needs evidence (see the rules in `finder.rs`). A company's new name is unknown before its first day, so linking sees
//! nothing of the future.
//!
//! Offsets are bytes into the clean field, half-open, on character boundaries.
//!
//! Useful for: codes per document, and masking names from models. Not for: deciding what a document about several
//! companies says of each.

mod companies;
mod finder;
mod learned;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::clean::clean_of_part;
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_market::Security;
use inkstone_tables::corpus::{Parts, column, texts_column, texts_of};
use inkstone_tables::frames;

use inkstone_base::disk;
use inkstone_tables::made;
use inkstone_tables::project::names_of;

pub use companies::{Companies, RenamedText};
use finder::{Finder, FoundLinks};
use learned::Lessons;
pub use learned::{LearnNames, LearnedName, read_names};

/// Changes whenever the same text would be linked differently, so that parts of an older version are not kept.
pub const VERSION: u32 = 2;

/// Parameters by which names are told from words (`[link]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Natural days for which a former name is still understood after the company gave it up. Default 730; 0 ends it
    /// on the day.
    pub former_name_days: u32,
    /// Names that are common words besides the built-in list and besides all names of two characters: they count only
    /// with evidence. Default none.
    pub common_words: Vec<String>,
    /// Names that never need evidence, such as a two-character brand that means nothing else. Default none.
    pub plain_names: Vec<String>,
    /// When names are learned from the documents that write a code behind them. Default auto: without a table of securities.
    pub learn_names: LearnNames,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            former_name_days: 730,
            common_words: Vec::new(),
            plain_names: Vec::new(),
            learn_names: LearnNames::default(),
        }
    }
}

/// Evidence for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The source gave the code.
    Given,
    /// The code stands in the text.
    Code,
    /// The name of that day.
    Name,
    /// An alias or a former name.
    Alias,
    /// A name that documents wrote with its code, in this document or before.
    Learned,
}

impl Via {
    const ALL: [Via; 5] = [Via::Given, Via::Code, Via::Name, Via::Alias, Via::Learned];

    /// The name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Via::Given => "given",
            Via::Code => "code",
            Via::Name => "name",
            Via::Alias => "alias",
            Via::Learned => "learned",
        }
    }
}

/// A text field of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextField {
    Title,
    Body,
}

impl TextField {
    /// The name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            TextField::Title => "title",
            TextField::Body => "body",
        }
    }
}

/// One mention of one security. A mention that may mean several securities is there once for each, all ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Row of the document in its part.
    pub row: u32,
    pub code: Code,
    /// Field of the mention; the title for given codes.
    pub field: TextField,
    /// First byte of the mention; equal to `end` for given codes.
    pub start: u32,
    /// Byte after the mention.
    pub end: u32,
    pub via: Via,
    /// True if the same words name another security as well and nothing in the document decides.
    pub ambiguous: bool,
}

/// Which securities a document is linked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// The securities of the document's codes, and the securities that its text names.
    Any,
    /// Only the securities of the document's codes. A name of any other security becomes an ambiguous link: it can be masked.
    Given,
}

/// The names that texts are linked by beside those of the table of securities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taught<'a> {
    /// No further names.
    Nothing,
    /// The names that the documents themselves teach; their list stands beside the links ([`names_of`]).
    Here,
    /// The names that another corpus taught.
    Before(&'a [LearnedName]),
}

/// Links the documents of `clean`; part `i` of `out` holds the links of part `i`, sorted by row, field and place. A part that was linked
/// before, by the same rules and of the same text, is kept.
pub fn run(
    clean: &Parts,
    securities: &[Security],
    taught: Taught<'_>,
    out: &Parts,
    params: &Params,
    linked: Linked,
    ctx: &Ctx,
) -> Result<Report> {
    let lessons = match taught {
        Taught::Here => Lessons::read(clean, out, ctx)?,
        Taught::Nothing | Taught::Before(_) => Lessons::default(),
    };
    let learned = if let Taught::Before(names) = taught { names } else { &lessons.names };
    let finder = Finder::new(securities, learned, params)?;
    let files = clean.files()?;
    let rules = match linked {
        Linked::Any => Key::of_json(&(VERSION, securities, params)),
        Linked::Given => Key::of_json(&(VERSION, securities, params, "given")),
    };
    let lesson_keys = match taught {
        Taught::Here => lessons.keys(),
        Taught::Nothing => vec![Key::default(); files.len()],
        Taught::Before(names) => vec![Key::of_json(&names); files.len()],
    };
    let mut report = Report::new("link");
    let (mut counts, mut kept) = (LinkCounts::default(), 0u64);
    for (part, file) in files.iter().enumerate() {
        let key = Key::of_json(&(rules, lesson_keys[part], disk::hash_file(file)?));
        if let Some(counted) = made::stands::<LinkCounts>(out, part, key) {
            ctx.advance(counted.documents)?;
            counts.merge(&counted);
            kept += 1;
            continue;
        }
        let docs = clean_of_part(file)?;
        let found: Vec<FoundLinks> = ctx.install(|| {
            docs.par_iter()
                .enumerate()
                .map(|(row, doc)| {
                    ctx.advance(1)?;
                    let mut found = finder.find(row as u32, &doc.document);
                    if linked == Linked::Given {
                        let given = &doc.document.codes;
                        found.links.iter_mut().for_each(|link| link.ambiguous |= !given.contains(&link.code));
                    }
                    Ok(found)
                })
                .collect::<Result<_>>()
        })?;
        let mut links = Vec::new();
        let mut counted = LinkCounts::default();
        for found in found {
            counted.add(&found);
            links.extend(found.links);
        }
        out.write(part, &mut links_to_frame(&links)?)?;
        made::note(out, part, key, &counted)?;
        counts.merge(&counted);
    }
    made::truncate(out, files.len())?;
    report.rows_in = counts.documents;
    report.rows_out = counts.documents;
    counts.tell(&finder, &mut report);
    match taught {
        Taught::Here => {
            learned::write_names(&names_of(out), learned)?;
            lessons.tell(&mut report);
        }
        Taught::Nothing | Taught::Before(_) => {
            disk::remove_if_there(&names_of(out))?;
            learned::forget(out, 0)?;
        }
    }
    report.fact("parts_kept", kept);
    Ok(report)
}

/// Finds the securities that an entity names. A model has found the entity to be a name, so even a common word counts as one.
pub struct EntityFinder(Finder);

impl EntityFinder {
    pub fn new(securities: &[Security], params: &Params) -> Result<EntityFinder> {
        let names = securities.iter().flat_map(|security| [&security.name].into_iter().chain(&security.aliases));
        let plain_names = names.cloned().collect::<BTreeSet<String>>().into_iter().collect();
        Ok(EntityFinder(Finder::new(securities, &[], &Params { plain_names, ..params.clone() })?))
    }

    /// The securities that the text of an entity names on the day of `time`; none where the name is ambiguous.
    pub fn codes(&self, text: &str, time: NaiveDateTime) -> Vec<Code> {
        let document = Document { body: text.to_owned(), published_at: time, ..Document::default() };
        codes_of(&self.0.find(0, &document).links, 0)
    }
}

/// Numbers of the stage's report.
#[derive(Default, Serialize, Deserialize)]
struct LinkCounts {
    documents: u64,
    linked: u64,
    by_via: BTreeMap<Via, u64>,
    by_learned_names_alone: u64,
    ambiguous: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
    sources: u64,
}

impl LinkCounts {
    fn add(&mut self, found: &FoundLinks) {
        self.documents += 1;
        self.linked += u64::from(found.links.iter().any(|l| !l.ambiguous));
        for via in Via::ALL {
            *self.by_via.entry(via).or_default() += u64::from(found.links.iter().any(|l| l.via == via && !l.ambiguous));
        }
        let certain: BTreeSet<Via> = found.links.iter().filter(|l| !l.ambiguous).map(|l| l.via).collect();
        self.by_learned_names_alone += u64::from(certain == BTreeSet::from([Via::Learned]));
        self.sources += found.sources;
        for name in &found.ambiguous {
            *self.ambiguous.entry(name.clone()).or_default() += 1;
        }
        for name in &found.refused {
            *self.refused.entry(name.clone()).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &LinkCounts) {
        let add = |to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>| {
            from.iter().for_each(|(name, n)| *to.entry(name.clone()).or_default() += n);
        };
        self.documents += other.documents;
        self.linked += other.linked;
        self.by_learned_names_alone += other.by_learned_names_alone;
        other.by_via.iter().for_each(|(via, n)| *self.by_via.entry(*via).or_default() += n);
        add(&mut self.ambiguous, &other.ambiguous);
        add(&mut self.refused, &other.refused);
        self.sources += other.sources;
    }

    fn tell(&self, finder: &Finder, report: &mut Report) {
        report.fact("documents_linked", self.linked);
        report.fact("documents_without_code", self.documents - self.linked);
        for (via, documents) in &self.by_via {
            report.fact(&format!("documents_by_{}", via.name()), documents);
        }
        report.fact("documents_by_learned_names_alone", self.by_learned_names_alone);
        report.fact("ambiguous_mentions", self.ambiguous.values().sum::<u64>());
        report.fact("ambiguous_names", most(&self.ambiguous));
        report.fact("refused_as_common_words", self.refused.values().sum::<u64>());
        report.fact("refused_names", most(&self.refused));
        report.fact("mentions_of_speaking_brokers", self.sources);
        report.fact("patterns", finder.patterns());
    }
}

/// The ten names counted most, most first.
fn most(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut sorted: Vec<_> = counts.iter().map(|(name, &n)| (name.as_str(), n)).collect();
    sorted.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    sorted.truncate(10);
    sorted
}

/// Links as a frame: `row code field start end via ambiguous`.
pub fn links_to_frame(links: &[Link]) -> Result<DataFrame> {
    let numbers = |name: &str, get: &dyn Fn(&Link) -> u32| -> Column {
        Series::new(name.into(), links.iter().map(get).collect::<Vec<u32>>()).into_column()
    };
    frames::frame(vec![
        numbers("row", &|l| l.row),
        texts_column("code", links.iter().map(|l| Some(l.code.as_str()))),
        texts_column("field", links.iter().map(|l| Some(l.field.name()))),
        numbers("start", &|l| l.start),
        numbers("end", &|l| l.end),
        texts_column("via", links.iter().map(|l| Some(l.via.name()))),
        Series::new("ambiguous".into(), links.iter().map(|l| l.ambiguous).collect::<Vec<bool>>()).into_column(),
    ])
}

fn links_from_frame(frame: &DataFrame) -> Result<Vec<Link>> {
    let [row, start, end] =
        [column(frame, "row")?.u32()?, column(frame, "start")?.u32()?, column(frame, "end")?.u32()?];
    let [code, field, via] = [texts_of(frame, "code")?, texts_of(frame, "field")?, texts_of(frame, "via")?];
    let ambiguous = column(frame, "ambiguous")?.bool()?;
    (0..frame.height())
        .map(|i| {
            let find = || {
                Some(Link {
                    row: row.get(i)?,
                    code: Code::canonical(code.get(i)?),
                    field: [TextField::Title, TextField::Body].into_iter().find(|f| field.get(i) == Some(f.name()))?,
                    start: start.get(i)?,
                    end: end.get(i)?,
                    via: Via::ALL.into_iter().find(|v| via.get(i) == Some(v.name()))?,
                    ambiguous: ambiguous.get(i)?,
                })
            };
            find().with_context(|| message!("链接表第 {i} 行不完整", "row {i} of the table of links is incomplete"))
        })
        .collect()
}

/// The links of one part.
pub fn links_of_part(path: &Path) -> Result<Vec<Link>> {
    links_from_frame(&frames::read_parquet(path, None)?).with_context(|| message!("在 {} 中", "in {}", path.display()))
}

/// The securities that the document in `row` certainly speaks of, each once: given codes first, then by first mention.
pub fn codes_of(links: &[Link], row: u32) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    for link in links_of_row(links, row).iter().filter(|l| !l.ambiguous) {
        if !codes.contains(&link.code) {
            codes.push(link.code.clone());
        }
    }
    codes
}

/// Mentions of securities, by name or code, in a field of the document in `row`, ambiguous ones included:
/// byte ranges, ascending, apart from each other.
pub fn name_spans(links: &[Link], row: u32, field: TextField) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = links_of_row(links, row)
        .iter()
        .filter(|l| l.field == field && l.start < l.end)
        .map(|l| l.start as usize..l.end as usize)
        .collect();
    spans.sort_by_key(|s| (s.start, s.end));
    spans.dedup_by(|next, span| {
        let overlap = next.start < span.end;
        if overlap {
            span.end = span.end.max(next.end);
        }
        overlap
    });
    spans
}

/// The text with each span (of [`name_spans`]) replaced by `placeholder`.
pub fn mask(text: &str, spans: &[Range<usize>], placeholder: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        masked.push_str(&text[done..span.start]);
        masked.push_str(placeholder);
        done = span.end;
    }
    masked.push_str(&text[done..]);
    masked
}

/// The links of one row; links are sorted by row.
pub(crate) fn links_of_row(links: &[Link], row: u32) -> &[Link] {
    let start = links.partition_point(|l| l.row < row);
    let end = links.partition_point(|l| l.row <= row);
    &links[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::{CleanDocument, clean_to_frame};

    fn link(row: u32, code: &str, span: Range<u32>, ambiguous: bool) -> Link {
        let (start, end) = (span.start, span.end);
        let via = if start == end { Via::Given } else { Via::Name };
        Link { row, code: Code::canonical(code), field: TextField::Title, start, end, via, ambiguous }
    }

    #[test]
    fn codes_spans_and_masks_of_a_row() {
        let title = "远山科技与岚石股份";
        let links = [
            link(0, "600009.SH", 0..0, false),
            link(1, "600001.SH", 0..12, false),
            link(1, "600001.SH", 15..27, true),
            link(1, "600002.SH", 15..27, true),
            link(1, "600001.SH", 15..21, false),
        ];
        assert_eq!(codes_of(&links, 1), [Code::canonical("600001.SH")]);
        assert_eq!(codes_of(&links, 2), []);
        let spans = name_spans(&links, 1, TextField::Title);
        assert_eq!(spans, [0..12, 15..27]);
        assert_eq!(mask(title, &spans, "[公司]"), "[公司]与[公司]");
        assert!(name_spans(&links, 0, TextField::Title).is_empty());
    }

    #[test]
    fn a_name_that_the_corpus_taught_links_what_is_published_from_then_on_and_a_grown_corpus_equals_a_whole_one() {
        let document = |id: &str, body: &str, time: &str| CleanDocument {
            document: Document {
                doc_id: id.into(),
                body: body.into(),
                published_at: time.parse().unwrap(),
                ..Document::default()
            },
            text: Key::of(body.as_bytes()),
            first_mention: id.into(),
            similarity: 0.0,
        };
        let parts = [
            vec![
                document("a", "岚石股份扩产", "2024-01-02T09:59:59"),
                document("b", "岚石股份（600002.SH）公告", "2024-01-02T10:00:00"),
                document("c", "岚石股份再扩产", "2024-01-02T10:00:00"),
            ],
            vec![document("d", "岚石股份、霁川电子走强", "2024-01-03T10:00:00")],
            // Read last, though published before.
            vec![document("e", "霁川电子（000005.SZ）公告", "2024-01-02T12:00:00")],
        ];
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(2, 0).unwrap();
        let linked = |name: &str, days: std::ops::RangeInclusive<usize>| {
            let clean = Parts::new(dir.path().join(name).join("clean"));
            let out = Parts::new(dir.path().join(name).join("links"));
            let mut last = Report::default();
            for parts_there in days {
                for (part, docs) in parts[..parts_there].iter().enumerate() {
                    clean.write(part, &mut clean_to_frame(docs).unwrap()).unwrap();
                }
                last = run(&clean, &[], Taught::Here, &out, &Params::default(), Linked::Any, &ctx).unwrap();
            }
            let bytes: Vec<Vec<u8>> = (0..3).map(|part| std::fs::read(out.path(part)).unwrap()).collect();
            (bytes, std::fs::read_to_string(names_of(&out)).unwrap(), last, out)
        };
        let (whole, names, report, out) = linked("whole", 3..=3);
        let links: Vec<Vec<Link>> = (0..3).map(|part| links_of_part(&out.path(part)).unwrap()).collect();
        let by_row =
            |part: usize, row: u32| codes_of(&links[part], row).iter().map(Code::to_string).collect::<Vec<_>>();
        assert_eq!(by_row(0, 0), Vec::<String>::new(), "a second too early");
        assert_eq!((by_row(0, 1), by_row(0, 2)), (vec!["600002.SH".to_owned()], vec!["600002.SH".to_owned()]));
        assert_eq!(by_row(1, 0), ["600002.SH", "000005.SZ"]);
        assert_eq!(names.lines().nth(1), Some("岚石股份,600002.SH,2024-01-02 10:00:00,,1"));
        assert_eq!(
            (&report.facts["names_learned"], &report.facts["documents_by_learned_names_alone"]),
            (&2.into(), &2.into())
        );
        let (grown, grown_names, report, _) = linked("grown", 1..=3);
        assert!(grown == whole && grown_names == names);
        // Only the part that may know the new name is linked again.
        assert_eq!(report.facts["parts_kept"], 1);
        let again = run(
            &Parts::new(dir.path().join("whole").join("clean")),
            &[],
            Taught::Nothing,
            &out,
            &Params::default(),
            Linked::Any,
            &ctx,
        );
        assert_eq!(again.unwrap().facts["documents_linked"], 0);
        assert!(!names_of(&out).exists(), "nothing of what was learned stays");
        assert_eq!(disk::files_in(out.folder(), "json").unwrap().len(), 3);
    }

    #[test]
    fn links_survive_the_way_to_disk_and_the_stage_reports_what_it_refused() {
        let document = |id: &str, title: &str| CleanDocument {
            document: Document {
                doc_id: id.into(),
                title: title.into(),
                published_at: "2024-01-02T10:00:00".parse().unwrap(),
                ..Document::default()
            },
            text: inkstone_base::data::Key::of(title.as_bytes()),
            first_mention: id.into(),
            similarity: 0.0,
        };
        let docs = [document("a", "远山科技中标（600001）"), document("b", "行业前景"), document("c", "央行降准")];
        let security =
            |code: &str, name: &str| Security { name: name.into(), ..Security::unnamed(Code::canonical(code)) };
        let dir = tempfile::tempdir().unwrap();
        let (clean, out) = (Parts::new(dir.path().join("clean")), Parts::new(dir.path().join("links")));
        clean.write(0, &mut clean_to_frame(&docs[..2]).unwrap()).unwrap();
        clean.write(1, &mut clean_to_frame(&docs[2..]).unwrap()).unwrap();
        let table = [security("600001.SH", "远山科技"), security("000004.SZ", "前景")];
        let ctx = Ctx::new(2, 0).unwrap();
        let report = run(&clean, &table, Taught::Nothing, &out, &Params::default(), Linked::Any, &ctx).unwrap();
        let links = links_of_part(&out.path(0)).unwrap();
        assert_eq!(links.iter().map(|l| (l.row, l.via)).collect::<Vec<_>>(), [(0, Via::Name), (0, Via::Code)]);
        assert_eq!(links_of_part(&out.path(1)).unwrap(), []);
        assert_eq!((report.rows_in, report.rows_out), (3, 3));
        assert_eq!(report.facts["documents_linked"], 1);
        assert_eq!(report.facts["refused_names"], serde_json::json!([["前景", 1]]));
        // The second part changes, the first is not linked again, and the report speaks of both.
        let mut facts = report.facts.clone();
        clean.write(1, &mut clean_to_frame(&docs[..1]).unwrap()).unwrap();
        let again = run(&clean, &table, Taught::Nothing, &out, &Params::default(), Linked::Any, &ctx).unwrap();
        assert_eq!((&again.facts["parts_kept"], &again.facts["documents_linked"]), (&1.into(), &2.into()));
        clean.write(1, &mut clean_to_frame(&docs[2..]).unwrap()).unwrap();
        let back = run(&clean, &table, Taught::Nothing, &out, &Params::default(), Linked::Any, &ctx).unwrap();
        facts["parts_kept"] = 1.into();
        assert_eq!(back.facts, facts);
        let other = run(&clean, &table[..1], Taught::Nothing, &out, &Params::default(), Linked::Any, &ctx).unwrap();
        assert_eq!(other.facts["parts_kept"], 0, "other names, other links");
        assert_eq!(clean_of_part(&clean.path(0)).unwrap(), docs[..2]);
        // An entity is a name, though it is a common word.
        let finder = EntityFinder::new(&table, &Params::default()).unwrap();
        let codes = |text: &str| finder.codes(text, docs[0].document.published_at);
        assert_eq!(codes("前景"), [Code::canonical("000004.SZ")]);
        assert_eq!(codes("远山科技股份"), [Code::canonical("600001.SH")]);
        assert!(codes("央行").is_empty());
        // The codes of a document alone, and the names of all.
        run(&clean, &table, Taught::Nothing, &out, &Params::default(), Linked::Given, &ctx).unwrap();
        let given = links_of_part(&out.path(0)).unwrap();
        assert!(codes_of(&given, 0).is_empty());
        assert_eq!(name_spans(&given, 0, TextField::Title), name_spans(&links, 0, TextField::Title));
    }
}
