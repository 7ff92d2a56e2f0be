//! Marks boilerplate in documents: sentences known as boilerplate before a document, and the user's decisions.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;

use super::decisions::{Added, Decisions, What};
use super::form::{Former, names_of};
use super::learn::{Learned, RecurringSentence, told_apart};
use super::list::{Boilerplate, Status, id_of};
use super::outline::outlined;
use super::table::{Salience, Sentence};
use super::{Params, Section, can_be_boilerplate, full_text, publisher_of};
use crate::clean::CleanDocument;
use inkstone_base::data::{Document, Report};
use inkstone_base::message;

/// A sentence of the list: its form, and its publisher if it is boilerplate of one.
type KnownSentence = (u64, Option<u32>);

/// Marks documents, and gathers the list on the way.
pub(super) struct Marker<'p> {
    params: &'p Params,
    learned: Learned,
    decisions: Decisions,
    /// Sentences that the user added, by form without names.
    texts: FxHashMap<u64, Vec<usize>>,
    /// Sentences that stood first in a document, by part and row.
    firsts: FxHashMap<(u32, u32), Vec<KnownSentence>>,
    /// The sentences of the list as they stood first.
    as_written: FxHashMap<KnownSentence, String>,
}

/// A document's sentences, and the sentences of the list that stood first in it.
pub(super) struct Marked {
    pub(super) sentences: Vec<Sentence>,
    pub(super) firsts: Vec<(KnownSentence, String)>,
}

