//! Documents with their labels or values: read from lines, and turned into rows, all at once or fold by fold.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::Result;
use chrono::{Days, NaiveDateTime};
use clap::ValueEnum;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::lines::BLOCK;
use crate::lines::{Line, Lines, Refused, fields, text_of};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use inkstone_models::{
    Analyzer, Csr, Design, Fields, FoldFeatures, FoldRows, Goal, Split, TermCounts, Vectorizer, VectorizerParams,
};

/// The field of a line that is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Learn {
    /// Field `label`: one class of several.
    Label,
    /// Field `labels`, or the parts of `label` between `|`: any number of labels.
    Labels,
    /// Field `value`: a number.
    Value,
}

impl Learn {
    /// The field, as a line has it.
    pub fn name(self) -> &'static str {
        match self {
            Learn::Label => "label",
            Learn::Labels => "labels",
            Learn::Value => "value",
        }
    }
}

/// Takes the rows of lines and says which of them have one.
pub(crate) type Encode<'a> = dyn FnMut(&[Line<'_>]) -> Result<Vec<bool>> + 'a;

struct LabelledDocument {
    title: String,
    text: String,
    /// The second text of a pair.
    pair: Option<String>,
    time: Option<NaiveDateTime>,
    group: Option<String>,
}

pub(crate) struct LabelledCorpus {
    documents: Vec<LabelledDocument>,
    pub(crate) goal: Goal,
    pub(crate) learn: Learn,
}

/// The goals of lines, as they are written.
enum WrittenGoal {
    Names(Vec<String>),
    Value(f64),
}

impl LabelledCorpus {
    /// Reads lines; those without a goal are set aside. The field is `learn`, or the first that a line with a goal has. With `encode`,
    /// which takes what is learned from, texts are not kept, and lines without a row are set aside, too.
    pub(crate) fn read(
        lines: &mut Lines,
        learn: Option<Learn>,
        prefer_value: bool,
        mut encode: Option<&mut Encode<'_>>,
        ctx: &Ctx,
    ) -> Result<LabelledCorpus> {
        let (mut documents, mut goals, mut learn) = (Vec::new(), Vec::new(), learn);
        let mut left_out = Vec::new();
        lines.for_each_block(BLOCK, |read| {
            let count = read.len();
            let (mut kept, mut written) = (Vec::with_capacity(count), Vec::with_capacity(count));
            for line in read {
                let here = learn.or_else(|| learn_of(&line, prefer_value));
                match here.and_then(|learn| goal_of(&line, learn)) {
                    None => left_out.push(Refused { number: line.number, reason: "without what is to be learned" }),
                    Some(goal) => {
                        learn = here;
                        kept.push(line);
                        written.push(goal);
                    }
                }
            }
            let (keeps_texts, has_row) = match &mut encode {
                None => (true, vec![true; kept.len()]),
                Some(encode) => (false, encode(&kept)?),
            };
            for ((line, goal), has_row) in kept.into_iter().zip(written).zip(has_row) {
                if !has_row {
                    left_out.push(Refused { number: line.number, reason: "of which the encoder gives no vector" });
                    continue;
                }
                let text = |text: Cow<'_, str>| if keeps_texts { text.into_owned() } else { String::new() };
                goals.push(goal);
                let pair = if keeps_texts { second_text(&line)? } else { None };
                documents.push(LabelledDocument {
                    title: text(line.title),
                    text: text(line.text),
                    pair,
                    time: line.time,
                    group: line.group.map(Cow::into_owned),
                });
            }
            if keeps_texts {
                ctx.advance(count as u64)?;
            }
            Ok(())
        })?;
        lines.finish()?;
        lines.refuse(left_out);
        ensure!(
            !goals.is_empty() || learn.is_none() || encode.is_none(),
            "编码器对所有带学习目标的行都没有给出向量；文本是空的吗？",
            "the encoder gives no vector of any line with what is to be learned; are their texts empty?"
        );
        let Some(learn) = learn.filter(|_| !goals.is_empty()) else {
            bail!(
                "没有一行带有学习目标：请给每行一个 \"label\"（类别）、\"labels\"（列表），学习数值的模型则给 \"value\"（数字），写成 JSON 行（--format jsonl）",
                "no line has what is to be learned: give each line a \"label\" (a class), \"labels\" (a list) or, for models of values, a \"value\" (a number), as JSON lines (--format jsonl)"
            );
        };
        let goal = match learn {
            Learn::Value => Goal::Values(
                goals.into_iter().map(|goal| if let WrittenGoal::Value(v) = goal { v } else { f64::NAN }).collect(),
            ),
            Learn::Label | Learn::Labels => {
                let rows: Vec<Vec<String>> = goals
                    .into_iter()
                    .map(|goal| if let WrittenGoal::Names(names) = goal { names } else { Vec::new() })
                    .collect();
                let names: BTreeSet<String> = rows.iter().flatten().cloned().collect();
                goal_among(&rows, names.into_iter().collect(), learn)
            }
        };
        Ok(LabelledCorpus { documents, goal, learn })
    }

