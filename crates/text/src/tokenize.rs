//! The `tokenize` command: plain text in, tokens out, a line a document.
//!
//! Lines are read a mebibyte at a time, cut on all threads, and written in their order. While some are cut, those before them are
//! written and those after them read. Memory stays at a few times that.
//! Output line `n` always belongs to input line `n`: a line that cannot be read becomes an empty line and is reported.

use std::borrow::Cow;
use std::io::{BufRead, Write};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::segment::sense;
use super::subword::Subword;
use super::{Counter, Labeller, Segmenter, TaggedToken, Token, Truncation};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// Form of the written lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenizeParams {
    /// Between two tokens. Default: a space.
    pub separator: String,
    /// Which tokens of a long line are written. Default: `none` (all of them).
    pub truncation: Truncation,
    /// Special tokens that count towards the limit. Default: 2 (`[CLS]` and `[SEP]`).
    pub specials: usize,
    /// True if terms are written (lower case, without stopwords) rather than tokens. Default: false.
    pub terms: bool,
    /// True if each word is written with its part of speech, `word/tag`; words of the precise cut alone have one. Default: false.
    pub tags: bool,
}

impl Default for TokenizeParams {
    fn default() -> TokenizeParams {
        TokenizeParams {
            separator: " ".to_owned(),
            truncation: Truncation::None,
            specials: 2,
            terms: false,
            tags: false,
        }
    }
}

#[derive(Clone, Copy)]
pub enum Cutting<'a> {
    Words(&'a Segmenter),
    /// Into words, but each name that the labeller finds is one, with its kind, as 苹果|ORG.
    Names(&'a Segmenter, &'a Labeller),
    /// Into the pieces of a contextual model.
    Pieces(&'a PieceCutter),
}

impl Cutting<'_> {
    /// Special tokens that a model adds to a text: those of its tokenizer, or `[CLS]` and `[SEP]`.
    pub fn specials(&self) -> usize {
        match self {
            Cutting::Words(_) | Cutting::Names(..) => TokenizeParams::default().specials,
            Cutting::Pieces(pieces) => pieces.subword.specials(),
        }
    }
}

/// The tokenizer of a contextual model with its pieces as the vocabulary writes them.
pub struct PieceCutter {
    subword: Subword,
    names: Vec<String>,
}

impl PieceCutter {
    pub fn new(subword: Subword) -> PieceCutter {
        let names = (0..subword.size() as u32).map(|id| subword.token(id).unwrap_or_default()).collect();
        PieceCutter { subword, names }
    }

    /// The pieces of a text.
    pub fn pieces(&self, text: &str) -> Result<Vec<&str>> {
        Ok(self.subword.encode(text)?.ids.into_iter().map(|id| self.names[id as usize].as_str()).collect())
    }

    /// The parts of `text` whose pieces are kept, as byte ranges in order; the whole text when it fits. `specials` = special tokens that the
    /// model adds; none: as its tokenizer says.
    pub fn truncate(&self, text: &str, truncation: &Truncation, specials: Option<usize>) -> Result<Vec<Range<usize>>> {
        let places = self.subword.encode(text)?.offsets;
        let kept = truncation.apply(places.len(), specials.unwrap_or_else(|| self.subword.specials()));
        if kept[0].len() == places.len() {
            return Ok(vec![0..text.len()]);
        }
        let part = |range: Range<usize>| {
            let (first, last) = (places[range.clone()].first()?, places[range].last()?);
            Some(first.start as usize..last.end as usize)
        };
        Ok(kept.into_iter().filter_map(part).collect())
    }

    /// Appends the pieces of a line to `out`, reading no more of it than truncation keeps.
    fn cut_line(
        &self,
        line: &str,
        params: &TokenizeParams,
        out: &mut String,
        words: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        let room = |limit: usize| limit.saturating_sub(params.specials);
        let ids = match params.truncation {
            Truncation::Head(limit) => self.subword.encode_head(line, room(limit))?.ids,
            Truncation::Tail(limit) => self.subword.encode_tail(line, room(limit))?.ids,
            truncation => {
                let ids = self.subword.encode(line)?.ids;
                truncation.apply(ids.len(), params.specials).into_iter().flat_map(|range| ids[range].to_vec()).collect()
            }
        };
        ids.into_iter().for_each(|id| push(&self.names[id as usize], params, out, words));
        Ok(())
    }
}

