//! Cleaning: one normal form for every text, and a mark on every text that repeats an earlier one.
//!
//! Reads the documents as ingested and writes them part by part with clean text, the key of that text, and the first
//! mention of their story. The normal form is [`normalise()`]'s; `duplicates.rs` defines repeats.
//! A mark depends on earlier documents only, so a later document never changes what was known before.
//!
//! Useful for: whatever reads text after this stage. Not for: judging sources or dropping rows; nothing is dropped.

mod duplicates;
mod markup;
mod minhash;
mod normalise;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use polars_core::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, Series};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_base::data::{Document, Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_tables::corpus::{
    Parts, column, documents_from_frame, documents_to_frame, texts_column, texts_of, times_of,
};
use inkstone_tables::frames;
use inkstone_tables::made;

use duplicates::{Mark, SettledMarks, Trace, Traces};
pub(crate) use markup::BLOCKS;
use minhash::Sketcher;
pub use normalise::normalise;
pub(crate) use normalise::normalise_line;

/// Changes whenever the same document would be cleaned differently, so that parts of an older version are not kept.
pub const VERSION: u32 = 2;

/// The file beside the clean parts, while they are being written, with the time from which on marks may be of another run.
const UNFINISHED: &str = "unfinished";

/// Characters of a shingle: 5, as Leskovec, Rajaraman and Ullman take for short texts (Mining of Massive Datasets, section 3.2).
const SHINGLE: usize = 5;

/// Parameters of the normal form and of repeats (`[clean]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Remove HTML and XML markup and decode entities. Default true.
    pub markup: bool,
    /// Read `1，234` (a Chinese comma between groups of three digits) as `1,234`. Default false: such a comma may as
    /// well part two numbers of a list.
    pub unify_numbers: bool,
    /// Remove the title with which a body begins, in 【】 or as a line of its own. Default false: what reads title and body counts its words twice
    /// then, as vendors of flashes send them.
    pub drop_repeated_title: bool,
    /// Least Jaccard similarity of a near duplicate with its first mention, 0.6 to 1. Default 0.8; 1 leaves only
    /// texts of the same shingles.
    pub threshold: f64,
    /// Natural days after which a first mention is forgotten. Default 30; 0 never forgets.
    pub window_days: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { markup: true, unify_numbers: false, drop_repeated_title: false, threshold: 0.8, window_days: 30 }
    }
}

impl Params {
    /// Fails, naming the setting, when a value is out of its range.
    pub fn check(&self) -> Result<()> {
        bounds::check("clean", self)
    }
}

/// A document whose text is in normal form, with the first mention of its story.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanDocument {
    /// The document; title (one line) and body are clean.
    pub document: Document,
    /// Key of the clean title and body: equal for equal texts.
    pub text: Key,
    /// `doc_id` of the first mention; the document's own when nothing like it came before.
    pub first_mention: String,
    /// Similarity to the first mention: 1 for the same words, the estimated Jaccard similarity for a near duplicate,
    /// 0 for a first mention (nothing before was like it, so `1 - similarity` is its novelty).
    pub similarity: f32,
}

impl CleanDocument {
    /// True if it is the first mention of its story.
    pub fn is_first(&self) -> bool {
        self.first_mention == self.document.doc_id
    }
}

/// Clean documents as a frame: the columns of documents, then `text`, `first_mention`, `similarity`. For tests of the
/// stages after this one, which itself writes part by part.
#[doc(hidden)]
pub fn clean_to_frame(docs: &[CleanDocument]) -> Result<DataFrame> {
    let documents: Vec<Document> = docs.iter().map(|d| d.document.clone()).collect();
    let texts: Vec<Key> = docs.iter().map(|d| d.text).collect();
    frame_of(&documents, &texts, docs.iter().map(|d| (d.first_mention.as_str(), d.similarity)))
}

