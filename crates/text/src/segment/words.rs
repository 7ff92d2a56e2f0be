//! jieba's words: the dictionary, and the full cut that jieba-rs does not have in Python's shape.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jieba_rs::Jieba;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::characters::{in_dictionary_block, is_zero_width};
use super::super::dictionary::{DictionaryEntry, DictionaryReport};
use super::super::{TaggedToken, Token};
use inkstone_base::data::Key;

/// Characters of the longest word in jieba's own dictionary.
const LONGEST_WORD: usize = 16;

/// The dictionary that was built last in this process, with the key of its entries. To build one takes a tenth of a second, and features that
/// are computed one after the other mostly need the same one. Each takes 50 MB, so only one is kept.
static BUILT: Mutex<Option<(Key, Arc<Jieba>)>> = Mutex::new(None);

/// The dictionary: read at once so that errors come early, built when first needed (characters never need it).
pub(super) struct JiebaWords {
    pub(super) entries: Vec<DictionaryEntry>,
    pub(super) reports: Vec<DictionaryReport>,
    jieba: OnceLock<Arc<Jieba>>,
    longest: usize,
    /// Words of frequency 0. jieba-rs never takes one as part of the best path, but still lists it among all words.
    apart: FxHashSet<Box<str>>,
    /// Bytes of the shortest of them: nearly all tokens are shorter and need not be looked up.
    shortest_apart: usize,
    /// Tags that came with the entries. jieba-rs keeps the tag that a word of its own dictionary has, Python takes these.
    tags: FxHashMap<Box<str>, Box<str>>,
}

/// jieba's dictionary with these entries on top.
fn build(entries: &[DictionaryEntry]) -> Jieba {
    let mut jieba = Jieba::new();
    for entry in entries {
        if entry.frequency == Some(0) {
            // With the word gone each of its characters must still lead on, or the best path ends before it.
            for c in entry.word.chars() {
                let c = c.encode_utf8(&mut [0; 4]).to_owned();
                if !jieba.has_word(&c) {
                    jieba.add_word(&c, Some(1), None);
                }
            }
        }
        jieba.add_word(&entry.word, entry.frequency, Some(&entry.tag));
    }
    jieba
}

impl JiebaWords {
    /// The words of jieba with these on top.
    pub(super) fn new(entries: Vec<DictionaryEntry>, reports: Vec<DictionaryReport>) -> JiebaWords {
        let longest = entries.iter().map(|e| e.word.chars().count()).max().unwrap_or(0).max(LONGEST_WORD);
        let mut apart: FxHashSet<Box<str>> = FxHashSet::default();
        for entry in &entries {
            match entry.frequency {
                Some(0) => apart.insert(entry.word.as_str().into()),
                _ => apart.remove(entry.word.as_str()),
            };
        }
        let shortest_apart = apart.iter().map(|word| word.len()).min().unwrap_or(usize::MAX);
        let tags = entries.iter().filter(|entry| !entry.tag.is_empty());
        let tags = tags.map(|entry| (entry.word.as_str().into(), entry.tag.as_str().into())).collect();
        JiebaWords { entries, reports, jieba: OnceLock::new(), longest, apart, shortest_apart, tags }
    }

    /// The dictionary, built by the first call.
    pub(super) fn jieba(&self) -> &Jieba {
        self.jieba.get_or_init(|| {
            let key = Key::of(self.entries_as_text().as_bytes());
            let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            if built.as_ref().is_none_or(|(other, _)| *other != key) {
                // The old one goes before the new one is made.
                *built = None;
                *built = Some((key, Arc::new(build(&self.entries))));
            }
            built.as_ref().map(|(_, jieba)| jieba.clone()).expect("it was just built")
        })
    }

    /// The entries, a line each.
    pub(super) fn entries_as_text(&self) -> String {
        let line =
            |DictionaryEntry { word, frequency, tag }: &DictionaryEntry| format!("{word}\t{frequency:?}\t{tag}\n");
        self.entries.iter().map(line).collect()
    }

    /// True if this is a word to be cut apart.
    fn is_apart(&self, word: &str) -> bool {
        word.len() >= self.shortest_apart && self.apart.contains(word)
    }

    /// True if this is a word of the dictionary and not to be cut apart.
    pub(super) fn has(&self, word: &str) -> bool {
        self.jieba().has_word(word) && !self.is_apart(word)
    }

    /// The most probable path. Blanks are among its tokens.
    pub(super) fn for_each_precise<'t>(&self, text: &'t str, hmm: bool, mut f: impl FnMut(Token<'t>)) {
        for jieba_rs::Token { word, byte_start: start, byte_end: end, .. } in self.jieba().cut(text, hmm) {
            if self.is_apart(word) {
                // The hidden Markov model has put together what the dictionary had cut.
                for (at, c) in word.char_indices() {
                    let (start, end) = (start + at, start + at + c.len_utf8());
                    f(Token { text: &text[start..end], start, end });
                }
            } else {
                f(Token { text: word, start, end });
            }
        }
    }

