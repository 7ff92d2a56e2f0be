//! Templates of features: what a label sees of the characters around it.
//!
//! A template is a run of one to three observations, each a letter and a distance: `c-1c0` is the character before together with the one that is
//! labelled. Letters: `c` the character, `t` its type (digit, Latin letter, Chinese character, mark, blank, other), and the length in
//! characters (at most [`LONGEST`]) of the longest word of the dictionary that begins (`b`) or ends (`e`) at the character, or holds it
//! inside (`i`). Beyond the ends of the text stand two values of their own.

use std::fmt;
use std::str::FromStr;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use anyhow::{Context, Result};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// Observations of a template at the most: three values of 21 bits make a key.
const LOOKS: usize = 3;
/// The distance of an observation at the most.
const FARTHEST: i32 = 9;
/// Templates of a model at the most.
const MOST: usize = 64;
/// Length from which on dictionary words count as equally long.
pub(super) const LONGEST: usize = 6;
/// Bits of a value.
const BITS: u32 = 21;
/// The value before the first character, and that behind the last one: no character has them.
const BEFORE: u32 = 0x11_0000;
const BEHIND: u32 = 0x11_0001;

/// A property of a character that a template sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Character,
    Type,
    Begins,
    Ends,
    Inside,
}

const LETTERS: [(char, Seen); 5] =
    [('c', Seen::Character), ('t', Seen::Type), ('b', Seen::Begins), ('e', Seen::Ends), ('i', Seen::Inside)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Observation {
    seen: Seen,
    distance: i32,
}

/// The templates of a model, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates(Vec<Vec<Observation>>);

/// Characters two around, pairs of neighbours, and types.
const USUAL: &str = "c-2,c-1,c0,c1,c2,c-2c-1,c-1c0,c0c1,c1c2,c-1c1,t0,t-1t0t1";
/// The usual templates of a model with a dictionary, behind the others.
const OF_DICTIONARY: &str = "b0,e0,i0,b1,e-1";

impl Templates {
    /// The usual templates; with those of words if there is a dictionary.
    pub fn usual(has_dictionary: bool) -> Templates {
        let text = if has_dictionary { format!("{USUAL},{OF_DICTIONARY}") } else { USUAL.to_owned() };
        text.parse().expect("the usual templates can be read")
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if a template looks at words of a dictionary.
    pub fn see_words(&self) -> bool {
        self.0.iter().flatten().any(|look| !matches!(look.seen, Seen::Character | Seen::Type))
    }

    /// The key of template `number` at character `place`.
    pub fn key(&self, number: usize, characters: &Characters, place: usize) -> u64 {
        self.0[number].iter().fold(0, |key, look| {
            key << BITS | u64::from(characters.value(look.seen, place as i64 + i64::from(look.distance)))
        })
    }
}

impl fmt::Display for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, template) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            for look in template {
                let letter = LETTERS.iter().find(|(_, seen)| *seen == look.seen).map_or(' ', |(letter, _)| *letter);
                write!(f, "{letter}{}", look.distance)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Templates {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Templates> {
        let templates: Vec<Vec<Observation>> =
            text.split(',').map(|part| template(part.trim())).collect::<Result<_>>()?;
        ensure!(
            templates.len() <= MOST,
            "{} 个模板，最多 {MOST} 个",
            "{} templates, and a model has {MOST} at the most",
            templates.len()
        );
        for (i, template) in templates.iter().enumerate() {
            ensure!(
                !templates[..i].contains(template),
                "模板 {:?} 出现两次",
                "the template {:?} stands there twice",
                Templates(vec![template.clone()]).to_string()
            );
        }
        Ok(Templates(templates))
    }
}

fn template(text: &str) -> Result<Vec<Observation>> {
    let mut looks = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let seen = LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, seen)| *seen);
        let seen = seen.with_context(|| {
            inkstone_base::message!(
                "模板 {text:?}：{letter:?} 不是 c（字）、t（类型）、b、e、i（词典词的起、止、内部）；写法如 c-1c0",
                "template {text:?}: {letter:?} is none of c (character), t (type), b, e, i (a dictionary word begins, ends, goes on); write c-1c0"
            )
        })?;
        rest = &rest[letter.len_utf8()..];
        let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
        let distance = rest[..end].parse::<i32>().ok().filter(|distance| distance.abs() <= FARTHEST);
        let distance = distance.with_context(|| {
            inkstone_base::message!(
                "模板 {text:?}：字母后应为 -{FARTHEST} 到 {FARTHEST} 的距离，如 c-1",
                "template {text:?}: a letter takes a distance from -{FARTHEST} to {FARTHEST} behind it, as in c-1"
            )
        })?;
        rest = &rest[end..];
        looks.push(Observation { seen, distance });
    }
    if looks.is_empty() || looks.len() > LOOKS {
        bail!("模板 {text:?} 须有一到 {LOOKS} 项", "template {text:?} needs one to {LOOKS} looks");
    }
    Ok(looks)
}

/// The words that templates look for.
pub struct WordList {
    words: Vec<Box<str>>,
    finder: Option<AhoCorasick>,
}

