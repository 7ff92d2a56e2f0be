//! The segmenter, which cuts text into jieba's words, a trained labeller's words, or characters.
//!
//! Words follow jieba-rs, which has the dictionary, the probabilities and the hidden Markov model of Python's jieba 0.42.1.
//! It differs from Python's jieba on purpose: a run of letters and digits joined by `.`, `-` or `_` is one word (`000001.SZ`,
//! `2024-03-01`; Python cuts at the joint); each mark is a token of its own in the full cut (Python gives runs of them); the
//! characters of a word of frequency 0 that no other word takes stand alone (Python asks the hidden Markov model about
//! them); white space is never a token.
//!
//! Parts of speech are jieba's tags on the words of the precise cut, so that tagging never changes the cut. Python's
//! `jieba.posseg` cuts what no dictionary word covers with a second hidden Markov model, one of words and tags together, so
//! unknown words and their tags can differ from Python's (高开 is v here, a name there).

mod words;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use chrono::NaiveDateTime;

use self::words::JiebaWords;
use crate::characters::{self, is_zero_width};
use crate::dictionary::{self, DictionaryEntry, DictionaryReport};
use crate::filter::Filter;
use crate::labeller::Labeller;
use crate::params::{Cut, Mode, TokenizerParams};
use crate::subword::Subword;
use crate::{TaggedToken, Token};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::{bail, ensure};

/// Changes whenever this module gives other tokens or terms for the same parameters; features made before are then stale.
pub const CODE_VERSION: &str = "text 1";

/// Version of jieba-rs, which exports none; a test holds it against the lock file. Part of every segmenter's key.
pub const JIEBA_VERSION: &str = "0.11.0";

/// Terms of finance that jieba's dictionary lacks.
const FINANCE: &str = include_str!("../../../../assets/finance_dict.txt");

/// Cuts text into tokens and terms. Built once, shared by all threads; clones share the dictionary.
#[derive(Clone)]
pub struct Segmenter {
    mode: Mode,
    cut: Cut,
    hmm: bool,
    tags: bool,
    words: Arc<JiebaWords>,
    /// The tokenizer of word pieces; none in other modes.
    pieces: Option<Arc<Subword>>,
    /// The labeller of words and the key of its file; none in other modes.
    labeller: Option<Arc<(Labeller, Key)>>,
    filter: Arc<Filter>,
}

impl Segmenter {
    /// Reads dictionaries and stopwords; relative paths start at `base`, the project folder.
    pub fn new(params: &TokenizerParams, base: &Path) -> Result<Segmenter> {
        Segmenter::with_words(params, base, &[])
    }