/// Bytes of text read at once.
const CHUNK: usize = 1 << 20;

/// Lines that a thread cuts before it counts them as done and looks whether the run was cancelled.
const BATCH: usize = 32;

/// Line numbers of broken lines that the report names at the most.
const NAMED: usize = 20;

/// Cuts each line of `input` into tokens and writes them to `output`. With a `counter` the words written are counted as well,
/// a line a document. Not to be called on a thread of `ctx`, all of whose threads it takes.
pub fn tokenize_stream(
    mut input: impl BufRead,
    mut output: impl Write,
    cutting: Cutting<'_>,
    params: &TokenizeParams,
    mut counter: Option<&mut Counter>,
    ctx: &Ctx,
) -> Result<Report> {
    ensure!(
        !params.separator.contains(['\n', '\r']),
        "分隔符不能含换行：一行是一篇文档",
        "a separator cannot hold a line break: a line is a document"
    );
    let mut report = Report::new("tokenize");
    let (mut bytes, mut tokens, mut broken) = (0u64, 0u64, Vec::new());
    let counted = counter.is_some();
    let (mut chunk, mut next) = (Chunk::default(), Chunk::default());
    // The text of lines that are cut and not yet written.
    let mut texts: Vec<String> = Vec::new();
    let mut more = read(&mut input, &mut chunk, 1)?;
    while more {
        let lines = chunk.lines();
        let (batches, in_and_out) = thread::scope(|scope| {
            let cut = thread::Builder::new()
                .spawn_scoped(scope, || {
                    let batches = lines.par_chunks(BATCH).map(|lines| {
                        ctx.advance(lines.len() as u64)?;
                        cut_lines(lines, cutting, params, counted)
                    });
                    ctx.install(|| batches.collect::<Result<Vec<_>>>())
                })
                .context(Word("无法启动线程", "cannot start a thread"))?;
            let after = report.rows_in + lines.len() as u64 + 1;
            let in_and_out = write(&mut output, &texts).map(|()| read(&mut input, &mut next, after));
            Ok::<_, anyhow::Error>((cut.join().unwrap_or_else(|panic| resume_unwind(panic)), in_and_out))
        })?;
        let next_is_read = in_and_out?;
        let mut batches = batches?;
        if let Some(counter) = &mut counter {
            let counts = || batches.par_iter_mut().filter_map(|batch| batch.counts.take()).reduce_with(merged);
            ctx.install(counts).into_iter().for_each(|counts| counter.merge(counts));
        }
        texts.clear();
        for (batch, lines) in batches.into_iter().zip(lines.chunks(BATCH)) {
            texts.push(batch.text);
            tokens += batch.tokens;
            for (i, reason) in batch.broken {
                broken.push(report.rows_in + 1 + i as u64);
                report.drop_rows(&format!("{reason}, written as an empty line"), 1);
            }
            report.rows_in += lines.len() as u64;
        }
        bytes += chunk.bytes_read() as u64;
        if next_is_read.is_err() {
            // The tokens cut so far are written, though nothing after them can be read.
            write(&mut output, &texts)?;
            output.flush().context(Word("无法写入", "cannot write"))?;
        }
        more = next_is_read?;
        std::mem::swap(&mut chunk, &mut next);
    }
    write(&mut output, &texts)?;
    output.flush().context(Word("无法写入", "cannot write"))?;
    report.rows_out = report.rows_in - broken.len() as u64;
    report.fact("bytes", bytes);
    report.fact(if params.terms { "terms" } else { "tokens" }, tokens);
    if !broken.is_empty() {
        broken.truncate(NAMED);
        report.fact("broken_lines", broken);
    }
    Ok(report)
}

/// Reads the next lines, of which `first` is the number of the first; false at the end of the input.
fn read(input: &mut impl BufRead, chunk: &mut Chunk, first: u64) -> Result<bool> {
    chunk.fill(input, CHUNK).with_context(|| message!("无法读取第 {first} 行", "cannot read line {first}"))
}

