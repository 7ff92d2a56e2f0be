//! Reading an ARPA file: all bytes at hand, and an order's lines read on all threads.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Error, Result};
use rayon::prelude::*;

use crate::ngram::build::{Builder, NewGram};
use crate::ngram::index::{Index, State};
use crate::ngram::lm::LanguageModel;
use crate::ngram::vocabulary::{self, ModelVocabulary};
use crate::ngram::words::{BEGIN, END, MARKS, UNKNOWN, Words};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::{error, message};

/// log10 probability of unknown words in a model that has no `<unk>`.
const WITHOUT_UNKNOWN: f32 = -100.0;
/// log10 of 0.
const ZERO: f32 = -99.0;
/// Bytes that one thread reads before it looks for more.
const PIECE: usize = 1 << 20;

/// Reads an ARPA file, of any tool. Errors name the line.
pub fn read_arpa(path: &Path, ctx: &Ctx) -> Result<LanguageModel> {
    let taken = disk::snapshot(path)?;
    let text: &[u8] = &taken;
    read(text, ctx).map_err(|wrong| match wrong {
        Wrong::Line(at, message) => {
            let line = 1 + text[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count();
            error!("{} 第 {line} 行：{message}", "{}, line {line}: {message}", path.display())
        }
        Wrong::Other(error) => error.context(message!("无法读取 {}", "cannot read {}", path.display())),
    })
}

/// True if a file is an ARPA file, by its name or its first lines.
pub fn is_arpa(path: &Path) -> Result<bool> {
    const FIRST: u64 = 1 << 16;
    let cannot = || message!("无法打开 {}", "cannot open {}", path.display());
    let mut first = Vec::new();
    File::open(path).with_context(cannot)?.take(FIRST).read_to_end(&mut first).with_context(cannot)?;
    let named = path.extension().is_some_and(|extension| extension == "arpa");
    Ok(named || (Lines { text: &first, at: 0 }).any(|(_, line)| line == b"\\data\\"))
}

/// An error of a file.
enum Wrong {
    /// With the line at this byte.
    Line(usize, Message),
    Other(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Wrong {
        Wrong::Other(error)
    }
}

impl From<inkstone_base::job::Cancelled> for Wrong {
    fn from(cancelled: inkstone_base::job::Cancelled) -> Wrong {
        Wrong::Other(cancelled.into())
    }
}

fn wrong<T>(at: usize, message: impl Into<Message>) -> Result<T, Wrong> {
    Err(Wrong::Line(at, message.into()))
}

/// An n-gram's line: where it is, and what it says.
struct Line<'t> {
    at: usize,
    log10: f32,
    words: Vec<&'t [u8]>,
    backoff: f32,
}

/// Walks over lines that are not empty.
struct Lines<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Iterator for Lines<'t> {
    /// The offset of a line, and the line without white space at its end.
    type Item = (usize, &'t [u8]);

    fn next(&mut self) -> Option<(usize, &'t [u8])> {
        while self.at < self.text.len() {
            let start = self.at;
            let length = self.text[start..].iter().position(|&byte| byte == b'\n').unwrap_or(self.text.len() - start);
            self.at = start + length + 1;
            let line = self.text[start..start + length].trim_ascii_end();
            if !line.is_empty() {
                return Some((start, line));
            }
        }
        None
    }
}

fn read(text: &[u8], ctx: &Ctx) -> Result<LanguageModel, Wrong> {
    let mut lines = Lines { text, at: 0 };
    let sizes = header(&mut lines)?;
    let order = sizes.len();
    let mut sections = Vec::with_capacity(order);
    for (n, size) in (1..).zip(&sizes) {
        ctx.check()?;
        let section = section(&mut lines, n)?;
        // Room is made for as many as there can be: a line has a figure and its words, each with a blank or the line's end.
        if *size > section.len() / (2 * n + 2) + 1 {
            let message = message!(
                "\\data\\ 说有 {size} 个 {n} 元组，而它们的行只有 {} 字节",
                "\\data\\ says {size} {n}-grams, but their lines have {} bytes",
                section.len()
            );
            return wrong(section.end, message);
        }
        sections.push((section, *size));
    }
    match lines.next() {
        Some((_, b"\\end\\")) => (),
        Some((at, line)) => {
            return wrong(
                at,
                message!(
                    "{order} 元组之后应为 \\end\\，而不是 {}",
                    "\\end\\ was expected after the {order}-grams, not {}",
                    shown(line)
                ),
            );
        }
        None => {
            return wrong(
                text.len(),
                Word("文件结束时没有 \\end\\：它不完整", "the file ends without \\end\\: it is cut short"),
            );
        }
    }
    let (words, unigrams) = unigrams(text, &sections[0], order == 1)?;
    let total = sizes[1..].iter().sum();
    let mut builder = Builder::new(unigrams.into_iter(), total)?;
    let table = vocabulary::table(&words).map_err(|error| Wrong::Other(error.context("\\1-grams:")))?;
    let (bytes, ends) = words.parts();
    let vocabulary =
        ModelVocabulary::new(bytes, ends, &table).context(Word("ARPA 文件应有词", "an ARPA file has words"))?;
    for (n, (section, size)) in (2..).zip(&sections[1..]) {
        ctx.check()?;
        let index = builder.index();
        let grams = ctx.install(|| grams(text, section, n, n == order, &vocabulary, &index))?;
        if grams.len() != *size {
            return wrong(
                section.end,
                message!(
                    "{n} 元组有 {} 个，而 \\data\\ 说有 {size} 个",
                    "there are {} {n}-grams, \\data\\ says {size}",
                    grams.len()
                ),
            );
        }
        ctx.install(|| builder.push(grams.len(), |i| grams[i])).map_err(|twice| {
            // The later of two lines is the one that is wrong.
            let line = Lines { text: &text[..section.end], at: section.start }.nth(twice.0 as usize);
            Wrong::Line(
                line.map_or(section.start, |line| line.0),
                message!("这个 {n} 元组出现两次", "this {n}-gram stands twice"),
            )
        })?;
    }
    Ok(LanguageModel::from_builder(None, 0, &words, builder)?)
}

/// The numbers of n-grams that `\data\` tells.
fn header(lines: &mut Lines<'_>) -> Result<Vec<usize>, Wrong> {
    if lines.text.starts_with(&[0x1f, 0x8b]) {
        return wrong(0, Word("文件是 gzip 压缩的；请先解压", "the file is compressed (gzip); decompress it first"));
    }
    if !lines.any(|(_, line)| line == b"\\data\\") {
        return wrong(
            lines.text.len(),
            Word(
                "应有 \\data\\，而文件已结束：它不是 ARPA 文件",
                "\\data\\ was expected, but the file ends: it is no ARPA file",
            ),
        );
    }
    let mut sizes = Vec::new();
    loop {
        let Lines { text, at } = *lines;
        let Some((at, line)) = lines.next() else {
            return wrong(at, Word("文件在 \\data\\ 中间结束", "the file ends within \\data\\"));
        };
        if line.starts_with(b"\\") && !sizes.is_empty() {
            // The first section, to be read again.
            *lines = Lines { text, at };
            return Ok(sizes);
        }
        let expected = sizes.len() + 1;
        let size = line.strip_prefix(format!("ngram {expected}=").as_bytes());
        match size.and_then(|size| std::str::from_utf8(size).ok()?.trim().parse().ok()) {
            Some(size) => sizes.push(size),
            None => {
                return wrong(
                    at,
                    message!(
                        "应为 \"ngram {expected}=\" 与一个数，而不是 {}",
                        "\"ngram {expected}=\" and a number was expected, not {}",
                        shown(line)
                    ),
                );
            }
        }
    }
}

/// The lines of an order: from after its heading to before the next.
fn section(lines: &mut Lines<'_>, n: usize) -> Result<Range<usize>, Wrong> {
    let heading = format!("\\{n}-grams:");
    match lines.next() {
        Some((_, line)) if line == heading.as_bytes() => (),
        Some((at, line)) => {
            return wrong(at, message!("应为 {heading}，而不是 {}", "{heading} was expected, not {}", shown(line)));
        }
        None => {
            return wrong(
                lines.text.len(),
                message!("应有 {heading}，而文件已结束", "{heading} was expected, but the file ends"),
            );
        }
    }
    let start = lines.at;
    let rest = &lines.text[start.min(lines.text.len())..];
    let next =
        if rest.starts_with(b"\\") { Some(0) } else { rest.windows(2).position(|w| w == b"\n\\").map(|at| at + 1) };
    let Some(length) = next else {
        return wrong(
            lines.text.len(),
            Word("文件结束时没有 \\end\\：它不完整", "the file ends without \\end\\: it is cut short"),
        );
    };
    lines.at = start + length;
    Ok(start..start + length)
}

/// The words, marks first, and log10 of probability and back-off weight of each.
fn unigrams(text: &[u8], section: &(Range<usize>, usize), highest: bool) -> Result<(Words, Vec<(f32, f32)>), Wrong> {
    let (range, size) = section;
    let mut words = Words::default();
    let mut marks = [None; MARKS.len()];
    let mut weights = vec![(0.0, 0.0); MARKS.len()];
    let mut seen = 0;
    for line in (Lines { text: &text[..range.end], at: range.start }) {
        let Line { at, log10, words: word, backoff } = parse(line, 1, highest)?;
        seen += 1;
        match mark(word[0]) {
            Some(id) if marks[id as usize].replace(()).is_some() => {
                return wrong(at, message!("{} 出现两次", "{} stands twice", MARKS[id as usize]));
            }
            Some(id) => weights[id as usize] = (log10, backoff),
            None => {
                let Ok(word) = std::str::from_utf8(word[0]) else {
                    return wrong(at, Word("词不是 UTF-8", "the word is not UTF-8"));
                };
                words.push(word);
                weights.push((log10, backoff));
            }
        }
    }
    if seen != *size {
        return wrong(
            range.end,
            message!(
                "一元组有 {seen} 个，而 \\data\\ 说有 {size} 个",
                "there are {seen} 1-grams, \\data\\ says {size}"
            ),
        );
    }
    for id in [BEGIN, END] {
        if marks[id as usize].is_none() {
            return wrong(
                range.end,
                message!(
                    "一元组中没有 {}：模型不知道文档的边界",
                    "the 1-grams lack {}: the model knows no document's limits",
                    MARKS[id as usize]
                ),
            );
        }
    }
    if marks[UNKNOWN as usize].is_none() {
        weights[UNKNOWN as usize].0 = WITHOUT_UNKNOWN;
    }
    Ok((words, weights))
}

/// The n-grams of an order in the order of their lines.
fn grams(
    text: &[u8],
    section: &Range<usize>,
    n: usize,
    highest: bool,
    vocabulary: &ModelVocabulary<'_>,
    index: &Index<'_>,
) -> Result<Vec<NewGram>, Wrong> {
    let mut pieces = Vec::new();
    let mut start = section.start;
    while start < section.end {
        let at_least = (start + PIECE).min(section.end);
        let end =
            text[at_least..section.end].iter().position(|&b| b == b'\n').map_or(section.end, |to| at_least + to + 1);
        pieces.push(start..end);
        start = end;
    }
    let piece = |piece: &Range<usize>| -> Result<Vec<NewGram>, Wrong> {
        let mut grams = Vec::with_capacity(piece.len() / 24);
        // Lines of one context mostly follow one another.
        let (mut context, mut place) = (Vec::new(), None);
        for line in (Lines { text: &text[..piece.end], at: piece.start }) {
            let Line { at, log10, words, backoff } = parse(line, n, highest)?;
            let id = |word: &&[u8]| match (mark(word), vocabulary.id(word)) {
                (None, UNKNOWN) => {
                    wrong(at, message!("词 {} 不在一元组中", "the word {} is not among the 1-grams", shown(word)))
                }
                (mark, id) => Ok(mark.unwrap_or(id)),
            };
            let ids = words.iter().map(id).collect::<Result<Vec<u32>, Wrong>>()?;
            let (&word, before) = ids.split_last().expect("an n-gram has words");
            if place.is_none() || context != before {
                place = place_of(index, before);
                context = before.to_vec();
            }
            let Some(context) = place else {
                let text = words.join(&b' ');
                let before = words[..n - 1].join(&b' ');
                let (text, before) = (shown(&text), shown(&before));
                return wrong(
                    at,
                    message!(
                        "{text} 的前文不在 {} 元组中：{before}",
                        "the context of {text} is not among the {}-grams: {before}",
                        n - 1
                    ),
                );
            };
            grams.push(NewGram { context, word, log10, backoff });
        }
        Ok(grams)
    };
    let read = pieces.par_iter().map(piece).collect::<Vec<Result<Vec<NewGram>, Wrong>>>();
    // The first of several errors in the file.
    Ok(read.into_iter().collect::<Result<Vec<_>, Wrong>>()?.concat())
}

fn place_of(index: &Index<'_>, words: &[u32]) -> Option<u32> {
    words.iter().try_fold(State::EMPTY, |state, &word| Some(index.state(index.child(state, word)?))).map(|s| s.place)
}

/// Reads the line of an n-gram.
fn parse<'t>((at, line): (usize, &'t [u8]), n: usize, highest: bool) -> Result<Line<'t>, Wrong> {
    let mut fields = line.split(|&byte| byte == b' ' || byte == b'\t').filter(|field| !field.is_empty());
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<f32>().ok().filter(|x| !x.is_nan());
    let Some(log10) = fields.next().and_then(number) else {
        return wrong(
            at,
            message!("{} 开头应为 log10 概率", "a log10 probability was expected at the start of {}", shown(line)),
        );
    };
    // Some tools write the logarithm of 0 as it is, others as -99.
    let log10 = if log10 == f32::NEG_INFINITY { ZERO } else { log10 };
    if log10 > 0.0 {
        return wrong(at, message!("log10 概率 {log10} 大于 0", "the log10 probability {log10} is above 0"));
    }
    let words: Vec<&[u8]> = fields.by_ref().take(n).collect();
    let rest: Vec<&[u8]> = fields.collect();
    if words.len() < n || rest.len() > 1 {
        let found = words.len() + rest.len();
        return wrong(
            at,
            message!(
                "概率之后应为 {n} 个词与至多一个回退权重，而不是 {found} 个字段",
                "{n} words and at the most a back-off weight were expected after the probability, not {found} fields"
            ),
        );
    }
    let backoff = match rest.first() {
        None => 0.0,
        Some(field) => match number(field).filter(|x| x.is_finite()) {
            Some(backoff) => backoff,
            None => {
                return wrong(
                    at,
                    message!("应为回退权重，而不是 {}", "a back-off weight was expected, not {}", shown(field)),
                );
            }
        },
    };
    if highest && backoff != 0.0 {
        return wrong(
            at,
            message!(
                "最高阶没有回退权重，而该行有 {backoff}",
                "the highest order has no back-off weights, but this line has {backoff}"
            ),
        );
    }
    Ok(Line { at, log10, words, backoff })
}

/// The id of a mark. `<UNK>` is how some tools write `<unk>`.
fn mark(word: &[u8]) -> Option<u32> {
    if word.first() != Some(&b'<') {
        return None;
    }
    let id = MARKS.iter().position(|mark| mark.as_bytes() == word).map(|id| id as u32);
    id.or_else(|| (word == b"<UNK>").then_some(UNKNOWN))
}

/// Some text of the file, as a message shows it.
fn shown(bytes: &[u8]) -> String {
    const CHARACTERS: usize = 60;
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
