//! The ledger as the page has it, with what is searched of it.

use inkstone_lab::ledger::{Book, BookTrial};

/// A ledger, and what is searched of each of its trials.
#[derive(Default)]
pub(super) struct Shelf {
    pub(super) book: Book,
    texts: Vec<String>,
}

impl Shelf {
    /// Makes a ledger ready to be searched.
    pub(super) fn new(book: Book) -> Shelf {
        let text = |trial: &BookTrial| {
            let entry = &trial.entry;
            let mut text = format!("#{}", entry.number);
            if let Some(details) = &entry.details {
                text += &format!(" {} {}", details.factor, details.parameters);
            }
            if let Some(deletion) = &entry.deleted {
                text += &format!(" {}", deletion.reason);
            }
            text.to_lowercase()
        };
        Shelf { texts: book.trials.iter().map(text).collect(), book }
    }

    /// The trials that hold a text, the latest first.
    pub(super) fn trials(&self, filter: &str) -> Vec<&BookTrial> {
        let filter = filter.trim().to_lowercase();
        let trials = self.book.trials.iter().zip(&self.texts);
        let mut trials: Vec<&BookTrial> = trials.filter(|(_, text)| text.contains(&filter)).map(|(t, _)| t).collect();
        trials.sort_by_key(|trial| std::cmp::Reverse(trial.entry.number));
        trials
    }
}