/// Reads clean documents from a frame: the columns of documents, then `text`, `first_mention`, `similarity`.
fn clean_from_frame(frame: &DataFrame) -> Result<Vec<CleanDocument>> {
    let [text, first_mention] = [texts_of(frame, "text")?, texts_of(frame, "first_mention")?];
    let similarity = column(frame, "similarity")?.f32()?;
    let documents = documents_from_frame(frame)?;
    let rows = documents.into_iter().enumerate();
    rows.map(|(i, document)| {
        let key = text.get(i).and_then(Key::from_hex);
        Ok(CleanDocument {
            text: key.with_context(|| {
                message!(
                    "第 {i} 行没有文本键：这不是清洗后文档的表",
                    "row {i} has no text key: this is not a table of clean documents"
                )
            })?,
            first_mention: first_mention.get(i).unwrap_or(&document.doc_id).to_owned(),
            similarity: similarity.get(i).unwrap_or(0.0),
            document,
        })
    })
    .collect()
}

/// The clean documents of one part.
pub fn clean_of_part(path: &Path) -> Result<Vec<CleanDocument>> {
    clean_from_frame(&frames::read_parquet(path, None)?)
        .with_context(|| message!("无法使用 {}", "cannot use {}", path.display()))
}

/// The clean documents of one part with empty titles and bodies, whose columns, most of the file, are not read.
pub fn clean_of_part_without_text(path: &Path) -> Result<Vec<CleanDocument>> {
    let texts = ["title", "body"];
    let mut frame = frames::read_parquet_without(path, &texts)?;
    for name in texts {
        let none = Column::full_null(name.into(), frame.height(), &DataType::String);
        frame.with_column(none)?;
    }
    clean_from_frame(&frame).with_context(|| message!("无法使用 {}", "cannot use {}", path.display()))
}

/// For each clean document the number of the first document that it repeats, exactly or nearly, whatever time lies between (a first
/// document has its own number), and their similarity.
pub fn repeats<'d>(docs: impl Iterator<Item = &'d Document>, params: &Params, ctx: &Ctx) -> Result<Vec<(usize, f32)>> {
    let sketcher = Sketcher::new(SHINGLE);
    let mut corpus = Traces::default();
    for doc in docs {
        ctx.check()?;
        corpus.push(&doc.doc_id, Trace::new(doc, &sketcher));
    }
    let marks = duplicates::mark(&corpus, &SettledMarks::default(), &Params { window_days: 0, ..params.clone() }, ctx)?;
    Ok(marks.iter().map(|mark| (mark.first as usize, mark.similarity)).collect())
}

/// The note of a clean part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartNote {
    rules: Key,
    /// The part of the corpus that it was made of.
    source: Key,
    rows: usize,
    bytes_in: u64,
    bytes_out: u64,
    /// Seconds of the earliest and of the latest publication.
    span: (i64, i64),
}

/// A part of the corpus on its way to a clean one.
struct PartWork {
    note: PartNote,
    /// Rows at its beginning that the clean part was made of, too: only their marks may change.
    made_rows: usize,
    /// True if not even those can: the part is older than all that changed, by more than the window of repeats.
    stands: bool,
}

