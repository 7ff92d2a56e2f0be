//! Lines as texts with a label a character.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;

use super::{LabelledUnit, LabellerParams, NameLabels};
use crate::lines::{Line, Lines, Refused};
use crate::models::onnx::right_entities;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Entities, LabelledText};
use inkstone_text::labeller::{Scheme, Span};

/// Texts that are learned from.
pub(super) struct CrfCorpus {
    pub(super) texts: Vec<LabelledText>,
    /// Names of the labels.
    pub(super) labels: Vec<String>,
    /// Words or names.
    pub(super) spans: usize,
    /// The time of each text.
    times: Vec<Option<NaiveDateTime>>,
}

/// A text with its words or names, by the bytes of each.
struct Marked {
    text: String,
    spans: Entities,
    time: Option<NaiveDateTime>,
}

impl CrfCorpus {
    /// Reads all lines; those that say nothing are set aside.
    pub(super) fn read(lines: &mut Lines, params: &LabellerParams, ctx: &Ctx) -> Result<CrfCorpus> {
        let (mut marked, mut left_out) = (Vec::new(), Vec::new());
        let mark = |line: &Line<'_>| {
            let found = match params.learn {
                LabelledUnit::Words => words(line),
                LabelledUnit::Entities => names(line),
            };
            found.map_err(|reason| Refused { number: line.number, reason })
        };
        lines.for_each_document(ctx, mark, |found| {
            match found {
                Ok(found) => marked.push(found),
                Err(refused) => left_out.push(refused),
            }
            Ok(())
        })?;
        lines.finish()?;
        lines.refuse(left_out);
        let kinds: BTreeSet<&String> = marked.iter().flat_map(|text| &text.spans).map(|(kind, _)| kind).collect();
        let kinds: Vec<String> = kinds.into_iter().cloned().collect();
        let labels = match params.learn {
            LabelledUnit::Words => Scheme::of_words(),
            LabelledUnit::Entities => Scheme::of_names(&kinds, params.labels == NameLabels::Bioes),
        };
        ensure!(
            !kinds.is_empty() && !marked.is_empty(),
            "没有一行有可学的词或名称：词（--learn words）写成以空格分隔的行，名称（--learn entities）写成带 \"entities\"（类别、起、止，文本字节）的 JSON 行；.conll 文件为每行一字及其标签",
            "no line has a word or a name to learn: write words (--learn words) with blanks between them, names (--learn entities) as JSON lines with \"entities\" (kind, start and end in bytes); a file .conll has a character and its label a line"
        );
        let scheme = Scheme::new(&labels)?;
        let spans = marked.iter().map(|text| text.spans.len()).sum();
        let times = marked.iter().map(|text| text.time).collect();
        let texts = marked.into_iter().map(|text| labelled(text, &kinds, &scheme)).collect::<Result<_>>()?;
        Ok(CrfCorpus { texts, labels, spans, times })
    }

    /// The last time of the texts; none where one has none.
    pub(super) fn last_time(&self) -> Option<NaiveDateTime> {
        self.times.iter().copied().collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

fn labelled(marked: Marked, kinds: &[String], scheme: &Scheme) -> Result<LabelledText> {
    let starts: Vec<usize> = marked.text.char_indices().map(|(at, _)| at).collect();
    let place = |byte: usize| starts.partition_point(|start| *start < byte);
    let span = |(kind, range): &(String, Range<usize>)| -> Span {
        (kinds.partition_point(|known| known < kind), place(range.start)..place(range.end))
    };
    let spans: Vec<Span> = marked.spans.iter().map(span).collect();
    let labels = scheme.labels(starts.len(), &spans);
    let Some(labels) = labels else { inkstone_base::bail!("标签与文本不符", "the labels do not fit the text") };
    Ok(LabelledText { text: marked.text.into(), labels })
}

/// The words of a line, which stand between blanks.
fn words(line: &Line<'_>) -> Result<Marked, &'static str> {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for word in line.whole().split_whitespace() {
        let start = text.len();
        text.push_str(word);
        spans.push((String::new(), start..text.len()));
    }
    if spans.is_empty() {
        return Err("without words");
    }
    Ok(Marked { text, spans, time: line.time })
}

/// The names of a line.
fn names(line: &Line<'_>) -> Result<Marked, &'static str> {
    let text = line.whole().into_owned();
    let spans = match right_entities(line, &text) {
        Ok(Some(entities)) => entities,
        Ok(None) => return Err("without entities"),
        Err(_) => return Err("with entities that are not kind, start and end of a part of its text, in bytes"),
    };
    let mut places: Vec<&Range<usize>> = spans.iter().map(|(_, range)| range).collect();
    places.sort_by_key(|range| range.start);
    if places.iter().any(|range| range.is_empty()) || places.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err("with entities that overlap or are empty");
    }
    if spans.iter().any(|(kind, _)| kind.is_empty()) {
        return Err("with an entity that has no kind");
    }
    if text.is_empty() {
        return Err("without text");
    }
    Ok(Marked { text, spans, time: line.time })
}
