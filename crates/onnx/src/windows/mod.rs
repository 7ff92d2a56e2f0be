//! Texts as the windows of tokens that a model sees, and what of them was cut.

mod pairs;

use std::ops::Range;

use anyhow::Result;

use super::heads::inside_words;
use super::pooling::Places;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use inkstone_text::subword::Subword;
use inkstone_text::{Segmenter, Truncation};

pub(crate) use pairs::{PairText, check_room, tokens_beside};

/// Characters of a word, marks included, as the character models of ELMo take them.
const CHARACTERS: usize = 50;

pub enum Tokenizer {
    /// Pieces of a tokenizer.
    Pieces(Subword),
    /// Words of a list, the text cut into words before.
    Words(Subword, WordCutter),
    /// Words by their bytes.
    Characters(WordCutter),
}

pub enum WordCutter {
    /// It is cut already, by spaces.
    Spaces,
    /// As the project cuts it.
    Segmenter(Box<Segmenter>),
}

/// Makes the cutter of a model that reads words; others ask for none, and load no dictionary.
pub type OpenWordCutter<'a> = &'a dyn Fn() -> Result<WordCutter>;

impl WordCutter {
    fn cut<'t>(&self, text: &'t str) -> Vec<(&'t str, Range<u32>)> {
        let place = |word: &'t str| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            (word, start as u32..(start + word.len()) as u32)
        };
        match self {
            WordCutter::Spaces => text.split_whitespace().map(place).collect(),
            WordCutter::Segmenter(segmenter) => segmenter.tokens(text).iter().map(|token| place(token.text)).collect(),
        }
    }
}

/// A text that stands before each text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// Tokens of the prompt alone.
    pub tokens: usize,
    /// The prompt's tokens, and the special ones before them, are left out of the pooling.
    pub skipped: bool,
}

/// Tokens that a prompt and a text may have more together than apart.
const SEAM: usize = 8;

/// The tokens kept of one text, without special tokens.
#[derive(Default)]
struct KeptTokens {
    /// Numbers of the tokens of the prompt.
    prompt: Vec<u32>,
    /// Numbers, as many a token as the tokenizer has.
    numbers: Vec<u32>,
    offsets: Vec<Range<u32>>,
    /// Which of them go on with the word before.
    inside: Vec<bool>,
    /// True if the text had more.
    cut: bool,
    unknown: usize,
}

impl Tokenizer {
    /// Numbers a token.
    pub fn width(&self) -> usize {
        if matches!(self, Tokenizer::Characters(_)) { CHARACTERS } else { 1 }
    }

    pub fn subword(&self) -> Option<&Subword> {
        match self {
            Tokenizer::Pieces(subword) | Tokenizer::Words(subword, _) => Some(subword),
            Tokenizer::Characters(_) => None,
        }
    }

    /// Special tokens that each window gets.
    pub fn specials(&self) -> usize {
        match self {
            Tokenizer::Pieces(subword) => subword.specials(),
            Tokenizer::Words(vocabulary, _) => sentence_marks(vocabulary).iter().flatten().count(),
            Tokenizer::Characters(_) => 2,
        }
    }

    /// The bytes of all tokens of a text.
    pub fn places(&self, text: &str) -> Result<Vec<Range<usize>>> {
        Ok(self.all(text)?.offsets.iter().map(|place| place.start as usize..place.end as usize).collect())
    }

    /// Tokens of a text, and those that the vocabulary has.
    pub fn coverage(&self, text: &str) -> Result<(usize, usize)> {
        let kept = self.all(text)?;
        let is_unknown = |number: &u32| self.subword().and_then(Subword::unk_id) == Some(*number);
        let unknown = kept.numbers.iter().filter(|number| is_unknown(number)).count();
        Ok((kept.offsets.len(), kept.offsets.len() - unknown))
    }