/// Cleans `documents` into `out`, part by part.
///
/// Two passes over the parts: the first sketches every text (about 330 bytes a document stay in memory), the marks are
/// set in the order of time, and the second pass writes. Normalising twice costs less than writing twice, and each part
/// is written once, complete. A part that was written before, of the same documents with the same marks, is kept; texts of parts that are older
/// than everything that changed, by more than the window of repeats, are not read again.
///
/// Documents of the sources `known_at_ingestion` count as known, and stand as published, at the later one of publication and ingestion.
pub fn run(
    documents: &Parts,
    out: &Parts,
    params: &Params,
    known_at_ingestion: &BTreeSet<&str>,
    ctx: &Ctx,
) -> Result<Report> {
    params.check()?;
    let files = documents.files()?;
    let rules = (VERSION, params, known_at_ingestion);
    let rules_key = Key::of_json(&rules);
    let sketcher = Sketcher::new(SHINGLE);
    let (mut work, mut sketched) = (Vec::with_capacity(files.len()), BTreeMap::new());
    let read = |i: usize| -> Result<(PartNote, Vec<(String, Trace)>)> {
        let mut docs = known_documents(&files[i], known_at_ingestion)?;
        let (rows, bytes_in) = (docs.len(), text_bytes(&docs));
        let traces = clean_each(&mut docs, 0, params, ctx, |doc| Trace::new(doc, &sketcher))?;
        let times = || traces.iter().map(|trace| trace.at);
        let span = (times().min().unwrap_or(i64::MAX), times().max().unwrap_or(i64::MIN));
        let note = PartNote {
            rules: rules_key,
            source: disk::hash_file(&files[i])?,
            rows,
            bytes_in,
            bytes_out: text_bytes(&docs),
            span,
        };
        Ok((note, docs.into_iter().map(|doc| doc.doc_id).zip(traces).collect()))
    };
    // The earliest publication among all documents that came, went or changed.
    let mut changed_from = i64::MAX;
    for (i, file) in files.iter().enumerate() {
        let before = made::counts::<PartNote>(out, i);
        let same_rules = before.clone().filter(|note| note.rules == rules_key);
        if let Some(note) =
            same_rules.clone().filter(|note| disk::hash_file(file).is_ok_and(|hash| hash == note.source))
        {
            work.push(PartWork { made_rows: note.rows, note, stands: false });
            continue;
        }
        let (note, traces) = read(i)?;
        let old = if same_rules.is_some() { settled_traces(&out.path(i))? } else { Vec::new() };
        let is_same = |((id, trace), (old_id, old)): &(&(String, Trace), &(String, Trace))| {
            (id, trace.at, trace.text) == (old_id, old.at, old.text)
        };
        let made_rows = traces.iter().zip(&old).take_while(is_same).count();
        let gone = before.filter(|note| note.rules != rules_key).map_or(i64::MAX, |note| note.span.0);
        let changed = traces[made_rows..].iter().chain(&old[made_rows..]).map(|(_, trace)| trace.at).min();
        let unknown = out.path(i).exists() && made::counts::<PartNote>(out, i).is_none();
        changed_from = if unknown { i64::MIN } else { changed_from.min(gone).min(changed.unwrap_or(i64::MAX)) };
        sketched.insert(i, traces);
        work.push(PartWork { made_rows, note, stands: false });
    }
    // A run that was killed had changed some marks and others not yet.
    let unfinished = out.folder().join(UNFINISHED);
    if unfinished.exists() {
        changed_from = changed_from.min(disk::read_json_if_whole(&unfinished)?.unwrap_or(i64::MIN));
    }
    for surplus in files.len()..out.files()?.len() {
        let gone_from = made::counts::<PartNote>(out, surplus).map_or(i64::MIN, |note| note.span.0);
        changed_from = changed_from.min(gone_from);
    }
    if changed_from < i64::MAX {
        disk::write_json(&unfinished, &changed_from)?;
    }
    let window = duplicates::window(params);
    let mut corpus = Traces::default();
    for (i, part) in work.iter_mut().enumerate() {
        part.stands = !sketched.contains_key(&i)
            && (changed_from == i64::MAX
                || window.is_some_and(|window| part.note.span.1 < changed_from.saturating_sub(window)));
        let traces = match sketched.remove(&i) {
            Some(traces) => traces,
            None if part.stands => {
                ctx.advance(part.note.rows as u64)?;
                settled_traces(&out.path(i))?
            }
            None => read(i)?.1,
        };
        traces.into_iter().for_each(|(id, trace)| corpus.push(&id, trace));
    }
    let settled = settled_marks(&corpus, &work, out, changed_from)?;
    let marks = duplicates::mark(&corpus, &settled, params, ctx)?;
    let (mut first_row, mut kept) = (0, 0u64);
    for (i, part) in work.iter().enumerate() {
        let (rows, hash) = (part.note.rows, part.note.source);
        let marks = marks[first_row..first_row + rows].iter().map(|m| (corpus.doc_id(m.first), m.similarity));
        first_row += rows;
        if part.stands {
            kept += 1;
            continue;
        }
        let key =
            Key::of_json(&(&rules, hash, marks.clone().map(|(id, alike)| (id, alike.to_bits())).collect::<Vec<_>>()));
        if made::stands::<PartNote>(out, i, key).is_some() {
            ctx.advance(rows as u64 / 2)?;
            kept += 1;
            continue;
        }
        let file = &files[i];
        ensure!(
            disk::hash_file(file)? == hash,
            "{} 在清洗期间被改动；请重新运行",
            "{} changed while it was cleaned; run again",
            file.display()
        );
        let mut docs = known_documents(file, known_at_ingestion)?;
        let texts = clean_each(&mut docs, 1, params, ctx, duplicates::key_of_text)?;
        out.write(i, &mut frame_of(&docs, &texts, marks)?)?;
        made::note(out, i, key, &part.note)?;
    }
    made::truncate(out, files.len())?;
    if unfinished.exists() {
        disk::remove_if_there(&unfinished)?;
        disk::sync_folder(out.folder())?;
    }
    let mut report = Report::new("clean");
    report.rows_in = marks.len() as u64;
    report.rows_out = marks.len() as u64;
    duplicates::tell(&corpus, &marks, &mut report);
    report.fact("bytes_in", work.iter().map(|part| part.note.bytes_in).sum::<u64>());
    report.fact("bytes_out", work.iter().map(|part| part.note.bytes_out).sum::<u64>());
    report.fact("parts_kept", kept);
    Ok(report)
}