fn write(output: &mut impl Write, texts: &[String]) -> Result<()> {
    texts.iter().try_for_each(|text| output.write_all(text.as_bytes())).context(Word("无法写入", "cannot write"))
}

/// Some lines as they are written.
struct Batch {
    text: String,
    tokens: u64,
    /// Places in the batch of the lines that cannot be read, and why.
    broken: Vec<(usize, &'static str)>,
    /// The words written, if they are to be counted.
    counts: Option<Counter>,
}

fn merged(mut counts: Counter, more: Counter) -> Counter {
    counts.merge(more);
    counts
}

fn cut_lines(
    lines: &[Result<&str, &'static str>],
    cutting: Cutting<'_>,
    params: &TokenizeParams,
    counted: bool,
) -> Result<Batch> {
    let bytes: usize = lines.iter().flatten().map(|line| line.len()).sum();
    let mut batch = Batch {
        text: String::with_capacity(bytes + bytes / 4),
        tokens: 0,
        broken: Vec::new(),
        counts: counted.then(Counter::default),
    };
    let mut words = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        match *line {
            Ok(line) => {
                words.clear();
                match cutting {
                    Cutting::Words(segmenter) => cut_line(line, segmenter, None, params, &mut batch.text, &mut words),
                    Cutting::Names(segmenter, labeller) => {
                        cut_line(line, segmenter, Some(labeller), params, &mut batch.text, &mut words)
                    }
                    Cutting::Pieces(pieces) => pieces.cut_line(line, params, &mut batch.text, &mut words)?,
                }
                batch.tokens += words.len() as u64;
                if let Some(counts) = &mut batch.counts {
                    counts.add(words.iter().map(|range| &batch.text[range.clone()]), None);
                }
            }
            Err(reason) => batch.broken.push((i, reason)),
        }
        batch.text.push('\n');
    }
    Ok(batch)
}

fn push(word: &str, params: &TokenizeParams, out: &mut String, words: &mut Vec<Range<usize>>) {
    if !words.is_empty() {
        out.push_str(&params.separator);
    }
    words.push(out.len()..out.len() + word.len());
    out.push_str(word);
}

/// Appends the tokens of a line to `out`, and to `words` where they stand in it.
fn cut_line(
    line: &str,
    segmenter: &Segmenter,
    labeller: Option<&Labeller>,
    params: &TokenizeParams,
    out: &mut String,
    words: &mut Vec<Range<usize>>,
) {
    let mut write = |word: &str| push(word, params, out, words);
    if let Some(labeller) = labeller {
        let mut all: Vec<String> = Vec::new();
        let mut between = |part: &str| {
            segmenter.for_each_token(part, |token| match params.terms {
                true => all.extend(segmenter.term(token).map(Cow::into_owned)),
                false => all.push(token.text.to_owned()),
            });
            all.len()
        };
        let mut at = 0;
        let mut named: Vec<(usize, String)> = Vec::new();
        for name in labeller.names(line) {
            let place = between(&line[at..name.range.start]);
            // A blank within a name would make two words of it.
            let text: String = line[name.range.clone()].split_whitespace().collect();
            named.push((place, sense(&text, name.kind)));
            at = name.range.end;
        }
        between(&line[at..]);
        for (place, name) in named.into_iter().rev() {
            all.insert(place, name);
        }
        let kept = params.truncation.apply(all.len(), params.specials);
        return kept.into_iter().flat_map(|range| &all[range]).for_each(|word| write(word));
    }
    if params.tags {
        let words = segmenter.tagged(line);
        let kept = params.truncation.apply(words.len(), params.specials);
        for TaggedToken { token, tag } in kept.into_iter().flat_map(|range| &words[range]) {
            if !params.terms {
                write(&sense(token.text, tag));
            } else if let Some(term) = segmenter.term(*token) {
                write(&sense(&term, tag));
            }
        }
        return;
    }
    let mut give = |token: Token<'_>| {
        if !params.terms {
            write(token.text);
        } else if let Some(term) = segmenter.term(token) {
            write(&term);
        }
    };
    if params.truncation == Truncation::None {
        segmenter.for_each_token(line, give);
    } else {
        let tokens = segmenter.tokens(line);
        let kept = params.truncation.apply(tokens.len(), params.specials);
        kept.into_iter().flat_map(|range| &tokens[range]).for_each(|&token| give(token));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Mode, TokenizerParams, VocabularyParams};
    use super::*;
    use inkstone_base::job::Cancelled;