    /// A segmenter like that of [`Segmenter::new`], with more words that are to be cut whole: names of companies, the words of a lexicon.
    pub fn with_words(params: &TokenizerParams, base: &Path, more: &[DictionaryEntry]) -> Result<Segmenter> {
        ensure!(
            !params.tags || (params.mode, params.cut) == (Mode::Jieba, Cut::Precise),
            "词性属于 jieba 精确模式的词：请去掉 tags，或去掉 mode 和 cut",
            "parts of speech are those of the words of jieba's precise cut: leave tags out, or mode and cut"
        );
        let pieces = match (params.mode, &params.pieces) {
            (Mode::Wordpiece, Some(path)) => Some(Arc::new(Subword::open(&base.join(path))?)),
            (Mode::Wordpiece, None) => bail!(
                "子词取自分词器，而没有指定：请把 [tokenizer] pieces（--pieces）设为 tokenizer.json、vocab.txt 或 SentencePiece 模型",
                "word pieces are those of a tokenizer, and none is named: set [tokenizer] pieces (--pieces) to a tokenizer.json, a vocab.txt or a SentencePiece model"
            ),
            (Mode::Char | Mode::Jieba | Mode::Crf, _) => None,
        };
        let labeller = match (params.mode, &params.labeller) {
            (Mode::Crf, Some(path)) => Some(Arc::new(labeller(&base.join(path))?)),
            (Mode::Crf, None) => bail!(
                "crf 模式的词由标注器切出，而没有指定：请把 [tokenizer] labeller（--labeller）设为 inkstone train crf 的模型",
                "words of the mode crf are those of a labeller, and none is named: set [tokenizer] labeller (--labeller) to a model of inkstone train crf"
            ),
            (Mode::Char | Mode::Jieba | Mode::Wordpiece, _) => None,
        };
        let mut entries = Vec::new();
        let mut reports = Vec::new();
        let mut add = |(read, report): (Vec<DictionaryEntry>, DictionaryReport)| {
            entries.extend(read);
            reports.push(report);
        };
        if params.finance_dictionary {
            add(dictionary::parse(FINANCE, Path::new("builtin finance dictionary"), "UTF-8")?);
        }
        for path in &params.dictionaries {
            add(dictionary::read(&base.join(path), "[tokenizer] dictionaries")?);
        }
        entries.extend_from_slice(more);
        let words = JiebaWords::new(entries, reports);
        if params.mode == Mode::Jieba {
            words.jieba();
        }
        Ok(Segmenter {
            mode: params.mode,
            cut: params.cut,
            hmm: params.hmm,
            tags: params.tags,
            words: Arc::new(words),
            pieces,
            labeller,
            filter: Arc::new(Filter::new(params, base)?),
        })
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// This segmenter with another mode and cut, sharing its dictionary: for a reader that shows both. Word pieces and
    /// a labeller's words can be had of a segmenter of that mode alone; any other then gives characters.
    pub fn recut(&self, mode: Mode, cut: Cut) -> Segmenter {
        Segmenter { mode, cut, ..self.clone() }
    }

    /// This segmenter with or without words that no dictionary has, sharing its dictionary.
    pub fn with_hmm(&self, hmm: bool) -> Segmenter {
        Segmenter { hmm, ..self.clone() }
    }

    /// Hash of all that tokens and terms depend on: mode and options, dictionaries, stopwords, versions of jieba and of this
    /// code. It belongs to the key of every feature.
    pub fn key(&self) -> Key {
        let options = match self.mode {
            Mode::Char => "char".to_owned(),
            Mode::Jieba if self.tags => format!("jieba {JIEBA_VERSION} {:?} {} tags", self.cut, self.hmm),
            Mode::Jieba => format!("jieba {JIEBA_VERSION} {:?} {}", self.cut, self.hmm),
            Mode::Wordpiece => format!("wordpiece {:?}", self.pieces.as_ref().map(|pieces| pieces.key())),
            Mode::Crf => format!("crf {:?}", self.labeller.as_ref().map(|labeller| labeller.1)),
        };
        let words = if self.mode == Mode::Jieba { self.words.entries_as_text() } else { String::new() };
        let filter = self.filter.fingerprint();
        Key::of_parts([CODE_VERSION.as_bytes(), options.as_bytes(), words.as_bytes(), filter.as_bytes()])
    }

    /// The last time of the text that the segmenter itself was trained on: that of its labeller, where it has one.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.labeller.as_ref().and_then(|labeller| labeller.0.fitted_until())
    }

    /// True if it has a labeller that does not say what text it was trained on.
    pub fn is_undated(&self) -> bool {
        self.labeller.is_some() && self.fitted_until().is_none()
    }

    /// Reports on the dictionaries that were read.
    pub fn dictionaries(&self) -> &[DictionaryReport] {
        &self.words.reports
    }