/// The ids of a clean part, with traces that no later document is compared with.
fn settled_traces(part: &Path) -> Result<Vec<(String, Trace)>> {
    let frame = frames::read_parquet(part, Some(&["doc_id", "published_at", "text"]))?;
    let (ids, texts) = (texts_of(&frame, "doc_id")?, texts_of(&frame, "text")?);
    let times = times_of(&frame, "published_at")?.into_iter().enumerate();
    let trace = |(row, at): (usize, Option<NaiveDateTime>)| {
        let key = texts.get(row).and_then(Key::from_hex);
        let (at, key) = at.zip(key).with_context(|| {
            message!("{} 的第 {row} 行没有时间或文本键", "row {row} of {} has no time or text key", part.display())
        })?;
        Ok((ids.get(row).unwrap_or_default().to_owned(), Trace::settled(at.and_utc().timestamp(), key)))
    };
    times.map(trace).collect()
}

/// The marks of parts that were made before, as far as nothing that changed precedes their documents.
fn settled_marks(corpus: &Traces, work: &[PartWork], out: &Parts, from: i64) -> Result<SettledMarks> {
    let mut settled = SettledMarks { from, ..SettledMarks::default() };
    if !work.iter().any(|part| part.made_rows > 0 && part.note.span.0 < from) {
        return Ok(settled);
    }
    let rows = corpus.rows();
    let mut row = 0u32;
    for (i, part) in work.iter().enumerate() {
        if part.made_rows > 0 && part.note.span.0 < from {
            let frame = frames::read_parquet(&out.path(i), Some(&["first_mention", "similarity"]))?;
            let (firsts, similarities) = (texts_of(&frame, "first_mention")?, column(&frame, "similarity")?.f32()?);
            for at in 0..part.made_rows as u32 {
                let first = firsts.get(at as usize).and_then(|id| rows.get(id));
                let mark = first.zip(similarities.get(at as usize));
                if let Some((&first, similarity)) = mark.filter(|_| corpus.at(row + at) < from) {
                    settled.marks.insert(row + at, Mark { first, similarity });
                }
            }
        }
        row += part.note.rows as u32;
    }
    ensure!(
        row as usize == corpus.len(),
        "清洗结果与语料不符：请删除文件夹 {}",
        "the clean parts do not fit the corpus: remove the folder {}",
        out.folder().display()
    );
    Ok(settled)
}