    /// A window's tokens with its special ones: numbers, segments, and which tokens are of the text.
    fn wrap(&self, numbers: &[u32]) -> (Vec<u32>, Vec<u8>, Range<usize>) {
        let marked = |begin: &[u32], end: &[u32], width: usize| {
            let inner = begin.len() / width..(begin.len() + numbers.len()) / width;
            let numbers = [begin, numbers, end].concat();
            (vec![0; numbers.len() / width], numbers, inner)
        };
        let (types, numbers, inner) = match self {
            Tokenizer::Pieces(subword) => {
                let wrapped = subword.wrap(numbers);
                (wrapped.types.iter().map(|&kind| kind as u8).collect(), wrapped.ids, wrapped.text)
            }
            Tokenizer::Words(vocabulary, _) => {
                let [begin, end] = sentence_marks(vocabulary).map(|mark| mark.into_iter().collect::<Vec<u32>>());
                marked(&begin, &end, 1)
            }
            Tokenizer::Characters(_) => marked(&character_mark(SENTENCE[0]), &character_mark(SENTENCE[1]), CHARACTERS),
        };
        (numbers, types, inner)
    }

    fn all(&self, text: &str) -> Result<KeptTokens> {
        let (numbers, offsets) = match self {
            Tokenizer::Pieces(subword) => {
                let pieces = subword.encode(text)?;
                (pieces.ids, pieces.offsets)
            }
            Tokenizer::Words(vocabulary, words) => {
                let unknown = vocabulary.unk_id().unwrap_or(0);
                let words = words.cut(text);
                words.into_iter().map(|(word, place)| (vocabulary.id(word).unwrap_or(unknown), place)).unzip()
            }
            Tokenizer::Characters(words) => {
                let words = words.cut(text);
                let numbers = words.iter().flat_map(|(word, _)| characters(word)).collect();
                (numbers, words.into_iter().map(|(_, place)| place).collect())
            }
        };
        Ok(KeptTokens { numbers, offsets, ..KeptTokens::default() })
    }

    /// The tokens of a prompt alone. Fails for models of words.
    pub fn prompt(&self, text: &str, skipped: bool) -> Result<Prompt> {
        let Tokenizer::Pieces(subword) = self else {
            bail!(
                "以词为单位的模型不用提示词，提示词由子词构成",
                "a model of words takes no prompt, which is made of pieces"
            )
        };
        let tokens = subword.encode(text)?.ids.len();
        Ok(Prompt { text: text.to_owned(), tokens, skipped })
    }

    /// The tokens of a text behind a prompt, cut together, as a tokenizer may join the end of one with the beginning of the other; of a
    /// long text about `room` tokens where no more are needed.
    fn behind(&self, subword: &Subword, prompt: &Prompt, text: &str, room: Option<usize>) -> Result<KeptTokens> {
        let joined = [prompt.text.as_str(), text].concat();
        let pieces = match room {
            Some(room) => subword.encode_head(&joined, prompt.tokens + room + SEAM)?,
            None => subword.encode(&joined)?,
        };
        let begin = prompt.text.len() as u32;
        let count = pieces.offsets.iter().take_while(|place| place.end <= begin).count();
        let (before, numbers) = pieces.ids.split_at(count);
        let places = pieces.offsets[count..].iter();
        let offsets = places.map(|place| place.start.max(begin) - begin..place.end - begin).collect();
        Ok(KeptTokens { prompt: before.to_vec(), numbers: numbers.to_vec(), offsets, ..KeptTokens::default() })
    }

