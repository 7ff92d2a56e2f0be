//! The two languages in which the product speaks to people, and tables of what it says.

/// A language of screens and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Zh,
    En,
}

impl Language {
    /// Both of them, the first one first.
    pub const ALL: [Language; 2] = [Language::Zh, Language::En];
}

/// A text in both languages: Chinese, English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub &'static str, pub &'static str);

impl Word {
    /// The text in this language.
    pub fn to(self, language: Language) -> &'static str {
        match language {
            Language::Zh => self.0,
            Language::En => self.1,
        }
    }
}

/// A table of texts, each a constant; a test sees to it that each has both languages and that English texts hold no Chinese.
#[macro_export]
macro_rules! words {
    ($($name:ident: $zh:literal, $en:literal;)+) => {
        $(pub(crate) const $name: $crate::language::Word = $crate::language::Word($zh, $en);)+

        #[cfg(test)]
        mod table {
            #[test]
            fn texts_have_both_languages_and_do_not_mix_them() {
                for (name, word) in [$((stringify!($name), super::$name)),+] {
                    assert!(!word.0.is_empty() && !word.1.is_empty(), "{name} lacks a language");
                    assert!(!word.1.chars().any(|c| ('一'..='龥').contains(&c)), "{name} is Chinese in English");
                }
            }
        }
    };
}
