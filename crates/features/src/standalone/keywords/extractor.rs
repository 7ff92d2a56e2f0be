//! Keywords of a document: candidates, their scores, and key sentences.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::{CHUNK, KeywordParams, Method};
use crate::standalone::{CutSpec, Line, LineFormat, Lines};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};
use inkstone_models::{Candidates, Explanation, Idf, Ranking, rank_sentences, textrank};
use inkstone_text::{Counter, Mode, Segmenter, TaggedToken, sentences};

/// Sentences of a document that are compared with each other at the most: the effort grows with their square.
const SENTENCES: usize = 4096;

/// Finds keywords and key sentences; shared by all threads.
pub struct Extractor {
    pub(crate) params: KeywordParams,
    segmenter: Option<Segmenter>,
    idf: Option<Idf>,
}

/// The keywords and key sentences of a document.
#[derive(Debug)]
pub(crate) struct DocumentKeywords<'t> {
    pub(crate) words: Candidates<'t>,
    pub(crate) scores: Vec<f64>,
    /// The numbers behind the scores of TextRank.
    ranking: Option<Ranking>,
    pub(crate) sentences: Vec<KeySentence>,
}

/// A key sentence: bytes of the text, and score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct KeySentence {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) score: f64,
}

impl Extractor {
    /// Makes the extractor ready; dictionaries are read relative to `base`. TF-IDF needs to be given `idf`, here or by
    /// [`Extractor::count`].
    pub fn new(cut: &CutSpec, params: KeywordParams, idf: Option<Idf>, base: &Path) -> Result<Extractor> {
        params.textrank.validate()?;
        ensure!(
            params.top > 0 || params.sentences > 0,
            "--top 0 且没有 --sentences：没有可找的",
            "--top 0 and no --sentences: there is nothing to find"
        );
        let segmenter = match cut.format {
            LineFormat::Tokens => {
                ensure!(
                    params.pos.is_empty(),
                    "按词元给出的行没有词性；请给出文本（--format text），或用 --pos all",
                    "lines of tokens have no parts of speech; give text (--format text), or --pos all"
                );
                ensure!(
                    params.sentences == 0,
                    "按词元给出的行没有句子；请给出文本（--format text）",
                    "lines of tokens have no sentences; give text (--format text)"
                );
                None
            }
            LineFormat::Text | LineFormat::Jsonl => {
                ensure!(
                    cut.tokenizer.mode == Mode::Jieba,
                    "关键词是词而不是字；请去掉 --mode char，或用按词训练的模型",
                    "keywords are words, not characters; drop --mode char, or use a model that was trained on words"
                );
                Some(Segmenter::new(&cut.tokenizer, base)?)
            }
        };
        Ok(Extractor { params, segmenter, idf })
    }

    /// True if document frequencies have to be counted first.
    pub fn wants_counts(&self) -> bool {
        self.params.method == Method::Tfidf && self.idf.is_none()
    }

    /// Counts the document frequency of each candidate, for TF-IDF.
    pub fn count(&mut self, lines: &mut Lines, ctx: &Ctx) -> Result<()> {
        let mut counts = Counter::default();
        let count = |chunk: &[Line<'_>]| {
            let mut counts = Counter::default();
            for line in chunk {
                counts.add(self.words(&line.whole()).words(), line.time);
            }
            ctx.check()?;
            Ok(counts)
        };
        lines.for_each_chunk(CHUNK, ctx, count, |more| {
            counts.merge(more);
            Ok(())
        })?;
        self.take_counts(&counts)
    }

    /// [`Extractor::count`] for texts in memory.
    pub fn count_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Result<()> {
        let mut counts = Counter::default();
        texts.into_iter().for_each(|text| counts.add(self.words(text).words(), None));
        self.take_counts(&counts)
    }

    fn take_counts(&mut self, counts: &Counter) -> Result<()> {
        ensure!(!counts.is_empty(), self.no_candidates());
        self.idf = Some(Idf::of_counts(counts)?);
        Ok(())
    }