    /// The tokens of a text that a strategy keeps, at most `room` of them; `specials` = tokens of a window beside its text and the prompt.
    fn kept(
        &self,
        text: &str,
        truncation: &Truncation,
        room: usize,
        specials: usize,
        prompt: Option<&Prompt>,
    ) -> Result<KeptTokens> {
        let mut kept = match (self, *truncation) {
            (Tokenizer::Pieces(subword), truncation) if let Some(prompt) = prompt => {
                let reads_head = matches!(truncation, Truncation::None | Truncation::Head(_)) && room < usize::MAX;
                let mut kept = self.behind(subword, prompt, text, reads_head.then_some(room))?;
                let beside = specials + kept.prompt.len();
                // Joined with a text, a prompt may have another number of tokens than alone.
                let room = room.saturating_add(prompt.tokens).saturating_sub(kept.prompt.len()).max(1);
                let truncation = match truncation {
                    Truncation::Tail(limit) => Truncation::Tail(limit.min(room.saturating_add(beside))),
                    other => other,
                };
                let ranges = truncation.apply(kept.offsets.len(), beside);
                self.keep(&mut kept, &ranges);
                if kept.offsets.len() > room {
                    self.keep(&mut kept, &[0..room]);
                }
                kept
            }
            // One piece more shows whether there was more, at the price of these alone.
            (Tokenizer::Pieces(subword), Truncation::None | Truncation::Head(_)) if room < usize::MAX => {
                let room = truncation.limit(specials).map_or(room, |limit| room.min(limit.saturating_sub(specials)));
                let pieces = subword.encode_head(text, room + 1)?;
                let mut kept = KeptTokens { numbers: pieces.ids, offsets: pieces.offsets, ..KeptTokens::default() };
                self.keep(&mut kept, &[0..room]);
                kept
            }
            (Tokenizer::Pieces(subword), Truncation::Tail(limit)) => {
                let room = room.min(limit.saturating_sub(specials));
                let pieces = subword.encode_tail(text, room + 1)?;
                let begin = pieces.ids.len().saturating_sub(room);
                let mut kept = KeptTokens { numbers: pieces.ids, offsets: pieces.offsets, ..KeptTokens::default() };
                self.keep(&mut kept, &[begin..usize::MAX]);
                kept
            }
            _ => {
                let mut kept = self.all(text)?;
                let ranges = truncation.apply(kept.offsets.len(), specials);
                self.keep(&mut kept, &ranges);
                if kept.offsets.len() > room {
                    self.keep(&mut kept, &[0..room]);
                }
                kept
            }
        };
        if let Some(unknown) = self.subword().and_then(Subword::unk_id) {
            kept.unknown = kept.numbers.iter().filter(|&&number| number == unknown).count();
        }
        kept.inside = inside_words(text, &kept.offsets);
        Ok(kept)
    }

    /// Keeps some of the tokens, in order.
    fn keep(&self, kept: &mut KeptTokens, ranges: &[Range<usize>]) {
        let (len, width) = (kept.offsets.len(), self.width());
        let ranges: Vec<Range<usize>> = ranges.iter().map(|r| r.start.min(len)..r.end.min(len)).collect();
        if ranges.iter().map(ExactSizeIterator::len).sum::<usize>() == len {
            return;
        }
        kept.cut = true;
        kept.numbers = ranges.iter().flat_map(|r| kept.numbers[r.start * width..r.end * width].to_vec()).collect();
        kept.offsets = ranges.iter().flat_map(|r| kept.offsets[r.clone()].to_vec()).collect();
    }
}

/// The marks of a sentence in a list of words, where it has them.
fn sentence_marks(vocabulary: &Subword) -> [Option<u32>; 2] {
    ["<S>", "</S>"].map(|mark| vocabulary.id(mark))
}

/// The numbers that stand for the beginning and the end of a sentence, as if they were bytes of a word.
const SENTENCE: [u32; 2] = [256, 257];

/// A mark of a sentence as a word of one character.
fn character_mark(byte: u32) -> [u32; CHARACTERS] {
    let mut numbers = [261; CHARACTERS];
    numbers[..3].copy_from_slice(&[259, byte + 1, 260]);
    numbers
}