impl WordList {
    /// Words of two characters and more; the others say nothing and are left out.
    pub fn new(words: impl IntoIterator<Item = Box<str>>) -> Result<WordList> {
        let mut words: Vec<Box<str>> = words.into_iter().filter(|word| word.chars().nth(1).is_some()).collect();
        words.sort_unstable();
        words.dedup();
        let finder = match words.is_empty() {
            true => None,
            false => Some(
                AhoCorasickBuilder::new()
                    .match_kind(MatchKind::Standard)
                    .build(words.iter().map(|word| word.as_bytes()))
                    .context(Word("词典过大", "the dictionary is too large"))?,
            ),
        };
        Ok(WordList { words, finder })
    }

    /// The words in order.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }
}

/// The characters of a text as templates see them.
pub struct Characters {
    values: Vec<u32>,
    types: Vec<u8>,
    /// Lengths of the longest words that begin, end and go on at each character; empty where no template looks at words.
    words: [Vec<u8>; 3],
}

impl Characters {
    /// Reads a text; `list` holds the words of the dictionary, where templates look at them.
    pub fn new(text: &str, list: Option<&WordList>) -> Characters {
        let values: Vec<u32> = text.chars().map(u32::from).collect();
        let types = text.chars().map(kind).collect();
        let mut words = [(); 3].map(|()| if list.is_some() { vec![0_u8; values.len()] } else { Vec::new() });
        if let Some(finder) = list.and_then(|list| list.finder.as_ref()) {
            let mut number = vec![0_u32; text.len() + 1];
            for (n, (at, _)) in text.char_indices().enumerate() {
                number[at] = n as u32;
            }
            number[text.len()] = values.len() as u32;
            for found in finder.find_overlapping_iter(text) {
                let (first, end) = (number[found.start()] as usize, number[found.end()] as usize);
                let length = (end - first).min(LONGEST) as u8;
                let [begins, ends, inside] = &mut words;
                begins[first] = begins[first].max(length);
                ends[end - 1] = ends[end - 1].max(length);
                inside[first + 1..end - 1].iter_mut().for_each(|longest| *longest = (*longest).max(length));
            }
        }
        Characters { values, types, words }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn value(&self, seen: Seen, place: i64) -> u32 {
        let Ok(at) = usize::try_from(place) else { return BEFORE };
        if at >= self.values.len() {
            return BEHIND;
        }
        let length = |which: usize| self.words[which].get(at).copied().unwrap_or_default().into();
        match seen {
            Seen::Character => self.values[at],
            Seen::Type => self.types[at].into(),
            Seen::Begins => length(0),
            Seen::Ends => length(1),
            Seen::Inside => length(2),
        }
    }
}

/// The type of a character.
fn kind(c: char) -> u8 {
    match c {
        '0'..='9' | '０'..='９' => 1,
        'a'..='z' | 'A'..='Z' | 'ａ'..='ｚ' | 'Ａ'..='Ｚ' => 2,
        '〇' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九' | '十' | '百' | '千' | '万' | '亿' => {
            3
        }
        '年' | '月' | '日' | '时' | '分' | '秒' => 4,
        _ if c.is_whitespace() => 5,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}' => 6,
        _ if c.is_alphanumeric() => 7,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_read_as_they_are_written_and_faults_are_named() {
        for text in ["c0", "c-2,c-1c0,t-1t0t1,b0,e-1,i9"] {
            assert_eq!(text.parse::<Templates>().unwrap().to_string(), text);
        }
        for (text, expected) in [
            ("c0,x1", "none of c"),
            ("c", "takes a distance"),
            ("c10", "takes a distance"),
            ("c0c1c2t0", "one to 3 looks"),
            ("c0,", "one to 3 looks"),
            ("c0,c1,c0", "stands there twice"),
        ] {
            let error = text.parse::<Templates>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Templates::usual(true).see_words() && !Templates::usual(false).see_words());
    }

    #[test]
    fn keys_tell_apart_what_templates_see() {
        let list = WordList::new(["净利润", "利润", "净"].map(Box::from)).unwrap();
        assert_eq!(list.words().len(), 2, "a single character says nothing");
        let seen = Characters::new("净利润3x", Some(&list));
        assert_eq!(seen.words, [vec![3, 2, 0, 0, 0], vec![0, 0, 3, 0, 0], vec![0, 3, 0, 0, 0]]);
        let templates: Templates = "c0,c-1c0,t0,b0,c2".parse().unwrap();
        let key = |number, place| templates.key(number, &seen, place);
        assert_eq!(key(0, 0), u64::from('净' as u32));
        assert_eq!(key(1, 1), u64::from('净' as u32) << 21 | u64::from('利' as u32));
        assert_eq!(key(1, 0), u64::from(BEFORE) << 21 | u64::from('净' as u32));
        assert_eq!((0..5).map(|place| key(2, place)).collect::<Vec<_>>(), [6, 6, 6, 1, 2]);
        assert_eq!((key(3, 0), key(3, 3), key(4, 4)), (3, 0, BEHIND.into()));
    }
}