    fn run(text: &[u8], params: &TokenizeParams, mode: Mode, threads: usize) -> (String, Report) {
        let ctx = Ctx::new(threads, 1).unwrap();
        let segmenter =
            Segmenter::new(&TokenizerParams { mode, ..TokenizerParams::default() }, Path::new(".")).unwrap();
        let mut out = Vec::new();
        let report = tokenize_stream(text, &mut out, Cutting::Words(&segmenter), params, None, &ctx).unwrap();
        (String::from_utf8(out).unwrap(), report)
    }

    #[test]
    fn each_line_keeps_its_place_and_broken_lines_are_reported() {
        let text = b"\xef\xbb\xbf\xe5\x87\x80\xe5\x88\xa9\xe6\xb6\xa6 up\r\n\n\xff\xfe\nETF\xe5\xa4\xa7\xe6\xb6\xa8";
        let (out, report) = run(text, &TokenizeParams::default(), Mode::Jieba, 2);
        assert_eq!(out, "净利润 up\n\n\nETF 大涨\n");
        assert_eq!((report.rows_in, report.rows_out, report.dropped_rows()), (4, 3, 1));
        assert_eq!(report.facts["broken_lines"], serde_json::json!([3]));
        assert_eq!(report.facts["tokens"], 4);
    }

    #[test]
    fn truncation_separator_and_terms_shape_the_lines() {
        let truncation = "head+tail:2+1".parse().unwrap();
        let params = TokenizeParams { separator: "/".into(), truncation, ..TokenizeParams::default() };
        assert_eq!(run("公司拟回购股份。\n".as_bytes(), &params, Mode::Char, 1).0, "公/司/。\n");
        let params = TokenizeParams { terms: true, ..TokenizeParams::default() };
        assert_eq!(run("ETF的份额，增长了12%".as_bytes(), &params, Mode::Jieba, 1).0, "etf 份额 增长\n");
        let params = TokenizeParams { tags: true, truncation: "head:4".parse().unwrap(), ..TokenizeParams::default() };
        assert_eq!(run("公司拟回购股份。\n".as_bytes(), &params, Mode::Jieba, 1).0, "公司|n 拟|v\n");
        let params = TokenizeParams { terms: true, truncation: Truncation::None, ..params };
        assert_eq!(run("ETF的份额。\n".as_bytes(), &params, Mode::Jieba, 1).0, "etf|eng 份额|n\n");
        for empty in [&b""[..], b"\xef\xbb\xbf"] {
            assert_eq!(run(empty, &params, Mode::Jieba, 1).0, "");
        }
    }

    #[test]
    fn any_number_of_threads_writes_the_same_bytes() {
        let mut text = String::new();
        for i in 0..16_000 {
            text.push_str(&format!("第{i}号公告：公司第{}季度营业收入同比增长{}%，高于市场预期。\n", i % 4, i % 37));
        }
        assert!(text.len() > CHUNK, "more than one chunk");
        let params = TokenizeParams::default();
        let one = run(text.as_bytes(), &params, Mode::Char, 1);
        let three = run(text.as_bytes(), &params, Mode::Char, 3);
        assert_eq!(one.0, three.0);
        assert_eq!(one.0.replace([' ', '\n'], ""), text.replace('\n', ""));
        assert_eq!(three.1.rows_out, 16_000);
    }