/// The numbers of a word's bytes: its beginning (258), its bytes in UTF-8, its end (259), filled up with 260; one is added to each,
/// so that 0 can fill up texts (Peters et al. 2018, the original implementation).
fn characters(word: &str) -> [u32; CHARACTERS] {
    let mut numbers = [261; CHARACTERS];
    let bytes = &word.as_bytes()[..word.len().min(CHARACTERS - 2)];
    numbers[0] = 259;
    numbers[1..=bytes.len()].iter_mut().zip(bytes).for_each(|(number, &byte)| *number = u32::from(byte) + 1);
    numbers[bytes.len() + 1] = 260;
    numbers
}

/// Rules by which texts become windows.
#[derive(Clone, Debug)]
pub struct WindowRules {
    pub truncation: Truncation,
    /// Tokens of a window at most, special ones included; `usize::MAX` where there is no limit.
    pub limit: usize,
    /// From a window's first token to that of the next; 0: a text has one window.
    pub stride: usize,
    /// Windows get no special tokens: they are segments of one text, joined by a memory.
    pub bare: bool,
    pub prompt: Option<Prompt>,
    /// Number of the mask token that hides each token of a window in turn; none: all are seen.
    pub mask: Option<u32>,
}

impl WindowRules {
    /// Fails where a window has no room for a token of a text.
    pub fn check(&self, tokenizer: &Tokenizer) -> Result<()> {
        let specials = self.specials(tokenizer);
        ensure!(
            self.limit > specials,
            "{} 个词元的窗口除去 {specials} 个特殊词元没有余地{}",
            "a window of {} tokens has no room beside {specials} special ones{}",
            self.limit,
            if self.prompt.is_some() { ", those of the prompt among them" } else { "" }
        );
        Ok(())
    }

    /// Tokens of a window that are not of its text: special ones, and those of the prompt.
    pub fn specials(&self, tokenizer: &Tokenizer) -> usize {
        if self.bare { 0 } else { tokenizer.specials() + self.prompt.as_ref().map_or(0, |prompt| prompt.tokens) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub text: usize,
    /// Tokens among those of all windows, special ones included.
    pub tokens: Range<usize>,
    /// Tokens of the text, counted from the window's first token.
    pub inner: Range<usize>,
    /// First tokens that are not pooled.
    pub skipped: usize,
    /// Which of the fixed texts stands beside the text.
    pub pair: usize,
    /// The token, counted from the window's first, that the mask token hides from the model.
    pub masked: Option<usize>,
}

impl Window {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }
}

/// Counts of texts, windows and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    pub texts: u64,
    /// Texts without a token.
    pub empty: u64,
    /// Texts of which tokens were left out, by truncation or because the model has no more places.
    pub cut: u64,
    pub windows: u64,
    /// Tokens of text in them.
    pub tokens: u64,
    /// Tokens that the vocabulary does not have.
    pub unknown: u64,
    /// Texts for which the model gave values that are not numbers.
    pub not_finite: u64,
}

impl WindowCounts {
    pub fn add(&mut self, other: &WindowCounts) {
        self.texts += other.texts;
        self.empty += other.empty;
        self.cut += other.cut;
        self.windows += other.windows;
        self.tokens += other.tokens;
        self.unknown += other.unknown;
        self.not_finite += other.not_finite;
    }
}

pub struct Windows {
    pub windows: Vec<Window>,
    /// The number of each token, `width` a token.
    numbers: Vec<u32>,
    width: usize,
    types: Vec<u8>,
    /// Bytes of the text of each token; special ones have none.
    offsets: Vec<Range<u32>>,
    /// True if each token goes on with the word before.
    inside: Vec<bool>,
    /// The texts themselves, where windows hold two: an answer is a part of one.
    texts: Vec<Box<str>>,
    /// Number of the mask token, where windows hide a token.
    mask: u32,
    pub seen: WindowCounts,
}

