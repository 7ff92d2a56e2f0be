//! The tone of a document by lexicon: tone words with their signs, turned by negation and weighed by degree words.
//!
//! Tokens are compared, never substrings (平安 and 健康 stand in company names): an entry matches where consecutive tokens
//! joined together equal it, the longest entry first, so 不及/预期 is the one entry 不及预期 however it was cut. A clause ends
//! at a comma or stronger mark; negations and degree words work within it, a few tokens before the tone word. Lists
//! follow the files that Chinese lexicons come in; the built-in ones are for company news, announcements and brokers'
//! reports.
//!
//! Four habits of such text are read as what they state. A reversal takes the event that it is about with it: 终止 回购 is
//! bad news alone, 终止 减持 good news alone. An event that a document calls off or denies stays so when it is named again.
//! A statement about a risk (需求 下滑 风险) is a possibility, and counts for nothing unless it is grave (退市, 违约). Headed
//! warnings and disclaimers are passed over.

mod clause;
mod explain;
mod file;
mod lists;
mod shapes;
mod tone;
mod user;

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use inkstone_base::data::Key;
use inkstone_base::ensure;
use inkstone_text::Segmenter;

pub use tone::{Hit, Tone};
pub use user::ListReport;
use user::{Side, UserLists};

/// Counts up when a change of this module's code changes a tone.
pub const TONE_VERSION: u32 = 2;

/// The denominator of a tone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ToneScale {
    /// `(P - N) / (P + N)`, from -1 to 1; 0 without tone words.
    #[default]
    Balance,
    /// `(P - N) / tokens`: a long text with one tone word is nearly neutral.
    PerToken,
}

params! {
    /// Parameters of a lexicon. Lists of words are files in any usual shape and encoding (see `shapes`).
    pub struct LexiconParams {
        /// Use the given lists alone, not the tone words that come with the program.
        ///
        /// 只用给出的词表，不用程序自带的情感词。
        builtin: bool = true, arg(long = "no-builtin", action = clap::ArgAction::SetFalse);
        /// A list of positive words. May be given several times.
        ///
        /// 正面词表。可写多次。
        positive: Vec<PathBuf> = Vec::new(), arg(long, value_name = "FILE");
        /// A list of negative words. May be given several times.
        ///
        /// 负面词表。可写多次。
        negative: Vec<PathBuf> = Vec::new(), arg(long, value_name = "FILE");
        /// A list of both sides, told apart by sign or by a column of polarities, such as train lexicon writes.
        ///
        /// 正负合一的词表，以符号或极性列区分，如 train lexicon 所写。可写多次。
        signed: Vec<PathBuf> = Vec::new(), arg(long, value_name = "FILE");
        /// Tokens before a tone word in which a negation turns it.
        ///
        /// 语气词之前多少个词元内的否定词会使它反转。
        negation_window: usize = 4, number("N", "feature.lexicon.negation_window");
        /// Tokens before a tone word in which a degree word weighs it.
        ///
        /// 语气词之前多少个词元内的程度词会给它加权。
        degree_window: usize = 3, number("N", "feature.lexicon.degree_window");
        /// Denominator of a tone: balance, (P - N) / (P + N), or per-token.
        ///
        /// 语气的分母：balance 为 (P - N) / (P + N)，或 per-token（每词元）。
        scale: ToneScale = ToneScale::Balance, choice();
        /// True if warnings and disclaimers that open as such (风险提示：, 免责声明：) are passed over. They need their punctuation
        /// and line ends as tokens.
        skip_boilerplate: bool = true, arg(skip = true);
    }
}

/// The effect of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Role {
    /// Adds its weight: above 0 to the positive side, below 0 to the negative one.
    Tone { weight: f32, kind: Kind },
    /// Multiplies the weight of a tone word.
    Degree(f32),
    /// Turns the sign of a tone word.
    Negation,
    /// Something that should be low (成本, 降幅): reverses the word of movement after it.
    Burden,
    /// Makes a possibility of the bad things that stand before it in its clause.
    Risk,
    /// Opens boilerplate when a colon or a line end follows.
    Boilerplate(Extent),
    /// Means nothing, but holds a shorter entry (不锈钢) that it keeps from matching.
    Neutral,
}

/// The effect of a tone word on its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Not at all.
    Plain,
    /// Moves what stands before it: less of a burden is good.
    Movement,
    /// Moves what stands behind it as well (降低 成本).
    Change,
    /// Names something that a company does or meets with, and may call off.
    Event,
    /// Says that the event or the good thing beside it comes to nothing.
    Reversal,
}