    #[test]
    fn the_words_written_are_counted_on_any_number_of_threads() {
        let count = |text: &[u8], params: &TokenizeParams, threads| {
            let segmenter =
                Segmenter::new(&TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() }, Path::new("."))
                    .unwrap();
            let mut counter = Counter::default();
            let ctx = Ctx::new(threads, 1).unwrap();
            tokenize_stream(text, Vec::new(), Cutting::Words(&segmenter), params, Some(&mut counter), &ctx).unwrap();
            counter.build(&VocabularyParams::ALL).unwrap()
        };
        // The broken line is no document, the empty one is; what truncation leaves out is not counted.
        let params = TokenizeParams { truncation: "head:5".parse().unwrap(), ..TokenizeParams::default() };
        let vocabulary = count(b"\xe6\xb6\xa8\xe6\xb6\xa8\xe8\xb7\x8c\xe8\xb7\x8c\n\n\xff\n\xe6\xb6\xa8\n", &params, 1);
        let words: Vec<_> = vocabulary.words.iter().map(|(word, f)| (word.as_ref(), f.count, f.documents)).collect();
        assert_eq!((words, vocabulary.documents), (vec![("涨", 3, 2), ("跌", 1, 1)], 3));
        let text: String = (0..20_000).map(|i| format!("第{i}号公告：同比增长{}%，高于市场预期。\n", i % 37)).collect();
        assert!(text.len() > CHUNK, "more than one chunk");
        let one = count(text.as_bytes(), &TokenizeParams::default(), 1);
        assert_eq!(one.words.iter().find(|(word, _)| word.as_ref() == "期").unwrap().1.documents, 20_000);
        assert_eq!(count(text.as_bytes(), &TokenizeParams::default(), 3), one);
    }

    #[test]
    fn what_was_read_before_a_failure_is_written() {
        struct Failing;
        impl std::io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("the disk is gone"))
            }
        }
        let segmenter =
            Segmenter::new(&TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() }, Path::new("."))
                .unwrap();
        let text = "公司回购\n".repeat(1 + CHUNK / 13);
        let input = std::io::BufReader::new(std::io::Read::chain(text.as_bytes(), Failing));
        let mut out = Vec::new();
        let ctx = Ctx::new(2, 1).unwrap();
        let params = TokenizeParams::default();
        let error =
            tokenize_stream(input, &mut out, Cutting::Words(&segmenter), &params, None, &ctx).unwrap_err().to_string();
        let lines = 1 + CHUNK / 13;
        assert_eq!(error, format!("cannot read line {}", lines + 1));
        assert_eq!(String::from_utf8(out).unwrap(), "公 司 回 购\n".repeat(lines));
    }

    #[test]
    fn a_cancelled_run_stops() {
        let ctx = Ctx::new(1, 1).unwrap();
        ctx.cancel();
        let segmenter =
            Segmenter::new(&TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() }, Path::new("."))
                .unwrap();
        let params = TokenizeParams::default();
        let error = tokenize_stream("净\n".as_bytes(), Vec::new(), Cutting::Words(&segmenter), &params, None, &ctx)
            .unwrap_err();
        assert!(error.is::<Cancelled>());
    }
    #[test]
    fn pieces_of_a_model_with_its_own_special_tokens() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/onnx/bert/vocab.txt");
        let pieces = PieceCutter::new(Subword::open(Path::new(file)).unwrap());
        assert_eq!(Cutting::Pieces(&pieces).specials(), 2);
        let cut = |truncation: &str| {
            let params = TokenizeParams { truncation: truncation.parse().unwrap(), ..TokenizeParams::default() };
            let text = "AI芯片Q3订单\n\n公司 增长".as_bytes();
            let mut out = Vec::new();
            let ctx = Ctx::new(2, 1).unwrap();
            let report = tokenize_stream(text, &mut out, Cutting::Pieces(&pieces), &params, None, &ctx).unwrap();
            assert_eq!(report.rows_out, 3);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(cut("none"), "ai 芯 片 q ##3 订 单\n\n公 司 增 长\n");
        assert_eq!(cut("head:5"), "ai 芯 片\n\n公 司 增\n");
        assert_eq!(cut("tail:4"), "订 单\n\n增 长\n");
        assert_eq!(cut("head+tail:1+2"), "ai 订 单\n\n公 增 长\n");
    }
}