impl Windows {
    /// Cuts texts into windows. A text without a token has none.
    pub fn new(texts: &[&str], tokenizer: &Tokenizer, rules: &WindowRules, ctx: &Ctx) -> Result<Windows> {
        rules.check(tokenizer)?;
        let specials = rules.specials(tokenizer);
        let content = rules.limit - specials;
        let room = if rules.stride > 0 || rules.limit == usize::MAX { usize::MAX } else { content };
        // One thread: it cuts faster than models read, and what many allocate and one frees would make memory grow.
        let kept = texts.iter().map(|text| {
            ctx.check()?;
            tokenizer.kept(text, &rules.truncation, room, tokenizer.specials(), rules.prompt.as_ref())
        });
        let kept = kept.collect::<Result<Vec<KeptTokens>>>()?;
        let mut all = Windows::empty(texts.len(), tokenizer);
        for (text, kept) in kept.iter().enumerate() {
            all.count(kept);
            let prompt = rules.prompt.as_ref().map_or(0, |prompt| prompt.tokens);
            let content = (content.saturating_add(prompt) - kept.prompt.len()).max(1);
            let skipped = rules.prompt.as_ref().filter(|prompt| prompt.skipped).map_or(0, |prompt| prompt.tokens);
            for range in cut(kept.offsets.len(), content, rules.stride) {
                all.push(text, (!rules.bare).then_some(tokenizer), kept, range, skipped);
            }
        }
        all.seen.windows = all.windows.len() as u64;
        Ok(all)
    }

    fn empty(texts: usize, tokenizer: &Tokenizer) -> Windows {
        Windows {
            windows: Vec::new(),
            numbers: Vec::new(),
            width: tokenizer.width(),
            types: Vec::new(),
            offsets: Vec::new(),
            inside: Vec::new(),
            texts: Vec::new(),
            mask: 0,
            seen: WindowCounts { texts: texts as u64, ..WindowCounts::default() },
        }
    }

    fn count(&mut self, kept: &KeptTokens) {
        self.seen.cut += u64::from(kept.cut);
        self.seen.empty += u64::from(kept.offsets.is_empty());
        self.seen.unknown += kept.unknown as u64;
    }

    /// Adds a window of these tokens behind the prompt, with the special ones of `tokenizer` if there is one. `skipped` tokens behind the
    /// first special ones are not pooled, nor are these then.
    fn push(
        &mut self,
        text: usize,
        tokenizer: Option<&Tokenizer>,
        kept: &KeptTokens,
        tokens: Range<usize>,
        skipped: usize,
    ) {
        let begin = self.types.len();
        let numbers = &kept.numbers[tokens.start * self.width..tokens.end * self.width];
        let joined: Vec<u32>;
        let numbers = if kept.prompt.is_empty() {
            numbers
        } else {
            joined = [&kept.prompt, numbers].concat();
            &joined
        };
        let bare = || (numbers.to_vec(), vec![0; tokens.len()], 0..tokens.len());
        let (numbers, types, inner) = tokenizer.map_or_else(bare, |tokenizer| tokenizer.wrap(numbers));
        let skipped = if skipped > 0 { inner.start + skipped } else { 0 };
        let inner = inner.start + kept.prompt.len()..inner.end;
        self.place(
            Window { text, tokens: begin..begin, inner, skipped, pair: 0, masked: None },
            &numbers,
            &types,
            kept,
            tokens,
        );
    }

    /// Adds a window with its tokens, of which `tokens` of the text are the inner ones.
    fn place(&mut self, mut window: Window, numbers: &[u32], types: &[u8], kept: &KeptTokens, tokens: Range<usize>) {
        let (begin, inner) = (self.types.len(), &window.inner);
        self.numbers.extend_from_slice(numbers);
        self.types.extend_from_slice(types);
        self.seen.tokens += inner.len() as u64;
        self.offsets.resize(begin + inner.start, 0..0);
        self.offsets.extend_from_slice(&kept.offsets[tokens.clone()]);
        self.offsets.resize(self.types.len(), 0..0);
        self.inside.resize(begin + inner.start, false);
        self.inside.extend_from_slice(&kept.inside[tokens]);
        self.inside.resize(self.types.len(), false);
        window.tokens = begin..self.types.len();
        self.windows.push(window);
    }

