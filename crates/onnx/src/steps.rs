//! The steps of a model that writes: which tokens a graph reads, and what it keeps of those that it has read.
//!
//! Graphs that take keys and values of earlier tokens (`past_key_values.N.key`) and give those of all (`present.N.key`) read only the
//! last token of each text from the second step on. Encoder-decoders have a graph for both (`decoder_model_merged.onnx`, with
//! `use_cache_branch`) or one for each (`decoder_model.onnx`, `decoder_with_past_model.onnx`); keys and values of the source
//! (`present.N.encoder.key`) are made in the first step and passed on. Graphs without such ports read all again in each step.
//!
//! A masked model with a mask of each pair of tokens (UniLM, Dong et al. 2019) writes too: the next token is the one behind a mask that
//! stands last. The source sees itself, and what is written sees the source and all before.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::decode::NextToken;
use super::graph::{Role, output, past, present};
use super::kept::Kept;
use super::session::{Feed, Given, Port, Session, no_output};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// A graph with the roles of its inputs.
pub(crate) struct StepGraph {
    pub session: Session,
    pub roles: Vec<Role>,
}

impl StepGraph {
    /// Names of the keys and values that it takes.
    fn takes(&self) -> BTreeSet<String> {
        self.session.inputs().iter().filter_map(past).map(str::to_owned).collect()
    }

    /// Names of the keys and values that it gives.
    fn gives(&self) -> BTreeSet<String> {
        self.session.outputs().iter().filter_map(present).map(str::to_owned).collect()
    }

    fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// True for keys and values of the source, which stay as they are.
fn is_of_source(name: &str) -> bool {
    name.contains(".encoder.")
}

/// The graphs of a model that writes.
pub(crate) struct StepModel {
    first: StepGraph,
    /// The graph of later steps, where it is another.
    later: Option<StepGraph>,
    logits: String,
    /// Names of the keys and values that are passed on; none where all is read again.
    passed: BTreeSet<String>,
    /// The number that fills rows up.
    pad: i64,
    /// The token behind which the next one is looked for, in models that fill masks.
    mask: Option<u32>,
}

/// Vectors of the sources from an encoder, a row for each text.
pub(crate) struct Sources {
    /// `[texts, tokens, hidden]`.
    pub states: Given<'static>,
    /// Tokens of each source.
    pub lengths: Vec<usize>,
}

impl StepModel {
    /// `mask` is the mask token of a model that writes by filling masks.
    pub(crate) fn new(first: StepGraph, later: Option<StepGraph>, pad: i64, mask: Option<u32>) -> Result<StepModel> {
        let logits = output(first.session.outputs(), &["logits"], 3).map(|port| port.name.clone());
        let logits = logits.with_context(|| {
            no_output(&first.session, Word("logits [文档, 词元, 词表]", "logits [documents, tokens, vocabulary]"))
        })?;
        let repeated = later.as_ref().unwrap_or(&first);
        let (takes, gives) = (repeated.takes(), repeated.gives());
        let goes_on = |name: &String| is_of_source(name) || gives.contains(name);
        let remembers = takes.is_subset(&first.gives()) && takes.iter().all(goes_on);
        let passed = if remembers { takes } else { BTreeSet::new() };
        let later = later.filter(|_| !passed.is_empty());
        Ok(StepModel { first, later, logits, passed, pad, mask })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.first.session
    }

    /// True if texts of several lengths can be read side by side, filled up at their left.
    pub(crate) fn fills_up(&self) -> bool {
        let fills = |graph: &StepGraph| graph.has(Role::Mask) && graph.has(Role::Positions);
        fills(&self.first) && self.later.as_ref().is_none_or(fills)
    }

    /// True if the next token is looked for behind a mask.
    pub(crate) fn fills_masks(&self) -> bool {
        self.mask.is_some()
    }

    /// Reads all again in each step.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.passed.clear();
        self.later = None;
    }

    #[cfg(test)]
    pub(crate) fn remembers(&self) -> bool {
        !self.passed.is_empty()
    }