    /// Gives each token of `text`, in the order of the cut.
    pub fn for_each_token<'t>(&self, text: &'t str, mut f: impl FnMut(Token<'t>)) {
        let give = |token: Token<'t>| {
            if !is_blank(token.text) {
                f(token);
            }
        };
        match (self.mode, self.cut) {
            (Mode::Char, _) => characters::for_each(text, f),
            (Mode::Wordpiece, _) => self.for_each_piece(text, give),
            (Mode::Crf, _) => match &self.labeller {
                Some(labeller) => labeller.0.for_each_word(text, f),
                None => characters::for_each(text, f),
            },
            (Mode::Jieba, Cut::Full) => self.words.for_each_full(text, f),
            (Mode::Jieba, Cut::Precise) => self.words.for_each_precise(text, self.hmm, give),
            (Mode::Jieba, Cut::Search) => self.words.for_each_search(text, self.hmm, give),
        }
    }

    /// Gives the parts of `text` that are word pieces; characters of a text that the tokenizer cannot read.
    fn for_each_piece<'t>(&self, text: &'t str, mut f: impl FnMut(Token<'t>)) {
        let Some(Ok(pieces)) = self.pieces.as_ref().map(|pieces| pieces.encode(text)) else {
            return characters::for_each(text, f);
        };
        for place in pieces.offsets {
            let piece = &text[place.start as usize..place.end as usize];
            // A piece of SentencePiece covers the blank before it.
            let start = place.start as usize + piece.len() - piece.trim_start().len();
            let piece = piece.trim();
            f(Token { text: piece, start, end: start + piece.len() });
        }
    }

    /// The tokens of `text`, in the order of the cut.
    pub fn tokens<'t>(&self, text: &'t str) -> Vec<Token<'t>> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        self.for_each_token(text, |token| tokens.push(token));
        tokens
    }

    /// The words of the precise cut with their parts of speech, whatever the mode and cut of this segmenter: characters have
    /// none, and overlapping words have no order in which to tag them.
    pub fn tagged<'t>(&'t self, text: &'t str) -> Vec<TaggedToken<'t>> {
        let mut words = Vec::with_capacity(text.len() / 4);
        self.words.for_each_tagged(text, self.hmm, |word| {
            if !is_blank(word.token.text) {
                words.push(word);
            }
        });
        words
    }

    /// True if terms are in lower case.
    pub fn lowercases(&self) -> bool {
        self.filter.lowercase
    }

    /// True if the dictionary has this word, and not as a word to be cut apart.
    pub fn knows(&self, word: &str) -> bool {
        self.words.has(word)
    }

    /// The least frequency with which the dictionary would cut this word whole.
    pub fn frequency_for(&self, word: &str) -> usize {
        self.words.jieba().suggest_freq(word)
    }

    /// The term that a token stands for; `None` for punctuation, numbers and stopwords as the parameters have it.
    pub fn term<'t>(&self, token: Token<'t>) -> Option<Cow<'t, str>> {
        self.filter.term(token.text)
    }

    /// The term of a word whose part of speech is known, like [`Segmenter::term`]; with its part of speech where terms have one.
    pub fn tagged_term<'t>(&self, word: TaggedToken<'t>) -> Option<Cow<'t, str>> {
        let term = self.term(word.token)?;
        Some(if self.tags { Cow::Owned(sense(&term, word.tag)) } else { term })
    }

    /// Gives each term of `text`, in the order of the cut.
    pub fn for_each_term<'t>(&self, text: &'t str, mut f: impl FnMut(Cow<'t, str>)) {
        if self.tags {
            let words = self.tagged(text).into_iter();
            return words.filter_map(|word| self.tagged_term(word)).for_each(|term| f(Cow::Owned(term.into_owned())));
        }
        self.for_each_token(text, |token| {
            if let Some(term) = self.term(token) {
                f(term);
            }
        });
    }

    /// The terms of `text`, in the order of the cut.
    pub fn terms<'t>(&self, text: &'t str) -> Vec<Cow<'t, str>> {
        let mut terms = Vec::with_capacity(text.len() / 6);
        self.for_each_term(text, |term| terms.push(term));
        terms
    }
}

/// Reads a labeller, which must cut words.
fn labeller(path: &Path) -> Result<(Labeller, Key)> {
    let labeller = Labeller::open(path)?;
    ensure!(
        labeller.cuts_words(),
        "{} 找的是名称，不切词：[tokenizer] labeller（--labeller）须为 inkstone train crf --learn words 的模型",
        "{} finds names and does not cut words: [tokenizer] labeller (--labeller) takes a model of inkstone train crf --learn words",
        path.display()
    );
    Ok((labeller, disk::hash_file(path)?))
}

/// A word with its part of speech.
pub(super) fn sense(word: &str, tag: &str) -> String {
    format!("{word}|{tag}")
}

