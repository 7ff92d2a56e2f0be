//! Texts as tokens of an encoder.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;

use crate::lines::Cutter;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_models::transformer::{BEGINS, CONTINUES, NAMED, REPLACED, SECOND};
use inkstone_text::sentences;
use inkstone_text::subword::{Pieces, Subword, longest_first};

/// Tokens of a text that is worth reading, special tokens not included.
pub(super) const LEAST: usize = 2;

/// Tokens of texts, with the special tokens of their tokenizer, in a scratch file.
pub(super) struct TokenizedTexts {
    map: Option<Mmap>,
    pub(super) places: Vec<Range<usize>>,
}

impl TokenizedTexts {
    pub(super) fn tokens(&self) -> &[u32] {
        disk::numbers(self.map.as_ref())
    }
}

/// Takes one text after the other.
pub(super) struct TextWriter {
    scratch: Scratch,
    places: Vec<Range<usize>>,
    written: usize,
}

impl TextWriter {
    /// The scratch file is made in the folder of `output`.
    pub(super) fn new(output: &Path) -> Result<TextWriter> {
        let scratch = Scratch::within(disk::folder_of(output))?;
        Ok(TextWriter { scratch, places: Vec::new(), written: 0 })
    }

    pub(super) fn push(&mut self, tokens: &[u32]) -> Result<()> {
        self.places.push(self.written..self.written + tokens.len());
        self.written += tokens.len();
        self.scratch.write(bytemuck::cast_slice(tokens))
    }

    pub(super) fn finish(self) -> Result<TokenizedTexts> {
        Ok(TokenizedTexts { map: self.scratch.map()?, places: self.places })
    }
}

/// Tokens of an input at most, special tokens not included; fails where the model has fewer places.
pub(super) fn room(subword: &Subword, most: usize, places: usize) -> Result<usize> {
    let most = if most == 0 { places } else { most };
    ensure!(
        most <= places,
        "--max-tokens {most} 超过模型的 {places} 个位置",
        "--max-tokens {most} is more than the model's {places} places"
    );
    let room = most.saturating_sub(subword.specials());
    ensure!(
        room >= LEAST,
        "--max-tokens {most} 除去 {} 个特殊词元后没有文本的位置",
        "--max-tokens {most} leaves no room for text beside {} special tokens",
        subword.specials()
    );
    Ok(room)
}

/// Tokens of two texts in one input at most, special tokens not included; fails where the model has fewer places, or room for less than `least`.
pub(super) fn pair_room(subword: &Subword, most: usize, places: usize, least: usize) -> Result<usize> {
    let specials = subword.pair_specials().context(Word(
        "基础模型的分词器不能把两段文本放进一个输入",
        "the base's tokenizer puts no two texts into one input",
    ))?;
    let most = if most == 0 { places } else { most };
    ensure!(
        most <= places,
        "--max-tokens {most} 超过模型的 {places} 个位置",
        "--max-tokens {most} is more than the model's {places} places"
    );
    ensure!(
        most >= specials + least,
        "--max-tokens {most} 除去 {specials} 个特殊词元后放不下两段文本",
        "--max-tokens {most} leaves no room for two texts beside {specials} special tokens"
    );
    Ok(most - specials)
}

/// Two texts as one input of at most so many tokens; the longer text is cut first.
pub(super) fn pair_input(subword: &Subword, texts: [&str; 2], most: usize) -> Result<Vec<u32>> {
    let room = pair_room(subword, most, most, 2 * LEAST)?;
    let [first, second] = [subword.encode(texts[0])?.ids, subword.encode(texts[1])?.ids];
    let [of_first, of_second] = longest_first([first.len(), second.len()], room);
    let kept = |len: usize, keep: usize| if subword.cuts_left() { len - keep..len } else { 0..keep };
    let (first, second) = (&first[kept(first.len(), of_first)], &second[kept(second.len(), of_second)]);
    wrap_halves(subword, first, second)
}