impl<'p> Marker<'p> {
    pub(super) fn new(mut learned: Learned, decisions: Decisions, params: &'p Params) -> Marker<'p> {
        let mut firsts: FxHashMap<(u32, u32), Vec<KnownSentence>> = FxHashMap::default();
        let mut note = |entry: &mut RecurringSentence, publisher: Option<(u32, &str)>, hash: u64| {
            entry.refused = decisions.refused.contains(&id_of(publisher.map(|p| p.1), hash));
            let known = (hash, publisher.map(|p| p.0));
            firsts.entry((entry.first.part, entry.first.row)).or_default().push(known);
        };
        for (&(hash, publisher), entry) in &mut learned.own {
            note(entry, Some((publisher, &learned.publishers[publisher as usize])), hash);
        }
        for (&hash, all) in &mut learned.everybody {
            if let Some(entry) = &mut all.entry {
                note(entry, None, hash);
            }
        }
        let mut texts: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (i, added) in decisions.added.iter().enumerate() {
            if let What::Text(text) = &added.what {
                texts.entry(Former::default().any(text)).or_default().push(i);
            }
        }
        Marker { params, learned, decisions, texts, firsts, as_written: FxHashMap::default() }
    }

    /// The sentences of the document in this part and row.
    pub(super) fn mark(&self, doc: &CleanDocument, place: (u32, u32)) -> Result<Marked> {
        let text = full_text(doc);
        let name = publisher_of(&doc.document);
        let (publisher, time) = (self.learned.publisher(name), doc.document.published_at);
        let names = names_of(&doc.document);
        let learns = self.params.learns(doc.document.kind);
        let wanted = self.firsts.get(&place).map_or(&[][..], Vec::as_slice);
        let mut former = Former::default();
        let mut marked = Marked { sentences: Vec::new(), firsts: Vec::new() };
        for (range, section) in outlined(&text, doc.document.title.len()) {
            let sentence = &text[range.clone()];
            let hash = (learns && can_be_boilerplate(section))
                .then(|| former.hash(sentence, &names, self.params.min_chars))
                .flatten()
                .map(|hash| told_apart(hash, section));
            for known in wanted.iter().filter(|known| Some(known.0) == hash) {
                if !marked.firsts.iter().any(|(told, _)| told == known) {
                    marked.firsts.push((*known, sentence.to_owned()));
                }
            }
            let learned = hash.is_some_and(|hash| self.learned.marks(hash, publisher, time));
            let boilerplate =
                learned || (section != Section::Title && self.is_added(sentence, name, time, &mut former));
            let offset = |at: usize| {
                let id = &doc.document.doc_id;
                u32::try_from(at).with_context(|| {
                    message!(
                        "文档 {id:?} 大于 4 GiB：请拆分或剔除",
                        "document {id:?} is longer than 4 GiB: split it, or leave it out"
                    )
                })
            };
            let range = offset(range.start)?..offset(range.end)?;
            marked.sentences.push(Sentence { range, section, boilerplate, salience: Salience::NONE });
        }
        join_the_law(&mut marked.sentences);
        Ok(marked)
    }

    /// True if the user added a sentence to the boilerplate.
    fn is_added(&self, sentence: &str, publisher: &str, time: NaiveDateTime, former: &mut Former) -> bool {
        let counts =
            |added: &Added| added.from < time && added.publisher.as_deref().is_none_or(|name| name == publisher);
        let added = &self.decisions.added;
        let by_text = !self.texts.is_empty()
            && self.texts.get(&former.any(sentence)).is_some_and(|which| which.iter().any(|&i| counts(&added[i])));
        by_text
            || added.iter().any(|one| match &one.what {
                What::Pattern(pattern) => counts(one) && pattern.is_match(sentence),
                What::Text(_) => false,
            })
    }

    /// Takes sentences of the list as they stood first.
    pub(super) fn note(&mut self, firsts: Vec<(KnownSentence, String)>) {
        self.as_written.extend(firsts);
    }

    /// The list, in no order.
    pub(super) fn list(&self) -> Vec<Boilerplate> {
        let total: u32 = self.learned.documents.iter().sum();
        let row = |hash: u64, publisher: Option<u32>, entry: &RecurringSentence| {
            let name = publisher.map(|number| self.learned.publishers[number as usize].clone());
            let read = publisher.map_or(total, |number| self.learned.documents[number as usize]);
            let id = id_of(name.as_deref(), hash);
            let status = self.decisions.status(&id);
            Boilerplate {
                id,
                publisher: name,
                text: self.as_written.get(&(hash, publisher)).cloned().unwrap_or_default(),
                documents: entry.documents,
                share: f64::from(entry.documents) / f64::from(read.max(1)),
                first_seen: entry.first.time,
                known_from: entry.known_from(),
                status,
            }
        };
        let own = self.learned.own.iter().map(|(&(hash, publisher), entry)| row(hash, Some(publisher), entry));
        let everybody = self.learned.everybody.iter();
        let everybody = everybody.filter_map(|(&hash, all)| Some(row(hash, None, all.entry.as_ref()?)));
        own.chain(everybody).collect()
    }

    /// Reports on the list and the decisions.
    pub(super) fn tell(&self, list: &[Boilerplate], report: &mut Report) {
        report.fact("boilerplate_list", list.len());
        report.fact("boilerplate_refused", list.iter().filter(|row| row.status == Status::Refused).count());
        let decided = self.decisions.accepted.iter().chain(&self.decisions.refused);
        let stale: Vec<&String> = decided.filter(|id| !list.iter().any(|row| row.id == **id)).collect();
        if !stale.is_empty() {
            report.fact("decisions_without_a_sentence", stale);
        }
    }
}

/// The ids under which the list of boilerplate may have a sentence of a document: its publisher's own, and everybody's; none where it
/// can be no boilerplate. A section that sentences only joined with the law counts as the body that it was.
pub fn ids_of(document: &Document, sentence: &str, section: Section, params: &Params) -> Vec<String> {
    let names = names_of(document);
    let Some(hash) = Former::default().hash(sentence, &names, params.min_chars) else { return Vec::new() };
    let publisher = publisher_of(document);
    let sections = if section == Section::Disclaimer { vec![section, Section::Body] } else { vec![section] };
    let hashes = sections.into_iter().map(|section| told_apart(hash, section));
    hashes.flat_map(|hash| [id_of(Some(publisher), hash), id_of(None, hash)]).collect()
}

/// Boilerplate beside legal notes, with nothing but boilerplate between, belongs to them.
fn join_the_law(sentences: &mut [Sentence]) {
    let length = sentences.len();
    let mut sweep = |order: &mut dyn Iterator<Item = usize>| {
        let mut law = false;
        for i in order {
            let sentence = &mut sentences[i];
            let joins =
                sentence.boilerplate && matches!(sentence.section, Section::Body | Section::Summary | Section::Header);
            if law && joins {
                sentence.section = Section::Disclaimer;
            }
            law = sentence.section == Section::Disclaimer;
        }
    };
    sweep(&mut (0..length));
    sweep(&mut (0..length).rev());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boilerplate_beside_legal_notes_is_one_of_them() {
        use Section::*;
        let sentence =
            |(section, boilerplate)| Sentence { range: 0..1, section, boilerplate, salience: Salience::NONE };
        let given = [
            (Body, true),
            (Body, false),
            (Body, true),
            (Header, true),
            (Disclaimer, false),
            (Summary, true),
            (Risk, true),
            (Body, true),
        ];
        let mut sentences = given.map(sentence);
        join_the_law(&mut sentences);
        let sections = sentences.map(|sentence| sentence.section);
        assert_eq!(sections, [Body, Body, Disclaimer, Disclaimer, Disclaimer, Disclaimer, Risk, Body]);
    }
}