/// White space and what takes no room: never a token.
fn is_blank(word: &str) -> bool {
    // Three bytes from U+4000 to U+9FFF: nearly every token starts so, and none of these is blank.
    let common = word.as_bytes().first().is_some_and(|first| (0xE4..=0xE9).contains(first));
    !common && word.chars().all(|c| c.is_whitespace() || c.is_control() || is_zero_width(c))
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// jieba's own dictionary alone.
    fn plain() -> TokenizerParams {
        TokenizerParams { finance_dictionary: false, ..TokenizerParams::default() }
    }

    fn segmenter(params: &TokenizerParams) -> Segmenter {
        Segmenter::new(params, Path::new(".")).unwrap()
    }

    fn cut(segmenter: &Segmenter, text: &str) -> Vec<String> {
        segmenter.tokens(text).into_iter().map(|token| token.text.to_owned()).collect()
    }

    fn strings(values: &Value) -> Vec<String> {
        values.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn segmenters_with_words_of_their_own_do_not_get_those_of_others() {
        let more =
            |word: &str| [DictionaryEntry { word: word.to_owned(), frequency: Some(9_999_999), tag: String::new() }];
        let cut = |word: &str| {
            let segmenter = Segmenter::with_words(&TokenizerParams::default(), Path::new("."), &more(word)).unwrap();
            segmenter.tokens("公司拟回购股份并分红").into_iter().map(|token| token.text.to_owned()).collect::<Vec<_>>()
        };
        let words = ["司拟", "购股", "并分"];
        for _ in 0..2 {
            for own in words {
                let cut = cut(own);
                assert!(
                    words.iter().all(|word| cut.iter().any(|token| token == word) == (*word == own)),
                    "{own}: {cut:?}"
                );
            }
        }
    }

    #[test]
    fn word_pieces_are_parts_of_the_text_and_not_of_a_word_list() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n公\n司\n的\nbio\n##tech\n")
            .unwrap();
        let params = TokenizerParams { mode: Mode::Wordpiece, pieces: Some("vocab.txt".into()), ..plain() };
        let pieces = Segmenter::new(&params, dir.path()).unwrap();
        let text = "公司 的BioTech，股";
        assert_eq!(cut(&pieces, text), ["公", "司", "的", "Bio", "Tech", "，", "股"]);
        pieces.for_each_token(text, |token| assert_eq!(token.text, &text[token.start..token.end]));
        // The built-in list of stopwords has 的, which is no word here.
        assert_eq!(pieces.terms(text), ["公", "司", "的", "bio", "tech", "股"]);
        let folder = TokenizerParams { pieces: Some(".".into()), ..params.clone() };
        assert_eq!(Segmenter::new(&folder, dir.path()).unwrap().key(), pieces.key());
        assert_eq!(folder.file_keys(dir.path()).unwrap(), params.file_keys(dir.path()).unwrap());
        std::fs::write(dir.path().join("vocab.txt"), "[UNK]\n公\n").unwrap();
        assert_ne!(Segmenter::new(&params, dir.path()).unwrap().key(), pieces.key());
        let none = TokenizerParams { pieces: None, ..params };
        let error = Segmenter::new(&none, dir.path()).err().unwrap().to_string();
        assert!(error.contains("[tokenizer] pieces"), "{error}");
    }

    #[test]
    fn every_cut_equals_that_of_pythons_jieba() {
        let reference = include_str!("../../../../tests/reference/jieba/tokens.json");
        let reference: Value = serde_json::from_str(reference).unwrap();
        let mut words: Vec<DictionaryEntry> =
            strings(&reference["words"]).iter().map(|word| DictionaryEntry::word(word)).collect();
        let apart = strings(&reference["apart"]);
        words.extend(apart.iter().map(|word| DictionaryEntry { frequency: Some(0), ..DictionaryEntry::word(word) }));
        let mut compared = 0;
        for (dictionary, more) in [("plain", &[][..]), ("with_words", &words)] {
            let base = Segmenter::with_words(&plain(), Path::new("."), more).unwrap();
            for (name, cut_of, hmm) in [
                ("precise", Cut::Precise, true),
                ("precise_without_hmm", Cut::Precise, false),
                ("full", Cut::Full, true),
                ("search", Cut::Search, true),
                ("search_without_hmm", Cut::Search, false),
            ] {
                let segmenter = base.recut(Mode::Jieba, cut_of).with_hmm(hmm);
                for row in reference["rows"].as_array().unwrap() {
                    let text = row["text"].as_str().unwrap();
                    assert_eq!(cut(&segmenter, text), strings(&row[dictionary][name]), "{dictionary} {name}: {text}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 330);
    }

    #[test]
    fn tags_equal_those_of_pythons_posseg_but_for_unknown_words() {
        let reference: Vec<(String, Vec<String>)> =
            serde_json::from_str(include_str!("../../../../tests/reference/jieba/tags.json")).unwrap();
        let words = segmenter(&plain());
        let (mut same, mut other) = (0, Vec::new());
        for (text, expected) in &reference {
            let mut start = 0;
            let expected = expected.iter().map(|pair| {
                let (word, tag) = pair.rsplit_once('/').unwrap();
                start += text[start..].find(word).unwrap() + word.len();
                (start - word.len(), word, tag)
            });
            let expected: Vec<(usize, &str, &str)> = expected.collect();
            for TaggedToken { token, tag } in words.tagged(text) {
                match expected.iter().find(|(at, word, _)| (*at, *word) == (token.start, token.text)) {
                    Some((_, _, theirs)) if *theirs == tag => same += 1,
                    Some((_, _, theirs)) => other.push(format!("{}/{tag} {theirs}", token.text)),
                    None => other.push(format!("{}/{tag}", token.text)),
                }
            }
            let tokens: Vec<Token<'_>> = words.tagged(text).iter().map(|word| word.token).collect();
            assert_eq!(tokens, words.tokens(text), "tagging leaves the cut as it is");
        }
        // Single characters that the models tag by what stands around them, and words that no dictionary has. Where Python's
        // word is the same one, its tag stands behind ours.
        let expected = "每/zg r|两市/n|再破/v|高开/v nr|近/a t|1%/m|5G/eng|后/f|在/p|杭研/nr|台积/n|电/n|新晟源/ng|个/q m|\
                        穿/zg v|靐/x zg|齉/zg x|爩/x zg|营收超/v|盘后/f|大涨/v";
        assert_eq!((same, other.join("|").as_str()), (322, expected));
    }

    #[test]
    fn a_users_tag_goes_before_that_of_the_dictionary() {
        let entry =
            |word: &str, frequency, tag: &str| DictionaryEntry { word: word.into(), frequency, tag: tag.into() };
        let more = [
            entry("云启智联", None, "nt"),
            entry("瀚海微电子", None, ""),
            entry("股东", None, "role"),
            entry("减持", Some(0), "v"),
        ];
        let words = Segmenter::with_words(&plain(), Path::new("."), &more).unwrap();
        let tagged = words.tagged("云启智联和瀚海微电子的股东　减持");
        let tagged: Vec<String> = tagged.iter().map(|w| format!("{}/{}", w.token.text, w.tag)).collect();
        assert_eq!(tagged, ["云启智联/nt", "和/c", "瀚海微电子/x", "的/uj", "股东/role", "减/v", "持/v"]);
        let other = words.recut(Mode::Char, Cut::Precise);
        assert_eq!(other.tagged("股东").len(), 1, "characters have no tags, words do");
    }

    #[test]
    fn runs_with_joints_stay_whole_unlike_in_python() {
        let words = segmenter(&plain());
        assert_eq!(cut(&words, "000001.SZ于2024-03-01公告"), ["000001.SZ", "于", "2024-03-01", "公告"]);
    }

    #[test]
    fn each_word_of_the_finance_dictionary_is_cut_whole_or_apart_as_it_says() {
        let words = segmenter(&TokenizerParams::default());
        let report = &words.dictionaries()[0];
        assert_eq!(report.unreachable, []);
        let mut wrong = Vec::new();
        for entry in &words.words.entries {
            let is_one_token = cut(&words, &entry.word) == [entry.word.as_str()];
            if is_one_token != (entry.frequency != Some(0)) {
                wrong.push(entry.word.as_str());
            }
        }
        assert_eq!(wrong, [""; 0]);
        let distinct: std::collections::BTreeSet<&str> = words.words.entries.iter().map(|e| e.word.as_str()).collect();
        assert_eq!(distinct.len(), report.words);
    }

    #[test]
    fn a_users_word_is_found_in_every_cut_and_frequencies_count() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.txt"), "云启智联股份 n\nCXO概念\n公司拟 1\n").unwrap();
        let params = TokenizerParams { dictionaries: vec!["mine.txt".into()], ..plain() };
        let words = Segmenter::new(&params, dir.path()).unwrap();
        for cut_of in [Cut::Precise, Cut::Full, Cut::Search] {
            let tokens = cut(&words.recut(Mode::Jieba, cut_of), "云启智联股份属CXO概念");
            assert!(tokens.contains(&"云启智联股份".to_owned()), "{cut_of:?} {tokens:?}");
            assert!(tokens.contains(&"CXO概念".to_owned()), "{cut_of:?} {tokens:?}");
        }
        // A frequency of 1 in 60 million is too low to win over two common words; without one, the word would be cut whole.
        assert_eq!(cut(&words, "公司拟回购")[0], "公司");
        let segmenter = Segmenter::with_words(&plain(), dir.path(), &[DictionaryEntry::word("公司拟")]).unwrap();
        assert_eq!(cut(&segmenter, "公司拟回购")[0], "公司拟");
        let error = Segmenter::new(&params, Path::new("/nowhere")).err().unwrap();
        assert!(format!("{error:#}").contains("/nowhere/mine.txt ([tokenizer] dictionaries)"), "{error:#}");
    }

    #[test]
    fn the_key_follows_all_that_tokens_depend_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.txt");
        std::fs::write(&path, "云启智联\n").unwrap();
        let key = |params: &TokenizerParams| Segmenter::new(params, dir.path()).unwrap().key();
        let mine = TokenizerParams { dictionaries: vec!["mine.txt".into()], ..plain() };
        let mut keys = vec![
            key(&plain()),
            key(&mine),
            key(&TokenizerParams::default()),
            key(&TokenizerParams { cut: Cut::Full, ..plain() }),
            key(&TokenizerParams { hmm: false, ..plain() }),
            key(&TokenizerParams { mode: Mode::Char, ..plain() }),
            key(&TokenizerParams { lowercase: false, ..plain() }),
        ];
        let with_word = Segmenter::with_words(&plain(), dir.path(), &[DictionaryEntry::word("瀚海")]).unwrap();
        keys.push(with_word.key());
        assert_eq!(key(&mine), keys[1]);
        std::fs::write(&path, "云启智联 5\n").unwrap();
        keys.push(key(&mine));
        let distinct: std::collections::BTreeSet<Key> = keys.iter().copied().collect();
        assert_eq!(distinct.len(), keys.len());
        // Characters depend on no dictionary.
        let characters = TokenizerParams { mode: Mode::Char, ..mine };
        assert_eq!(key(&characters), keys[5]);
    }

    #[test]
    fn the_version_in_the_key_is_the_version_in_use() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"jieba-rs\"\nversion = \"{JIEBA_VERSION}\"")));
    }

    #[test]
    fn terms_are_words_of_content_in_lower_case() {
        let words = segmenter(&TokenizerParams::default());
        let terms = words.terms("公司的ETF份额未增长，但同比下降12.5%。");
        assert_eq!(terms, ["公司", "etf", "份额", "未", "增长", "同比", "下降"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn offsets_slice_the_text_and_nothing_but_blanks_is_left_out(
            text in "([一丁净利润增长公司股份不及预期，。 \\r\\n\\t%+.a-cA-C0-9𠮷e\u{301}\u{200b}👪]|\\PC){0,60}"
        ) {
            let words = shared();
            for (mode, cut_of) in [
                (Mode::Char, Cut::Precise), (Mode::Jieba, Cut::Precise), (Mode::Jieba, Cut::Full), (Mode::Jieba, Cut::Search),
            ] {
                let mut covered = vec![false; text.len()];
                for token in words.recut(mode, cut_of).tokens(&text) {
                    prop_assert_eq!(&text[token.start..token.end], token.text);
                    prop_assert!(!token.text.is_empty());
                    covered[token.start..token.end].fill(true);
                }
                for (at, c) in text.char_indices() {
                    let blank = c.is_whitespace() || c.is_control() || is_zero_width(c);
                    prop_assert!(covered[at] || blank, "{:?} {:?} lost {:?}", mode, cut_of, c);
                }
            }
        }
    }

    /// One dictionary for all cases of a property.
    fn shared() -> &'static Segmenter {
        static SHARED: OnceLock<Segmenter> = OnceLock::new();
        SHARED.get_or_init(|| segmenter(&TokenizerParams::default()))
    }
}
