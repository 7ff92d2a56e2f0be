//! The dated table as patterns: every way a text may write a security, and the days on which it means which one.
//!
//! From a row `*ST远山电力` come, besides the name as printed: the bare name, the name under other marks (`ST`, `N`, `C`,
//! and `XD`, `XR`, `DR` with the cut to eight columns that the exchanges' screens make: `XD远山电`), and for `远山A` or
//! `远山-U` the name without its share class or board mark. A name given up is understood for a while; a new name not
//! before its first day. Codes are patterns of their digits alone; [`super::finder`] reads what stands around them.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate, NaiveDateTime, NaiveTime};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clean::{self, normalise_line};
use inkstone_base::code::Code;
use inkstone_market::Security;

use super::Params;
use super::learned::LearnedName;

/// Names that are common words as well; the file tells its format.
const COMMON_WORDS: &str = include_str!("../../../../assets/common_words.txt");

/// Marks that exchanges put before a name, longest first.
const MARKS: [&str; 9] = ["S*ST", "SST", "*ST", "ST", "XD", "XR", "DR", "N", "C"];
/// Board and share-class marks behind a name.
const TAILS: [&str; 7] = ["-UW", "-WD", "-U", "-W", "-D", "A", "B"];

/// Certainty with which a pattern means a security. The most certain senses of a day win; the others are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The name as the table has it on that day.
    Name,
    /// An alias, or a form of the name that the table does not print.
    Alias,
    /// A name that the corpus taught, or a form of it.
    Learned,
    /// A name or alias of an earlier row, not long given up.
    Former,
}

/// One security that a pattern may mean, and when.
#[derive(Clone, Debug, PartialEq)]
struct Sense {
    /// Number of the code.
    code: u32,
    rank: Rank,
    from: Option<NaiveDateTime>,
    /// First moment at which the row no longer holds.
    to: Option<NaiveDateTime>,
}

/// Kind of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternKind {
    /// A name; when it is a common word as well, it needs evidence.
    Name { needs_evidence: bool },
    /// The digits of a mainland code, or a ticker of another market as it stands.
    Code,
}

/// A text to look for.
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) form: PatternKind,
    senses: Vec<Sense>,
}

/// All patterns, in the order of their texts.
pub(super) struct NameTable {
    pub(super) patterns: Vec<Pattern>,
    pub(super) codes: Vec<Code>,
    pub(super) number_of: FxHashMap<Code, u32>,
    former_name_days: Days,
}

impl NameTable {
    /// The names of a table of securities, and those that the corpus taught.
    pub(super) fn new(securities: &[Security], learned: &[LearnedName], params: &Params) -> NameTable {
        let mut names = NameTable {
            patterns: Vec::new(),
            codes: Vec::new(),
            number_of: FxHashMap::default(),
            former_name_days: Days::new(u64::from(params.former_name_days)),
        };
        let mut senses: BTreeMap<(String, bool), Vec<Sense>> = BTreeMap::new();
        let mut add = |text: &str, is_code: bool, sense: Sense| {
            if text.is_empty() {
                return;
            }
            let known = senses.entry((text.to_owned(), is_code)).or_default();
            if !known.contains(&sense) {
                known.push(sense);
            }
        };
        for row in securities {
            let code = names.number(&row.code);
            let start = |day: NaiveDate| day.and_time(NaiveTime::MIN);
            let holds = |rank: Rank| Sense { code, rank, from: row.from.map(start), to: row.to.map(start) };
            // A code means the same on every day.
            add(digits(row.code.as_str()), true, Sense { code, rank: Rank::Name, from: None, to: None });
            let name = normal(&row.name);
            for form in forms(&name) {
                add(&form, false, holds(Rank::Alias));
            }
            add(&name, false, holds(Rank::Name));
            for alias in &row.aliases {
                add(&normal(alias), false, holds(Rank::Alias));
            }
        }
        for LearnedName { name, code, known_since, until, .. } in learned {
            let code_number = names.number(code);
            let holds = Sense { code: code_number, rank: Rank::Learned, from: Some(*known_since), to: *until };
            // A code that stood behind a name was a code from then on.
            add(digits(code.as_str()), true, Sense { rank: Rank::Name, to: None, ..holds.clone() });
            for form in forms(name) {
                add(&form, false, holds.clone());
            }
            add(name, false, holds);
        }
        let listed = COMMON_WORDS.lines().filter(|l| !l.starts_with('#')).flat_map(str::split_whitespace);
        let mut common: FxHashSet<String> = listed.map(normal).collect();
        common.extend(params.common_words.iter().map(|w| normal(w)));
        let plain: FxHashSet<String> = params.plain_names.iter().map(|w| normal(w)).collect();
        names.patterns = senses
            .into_iter()
            .map(|((text, is_code), senses)| {
                let doubtful = text.chars().count() <= 2 || common.contains(&text);
                let needs_evidence = doubtful && !plain.contains(&text);
                Pattern {
                    form: if is_code { PatternKind::Code } else { PatternKind::Name { needs_evidence } },
                    text,
                    senses,
                }
            })
            .collect();
        names
    }