/// The documents of a part of the corpus, published when they were known.
fn known_documents(part: &Path, known_at_ingestion: &BTreeSet<&str>) -> Result<Vec<Document>> {
    let mut docs = documents_from_frame(&frames::read_parquet(part, None)?)?;
    for doc in docs.iter_mut().filter(|doc| known_at_ingestion.contains(doc.source.as_str())) {
        doc.published_at = doc.published_at.max(doc.ingested_at.unwrap_or(doc.published_at));
    }
    Ok(docs)
}

/// Brings titles and bodies into normal form, and gives what `then` makes of each document.
///
/// Each document is cleaned in two passes; the first counts the even rows as done, the second the odd ones.
fn clean_each<T: Send>(
    docs: &mut [Document],
    pass: usize,
    params: &Params,
    ctx: &Ctx,
    then: impl Fn(&Document) -> T + Sync,
) -> Result<Vec<T>> {
    ctx.install(|| {
        let rows = docs.par_iter_mut().enumerate();
        rows.map(|(i, doc)| {
            doc.title = normalise_line(&doc.title, params);
            doc.body = normalise(&doc.body, params);
            if params.drop_repeated_title
                && let Some(rest) = behind_title(&doc.body, &doc.title)
            {
                doc.body = rest.to_owned();
            }
            ctx.advance(u64::from(i % 2 == pass))?;
            Ok(then(doc))
        })
        .collect()
    })
}

/// The body behind its title, where it begins with the title: in brackets or as a line of its own.
fn behind_title<'b>(body: &'b str, title: &str) -> Option<&'b str> {
    let bracketed = || body.strip_prefix('【')?.strip_prefix(title)?.strip_prefix('】');
    let line = || body.strip_prefix(title)?.strip_prefix('\n');
    let rest = bracketed().or_else(line).filter(|_| !title.is_empty())?.trim_start();
    // A body that is its title alone stays.
    (!rest.is_empty()).then_some(rest)
}

/// Clean documents as a frame, from their pieces; `marks` are first mentions and similarities.
fn frame_of<'a>(
    docs: &[Document],
    texts: &[Key],
    marks: impl Iterator<Item = (&'a str, f32)> + Clone,
) -> Result<DataFrame> {
    let similarities: Vec<f32> = marks.clone().map(|m| m.1).collect();
    let mut frame = documents_to_frame(docs)?;
    frame.hstack_mut(&[
        texts_column("text", texts.iter().map(|t| Some(t.hex()))),
        texts_column("first_mention", marks.map(|m| Some(m.0))),
        Series::new("similarity".into(), similarities).into_column(),
    ])?;
    Ok(frame)
}