impl Kind {
    fn moves(self) -> bool {
        matches!(self, Kind::Movement | Kind::Change)
    }
}

/// The reach of boilerplate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Extent {
    /// To the end of the sentence, and over the numbered sentences behind it: a warning of risks.
    Sentences,
    /// To the end of the line: a disclaimer.
    Line,
}

/// Words with their roles, ready to be matched.
#[derive(Clone, Debug)]
pub struct Lexicon {
    entries: FxHashMap<String, Role>,
    /// Bytes of the longest entry that begins with this character: nothing longer needs to be tried.
    longest: FxHashMap<char, usize>,
    /// Entries that a segmenter should keep in one piece, in code point order.
    words: Vec<String>,
    params: LexiconParams,
    lists: Vec<ListReport>,
    fitted_until: Option<NaiveDateTime>,
}

impl LexiconParams {
    /// The files that these settings name.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.positive.iter().chain(&self.negative).chain(&self.signed).map(PathBuf::as_path)
    }
}

impl Lexicon {
    /// Reads the lists; relative paths are taken from `base`.
    pub fn new(params: &LexiconParams, base: &Path) -> Result<Lexicon> {
        let mut builder = lists::Entries::default();
        builder.grammar()?;
        if params.builtin {
            builder.builtin_tone()?;
        }
        let mut user = UserLists::default();
        let sides =
            [(&params.positive, Side::Positive), (&params.negative, Side::Negative), (&params.signed, Side::Both)];
        for (paths, side) in sides {
            for path in paths {
                user.read(&base.join(path), side)?;
            }
        }
        ensure!(
            params.builtin || !user.is_empty(),
            "词典没有语气词：builtin 为 false，而 positive、negative 和 signed 的文件中也没有",
            "the lexicon has no tone word: builtin is false, and the files of positive, negative and signed hold none"
        );
        let (lists, fitted_until) = (user.reports.clone(), user.fitted_until());
        builder.replace_by(user.roles());
        let (entries, words) = builder.finish();
        Ok(Lexicon::from_parts(entries, words, params.clone(), lists, fitted_until))
    }

    fn from_parts(
        entries: FxHashMap<String, Role>,
        words: Vec<String>,
        params: LexiconParams,
        lists: Vec<ListReport>,
        fitted_until: Option<NaiveDateTime>,
    ) -> Lexicon {
        let mut longest: FxHashMap<char, usize> = FxHashMap::default();
        for entry in entries.keys() {
            let first = entry.chars().next().expect("an entry has at least one character");
            let length = longest.entry(first).or_default();
            *length = entry.len().max(*length);
        }
        Lexicon { entries, longest, words, params, lists, fitted_until }
    }

    /// The tokens of a text as a lexicon reads them. Segmenters drop blanks; the ends of lines are kept here, since they end
    /// sentences: a heading or a row of a table has no full stop.
    pub fn tokens<'t>(text: &'t str, segmenter: &Segmenter) -> Vec<&'t str> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        for line in text.lines() {
            segmenter.for_each_token(line, |token| tokens.push(token.text));
            tokens.push("\n");
        }
        tokens
    }

    /// The entries that a segmenter should know as words, in code point order. Phrases of several words are not among
    /// them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// The key of all that a tone depends on but the tokens: entries, settings, and this code's version.
    pub fn key(&self) -> Key {
        let mut entries: Vec<String> = self.entries.iter().map(|(word, role)| format!("{word} {role:?}")).collect();
        entries.sort_unstable();
        let LexiconParams { negation_window, degree_window, scale, skip_boilerplate, .. } = self.params;
        Key::of_json(&(TONE_VERSION, negation_window, degree_window, scale, skip_boilerplate, entries))
    }

    /// The report on each of the user's lists.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// The last time of the data that a list of the user's was learned from, where one says so.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }

    /// Number of entries of all roles.
    pub fn size(&self) -> usize {
        self.entries.len()
    }

    /// The longest entry whose text is that of the tokens from the first on: its role, and how many tokens it takes.
    fn longest_at(&self, tokens: &[&str], joined: &mut String) -> Option<(Role, usize)> {
        let limit = *self.longest.get(&tokens.first()?.chars().next()?)?;
        joined.clear();
        let mut found = None;
        for (i, token) in tokens.iter().enumerate() {
            if joined.len() + token.len() > limit {
                break;
            }
            joined.push_str(token);
            if let Some(&role) = self.entries.get(joined.as_str()) {
                found = Some((role, i + 1));
            }
        }
        found
    }
}