    /// The securities that a pattern means at a time (numbers of codes, ascending), with the rank they have.
    pub(super) fn meaning(&self, pattern: &Pattern, time: NaiveDateTime) -> Option<(Rank, Vec<u32>)> {
        let rank_on = |sense: &Sense| {
            if sense.from.is_some_and(|from| time < from) {
                return None;
            }
            match sense.to {
                Some(to) if time >= to => {
                    // What the corpus taught, and then took back, was no name.
                    let forgotten = to.checked_add_days(self.former_name_days).is_some_and(|end| time >= end);
                    (!forgotten && sense.rank != Rank::Learned).then_some(Rank::Former)
                }
                _ => Some(sense.rank),
            }
        };
        let on_day: Vec<(Rank, u32)> = pattern.senses.iter().filter_map(|s| Some((rank_on(s)?, s.code))).collect();
        let rank = on_day.iter().map(|s| s.0).min()?;
        let mut codes: Vec<u32> = on_day.into_iter().filter(|s| s.0 == rank).map(|s| s.1).collect();
        codes.sort_unstable();
        codes.dedup();
        Some((rank, codes))
    }

    fn number(&mut self, code: &Code) -> u32 {
        *self.number_of.entry(code.clone()).or_insert_with(|| {
            self.codes.push(code.clone());
            self.codes.len() as u32 - 1
        })
    }
}

/// A name as clean text writes it.
fn normal(name: &str) -> String {
    normalise_line(name, &clean::Params::default())
}

/// The six digits of a mainland code; the whole code of any other.
fn digits(code: &str) -> &str {
    match code.split_once('.') {
        Some((digits, "SH" | "SZ" | "BJ")) => digits,
        _ => code,
    }
}

/// The further forms in which texts write a name.
fn forms(name: &str) -> Vec<String> {
    let mut bare = name;
    for mark in MARKS {
        // `N` and `C` are marks only before Chinese; a name may begin with a Latin letter of its own.
        if let Some(rest) = bare.strip_prefix(mark).filter(|r| !r.starts_with(|c: char| c.is_ascii())) {
            bare = rest;
            break;
        }
    }
    for tail in TAILS {
        if let Some(rest) = bare.strip_suffix(tail).filter(|r| !r.ends_with(|c: char| c.is_ascii())) {
            bare = rest;
            break;
        }
    }
    if bare.chars().count() < 2 || bare.is_ascii() {
        return Vec::new();
    }
    let mut forms = vec![bare.to_owned()];
    forms.extend(MARKS.iter().map(|mark| format!("{mark}{bare}")));
    if bare.chars().count() > 3 {
        let cut: String = bare.chars().take(3).collect();
        forms.extend(["XD", "XR", "DR"].iter().map(|mark| format!("{mark}{cut}")));
    }
    forms.retain(|form| form != name);
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn marks_and_tails_are_taken_off_and_put_on() {
        let marked = forms("*ST远山电力");
        for form in ["远山电力", "ST远山电力", "N远山电力", "XD远山电", "XD远山电力"] {
            assert!(marked.contains(&form.to_owned()), "{form} in {marked:?}");
        }
        assert!(!marked.contains(&"*ST远山电力".to_owned()));
        assert!(forms("远山A").contains(&"远山".to_owned()));
        assert!(forms("远山科技-U").contains(&"远山科技".to_owned()));
        // A Latin name keeps its first letter, and one character is no name.
        assert_eq!(forms("CBC"), Vec::<String>::new());
        assert_eq!(forms("N远"), Vec::<String>::new());
    }

    #[test]
    fn a_name_means_what_it_meant_on_the_day() {
        let row = |code: &str, name: &str, from: Option<&str>, to: Option<&str>| Security {
            name: name.into(),
            from: from.map(day),
            to: to.map(day),
            ..Security::unnamed(Code::canonical(code))
        };
        let table = [
            row("600001.SH", "远山科技", None, Some("2023-05-01")),
            row("600001.SH", "岚石股份", Some("2023-05-01"), None),
            row("000002.SZ", "远山科技", Some("2023-08-01"), None),
        ];
        let names = NameTable::new(&table, &[], &Params { former_name_days: 365, ..Params::default() });
        let meaning = |text: &str, on: &str| {
            let pattern = names.patterns.iter().find(|p| p.text == text).unwrap();
            names.meaning(pattern, day(on).and_time(NaiveTime::MIN))
        };
        assert_eq!(meaning("远山科技", "2023-04-30"), Some((Rank::Name, vec![0])));
        assert_eq!(meaning("岚石股份", "2023-04-30"), None);
        assert_eq!(meaning("岚石股份", "2023-05-01"), Some((Rank::Name, vec![0])));
        assert_eq!(meaning("远山科技", "2023-05-01"), Some((Rank::Former, vec![0])));
        // The name's new bearer comes before the one who gave it up.
        assert_eq!(meaning("远山科技", "2023-08-01"), Some((Rank::Name, vec![1])));
        // A span beyond the calendar is for ever.
        let for_ever = NameTable::new(&table[..2], &[], &Params { former_name_days: u32::MAX, ..Params::default() });
        let pattern = for_ever.patterns.iter().find(|p| p.text == "远山科技").unwrap();
        assert_eq!(
            for_ever.meaning(pattern, day("2099-01-01").and_time(NaiveTime::MIN)),
            Some((Rank::Former, vec![0]))
        );
    }
}
