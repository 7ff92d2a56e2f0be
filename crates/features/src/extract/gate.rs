//! The gate of a feature or a factor: which documents it reads, beside their kinds.
//!
//! `within` admits a document for the securities that had an event in the days before it. An event is a document of the named source,
//! linked to the security. It is known when it is published, so it admits no document that was published earlier; documents of the same
//! second are admitted, but no event admits itself. Its days are counted from the day of `event_at` where the source gives one that is
//! not later than the publication, else from the day of publication: the day itself and so many natural days after it. `only` admits a
//! document for which a number is above 0 that is made of its own fields and, of a feature's documents, of other features.
//!
//! Both depend on documents that were published no later, so later ones change nothing. Memory: code, times and place of each event, and four bytes
//! for each document and each column that a condition reads.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use rustc_hash::FxHashMap;

use super::inputs::{InputMeta, open_set, place_of};
use super::times::ModelTimes;
use super::{Feature, Inputs, fields};
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::clean::CleanDocument;
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_lab::factor::{DocumentField, DocumentNode, Expression, Within};
use inkstone_store::{RowKind, Rows, Values};
use inkstone_tables::corpus::{Parts, texts_of, times_of};
use inkstone_tables::frames;

/// Reason of a document that is near no event of its securities.
pub(crate) const NO_EVENT: &str = "not near an event of its security (within)";
/// Reason of a document that does not meet the condition.
pub(crate) const NOT_MET: &str = "without what the condition asks for (only)";
/// Reason of a document without the fields of the condition.
pub(crate) const NO_VALUE: &str = "without a value of the condition (only)";

/// The gate of a feature or a factor.
#[derive(Default)]
pub struct Gate {
    near: Option<NearEvents>,
    only: Option<Condition>,
}

/// A number that is above 0 for the documents that are read.
struct Condition {
    node: DocumentNode,
    columns: Vec<ConditionColumn>,
    /// The features of the columns, each once.
    inputs: Vec<InputMeta>,
}

/// A column of another feature.
struct ConditionColumn {
    /// The number of the feature in the condition.
    feature: usize,
    /// The column's name; none for the first.
    column: Option<String>,
    /// The numbers of all documents, part by part.
    parts: Vec<Vec<f32>>,
}

/// The events of a source, and how long they count.
struct NearEvents {
    days: i64,
    /// By security, in the order in which they were published.
    events: FxHashMap<Code, Vec<GateEvent>>,
}

struct GateEvent {
    published_at: NaiveDateTime,
    /// Day from which its days are counted, not later than the publication.
    day: NaiveDate,
    /// Part and row of the document.
    place: (usize, usize),
}

impl Gate {
    /// The gate of a factor: reads the events of the corpus, if `within` is given, and makes the condition `only` ready, if it is not empty.
    pub fn open(within: Option<&Within>, only: &Expression, clean: &Parts, links: &Parts, ctx: &Ctx) -> Result<Gate> {
        let only = match only.is_empty() {
            true => None,
            false => {
                let node = only.of_document().context(Word("only 中", "in only"))?;
                Some(Condition { node, columns: Vec::new(), inputs: Vec::new() })
            }
        };
        Gate::with_condition(within, only, clean, links, ctx)
    }