    /// The steps of one search.
    pub(crate) fn steps<'m>(&'m mut self, sources: Option<Sources>, ctx: &'m Ctx) -> Result<Steps<'m>> {
        let port = self.first.roles.iter().zip(self.first.session.inputs());
        let port = port.filter(|(role, _)| **role == Role::EncoderStates).map(|(_, port)| port.element).next();
        let sources = match sources {
            None => None,
            Some(Sources { states, lengths }) => {
                let element =
                    port.context(Word("解码器应读取编码器的向量", "a decoder reads the vectors of an encoder"))?;
                let width = states.shape[1];
                let states = Feed::Floats(states.shape, states.values.into_owned()).into_kept(element)?;
                // A device is given them once.
                let states = match self.first.session.on_cuda() {
                    true => self.first.session.rows(&states, &Vec::from_iter(0..lengths.len()))?,
                    false => states,
                };
                Some((states, lengths, width))
            }
        };
        let (memory, rows) = (BTreeMap::new(), Vec::new());
        Ok(Steps { model: self, sources, memory, rows, width: 0, ctx })
    }
}

/// A row of a step: the number of its text, the places that fill it up at its left, and the tokens that it began with.
#[derive(Clone, Copy, PartialEq)]
struct StepRow {
    text: usize,
    filled: usize,
    prompt: usize,
}

/// Next tokens of some texts, step by step.
pub(crate) struct Steps<'m> {
    model: &'m mut StepModel,
    /// Vectors of the sources, the tokens of each, and the places of all.
    sources: Option<(Kept, Vec<usize>, usize)>,
    /// Keys and values by name.
    memory: BTreeMap<String, Kept>,
    rows: Vec<StepRow>,
    /// Places that were read, those that fill up among them.
    width: usize,
    ctx: &'m Ctx,
}

impl NextToken for Steps<'_> {
    fn next(&mut self, prefixes: &[Vec<u32>], parents: &[usize]) -> Result<Vec<Vec<f32>>> {
        if parents.is_empty() {
            let longest = prefixes.iter().map(Vec::len).max().unwrap_or(0);
            let row = |(text, prefix): (usize, &Vec<u32>)| StepRow {
                text,
                filled: longest - prefix.len(),
                prompt: prefix.len(),
            };
            self.rows = prefixes.iter().enumerate().map(row).collect();
            self.width = 0;
            self.memory.clear();
        } else {
            self.go_on(parents)?;
        }
        // Rows stay filled up when the longest text has ended.
        let places = || self.rows.iter().zip(prefixes).map(|(row, prefix)| row.filled + prefix.len());
        let width = places().max().unwrap_or(0);
        ensure!(
            self.rows.len() == prefixes.len() && places().all(|places| places == width),
            "一步的文本不是接着上一步的",
            "the texts of a step do not go on from those of the step before"
        );
        let goes_on = !self.model.passed.is_empty() && self.width > 0;
        let begin = if goes_on { self.width } else { 0 };
        let feeds = self.feeds(prefixes, begin, width)?;
        let model = &mut *self.model;
        let graph = if goes_on { model.later.as_mut().unwrap_or(&mut model.first) } else { &mut model.first };
        let passed = |port: &Port| {
            let name = present(port)?;
            let new = model.passed.contains(name) && !(goes_on && is_of_source(name));
            new.then(|| (port.name.clone(), name.to_owned()))
        };
        let (ports, names): (Vec<String>, Vec<String>) = graph.session.outputs().iter().filter_map(passed).unzip();
        let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
        let logits = model.logits.as_str();
        let read = graph.session.run_keeping(feeds, &[logits], &ports, self.ctx, |outputs| last(&outputs.get(logits)?));
        let (rows, kept) = read?;
        self.memory.extend(names.into_iter().zip(kept));
        self.width = width;
        Ok(rows)
    }
}

