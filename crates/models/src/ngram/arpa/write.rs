//! A trained model as an ARPA file, its lines in the order of the trie: sorted by the ids of their words.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use super::number::push_number;
use crate::ngram::levels::LevelView;
use crate::ngram::model::Ngram;
use crate::ngram::words::Words;
use inkstone_base::disk;
use inkstone_base::job::Ctx;

/// Lines that one thread writes before it looks for more, and threads' pieces that are held at once.
const PIECE: usize = 1 << 14;
const AT_ONCE: usize = 64;

impl Ngram {
    /// Writes the model as an ARPA file, which KenLM and SRILM read.
    pub fn write_arpa(&self, path: &Path, ctx: &Ctx) -> Result<()> {
        let levels = self.levels();
        disk::write_atomic(path, |out| {
            out.write_all(b"\\data\\\n")?;
            for (n, level) in levels.iter().enumerate() {
                writeln!(out, "ngram {}={}", n + 1, level.word.len())?;
            }
            for n in 0..levels.len() {
                write!(out, "\n\\{}-grams:\n", n + 1)?;
                let pieces: Vec<usize> = (0..levels[n].word.len()).step_by(PIECE).collect();
                for some in pieces.chunks(AT_ONCE) {
                    ctx.check()?;
                    let text = |&start: &usize| lines(&self.words, &levels[..=n], start);
                    let texts: Vec<Vec<u8>> = ctx.install(|| some.par_iter().map(text).collect());
                    texts.iter().try_for_each(|text| out.write_all(text))?;
                }
            }
            Ok(out.write_all(b"\n\\end\\\n")?)
        })
    }
}

/// A piece of the lines of the last of these levels, from `start` on.
fn lines(words: &Words, levels: &[LevelView<'_>], start: usize) -> Vec<u8> {
    let level = levels[levels.len() - 1];
    let end = (start + PIECE).min(level.word.len());
    let mut out = Vec::with_capacity(PIECE * 48);
    let mut context = Context::new(levels, start);
    let mut text = String::new();
    let mut next = start;
    for i in start..end {
        if i >= next {
            next = context.advance(levels, i);
            context.write(words, levels, &mut text);
        }
        push_number(&mut out, level.log10[i]);
        out.push(b'\t');
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(words.get(level.word[i]).as_bytes());
        if let Some(&backoff) = level.backoff.get(i) {
            out.push(b'\t');
            push_number(&mut out, backoff);
        }
        out.push(b'\n');
    }
    out
}

/// The entries above an entry, the first word's first.
struct Context(Vec<usize>);

impl Context {
    /// The entries above entry `i` of the last level.
    fn new(levels: &[LevelView<'_>], i: usize) -> Context {
        let above = levels[..levels.len() - 1].iter().rev().scan(i, |child, level| {
            *child = level.first_child.partition_point(|&first| first as usize <= *child) - 1;
            Some(*child)
        });
        let mut above: Vec<usize> = above.collect();
        above.reverse();
        Context(above)
    }

    /// Moves on to those above entry `i`, and says where their continuations end.
    fn advance(&mut self, levels: &[LevelView<'_>], i: usize) -> usize {
        let mut child = i;
        for (entry, level) in self.0.iter_mut().zip(levels).rev() {
            while level.first_child[*entry + 1] as usize <= child {
                *entry += 1;
            }
            child = *entry;
        }
        match self.0.last() {
            Some(&last) => levels[levels.len() - 2].first_child[last + 1] as usize,
            None => usize::MAX,
        }
    }

    fn write(&self, words: &Words, levels: &[LevelView<'_>], text: &mut String) {
        text.clear();
        for (&entry, level) in self.0.iter().zip(levels) {
            text.push_str(words.get(level.word[entry]));
            text.push(' ');
        }
    }
}
