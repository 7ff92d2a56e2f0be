//! The two languages in which the product speaks to people: tables of words, and messages that hold both languages.
//!
//! A text that is known when the program is built is a [`Word`]. A text with figures or names in it, above all an error, is a
//! [`Message`], made by [`message!`](crate::message) where it arises; it shows the language in force on its thread when it is displayed.

use std::borrow::Borrow;
use std::cell::Cell;
use std::fmt;
use std::io::{self, IsTerminal};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Error;
use serde::{Deserialize, Serialize, Serializer};

/// A language of screens and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Zh,
    En,
}

/// True if messages of this process are shown in Chinese.
static CHINESE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ON_THIS_THREAD: Cell<Option<Language>> = const { Cell::new(None) };
}

/// True on the console of the Linux kernel, which draws neither Chinese nor braille.
pub fn is_kernel_console() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "linux") && io::stderr().is_terminal()
}

impl Language {
    /// Both of them, the first one first.
    pub const ALL: [Language; 2] = [Language::Zh, Language::En];

    /// Shows messages in this language from now on, on every thread. A process begins with English.
    pub fn use_for_messages(self) {
        CHINESE.store(self == Language::Zh, Ordering::Relaxed);
    }

    /// The language in which messages are shown on this thread.
    pub fn of_messages() -> Language {
        let process = if CHINESE.load(Ordering::Relaxed) { Language::Zh } else { Language::En };
        ON_THIS_THREAD.get().unwrap_or(process)
    }

    /// Shows messages in this language on this thread until the guard is dropped.
    pub fn on_this_thread(self) -> LanguageGuard {
        LanguageGuard(ON_THIS_THREAD.replace(Some(self)))
    }

    /// The language that a user asks for by `zh` or `en`.
    pub fn parse(name: &str) -> Option<Language> {
        match name {
            "zh" => Some(Language::Zh),
            "en" => Some(Language::En),
            _ => None,
        }
    }

    /// The language of the environment: `INKSTONE_LANG`, else the locale; English on the console of the Linux kernel, which draws no Chinese.
    pub fn of_environment() -> Language {
        let names = ["INKSTONE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
        let names = if is_kernel_console() { &names[..1] } else { &names[..] };
        let set = names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        if set.is_some_and(|value| value.starts_with("zh")) { Language::Zh } else { Language::En }
    }

    /// The causes of an error in this language, from what was attempted to what went wrong. A cause that repeats the end of the one
    /// before it is left out.
    pub fn causes(self, error: &Error) -> Vec<String> {
        let text = |cause: &(dyn std::error::Error + 'static), language: Language| {
            let _guard = language.on_this_thread();
            let system = cause.downcast_ref::<io::Error>().filter(|_| language == Language::Zh);
            system.and_then(system_error).unwrap_or_else(|| cause.to_string())
        };
        let mut causes = Vec::new();
        let mut before = String::new();
        for cause in error.chain() {
            // A library's own words follow what failed in Chinese, as a quotation.
            let own =
                |text: String| if self == Language::Zh && is_prose(&text) { format!("“{text}”") } else { text };
            // The English text decides, so that the causes are the same in both languages.
            let english = text(cause, Language::En);
            if causes.is_empty() || !before.ends_with(&english) {
                causes.push(if causes.is_empty() { text(cause, self) } else { own(text(cause, self)) });
                before = english;
            }
        }
        causes
    }

    /// An error with all its causes in this language.
    pub fn error(self, error: &Error) -> String {
        self.causes(error).join(if self == Language::Zh { "：" } else { ": " })
    }
}

/// True for a text of several English words and no Chinese ones.
fn is_prose(text: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphabetic());
    text.is_ascii() && text.split(' ').filter(is_word).count() > 2
}

/// Sets the language of messages on a thread while it lives.
pub struct LanguageGuard(Option<Language>);

impl Drop for LanguageGuard {
    fn drop(&mut self) {
        ON_THIS_THREAD.set(self.0);
    }
}