    /// [`LabelledCorpus::read`] for the names that a model knows; others are put after them.
    pub(crate) fn read_for(
        lines: &mut Lines,
        learn: Learn,
        known: &[String],
        encode: Option<&mut Encode<'_>>,
        ctx: &Ctx,
    ) -> Result<LabelledCorpus> {
        let mut corpus = LabelledCorpus::read(lines, Some(learn), false, encode, ctx)?;
        if learn != Learn::Value {
            let names_of = |numbers: &[u32]| numbers.iter().map(|&n| corpus.goal.names()[n as usize].clone()).collect();
            let rows: Vec<Vec<String>> = match &corpus.goal {
                Goal::Classes { class, .. } => class.iter().map(|&c| names_of(&[c])).collect(),
                Goal::Labels { labels, .. } => labels.iter().map(|row| names_of(row)).collect(),
                Goal::Values(_) => Vec::new(),
            };
            let strange = corpus.goal.names().iter().filter(|name| !known.contains(name)).cloned();
            let names = known.iter().cloned().chain(strange).collect();
            corpus.goal = goal_among(&rows, names, learn);
        }
        Ok(corpus)
    }

    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn fields(&self) -> Vec<Fields<'_>> {
        self.documents.iter().map(LabelledDocument::fields).collect()
    }

    /// The second text of a document that is a pair.
    pub(crate) fn pair(&self, document: usize) -> Option<&str> {
        self.documents[document].pair.as_deref()
    }

    /// Groups and times, as far as all documents have them. A label is known `label_days` after its document.
    pub(crate) fn fold_rows(&self, label_days: u32) -> Result<FoldRows> {
        let timed = self.documents.iter().filter(|document| document.time.is_some()).count();
        let grouped = self.documents.iter().filter(|document| document.group.is_some()).count();
        ensure!(
            grouped == 0 || grouped == self.len(),
            "{} 行中只有 {grouped} 行有分组：要么都有，要么都没有",
            "{grouped} of {} lines have a group: give all of them one, or none",
            self.len()
        );
        let mut numbers: FxHashMap<&str, u64> = FxHashMap::default();
        let mut groups = Vec::with_capacity(grouped);
        for group in self.documents.iter().filter_map(|document| document.group.as_deref()) {
            let next = numbers.len() as u64;
            groups.push(*numbers.entry(group).or_insert(next));
        }
        // A label that is known after the calendar ends is never known.
        let length = Days::new(u64::from(label_days));
        let known = |time: NaiveDateTime| time.checked_add_days(length).unwrap_or(NaiveDateTime::MAX);
        let spans = self.documents.iter().filter_map(|document| document.time).map(|time| (time, known(time)));
        Ok(FoldRows { groups, spans: if timed == self.len() { spans.collect() } else { Vec::new() } })
    }

    pub(crate) fn fit(
        &self,
        rows: impl Iterator<Item = usize>,
        analyzer: &Analyzer,
        params: &VectorizerParams,
        ctx: &Ctx,
    ) -> Result<Vectorizer> {
        if !params.learns() {
            return Vectorizer::hashing(params);
        }
        let mut counts = TermCounts::new(params);
        for (at, i) in rows.enumerate() {
            if at % 256 == 0 {
                ctx.check()?;
            }
            counts.add(analyzer, self.documents[i].fields(), self.documents[i].time)?;
        }
        Vectorizer::fit(&counts, params)
    }

    pub(crate) fn rows(
        &self,
        rows: impl IntoParallelIterator<Item = usize, Iter: IndexedParallelIterator>,
        analyzer: &Analyzer,
        model: &Vectorizer,
    ) -> Design {
        let made: Vec<Vec<(u32, f32)>> =
            rows.into_par_iter().map(|i| model.transform(analyzer, self.documents[i].fields())).collect();
        let mut x = Csr::new(model.width());
        made.into_iter().for_each(|row| x.push_row(row));
        x.into()
    }

    /// The time at which all labels were known, so many natural days after their documents: a label that came later was seen, too.
    pub(crate) fn labelled_until(&self, label_days: u32) -> Option<NaiveDateTime> {
        self.last_time()?.checked_add_days(Days::new(label_days.into()))
    }

    /// The documents in the order of their times; in their own where one has none.
    pub(crate) fn order_of_time(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        if self.documents.iter().all(|document| document.time.is_some()) {
            order.sort_by_key(|&document| self.documents[document].time);
        }
        order
    }

    /// The last time of the documents, if they have times.
    pub(crate) fn last_time(&self) -> Option<NaiveDateTime> {
        self.documents.iter().filter_map(|document| document.time).max()
    }
}

