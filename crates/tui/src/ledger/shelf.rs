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
    pub(super) fn rows(&self, filter: &str) -> Vec<usize> {
        let filter = filter.trim().to_lowercase();
        let trials = &self.book.trials;
        let mut rows: Vec<usize> = (0..trials.len()).filter(|row| self.texts[*row].contains(&filter)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(trials[*row].entry.number));
        rows
    }
}