fn text_bytes(docs: &[Document]) -> u64 {
    docs.iter().map(|d| (d.title.len() + d.body.len()) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "远山科技公告，公司预计上半年净利润1.2亿元至1.5亿元，同比增长35%至60%，主要因为新产线投产、订单充足，\
                         海外客户的需求也好于年初的计划。公司表示，下半年将继续扩大产能，全年资本开支不超过8亿元，\
                         资金来自经营活动，不涉及新的融资；具体数据以半年度报告为准，敬请投资者注意风险。";

    fn document(id: &str, at: &str, title: &str, body: &str) -> Document {
        Document {
            doc_id: id.into(),
            published_at: at.parse().unwrap(),
            title: title.into(),
            body: body.into(),
            ..Document::default()
        }
    }

    fn cleaned(parts: &[&[Document]], params: &Params, threads: usize) -> (Vec<CleanDocument>, Report, Vec<Vec<u8>>) {
        let dir = tempfile::tempdir().unwrap();
        let (documents, out) = (Parts::new(dir.path().join("in")), Parts::new(dir.path().join("out")));
        for (i, part) in parts.iter().enumerate() {
            documents.write(i, &mut documents_to_frame(part).unwrap()).unwrap();
        }
        // A part of an earlier, longer run.
        out.write(7, &mut clean_to_frame(&[]).unwrap()).unwrap();
        let ctx = Ctx::new(threads, 0).unwrap();
        let report =
            ctx.stage("clean", "docs", None, || run(&documents, &out, params, &BTreeSet::new(), &ctx)).unwrap();
        assert_eq!(ctx.progress().stages()[0].done, report.rows_in);
        let files = out.files().unwrap();
        assert_eq!(files.len(), parts.len());
        let docs: Vec<CleanDocument> = files.iter().flat_map(|f| clean_of_part(f).unwrap()).collect();
        let bare = files.iter().flat_map(|f| clean_of_part_without_text(f).unwrap());
        assert!(docs.iter().cloned().zip(bare).all(|(mut doc, bare)| {
            doc.document = Document { title: String::new(), body: String::new(), ..doc.document };
            doc == bare
        }));
        (docs, report, files.iter().map(|f| std::fs::read(f).unwrap()).collect())
    }

    #[test]
    fn a_title_that_its_body_repeats_is_dropped_where_that_is_asked_for() {
        let bodies = [
            "【远山科技：拟回购】公司公告，",
            "远山科技：拟回购\n公司公告，",
            "远山科技：拟回购股份。",
            "【远山科技：拟回购】",
        ];
        let documents: Vec<Document> = (0..)
            .zip(bodies)
            .map(|(i, body)| document(&format!("news/{i}"), "2024-01-02T09:00:00", "远山科技：拟回购", body))
            .collect();
        let texts = |drop_repeated_title: bool| -> Vec<String> {
            let params = Params { drop_repeated_title, ..Params::default() };
            let (cleaned, ..) = cleaned(&[&documents], &params, 2);
            cleaned.into_iter().map(|clean| clean.document.body).collect()
        };
        assert_eq!(texts(true), ["公司公告，", "公司公告，", bodies[2], bodies[3]]);
        assert_eq!(texts(false)[..2], bodies[..2]);
    }

    #[test]
    fn the_first_in_time_is_the_first_mention_whatever_part_it_is_in() {
        let edited = format!("【转载】{}", STORY.replace("也好于", "也高于"));
        let other = STORY.replace("1.2", "2.8").replace("1.5", "3.1").replace("35", "-20").replace("60", "-10");
        let first = [document("b/1", "2024-01-02T10:00:00", "远山科技：半年报预增", &edited)];
        let second = [
            document("a/1", "2024-01-02T09:00:00", "<b>远山科技</b>：半年报预增", STORY),
            document("a/2", "2024-01-02T11:00:00", "远山科技：半年报预增", &format!(" {STORY}\n")),
            document("a/3", "2024-01-02T12:00:00", "远山科技：半年报预增", &other),
            document("a/4", "2024-01-03T12:00:00", "好", ""),
            document("a/5", "2024-01-03T12:00:01", "好！", ""),
            document("a/6", "2024-01-03T12:00:02", "", ""),
            document("a/7", "2024-01-03T12:00:03", "", "<br>"),
        ];
        let (docs, report, bytes) = cleaned(&[&first, &second], &Params::default(), 2);
        let firsts: Vec<&str> = docs.iter().map(|d| d.first_mention.as_str()).collect();
        assert_eq!(firsts, ["a/1", "a/1", "a/1", "a/3", "a/4", "a/4", "a/6", "a/7"]);
        assert!((0.8..1.0).contains(&docs[0].similarity), "{}", docs[0].similarity);
        assert_eq!(docs[1..4].iter().map(|d| d.similarity).collect::<Vec<_>>(), [0.0, 1.0, 0.0]);
        assert_eq!((docs[1].document.title.as_str(), docs[1].text), ("远山科技：半年报预增", docs[2].text));
        for (fact, n) in [("exact_duplicates", 1), ("near_duplicates", 2), ("clusters", 2), ("largest_cluster", 3)] {
            assert_eq!(report.facts[fact], n, "{fact}");
        }
        assert_eq!(report.facts["empty_texts"], 2);
        assert_eq!(cleaned(&[&first, &second], &Params::default(), 1).2, bytes);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let error = Params { threshold: 0.3, ..Params::default() }.check().unwrap_err().to_string();
        assert!(error.contains("clean.threshold: 0.3 is out of bounds; write one from 0.6 to 1"), "{error}");
    }

    /// The clean parts of a folder, their notes included.
    fn bytes(out: &Parts) -> Vec<(String, Vec<u8>)> {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let files = [out.files().unwrap(), out.numbered("json").unwrap()].concat();
        files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
    }

    #[test]
    fn a_corpus_that_grows_or_changes_is_cleaned_as_one_that_was_read_at_once() {
        let ctx = Ctx::new(2, 0).unwrap();
        let params = Params { window_days: 10, ..Params::default() };
        // Stories of a few days, told again within the window, behind it, and in the words of another part.
        let story = |n: usize| STORY.replace("远山", &format!("第{}山", n % 7)).replace("1.2", &format!("{}.7", n / 7));
        let day = |day: usize| format!("2024-{:02}-{:02}T10:00:00", 1 + day / 28, 1 + day % 28);
        let part = |part: usize, shift: usize| -> Vec<Document> {
            let row = |row: usize| {
                let (id, at) = (format!("p{part}/{row}"), day(20 * part + 2 * row + shift));
                document(&id, &at, "公告", &story(3 * part + row * row))
            };
            (0..10).map(row).collect()
        };
        let steps: Vec<Vec<Vec<Document>>> = vec![
            vec![part(0, 0)],
            vec![part(0, 0), part(1, 0)],
            vec![part(0, 0), part(1, 0), part(2, 0), part(3, 0), part(4, 0)],
            // The last part grows, a part of the past changes, one comes before others, and the last goes.
            vec![part(0, 0), part(1, 0), part(2, 0), part(3, 0), [part(4, 0), part(5, 0)].concat()],
            vec![part(0, 0), part(1, 3), part(2, 0), part(3, 0), part(4, 0)],
            vec![part(0, 0), part(1, 3), part(5, 0), part(3, 0), part(4, 0)],
            vec![part(0, 0), part(1, 3), part(5, 0), part(3, 0)],
            vec![part(0, 0), part(1, 3), part(5, 0), part(3, 0), part(2, 1)],
        ];
        let dir = tempfile::tempdir().unwrap();
        let clean = |parts: &[Vec<Document>], out: &str| {
            let (documents, out) = (Parts::new(dir.path().join("in")), Parts::new(dir.path().join(out)));
            documents.truncate(0).unwrap();
            for (i, part) in parts.iter().enumerate() {
                documents.write(i, &mut documents_to_frame(part).unwrap()).unwrap();
            }
            let work = || run(&documents, &out, &params, &BTreeSet::new(), &ctx);
            let report = ctx.stage("clean", "docs", None, work).unwrap();
            (bytes(&out), report)
        };
        for (number, parts) in steps.iter().enumerate() {
            // Every other run was killed: its marks behind some time are of nobody knows which corpus.
            if number % 2 == 1 {
                let out = Parts::new(dir.path().join("grown"));
                let last = out.files().unwrap().len() - 1;
                let mut docs = clean_of_part(&out.path(last)).unwrap();
                let note: PartNote = made::counts(&out, last).unwrap();
                docs.iter_mut().for_each(|doc| doc.first_mention = "p0/0".into());
                out.write(last, &mut clean_to_frame(&docs).unwrap()).unwrap();
                made::note(&out, last, Key::default(), &note).unwrap();
                disk::write_json(&out.folder().join(UNFINISHED), &note.span.0).unwrap();
            }
            let (grown, report) = clean(parts, "grown");
            let (at_once, whole) = clean(parts, &format!("at once {number}"));
            assert!(grown == at_once, "step {number}");
            for fact in
                ["first_mentions", "exact_duplicates", "near_duplicates", "clusters", "empty_texts", "bytes_out"]
            {
                assert_eq!(report.facts[fact], whole.facts[fact], "{fact} of step {number}");
            }
            assert!(
                whole.facts["exact_duplicates"].as_u64().unwrap() + whole.facts["near_duplicates"].as_u64().unwrap()
                    > 0
                    || number == 0
            );
        }
        assert_eq!(clean(&steps[steps.len() - 1], "grown").1.facts["parts_kept"], 5);
    }
}
