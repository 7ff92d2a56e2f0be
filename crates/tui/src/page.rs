//! The pages, and the trait that all of them implement.

use ratatui::layout::{Position, Rect};
use serde_json::Value;

use super::Language;
use super::commands::Action;
use super::desk::Desk;
use super::field::Field;
use super::words::{self, Word};

/// The pages, in the order of their tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}

impl Page {
    pub const ALL: [Page; 9] = [
        Page::Corpus,
        Page::Text,
        Page::Models,
        Page::Onnx,
        Page::Features,
        Page::Experiments,
        Page::Factor,
        Page::Ledger,
        Page::Jobs,
    ];

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
        }
    }

    /// The page that stands `steps` tabs after this one; after the last comes the first.
    pub fn further(self, steps: usize) -> Page {
        let at = Page::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Page::ALL[(at + steps) % Page::ALL.len()]
    }
}

/// Declares an enum whose values one key goes through in turn, and whose value a session keeps by its name.
macro_rules! turns {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $id:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $name {
            $vis const ALL: [$name; [$($id),+].len()] = [$($name::$value),+];

            /// The name in a session.
            $vis fn id(self) -> &'static str {
                match self {
                    $($name::$value => $id,)+
                }
            }

            /// The value that follows; the first one follows the last.
            $vis fn next(self) -> $name {
                $name::ALL[(self as usize + 1) % $name::ALL.len()]
            }

            /// The value of this name in the memory of a session.
            $vis fn named(memory: &serde_json::Value) -> Option<$name> {
                $name::ALL.into_iter().find(|value| memory == value.id())
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

/// A chart as it is saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of the file, without its ending.
    pub name: String,
    pub svg: String,
}

/// The behaviour of a page. Drawing is a function of each page's `view` module and changes nothing.
pub trait PageState {
    /// Reads anew what the page shows: when the workbench opens, and whenever a job has ended.
    fn reload(&mut self, desk: &Desk<'_>);

    /// The page is on the screen: asks for what is needed there alone, and costs too much for a page that nobody looks at. Called before
    /// [`PageState::arrange`].
    fn shown(&mut self, _desk: &Desk<'_>) {}

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>);

    /// Puts the state in order after each event, also of other pages: takes in what errands have brought, puts positions inside their
    /// lists, and asks for what comes into view.
    fn arrange(&mut self, area: Rect, desk: &Desk<'_>);

    /// True if something asked for has not come yet.
    fn waiting(&self) -> bool;

    /// True if keys go into [`PageState::field`].
    fn is_typing(&self) -> bool {
        false
    }

    /// The text field that keys go into, while there is one.
    fn field(&mut self) -> Option<&mut Field> {
        None
    }

    /// The text of the field has changed.
    fn typed(&mut self, _desk: &Desk<'_>) {}

    /// Enter in the field.
    fn accept(&mut self, _desk: &Desk<'_>) {}

    fn leave_field(&mut self, _desk: &Desk<'_>) {}

    fn can_go_back(&self) -> bool {
        false
    }

    /// The mouse was pressed on the page.
    fn click(&mut self, _at: Position, _area: Rect, _desk: &Desk<'_>) {}

    /// The list of the page, for copying.
    fn table(&self, _desk: &Desk<'_>) -> Option<Table> {
        None
    }

    /// The charts of the page, to be saved; without any the screen itself is saved.
    fn charts(&self, _desk: &Desk<'_>) -> Vec<Chart> {
        Vec::new()
    }

    /// The command that does without a screen what the page shows; none where the command of the project does.
    fn command(&self, _desk: &Desk<'_>) -> Option<String> {
        None
    }

    /// Position, filters and what is open, for the next session.
    fn remember(&self) -> Value {
        Value::Null
    }

    /// Restores the place of an earlier session; called once, before the first [`PageState::reload`]. Values that no longer fit are left out.
    fn recall(&mut self, _memory: &Value) {}
}