    /// The gate of a feature, whose condition may read other features.
    pub(crate) fn of_feature(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<Gate> {
        let only = match feature.only.is_empty() {
            true => None,
            false => Some(Condition::read(&feature.only, inputs, ctx).context(Word("only 中", "in only"))?),
        };
        Gate::with_condition(feature.within.as_ref(), only, inputs.clean, inputs.links, ctx)
    }

    fn with_condition(
        within: Option<&Within>,
        only: Option<Condition>,
        clean: &Parts,
        links: &Parts,
        ctx: &Ctx,
    ) -> Result<Gate> {
        let near = within.map(|within| NearEvents::read(within, clean, links, ctx)).transpose()?;
        Ok(Gate { near, only })
    }

    /// True if every document is admitted.
    pub(crate) fn is_open(&self) -> bool {
        self.near.is_none() && self.only.is_none()
    }

    /// True if the texts of documents are needed.
    pub(crate) fn reads_text(&self) -> bool {
        self.only.as_ref().is_some_and(|only| only.node.has_field(DocumentField::Length))
    }

    /// The features that the condition reads.
    pub(crate) fn inputs(&self) -> &[InputMeta] {
        self.only.as_ref().map_or(&[], |only| &only.inputs)
    }

    /// Number of events, each counted for each of its securities; none without `within`.
    pub(crate) fn events(&self) -> Option<usize> {
        self.near.as_ref().map(|near| near.events.values().map(Vec::len).sum())
    }

    /// The securities of a document for which it is admitted, or the reason why there is none. `place` = its part and row.
    pub fn admit(
        &self,
        doc: &CleanDocument,
        mut codes: Vec<Code>,
        place: (usize, usize),
    ) -> Result<Vec<Code>, &'static str> {
        if let Some(only) = &self.only {
            let number = only.number(doc, place);
            if number.is_nan() {
                return Err(NO_VALUE);
            }
            if number <= 0.0 {
                return Err(NOT_MET);
            }
        }
        if let Some(near) = &self.near {
            codes.retain(|code| near.has(code, doc.document.published_at, place));
            if codes.is_empty() {
                return Err(NO_EVENT);
            }
        }
        Ok(codes)
    }
}

impl Condition {
    fn read(only: &Expression, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<Condition> {
        let (node, features) = only.of_document_and_features()?;
        let mut named: Vec<(usize, Option<String>)> = Vec::new();
        node.each_column(&mut |feature, column| {
            let column = (feature, column.map(str::to_owned));
            if !named.contains(&column) {
                named.push(column);
            }
        });
        let mut condition = Condition { node, columns: Vec::new(), inputs: Vec::new() };
        for (feature, column) in named {
            let name = &features[feature];
            let context = || format!("feature {name:?}");
            let (set, meta) = open_set(inputs, name).with_context(context)?;
            let RowKind::Dense { dim } = set.header().spec.kind else {
                bail!(
                    "{}：其行是稀疏的，没有可供条件读取的数值",
                    "{}: its rows are sparse, so it has no number that a condition can read",
                    context()
                );
            };
            let place = column.as_deref().map_or(Ok(0), |column| place_of(column, &meta)).with_context(context)?;
            let mut parts = Vec::new();
            for rows in set.batches() {
                ctx.check()?;
                let Rows { values: Values::Dense { data, .. }, .. } = rows? else {
                    bail!("稠密特征集中有稀疏行", "sparse rows in a dense set")
                };
                parts.push(data.iter().skip(place).step_by(dim).copied().collect());
            }
            ensure!(
                parts.len() == inputs.clean.files()?.len(),
                "特征 {name:?} 的行属于另一语料：请重新计算",
                "the rows of feature {name:?} are of another corpus: compute it again"
            );
            if condition.inputs.iter().all(|input| input.name != *name) {
                let (set, times) = (set.header().id(), ModelTimes::read(set.header())?);
                condition.inputs.push(InputMeta { name: name.clone(), set, columns: Some(dim), times });
            }
            condition.columns.push(ConditionColumn { feature, column, parts });
        }
        Ok(condition)
    }

    /// The number of the document in this part and row; NaN where it lacks what the condition reads.
    fn number(&self, doc: &CleanDocument, (part, row): (usize, usize)) -> f64 {
        let column = |feature: usize, name: Option<&str>| {
            let column =
                self.columns.iter().find(|column| column.feature == feature && column.column.as_deref() == name);
            let number = column.and_then(|column| column.parts.get(part)?.get(row));
            number.map_or(f64::NAN, |number| f64::from(*number))
        };
        let no_weights = BTreeMap::new();
        self.node.value(&column, &|field| fields::number(doc, field, &no_weights))
    }
}

impl NearEvents {
    fn read(within: &Within, clean: &Parts, links: &Parts, ctx: &Ctx) -> Result<NearEvents> {
        let mut events: FxHashMap<Code, Vec<GateEvent>> = FxHashMap::default();
        for part in 0..clean.files()?.len() {
            ctx.check()?;
            let path = clean.path(part);
            let frame = frames::read_parquet(&path, Some(&["source", "published_at", "event_at"]))?;
            let sources = texts_of(&frame, "source")?;
            let rows: Vec<usize> =
                (0..frame.height()).filter(|&row| sources.get(row) == Some(within.source.as_str())).collect();
            if rows.is_empty() {
                continue;
            }
            let (published, happened) = (times_of(&frame, "published_at")?, times_of(&frame, "event_at")?);
            let links = links_of_part(&links.path(part))?;
            for row in rows {
                let published_at = published[row].with_context(|| {
                    message!(
                        "{} 的第 {row} 行没有时间：请重新运行",
                        "row {row} of {} has no time: run again",
                        path.display()
                    )
                })?;
                let time = happened[row].filter(|time| *time <= published_at).unwrap_or(published_at);
                for code in codes_of(&links, row as u32) {
                    events.entry(code).or_default().push(GateEvent {
                        published_at,
                        day: time.date(),
                        place: (part, row),
                    });
                }
            }
        }
        events.values_mut().for_each(|events| events.sort_by_key(|event| (event.published_at, event.place)));
        Ok(NearEvents { days: i64::from(within.days), events })
    }