    /// The keywords of a text with their scores, the best first.
    pub fn keywords(&self, text: &str) -> Vec<(String, f64)> {
        let line = Line { text: text.into(), ..Line::default() };
        let found = self.find(&line, text);
        let best = found.words.best(&found.scores, self.params.top);
        best.into_iter().map(|keyword| (keyword.word.to_owned(), keyword.score)).collect()
    }

    /// The words of a text, with those marked that may be keywords.
    fn words<'t>(&'t self, text: &'t str) -> Candidates<'t> {
        match &self.segmenter {
            None => Candidates::new(text.split_ascii_whitespace().map(|word| self.long_enough(word.into(), ""))),
            Some(segmenter) => {
                Candidates::new(segmenter.tagged(text).into_iter().map(|word| self.candidate(segmenter, word)))
            }
        }
    }

    fn candidate<'t>(&self, segmenter: &Segmenter, word: TaggedToken<'t>) -> Option<(Cow<'t, str>, &'t str)> {
        let pos = &self.params.pos;
        let wanted = pos.is_empty() || pos.iter().any(|tag| tag == word.tag);
        segmenter.term(word.token).filter(|_| wanted).and_then(|term| self.long_enough(term, word.tag))
    }

    fn long_enough<'t>(&self, word: Cow<'t, str>, tag: &'t str) -> Option<(Cow<'t, str>, &'t str)> {
        (word.chars().count() >= self.params.min_chars).then_some((word, tag))
    }

    /// Finds the keywords of a document; `whole` is the line's title and text.
    pub(crate) fn find<'t>(&'t self, line: &'t Line<'_>, whole: &'t str) -> DocumentKeywords<'t> {
        let words = self.words(whole);
        let (scores, ranking) = match (&self.params.method, &self.idf) {
            (Method::Tfidf, Some(idf)) => (idf.scores(&words), None),
            _ => {
                let ranking = textrank(&words, &self.params.textrank);
                (ranking.scores(), Some(ranking))
            }
        };
        let sentences = if self.params.sentences > 0 { self.key_sentences(&line.text) } else { Vec::new() };
        DocumentKeywords { words, scores, ranking, sentences }
    }

    /// The key sentences of a text in its order.
    fn key_sentences(&self, text: &str) -> Vec<KeySentence> {
        let Some(segmenter) = &self.segmenter else { return Vec::new() };
        let mut ranges = sentences(text);
        ranges.truncate(SENTENCES);
        let mut places = Vec::new();
        let mut bounds = Vec::with_capacity(ranges.len());
        for range in &ranges {
            let tagged = segmenter.tagged(&text[range.clone()]);
            places.extend(tagged.into_iter().map(|word| self.candidate(segmenter, word)));
            bounds.push(places.len());
        }
        let scores = rank_sentences(&Candidates::new(places), &bounds, &self.params.textrank);
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.truncate(self.params.sentences);
        order.sort_unstable();
        let sentence = |i: usize| KeySentence { start: ranges[i].start, end: ranges[i].end, score: scores[i] };
        order.into_iter().map(sentence).collect()
    }

    pub(crate) fn explain(&self, found: &DocumentKeywords<'_>, word: &str) -> Option<Explanation> {
        match (&found.ranking, &self.idf) {
            (Some(ranking), _) => ranking.explain(&found.words, word),
            (None, Some(idf)) => idf.explain(&found.words, word),
            (None, None) => None,
        }
    }

    /// Error of a file without candidates, with the way out.
    pub(crate) fn no_candidates(&self) -> Message {
        let mut wants = message!("没有 {} 字以上的词", "no word of {} characters or more", self.params.min_chars);
        if !self.params.pos.is_empty() {
            let pos = self.params.pos.join(", ");
            wants = message!("{wants}，且词性为 {pos}", "{wants} is of the parts of speech {pos}");
        }
        let stopwords = if self.segmenter.is_some() {
            Word("，或 --stopwords none", ", or --stopwords none")
        } else {
            Word("", "")
        };
        message!(
            "文件没有候选词：{wants}；请试 --pos all、--min-chars 1{stopwords}",
            "the file has no candidates: {wants}; try --pos all, --min-chars 1{stopwords}"
        )
    }
}
