//! The names of the pages, and the tables and charts that a page exports.

use super::Language;
use super::words::{self, Word};

/// The pages, in the order of their tabs; behind them one that other pages open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Page {
    Corpus,
    Text,
    Models,
    Onnx,
    Features,
    Experiments,
    Factor,
    Ledger,
    Jobs,
    /// One stock; it has no tab.
    Stock,
}

impl Page {
    /// All pages, first those that have a tab.
    pub const ALL: [Page; 10] = [
        Page::Corpus,
        Page::Text,
        Page::Models,
        Page::Onnx,
        Page::Features,
        Page::Experiments,
        Page::Factor,
        Page::Ledger,
        Page::Jobs,
        Page::Stock,
    ];

    /// The pages that have a tab.
    pub fn tabs() -> &'static [Page] {
        &Page::ALL[..9]
    }

    pub fn name(self) -> Word {
        match self {
            Page::Corpus => words::CORPUS,
            Page::Text => words::TEXT,
            Page::Models => words::MODELS,
            Page::Onnx => words::ONNX,
            Page::Features => words::FEATURES,
            Page::Experiments => words::EXPERIMENTS,
            Page::Factor => words::FACTOR,
            Page::Ledger => words::LEDGER,
            Page::Jobs => words::JOBS,
            Page::Stock => words::STOCK,
        }
    }

    /// The page that stands `steps` tabs after this one; after the last comes the first.
    pub fn further(self, steps: usize) -> Page {
        let tabs = Page::tabs();
        let at = tabs.iter().position(|page| *page == self).unwrap_or(0);
        tabs[(at + steps) % tabs.len()]
    }
}

/// Declares an enum whose values one key goes through in turn, and whose value a session keeps by its name.
macro_rules! turns {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $id:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $($(#[$of_value])* #[serde(rename = $id)] $value,)+
        }

        impl $name {
            $vis const ALL: [$name; [$($id),+].len()] = [$($name::$value),+];

            /// The value that follows; the first one follows the last.
            $vis fn next(self) -> $name {
                $name::ALL[(self as usize + 1) % $name::ALL.len()]
            }
        }
    };
}

pub(crate) use turns;

/// A table as it is copied: what the page lists, in its order and with its filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns, units with them.
    pub header: Vec<String>,
    /// Cells, numbers unrounded and without separators.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(language: Language, header: &[Word], rows: Vec<Vec<String>>) -> Table {
        Table { header: header.iter().map(|word| word.to(language).to_owned()).collect(), rows }
    }
}

/// A number as it is copied: all its digits, and nothing where there is none.
pub(crate) fn exact(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// Stocks that a page lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WantedStock {
    /// Their codes, in the order of the list; none: those that the document is linked to.
    pub codes: Vec<String>,
    /// The one that is marked.
    pub at: usize,
    /// The number in the corpus of the document that is marked.
    pub document: Option<u32>,
}

/// A chart as it is saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of the file, without its ending.
    pub name: String,
    pub svg: String,
}