    /// True if another document than that at `place` is an event of the security that counts at this time.
    fn has(&self, code: &Code, time: NaiveDateTime, place: (usize, usize)) -> bool {
        let Some(events) = self.events.get(code) else { return false };
        let known = events.partition_point(|event| event.published_at <= time);
        let age = |day: NaiveDate| (time.date() - day).num_days();
        // The day of an event is not later than its publication: behind the first that was published too early all are too old.
        let mut recent = events[..known].iter().rev().take_while(|event| age(event.published_at.date()) <= self.days);
        recent.any(|event| event.place != place && age(event.day) <= self.days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::data::Document;
    use inkstone_corpus::clean::clean_to_frame;
    use inkstone_corpus::link::{Link, TextField, Via, links_to_frame};

    const CODES: [&str; 3] = ["600001.SH", "600002.SH", "600003.SH"];

    /// A document of a source about some of the three securities, published on a day and hour of March 2024.
    fn doc(source: &str, codes: &[usize], day: u32, hour: u32) -> CleanDocument {
        let day = NaiveDate::from_ymd_opt(2024, 3, day).unwrap();
        let document = Document {
            source: source.into(),
            codes: codes.iter().map(|&code| Code::canonical(CODES[code])).collect(),
            published_at: day.and_hms_opt(hour, 0, 0).unwrap(),
            ..Document::default()
        };
        CleanDocument { text: Default::default(), document, first_mention: String::new(), similarity: 0.0 }
    }

    /// For each document, two to a part, the numbers of the securities for which it is admitted.
    fn admitted(docs: &[CleanDocument], within: Option<&Within>, only: &str) -> Vec<Result<Vec<usize>, &'static str>> {
        let dir = tempfile::tempdir().unwrap();
        let (clean, links) = (Parts::new(dir.path().join("clean")), Parts::new(dir.path().join("links")));
        for (part, docs) in docs.chunks(2).enumerate() {
            let link = |(row, code): (usize, &Code)| {
                let (field, via) = (TextField::Title, Via::Given);
                Link { row: row as u32, code: code.clone(), field, start: 0, end: 0, via, ambiguous: false }
            };
            let codes = docs.iter().enumerate().flat_map(|(row, doc)| doc.document.codes.iter().map(move |c| (row, c)));
            links.write(part, &mut links_to_frame(&codes.map(link).collect::<Vec<_>>()).unwrap()).unwrap();
            clean.write(part, &mut clean_to_frame(docs).unwrap()).unwrap();
        }
        let ctx = Ctx::new(1, 1).unwrap();
        let gate = Gate::open(within, &only.parse().unwrap(), &clean, &links, &ctx).unwrap();
        let number = |code: Code| CODES.iter().position(|known| *known == code.as_str()).unwrap();
        let admit = |(i, doc): (usize, &CleanDocument)| {
            let codes = gate.admit(doc, doc.document.codes.clone(), (i / 2, i % 2))?;
            Ok(codes.into_iter().map(number).collect())
        };
        docs.iter().enumerate().map(admit).collect()
    }

    fn within(days: u32) -> Within {
        Within { source: "previews".into(), days }
    }

    #[test]
    fn three_securities_by_hand() {
        let dated = |mut doc: CleanDocument, day: u32, hour: u32| {
            doc.document.event_at = NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(hour, 0, 0);
            doc
        };
        let cases = [
            // The first security has an event on the 4th, the second on the 10th, dated to the 8th; the third has none.
            (doc("previews", &[0], 4, 20), Err(NO_EVENT)),
            (dated(doc("previews", &[1], 10, 18), 8, 0), Err(NO_EVENT)),
            (doc("reports", &[0], 4, 19), Err(NO_EVENT)),
            (doc("reports", &[0], 4, 20), Ok(vec![0])),
            (doc("reports", &[0], 9, 23), Ok(vec![0])),
            (doc("reports", &[0], 10, 0), Err(NO_EVENT)),
            (doc("reports", &[0, 2], 5, 9), Ok(vec![0])),
            (doc("reports", &[1], 9, 9), Err(NO_EVENT)),
            (doc("reports", &[1], 13, 23), Ok(vec![1])),
            (doc("reports", &[1], 17, 0), Err(NO_EVENT)),
            (doc("reports", &[2], 5, 9), Err(NO_EVENT)),
            (doc("reports", &[], 5, 9), Err(NO_EVENT)),
            // A date that is ahead of the publication, as of a meeting to come, does not count.
            (dated(doc("previews", &[0], 20, 9), 29, 0), Err(NO_EVENT)),
            (doc("reports", &[0], 25, 9), Ok(vec![0])),
            (doc("reports", &[0], 26, 9), Err(NO_EVENT)),
            // One event is near another.
            (doc("previews", &[1], 11, 9), Ok(vec![1])),
        ];
        let docs: Vec<CleanDocument> = cases.iter().map(|(doc, _)| doc.clone()).collect();
        let found = admitted(&docs, Some(&within(5)), "");
        for ((doc, expected), found) in cases.iter().zip(found) {
            assert_eq!(found, *expected, "{:?}", doc.document);
        }
    }

    #[test]
    fn later_documents_change_nothing() {
        // Sixty documents in the order of their times, of all sources and securities, some about two.
        let docs: Vec<CleanDocument> = (0..60u32)
            .map(|i| {
                let codes = [(i * 7 % 3) as usize, (i * 5 % 4) as usize];
                let codes = if codes[1] < 3 && codes[0] != codes[1] { &codes[..] } else { &codes[..1] };
                let mut doc = doc(if i % 4 == 1 { "previews" } else { "reports" }, codes, 1 + i / 2, 8 + i % 2);
                let (shift, time) = (i64::from(i % 9) - 4, doc.document.published_at);
                doc.document.event_at = (i % 5 == 1).then(|| time + chrono::TimeDelta::days(shift));
                doc
            })
            .collect();
        for days in [1, 3, 10] {
            let all = admitted(&docs, Some(&within(days)), "");
            let some = all.iter().filter(|found| found.is_ok()).count();
            assert!((5..60).contains(&some), "{some} of 60 are admitted");
            for n in 1..docs.len() {
                assert_eq!(admitted(&docs[..n], Some(&within(days)), ""), all[..n], "the first {n}, {days} days");
            }
        }
    }

    #[test]
    fn a_condition_admits_what_is_above_zero() {
        let marked = |mark: &str, rating: &str| {
            let mut doc = doc("reports", &[0], 5, 9);
            (doc.document.revised, doc.document.rating) = (Some(mark.to_owned()), Some(rating.to_owned()));
            doc
        };
        let docs = [marked("上调", "买入"), marked("维持", "买入"), marked("", "买入"), marked("下调", "减持")];
        let yes = || Ok(vec![0]);
        assert_eq!(admitted(&docs, None, "document.revised"), [yes(), Err(NOT_MET), Err(NO_VALUE), yes()]);
        let both = "document.revised * document.rating";
        assert_eq!(admitted(&docs, None, both), [yes(), Err(NOT_MET), Err(NO_VALUE), Err(NOT_MET)]);
        assert_eq!(admitted(&docs, None, ""), [yes(), yes(), yes(), yes()]);
        assert_eq!(admitted(&docs[..1], Some(&within(5)), "document.revised"), [Err(NO_EVENT)]);
    }
}
