//! A document as fitted models read it.

use std::borrow::Cow;
use std::path::Path;

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

/// How a line holds a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LineFormat {
    /// Tokens with spaces between them.
    Tokens,
    /// Text, to be cut by the tokenizer.
    #[default]
    Text,
    /// A JSON object with `text`, to be cut by the tokenizer, and optional `id`, `title`, `label`, `labels`, `value`, `time`, `group`.
    Jsonl,
}

impl LineFormat {
    pub fn name(self) -> &'static str {
        match self {
            LineFormat::Tokens => "tokens",
            LineFormat::Text => "text",
            LineFormat::Jsonl => "jsonl",
        }
    }

    /// True for a file of a character and its label a line.
    pub(super) fn is_conll(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "conll")
    }

    /// The format that a file's name tells: JSON lines by their extension, and those of a folder of documents or of a file in columns;
    /// nothing else.
    pub fn by_name(path: &Path) -> Option<LineFormat> {
        if path.is_dir() || LineFormat::is_conll(path) {
            return Some(LineFormat::Jsonl);
        }
        let extension = path.extension()?.to_str()?;
        ["jsonl", "ndjson"].contains(&extension).then_some(LineFormat::Jsonl)
    }
}

/// A document of a plain file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line<'b> {
    /// Number of the line in the file, from 1.
    pub number: u64,
    /// None: the number of the line stands for it.
    pub id: Option<Cow<'b, str>>,
    /// Empty where the file has none.
    pub title: Cow<'b, str>,
    /// Text, or tokens with spaces between them.
    pub text: Cow<'b, str>,
    /// The class of the document.
    pub label: Option<Cow<'b, str>>,
    /// All labels, where there may be several.
    pub labels: Vec<Cow<'b, str>>,
    /// A number that goes with the document, such as the return that followed.
    pub value: Option<f64>,
    /// Time of publication.
    pub time: Option<NaiveDateTime>,
    /// The event or security that the document belongs to.
    pub group: Option<Cow<'b, str>>,
    /// The object of a JSON line as it is written, with fields that only some tasks read; none for other formats.
    pub json: Option<&'b str>,
}

impl Line<'_> {
    /// The id, or the number of the line.
    pub fn name(&self) -> Cow<'_, str> {
        self.id.as_deref().map_or_else(|| self.number.to_string().into(), Cow::Borrowed)
    }

    /// Title and text, a line each; the text alone when there is no title.
    pub fn whole(&self) -> Cow<'_, str> {
        if self.title.is_empty() { Cow::Borrowed(&*self.text) } else { format!("{}\n{}", self.title, self.text).into() }
    }
}