    /// The most probable path with the part of speech of each word. Blanks are among its tokens.
    ///
    /// A word of the dictionary has the dictionary's tag, another the one that the hidden Markov model of tags finds likeliest
    /// for it.
    pub(super) fn for_each_tagged<'t>(&'t self, text: &'t str, hmm: bool, mut f: impl FnMut(TaggedToken<'t>)) {
        for jieba_rs::Tag { word, tag, byte_start: start, byte_end: end, .. } in self.jieba().tag(text, hmm) {
            if self.is_apart(word) {
                for (at, c) in word.char_indices() {
                    let (start, end) = (start + at, start + at + c.len_utf8());
                    let token = Token { text: &text[start..end], start, end };
                    let tag = self.jieba().tag(token.text, hmm).first().map_or("", |single| single.tag);
                    f(TaggedToken { token, tag: self.own_tag(token.text, tag) });
                }
            } else {
                f(TaggedToken { token: Token { text: word, start, end }, tag: self.own_tag(word, tag) });
            }
        }
    }

    /// The tag that an entry gives the word, or `tag`; `x` when both say nothing.
    fn own_tag<'t>(&'t self, word: &str, tag: &'t str) -> &'t str {
        match self.tags.get(word) {
            Some(own) => own,
            None if tag.is_empty() => "x",
            None => tag,
        }
    }

    /// The precise cut; before each word of three and more characters the words of two characters in it, then those of three.
    /// jieba-rs's own search cut would list words that are to be cut apart.
    pub(super) fn for_each_search<'t>(&self, text: &'t str, hmm: bool, mut f: impl FnMut(Token<'t>)) {
        let mut bounds = Vec::new();
        self.for_each_precise(text, hmm, |token| {
            bounds.clear();
            bounds.extend(token.text.char_indices().map(|(at, _)| token.start + at));
            bounds.push(token.end);
            for size in [2, 3] {
                // A part is shorter than its word.
                for part in bounds.windows(size + 1).filter(|_| bounds.len() > size + 1) {
                    let (start, end) = (part[0], part[size]);
                    if self.has(&text[start..end]) {
                        f(Token { text: &text[start..end], start, end });
                    }
                }
            }
            f(token);
        });
    }

    /// The full cut, by the rule of Python's jieba, which jieba-rs does not follow: a character alone is given only where no
    /// word was found, and words may mix letters and Chinese (`A股`).
    pub(super) fn for_each_full<'t>(&self, text: &'t str, mut f: impl FnMut(Token<'t>)) {
        let chinese = self.jieba().cut_all(text);
        let mut chinese = chinese.as_slice();
        let mut block: Vec<(usize, char)> = Vec::new();
        for (at, c) in text.char_indices() {
            if in_dictionary_block(c) {
                block.push((at, c));
                continue;
            }
            self.cut_block_full(text, &block, at, &mut chinese, &mut f);
            block.clear();
            if !c.is_whitespace() && !c.is_control() && !is_zero_width(c) {
                let end = at + c.len_utf8();
                f(Token { text: &text[at..end], start: at, end });
            }
        }
        self.cut_block_full(text, &block, text.len(), &mut chinese, &mut f);
    }

    /// The full cut of one block, the characters `block` of `text` up to byte `end`. `chinese` gives the words of Chinese
    /// characters alone by place, those of this block and after; words with a letter are looked up here.
    fn cut_block_full<'t>(
        &self,
        text: &'t str,
        block: &[(usize, char)],
        end: usize,
        chinese: &mut &[jieba_rs::Token<'t>],
        f: &mut impl FnMut(Token<'t>),
    ) {
        let byte = |i: usize| block.get(i).map_or(end, |&(at, _)| at);
        let mut give = |from: usize, to: usize| {
            let (start, end) = (byte(from), byte(to));
            f(Token { text: &text[start..end], start, end });
        };
        // Letters and digits that no word claims run together, from here on.
        let mut run: Option<usize> = None;
        // One past the last word found. Python's rule takes the latest word, not the furthest one; so does this.
        let mut covered = 0;
        // The first character from here on that is not Chinese.
        let mut letter = 0;
        let mut ends = Vec::new();
        for (k, &(at, c)) in block.iter().enumerate() {
            ends.clear();
            while let Some((word, rest)) = chinese.split_first()
                && word.byte_start <= at
            {
                if word.byte_start == at && !c.is_ascii() && word.end - word.start > 1 && !self.is_apart(word.word) {
                    ends.push(k + word.end - word.start);
                }
                *chinese = rest;
            }
            while letter < block.len() && (letter < k || !block[letter].1.is_ascii()) {
                letter += 1;
            }
            let mixed = letter.max(k + 1) + 1..=block.len().min(k + self.longest);
            ends.extend(mixed.filter(|&to| self.has(&text[at..byte(to)])));

            let loose = ends.is_empty() && k >= covered;
            let joins = loose && c.is_ascii_alphanumeric();
            if !joins && let Some(from) = run.take() {
                give(from, k);
            }
            for &to in &ends {
                give(k, to);
                covered = to;
            }
            if loose {
                covered = k + 1;
                if joins {
                    run.get_or_insert(k);
                } else {
                    give(k, k + 1);
                }
            }
        }
        if let Some(from) = run {
            give(from, block.len());
        }
    }
}