/// The Chinese text of an error of the operating system; the number stays, since remedies and users look for it.
fn system_error(error: &io::Error) -> Option<String> {
    let number = error.raw_os_error()?;
    let text = match number {
        1 => "不允许的操作",
        2 => "没有这个文件或文件夹",
        5 => "读写错误",
        11 => "资源暂时不可用",
        12 => "内存不足",
        13 => "没有权限",
        17 => "文件已存在",
        20 => "不是文件夹",
        21 => "是一个文件夹",
        24 => "打开的文件过多",
        27 => "文件过大",
        28 => "磁盘已满",
        30 => "文件系统只读",
        32 => "管道已关闭",
        36 => "文件名过长",
        107 => "磁盘未连接",
        116 => "文件句柄已失效",
        122 => "超出磁盘配额",
        _ => return None,
    };
    Some(format!("{text}（os error {number}）"))
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

impl std::error::Error for Word {}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to(Language::of_messages()))
    }
}

/// A line break, which parts messages.
pub const LINES: Word = Word("\n", "\n");

/// A text in both languages that was made while the program runs; displayed, it is in the language of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "WrittenMessage")]
pub struct Message {
    pub zh: String,
    pub en: String,
}

impl Message {
    /// A text that is the same in both languages, such as a path.
    pub fn same(text: impl fmt::Display) -> Message {
        let text_in = |language: Language| {
            let _guard = language.on_this_thread();
            text.to_string()
        };
        Message { zh: text_in(Language::Zh), en: text_in(Language::En) }
    }

    /// An error with all its causes, in both languages.
    pub fn of_error(error: &Error) -> Message {
        Message { zh: Language::Zh.error(error), en: Language::En.error(error) }
    }

    /// Messages one behind the other.
    pub fn joined<M: Borrow<Message>>(messages: impl IntoIterator<Item = M>, separator: Word) -> Message {
        let mut joined = Message::default();
        for (i, message) in messages.into_iter().enumerate() {
            if i > 0 {
                joined.zh += separator.0;
                joined.en += separator.1;
            }
            joined.zh += &message.borrow().zh;
            joined.en += &message.borrow().en;
        }
        joined
    }

    /// The causes of an error, each in both languages.
    pub fn causes_of(error: &Error) -> Vec<Message> {
        let [zh, en] = Language::ALL.map(|language| language.causes(error));
        zh.into_iter().zip(en).map(|(zh, en)| Message { zh, en }).collect()
    }

    /// The text in this language.
    pub fn to(&self, language: Language) -> &str {
        match language {
            Language::Zh => &self.zh,
            Language::En => &self.en,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// A message reads as its text in the language of messages.
impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        self.to(Language::of_messages())
    }
}

impl std::error::Error for Message {}

/// Writes a message in the language of messages alone, for output that people read and no file keeps.
pub fn in_language<S: Serializer>(message: &Message, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(message)
}

/// A message as files have it: both texts, or in files of earlier versions the English one alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenMessage {
    Both { zh: String, en: String },
    English(String),
}

impl From<WrittenMessage> for Message {
    fn from(written: WrittenMessage) -> Message {
        match written {
            WrittenMessage::Both { zh, en } => Message { zh, en },
            WrittenMessage::English(en) => Message { zh: en.clone(), en },
        }
    }
}

/// Compares the English text.
impl PartialEq<str> for Message {
    fn eq(&self, other: &str) -> bool {
        self.en == other
    }
}

/// Compares the English text.
impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self.en == *other
    }
}

impl From<Word> for Message {
    fn from(word: Word) -> Message {
        Message { zh: word.0.to_owned(), en: word.1.to_owned() }
    }
}