/// A document as inputs of at most `room` tokens without special tokens. Each input is two parts, cut where a sentence begins, as near to the middle as
/// it can be; an input within one sentence is one part. With `words`, tokens are marked as [`inputs`] marks them.
pub(super) fn halves(
    subword: &Subword,
    text: &str,
    room: usize,
    words: Option<&Cutter>,
) -> Result<Vec<(Vec<u32>, Option<Vec<u32>>)>> {
    let Pieces { ids, offsets } = marked(subword, text, words)?;
    let begins: Vec<usize> = sentences(text).into_iter().map(|sentence| sentence.start).collect();
    let parts = ids.chunks(room).zip(offsets.chunks(room)).filter(|(ids, _)| ids.len() >= LEAST);
    let halved = |(ids, offsets): (&[u32], &[Range<u32>])| {
        let begins = |place: &usize| begins.binary_search(&(offsets[*place].start as usize)).is_ok();
        let places = (LEAST..ids.len().saturating_sub(LEAST - 1)).filter(begins);
        match places.min_by_key(|place| (2 * place).abs_diff(ids.len())) {
            Some(place) => (ids[..place].to_vec(), Some(ids[place..].to_vec())),
            None => (ids.to_vec(), None),
        }
    };
    Ok(parts.map(halved).collect())
}

/// Two parts with the special tokens of a pair around them.
pub(super) fn wrap_halves(subword: &Subword, first: &[u32], second: &[u32]) -> Result<Vec<u32>> {
    let wrapped = subword
        .wrap_pair(first, second)
        .context(Word("分词器不能把两段文本放进一个输入", "the tokenizer puts no two texts into one input"))?;
    let segmented = wrapped.ids.iter().zip(&wrapped.types);
    Ok(segmented.map(|(id, segment)| if *segment == 0 { *id } else { id | SECOND }).collect())
}

/// A document as inputs of at most `room` tokens each, with the special tokens around each. With `words`, tokens that go on with a word of the cutter
/// have [`CONTINUES`] added.
pub(super) fn inputs(subword: &Subword, text: &str, room: usize, words: Option<&Cutter>) -> Result<Vec<Vec<u32>>> {
    named_inputs(subword, text, room, words, &[])
}

/// The same; the tokens of these names have [`NAMED`] added, and [`REPLACED`] where a name took the place of another.
pub(super) fn named_inputs(
    subword: &Subword,
    text: &str,
    room: usize,
    words: Option<&Cutter>,
    names: &[(Range<usize>, bool)],
) -> Result<Vec<Vec<u32>>> {
    let Pieces { mut ids, offsets } = marked(subword, text, words)?;
    for (id, place) in ids.iter_mut().zip(&offsets) {
        let begin = place.start as usize;
        let name = names.partition_point(|(name, _)| name.end <= begin);
        if let Some((_, replaced)) = names.get(name).filter(|(name, _)| name.start <= begin) {
            *id |= NAMED | if *replaced { REPLACED } else { 0 };
        }
    }
    Ok(wrapped(subword, &ids, room))
}

/// The same; tokens that begin a sentence have [`BEGINS`] added.
pub(super) fn sentence_inputs(
    subword: &Subword,
    text: &str,
    room: usize,
    words: Option<&Cutter>,
) -> Result<Vec<Vec<u32>>> {
    let Pieces { mut ids, offsets } = marked(subword, text, words)?;
    let begins: Vec<usize> = sentences(text).into_iter().map(|sentence| sentence.start).collect();
    let mut last = None;
    for (id, place) in ids.iter_mut().zip(&offsets) {
        let sentence = begins.partition_point(|&begin| begin <= place.start as usize);
        if last != Some(sentence) {
            *id |= BEGINS;
        }
        last = Some(sentence);
    }
    Ok(wrapped(subword, &ids, room))
}

/// Tokens as inputs of at most `room` tokens each, with the special tokens around each.
fn wrapped(subword: &Subword, ids: &[u32], room: usize) -> Vec<Vec<u32>> {
    ids.chunks(room).filter(|ids| ids.len() >= LEAST).map(|ids| subword.wrap(ids).ids).collect()
}

/// The tokens of a text; with `words`, tokens that go on with a word of the cutter have [`CONTINUES`] added.
fn marked(subword: &Subword, text: &str, words: Option<&Cutter>) -> Result<Pieces> {
    let Pieces { mut ids, offsets } = subword.encode(text)?;
    if let Some(cutter) = words {
        let begins: Vec<usize> =
            cutter.tokens(text).iter().map(|token| token.as_ptr() as usize - text.as_ptr() as usize).collect();
        let mut last = None;
        for (id, place) in ids.iter_mut().zip(&offsets) {
            let word = begins.partition_point(|&begin| begin <= place.start as usize);
            if last == Some(word) {
                *id |= CONTINUES;
            }
            last = Some(word);
        }
    }
    Ok(Pieces { ids, offsets })
}