impl Steps<'_> {
    /// Makes the row of each parent the next row.
    fn go_on(&mut self, parents: &[usize]) -> Result<()> {
        let rows: Option<Vec<StepRow>> = parents.iter().map(|parent| self.rows.get(*parent).copied()).collect();
        let rows = rows.context(Word(
            "一步中有文本不是接着上一步任何文本的",
            "a text of a step goes on from none of the step before",
        ))?;
        let same = parents.iter().copied().eq(0..self.rows.len());
        // The rows of one text have one source.
        let same_sources = rows.iter().map(|row| row.text).eq(self.rows.iter().map(|row| row.text));
        let session = &mut self.model.first.session;
        for (name, kept) in &mut self.memory {
            if !(same || is_of_source(name) && same_sources) {
                *kept = session.rows(kept, parents)?;
            }
        }
        if let Some((states, lengths, _)) = self.sources.as_mut().filter(|_| !same_sources) {
            *states = session.rows(states, parents)?;
            *lengths = parents.iter().map(|parent| lengths[*parent]).collect();
        }
        self.rows = rows;
        Ok(())
    }

    /// The inputs of a step that reads the places from `begin` to `width`.
    fn feeds(&self, prefixes: &[Vec<u32>], begin: usize, width: usize) -> Result<Vec<Feed>> {
        let graph = if begin > 0 { self.model.later.as_ref().unwrap_or(&self.model.first) } else { &self.model.first };
        let count = prefixes.len();
        // The mask stands behind all tokens.
        let width = width + usize::from(self.model.mask.is_some());
        let each = |begin: usize, value: &dyn Fn(usize, usize) -> i64| {
            let values = (0..count).flat_map(|row| (begin..width).map(move |place| (row, place)));
            Feed::Integers(vec![count, width - begin], values.map(|(row, place)| value(row, place)).collect())
        };
        // The place in the text, none where a row is filled up.
        let place = |row: usize, place: usize| place.checked_sub(self.rows[row].filled);
        let filled = self.rows.iter().any(|row| row.filled > 0);
        ensure!(!filled || self.model.fills_up(), "图只读取同一长度的文本", "the graph reads texts of one length only");
        let sources = || {
            self.sources.as_ref().context(Word("解码器应读取编码器的向量", "a decoder reads the vectors of an encoder"))
        };
        let feed = |(role, port): (&Role, &Port)| {
            let size = |axis: usize| {
                usize::try_from(port.shape[axis])
                    .with_context(|| message!("{port} 没有说明尺寸", "{port} does not say its sizes"))
            };
            Ok(match role {
                Role::Ids => each(begin, &|row, at| match place(row, at) {
                    Some(at) => prefixes[row].get(at).copied().or(self.model.mask).map_or(self.model.pad, i64::from),
                    None => self.model.pad,
                }),
                Role::Mask => each(0, &|row, at| place(row, at).is_some().into()),
                Role::Types if self.model.mask.is_some() => {
                    each(begin, &|row, at| place(row, at).is_some_and(|at| at >= self.rows[row].prompt).into())
                }
                Role::Types | Role::Tasks => each(begin, &|_, _| 0),
                Role::PairMask => {
                    let sees = |row: usize, from: usize, to: usize| to < self.rows[row].prompt || to <= from;
                    let places = || (0..width).flat_map(|from| (0..width).map(move |to| (from, to)));
                    let values = (0..count)
                        .flat_map(|row| places().map(move |(from, to)| i64::from(sees(row, from, to))))
                        .collect();
                    let shape = if port.rank() == 4 { vec![count, 1, width, width] } else { vec![count, width, width] };
                    Feed::Integers(shape, values)
                }
                Role::Positions => each(begin, &|row, at| place(row, at).unwrap_or(0) as i64),
                Role::Past => match past(port).and_then(|name| self.memory.get(name)) {
                    Some(kept) => Feed::Kept(kept.clone()),
                    None => Feed::Floats(vec![count, size(1)?, 0, size(3)?], Vec::new()),
                },
                Role::UsePast => Feed::Integers(vec![1], vec![(begin > 0).into()]),
                Role::LastTokens => Feed::Integers(vec![1; port.rank()], vec![1]),
                Role::EncoderStates => Feed::Kept(sources()?.0.clone()),
                Role::EncoderMask => {
                    let (_, lengths, places) = sources()?;
                    let real = lengths.iter().flat_map(|length| (0..*places).map(move |at| (at < *length).into()));
                    Feed::Integers(vec![count, *places], real.collect())
                }
                Role::Characters | Role::Memory(_) => {
                    bail!("{port} 不是写作模型的输入", "{port} is no input of a model that writes")
                }
            })
        };
        graph.roles.iter().zip(graph.session.inputs()).map(feed).collect()
    }
}

/// The logits behind the last token of each row.
fn last(given: &Given<'_>) -> Result<Vec<Vec<f32>>> {
    let [rows, tokens, words] = given.shape[..] else {
        bail!("logits 的形状为 {:?}", "logits have the shape {:?}", given.shape)
    };
    ensure!(tokens > 0, "图没有给出任何词元的 logits", "the graph gives logits for no token");
    let row = |row: usize| given.values[(row * tokens + tokens - 1) * words..][..words].to_vec();
    Ok((0..rows).map(row).collect())
}