/// A [`Message`] of two formats, Chinese and English, with the same arguments. Messages among the arguments are in the same language.
///
/// ```
/// use inkstone_base::language::Language;
///
/// let row = 7;
/// let late = inkstone_base::message!("第 {row} 行晚于{}", "row {row} is later than {}", "2026-01-05");
/// assert_eq!(late.to(Language::Zh), "第 7 行晚于2026-01-05");
/// assert_eq!(late.to_string(), "row 7 is later than 2026-01-05");
/// ```
#[macro_export]
macro_rules! message {
    ($zh:literal, $en:literal $($arguments:tt)*) => {{
        let guard = $crate::language::Language::Zh.on_this_thread();
        let zh = format!($zh $($arguments)*);
        drop(guard);
        let guard = $crate::language::Language::En.on_this_thread();
        let en = format!($en $($arguments)*);
        drop(guard);
        $crate::language::Message { zh, en }
    }};
}

/// An error of two formats, Chinese and English, with the same arguments.
#[macro_export]
macro_rules! error {
    ($zh:literal, $en:literal $($arguments:tt)*) => {
        ::anyhow::Error::new($crate::message!($zh, $en $($arguments)*))
    };
}

/// Returns early with an error of two formats, Chinese and English, or with an error that is there already.
#[macro_export]
macro_rules! bail {
    ($zh:literal, $en:literal $($arguments:tt)*) => {
        return ::std::result::Result::Err($crate::error!($zh, $en $($arguments)*))
    };
    ($format:literal $($arguments:tt)*) => {
        ::std::compile_error!("an error is told in Chinese and in English")
    };
    ($error:expr) => {
        ::anyhow::bail!($error)
    };
}

/// Returns early, unless the condition holds, with an error of two formats, Chinese and English, or with one that is there already.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $zh:literal, $en:literal $($arguments:tt)*) => {{
        let holds: bool = $condition;
        if !holds {
            $crate::bail!($zh, $en $($arguments)*);
        }
    }};
    ($condition:expr, $format:literal $($arguments:tt)*) => {
        ::std::compile_error!("an error is told in Chinese and in English")
    };
    ($condition:expr, $error:expr $(,)?) => {
        ::anyhow::ensure!($condition, $error)
    };
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

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn an_error_is_told_in_either_language_with_its_causes() {
        let missing = Error::from(io::Error::from_raw_os_error(2));
        let inner = missing.context(message!("无法打开 {}", "cannot open {}", "a.csv"));
        let error = Err::<(), _>(inner).with_context(|| message!("来源“{}”", "source {:?}", "news")).unwrap_err();
        assert_eq!(Language::Zh.error(&error), "来源“news”：无法打开 a.csv：没有这个文件或文件夹（os error 2）");
        assert_eq!(
            Language::En.error(&error),
            "source \"news\": cannot open a.csv: No such file or directory (os error 2)"
        );
        assert_eq!(format!("{error:#}"), Language::En.error(&error));
    }

    #[test]
    fn the_words_of_a_library_are_quoted_behind_what_failed() {
        let library = anyhow::anyhow!("expected a comma at line 3");
        let error = library.context(message!("无法读取 {}", "cannot read {}", "a.json"));
        assert_eq!(Language::Zh.error(&error), "无法读取 a.json：“expected a comma at line 3”");
        assert_eq!(Language::En.error(&error), "cannot read a.json: expected a comma at line 3");
        let name = anyhow::anyhow!("data/a.csv").context(message!("无法读取", "cannot read"));
        assert_eq!(Language::Zh.error(&name), "无法读取：data/a.csv");
    }

    #[test]
    fn a_message_within_a_message_is_in_the_same_language() {
        let inner = message!("空", "empty");
        let outer = message!("文件：{inner}", "file: {inner}");
        assert_eq!((outer.to(Language::Zh), outer.to(Language::En)), ("文件：空", "file: empty"));
        let error = Error::new(outer).context("here");
        let again = message!("出错：{error:#}", "error: {error:#}");
        assert_eq!(again.to(Language::Zh), "出错：here: 文件：空");
    }

    #[test]
    fn the_language_of_a_thread_lasts_as_long_as_its_guard() {
        let word = Word("字", "word");
        {
            let _guard = Language::Zh.on_this_thread();
            assert_eq!(word.to_string(), "字");
        }
        assert_eq!(word.to_string(), "word");
    }
}