impl LabelledDocument {
    fn fields(&self) -> Fields<'_> {
        Fields { title: &self.title, body: &self.text }
    }
}

/// A corpus whose vocabulary is fitted fold by fold.
pub(crate) struct Folded<'a> {
    pub(crate) corpus: &'a LabelledCorpus,
    pub(crate) analyzer: &'a Analyzer,
    pub(crate) params: &'a VectorizerParams,
    pub(crate) ctx: &'a Ctx,
}

impl FoldFeatures for Folded<'_> {
    fn count(&self) -> usize {
        self.corpus.len()
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        let Folded { corpus, analyzer, params, ctx } = *self;
        let model = corpus.fit(split.train.iter().copied(), analyzer, params, ctx)?;
        let rows = |rows: &[usize]| corpus.rows(rows.to_vec(), analyzer, &model);
        Ok((rows(&split.train), rows(&split.test)))
    }
}

/// The field `pair` of a JSON line.
fn second_text(line: &Line<'_>) -> Result<Option<String>> {
    let is_there = line.json.is_some_and(|json| json.contains("\"pair\""));
    if is_there { Ok(text_of(&fields(line)?, "pair")) } else { Ok(None) }
}

/// The field of a line that is learned where none is named.
fn learn_of(line: &Line<'_>, prefer_value: bool) -> Option<Learn> {
    if prefer_value {
        return line.value.map(|_| Learn::Value);
    }
    let labels = (!line.labels.is_empty()).then_some(Learn::Labels);
    labels.or(line.label.as_ref().map(|_| Learn::Label)).or(line.value.map(|_| Learn::Value))
}

fn goal_of(line: &Line<'_>, learn: Learn) -> Option<WrittenGoal> {
    let named = |name: &str| name.trim().to_owned();
    match learn {
        Learn::Value => line.value.map(WrittenGoal::Value),
        Learn::Label => line.label.as_deref().map(|label| WrittenGoal::Names(vec![named(label)])),
        Learn::Labels => {
            let mut names: Vec<String> = match line.label.as_deref() {
                Some(label) if line.labels.is_empty() => label.split('|').map(named).collect(),
                _ => line.labels.iter().map(|name| named(name)).collect(),
            };
            names.retain(|name| !name.is_empty());
            (line.label.is_some() || !line.labels.is_empty()).then_some(WrittenGoal::Names(names))
        }
    }
}

fn goal_among(rows: &[Vec<String>], names: Vec<String>, learn: Learn) -> Goal {
    let number: FxHashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let mut labels: Vec<Vec<u32>> =
        rows.iter().map(|row| row.iter().map(|name| number[name.as_str()]).collect()).collect();
    if learn == Learn::Label {
        return Goal::Classes { class: labels.into_iter().map(|row| row[0]).collect(), names };
    }
    for row in &mut labels {
        row.sort_unstable();
        row.dedup();
    }
    Goal::Labels { labels, names }
}