    /// Numbers of the tokens of a window, `width` each.
    pub fn numbers(&self, window: &Window) -> &[u32] {
        &self.numbers[window.tokens.start * self.width..window.tokens.end * self.width]
    }

    /// Number of a token of a window as the model sees it, for tokenizers with one number a token.
    pub(crate) fn number_seen(&self, window: &Window, token: usize) -> u32 {
        if window.masked == Some(token) { self.mask } else { self.numbers(window)[token] }
    }

    /// A window for each token of the text in each window, which hides that token behind the one with number `mask`.
    pub(crate) fn hide_each_token(mut self, mask: u32) -> Windows {
        let hide =
            |window: Window| window.inner.clone().map(move |token| Window { masked: Some(token), ..window.clone() });
        self.windows = std::mem::take(&mut self.windows).into_iter().flat_map(hide).collect();
        self.seen.windows = self.windows.len() as u64;
        self.mask = mask;
        self
    }

    /// Segments of the tokens of a window.
    pub fn types(&self, window: &Window) -> &[u8] {
        &self.types[window.tokens.clone()]
    }

    /// Bytes of the text of each token of a window.
    pub fn offsets(&self, window: &Window) -> &[Range<u32>] {
        &self.offsets[window.tokens.clone()]
    }

    /// The text that a window is of, where it stands beside another; else empty.
    pub(crate) fn text(&self, window: &Window) -> &str {
        self.texts.get(window.text).map_or("", AsRef::as_ref)
    }

    /// Which of the tokens of a window go on with the word before.
    pub fn inside(&self, window: &Window) -> &[bool] {
        &self.inside[window.tokens.clone()]
    }

    /// The byte up to which the window before has read the same text.
    pub(crate) fn read_before(&self, number: usize) -> usize {
        let (text, pair) = (self.windows[number].text, self.windows[number].pair);
        let before = number.checked_sub(1).map(|before| &self.windows[before]);
        let before = before.filter(|before| before.text == text && before.pair == pair);
        let last = before.and_then(|before| self.offsets(before)[before.inner.clone()].last());
        last.map_or(0, |place| place.end as usize)
    }

    pub fn lengths(&self) -> Vec<usize> {
        self.windows.iter().map(Window::len).collect()
    }

    /// The windows of each text, in the order of the texts.
    pub(crate) fn of_texts(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::with_capacity(self.seen.texts as usize);
        let mut at = 0;
        for text in 0..self.seen.texts as usize {
            let begin = at;
            while self.windows.get(at).is_some_and(|window| window.text == text) {
                at += 1;
            }
            ranges.push(begin..at);
        }
        ranges
    }
}

/// Ranges of windows over so many tokens, of at most `content` each, that begin `stride` tokens after one another; one if that is 0.
fn cut(len: usize, content: usize, stride: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut begin) = (Vec::new(), 0);
    while begin < len {
        let end = len.min(begin.saturating_add(content));
        ranges.push(begin..end);
        if end == len {
            break;
        }
        begin += stride.clamp(1, content);
    }
    ranges
}

/// Places within a row of `width` tokens in which a window stands, at the end of the row where the family fills up at the left.
pub(crate) fn places(window: &Window, width: usize, left: bool, cls_last: bool) -> Places {
    let begin = if left { width - window.len() } else { 0 };
    let real = begin..begin + window.len();
    // At least the last token is pooled.
    let pooled = (begin + window.skipped).min(real.end - 1)..real.end;
    let cls = if cls_last { real.end - 1 } else { pooled.start };
    // The token behind the text, where one stands there, ends it.
    let sep = (begin + window.inner.end).min(real.end - 1);
    Places { text: begin + window.inner.start..begin + window.inner.end, real, pooled, cls, sep }
}
